//! Markers in the test's own hand: what the formats say, written without the code that reads them.

use std::{cell::RefCell, collections::BTreeMap};

use data_encoding::BASE32_NOPAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use zonekeeper_kernel::{
    marker::{Form, comment::CommentForm, crypto::EncryptionKey, txt::TxtForm, txt_names::TxtNames},
    name::Name,
    rdata::{Rdata, RecordType},
};

pub const DOMAIN: &str = "example.com";
const ENCRYPTION: &[u8] = b"0123456789abcdef0123456789abcdef";
const TYPE: &str = "%{record_type}";

/// How many characters of a holder's hash a comment has room for, and how many it had before.
pub const HASH: usize = 16;
pub const OLD_HASH: usize = 10;

/// Who writes a marker.
#[derive(Debug, Clone, Copy)]
pub struct Hand {
    pub owner: &'static str,
    pub key: Option<&'static [u8]>,
}

/// Where and how markers are kept in a zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    Comment { limit: usize },
    Txt(TxtShape),
    None,
}

/// ExternalDNS's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TxtShape {
    pub prefix: &'static str,
    pub suffix: &'static str,
    pub wildcard: &'static str,
    pub is_signed: bool,
    pub is_encrypted: bool,
}

/// ExternalDNS as it comes.
pub const PLAIN: TxtShape =
    TxtShape { prefix: "", suffix: "", wildcard: "", is_signed: false, is_encrypted: false };

pub fn domain() -> Name {
    Name::parse(DOMAIN).unwrap()
}

pub fn digest(text: &str, length: usize) -> String {
    BASE32_NOPAD.encode(&Sha256::digest(text.as_bytes()))[..length].to_lowercase()
}

fn mac(key: &[u8], (name, rtype): (&Name, RecordType), owner: &str, holder: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(format!("{DOMAIN}\n{}\n", name.as_str()).as_bytes());
    mac.update(&rtype.code().to_be_bytes());
    mac.update(format!("{owner}\n{holder}").as_bytes());
    BASE32_NOPAD.encode(&mac.finalize().into_bytes()[..10])[..16].to_lowercase()
}

/// A comment with a marker for a holder, who is named in full or by hash.
pub fn comment(hand: Hand, place: (&Name, RecordType), holder: &str, text: &str) -> String {
    let mut marker = format!("zk1:{}:{holder}", digest(hand.owner, 8));
    if let Some(key) = hand.key {
        marker = format!("{marker}:{}", mac(key, place, hand.owner, holder));
    }
    if text.is_empty() { marker } else { format!("{text} {marker}") }
}

// === impl Shape ===

impl Shape {
    pub fn form(&self) -> Form {
        match self {
            Self::Comment { limit } => Form::Comment(CommentForm { limit: *limit }),
            Self::Txt(shape) => Form::Txt(shape.form()),
            Self::None => Form::None,
        }
    }

    pub fn txt(&self) -> Option<&TxtShape> {
        match self {
            Self::Txt(shape) => Some(shape),
            Self::Comment { .. } | Self::None => None,
        }
    }
}

// === impl TxtShape ===

impl TxtShape {
    pub fn form(&self) -> TxtForm {
        TxtForm {
            names: TxtNames::new(self.prefix, self.suffix, self.wildcard).unwrap(),
            signed: self.is_signed,
            encryption: self.is_encrypted.then(|| EncryptionKey::new(ENCRYPTION).unwrap()),
        }
    }

    /// Whether a marker must prove itself, so that an untyped one proves nothing.
    pub fn is_strict(&self) -> bool {
        self.is_signed || self.is_encrypted
    }

    /// A marker's value.
    pub fn value(&self, hand: Hand, place: (&Name, RecordType), holder: &str) -> Rdata {
        let mut text =
            format!("heritage=external-dns,external-dns/owner={},external-dns/resource={holder}", hand.owner);
        if let (true, Some(key)) = (self.is_signed, hand.key) {
            text = format!("{text},external-dns/zk={}", mac(key, place, hand.owner, holder));
        }
        let text = if self.is_encrypted { encrypted(text) } else { text };
        Rdata::from_fields(RecordType::TXT, &[&text]).unwrap()
    }

    /// Where the marker of a set lies.
    pub fn typed(&self, name: &Name, rtype: RecordType) -> Name {
        let typed = rtype.to_string().to_lowercase();
        let (first, rest) = self.parts(name);
        let label = if self.prefix.contains(TYPE) || self.suffix.contains(TYPE) {
            format!("{}{first}{}", self.prefix.replace(TYPE, &typed), self.suffix.replace(TYPE, &typed))
        } else {
            format!("{}{typed}-{first}{}", self.prefix, self.suffix)
        };
        let below = || Name::parse(&format!("_zk-{typed}.{}", name.as_str())).unwrap();
        let marker = Name::parse(&format!("{label}.{rest}")).unwrap_or_else(|_| below());
        if marker.as_str().ends_with(&format!(".{DOMAIN}")) { marker } else { below() }
    }

    /// Where ExternalDNS kept one marker for all types, if that is inside the zone.
    pub fn untyped(&self, name: &Name) -> Option<Name> {
        let (first, rest) = self.parts(name);
        let label = format!("{}{first}{}", self.prefix.replace(TYPE, ""), self.suffix.replace(TYPE, ""));
        let marker = Name::parse(&format!("{label}.{rest}")).ok()?;
        (marker.as_str() == DOMAIN || marker.as_str().ends_with(&format!(".{DOMAIN}"))).then_some(marker)
    }

    fn parts<'a>(&'a self, name: &'a Name) -> (&'a str, &'a str) {
        let (first, rest) = name.as_str().split_once('.').unwrap();
        (if first == "*" && !self.wildcard.is_empty() { self.wildcard } else { first }, rest)
    }
}

/// Encrypting is slow and always gives the same.
fn encrypted(text: String) -> String {
    thread_local!(static SEEN: RefCell<BTreeMap<String, String>> = const { RefCell::new(BTreeMap::new()) });
    SEEN.with_borrow_mut(|seen| {
        let encrypt = || EncryptionKey::new(ENCRYPTION).unwrap().encrypt(&text);
        seen.entry(text.clone()).or_insert_with(encrypt).clone()
    })
}
