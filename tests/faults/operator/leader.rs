//! Three replicas: one leads, and who has lost the lease sends nothing more.

use std::time::{Duration, Instant};

use cloudflare_sim::{Action, Fault, Match, Scope, Which};
use control_plane::{User, eventually};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;

use crate::support::{
    Lab,
    lab::DEADLINE,
    operator::{Operator, log_of},
};

const REPLICAS: usize = 3;

struct Replicas<'a> {
    lab: &'a Lab<'static>,
    running: Vec<Operator>,
}

impl<'a> Replicas<'a> {
    fn start(lab: &'a Lab<'static>, lease: &str) -> Self {
        let kubeconfig = lab.plane().kubeconfig(&User::zonekeeper()).expect("a kubeconfig");
        let arguments = ["--namespace", lab.home.name(), "--controller-name", &lab.controller()];
        let election = ["--leader-elect", "--lease-duration", lease];
        let arguments: Vec<String> = arguments.iter().chain(&election).map(ToString::to_string).collect();
        let log = |number: usize| log_of(&format!("{}-replica-{number}", lab.home.name()));
        let start = |number| Operator::start(&kubeconfig, &arguments, "zonekeeper=debug,info", &log(number));
        Self { lab, running: (0..REPLICAS).map(start).collect() }
    }

    async fn holder(&self) -> Option<String> {
        let leases: Api<Lease> = Api::namespaced(self.lab.home.client(), self.lab.home.name());
        let name = format!("zonekeeper-{}", self.lab.controller().replace('/', "-"));
        let lease = leases.get_opt(&name).await.expect("the API server answers")?;
        lease.spec?.holder_identity.filter(|holder| !holder.is_empty())
    }

    /// Waits until one of those that run leads, and takes it from the others.
    async fn take_leader(&mut self) -> Operator {
        let running: Vec<String> = self.running.iter().map(identity).collect();
        let at = eventually("a leader", DEADLINE, async || {
            let holder = self.holder().await;
            running.iter().position(|identity| holder.as_ref() == Some(identity)).ok_or(holder)
        })
        .await;
        self.running.remove(at)
    }
}

fn identity(operator: &Operator) -> String {
    format!("zonekeeper-{}", operator.id())
}

fn hold_first_write() -> Fault {
    Fault::new(Match { scope: Scope::Writes, which: Which::Nth(1), ..Match::default() }, Action::Hold)
}

#[tokio::test]
async fn a_leader_that_was_stopped_for_longer_than_its_lease_sends_nothing_more() {
    let lab = Lab::ready_to_run("stopped").await;
    let mut replicas = Replicas::start(&lab, "3s");
    let names: Vec<String> = (0..20).map(|number| format!("n{number:02}")).collect();
    let mut leader = replicas.take_leader().await;
    for name in &names {
        lab.apply(&lab.a(name, "192.0.2.1")).await;
    }
    for name in &names {
        lab.wait_ready("RecordSet", name).await;
    }
    lab.wait_ready("DNSZone", "zone").await;

    // The leader's next write is on its way when the leader stops.
    lab.sim.faults(vec![hold_first_write()]);
    for name in &names {
        lab.apply(&lab.a(name, "192.0.2.2")).await;
    }
    eventually("a write on its way", DEADLINE, async || if lab.sim.held() == 1 { Ok(()) } else { Err(()) })
        .await;
    leader.signal("STOP");
    let stopped = Instant::now();
    // Another leads within lease and request timeout, which is no longer than the lease.
    let second = replicas.take_leader().await;
    let failover = stopped.elapsed();
    assert!(failover < Duration::from_secs(9), "{failover:?}");
    for name in &names {
        lab.wait_ready("RecordSet", name).await;
    }
    // And goes on with what is wished now.
    for name in &names {
        lab.ready(&lab.a(name, "192.0.2.3")).await;
    }
    lab.ready(&lab.a("new", "192.0.2.3")).await;
    let end = lab.contents();
    assert_eq!(end.len(), names.len() + 1);
    assert!(end.iter().all(|line| line.ends_with("192.0.2.3")), "{end:?}");

    // The write that was on its way lands late; the old leader finds that it leads no more, and ends.
    let mark = lab.mark();
    lab.sim.release();
    eventually("the late write", DEADLINE, async || {
        let landed = lab.sim.journal_since(mark).iter().any(|entry| entry.method != "GET");
        if landed { Ok(()) } else { Err(()) }
    })
    .await;
    assert_ne!(lab.contents(), end, "it did land");
    leader.signal("CONT");
    let ended = leader.ended().await;
    assert_eq!(ended.code(), Some(1), "a lost lease is an error: it is started again, and stands by");
    let writes = lab.sim.journal_since(mark).iter().filter(|entry| entry.method != "GET").count();
    assert_eq!(writes, 1, "only what was on its way: {:?}", lab.changes_since(mark));
    // The next scan repairs what it did.
    lab.scan().await;
    assert_eq!(lab.contents(), end);
    let mark = lab.mark();
    lab.scan().await;
    lab.scan().await;
    assert_eq!(lab.changes_since(mark), [""; 0]);
    drop(second);
}

#[tokio::test]
async fn a_leader_that_ends_gives_its_lease_back_at_once() {
    let lab = Lab::ready_to_run("polite").await;
    // So long that nobody waits for its end.
    let mut replicas = Replicas::start(&lab, "120s");
    let mut leader = replicas.take_leader().await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    leader.signal("TERM");
    let told = Instant::now();
    assert_eq!(leader.ended().await.code(), Some(0));
    let second = replicas.take_leader().await;
    let failover = told.elapsed();
    assert!(
        failover < Duration::from_secs(4),
        "within a second, on a busy machine a little more: {failover:?}"
    );
    lab.ready(&lab.a("www", "192.0.2.2")).await;
    assert_eq!(lab.contents(), ["www A 192.0.2.2"]);
    // One that only waits ends at once too.
    let mut waiting = replicas.running.pop().expect("the third");
    waiting.signal("TERM");
    assert_eq!(waiting.ended().await.code(), Some(0));
    lab.ready(&lab.a("www", "192.0.2.3")).await;
    drop(second);
}
