//! Objects that go while others ask for the same name or set.

use std::{collections::BTreeSet, sync::Arc};

use zonekeeper::engine::run_pass;
use zonekeeper_api::Reason;
use zonekeeper_kernel::{
    attribute::Attributes,
    desired::Adoption,
    guard::{Approval, Limits},
    holder::{Holder, HolderRef},
    name::Name,
    plan::Fate,
    rdata::{Rdata, RecordType},
    resolve::{Intent, Origin, WantedName},
    zone::{NameLimits, Selection, SourcesKey, Zone, ZoneKey},
};
use zonekeeper_model::{
    confirmation::Confirmed,
    pass::{Left, Needs, PassRequest, PassResult, Retained, ZonePass},
};
use zonekeeper_tests::stage::{Marks, Stage, domain};

use crate::server::Server;

const NAMESPACE: &str = "shop";

/// A zone whose own namespace asks for all.
struct Scene {
    server: Arc<Server>,
    stage: Stage,
    asks: Vec<Arc<Intent>>,
    /// Objects that are going, with what they leave behind.
    going: Vec<(&'static str, Option<Vec<&'static str>>)>,
    released: Vec<String>,
    approval: Approval,
}

fn name() -> Name {
    Name::parse("www.example.com").unwrap()
}

fn holder(object: &str) -> Holder {
    Holder::new("recordset", NAMESPACE, object)
}

fn rdata(value: &str) -> Rdata {
    let rtype = if value.ends_with('.') { RecordType::CNAME } else { RecordType::A };
    Rdata::parse(rtype, value).unwrap()
}

