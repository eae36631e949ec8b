"""Cases 121 to 127: zones as objects, and zone transfers."""

from harness import ACCOUNT, UNKNOWN, Lab, case, client, control, equal, knobs, refused, token

SECRET = "c2VjcmV0IG9mIGEgdGVzdA=="


def secondary(lab):
    """A secondary zone of its own."""
    with knobs(secondary_zones="accept"):
        return lab.api.zones.create(name=f"secondary.{lab.name}", account={"id": ACCOUNT}, type="secondary").id


@case("121", "a hold on a zone")
def _():
    lab = Lab()
    holds = lab.api.zones.holds
    equal(holds.get(zone_id=lab.zone).hold, False)
    hold = holds.create(zone_id=lab.zone, include_subdomains=True)
    equal((hold.hold, hold.include_subdomains), (True, "true"))
    equal(holds.edit(zone_id=lab.zone, include_subdomains=False).include_subdomains, "false")
    equal(holds.delete(zone_id=lab.zone).hold, False)
    reader = client(token(rights=["zone_read"]))
    refused(10000, 403, lambda: reader.zones.holds.create(zone_id=lab.zone), gateway=True)


@case("122", "settings of a zone")
def _():
    lab = Lab()
    settings = lab.api.zones.settings
    equal(settings.get("ssl", zone_id=lab.zone).value, "full")
    equal(settings.edit("ssl", zone_id=lab.zone, value="strict").value, "strict")
    equal(settings.edit("ssl_recommender", zone_id=lab.zone, enabled=True).enabled, True)
    refused(1006, 400, lambda: settings.get("absent", zone_id=lab.zone))
    refused(1007, 400, lambda: settings.edit("ssl", zone_id=lab.zone, value=1))


@case("123", "Cloudflare looks at a delegation as often as the plan allows")
def _():
    lab = Lab()
    equal(lab.api.zones.activation_check.trigger(zone_id=lab.zone).id, lab.zone)
    refused(1224, 400, lambda: lab.api.zones.activation_check.trigger(zone_id=lab.zone))
    control("POST", "/clock", {"seconds": 3601})
    lab.api.zones.activation_check.trigger(zone_id=lab.zone)


@case("124", "peers are named first and configured then")
def _():
    lab = Lab()
    peers = lab.api.dns.zone_transfers.peers
    made = peers.create(account_id=ACCOUNT, name="primary")
    equal((made.name, made.ip, made.tsig_id), ("primary", None, None))
    put = peers.update(made.id, account_id=ACCOUNT, name="primary", ip="192.0.2.53", port=5353, ixfr_enable=True)
    equal((put.ip, put.port, put.ixfr_enable), ("192.0.2.53", 5353, True))
    assert made.id in {peer.id for peer in peers.list(account_id=ACCOUNT)}
    equal(list(peers.list(account_id=UNKNOWN)), [])
    equal(peers.get(made.id, account_id=ACCOUNT).ip, "192.0.2.53")
    equal(peers.delete(made.id, account_id=ACCOUNT).id, made.id)
    refused(1003, 404, lambda: peers.get(made.id, account_id=ACCOUNT))
    weak = client(token(rights=["zone_write", "dns_write", "account_read"]))
    refused(10000, 403, lambda: weak.dns.zone_transfers.peers.create(account_id=ACCOUNT, name="x"), gateway=True)


@case("125", "keys for zone transfers")
def _():
    tsigs = Lab().api.dns.zone_transfers.tsigs
    made = tsigs.create(account_id=ACCOUNT, name="transfer.", algo="hmac-sha256.", secret=SECRET)
    equal((made.name, made.algo, made.secret), ("transfer.", "hmac-sha256.", SECRET))
    put = tsigs.update(made.id, account_id=ACCOUNT, name="transfer.", algo="hmac-sha512.", secret=SECRET)
    equal(put.algo, "hmac-sha512.")
    assert made.id in {key.id for key in tsigs.list(account_id=ACCOUNT)}
    equal(tsigs.get(made.id, account_id=ACCOUNT).algo, "hmac-sha512.")
    equal(tsigs.delete(made.id, account_id=ACCOUNT).id, made.id)


@case("126", "a secondary zone follows its primaries")
def _():
    lab = Lab()
    refused(
        1104,
        400,
        lambda: lab.api.zones.create(name=f"x.{lab.name}", account={"id": ACCOUNT}, type="secondary"),
    )
    zone = secondary(lab)
    equal(lab.api.zones.get(zone_id=zone).type, "secondary")
    transfers = lab.api.dns.zone_transfers
    refused(1003, 404, lambda: transfers.incoming.get(zone_id=zone))
    peer = transfers.peers.create(account_id=ACCOUNT, name="followed").id
    wanted = {"zone_id": zone, "name": f"secondary.{lab.name}.", "peers": [peer], "auto_refresh_seconds": 86400}
    equal(transfers.incoming.create(**wanted).peers, [peer])
    refused(1004, 400, lambda: transfers.incoming.create(**wanted))
    refused(1004, 400, lambda: transfers.peers.delete(peer, account_id=ACCOUNT))
    equal(transfers.incoming.update(**{**wanted, "peers": []}).peers, [])
    refused(1004, 400, lambda: transfers.incoming.update(**{**wanted, "peers": [UNKNOWN]}))
    equal(transfers.incoming.get(zone_id=zone).auto_refresh_seconds, 86400)
    equal(transfers.incoming.delete(zone_id=zone).id, zone)
    refused(1004, 400, lambda: transfers.incoming.create(**{**wanted, "zone_id": lab.zone, "name": lab.name}))


@case("127", "a transfer is asked for")
def _():
    lab = Lab()
    zone = secondary(lab)
    transfers = lab.api.dns.zone_transfers
    refused(1003, 404, lambda: transfers.force_axfr.create(zone_id=zone))
    transfers.incoming.create(zone_id=zone, name=f"secondary.{lab.name}.", peers=[], auto_refresh_seconds=300)
    equal(transfers.force_axfr.create(zone_id=zone), "OK")
    assert transfers.incoming.get(zone_id=zone).checked_time
