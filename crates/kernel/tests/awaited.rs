//! A holder whose values are not known keeps what it has, and stops nobody else.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use zonekeeper_kernel::{
    attribute::Attributes,
    claim::{Known, marked_comment},
    desired::{Adoption, Desired},
    holder::{Holder, OwnerId},
    marker::{Form, Registry, comment::CommentForm, key::MarkerKeys, txt::TxtForm},
    name::Name,
    plan::{Cause, Evidence, Plan, Scope, Settled, Situation, plan},
    rdata::{Rdata, RecordType},
    reason::Rejection,
    record::{Live, LiveRecord, RecordId, Ttl},
    resolve::{Incumbents, Intent, Origin, WantedName, resolve},
    zone::{Grant, NameLimits, Namespaces, Rules, Selection, Sharing, SourcesKey, Zone, ZoneKey},
};

#[path = "laws/host.rs"]
mod host;

fn name() -> Name {
    Name::parse("www.example.com").unwrap()
}

fn ingress(namespace: &str, of: &str) -> Holder {
    Holder::new("ingress", namespace, of)
}

/// An Ingress that asks for www; nobody knows with which values where there are none.
fn asks(holder: &Holder, values: &[&str]) -> Intent {
    let rtype = match values.first() {
        Some(value) if value.ends_with(".net") => RecordType::CNAME,
        Some(_) | None => RecordType::A,
    };
    let parsed = values.iter().map(|value| Rdata::parse(rtype, value).unwrap()).collect();
    Intent {
        holder: holder.clone(),
        origin: Origin::Source(SourcesKey(Arc::from("all"))),
        age: holder.as_str().to_owned(),
        namespace: holder.namespace().to_owned(),
        namespace_labels: Arc::default(),
        labels: Default::default(),
        zone_refs: None,
        name: WantedName::Absolute(name()),
        rtype,
        values: (!values.is_empty()).then_some(parsed),
        ttl: None,
        attributes: Attributes::default(),
        comment: None,
        adoption: Adoption::Identical,
    }
}

fn registry(form: Form) -> Registry {
    Registry {
        domain: Name::parse("example.com").unwrap(),
        owner: OwnerId::new("us"),
        take_over_from: Vec::new(),
        keys: MarkerKeys::new(Some(b"key"), None),
        form,
    }
}

fn comments() -> Registry {
    registry(Form::Comment(CommentForm { limit: 500 }))
}

fn texts() -> Registry {
    registry(Form::Txt(TxtForm::default()))
}

fn zone(share: Sharing) -> Zone {
    let grant =
        Grant { namespaces: Namespaces::All, names: None, types: None, share, adoption: Adoption::Identical };
    Zone {
        key: ZoneKey { namespace: "dns".into(), name: "example-com".into() },
        provider: "cloudflare".into(),
        domain: Name::parse("example.com").unwrap(),
        selection: Selection::Any,
        names: NameLimits::default(),
        grants: vec![grant],
        records_from: Vec::new(),
        sources: None,
        default_ttl: None,
        default_attributes: Attributes::default(),
    }
}

fn resolved(registry: &Registry, share: Sharing, wishes: &[Intent]) -> (Desired, Vec<Rejection>) {
    let wishes = wishes.iter().map(|intent| (name(), intent));
    resolve(&zone(share), &host::proxying(), registry, wishes, &Incumbents::new())
}

/// The zone with these values of www, each with the holder that its comment names; a TXT marker names the first.
fn live(registry: &Registry, values: &[(&Holder, &str)]) -> Live {
    let mut live = Live::indexed_by(registry.marker_index());
    let mut count = 0;
    let mut add = |name: Name, rdata: Rdata, comment: Box<str>| {
        count += 1;
        let (id, attributes) = (RecordId(format!("r{count}").into()), Attributes::default());
        live.insert(name, LiveRecord { rdata, id, ttl: Ttl(1), attributes, comment, read_only: false });
    };
    for (holder, value) in values {
        let rtype = if value.ends_with(".net") { RecordType::CNAME } else { RecordType::A };
        let comment = marked_comment(registry, (&name(), rtype), holder, "").0;
        add(name(), Rdata::parse(rtype, value).unwrap(), comment);
    }
    if let (Form::Txt(form), Some((holder, _))) = (&registry.form, values.first()) {
        let marker = form.write(registry, (&name(), RecordType::A), holder);
        add(form.names.marker_of(&name(), RecordType::A, &registry.domain), marker, "".into());
    }
    live
}

