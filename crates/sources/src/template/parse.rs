//! The structure of a template.

use std::{iter::Peekable, vec::IntoIter};

use serde_json::Value;

use super::{
    TemplateError,
    functions::is_function,
    lex::{CHAIN, Piece, Token, pieces},
};

/// A part of a template.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Text(String),
    Print(Pipeline),
    If { condition: Pipeline, then: Vec<Node>, otherwise: Vec<Node> },
    With { value: Pipeline, then: Vec<Node>, otherwise: Vec<Node> },
    Range { over: Pipeline, body: Vec<Node>, otherwise: Vec<Node> },
    Break,
    Continue,
}

/// Commands whose results flow into each other, perhaps into variables.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pipeline {
    pub variables: Vec<String>,
    pub is_declaration: bool,
    pub commands: Vec<Command>,
}

/// An operand alone, or a function with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Command {
    Value(Operand),
    Call { function: String, arguments: Vec<Operand> },
}

/// A value in a command.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Operand {
    Literal(Value),
    /// A field of the dot.
    Fields(Vec<String>),
    Variable(String, Vec<String>),
    Nested(Box<Pipeline>, Vec<String>),
}

/// How an enclosed part ended.
#[derive(Debug, Clone, PartialEq)]
enum Close {
    /// With the template itself.
    Never,
    Here,
    Else,
    ElseIf(Pipeline),
    ElseWith(Pipeline),
}

/// Deeper nesting is not a template that a person wrote.
const MAX_DEPTH: usize = 40;

type Pieces = Peekable<IntoIter<Piece>>;

/// The words of an action, which can be looked at ahead without a copy of them.
struct Tokens {
    tokens: Vec<Token>,
    at: usize,
}

// === impl Tokens ===

