//! A folder counts completely or not at all: what may hide a manifest is an error, and nothing is changed.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::support::{Lab, Manifest, records, up::Up, zonekeeper};

fn www() -> Manifest {
    records("www.example.com", "A", &["192.0.2.1"])
}

fn api() -> Manifest {
    records("api.example.com", "A", &["192.0.2.2"])
}

/// Two records in two files, applied.
async fn applied() -> Lab {
    let lab = Lab::start().await;
    lab.folder.put("www.yaml", &[www()]);
    lab.folder.put("api.yaml", &[api()]);
    lab.apply().await.exits(0);
    lab
}

/// `plan` and `apply` name the place and what is wrong, without a call.
async fn refuses(lab: &Lab, place: &str, what: &str) {
    let before = lab.sim.requests();
    lab.plan().await.exits(1).says(place).says(what);
    lab.apply().await.exits(1).says(place).says(what);
    assert_eq!(lab.sim.requests(), before, "no call");
    assert_eq!(lab.contents().len(), 2);
}

#[tokio::test]
async fn a_link_to_nowhere_is_an_error_whatever_its_name() {
    for name in ["www.yaml", "records", "records.d", "notes.txt"] {
        let lab = applied().await;
        lab.folder.remove("www.yaml");
        symlink("/nowhere/at/all", lab.folder.path().join(name)).expect("a link");
        refuses(&lab, &format!("{name}: links to /nowhere/at/all"), "restore that, or remove the link").await;
    }
}

#[tokio::test]
async fn a_link_in_a_circle_is_an_error() {
    for name in ["www.yaml", "records"] {
        let lab = applied().await;
        lab.folder.remove("www.yaml");
        symlink(name, lab.folder.path().join(name)).expect("a link");
        refuses(&lab, &format!("{name}: is a link that leads nowhere"), "correct or remove it").await;
    }
}

