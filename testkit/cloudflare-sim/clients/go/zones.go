package main

import (
	"fmt"

	"github.com/cloudflare/cloudflare-go/v6"
	"github.com/cloudflare/cloudflare-go/v6/zones"
)

func newZone(api *cloudflare.Client, name string) (*zones.Zone, error) {
	return api.Zones.New(ctx, zones.ZoneNewParams{
		Account: cloudflare.F(zones.ZoneNewParamsAccount{ID: cloudflare.F(account)}),
		Name:    cloudflare.F(name),
	})
}

func getZone(api *cloudflare.Client, id string) (*zones.Zone, error) {
	return api.Zones.Get(ctx, zones.ZoneGetParams{ZoneID: cloudflare.F(id)})
}

var zoneCases = []run{
	{"14", "zones come in pages of 20", func() {
		ids := []string{}
		for number := range 25 {
			zone := control("POST", "/zones", object{"name": fmt.Sprintf("gopage%d.example.com", number)})
			ids = append(ids, zone["id"].(string))
		}
		api := client(newToken(object{"zones": object{"only": ids}}))
		page := value(api.Zones.List(ctx, zones.ZoneListParams{}))
		equal([]int64{page.ResultInfo.Page, page.ResultInfo.PerPage, int64(len(page.Result))}, []int64{1, 20, 20})
		seen := 0
		for pages := api.Zones.ListAutoPaging(ctx, zones.ZoneListParams{}); pages.Next(); {
			seen++
		}
		equal(seen, 25)
	}},
	{"15", "a page size out of range", func() {
		lab := newLab("free")
		asked := zones.ZoneListParams{PerPage: cloudflare.F(51.0)}
		equal(value(lab.api.Zones.List(ctx, asked)).ResultInfo.PerPage, int64(50))
		with(object{"zone_page_size": "refuse"}, func() { refused[zonePage](400, 1004)(lab.api.Zones.List(ctx, asked)) })
	}},
	{"17", "zones by name", func() {
		lab := newLab("free")
		found := value(lab.api.Zones.List(ctx, zones.ZoneListParams{Name: cloudflare.F(lab.name)})).Result
		equal([]string{found[0].ID, found[0].Name}, []string{lab.zone, lab.name})
		absent := zones.ZoneListParams{Name: cloudflare.F("absent.example.com")}
		equal(len(value(lab.api.Zones.List(ctx, absent)).Result), 0)
	}},
	{"20", "a new zone is pending", func() {
		zone := value(newZone(client(newToken(object{})), "gonew.example.com"))
		equal(zone.Status, zones.ZoneStatusPending)
		equal(len(zone.NameServers), 2)
	}},
	{"21", "a zone that exists", func() {
		lab := newLab("free")
		refused[*zones.Zone](400, 1061)(newZone(lab.api, lab.name))
	}},
	{"24", "a deleted zone is gone", func() {
		lab := newLab("free")
		equal(value(lab.api.Zones.Delete(ctx, zones.ZoneDeleteParams{ZoneID: cloudflare.F(lab.zone)})).ID, lab.zone)
		refused[*zones.Zone](403, 10000)(getZone(lab.api, lab.zone))
	}},
	{"25", "a malformed zone id", func() {
		lab := newLab("free")
		refused[*zones.Zone](404, 7003)(getZone(lab.api, "nonsense"))
	}},
	{"26", "an unknown zone id", func() {
		lab := newLab("free")
		refused[*zones.Zone](403, 10000)(getZone(lab.api, unknown))
		with(object{"unknown_zone": "not_found"}, func() { refused[*zones.Zone](404, 1001)(getZone(lab.api, unknown)) })
	}},
}
