//! What a person sees when Cloudflare refuses: its words and codes, and the next step.

use crate::support::{Answer, At, Stub, cleared, create, creating, domain, provider, record};
use cloudflare_sim::{Knobs, Plan, knobs};
use serde_json::{Value, json};
use zonekeeper_kernel::{
    attribute::{AttributeValue, Attributes, PROXIED, TAGS},
    plan::Change,
    record::{Record, Ttl},
};
use zonekeeper_providers::{Outcome, Provider, ProviderError, Retry};

/// What follows for the rest of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// Nothing else is sent.
    Stops,
    /// The batch is bisected, and only the change itself is refused.
    Bisects,
    /// The same, and the zone is read again.
    ReReads,
}

/// Every code of the table: HTTP status, code, words, the reason, what follows, the next step.
const CODES: &[(u16, i64, &str, &str, Then, &str)] = &[
    (400, 6003, "Invalid request headers", "CredentialsInvalid", Then::Stops, "Secret"),
    (400, 6111, "Invalid format for Authorization header", "CredentialsInvalid", Then::Stops, "Secret"),
    (400, 6103, "Invalid format for X-Auth-Key header", "CredentialsInvalid", Then::Stops, "Secret"),
    (400, 6102, "Invalid format for X-Auth-Email header", "CredentialsInvalid", Then::Stops, "Secret"),
    (400, 6105, "Invalid format for Content-Type header", "CredentialsInvalid", Then::Stops, "Secret"),
    (
        400,
        9106,
        "Missing X-Auth-Key, X-Auth-Email or Authorization headers",
        "CredentialsInvalid",
        Then::Stops,
        "Secret",
    ),
    (403, 9103, "Unknown X-Auth-Key or X-Auth-Email", "CredentialsInvalid", Then::Stops, "Secret"),
    (
        403,
        9109,
        "Cannot use the access token from location: 192.0.2.1",
        "CredentialsInvalid",
        Then::Stops,
        "IP filter",
    ),
    (403, 9109, "Invalid access token", "CredentialsInvalid", Then::Stops, "create the token anew"),
    (403, 10000, "Authentication error", "CredentialsInvalid", Then::Stops, "DNS:Edit"),
    (
        405,
        10000,
        "PUT method not allowed for the api_token authentication scheme",
        "CredentialsInvalid",
        Then::Stops,
        "DNS:Edit",
    ),
    (403, 10001, "Unable to authenticate request", "CredentialsInvalid", Then::Stops, "DNS:Edit"),
    (
        403,
        0,
        "Actor 'x' requires permission 'zone.list' to list zones",
        "CredentialsInvalid",
        Then::Stops,
        "Zone:Read",
    ),
    (401, 1000, "Invalid API Token", "CredentialsInvalid", Then::Stops, "Secret"),
    (404, 1001, "Invalid zone identifier", "ZoneNotFound", Then::Stops, "spec.zoneID"),
    (400, 1002, "Invalid dns record identifier", "ZoneNotFound", Then::Stops, "spec.zoneID"),
    (
        404,
        7003,
        "Could not route to /client/v4/zones/x, perhaps your object identifier is invalid?",
        "ZoneNotFound",
        Then::Stops,
        "baseURL",
    ),
    (400, 7000, "No route for that URI", "ZoneNotFound", Then::Stops, "spec.zoneID"),
    (404, 81044, "Record does not exist.", "Pending", Then::ReReads, "read again"),
    (400, 81044, "Record does not exist.", "Pending", Then::ReReads, "read again"),
    (400, 81045, "Record quota exceeded.", "ProviderRejected", Then::Bisects, "upgrade the plan"),
    (
        400,
        81053,
        "An A, AAAA, or CNAME record with that host already exists.",
        "Pending",
        Then::ReReads,
        "remove that one first",
    ),
    (
        400,
        81054,
        "A CNAME record with that host already exists.",
        "Pending",
        Then::ReReads,
        "remove that one first",
    ),
    (
        400,
        81055,
        "Records with that host already exist, so an NS record cannot.",
        "Pending",
        Then::ReReads,
        "remove that one first",
    ),
    (
        400,
        81056,
        "NS records with that host already exist.",
        "Pending",
        Then::ReReads,
        "remove that one first",
    ),
    (400, 81057, "Record already exists.", "Pending", Then::ReReads, "read again"),
    (400, 81058, "An identical record already exists.", "Pending", Then::ReReads, "read again"),
    (
        400,
        83011,
        "Combined content length of records with this name and type exceeds the limit.",
        "ProviderRejected",
        Then::Bisects,
        "shorten",
    ),
    (400, 9000, "DNS name is invalid.", "ProviderRejected", Then::Bisects, "correct the name"),
    (400, 9002, "Record type is invalid.", "ProviderRejected", Then::Bisects, "type"),
    (
        400,
        9003,
        "Target 192.0.2.1 is not allowed for a proxied record.",
        "ProviderRejected",
        Then::Bisects,
        "cloudflare.proxied",
    ),
    (
        400,
        9004,
        "This record type cannot be proxied.",
        "ProviderRejected",
        Then::Bisects,
        "cloudflare.proxied",
    ),
    (
        400,
        9005,
        "Content for A record must be a valid IPv4 address.",
        "ProviderRejected",
        Then::Bisects,
        "value",
    ),
    (
        400,
        9006,
        "Content for AAAA record must be a valid IPv6 address.",
        "ProviderRejected",
        Then::Bisects,
        "value",
    ),
    (400, 9007, "Content for TXT record is invalid.", "ProviderRejected", Then::Bisects, "value"),
    (
        400,
        9009,
        "Change the content of your MX record to be a hostname instead of an IP address.",
        "ProviderRejected",
        Then::Bisects,
        "value",
    ),
    (
        400,
        9015,
        "Record content exceeds the maximum of 4096 wire format bytes.",
        "ProviderRejected",
        Then::Bisects,
        "shorten",
    ),
    (
        400,
        9021,
        "TTL must be between 60 and 86400 seconds, or 1 for Automatic.",
        "ProviderRejected",
        Then::Bisects,
        "spec.ttl",
    ),
    (400, 9039, "CNAME content cannot reference itself.", "ProviderRejected", Then::Bisects, "value"),
    (400, 9100, "priority is a required field.", "ProviderRejected", Then::Bisects, "value"),
    (400, 9101, "key_tag is a required data field.", "ProviderRejected", Then::Bisects, "value"),
    (400, 9207, "Content-type must be application/json.", "ProviderRejected", Then::Bisects, "value"),
    (
        400,
        9300,
        "DNS record has 1 tags, exceeding the quota of 0.",
        "ProviderRejected",
        Then::Bisects,
        "cloudflare.tags",
    ),
    (
        400,
        9313,
        "DNS record comment exceeds the maximum length of 100 characters.",
        "ProviderRejected",
        Then::Bisects,
        "cloudflare.comment",
    ),
    (400, 1004, "DNS Validation Error", "ProviderRejected", Then::Bisects, "correct"),
];

