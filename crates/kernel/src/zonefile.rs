//! A zone as an RFC 1035 master file.

use std::fmt::Write;

use crate::{
    name::Name,
    rdata::{Rdata, RecordType},
    record::Ttl,
};

/// One record of a zone file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// Owner name.
    pub name: Name,
    /// Time to live.
    pub ttl: Ttl,
    /// Type and value.
    pub rdata: Rdata,
}

/// Prints a zone: SOA first, then the apex, then names in the order of the tree.
///
/// Every line is complete by itself (absolute name, TTL, class), so that order and context carry nothing.
/// `automatic` replaces the TTL that a provider chooses by itself.
pub fn print(domain: &Name, lines: impl IntoIterator<Item = Line>, automatic: Ttl) -> String {
    let mut lines: Vec<Line> = lines.into_iter().collect();
    lines.sort_by_cached_key(|line| {
        let labels: Vec<String> = line.name.labels().map(str::to_owned).collect();
        let depth: Vec<String> = labels.into_iter().rev().collect();
        (line.rdata.rtype() != RecordType::SOA, line.name != *domain, depth, line.rdata.clone())
    });
    let mut text = format!("$ORIGIN {}\n", domain.to_fqdn());
    for line in lines {
        let ttl = if line.ttl == Ttl::AUTOMATIC { automatic } else { line.ttl };
        let rtype = line.rdata.rtype();
        writeln!(text, "{}\t{}\tIN\t{}\t{}", line.name.to_fqdn(), ttl.0, rtype, line.rdata)
            .expect("writing to a string can't fail");
    }
    text
}
