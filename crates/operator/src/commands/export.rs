//! `zonekeeper export`: a zone as a zone file.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use zonekeeper_kernel::{
    name::Name,
    rdata::{Rdata, RecordType},
    record::Ttl,
    zonefile::{self, Line},
};

use zonekeeper_providers::Listing;

use crate::{
    commands::{Ending, options::FolderOptions, say},
    declare,
    session::{OpenZone, Serving, Session},
};

/// TTL in the file where the provider chooses it by itself; Cloudflare answers with 300 (2026-11).
const AUTOMATIC: Ttl = Ttl(300);

/// Write a zone as an RFC 1035 zone file.
#[derive(Debug, Args)]
pub struct Export {
    /// The folder of manifests that declares the zone.
    #[arg(short, long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The zone's domain, where the folder declares several.
    #[arg(long, value_name = "DOMAIN")]
    zone: Option<String>,
    #[command(flatten)]
    options: FolderOptions,
}

// === impl Export ===

impl Export {
    pub async fn run(self) -> anyhow::Result<Ending> {
        let mut session = self.options.open(self.folder.as_ref(), Serving::Showing).await?;
        let domain = self.chosen(&session)?;
        let (lines, mut notes) = session.lines(&domain).await?;
        let (lines, left_out) = servable(lines, &domain);
        notes.extend(left_out.into_iter().map(|line| {
            let (name, rtype) = (line.name, line.rdata.rtype());
            format!(
                "{name} {rtype} {} is left out: a zone file can't hold it beside other records",
                line.rdata
            )
        }));
        say::result(zonefile::print(&domain, lines, AUTOMATIC));
        notes.iter().for_each(|note| say::aside(format_args!("note: {note}")));
        Ok(Ending::Done)
    }

    fn chosen(&self, session: &Session) -> anyhow::Result<Name> {
        let domains: Vec<Name> = session.zones().iter().map(|zone| zone.zone.domain.clone()).collect();
        match (&self.zone, &*domains) {
            (Some(text), _) => {
                let domain = Name::parse(text)?;
                if !domains.contains(&domain) {
                    bail!("the folder declares no DNSZone with domain {domain}");
                }
                Ok(domain)
            }
            (None, [only]) => Ok(only.clone()),
            (None, []) => bail!("the folder declares no DNSZone"),
            (None, several) => {
                let names: Vec<&str> = several.iter().map(Name::as_str).collect();
                bail!("the folder declares several zones ({}); choose one with --zone", names.join(", "))
            }
        }
    }
}

impl Session {
    /// What a zone holds: at its provider, or, for the built-in server, what the folder gives it. And what to
    /// know about it.
    async fn lines(&mut self, domain: &Name) -> anyhow::Result<(Vec<Line>, Vec<String>)> {
        let is_wanted = |zone: &OpenZone| zone.zone.domain == *domain;
        let is_builtin = self.zones().iter().find(|zone| is_wanted(zone)).is_some_and(|zone| zone.is_builtin);
        let report = if is_builtin { Some(self.plan().await) } else { None };
        let zone = self.zones_mut().find(|zone| is_wanted(zone)).context("a zone of the folder")?;
        let mut lines = authority_lines(zone)?;
        let mut notes = Vec::new();
        match report {
            Some(report) => {
                let rejected = report.rejections().map(|(_, rejection)| rejection);
                notes.extend(rejected.map(|rejection| {
                    format!("{}: {}: {}", rejection.holder, rejection.reason, rejection.message)
                }));
                let planned = report.zones.iter().filter(|report| report.key == zone.zone.key);
                let changes = planned.flat_map(|report| report.verdict().cleared.changes());
                let records = changes.flat_map(|change| &change.edits).filter_map(|edit| edit.after());
                lines.extend(records.map(|record| Line {
                    name: record.name.clone(),
                    ttl: record.ttl,
                    rdata: record.rdata.clone(),
                }));
            }
            None => {
                let worker = zone.worker.as_mut().map_err(|error| error.clone())?;
                if worker.access().traits().listing == Listing::WatchedNames {
                    bail!(
                        "{domain} is read name by name (rfc2136.reading: Names), so not all of its records are known"
                    );
                }
                worker.observe().await?;
                notes.push("the SOA record is made up: the provider keeps its own".into());
                for (name, records) in worker.cache().live().iter() {
                    lines.extend(records.iter().map(|record| Line {
                        name: name.clone(),
                        ttl: record.ttl,
                        rdata: record.rdata.clone(),
                    }));
                }
            }
        }
        let has_own_servers =
            lines.iter().filter(|line| line.name == *domain && line.rdata.rtype() == RecordType::NS).count()
                > 0;
        if !has_own_servers {
            let (servers, unreachable) = name_server_lines(zone, &lines)?;
            lines.extend(servers);
            notes.extend(unreachable.iter().map(|server| {
                format!("name server {server} is left out: it lies in the zone, and no A or AAAA record says where")
            }));
        }
        lines.sort();
        lines.dedup();
        Ok((lines, notes))
    }
}

