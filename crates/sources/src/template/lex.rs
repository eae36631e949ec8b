//! A template as text and actions, and an action as words.

use super::TemplateError;

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Action(Vec<Token>),
}

/// A word of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A keyword or the name of a function.
    Word(String),
    /// `.A.B`; a lone dot is empty.
    Fields(Vec<String>),
    /// `$x`; a lone `$` is empty.
    Variable(String),
    Text(String),
    Number(String),
    Open,
    Close,
    Pipe,
    Comma,
    Declare,
    Assign,
}

/// Splits a template; `{{-` and `-}}` take the white space beside them away.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece>, TemplateError> {
    let (mut pieces, mut rest, mut trims) = (Vec::new(), text, false);
    loop {
        let (before, action) = match rest.split_once("{{") {
            Some((before, action)) => (before, Some(action)),
            None => (rest, None),
        };
        let mut before = if trims { before.trim_start() } else { before };
        let trimming = action.and_then(|action| action.strip_prefix('-'));
        let trimming = trimming.filter(|action| action.starts_with(char::is_whitespace));
        if trimming.is_some() {
            before = before.trim_end();
        }
        if !before.is_empty() {
            pieces.push(Piece::Text(before.to_owned()));
        }
        let Some(action) = trimming.or(action) else { return Ok(pieces) };
        let (inside, after) = end(action)?;
        let without_dash = inside.strip_suffix('-').filter(|inside| inside.ends_with(char::is_whitespace));
        trims = without_dash.is_some();
        let inside = without_dash.unwrap_or(inside).trim();
        if !(inside.starts_with("/*") && inside.ends_with("*/")) {
            pieces.push(Piece::Action(tokens(inside)?));
        }
        rest = after;
    }
}

/// The text of an action up to its `}}`, which counts only outside of quotes, and what follows.
fn end(action: &str) -> Result<(&str, &str), TemplateError> {
    let (mut quote, mut is_escaped) = (None, false);
    for (at, character) in action.char_indices() {
        match (quote, character) {
            (Some('"'), '\\') if !is_escaped => is_escaped = true,
            (Some(open), _) if character == open && !is_escaped => quote = None,
            (Some(_), _) => is_escaped = false,
            (None, '"' | '`') => quote = Some(character),
            (None, '}') if action[at..].starts_with("}}") => return Ok((&action[..at], &action[at + 2..])),
            (None, _) => {}
        }
    }
    Err(TemplateError::new("an action is not closed; end it with }}"))
}

fn tokens(text: &str) -> Result<Vec<Token>, TemplateError> {
    let (mut tokens, mut rest) = (Vec::new(), text.trim_start());
    while let Some(first) = rest.chars().next() {
        let (token, after) = match first {
            '(' => (Token::Open, &rest[1..]),
            ')' => (Token::Close, &rest[1..]),
            '|' => (Token::Pipe, &rest[1..]),
            ',' => (Token::Comma, &rest[1..]),
            '=' => (Token::Assign, &rest[1..]),
            ':' if rest.starts_with(":=") => (Token::Declare, &rest[2..]),
            '"' => quoted(rest)?,
            '`' => {
                let (inside, after) = rest[1..].split_once('`').ok_or_else(|| unexpected(rest))?;
                (Token::Text(inside.to_owned()), after)
            }
            '.' => fields(rest)?,
            '$' => {
                let (name, after) = identifier(&rest[1..]);
                (Token::Variable(name.to_owned()), after)
            }
            '0'..='9' | '-' | '+' => {
                let end = rest[1..].find(|other: char| !other.is_ascii_digit() && other != '.');
                let (number, after) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
                (Token::Number(number.to_owned()), after)
            }
            _ => match identifier(rest) {
                ("", _) => return Err(unexpected(rest)),
                (word, after) => (Token::Word(word.to_owned()), after),
            },
        };
        let takes_fields = matches!(token, Token::Variable(_) | Token::Close);
        tokens.push(token);
        rest = after.trim_start();
        // A field right after a variable or a closing bracket belongs to it; one after a space does not.
        if takes_fields && after.starts_with('.') {
            let (token, after) = fields(after)?;
            tokens.push(Token::Word(CHAIN.into()));
            tokens.push(token);
            rest = after.trim_start();
        }
    }
    Ok(tokens)
}

/// Stands between an operand and the fields that are written right behind it; no function can be called so.
pub(super) const CHAIN: &str = ".";

fn fields(text: &str) -> Result<(Token, &str), TemplateError> {
    let (mut names, mut rest) = (Vec::new(), text);
    while let Some(after) = rest.strip_prefix('.') {
        let (name, after) = identifier(after);
        if name.is_empty() && (!names.is_empty() || after.starts_with('.')) {
            return Err(unexpected(text));
        }
        rest = after;
        if name.is_empty() {
            break;
        }
        names.push(name.to_owned());
    }
    Ok((Token::Fields(names), rest))
}

fn identifier(text: &str) -> (&str, &str) {
    let end = text.find(|character: char| !character.is_alphanumeric() && character != '_');
    text.split_at(end.unwrap_or(text.len()))
}

fn quoted(text: &str) -> Result<(Token, &str), TemplateError> {
    let (mut inside, mut characters) = (String::new(), text.char_indices().skip(1));
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Ok((Token::Text(inside), &text[at + 1..])),
            '\\' => match characters.next() {
                Some((_, 'n')) => inside.push('\n'),
                Some((_, 't')) => inside.push('\t'),
                Some((_, other @ ('"' | '\\'))) => inside.push(other),
                _ => return Err(unexpected(text)),
            },
            plain => inside.push(plain),
        }
    }
    Err(unexpected(text))
}

fn unexpected(text: &str) -> TemplateError {
    let shown: String = text.chars().take(20).collect();
    TemplateError::new(format!("can't read {shown:?} in an action"))
}