fn four() -> Vec<Change> {
    (0..4).map(|i| create("A", &format!("host-{i}"), "192.0.2.1")).collect()
}

/// What four creates get from a Cloudflare that answers each batch so, and how many batches they took.
async fn answered(stub: &Stub) -> (Vec<Outcome>, usize) {
    let access = provider(&stub.url(), |_| {}).open(&domain(), None).await.unwrap();
    let outcomes = access.apply(&cleared(four()), &|_| {}).await;
    (outcomes, stub.batches().len())
}

#[tokio::test]
async fn every_code_says_what_cloudflare_said_and_what_to_do() {
    for (status, code, words, reason, then, step) in CODES {
        let body = json!({"success": false, "errors": [{"code": code, "message": words}]});
        let (outcomes, batches) = answered(&Stub::refusing(*status, body).await).await;
        let error = outcomes[0].error().unwrap();
        let label = format!("{code}: {error}");
        assert_eq!(error.reason(), *reason, "{label}");
        let words = words.trim_end_matches('.');
        assert!(
            error.to_string().contains(words) && error.to_string().contains(&format!("({code})")),
            "{label}"
        );
        assert!(error.to_string().contains(step), "{label}");
        match then {
            Then::Stops => {
                assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::NotSent(_))), "{label}");
                assert_eq!(batches, 1, "{label}");
            }
            Then::Bisects | Then::ReReads => {
                assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Refused(_))), "{label}");
                assert_eq!(batches, 7, "{label}");
                assert!(error.to_string().contains("host-0.example.com A"), "the set is named: {label}");
                let retry = if *then == Then::ReReads {
                    Retry::After(std::time::Duration::ZERO)
                } else {
                    Retry::Never
                };
                assert_eq!(error.retry(), retry, "{label}");
            }
        }
    }
}

