"""Cases 108 to 119: limits, faults, zone files, hostnames and settings."""

import cloudflare

from harness import (
    ACCOUNT,
    Lab,
    case,
    client,
    control,
    equal,
    faults,
    knobs,
    raw,
    raw_refused,
    refused,
    token,
)


def raises(kind, act):
    try:
        result = act()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}: {result!r}")


@case("108", "every response tells the rate limit")
def _():
    lab = Lab()
    reply = lab.records.with_raw_response.list(zone_id=lab.zone)
    assert reply.headers["ratelimit"].startswith('"default";r='), reply.headers
    assert reply.headers["ratelimit-policy"].startswith('"default";q='), reply.headers
    assert "retry-after" not in reply.headers
    assert "ratelimit" in raw("GET", "/zones").headers


@case("108", "exceeding the limit blocks the token, and only it")
def _():
    control("PUT", "/rate_limit", {"limit": 3, "window_seconds": 300})
    try:
        lab = Lab()
        for _ in range(3):
            lab.list()
        error = raises(cloudflare.RateLimitError, lambda: lab.list())
        equal(error.body["errors"][0]["code"], 10429)
        equal(set(error.body), {"success", "errors"})
        equal(error.response.headers["retry-after"], "300")
        with knobs(rate_limit_code="code971"):
            refused(971, 429, lambda: lab.list(), gateway=True)
        client(token()).zones.get(zone_id=lab.zone)
        control("POST", "/clock", {"seconds": 301})
        lab.list()
    finally:
        control("PUT", "/rate_limit", {"limit": 4294967295, "window_seconds": 300})


@case("110", "the SDK retries before a long Retry-After is over")
def _():
    lab = Lab()
    api = client(lab.token, max_retries=1)
    limited = {"act": {"rate_limited": {"retry_after": 120}}}
    since = control("GET", "/journal")[-1]["sequence"]
    with faults(limited):
        error = raises(cloudflare.RateLimitError, lambda: api.dns.records.list(zone_id=lab.zone))
    equal(error.response.headers["retry-after"], "120")
    equal(len(control("GET", f"/journal?since={since}")), 2)
    html = {"act": "rate_limited_html"}
    with faults(html):
        error = raises(cloudflare.RateLimitError, lambda: lab.list())
    assert "1015" in error.response.text, error.response.text


@case("111", "a retried POST meets its own effect")
def _():
    lab = Lab()
    api = client(lab.token, max_retries=1)
    cut = {"on": {"scope": "writes", "which": {"nth": 1}}, "when": "after", "act": "cut"}
    with faults(cut):
        refused(
            81058,
            400,
            lambda: api.dns.records.create(zone_id=lab.zone, type="A", name="www", content="192.0.2.1", ttl=1),
        )
    equal(len(lab.stored()), 1)
    with faults({**cut, "when": "before"}):
        api.dns.records.create(zone_id=lab.zone, type="A", name="api", content="192.0.2.1", ttl=1)
    equal(len(lab.stored()), 2)


@case("112", "broken replies")
def _():
    lab = Lab()
    lab.create("A", "www", "192.0.2.1")
    with faults({"act": {"json": 500}}):
        error = raises(cloudflare.InternalServerError, lambda: lab.list())
        equal(error.body["success"], False)
    with faults({"act": {"html": 502}}):
        error = raises(cloudflare.InternalServerError, lambda: lab.list())
        assert "text/html" in error.response.headers["content-type"]
    with faults({"act": {"empty": 503}}):
        error = raises(cloudflare.InternalServerError, lambda: lab.list())
        equal(error.response.content, b"")
    with faults({"act": "cut"}):
        raises(cloudflare.APIConnectionError, lambda: lab.list())
    with faults({"act": "cut_mid_body"}):
        raises(Exception, lambda: lab.list())
    with faults({"act": "unsuccessful"}):
        equal(lab.records.get("0" * 32, zone_id=lab.zone), None)
    equal(lab.names(), ["www"])


@case("112", "pages that move under the reader")
def _():
    lab = Lab("pro")
    for number in range(150):
        lab.seed("A", f"h{number:03}", f"192.0.2.{number}")
    listings = {"scope": "listings"}
    insert = {"type": "A", "name": "a", "content": "192.0.2.200"}
    with faults({"on": listings, "act": {"shift_pages": {"after_page": 1, "shift": {"insert": insert}}}}):
        ids = [record.id for record in lab.list()]
        equal((len(ids), len(set(ids))), (151, 150))
    with faults({"on": listings, "act": {"shift_pages": {"after_page": 1, "shift": "remove_first"}}}):
        equal(len(list(lab.list())), 150)
    equal(len(lab.stored()), 150)


@case("114", "a zone survives export and import")
def _():
    one, two = Lab("pro"), Lab("pro")
    one.create("A", "www", "192.0.2.1", ttl=300, comment="front; door", tags=["team:dns", "live"])
    one.create("AAAA", "www", "2001:db8::1", proxied=True)
    one.create("MX", "@", "mail.example.com", priority=10)
    one.create("TXT", "txt", '"a;b" "c"')
    one.create("SRV", "_x._tcp", data={"priority": 1, "weight": 2, "port": 3, "target": "srv.example.com"})
    one.create("CAA", "@", data={"flags": 0, "tag": "issue", "value": "ca.example"})
    text = one.records.export(zone_id=one.zone)
    assert "cf_tags=cf-proxied:true" in text and "cf_tags=cf-proxied:false,team:dns,live" in text, text
    result = two.records.import_(zone_id=two.zone, file=text.replace(one.name, two.name))
    equal((result.recs_added, result.total_records_parsed), (6, 6))

    def facts(lab):
        hidden = {"id", "created_on", "modified_on", "comment_modified_on", "tags_modified_on"}
        shown = [{key: value for key, value in record.items() if key not in hidden} for record in lab.stored()]
        return [{**record, "name": record["name"].removesuffix(lab.name)} for record in shown]

    equal(facts(two), facts(one))


