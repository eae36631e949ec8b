//! Changes as batch calls: filled to the plan's limit, bisected where one is refused, never repeated blindly.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use zonekeeper_kernel::{
    plan::{Change, Edit},
    record::RecordId,
};

use crate::{
    Effect, Outcome, Progress, ProviderError,
    cloudflare::{
        api::{Client, Failure, Reply, Request},
        budget::Purpose,
        convert::{self, ApiRecord},
        explain::{Concern, concern, explain},
    },
    describe,
};

/// What Cloudflare takes in one call on every plan (2026-11).
const SMALLEST_LIMIT: usize = 200;

/// Writes the records of one zone.
pub struct Batches<'a> {
    /// The client.
    pub client: &'a Client,
    /// The zone's id.
    pub zone: &'a str,
    /// Operations per call; lowered where a refusal teaches so.
    pub limit: &'a AtomicUsize,
}

/// Why the rest of a plan is not sent.
struct Stop(ProviderError);

/// What a batch call answers: the records as they are now, by kind and in the order of the request.
#[derive(Deserialize, Default)]
struct BatchReply {
    #[serde(default)]
    patches: Option<Vec<ApiRecord>>,
    #[serde(default)]
    posts: Option<Vec<ApiRecord>>,
}

// === impl Batches ===

impl Batches<'_> {
    /// Applies changes and answers for each.
    pub async fn apply(&self, changes: &[Change], progress: &Progress<'_>) -> Vec<Outcome> {
        self.in_calls(changes, progress).await.0
    }

    /// Sends changes in as few calls as the limit allows.
    async fn in_calls(&self, changes: &[Change], progress: &Progress<'_>) -> (Vec<Outcome>, Option<Stop>) {
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(changes.len());
        while outcomes.len() < changes.len() {
            let rest = &changes[outcomes.len()..];
            let chunk = &rest[..fitting(rest, self.limit.load(Ordering::Relaxed))];
            let (answered, stop) = self.send(chunk).await;
            outcomes.extend(answered);
            progress(outcomes.len());
            if let Some(Stop(error)) = stop {
                let unsent = changes.len() - outcomes.len();
                outcomes.extend((0..unsent).map(|_| Outcome::NotSent(error.clone())));
                return (outcomes, Some(Stop(error)));
            }
        }
        (outcomes, None)
    }

    /// Sends some changes as one call, or as two halves where that is refused.
    fn send<'a>(&'a self, changes: &'a [Change]) -> BoxFuture<'a, (Vec<Outcome>, Option<Stop>)> {
        Box::pin(async move {
            if let [change] = changes
                && change.edits.len() > self.limit.load(Ordering::Relaxed)
            {
                return self.send_in_parts(change).await;
            }
            let edits: Vec<&Edit> = changes.iter().flat_map(|change| &change.edits).collect();
            match self.call(&edits).await {
                Ok(effects) => {
                    let mut effects = effects.into_iter();
                    let mut of = |change: &Change| effects.by_ref().take(change.edits.len()).collect();
                    (changes.iter().map(|change| Outcome::Applied(of(change))).collect(), None)
                }
                Err(failure) => self.refused(changes, failure).await,
            }
        })
    }

    async fn refused(&self, changes: &[Change], failure: Failure) -> (Vec<Outcome>, Option<Stop>) {
        let act = match changes {
            [change] => format!("writing {}", describe(change)),
            several => format!("writing {} changes", several.len()),
        };
        let error = explain(&act, &failure);
        match &failure {
            Failure::Lost { .. } => {
                let unknown = changes.iter().map(|_| Outcome::Unknown(error.clone())).collect();
                (unknown, Some(Stop(error)))
            }
            Failure::RateLimited { .. } | Failure::OverBudget { .. } | Failure::NotSent { .. } => {
                let unsent = changes.iter().map(|_| Outcome::NotSent(error.clone())).collect();
                (unsent, Some(Stop(error)))
            }
            Failure::Refused { status, errors } => match concern(*status, errors) {
                Concern::Everything => {
                    let unsent = changes.iter().map(|_| Outcome::NotSent(error.clone())).collect();
                    (unsent, Some(Stop(error)))
                }
                Concern::BatchSize if changes.len() > 1 => {
                    let learned = match edits_in(changes) {
                        edits if edits > SMALLEST_LIMIT => SMALLEST_LIMIT,
                        edits => (edits / 2).max(1),
                    };
                    self.limit.fetch_min(learned, Ordering::Relaxed);
                    self.in_calls(changes, &|_| {}).await
                }
                Concern::OneChange | Concern::State | Concern::BatchSize => match changes {
                    [_] => (vec![Outcome::Refused(error)], None),
                    _several => self.halves(changes).await,
                },
            },
        }
    }

    /// A change stays whole: its data and marker, or its old and new type, belong together.
    async fn halves(&self, changes: &[Change]) -> (Vec<Outcome>, Option<Stop>) {
        let (first, second) = changes.split_at(changes.len() / 2);
        let (mut outcomes, stop) = self.send(first).await;
        if let Some(Stop(error)) = stop {
            outcomes.extend(second.iter().map(|_| Outcome::NotSent(error.clone())));
            return (outcomes, Some(Stop(error)));
        }
        let (more, stop) = self.send(second).await;
        outcomes.extend(more);
        (outcomes, stop)
    }

    /// A change with more edits than fit in one call: in its own order, of which every prefix is safe.
    async fn send_in_parts(&self, change: &Change) -> (Vec<Outcome>, Option<Stop>) {
        let mut effects = Vec::with_capacity(change.edits.len());
        for part in change.edits.chunks(self.limit.load(Ordering::Relaxed)) {
            match self.call(&part.iter().collect::<Vec<_>>()).await {
                Ok(more) => effects.extend(more),
                Err(failure) if effects.is_empty() => {
                    return self.refused(std::slice::from_ref(change), failure).await;
                }
                Err(failure) => {
                    let error = explain(&format!("writing {}", describe(change)), &failure);
                    return (vec![Outcome::Unknown(error.clone())], Some(Stop(error)));
                }
            }
        }
        (vec![Outcome::Applied(effects)], None)
    }

    async fn call(&self, edits: &[&Edit]) -> Result<Vec<Effect>, Failure> {
        let (mut deletes, mut patches, mut posts) = (Vec::new(), Vec::new(), Vec::new());
        for edit in edits {
            match edit {
                Edit::Delete { before, .. } => deletes.push(json!({ "id": &*before.id.0 })),
                Edit::Update { before, after, .. } => patches.push(convert::patch(before, after)),
                Edit::Create { record, .. } => posts.push(convert::create(record)),
            }
        }
        let mut body = Map::new();
        for (name, operations) in [("deletes", deletes), ("patches", patches), ("posts", posts)] {
            if !operations.is_empty() {
                body.insert(name.into(), Value::Array(operations));
            }
        }
        let request = Request {
            method: Method::POST,
            path: format!("/zones/{}/dns_records/batch", self.zone),
            body: Some(Value::Object(body)),
            purpose: Purpose::Change,
        };
        let reply: Reply<BatchReply> = self.client.send(&request).await?;
        effects(edits, reply.result)
    }
}

