//! The 21 record types: one row each, walked by validation, rendering and zone files.

/// A record type. Adding one is adding a row.
#[derive(Debug)]
pub struct Kind {
    pub name: &'static str,
    pub content: Content,
    pub priority: Priority,
    pub proxy: Proxy,
    pub rule: Rule,
    /// The fields of `data`, in the order of the presentation format.
    pub fields: &'static [Field],
}

/// What `content` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Ipv4,
    Ipv6,
    Host,
    /// A host, or `.` for "no mail here".
    MailHost,
    Text,
    Base64,
    /// The shown fields of `data`, joined by spaces; read-only.
    Derived,
}

/// Where `priority` lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    None,
    /// Top-level and required.
    Beside,
    /// A field of `data`, mirrored at top level.
    Within,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proxy {
    Possible,
    Never,
}

/// What one type demands and no other does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    None,
    /// Content differs from the name.
    NotItself,
    /// The zone has multi-signer DNSSEC.
    NeedsMultiSigner,
    /// The name has NS records.
    NeedsDelegation,
}

#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub form: Form,
    pub shown: Shown,
    pub need: Need,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    Integer { max: u32 },
    Decimal { min: f64, max: f64, places: usize },
    Host(Dot),
    Text,
    Word,
    Hex,
    Base64,
    OneOf(&'static [&'static str]),
}

/// Whether a hostname inside `data` keeps its trailing dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dot {
    Strip,
    Keep,
}

/// How a field appears in `content`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    Plain,
    Quoted,
    Hidden,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Required,
    /// 0 when missing.
    OrZero,
}

pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

pub static KINDS: [Kind; 21] = [
    proxiable("A", Content::Ipv4),
    proxiable("AAAA", Content::Ipv6),
    typed("CAA", &[int("flags", BYTE), word("tag"), quoted("value")]),
    typed(
        "CERT",
        &[int("type", SHORT), int("key_tag", SHORT), int("algorithm", BYTE), base64("certificate")],
    ),
    Kind { rule: Rule::NotItself, ..proxiable("CNAME", Content::Host) },
    Kind {
        rule: Rule::NeedsMultiSigner,
        ..typed(
            "DNSKEY",
            &[int("flags", SHORT), int("protocol", BYTE), int("algorithm", BYTE), base64("public_key")],
        )
    },
    Kind {
        rule: Rule::NeedsDelegation,
        ..typed(
            "DS",
            &[int("key_tag", SHORT), int("algorithm", BYTE), int("digest_type", BYTE), hex("digest")],
        )
    },
    typed("HTTPS", SERVICE),
    typed("LOC", LOCATION),
    Kind { priority: Priority::Beside, ..plain("MX", Content::MailHost) },
    typed(
        "NAPTR",
        &[
            int("order", SHORT),
            int("preference", SHORT),
            quoted("flags"),
            quoted("service"),
            quoted("regex"),
            host("replacement", Dot::Keep),
        ],
    ),
    plain("NS", Content::Host),
    plain("OPENPGPKEY", Content::Base64),
    plain("PTR", Content::Host),
    typed("SMIMEA", CERTIFICATE_ASSOCIATION),
    Kind {
        priority: Priority::Within,
        ..typed(
            "SRV",
            &[
                Field { shown: Shown::Hidden, ..int("priority", SHORT) },
                int("weight", SHORT),
                int("port", SHORT),
                host("target", Dot::Strip),
            ],
        )
    },
    typed("SSHFP", &[int("algorithm", BYTE), int("type", BYTE), hex("fingerprint")]),
    typed("SVCB", SERVICE),
    typed("TLSA", CERTIFICATE_ASSOCIATION),
    plain("TXT", Content::Text),
    Kind { priority: Priority::Beside, ..typed("URI", &[int("weight", SHORT), quoted("target")]) },
];

const BYTE: u32 = 255;
const SHORT: u32 = 65_535;

const SERVICE: &[Field] = &[int("priority", SHORT), host("target", Dot::Keep), text("value")];

const CERTIFICATE_ASSOCIATION: &[Field] =
    &[int("usage", BYTE), int("selector", BYTE), int("matching_type", BYTE), hex("certificate")];

const LOCATION: &[Field] = &[
    int("lat_degrees", 90),
    or_zero(int("lat_minutes", 59)),
    or_zero(decimal("lat_seconds", 0.0, 59.999, 3)),
    one_of("lat_direction", &["N", "S"]),
    int("long_degrees", 180),
    or_zero(int("long_minutes", 59)),
    or_zero(decimal("long_seconds", 0.0, 59.999, 3)),
    one_of("long_direction", &["E", "W"]),
    or_zero(decimal("altitude", -100_000.0, 42_849_672.95, 2)),
    or_zero(decimal("size", 0.0, 90_000_000.0, 2)),
    or_zero(decimal("precision_horz", 0.0, 90_000_000.0, 2)),
    or_zero(decimal("precision_vert", 0.0, 90_000_000.0, 2)),
];

const fn plain(name: &'static str, content: Content) -> Kind {
    Kind { name, content, priority: Priority::None, proxy: Proxy::Never, rule: Rule::None, fields: &[] }
}

const fn proxiable(name: &'static str, content: Content) -> Kind {
    Kind { proxy: Proxy::Possible, ..plain(name, content) }
}

const fn typed(name: &'static str, fields: &'static [Field]) -> Kind {
    Kind { fields, ..plain(name, Content::Derived) }
}

const fn field(name: &'static str, form: Form) -> Field {
    Field { name, form, shown: Shown::Plain, need: Need::Required }
}

const fn int(name: &'static str, max: u32) -> Field {
    field(name, Form::Integer { max })
}

const fn decimal(name: &'static str, min: f64, max: f64, places: usize) -> Field {
    field(name, Form::Decimal { min, max, places })
}

const fn or_zero(field: Field) -> Field {
    Field { need: Need::OrZero, ..field }
}

const fn host(name: &'static str, dot: Dot) -> Field {
    field(name, Form::Host(dot))
}

const fn word(name: &'static str) -> Field {
    field(name, Form::Word)
}

const fn text(name: &'static str) -> Field {
    field(name, Form::Text)
}

const fn quoted(name: &'static str) -> Field {
    Field { shown: Shown::Quoted, ..field(name, Form::Text) }
}

const fn hex(name: &'static str) -> Field {
    field(name, Form::Hex)
}

const fn base64(name: &'static str) -> Field {
    field(name, Form::Base64)
}

const fn one_of(name: &'static str, words: &'static [&'static str]) -> Field {
    field(name, Form::OneOf(words))
}
