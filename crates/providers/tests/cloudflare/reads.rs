//! Reading at Cloudflare: zones by name and id, complete listings, answers that get lost.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Answer, At, Stub, TOKEN, domain, name, provider};
use cloudflare_sim::{
    Action, Config, Fault, Knobs, Match, Plan, Scope, Shift, Sim, TokenGrant, Which, knobs,
};
use serde_json::json;
use zonekeeper_kernel::{name::Name, record::Ttl};
use zonekeeper_providers::{Provider, ProviderError};

async fn sim_with(names: &[&str]) -> Sim {
    let sim = Sim::start(Config::unlimited()).await.unwrap();
    for name in names {
        sim.zone(name, Plan::Free);
    }
    assert!(sim.accept_token(TOKEN, TokenGrant::full()));
    sim
}

#[tokio::test]
async fn a_zone_is_found_by_its_name_in_one_call() {
    let sim = sim_with(&["example.com", "example.net", "sub.example.com"]).await;
    let access = provider(&sim.base_url(), |_| {}).open(&domain(), None).await.unwrap();
    assert_eq!(access.traits().id, sim.zone("example.com", Plan::Free));
    assert_eq!(access.traits().name_servers.len(), 2);
    assert_eq!(sim.requests(), 1);
}

#[tokio::test]
async fn a_zone_is_found_by_its_id_and_must_have_the_name() {
    let sim = sim_with(&["example.com", "example.net"]).await;
    let (com, net) = (sim.zone("example.com", Plan::Free), sim.zone("example.net", Plan::Free));
    let provider = provider(&sim.base_url(), |_| {});
    assert_eq!(provider.open(&domain(), Some(&com)).await.unwrap().traits().id, com);
    let error = provider.open(&domain(), Some(&net)).await.unwrap_err();
    assert_eq!(error.reason(), "ZoneNotFound");
    let message = error.to_string();
    assert!(message.contains("that is zone example.net") && message.contains("spec.zoneID"), "{message}");
}

#[tokio::test]
async fn a_wrong_id_says_which_field_to_correct() {
    let sim = sim_with(&["example.com"]).await;
    let provider = provider(&sim.base_url(), |_| {});
    for malformed in ["not-an-id", "../user", "a/b?c#d"] {
        let error = provider.open(&domain(), Some(malformed)).await.unwrap_err();
        assert_eq!(error.reason(), "ZoneNotFound", "{malformed}: {error}");
        assert!(error.to_string().contains("spec.zoneID"), "{error}");
    }
    let unknown = "0123456789abcdef0123456789abcdef";
    let error = provider.open(&domain(), Some(unknown)).await.unwrap_err();
    assert_eq!(error.reason(), "ZoneNotFound", "the token works, and does not show it: {error}");
    sim.knobs(Knobs { unknown_zone: knobs::UnknownZone::NotFound, ..Knobs::default() });
    let error = provider.open(&domain(), Some(unknown)).await.unwrap_err();
    assert_eq!(error.reason(), "ZoneNotFound");
}

#[tokio::test]
async fn a_name_that_the_token_does_not_see_is_not_found() {
    let sim = sim_with(&["example.net"]).await;
    let error = provider(&sim.base_url(), |_| {}).open(&domain(), None).await.unwrap_err();
    assert_eq!(error.reason(), "ZoneNotFound");
    assert!(error.to_string().contains("example.com") && error.to_string().contains("Zone:Read"), "{error}");
}

#[tokio::test]
async fn a_unicode_zone_is_found_whichever_way_its_name_is_shown() {
    let sim = sim_with(&["münchen.example.com"]).await;
    let provider = provider(&sim.base_url(), |_| {});
    let domain = Name::parse("münchen.example.com").unwrap();
    for zone_names in [knobs::ZoneNames::Punycode, knobs::ZoneNames::Unicode] {
        sim.knobs(Knobs { zone_names, ..Knobs::default() });
        let access = provider.open(&domain, None).await.unwrap();
        assert_eq!(
            provider.open(&domain, Some(&access.traits().id)).await.unwrap().traits().id,
            access.traits().id
        );
    }
}

