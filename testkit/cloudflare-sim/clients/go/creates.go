package main

import (
	"strings"

	"github.com/cloudflare/cloudflare-go/v6/dns"
)

func cname(name, target string) record { return record{kind: "CNAME", name: name, content: target} }

func txt(name, content string) record { return record{kind: "TXT", name: name, content: content} }

func mx(content string, number *float64) record {
	return record{kind: "MX", name: "@", content: content, priority: number}
}

var srv = record{kind: "SRV", name: "_xmpp._tcp", data: object{
	"priority": 10, "weight": 5, "port": 5222, "target": "talk.example.com.",
}}

var createCases = []run{
	{"43", "a plain record and its defaults", func() {
		lab := newLab("free")
		made := lab.create(a("www", "192.0.2.1"))
		equal(made.Name, "www."+lab.name)
		equal([]any{float64(made.TTL), made.Proxied, made.Proxiable, made.Comment}, []any{1.0, false, true, ""})
		equal(made.JSON.Comment.IsNull(), true)
		equal(made.JSON.CommentModifiedOn.IsMissing(), true)
	}},
	{"44", "the apex", func() {
		lab := newLab("free")
		equal(lab.create(a("@", "192.0.2.1")).Name, lab.name)
	}},
	{"45", "a trailing dot in the name", func() {
		lab := newLab("free")
		equal(lab.create(a("www."+lab.name+".", "192.0.2.1")).Name, "www."+lab.name)
	}},
	{"46", "a Unicode name", func() {
		lab := newLab("free")
		equal(lab.create(a("bücher", "192.0.2.1")).Name, "xn--bcher-kva."+lab.name)
	}},
	{"47", "the long form of an IPv6 address", func() {
		made := newLab("free").create(record{kind: "AAAA", name: "www", content: "2001:0db8:0:0::0:1"})
		equal(made.Content, "2001:db8::1")
	}},
	{"48", "an address of the wrong family", func() {
		newLab("free").refuses(a("www", "2001:db8::1"), 400, 9005)
	}},
	{"50", "a CNAME to an address", func() { newLab("free").refuses(cname("www", "192.0.2.1"), 400, 9007) }},
	{"51", "a CNAME to itself", func() {
		lab := newLab("free")
		lab.refuses(cname("www", "www."+lab.name), 400, 9039)
	}},
	{"53", "the same record twice", func() {
		lab := newLab("free")
		lab.create(a("www", "192.0.2.1"))
		lab.refuses(a("www", "192.0.2.1"), 400, 81058)
		lab.create(a("www", "192.0.2.2"))
	}},
	{"55", "the same CNAME twice", func() {
		lab := newLab("free")
		lab.create(cname("www", "a.example.com"))
		lab.refuses(cname("www", "a.example.com"), 400, 81053)
		lab.refuses(a("www", "192.0.2.1"), 400, 81054)
		lab.create(txt("www", "beside"))
	}},
	{"56", "a CNAME beside an address", func() {
		lab := newLab("free")
		lab.create(a("www", "192.0.2.1"))
		lab.refuses(cname("www", "a.example.com"), 400, 81053)
	}},
	{"61", "an MX record without priority", func() {
		lab := newLab("free")
		lab.refuses(mx("mail.example.com", nil), 400, 9100)
		lab.refuses(mx("192.0.2.1", nil), 400, 9100, 9009)
	}},
	{"62", "the null MX", func() { equal(newLab("free").create(mx(".", priority(0))).Content, ".") }},
	{"63", "SRV content and priority", func() {
		made := newLab("free").create(srv)
		equal([]any{made.Content, made.Data.(dns.SRVRecordData).Priority}, []any{"5 5222 talk.example.com", 10.0})
		// The SDK's SRV type has no top-level priority, so it stays in the raw JSON.
		equal(strings.Count(made.JSON.RawJSON(), `"priority":10`), 2)
	}},
	{"66", "content derived from data", func() {
		lab := newLab("free")
		caa := object{"flags": 0, "tag": "issue", "value": "ca.example"}
		equal(lab.create(record{kind: "CAA", name: "@", data: caa}).Content, `0 issue "ca.example"`)
		https := object{"priority": 1, "target": ".", "value": `alpn="h2"`}
		equal(lab.create(record{kind: "HTTPS", name: "www", data: https}).Content, `1 . alpn="h2"`)
	}},
	{"69", "an unknown type", func() {
		newLab("free").refuses(record{kind: "SPF", name: "@", content: "v=spf1 -all"}, 400, 9002)
	}},
	{"70", "TXT without quotes stays as it is", func() {
		lab := newLab("free")
		equal(lab.create(txt("a", "v=spf1; -all")).Content, "v=spf1; -all")
		with(object{"unquoted_txt": "quoted"}, func() { equal(lab.create(txt("b", "bare")).Content, `"bare"`) })
	}},
	{"73", "TXT over 4,096 bytes on the wire", func() {
		newLab("free").refuses(txt("www", strings.Repeat("x", 4090)), 400, 9015)
	}},
	{"76", "a TTL below the plan's minimum", func() {
		short := record{kind: "A", name: "www", content: "192.0.2.1", ttl: 30}
		newLab("free").refuses(short, 400, 9021)
		equal(float64(newLab("enterprise").create(short).TTL), 30.0)
	}},
	{"78", "a TTL on a proxied record", func() {
		made := newLab("free").create(record{kind: "A", name: "www", content: "192.0.2.1", ttl: 300, proxied: true})
		equal(float64(made.TTL), 1.0)
	}},
	{"79", "types that can't be proxied", func() {
		newLab("free").refuses(record{kind: "TXT", name: "www", content: "x", proxied: true}, 400, 9004)
	}},
	{"80", "targets that can't be proxied", func() {
		lab := newLab("free")
		lab.refuses(record{kind: "A", name: "www", content: "1.1.1.1", proxied: true}, 400, 9003)
		equal(lab.create(a("www", "10.0.0.1")).Proxiable, false)
	}},
	{"81", "the length of a comment", func() {
		long := record{kind: "A", name: "www", content: "192.0.2.1", comment: strings.Repeat("x", 101)}
		newLab("free").refuses(long, 400, 9313)
		newLab("pro").create(long)
	}},
	{"82", "tags on the free plan", func() {
		tagged := record{kind: "A", name: "www", content: "192.0.2.1", tags: []string{"team:dns"}}
		newLab("free").refuses(tagged, 400, 9300)
		newLab("pro").create(tagged)
	}},
	{"84", "a label that is too long", func() {
		newLab("free").refuses(a(strings.Repeat("x", 64), "192.0.2.1"), 400, 9000)
	}},
	{"87", "a priority where none belongs", func() {
		newLab("free").create(record{kind: "A", name: "www", content: "192.0.2.1", priority: priority(0)})
	}},
}
