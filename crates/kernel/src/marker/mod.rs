//! The three ways in which a zone itself remembers whose a record is.

pub mod comment;
pub mod crypto;
pub mod key;
pub mod txt;
pub mod txt_names;

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    holder::OwnerId,
    marker::{comment::CommentForm, key::MarkerKeys, txt::TxtForm},
    name::Name,
    rdata::{Rdata, RecordType},
    record::{Live, LiveRecord, MarkerIndex},
};

/// How ownership is remembered in one zone, and which owner ids count as ours.
#[derive(Debug, Clone)]
pub struct Registry {
    /// The zone's domain; part of every MAC, so that a marker can't be carried to another zone.
    pub domain: Name,
    /// Our own id.
    pub owner: OwnerId,
    /// Ids whose markers are trusted as they are, and rewritten to ours.
    pub take_over_from: Vec<OwnerId>,
    /// Keys that sign and verify; none in a folder without a key.
    pub keys: MarkerKeys,
    /// Where the marker is kept.
    pub form: Form,
}

/// Where the marker is kept.
#[derive(Debug, Clone)]
pub enum Form {
    /// In the comment of each record.
    Comment(CommentForm),
    /// In a TXT record beside each set, in ExternalDNS's format.
    Txt(TxtForm),
    /// Nowhere: only what this process, or a RecordSet's status, remembers.
    None,
}

// === impl Registry ===

impl Registry {
    /// A registry that writes no markers.
    pub fn none(domain: Name) -> Self {
        Self {
            domain,
            owner: OwnerId::new(""),
            take_over_from: Vec::new(),
            keys: MarkerKeys::default(),
            form: Form::None,
        }
    }

    /// All names that say something of a set: its own, and those of markers of these types.
    pub fn names_about(&self, data: &Name, types: impl IntoIterator<Item = RecordType>) -> BTreeSet<Name> {
        let mut names = BTreeSet::from([data.clone()]);
        if let Form::Txt(form) = &self.form {
            names.extend(types.into_iter().map(|rtype| form.names.marker_of(data, rtype, &self.domain)));
            names.extend(form.names.legacy_marker_of(data, &self.domain));
        }
        names
    }

    /// Whether a value would be read as a marker, in any form that this registry reads: such a value can't be asked for.
    pub fn reads_as_marker(&self, rdata: &Rdata) -> bool {
        let is_sealed =
            |form: &TxtForm| !crate::mutant::is_on("marker: copies admitted") && form.read(rdata).is_some();
        txt::is_reserved(rdata) || matches!(&self.form, Form::Txt(form) if is_sealed(form))
    }

    /// Whether markers are signed, so that they can't be read without a key.
    pub fn is_signed(&self) -> bool {
        match &self.form {
            Form::Comment(_) => true,
            Form::Txt(form) => form.signed,
            Form::None => false,
        }
    }

    /// Whether our own id is written in a zone, truly or not.
    pub fn is_named_in(&self, live: &Live) -> bool {
        let names_us = |record: &LiveRecord| match &self.form {
            Form::Comment(_) => {
                comment::split(&record.comment).marker.is_some_and(|marker| marker.owner == self.owner.hash())
            }
            Form::Txt(form) => {
                form.read(&record.rdata).is_some_and(|labels| labels.owner() == self.owner.as_str())
            }
            Form::None => false,
        };
        live.iter().any(|(_, records)| records.iter().any(names_us))
    }

    /// The index by which [`crate::record::Live`] finds TXT markers of a name.
    pub fn marker_index(&self) -> Option<MarkerIndex> {
        match &self.form {
            Form::Txt(form) => {
                let (names, domain) = (form.names.clone(), self.domain.clone());
                Some(Arc::new(move |name| names.data_of(name, &domain)))
            }
            Form::Comment(_) | Form::None => None,
        }
    }
}