/// How many changes from the start fit in one call; at least one.
fn fitting(changes: &[Change], limit: usize) -> usize {
    let mut edits = 0;
    let fits = |change: &&Change| {
        edits += change.edits.len();
        edits <= limit
    };
    changes.iter().take_while(fits).count().max(1)
}

fn edits_in(changes: &[Change]) -> usize {
    changes.iter().map(|change| change.edits.len()).sum()
}

/// Pairs each edit with the record that the answer holds for it.
fn effects(edits: &[&Edit], reply: BatchReply) -> Result<Vec<Effect>, Failure> {
    let mut patched = reply.patches.unwrap_or_default().into_iter();
    let mut posted = reply.posts.unwrap_or_default().into_iter();
    let mut effects = Vec::with_capacity(edits.len());
    for edit in edits {
        let answered = match edit {
            Edit::Delete { .. } => {
                effects.push(Effect::of(edit, RecordId::default()));
                continue;
            }
            Edit::Update { .. } => patched.next(),
            Edit::Create { .. } => posted.next(),
        };
        let Some(record) = answered else {
            return Err(Failure::Lost { message: "the answer to a batch leaves out records".into() });
        };
        let mut effect = Effect::of(edit, RecordId(record.id().into()));
        if let Some((_, stored)) = record.into_live() {
            effect.written = Some(stored);
        }
        effects.push(effect);
    }
    Ok(effects)
}
