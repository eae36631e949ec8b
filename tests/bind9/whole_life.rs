//! A zone's whole life: created, delegated, activated, signed, kept as it is wanted, moved to another provider while
//! resolvers ask, and given back.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use cloudflare_sim::Sim;
use control_plane::eventually;
use dns_servers::{DnsServer, Setup, Software};
use domain::base::{Message, MessageBuilder, Name, ParsedName, Rtype, iana::Rcode};
use domain::rdata::Ns;
use serde_json::{Value, json};
use tokio::{net::UdpSocket, task::JoinHandle, time};
use zonekeeper_api::wellknown::APPROVE_PLAN;
use zonekeeper_tests::dns::{
    self,
    above::{Front, addresses, served_at},
};

use crate::{
    site::Site,
    support::{condition, lab::DEADLINE, records},
};

/// How long a delegation holds, for resolvers, too.
const TTL: Duration = Duration::from_secs(2);
/// How often the resolver is asked.
const EVERY: Duration = Duration::from_millis(20);

/// A resolver as there are many: it keeps a delegation for its TTL, and asks one of its servers after the other.
struct Resolver {
    /// The server of the parent zone.
    above: SocketAddr,
    /// The server that `ns1` of the zone is.
    below: SocketAddr,
    /// What Cloudflare's servers answer from.
    cloudflare: Sim,
    zone: String,
    name: String,
}

#[derive(Default)]
struct Seen {
    good: usize,
    /// Questions that no server answered.
    none: usize,
    wrong: Vec<String>,
}

struct Asking {
    is_over: Arc<AtomicBool>,
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

// === impl Resolver ===

impl Resolver {
    fn start(self) -> Asking {
        let (is_over, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Seen::default())));
        let task = tokio::spawn(self.keep_asking(is_over.clone(), seen.clone()));
        Asking { is_over, seen, task }
    }

    async fn keep_asking(self, is_over: Arc<AtomicBool>, seen: Arc<Mutex<Seen>>) {
        let mut ticks = time::interval(EVERY);
        let mut delegation: (Option<Instant>, Vec<String>) = (None, Vec::new());
        for turn in 0_usize.. {
            ticks.tick().await;
            if is_over.load(Ordering::SeqCst) {
                return;
            }
            if delegation.0.is_none_or(|asked| asked.elapsed() > TTL)
                && let Some(servers) = self.delegation().await.filter(|servers| !servers.is_empty())
            {
                delegation = (Some(Instant::now()), servers);
            }
            let Some(server) = delegation.1.get(turn % delegation.1.len().max(1)) else {
                seen.lock().expect("no panic").none += 1;
                continue;
            };
            let answer = self.answer(server).await;
            let mut seen = seen.lock().expect("no panic");
            match answer {
                Some(true) => seen.good += 1,
                Some(false) => seen.wrong.push(format!("{server} has no address of {}", self.name)),
                None => seen.none += 1,
            }
        }
    }

    /// The name servers that the parent's server names.
    async fn delegation(&self) -> Option<Vec<String>> {
        let said = ask(self.above, &self.zone, Rtype::NS).await?;
        let sections = [said.answer().ok()?, said.authority().ok()?];
        let mut servers = Vec::new();
        for section in sections {
            for record in section.limit_to::<Ns<ParsedName<_>>>().flatten() {
                servers.push(record.data().nsdname().to_string().to_lowercase());
            }
        }
        servers.sort();
        servers.dedup();
        Some(servers)
    }

    /// Whether a server has the address; none if it does not answer.
    async fn answer(&self, server: &str) -> Option<bool> {
        if server.ends_with(&self.zone) {
            let said = ask(self.below, &self.name, Rtype::A).await?;
            return match said.header().rcode() {
                Rcode::NOERROR => Some(said.header_counts().ancount() > 0),
                Rcode::NXDOMAIN => Some(false),
                _other => None,
            };
        }
        // Cloudflare's servers answer what its API shows.
        let (_, id) = self.cloudflare.zones().into_iter().find(|(name, _)| *name == self.zone)?;
        let has = |record: &Value| record["type"] == "A" && record["name"] == self.name.as_str();
        Some(self.cloudflare.records(&id).iter().any(has))
    }
}

