//! The custom resources of `zonekeeper.dev/v1alpha1` and their schema rules, no behaviour.
//!
//! Decoding is lenient: the API server prunes unknown fields and checks every rule at admission, and the folder
//! reader reports both. Absent options are never written as nulls.

#![deny(missing_docs)]

mod addresssource;
mod authority;
mod backend;
mod condition;
mod crd;
mod dnsprovider;
mod dnszone;
mod duration;
mod grant;
mod history;
mod plan;
mod reason;
mod recordset;
mod references;
mod registry;
mod safety;
mod selector;
mod shape;
mod sources;
mod zoneconfig;
mod zonestatus;

pub mod rbac;
pub mod wellknown;

pub use addresssource::{
    AddressFamily, AddressSource, AddressSourceSpec, AddressSourceStatus, HttpMethod, HttpSource,
};
pub use authority::{Authority, Soa};
pub use backend::{
    BuiltinBackend, CloudflareBackend, Rfc2136Backend, Transport, WebhookBackend, ZoneReading,
};
pub use condition::ConditionType;
pub use crd::{crds, crds_yaml, schema_of, yaml_of};
pub use dnsprovider::{DNSProvider, DNSProviderSpec, DNSProviderStatus, RateLimit, VisibleZone};
pub use dnszone::{CloudflareDefaults, DNSZone, DNSZoneSpec, Drift, Policy, Selection, ZoneDefaults};
pub use duration::{GoDuration, InvalidDuration};
pub use grant::{AllowedRecords, NameLimits, RecordsFrom};
pub use history::{AppliedChange, AppliedOperation, ChangeCause};
pub use plan::{Operation, PlanStatus, PlannedChange, PlannedSet, PlannedState};
pub use reason::{Reason, UnknownReason};
pub use recordset::{
    CloudflareRecord, CloudflareSettings, RecordSet, RecordSetSpec, RecordSetStatus, RecordSummary,
    ValuesFrom, WrittenRecord, WrittenZone,
};
pub use references::{
    AddressSourceReference, EncryptionKeyReference, LocalSecretReference, MarkerKeyReference, ProviderKind,
    ProviderReference, SecretReference, TokenSecretReference, ZoneReference,
};
pub use registry::{Registry, RegistryType, TxtRegistry};
pub use safety::{Adoption, DeletionPolicy, Guard, Prune, PruneIgnore, PruneMode};
pub use selector::{NamespaceSelection, NamespacesFrom};
pub use shape::RECORD_TYPES;
pub use sources::{Dialect, SourceKind, Sources};
pub use zoneconfig::{
    CloudflareHold, CloudflareZone, CloudflareZoneType, Delegation, DelegationStatus, DnssecMode, DnssecSpec,
    DnssecStatus, DsRecord, Lifecycle, Primary, ZoneStanding,
};
pub use zonestatus::{DNSZoneStatus, GuardStatus, RecordCounts};

/// The API group of all kinds.
pub const GROUP: &str = "zonekeeper.dev";

/// The only version so far.
pub const VERSION: &str = "v1alpha1";

/// `apiVersion` of all kinds.
pub const API_VERSION: &str = "zonekeeper.dev/v1alpha1";
