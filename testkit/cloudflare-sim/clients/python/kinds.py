"""Cases 63 to 75: records with data, and TXT."""

from harness import Lab, case, equal, knobs, refused

SRV = {"priority": 10, "weight": 5, "port": 5222, "target": "talk.example.com."}
DS = {"key_tag": 1, "algorithm": 13, "digest_type": 2, "digest": "B5BB9D8014A0F9B1D61E21E796D78DCC"}


@case("63", "SRV content and priority")
def _():
    record = Lab().create("SRV", "_xmpp._tcp", data=SRV)
    equal((record.content, record.priority), ("5 5222 talk.example.com", 10))
    equal((record.data.priority, record.data.target), (10, "talk.example.com"))


@case("64", "SRV data with service and protocol")
def _():
    lab = Lab()
    data = {**SRV, "service": "_xmpp", "proto": "_tcp", "name": "@"}
    equal(lab.create("SRV", "_xmpp._tcp", data=data).content, "5 5222 talk.example.com")
    with knobs(srv_service_fields="refuse"):
        refused(9101, 400, lambda: lab.create("SRV", "_sip._tcp", data=data))


CONTENTS = [
    ("CAA", {"flags": 0, "tag": "issue", "value": "ca.example"}, '0 issue "ca.example"'),
    ("TLSA", {"usage": 3, "selector": 1, "matching_type": 1, "certificate": "aabb"}, "3 1 1 aabb"),
    ("SMIMEA", {"usage": 3, "selector": 1, "matching_type": 1, "certificate": "aabb"}, "3 1 1 aabb"),
    ("SSHFP", {"algorithm": 1, "type": 1, "fingerprint": "859b"}, "1 1 859b"),
    ("HTTPS", {"priority": 1, "target": ".", "value": 'alpn="h2"'}, '1 . alpn="h2"'),
    ("SVCB", {"priority": 1, "target": "svc.example.com.", "value": 'alpn="h3"'}, '1 svc.example.com. alpn="h3"'),
    ("CERT", {"type": 9, "key_tag": 1, "algorithm": 1, "certificate": "aGVsbG8="}, "9 1 1 aGVsbG8="),
    (
        "NAPTR",
        {
            "order": 30,
            "preference": 100,
            "flags": "S",
            "service": "SIP+D2T",
            "regex": "",
            "replacement": "_sip._tls.example.com.",
        },
        '30 100 "S" "SIP+D2T" "" _sip._tls.example.com.',
    ),
    (
        "LOC",
        {
            "lat_degrees": 37,
            "lat_minutes": 46,
            "lat_seconds": 46,
            "lat_direction": "N",
            "long_degrees": 122,
            "long_minutes": 23,
            "long_seconds": 35,
            "long_direction": "W",
            "altitude": 0,
            "size": 100,
            "precision_horz": 0,
            "precision_vert": 0,
        },
        "37 46 46.000 N 122 23 35.000 W 0.00 100.00 0.00 0.00",
    ),
]


@case("66", "content derived from data")
def _():
    lab = Lab()
    for kind, data, content in CONTENTS:
        record = lab.create(kind, kind.lower(), data=data)
        equal((kind, record.content), (kind, content))
        equal(set(record.to_dict()["data"]), set(data))
    record = lab.create("URI", "uri", data={"weight": 1, "target": "https://example.com/"}, priority=10)
    equal((record.content, record.priority), ('1 "https://example.com/"', 10))
    with knobs(uri_content="bare"):
        record = lab.create("URI", "bare", data={"weight": 1, "target": "https://example.com/"}, priority=10)
        equal(record.content, "1 https://example.com/")


@case("66", "types with plain content")
def _():
    lab = Lab()
    equal(lab.create("NS", "sub", "ns.example.com.").content, "ns.example.com")
    equal(lab.create("PTR", "1", "host.example.com.").content, "host.example.com")
    equal(lab.create("OPENPGPKEY", "key", "aGVsbG8=").content, "aGVsbG8=")
    refused(9007, 400, lambda: lab.create("OPENPGPKEY", "bad", "not*base64"))


