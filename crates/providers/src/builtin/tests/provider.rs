//! The server as a provider: what it takes, what it refuses, and what it lists.

use std::{collections::BTreeSet, sync::Arc};

use zonekeeper_kernel::{
    guard::{self, Approval, Cleared, Subject, Window},
    name::Name,
    plan::{Change, Edit},
    record::LiveRecord,
    zone::Rules,
};

use super::{change, created, deleted, name, updated};
use crate::{
    Outcome, Provider, ProviderError, ZoneAccess,
    builtin::{Authority, Builtin},
};

fn declared() -> Builtin {
    let builtin = Builtin::detached();
    let domain = name("example.com");
    builtin.declare(domain.clone(), Authority::default_for(&domain));
    builtin
}

async fn opened(builtin: &Builtin) -> Arc<dyn ZoneAccess> {
    builtin.open(&name("example.com"), None).await.unwrap()
}

fn cleared(changes: Vec<Change>) -> Cleared {
    let (domain, rules) = (Name::root(), Rules::default());
    let subject = Subject { identity: "test", domain: &domain, rules: &rules, limits: None };
    guard::clear(changes, &subject, Window::default(), &Approval::None).cleared
}

async fn apply(zone: &Arc<dyn ZoneAccess>, changes: Vec<Vec<Edit>>) -> Vec<Outcome> {
    zone.apply(&cleared(changes.into_iter().map(change).collect()), &|_| {}).await
}

async fn listed(zone: &Arc<dyn ZoneAccess>) -> Vec<String> {
    let records = zone.list().await.unwrap();
    records.iter().map(|(owner, record)| format!("{owner} {} {:?}", record.ttl.0, record.rdata)).collect()
}

async fn only(zone: &Arc<dyn ZoneAccess>) -> LiveRecord {
    zone.list().await.unwrap().remove(0).1
}

fn serial(builtin: &Builtin) -> u32 {
    builtin.service.zones.get(&name("example.com")).unwrap().state().serial()
}

#[tokio::test]
async fn only_declared_zones_can_be_opened_and_only_while_they_are_served() {
    let builtin = declared();
    let error = builtin.open(&name("example.test"), None).await.unwrap_err();
    assert_eq!(error.reason(), "ZoneNotFound");
    let zone = opened(&builtin).await;
    assert_eq!(
        (&*zone.traits().id, &*zone.traits().name_servers),
        ("example.com", &["ns.example.com".to_owned()][..])
    );
    builtin.retract(&name("example.com"));
    assert_eq!(zone.list().await.unwrap_err().reason(), "ZoneNotFound");
    let outcomes = apply(&zone, vec![vec![created("www.example.com A 192.0.2.1")]]).await;
    assert!(matches!(&*outcomes, [Outcome::NotSent(ProviderError::ZoneNotFound { .. })]), "{outcomes:?}");
}

#[tokio::test]
async fn records_are_listed_as_given_and_the_servers_own_are_not() {
    let builtin = declared();
    let zone = opened(&builtin).await;
    assert!(listed(&zone).await.is_empty());
    let before = serial(&builtin);
    apply(
        &zone,
        vec![vec![created("www.example.com 60 A 192.0.2.1")], vec![created("example.com 1 TXT \"x\"")]],
    )
    .await;
    assert_eq!(listed(&zone).await, ["example.com 1 TXT \"x\"", "www.example.com 60 A 192.0.2.1"]);
    assert_eq!(serial(&builtin), before.wrapping_add(1));
    let names = BTreeSet::from([name("www.example.com"), name("missing.example.com")]);
    let read = zone.read(&names).await.unwrap();
    assert_eq!(read.len(), 1);
    assert_eq!(read[0].0, name("www.example.com"));
}

