"""Cases 1 to 13: who may ask."""

from cloudflare import Cloudflare

from harness import ACCOUNT, BASE, Lab, case, client, control, equal, knobs, raw, raw_refused, refused, token


@case("1", "no credential at all")
def _():
    body = raw_refused(9106, 400, raw("GET", "/zones"))
    equal(set(body), {"success", "errors"})


@case("2", "a bearer token of the wrong length")
def _():
    body = refused(6003, 400, lambda: client("short").zones.list(), gateway=True)
    equal([link["code"] for link in body["errors"][0]["error_chain"]], [6111])


@case("3", "a malformed key")
def _():
    api = Cloudflare(api_key="not-a-key", api_email="user@example.com", base_url=BASE, max_retries=0)
    body = refused(6003, 400, lambda: api.zones.list(), gateway=True)
    equal([link["code"] for link in body["errors"][0]["error_chain"]], [6103])


@case("4", "a token that nobody issued")
def _():
    stranger = client("x" * 40)
    refused(9109, 403, lambda: stranger.zones.list(), gateway=True)
    with knobs(unknown_token="authentication_error"):
        refused(10000, 403, lambda: stranger.zones.list(), gateway=True)


@case("5", "a token verifies itself")
def _():
    api = client(token())
    equal(api.user.tokens.verify().status, "active")
    body = api.user.tokens.with_raw_response.verify().json()
    equal(body["messages"][0]["code"], 10000)
    owned = client(token(owner="account"))
    equal(owned.accounts.tokens.verify(account_id=ACCOUNT).status, "active")
    refused(10000, 403, lambda: owned.user.tokens.verify(), gateway=True)


@case("6", "an expired token verifies as expired")
def _():
    api = client(token(status="expired"))
    equal(api.user.tokens.verify().status, "expired")
    equal(client(token(expires_on="2020-01-01T00:00:00Z")).user.tokens.verify().status, "expired")
    refused(9109, 403, lambda: api.zones.list(), gateway=True)
    with knobs(inactive_verify="refuse"):
        refused(1000, 401, lambda: api.user.tokens.verify())


@case("8", "an unknown token can't verify")
def _():
    refused(1000, 401, lambda: client("x" * 40).user.tokens.verify())
    with knobs(unknown_verify="forbidden"):
        refused(1000, 403, lambda: client("x" * 40).user.tokens.verify())


@case("9", "a token that may only read")
def _():
    lab = Lab()
    api = client(token(rights=["zone_read", "dns_read"]))
    equal(list(api.dns.records.list(zone_id=lab.zone)), [])

    def create():
        return api.dns.records.create(zone_id=lab.zone, type="A", name="www", content="192.0.2.1", ttl=1)

    refused(10000, 403, create, gateway=True)
    equal(lab.stored(), [])


@case("10", "a token for another zone")
def _():
    lab, other = Lab(), Lab()
    api = client(token(zones={"only": [other.zone]}))
    refused(10000, 403, lambda: api.dns.records.list(zone_id=lab.zone), gateway=True)


@case("11", "a token for one zone lists zones")
def _():
    lab = Lab()
    api = client(token(zones={"only": [lab.zone]}))
    equal([zone.id for zone in api.zones.list()], [lab.zone])
    with knobs(scoped_zone_list="deny"):
        refused(0, 403, lambda: api.zones.list(), gateway=True)
        equal([zone.id for zone in api.zones.list(name=lab.name)], [lab.zone])


@case("12", "a token used from a barred address")
def _():
    api = client(token(location="barred"))
    body = refused(9109, 403, lambda: api.zones.list(), gateway=True)
    assert "location" in body["errors"][0]["message"], body


@case("13", "the global key may do everything")
def _():
    lab = Lab()
    key = control("POST", "/keys", {"email": "user@example.com"})["key"]
    api = Cloudflare(api_key=key, api_email="user@example.com", base_url=BASE, max_retries=0)
    equal(api.zones.get(zone_id=lab.zone).name, lab.name)
    record = api.dns.records.create(zone_id=lab.zone, type="A", name="www", content="192.0.2.1", ttl=1)
    equal(record.content, "192.0.2.1")
    wrong = Cloudflare(api_key="f" * 37, api_email="user@example.com", base_url=BASE, max_retries=0)
    refused(9103, 403, lambda: wrong.zones.list(), gateway=True)
    with knobs(unknown_key="bad_request"):
        refused(9103, 400, lambda: wrong.zones.list(), gateway=True)