@case("66", "a DNSKEY needs multi-signer DNSSEC")
def _():
    lab = Lab()
    data = {"flags": 257, "protocol": 3, "algorithm": 13, "public_key": "aGVsbG8="}
    refused(9007, 400, lambda: lab.create("DNSKEY", "@", data=data))
    equal(lab.api.dns.dnssec.edit(zone_id=lab.zone, dnssec_multi_signer=True).dnssec_multi_signer, True)
    equal(lab.create("DNSKEY", "@", data=data).content, "257 3 13 aGVsbG8=")


@case("67", "data out of range or missing")
def _():
    lab = Lab()
    refused(9007, 400, lambda: lab.create("SRV", "_x._tcp", data={**SRV, "port": 65536}))
    refused(9101, 400, lambda: lab.create("SRV", "_x._tcp", data={"priority": 1, "weight": 1, "port": 1}))
    refused(9101, 400, lambda: lab.create("SRV", "_x._tcp", "1 1 talk.example.com"))
    with knobs(data_range_error="data_invalid"):
        refused(9101, 400, lambda: lab.create("SRV", "_x._tcp", data={**SRV, "port": 65536}))
    with knobs(typed_content="parse"):
        record = lab.create("CAA", "@", '0 issue "ca.example"')
        equal((record.content, record.data.value), ('0 issue "ca.example"', "ca.example"))


@case("68", "a DS record needs a delegation")
def _():
    lab = Lab()
    refused(9007, 400, lambda: lab.create("DS", "sub", data=DS))
    with knobs(ds_without_ns="accept"):
        lab.create("DS", "free", data=DS)
    lab.create("NS", "sub", "ns.example.com")
    equal(lab.create("DS", "sub", data=DS).content, "1 13 2 B5BB9D8014A0F9B1D61E21E796D78DCC")
    refused(81056, 400, lambda: lab.create("A", "sub", "192.0.2.1"))
    refused(81056, 400, lambda: lab.create("TXT", "sub", "x"))
    with knobs(txt_beside_ns="accept"):
        lab.create("TXT", "sub", "x")
    lab.create("A", "host", "192.0.2.1")
    refused(81055, 400, lambda: lab.create("NS", "host", "ns.example.com"))


@case("69", "an unknown type")
def _():
    lab = Lab()
    refused(9002, 400, lambda: lab.create("SPF", "www", "v=spf1 -all"))


@case("70", "TXT without quotes stays as it is")
def _():
    lab = Lab()
    long = "x" * 300
    equal(lab.create("TXT", "a", "v=spf1; -all").content, "v=spf1; -all")
    equal(lab.create("TXT", "b", '"quoted"').content, '"quoted"')
    equal(lab.create("TXT", "c", long).content, long)
    equal(lab.create("TXT", "d", f'"{long}"').content, f'"{"x" * 255}" "{"x" * 45}"')
    with knobs(unquoted_txt="quoted"):
        equal(lab.create("TXT", "e", "bare").content, '"bare"')
    with knobs(long_unquoted_txt="chunked"):
        equal(lab.create("TXT", "f", long).content, f'"{"x" * 255}" "{"x" * 45}"')
        equal(lab.create("TXT", "g", "bare").content, "bare")


@case("72", "TXT with an open quote")
def _():
    lab = Lab()
    refused(9007, 400, lambda: lab.create("TXT", "www", '"open'))
    with knobs(unbalanced_txt="keep"):
        equal(lab.create("TXT", "www", '"open').content, '"open')


@case("73", "TXT over 4,096 bytes on the wire")
def _():
    lab = Lab()
    refused(9015, 400, lambda: lab.create("TXT", "www", "x" * 4090))
    equal(len(lab.create("TXT", "www", "x" * 4079).content), 4079)


@case("74", "a TXT set over 8,192 characters")
def _():
    lab = Lab()
    lab.create("TXT", "www", "x" * 4000)
    lab.create("TXT", "www", "y" * 4000)
    refused(83011, 400, lambda: lab.create("TXT", "www", "z" * 200))
    lab.create("TXT", "other", "z" * 200)


@case("75", "an empty TXT")
def _():
    lab = Lab()
    refused(9007, 400, lambda: lab.create("TXT", "www", ""))
    with knobs(empty_txt="accept"):
        equal(lab.create("TXT", "www", "").content, "")
