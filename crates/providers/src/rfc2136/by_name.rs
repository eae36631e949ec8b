//! A zone that the server does not transfer, read name by name: only those that somebody asks for.

use std::collections::BTreeSet;

use domain::base::{Message, Rtype, iana::Rcode};
use zonekeeper_kernel::name::Name;

use super::{
    client::{Client, Failure, Method},
    conversation::{Cause, Next},
    message::{Item, Prerequisite, items, query, update},
};

/// How many names one message asks about; each takes some 40 octets.
const AT_ONCE: usize = 500;

/// What a server has at some names.
pub(super) struct ByName<'a> {
    pub(super) client: &'a Client,
    pub(super) domain: &'a Name,
    pub(super) server: usize,
}

// === impl ByName ===

impl ByName<'_> {
    /// All records of these names. What the server makes up from a wildcard is not there.
    pub(super) async fn read(&self, names: &BTreeSet<Name>) -> Result<Vec<Item>, Failure> {
        let mut items = Vec::new();
        for name in names {
            items.extend(self.at(name).await?);
        }
        let found: Vec<&Name> =
            items.iter().map(|item| &item.name).collect::<BTreeSet<_>>().into_iter().collect();
        let mut made_up = BTreeSet::new();
        for names in found.chunks(AT_ONCE) {
            made_up.extend(self.unused(names).await?.into_iter().cloned());
        }
        items.retain(|item| !made_up.contains(&item.name));
        Ok(items)
    }

    async fn at(&self, name: &Name) -> Result<Vec<Item>, Failure> {
        let mut found = Vec::new();
        let mut take = |message: &Message<Vec<u8>>| {
            found = items(message)?;
            Ok(Next::Done)
        };
        let question = query(name, Rtype::ANY);
        match self.client.converse(self.server, Method::Query, &question, &mut take).await {
            Ok(()) => Ok(found.into_iter().filter(|item| item.name == *name).collect()),
            Err(failure) if matches!(failure.cause, Cause::Refused(Rcode::NXDOMAIN)) => Ok(Vec::new()),
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
