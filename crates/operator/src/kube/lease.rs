//! Leadership: one Lease, and a fence that closes before another replica may take it.

use std::{
    sync::Arc,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use kube::{Api, Client, api::PostParams};
use rustix::time::{ClockId, clock_gettime};
use zonekeeper_providers::fence::Fence;

/// The Lease that all replicas of a release share.
pub struct Election {
    api: Api<Lease>,
    name: String,
    identity: String,
    duration: Duration,
    term: Arc<Term>,
    /// The Lease as it was last seen, and since when it has not changed.
    last_seen: Option<(String, Duration)>,
}

/// For how long we lead, by a clock that counts the time in which this process or machine was stopped.
#[derive(Debug)]
pub struct Term {
    until_millis: AtomicU64,
    margin: Duration,
}

/// What became of a try to lead.
#[derive(Debug, PartialEq, Eq)]
enum Attempt {
    Won,
    Lost,
}

// === impl Term ===

impl Term {
    /// A term that has ended.
    fn new(duration: Duration) -> Self {
        Self { until_millis: AtomicU64::new(0), margin: duration / 10 }
    }

    fn extend(&self, until: Duration) {
        self.until_millis.store(until.as_millis() as u64, Ordering::SeqCst);
    }

    /// Whether we lead now.
    pub fn is_running(&self) -> bool {
        self.time_left().is_some()
    }

    fn remaining(&self) -> Duration {
        Duration::from_millis(self.until_millis.load(Ordering::SeqCst)).saturating_sub(now())
    }
}

impl Fence for Term {
    fn time_left(&self) -> Option<Duration> {
        let left = self.remaining().saturating_sub(self.margin);
        (!left.is_zero()).then_some(left)
    }
}

// === impl Election ===

impl Election {
    /// An election that was not begun.
    pub fn new(client: Client, namespace: &str, name: &str, identity: String, duration: Duration) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            name: name.to_owned(),
            identity,
            duration,
            term: Arc::new(Term::new(duration)),
            last_seen: None,
        }
    }

    /// Says for how long we lead.
    pub fn term(&self) -> Arc<Term> {
        self.term.clone()
    }

    /// Waits until we lead.
    pub async fn win(&mut self) {
        // A Lease that was given back is taken within a second.
        let pause = (self.duration / 8).min(Duration::from_secs(1));
        loop {
            match self.attempt().await {
                Ok(Attempt::Won) => return,
                Ok(Attempt::Lost) => {}
                Err(error) => tracing::warn!(%error, "the Lease can't be read or written; trying again"),
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Renews the Lease for as long as that works; returns when we lead no more.
    pub async fn keep(&mut self) {
        while self.term.is_running() {
            tokio::time::sleep((self.duration / 3).min(self.term.remaining() / 2)).await;
            match self.attempt().await {
                Ok(Attempt::Won) => {}
                Ok(Attempt::Lost) => {
                    self.term.extend(Duration::ZERO);
                    return;
                }
                Err(error) => {
                    tracing::warn!(%error, "the Lease can't be renewed; trying again");
                    tokio::time::sleep(self.duration / 20).await;
                }
            }
        }
    }

    /// Gives the Lease back, so that no replica has to wait for its end.
    pub async fn release(&mut self) {
        self.term.extend(Duration::ZERO);
        if let Ok(Some(lease)) = self.api.get_opt(&self.name).await
            && holder(&lease) == self.identity
        {
            let mut lease = lease;
            lease.spec.get_or_insert_default().holder_identity = None;
            // If this fails, the other replicas find out by the clock.
            let _ = self.api.replace(&self.name, &PostParams::default(), &lease).await;
        }
    }

    async fn attempt(&mut self) -> kube::Result<Attempt> {
        let begun = now();
        let answer = match self.api.get_opt(&self.name).await? {
            None => self.api.create(&PostParams::default(), &self.ours(None)).await,
            Some(lease) if self.may_take(&lease, begun) => {
                self.api.replace(&self.name, &PostParams::default(), &self.ours(Some(lease))).await
            }
            Some(_) => return Ok(Attempt::Lost),
        };
        match answer {
            Ok(_) => {
                self.term.extend(begun + self.duration);
                Ok(Attempt::Won)
            }
            // Another replica was faster.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Attempt::Lost),
            Err(error) => Err(error),
        }
    }

    /// Ours, given back, or unchanged for as long as its holder asked for: by our own clock, not by the other's.
    fn may_take(&mut self, lease: &Lease, seen_at: Duration) -> bool {
        let holder = holder(lease);
        if holder.is_empty() || holder == self.identity {
            return true;
        }
        let version = lease.metadata.resource_version.clone().unwrap_or_default();
        match &self.last_seen {
            Some((seen, since)) if *seen == version => {
                let asked = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds).unwrap_or(15);
                seen_at.saturating_sub(*since) > Duration::from_secs(asked.max(1) as u64)
            }
            Some(_) | None => {
                self.last_seen = Some((version, seen_at));
                false
            }
        }
    }

    fn ours(&self, old: Option<Lease>) -> Lease {
        let mut lease = old.unwrap_or_default();
        lease.metadata.name = Some(self.name.clone());
        let now = MicroTime(Timestamp::now());
        let before = lease.spec.take().unwrap_or_default();
        let is_renewal = before.holder_identity.as_deref() == Some(self.identity.as_str());
        lease.spec = Some(LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(self.duration.as_secs().max(1) as i32),
            acquire_time: if is_renewal { before.acquire_time } else { Some(now.clone()) },
            renew_time: Some(now),
            lease_transitions: Some(before.lease_transitions.unwrap_or(0) + i32::from(!is_renewal)),
            ..LeaseSpec::default()
        });
        lease
    }
}

fn holder(lease: &Lease) -> &str {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}

fn now() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