#[tokio::test]
async fn of_a_pending_and_an_active_zone_the_active_one_is_served() {
    let zone = |id: &str, status: &str| json!({"id": id, "name": "example.com", "status": status});
    let open = async |zones: Vec<serde_json::Value>| {
        let stub = Stub::start(move |_| Answer::ok(json!(zones))).await;
        provider(&stub.url(), |_| {}).open(&domain(), None).await.map(|access| access.traits().id.clone())
    };
    assert_eq!(open(vec![zone("1", "pending"), zone("2", "active")]).await.unwrap(), "2");
    assert_eq!(open(vec![zone("1", "pending")]).await.unwrap(), "1");
    let error = open(vec![zone("1", "active"), zone("2", "active")]).await.unwrap_err();
    assert!(
        matches!(&error, ProviderError::Configuration { message } if message.contains("spec.zoneID")),
        "{error}"
    );
}

#[tokio::test]
async fn the_plan_decides_what_a_zone_can_hold() {
    for (plan, comment, ttl) in
        [(Plan::Free, 100, 60), (Plan::Pro, 500, 60), (Plan::Business, 500, 60), (Plan::Enterprise, 500, 30)]
    {
        let at = At::plan(plan).await;
        assert_eq!(at.access.traits().capabilities.comment_limit, Some(comment));
        let capabilities = &at.access.traits().capabilities;
        assert_eq!(capabilities.minimum_ttl, ttl);
        assert!(capabilities.allows_ttl(Ttl(1)) && !capabilities.allows_ttl(Ttl(86_401)));
    }
}

fn fill(at: &At, records: usize) {
    for i in 0..records {
        at.sim.seed(&at.zone, json!({"type": "A", "name": format!("host-{i:05}"), "content": "192.0.2.1"}));
    }
}

#[tokio::test]
async fn twelve_thousand_records_take_exactly_three_requests() {
    let at = At::plan(Plan::Enterprise).await;
    fill(&at, 12_000);
    assert_eq!(at.access.traits().calls_to_list.of(12_000), 3);
    let before = at.sim.requests();
    assert_eq!(at.access.list().await.unwrap().len(), 12_000);
    assert_eq!(at.sim.requests() - before, 3);
}

#[tokio::test]
async fn an_empty_zone_takes_one_request() {
    let at = At::plan(Plan::Free).await;
    for empty_list_pages in [knobs::EmptyListPages::Zero, knobs::EmptyListPages::One] {
        at.sim.knobs(Knobs { empty_list_pages, ..Knobs::default() });
        let before = at.sim.requests();
        assert_eq!(at.access.list().await.unwrap().len(), 0);
        assert_eq!(at.sim.requests() - before, 1);
    }
}

#[tokio::test]
async fn pages_that_shift_while_they_are_read_never_make_a_short_list() {
    let at = At::plan(Plan::Enterprise).await;
    fill(&at, 10_001);
    let early = json!({"type": "A", "name": "aaa", "content": "192.0.2.1"});
    for (shift, expected) in [(Shift::Insert(early), 10_002), (Shift::RemoveFirst, 10_001)] {
        at.sim.faults(vec![Fault::shift_pages(1, shift)]);
        let before = at.sim.requests();
        let listed = at.access.list().await.unwrap();
        assert_eq!(listed.len(), expected);
        assert_eq!(listed.len(), at.sim.records(&at.zone).len());
        assert!(at.sim.requests() - before > 3, "it was read again");
    }
}

#[tokio::test]
async fn a_listing_that_keeps_shifting_is_given_up_with_an_error() {
    let at = At::plan(Plan::Enterprise).await;
    fill(&at, 5_100);
    // Each time the first of the two pages is read, a record goes.
    let shift = |nth: u64| {
        let on = Match { scope: Scope::Listings, which: Which::Nth(nth), ..Match::default() };
        Fault::new(on, Action::ShiftPages { after_page: 1, shift: Shift::RemoveFirst })
    };
    at.sim.faults((0..50).map(|i| shift(2 * i + 1)).collect());
    let error = at.access.list().await.unwrap_err();
    assert_eq!(error.reason(), "ProviderUnavailable");
    assert!(error.to_string().contains("shifting"), "{error}");
}

#[tokio::test]
async fn lost_answers_to_reads_are_asked_for_again() {
    let at = At::plan(Plan::Free).await;
    fill(&at, 3);
    let actions = [
        Action::Json(500),
        Action::Html(502),
        Action::Html(520),
        Action::Empty(503),
        Action::Empty(504),
        Action::Html(400),
        Action::Cut,
        Action::CutMidBody,
    ];
    for action in actions {
        at.sim.faults(vec![Fault::nth(1, action.clone()), Fault::nth(2, action.clone())]);
        assert_eq!(at.access.list().await.unwrap().len(), 3, "{action:?}");
    }
    at.sim.faults(vec![Fault::every(Action::Html(502))]);
    let before = at.sim.requests();
    let error = at.access.list().await.unwrap_err();
    assert_eq!(error.reason(), "ProviderUnavailable");
    assert!(
        error.to_string().contains("listing zone example.com") && error.to_string().contains("502"),
        "{error}"
    );
    assert_eq!(at.sim.requests() - before, 4, "not for ever");
}

