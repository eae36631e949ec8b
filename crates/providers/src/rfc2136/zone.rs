//! One zone on RFC 2136 servers: a mirror that is kept up to date by one question per look.

use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use domain::base::{Message, Rtype, Serial, iana::Rcode};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};
use zonekeeper_kernel::{
    capability::Capabilities,
    guard::Cleared,
    name::Name,
    record::{LiveRecord, RecordId},
    zone_change::{ClearedZone, ZoneWish},
    zone_state::ZoneState,
};

use super::{
    Reading,
    apply::Writer,
    by_name::ByName,
    client::{Client, Failure, Method},
    conversation::Cause,
    explain::explain,
    message::{Unsigned, items, query, query_since},
    mirror::{Mirror, Soa},
    refused::Refused,
    transfer::{Transfer, Transferred},
};
use crate::{
    Asks, CacheState, Ids, Listing, Outcome, Progress, ProviderError, Writes, ZoneAccess, ZoneTraits,
    traits::AUTHORITY_FIELDS,
};

/// One zone.
#[derive(Debug)]
pub(super) struct Zone {
    pub(super) client: Arc<Client>,
    pub(super) domain: Name,
    traits: ZoneTraits,
    reading: Reading,
    reread_after: Duration,
    /// Names that objects asked for: all that is read if the zone is read by name.
    watched: std::sync::Mutex<BTreeSet<Name>>,
    pub(super) refused: Refused,
    seen: Mutex<Option<Seen>>,
}

/// The zone as it was last read.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) mirror: Mirror,
    /// The server that it was read from: serials of different servers are not compared.
    pub(super) server: usize,
    /// When all of it was read: a serial is not proof enough for ever.
    whole_at: Instant,
    /// Whether it could not be asked for since: what comes back may have gone back and on again under other serials.
    is_doubtful: bool,
    /// The names that were read, where not all were.
    names: BTreeSet<Name>,
    /// Names that others changed since the zone was last listed: the plan does not know of that yet.
    pub(super) unlisted: BTreeSet<Name>,
}

/// How often a zone is read that changes meanwhile.
const MOST_LOOKS: usize = 5;
/// However patient a server makes us, message by message.
const LONGEST_TRANSFER: Duration = Duration::from_secs(600);

// === impl Seen ===

impl Seen {
    fn new(mirror: Mirror, server: usize) -> Self {
        let (names, unlisted) = (BTreeSet::new(), BTreeSet::new());
        Self { mirror, server, whole_at: Instant::now(), is_doubtful: false, names, unlisted }
    }
}

// === impl Zone ===

impl Zone {
    /// A zone that exists; nothing of it was read yet.
    pub(super) fn new(client: Arc<Client>, domain: Name, reading: Reading, reread_after: Duration) -> Self {
        Self {
            client,
            traits: traits(&domain, reading),
            domain,
            reading,
            reread_after,
            watched: std::sync::Mutex::default(),
            refused: Refused::default(),
            seen: Mutex::default(),
        }
    }

    /// The same with the servers that it names as its own.
    pub(super) fn served_by(mut self, name_servers: Vec<String>) -> Self {
        self.traits.name_servers = name_servers;
        self
    }

    /// Brings what was seen up to date, and says at which names something changed.
    ///
    /// Guarantees: one question where nothing changed, but for a whole reading every now and then; after an error
    /// nothing is left that is half true.
    pub(super) async fn look(&self, seen: &mut Option<Seen>) -> Result<BTreeSet<Name>, ProviderError> {
        let act = format!("reading zone {}", self.domain);
        let refused = |failure: Failure| explain(&act, &failure);
        let (server, soa) = match self.soa().await {
            Ok(found) => found,
            Err(failure) => {
                seen.iter_mut().for_each(|seen| seen.is_doubtful = true);
                return Err(refused(failure));
            }
        };
        if self.reading == Reading::Names {
            return self.look_by_name(seen, server, soa).await.map_err(refused);
        }
        let Some(Seen { mirror, server: last, whole_at, is_doubtful, .. }) = seen else {
            *seen = Some(Seen::new(self.load(server).await?, server));
            return Ok(BTreeSet::new());
        };
        let is_older = Serial::from(soa.serial) < Serial::from(mirror.serial());
        let is_to_be_reread = *is_doubtful || whole_at.elapsed() >= self.reread_after;
        if *last == server && soa.serial == mirror.serial() && !is_to_be_reread {
            return Ok(BTreeSet::new());
        }
        // The first server is the one that counts, even where it went back; others must not be behind it.
        if server > 0 && is_older {
            let (behind, address) = (soa.serial, self.client.address(server));
            return Err(ProviderError::Unavailable {
                message: format!(
                    "{act}: the first server can't be reached, and {address} is behind it with serial {behind}"
                ),
            });
        }
        if *last == server && !is_older && !is_to_be_reread {
            let transfer = Transfer::since(&self.domain, mirror.serial());
            match self.transfer(server, transfer, &query_since(&self.domain, mirror.serial())).await {
                Ok(Transferred::Differences(differences, soa)) => {
                    let names = differences
                        .iter()
                        .filter_map(|difference| difference.data_name(&self.domain))
                        .cloned()
                        .collect();
                    if mirror.advance(differences, soa) {
                        return Ok(names);
                    }
                    // Not the version that we thought it was: what is half done is thrown away.
                    *seen = None;
                }
                Ok(Transferred::Whole(whole)) => {
                    let names = mirror.names_that_differ(&whole);
                    (*mirror, *whole_at) = (whole, Instant::now());
                    return Ok(names);
                }
                Ok(Transferred::Current) => {}
                Err(failure) if matches!(failure.cause, Cause::NotSent(_)) => return Err(refused(failure)),
                // Not every server has differences, and none keeps them for ever.
                Err(_) => {}
            }
        }
        self.read_whole(seen, server).await
    }

