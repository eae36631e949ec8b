//! A provider that is as particular as one can be: automatic TTLs, a proxy, comments, and rules of its own on what stands together.

use zonekeeper_kernel::{
    attribute::{Attribute, Comparison, Elsewhere, FLATTEN_CNAME, PROXIED, Schema, TAGS, TtlRule},
    capability::{Capabilities, Exclusion, Names, Types},
    rdata::RecordType as T,
    record::Ttl,
};

/// What its zones can hold.
pub fn proxying() -> Capabilities {
    let proxied = Attribute {
        elsewhere: Elsewhere::Refused("can't be proxied; remove proxied"),
        ttl: TtlRule::Automatic,
        adoption: Comparison::Compared,
        ..Attribute::flag(PROXIED, Types::only([T::A, T::AAAA, T::CNAME]))
    };
    let flatten = Attribute::flag(FLATTEN_CNAME, Types::only([T::CNAME]));
    Capabilities {
        types: Types::all_but([T::DNAME, T::SOA]),
        exclusions: vec![
            Exclusion { rtype: T::CNAME, excludes: Types::only([T::A, T::AAAA, T::NS]), at: Names::Every },
            Exclusion { rtype: T::NS, excludes: Types::all_but([T::DS]), at: Names::BelowApex },
        ],
        attributes: Schema { attributes: vec![proxied, flatten, Attribute::list(TAGS)], ..Schema::default() },
        comment_limit: Some(100),
        default_ttl: Ttl::AUTOMATIC,
        minimum_ttl: 60,
        maximum_ttl: 86_400,
    }
}