impl Tokens {
    fn rest(&self) -> &[Token] {
        self.tokens.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<Token> {
        self.next_if(|_| true)
    }

    fn next_if(&mut self, is_it: impl Fn(&Token) -> bool) -> Option<Token> {
        let token = self.tokens.get(self.at).filter(|token| is_it(token))?.clone();
        self.at += 1;
        Some(token)
    }

    fn next_if_eq(&mut self, wanted: &Token) -> Option<Token> {
        self.next_if(|token| token == wanted)
    }
}

pub(super) fn parse(text: &str) -> Result<Vec<Node>, TemplateError> {
    let mut pieces = pieces(text)?.into_iter().peekable();
    match body(&mut pieces, 0)? {
        (nodes, Close::Never) => Ok(nodes),
        _ => Err(TemplateError::new("there is an else or end without an if, with or range")),
    }
}

fn body(pieces: &mut Pieces, depth: usize) -> Result<(Vec<Node>, Close), TemplateError> {
    too_deep(depth)?;
    let mut nodes = Vec::new();
    while let Some(piece) = pieces.next() {
        let mut tokens = match piece {
            Piece::Text(text) => {
                nodes.push(Node::Text(text));
                continue;
            }
            Piece::Action(tokens) => Tokens { tokens, at: 0 },
        };
        let keyword = match tokens.peek() {
            Some(Token::Word(word)) => word.clone(),
            Some(_) => String::new(),
            None => return Err(TemplateError::new("an action is empty")),
        };
        match keyword.as_str() {
            "if" | "with" | "range" => {
                tokens.next();
                let head = pipeline(&mut tokens, depth)?;
                done(&mut tokens)?;
                nodes.push(block(&keyword, head, pieces, depth + 1)?);
            }
            "end" => return only(tokens).map(|()| (nodes, Close::Here)),
            "else" => return Ok((nodes, otherwise(tokens, depth)?)),
            "break" => only(tokens).map(|()| nodes.push(Node::Break))?,
            "continue" => only(tokens).map(|()| nodes.push(Node::Continue))?,
            "define" | "template" | "block" => {
                return Err(TemplateError::new(format!("{keyword} is not supported here")));
            }
            _ => {
                let print = pipeline(&mut tokens, depth)?;
                done(&mut tokens)?;
                nodes.push(Node::Print(print));
            }
        }
    }
    Ok((nodes, Close::Never))
}

/// The rest of an if, with or range, up to its end.
fn block(keyword: &str, head: Pipeline, pieces: &mut Pieces, depth: usize) -> Result<Node, TemplateError> {
    let (then, end) = body(pieces, depth)?;
    let otherwise = match end {
        Close::Here => Vec::new(),
        Close::Else => match body(pieces, depth)? {
            (otherwise, Close::Here) => otherwise,
            _ => return Err(TemplateError::new(format!("the else of {keyword} needs an end"))),
        },
        // Both share the end of the block that they are in.
        Close::ElseIf(condition) => vec![block("if", condition, pieces, depth + 1)?],
        Close::ElseWith(value) => vec![block("with", value, pieces, depth + 1)?],
        Close::Never => return Err(TemplateError::new(format!("{keyword} needs an end"))),
    };
    Ok(match keyword {
        "if" => Node::If { condition: head, then, otherwise },
        "with" => Node::With { value: head, then, otherwise },
        _ => Node::Range { over: head, body: then, otherwise },
    })
}

fn otherwise(mut tokens: Tokens, depth: usize) -> Result<Close, TemplateError> {
    tokens.next();
    let end: fn(Pipeline) -> Close = match tokens.next() {
        None => return Ok(Close::Else),
        Some(Token::Word(word)) if word == "if" => Close::ElseIf,
        Some(Token::Word(word)) if word == "with" => Close::ElseWith,
        Some(_) => return Err(TemplateError::new("after else stands nothing, if or with")),
    };
    let head = pipeline(&mut tokens, depth)?;
    done(&mut tokens)?;
    Ok(end(head))
}

fn pipeline(tokens: &mut Tokens, depth: usize) -> Result<Pipeline, TemplateError> {
    too_deep(depth)?;
    let (variables, is_declaration) = variables(tokens)?;
    let mut commands = Vec::new();
    loop {
        commands.push(command(tokens, depth)?);
        if tokens.next_if_eq(&Token::Pipe).is_none() {
            return Ok(Pipeline { variables, is_declaration, commands });
        }
    }
}

/// `$x :=`, `$x, $y :=` or `$x =` at the start of a pipeline.
fn variables(tokens: &mut Tokens) -> Result<(Vec<String>, bool), TemplateError> {
    let (names, end) = match tokens.rest() {
        [Token::Variable(one), end @ (Token::Declare | Token::Assign), ..] => (vec![one.clone()], end),
        [
            Token::Variable(one),
            Token::Comma,
            Token::Variable(other),
            end @ (Token::Declare | Token::Assign),
            ..,
        ] => (vec![one.clone(), other.clone()], end),
        _ => return Ok((Vec::new(), false)),
    };
    let is_declaration = *end == Token::Declare;
    tokens.at += 2 * names.len();
    Ok((names, is_declaration))
}

fn command(tokens: &mut Tokens, depth: usize) -> Result<Command, TemplateError> {
    if let Some(Token::Word(word)) = tokens.peek()
        && is_function(word)
    {
        let function = word.clone();
        tokens.next();
        let mut arguments = Vec::new();
        while let Some(operand) = operand(tokens, depth)? {
            arguments.push(operand);
        }
        return Ok(Command::Call { function, arguments });
    }
    match operand(tokens, depth)? {
        Some(value) => Ok(Command::Value(value)),
        None => Err(TemplateError::new("a value is missing")),
    }
}

fn operand(tokens: &mut Tokens, depth: usize) -> Result<Option<Operand>, TemplateError> {
    let is_operand = |token: &Token| {
        !matches!(token, Token::Close | Token::Pipe | Token::Comma | Token::Declare | Token::Assign)
    };
    let Some(token) = tokens.next_if(is_operand) else { return Ok(None) };
    Ok(Some(match token {
        Token::Text(text) => Operand::Literal(Value::String(text)),
        Token::Number(text) => Operand::Literal(number(&text)?),
        Token::Fields(fields) => Operand::Fields(fields),
        Token::Variable(name) => Operand::Variable(name, chained(tokens)?),
        Token::Open => {
            let inner = pipeline(tokens, depth + 1)?;
            match tokens.next() {
                Some(Token::Close) => Operand::Nested(Box::new(inner), chained(tokens)?),
                _ => return Err(TemplateError::new("a bracket is not closed")),
            }
        }
        Token::Word(word) => match word.as_str() {
            "true" | "false" => Operand::Literal(Value::Bool(word == "true")),
            "nil" => Operand::Literal(Value::Null),
            _ if is_function(&word) => {
                let call = Command::Call { function: word, arguments: Vec::new() };
                let alone = Pipeline { variables: Vec::new(), is_declaration: false, commands: vec![call] };
                Operand::Nested(Box::new(alone), Vec::new())
            }
            _ => return Err(TemplateError::new(format!("function {word:?} is not known"))),
        },
        _ => return Err(TemplateError::new("a value is missing")),
    }))
}

/// Fields written right behind an operand.
fn chained(tokens: &mut Tokens) -> Result<Vec<String>, TemplateError> {
    if tokens.next_if_eq(&Token::Word(CHAIN.into())).is_none() {
        return Ok(Vec::new());
    }
    match tokens.next() {
        Some(Token::Fields(fields)) => Ok(fields),
        _ => Err(TemplateError::new("a field is missing")),
    }
}

fn number(text: &str) -> Result<Value, TemplateError> {
    let whole = text.parse::<i64>().map(Value::from);
    whole
        .or_else(|_| text.parse::<f64>().map(Value::from))
        .map_err(|_| TemplateError::new(format!("{text:?} is not a number")))
}

fn only(mut tokens: Tokens) -> Result<(), TemplateError> {
    tokens.next();
    done(&mut tokens)
}

fn done(tokens: &mut Tokens) -> Result<(), TemplateError> {
    match tokens.next() {
        None => Ok(()),
        Some(_) => Err(TemplateError::new("an action goes on where it should end")),
    }
}

fn too_deep(depth: usize) -> Result<(), TemplateError> {
    if depth > MAX_DEPTH { Err(TemplateError::new("it is nested too deeply")) } else { Ok(()) }
}
