"""Cases 43 to 62 and 76 to 89: what a new record may be."""

from cloudflare import omit

from harness import Lab, case, equal, knobs, raw, raw_refused, refused


@case("43", "a plain record and its defaults")
def _():
    lab = Lab()
    record = lab.create("A", "www", "192.0.2.1", ttl=omit)
    shown = record.to_dict()
    equal(record.name, f"www.{lab.name}")
    expected = {"ttl": 1, "proxied": False, "settings": {}, "meta": {}, "comment": None, "tags": [], "proxiable": True}
    equal({field: shown[field] for field in expected}, expected)
    equal(len(record.id), 32)
    assert not {"comment_modified_on", "tags_modified_on", "data", "priority"} & set(shown), shown
    with knobs(settings_shown="proxiable_only"):
        assert "settings" not in lab.create("TXT", "txt", "x").to_dict()
        assert "settings" in lab.create("A", "a", "192.0.2.1").to_dict()


@case("44", "the apex")
def _():
    lab = Lab()
    equal(lab.create("A", "@", "192.0.2.1").name, lab.name)
    equal(lab.create("TXT", lab.name, "x").name, lab.name)


@case("45", "a trailing dot in the name")
def _():
    lab = Lab()
    equal(lab.create("A", f"WWW.{lab.name}.", "192.0.2.1").name, f"www.{lab.name}")


@case("46", "a Unicode name")
def _():
    lab = Lab()
    equal(lab.create("A", "bücher", "192.0.2.1").name, f"xn--bcher-kva.{lab.name}")
    equal(lab.names(name={"exact": f"bücher.{lab.name}"}), ["xn--bcher-kva"])


@case("47", "the long form of an IPv6 address")
def _():
    lab = Lab()
    equal(lab.create("AAAA", "www", "2001:0DB8:0:0::0:1").content, "2001:db8::1")


@case("48", "an address of the wrong family")
def _():
    lab = Lab()
    refused(9005, 400, lambda: lab.create("A", "www", "2001:db8::1"))
    refused(9005, 400, lambda: lab.create("A", "www", "192.0.2"))
    refused(9006, 400, lambda: lab.create("AAAA", "www", "192.0.2.1"))


@case("50", "a CNAME to something that is no host")
def _():
    lab = Lab()
    refused(9007, 400, lambda: lab.create("CNAME", "www", "192.0.2.1"))
    refused(9007, 400, lambda: lab.create("CNAME", "www", "no host"))


@case("51", "a CNAME to itself")
def _():
    lab = Lab()
    refused(9039, 400, lambda: lab.create("CNAME", "www", f"www.{lab.name}."))


@case("52", "a trailing dot in the content")
def _():
    lab = Lab()
    equal(lab.create("CNAME", "www", "x.").content, "x")
    equal(lab.create("CNAME", "cased", "Target.Example.COM.").content, "target.example.com")
    with knobs(hostname_case="keep"):
        equal(lab.create("CNAME", "kept", "Target.Example.COM.").content, "Target.Example.COM")


@case("53", "the same record twice")
def _():
    lab = Lab()
    lab.create("A", "www", "192.0.2.1")
    refused(81058, 400, lambda: lab.create("A", "www", "192.0.2.1", ttl=300))
    with knobs(identical_record="code81057"):
        refused(81057, 400, lambda: lab.create("A", "www", "192.0.2.1"))
    with knobs(validation_shape="chained"):
        body = refused(1004, 400, lambda: lab.create("A", "www", "192.0.2.1"))
        equal(body["errors"][0]["error_chain"][0]["code"], 81058)


@case("55", "the same CNAME twice")
def _():
    lab = Lab()
    lab.create("CNAME", "www", "a.example.com")
    refused(81053, 400, lambda: lab.create("CNAME", "www", "a.example.com"))


@case("56", "a CNAME beside an address")
def _():
    lab = Lab()
    lab.create("A", "www", "192.0.2.1")
    refused(81053, 400, lambda: lab.create("CNAME", "www", "a.example.com"))


@case("57", "an address beside a CNAME")
def _():
    lab = Lab()
    lab.create("CNAME", "www", "a.example.com")
    refused(81054, 400, lambda: lab.create("A", "www", "192.0.2.1"))
    refused(81054, 400, lambda: lab.create("AAAA", "www", "2001:db8::1"))


@case("58", "what may stand beside a CNAME")
def _():
    lab = Lab()
    lab.create("CNAME", "www", "a.example.com")
    lab.create("MX", "www", "mail.example.com", priority=10)
    lab.create("TXT", "www", "x")
    lab.create("HTTPS", "www", data={"priority": 1, "target": ".", "value": 'alpn="h2"'})
    equal(len(lab.stored()), 4)


@case("60", "several addresses at one name")
def _():
    lab = Lab()
    lab.create("A", "www", "192.0.2.1")
    lab.create("A", "www", "192.0.2.2")
    equal(lab.names(), ["www", "www"])


