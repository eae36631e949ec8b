//! What nobody outside Cloudflare has verified: each doubt is a knob with two settings.

use serde::{Deserialize, Serialize};

/// Declares one enum per knob (the first setting is the default) and the struct that holds them all.
macro_rules! knobs {
    ($($(#[$doc:meta])* $field:ident: $name:ident { $first:ident, $second:ident })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(rename_all = "snake_case")]
            pub enum $name {
                #[default]
                $first,
                $second,
            }
        )*

        /// The setting of every knob; in JSON, a missing knob keeps its default.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Knobs {
            /// Overrides the number of records that a plan allows in a zone.
            pub record_quota: RecordQuota,
            $($(#[$doc])* pub $field: $name,)*
        }
    };
}

/// How many records a zone may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordQuota {
    #[default]
    ByPlan,
    Off,
    Fixed(usize),
}

knobs! {
    /// `total_pages` of an empty list: 0 or 1.
    empty_list_pages: EmptyListPages { Zero, One }
    /// Whether `settings` is shown on types that can't be proxied.
    settings_shown: SettingsShown { Always, ProxiableOnly }
    /// Whether hostnames in content are lower-cased.
    hostname_case: HostnameCase { Lower, Keep }
    /// Whether quotes are added to TXT content that came without.
    unquoted_txt: UnquotedTxt { Verbatim, Quoted }
    /// Whether unquoted TXT content over 255 bytes is quoted and split.
    long_unquoted_txt: LongUnquotedTxt { OneString, Chunked }
    /// TXT content with a quote that never closes.
    unbalanced_txt: UnbalancedTxt { Refuse, Keep }
    /// TXT content that is empty.
    empty_txt: EmptyTxt { Refuse, Accept }
    /// TXT records at a delegated name.
    txt_beside_ns: TxtBesideNs { Refuse, Accept }
    /// A PATCH to `proxied:true` is honoured, or reported as success and forgotten.
    late_proxy: LateProxy { Honoured, Forgotten }
    /// A well-formed token that nobody issued: code 9109 or 10000, both with 403.
    unknown_token: UnknownToken { InvalidAccessToken, AuthenticationError }
    /// An unknown key and email (code 9103): 403 or 400.
    unknown_key: UnknownKey { Forbidden, BadRequest }
    /// Verifying an expired or disabled token: its status, or a refusal.
    inactive_verify: InactiveVerify { Status, Refuse }
    /// Verifying an unknown token (code 1000): 401 or 403.
    unknown_verify: UnknownVerify { Unauthorized, Forbidden }
    /// `GET /zones` with a token for some zones only: those zones, or a refusal.
    scoped_zone_list: ScopedZoneList { Filter, Deny }
    /// `per_page` outside 5..50 on `/zones`.
    zone_page_size: ZonePageSize { Clamp, Refuse }
    /// The largest page of records: the schema's 5,000,000 or the documented 5,000.
    record_page_max: RecordPageMax { Schema, Documented }
    /// Whether a new zone's name counts as registered; else code 1049.
    zone_registration: ZoneRegistration { Assumed, Denied }
    /// Creating a zone without an account.
    zone_without_account: ZoneWithoutAccount { Refuse, UseDefault }
    /// Whether the account is enabled for secondary zones; the code of the refusal is unverified.
    secondary_zones: SecondaryZones { Refuse, Accept }
    /// A zone id that is well formed but unknown: 10000/403 or 1001/404.
    unknown_zone: UnknownZone { Forbidden, NotFound }
    /// An id that isn't 32 hex digits (code 7003): 404 or 400.
    malformed_id: MalformedId { NotFound, BadRequest }
    /// A record id that is well formed but unknown (code 81044): 404 or 400.
    missing_record: MissingRecord { NotFound, BadRequest }
    /// Zone names in the `zones` endpoints: Punycode or Unicode.
    zone_names: ZoneNames { Punycode, Unicode }
    /// `service`, `proto` and `name` inside SRV data, deprecated since 2024.
    srv_service_fields: SrvServiceFields { Accept, Refuse }
    /// Typed records written by `content` instead of `data`.
    typed_content: TypedContent { Refuse, Parse }
    /// The code for a `data` value out of range: 9007 or 9101.
    data_range_error: DataRangeError { ContentInvalid, DataInvalid }
    /// A DS record at a name without NS.
    ds_without_ns: DsWithoutNs { Refuse, Accept }
    /// The content of a URI record: `weight "target"` or `weight target`.
    uri_content: UriContent { Quoted, Bare }
    /// The code for an identical record: 81058 today, 81057 until 2024.
    identical_record: IdenticalRecord { Code81058, Code81057 }
    /// A full name that lies outside the zone.
    name_outside_zone: NameOutsideZone { Append, Refuse }
    /// Whether a PATCH that changes nothing moves `modified_on`.
    identical_patch: IdenticalPatch { Moves, Stays }
    /// The HTTP status of a write to a read-only record: 400 or 403.
    read_only_write: ReadOnlyWrite { BadRequest, Forbidden }
    /// A batch with no operations.
    empty_batch: EmptyBatch { Accept, Refuse }
    /// The HTTP status of a batch that is too long: 400 or 413.
    oversized_batch: OversizedBatch { BadRequest, TooLarge }
    /// PUT, PATCH or DELETE of records without an id (code 10000): 405 or 403.
    write_without_id: WriteWithoutId { NotAllowed, Forbidden }
    /// More than 20 tags on a paid plan.
    paid_tag_limit: PaidTagLimit { Enforced, Ignored }
    /// A known path with a method that it lacks: 405, or 404 with code 7003.
    wrong_method: WrongMethod { NotAllowed, Unroutable }
    /// The code of the rate limit: 10429 since 2025, 971 before.
    rate_limit_code: RateLimitCode { Code10429, Code971 }
    /// Errors of record validation: flat, or the legacy 1004 with an `error_chain`.
    validation_shape: ValidationShape { Flat, Chained }
}
