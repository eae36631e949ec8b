//! Where a rung stands: a place, what it lacks, and the laws that hold after every step.

use std::collections::BTreeSet;

use cloudflare_sim::{Knobs, Plan, knobs, knobs::RecordQuota};
use dns_servers::Software;
use serde_json::json;
use zonekeeper::engine::Pass;
use zonekeeper_kernel::{
    capability::{Capabilities, Types},
    name::Name,
    rdata::{Rdata, RecordType},
    record::LiveRecord,
};
use zonekeeper_providers::{builtin::Builtin, cloudflare};
use zonekeeper_tests::{
    stage::{AtCloudflare, AtServer, Marks, Stage, domain},
    wish::{Wish, place},
};

/// A provider and how it is configured.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub host: Host,
    pub marks: Marks,
}

/// Who serves the zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    MemoryStandard,
    MemoryCloudflare,
    Builtin,
    Cloudflare(Plan),
    /// The same on the Enterprise plan, with what nobody has verified the other way round.
    CloudflareInDoubt,
    /// A DNS server that takes updates.
    Server(Software),
}

/// What a rung may ask of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Attributes,
    UnknownTypes,
    Markers,
    CommentMarkers,
    TxtMarkers,
    /// The zone's own name servers are nobody's yet.
    BareApex,
}

/// A place that stands, with its zone.
pub struct Ground {
    pub place: Place,
    pub stage: Stage,
    at: Option<AtCloudflare>,
    _builtin: Option<Builtin>,
    _server: Option<AtServer>,
    /// What is there before anybody wishes for anything.
    untouched: Vec<(Name, LiveRecord)>,
}

/// Runs a rung, unless the place declares that it lacks what the rung needs.
pub async fn climb(at: Place, needs: &[Need], rung: impl AsyncFnOnce(&mut Ground)) {
    let mut ground = Ground::at(at).await;
    if ground.lacks(needs).is_none() {
        rung(&mut ground).await;
    }
}

impl Ground {
    pub async fn at(place: Place) -> Self {
        let memory = async |capabilities| Stage::memory(place.marks, capabilities).await;
        match place.host {
            Host::MemoryStandard => Self::of(place, memory(Capabilities::standard()).await),
            Host::MemoryCloudflare => Self::of(place, memory(cloudflare::capabilities(60, 100)).await),
            Host::Builtin => {
                let (server, stage) = Stage::builtin().await;
                Self { _builtin: Some(server), ..Self::of(place, stage) }
            }
            Host::Cloudflare(_) | Host::CloudflareInDoubt => {
                let (plan, knobs) = match place.host {
                    Host::Cloudflare(plan) => (plan, Knobs::default()),
                    _in_doubt => (Plan::Enterprise, doubts()),
                };
                let at = AtCloudflare::start(plan).await;
                at.sim.knobs(Knobs { record_quota: RecordQuota::Off, ..knobs });
                let stage = at.stage(place.marks).await;
                Self { at: Some(at), ..Self::of(place, stage) }
            }
            Host::Server(software) => {
                // The examples of MX records point to hosts in this zone that no rung declares.
                let at = AtServer::with(software, |setup| setup.options = "check-integrity no;".into());
                let stage = at.stage(place.marks).await;
                let untouched = stage.listing().await;
                Self { _server: Some(at), untouched, ..Self::of(place, stage) }
            }
        }
    }

    fn of(place: Place, stage: Stage) -> Self {
        Self { place, stage, at: None, _builtin: None, _server: None, untouched: Vec::new() }
    }

    /// The first need that the place declares not to meet.
    pub fn lacks(&self, needs: &[Need]) -> Option<Need> {
        let capabilities = &self.stage.access.traits().capabilities;
        let is_met = |need: &Need| match need {
            Need::Attributes => !capabilities.attributes.attributes.is_empty(),
            // PowerDNS 4.7 answers FORMERR to an update with one (2026-11).
            Need::UnknownTypes => {
                capabilities.types == Types::Every && self.place.host != Host::Server(Software::PowerDns)
            }
            Need::Markers => self.place.marks != Marks::None,
            Need::CommentMarkers => self.place.marks == Marks::Comment,
            Need::TxtMarkers => self.place.marks == Marks::Txt,
            Need::BareApex => self.untouched.is_empty(),
        };
        needs.iter().find(|need| !is_met(need)).copied()
    }

    /// Makes the zone what is wished for: all of it is done, and nothing is left to do (law 1).
    pub async fn settle(&mut self, wishes: &[Wish]) -> Pass {
        let pass = self.stage.sync(wishes).await.expect("a pass");
        assert!(pass.failed.is_empty(), "{:?}", pass.failed);
        assert!(pass.plan.rejections.is_empty(), "{:?}", pass.plan.rejections);
        assert!(pass.verdict.held.is_empty(), "{:?}", pass.verdict.held);
        self.is_quiet(wishes).await;
        pass
    }