    /// Reads what it is to know again, whatever version the server says it is.
    pub(super) async fn read_again(&self, seen: &mut Option<Seen>) -> Result<BTreeSet<Name>, ProviderError> {
        let refused = |failure: Failure| explain(&format!("reading zone {}", self.domain), &failure);
        let (server, soa) = self.soa().await.map_err(refused)?;
        match self.reading {
            Reading::Transfer => self.read_whole(seen, server).await,
            Reading::Names => self.read_names(seen, server, soa).await.map_err(refused),
        }
    }

    async fn read_whole(
        &self,
        seen: &mut Option<Seen>,
        server: usize,
    ) -> Result<BTreeSet<Name>, ProviderError> {
        let whole = self.load(server).await?;
        let (names, unlisted) = match seen.take() {
            Some(seen) => (seen.mirror.names_that_differ(&whole), seen.unlisted),
            None => (whole.names().cloned().collect(), BTreeSet::new()),
        };
        *seen = Some(Seen { unlisted, ..Seen::new(whole, server) });
        Ok(names)
    }

    /// The same, name by name: all of them where something changed, else those that were not read yet.
    async fn look_by_name(
        &self,
        seen: &mut Option<Seen>,
        server: usize,
        soa: Soa,
    ) -> Result<BTreeSet<Name>, Failure> {
        if let Some(seen) = seen
            && seen.server == server
            && seen.mirror.serial() == soa.serial
            && seen.names == *self.watched.lock().unwrap_or_else(PoisonError::into_inner)
            && !seen.is_doubtful
            && seen.whole_at.elapsed() < self.reread_after
        {
            return Ok(BTreeSet::new());
        }
        self.read_names(seen, server, soa).await
    }

    async fn read_names(
        &self,
        seen: &mut Option<Seen>,
        server: usize,
        mut soa: Soa,
    ) -> Result<BTreeSet<Name>, Failure> {
        let names = self.watched.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for look in 1..=MOST_LOOKS {
            let mut mirror = Mirror::new(self.domain.clone(), soa);
            let by_name = ByName { client: &self.client, domain: &self.domain, server };
            let found = by_name.read(&names).await?;
            for item in found.items {
                mirror.insert(item);
            }
            found.hidden.into_iter().for_each(|name| mirror.hide(name));
            let (again, now) = self.soa().await?;
            // A zone that never rests is taken as it was found; its version is the older one, so that the next look
            // reads again.
            if again != server || (now != soa && look < MOST_LOOKS) {
                soa = now;
                continue;
            }
            let changed = match seen.take() {
                Some(before) => {
                    let mut changed = before.mirror.names_that_differ(&mirror);
                    changed.retain(|name| before.names.contains(name));
                    let unlisted = before.unlisted;
                    *seen = Some(Seen { unlisted, names, ..Seen::new(mirror, server) });
                    changed
                }
                None => {
                    *seen = Some(Seen { names, ..Seen::new(mirror, server) });
                    BTreeSet::new()
                }
            };
            return Ok(changed);
        }
        Err(Failure::lost(self.client.address(server), "another version of the zone each time it was read"))
    }

