//! What a zone at Cloudflare can hold (2026-11).

use zonekeeper_kernel::{
    attribute::{
        Attribute, Comparison, Elsewhere, FLATTEN_CNAME, IPV4_ONLY, IPV6_ONLY, PROXIED, Schema, TAGS, TtlRule,
    },
    capability::{Capabilities, Exclusion, Names, Types},
    rdata::RecordType as T,
    record::Ttl,
};

/// The types of its API.
const TYPES: [T; 21] = [
    T::A,
    T::AAAA,
    T::CAA,
    T::CERT,
    T::CNAME,
    T::DNSKEY,
    T::DS,
    T::HTTPS,
    T::LOC,
    T::MX,
    T::NAPTR,
    T::NS,
    T::OPENPGPKEY,
    T::PTR,
    T::SMIMEA,
    T::SRV,
    T::SSHFP,
    T::SVCB,
    T::TLSA,
    T::TXT,
    T::URI,
];
/// The types that its proxy can stand in for.
pub(super) const PROXIABLE: [T; 3] = [T::A, T::AAAA, T::CNAME];

/// What a zone can hold; the plan decides the smallest TTL and how long comments may be.
pub fn capabilities(minimum_ttl: u32, comment_limit: usize) -> Capabilities {
    Capabilities {
        types: Types::only(TYPES),
        // A CNAME may stand beside records that it does not answer for.
        exclusions: vec![
            Exclusion { rtype: T::CNAME, excludes: Types::only([T::A, T::AAAA, T::NS]), at: Names::Every },
            Exclusion { rtype: T::NS, excludes: Types::all_but([T::DS]), at: Names::BelowApex },
        ],
        attributes: schema(),
        comment_limit: Some(comment_limit),
        default_ttl: Ttl::AUTOMATIC,
        minimum_ttl,
        maximum_ttl: 86_400,
    }
}

/// The same where the plan is not known: the largest one refuses least.
pub(crate) fn of_largest_plan() -> Capabilities {
    capabilities(30, 500)
}

fn schema() -> Schema {
    let proxied = Attribute {
        elsewhere: Elsewhere::Refused("can't be proxied; remove cloudflare.proxied"),
        ttl: TtlRule::Automatic,
        adoption: Comparison::Compared,
        ..Attribute::flag(PROXIED, Types::only(PROXIABLE))
    };
    let settings = [
        Attribute::flag(FLATTEN_CNAME, Types::only([T::CNAME])),
        Attribute::flag(IPV4_ONLY, Types::Every),
        Attribute::flag(IPV6_ONLY, Types::Every),
    ];
    let attributes = [proxied].into_iter().chain(settings).chain([Attribute::list(TAGS)]);
    Schema { attributes: attributes.collect(), ..Schema::default() }
}
