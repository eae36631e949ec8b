//! A lab whose zone is on a server of its own.

use std::ops::Deref;

use control_plane::{ControlPlane, eventually};
use dns_servers::{DnsServer, Key, Setup, Software};
use serde_json::json;
use zonekeeper_tests::dns::{self, Relay};

use crate::support::{Lab, Manifest, lab::DEADLINE, plane};

/// named, what lies between it and us, and a lab. Its provider is called like the lab's namespace, its Secret `bind9`,
/// its zone `zone`.
pub struct Site<'a> {
    pub server: DnsServer,
    pub relay: Relay,
    lab: Lab<'a>,
}

impl<'a> Deref for Site<'a> {
    type Target = Lab<'a>;

    fn deref(&self) -> &Self::Target {
        &self.lab
    }
}

impl Site<'static> {
    /// Secret, provider and zone are there, and the operator runs.
    pub async fn new(name: &str) -> Self {
        let site = Self::ready_to_run(name).await;
        site.run();
        site
    }

    /// The same with a zone that is read every second.
    pub async fn scanning(name: &str) -> Self {
        let site = Self::ready_to_run(name).await;
        site.apply(&site.dns_zone().with("interval", "1s")).await;
        site.run();
        site
    }

    /// Secret, provider and zone are there; the operator does not run yet.
    pub async fn ready_to_run(name: &str) -> Self {
        Self::with(name, |_| {}).await
    }

    /// The same on a server that is set up a little differently.
    pub async fn with(name: &str, change: impl FnOnce(&mut Setup)) -> Self {
        Site::with_on(plane::shared().await, name, change).await
    }
}

impl<'a> Site<'a> {
    /// The same on a control plane of your own, where nobody else's operator writes.
    pub async fn with_on(plane: &'a ControlPlane, name: &str, change: impl FnOnce(&mut Setup)) -> Self {
        let lab = Lab::bare_on(plane, name).await;
        let mut setup = Setup::new(Software::Bind, &lab.domain);
        change(&mut setup);
        let server = DnsServer::start(setup).expect("the server starts");
        let relay = Relay::start(server.address()).await;
        let site = Self { server, relay, lab };
        site.put_key(site.server.key()).await;
        site.apply(&site.provider()).await;
        site.apply(&site.dns_zone()).await;
        site
    }

    /// A provider that reaches the server through the relay.
    pub fn provider(&self) -> Manifest {
        let servers = json!({
            "servers": [self.relay.address],
            "tsigSecretRef": {"name": "bind9", "namespace": self.home.name()},
        });
        let spec = json!({"rfc2136": servers, "controllerName": self.controller()});
        let metadata = json!({"name": self.home.name()});
        Manifest(json!({
            "apiVersion": "zonekeeper.dev/v1alpha1", "kind": "DNSProvider", "metadata": metadata, "spec": spec,
        }))
    }

    /// Makes this the provider's key.
    pub async fn put_key(&self, key: &Key) {
        let data = [("name", &*key.name), ("algorithm", &*key.algorithm), ("secret", &*key.secret)];
        self.put_secret("bind9", &data).await;
    }

    /// What the server answers for a name under the zone.
    pub fn served(&self, name: &str, rtype: &str) -> Vec<String> {
        dns::served(&self.server, &self.at(name), rtype)
    }

    /// Waits for an answer.
    pub async fn wait_served(&self, name: &str, rtype: &str, expected: &[&str]) {
        eventually(&format!("{name} {rtype} {expected:?}"), DEADLINE, async || {
            let found = self.served(name, rtype);
            if found == expected { Ok(()) } else { Err(found) }
        })
        .await;
    }

    /// Changes the zone with nsupdate; `ZONE` stands for the zone's domain.
    pub fn by_hand(&self, lines: &str) {
        dns::by_hand(&self.server, &self.domain, &lines.replace("ZONE", &self.domain));
    }

    pub fn serial(&self) -> u32 {
        dns::serial(&self.server, &self.domain)
    }

    /// Waits until somebody is told so in an Event: the reason, and a word of the note.
    pub async fn told(&self, kind: &str, name: &str, reason: &str, word: &str) {
        eventually(&format!("{kind} {name}: {reason} with {word}"), DEADLINE, async || {
            let events = self.events(kind, name).await;
            let is_it = events.iter().any(|event| event.reason == reason && event.note.contains(word));
            if is_it { Ok(()) } else { Err(events) }
        })
        .await;
    }
}
