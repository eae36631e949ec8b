//! `zones`: list with filters, create, read, change one property, delete.

use jiff::Unit;
use serde_json::{Value, json};

use super::Ask;
use crate::{
    config::Plan,
    error::{Failure, Outcome, error},
    knobs::{
        Knobs, ScopedZoneList, SecondaryZones, ZoneNames, ZonePageSize, ZoneRegistration, ZoneWithoutAccount,
    },
    name,
    page::Page,
    query::Query,
    record::stamp,
    reply::Reply,
    token::Zones,
    world::ACCOUNT,
    zone::Zone,
};

const ACCOUNT_NAME: &str = "Example Account";

pub fn list_denied() -> Failure {
    let text = "Actor 'com.cloudflare.api.token.1' requires permission 'com.cloudflare.api.account.zone.list' to list zones";
    Failure::gateway(403, 0, text)
}

pub fn list(Ask { world, call, .. }: Ask<'_>) -> Outcome<Reply> {
    let grant = call.actor.grant(world)?;
    let is_scoped = matches!(grant.zones, Zones::Only(_));
    if is_scoped && world.knobs.scoped_zone_list == ScopedZoneList::Deny && call.query.get("name").is_none() {
        return Err(list_denied());
    }
    let asked = call.query.number("per_page").unwrap_or(20);
    if world.knobs.zone_page_size == ZonePageSize::Refuse && !(5..=50).contains(&asked) {
        // The code is unverified.
        return Err(Failure::service(400, 1004, "per_page must be between 5 and 50."));
    }
    let page = Page::of(&call.query, 5..=50, 20);
    let visible = world.zones.values().filter(|zone| grant.covers(&zone.id));
    let mut zones: Vec<&Zone> = visible.filter(|zone| accepts(&call.query, zone)).collect();
    let key = |zone: &Zone| match call.query.get("order") {
        Some("status") => zone.status.to_owned(),
        Some("account.id") => zone.account.clone(),
        Some("plan.id") => zone.plan.limits().id.to_owned(),
        _ => zone.name.clone(),
    };
    zones.sort_by_cached_key(|zone| (key(zone), zone.name.clone()));
    if call.query.get("direction") == Some("desc") {
        zones.reverse();
    }
    let info = page.info(zones.len(), world.knobs.empty_list_pages);
    let shown = &zones[page.range(zones.len())];
    let shown: Vec<Value> = shown.iter().map(|zone| zone_json(zone, &world.knobs)).collect();
    Ok(Reply::page(&shown, info))
}

pub fn create(Ask { world, call, .. }: Ask<'_>) -> Outcome<Reply> {
    let body = call.object()?;
    let given = body.get("name").and_then(Value::as_str).unwrap_or_default();
    let account = body.get("account").and_then(|account| account.get("id")?.as_str());
    let account = match (account, world.knobs.zone_without_account) {
        (Some(account), _) => account.to_owned(),
        (None, ZoneWithoutAccount::UseDefault) => ACCOUNT.to_owned(),
        // The code is unverified.
        (None, ZoneWithoutAccount::Refuse) => {
            return Err(Failure::service(400, 1067, "account.id is a required field."));
        }
    };
    let zone_name = name::zone_name(given)
        .filter(|_| world.knobs.zone_registration == ZoneRegistration::Assumed)
        .ok_or_else(|| Failure::service(400, 1049, format!("{given} is not a registered domain")))?;
    if world.zones.values().any(|zone| zone.name == zone_name) {
        return Err(error(1061, format!("{zone_name} already exists")).into());
    }
    let kind = body.get("type").and_then(Value::as_str).unwrap_or("full").to_owned();
    allowed_kind(&kind, world.knobs.secondary_zones)?;
    let restored = world.deleted.remove(&zone_name);
    let id = world.create_zone(zone_name, Plan::Free, "pending", account);
    let knobs = world.knobs;
    let zone = world.zone(&id)?;
    zone.kind = kind;
    // A zone that was deleted a short time ago comes back with its records.
    if let Some(records) = restored {
        zone.records = records;
    }
    Ok(Reply::ok(&zone_json(zone, &knobs)))
}

pub fn get(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let knobs = world.knobs;
    Ok(Reply::ok(&zone_json(world.zone(params[0])?, &knobs)))
}

