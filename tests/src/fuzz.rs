//! One function per parser of outside bytes: it takes any bytes, and panics where a promise is broken.
//!
//! `tests/fuzz` calls them with mutations of a kept corpus: shortly in `make test`, longer in `make fuzz`.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use domain::{
    base::{Message, Name as WireName},
    tsig::{Algorithm, Key},
};
use secrecy::SecretString;
use serde_json::{Value, json};
use zonekeeper::{address_source::extract, folder};
use zonekeeper_api::{SourceKind, Sources};
use zonekeeper_kernel::{
    marker::{comment, crypto::EncryptionKey, txt::Labels, txt_names::TxtNames},
    name::Name,
    rdata::Rdata,
};
use zonekeeper_providers::{
    builtin::{Authority, Builtin},
    cloudflare::{Settings, api::Client, budget::Budget, convert::ApiRecord},
    rfc2136::{is_signed_answer, reads_as_transfer},
};
use zonekeeper_sources::{
    Addresses, Reading, Surroundings, Template, World,
    object::{Keep, Kind, Object},
    publish,
};

/// A target: its name, which is its folder of the corpus, and what is done with bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: &[Target] = &[
    ("address-answer", address_answer),
    ("annotations", annotations),
    ("cloudflare", cloudflare),
    ("dns-message", dns_message),
    ("manifests", manifests),
    ("markers", markers),
    ("template", template),
    ("tsig", tsig),
    ("zone-transfer", zone_transfer),
];

/// An answer of an address service, under filters that we know to be harmless.
pub fn address_answer(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for (jq, regex) in [
        (None, None),
        (Some(".ip"), None),
        (Some("first(.. | strings)"), None),
        (None, Some("([0-9a-f.:]+)")),
        (Some("."), Some("\"([^\"]*)\"")),
    ] {
        if let Err(error) = extract::address(&text, jq, regex) {
            assert!(error.len() < 200, "an error repeats what was answered: {error}");
        }
    }
}

/// Annotations of a source object, a `key=value` per line.
pub fn annotations(bytes: &[u8]) {
    static READING: OnceLock<Reading> = OnceLock::new();
    let reading = READING.get_or_init(|| {
        let sources: Sources = serde_json::from_value(json!({
            "kinds": ["Service", "Ingress"],
            "dialects": ["zonekeeper", "external-dns", "cloudflare-operator"],
        }))
        .expect("sources");
        Reading::parse(&sources).expect("a reading")
    });
    let text = String::from_utf8_lossy(bytes);
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let annotations: BTreeMap<&str, &str> = pairs.collect();
    let service = json!({
        "metadata": {"name": "web", "namespace": "shop", "annotations": annotations},
        "spec": {"type": "LoadBalancer"},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}},
    });
    let kind = Kind::Source(SourceKind::Service);
    let object = Arc::new(Object::read(kind, service, Keep::Narrow).expect("an object"));
    let mut world = World::default();
    world.synced(kind);
    world.insert(object.clone());
    let (labels, addresses) = (Arc::default(), Addresses::default());
    let surroundings = Surroundings { namespace_labels: &labels, addresses: &addresses };
    let once = publish(&object, reading, &world, &surroundings);
    let again = publish(&object, reading, &world, &surroundings);
    assert_eq!(format!("{once:?}"), format!("{again:?}"), "the same every time");
}

/// An answer of Cloudflare's: what it means, and the records in it.
pub fn cloudflare(bytes: &[u8]) {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    let client = CLIENT.get_or_init(|| {
        let settings = Settings::new(SecretString::from("token"));
        let budget = Arc::new(Budget::new(settings.rate));
        Client::new(crate::web::client(), &settings, budget)
    });
    for status in [200, 400, 403, 500] {
        let status = reqwest::StatusCode::from_u16(status).expect("a status");
        let _ = client.understand::<Value>(status, bytes);
    }
    let ok = reqwest::StatusCode::OK;
    let Ok(reply) = client.understand::<Vec<ApiRecord>>(ok, bytes) else { return };
    for (_, record) in reply.result.into_iter().filter_map(ApiRecord::into_live) {
        let (rtype, text) = (record.rdata.rtype(), record.rdata.to_string());
        let again = Rdata::parse(rtype, &text);
        assert_eq!(again.as_ref(), Ok(&record.rdata), "{rtype} {text}");
    }
}

/// A message to the built-in server.
pub fn dns_message(bytes: &[u8]) {
    static SERVER: OnceLock<Builtin> = OnceLock::new();
    let server = SERVER.get_or_init(|| {
        let server = Builtin::detached();
        server.declare(example(), Authority::default_for(&example()));
        server
    });
    for answer in server.answers_to(bytes) {
        let answer = Message::from_octets(answer).expect("a message");
        assert!(answer.header().qr(), "an answer");
        assert_eq!(answer.header().id().to_be_bytes(), bytes[..2], "to this question");
    }
}

/// A manifest of a folder.
pub fn manifests(bytes: &[u8]) {
    let place = tempfile::tempdir().expect("a folder");
    std::fs::write(place.path().join("all.yaml"), bytes).expect("a file");
    match folder::read(place.path()) {
        Ok(_) => {}
        Err(problems) => assert!(!problems.0.is_empty(), "a folder that is refused says why"),
    }
}

/// Markers of all forms.
pub fn markers(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let parts = comment::split(&text);
    assert!(text.starts_with(parts.text), "the user's text is kept");
    assert!(parts.marker.is_none() || comment::is_reserved(&text), "what reads as a marker is reserved");
    if let Some(labels) = Labels::parse(&text) {
        assert_eq!(Labels::parse(&labels.text()), Some(labels), "what is written reads back");
    }
    let key = EncryptionKey::new(&[7; 32]).expect("a key");
    assert!(key.decrypt(&text).is_none_or(|plain| key.decrypt(&key.encrypt(&plain)) == Some(plain)));
    if let Ok(name) = Name::parse(&text) {
        let names = TxtNames::new("zk-%{record_type}-", "", "any").expect("affixes");
        let _ = names.data_of(&name, &example());
    }
}

/// A template, applied to an object.
pub fn template(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(template) = Template::parse(&text) else { return };
    let service = json!({
        "metadata": {"name": "api", "namespace": "shop", "labels": {"a": "one", "b": "two"}},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}, {"port": 443}]},
    });
    if let Ok(names) = template.names(Kind::Source(SourceKind::Service), &service) {
        assert!(names.iter().map(String::len).sum::<usize>() <= 65_536, "within the limit of output");
    }
}

/// An answer that should be signed.
pub fn tsig(bytes: &[u8]) {
    let name = WireName::vec_from_str("key.example.com").expect("a name");
    let name = name.to_string().parse().expect("a name");
    let key = Key::new(Algorithm::Sha256, &[7; 32], name, None, None).expect("a key");
    let first =
        bytes.split_first_chunk().map(|(length, rest)| (usize::from(u16::from_be_bytes(*length)), rest));
    // Without a message there is nothing to be signed.
    let Some(_) = first.filter(|(length, rest)| *length >= 12 && *length <= rest.len()) else { return };
    assert!(!is_signed_answer(bytes, Arc::new(key), &example()), "nobody else has the key");
}

/// A zone transfer, message by message.
pub fn zone_transfer(bytes: &[u8]) {
    let _ = reads_as_transfer(bytes, &example());
}

fn example() -> Name {
    Name::parse("example.com").expect("a name")
}