#[tokio::test]
async fn links_of_editors_are_hidden_and_no_error() {
    let lab = applied().await;
    symlink("me@host.1234:1", lab.folder.path().join(".#www.yaml")).expect("a link");
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn a_folder_with_the_name_of_a_manifest_is_an_error() {
    let lab = applied().await;
    lab.folder.remove("www.yaml");
    lab.folder.write("www.yaml/readme.txt", "");
    refuses(&lab, "www.yaml: is a folder", "rename it").await;
}

#[tokio::test]
async fn a_socket_is_an_error() {
    let lab = applied().await;
    lab.folder.remove("www.yaml");
    let _socket =
        std::os::unix::net::UnixListener::bind(lab.folder.path().join("www.yaml")).expect("a socket");
    refuses(&lab, "www.yaml", "is not a regular file").await;
}

#[tokio::test]
async fn bytes_that_are_no_text_are_an_error_with_their_line() {
    let lab = applied().await;
    let text = lab.folder.path().join("www.yaml");
    for (bytes, what) in [(&b"# \xff\n"[..], "is not UTF-8"), (&b"# \0\0\0"[..], "holds a zero byte")] {
        std::fs::write(&text, [format!("{}\n---\n", www().0).as_bytes(), bytes].concat()).expect("a file");
        refuses(&lab, "www.yaml:3: ", what).await;
    }
}

#[tokio::test]
async fn a_file_that_shrank_to_nothing_is_an_error() {
    let lab = applied().await;
    for rest in ["", "\n \n", "# www.example.com\n", "---\n", "---\n# nothing\n...\n", "null\n"] {
        lab.folder.write("www.yaml", rest);
        refuses(&lab, "www.yaml: holds no manifest", "remove the file").await;
    }
}

#[tokio::test]
async fn a_file_that_ends_inside_a_value_is_an_error() {
    let lab = applied().await;
    let start = "apiVersion: zonekeeper.dev/v1alpha1\nkind: RecordSet\nmetadata: {name: www.example.com-a}\nspec:\n  type: A\n  values: [192.0.2.1]\n";
    for rest in [
        "  name: www.example.co",
        "  name: www.example.com",
        "  name: 'www.example.com'",
        "  name: www.example.com\n  ttl:",
    ] {
        lab.folder.write("www.yaml", &format!("{start}{rest}"));
        refuses(&lab, "www.yaml:", "may be cut off").await;
    }
    lab.folder.write("www.yaml", &format!("{start}  name: \"www.example.com\""));
    lab.plan().await.never_says("cut off");
}

#[tokio::test]
async fn a_list_without_items_is_an_error() {
    let lab = applied().await;
    let lists = [
        json!({"apiVersion": "v1", "kind": "List"}),
        json!({"apiVersion": "v1", "kind": "List", "items": null}),
        json!({"apiVersion": "v1", "kind": "List", "items": []}),
        json!({"apiVersion": "v1", "kind": "List", "items": {}}),
        json!({"apiVersion": "v1", "kind": "List", "items": "www"}),
        json!({"apiVersion": "zonekeeper.dev/v1alpha1", "kind": "RecordSetList", "items": []}),
        json!({"apiVersion": "zonekeeper.dev/v1alpha1", "kind": "DNSZoneList"}),
        json!({"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "List", "items": []}]}),
    ];
    for list in lists {
        lab.folder.write("www.yaml", &list.to_string());
        refuses(&lab, "www.yaml:1: items", "").await;
    }
    for items in [json!([null]), json!([[]]), json!([{}]), json!([www().0, null])] {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        lab.folder.write("www.yaml", &list.to_string());
        refuses(&lab, "www.yaml:1", "has no apiVersion and kind").await;
    }
    let list = json!({"apiVersion": "v2", "kind": "List", "items": [www().0]});
    lab.folder.write("www.yaml", &list.to_string());
    refuses(&lab, "www.yaml:1: apiVersion", "use v1").await;
}

#[tokio::test]
async fn a_list_of_our_kinds_is_its_items_too() {
    let lab = applied().await;
    let mut short = www().0;
    short.as_object_mut().expect("an object").retain(|key, _| key != "apiVersion" && key != "kind");
    for item in [www().0, short] {
        let list = json!({"apiVersion": "zonekeeper.dev/v1alpha1", "kind": "RecordSetList", "metadata": {}, "items": [item]});
        lab.folder.write("www.yaml", &list.to_string());
        lab.plan().await.exits(0);
    }
}

#[tokio::test]
async fn a_mistyped_group_or_version_of_ours_is_an_error() {
    let lab = applied().await;
    for version in [
        "zonekeeper.dev/v1alpha2",
        "zonekeper.dev/v1alpha1",
        "Zonekeeper.dev/v1alpha1",
        "zonekeeper.dev",
        "zonekeeper.io/v1alpha1",
        "v1alpha1",
        "v1",
    ] {
        let mut mistyped = www();
        mistyped.0["apiVersion"] = version.into();
        lab.folder.put("www.yaml", &[mistyped]);
        refuses(&lab, "www.yaml:1: apiVersion", "use zonekeeper.dev/v1alpha1").await;
    }
    for kind in ["Recordset", "RecordSets", "Record"] {
        let mut mistyped = www();
        mistyped.0["kind"] = kind.into();
        lab.folder.put("www.yaml", &[mistyped]);
        refuses(&lab, "www.yaml:1: kind", "did you mean RecordSet").await;
    }
    let mut bare = www();
    bare.0.as_object_mut().expect("an object").remove("apiVersion");
    lab.folder.put("www.yaml", &[bare]);
    refuses(&lab, "www.yaml:1", "has no apiVersion").await;
}

#[tokio::test]
async fn kinds_of_other_projects_under_our_names_are_skipped() {
    let lab = applied().await;
    let mut other = www();
    other.0["apiVersion"] = "bindy.firestoned.io/v1alpha1".into();
    lab.folder.put("other.yaml", &[other]);
    lab.plan().await.exits(0).says("is skipped");
}

#[tokio::test]
async fn while_up_an_incomplete_folder_takes_nothing_away() {
    let lab = applied().await;
    let up = Up::start(&zonekeeper(["up", lab.folder.arg()]));
    up.says("www.example.com").await;
    let path = lab.folder.path().join("www.yaml");
    let whole = std::fs::read(&path).expect("a manifest");
    let writes = lab.sim.writes();
    for (n, what) in
        ["links to /nowhere", "holds no manifest", "has no items", "is a folder"].iter().enumerate()
    {
        std::fs::remove_file(&path).expect("the file is there");
        match n {
            0 => symlink("/nowhere/at/all", &path).expect("a link"),
            1 => drop(lab.folder.write("www.yaml", "# gone\n")),
            2 => drop(lab.folder.write("www.yaml", "apiVersion: v1\nkind: List\nitems: []\n")),
            _ => drop(lab.folder.write("www.yaml/readme.txt", "")),
        }
        up.says(what).await;
        match n {
            // What is written to a link goes where it leads.
            0 => std::fs::remove_file(&path).expect("the link is there"),
            3 => std::fs::remove_dir_all(&path).expect("the folder is there"),
            _ => {}
        }
        std::fs::write(&path, &whole).expect("a manifest");
    }
    lab.folder.put("new.yaml", &[records("new.example.com", "A", &["192.0.2.9"])]);
    up.says("+ new A").await;
    assert_eq!(lab.contents().len(), 3);
    assert_eq!(lab.sim.writes(), writes + 1, "{}", up.said());
}

#[tokio::test]
async fn thousands_of_objects_in_one_file_or_list_are_read() {
    let lab = Lab::start().await;
    let hosts = |count: usize| (0..count).map(|n| records(&format!("n{n}.example.com"), "A", &["192.0.2.1"]));
    lab.folder.put("many.yaml", &hosts(2_500).collect::<Vec<_>>());
    let plan = lab.plan_json().await;
    assert_eq!(plan["zones"][0]["creates"], 2_500);
    let items: Vec<_> = hosts(5_000).map(|manifest| manifest.0).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    lab.folder.write("many.yaml", &list.to_string());
    let plan = lab.plan_json().await;
    assert_eq!(plan["zones"][0]["creates"], 5_000);
}

#[tokio::test]
async fn bombs_and_towers_are_refused() {
    let lab = applied().await;
    let doubling: String = (1..40).map(|n| format!("a{n}: &a{n} [*a{}, *a{}]\n", n - 1, n - 1)).collect();
    lab.folder.write("www.yaml", &format!("a0: &a0 [x, x]\n{doubling}"));
    refuses(&lab, "www.yaml", "is not valid YAML").await;
    lab.folder.write("www.yaml", &format!("a: {}{}\n", "[".repeat(50_000), "]".repeat(50_000)));
    refuses(&lab, "www.yaml", "is not valid YAML").await;
}
