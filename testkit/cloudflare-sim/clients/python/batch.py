"""Cases 100 to 107: many changes in one transaction."""

from harness import UNKNOWN, Lab, case, equal, knobs, raw, refused


def run(lab, **lists):
    return lab.records.batch(zone_id=lab.zone, **lists)


def a(name, content, **fields):
    return {"type": "A", "name": name, "content": content, "ttl": 1, **fields}


@case("100", "deletes come first, wherever they stand")
def _():
    lab = Lab()
    old = lab.create("CNAME", "www", "a.example.com")
    result = run(lab, posts=[a("www", "192.0.2.1")], deletes=[{"id": old.id}])
    equal((result.deletes[0].id, result.posts[0].content), (old.id, "192.0.2.1"))
    again = run(lab, deletes=[{"id": result.posts[0].id}], posts=[a("www", "192.0.2.1")])
    equal(len(again.posts), 1)


@case("101", "one bad post among fifty")
def _():
    lab = Lab()
    kept = lab.create("A", "kept", "192.0.2.1")
    posts = [a(f"h{n}", f"192.0.2.{n}") for n in range(50)]
    posts[30]["content"] = "nonsense"
    posts[40]["ttl"] = 2
    before = lab.stored()
    refused(9005, 400, lambda: run(lab, deletes=[{"id": kept.id}], posts=posts))
    equal(lab.stored(), before)


@case("102", "deleting what isn't there")
def _():
    lab = Lab()
    before = lab.stored()
    refused(81044, 404, lambda: run(lab, deletes=[{"id": UNKNOWN}], posts=[a("www", "192.0.2.1")]))
    equal(lab.stored(), before)


@case("103", "patches keep and puts reset")
def _():
    lab = Lab()
    one = lab.create("A", "one", "192.0.2.1", ttl=300, comment="kept")
    two = lab.create("A", "two", "192.0.2.1", ttl=300, comment="lost")
    result = run(
        lab,
        patches=[{"id": one.id, "content": "192.0.2.9"}],
        puts=[{"id": two.id, "type": "A", "name": "two", "content": "192.0.2.9"}],
    )
    patch, put = result.patches[0], result.puts[0]
    equal((patch.content, patch.ttl, patch.comment), ("192.0.2.9", 300, "kept"))
    equal((put.content, put.ttl, put.comment), ("192.0.2.9", 1, None))


@case("105", "the response keeps the order of the request")
def _():
    lab = Lab()
    names = ["c", "a", "b"]
    result = run(lab, posts=[a(name, "192.0.2.1", comment=name) for name in names])
    equal([record.comment for record in result.posts], names)
    ids = [record.id for record in result.posts]
    deleted = run(lab, deletes=[{"id": id} for id in reversed(ids)]).deletes
    equal([record.comment for record in deleted], names[::-1])


@case("106", "a batch against the quota")
def _():
    lab = Lab()
    posts = [a(f"h{n}", f"192.0.2.{n}") for n in range(200)]
    created = run(lab, posts=posts).posts
    refused(81045, 400, lambda: run(lab, posts=[a("one", "192.0.2.1"), a("more", "192.0.2.1")]))
    equal(len(lab.stored()), 200)
    swap = [{"id": record.id} for record in created[:50]]
    run(lab, deletes=swap, posts=[a(f"n{n}", "192.0.2.1") for n in range(50)])
    equal(len(lab.stored()), 200)
    refused(81045, 400, lambda: lab.create("A", "single", "192.0.2.1"))
    with knobs(record_quota={"fixed": 201}):
        lab.create("A", "single", "192.0.2.1")


@case("106", "a batch that is too long")
def _():
    lab = Lab()
    posts = [a(f"h{n}", "192.0.2.1") for n in range(201)]
    refused(9400, 400, lambda: run(lab, posts=posts))
    with knobs(oversized_batch="too_large"):
        refused(9400, 413, lambda: run(lab, posts=posts))
    equal(len(run(Lab("pro"), posts=posts).posts), 201)


@case("107", "an empty batch")
def _():
    lab = Lab()
    result = run(lab, deletes=[], posts=[])
    equal((result.deletes, result.patches, result.puts, result.posts), ([], [], [], []))
    reply = raw(
        "POST", f"/zones/{lab.zone}/dns_records/batch", headers={"Authorization": f"Bearer {lab.token}"}, json={}
    )
    equal(reply.status_code, 200)
    with knobs(empty_batch="refuse"):
        refused(9401, 400, lambda: run(lab, deletes=[]))