fn planned(registry: &Registry, desired: &Desired, live: &Live, settled: &Settled) -> Plan {
    remembering(&Known::Nothing, registry, desired, live, settled)
}

fn remembering(
    known: &Known,
    registry: &Registry,
    desired: &Desired,
    live: &Live,
    settled: &Settled,
) -> Plan {
    let evidence = Evidence::seen([]);
    let situation = Situation {
        desired,
        live,
        registry,
        known,
        rules: &Rules::default(),
        capabilities: &host::proxying(),
        evidence: &evidence,
        settled,
    };
    plan(&situation, Scope::Zone)
}

/// What www has after a plan, markers and orphans, which are held, aside.
fn after(plan: &Plan, live: &Live) -> Vec<String> {
    let mut values: Vec<String> = live.at(&name()).iter().map(|record| record.rdata.to_string()).collect();
    let applied = plan.changes.iter().filter(|change| !matches!(change.cause, Cause::Orphaned(_)));
    for edit in applied.flat_map(|change| &change.edits).filter(|edit| *edit.name() == name()) {
        if let Some(before) = edit.before() {
            values.retain(|value| *value != before.rdata.to_string());
        }
        values.extend(edit.after().map(|after| after.rdata.to_string()));
    }
    values.sort();
    values
}

#[test]
fn an_unknown_holder_keeps_what_it_has_and_a_known_one_gets_what_it_wants() {
    let (a, b) = (ingress("shop", "a"), ingress("shop", "b"));
    let registry = comments();
    let wishes = [asks(&a, &["192.0.2.2"]), asks(&b, &[])];
    let (desired, refused) = resolved(&registry, Sharing::Exclusive, &wishes);
    assert!(refused.is_empty(), "{refused:?}");
    // a moves from .1 to .2, and b has .9.
    let live = live(&registry, &[(&a, "192.0.2.1"), (&b, "192.0.2.9")]);
    let plan = planned(&registry, &desired, &live, &Settled::default());
    assert_eq!(after(&plan, &live), ["192.0.2.2", "192.0.2.9"]);
    assert!(plan.orphans.is_empty() && plan.rejections.is_empty(), "{plan:#?}");
}

#[test]
fn a_value_that_an_unknown_holder_has_stays_when_another_gives_it_up() {
    let (a, b) = (ingress("shop", "a"), ingress("shop", "b"));
    let registry = comments();
    let live = live(&registry, &[(&b, "192.0.2.9")]);
    let wish = |values: &[&str]| {
        let (desired, _) = resolved(&registry, Sharing::Exclusive, &[asks(&a, values), asks(&b, &[])]);
        planned(&registry, &desired, &live, &Settled::default())
    };
    assert!(wish(&["192.0.2.9"]).changes.is_empty(), "its marker goes on to name b");
    assert_eq!(after(&wish(&["192.0.2.1"]), &live), ["192.0.2.1", "192.0.2.9"]);
}

#[test]
fn tenants_that_share_a_name_do_not_stop_each_other() {
    let (a, b) = (ingress("shop", "a"), ingress("blog", "b"));
    for registry in [comments(), texts()] {
        let wishes = [asks(&b, &[]), asks(&a, &["192.0.2.2"])];
        let (desired, refused) = resolved(&registry, Sharing::Shared, &wishes);
        assert!(refused.is_empty(), "{refused:?}");
        let live = live(&registry, &[(&b, "192.0.2.9")]);
        let plan = planned(&registry, &desired, &live, &Settled::default());
        assert_eq!(after(&plan, &live), ["192.0.2.2", "192.0.2.9"], "{plan:#?}");
        assert!(plan.orphans.is_empty() && plan.rejections.is_empty(), "{plan:#?}");
    }
    // Without a grant that shares it, the first holder has the name.
    let (_, refused) = resolved(&comments(), Sharing::Exclusive, &[asks(&b, &[]), asks(&a, &["192.0.2.2"])]);
    assert_eq!(refused.len(), 1);
}