fn zone() -> Zone {
    Zone {
        key: ZoneKey { namespace: NAMESPACE.into(), name: "example-com".into() },
        provider: "cloudflare".into(),
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

/// An object that asks for www, with these values if they are known.
fn asks(object: &str, values: &[&str]) -> Arc<Intent> {
    let values: Vec<Rdata> = values.iter().map(|value| rdata(value)).collect();
    Arc::new(Intent {
        holder: holder(object),
        origin: Origin::Source(SourcesKey(Arc::from("all"))),
        age: object.to_owned(),
        namespace: NAMESPACE.to_owned(),
        namespace_labels: Arc::default(),
        labels: Default::default(),
        zone_refs: None,
        name: WantedName::Absolute(name()),
        rtype: values.first().map_or(RecordType::A, Rdata::rtype),
        values: (!values.is_empty()).then_some(values),
        ttl: None,
        attributes: Attributes::default(),
        comment: None,
        adoption: Adoption::Identical,
    })
}

impl Scene {
    fn new(marks: Marks, asks: Vec<Arc<Intent>>) -> Self {
        let server = Arc::new(Server::default());
        let mut stage = Stage::new(server.clone(), marks);
        stage.limits = Some(Limits::default());
        stage.restart();
        let (going, released) = (Vec::new(), Vec::new());
        Self { server, stage, asks, going, released, approval: Approval::None }
    }

    /// An object is deleted; with values it leaves these behind.
    fn delete(&mut self, object: &'static str, retained: Option<Vec<&'static str>>) {
        self.asks.retain(|intent| intent.holder != holder(object));
        self.going.push((object, retained));
    }

    fn request(&self, confirmed: Confirmed) -> PassRequest {
        let key = |object: &str| (NAMESPACE.to_owned(), object.to_owned());
        let retained = self.going.iter().filter_map(|(object, values)| {
            let values: BTreeSet<Rdata> = values.as_ref()?.iter().map(|value| rdata(value)).collect();
            let rtype = values.first()?.rtype();
            Some(Retained { name: name(), rtype, values, object: key(object) })
        });
        PassRequest {
            zone: zone(),
            wishes: self.asks.iter().map(|intent| (name(), intent.clone())).collect(),
            reserved: Vec::new(),
            names: None,
            departing: self.going.iter().map(|(object, _)| (name(), key(object))).collect(),
            settled: BTreeSet::new(),
            approval: self.approval.clone(),
            read_only: None,
            confirmed: Arc::new(confirmed),
            saved: None,
            scans: true,
            parent_ds: Default::default(),
            settles_anew: false,
            released: self.released.clone(),
            retained: retained.collect(),
        }
    }

    /// One pass, with what fresh reads show of the objects that are going, and the guard's memory saved.
    async fn pass(&mut self) -> ZonePass {
        let (mut confirmed, mut saved) = (Confirmed::default(), None);
        for _ in 0..10 {
            let request = PassRequest { saved: saved.clone(), ..self.request(confirmed.clone()) };
            match run_pass(request, &mut self.stage.worker).await.unwrap() {
                PassResult::Done(pass) => return *pass,
                PassResult::Interrupted { needs: Needs::Holders(about), .. } => {
                    let fates = about.into_iter().map(|about| {
                        let fate = self.fate(&about.holder);
                        (about, fate)
                    });
                    confirmed = Confirmed::new(fates.collect::<Vec<_>>());
                }
                PassResult::Interrupted { needs: Needs::Saved(record), .. } => saved = Some(record),
            }
        }
        panic!("the pass does not end")
    }

    fn fate(&self, named: &HolderRef) -> Option<Fate> {
        let (_, left) = self.going.iter().find(|(object, _)| named.names(&holder(object)))?;
        Some(if left.is_some() { Fate::Retained } else { Fate::Released })
    }

    /// Two passes: what the first one leaves, the second one does not take.
    async fn passes(&mut self) -> ZonePass {
        self.pass().await;
        self.pass().await
    }

    /// The values of www, each with whether it is marked.
    fn values(&self) -> Vec<(String, bool)> {
        let state = self.server.state();
        let here = state.records.iter().filter(|(at, _)| *at == name());
        let mut values: Vec<_> =
            here.map(|(_, record)| (record.rdata.to_string(), record.comment.contains("zk1:"))).collect();
        values.sort();
        values
    }
}

fn marked(values: &[(&str, bool)]) -> Vec<(String, bool)> {
    values.iter().map(|(value, is_marked)| ((*value).to_owned(), *is_marked)).collect()
}

/// Why an object is still there; nothing where it may go.
fn why(pass: &ZonePass, object: &str) -> Option<(Reason, String)> {
    let left: Vec<&Left> = pass.left.iter().filter(|left| left.object.1 == object).collect();
    assert_eq!(left.len(), 1, "one word on it");
    left[0].why.as_ref().map(|verdict| (verdict.reason, verdict.message.clone()))
}

#[tokio::test(start_paused = true)]
async fn an_object_that_goes_says_whose_wish_keeps_its_record_and_an_approval_removes_it() {
    let mut scene = Scene::new(Marks::Comment, vec![asks("old", &["192.0.2.1"])]);
    scene.pass().await;
    // Another object asks for the name, and nothing is known of its values.
    scene.asks.push(asks("new", &[]));
    scene.delete("old", None);
    let pass = scene.passes().await;
    assert_eq!(scene.values(), marked(&[("192.0.2.1", true)]), "a wanted name is not emptied");
    let (reason, message) = why(&pass, "old").expect("it is there still");
    assert_eq!(reason, Reason::Held, "{message}");
    assert!(message.contains("another object asks for this name"), "{message}");
    let outstanding = pass.survey.expect("all was looked at").outstanding;
    assert!(pass.has_held && outstanding.held.is_some(), "the zone says so too");
    scene.approval = Approval::Held(outstanding.plan.hash);
    let pass = scene.pass().await;
    assert_eq!((scene.values(), why(&pass, "old")), (Vec::new(), None));
}

#[tokio::test(start_paused = true)]
async fn what_a_refused_object_asks_for_does_not_keep_a_deleted_one_without_a_word() {
    let mut scene = Scene::new(Marks::Comment, vec![asks("old", &["192.0.2.1"])]);
    scene.pass().await;
    // It is refused for its ttl.
    let mut refused = Intent::clone(&asks("new", &["192.0.2.2"]));
    refused.ttl = Some(zonekeeper_kernel::record::Ttl(2));
    scene.asks.push(Arc::new(refused));
    scene.delete("old", None);
    let pass = scene.passes().await;
    assert_eq!(scene.values(), marked(&[("192.0.2.1", true)]));
    let (reason, message) = why(&pass, "old").expect("it is there still");
    assert_eq!(reason, Reason::Held, "{message}");
    // It is put right.
    scene.asks = vec![asks("new", &["192.0.2.2"])];
    let pass = scene.passes().await;
    assert_eq!((scene.values(), why(&pass, "old")), (marked(&[("192.0.2.2", true)]), None));
}

#[tokio::test(start_paused = true)]
async fn values_are_left_behind_beside_those_of_another_object() {
    let both = || vec![asks("kept", &["192.0.2.1"]), asks("other", &["192.0.2.2"])];
    let mut scene = Scene::new(Marks::Comment, both());
    scene.pass().await;
    scene.delete("kept", Some(vec!["192.0.2.1"]));
    let pass = scene.passes().await;
    assert_eq!(scene.values(), marked(&[("192.0.2.1", false), ("192.0.2.2", true)]));
    assert_eq!(why(&pass, "kept"), None, "it may go");
    // The other one takes only its own along.
    scene.going.clear();
    scene.delete("other", None);
    scene.pass().await;
    assert_eq!(scene.values(), marked(&[("192.0.2.1", false)]));
}

#[tokio::test(start_paused = true)]
async fn an_alias_is_left_behind_though_another_object_asks_for_one() {
    let mut scene = Scene::new(Marks::Comment, vec![asks("kept", &["one.example.net."])]);
    scene.pass().await;
    scene.asks.push(asks("other", &["two.example.net."]));
    scene.delete("kept", Some(vec!["one.example.net."]));
    let pass = scene.passes().await;
    assert_eq!(scene.values(), marked(&[("one.example.net.", false)]));
    assert_eq!(why(&pass, "kept"), None, "it may go");
}

#[tokio::test(start_paused = true)]
async fn a_marker_of_the_whole_set_keeps_what_one_of_its_objects_leaves_behind() {
    for kept in ["first", "second"] {
        let both = || vec![asks("first", &["192.0.2.1"]), asks("second", &["192.0.2.2"])];
        let mut scene = Scene::new(Marks::Txt, both());
        scene.pass().await;
        let value = if kept == "first" { "192.0.2.1" } else { "192.0.2.2" };
        scene.delete(kept, Some(vec![value]));
        let pass = scene.passes().await;
        assert_eq!(scene.values(), marked(&[("192.0.2.1", false), ("192.0.2.2", false)]), "{kept}");
        let (reason, message) = why(&pass, kept).expect("it is there still");
        assert_eq!(reason, Reason::Orphaned, "{message}");
        assert!(message.contains("TXT marker"), "{message}");
        // The other one goes, and takes only its own and the marker along.
        let other = if kept == "first" { "second" } else { "first" };
        scene.delete(other, None);
        let pass = scene.passes().await;
        let left: Vec<String> = scene.values().into_iter().map(|(value, _)| value).collect();
        assert!(left.contains(&value.to_owned()), "{kept}: {left:?}");
        assert_eq!((why(&pass, kept), why(&pass, other)), (None, None), "{kept}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_was_let_go_is_remembered_while_its_record_is_there() {
    let mut scene = Scene::new(Marks::Comment, vec![asks("old", &["192.0.2.1"])]);
    scene.pass().await;
    let of = |object: &str| holder(object).as_str().to_owned();
    scene.released = vec![of("old"), of("other"), "*".into()];
    scene.asks.clear();
    let gone = |pass: ZonePass| pass.survey.expect("all was looked at").gone;
    assert_eq!(gone(scene.pass().await), BTreeSet::from([of("other")]));
    scene.server.state().records.clear();
    assert_eq!(gone(scene.pass().await), BTreeSet::from([of("old"), of("other"), "*".into()]));
}
