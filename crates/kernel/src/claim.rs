//! Whose a live record is: by its marker, or by what a status or this process remembers.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use crate::{
    holder::{Holder, HolderRef},
    marker::{
        Form, Registry,
        comment::{self, CommentForm},
        key::Signature,
        txt::{self, TxtForm},
    },
    name::Name,
    rdata::{Rdata, RecordType},
    record::{Live, LiveRecord, RecordId, of_type},
};

/// Whose a record is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// Ours, for this holder.
    Ours {
        /// Whom the marker, or memory, names.
        holder: HolderRef,
        /// Whether the marker is as we would write it today.
        standing: Standing,
    },
    /// It carries the marker of another owner, or a forged one.
    Foreign {
        /// The owner the marker names, as far as it can be read.
        owner: String,
    },
    /// It carries no marker, and its id is not remembered.
    Unclaimed,
}

/// Whether a marker is as we would write it today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is.
    Current,
    /// It is missing, signed with the previous key, in an older place or form, or in the name of an owner taken over.
    Rewrite,
}

/// Records that are ours though the zone does not say so.
#[derive(Debug, Clone, Default)]
pub enum Known {
    /// None.
    #[default]
    Nothing,
    /// Those that were written by this process or that a RecordSet's status remembers.
    Ids(KnownIds),
    /// All: the zone lives inside this process, and nothing else can write to it.
    Everything,
}

/// Records by their ids, each at the name and type under which it was written: elsewhere it is not ours any more.
#[derive(Debug, Clone, Default)]
pub struct KnownIds(BTreeMap<RecordId, KnownRecord>);

/// A record that is known by its id.
#[derive(Debug, Clone)]
struct KnownRecord {
    name: Name,
    rtype: RecordType,
    holder: HolderRef,
    /// Stands for its value, if it was only seen with our marker: with another value and no marker it is theirs. What we
    /// wrote is ours whatever its value.
    seen_with: Option<u64>,
}

/// A TXT marker found for one set.
#[derive(Debug, Clone)]
pub struct SetMarker<'a> {
    /// The type it claims.
    pub rtype: RecordType,
    /// Where it lies.
    pub name: Name,
    /// The record itself.
    pub record: &'a LiveRecord,
    /// Whose it is.
    pub claim: Claim,
    /// Whether it lies where we would write it.
    pub place: MarkerPlace,
}

/// Whether a TXT marker lies where we would write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkerPlace {
    /// It does.
    Typed,
    /// At ExternalDNS's older, untyped name: read, never written or deleted.
    Legacy,
}

/// Everything that the zone says about the ownership of one name.
#[derive(Debug, Default)]
pub struct NameClaims<'a> {
    /// The data records, each with its claim, sorted as in the zone.
    pub records: Vec<(&'a LiveRecord, Claim)>,
    /// TXT markers for this name, at most one per type.
    pub markers: Vec<SetMarker<'a>>,
}

// === impl Claim ===

impl Claim {
    /// Whether the record is ours.
    pub fn is_ours(&self) -> bool {
        matches!(self, Self::Ours { .. })
    }
}

// === impl Known ===

impl Known {
    fn holder_of(&self, name: &Name, record: &LiveRecord) -> Option<HolderRef> {
        match self {
            Self::Nothing => None,
            Self::Ids(ids) => ids.holder_of(name, record).cloned(),
            Self::Everything => Some(HolderRef::Unnamed),
        }
    }
}

// === impl KnownIds ===

impl KnownIds {
    /// Remembers that a record was written at this place for this holder.
    pub fn insert(&mut self, id: RecordId, (name, rtype): (Name, RecordType), holder: Holder) {
        self.0.insert(id, KnownRecord { name, rtype, holder: HolderRef::Full(holder), seen_with: None });
    }

