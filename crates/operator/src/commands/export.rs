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

use crate::{
    commands::{Ending, options::FolderOptions},
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
        let lines = session.lines(&domain).await?;
        let (lines, left_out) = servable(lines, &domain);
        print!("{}", zonefile::print(&domain, lines, AUTOMATIC));
        for line in left_out {
            let (name, rtype) = (line.name, line.rdata.rtype());
            eprintln!("note: {name} {rtype} {} is left out: a zone file can't hold it beside other records", line.rdata);
        }
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
    /// What a zone holds: at its provider, or, for the built-in server, what the folder gives it.
    async fn lines(&mut self, domain: &Name) -> anyhow::Result<Vec<Line>> {
        let is_builtin = self.has_builtin();
        let report = if is_builtin { Some(self.plan().await) } else { None };
        let zone = self.zones_mut().find(|zone| zone.zone.domain == *domain).context("a zone of the folder")?;
        let mut lines = authority_lines(zone)?;
        match report {
            Some(report) => {
                let planned = report.zones.iter().filter(|report| report.domain == *domain);
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
                worker.observe().await?;
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
            lines.iter().filter(|line| line.name == *domain && line.rdata.rtype() == RecordType::NS).count() > 0;
        if !has_own_servers {
            lines.extend(name_server_lines(zone)?);
        }
        lines.sort();
        lines.dedup();
        Ok(lines)
    }
}

/// Providers that write the SOA themselves do not list it; a zone file is none without one.
fn authority_lines(zone: &OpenZone) -> anyhow::Result<Vec<Line>> {
    let authority = declare::authority(&zone.declared.object)?;
    let servers = name_servers(zone)?;
    let primary = servers.first().unwrap_or(&authority.primary);
    let numbers = [1, authority.refresh, authority.retry, authority.expire, authority.minimum].map(|n| n.to_string());
    let soa = format!("{} {} {}", primary.to_fqdn(), authority.mailbox.to_fqdn(), numbers.join(" "));
    Ok(vec![Line {
        name: zone.zone.domain.clone(),
        ttl: Ttl(authority.ttl),
        rdata: Rdata::parse(RecordType::SOA, &soa)?,
    }])
}

fn name_server_lines(zone: &OpenZone) -> anyhow::Result<Vec<Line>> {
    let ttl = Ttl(declare::authority(&zone.declared.object)?.ttl);
    let line = |server: &Name| {
        let rdata = Rdata::parse(RecordType::NS, &server.to_fqdn())?;
        Ok(Line { name: zone.zone.domain.clone(), ttl, rdata })
    };
    name_servers(zone)?.iter().map(line).collect()
}

/// The servers that the provider names, else those of `spec.authority`.
fn name_servers(zone: &OpenZone) -> anyhow::Result<Vec<Name>> {
    let told = zone.worker.as_ref().map_or(&[][..], |worker| worker.access().name_servers());
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
                || lines.iter().any(|other| other.name == line.name && other.rdata.rtype() != RecordType::CNAME))
    };
    let shared: Vec<bool> = lines.iter().map(is_shared).collect();
    let (left_out, kept): (Vec<_>, Vec<_>) = lines.iter().cloned().zip(shared).partition(|(_, is_shared)| *is_shared);
    let lines = |pairs: Vec<(Line, bool)>| pairs.into_iter().map(|(line, _)| line).collect();
    (lines(kept), lines(left_out))
}