@case("61", "an MX record without priority")
def _():
    lab = Lab()
    refused(9100, 400, lambda: lab.create("MX", "@", "mail.example.com"))
    refused([9100, 9009], 400, lambda: lab.create("MX", "@", "192.0.2.1"))


@case("62", "the null MX")
def _():
    lab = Lab()
    record = lab.create("MX", "@", ".", priority=0)
    equal((record.content, record.priority), (".", 0))


@case("76", "a TTL below the plan's minimum")
def _():
    lab = Lab()
    for ttl in (0, 2, 30, 86401):
        refused(9021, 400, lambda: lab.create("A", "www", "192.0.2.1", ttl=ttl))
    equal(lab.create("A", "www", "192.0.2.1", ttl=60).ttl, 60)
    equal(Lab("enterprise").create("A", "www", "192.0.2.1", ttl=30).ttl, 30)


@case("78", "a TTL on a proxied record")
def _():
    equal(Lab().create("A", "www", "192.0.2.1", ttl=300, proxied=True).ttl, 1)


@case("79", "types that can't be proxied")
def _():
    lab = Lab()
    refused(9004, 400, lambda: lab.create("TXT", "www", "x", proxied=True))
    refused(9004, 400, lambda: lab.create("MX", "www", "mail.example.com", priority=1, proxied=True))


@case("80", "targets that can't be proxied")
def _():
    lab = Lab()
    refused(9003, 400, lambda: lab.create("A", "www", "1.1.1.1", proxied=True))
    equal(lab.create("A", "www", "10.0.0.1").proxiable, False)


@case("81", "the length of a comment")
def _():
    free, paid = Lab(), Lab("pro")
    refused(9313, 400, lambda: free.create("A", "www", "192.0.2.1", comment="x" * 101))
    equal(len(free.create("A", "www", "192.0.2.1", comment="x" * 100).comment), 100)
    equal(len(paid.create("A", "www", "192.0.2.1", comment="x" * 500).comment), 500)
    refused(9313, 400, lambda: paid.create("A", "api", "192.0.2.1", comment="x" * 501))


@case("82", "the number of tags")
def _():
    free, paid = Lab(), Lab("pro")
    refused(9300, 400, lambda: free.create("A", "www", "192.0.2.1", tags=["a"]))
    refused(9300, 400, lambda: paid.create("A", "www", "192.0.2.1", tags=[f"t{n}" for n in range(21)]))
    with knobs(paid_tag_limit="ignored"):
        equal(len(paid.create("A", "many", "192.0.2.1", tags=[f"t{n}" for n in range(21)]).tags), 21)
    tags = [f"t{n}:v" for n in range(20)]
    record = paid.create("A", "www", "192.0.2.1", tags=tags)
    equal(record.tags, tags)
    assert record.tags_modified_on, record


@case("84", "a label that is too long")
def _():
    lab = Lab()
    refused(9000, 400, lambda: lab.create("A", "x" * 64, "192.0.2.1"))
    refused(9000, 400, lambda: lab.create("A", "a..b", "192.0.2.1"))
    equal(lab.create("A", "x" * 63, "192.0.2.1").name, f"{'x' * 63}.{lab.name}")


@case("85", "a body that isn't the right JSON")
def _():
    lab = Lab()
    refused(9207, 400, lambda: lab.create("A", "www", ["192.0.2.1"]))
    refused(9207, 400, lambda: lab.create("A", "www", "192.0.2.1", ttl="soon"))
    headers = {"Authorization": f"Bearer {lab.token}"}
    path = f"/zones/{lab.zone}/dns_records"
    raw_refused(9207, 400, raw("POST", path, headers={**headers, "Content-Type": "application/json"}, content="{"))
    raw_refused(9207, 400, raw("POST", path, headers={**headers, "Content-Type": "text/plain"}, content="{}"))


@case("86", "fields that are no longer there")
def _():
    lab = Lab()
    removed = {"zone_id": "x", "zone_name": "x", "locked": True, "id": "x", "created_on": "x"}
    record = lab.create("A", "www", "192.0.2.1", extra_body=removed)
    equal(len(record.id), 32)
    assert not {"zone_id", "zone_name", "locked"} & set(record.to_dict()), record.to_dict()


@case("87", "a priority where none belongs")
def _():
    record = Lab().create("A", "www", "192.0.2.1", priority=0, comment="", tags=[])
    assert "priority" not in record.to_dict() and record.comment is None, record.to_dict()


@case("89", "a name outside the zone")
def _():
    lab = Lab()
    equal(lab.create("A", "www.example.org", "192.0.2.1").name, f"www.example.org.{lab.name}")
    with knobs(name_outside_zone="refuse"):
        refused(9000, 400, lambda: lab.create("A", "www.example.org.", "192.0.2.1"))
