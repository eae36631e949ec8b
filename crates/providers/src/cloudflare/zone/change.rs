//! Changes of a zone itself, one endpoint at a time.

use std::{collections::BTreeMap, sync::PoisonError};

use reqwest::Method;
use serde_json::{Map, Value, json};
use zonekeeper_kernel::{
    plan::Operation,
    zone_change::{ClearedZone, TYPE, ZoneChange, ZoneWish},
};

use crate::{
    ProviderError,
    cloudflare::{
        CloudflareZone,
        api::{Failure, Request},
        budget::Purpose,
        query_text,
        zone::{Endpoint, explain::explain, put, value},
    },
};

/// One request, and the changes that it makes.
struct Call {
    method: Method,
    /// Below the zone.
    part: String,
    body: Option<Value>,
    permission: &'static str,
    /// Their places among the changes.
    changes: Vec<usize>,
}

// === impl CloudflareZone ===

impl CloudflareZone {
    /// Makes changes and answers for each. One that is refused keeps no other from being made, but the end of the zone
    /// comes last, and only if all before it were made.
    pub(in crate::cloudflare) async fn change(
        &self,
        cleared: &ClearedZone,
        wish: &ZoneWish,
    ) -> Vec<Result<(), ProviderError>> {
        let changes = cleared.changes();
        let mut answers: Vec<Result<(), ProviderError>> = changes.iter().map(|_| Ok(())).collect();
        for call in self.calls(changes, wish) {
            let sent = self.send_call(&call).await;
            for place in call.changes {
                answers[place] = sent.clone();
            }
        }
        self.change_primaries(changes, wish, &mut answers).await;
        self.forget_zone();
        let is_end = |(_, change): &(usize, &ZoneChange)| change.operation == Operation::Delete;
        if let Some((place, _)) = changes.iter().enumerate().find(is_end)
            && answers.iter().all(Result::is_ok)
        {
            answers[place] = self.delete().await;
        }
        answers
    }

    /// Follows other primaries, if that is to be changed; a zone that could not become a secondary has none.
    async fn change_primaries(
        &self,
        changes: &[ZoneChange],
        wish: &ZoneWish,
        answers: &mut [Result<(), ProviderError>],
    ) {
        let places = |is: &dyn Fn(&str) -> bool| -> Vec<usize> {
            let updates = changes.iter().enumerate().filter(|(_, it)| it.operation == Operation::Update);
            updates.filter(|(_, it)| is(&it.field)).map(|(place, _)| place).collect()
        };
        let ours = places(&|field| Endpoint::of(field) == Some(Endpoint::Incoming));
        if ours.is_empty() {
            return;
        }
        let refused =
            places(&|field| field == TYPE).into_iter().find_map(|place| answers[place].clone().err());
        let answer = match refused {
            Some(error) => Err(error),
            None => self.follow(wish).await,
        };
        for place in ours {
            answers[place] = answer.clone();
        }
    }