pub fn patch(Ask { world, call, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let body = call.object()?;
    let knobs = world.knobs;
    let now = world.clock.tick();
    let zone = world.zone(params[0])?;
    let mut changes = body.iter();
    match (changes.next(), changes.next()) {
        (Some((property, value)), None) => {
            if let ("type", Some(kind @ "secondary")) = (property.as_str(), value.as_str()) {
                allowed_kind(kind, knobs.secondary_zones)?;
            }
            change(zone, property, value)?;
        }
        // The code is unverified.
        _ => return Err(Failure::service(400, 1004, "Only one zone property can be changed at a time.")),
    }
    zone.modified_on = now;
    Ok(Reply::ok(&zone_json(zone, &knobs)))
}

pub fn delete(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    if let Some(zone) = world.zones.remove(params[0]) {
        world.deleted.insert(zone.name.clone(), zone.records);
    }
    Ok(Reply::ok(&json!({"id": params[0]})))
}

/// A domain of the account's at Cloudflare's registrar.
pub fn registered(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    match world.registered.contains(params[1]) {
        true => Ok(Reply::ok(&json!({"name": params[1], "current_registrar": "Cloudflare"}))),
        false => Err(Failure::service(404, 1001, "domain not found")),
    }
}

/// Looks whether the zone is delegated: as often as the plan allows.
pub fn activation_check(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let now = world.clock.tick();
    let zone = world.zone(params[0])?;
    let pause = if zone.plan == Plan::Free { 3_600 } else { 300 };
    let is_early = zone
        .activation_asked
        .is_some_and(|asked| (now - asked).total(Unit::Second).is_ok_and(|past| past < f64::from(pause)));
    if is_early {
        // The code is unverified.
        return Err(Failure::service(
            400,
            1224,
            "This request cannot be made because it can only be called once an hour",
        ));
    }
    zone.activation_asked = Some(now);
    Ok(Reply::ok(&json!({"id": zone.id})))
}

pub fn available_plans(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let current = world.zone(params[0])?.plan;
    let plans = [Plan::Free, Plan::Pro, Plan::Business, Plan::Enterprise];
    Ok(Reply::ok(&plans.map(|plan| plan_json(plan, plan == current))))
}

fn allowed_kind(kind: &str, secondary: SecondaryZones) -> Outcome<()> {
    match (kind, secondary) {
        ("full", _) | ("secondary", SecondaryZones::Accept) => Ok(()),
        // The code and the words are unverified.
        ("secondary", SecondaryZones::Refuse) => Err(error(1104, "Secondary zone signup not allowed").into()),
        _ => Err(error(1104, "Partial zone signup not allowed").into()),
    }
}

fn change(zone: &mut Zone, property: &str, value: &Value) -> Outcome<()> {
    let names = |value: &Value| -> Option<Vec<String>> {
        value.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
    };
    let is_changed = match property {
        "paused" => value.as_bool().map(|paused| zone.paused = paused),
        "type" => value.as_str().map(|kind| zone.kind = kind.to_owned()),
        "vanity_name_servers" => names(value).map(|names| zone.vanity_name_servers = names),
        "plan" => Some(()),
        _ => None,
    };
    is_changed.ok_or_else(Failure::not_json)
}

fn accepts(query: &Query, zone: &Zone) -> bool {
    let kinds: Vec<&str> = query.all("type").flat_map(|kinds| kinds.split(',')).collect();
    let is_kind = match kinds.is_empty() {
        true => zone.kind != "internal",
        false => kinds.contains(&zone.kind.as_str()),
    };
    let name_fits =
        |wanted: &str| text_fits(wanted, &zone.name) || text_fits(wanted, &name::unicode(&zone.name));
    let verdicts = [
        query.get("name").map(name_fits),
        query.get("account.name").map(|wanted| text_fits(wanted, ACCOUNT_NAME)),
        query.get("account.id").map(|wanted| zone.account == wanted),
        query.get("status").map(|wanted| zone.status == wanted),
    ];
    let mut asked = verdicts.into_iter().flatten().peekable();
    let fits = match (asked.peek(), query.get("match")) {
        (None, _) => true,
        (_, Some("any")) => asked.any(|verdict| verdict),
        _ => asked.all(|verdict| verdict),
    };
    is_kind && fits
}

/// `value` or `operator:value`.
fn text_fits(wanted: &str, text: &str) -> bool {
    let (operator, value) = wanted.split_once(':').unwrap_or(("equal", wanted));
    let (operator, text, value) = match operator.strip_suffix("_case_sensitive") {
        Some(operator) => (operator, text.to_owned(), value.to_owned()),
        None => (operator, text.to_lowercase(), value.to_lowercase()),
    };
    match operator {
        "equal" => text == value,
        "not_equal" => text != value,
        "starts_with" => text.starts_with(&value),
        "ends_with" => text.ends_with(&value),
        "contains" => text.contains(&value),
        _ => false,
    }
}

pub fn zone_json(zone: &Zone, knobs: &Knobs) -> Value {
    let shown_name = match knobs.zone_names {
        ZoneNames::Punycode => zone.name.clone(),
        ZoneNames::Unicode => name::unicode(&zone.name),
    };
    json!({
        "id": zone.id,
        "name": shown_name,
        "status": zone.status,
        "paused": zone.paused,
        "type": zone.kind,
        "development_mode": 0,
        "name_servers": ["ada.ns.example.com", "bob.ns.example.com"],
        "original_name_servers": null,
        "original_registrar": null,
        "original_dnshost": null,
        "created_on": stamp(zone.created_on),
        "modified_on": stamp(zone.modified_on),
        "activated_on": zone.activated_on.map(stamp),
        "vanity_name_servers": zone.vanity_name_servers,
        "meta": {
            "step": 2,
            "custom_certificate_quota": 0,
            "page_rule_quota": 3,
            "phishing_detected": false,
        },
        "owner": {"id": null, "type": "user", "email": null},
        "account": {"id": zone.account, "name": ACCOUNT_NAME},
        "permissions": ["#zone:read", "#zone:edit", "#dns_records:read", "#dns_records:edit"],
        "plan": plan_json(zone.plan, true),
    })
}

fn plan_json(plan: Plan, is_subscribed: bool) -> Value {
    let limits = plan.limits();
    json!({
        "id": limits.id,
        "name": limits.name,
        "price": 0,
        "currency": "USD",
        "frequency": "",
        // A free plan is nothing one subscribes to: ExternalDNS tells paid zones by this.
        "is_subscribed": is_subscribed && plan != Plan::Free,
        "can_subscribe": false,
        "legacy_id": plan.word(),
        "legacy_discount": false,
        "externally_managed": false,
    })
}