#[tokio::test]
async fn an_update_keeps_the_id_and_a_delete_needs_it() {
    let builtin = declared();
    let zone = opened(&builtin).await;
    apply(&zone, vec![vec![created("www.example.com A 192.0.2.1")]]).await;
    let first = only(&zone).await;
    apply(&zone, vec![vec![updated(first.clone(), "www.example.com 60 A 192.0.2.2")]]).await;
    let second = only(&zone).await;
    assert_eq!(second.id, first.id);
    let before = serial(&builtin);
    let outcomes = apply(&zone, vec![vec![deleted("www.example.com", first)]]).await;
    assert!(matches!(&*outcomes, [Outcome::Refused(ProviderError::Stale { .. })]), "{outcomes:?}");
    assert_eq!(serial(&builtin), before, "nothing changed");
    apply(&zone, vec![vec![deleted("www.example.com", second)]]).await;
    assert!(listed(&zone).await.is_empty());
}

#[tokio::test]
async fn what_a_server_can_not_serve_is_refused_and_the_rest_goes_on() {
    let builtin = declared();
    let zone = opened(&builtin).await;
    let bad = [
        "www.example.test A 192.0.2.1",
        "example.com CNAME www.example.com",
        "example.com SOA ns.example.com hostmaster.example.com 1 2 3 4 5",
        "*.example.com NS ns.example.com",
        "x.example.com TYPE255 \\# 0",
        "www.example.com CNAME x.example.com",
    ];
    let mut changes = vec![vec![created("www.example.com A 192.0.2.1")]];
    changes.extend(bad.iter().map(|line| vec![created(line)]));
    changes.push(vec![created("mail.example.com A 192.0.2.2")]);
    let outcomes = apply(&zone, changes).await;
    assert!(matches!(outcomes.first(), Some(Outcome::Applied(_))));
    assert!(matches!(outcomes.last(), Some(Outcome::Applied(_))));
    for (outcome, line) in outcomes[1..].iter().zip(bad) {
        assert!(matches!(outcome, Outcome::Refused(ProviderError::Rejected { .. })), "{line}: {outcome:?}");
    }
    assert_eq!(listed(&zone).await.len(), 2);
}

#[tokio::test]
async fn a_change_is_applied_as_a_whole_or_not_at_all() {
    let builtin = declared();
    let zone = opened(&builtin).await;
    let half = vec![created("a.example.com A 192.0.2.1"), created("b.example.test A 192.0.2.1")];
    assert!(matches!(&*apply(&zone, vec![half]).await, [Outcome::Refused(_)]));
    assert!(listed(&zone).await.is_empty());
    apply(&zone, vec![vec![created("www.example.com A 192.0.2.1")]]).await;
    let retype = vec![updated(only(&zone).await, "www.example.com CNAME x.example.com")];
    assert!(matches!(&*apply(&zone, vec![retype]).await, [Outcome::Applied(_)]));
    assert_eq!(listed(&zone).await, ["www.example.com 300 CNAME x.example.com."]);
}

#[tokio::test]
async fn given_name_servers_replace_the_servers_own() {
    let builtin = declared();
    let zone = opened(&builtin).await;
    let served = || {
        let zone = builtin.service.zones.get(&name("example.com")).unwrap();
        let records = zone.state().tree().get("example.com").unwrap().clone();
        records
            .iter()
            .map(|record| format!("{:?}", record.rdata))
            .filter(|text| text.starts_with("NS"))
            .collect::<Vec<_>>()
    };
    apply(&zone, vec![vec![created("example.com NS ns1.example.test")]]).await;
    assert_eq!(served(), ["NS ns1.example.test."]);
    apply(&zone, vec![vec![deleted("example.com", only(&zone).await)]]).await;
    assert_eq!(served(), ["NS ns.example.com."]);
    let mut authority = Authority::default_for(&name("example.com"));
    authority.name_servers = vec![name("ns2.example.test")];
    let before = serial(&builtin);
    builtin.declare(name("example.com"), authority.clone());
    assert_eq!(served(), ["NS ns2.example.test."]);
    builtin.declare(name("example.com"), authority);
    assert_eq!(serial(&builtin), before.wrapping_add(1), "the same authority is no change");
}
