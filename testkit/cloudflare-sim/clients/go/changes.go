package main

import (
	"fmt"

	"github.com/cloudflare/cloudflare-go/v6"
	"github.com/cloudflare/cloudflare-go/v6/dns"
)

func address(name, content string) dns.ARecordParam {
	return dns.ARecordParam{
		Name: cloudflare.F(name), Type: cloudflare.F(dns.ARecordTypeA), TTL: cloudflare.F(dns.TTL1),
		Content: cloudflare.F(content),
	}
}

func edit(lab *lab, id string, body dns.ARecordParam) (*dns.RecordResponse, error) {
	return lab.api.DNS.Records.Edit(ctx, id, dns.RecordEditParams{ZoneID: cloudflare.F(lab.zone), Body: body})
}

func put(lab *lab, id string, body dns.ARecordParam) (*dns.RecordResponse, error) {
	return lab.api.DNS.Records.Update(ctx, id, dns.RecordUpdateParams{ZoneID: cloudflare.F(lab.zone), Body: body})
}

func remove(lab *lab, id string) (*dns.RecordDeleteResponse, error) {
	return lab.api.DNS.Records.Delete(ctx, id, dns.RecordDeleteParams{ZoneID: cloudflare.F(lab.zone)})
}

func batch(lab *lab, lists dns.RecordBatchParams) (*dns.RecordBatchResponse, error) {
	lists.ZoneID = cloudflare.F(lab.zone)
	return lab.api.DNS.Records.Batch(ctx, lists)
}

func deletes(ids ...string) []dns.RecordBatchParamsDelete {
	list := []dns.RecordBatchParamsDelete{}
	for _, id := range ids {
		list = append(list, dns.RecordBatchParamsDelete{ID: cloudflare.F(id)})
	}
	return list
}

type posts = []dns.RecordBatchParamsPostUnion

type batchReply = *dns.RecordBatchResponse

var changeCases = []run{
	{"90", "a patch keeps what it leaves out", func() {
		lab := newLab("free")
		before := lab.create(record{kind: "A", name: "www", content: "192.0.2.1", comment: "kept", proxied: true})
		after := value(edit(lab, before.ID, address("www", "192.0.2.2")))
		equal([]any{after.Content, after.Comment, after.Proxied}, []any{"192.0.2.2", "kept", true})
		equal(after.ModifiedOn.After(before.ModifiedOn), true)
		equal(after.CommentModifiedOn, before.CommentModifiedOn)
	}},
	{"92", "a put restores defaults", func() {
		lab := newLab("free")
		before := lab.create(record{kind: "A", name: "www", content: "192.0.2.1", comment: "lost", proxied: true})
		after := value(put(lab, before.ID, address("www", "192.0.2.2")))
		equal([]any{after.ID, after.Comment, after.Proxied}, []any{before.ID, "", false})
	}},
	{"95", "changing an unknown record", func() {
		lab := newLab("free")
		refused[*dns.RecordResponse](404, 81044)(put(lab, unknown, address("www", "192.0.2.1")))
		refused[*dns.RecordResponse](404, 81044)(edit(lab, unknown, address("www", "192.0.2.1")))
	}},
	{"98", "a record is deleted once", func() {
		lab := newLab("free")
		id := lab.create(a("www", "192.0.2.1")).ID
		equal(value(remove(lab, id)).ID, id)
		refused[*dns.RecordDeleteResponse](404, 81044)(remove(lab, id))
	}},
	{"100", "deletes come before posts", func() {
		lab := newLab("free")
		old := lab.create(cname("www", "a.example.com"))
		result := value(batch(lab, dns.RecordBatchParams{
			Posts:   cloudflare.F(posts{address("www", "192.0.2.1")}),
			Deletes: cloudflare.F(deletes(old.ID)),
		}))
		equal([]string{result.Deletes[0].ID, result.Posts[0].Content}, []string{old.ID, "192.0.2.1"})
	}},
	{"101", "one bad post among fifty", func() {
		lab := newLab("free")
		kept := lab.create(a("kept", "192.0.2.1"))
		list := posts{}
		for number := range 50 {
			list = append(list, address(fmt.Sprintf("h%d", number), "192.0.2.1"))
		}
		list[30] = address("bad", "nonsense")
		before := lab.stored()
		refused[batchReply](400, 9005)(batch(lab, dns.RecordBatchParams{
			Posts: cloudflare.F(list), Deletes: cloudflare.F(deletes(kept.ID)),
		}))
		equal(lab.stored(), before)
	}},
	{"102", "deleting what isn't there", func() {
		lab := newLab("free")
		refused[batchReply](404, 81044)(batch(lab, dns.RecordBatchParams{Deletes: cloudflare.F(deletes(unknown))}))
	}},
	{"103", "patches keep and puts reset", func() {
		lab := newLab("free")
		one := lab.create(record{kind: "A", name: "one", content: "192.0.2.1", comment: "kept"})
		two := lab.create(record{kind: "A", name: "two", content: "192.0.2.1", comment: "lost"})
		patch := dns.BatchPatchARecordParam{ID: cloudflare.F(one.ID), ARecordParam: address("one", "192.0.2.9")}
		put := dns.BatchPutARecordParam{ID: cloudflare.F(two.ID), ARecordParam: address("two", "192.0.2.9")}
		result := value(batch(lab, dns.RecordBatchParams{
			Patches: cloudflare.F([]dns.BatchPatchUnionParam{patch}),
			Puts:    cloudflare.F([]dns.BatchPutUnionParam{put}),
		}))
		equal([]string{result.Patches[0].Comment, result.Puts[0].Comment}, []string{"kept", ""})
	}},
	{"105", "the response keeps the order of the request", func() {
		lab := newLab("free")
		list := posts{address("c", "192.0.2.1"), address("a", "192.0.2.2"), address("b", "192.0.2.3")}
		found := []string{}
		for _, made := range value(batch(lab, dns.RecordBatchParams{Posts: cloudflare.F(list)})).Posts {
			found = append(found, made.Content)
		}
		equal(found, []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"})
	}},
	{"107", "an empty batch", func() {
		lab := newLab("free")
		value(batch(lab, dns.RecordBatchParams{}))
		with(object{"empty_batch": "refuse"}, func() {
			refused[batchReply](400, 9401)(batch(lab, dns.RecordBatchParams{}))
		})
	}},
}
