"""Runs numbered cases against a simulator and prints one JSON line for each."""

import contextlib
import itertools
import json
import os
import traceback

import httpx
from cloudflare import APIStatusError, Cloudflare, omit

ORIGIN = os.environ["SIM_ORIGIN"]
BASE = ORIGIN + "/client/v4"
ACCOUNT = "a0000000000000000000000000000001"
UNKNOWN = "0" * 32

_cases = []
_numbers = itertools.count(1)
_control = httpx.Client(base_url=ORIGIN + "/sim/v1")


def case(number, name):
    """Registers a case of the reference's catalogue."""

    def register(run):
        _cases.append((number, name, run))
        return run

    return register


def control(method, path, body=None):
    """Asks the simulator itself, not the API it simulates."""
    reply = _control.request(method, path, json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


def token(**grant):
    return control("POST", "/tokens", grant)["token"]


def client(api_token, **options):
    return Cloudflare(api_token=api_token, base_url=BASE, **{"max_retries": 0, **options})


@contextlib.contextmanager
def knobs(**settings):
    control("PUT", "/knobs", settings)
    try:
        yield
    finally:
        control("PUT", "/knobs", {})


@contextlib.contextmanager
def faults(*plan):
    control("PUT", "/faults", list(plan))
    try:
        yield
    finally:
        control("PUT", "/faults", [])


class Lab:
    """A zone of its own, and a client that may do everything."""

    def __init__(self, plan="free"):
        self.name = f"py{next(_numbers)}.example.com"
        self.zone = control("POST", "/zones", {"name": self.name, "plan": plan})["id"]
        self.token = token()
        self.api = client(self.token)
        self.records = self.api.dns.records

    def create(self, type, name, content=omit, ttl=1, **fields):
        return self.records.create(zone_id=self.zone, type=type, name=name, content=content, ttl=ttl, **fields)

    def seed(self, type, name, content=None, read_only=False, **fields):
        record = {"type": type, "name": name, **fields}
        if content is not None:
            record["content"] = content
        return control("POST", f"/records/{self.zone}", {"record": record, "read_only": read_only})["id"]

    def list(self, **filters):
        return self.records.list(zone_id=self.zone, **filters)

    def names(self, **filters):
        """The matching names without the zone, in order."""
        return [record.name.removesuffix("." + self.name) for record in self.list(**filters)]

    def stored(self):
        return control("GET", f"/records/{self.zone}")


def refused(code, status, act, *, gateway=False):
    """Asserts the error that an SDK call raises, and returns its body."""
    try:
        result = act()
    except APIStatusError as error:
        body = error.body
        found = [item["code"] for item in body["errors"]]
        codes = code if isinstance(code, list) else [code]
        assert found == codes, f"codes {found}, not {codes}: {body}"
        assert error.status_code == status, f"status {error.status_code}, not {status}"
        shape = {"success", "errors"} if gateway else {"success", "errors", "result", "messages"}
        assert set(body) == shape, f"body has {sorted(body)}"
        return body
    raise AssertionError(f"not refused: {result!r}")


def raw(method, path, **options):
    """For requests that the SDK can't be made to send."""
    return httpx.request(method, BASE + path, **options)


def raw_refused(code, status, reply):
    body = reply.json()
    assert reply.status_code == status, f"status {reply.status_code}: {body}"
    assert [item["code"] for item in body["errors"]] == [code], body
    return body


def equal(found, expected):
    assert found == expected, f"{found!r}, not {expected!r}"


def main():
    for number, name, run in sorted(_cases, key=lambda entry: int(entry[0])):
        try:
            run()
            detail = ""
        except Exception:
            detail = traceback.format_exc(limit=-2)
            control("PUT", "/knobs", {})
            control("PUT", "/faults", [])
        print(json.dumps({"case": number, "name": name, "ok": not detail, "detail": detail}), flush=True)
