//! Templates: ExternalDNS's documented uses in our own words, and where Go's rules matter.

use serde_json::{Value, json};
use zonekeeper_api::SourceKind;
use zonekeeper_sources::{Template, object::Kind};

fn service() -> Value {
    json!({
        "apiVersion": "v1",
        "metadata": {
            "name": "api", "namespace": "shop",
            "labels": {"env": "prod", "region": "eu", "app1": "one", "app2": "two", "marker": ""},
            "annotations": {"dns.example.com/label": "custom", "dns": "said", "list": "[{\"dns\":\"x\"},{\"dns\":\"y\"}]", "other": "a.example.com"},
        },
        "spec": {"type": "ExternalName", "clusterIP": "10.0.0.1", "selector": {"app": "web"}, "ports": [{"port": 80}], "externalIPs": ["192.0.2.1", "2001:db8::1"]},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}},
    })
}

fn names(template: &str) -> Result<Vec<String>, String> {
    let kind = Kind::Source(SourceKind::Service);
    Template::parse(template)
        .and_then(|template| template.names(kind, &service()))
        .map_err(|error| error.to_string())
}

fn name(template: &str) -> String {
    names(template).unwrap().join(" ")
}

#[test]
fn fields_of_the_object_make_names_and_commas_separate_them() {
    assert_eq!(name("{{ .Name }}.example.com"), "api.example.com");
    assert_eq!(name("{{.Name}}.{{.Namespace}}.example.com."), "api.shop.example.com");
    assert_eq!(
        name(" b.example.com, {{.Name}}.example.com ,,b.example.com"),
        "api.example.com b.example.com"
    );
    assert_eq!(name("{{ .Labels.env }}.{{ .Name }}.example.com"), "prod.api.example.com");
    assert_eq!(name("{{ index .Labels \"env\" }}.example.com"), "prod.example.com");
    assert_eq!(
        name("{{ index .ObjectMeta.Annotations \"dns.example.com/label\" }}.{{ .Namespace }}.example.com"),
        "custom.shop.example.com"
    );
    assert_eq!(
        name("{{ .ObjectMeta.Name }}-{{ .metadata.name }}-{{ .Kind | toLower }}-{{ .APIVersion }}"),
        "api-api-service-v1"
    );
    assert_eq!(
        name(
            "{{ .Spec.ClusterIP }}-{{ index .Spec.Selector \"app\" }}-{{ (index .Status.LoadBalancer.Ingress 0).IP }}"
        ),
        "10.0.0.1-web-192.0.2.7"
    );
}

#[test]
fn conditions_choose_names() {
    assert_eq!(
        name("{{ if eq .Kind \"Service\" }}{{ .Name }}.svc.example.com{{ end }}"),
        "api.svc.example.com"
    );
    assert_eq!(
        name(
            "{{ if eq .Kind \"Service\" }}{{ if eq .Spec.Type \"ExternalName\" }}{{ .Name }}.ext.example.com{{ end }}{{ end }}"
        ),
        "api.ext.example.com"
    );
    assert_eq!(
        name(
            "{{ if eq .Kind \"Pod\" }}no{{ else if eq .Kind \"Node\" \"Service\" }}yes{{ else }}no{{ end }}"
        ),
        "yes"
    );
    assert_eq!(
        name("{{ or .Annotations.dns \"invalid\" }}.{{ or .Annotations.none \"default\" }}"),
        "said.default"
    );
    assert_eq!(
        name(
            "{{ if index .Spec.Selector \"app\" }}{{ index .Spec.Selector \"app\" }}{{ end }}{{ if index .Spec.Selector \"none\" }}!{{ end }}"
        ),
        "web"
    );
    assert_eq!(
        name(
            "{{ .Name }}.{{ .Labels.env }}.{{ .Labels.region }}.example.com, {{ if eq .Labels.env \"prod\" }}{{ .Name }}.example.net{{ end }}"
        ),
        "api.example.net api.prod.eu.example.com"
    );
    assert_eq!(name("{{ if not (hasKey .Labels \"marker\") }}no{{ else }}yes{{ end }}"), "yes");
    assert_eq!(name("{{ if isSource \"service\" }}s{{ end }}{{ if isSource \"ingress\" }}i{{ end }}"), "s");
    assert_eq!(name("{{ if and (contains .Name \"a\") (ne .Name \"b\") (not false) }}x{{ end }}"), "x");
    assert_eq!(name("{{ if gt (len .Spec.Ports) 0 }}x{{ end }}{{ if lt 1 0 }}y{{ end }}"), "x");
}