#[tokio::test]
async fn http_200_without_success_is_an_error() {
    let at = At::plan(Plan::Free).await;
    let listings = Match { scope: Scope::Listings, which: Which::Every, ..Match::default() };
    at.sim.faults(vec![Fault::new(listings, Action::Unsuccessful)]);
    let error = at.access.list().await.unwrap_err();
    assert!(error.to_string().contains("Cloudflare says"), "{error}");
    let outcomes = at.apply(vec![crate::support::create("A", "www", "192.0.2.1")]).await;
    crate::support::all_applied(&outcomes);
    at.sim.faults(vec![Fault::every(Action::Unsuccessful)]);
    let outcomes = at.apply(vec![crate::support::create("A", "api", "192.0.2.1")]).await;
    assert!(outcomes[0].error().is_some(), "{outcomes:?}");
}

#[tokio::test]
async fn an_answer_without_a_result_is_no_empty_zone() {
    for body in [json!({"success": true}), json!({"success": true, "result": null}), json!({}), json!([])] {
        let stub = Stub::start(move |asked| match asked.path.contains("dns_records") {
            true => Answer::json(200, body.clone()),
            false => Answer::zone("free"),
        })
        .await;
        let access =
            provider(&stub.url(), |settings| settings.read_tries = 1).open(&domain(), None).await.unwrap();
        assert_eq!(access.list().await.unwrap_err().reason(), "ProviderUnavailable");
    }
}

#[tokio::test]
async fn a_name_is_read_by_itself_and_a_record_by_its_id() {
    let at = At::plan(Plan::Free).await;
    fill(&at, 3);
    let id = at.sim.seed(&at.zone, json!({"type": "A", "name": "*.a", "content": "192.0.2.1"}));
    at.sim.seed(&at.zone, json!({"type": "A", "name": "b.a", "content": "192.0.2.1"}));
    let found = at.access.read(&[name("*.a")].into()).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(&*found[0].1.id.0, id);
    let record_id = found[0].1.id.clone();
    assert_eq!(at.access.find(&record_id).await.unwrap().unwrap().0, name("*.a"));
    at.sim.remove(&at.zone, &id);
    for missing_record in [knobs::MissingRecord::NotFound, knobs::MissingRecord::BadRequest] {
        at.sim.knobs(Knobs { missing_record, ..Knobs::default() });
        assert_eq!(at.access.find(&record_id).await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_record_that_nobody_can_express_does_not_hide_the_others() {
    let requests = AtomicUsize::new(0);
    let stub = Stub::start(move |asked| {
        requests.fetch_add(1, Ordering::Relaxed);
        let records = json!([
            {"id": "1", "name": "www.example.com", "type": "A", "content": "192.0.2.1", "ttl": 300},
            {"id": "2", "name": "odd.example.com", "type": "NEWTYPE", "content": "?", "ttl": 300},
            {"id": "3", "name": "bad.example.com", "type": "A", "content": "not an address", "ttl": 300},
        ]);
        match asked.path.contains("dns_records") {
            true => Answer::json(200, json!({"success": true, "result": records,
                "result_info": {"page": 1, "per_page": 5000, "count": 3, "total_count": 3, "total_pages": 1}})),
            false => Answer::zone("free"),
        }
    })
    .await;
    let access = provider(&stub.url(), |_| {}).open(&domain(), None).await.unwrap();
    let listed = access.list().await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].0, name("www"));
}

#[tokio::test]
async fn an_answer_too_large_for_cloudflare_is_not_taken_in() {
    // Valid, and it would be understood if all of it were read.
    let padding = " ".repeat(65 << 20);
    let stub = Stub::start(move |_| {
        let zone = Answer::zone("enterprise");
        Answer { body: format!("{padding}{}", zone.body), ..zone }
    })
    .await;
    let error =
        provider(&stub.url(), |settings| settings.read_tries = 1).open(&domain(), None).await.unwrap_err();
    assert!(error.to_string().contains("more than 67108864 bytes"), "{error}");
}
