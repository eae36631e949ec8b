//! Records at the names of TXT markers, and settings by which two markers would share a name.

use serde_json::{Value, json};

use crate::support::{Lab, Manifest, records, zone};

const MARKER: &str = "\"heritage=external-dns,external-dns/owner=folder,external-dns/resource=recordset/default/team-example-com-a\"";

fn team() -> Manifest {
    records("team.example.com", "A", &["192.0.2.1"])
}

/// What the zone holds beside the set `team` and its marker.
fn others(lab: &Lab) -> Vec<String> {
    let mut contents = lab.contents();
    contents.retain(|line| *line != "team.example.com A 192.0.2.1" && !line.ends_with(MARKER));
    contents
}

#[tokio::test]
async fn foreign_records_at_a_markers_name_stay() {
    let lab = Lab::with_txt(json!({})).await;
    lab.seed("A", "a-team", "192.0.2.77");
    lab.seed("AAAA", "a-team", "2001:db8::77");
    let foreign = lab.contents();
    lab.applied(&[team()]).await;
    assert_eq!(others(&lab), foreign);
    let writes = lab.sim.writes();
    lab.apply().await.exits(0);
    assert_eq!(lab.sim.writes(), writes, "and the second run finds nothing to do");
    lab.folder.remove("records.yaml");
    lab.apply().await.exits(0);
    assert_eq!(lab.contents(), foreign);
}

#[tokio::test]
async fn foreign_records_at_a_markers_name_stay_when_the_plan_was_approved() {
    let lab = Lab::with_txt(json!({})).await;
    lab.seed("A", "a-team", "192.0.2.77");
    let foreign = lab.contents();
    lab.want(&[team()]);
    lab.approve().await.exits(0);
    assert_eq!(others(&lab), foreign);
    lab.approve().await.exits(0);
    assert_eq!(others(&lab), foreign);
}

#[tokio::test]
async fn a_users_text_beside_a_marker_stays() {
    let lab = Lab::with_txt(json!({})).await;
    lab.seed("TXT", "a-team", "\"there before\"");
    lab.applied(&[team()]).await;
    lab.seed("TXT", "a-team", "\"added later\"");
    let texts = ["a-team.example.com TXT \"added later\"", "a-team.example.com TXT \"there before\""];
    lab.apply().await.exits(0);
    assert_eq!(others(&lab), texts);
    lab.want(&[records("team.example.com", "A", &["192.0.2.2"])]);
    lab.approve().await.exits(0);
    lab.folder.remove("records.yaml");
    lab.apply().await.exits(0);
    assert_eq!(lab.contents(), texts);
}

#[tokio::test]
async fn a_wish_at_a_markers_name_and_the_marker_do_not_meet() {
    let lab = Lab::with_txt(json!({})).await;
    let at_marker = records("a-team.example.com", "A", &["192.0.2.3"]);
    lab.applied(&[team(), at_marker]).await;
    lab.applied(&[team()]).await;
    assert_eq!(others(&lab), [] as [&str; 0]);
    lab.plan().await.exits(0);
}

/// Applies twice: what is not refused is made, and the second run writes nothing.
async fn is_quiet(txt: Value, wishes: &[Manifest]) -> Lab {
    let lab = Lab::with_txt(json!({"txt": txt})).await;
    lab.declare(zone("example.com").with("guard", json!({"maxDeletePercent": 100})));
    lab.want(wishes);
    let first = lab.apply().await;
    let (writes, contents) = (lab.sim.writes(), lab.contents());
    let second = lab.apply().await;
    assert_eq!((lab.sim.writes(), lab.contents()), (writes, contents), "{txt}\n{first}\n{second}");
    assert_eq!(first.code, second.code, "{txt}\n{first}\n{second}");
    lab
}

#[tokio::test]
async fn no_template_of_marker_names_makes_two_sets_fight() {
    let wishes = [
        team(),
        records("ateam.example.com", "A", &["192.0.2.2"]),
        records("team.example.com", "AAAA", &["2001:db8::1"]),
        records("aateam.example.com", "A", &["192.0.2.3"]),
        records("*.w.example.com", "A", &["192.0.2.4"]),
        records("example.com", "A", &["192.0.2.5"]),
    ];
    for txt in [
        json!({"prefix": "%{record_type}"}),
        json!({"suffix": "%{record_type}"}),
        json!({"prefix": "%{record_type}a"}),
        json!({"prefix": "a"}),
        json!({"prefix": "a."}),
        json!({"prefix": "%{record_type}."}),
    ] {
        let lab = is_quiet(txt.clone(), &wishes).await;
        lab.folder.remove("records.yaml");
        lab.apply().await;
        assert!(lab.contents().is_empty(), "{txt}: {:?}", lab.contents());
    }
}

#[tokio::test]
async fn a_wildcard_and_the_name_of_its_replacement_do_not_fight() {
    let wildcard = records("*.example.com", "A", &["192.0.2.1"]);
    let named = records("any.example.com", "A", &["192.0.2.2"]);
    let lab = is_quiet(json!({"wildcardReplacement": "any"}), &[wildcard.clone(), named.clone()]).await;
    for wish in [wildcard, named] {
        lab.want(&[wish]);
        lab.apply().await;
        let (writes, contents) = (lab.sim.writes(), lab.contents());
        lab.apply().await;
        assert_eq!((lab.sim.writes(), lab.contents()), (writes, contents));
    }
}
