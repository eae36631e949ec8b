//! The TXT form: ExternalDNS's own labels, byte for byte, and our optional signature among them.

use std::collections::BTreeMap;

use crate::{
    holder::{Holder, HolderRef, OwnerId},
    marker::{
        Registry,
        crypto::EncryptionKey,
        key::{Signature, Statement},
        txt_names::TxtNames,
    },
    name::Name,
    rdata::{Rdata, RecordType},
};

const HERITAGE: &str = "heritage=external-dns";
const LABEL: &str = "external-dns/";

/// Settings of the TXT form.
#[derive(Debug, Clone, Default)]
pub struct TxtForm {
    /// Where markers lie.
    pub names: TxtNames,
    /// Whether our markers carry a MAC, and are believed only with one.
    pub signed: bool,
    /// Encrypts what is written; what does not decrypt is read as plain text, as ExternalDNS does.
    pub encryption: Option<EncryptionKey>,
}

/// The labels of a marker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels(BTreeMap<String, String>);

/// What a TXT marker is worth to us.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Our own; `is_current` unless it must be written again.
    Ours { holder: HolderRef, is_current: bool },
    /// Another owner's.
    Foreign { owner: String },
}

// === impl Labels ===

impl Labels {
    /// Reads the plain text of a marker; none without ExternalDNS's heritage.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
        let mut has_heritage = false;
        let mut labels = BTreeMap::new();
        for token in text.split(',') {
            if token == HERITAGE {
                has_heritage = true;
            } else if let Some((key, value)) =
                token.strip_prefix(LABEL).and_then(|label| label.split_once('='))
            {
                labels.insert(key.to_owned(), value.to_owned());
            }
        }
        has_heritage.then_some(Self(labels))
    }

    /// The plain text of a marker: heritage first, then the labels by key.
    pub fn text(&self) -> String {
        let mut text = HERITAGE.to_owned();
        for (key, value) in &self.0 {
            text.push_str(&format!(",{LABEL}{key}={value}"));
        }
        text
    }

    /// The owner id; empty where none is named.
    pub fn owner(&self) -> &str {
        self.get("owner").unwrap_or_default()
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}

// === impl TxtForm ===

impl TxtForm {
    /// Whether markers prove where they come from. Untyped ones prove nothing: their text fits every name.
    pub fn is_sealed(&self) -> bool {
        self.signed || self.encryption.is_some()
    }

    /// The labels in a TXT record's value; none where it is no marker.
    pub fn read(&self, rdata: &Rdata) -> Option<Labels> {
        let text = text_of(rdata)?;
        let decrypted = self.encryption.as_ref().and_then(|key| key.decrypt(&text));
        Labels::parse(decrypted.as_deref().unwrap_or(&text))
    }

    /// The value of the marker that claims one set.
    pub fn write(&self, registry: &Registry, place: (&Name, RecordType), holder: &Holder) -> Rdata {
        let mut labels = BTreeMap::from([
            ("owner".to_owned(), registry.owner.as_str().to_owned()),
            ("resource".to_owned(), holder.as_str().to_owned()),
        ]);
        if self.signed
            && let Some(mac) = registry.keys.sign(statement(registry, place, holder.as_str()))
        {
            labels.insert("zk".into(), mac);
        }
        let plain = Labels(labels).text();
        let text = match &self.encryption {
            Some(key) => key.encrypt(&plain),
            None => plain,
        };
        Rdata::from_fields(RecordType::TXT, &[&text]).expect("a marker is shorter than any limit of TXT")
    }

    /// Whom a marker names, and whether we believe it.
    pub(crate) fn verify(&self, registry: &Registry, place: (&Name, RecordType), labels: &Labels) -> Verdict {
        let owner = labels.owner();
        let resource = labels.get("resource");
        let holder = resource.map_or(HolderRef::Unnamed, |text| HolderRef::Full(Holder::from_text(text)));
        if owner == registry.owner.as_str() && !owner.is_empty() {
            let signature = match self.signed {
                true => {
                    let statement = statement(registry, place, resource.unwrap_or_default());
                    registry.keys.verify(statement, labels.get("zk"))
                }
                false => Signature::Current,
            };
            if signature != Signature::Bad || crate::mutant::is_on("marker: of another name") {
                return Verdict::Ours { holder, is_current: signature == Signature::Current };
            }
        }
        if registry.take_over_from.contains(&OwnerId::new(owner)) {
            return Verdict::Ours { holder, is_current: false };
        }
        Verdict::Foreign { owner: owner.to_owned() }
    }
}

