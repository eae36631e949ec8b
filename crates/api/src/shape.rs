//! The shapes of names, types and object names that several schemas check.

/// The types of the record table; others go by RFC 3597 as `TYPE65280` and so on.
pub const RECORD_TYPES: [&str; 22] = [
    "A",
    "AAAA",
    "CNAME",
    "DNAME",
    "MX",
    "NS",
    "TXT",
    "SRV",
    "CAA",
    "HTTPS",
    "SVCB",
    "TLSA",
    "SMIMEA",
    "SSHFP",
    "DS",
    "DNSKEY",
    "NAPTR",
    "LOC",
    "URI",
    "PTR",
    "CERT",
    "OPENPGPKEY",
];

/// A record type, in upper case.
pub(crate) const RECORD_TYPE: &str = "^(A|AAAA|CNAME|DNAME|MX|NS|TXT|SRV|CAA|HTTPS|SVCB|TLSA|SMIMEA|SSHFP|DS|DNSKEY|NAPTR|LOC|URI|PTR|CERT|OPENPGPKEY|TYPE[0-9]{1,5})$";

/// Labels without white space, separated by single dots; a final dot is optional. Unicode and escapes pass: the
/// kernel judges them.
pub(crate) const DOMAIN_NAME: &str = r"^[^\s.]+(\.[^\s.]+)*\.?$";

/// A name under a zone, or `@` for the zone itself.
pub(crate) const RELATIVE_NAME: &str = r"^[^\s.]+(\.[^\s.]+)*$";

/// `host:port` or `[address]:port`.
pub(crate) const HOST_PORT: &str = r"^([^\s:\[\]/]+|\[[0-9a-fA-F:.%]+\]):[0-9]{1,5}$";

/// A URL that we can call.
pub(crate) const HTTP_URL: &str = r"^https?://[^\s/]+\S*$";

/// A name of an object (RFC 1123 subdomain).
pub(crate) const OBJECT_NAME: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// A name of a namespace (RFC 1123 label).
pub(crate) const NAMESPACE: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/// A key of a Secret.
pub(crate) const SECRET_KEY: &str = r"^[-._a-zA-Z0-9]+$";

/// An address or a network.
pub(crate) const NETWORK: &str = r"^[0-9a-fA-F:.]+(/[0-9]{1,3})?$";

/// A line of text.
pub(crate) const ONE_LINE: &str = r"^[^\r\n]*$";

#[cfg(test)]
mod tests {
    use super::*;

    use regex::Regex;

    #[test]
    fn the_rule_for_a_type_lists_the_table() {
        let schema = crate::schema_of("RecordSet").unwrap();
        let rule = &schema["properties"]["spec"]["properties"]["type"]["x-kubernetes-validations"][0];
        let quoted = RECORD_TYPES.map(|word| format!("'{word}'")).join(", ");
        assert!(rule["rule"].as_str().unwrap().contains(&format!("self in [{quoted}] ||")), "{rule}");
        assert!(rule["message"].as_str().unwrap().contains(&RECORD_TYPES.join(", ")), "{rule}");
    }

    #[test]
    fn the_type_pattern_lists_the_table() {
        assert_eq!(RECORD_TYPE, format!("^({}|TYPE[0-9]{{1,5}})$", RECORD_TYPES.join("|")));
    }

    #[test]
    fn patterns_take_what_is_right_and_refuse_what_is_wrong() {
        let cases: [(&str, &[&str], &[&str]); 9] = [
            (RECORD_TYPE, &["A", "OPENPGPKEY", "TYPE65280"], &["a", "AA", "TYPE", "TYPE123456", "ANY", " A"]),
            (
                DOMAIN_NAME,
                &[
                    "example.com",
                    "example.com.",
                    "*.a.example.com",
                    "*",
                    "_acme-challenge.*",
                    "bücher.example",
                ],
                &["", ".", "a..b", ".a", "a b", "a.b..", "a.example.com\n"],
            ),
            (RELATIVE_NAME, &["@", "www", "a.b", "*"], &["", "www.", "a..b", "a b"]),
            (
                HOST_PORT,
                &["192.0.2.53:53", "ns.example.com:853", "[2001:db8::1]:53"],
                &["192.0.2.53", ":53", "2001:db8::1:53", "a:b", "http://a:53"],
            ),
            (
                HTTP_URL,
                &["https://ip.example.net", "http://127.0.0.1:8888/a?b"],
                &["ftp://a", "https://", "ip.example.net"],
            ),
            (OBJECT_NAME, &["a", "example-com", "a.b"], &["", "A", "-a", "a_b", "a.", "a/b"]),
            (NAMESPACE, &["default"], &["a.b", "a/b"]),
            (
                NETWORK,
                &["192.0.2.0/24", "192.0.2.1", "2001:db8::/32"],
                &["home", "192.0.2.0/", "192.0.2.0/1234"],
            ),
            (ONE_LINE, &["", "a comment"], &["a\nb", "a\r"]),
        ];
        for (pattern, right, wrong) in cases {
            let regex = Regex::new(pattern).unwrap();
            right.iter().for_each(|text| assert!(regex.is_match(text), "{pattern} {text:?}"));
            wrong.iter().for_each(|text| assert!(!regex.is_match(text), "{pattern} {text:?}"));
        }
    }
}