#[test]
fn range_and_with_walk_through_maps_lists_and_json() {
    let labels = "{{ range $key, $value := .Labels }}{{ if contains $key \"app\" }}{{ $.Name }}.{{ $value }}.example.com{{ printf \",\" }}{{ end }}{{ end }}";
    assert_eq!(name(labels), "api.one.example.com api.two.example.com");
    assert_eq!(
        name(
            "{{ range $k, $v := .Annotations }}{{ if and (contains $k \"oth\") (contains $v \"example.com\") }}{{ $v }}{{ printf \",\" }}{{ end }}{{ end }}"
        ),
        "a.example.com"
    );
    assert_eq!(
        name(
            "{{ range $entry := (index .Annotations \"list\" | fromJson) }}{{ index $entry \"dns\" }}.example.com,{{ end }}"
        ),
        "x.example.com y.example.com"
    );
    assert_eq!(
        name(
            "{{ range .Spec.ExternalIPs }}{{ if isIPv4 . }}v4{{ end }}{{ if isIPv6 . }}v6{{ end }},{{ end }}"
        ),
        "v4 v6"
    );
    assert_eq!(name("{{ range .Spec.ClusterIPs }}x{{ else }}none{{ end }}"), "none");
    assert_eq!(name("{{ range $i, $p := .Spec.Ports }}{{ $i }}-{{ $p.Port }}{{ end }}"), "0-80");
    assert_eq!(
        name(
            "{{ with .Labels.env }}{{ . }}.{{ $.Name }}{{ end }}{{ with .Labels.none }}!{{ else }}.x{{ end }}"
        ),
        "prod.api.x"
    );
    assert_eq!(
        name(
            "{{ range .Spec.ExternalIPs }}{{ break }}{{ end }}{{ range .Spec.ExternalIPs }}a{{ continue }}b{{ end }}"
        ),
        "aa"
    );
    assert_eq!(name("{{ $x := .Name }}{{ if true }}{{ $x = \"changed\" }}{{ end }}{{ $x }}"), "changed");
}

#[test]
fn functions_take_their_arguments_in_gos_order() {
    for (template, result) in [
        ("{{ trimPrefix \"prefix\" \"pre\" }}", "fix"),
        ("{{ trimSuffix .Name \"i\" }}", "ap"),
        ("{{ replace \"l\" \"w\" \"hello\" }}", "hewwo"),
        ("{{ \"hello\" | replace \"l\" \"w\" }}", "hewwo"),
        ("{{ trim \"  hello  \" }}", "hello"),
        ("{{ toLower \"HELLO\" }}", "hello"),
        ("{{ contains \"hello\" \"ell\" }}", "true"),
        ("{{ isIPv4 \"192.0.2.1\" }}", "true"),
        ("{{ isIPv6 \"::FFFF:192.0.2.1\" }}", "true"),
        ("{{ printf \"%s-%d%%-%v-%q\" .Name 7 true `x` }}", "api-7%-true-\"x\""),
        ("{{ print .Name \"!\" }}", "api!"),
        ("a {{- .Name -}} b{{/* nothing */}}", "aapib"),
    ] {
        assert_eq!(name(template), result, "{template}");
    }
}

#[test]
fn a_missing_label_has_no_value_and_so_is_no_name() {
    assert_eq!(name("{{ .Labels.none }}.example.com"), "<no value>.example.com");
    assert_eq!(name("{{ index .Labels \"none\" }}x.example.com"), "x.example.com");
    assert_eq!(name("{{ .Spec.ExternalName }}x"), "x");
}

#[test]
fn mistakes_are_explained() {
    for (template, part) in [
        ("{{ .Calibrate }}", "a Service has no field Calibrate"),
        ("{{ .Name", "end it with }}"),
        ("{{ nope .Name }}", "function \"nope\" is not known"),
        ("{{ if .Name }}x", "if needs an end"),
        ("x{{ end }}", "without an if"),
        ("{{ template \"x\" }}", "template is not supported"),
        ("{{ .Name.Foo }}", "a text has no field Foo"),
        ("{{ $x }}", "$x is not declared"),
        ("{{ trim }}", "trim takes 1 arguments, not 0"),
        ("{{ }}", "empty"),
        ("{{ (.Name }}", "bracket"),
        ("{{ range .Name }}{{ end }}", "can't walk through a text"),
        ("{{ printf \"%x\" 1 }}", "printf knows"),
        ("{{ index .Spec.Ports 7 }}", "out of range"),
    ] {
        let error = names(template).unwrap_err();
        assert!(error.contains(part), "{template}: {error}");
    }
    let endless = "{{range $a := $.Labels}}".repeat(30) + &"{{end}}".repeat(30);
    let error = names(&endless).unwrap_err();
    assert!(error.contains("in time") || error.contains("more text"), "{error}");
}

