package main

import (
	"fmt"

	"github.com/cloudflare/cloudflare-go/v6"
	"github.com/cloudflare/cloudflare-go/v6/dns"
	"github.com/cloudflare/cloudflare-go/v6/shared"
)

func populated() *lab {
	lab := newLab("pro")
	lab.seed(object{"type": "A", "name": "www", "content": "192.0.2.1", "ttl": 300, "comment": "door", "tags": []string{"team:DNS"}})
	lab.seed(object{"type": "A", "name": "api", "content": "192.0.2.2", "proxied": true})
	lab.seed(object{"type": "TXT", "name": "www", "content": "v=spf1 -all", "ttl": 600})
	return lab
}

func get(lab *lab, id string) (*dns.RecordResponse, error) {
	return lab.api.DNS.Records.Get(ctx, id, dns.RecordGetParams{ZoneID: cloudflare.F(lab.zone)})
}

var readCases = []run{
	{"27", "an empty zone", func() {
		lab := newLab("free")
		equal(lab.names(dns.RecordListParams{}), []string{})
		with(object{"empty_list_pages": "one"}, func() { equal(lab.names(dns.RecordListParams{}), []string{}) })
	}},
	{"28", "250 records in pages of 100", func() {
		lab := newLab("pro")
		for number := range 250 {
			lab.seed(object{"type": "A", "name": fmt.Sprintf("h%d", number), "content": "192.0.2.1"})
		}
		seen := map[string]bool{}
		for _, name := range lab.names(dns.RecordListParams{}) {
			seen[name] = true
		}
		equal(len(seen), 250)
		equal(len(lab.names(dns.RecordListParams{PerPage: cloudflare.F(5000.0)})), 250)
	}},
	{"32", "filters that must all match", func() {
		equal(populated().names(dns.RecordListParams{
			Name:  cloudflare.F(dns.RecordListParamsName{Contains: cloudflare.F("WWW")}),
			Type:  cloudflare.F(dns.RecordListParamsTypeA),
			Match: cloudflare.F(dns.RecordListParamsMatchAll),
		}), []string{"www"})
	}},
	{"33", "filters of which any may match", func() {
		equal(populated().names(dns.RecordListParams{
			Name:  cloudflare.F(dns.RecordListParamsName{Startswith: cloudflare.F("api")}),
			Type:  cloudflare.F(dns.RecordListParamsTypeTXT),
			Match: cloudflare.F(dns.RecordListParamsMatchAny),
		}), []string{"api", "www"})
	}},
	{"35", "with a comment", func() {
		present := dns.RecordListParamsComment{Present: cloudflare.F("true")}
		equal(populated().names(dns.RecordListParams{Comment: cloudflare.F(present)}), []string{"www"})
	}},
	{"36", "records by tag", func() {
		exact := dns.RecordListParamsTag{Exact: cloudflare.F("team:dns")}
		equal(populated().names(dns.RecordListParams{Tag: cloudflare.F(exact)}), []string{"www"})
	}},
	{"38", "proxied records", func() {
		equal(populated().names(dns.RecordListParams{Proxied: cloudflare.F(true)}), []string{"api"})
	}},
	{"39", "the order of a listing", func() {
		equal(populated().names(dns.RecordListParams{
			Order:     cloudflare.F(dns.RecordListParamsOrderTTL),
			Direction: cloudflare.F(shared.SortDirectionDesc),
		}), []string{"www", "www", "api"})
	}},
	{"41", "an unknown record", func() {
		refused[*dns.RecordResponse](404, 81044)(get(newLab("free"), unknown))
	}},
}