// === impl Asking ===

impl Asking {
    async fn end(self) -> Seen {
        self.is_over.store(true, Ordering::SeqCst);
        self.task.await.expect("it does not fail");
        std::mem::take(&mut *self.seen.lock().expect("no panic"))
    }
}

async fn ask(server: SocketAddr, name: &str, rtype: Rtype) -> Option<Message<Vec<u8>>> {
    let exchange = async {
        let name: Name<Vec<u8>> = name.parse().ok()?;
        let mut question = MessageBuilder::new_vec().question();
        question.header_mut().set_random_id();
        question.push((name, rtype)).ok()?;
        let socket = UdpSocket::bind("127.0.0.1:0").await.ok()?;
        socket.connect(server).await.ok()?;
        socket.send(&question.finish()).await.ok()?;
        let mut buffer = vec![0; 4_096];
        let length = socket.recv(&mut buffer).await.ok()?;
        buffer.truncate(length);
        Message::from_octets(buffer).ok()
    };
    time::timeout(Duration::from_millis(500), exchange).await.ok().flatten()
}

fn at_53(address: &str) -> SocketAddr {
    SocketAddr::new(address.parse().expect("an address"), 53)
}

/// Resolvers forget a delegation only in its time.
async fn until_forgotten() {
    time::sleep(2 * TTL).await;
}

