//! Names that stand outside the schemas: annotations, finalizers, keys of Secrets, objects that we ship.

/// On a DNSZone: the hash of the held changes that may go on, once.
pub const APPROVE_PLAN: &str = "zonekeeper.dev/approve-plan";

/// On a DNSZone, written by `zonekeeper approve`: the hash and the person who approved it, separated by a space.
pub const APPROVED_BY: &str = "zonekeeper.dev/approved-by";

/// On an object that is being deleted: `"true"` lets it go although its records could not be removed.
pub const RELEASE: &str = "zonekeeper.dev/release";

/// On any of our objects: a new value asks for a reconcile now (`flux reconcile` and people write it).
pub const RECONCILE_REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";

/// Prefix of our own annotations on Services, Ingresses, Gateways and routes.
pub const PREFIX: &str = "zonekeeper.dev/";

/// Source annotation: names to publish, separated by commas.
pub const HOSTNAME: &str = "zonekeeper.dev/hostname";

/// Source annotation: names to publish with the internal address.
pub const INTERNAL_HOSTNAME: &str = "zonekeeper.dev/internal-hostname";

/// Source annotation: values in place of the object's own addresses.
pub const TARGET: &str = "zonekeeper.dev/target";

/// Source annotation: TTL in seconds, or a duration.
pub const TTL: &str = "zonekeeper.dev/ttl";

/// Source annotation: whether Cloudflare proxies the names.
pub const PROXIED: &str = "zonekeeper.dev/proxied";

/// Source annotation: the comment at Cloudflare.
pub const COMMENT: &str = "zonekeeper.dev/comment";

/// Source annotation: the tags at Cloudflare.
pub const TAGS: &str = "zonekeeper.dev/tags";

/// Source annotation: the zones that take the names, `namespace/name`, separated by commas.
pub const ZONE: &str = "zonekeeper.dev/zone";

/// Source annotation: `"true"` means never publish.
pub const IGNORE: &str = "zonekeeper.dev/ignore";

/// Every annotation of our own dialect.
pub const SOURCE_ANNOTATIONS: [&str; 9] =
    [HOSTNAME, INTERNAL_HOSTNAME, TARGET, TTL, PROXIED, COMMENT, TAGS, ZONE, IGNORE];

/// ExternalDNS's prefixes; the first wins.
pub const EXTERNAL_DNS_PREFIXES: [&str; 2] =
    ["external-dns.kubernetes.io/", "external-dns.alpha.kubernetes.io/"];

/// cloudflare-operator's prefix.
pub const CLOUDFLARE_OPERATOR_PREFIX: &str = "cloudflare-operator.io/";

/// Annotation on a DNSZone: fields of the zone itself that are not managed any more get the values that they had before, as
/// `status.zone.initial` has them.
pub const RESTORE_ZONE: &str = "zonekeeper.dev/restore-zone";

/// Annotation of objects that the operator makes: the installation that looks after them.
pub const CONTROLLER: &str = "zonekeeper.dev/controller-name";

/// Label of objects that the operator makes.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// Its value, and the field manager of all that the operator writes.
pub const MANAGER: &str = "zonekeeper";

/// Finalizer of a RecordSet, set before the first write to the provider.
pub const RECORD_FINALIZER: &str = "zonekeeper.dev/record";

/// Finalizer of a DNSZone, kept while something depends on it.
pub const ZONE_FINALIZER: &str = "zonekeeper.dev/zone";

/// Finalizer of a DNSProvider, kept while something depends on it.
pub const PROVIDER_FINALIZER: &str = "zonekeeper.dev/provider";

/// The controller that takes DNSProviders which name no other.
pub const DEFAULT_CONTROLLER_NAME: &str = "zonekeeper.dev/controller";

/// The Secret with the marker key, where no other is named.
pub const DEFAULT_MARKER_KEY_SECRET: &str = "zonekeeper-marker-key";

/// The ClusterRole that users bind where we are to read Secrets outside our own namespace.
pub const SECRET_READER_CLUSTER_ROLE: &str = "zonekeeper-secret-reader";

/// Key of a Cloudflare Secret: the token.
pub const SECRET_API_TOKEN: &str = "apiToken";

/// Key of a Cloudflare Secret that is read where `apiToken` is absent.
pub const SECRET_API_KEY: &str = "apiKey";

/// Key of a TSIG Secret: the key's name.
pub const SECRET_TSIG_NAME: &str = "name";

/// Key of a TSIG Secret: the algorithm, such as `hmac-sha256`.
pub const SECRET_TSIG_ALGORITHM: &str = "algorithm";

/// Key of a TSIG Secret: the secret in base64.
pub const SECRET_TSIG_SECRET: &str = "secret";

/// Key of a marker Secret: signs and verifies.
pub const SECRET_MARKER_CURRENT: &str = "current";

/// Key of a marker Secret: still verifies.
pub const SECRET_MARKER_PREVIOUS: &str = "previous";

/// Key of the Secret that encrypts TXT markers.
pub const SECRET_ENCRYPTION_KEY: &str = "encryptionKey";
