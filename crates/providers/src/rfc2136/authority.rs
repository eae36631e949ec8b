//! SOA and apex NS of a zone as fields that can be configured: read by two questions, changed by one update.

use std::collections::{BTreeMap, BTreeSet};

use domain::base::Rtype;
use zonekeeper_kernel::{
    name::Name,
    rdata::{Rdata, RecordType, ValueError},
    zone_change::{AUTHORITY, Fields, ZoneChange, ZoneWish},
};

use super::{
    client::Failure,
    explain::explain,
    message::{Item, Prerequisite, Step, items, query, update},
    zone::Zone,
};
use crate::ProviderError;

/// The fields of a SOA record in the order of RFC 1035 section 3.3.13; the serial is the server's.
const SOA: [&str; 7] = ["mname", "rname", "serial", "refresh", "retry", "expire", "minimum"];
const NAME_SERVERS: &str = "nameServers";
const TTL: &str = "soa.ttl";

/// SOA and apex NS as a server has them.
#[derive(Debug)]
struct Apex {
    server: usize,
    soa: Item,
    /// Its fields as texts.
    values: BTreeMap<&'static str, String>,
    name_servers: Vec<Item>,
}

// === impl Zone ===

impl Zone {
    /// The fields of SOA and apex NS; none are asked for if a wish lists none.
    pub(super) async fn authority(&self, wish: &ZoneWish) -> Result<Fields, ProviderError> {
        if !wish.fields.iter().any(|(field, _)| field.starts_with(AUTHORITY)) {
            return Ok(Fields::default());
        }
        Ok(self.apex().await?.fields())
    }

    /// Changes them together: all of it happens, or nothing, and only if they are as they were read.
    pub(super) async fn change_authority(&self, changes: &[ZoneChange]) -> Result<(), ProviderError> {
        let act = format!("configuring zone {}", self.domain);
        let apex = self.apex().await?;
        let wanted = |field: &str| {
            let mut named =
                changes.iter().filter(|change| change.field.strip_prefix(AUTHORITY) == Some(field));
            named.find_map(|change| change.after.as_deref())
        };
        let broken = |message: String| ProviderError::Configuration { message: format!("{act}: {message}") };
        let soa = apex.changed(&wanted).map_err(|error| broken(error.to_string()))?;
        let ttl = wanted(TTL).and_then(|text| text.parse().ok()).unwrap_or(apex.soa.ttl);
        let now: BTreeSet<Rdata> = apex.name_servers().collect();
        let listed = wanted(NAME_SERVERS).map(|text| text.split(", ").map(name_server).collect());
        let then: BTreeSet<Rdata> =
            listed.unwrap_or_else(|| Ok(now.clone())).map_err(|error| broken(error.to_string()))?;
        let is_same_ttl = apex.name_servers.iter().all(|item| item.ttl == ttl);

        let octets = std::iter::once(&apex.soa).chain(&apex.name_servers);
        let prerequisites: Vec<Prerequisite<'_>> =
            octets.map(|item| Prerequisite::Value(&self.domain, item.rtype, &item.wire)).collect();
        let mut steps = vec![Step::Add(&self.domain, ttl, &soa)];
        // What comes is there before what goes: no server lets a zone lose its last name server.
        let arriving = then.iter().filter(|rdata| !is_same_ttl || !now.contains(rdata));
        steps.extend(arriving.map(|rdata| Step::Add(&self.domain, ttl, rdata)));
        steps.extend(now.difference(&then).map(|rdata| Step::Remove(&self.domain, rdata)));
        let message =
            update(&self.domain, &prerequisites, &steps).map_err(|error| broken(error.to_string()))?;
        let sent = self.client.update(&message, apex.server).await;
        sent.map(drop).map_err(|failure| explain(&act, &failure))
    }

    async fn apex(&self) -> Result<Apex, ProviderError> {
        let act = format!("reading SOA and name servers of zone {}", self.domain);
        let (server, soa) = self.ask_apex(Rtype::SOA).await.map_err(|failure| explain(&act, &failure))?;
        let (_, name_servers) = self.ask_apex(Rtype::NS).await.map_err(|failure| explain(&act, &failure))?;
        let unreadable =
            || ProviderError::Unavailable { message: format!("{act}: no SOA record can be read") };
        let soa = soa.into_iter().next().ok_or_else(unreadable)?;
        let text = Rdata::from_wire(RecordType::SOA, &soa.wire).map_err(|_| unreadable())?.to_string();
        let values = SOA.into_iter().zip(text.split_whitespace().map(str::to_owned)).collect();
        Ok(Apex { server, soa, values, name_servers })
    }

    async fn ask_apex(&self, rtype: Rtype) -> Result<(usize, Vec<Item>), Failure> {
        let (server, answer) = self.client.ask(&query(&self.domain, rtype)).await?;
        let unreadable = |message: String| Failure::lost(self.client.address(server), message);
        let mut found = items(&answer).map_err(unreadable)?;
        found.retain(|item| item.name == self.domain && item.rtype.code() == rtype.to_int());
        Ok((server, found))
    }
}

// === impl Apex ===

impl Apex {
    fn fields(&self) -> Fields {
        let value = |(field, value): (&&str, &String)| {
            let is_name = matches!(*field, "mname" | "rname");
            let name = Name::parse(value).ok().filter(|_| is_name);
            (format!("{AUTHORITY}soa.{field}"), name.map_or_else(|| value.clone(), |name| name.to_fqdn()))
        };
        let mut fields: Fields = self.values.iter().map(value).collect();
        fields.insert(format!("{AUTHORITY}{TTL}"), self.soa.ttl.to_string());
        let servers = self.name_servers().filter_map(|rdata| Some(rdata.target()?.to_fqdn()));
        let servers: Vec<String> = servers.collect::<BTreeSet<_>>().into_iter().collect();
        fields.insert(format!("{AUTHORITY}{NAME_SERVERS}"), servers.join(", "));
        fields
    }

    fn name_servers(&self) -> impl Iterator<Item = Rdata> {
        self.name_servers.iter().filter_map(|item| Rdata::from_wire(item.rtype, &item.wire).ok())
    }

    /// The SOA record with what is wanted in it, and the next serial: a server takes no other.
    fn changed<'a>(&self, wanted: &impl Fn(&str) -> Option<&'a str>) -> Result<Rdata, ValueError> {
        let value = |field: &&str| {
            let now = self.values.get(field).cloned().unwrap_or_default();
            match *field {
                "serial" => {
                    now.parse::<u32>().map_or(now, |serial| serial.wrapping_add(1).max(1).to_string())
                }
                field => wanted(&format!("soa.{field}")).map_or(now, str::to_owned),
            }
        };
        let values: Vec<String> = SOA.iter().map(value).collect();
        Rdata::parse(RecordType::SOA, &values.join(" "))
    }
}

fn name_server(text: &str) -> Result<Rdata, ValueError> {
    Rdata::parse(RecordType::NS, text)
}
