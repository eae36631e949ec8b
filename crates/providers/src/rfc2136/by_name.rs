//! A zone that the server does not transfer, read name by name: only those that objects ask for.

use std::collections::BTreeSet;

use domain::base::{Message, Rtype, iana::Rcode};
use zonekeeper_kernel::{name::Name, rdata::RecordType};

use super::{
    client::{Client, Failure, Method},
    conversation::{Cause, Next},
    message::{Item, Prerequisite, authority, items, query, update},
};

/// How many names one message asks about; the longest take 265 octets.
const AT_ONCE: usize = 200;

/// What a server has at some names.
#[derive(Default)]
pub(super) struct Found {
    pub(super) items: Vec<Item>,
    /// Names below a delegation: the server answers for none of them.
    pub(super) hidden: Vec<Name>,
}

/// Asks a server for some names.
pub(super) struct ByName<'a> {
    pub(super) client: &'a Client,
    pub(super) domain: &'a Name,
    pub(super) server: usize,
}

// === impl ByName ===

impl ByName<'_> {
    /// All records of these names. What the server makes up from a wildcard is not there.
    pub(super) async fn read(&self, names: &BTreeSet<Name>) -> Result<Found, Failure> {
        let mut found = Found::default();
        for name in names {
            match self.at(name).await? {
                Some(items) => found.items.extend(items),
                None => found.hidden.push(name.clone()),
            }
        }
        let named: BTreeSet<&Name> = found.items.iter().map(|item| &item.name).collect();
        let named: Vec<&Name> = named.into_iter().collect();
        let mut made_up = BTreeSet::new();
        for names in named.chunks(AT_ONCE) {
            made_up.extend(self.unused(names).await?.into_iter().cloned());
        }
        found.items.retain(|item| !made_up.contains(&item.name));
        Ok(found)
    }

    /// The records of a name; none where the server leaves it to others.
    async fn at(&self, name: &Name) -> Result<Option<Vec<Item>>, Failure> {
        let (mut found, mut left_to) = (Vec::new(), None);
        let mut take = |message: &Message<Vec<u8>>| {
            found = items(message)?;
            if found.is_empty() && !message.header().aa() {
                // A referral: what it says of the delegation itself is all that the zone holds there.
                found = authority(message)?;
                found.retain(|item| item.rtype == RecordType::NS);
                left_to = found.first().map(|item| item.name.clone());
            }
            Ok(Next::Done)
        };
        let question = query(name, Rtype::ANY);
        match self.client.converse(self.server, Method::Query, &question, &mut take).await {
            Ok(()) if left_to.is_some_and(|delegated| delegated != *name) => Ok(None),
            Ok(()) => Ok(Some(found.into_iter().filter(|item| item.name == *name).collect())),
            Err(failure) if matches!(failure.cause, Cause::Refused(Rcode::NXDOMAIN)) => Ok(Some(Vec::new())),
            Err(failure) => Err(failure),
        }
    }

    /// Which of these names have no records of their own: an update that does nothing says so, unlike an answer.
    async fn unused<'b>(&self, names: &[&'b Name]) -> Result<Vec<&'b Name>, Failure> {
        let mut unused = Vec::new();
        let mut open = vec![names.to_vec()];
        while let Some(names) = open.pop() {
            let used: Vec<Prerequisite<'_>> = names.iter().map(|name| Prerequisite::NameUsed(name)).collect();
            let address = self.client.address(self.server);
            let message = update(self.domain, &used, &[])
                .map_err(|_| Failure::lost(address, "names that do not fit in a message"))?;
            let mut take = |_: &Message<Vec<u8>>| Ok(Next::Done);
            match self.client.converse(self.server, Method::Update, &message, &mut take).await {
                Ok(()) => {}
                Err(failure) if !matches!(failure.cause, Cause::Refused(Rcode::NXDOMAIN)) => {
                    return Err(failure);
                }
                Err(_) if names.len() == 1 => unused.extend(names),
                Err(_) => {
                    let (first, second) = names.split_at(names.len() / 2);
                    open.extend([first.to_vec(), second.to_vec()]);
                }
            }
        }
        Ok(unused)
    }
}
