//! One pass over one zone: observe, resolve, plan, guard, apply, report. What it needs and was not given, it asks for by
//! ending early.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use tokio::time::Instant;
use zonekeeper_api::{Reason, WrittenRecord};
use zonekeeper_kernel::{
    desired::{Desired, DesiredSet, Unmet, Values},
    holder::{Holder, HolderRef},
    name::Name,
    plan::{Change, Evidence, Operation, Orphan, Plan, Scope},
    rdata::RecordType,
    reason::{Reason as Word, Rejection},
    record::LiveRecord,
    resolve::Intent,
};
use zonekeeper_providers::{Asks, ProviderError};

use zonekeeper_model::{
    conditions::Verdict,
    holders::About,
    pass::{
        Applied, IntentState, Needs, Outstanding, PassRequest, PassResult, Reserved, Survey, ZonePass,
        ZoneSurvey,
    },
    reasons,
};

use crate::engine::{
    Deletes, GuardMemory, Order, Pass, Waiting, ZoneWorker, drift, going, outcomes::Fates, plan_status,
    resolve_intents, zone_work,
};

/// Does it. The worker comes back whatever happens.
#[tracing::instrument(level = "debug", name = "pass", skip_all, fields(zone = %request.zone.key, names = request.names.as_ref().map(BTreeSet::len)))]
pub async fn run_pass(request: PassRequest, worker: &mut ZoneWorker) -> Result<PassResult, ProviderError> {
    if request.scans {
        worker.scan();
    }
    if request.settles_anew {
        worker.settle_anew();
    }
    worker.expect(
        request.wishes.iter().map(|(name, intent)| (name, intent.rtype)),
        request.departing.iter().map(|(name, _)| name),
    );
    worker.note_parent(request.parent_ds.clone());
    worker.may_ask(match request.read_only {
        Some(_) => Asks::Nothing,
        None => zone_work::asks(worker.settings().rules.policy),
    });
    worker.observe().await?;
    let wishes = request.wishes.iter().map(|(name, intent)| (name, &**intent));
    let (mut desired, rejections) = resolve_intents(&request.zone, worker, wishes).await?;
    for Reserved { name, rtype, namespace } in &request.reserved {
        desired.reserve(name.clone(), Some(*rtype), namespace, Unmet::Mistaken);
    }
    for rejection in &rejections {
        if let Some(name) = &rejection.name {
            let namespace = rejection.holder.namespace();
            desired.reserve(name.clone(), Some(rejection.rtype), namespace, rejection.reason.unmet());
        }
    }
    note_refused_values(&request, &mut desired, &rejections);
    going::note_retained(&request, worker, &mut desired);
    recall_settled(&request, worker, &desired);
    let names = request.names.clone();
    let scope = names.as_ref().map_or(Scope::Zone, Scope::Names);
    let unproven = worker.plan(&desired, &Evidence::seen([]), scope);
    if let Some(why) = request.read_only.clone() {
        return Ok(PassResult::Done(Box::new(refused(request, worker, unproven, why))));
    }
    let orphans = orphans(&request, worker, unproven, &rejections);
    let is_ours = |orphan: &Orphan| worker.is_published_by_us(&orphan.name, &orphan.rdata);
    let abouts: Vec<About> = orphans
        .iter()
        .map(|orphan| About {
            name: orphan.name.clone(),
            rtype: orphan.rdata.rtype(),
            holder: orphan.holder.clone(),
            is_ours: is_ours(orphan),
        })
        .collect();
    if !request.confirmed.covers(&abouts) {
        return Ok(PassResult::Interrupted { applied: Vec::new(), needs: Needs::Holders(abouts) });
    }
    let evidence = request.confirmed.evidence(&abouts).awaiting(keeping(&rejections));
    let order = Order {
        desired: &desired,
        evidence: &evidence,
        scope,
        approval: &request.approval,
        waiting: Waiting::Never,
        deletes: Deletes::SeenAt(Instant::now()),
        progress: &|_| {},
        memory: GuardMemory::Saved(request.saved.as_ref()),
    };
    let mut pass = worker.pass(&order).await?;
    if let Some(record) = pass.must_save.take() {
        let needs = Needs::Saved(record);
        return Ok(PassResult::Interrupted { applied: applied(pass.applied, &pass.approved), needs });
    }
    let is_left = |orphan: &&Orphan| {
        let place = (&orphan.name, orphan.rdata.rtype());
        evidence.retains(place, &orphan.holder) || desired.is_left(&orphan.name, &orphan.rdata)
    };
    orphans.iter().filter(is_left).for_each(|orphan| worker.disclaim(&orphan.name, &orphan.rdata));
    // What an owner before us has published is judged record by record.
    let has_unread_names = orphans.iter().zip(&abouts).any(|(orphan, about)| {
        let is_released = evidence.releases((&about.name, about.rtype), &about.holder);
        let is_there = || worker.held_at(&about.name).iter().any(|(live, _)| live.rdata == orphan.rdata);
        about.is_ours && about.is_of_source() && !is_released && is_there()
    });
    let mut account = account(request, worker, (&desired, &evidence), rejections, pass);
    if let Some(survey) = &mut account.survey {
        survey.has_unread_names = has_unread_names;
    }
    Ok(PassResult::Done(Box::new(account)))
}

