//! `dns_records`: list, create, read, overwrite, merge, delete, count.

use serde_json::json;

use super::Ask;
use crate::{
    error::{Failure, Outcome},
    filter::Filter,
    knobs::{RecordPageMax, RecordQuota, WriteWithoutId},
    page::Page,
    reply::Reply,
    write::{self, Quota},
};

pub fn list(Ask { world, call, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let largest = match world.knobs.record_page_max {
        RecordPageMax::Schema => 5_000_000,
        RecordPageMax::Documented => 5_000,
    };
    let page = Page::of(&call.query, 1..=largest, 100);
    let filter = Filter::read(&call.query);
    let records = world.listed(params[0], &filter)?;
    let info = page.info(records.len(), world.knobs.empty_list_pages);
    let shown = records[page.range(records.len())].iter().map(AsRef::as_ref);
    Ok(Reply::records(shown, info, &world.knobs))
}

pub fn create(Ask { world, call, params, effects }: Ask<'_>) -> Outcome<Reply> {
    let record = write::create(world, params[0], &call.object()?, Quota::Enforced, effects)?;
    Ok(Reply::record(&record, &world.knobs))
}

pub fn get(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let record = write::existing(world, params[0], params[1])?;
    Ok(Reply::record(&record, &world.knobs))
}

pub fn put(Ask { world, call, params, effects }: Ask<'_>) -> Outcome<Reply> {
    let record = write::overwrite(world, params[0], params[1], &call.object()?, effects)?;
    Ok(Reply::record(&record, &world.knobs))
}

pub fn patch(Ask { world, call, params, effects }: Ask<'_>) -> Outcome<Reply> {
    let record = write::patch(world, params[0], params[1], &call.object()?, effects)?;
    Ok(Reply::record(&record, &world.knobs))
}

pub fn delete(Ask { world, params, effects, .. }: Ask<'_>) -> Outcome<Reply> {
    write::delete(world, params[0], params[1], effects)?;
    Ok(Reply::ok(&json!({"id": params[1]})))
}

pub fn no_id(Ask { world, call, .. }: Ask<'_>) -> Outcome<Reply> {
    let text = format!("{} method not allowed for the api_token authentication scheme", call.method);
    let status = match world.knobs.write_without_id {
        WriteWithoutId::NotAllowed => 405,
        WriteWithoutId::Forbidden => 403,
    };
    Err(Failure::gateway(status, 10000, text))
}

/// An account-level quota shows as null on the zone.
pub fn usage(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let knob = world.knobs.record_quota;
    let zone = world.zone(params[0])?;
    let is_on_account = knob == RecordQuota::ByPlan && zone.plan == crate::Plan::Enterprise;
    let quota = Some(zone.plan.quota(knob)).filter(|&quota| !is_on_account && quota != usize::MAX);
    Ok(Reply::ok(&json!({"record_quota": quota, "record_usage": zone.records.len()})))
}

pub fn account_usage(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let zones = world.zones.values().filter(|zone| zone.account == params[0]);
    let used: usize = zones.map(|zone| zone.records.len()).sum();
    let quota = crate::Plan::Enterprise.quota(RecordQuota::ByPlan);
    Ok(Reply::ok(&json!({"record_quota": quota, "record_usage": used})))
}
