//! `secondary_dns`: peers and keys of an account, and the primaries of a secondary zone.

use std::net::IpAddr;

use serde_json::{Map, Value, json};

use super::Ask;
use crate::{
    error::{Failure, Outcome},
    reply::Reply,
    transfers::{Incoming, Peer, Tsig},
};

const DNS_PORT: u16 = 53;
/// Cloudflare asks a primary no more often.
const SHORTEST_REFRESH: u64 = 300;

pub fn peers(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let peers = world.transfers.peers.iter().filter(|(_, peer)| peer.account == params[0]);
    Ok(Reply::ok(&peers.map(|(id, peer)| peer.shown(id)).collect::<Vec<_>>()))
}

/// Only the name is taken: the rest comes with a PUT.
pub fn create_peer(Ask { world, call, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let body = call.object()?;
    let peer = Peer {
        account: params[0].to_owned(),
        name: text(&body, "name")?,
        ip: None,
        port: DNS_PORT,
        is_incremental: false,
        tsig: None,
    };
    let id = world.ids.id();
    let shown = peer.shown(&id);
    world.transfers.peers.insert(id, peer);
    Ok(Reply::ok(&shown))
}

pub fn peer(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let peer = world.transfers.peers.get(params[1]).filter(|peer| peer.account == params[0]);
    Ok(Reply::ok(&peer.ok_or_else(missing)?.shown(params[1])))
}

/// Replaces the whole peer.
pub fn put_peer(Ask { world, call, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let body = call.object()?;
    let ip = match body.get("ip").and_then(Value::as_str) {
        Some(text) => Some(text.parse::<IpAddr>().map_err(|_| invalid("ip"))?.to_string()),
        None => None,
    };
    let port = match body.get("port").filter(|port| !port.is_null()) {
        Some(port) => {
            port.as_f64().filter(|port| (1.0..=65_535.0).contains(port)).ok_or_else(|| invalid("port"))?
                as u16
        }
        None => DNS_PORT,
    };
    let tsig = body.get("tsig_id").and_then(Value::as_str).map(str::to_owned);
    if tsig.as_ref().is_some_and(|id| !world.transfers.tsigs.contains_key(id)) {
        return Err(invalid("tsig_id"));
    }
    let peer = world.transfers.peers.get_mut(params[1]).filter(|peer| peer.account == params[0]);
    let peer = peer.ok_or_else(missing)?;
    let is_incremental = body.get("ixfr_enable").and_then(Value::as_bool).unwrap_or_default();
    *peer =
        Peer { account: params[0].to_owned(), name: text(&body, "name")?, ip, port, is_incremental, tsig };
    Ok(Reply::ok(&peer.shown(params[1])))
}

pub fn delete_peer(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let is_used = |id: &str| {
        let mut incoming = world.zones.values().filter_map(|zone| zone.incoming.as_ref());
        incoming.any(|it| it.peers.iter().any(|peer| peer == id))
    };
    // The code is unverified.
    if is_used(params[1]) {
        return Err(Failure::service(400, 1004, "The peer is used by a zone."));
    }
    world.transfers.peers.remove(params[1]).ok_or_else(missing)?;
    Ok(Reply::ok(&json!({"id": params[1]})))
}

pub fn tsigs(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let tsigs = world.transfers.tsigs.iter().filter(|(_, tsig)| tsig.account == params[0]);
    Ok(Reply::ok(&tsigs.map(|(id, tsig)| tsig.shown(id)).collect::<Vec<_>>()))
}

pub fn create_tsig(Ask { world, call, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let tsig = tsig_of(&call.object()?, params[0])?;
    let id = world.ids.id();
    let shown = tsig.shown(&id);
    world.transfers.tsigs.insert(id, tsig);
    Ok(Reply::ok(&shown))
}

pub fn tsig(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let tsig = world.transfers.tsigs.get(params[1]).filter(|tsig| tsig.account == params[0]);
    Ok(Reply::ok(&tsig.ok_or_else(missing)?.shown(params[1])))
}

pub fn put_tsig(Ask { world, call, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let new = tsig_of(&call.object()?, params[0])?;
    let tsig = world.transfers.tsigs.get_mut(params[1]).filter(|tsig| tsig.account == params[0]);
    let tsig = tsig.ok_or_else(missing)?;
    *tsig = new;
    Ok(Reply::ok(&tsig.shown(params[1])))
}

pub fn delete_tsig(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    world.transfers.tsigs.remove(params[1]).ok_or_else(missing)?;
    Ok(Reply::ok(&json!({"id": params[1]})))
}

/// A zone for which it was never set has none: 404, as clients in the field expect.
pub fn incoming(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let zone = world.zone(params[0])?;
    Ok(Reply::ok(&zone.incoming.as_ref().ok_or_else(missing)?.shown(&zone.id)))
}

pub fn create_incoming(ask: Ask<'_>) -> Outcome<Reply> {
    if ask.world.zone(ask.params[0])?.incoming.is_some() {
        // The code is unverified.
        return Err(Failure::service(400, 1004, "The zone has a configuration; update it."));
    }
    set_incoming(ask)
}

pub fn put_incoming(ask: Ask<'_>) -> Outcome<Reply> {
    ask.world.zone(ask.params[0])?.incoming.as_ref().ok_or_else(missing)?;
    set_incoming(ask)
}

pub fn delete_incoming(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    world.zone(params[0])?.incoming.take().ok_or_else(missing)?;
    Ok(Reply::ok(&json!({"id": params[0]})))
}

pub fn force_axfr(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let now = world.clock.tick();
    let incoming = world.zone(params[0])?.incoming.as_mut().ok_or_else(missing)?;
    incoming.checked_on = Some(now);
    Ok(Reply::ok(&"OK"))
}

fn set_incoming(Ask { world, call, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let body = call.object()?;
    let listed = body.get("peers").and_then(Value::as_array).ok_or_else(|| invalid("peers"))?;
    let peers: Vec<String> = listed.iter().filter_map(|id| Some(id.as_str()?.to_owned())).collect();
    if peers.iter().any(|id| !world.transfers.peers.contains_key(id)) {
        return Err(invalid("peers"));
    }
    let refresh = body.get("auto_refresh_seconds").and_then(Value::as_f64).map(|seconds| seconds as u64);
    let refresh = refresh.filter(|seconds| *seconds >= SHORTEST_REFRESH);
    let refresh = refresh.ok_or_else(|| invalid("auto_refresh_seconds"))?;
    let name = text(&body, "name")?;
    let now = world.clock.tick();
    let zone = world.zone(params[0])?;
    if zone.kind != "secondary" {
        // The code is unverified.
        return Err(Failure::service(400, 1004, "The zone is not a secondary zone."));
    }
    if name.trim_end_matches('.') != zone.name {
        return Err(invalid("name"));
    }
    let before = zone.incoming.as_ref();
    let incoming = Incoming {
        name,
        peers,
        refresh,
        created_on: before.map_or(now, |before| before.created_on),
        modified_on: now,
        checked_on: before.and_then(|before| before.checked_on),
    };
    let shown = incoming.shown(&zone.id);
    zone.incoming = Some(incoming);
    Ok(Reply::ok(&shown))
}

fn tsig_of(body: &Map<String, Value>, account: &str) -> Outcome<Tsig> {
    Ok(Tsig {
        account: account.to_owned(),
        name: text(body, "name")?,
        algorithm: text(body, "algo")?,
        secret: text(body, "secret")?,
    })
}

fn text(body: &Map<String, Value>, field: &str) -> Outcome<String> {
    let text = body.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or_else(|| invalid(field))
}

/// The code is unverified.
fn invalid(field: &str) -> Failure {
    Failure::service(400, 1004, format!("{field} is missing or invalid."))
}

/// The code is unverified.
fn missing() -> Failure {
    Failure::service(404, 1003, "Not found.")
}