/// What refused objects ask for: where a claim is on a whole set, these values may be theirs.
fn note_refused_values(request: &PassRequest, desired: &mut Desired, rejections: &[Rejection]) {
    let refused: BTreeSet<_> = rejections.iter().map(|it| (it.name.as_ref(), &it.holder, it.rtype)).collect();
    if refused.is_empty() {
        return;
    }
    for (name, intent) in &request.wishes {
        if refused.contains(&(Some(name), &intent.holder, intent.rtype)) {
            let values = intent.values.iter().flatten();
            values.for_each(|rdata| desired.refuse_value(name.clone(), rdata.clone()));
        }
    }
}

/// What was programmed at an object's present generation before this process began is settled: what differs
/// from it now is drift.
fn recall_settled(request: &PassRequest, worker: &mut ZoneWorker, desired: &Desired) {
    if request.settled.is_empty() {
        return;
    }
    // Where another object goes, what is there is not what this intent was applied to.
    let departing: BTreeSet<&Name> = request.departing.iter().map(|(name, _)| name).collect();
    for (name, sets) in desired.iter().filter(|(name, _)| !departing.contains(name)) {
        for set in sets.iter().filter(|set| set.holders.iter().all(|holder| request.settled.contains(holder)))
        {
            let is_another = |(record, holder): (&LiveRecord, HolderRef)| {
                record.rdata.rtype() == set.rtype && !set.holders.iter().any(|one| holder.names(one))
            };
            if !worker.held_at(name).into_iter().any(is_another) {
                worker.settled_before(name.clone(), set.clone());
            }
        }
    }
}

fn refused(request: PassRequest, worker: &ZoneWorker, plan: Plan, why: Verdict) -> ZonePass {
    let state = |(name, intent): (Name, Arc<Intent>)| IntentState {
        intent,
        name,
        verdict: why.clone(),
        records: Vec::new(),
        drift: None,
        ttl: None,
        has_written: false,
    };
    ZonePass {
        states: request.wishes.into_iter().map(state).collect(),
        left: Vec::new(),
        survey: Some(Survey {
            counts: plan.counts,
            outstanding: Outstanding::default(),
            orphans: Vec::new(),
            drift: None,
            shows_our_id: worker.shows_our_id(),
            calls_to_list: worker.access().traits().calls_to_list.of(plan.counts.live),
            sources: request.zone.sources,
            has_unread_names: true,
            read_only: Some(why),
            gone: BTreeSet::new(),
            zone: ZoneSurvey::default(),
        }),
        applied: Vec::new(),
        names: request.names,
        has_held: false,
        retry: None,
        failure: None,
        cut_comments: Vec::new(),
        zone_applied: Vec::new(),
        is_zone_gone: false,
    }
}

