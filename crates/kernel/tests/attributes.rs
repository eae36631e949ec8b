//! Attributes: one form for one meaning, whatever provider they are of.

#![allow(clippy::unwrap_used)]

use zonekeeper_kernel::{
    attribute::{
        Attribute, AttributeValue, Attributes, Comparison, Elsewhere, Others, PROXIED, Schema, TAGS, TtlRule,
    },
    capability::Types,
    rdata::RecordType,
};

/// A provider with a flag, a list, a text that is never missing, and whatever else it is given.
fn schema(others: Others) -> Schema {
    let proxied = Attribute {
        elsewhere: Elsewhere::Refused("can't be proxied"),
        ttl: TtlRule::Automatic,
        adoption: Comparison::Compared,
        ..Attribute::flag(PROXIED, Types::only([RecordType::A]))
    };
    let routing = Attribute {
        name: "routing".into(),
        default: "simple".into(),
        types: Types::Every,
        elsewhere: Elsewhere::Dropped,
        ttl: TtlRule::Own,
        adoption: Comparison::Ignored,
    };
    Schema { attributes: vec![proxied, Attribute::list(TAGS), routing], others }
}

fn simple() -> Attributes {
    Attributes::of("routing", "simple")
}

#[test]
fn what_says_no_more_than_nothing_is_left_out() {
    let asked = Attributes::of(PROXIED, false).with(TAGS, AttributeValue::from_iter(["b", "a"]));
    let shown = schema(Others::Dropped).normalise(RecordType::A, &asked);
    assert_eq!(shown, simple().with(TAGS, AttributeValue::from_iter(["a", "b"])));
    let nothing = Schema::default().normalise(RecordType::A, &asked);
    assert!(nothing.is_empty());
}

#[test]
fn names_that_a_provider_does_not_have_are_dropped_or_kept_as_it_says() {
    let asked = Attributes::of("setIdentifier", "blue").with("weight", "10");
    assert_eq!(schema(Others::Dropped).normalise(RecordType::A, &asked), simple());
    assert_eq!(schema(Others::Kept).normalise(RecordType::A, &asked), asked.or(&simple()));
}

#[test]
fn a_value_of_another_kind_is_not_taken() {
    let asked = Attributes::of(PROXIED, "true").with("routing", true);
    assert_eq!(schema(Others::Dropped).normalise(RecordType::A, &asked), simple());
}

#[test]
fn an_attribute_on_a_type_that_cannot_have_it_is_dropped_and_refused_only_to_those_who_ask() {
    let (schema, on) = (schema(Others::Dropped), Attributes::of(PROXIED, true));
    assert!(schema.normalise(RecordType::A, &on).is_on(PROXIED));
    assert!(!schema.normalise(RecordType::TXT, &on).is_on(PROXIED));
    assert_eq!(schema.refusal(RecordType::TXT, &on), Some("can't be proxied"));
    assert_eq!(schema.refusal(RecordType::A, &on), None);
    assert_eq!(schema.refusal(RecordType::TXT, &Attributes::of(PROXIED, false)), None);
}

#[test]
fn an_object_that_says_off_is_not_overruled_by_its_zone() {
    let (off, on) = (Attributes::of(PROXIED, false), Attributes::of(PROXIED, true));
    assert!(!off.or(&on).is_on(PROXIED));
    assert!(Attributes::default().or(&on).is_on(PROXIED));
    assert!(Attributes::of(TAGS, AttributeValue::from_iter(["a"])).or(&on).is_on(PROXIED));
}

#[test]
fn only_an_attribute_that_is_set_makes_the_ttl_automatic() {
    let schema = schema(Others::Dropped);
    assert!(schema.sets_ttl(&Attributes::of(PROXIED, true)));
    assert!(!schema.sets_ttl(&Attributes::of(PROXIED, false)));
    assert!(!schema.sets_ttl(&simple()));
}

#[test]
fn the_order_of_attributes_makes_no_difference() {
    let one = Attributes::of("a", "1").with("b", "2").with("c", true);
    let other = Attributes::of("c", true).with("b", "2").with("a", "1");
    assert_eq!(one, other);
    assert_eq!(one.with("b", "3").get("b"), Some(&"3".into()));
}

#[test]
fn a_missing_attribute_differs_from_a_set_one_only() {
    let (none, off, on) =
        (Attributes::default(), Attributes::of(PROXIED, false), Attributes::of(PROXIED, true));
    assert!(none.differences(&off).is_empty());
    assert_eq!(none.differences(&on), [(PROXIED, false.into(), true.into())]);
    assert_eq!(on.differences(&none), [(PROXIED, true.into(), false.into())]);
}

#[test]
fn a_record_without_attributes_carries_no_more_than_a_pointer() {
    assert!(size_of::<Attributes>() <= 2 * size_of::<usize>());
    assert!(Attributes::from_iter([]).is_empty());
}