/// Whether a user's TXT value would read as a marker.
pub fn is_reserved(rdata: &Rdata) -> bool {
    text_of(rdata).is_some_and(|text| Labels::parse(&text).is_some())
}

fn statement<'a>(registry: &'a Registry, place: (&'a Name, RecordType), holder: &'a str) -> Statement<'a> {
    Statement { domain: &registry.domain, name: place.0, rtype: place.1, owner: &registry.owner, holder }
}

/// The strings of a TXT value, joined: a marker over 255 octets is several of them.
fn text_of(rdata: &Rdata) -> Option<String> {
    if rdata.rtype() != RecordType::TXT {
        return None;
    }
    let (mut joined, mut wire) = (Vec::new(), rdata.wire());
    while let Some((length, rest)) = wire.split_first() {
        let (string, tail) = rest.split_at_checked(usize::from(*length))?;
        joined.extend_from_slice(string);
        wire = tail;
    }
    String::from_utf8(joined).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marker::{Form, key::MarkerKeys};

    fn registry(key: Option<&[u8]>) -> Registry {
        Registry {
            domain: Name::parse("example.com").unwrap(),
            owner: OwnerId::new("default"),
            take_over_from: Vec::new(),
            keys: MarkerKeys::new(key, None),
            form: Form::None,
        }
    }

    fn www() -> Name {
        Name::parse("www.example.com").unwrap()
    }

    #[test]
    fn the_value_is_externaldns_own_byte_for_byte() {
        let value = TxtForm::default().write(
            &registry(None),
            (&www(), RecordType::A),
            &Holder::new("ingress", "shop", "web"),
        );
        assert_eq!(
            value.to_string(),
            "\"heritage=external-dns,external-dns/owner=default,external-dns/resource=ingress/shop/web\""
        );
    }

    #[test]
    fn a_signed_marker_is_believed_only_in_its_place() {
        let registry = registry(Some(b"secret"));
        let form = TxtForm { signed: true, ..TxtForm::default() };
        let value = form.write(&registry, (&www(), RecordType::A), &Holder::new("ingress", "shop", "web"));
        let labels = form.read(&value).unwrap();
        assert!(labels.text().contains(",external-dns/zk="));
        assert!(matches!(form.verify(&registry, (&www(), RecordType::A), &labels), Verdict::Ours { .. }));
        let foreign = Verdict::Foreign { owner: "default".into() };
        assert_eq!(form.verify(&registry, (&www(), RecordType::AAAA), &labels), foreign);
        let unsigned = Labels::parse("heritage=external-dns,external-dns/owner=default").unwrap();
        assert_eq!(form.verify(&registry, (&www(), RecordType::A), &unsigned), foreign);
    }

    /// Case 51 of ExternalDNS's catalogue.
    #[test]
    fn a_text_without_heritage_is_an_ordinary_record() {
        let plain = Rdata::parse(RecordType::TXT, "v=spf1 -all").unwrap();
        assert_eq!(TxtForm::default().read(&plain), None);
        assert!(!is_reserved(&plain));
        let forged = Rdata::parse(RecordType::TXT, "heritage=external-dns,external-dns/owner=x").unwrap();
        assert!(is_reserved(&forged));
    }

    #[test]
    fn another_owner_is_foreign_until_taken_over() {
        let labels = Labels::parse("heritage=external-dns,external-dns/owner=other").unwrap();
        let (form, mut registry) = (TxtForm::default(), registry(None));
        let place = (&www(), RecordType::A);
        assert!(matches!(form.verify(&registry, place, &labels), Verdict::Foreign { .. }));
        registry.take_over_from.push(OwnerId::new("other"));
        let taken = Verdict::Ours { holder: HolderRef::Unnamed, is_current: false };
        assert_eq!(form.verify(&registry, place, &labels), taken);
    }
}
