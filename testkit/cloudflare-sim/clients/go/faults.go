package main

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/cloudflare/cloudflare-go/v6"
	"github.com/cloudflare/cloudflare-go/v6/addressing"
	"github.com/cloudflare/cloudflare-go/v6/custom_hostnames"
	"github.com/cloudflare/cloudflare-go/v6/dns"
	"github.com/cloudflare/cloudflare-go/v6/option"
)

func firstWrite(when string) object {
	return object{"on": object{"scope": "writes", "which": object{"nth": 1}}, "when": when, "act": "cut"}
}

var faultCases = []run{
	{"108", "each response tells the rate limit", func() {
		lab := newLab("free")
		var response *http.Response
		value(lab.api.DNS.Records.List(ctx, dns.RecordListParams{ZoneID: cloudflare.F(lab.zone)},
			option.WithResponseInto(&response)))
		equal(strings.HasPrefix(response.Header.Get("Ratelimit"), `"default";r=`), true)
		equal(strings.HasPrefix(response.Header.Get("Ratelimit-Policy"), `"default";q=`), true)
	}},
	{"110", "a refusal with a long Retry-After", func() {
		lab := newLab("free")
		faults(object{"act": object{"rate_limited": object{"retry_after": 120}}})
		_, err := lab.try(a("www", "192.0.2.1"))
		faults()
		failure := refused[any](429, 10429)(nil, err)
		equal(failure.Response.Header.Get("Retry-After"), "120")
	}},
	{"111", "a retried POST meets its own effect", func() {
		lab := newLab("free")
		lab.api = client(lab.token, option.WithMaxRetries(1), option.WithRequestTimeout(5*time.Second))
		faults(firstWrite("after"))
		lab.refuses(a("www", "192.0.2.1"), 400, 81058)
		faults()
		equal(len(lab.stored()), 1)
	}},
	{"112", "broken replies", func() {
		lab := newLab("free")
		for _, act := range []any{object{"json": 500}, object{"html": 502}, object{"empty": 503}} {
			faults(object{"act": act})
			_, err := lab.try(a("www", "192.0.2.1"))
			faults()
			equal(err != nil, true)
		}
		faults(object{"act": "cut"})
		_, err := lab.try(a("www", "192.0.2.1"))
		var failure *cloudflare.Error
		equal(err != nil && !errors.As(err, &failure), true)
		faults(object{"act": "cut_mid_body"})
		_, err = lab.try(a("www", "192.0.2.1"))
		equal(err != nil, true)
		faults()
		equal(len(lab.stored()), 1)
	}},
	{"114", "a zone survives export and import", func() {
		one, two := newLab("pro"), newLab("pro")
		one.create(record{kind: "A", name: "www", content: "192.0.2.1", comment: "door", tags: []string{"team:dns"}})
		one.create(srv)
		text := value(one.api.DNS.Records.Export(ctx, dns.RecordExportParams{ZoneID: cloudflare.F(one.zone)}))
		moved := strings.ReplaceAll(*text, one.name, two.name)
		result := value(two.api.DNS.Records.Import(ctx, dns.RecordImportParams{
			ZoneID: cloudflare.F(two.zone), File: cloudflare.F(moved),
		}))
		equal([]float64{result.RecsAdded, result.TotalRecordsParsed}, []float64{2, 2})
		equal(two.stored()[1]["comment"], "door")
	}},
	{"116", "regional hostnames", func() {
		lab := newLab("free")
		regional := lab.api.Addressing.RegionalHostnames
		none := value(regional.List(ctx, addressing.RegionalHostnameListParams{ZoneID: cloudflare.F(lab.zone)}))
		equal(len(none.Result), 0)
		made := value(regional.New(ctx, addressing.RegionalHostnameNewParams{
			ZoneID: cloudflare.F(lab.zone), Hostname: cloudflare.F("eu." + lab.name), RegionKey: cloudflare.F("eu"),
		}))
		equal(made.Routing, "dns")
	}},
	{"117", "custom hostnames", func() {
		lab := newLab("free")
		made := value(lab.api.CustomHostnames.New(ctx, custom_hostnames.CustomHostnameNewParams{
			ZoneID: cloudflare.F(lab.zone), Hostname: cloudflare.F("c.example.com"),
		}))
		gone := value(lab.api.CustomHostnames.Delete(ctx, made.ID, custom_hostnames.CustomHostnameDeleteParams{
			ZoneID: cloudflare.F(lab.zone),
		}))
		equal(gone.ID, made.ID)
	}},
	{"120", "the last of two writers wins", func() {
		lab := newLab("free")
		id := lab.create(a("www", "192.0.2.1")).ID
		value(edit(lab, id, address("www", "192.0.2.2")))
		value(edit(lab, id, address("www", "192.0.2.3")))
		equal(value(get(lab, id)).Content, "192.0.2.3")
	}},
}