/// Where the zone itself stands, and why it is not as it is wanted.
fn survey_of_zone(request: &PassRequest, worker: &ZoneWorker, pass: &Pass) -> ZoneSurvey {
    let of_error = |error: &ProviderError| Verdict::new(reasons::of_error(error), error.to_string());
    let zone = worker.zone();
    let key = &request.zone.key;
    let holder = Holder::new("dnszone", &key.namespace, &key.name);
    let refused = || {
        let first = worker.zone_rejections(&holder).into_iter().next()?;
        Some(Verdict::new(reasons::of_word(first.reason), first.message))
    };
    let failed = pass.zone.failed.first().map(|failure| of_error(&failure.error));
    ZoneSurvey {
        state: zone.state().cloned(),
        initial: zone.initial().clone(),
        trouble: failed.or_else(|| zone.trouble().map(of_error)).or_else(refused),
    }
}

fn account(
    request: PassRequest,
    worker: &ZoneWorker,
    (desired, evidence): (&Desired, &Evidence),
    rejections: Vec<Rejection>,
    mut pass: Pass,
) -> ZonePass {
    let domain = &request.zone.domain;
    let outstanding = plan_status::outstanding(&pass, domain);
    let fates = Fates::of(&pass);
    let mut states = Vec::new();
    let mut refused: BTreeMap<(&Holder, Option<&Name>), &Rejection> = BTreeMap::new();
    for rejection in rejections.iter().chain(&pass.plan.rejections) {
        refused.entry((&rejection.holder, rejection.name.as_ref())).or_insert(rejection);
    }
    for (name, intent) in &request.wishes {
        let set = desired.at(name).iter().find(|set| set.rtype == intent.rtype);
        let rejection = refused.get(&(&intent.holder, Some(name))).or_else(|| {
            // Objects that share a refused set are refused with it.
            let first = set.and_then(|set| set.holders.first())?;
            pass.plan
                .rejections
                .iter()
                .find(|other| {
                    other.holder == *first && other.name.as_ref() == Some(name) && other.rtype == intent.rtype
                })
                .map(|_| refused.get(&(first, Some(name))))?
        });
        let drift = fates.drift(name, intent.rtype, domain);
        let verdict = match (rejection, set) {
            (Some(rejection), _) => {
                Verdict::new(reasons::of_word(rejection.reason), rejection.message.clone())
            }
            (None, _) if intent.values.is_none() => {
                Verdict::new(Reason::TargetsUnknown, "its values are not known; the live record stays")
            }
            (None, _) => fates.verdict(name, intent, domain, &drift),
        };
        states.push(IntentState {
            intent: intent.clone(),
            name: name.clone(),
            verdict,
            records: records(worker, name, intent, set),
            drift,
            ttl: set.map(|set| set.ttl),
            has_written: fates.has_written(name, intent),
        });
    }
    let left = going::left(&request, worker, &fates, (desired, evidence));
    let zone = survey_of_zone(&request, worker, &pass);
    let survey = request.names.is_none().then(|| Survey {
        zone,
        counts: pass.plan.counts,
        orphans: std::mem::take(&mut pass.plan.orphans),
        drift: pass.plan.drift.first().map(|change| drift::message(change, domain)),
        shows_our_id: pass.plan.counts.owned > 0,
        calls_to_list: worker.access().traits().calls_to_list.of(pass.plan.counts.live),
        sources: request.zone.sources.clone(),
        has_unread_names: false,
        read_only: None,
        gone: going::gone(&request, worker),
        outstanding,
    });
    // An approved end is tried again; whatever else can't be done to the zone itself keeps its records from nothing.
    let mut ends = pass.zone.failed.into_iter().filter(|it| it.change.operation == Operation::Delete);
    let end_failure = ends.next().map(|failure| failure.error);
    ZonePass {
        states,
        left,
        survey,
        has_held: !pass.verdict.held.is_empty() || !pass.verdict.zone.held.is_empty(),
        retry: pass.retry,
        failure: pass.failed.into_iter().map(|failure| failure.error).next().or(end_failure),
        applied: applied(pass.applied, &pass.approved),
        names: request.names,
        cut_comments: pass.plan.cut_comments,
        zone_applied: pass.zone.applied,
        is_zone_gone: pass.zone.is_gone,
    }
}

