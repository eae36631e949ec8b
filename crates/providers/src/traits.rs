//! What is true of a zone for as long as it is open, as one value.

use zonekeeper_kernel::{capability::Capabilities, zone_change::AUTHORITY};

/// What can be configured of zones whose SOA and apex NS we write.
pub(crate) const AUTHORITY_FIELDS: &[&str] = &[AUTHORITY];

/// What is true of a zone for as long as it is open.
#[derive(Debug, Clone)]
pub struct ZoneTraits {
    /// The provider's identifier of the zone.
    pub id: String,
    /// The servers that answer for it, where the provider says.
    pub name_servers: Vec<String>,
    /// What it can hold.
    pub capabilities: Capabilities,
    /// What a listing shows.
    pub listing: Listing,
    /// How many calls a listing takes; reading some names takes one per name.
    pub calls_to_list: Calls,
    /// What is known of a record when it is changed.
    pub writes: Writes,
    /// Whether identifiers come again.
    pub ids: Ids,
    /// What can be configured of the zone itself: names of fields, or all that begin with one that ends in a dot.
    pub zone_fields: &'static [&'static str],
    /// Whether the zone itself can be deleted.
    pub removal: Removal,
}

/// Whether a zone can be deleted at its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// It can.
    Possible,
    /// It can't.
    Impossible,
}

/// What a listing shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// All that is there.
    Everything,
    /// The names that were asked for with `ZoneAccess::watch_names`, and no others.
    WatchedNames,
}

/// How many calls a listing takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// As many for every zone.
    Fixed(usize),
    /// One per so many records.
    PerPage(usize),
}

/// What is known of a record when it is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Nothing: the change is made whatever is there.
    Blind,
    /// A change is made only if what it touches is as it was read.
    Compared,
}

/// Whether identifiers of records come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ids {
    /// No other record ever gets one.
    Unique,
    /// A record that goes and comes again has the one that it had.
    Reused,
}

// === impl ZoneTraits ===

impl ZoneTraits {
    /// A zone that is listed whole in one call and written blindly, under unique identifiers.
    pub fn new(id: impl Into<String>, capabilities: Capabilities) -> Self {
        Self {
            id: id.into(),
            name_servers: Vec::new(),
            capabilities,
            listing: Listing::Everything,
            calls_to_list: Calls::Fixed(1),
            writes: Writes::Blind,
            ids: Ids::Unique,
            zone_fields: &[],
            removal: Removal::Impossible,
        }
    }

    /// Whether a field of the zone itself can be configured.
    pub fn has_zone_field(&self, field: &str) -> bool {
        self.zone_fields.iter().any(|known| match known.ends_with('.') {
            true => field.starts_with(known),
            false => field == *known,
        })
    }
}

// === impl Calls ===

impl Calls {
    /// For a zone of this size.
    pub fn of(self, records: usize) -> usize {
        match self {
            Self::Fixed(calls) => calls,
            Self::PerPage(page) => records.div_ceil(page.max(1)).max(1),
        }
    }
}
