package main

import (
	"strings"

	"github.com/cloudflare/cloudflare-go/v6"
	"github.com/cloudflare/cloudflare-go/v6/accounts"
	"github.com/cloudflare/cloudflare-go/v6/option"
	"github.com/cloudflare/cloudflare-go/v6/packages/pagination"
	"github.com/cloudflare/cloudflare-go/v6/user"
	"github.com/cloudflare/cloudflare-go/v6/zones"
)

type zonePage = *pagination.V4PagePaginationArray[zones.Zone]

func zoneList(api *cloudflare.Client) (zonePage, error) {
	return api.Zones.List(ctx, zones.ZoneListParams{})
}

var stranger = strings.Repeat("x", 40)

var authCases = []run{
	{"1", "no credential at all", func() {
		api := cloudflare.NewClient(option.WithBaseURL(origin+"/client/v4"), option.WithMaxRetries(0))
		refused[zonePage](400, 9106)(zoneList(api))
	}},
	{"2", "a bearer token of the wrong length", func() {
		failure := refused[zonePage](400, 6003)(zoneList(client("short")))
		equal(strings.Contains(failure.JSON.RawJSON(), "6111"), true)
	}},
	{"3", "a malformed key", func() {
		api := cloudflare.NewClient(option.WithAPIKey("no-key"), option.WithAPIEmail("user@example.com"),
			option.WithBaseURL(origin+"/client/v4"), option.WithMaxRetries(0))
		failure := refused[zonePage](400, 6003)(zoneList(api))
		equal(strings.Contains(failure.JSON.RawJSON(), "6103"), true)
	}},
	{"4", "a token that nobody issued", func() {
		refused[zonePage](403, 9109)(zoneList(client(stranger)))
		with(object{"unknown_token": "authentication_error"}, func() {
			refused[zonePage](403, 10000)(zoneList(client(stranger)))
		})
	}},
	{"5", "a token verifies itself", func() {
		equal(value(client(newToken(object{})).User.Tokens.Verify(ctx)).Status, user.TokenVerifyResponseStatusActive)
		owned := client(newToken(object{"owner": "account"}))
		verified := value(owned.Accounts.Tokens.Verify(ctx, accounts.TokenVerifyParams{AccountID: cloudflare.F(account)}))
		equal(verified.Status, accounts.TokenVerifyResponseStatusActive)
		refused[*user.TokenVerifyResponse](403, 10000)(owned.User.Tokens.Verify(ctx))
	}},
	{"6", "an expired token verifies as expired", func() {
		expired := client(newToken(object{"status": "expired"}))
		equal(value(expired.User.Tokens.Verify(ctx)).Status, user.TokenVerifyResponseStatusExpired)
	}},
	{"8", "an unknown token can't verify", func() {
		refused[*user.TokenVerifyResponse](401, 1000)(client(stranger).User.Tokens.Verify(ctx))
	}},
	{"9", "a token that may only read", func() {
		lab := newLab("free")
		lab.api = client(newToken(object{"rights": []string{"dns_read"}}))
		lab.refuses(a("www", "192.0.2.1"), 403, 10000)
		equal(len(lab.stored()), 0)
	}},
	{"11", "a token for one zone lists zones", func() {
		lab := newLab("free")
		api := client(newToken(object{"zones": object{"only": []string{lab.zone}}}))
		equal(len(value(zoneList(api)).Result), 1)
		with(object{"scoped_zone_list": "deny"}, func() { refused[zonePage](403, 0)(zoneList(api)) })
	}},
	{"12", "a token used from a barred address", func() {
		failure := refused[zonePage](403, 9109)(zoneList(client(newToken(object{"location": "barred"}))))
		equal(strings.Contains(failure.Errors[0].Message, "location"), true)
	}},
	{"13", "the global key may do everything", func() {
		lab := newLab("free")
		key := control("POST", "/keys", object{"email": "user@example.com"})["key"].(string)
		lab.api = cloudflare.NewClient(option.WithAPIKey(key), option.WithAPIEmail("user@example.com"),
			option.WithBaseURL(origin+"/client/v4"), option.WithMaxRetries(0))
		equal(lab.create(a("www", "192.0.2.1")).Content, "192.0.2.1")
	}},
}
