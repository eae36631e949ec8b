//! A template applied to an object.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    TemplateError,
    fields::{Item, cost, is_true, of, of_root, print, weight},
    functions::{call, work},
    parse::{Command, Node, Operand, Pipeline},
    visible::is_open,
};
use crate::object::Kind;

/// More steps, bytes to work on or output than this is no template for names.
const MAX_STEPS: usize = 100_000;
const MAX_WORK: usize = 1 << 20;
const MAX_OUTPUT: usize = 65_536;

/// Applies a template.
pub(super) fn evaluate(nodes: &[Node], kind: Kind, root: &Value) -> Result<String, TemplateError> {
    let mut run = Run { kind, root, variables: Vec::new(), output: String::new(), steps: 0, work: 0 };
    run.nodes(nodes, &Dot::Root)?;
    Ok(run.output)
}

struct Run<'a> {
    kind: Kind,
    root: &'a Value,
    variables: Vec<(String, Item<'a>)>,
    output: String,
    steps: usize,
    /// Bytes that were copied, made or looked through: no value is, before they are counted here.
    work: usize,
}

/// What a lone dot stands for.
#[derive(Clone)]
enum Dot<'a> {
    Root,
    Item(Item<'a>),
}

/// Whether a loop goes on.
#[derive(PartialEq, Eq)]
enum Flow {
    On,
    Break,
    Continue,
}

// === impl Run ===

impl<'a> Run<'a> {
    fn nodes(&mut self, nodes: &[Node], dot: &Dot<'a>) -> Result<Flow, TemplateError> {
        let scope = self.variables.len();
        for node in nodes {
            let flow = self.node(node, dot)?;
            if flow != Flow::On {
                self.variables.truncate(scope);
                return Ok(flow);
            }
        }
        self.variables.truncate(scope);
        Ok(Flow::On)
    }

    fn node(&mut self, node: &Node, dot: &Dot<'a>) -> Result<Flow, TemplateError> {
        self.step()?;
        let scope = self.variables.len();
        let flow = match node {
            Node::Text(text) => {
                self.write(text)?;
                return Ok(Flow::On);
            }
            Node::Print(pipeline) => {
                // A declaration lives on after its own action.
                let item = self.pipeline(pipeline, dot)?;
                if pipeline.variables.is_empty() {
                    self.charge(item.as_deref().map_or(0, weight))?;
                    self.write(&print(&item))?;
                }
                return Ok(Flow::On);
            }
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
            Node::If { condition, then, otherwise } => {
                let item = self.pipeline(condition, dot)?;
                self.nodes(if is_true(&item) { then } else { otherwise }, dot)?
            }
            Node::With { value, then, otherwise } => match self.pipeline(value, dot)? {
                item if is_true(&item) => self.nodes(then, &Dot::Item(item))?,
                _ => self.nodes(otherwise, dot)?,
            },
            Node::Range { over, body, otherwise } => self.range(over, body, otherwise, dot)?,
        };
        self.variables.truncate(scope);
        Ok(flow)
    }

    fn range(
        &mut self,
        over: &Pipeline,
        body: &[Node],
        otherwise: &[Node],
        dot: &Dot<'a>,
    ) -> Result<Flow, TemplateError> {
        let entries = entries(self.commands(&over.commands, dot)?)?;
        self.charge(entries.iter().map(|(key, _)| weight(key)).sum())?;
        if entries.is_empty() {
            return self.nodes(otherwise, dot);
        }
        for (key, value) in entries {
            self.step()?;
            self.charge(2 * cost(&value))?;
            let scope = self.variables.len();
            match over.variables.as_slice() {
                [] => {}
                [only] => self.variables.push((only.clone(), value.clone())),
                [first, second, ..] => {
                    self.variables.push((first.clone(), Some(Cow::Owned(key))));
                    self.variables.push((second.clone(), value.clone()));
                }
            }
            let flow = self.nodes(body, &Dot::Item(value))?;
            self.variables.truncate(scope);
            if flow == Flow::Break {
                break;
            }
        }
        Ok(Flow::On)
    }