/// Providers that write the SOA themselves do not list it; a zone file is none without one.
fn authority_lines(zone: &OpenZone) -> anyhow::Result<Vec<Line>> {
    let authority = declare::authority(&zone.declared.object)?;
    let servers = name_servers(zone)?;
    let primary = servers.first().unwrap_or(&authority.primary);
    let numbers =
        [1, authority.refresh, authority.retry, authority.expire, authority.minimum].map(|n| n.to_string());
    let soa = format!("{} {} {}", primary.to_fqdn(), authority.mailbox.to_fqdn(), numbers.join(" "));
    Ok(vec![Line {
        name: zone.zone.domain.clone(),
        ttl: Ttl(authority.ttl),
        rdata: Rdata::parse(RecordType::SOA, &soa)?,
    }])
}

/// The zone's NS records, and servers that would need an address in the zone and have none: no server loads
/// such a zone.
fn name_server_lines(zone: &OpenZone, lines: &[Line]) -> anyhow::Result<(Vec<Line>, Vec<Name>)> {
    let ttl = Ttl(declare::authority(&zone.declared.object)?.ttl);
    let has_address = |server: &Name| {
        let is_address = |line: &Line| matches!(line.rdata.rtype(), RecordType::A | RecordType::AAAA);
        lines.iter().any(|line| line.name == *server && is_address(line))
    };
    let (mut reachable, unreachable): (Vec<Name>, Vec<Name>) = name_servers(zone)?
        .into_iter()
        .partition(|server| !server.is_within(&zone.zone.domain) || has_address(server));
    if reachable.is_empty() {
        reachable.push(Name::parse("localhost")?);
    }
    let line = |server: &Name| {
        let rdata = Rdata::parse(RecordType::NS, &server.to_fqdn())?;
        Ok(Line { name: zone.zone.domain.clone(), ttl, rdata })
    };
    Ok((reachable.iter().map(line).collect::<anyhow::Result<_>>()?, unreachable))
}

/// The servers that the provider names, else those of `spec.authority`.
fn name_servers(zone: &OpenZone) -> anyhow::Result<Vec<Name>> {
    let told = zone.worker.as_ref().map_or(&[][..], |worker| &*worker.access().traits().name_servers);
    if !told.is_empty() {
        return Ok(told.iter().map(|text| Name::parse(text)).collect::<Result<_, _>>()?);
    }
    let authority = declare::authority(&zone.declared.object)?;
    Ok(if authority.name_servers.is_empty() { vec![authority.primary] } else { authority.name_servers })
}

/// Splits off CNAMEs that share their name: Cloudflare flattens those, a zone file can't say so.
fn servable(lines: Vec<Line>, domain: &Name) -> (Vec<Line>, Vec<Line>) {
    let is_shared = |line: &Line| {
        line.rdata.rtype() == RecordType::CNAME
            && (line.name == *domain
                || lines
                    .iter()
                    .any(|other| other.name == line.name && other.rdata.rtype() != RecordType::CNAME))
    };
    let shared: Vec<bool> = lines.iter().map(is_shared).collect();
    let (left_out, kept): (Vec<_>, Vec<_>) =
        lines.iter().cloned().zip(shared).partition(|(_, is_shared)| *is_shared);
    let lines = |pairs: Vec<(Line, bool)>| pairs.into_iter().map(|(line, _)| line).collect();
    (lines(kept), lines(left_out))
}
