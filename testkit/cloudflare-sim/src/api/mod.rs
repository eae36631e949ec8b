//! The endpoints: one row per method and path, with the rights that it needs.

mod batch;
mod dnssec;
mod hold;
mod hostnames;
mod records;
mod scan;
mod secondary;
mod settings;
mod verify;
mod zone_settings;
mod zonefile;
mod zones;

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::{
    auth::Actor,
    error::{Failure, Outcome},
    knobs::{MalformedId, WrongMethod},
    query::Query,
    record::Effect,
    reply::Reply,
    token::{Right, TokenGrant},
    world::World,
};

pub const BASE: &str = "/client/v4";

/// One authenticated request.
pub struct Call<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub query: Query,
    pub content_type: Option<&'a str>,
    pub body: &'a Bytes,
    /// The parts of a multipart body.
    pub form: &'a BTreeMap<String, Bytes>,
    pub actor: &'a Actor,
}

/// What the path names: the values of a row's `{…}` segments, in order.
pub type Params<'a> = Vec<&'a str>;

/// A request that may go ahead, with all that an endpoint may read and change.
pub struct Ask<'a> {
    pub world: &'a mut World,
    pub call: &'a Call<'a>,
    pub params: Params<'a>,
    /// What the endpoint did to records.
    pub effects: &'a mut Vec<Effect>,
}