    fn pipeline(&mut self, pipeline: &Pipeline, dot: &Dot<'a>) -> Result<Item<'a>, TemplateError> {
        let item = self.commands(&pipeline.commands, dot)?;
        if let Some(name) = pipeline.variables.first() {
            self.charge(cost(&item))?;
            let known = self.variables.iter_mut().rev().find(|(known, _)| known == name);
            match known {
                _ if pipeline.is_declaration => self.variables.push((name.clone(), item.clone())),
                Some((_, value)) => *value = item.clone(),
                None => return Err(TemplateError::new(format!("${name} is not declared"))),
            }
        }
        Ok(item)
    }

    fn commands(&mut self, commands: &[Command], dot: &Dot<'a>) -> Result<Item<'a>, TemplateError> {
        let mut flowing: Option<Item<'a>> = None;
        for command in commands {
            self.step()?;
            flowing = Some(match command {
                Command::Value(_) if flowing.is_some() => {
                    return Err(TemplateError::new("after | stands a function"));
                }
                Command::Value(operand) => self.operand(operand, dot)?,
                Command::Call { function, arguments } => {
                    let items = self.arguments(function, arguments, flowing, dot)?;
                    self.charge(work(function, &items))?;
                    call(function, items, self.kind)?
                }
            });
        }
        Ok(flowing.flatten())
    }

    /// The arguments of a call; `and` and `or` stop at the one that decides.
    fn arguments(
        &mut self,
        function: &str,
        operands: &[Operand],
        flowing: Option<Item<'a>>,
        dot: &Dot<'a>,
    ) -> Result<Vec<Item<'a>>, TemplateError> {
        let mut items = Vec::new();
        for operand in operands {
            let item = self.operand(operand, dot)?;
            let decides = match function {
                "and" => !is_true(&item),
                "or" => is_true(&item),
                _ => false,
            };
            items.push(item);
            if decides {
                return Ok(items);
            }
        }
        items.extend(flowing);
        Ok(items)
    }

    fn operand(&mut self, operand: &Operand, dot: &Dot<'a>) -> Result<Item<'a>, TemplateError> {
        self.step()?;
        match operand {
            Operand::Literal(value) => {
                self.charge(weight(value))?;
                Ok(Some(Cow::Owned(value.clone())))
            }
            Operand::Fields(fields) => {
                if let Dot::Item(item) = dot {
                    self.charge(cost(item))?;
                }
                self.fields(dot.clone(), fields)
            }
            Operand::Variable(name, fields) if name.is_empty() => self.fields(Dot::Root, fields),
            Operand::Variable(name, fields) => {
                let known = self.variables.iter().rposition(|(known, _)| known == name);
                let Some(at) = known else {
                    return Err(TemplateError::new(format!("${name} is not declared")));
                };
                self.charge(cost(&self.variables[at].1))?;
                let value = self.variables[at].1.clone();
                self.fields(Dot::Item(value), fields)
            }
            Operand::Nested(pipeline, fields) => {
                let item = self.pipeline(pipeline, dot)?;
                self.fields(Dot::Item(item), fields)
            }
        }
    }

    fn fields(&mut self, dot: Dot<'a>, fields: &[String]) -> Result<Item<'a>, TemplateError> {
        let (mut item, mut parent, rest) = match (dot, fields) {
            (Dot::Root, []) => (Some(Cow::Borrowed(self.root)), "", fields),
            (Dot::Root, [first, rest @ ..]) => {
                if let Some(field) = rest.first().filter(|field| !is_open(self.kind, first, field)) {
                    let kind = self.kind.as_str();
                    let message = format!(
                        "templates don't see the field {first}.{field} of a {kind}; see docs/sources.md"
                    );
                    return Err(TemplateError::new(message));
                }
                (of_root(self.root, self.kind.as_str(), first)?, first.as_str(), rest)
            }
            (Dot::Item(item), _) => (item, "", fields),
        };
        for field in rest {
            // A field that differs in case is looked for among all.
            if let Some(Value::Object(all)) = item.as_deref() {
                self.charge(all.len())?;
            }
            item = of(item, parent, field)?;
            parent = field;
        }
        self.charge(cost(&item))?;
        Ok(item)
    }

    fn write(&mut self, text: &str) -> Result<(), TemplateError> {
        if self.output.len() + text.len() > MAX_OUTPUT {
            return Err(TemplateError::new("it makes more text than names can be"));
        }
        self.output.push_str(text);
        Ok(())
    }

    /// Counts bytes before they are worked on.
    fn charge(&mut self, bytes: usize) -> Result<(), TemplateError> {
        self.work = self.work.saturating_add(bytes);
        if self.work > MAX_WORK {
            return Err(TemplateError::new("it works on more text than names can be"));
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), TemplateError> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(TemplateError::new("it does not come to an end in time"));
        }
        Ok(())
    }
}

/// What a range walks through: maps by key, lists by number.
fn entries<'a>(item: Item<'a>) -> Result<Vec<(Value, Item<'a>)>, TemplateError> {
    let key = |text: &String| Value::String(text.clone());
    let mut entries: Vec<(Value, Item<'a>)> = match item {
        None => Vec::new(),
        Some(Cow::Borrowed(Value::Object(fields))) => {
            fields.iter().map(|(name, value)| (key(name), Some(Cow::Borrowed(value)))).collect()
        }
        Some(Cow::Owned(Value::Object(fields))) => {
            fields.into_iter().map(|(name, value)| (Value::String(name), Some(Cow::Owned(value)))).collect()
        }
        Some(Cow::Borrowed(Value::Array(items))) => {
            items.iter().enumerate().map(|(at, value)| (at.into(), Some(Cow::Borrowed(value)))).collect()
        }
        Some(Cow::Owned(Value::Array(items))) => {
            items.into_iter().enumerate().map(|(at, value)| (at.into(), Some(Cow::Owned(value)))).collect()
        }
        Some(Cow::Borrowed(Value::Null) | Cow::Owned(Value::Null)) => Vec::new(),
        Some(Cow::Borrowed(Value::String(text))) if text.is_empty() => Vec::new(),
        Some(other) => {
            return Err(TemplateError::new(format!("can't walk through {}", super::fields::kind_of(&other))));
        }
    };
    if matches!(entries.first(), Some((Value::String(_), _))) {
        entries.sort_by(|one, other| one.0.as_str().cmp(&other.0.as_str()));
    }
    Ok(entries)
}