    /// Remembers a record whose own marker verifies: should that alone be wiped, it is ours all the same.
    pub fn note_marked(&mut self, registry: &Registry, name: &Name, record: &LiveRecord) {
        let Some(marker) = comment::split(&record.comment).marker else { return };
        let is_noted = self.holder_of(name, record).is_some_and(|holder| match holder {
            HolderRef::Full(holder) => holder.as_str() == marker.holder,
            HolderRef::Hash(hash) => **hash == *marker.holder,
            HolderRef::Unnamed => false,
        });
        // To verify a marker takes its time.
        if is_noted || !matches!(registry.form, Form::Comment(_)) {
            return;
        }
        if let Some(Claim::Ours { holder, .. }) = by_comment(registry, name, record) {
            let (name, rtype) = (name.clone(), record.rdata.rtype());
            let seen_with = Some(fingerprint(&record.rdata));
            self.0.insert(record.id.clone(), KnownRecord { name, rtype, holder, seen_with });
        }
    }

    /// Forgets a record.
    pub fn remove(&mut self, id: &RecordId) {
        self.0.remove(id);
    }

    /// Keeps the records with these ids only.
    pub fn keep_only<'a>(&mut self, ids: impl Iterator<Item = &'a RecordId>) {
        self.0 = ids.filter_map(|id| self.0.remove_entry(id)).collect();
    }

    /// Whether no record is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// For whom this record was written here.
    fn holder_of(&self, name: &Name, record: &LiveRecord) -> Option<&HolderRef> {
        let known = self.0.get(&record.id)?;
        let is_here = known.name == *name && known.rtype == record.rdata.rtype();
        let is_same = known.seen_with.is_none_or(|seen| seen == fingerprint(&record.rdata));
        ((is_here && is_same) || crate::mutant::is_on("claim: any place")).then_some(&known.holder)
    }
}

impl FromIterator<(RecordId, (Name, RecordType), Holder)> for KnownIds {
    fn from_iter<I: IntoIterator<Item = (RecordId, (Name, RecordType), Holder)>>(ids: I) -> Self {
        let mut known = Self::default();
        ids.into_iter().for_each(|(id, place, holder)| known.insert(id, place, holder));
        known
    }
}

fn fingerprint(rdata: &Rdata) -> u64 {
    let mut hasher = DefaultHasher::new();
    rdata.hash(&mut hasher);
    hasher.finish()
}

// === impl NameClaims ===

impl<'a> NameClaims<'a> {
    /// Reads the claims on one name.
    ///
    /// Guarantees: a record is `Ours` only if its marker verifies, or if it has no marker and `known`
    /// names it at this name and type. Markers themselves never appear among the records.
    pub fn read(registry: &Registry, known: &Known, live: &'a Live, name: &Name) -> Self {
        let here = live.at(name);
        match &registry.form {
            Form::Comment(_) => Self::by_comments(registry, known, live, name),
            Form::None => {
                let claim =
                    |record: &'a LiveRecord| (record, by_memory(known, name, record, Standing::Current));
                Self { records: here.iter().map(claim).collect(), markers: Vec::new() }
            }
            Form::Txt(form) => Self::by_txt(registry, form, known, live, name),
        }
    }