    fn calls(&self, changes: &[ZoneChange], wish: &ZoneWish) -> Vec<Call> {
        let mut calls: Vec<Call> = Vec::new();
        let mut dns_settings = Map::new();
        let mut settings: BTreeMap<&str, Value> = BTreeMap::new();
        let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, change) in changes.iter().enumerate() {
            let (Operation::Update, Some(after)) = (change.operation, change.after.as_deref()) else {
                continue;
            };
            let Some(endpoint) = Endpoint::of(&change.field) else { continue };
            let patch = |part: &str, body: Value| Call {
                method: Method::PATCH,
                part: part.to_owned(),
                body: Some(body),
                permission: endpoint.permission(),
                changes: vec![place],
            };
            match endpoint {
                // One property per request (code 1085).
                Endpoint::Zone(property) => calls.push(patch("", json!({ property: value(after) }))),
                Endpoint::Dnssec => {
                    let status = if after == "On" { "active" } else { "disabled" };
                    calls.push(patch("/dnssec", json!({ "status": status })));
                }
                // After the type, which decides whether it can be had.
                Endpoint::Incoming => {}
                Endpoint::Hold(_) => groups.entry("hold".into()).or_default().push(place),
                Endpoint::DnsSettings(path) => {
                    put(&mut dns_settings, path, value(after));
                    groups.entry("dns_settings".into()).or_default().push(place);
                }
                Endpoint::Setting(id, path) => {
                    let before = || self.setting(id).unwrap_or(Value::Null);
                    let whole = settings.entry(id).or_insert_with(before);
                    match (path, &mut *whole) {
                        (None, whole) => *whole = value(after),
                        (Some(path), Value::Object(object)) => put(object, path, value(after)),
                        (Some(path), whole) => {
                            let mut object = Map::new();
                            put(&mut object, path, value(after));
                            *whole = Value::Object(object);
                        }
                    }
                    groups.entry(format!("settings/{id}")).or_default().push(place);
                }
            }
        }
        if let Some(changes) = groups.remove("hold") {
            calls.push(hold(wish, changes));
        }
        if let Some(changes) = groups.remove("dns_settings") {
            calls.push(Call {
                method: Method::PATCH,
                part: "/dns_settings".into(),
                body: Some(Value::Object(dns_settings)),
                permission: Endpoint::DnsSettings("").permission(),
                changes,
            });
        }
        for (id, whole) in settings {
            // Where a setting has no value (2026-11).
            let key = if id == "ssl_recommender" { "enabled" } else { "value" };
            calls.push(Call {
                method: Method::PATCH,
                part: format!("/settings/{}", query_text(id)),
                body: Some(json!({ key: whole })),
                permission: Endpoint::Setting(id, None).permission(),
                changes: groups.remove(&format!("settings/{id}")).unwrap_or_default(),
            });
        }
        calls
    }

    async fn send_call(&self, call: &Call) -> Result<(), ProviderError> {
        let request = Request {
            method: call.method.clone(),
            path: format!("/zones/{}{}", query_text(&self.traits.id), call.part),
            body: call.body.clone(),
            purpose: Purpose::Change,
        };
        let sent = self.client.send::<Value>(&request).await;
        let act = format!("configuring zone {}", self.domain);
        sent.map(drop).map_err(|failure| explain(&act, call.permission, &failure))
    }

    /// The last step of a zone's life.
    async fn delete(&self) -> Result<(), ProviderError> {
        if let Some(why) = self.why_registrar_forbids().await {
            let message = format!(
                "deleting zone {}: {why}, or set spec.lifecycle.deletionPolicy to Retain",
                self.domain
            );
            return Err(ProviderError::Rejected { message });
        }
        let path = format!("/zones/{}", query_text(&self.traits.id));
        let request = Request { method: Method::DELETE, path, body: None, purpose: Purpose::Change };
        match self.client.send::<Value>(&request).await {
            Ok(_) => Ok(()),
            // It is gone: an answer of before was lost.
            Err(Failure::Refused { status: 404, .. }) => Ok(()),
            Err(failure) => Err(explain(&format!("deleting zone {}", self.domain), "Zone Write", &failure)),
        }
    }

    /// A domain that is registered at Cloudflare can't be without its zone there.
    async fn why_registrar_forbids(&self) -> Option<&'static str> {
        let account = self.account()?;
        let path = format!(
            "/accounts/{}/registrar/domains/{}",
            query_text(&account),
            query_text(self.domain.as_str())
        );
        match self.client.read::<Value>(path, Purpose::Change).await {
            Ok(reply) => {
                let registrar = reply.result.get("current_registrar").and_then(Value::as_str);
                let is_here =
                    registrar.is_some_and(|registrar| registrar.to_lowercase().contains("cloudflare"));
                is_here.then_some(
                    "the domain is registered at Cloudflare, and can't be without its zone there; transfer the domain first",
                )
            }
            Err(Failure::Refused { status: 401 | 403, .. }) => Some(
                "the token may not ask whether the domain is registered at Cloudflare; give it Domain Registration Read for the account",
            ),
            Err(Failure::Refused { .. }) => None,
            Err(_) => {
                Some("it can't be asked whether the domain is registered at Cloudflare; it is tried again")
            }
        }
    }

    /// The whole value of a setting as it was last read.
    fn setting(&self, id: &str) -> Option<Value> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }
}

/// The hold as it is wanted, in one request.
fn hold(wish: &ZoneWish, changes: Vec<usize>) -> Call {
    let is = |field: &str| wish.fields.get(field) == Some("true");
    let (method, query) = match is("hold.enabled") {
        true => (Method::POST, format!("?include_subdomains={}", is("hold.includeSubdomains"))),
        false => (Method::DELETE, String::new()),
    };
    let permission = Endpoint::Hold("enabled").permission();
    Call { method, part: format!("/hold{query}"), body: None, permission, changes }
}