@case("114", "zone files that are refused or partly taken")
def _():
    lab = Lab()
    refused(9207, 400, lambda: lab.records.import_(zone_id=lab.zone, file="$INCLUDE other\n"))
    refused(9207, 400, lambda: lab.records.import_(zone_id=lab.zone, file="; " + "x" * 257 * 1024))
    text = "$ORIGIN example.com.\n$TTL 5m\nbad IN A nonsense\n$GENERATE 1-3 h$ A 192.0.2.$\n"
    text = text.replace("example.com", lab.name)
    body = lab.records.with_raw_response.import_(zone_id=lab.zone, file=text, proxied="true").json()
    equal((body["result"]["recs_added"], body["result"]["total_records_parsed"]), (3, 4))
    equal([message["code"] for message in body["messages"]], [9005])
    equal([record.proxied for record in lab.list()], [True, True, True])


@case("115", "usage counts what the list shows")
def _():
    lab, large = Lab(), Lab("enterprise")
    for number in range(3):
        lab.create("A", f"h{number}", "192.0.2.1")
    usage = lab.api.dns.usage.zone.get(zone_id=lab.zone)
    equal((usage.record_usage, usage.record_quota), (len(list(lab.list())), 200))
    equal(large.api.dns.usage.zone.get(zone_id=large.zone).record_quota, None)
    equal(lab.api.dns.usage.account.get(account_id=ACCOUNT).record_quota, 1_000_000)


@case("116", "regional hostnames")
def _():
    lab = Lab()
    regional = lab.api.addressing.regional_hostnames
    body = regional.with_raw_response.list(zone_id=lab.zone).json()
    equal(body["result"], None)
    equal(list(regional.list(zone_id=lab.zone)), [])
    host = f"eu.{lab.name}"
    equal(regional.create(zone_id=lab.zone, hostname=host, region_key="eu").routing, "dns")
    equal(regional.edit(host, zone_id=lab.zone, region_key="us").region_key, "us")
    equal(regional.get(host, zone_id=lab.zone).region_key, "us")
    equal([item.hostname for item in regional.list(zone_id=lab.zone)], [host])
    regional.delete(host, zone_id=lab.zone)
    equal(list(regional.list(zone_id=lab.zone)), [])


@case("117", "custom hostnames")
def _():
    lab = Lab()
    custom = lab.api.custom_hostnames
    ssl = {"method": "http", "type": "dv", "bundle_method": "ubiquitous", "settings": {"min_tls_version": "1.2"}}
    made = [
        custom.create(
            zone_id=lab.zone,
            hostname=f"c{number:02}.example.com",
            ssl=ssl,
            extra_body={"custom_origin_server": "origin.example.com"},
        )
        for number in range(25)
    ]
    equal(made[0].custom_origin_server, "origin.example.com")
    page = custom.list(zone_id=lab.zone)
    equal((page.result_info.per_page, len(page.result)), (20, 20))
    equal(len(list(custom.list(zone_id=lab.zone))), 25)
    equal(custom.get(made[3].id, zone_id=lab.zone).hostname, "c03.example.com")
    equal(custom.delete(made[0].id, zone_id=lab.zone).id, made[0].id)
    equal(len(list(custom.list(zone_id=lab.zone))), 24)


@case("119", "paths and methods that don't exist")
def _():
    lab = Lab()
    headers = {"Authorization": f"Bearer {lab.token}"}
    raw_refused(7003, 404, raw("GET", "/nonsense", headers=headers))
    raw_refused(7001, 405, raw("PUT", f"/zones/{lab.zone}/dns_settings", headers=headers, json={}))
    with knobs(wrong_method="unroutable"):
        raw_refused(7003, 404, raw("PUT", "/zones", headers=headers, json={}))


@case("119", "settings, DNSSEC and scans answer the SDK")
def _():
    lab = Lab()
    settings = lab.api.dns.settings.zone
    equal(settings.get(zone_id=lab.zone).zone_mode, "standard")
    equal(settings.edit(zone_id=lab.zone, flatten_all_cnames=True, soa={"ttl": 300}).soa.ttl, 300)
    equal(settings.get(zone_id=lab.zone).flatten_all_cnames, True)
    dnssec = lab.api.dns.dnssec
    equal(dnssec.get(zone_id=lab.zone).status, "disabled")
    equal(dnssec.edit(zone_id=lab.zone, status="active").status, "pending")
    equal(len(list(dnssec.zsk.list(zone_id=lab.zone))), 1)
    dnssec.delete(zone_id=lab.zone)
    equal(dnssec.get(zone_id=lab.zone).status, "disabled")
    found = [{"type": "A", "name": name, "content": "192.0.2.1"} for name in ("one", "two")]
    control("PUT", f"/discoverable/{lab.zone}", found)
    lab.records.scan_trigger(zone_id=lab.zone)
    waiting = list(lab.records.scan_list(zone_id=lab.zone))
    equal(len(waiting), 2)
    accept = {"id": waiting[0].id, "type": "A", "name": waiting[0].name, "content": "192.0.2.1", "ttl": 1}
    review = lab.records.scan_review(zone_id=lab.zone, accepts=[accept], rejects=[{"id": waiting[1].id}])
    equal((len(review.accepts), len(review.rejects)), (1, 1))
    equal(lab.names(), ["one"])
