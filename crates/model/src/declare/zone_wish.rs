//! What a DNSZone wants of the zone itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, SocketAddr},
};

use kube::ResourceExt;
use serde_json::{Number, Value};
use zonekeeper_api::{
    Authority, CloudflareZone, DNSZone, DeletionPolicy, DnssecMode, Primary, wellknown::RESTORE_ZONE,
};
use zonekeeper_kernel::{
    name::Name,
    transfer_key::TransferKey,
    zone_change::{AUTHORITY, DNSSEC, Fields, PRIMARIES, Presence, TRANSFER_TSIG, TYPE, ZoneWish},
};

use crate::{declare::BadField, status};

/// How deep settings may be nested.
const DEEPEST: usize = 8;

/// Reads it. Only what is listed is managed; `key` is the one that the object names for transfers, if it was read.
pub fn zone_wish(object: &DNSZone, key: Option<TransferKey>) -> Result<ZoneWish, BadField> {
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
    if let Some(authority) = &spec.authority {
        read_authority(authority, &mut fields)?;
    }
    if !is_going && object.annotations().get(RESTORE_ZONE).is_some_and(|value| value == "true") {
        restore(object, &mut fields);
    }
    if let Some(key) = &key {
        fields.insert(TRANSFER_TSIG, Value::from(&*key.name).to_string());
    }
    let ends_with_object = spec.lifecycle.deletion_policy == DeletionPolicy::Delete;
    Ok(ZoneWish { presence, fields, ends_with_object, transfer_key: key })
}

/// What is not listed gets the value that it had before it was listed.
fn restore(object: &DNSZone, fields: &mut Fields) {
    let standing = object.status.as_ref().and_then(|status| status.zone.as_ref());
    for (field, value) in standing.into_iter().flat_map(|standing| &standing.initial) {
        // A key has no value to go back to.
        if field != TRANSFER_TSIG && fields.get(field).is_none() {
            fields.insert(field.as_str(), value.as_str());
        }
    }
}