    /// A drift scan, and then a fresh process, find nothing to write.
    pub async fn is_quiet(&mut self, wishes: &[Wish]) {
        let (before, writes) = (self.stage.listing().await, self.writes());
        self.stage.worker.forget();
        for worker in ["the same worker", "a fresh worker"] {
            let pass = self.stage.sync(wishes).await.expect("a second pass");
            assert!(pass.applied.is_empty(), "{worker} writes again: {:#?}", pass.applied);
            assert!(pass.failed.is_empty(), "{worker}: {:?}", pass.failed);
            self.stage.restart();
        }
        assert_eq!(self.stage.listing().await, before);
        assert_eq!(self.writes(), writes);
    }

    /// One pass after which the zone is as it was, ids included; what was refused, as people read it.
    pub async fn refuses(&mut self, wishes: &[Wish]) -> String {
        let before = self.stage.listing().await;
        self.stage.worker.forget();
        let pass = self.stage.sync(wishes).await.expect("a pass");
        assert!(pass.applied.is_empty() && pass.failed.is_empty(), "{pass:#?}");
        assert!(!pass.plan.rejections.is_empty(), "something is refused");
        assert_eq!(self.stage.listing().await, before);
        let reasons = pass
            .plan
            .rejections
            .iter()
            .map(|rejection| format!("{}: {}", rejection.reason, rejection.message));
        reasons.collect::<Vec<_>>().join("\n")
    }

    /// The set holds these values and no others, whatever their spelling.
    pub async fn holds<const N: usize>(&self, name: &str, rtype: &str, values: [&str; N]) {
        let of_type: RecordType = rtype.parse().expect("a test's type");
        let expected: BTreeSet<Rdata> =
            values.iter().map(|value| Rdata::parse(of_type, value).expect("a test's value")).collect();
        let found: Vec<LiveRecord> = self.set(name, of_type).await;
        let values: BTreeSet<Rdata> = found.iter().map(|record| record.rdata.clone()).collect();
        assert_eq!(values, expected, "{name} {rtype}");
        assert_eq!(found.len(), expected.len(), "{name} {rtype} has each value once");
    }

    /// Whether a changed value is the same record as before; a DNS server has no identifiers that would tell.
    pub fn has_identities(&self) -> bool {
        !matches!(self.place.host, Host::Server(_))
    }

    /// The records of one set.
    pub async fn set(&self, name: &str, rtype: RecordType) -> Vec<LiveRecord> {
        let name = place(name, &domain());
        let records: Vec<(Name, LiveRecord)> = self.stage.listing().await;
        records
            .into_iter()
            .filter(|(at, record)| *at == name && record.rdata.rtype() == rtype)
            .map(|(_, record)| record)
            .collect()
    }

    /// Nothing at all is left but what was there before, markers included.
    pub async fn is_empty(&self) {
        assert_eq!(self.stage.listing().await, self.untouched);
    }

    /// Wishes for nothing, and nothing is left.
    pub async fn clear(&mut self) {
        self.settle(&[]).await;
        self.is_empty().await;
    }

    /// Cloudflare takes DNSKEY records only with multi-signer DNSSEC.
    pub async fn allow_dnskey(&self) {
        let Some(at) = &self.at else { return };
        let url = format!("{}/zones/{}/dnssec", at.sim.base_url(), at.zone);
        let patch = zonekeeper_tests::web::client().patch(url).bearer_auth(&at.token);
        let answer = patch.json(&json!({"dnssec_multi_signer": true})).send().await.expect("an answer");
        assert!(answer.status().is_success());
    }

    fn writes(&self) -> usize {
        self.at.as_ref().map_or(0, |at| at.sim.writes())
    }
}

/// The second setting of every knob that a client could notice and still do its work.
fn doubts() -> Knobs {
    Knobs {
        empty_list_pages: knobs::EmptyListPages::One,
        settings_shown: knobs::SettingsShown::ProxiableOnly,
        hostname_case: knobs::HostnameCase::Keep,
        unquoted_txt: knobs::UnquotedTxt::Quoted,
        long_unquoted_txt: knobs::LongUnquotedTxt::Chunked,
        txt_beside_ns: knobs::TxtBesideNs::Accept,
        zone_page_size: knobs::ZonePageSize::Refuse,
        record_page_max: knobs::RecordPageMax::Documented,
        missing_record: knobs::MissingRecord::BadRequest,
        zone_names: knobs::ZoneNames::Unicode,
        srv_service_fields: knobs::SrvServiceFields::Refuse,
        typed_content: knobs::TypedContent::Parse,
        ds_without_ns: knobs::DsWithoutNs::Accept,
        uri_content: knobs::UriContent::Bare,
        identical_record: knobs::IdenticalRecord::Code81057,
        name_outside_zone: knobs::NameOutsideZone::Refuse,
        identical_patch: knobs::IdenticalPatch::Stays,
        empty_batch: knobs::EmptyBatch::Refuse,
        oversized_batch: knobs::OversizedBatch::TooLarge,
        validation_shape: knobs::ValidationShape::Chained,
        ..Knobs::default()
    }
}