#[test]
fn nobody_knows_the_type_of_what_is_not_known() {
    let (a, b) = (ingress("shop", "a"), ingress("shop", "b"));
    let registry = comments();
    // b is older than c and has no address yet; c has a name for one.
    let c = ingress("shop", "c");
    for known in [&a, &c] {
        let wishes = [asks(known, &["lb.example.net"]), asks(&b, &[])];
        let (desired, refused) = resolved(&registry, Sharing::Exclusive, &wishes);
        assert!(refused.is_empty(), "{refused:?}");
        let live = live(&registry, &[]);
        let plan = planned(&registry, &desired, &live, &Settled::default());
        assert_eq!(after(&plan, &live), ["lb.example.net."]);
    }
    // What b had stays, whatever type it was, and a waits for it.
    let live = live(&registry, &[(&b, "old.example.net")]);
    let (desired, _) = resolved(&registry, Sharing::Exclusive, &[asks(&a, &["192.0.2.1"]), asks(&b, &[])]);
    let plan = planned(&registry, &desired, &live, &Settled::default());
    assert_eq!(after(&plan, &live), ["old.example.net."]);
    assert!(plan.orphans.is_empty(), "{plan:#?}");
}

#[test]
fn a_marker_of_the_set_leaves_alone_what_this_process_did_not_write() {
    let (a, b) = (ingress("shop", "a"), ingress("shop", "b"));
    let registry = texts();
    let live = live(&registry, &[(&a, "192.0.2.1"), (&b, "192.0.2.9")]);
    let (desired, _) = resolved(&registry, Sharing::Exclusive, &[asks(&a, &["192.0.2.2"]), asks(&b, &[])]);
    // Nobody knows whose is whose.
    let plan = planned(&registry, &desired, &live, &Settled::default());
    assert_eq!(after(&plan, &live), ["192.0.2.1", "192.0.2.2", "192.0.2.9"], "{plan:#?}");
    assert!(plan.orphans.is_empty(), "{plan:#?}");
    // We wrote .1 for a.
    let mut settled = Settled::default();
    let (before, _) = resolved(&registry, Sharing::Exclusive, &[asks(&a, &["192.0.2.1"])]);
    settled.insert(name(), before.at(&name())[0].clone());
    let plan = planned(&registry, &desired, &live, &settled);
    assert_eq!(after(&plan, &live), ["192.0.2.2", "192.0.2.9"]);
}

#[test]
fn a_new_marker_names_the_holder_whose_value_stays() {
    let (a, b) = (ingress("shop", "a"), ingress("shop", "b"));
    let registry = texts();
    // The marker of b's value was deleted from outside; a status knows it, and b was not seen to give it up.
    let mut live = Live::indexed_by(registry.marker_index());
    let rdata = Rdata::parse(RecordType::A, "192.0.2.9").unwrap();
    let (id, attributes) = (RecordId("r1".into()), Attributes::default());
    let record =
        LiveRecord { rdata, id: id.clone(), ttl: Ttl(1), attributes, comment: "".into(), read_only: false };
    live.insert(name(), record);
    let known = Known::Ids([(id, (name(), RecordType::A), b.clone())].into_iter().collect());
    let (desired, _) = resolved(&registry, Sharing::Exclusive, &[asks(&a, &["192.0.2.1"])]);
    for round in ["first", "second"] {
        let plan = remembering(&known, &registry, &desired, &live, &Settled::default());
        assert_eq!(after(&plan, &live), ["192.0.2.1", "192.0.2.9"], "{round}: {plan:#?}");
        for edit in plan.changes.iter().filter(|change| !change.holders.is_empty()).flat_map(|it| &it.edits) {
            let id = RecordId(format!("{}-{round}", edit.name()).into());
            if let (None, Some(written)) = (edit.before(), edit.after()) {
                live.insert(edit.name().clone(), written.clone().written(id));
            }
        }
    }
}