type Run = fn(Ask<'_>) -> Outcome<Reply>;

struct Row {
    method: &'static str,
    path: &'static str,
    /// Any of these suffices; none means that the endpoint decides by itself.
    rights: &'static [Right],
    run: Run,
}

const fn row(method: &'static str, path: &'static str, rights: &'static [Right], run: Run) -> Row {
    Row { method, path, rights, run }
}

const READ: &[Right] = &[Right::DnsRead, Right::DnsWrite];
const WRITE: &[Right] = &[Right::DnsWrite];
const SETTINGS: &[Right] = &[Right::DnsSettings, Right::DnsRead, Right::DnsWrite];
const SET: &[Right] = &[Right::DnsSettings, Right::DnsWrite];
const ZONE: &[Right] = &[Right::ZoneRead, Right::ZoneWrite];
const ZONE_WRITE: &[Right] = &[Right::ZoneWrite];
const REGISTRAR: &[Right] = &[Right::Registrar];
const SETTING: &[Right] = &[Right::ZoneSettings];
const SSL: &[Right] = &[Right::Ssl];
const ACCOUNT: &[Right] = &[Right::AccountRead, Right::AccountWrite];
const ACCOUNT_WRITE: &[Right] = &[Right::AccountWrite];
const INCOMING: &[Right] =
    &[Right::ZoneRead, Right::ZoneWrite, Right::DnsRead, Right::DnsWrite, Right::ZoneSettings];
const INCOMING_WRITE: &[Right] = &[Right::ZoneWrite, Right::DnsWrite, Right::ZoneSettings];

/// Literal segments come before `{…}` where both would fit.
#[rustfmt::skip]
static ROWS: [Row; 66] = [
    row("GET", "/user/tokens/verify", &[], verify::user),
    row("GET", "/accounts/{account}/tokens/verify", &[], verify::account),
    row("GET", "/accounts/{account}/dns_records/usage", SETTINGS, records::account_usage),
    row("GET", "/accounts/{account}/secondary_dns/peers", ACCOUNT, secondary::peers),
    row("POST", "/accounts/{account}/secondary_dns/peers", ACCOUNT_WRITE, secondary::create_peer),
    row("GET", "/accounts/{account}/secondary_dns/peers/{peer}", ACCOUNT, secondary::peer),
    row("PUT", "/accounts/{account}/secondary_dns/peers/{peer}", ACCOUNT_WRITE, secondary::put_peer),
    row("DELETE", "/accounts/{account}/secondary_dns/peers/{peer}", ACCOUNT_WRITE, secondary::delete_peer),
    row("GET", "/accounts/{account}/secondary_dns/tsigs", ACCOUNT, secondary::tsigs),
    row("POST", "/accounts/{account}/secondary_dns/tsigs", ACCOUNT_WRITE, secondary::create_tsig),
    row("GET", "/accounts/{account}/secondary_dns/tsigs/{tsig}", ACCOUNT, secondary::tsig),
    row("PUT", "/accounts/{account}/secondary_dns/tsigs/{tsig}", ACCOUNT_WRITE, secondary::put_tsig),
    row("DELETE", "/accounts/{account}/secondary_dns/tsigs/{tsig}", ACCOUNT_WRITE, secondary::delete_tsig),
    row("GET", "/accounts/{account}/registrar/domains/{domain}", REGISTRAR, zones::registered),
    row("GET", "/zones/{zone}/secondary_dns/incoming", INCOMING, secondary::incoming),
    row("POST", "/zones/{zone}/secondary_dns/incoming", INCOMING_WRITE, secondary::create_incoming),
    row("PUT", "/zones/{zone}/secondary_dns/incoming", INCOMING_WRITE, secondary::put_incoming),
    row("DELETE", "/zones/{zone}/secondary_dns/incoming", INCOMING_WRITE, secondary::delete_incoming),
    row("POST", "/zones/{zone}/secondary_dns/force_axfr", INCOMING_WRITE, secondary::force_axfr),
    row("GET", "/zones", ZONE, zones::list),
    row("POST", "/zones", ZONE_WRITE, zones::create),
    row("GET", "/zones/{zone}", ZONE, zones::get),
    row("PATCH", "/zones/{zone}", ZONE_WRITE, zones::patch),
    row("DELETE", "/zones/{zone}", ZONE_WRITE, zones::delete),
    row("PUT", "/zones/{zone}/activation_check", ZONE_WRITE, zones::activation_check),
    row("GET", "/zones/{zone}/hold", ZONE, hold::get),
    row("POST", "/zones/{zone}/hold", ZONE_WRITE, hold::post),
    row("PATCH", "/zones/{zone}/hold", ZONE_WRITE, hold::patch),
    row("DELETE", "/zones/{zone}/hold", ZONE_WRITE, hold::delete),
    row("GET", "/zones/{zone}/settings", SETTING, zone_settings::list),
    row("GET", "/zones/{zone}/settings/{setting}", SETTING, zone_settings::get),
    row("PATCH", "/zones/{zone}/settings/{setting}", SETTING, zone_settings::patch),
    row("GET", "/zones/{zone}/dns_records", READ, records::list),
    row("POST", "/zones/{zone}/dns_records", WRITE, records::create),
    row("POST", "/zones/{zone}/dns_records/batch", WRITE, batch::run),
    row("GET", "/zones/{zone}/dns_records/export", READ, zonefile::export),
    row("POST", "/zones/{zone}/dns_records/import", WRITE, zonefile::import),
    row("POST", "/zones/{zone}/dns_records/scan", WRITE, scan::scan),
    row("POST", "/zones/{zone}/dns_records/scan/trigger", WRITE, scan::trigger),
    row("GET", "/zones/{zone}/dns_records/scan/review", READ, scan::list),
    row("POST", "/zones/{zone}/dns_records/scan/review", WRITE, scan::review),
    row("GET", "/zones/{zone}/dns_records/usage", SETTINGS, records::usage),
    row("GET", "/zones/{zone}/dns_records/{record}", READ, records::get),
    row("PUT", "/zones/{zone}/dns_records/{record}", WRITE, records::put),
    row("PATCH", "/zones/{zone}/dns_records/{record}", WRITE, records::patch),
    row("DELETE", "/zones/{zone}/dns_records/{record}", WRITE, records::delete),
    row("GET", "/zones/{zone}/dns_settings", SETTINGS, settings::get),
    row("PATCH", "/zones/{zone}/dns_settings", SET, settings::patch),
    row("GET", "/zones/{zone}/dnssec", READ, dnssec::get),
    row("PATCH", "/zones/{zone}/dnssec", WRITE, dnssec::patch),
    row("DELETE", "/zones/{zone}/dnssec", WRITE, dnssec::delete),
    row("GET", "/zones/{zone}/dnssec/zsk", READ, dnssec::zsk),
    row("GET", "/zones/{zone}/custom_hostnames", SSL, hostnames::custom_list),
    row("POST", "/zones/{zone}/custom_hostnames", SSL, hostnames::custom_create),
    row("GET", "/zones/{zone}/custom_hostnames/{id}", SSL, hostnames::custom_get),
    row("PATCH", "/zones/{zone}/custom_hostnames/{id}", SSL, hostnames::custom_patch),
    row("DELETE", "/zones/{zone}/custom_hostnames/{id}", SSL, hostnames::custom_delete),
    row("GET", "/zones/{zone}/addressing/regional_hostnames", READ, hostnames::regional_list),
    row("POST", "/zones/{zone}/addressing/regional_hostnames", WRITE, hostnames::regional_create),
    row("GET", "/zones/{zone}/addressing/regional_hostnames/{hostname}", READ, hostnames::regional_get),
    row("PATCH", "/zones/{zone}/addressing/regional_hostnames/{hostname}", WRITE, hostnames::regional_patch),
    row("DELETE", "/zones/{zone}/addressing/regional_hostnames/{hostname}", WRITE, hostnames::regional_delete),
    // What the gateway says to a route that needs an id and got none.
    row("PUT", "/zones/{zone}/dns_records", &[], records::no_id),
    row("PATCH", "/zones/{zone}/dns_records", &[], records::no_id),
    row("DELETE", "/zones/{zone}/dns_records", &[], records::no_id),
    row("GET", "/zones/{zone}/available_plans", ZONE, zones::available_plans),
];

/// Finds the row, checks ids, rights and the zone, and runs it.
pub fn answer(world: &mut World, call: &Call<'_>, effects: &mut Vec<Effect>) -> Outcome<Reply> {
    let path = call.path.strip_prefix(BASE).unwrap_or(call.path);
    let mut knows_path = false;
    for row in &ROWS {
        let Some(params) = params(row.path, path) else { continue };
        if row.method != call.method {
            knows_path = true;
            continue;
        }
        check_ids(world, call, row, &params)?;
        if !row.rights.is_empty() {
            let grant = call.actor.grant(world)?.clone();
            check_access(world, row, &params, &grant)?;
        }
        return (row.run)(Ask { world, call, params, effects });
    }
    call.actor.grant(world)?;
    Err(match (knows_path, world.knobs.wrong_method) {
        (true, WrongMethod::NotAllowed) => {
            let text = format!("Method {} not available for that URI", call.method);
            Failure::service(405, 7001, text)
        }
        _ => Failure::unroutable(404, call.path),
    })
}

fn params<'p>(pattern: &str, path: &'p str) -> Option<Params<'p>> {
    let mut params = Params::new();
    let mut segments = path.trim_end_matches('/').split('/');
    for expected in pattern.split('/') {
        let segment = segments.next()?;
        match expected.starts_with('{') {
            true if segment.is_empty() => return None,
            true => params.push(segment),
            false if expected != segment => return None,
            false => {}
        }
    }
    segments.next().is_none().then_some(params)
}

