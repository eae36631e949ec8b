//! The comment form: `<user's text> zk1:<owner 8>:<holder>:<mac 16>`, one marker per record.

use crate::{
    holder::{Holder, HolderRef, OwnerId},
    marker::{
        Registry,
        key::{Signature, Statement},
    },
    name::Name,
    rdata::RecordType,
};

const TAG: &str = "zk1:";

/// Settings of the comment form.
#[derive(Debug, Clone)]
pub struct CommentForm {
    /// How many bytes a comment may have: as the provider says; 100 are few.
    pub limit: usize,
}

/// A comment taken apart.
#[derive(Debug, PartialEq, Eq)]
pub struct Comment<'a> {
    /// What the user wrote.
    pub text: &'a str,
    /// The marker, where there is one.
    pub marker: Option<Marker<'a>>,
}

/// The parts of a marker, not yet believed.
#[derive(Debug, PartialEq, Eq)]
pub struct Marker<'a> {
    /// Hash of the owner id.
    pub owner: &'a str,
    /// The holder in full, or its hash.
    pub holder: &'a str,
    /// The MAC, where the marker is signed.
    pub mac: Option<&'a str>,
}

/// Takes a comment apart.
pub fn split(comment: &str) -> Comment<'_> {
    let (text, last) = match comment.rsplit_once(' ') {
        Some((text, last)) => (text, last),
        None => ("", comment),
    };
    match last.strip_prefix(TAG).and_then(parse) {
        Some(marker) => Comment { text, marker: Some(marker) },
        None => Comment { text: comment, marker: None },
    }
}

/// Whether a user's text would read as a marker, or end in something that looks like one.
pub fn is_reserved(text: &str) -> bool {
    text.split_whitespace().any(|word| word.starts_with(TAG))
}

/// Puts a user's text and our marker together within the limit, and says whether the text was cut.
pub fn compose(
    registry: &Registry,
    form: &CommentForm,
    place: (&Name, RecordType),
    holder: &Holder,
    text: &str,
) -> (String, bool) {
    let full = marker(registry, place, holder.as_str());
    if text.len() + usize::from(!text.is_empty()) + full.len() <= form.limit {
        return (join(text, &full), false);
    }
    let short = marker(registry, place, &holder.hash());
    let room = form.limit.saturating_sub(short.len() + 1);
    let kept = cut(text, room);
    (join(kept, &short), kept.len() < text.len())
}

/// Whom the marker names, and what its MAC proves.
pub(crate) fn verify(registry: &Registry, place: (&Name, RecordType), marker: &Marker<'_>) -> Verdict {
    let holder = holder_of(marker.holder);
    if marker.owner == registry.owner.hash() {
        let signature = registry.keys.verify(statement(registry, place, marker.holder), marker.mac);
        if signature != Signature::Bad || crate::mutant::is_on("marker: unproved comment") {
            return Verdict::Ours { holder, signature };
        }
    }
    if registry.take_over_from.iter().any(|owner| owner.hash() == marker.owner) {
        return Verdict::TakenOver { holder };
    }
    Verdict::Foreign
}

/// What a marker is worth to us.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Ours { holder: HolderRef, signature: Signature },
    TakenOver { holder: HolderRef },
    Foreign,
}

fn parse(marker: &str) -> Option<Marker<'_>> {
    let mut parts = marker.split(':');
    let owner = parts.next().filter(|owner| is_base32(owner, 8))?;
    let holder = parts.next().filter(|holder| !holder.is_empty())?;
    let mac = match parts.next() {
        None => None,
        Some(mac) if is_base32(mac, 16) => Some(mac),
        Some(_) => return None,
    };
    parts.next().is_none().then_some(Marker { owner, holder, mac })
}

fn is_base32(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'))
}

fn holder_of(text: &str) -> HolderRef {
    if text.contains('/') { HolderRef::Full(Holder::from_text(text)) } else { HolderRef::Hash(text.into()) }
}

fn statement<'a>(registry: &'a Registry, place: (&'a Name, RecordType), holder: &'a str) -> Statement<'a> {
    Statement { domain: &registry.domain, name: place.0, rtype: place.1, owner: &registry.owner, holder }
}

fn marker(registry: &Registry, place: (&Name, RecordType), holder: &str) -> String {
    let owner: &OwnerId = &registry.owner;
    match registry.keys.sign(statement(registry, place, holder)) {
        Some(mac) => format!("{TAG}{}:{holder}:{mac}", owner.hash()),
        None => format!("{TAG}{}:{holder}", owner.hash()),
    }
}

fn join(text: &str, marker: &str) -> String {
    if text.is_empty() { marker.into() } else { format!("{text} {marker}") }
}

