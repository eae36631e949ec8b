//! What is held, what is reverted, and what is left alone.

use zonekeeper::engine::{GuardMemory, Order, Pass, Waiting};
use zonekeeper_kernel::{
    guard::{Approval, HeldFor, Limits},
    plan::{Evidence, Operation, Scope},
    zone::{Drift, Policy},
};
use zonekeeper_tests::{
    stage::domain,
    wish::{Wish, desired, want},
};

use crate::ground::Ground;

pub async fn many_deletes_are_held_and_released_by_their_hash(ground: &mut Ground) {
    guarded(ground, 20).await;
    let mut wishes = hosts(7..20);
    wishes.push(want("A", "new", ["192.0.2.9"]));
    let pass = ground.stage.sync(&wishes).await.expect("a pass");
    assert_eq!(pass.verdict.held.len(), 7, "35 % of 20");
    assert!(pass.verdict.held.iter().all(|held| held.why == HeldFor::TooManyDeletes { count: 7, of: 20 }));
    ground.holds("new", "A", ["192.0.2.9"]).await;
    ground.holds("host-0", "A", ["192.0.2.1"]).await;

    let hash = pass.verdict.hash;
    let wrong = ground
        .stage
        .sync_approved(&wishes, &Approval::Held("0123456789abcdef".into()))
        .await
        .expect("a pass");
    assert_eq!((wrong.applied.len(), wrong.verdict.held.len()), (0, 7));
    assert_eq!(wrong.verdict.hash, hash, "the same changes have the same hash");
    // What came within the window may go within it, and would not count.
    let fewer = [hosts(8..20), vec![want("A", "new", ["192.0.2.9"])]].concat();
    let other = ground.stage.sync_approved(&fewer, &Approval::Held(hash.clone())).await.expect("a pass");
    assert_eq!(other.applied.len(), 0, "a hash releases the changes it stands for and no others");
    let released = ground.stage.sync_approved(&wishes, &Approval::Held(hash)).await.expect("a pass");
    assert_eq!(released.applied.len(), 7);
    ground.holds("host-0", "A", []).await;
    ground.is_quiet(&wishes).await;
}

pub async fn few_deletes_pass_in_a_large_zone(ground: &mut Ground) {
    guarded(ground, 20).await;
    ground.settle(&hosts(6..20)).await;
    ground.holds("host-0", "A", []).await;
    ground.holds("host-6", "A", ["192.0.2.1"]).await;
}

pub async fn a_small_zone_may_lose_three_sets(ground: &mut Ground) {
    guarded(ground, 5).await;
    let pass = ground.stage.sync(&hosts(4..5)).await.expect("a pass");
    assert_eq!((pass.applied.len(), pass.verdict.held.len()), (0, 4));
    ground.settle(&hosts(3..5)).await;
    ground.stage.restart();
    // Three went within the window of that worker; a new window may lose three again.
    ground.settle(&[]).await;
    ground.is_empty().await;
}

pub async fn the_zones_own_ns_change_only_by_approval(ground: &mut Ground) {
    let ns = |server: &str| [want("NS", "@", ["ns1.example.net", server])];
    ground.settle(&ns("ns2.example.net")).await;
    ground.stage.limits = Some(Limits::default());
    ground.stage.restart();
    let changed = ground.stage.sync(&ns("ns3.example.net")).await.expect("a pass");
    assert_eq!(held(&changed), [HeldFor::ApexAuthority]);
    let removed = ground.stage.sync(&[]).await.expect("a pass");
    assert_eq!(held(&removed), [HeldFor::ApexAuthority]);
    ground.holds("@", "NS", ["ns1.example.net", "ns2.example.net"]).await;
    let approval = Approval::Held(changed.verdict.hash);
    ground.stage.sync_approved(&ns("ns3.example.net"), &approval).await.expect("a pass");
    ground.holds("@", "NS", ["ns1.example.net", "ns3.example.net"]).await;
}

pub async fn an_outside_change_is_reverted(ground: &mut Ground) {
    let wishes =
        [want("CNAME", "www", ["target.example.net"]).ttl(300), want("A", "api", ["192.0.2.1"]).ttl(300)];
    ground.stage.sync(&wishes).await.expect("a pass");
    let before = ground.stage.listing().await;
    ground.stage.alter("www", "CNAME", |record| record.rdata = rdata("CNAME", "changed.example.net")).await;
    ground.stage.alter("api", "A", |record| record.ttl.0 = 900).await;
    ground.stage.worker.forget();
    let pass = ground.settle(&wishes).await;
    assert_eq!(pass.applied.len(), 2);
    assert_eq!(ground.stage.listing().await, before);
}