/// Each of these took minutes or gigabytes without a budget.
#[test]
fn every_template_has_a_budget_of_bytes_steps_and_depth() {
    let doubling =
        "{{ $x := .Name }}".to_owned() + &"{{ $x = print $x $x }}".repeat(30) + "{{ len $x }}.example.com";
    let by_replacement = "{{ $x := .Name }}".to_owned()
        + &"{{ $x = replace \"\" $x $x }}".repeat(8)
        + "{{ len $x }}.example.com";
    let by_format =
        "{{ $x := .Name }}".to_owned() + &"{{ $x = printf \"%q%q\" $x $x }}".repeat(30) + "{{ len $x }}";
    let by_loop = "{{ $x := .Name }}".to_owned()
        + &"{{ range $.Labels }}".repeat(4)
        + "{{ $x = print $x $x }}"
        + &"{{ end }}".repeat(4)
        + "{{ len $x }}";
    for template in [doubling, by_replacement, by_format, by_loop] {
        let error = names(&template).unwrap_err();
        assert!(error.contains("more text than names can be"), "{template}: {error}");
    }
    let deep = format!("{{{{ {}1{} }}}}", "(".repeat(500), ")".repeat(500));
    assert!(names(&deep).unwrap_err().contains("too deeply"));
    let deep = "{{if 1}}".repeat(100) + &"{{end}}".repeat(100);
    assert!(names(&deep).unwrap_err().contains("too deeply"));
    assert!(names(&"x".repeat(5000)).unwrap_err().contains("longer than"));
    let brackets = format!("{{{{ fromJson `{}` }}}}x", "[".repeat(3000));
    assert_eq!(name(&brackets), "x", "what is not JSON is nothing");
}

#[test]
fn templates_see_metadata_and_the_documented_fields_only() {
    let pod = json!({
        "apiVersion": "v1",
        "metadata": {"name": "db", "namespace": "shop", "ownerReferences": [{"name": "hidden"}]},
        "spec": {
            "nodeName": "n1",
            "hostname": "db-0",
            "containers": [{"name": "main", "image": "hidden", "env": [{"name": "PASSWORD", "value": "hidden"}]}],
            "serviceAccountName": "hidden",
        },
        "status": {"podIP": "192.0.2.1", "containerStatuses": [{"image": "hidden"}]},
    });
    let kind = Kind::Source(SourceKind::Pod);
    let object = zonekeeper_sources::object::Object::read(kind, pod, zonekeeper_sources::object::Keep::Whole);
    let whole = object.unwrap().whole.unwrap();
    let names = |template: &str| {
        let made = Template::parse(template).and_then(|template| template.names(kind, &whole));
        made.map_err(|error| error.to_string())
    };
    for template in ["{{ . }}", "{{ .Spec }}", "{{ .Status }}", "{{ .ObjectMeta }}", "{{ .metadata }}"] {
        let made = names(template).unwrap().join(",");
        assert!(!made.contains("hidden") && made.len() > 5, "{template}: {made}");
    }
    for template in [
        "{{ (index .Spec.Containers 0).Image }}",
        "{{ .spec.containers }}",
        "{{ .Spec.ServiceAccountName }}",
        "{{ .Status.ContainerStatuses }}",
        "{{ .ObjectMeta.OwnerReferences }}",
    ] {
        let error = names(template).unwrap_err();
        assert!(error.contains("templates don't see the field"), "{template}: {error}");
    }
    for template in ["{{ index .Spec \"containers\" }}", "{{ with .Spec }}{{ .Containers }}{{ end }}"] {
        assert_eq!(names(template).unwrap(), [""; 0], "{template}");
    }
    let open =
        "{{ .Name }}.{{ .Spec.Hostname }}.{{ .Spec.NodeName }}.{{ .Status.PodIP | replace \".\" \"-\" }}";
    assert_eq!(names(open).unwrap(), ["db.db-0.n1.192-0-2-1"]);
}
