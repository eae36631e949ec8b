//! A provider has its say before planning: what it makes of sets is what the zone holds, and then it is quiet.

use std::sync::Arc;

use zonekeeper::engine::{ZoneWorker, run_pass};
use zonekeeper_kernel::{
    attribute::Attributes,
    capability::Capabilities,
    desired::{Adoption, Desired, DesiredSet, Values, Wanted},
    guard::Approval,
    holder::Holder,
    name::Name,
    rdata::{Rdata, RecordType},
    resolve::{Intent, Origin, WantedName},
    zone::{NameLimits, Selection, Zone, ZoneKey},
};
use zonekeeper_model::pass::{PassRequest, PassResult, ZonePass};
use zonekeeper_providers::{Provider, memory::Memory};
use zonekeeper_tests::{
    stage::{Marks, Stage, domain},
    wish::{place, want},
};

/// Adds an address to each set of addresses, gives all a TTL of 60, takes no MX, and asks for a name of its own.
fn meddled(desired: &Desired) -> Desired {
    let extra = Rdata::parse(RecordType::A, "192.0.2.200").unwrap();
    let stranger = Holder::new("service", "elsewhere", "intruder");
    let changed = |set: &DesiredSet| {
        let Values::Known(values) = &set.values else { return set.clone() };
        let mut values = values.clone();
        if set.rtype == RecordType::A {
            values.insert(0, Wanted { rdata: extra.clone(), holder: stranger.clone() });
        }
        DesiredSet {
            values: Values::Known(values),
            ttl: zonekeeper_kernel::record::Ttl(60),
            attributes: Attributes::of("weight", "10"),
            holders: vec![stranger.clone()],
            ..set.clone()
        }
    };
    let kept = desired.iter().flat_map(|(name, sets)| sets.iter().map(move |set| (name.clone(), set)));
    let kept = kept.filter(|(_, set)| set.rtype != RecordType::MX);
    let mut made: Desired = kept.map(|(name, set)| (name, changed(set))).collect();
    if let Some((_, sets)) = desired.iter().next() {
        made.insert(place("uninvited", &domain()), changed(&sets[0]));
    }
    made
}

async fn stage() -> Stage {
    let memory = Memory::default();
    memory.add_adapting(domain(), Capabilities::standard(), meddled);
    Stage::new(memory.open(&domain(), None).await.unwrap(), Marks::Txt)
}

#[tokio::test]
async fn what_a_provider_makes_of_a_set_is_written_once() {
    let mut stage = stage().await;
    let wishes = [want("A", "www", ["192.0.2.1"]), want("TXT", "www", ["text"])];
    let first = stage.sync(&wishes).await.unwrap();
    assert!(!first.applied.is_empty());
    assert_eq!(stage.values("www", "A").await, ["192.0.2.1", "192.0.2.200"]);
    let is_data = |name: &Name| *name == place("www", &domain());
    let records = stage.records().await;
    let mut data = records.iter().filter(|record| is_data(&record.name));
    assert!(data.all(|record| record.ttl.0 == 60 && record.attributes.is_empty()), "{records:#?}");
    for _ in 0..2 {
        let quiet = stage.sync(&wishes).await.unwrap();
        assert!(quiet.applied.is_empty() && quiet.failed.is_empty(), "{:#?}", quiet.applied);
        stage.restart();
    }
    // What is asked for no more goes, the provider's own value with it.
    stage.sync(&[]).await.unwrap();
    assert!(stage.records().await.is_empty());
}

#[tokio::test]
async fn what_nobody_asked_for_is_not_written_whatever_the_provider_says() {
    let mut stage = stage().await;
    let pass = stage.sync(&[want("A", "www", ["192.0.2.1"])]).await.unwrap();
    assert!(stage.values("uninvited", "A").await.is_empty());
    let holders = pass.applied.iter().flat_map(|change| &change.holders);
    assert!(holders.into_iter().all(|holder| holder.namespace() == "default"));
}

#[tokio::test]
async fn a_set_that_the_provider_leaves_out_is_refused_and_what_is_there_stays() {
    let memory = Memory::default();
    let plain = memory.add(domain(), Capabilities::standard());
    let mx = [want("MX", "mail", ["10 mx.example.net"])];
    let mut before = Stage::new(plain.clone(), Marks::Txt);
    before.sync(&mx).await.unwrap();
    let adapting = memory.add_adapting(domain(), Capabilities::standard(), meddled);
    for record in before.records().await {
        adapting.seed(record.name.clone(), record.written(Default::default()));
    }
    let zone = memory.open(&domain(), None).await.unwrap();
    let mut worker = Stage::new(zone.clone(), Marks::Txt).worker;
    let mail = Arc::new(intent("mail", RecordType::MX, "10 mx.example.net"));
    let done = pass(&mut worker, mail).await;
    assert!(done.applied.is_empty(), "{:#?}", done.applied);
    assert_eq!(
        done.states[0].verdict.message,
        "the provider does not take mail.example.com MX; ask for another value"
    );
    assert_eq!(zone.list().await.unwrap().len(), 2);
}

#[tokio::test]
async fn the_operators_pass_asks_the_provider_and_tells_which_records_are_the_objects() {
    let mut worker = stage().await.worker;
    let www = Arc::new(intent("www", RecordType::A, "192.0.2.1"));
    let first = pass(&mut worker, www.clone()).await;
    assert_eq!(first.applied.len(), 1, "{:#?}", first.applied);
    let second = pass(&mut worker, www).await;
    assert!(second.applied.is_empty(), "{:#?}", second.applied);
    let values: Vec<&str> = second.states[0].records.iter().map(|record| &*record.value).collect();
    assert_eq!(values, ["192.0.2.1", "192.0.2.200"]);
}

async fn pass(worker: &mut ZoneWorker, intent: Arc<Intent>) -> Box<ZonePass> {
    let WantedName::Absolute(name) = &intent.name else { panic!("a test's name is absolute") };
    let request = PassRequest {
        zone: zone(),
        wishes: vec![(name.clone(), intent)],
        reserved: Vec::new(),
        names: None,
        departing: Vec::new(),
        settled: Default::default(),
        approval: Approval::None,
        read_only: None,
        confirmed: Default::default(),
        saved: None,
        scans: true,
        parent_ds: Default::default(),
        settles_anew: false,
        released: Vec::new(),
        retained: Vec::new(),
    };
    match run_pass(request, worker).await.unwrap() {
        PassResult::Done(done) => done,
        PassResult::Interrupted { .. } => panic!("nothing has to be asked or saved"),
    }
}

fn intent(name: &str, rtype: RecordType, value: &str) -> Intent {
    Intent {
        holder: Holder::new("recordset", "default", &format!("{name}-{rtype}").to_lowercase()),
        origin: Origin::RecordSet,
        age: String::new(),
        namespace: "default".into(),
        namespace_labels: Arc::default(),
        labels: Default::default(),
        zone_refs: None,
        name: WantedName::Absolute(place(name, &domain())),
        rtype,
        values: Some(vec![Rdata::parse(rtype, value).unwrap()]),
        ttl: None,
        attributes: Attributes::default(),
        comment: None,
        adoption: Adoption::Identical,
    }
}

fn zone() -> Zone {
    Zone {
        key: ZoneKey { namespace: "default".into(), name: "example-com".into() },
        provider: "memory".into(),
        domain: domain(),
        selection: Selection::Any,
        names: NameLimits::default(),
        grants: Vec::new(),
        records_from: Vec::new(),
        sources: None,
        default_ttl: None,
        default_attributes: Attributes::default(),
    }
}