pub async fn an_outside_delete_is_reverted(ground: &mut Ground) {
    let wishes = [want("A", "www", ["192.0.2.1"]).ttl(300), want("A", "api", ["192.0.2.1"]).ttl(300)];
    ground.stage.sync(&wishes).await.expect("a pass");
    let before = ground.stage.records().await;
    ground.stage.drop_record("www", "A").await;
    ground.stage.worker.forget();
    ground.settle(&wishes).await;
    assert_eq!(ground.stage.records().await, before);
    ground.clear().await;
}

pub async fn drift_is_only_reported_where_the_zone_says_so(ground: &mut Ground) {
    ground.stage.rules.drift = Drift::Report;
    ground.stage.restart();
    let wishes = [want("A", "www", ["192.0.2.1"]).ttl(300)];
    ground.stage.sync(&wishes).await.expect("a pass");
    ground.stage.alter("www", "A", |record| record.rdata = rdata("A", "192.0.2.66")).await;
    ground.stage.worker.forget();
    let pass = ground.stage.sync(&wishes).await.expect("a pass");
    assert_eq!((pass.applied.len(), pass.plan.drift.len()), (0, 1));
    ground.holds("www", "A", ["192.0.2.66"]).await;
    // A new wish is no drift.
    ground.stage.sync(&[want("A", "www", ["192.0.2.2"]).ttl(300)]).await.expect("a pass");
    ground.holds("www", "A", ["192.0.2.2"]).await;
}

pub async fn a_policy_limits_what_is_done(ground: &mut Ground) {
    let (old, new) = (hosts(0..3), [want("A", "host-1", ["192.0.2.2"]), want("A", "host-9", ["192.0.2.1"])]);
    ground.settle(&old).await;
    let mut expect = async |policy: Policy, operations: &[Operation]| {
        ground.stage.rules.policy = policy;
        ground.stage.restart();
        let pass = ground.stage.sync(&new).await.expect("a pass");
        let done: Vec<Operation> = pass.applied.iter().map(|change| change.operation).collect();
        assert_eq!(done, operations, "{policy:?}");
    };
    expect(Policy::Observe, &[]).await;
    expect(Policy::CreateOnly, &[Operation::Create]).await;
    expect(Policy::UpsertOnly, &[Operation::Update]).await;
    expect(Policy::Sync, &[Operation::Delete, Operation::Delete]).await;
    ground.clear().await;
}

pub async fn without_evidence_nothing_is_deleted(ground: &mut Ground) {
    let limits = Some(Limits::default());
    ground.settle(&hosts(0..3)).await;
    ground.stage.limits = limits;
    ground.stage.restart();
    let before = ground.stage.listing().await;
    let worker = &mut ground.stage.worker;
    let wishes = desired(&domain(), worker.capabilities(), &hosts(0..1));
    let pass = worker
        .pass(&Order {
            desired: &wishes,
            evidence: &Evidence::seen([]),
            scope: Scope::Zone,
            approval: &Approval::None,
            waiting: Waiting::Never,
            progress: &|_| {},
            deletes: zonekeeper::engine::Deletes::Complete,
            memory: GuardMemory::Run,
        })
        .await
        .expect("a pass");
    assert_eq!((pass.applied.len(), pass.plan.orphans.len()), (0, 2));
    assert_eq!(held(&pass), [HeldFor::Orphaned, HeldFor::Orphaned]);
    assert_eq!(ground.stage.listing().await, before);
}

/// A settled zone of so many sets, and a fresh worker with the default limits.
async fn guarded(ground: &mut Ground, sets: usize) {
    ground.settle(&hosts(0..sets)).await;
    ground.stage.limits = Some(Limits::default());
    ground.stage.restart();
}

fn hosts(range: std::ops::Range<usize>) -> Vec<Wish> {
    range.map(|i| want("A", &format!("host-{i}"), ["192.0.2.1"])).collect()
}

fn held(pass: &Pass) -> Vec<HeldFor> {
    pass.verdict.held.iter().map(|held| held.why).collect()
}

fn rdata(rtype: &str, value: &str) -> zonekeeper_kernel::rdata::Rdata {
    let rtype = rtype.parse().expect("a test's type");
    zonekeeper_kernel::rdata::Rdata::parse(rtype, value).expect("a test's value")
}