fn cut(text: &str, room: usize) -> &str {
    if text.len() <= room {
        return text;
    }
    let mut end = room;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marker::{Form, key::MarkerKeys};

    fn registry(key: Option<&str>) -> Registry {
        Registry {
            domain: Name::parse("example.com").unwrap(),
            owner: OwnerId::new("cluster-a"),
            take_over_from: Vec::new(),
            keys: MarkerKeys::new(key.map(str::as_bytes), None),
            form: Form::Comment(CommentForm { limit: 100 }),
        }
    }

    fn www() -> Name {
        Name::parse("www.example.com").unwrap()
    }

    fn written(registry: &Registry, text: &str, limit: usize) -> (String, bool) {
        let holder = Holder::new("recordset", "default", "www");
        compose(registry, &CommentForm { limit }, (&www(), RecordType::A), &holder, text)
    }

    #[test]
    fn a_marker_is_written_after_the_users_text_and_read_back() {
        let registry = registry(Some("secret"));
        let (comment, was_cut) = written(&registry, "made by hand", 100);
        // The vector fixes the grammar: a change here would disown every record in the field.
        assert_eq!(comment, "made by hand zk1:gsvt4hem:recordset/default/www:rpqufle5rvxvjyxr");
        assert!(!was_cut);
        let parts = split(&comment);
        assert_eq!(parts.text, "made by hand");
        assert!(matches!(
            verify(&registry, (&www(), RecordType::A), &parts.marker.unwrap()),
            Verdict::Ours { signature: Signature::Current, .. }
        ));
    }

    #[test]
    fn the_short_marker_takes_46_bytes_so_that_53_remain_on_the_free_plan() {
        let registry = registry(Some("secret"));
        let (comment, was_cut) = written(&registry, &"x".repeat(53), 100);
        assert_eq!((comment.len(), was_cut), (100, false));
        assert_eq!(split(&comment).marker.unwrap().holder.len(), 16);
        let (comment, was_cut) = written(&registry, &"ü".repeat(40), 100);
        assert!(was_cut && comment.len() <= 100 && comment.starts_with(&"ü".repeat(26)));
    }

    #[test]
    fn a_marker_copied_to_another_name_or_type_or_forged_is_foreign() {
        let registry = registry(Some("secret"));
        let (comment, _) = written(&registry, "", 100);
        let marker = || split(&comment).marker.unwrap();
        let other = Name::parse("api.example.com").unwrap();
        assert_eq!(verify(&registry, (&other, RecordType::A), &marker()), Verdict::Foreign);
        assert_eq!(verify(&registry, (&www(), RecordType::AAAA), &marker()), Verdict::Foreign);
        let forger = self::registry(Some("another secret"));
        let (forged, _) = written(&forger, "", 100);
        assert_eq!(
            verify(&registry, (&www(), RecordType::A), &split(&forged).marker.unwrap()),
            Verdict::Foreign
        );
    }

    #[test]
    fn without_a_key_only_unsigned_markers_are_ours_and_with_one_only_signed() {
        let (unsigned, signed) = (registry(None), registry(Some("secret")));
        let (plain, _) = written(&unsigned, "", 100);
        assert_eq!(plain, "zk1:gsvt4hem:recordset/default/www");
        let (mac, _) = written(&signed, "", 100);
        let verdict = |registry: &Registry, comment: &str| {
            verify(registry, (&www(), RecordType::A), &split(comment).marker.unwrap())
        };
        assert!(matches!(verdict(&unsigned, &plain), Verdict::Ours { .. }));
        assert_eq!(verdict(&signed, &plain), Verdict::Foreign);
        assert_eq!(verdict(&unsigned, &mac), Verdict::Foreign);
        let trusting = Registry { take_over_from: vec![OwnerId::new("cluster-a")], ..signed };
        assert!(matches!(verdict(&trusting, &plain), Verdict::TakenOver { .. }));
    }

    #[test]
    fn the_previous_key_still_verifies() {
        let old = registry(Some("old"));
        let (comment, _) = written(&old, "", 100);
        let rotated = Registry { keys: MarkerKeys::new(Some(b"new"), Some(b"old")), ..old };
        assert!(matches!(
            verify(&rotated, (&www(), RecordType::A), &split(&comment).marker.unwrap()),
            Verdict::Ours { signature: Signature::Previous, .. }
        ));
    }

    #[test]
    fn ordinary_comments_are_no_markers() {
        for comment in ["", "hello", "zk1:", "see zk1:notes", "zk1:abcdefgh", "zk1:abcdefgh:x:y"] {
            assert_eq!(split(comment), Comment { text: comment, marker: None }, "{comment}");
        }
        assert!(is_reserved("x zk1:abc") && !is_reserved("about zk1"));
    }
}
