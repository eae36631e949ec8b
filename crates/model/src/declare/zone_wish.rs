//! What a DNSZone wants of the zone itself.

use std::collections::BTreeMap;

use serde_json::{Number, Value};
use zonekeeper_api::{CloudflareZone, DNSZone, DeletionPolicy, DnssecMode};
use zonekeeper_kernel::zone_change::{DNSSEC, Fields, Presence, ZoneWish};

use crate::{declare::BadField, status};

/// How deep settings may be nested.
const DEEPEST: usize = 8;

/// Reads it. Only what is listed is managed.
pub fn zone_wish(object: &DNSZone) -> Result<ZoneWish, BadField> {
    let spec = &object.spec;
    let is_going = object.metadata.deletion_timestamp.is_some();
    let presence = match (is_going, spec.lifecycle.deletion_policy, spec.lifecycle.create) {
        (true, DeletionPolicy::Delete, _) if !status::is_released(object) => Presence::Deleted,
        (true, _, _) | (false, _, false) => Presence::Unmanaged,
        (false, _, true) => Presence::Created,
    };
    let mut fields = Fields::default();
    match spec.dnssec.mode {
        DnssecMode::Unmanaged => {}
        DnssecMode::On => fields.insert(DNSSEC, "On"),
        DnssecMode::Off => fields.insert(DNSSEC, "Off"),
    }
    if let Some(cloudflare) = &spec.cloudflare {
        read_cloudflare(cloudflare, &mut fields)?;
    }
    Ok(ZoneWish { presence, fields })
}

fn read_cloudflare(zone: &CloudflareZone, fields: &mut Fields) -> Result<(), BadField> {
    if let Some(kind) = zone.kind {
        fields.insert("type", Value::from(kind.as_str()).to_string());
    }
    if let Some(is_paused) = zone.paused {
        fields.insert("paused", is_paused.to_string());
    }
    if let Some(hold) = &zone.hold {
        fields.insert("hold.enabled", hold.enabled.to_string());
        if let Some(includes) = hold.include_subdomains.filter(|_| hold.enabled) {
            fields.insert("hold.includeSubdomains", includes.to_string());
        }
    }
    let settings = zone.dns_settings.iter().map(|(name, value)| (snake_case(name), snake_cased(value)));
    let settings: BTreeMap<String, Value> = settings.collect();
    for (name, value) in &settings {
        flatten(&format!("dnsSettings.{name}"), value, fields, DEEPEST)?;
    }
    for (id, value) in &zone.settings {
        flatten(&format!("settings.{id}"), &setting(id, value), fields, DEEPEST)?;
    }
    Ok(())
}

/// A setting as Cloudflare has it: `on` and `off` are texts there, and YAML reads them as booleans; a version is one, too.
fn setting(id: &str, value: &Value) -> Value {
    match (id, value) {
        ("ssl_recommender", value) => value.clone(),
        (_, Value::Bool(is_on)) => Value::from(if *is_on { "on" } else { "off" }),
        ("min_tls_version", Value::Number(version)) => Value::from(version_text(version)),
        (_, value) => value.clone(),
    }
}

fn version_text(version: &Number) -> String {
    match version.as_f64() {
        Some(version) if version.fract() == 0.0 => format!("{version:.1}"),
        _ => version.to_string(),
    }
}

/// Every value within an object is a field of its own, so that what is not listed is left alone.
fn flatten(field: &str, value: &Value, fields: &mut Fields, depth: usize) -> Result<(), BadField> {
    match value {
        Value::Object(_) if depth == 0 => {
            Err(BadField::new(format!("spec.cloudflare.{field}"), "is nested too deep"))
        }
        Value::Object(object) => object
            .iter()
            .try_for_each(|(key, value)| flatten(&format!("{field}.{key}"), value, fields, depth - 1)),
        value => {
            fields.insert(field, value.to_string());
            Ok(())
        }
    }
}

fn snake_cased(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            Value::Object(object.iter().map(|(key, value)| (snake_case(key), snake_cased(value))).collect())
        }
        value => value.clone(),
    }
}

/// `nsTTL` as `ns_ttl`.
fn snake_case(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 4);
    let mut was_lower = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && was_lower {
            text.push('_');
        }
        was_lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        text.push(letter.to_ascii_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zonekeeper_api::{DNSZoneSpec, Lifecycle};

    use super::*;

    fn wish(spec: Value) -> ZoneWish {
        let mut whole = json!({"domain": "example.com"});
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let spec: DNSZoneSpec = serde_json::from_value(whole).unwrap();
        zone_wish(&DNSZone::new("zone", spec)).unwrap()
    }

    #[test]
    fn nothing_is_managed_that_is_not_listed() {
        assert!(wish(json!({})).is_empty());
        assert!(wish(json!({"cloudflare": {}, "dnssec": {"mode": "Unmanaged"}})).is_empty());
    }

    #[test]
    fn every_leaf_of_a_setting_is_a_field() {
        let wish = wish(json!({
            "lifecycle": {"create": true},
            "dnssec": {"mode": "On"},
            "cloudflare": {
                "paused": false,
                "dnsSettings": {"nsTTL": 86400, "flattenAllCNAMEs": true, "soa": {"minTTL": 1800}},
                "settings": {"ssl": "strict", "always_use_https": true, "min_tls_version": 1.2},
            },
        }));
        assert_eq!(wish.presence, Presence::Created);
        let fields: Vec<String> =
            wish.fields.iter().map(|(field, value)| format!("{field}={value}")).collect();
        assert_eq!(
            fields,
            [
                "dnsSettings.flatten_all_cnames=true",
                "dnsSettings.ns_ttl=86400",
                "dnsSettings.soa.min_ttl=1800",
                "dnssec=On",
                "paused=false",
                "settings.always_use_https=\"on\"",
                "settings.min_tls_version=\"1.2\"",
                "settings.ssl=\"strict\"",
            ]
        );
    }

    #[test]
    fn a_zone_goes_only_with_an_object_that_says_so() {
        let lifecycle = Lifecycle { create: true, deletion_policy: DeletionPolicy::Delete };
        let spec = DNSZoneSpec { domain: "example.com".into(), lifecycle, ..DNSZoneSpec::default() };
        let mut object = DNSZone::new("zone", spec);
        assert_eq!(zone_wish(&object).unwrap().presence, Presence::Created);
        object.metadata.deletion_timestamp = serde_json::from_value(json!("2026-11-18T00:00:00Z")).unwrap();
        assert_eq!(zone_wish(&object).unwrap().presence, Presence::Deleted);
        object.spec.lifecycle.deletion_policy = DeletionPolicy::Retain;
        assert_eq!(zone_wish(&object).unwrap().presence, Presence::Unmanaged);
    }
}