fn read_cloudflare(zone: &CloudflareZone, fields: &mut Fields) -> Result<(), BadField> {
    if let Some(kind) = zone.kind {
        fields.insert(TYPE, Value::from(kind.as_str()).to_string());
    }
    if !zone.primaries.is_empty() {
        fields.insert(PRIMARIES, primaries(&zone.primaries)?);
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

fn read_authority(authority: &Authority, fields: &mut Fields) -> Result<(), BadField> {
    let name = |field: &str, text: &str| {
        let parsed =
            Name::parse(text).map_err(|error| BadField::new(format!("spec.authority.{field}"), error));
        parsed.map(|name| name.to_fqdn())
    };
    let soa = &authority.soa;
    if let Some(mname) = &soa.mname {
        fields.insert(format!("{AUTHORITY}soa.mname"), name("soa.mname", mname)?);
    }
    if let Some(rname) = &soa.rname {
        fields.insert(format!("{AUTHORITY}soa.rname"), name("soa.rname", &mailbox(rname))?);
    }
    let numbers = [
        ("refresh", soa.refresh),
        ("retry", soa.retry),
        ("expire", soa.expire),
        ("minimum", soa.minimum),
        ("ttl", soa.ttl),
    ];
    for (field, number) in numbers {
        if let Some(number) = number {
            fields.insert(format!("{AUTHORITY}soa.{field}"), number.to_string());
        }
    }
    let servers = authority.name_servers.iter().map(|server| name("nameServers", server));
    let servers: BTreeSet<String> = servers.collect::<Result<_, _>>()?;
    if !servers.is_empty() {
        let listed: Vec<String> = servers.into_iter().collect();
        fields.insert(format!("{AUTHORITY}nameServers"), listed.join(", "));
    }
    Ok(())
}

/// An address of mail as the name that RFC 1035 section 3.3.13 makes of it.
pub fn mailbox(rname: &str) -> String {
    match rname.split_once('@') {
        Some((local, domain)) => format!("{}.{domain}", local.replace('.', "\\.")),
        None => rname.to_owned(),
    }
}

/// Their addresses in one form and order.
fn primaries(listed: &[Primary]) -> Result<String, BadField> {
    let address = |(index, primary): (usize, &Primary)| {
        let ip: IpAddr = primary.address.parse().map_err(|_| {
            let message = format!("{:?} is not an IP address", primary.address);
            BadField::new(format!("spec.cloudflare.primaries[{index}].address"), message)
        })?;
        Ok(SocketAddr::new(ip, primary.port))
    };
    let addresses: BTreeSet<SocketAddr> =
        listed.iter().enumerate().map(address).collect::<Result<_, BadField>>()?;
    Ok(addresses.iter().map(SocketAddr::to_string).collect::<Value>().to_string())
}

/// The key that a Secret has for transfers, if the object names one.
pub fn transfer_key(
    object: &DNSZone,
    read: impl Fn(&str) -> Option<Vec<u8>>,
) -> Result<Option<TransferKey>, BadField> {
    let named = object.spec.cloudflare.as_ref().and_then(|zone| zone.transfer_tsig_secret_ref.as_ref());
    let Some(reference) = named else { return Ok(None) };
    let text = |key: &str| {
        let found = read(key).map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
        found.filter(|text| !text.is_empty()).ok_or_else(|| {
            let message = format!(
                "no Secret {} with key {key} in the namespace of the DNSZone; it needs name, algorithm and secret",
                reference.name
            );
            BadField::new("spec.cloudflare.transferTsigSecretRef", message)
        })
    };
    Ok(Some(TransferKey::new(text("name")?, text("algorithm")?, text("secret")?)))
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
        zone_wish(&DNSZone::new("zone", spec), None).unwrap()
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
    fn what_was_before_comes_back_on_request() {
        let spec = DNSZoneSpec { domain: "example.com".into(), ..DNSZoneSpec::default() };
        let mut object = DNSZone::new("zone", spec);
        let status =
            json!({"zone": {"status": "active", "initial": {"settings.ssl": "\"full\"", "paused": "true"}}});
        object.status = Some(serde_json::from_value(status).unwrap());
        object.spec.cloudflare = serde_json::from_value(json!({"paused": false})).unwrap();
        assert_eq!(
            zone_wish(&object, None).unwrap().fields.iter().collect::<Vec<_>>(),
            [("paused", "false")]
        );
        object.metadata.annotations = Some([(RESTORE_ZONE.to_owned(), "true".to_owned())].into());
        let wish = zone_wish(&object, None).unwrap();
        let fields: Vec<_> = wish.fields.iter().collect();
        assert_eq!(fields, [("paused", "false"), ("settings.ssl", "\"full\"")]);
    }

    #[test]
    fn primaries_have_one_form_and_order() {
        let primaries = json!([
            {"address": "2001:DB8::0053"},
            {"address": "192.0.2.53", "port": 5353},
            {"address": "192.0.2.53"},
            {"address": "192.0.2.53", "port": 53},
        ]);
        let wish = wish(json!({"cloudflare": {"type": "secondary", "primaries": primaries}}));
        let expected = r#"["192.0.2.53:53","192.0.2.53:5353","[2001:db8::53]:53"]"#;
        assert_eq!(wish.fields.get(PRIMARIES), Some(expected));
        assert_eq!(wish.contents(), zonekeeper_kernel::zone_state::Contents::Copies);
    }

    #[test]
    fn the_key_of_a_wish_is_known_by_its_name() {
        let spec = json!({"domain": "example.com", "cloudflare": {"transferTsigSecretRef": {"name": "key"}}});
        let object = DNSZone::new("zone", serde_json::from_value(spec).unwrap());
        let missing = transfer_key(&object, |key| (key == "name").then(|| b"transfer".to_vec()));
        assert!(missing.unwrap_err().to_string().contains("algorithm"));
        let key = transfer_key(&object, |key| Some(key.as_bytes().to_vec())).unwrap();
        let wish = zone_wish(&object, key).unwrap();
        assert_eq!(wish.fields.get(TRANSFER_TSIG), Some("\"name\""));
        assert_eq!(wish.transfer_key.as_ref().map(TransferKey::expose_secret), Some("secret"));
    }

    #[test]
    fn a_zone_goes_only_with_an_object_that_says_so() {
        let lifecycle = Lifecycle { create: true, deletion_policy: DeletionPolicy::Delete };
        let spec = DNSZoneSpec { domain: "example.com".into(), lifecycle, ..DNSZoneSpec::default() };
        let mut object = DNSZone::new("zone", spec);
        assert_eq!(zone_wish(&object, None).unwrap().presence, Presence::Created);
        object.metadata.deletion_timestamp = serde_json::from_value(json!("2026-11-18T00:00:00Z")).unwrap();
        assert_eq!(zone_wish(&object, None).unwrap().presence, Presence::Deleted);
        object.spec.lifecycle.deletion_policy = DeletionPolicy::Retain;
        assert_eq!(zone_wish(&object, None).unwrap().presence, Presence::Unmanaged);
    }
}