fn check_ids(world: &World, call: &Call<'_>, row: &Row, params: &[&str]) -> Outcome<()> {
    let names = row.path.split('/').filter(|segment| segment.starts_with('{'));
    let is_id = |text: &str| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_free = |name: &str| ["{hostname}", "{setting}", "{domain}"].contains(&name);
    let is_malformed = |(name, value): (&str, &&str)| !is_free(name) && !is_id(value);
    if names.zip(params).any(is_malformed) {
        let status = match world.knobs.malformed_id {
            MalformedId::NotFound => 404,
            MalformedId::BadRequest => 400,
        };
        return Err(Failure::unroutable(status, call.path));
    }
    Ok(())
}

fn check_access(world: &mut World, row: &Row, params: &[&str], grant: &TokenGrant) -> Outcome<()> {
    let is_zone_row = row.path.starts_with("/zones/");
    if !grant.allows(row.rights) || (is_zone_row && !grant.covers(params[0])) {
        // A list of zones names the missing permission; everything else hides behind one error.
        return Err(match (row.method, row.path) {
            ("GET", "/zones") => zones::list_denied(),
            _ => Failure::forbidden(),
        });
    }
    if is_zone_row {
        world.zone(params[0])?;
    }
    Ok(())
}

// === impl Call ===

impl Call<'_> {
    /// The JSON object of the body.
    pub fn object(&self) -> Outcome<Map<String, Value>> {
        if self.content_type.is_some_and(|kind| !kind.starts_with("application/json")) {
            return Err(Failure::not_json());
        }
        serde_json::from_slice(self.body).map_err(|_| Failure::not_json())
    }
}
