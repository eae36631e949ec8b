//! Names made by a template: the part of Go's text/template that ExternalDNS's users write.
//!
//! Text, fields, variables, pipelines, `if`, `else`, `with`, `range`, `break` and `continue`; Go's comparing, indexing
//! and printing functions; ExternalDNS's own. Fields are found as Go spells them (`.Spec.ClusterIP`) or as JSON does.
//!
//! Unlike Go's, evaluation always ends: a template has limits of length and nesting, and a budget of steps, of bytes
//! that it works on and of output, whatever it says and whatever the object holds. It sees what `visible.rs` lists.

mod evaluate;
mod fields;
mod functions;
mod lex;
mod parse;
mod visible;

use std::collections::BTreeSet;

use serde_json::Value;
use zonekeeper_api::SourceKind;

use crate::object::Kind;

pub(crate) use visible::visible;

/// Longer ones are not admitted by the schema either.
const MAX_LENGTH: usize = 4096;

/// A parsed template.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    nodes: Vec<parse::Node>,
}

/// Why a template can't be parsed, or makes nothing of an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TemplateError(String);

// === impl Template ===

impl Template {
    /// Parses a template.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        if text.len() > MAX_LENGTH {
            return Err(TemplateError::new(format!("it is longer than {MAX_LENGTH} bytes")));
        }
        let nodes = parse::parse(text)?;
        Ok(Self { nodes })
    }

    /// The names that the template makes of an object: separated by commas, trimmed, without final dot, sorted.
    pub fn names(&self, kind: Kind, object: &Value) -> Result<Vec<String>, TemplateError> {
        let text = evaluate::evaluate(&self.nodes, kind, object)?;
        let names = text.split(',').map(str::trim).map(|name| name.trim_end_matches('.').trim_end());
        let names: BTreeSet<String> = names.filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Ok(names.into_iter().collect())
    }
}

// === impl TemplateError ===

impl TemplateError {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// What ExternalDNS calls the source of a kind.
fn source_name(kind: Kind) -> &'static str {
    let Kind::Source(kind) = kind else { return "" };
    match kind {
        SourceKind::Service => "service",
        SourceKind::Ingress => "ingress",
        SourceKind::Gateway => "gateway",
        SourceKind::HttpRoute => "gateway-httproute",
        SourceKind::GrpcRoute => "gateway-grpcroute",
        SourceKind::TlsRoute => "gateway-tlsroute",
        SourceKind::TcpRoute => "gateway-tcproute",
        SourceKind::UdpRoute => "gateway-udproute",
        SourceKind::DnsEndpoint => "crd",
        SourceKind::Node => "node",
        SourceKind::Pod => "pod",
    }
}
