//! A YAML document as a tree that remembers its lines.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;

/// A value and the line it stands on.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Counted from 1.
    pub line: u64,
    /// The value.
    pub tree: Tree,
}

/// A value of YAML, as far as JSON has it.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    Sequence(Vec<Node>),
    Mapping(Vec<(Key, Node)>),
}

/// A key and the line it stands on.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    pub line: u64,
    pub text: String,
}

/// A step from a value to one inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Field(String),
    Index(usize),
}

// === impl Node ===

impl Node {
    /// The value without its lines.
    pub fn to_json(&self) -> Value {
        match &self.tree {
            Tree::Null => Value::Null,
            Tree::Bool(value) => Value::Bool(*value),
            Tree::Number(value) => Value::Number(value.clone()),
            Tree::Text(value) => Value::String(value.clone()),
            Tree::Sequence(nodes) => nodes.iter().map(Node::to_json).collect(),
            Tree::Mapping(entries) => {
                let entries = entries.iter().map(|(key, node)| (key.text.clone(), node.to_json()));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }

    /// The same without fields that are null: an API server drops them before it decodes.
    pub fn without_nulls(self) -> Self {
        let tree = match self.tree {
            Tree::Mapping(entries) => {
                let kept = entries.into_iter().filter(|(_, node)| !matches!(node.tree, Tree::Null));
                Tree::Mapping(kept.map(|(key, node)| (key, node.without_nulls())).collect())
            }
            Tree::Sequence(nodes) => Tree::Sequence(nodes.into_iter().map(Self::without_nulls).collect()),
            Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::Text(_) => self.tree,
        };
        Self { line: self.line, tree }
    }

    /// The line of the value at a path; of the nearest value around it where there is none.
    pub fn line_of(&self, path: &[Step]) -> u64 {
        let Some((step, rest)) = path.split_first() else { return self.line };
        match (step, &self.tree) {
            (Step::Field(name), Tree::Mapping(entries)) => {
                match entries.iter().find(|(key, _)| key.text == *name) {
                    Some((key, _)) if rest.is_empty() => key.line,
                    Some((_, node)) => node.line_of(rest),
                    None => self.line,
                }
            }
            (Step::Index(index), Tree::Sequence(nodes)) => {
                nodes.get(*index).map_or(self.line, |node| node.line_of(rest))
            }
            (Step::Field(_) | Step::Index(_), _) => self.line,
        }
    }

    /// The text of a field of this mapping.
    pub fn text(&self, field: &str) -> Option<&str> {
        let Tree::Mapping(entries) = &self.tree else { return None };
        entries.iter().find(|(key, _)| key.text == field).and_then(|(_, node)| match &node.tree {
            Tree::Text(text) => Some(text.as_str()),
            _other => None,
        })
    }
}

/// A path as people write it: `spec.values[0]`.
pub fn path_text(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Field(name) if text.is_empty() => text.push_str(name),
            Step::Field(name) => text.push_str(&format!(".{name}")),
            Step::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Tree>::deserialize(deserializer)?;
        Ok(Self { line: spanned.referenced.line(), tree: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Number::from_f64(value).map_or(Tree::Null, Tree::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Tree, E> {
        Ok(Tree::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Tree, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = sequence.next_element()? {
            nodes.push(node);
        }
        Ok(Tree::Sequence(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut mapping: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = mapping.next_key::<Spanned<String>>()? {
            let key = Key { line: key.referenced.line(), text: key.value };
            entries.push((key, mapping.next_value()?));
        }
        Ok(Tree::Mapping(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_remember_their_lines_over_several_documents() {
        let text = "a: 1\nb:\n  - x\n  - y: true\n---\nc:\n  d: \"5\"\n  e: null\n";
        let nodes: Vec<Node> = serde_saphyr::from_multiple(text).unwrap();
        let field = |name: &str| Step::Field(name.into());
        assert_eq!(nodes[0].to_json().to_string(), r#"{"a":1,"b":["x",{"y":true}]}"#);
        assert_eq!(nodes[0].line_of(&[field("b"), Step::Index(1), field("y")]), 4);
        assert_eq!(nodes[1].line_of(&[field("c"), field("d")]), 7);
        assert_eq!(nodes[1].line_of(&[field("c"), field("missing")]), 7);
        assert_eq!(nodes[1].to_json()["c"]["d"], "5");
        assert_eq!(path_text(&[field("spec"), field("values"), Step::Index(0)]), "spec.values[0]");
    }
}