/// Changes that were made, each with whether an approval released it.
fn applied(changes: Vec<Change>, approved: &BTreeSet<(Name, RecordType)>) -> Vec<Applied> {
    let is_approved =
        |change: &Change| !approved.is_empty() && approved.contains(&(change.name.clone(), change.rtype));
    changes.into_iter().map(|change| Applied { is_approved: is_approved(&change), change }).collect()
}

/// Whether a change is about what an object wishes.
pub fn concerns(change: &Change, name: &Name, intent: &Intent) -> bool {
    change.name == *name && (change.rtype == intent.rtype || change.holders.contains(&intent.holder))
}

/// Records of which it must be known whether their holders still want them.
fn orphans(request: &PassRequest, worker: &ZoneWorker, plan: Plan, rejections: &[Rejection]) -> Vec<Orphan> {
    // No evidence is sought for holders that were rejected in this pass: they still want what they have.
    let is_refused = |orphan: &Orphan, rejection: &Rejection| {
        orphan.holder.names(&rejection.holder)
            && rejection.name.as_ref().is_none_or(|name| *name == orphan.name)
    };
    let is_open = |orphan: &Orphan| !rejections.iter().any(|rejection| is_refused(orphan, rejection));
    let mut orphans = in_the_way(worker, &plan);
    orphans.extend(plan.orphans);
    // What stays for another object's sake is no orphan: of that, too, it must be known that it was given up.
    for orphan in going::held(request, worker) {
        if !orphans.contains(&orphan) {
            orphans.push(orphan);
        }
    }
    orphans.retain(is_open);
    orphans
}

/// What stands in the way of refused wishes: its holders may be going.
fn in_the_way(worker: &ZoneWorker, plan: &Plan) -> Vec<Orphan> {
    let refused = plan.rejections.iter().filter(|rejection| rejection.reason == Word::Conflict);
    let names: BTreeSet<&Name> = refused.filter_map(|rejection| rejection.name.as_ref()).collect();
    let held = names.into_iter().flat_map(|name| {
        let held = worker.held_at(name).into_iter();
        held.map(|(record, holder)| Orphan { name: name.clone(), rdata: record.rdata.clone(), holder })
    });
    held.collect()
}

/// Holders that are refused for what they ask, not for what they may.
fn keeping(rejections: &[Rejection]) -> impl Iterator<Item = HolderRef> {
    let is_kept = |rejection: &&Rejection| rejection.reason.unmet() == Unmet::Mistaken;
    rejections.iter().filter(is_kept).map(|rejection| HolderRef::Full(rejection.holder.clone()))
}

/// What the zone holds for an object, by id.
fn records(
    worker: &ZoneWorker,
    name: &Name,
    intent: &Intent,
    set: Option<&DesiredSet>,
) -> Vec<WrittenRecord> {
    // Of a set that it has no part in, it has what is marked as its own at most.
    let set = set.filter(|set| set.holders.contains(&intent.holder));
    let wanted = set.map(|set| &set.values);
    let is_its_own = |record: &LiveRecord, holder: &HolderRef| match (wanted, &intent.values) {
        (Some(Values::Known(wanted)), Some(values)) => wanted.iter().any(|value| {
            // A provider may have made other values of what was asked for.
            value.rdata == record.rdata && (values.contains(&value.rdata) || value.holder == intent.holder)
        }),
        // Whatever it wants now, what it holds is not forgotten.
        (Some(Values::Known(_)), None) | (Some(Values::Unknown) | None, _) => holder.names(&intent.holder),
    };
    worker
        .held_at(name)
        .into_iter()
        .filter(|(record, holder)| record.rdata.rtype() == intent.rtype && is_its_own(record, holder))
        .map(|(record, _)| WrittenRecord { id: record.id.0.to_string(), value: record.rdata.to_string() })
        .collect()
}
