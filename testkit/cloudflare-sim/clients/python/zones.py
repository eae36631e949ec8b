"""Cases 14 to 26: zones."""

from cloudflare import omit

from harness import ACCOUNT, UNKNOWN, Lab, case, client, control, equal, knobs, refused, token


def make(name, plan="free"):
    return control("POST", "/zones", {"name": name, "plan": plan})["id"]


@case("14", "zones come in pages of 20")
def _():
    ids = {make(f"page{number}.example.com") for number in range(45)}
    page = client(token()).zones.list()
    equal((page.result_info.page, page.result_info.per_page, len(page.result)), (1, 20, 20))
    scoped = client(token(zones={"only": list(ids)}))
    equal({zone.id for zone in scoped.zones.list()}, ids)
    info = scoped.zones.with_raw_response.list(per_page=50).json()["result_info"]
    equal(info, {"page": 1, "per_page": 50, "count": 45, "total_count": 45, "total_pages": 1})


@case("15", "a page size out of range")
def _():
    lab = Lab()
    for asked, given in ((4, 5), (51, 50)):
        equal(lab.api.zones.list(per_page=asked).result_info.per_page, given)
        with knobs(zone_page_size="refuse"):
            refused(1004, 400, lambda: lab.api.zones.list(per_page=asked))


@case("17", "zones by name")
def _():
    lab = Lab()
    equal([zone.id for zone in lab.api.zones.list(name=lab.name)], [lab.zone])
    equal([zone.id for zone in lab.api.zones.list(name=f"equal:{lab.name}")], [lab.zone])
    equal([zone.id for zone in lab.api.zones.list(name=f"starts_with:{lab.name[:-3]}")], [lab.zone])
    assert lab.zone in {zone.id for zone in lab.api.zones.list(name="contains:ex", per_page=50)}
    assert lab.zone not in {zone.id for zone in lab.api.zones.list(name=f"not_equal:{lab.name}", per_page=50)}
    equal(list(lab.api.zones.list(name="absent.example.com")), [])


@case("17", "zone names may come back in Unicode")
def _():
    zone = make("bücher.example.com")
    api = client(token(zones={"only": [zone]}))
    equal(api.zones.get(zone_id=zone).name, "xn--bcher-kva.example.com")
    with knobs(zone_names="unicode"):
        equal(api.zones.get(zone_id=zone).name, "bücher.example.com")
        equal(len(list(api.zones.list(name="bücher.example.com"))), 1)


@case("18", "zones by account, status and type")
def _():
    lab = Lab()
    api = client(token(zones={"only": [lab.zone]}))
    equal(len(list(api.zones.list(account={"id": ACCOUNT}))), 1)
    equal(list(api.zones.list(account={"id": UNKNOWN})), [])
    equal(len(list(api.zones.list(status="active"))), 1)
    equal(list(api.zones.list(status="pending")), [])
    equal(len(list(api.zones.list(type=["full", "partial"]))), 1)
    equal(len(list(api.zones.list(extra_query={"type": "full,partial"}))), 1)
    equal(list(api.zones.list(type=["partial"])), [])


@case("19", "zones in descending order")
def _():
    names = [f"{letter}.order.example.com" for letter in "bac"]
    api = client(token(zones={"only": [make(name) for name in names]}))
    found = [zone.name for zone in api.zones.list(order="name", direction="desc")]
    equal(found, sorted(names, reverse=True))


@case("20", "a new zone is pending")
def _():
    api = client(token())
    zone = api.zones.create(name="new.example.com", account={"id": ACCOUNT}, type="full")
    equal((zone.status, len(zone.name_servers), zone.activated_on), ("pending", 2, None))
    equal((zone.plan.legacy_id, zone.plan.is_subscribed, zone.account.id), ("free", False, ACCOUNT))


@case("20", "a zone that nobody registered")
def _():
    with knobs(zone_registration="denied"):
        api = client(token())
        refused(1049, 400, lambda: api.zones.create(name="unregistered.example.com", account={"id": ACCOUNT}))


@case("21", "a zone that exists")
def _():
    lab = Lab()
    refused(1061, 400, lambda: lab.api.zones.create(name=lab.name, account={"id": ACCOUNT}))


@case("22", "a new zone without an account")
def _():
    api = client(token())
    refused(1067, 400, lambda: api.zones.create(name="orphan.example.com", account=omit))
    with knobs(zone_without_account="use_default"):
        equal(api.zones.create(name="orphan.example.com", account=omit).account.id, ACCOUNT)


@case("20", "a zone changes one property at a time")
def _():
    lab = Lab()
    equal(lab.api.zones.edit(zone_id=lab.zone, paused=True).paused, True)
    refused(1004, 400, lambda: lab.api.zones.edit(zone_id=lab.zone, paused=False, type="full"))
    equal(lab.api.zones.get(zone_id=lab.zone).paused, True)


@case("24", "a deleted zone is gone")
def _():
    lab = Lab()
    equal(lab.api.zones.delete(zone_id=lab.zone).id, lab.zone)
    refused(10000, 403, lambda: lab.api.zones.get(zone_id=lab.zone), gateway=True)
    with knobs(unknown_zone="not_found"):
        refused(1001, 404, lambda: lab.api.zones.get(zone_id=lab.zone))


@case("25", "a malformed zone id")
def _():
    api = client(token())
    refused(7003, 404, lambda: api.zones.get(zone_id="nonsense"))
    with knobs(malformed_id="bad_request"):
        refused(7003, 400, lambda: api.zones.get(zone_id="nonsense"))


@case("26", "an unknown zone id")
def _():
    api = client(token())
    refused(10000, 403, lambda: api.zones.get(zone_id=UNKNOWN), gateway=True)
    with knobs(unknown_zone="not_found"):
        refused(1001, 404, lambda: api.zones.get(zone_id=UNKNOWN))