/// Releases what is held in a zone.
async fn approve(site: &Site<'_>, zone: &str) {
    let is_held = |zone: &Value| condition(zone, "Ready").message.contains(APPROVE_PLAN);
    let held = site.wait("DNSZone", zone, "a hash", is_held).await;
    let hash = held["status"]["plan"]["hash"].as_str().expect("a hash").to_owned();
    site.annotate("DNSZone", zone, APPROVE_PLAN, &hash).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_lives_moves_and_is_given_back_while_resolvers_ask() {
    let Some((above, below)) = addresses() else { return };
    let site = Site::with("whole-life", |setup| setup.zone = served_at(&setup.domain, &above)).await;
    let _front = Front::start(&above, &site.server);
    site.apply(&site.dns_zone().with("defaults", json!({"ttl": TTL.as_secs()})).with("interval", "1s")).await;
    site.run_with(&["--resolver", &site.server.address()]);
    let child = site.at("child");

    // Created at Cloudflare, delegated in its parent, activated.
    site.put_secret("cloudflare", &[("apiToken", &site.token)]).await;
    let cloudflare = format!("{}-cloudflare", site.home.name());
    let provider = std::ops::Deref::deref(&site).provider().named(&cloudflare);
    site.apply(&provider.with("cloudflare.accountID", json!(site.sim.account()))).await;
    let zone = |dnssec: &str, is_delegated: bool| {
        site.zone_of(&child)
            .named("child")
            .with("providerRef", json!({"name": cloudflare}))
            .with("interval", "1s")
            .with("lifecycle", json!({"create": true, "deletionPolicy": "Delete"}))
            .with("delegation", json!({"manage": is_delegated}))
            .with("dnssec", json!({"mode": dnssec}))
            .with("cloudflare", json!({"settings": {"ssl": "strict"}}))
    };
    site.apply(&zone("Unmanaged", true)).await;
    let www = format!("www.{child}");
    site.apply(&records(&www, "A", &["192.0.2.1"]).named("www")).await;
    site.apply(&records(&format!("ns1.{child}"), "A", &[&below]).named("ns1")).await;
    site.wait_ready("RecordSet", "www").await;
    site.wait_reason("DNSZone", "child", "ZonePending").await;
    site.wait_ready("RecordSet", "child-ns").await;
    assert_eq!(dns::answers(site.server.port(), &child, "NS"), [""; 0], "a referral is no answer");
    let id = site.sim.zones().into_iter().find(|(name, _)| *name == child).expect("it was created").1;
    site.sim.delegate(&id, "active");
    site.wait_ready("DNSZone", "child").await;

    let resolver = Resolver {
        above: at_53(&above),
        below: at_53(&below),
        cloudflare: site.sim.clone(),
        zone: child.clone(),
        name: www.clone(),
    };
    let asking = resolver.start();

    // Signed, with the DS record in the parent.
    site.apply(&zone("On", true)).await;
    site.wait_ready("RecordSet", "child-ds").await;
    site.sim.complete_dnssec(&id);
    site.wait_condition("DNSZone", "child", "Signed", "True", "Programmed").await;

    // A setting that is changed in the dashboard comes back.
    site.sim.set(&id, "ssl", json!("off"));
    let is_reverted = |zone: &Value| {
        let newest = &zone["status"]["history"][0];
        newest["field"] == "settings.ssl" && newest["cause"] == "Drift"
    };
    site.wait("DNSZone", "child", "what was reverted", is_reverted).await;

    // Unsigned before it moves: the new servers have other keys.
    site.apply(&zone("Off", true)).await;
    site.wait_gone("RecordSet", "child-ds").await;
    let is_off = |zone: &Value| zone["status"]["dnssec"]["state"] == "disabled";
    site.wait("DNSZone", "child", "no signatures", is_off).await;

    // Both hosts have it, and then the parent names both.
    let mut setup = Setup::new(Software::Bind, &child);
    setup.zone = served_at(&child, &below);
    let server = DnsServer::start(setup).expect("the server starts");
    let _below_front = Front::start(&below, &server);
    let bind = format!("{}-bind", site.home.name());
    let servers = site.provider().named(&bind).with("rfc2136.servers", json!([server.address()]));
    site.apply(&servers).await;
    site.apply(&zone("Off", true).with("selection", "All")).await;
    let moved = |is_delegated: bool| {
        site.zone_of(&child)
            .named("child-bind")
            .with("providerRef", json!({"name": bind}))
            .with("interval", "1s")
            .with("selection", "All")
            .with("delegation", json!({"manage": is_delegated}))
    };
    site.apply(&moved(false)).await;
    eventually("both have it", DEADLINE, async || {
        let found = dns::answers(server.port(), &www, "A");
        if found == ["192.0.2.1"] { Ok(()) } else { Err(found) }
    })
    .await;
    site.apply(&moved(true)).await;
    site.wait_ready("RecordSet", "child-bind-ns").await;
    let names_both =
        |zone: &Value| zone["status"]["delegation"]["nameServers"].as_array().map(Vec::len) == Some(3);
    site.wait("DNSZone", "child-bind", "both hosts in the parent", names_both).await;
    until_forgotten().await;

    // The parent names the new host alone; when resolvers have forgotten the old one, it loses its records.
    site.apply(&zone("Off", false).with("selection", "All")).await;
    site.wait_gone("RecordSet", "child-ns").await;
    until_forgotten().await;
    site.apply(&zone("Off", false).with("selection", "Explicit")).await;
    approve(&site, "child").await;
    eventually("the old host has no records", DEADLINE, async || {
        let left = site.sim.records(&id);
        if left.is_empty() { Ok(()) } else { Err(left) }
    })
    .await;

    // The zone is given back, by approval.
    site.delete("DNSZone", "child").await;
    let operation = |zone: &Value| zone["status"]["plan"]["changes"][0]["field"] == "zone";
    site.wait("DNSZone", "child", "the end of the zone in its plan", operation).await;
    approve(&site, "child").await;
    site.wait_gone("DNSZone", "child").await;
    assert!(site.sim.zones().iter().all(|(name, _)| *name != child), "it is gone");

    let seen = asking.end().await;
    println!("{} good answers, {} questions without one", seen.good, seen.none);
    assert_eq!(seen.wrong, [""; 0]);
    assert!(seen.good > 500 && seen.none < seen.good / 100, "{} good, {} none", seen.good, seen.none);
}
