"""Cases 90 to 98 and 120: changing and deleting records."""

from harness import UNKNOWN, Lab, case, equal, knobs, raw, raw_refused, refused


def edit(lab, record, **fields):
    """PATCH with nothing but the given fields; the SDK's method insists on more."""
    fields = {"name": record.name, "type": record.type, "ttl": record.ttl, **fields}
    return lab.records.edit(record.id, zone_id=lab.zone, **fields)


@case("90", "a patch of the comment alone")
def _():
    lab = Lab("pro")
    before = lab.create("A", "www", "192.0.2.1", ttl=300, comment="old", tags=["a:b"])
    after = edit(lab, before, comment="new")
    equal((after.content, after.ttl, after.tags, after.comment), ("192.0.2.1", 300, ["a:b"], "new"))
    assert after.modified_on > before.modified_on, after
    assert after.comment_modified_on > before.comment_modified_on, after
    equal(after.tags_modified_on, before.tags_modified_on)
    equal(edit(lab, before, comment="").comment, None)


@case("91", "a patch that changes nothing")
def _():
    lab = Lab()
    before = lab.create("A", "www", "192.0.2.1")
    assert edit(lab, before, content="192.0.2.1").modified_on > before.modified_on
    with knobs(identical_patch="stays"):
        same = edit(lab, before, content="192.0.2.1")
        equal(edit(lab, before, content="192.0.2.1").modified_on, same.modified_on)


@case("92", "a put restores defaults")
def _():
    lab = Lab("pro")
    before = lab.create("A", "www", "192.0.2.1", proxied=True, comment="x", tags=["a"])
    after = lab.records.update(
        before.id, zone_id=lab.zone, type="A", name="www", content="192.0.2.2", ttl=300
    )
    equal((after.proxied, after.comment, after.tags, after.ttl), (False, None, [], 300))
    equal((after.id, after.created_on), (before.id, before.created_on))


@case("93", "a record changes its type")
def _():
    lab = Lab()
    record = lab.create("A", "www", "192.0.2.1")
    changed = edit(lab, record, type="CNAME", content="a.example.com")
    equal((changed.id, changed.type, changed.content), (record.id, "CNAME", "a.example.com"))
    lab.create("A", "api", "192.0.2.1")
    second = lab.create("A", "api", "192.0.2.2")
    refused(81053, 400, lambda: edit(lab, second, type="CNAME", content="a.example.com"))


@case("93", "a late proxy")
def _():
    lab = Lab()
    record = lab.create("A", "www", "192.0.2.1")
    with knobs(late_proxy="forgotten"):
        equal(edit(lab, record, proxied=True).proxied, False)
    equal(edit(lab, record, proxied=True).proxied, True)


@case("95", "changing an unknown record")
def _():
    lab = Lab()
    fields = {"zone_id": lab.zone, "type": "A", "name": "www", "content": "192.0.2.1", "ttl": 1}
    refused(81044, 404, lambda: lab.records.update(UNKNOWN, **fields))
    refused(81044, 404, lambda: lab.records.edit(UNKNOWN, **fields))


@case("96", "a put without an id")
def _():
    lab = Lab()
    headers = {"Authorization": f"Bearer {lab.token}"}
    for path in (f"/zones/{lab.zone}/dns_records", f"/zones/{lab.zone}/dns_records/"):
        body = raw_refused(10000, 405, raw("PUT", path, headers=headers, json={}))
        assert body["errors"][0]["message"].startswith("PUT method not allowed"), body
    with knobs(write_without_id="forbidden"):
        raw_refused(10000, 403, raw("PUT", f"/zones/{lab.zone}/dns_records", headers=headers, json={}))


@case("97", "a record that Cloudflare manages")
def _():
    lab = Lab()
    lab.seed("CNAME", "managed", "a.example.com", read_only=True)
    record = next(iter(lab.list()))
    equal(record.to_dict()["meta"], {"read_only": True})
    refused(1043, 400, lambda: edit(lab, record, content="b.example.com"))
    refused(1043, 400, lambda: lab.records.delete(record.id, zone_id=lab.zone))
    with knobs(read_only_write="forbidden"):
        refused(1043, 403, lambda: edit(lab, record, content="b.example.com"))


@case("98", "a record is deleted once")
def _():
    lab = Lab()
    record = lab.create("A", "www", "192.0.2.1")
    equal(lab.records.delete(record.id, zone_id=lab.zone).id, record.id)
    refused(81044, 404, lambda: lab.records.delete(record.id, zone_id=lab.zone))


@case("120", "the last of two writers wins")
def _():
    lab = Lab()
    record = lab.create("A", "www", "192.0.2.1")
    edit(lab, record, content="192.0.2.2")
    edit(lab, record, content="192.0.2.3")
    equal(lab.records.get(record.id, zone_id=lab.zone).content, "192.0.2.3")


@case("90", "the derived content of a typed record is read-only")
def _():
    lab = Lab()
    data = {"priority": 1, "weight": 2, "port": 3, "target": "a.example.com"}
    record = lab.create("SRV", "_x._tcp", data=data)
    equal(edit(lab, record, content="9 9 b.example.com").content, "2 3 a.example.com")
    equal(edit(lab, record, data={"port": 4}).content, "2 4 a.example.com")
    with knobs(typed_content="parse"):
        equal(edit(lab, record, content="9 9 b.example.com").content, "9 9 b.example.com")