    /// The version that the first reachable server has.
    pub(super) async fn soa(&self) -> Result<(usize, Soa), Failure> {
        let asked = self.client.ask(&query(&self.domain, Rtype::SOA)).await;
        let (server, answer) = asked.map_err(|failure| match failure.cause {
            // A server refuses questions about zones that it does not have; Knot does so unsigned.
            Cause::Refused(rcode @ (Rcode::REFUSED | Rcode::NOTAUTH | Rcode::NXDOMAIN))
            | Cause::Unsigned(rcode @ Rcode::REFUSED) => {
                Failure { cause: Cause::NotServed(rcode), ..failure }
            }
            _ => failure,
        })?;
        let found = items(&answer).map(|items| items.iter().find_map(|item| Soa::read(&self.domain, item)));
        match found {
            Ok(Some(soa)) if answer.header().aa() => Ok((server, soa)),
            Ok(_) => {
                let server = self.client.address(server).into();
                Err(Failure { server, cause: Cause::NotServed(Rcode::NOTAUTH) })
            }
            Err(message) => Err(Failure::lost(self.client.address(server), message)),
        }
    }

    /// The whole zone.
    async fn load(&self, server: usize) -> Result<Mirror, ProviderError> {
        let act = format!("reading zone {} by AXFR", self.domain);
        let question = query(&self.domain, Rtype::AXFR);
        match self.transfer(server, Transfer::whole(&self.domain), &question).await {
            Ok(Transferred::Whole(mirror)) => Ok(mirror),
            Ok(Transferred::Current | Transferred::Differences(..)) => {
                Err(ProviderError::Unavailable { message: format!("{act}: the server sent something else") })
            }
            Err(failure) => Err(explain(&act, &failure)),
        }
    }

    async fn transfer(
        &self,
        server: usize,
        mut transfer: Transfer<'_>,
        question: &Unsigned,
    ) -> Result<Transferred, Failure> {
        let address = self.client.address(server);
        let mut take = |message: &Message<Vec<u8>>| transfer.take(items(message)?);
        let transferring = self.client.converse(server, Method::Transfer, question, &mut take);
        match timeout(LONGEST_TRANSFER, transferring).await {
            Ok(transferred) => transferred?,
            Err(_) => return Err(Failure::lost(address, "a transfer that does not end")),
        }
        transfer.finish().ok_or_else(|| Failure::lost(address, "a transfer that is not complete"))
    }
}

/// Looking at all of a zone costs as little as looking at one name. A name and a value are all that there is to know a
/// record by.
fn traits(domain: &Name, reading: Reading) -> ZoneTraits {
    ZoneTraits {
        listing: match reading {
            Reading::Transfer => Listing::Everything,
            Reading::Names => Listing::WatchedNames,
        },
        writes: Writes::Compared,
        ids: Ids::Reused,
        zone_fields: AUTHORITY_FIELDS,
        ..ZoneTraits::new(domain.as_str(), Capabilities::standard())
    }
}

#[async_trait]
impl ZoneAccess for Zone {
    fn traits(&self) -> &ZoneTraits {
        &self.traits
    }

    fn watch_names(&self, names: &BTreeSet<Name>) -> CacheState {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if names.is_subset(&watched) {
            return CacheState::Current;
        }
        watched.extend(names.iter().cloned());
        CacheState::Outdated
    }

    async fn zone_state(&self, wish: &ZoneWish, _asks: Asks) -> Result<Option<ZoneState>, ProviderError> {
        let ZoneTraits { id, name_servers, .. } = self.traits.clone();
        let fields = self.authority(wish).await?;
        Ok(Some(ZoneState { id, name_servers, fields, ..ZoneState::default() }))
    }

    async fn change_zone(&self, cleared: &ClearedZone, _wish: &ZoneWish) -> Vec<Result<(), ProviderError>> {
        let changed = self.change_authority(cleared.changes()).await;
        cleared.changes().iter().map(|_| changed.clone()).collect()
    }

    async fn list(&self) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        let mut seen = self.seen.lock().await;
        self.look(&mut seen).await?;
        let Some(seen) = &mut *seen else { return Ok(Vec::new()) };
        seen.unlisted.clear();
        Ok(seen.mirror.records())
    }

    async fn read(&self, names: &BTreeSet<Name>) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        let mut seen = self.seen.lock().await;
        let changed = self.look(&mut seen).await?;
        let Some(seen) = &mut *seen else { return Ok(Vec::new()) };
        seen.unlisted.extend(changed);
        seen.unlisted.retain(|name| !names.contains(name));
        Ok(names.iter().flat_map(|name| seen.mirror.records_at(name)).collect())
    }

    /// A listing is never behind our own writes, so that what it leaves out is not there.
    async fn find(&self, _id: &RecordId) -> Result<Option<(Name, LiveRecord)>, ProviderError> {
        Ok(None)
    }

    async fn apply(&self, cleared: &Cleared, progress: &Progress<'_>) -> Vec<Outcome> {
        let mut seen = self.seen.lock().await;
        Writer::new(self, cleared.changes(), progress).apply(&mut seen).await
    }
}
