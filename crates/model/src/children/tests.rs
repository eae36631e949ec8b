//! Children are made once, repaired, removed, and nothing of others is touched.

use super::*;

fn owner() -> OwnerReference {
    OwnerReference {
        api_version: "zonekeeper.dev/v1alpha1".into(),
        kind: "DNSZone".into(),
        name: "example-com".into(),
        uid: "zone-uid".into(),
        controller: Some(true),
        block_owner_deletion: None,
    }
}

fn manifest(data: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "child", "namespace": "default"}, "data": {"key": data},
    })
}

fn child() -> ChildRef {
    ChildRef::of(&manifest("")).unwrap()
}

/// The object as the API server gives it after a write.
fn object(manifest: &Value, version: &str) -> Box<ObjectMeta> {
    let mut metadata = manifest["metadata"].clone();
    metadata["uid"] = json!("child-uid");
    metadata["resourceVersion"] = json!(version);
    Box::new(serde_json::from_value(metadata).unwrap())
}

fn writes(effects: &mut Effects) -> Vec<ChildWrite> {
    let write = |effect| match effect {
        Effect::WriteChild(_, write) => Some(write),
        _other => None,
    };
    effects.take().into_iter().filter_map(write).collect()
}

/// A child that was created.
fn created() -> (Children, Effects, Value) {
    let (mut children, mut effects) = (Children::of_controller("ours"), Effects::default());
    children.want(&owner(), vec![manifest("one")], &mut effects);
    let made = match writes(&mut effects).as_slice() {
        [ChildWrite::Create(made)] => made.clone(),
        other => panic!("{other:?}"),
    };
    children.written(&child(), Ok(Some(object(&made, "1"))), &mut effects);
    assert!(writes(&mut effects).is_empty());
    (children, effects, made)
}

#[test]
fn a_child_is_created_once_and_changed_in_place() {
    let (mut children, mut effects, made) = created();
    children.see(&child(), &object(&made, "1"), &mut effects);
    children.want(&owner(), vec![manifest("one")], &mut effects);
    assert!(writes(&mut effects).is_empty(), "it is as it is wanted");
    children.want(&owner(), vec![manifest("two")], &mut effects);
    let applied = writes(&mut effects);
    assert!(
        matches!(&applied[..], [ChildWrite::Apply(made)] if made["metadata"]["uid"] == "child-uid" && made["data"]["key"] == "two"),
        "{applied:?}"
    );
}

#[test]
fn an_edited_child_is_repaired_and_a_deleted_one_made_again() {
    let (mut children, mut effects, made) = created();
    children.see(&child(), &object(&made, "2"), &mut effects);
    assert!(matches!(&writes(&mut effects)[..], [ChildWrite::Apply(_)]));
    children.written(&child(), Ok(Some(object(&made, "3"))), &mut effects);
    assert!(writes(&mut effects).is_empty());
    children.lose(&child(), &mut effects);
    assert!(matches!(&writes(&mut effects)[..], [ChildWrite::Create(_)]));
}

#[test]
fn what_is_no_longer_wanted_goes_also_after_a_restart() {
    let (mut children, mut effects, made) = created();
    children.want(&owner(), Vec::new(), &mut effects);
    assert_eq!(writes(&mut effects), [ChildWrite::Delete("child-uid".into(), Leaving::Nothing)]);
    let mut anew = Children::of_controller("ours");
    anew.see(&child(), &object(&made, "1"), &mut effects);
    assert!(writes(&mut effects).is_empty(), "it is not known yet what its owner wants");
    anew.want(&owner(), Vec::new(), &mut effects);
    assert_eq!(writes(&mut effects), [ChildWrite::Delete("child-uid".into(), Leaving::Nothing)]);
    anew.written(&child(), Ok(None), &mut effects);
    anew.lose(&child(), &mut effects);
    assert!(anew.by_ref.is_empty() && writes(&mut effects).is_empty());
}

#[test]
fn what_is_given_up_leaves_behind_what_it_says_itself() {
    let (mut children, mut effects, _) = created();
    children.give_up(&owner(), &mut effects);
    assert_eq!(writes(&mut effects), [ChildWrite::Delete("child-uid".into(), Leaving::AsDeclared)]);
}

#[test]
fn another_installation_leaves_it_alone() {
    let (_, mut effects, made) = created();
    let mut others = Children::of_controller("theirs");
    others.see(&child(), &object(&made, "1"), &mut effects);
    others.want(&owner(), Vec::new(), &mut effects);
    assert!(writes(&mut effects).is_empty());
    others.want(&owner(), vec![manifest("two")], &mut effects);
    assert!(writes(&mut effects).iter().all(|write| matches!(write, ChildWrite::Create(_))));
}

#[test]
fn an_object_of_others_with_that_name_is_left_alone() {
    let (mut children, mut effects) = (Children::of_controller("ours"), Effects::default());
    let foreign = object(&manifest("theirs"), "1");
    children.want(&owner(), vec![manifest("one")], &mut effects);
    assert!(matches!(&writes(&mut effects)[..], [ChildWrite::Create(_)]));
    children.written(&child(), Err("it is there already".into()), &mut effects);
    children.see(&child(), &foreign, &mut effects);
    children.retry(&mut effects);
    assert!(writes(&mut effects).is_empty());
    let trouble = children.trouble("zone-uid").unwrap_or_default();
    assert!(trouble.contains("was not made for this object"), "{trouble}");
    children.want(&owner(), Vec::new(), &mut effects);
    assert!(writes(&mut effects).is_empty(), "nor is it deleted");
}