    /// The marker of one type.
    pub fn marker(&self, rtype: RecordType) -> Option<&SetMarker<'a>> {
        self.markers.iter().find(|marker| marker.rtype == rtype)
    }

    /// Comments claim values; what carries none may belong to a set that ExternalDNS has marked.
    fn by_comments(registry: &Registry, known: &Known, live: &'a Live, name: &Name) -> Self {
        let mut claims = Self::default();
        for record in live.at(name) {
            let claim = match by_comment(registry, name, record) {
                Some(claim) => claim,
                None => match externaldns_marker(registry, live, name, record) {
                    Some(marker) => {
                        let claim = marker.claim.clone();
                        // Texts of other people lie beside an untyped marker without being its data.
                        if marker.place == MarkerPlace::Typed || marker.rtype != RecordType::TXT {
                            claims.markers.push(marker);
                        }
                        claim
                    }
                    None => by_memory(known, name, record, Standing::Rewrite),
                },
            };
            claims.records.push((record, claim));
        }
        claims.markers.dedup_by_key(|marker| marker.rtype);
        claims
    }

    fn by_txt(registry: &Registry, form: &TxtForm, known: &Known, live: &'a Live, name: &Name) -> Self {
        let data: Vec<&LiveRecord> =
            live.at(name).iter().filter(|record| form.read(&record.rdata).is_none()).collect();
        let mut markers: Vec<SetMarker<'a>> = live
            .markers_of(name)
            .iter()
            .filter_map(|(rtype, at)| {
                set_marker(registry, form, live, (name, *rtype), at, MarkerPlace::Typed)
            })
            .collect();
        // A name that reads as the typed marker of another set is that, and claims nothing of its own.
        let legacy = form.names.legacy_marker_of(name, &registry.domain);
        if let Some(at) = legacy.filter(|at| form.names.data_of(at, &registry.domain).is_none()) {
            for rtype in data.iter().map(|record| record.rdata.rtype()) {
                // AAAA sets never had an untyped marker (ExternalDNS case 52).
                if rtype == RecordType::AAAA || markers.iter().any(|marker| marker.rtype == rtype) {
                    continue;
                }
                let marker = set_marker(registry, form, live, (name, rtype), &at, MarkerPlace::Legacy);
                // Another owner's protects all that stands there; ours claims what ExternalDNS wrote by default, and
                // says nothing where markers have to prove themselves.
                markers.extend(marker.filter(|marker| match &marker.claim {
                    Claim::Ours { .. } => {
                        let is_sealed =
                            form.is_sealed() && !crate::mutant::is_on("claim: untyped where sealed");
                        let is_any = crate::mutant::is_on("claim: untyped for all types");
                        !is_sealed && (is_any || matches!(rtype, RecordType::A | RecordType::CNAME))
                    }
                    Claim::Foreign { owner } => owner != registry.owner.as_str(),
                    Claim::Unclaimed => false,
                }));
            }
        }
        let claim = |record: &LiveRecord| {
            let rtype = record.rdata.rtype();
            match markers.iter().find(|marker| marker.rtype == rtype) {
                Some(marker) => marker.claim.clone(),
                None => match other_comment(registry, record) {
                    Some(owner) => Claim::Foreign { owner },
                    None => by_memory(known, name, record, Standing::Rewrite),
                },
            }
        };
        let records = data.into_iter().map(|record| (record, claim(record))).collect();
        Self { records, markers }
    }
}

/// A comment that carries our marker for `holder`, and whether the user's text had to be cut.
pub fn marked_comment(
    registry: &Registry,
    place: (&Name, RecordType),
    holder: &Holder,
    text: &str,
) -> (Box<str>, bool) {
    match &registry.form {
        Form::Comment(form) => {
            let (comment, was_cut) = comment::compose(registry, form, place, holder, text);
            (comment.into(), was_cut)
        }
        Form::Txt(_) | Form::None => (text.into(), false),
    }
}

/// What the user wrote in a comment, our marker aside.
pub fn user_text<'a>(registry: &Registry, comment: &'a str) -> &'a str {
    match &registry.form {
        Form::Comment(_) => comment::split(comment).text,
        Form::Txt(_) | Form::None => comment,
    }
}

/// How much of a user's text fits beside the shortest marker.
pub fn fitting_text<'a>(form: &CommentForm, registry: &Registry, text: &'a str, holder: &Holder) -> &'a str {
    let place = (&registry.domain, RecordType::A);
    let (comment, was_cut) = comment::compose(registry, form, place, holder, text);
    if was_cut { &text[..comment::split(&comment).text.len()] } else { text }
}