#[tokio::test]
async fn the_same_codes_are_understood_where_a_zone_is_read() {
    for (status, code, words, reason, _, _) in CODES.iter().filter(|row| row.4 == Then::Stops) {
        let (status, code, words) = (*status, *code, *words);
        let stub = Stub::start(move |_| Answer::error(status, code, words)).await;
        let error = provider(&stub.url(), |_| {}).open(&domain(), None).await.unwrap_err();
        assert_eq!(error.reason(), *reason, "{error}");
        assert!(error.to_string().starts_with("finding zone example.com: "), "{error}");
        assert_eq!(stub.asked().len(), 1, "a refusal is not asked for again");
    }
}

#[tokio::test]
async fn every_error_of_an_answer_is_shown_and_so_is_its_chain() {
    let body = json!({"success": false, "errors": [
        {"code": 1004, "message": "DNS Validation Error", "error_chain": [
            {"code": 9100, "message": "priority is a required field."}]},
        {"code": 9009, "message": "Change the content of your MX record."},
    ]});
    let (outcomes, _) = answered(&Stub::refusing(400, body).await).await;
    let message = outcomes[0].error().unwrap().to_string();
    for part in ["DNS Validation Error (1004)", "priority is a required field (9100)", "MX record (9009)"] {
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn an_unknown_code_concerns_one_change_and_is_shown_as_it_is() {
    let body = json!({"success": false, "errors": [{"code": 99999, "message": "Something new."}]});
    let (outcomes, batches) = answered(&Stub::refusing(400, body).await).await;
    assert_eq!(batches, 7);
    let error = outcomes[0].error().unwrap();
    assert_eq!(error.reason(), "ProviderRejected");
    assert!(error.to_string().contains("Something new (99999)"), "{error}");
}

#[tokio::test]
async fn odd_shapes_of_a_refusal_are_still_errors() {
    let shapes: [(u16, Value, &str); 6] = [
        (400, json!({"success": false}), "ProviderRejected"),
        (400, json!({"success": false, "errors": null}), "ProviderRejected"),
        (400, json!({"success": false, "errors": [{}]}), "ProviderRejected"),
        (403, json!({"success": false, "errors": []}), "CredentialsInvalid"),
        (400, json!("text"), "ProviderUnavailable"),
        (500, json!({"success": false, "errors": [{"code": 1, "message": "x"}]}), "ProviderUnavailable"),
    ];
    for (status, body, reason) in shapes {
        let (outcomes, _) = answered(&Stub::refusing(status, body.clone()).await).await;
        let error = outcomes[0].error().unwrap();
        assert_eq!(error.reason(), reason, "{body}: {error}");
        assert!(!error.to_string().is_empty());
    }
}

#[tokio::test]
async fn what_is_not_cloudflare_is_not_mistaken_for_a_bad_token() {
    for status in [301, 302, 400, 404, 405, 418] {
        let stub = Stub::start(move |_| Answer::html(status, "<html>a captive portal</html>")).await;
        let error = provider(&stub.url(), |settings| settings.read_tries = 1)
            .open(&domain(), None)
            .await
            .unwrap_err();
        assert_eq!(error.reason(), "ProviderUnavailable", "{status}: {error}");
        assert!(
            error.to_string().contains("captive portal") && error.to_string().contains(&status.to_string()),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_very_long_answer_is_cut() {
    let long = "x".repeat(1_000_000);
    let json =
        Stub::refusing(400, json!({"success": false, "errors": [{"code": 9007, "message": &long}]})).await;
    let (outcomes, _) = answered(&json).await;
    assert!(outcomes[0].error().unwrap().to_string().len() < 1_000);
    let html = Stub::start(move |_| Answer::html(502, &long)).await;
    let error =
        provider(&html.url(), |settings| settings.read_tries = 1).open(&domain(), None).await.unwrap_err();
    assert!(error.to_string().len() < 1_000);
}

async fn refusal(at: &At, record: Record) -> ProviderError {
    let mut outcomes = at.apply(vec![creating(record), create("A", "good", "192.0.2.1")]).await;
    if let Some(good) =
        at.access.list().await.unwrap().into_iter().find(|(name, _)| name.as_str() == "good.example.com")
    {
        at.sim.remove(&at.zone, &good.1.id.0);
    } else {
        panic!("the other change went through: {outcomes:?}");
    }
    match outcomes.remove(0) {
        Outcome::Refused(error) => error,
        other => panic!("{other:?}"),
    }
}

fn assert_says(error: &ProviderError, code: i64) {
    assert!(error.to_string().contains(&format!("({code})")), "{code}: {error}");
}

/// The rules of names, values, TTL, proxy and neighbours, as the simulator enforces them.
#[tokio::test]
async fn each_rule_of_cloudflare_that_a_wish_breaks_names_its_code() {
    let at = At::plan(Plan::Free).await;
    let proxied = |record: Record| Record { attributes: Attributes::of(PROXIED, true), ..record };
    let text =
        |length: usize| format!("\"{}\"", "x".repeat(200)).repeat(length / 200).replace("\"\"", "\" \"");
    let cases: Vec<(Record, i64)> = vec![
        (record("CNAME", "self", "self.example.com"), 9039),
        (record("TXT", "long", &text(5_000)), 9015),
        (Record { ttl: Ttl(30), ..record("A", "short", "192.0.2.1") }, 9021),
        (Record { ttl: Ttl(86_401), ..record("A", "lasting", "192.0.2.1") }, 9021),
        (proxied(record("A", "private", "10.0.0.1")), 9003),
        (Record { comment: "x".repeat(101).into(), ..record("A", "chatty", "192.0.2.1") }, 9313),
        (Record { comment: "a\nb".into(), ..record("A", "lines", "192.0.2.1") }, 9313),
        (
            Record {
                attributes: Attributes::of(TAGS, AttributeValue::from_iter(["a"])),
                ..record("A", "tagged", "192.0.2.1")
            },
            9300,
        ),
        (
            record(
                "DS",
                "alone",
                "12345 13 2 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
            9007,
        ),
        (record("DNSKEY", "key", "257 3 15 l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4="), 9007),
    ];
    for (record, code) in cases {
        let error = refusal(&at, record).await;
        assert_says(&error, code);
        assert_eq!(error.reason(), "ProviderRejected", "{error}");
    }
    // The older shape of the same errors.
    at.sim.knobs(Knobs { validation_shape: knobs::ValidationShape::Chained, ..Knobs::default() });
    assert_says(&refusal(&at, record("CNAME", "self", "self.example.com")).await, 9039);
}

#[tokio::test]
async fn neighbours_that_exclude_each_other_are_read_again() {
    let at = At::plan(Plan::Free).await;
    at.sim.seed(&at.zone, json!({"type": "A", "name": "host", "content": "192.0.2.1"}));
    at.sim.seed(&at.zone, json!({"type": "CNAME", "name": "alias", "content": "target.example.net"}));
    at.sim.seed(&at.zone, json!({"type": "NS", "name": "sub", "content": "ns1.example.net"}));
    let cases = [
        (record("CNAME", "host", "target.example.net"), 81053),
        (record("CNAME", "alias", "target.example.net"), 81053),
        (record("A", "alias", "192.0.2.1"), 81054),
        (record("NS", "host", "ns1.example.net"), 81055),
        (record("A", "sub", "192.0.2.1"), 81056),
        (record("A", "host", "192.0.2.1"), 81058),
    ];
    for (record, code) in cases {
        let error = refusal(&at, record).await;
        assert_says(&error, code);
        assert!(matches!(error, ProviderError::Stale { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_full_zone_takes_what_still_fits() {
    let at = At::plan(Plan::Free).await;
    at.sim.knobs(Knobs { record_quota: knobs::RecordQuota::Fixed(3), ..Knobs::default() });
    let outcomes = at.apply((0..5).map(|i| create("A", &format!("host-{i}"), "192.0.2.1")).collect()).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.error().is_none()).count(), 3);
    let error = outcomes.iter().find_map(Outcome::error).unwrap();
    assert_says(error, 81045);
    assert!(error.to_string().contains("upgrade the plan"), "{error}");
}

#[tokio::test]
async fn a_long_set_is_refused_as_a_whole() {
    let at = At::plan(Plan::Free).await;
    let text = |letter: &str| format!("\"{0}\" \"{0}\" \"{0}\"", letter.repeat(250));
    let changes: Vec<Change> = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]
        .map(|letter| create("TXT", "long", &text(letter)))
        .into();
    let outcomes = at.apply(changes).await;
    let error = outcomes.iter().find_map(Outcome::error).unwrap();
    assert_says(error, 83011);
}
