"""Cases 27 to 41: listing and reading records."""

from harness import UNKNOWN, Lab, case, equal, knobs, refused


def populated():
    lab = Lab("pro")
    lab.seed("A", "www", "192.0.2.1", ttl=300, comment="Front door", tags=["team:DNS", "stage:live"])
    lab.seed("A", "api", "192.0.2.2", proxied=True, tags=["team:web"])
    lab.seed("TXT", "www", "v=spf1 -all", ttl=600)
    lab.seed("CNAME", "blog", "www.example.com", ttl=120, comment="the diary")
    return lab


@case("27", "an empty zone")
def _():
    lab = Lab()
    body = lab.records.with_raw_response.list(zone_id=lab.zone).json()
    equal((body["result"], body["result_info"]["count"], body["result_info"]["total_pages"]), ([], 0, 0))
    with knobs(empty_list_pages="one"):
        body = lab.records.with_raw_response.list(zone_id=lab.zone).json()
        equal((body["result"], body["result_info"]["total_pages"]), ([], 1))


@case("28", "250 records in pages of 100")
def _():
    lab = Lab("pro")
    for number in range(250):
        lab.seed("A", f"h{number}", f"192.0.2.{number}")
    sizes = [len(lab.list(page=page).result) for page in (1, 2, 3, 4)]
    equal(sizes, [100, 100, 50, 0])
    equal(len({record.id for record in lab.list()}), 250)


@case("29", "5,000 per page are one page")
def _():
    lab = Lab("pro")
    for number in range(130):
        lab.seed("A", f"h{number}", f"192.0.2.{number}")
    page = lab.list(per_page=5000)
    equal((len(page.result), page.result_info.per_page), (130, 5000))
    with knobs(record_page_max="documented"):
        equal(lab.list(per_page=6000).result_info.per_page, 5000)


@case("30", "a page size with a fraction")
def _():
    lab = Lab()
    equal(lab.list(per_page=50.0).result_info.per_page, 50)


@case("32", "filters that must all match")
def _():
    lab = populated()
    equal(lab.names(name={"contains": "WWW"}, type="A", match="all"), ["www"])
    equal([record.type for record in lab.list(name={"exact": f"www.{lab.name}"})], ["A", "TXT"])


@case("33", "filters of which any may match")
def _():
    lab = populated()
    equal(lab.names(name={"contains": "www"}, type="CNAME", match="any"), ["www", "blog", "www"])


@case("34", "content by its start and end")
def _():
    lab = populated()
    equal(lab.names(content={"startswith": "192.0.2."}), ["api", "www"])
    equal(lab.names(content={"endswith": ".EXAMPLE.com"}), ["blog"])


@case("35", "with and without a comment")
def _():
    lab = populated()
    equal(lab.names(comment={"present": "true"}), ["www", "blog"])
    equal(lab.names(comment={"absent": "true"}), ["api", "www"])
    equal(lab.names(comment={"contains": "DOOR"}), ["www"])


@case("36", "records by tag")
def _():
    lab = populated()
    equal(lab.names(tag={"present": "team"}), ["api", "www"])
    equal(lab.names(extra_query={"tag": "team"}), ["api", "www"])
    equal(lab.names(extra_query={"tag": "team:DNS"}), ["www"])
    equal(lab.names(tag={"exact": "team:dns"}), ["www"])
    equal(lab.names(tag={"absent": "team"}), ["blog", "www"])


@case("36", "several tags")
def _():
    lab = populated()
    both = {"present": "stage", "exact": "team:web"}
    equal(lab.names(tag=both, tag_match="all"), [])
    equal(lab.names(tag=both, tag_match="any"), ["api", "www"])


@case("38", "proxied records")
def _():
    lab = populated()
    equal(lab.names(proxied=True), ["api"])
    equal(len(lab.names(proxied=False)), 3)


@case("39", "the order of a listing")
def _():
    lab = populated()
    equal([record.ttl for record in lab.list(order="ttl", direction="desc")], [600, 300, 120, 1])
    equal([record.type for record in lab.list()], ["A", "A", "CNAME", "TXT"])
    equal(lab.names(order="name", direction="desc"), ["www", "www", "blog", "api"])


@case("40", "one record, without what was removed")
def _():
    lab = populated()
    listed = next(iter(lab.list(name={"exact": f"api.{lab.name}"})))
    record = lab.records.get(listed.id, zone_id=lab.zone)
    equal(record.to_dict(), listed.to_dict())
    assert not {"zone_id", "zone_name", "locked"} & set(record.to_dict()), record.to_dict()
    equal((record.proxied, record.ttl, record.proxiable), (True, 1, True))


@case("41", "an unknown record")
def _():
    lab = Lab()
    refused(81044, 404, lambda: lab.records.get(UNKNOWN, zone_id=lab.zone))
    with knobs(missing_record="bad_request"):
        refused(81044, 400, lambda: lab.records.get(UNKNOWN, zone_id=lab.zone))


@case("34", "a search over name, content and comment")
def _():
    lab = populated()
    equal(lab.names(search="diary"), ["blog"])
    equal(lab.names(search="spf1"), ["www"])