fn by_comment(registry: &Registry, name: &Name, record: &LiveRecord) -> Option<Claim> {
    let marker = comment::split(&record.comment).marker?;
    Some(match comment::verify(registry, (name, record.rdata.rtype()), &marker) {
        comment::Verdict::Ours { holder, signature: Signature::Current } if !holder.is_outdated() => {
            Claim::Ours { holder, standing: Standing::Current }
        }
        comment::Verdict::Ours { holder, .. } | comment::Verdict::TakenOver { holder } => {
            Claim::Ours { holder, standing: Standing::Rewrite }
        }
        comment::Verdict::Foreign if crate::mutant::is_on("claim: foreign is free") => Claim::Unclaimed,
        comment::Verdict::Foreign => Claim::Foreign { owner: marker.owner.to_owned() },
    })
}

fn by_memory(known: &Known, name: &Name, record: &LiveRecord, standing: Standing) -> Claim {
    match known.holder_of(name, record) {
        Some(holder) => Claim::Ours { holder, standing },
        None => Claim::Unclaimed,
    }
}

fn set_marker<'a>(
    registry: &Registry,
    form: &TxtForm,
    live: &'a Live,
    place: (&Name, RecordType),
    at: &Name,
    marker_place: MarkerPlace,
) -> Option<SetMarker<'a>> {
    let mut found: Option<SetMarker<'a>> = None;
    for record in of_type(live.at(at), RecordType::TXT) {
        let Some(labels) = form.read(&record.rdata) else { continue };
        let claim = match form.verify(registry, place, &labels) {
            txt::Verdict::Ours { holder, is_current } => Claim::Ours {
                holder,
                standing: match marker_place {
                    MarkerPlace::Typed if is_current => Standing::Current,
                    MarkerPlace::Typed | MarkerPlace::Legacy => Standing::Rewrite,
                },
            },
            txt::Verdict::Foreign { owner } => Claim::Foreign { owner },
        };
        let is_better = found.as_ref().is_none_or(|other| {
            other.claim.is_ours() != claim.is_ours()
                && (other.claim.is_ours() != crate::mutant::is_on("claim: ours beats theirs"))
        });
        // Two markers that disagree: another owner claims the set, too, so it is not ours to change.
        if is_better {
            found = Some(SetMarker { rtype: place.1, name: at.clone(), record, claim, place: marker_place });
        }
    }
    found
}

/// Another owner's ExternalDNS marker for a record, at its default name, seen from a zone with comment markers;
/// none where it is ours or taken over.
fn externaldns_marker<'a>(
    registry: &Registry,
    live: &'a Live,
    name: &Name,
    record: &'a LiveRecord,
) -> Option<SetMarker<'a>> {
    let (form, rtype) = (TxtForm::default(), record.rdata.rtype());
    let is_other = |owner: &str| {
        owner != registry.owner.as_str() && !registry.take_over_from.iter().any(|id| id.as_str() == owner)
    };
    let read = |at: &Name, record: &'a LiveRecord, place: MarkerPlace| {
        let owner = form.read(&record.rdata)?.owner().to_owned();
        let claim = Claim::Foreign { owner: owner.clone() };
        is_other(&owner).then(|| SetMarker { rtype, name: at.clone(), record, claim, place })
    };
    if form.read(&record.rdata).is_some() {
        return read(name, record, MarkerPlace::Legacy);
    }
    let typed = form.names.marker_of(name, rtype, &registry.domain);
    let legacy = form.names.legacy_marker_of(name, &registry.domain).filter(|_| rtype != RecordType::AAAA);
    let places = [(Some(typed), MarkerPlace::Typed), (legacy, MarkerPlace::Legacy)];
    places.into_iter().find_map(|(at, place)| {
        let at = at?;
        of_type(live.at(&at), RecordType::TXT).iter().find_map(|marker| read(&at, marker, place))
    })
}

/// Whose a record is by the marker in its comment, seen from a zone with TXT markers.
fn other_comment(registry: &Registry, record: &LiveRecord) -> Option<String> {
    let marker = comment::split(&record.comment).marker?;
    let is_ours = marker.owner == registry.owner.hash()
        || registry.take_over_from.iter().any(|owner| owner.hash() == marker.owner);
    (!is_ours).then(|| marker.owner.to_owned())
}
