package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"

	"github.com/cloudflare/cloudflare-go/v6"
	"github.com/cloudflare/cloudflare-go/v6/dns"
	"github.com/cloudflare/cloudflare-go/v6/option"
)

const (
	account = "a0000000000000000000000000000001"
	unknown = "00000000000000000000000000000000"
)

var (
	ctx    = context.Background()
	origin = os.Getenv("SIM_ORIGIN")
	made   = 0
)

type object = map[string]any

// A lab is a zone of its own, and a client that may do everything.
type lab struct {
	name, zone, token string
	api               *cloudflare.Client
}

// A record is what a case wants to create; zero values are left out.
type record struct {
	kind, name, content, comment string
	ttl                          float64
	priority                     *float64
	proxied                      bool
	data                         object
	tags                         []string
}

func newLab(plan string) *lab {
	made++
	name := fmt.Sprintf("go%d.example.com", made)
	zone := control("POST", "/zones", object{"name": name, "plan": plan})["id"].(string)
	token := newToken(object{})
	return &lab{name: name, zone: zone, token: token, api: client(token)}
}

func newToken(grant object) string {
	return control("POST", "/tokens", grant)["token"].(string)
}

func client(token string, options ...option.RequestOption) *cloudflare.Client {
	defaults := []option.RequestOption{
		option.WithAPIToken(token), option.WithBaseURL(origin + "/client/v4"), option.WithMaxRetries(0),
	}
	return cloudflare.NewClient(append(defaults, options...)...)
}

// control asks the simulator itself, not the API it simulates.
func control(method, path string, body any) object {
	var answer object
	must(json.Unmarshal(ask(method, path, body), &answer))
	return answer
}

func ask(method, path string, body any) []byte {
	encoded := value(json.Marshal(body))
	request := value(http.NewRequest(method, origin+"/sim/v1"+path, bytes.NewReader(encoded)))
	response := value(http.DefaultClient.Do(request))
	defer func() { _ = response.Body.Close() }()
	content := value(io.ReadAll(response.Body))
	if response.StatusCode != http.StatusOK {
		panic(string(content))
	}
	return content
}

func knobs(settings object) { control("PUT", "/knobs", settings) }

func faults(plan ...object) {
	if plan == nil {
		plan = []object{}
	}
	control("PUT", "/faults", plan)
}

// with runs the checks under other knobs.
func with(settings object, checks func()) {
	knobs(settings)
	checks()
	knobs(object{})
}

func (lab *lab) seed(fields object) string {
	return control("POST", "/records/"+lab.zone, object{"record": fields})["id"].(string)
}

func (lab *lab) stored() []object {
	var records []object
	must(json.Unmarshal(ask("GET", "/records/"+lab.zone, nil), &records))
	return records
}

func (lab *lab) try(wanted record) (*dns.RecordResponse, error) {
	body := dns.RecordNewParamsBody{
		Name: cloudflare.F(wanted.name),
		Type: cloudflare.F(dns.RecordNewParamsBodyType(wanted.kind)),
		TTL:  cloudflare.F(dns.TTL(max(wanted.ttl, 1))),
	}
	if wanted.data != nil {
		body.Data = cloudflare.F[any](wanted.data)
	} else {
		body.Content = cloudflare.F(wanted.content)
	}
	if wanted.priority != nil {
		body.Priority = cloudflare.F(*wanted.priority)
	}
	if wanted.proxied {
		body.Proxied = cloudflare.F(true)
	}
	if wanted.comment != "" {
		body.Comment = cloudflare.F(wanted.comment)
	}
	if wanted.tags != nil {
		body.Tags = cloudflare.F[any](wanted.tags)
	}
	return lab.api.DNS.Records.New(ctx, dns.RecordNewParams{ZoneID: cloudflare.F(lab.zone), Body: body})
}

func (lab *lab) create(wanted record) *dns.RecordResponse {
	return value(lab.try(wanted))
}

// names lists without the zone, through the SDK's own paging.
func (lab *lab) names(filters dns.RecordListParams) []string {
	filters.ZoneID = cloudflare.F(lab.zone)
	names := []string{}
	pages := lab.api.DNS.Records.ListAutoPaging(ctx, filters)
	for pages.Next() {
		names = append(names, strings.TrimSuffix(pages.Current().Name, "."+lab.name))
	}
	must(pages.Err())
	return names
}

func a(name, content string) record { return record{kind: "A", name: name, content: content} }

func priority(number float64) *float64 { return &number }

func must(err error) {
	if err != nil {
		panic(err.Error())
	}
}

func value[T any](found T, err error) T {
	must(err)
	return found
}

func equal(found, expected any) {
	if !reflect.DeepEqual(found, expected) {
		panic(fmt.Sprintf("%#v, not %#v", found, expected))
	}
}

// refused asserts the status and the codes of an SDK error.
func refused[T any](status int, codes ...int64) func(T, error) *cloudflare.Error {
	return func(_ T, err error) *cloudflare.Error {
		var failure *cloudflare.Error
		if !errors.As(err, &failure) {
			panic(fmt.Sprintf("not refused: %v", err))
		}
		found := []int64{}
		for _, item := range failure.Errors {
			found = append(found, item.Code)
		}
		equal(found, codes)
		equal(failure.StatusCode, status)
		return failure
	}
}

func (lab *lab) refuses(wanted record, status int, codes ...int64) {
	refused[*dns.RecordResponse](status, codes...)(lab.try(wanted))
}
