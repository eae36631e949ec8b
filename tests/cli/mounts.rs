//! Folders that are swapped under our feet: ConfigMap mounts, Git checkouts behind a link, a folder that is replaced.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use serde_json::json;

use crate::support::{
    Lab, Manifest, records,
    up::{Up, until},
    zone, zonekeeper,
};

fn www(address: &str) -> Manifest {
    records("www.example.com", "A", &[address])
}

fn hosts(count: usize) -> Vec<Manifest> {
    (0..count).map(|n| records(&format!("n{n}.example.com"), "A", &["192.0.2.1"])).collect()
}

fn write(folder: &Path, file: &str, manifests: &[Manifest]) {
    fs::create_dir_all(folder).expect("a folder");
    let documents: Vec<String> = manifests.iter().map(|manifest| manifest.0.to_string()).collect();
    fs::write(folder.join(file), documents.join("\n---\n")).expect("a file");
}

/// Writes what the lab's folder has into another folder, with these records.
fn copy(lab: &Lab, folder: &Path, manifests: &[Manifest]) {
    fs::create_dir_all(folder).expect("a folder");
    for file in ["token.yaml", "provider.yaml", "zone.yaml"] {
        fs::copy(lab.folder.path().join(file), folder.join(file)).expect("a copy");
    }
    write(folder, "records.yaml", manifests);
}

/// Points a link elsewhere, as `ln -sfn` and the kubelet do: a new link takes the place of the old one.
fn point(link: &Path, target: impl AsRef<Path>) {
    let new = link.with_file_name("..new");
    symlink(target, &new).expect("a link");
    fs::rename(new, link).expect("a rename");
}

/// A mount of a ConfigMap: files are links into `..data`, which is a link to the newest version.
struct Mount {
    _directory: tempfile::TempDir,
    path: PathBuf,
    version: usize,
}

impl Mount {
    fn of(lab: &Lab, manifests: &[Manifest]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary folder");
        let path = directory.path().join("mount");
        fs::create_dir(&path).expect("a folder");
        let mut mount = Self { _directory: directory, path, version: 0 };
        mount.update(lab, manifests);
        for file in ["token.yaml", "provider.yaml", "zone.yaml", "records.yaml"] {
            symlink(Path::new("..data").join(file), mount.path.join(file)).expect("a link");
        }
        mount
    }

    fn update(&mut self, lab: &Lab, manifests: &[Manifest]) {
        let name = |version: usize| format!("..2026_11_18_03_{version:02}.1234");
        copy(lab, &self.path.join(name(self.version + 1)), manifests);
        point(&self.path.join("..data"), name(self.version + 1));
        let _ = fs::remove_dir_all(self.path.join(name(self.version)));
        self.version += 1;
    }

    fn arg(&self) -> &str {
        self.path.to_str().expect("UTF-8")
    }
}

async fn is(lab: &Lab, up: &Up, address: &str) {
    let what = format!("www is {address}");
    until(&what, || up.said(), async || lab.values("www.example.com", "A") == [address]).await;
}

#[tokio::test]
async fn a_mounted_config_map_is_planned_applied_and_followed() {
    let lab = Lab::start().await;
    let mut mount = Mount::of(&lab, &[www("192.0.2.1")]);
    zonekeeper(["plan", "-f", mount.arg()]).run().await.exits(2).says("+ www A 192.0.2.1");
    zonekeeper(["apply", "-f", mount.arg()]).run().await.exits(0);
    zonekeeper(["plan", "-f", mount.arg()]).run().await.exits(0);
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.1"]);
    let up = Up::start(&zonekeeper(["up", mount.arg()]));
    up.says("www.example.com").await;
    for n in 2..6 {
        let address = format!("192.0.2.{n}");
        mount.update(&lab, &[www(&address)]);
        is(&lab, &up, &address).await;
    }
    let lost = lab.effects_since(0).into_iter().find(|(_, after)| after.is_none());
    assert_eq!(lost, None, "{}", up.said());
}

#[tokio::test]
async fn a_folder_behind_a_link_that_is_pointed_elsewhere_is_followed() {
    let lab = Lab::start().await;
    let home = tempfile::tempdir().expect("a temporary folder");
    let current = home.path().join("current");
    for n in 1..4 {
        copy(&lab, &home.path().join(format!("commit{n}/dns")), &[www(&format!("192.0.2.{n}"))]);
    }
    point(&current, "commit1");
    let up = Up::start(&zonekeeper(["up"]).arg(current.join("dns")));
    is(&lab, &up, "192.0.2.1").await;
    for n in 2..4 {
        point(&current, format!("commit{n}"));
        is(&lab, &up, &format!("192.0.2.{n}")).await;
    }
    // What is saved in the new place is seen, too.
    write(&home.path().join("commit3/dns"), "records.yaml", &[www("192.0.2.9")]);
    is(&lab, &up, "192.0.2.9").await;
}

#[tokio::test]
async fn a_folder_that_is_moved_away_and_replaced_is_followed() {
    let lab = Lab::start().await;
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = home.path().join("dns");
    copy(&lab, &folder, &[www("192.0.2.1")]);
    let up = Up::start(&zonekeeper(["up"]).arg(&folder));
    is(&lab, &up, "192.0.2.1").await;
    fs::rename(&folder, home.path().join("old")).expect("a rename");
    up.says("can't be read").await;
    up.says("what was served stays").await;
    copy(&lab, &home.path().join("new"), &[www("192.0.2.2")]);
    fs::rename(home.path().join("new"), &folder).expect("a rename");
    is(&lab, &up, "192.0.2.2").await;
    write(&folder, "records.yaml", &[www("192.0.2.3")]);
    is(&lab, &up, "192.0.2.3").await;
}

#[tokio::test]
async fn a_file_behind_a_link_is_followed() {
    let lab = Lab::start().await;
    let home = tempfile::tempdir().expect("a temporary folder");
    write(home.path(), "records.yaml", &[www("192.0.2.1")]);
    symlink(home.path().join("records.yaml"), lab.folder.path().join("records.yaml")).expect("a link");
    let up = Up::start(&zonekeeper(["up", lab.folder.arg()]));
    is(&lab, &up, "192.0.2.1").await;
    write(home.path(), "records.yaml", &[www("192.0.2.2")]);
    is(&lab, &up, "192.0.2.2").await;
}

/// Eight records of which three went within the window, then the zone's manifest is gone for a while.
async fn zone_gone_for_a_while(return_zone: impl Fn(&Lab)) {
    let lab = Lab::start().await;
    let without_settling = json!({"window": "1h"});
    lab.declare(zone("example.com").with("guard", without_settling));
    lab.want(&hosts(8));
    lab.apply().await.exits(0);
    let up = Up::start(&zonekeeper(["up", lab.folder.arg()]));
    up.says("n7.example.com").await;
    lab.want(&hosts(5));
    until("five records", || up.said(), async || lab.contents().len() == 5).await;
    lab.folder.remove("zone.yaml");
    up.says("NoMatchingZone").await;
    assert_eq!(lab.contents().len(), 5);
    lab.want(&hosts(2));
    return_zone(&lab);
    // Three went before: the window counts them still.
    up.says("6 of 8 owned sets").await;
    assert_eq!(lab.contents().len(), 5, "{}", up.said());
}

#[tokio::test]
async fn the_window_outlasts_a_zone_whose_file_is_gone_for_a_while() {
    zone_gone_for_a_while(|lab| lab.declare(zone("example.com").with("guard", json!({"window": "1h"}))))
        .await;
}

#[tokio::test]
async fn the_window_outlasts_a_zone_that_comes_back_under_another_name() {
    zone_gone_for_a_while(|lab| {
        let mut renamed =
            zone("example.com").with("guard", json!({"window": "1h"})).with("zoneID", lab.zone.as_str());
        renamed.0["metadata"]["name"] = "another".into();
        lab.declare(renamed);
    })
    .await;
}

#[tokio::test]
async fn the_window_outlasts_a_provider_that_could_not_be_asked() {
    let lab = Lab::start().await;
    lab.declare(zone("example.com").with("guard", json!({"window": "1h"})).with("interval", "1s"));
    lab.want(&hosts(8));
    lab.apply().await.exits(0);
    let up = Up::start(&zonekeeper(["up", lab.folder.arg()]));
    up.says("n7.example.com").await;
    lab.want(&hosts(5));
    until("five records", || up.said(), async || lab.contents().len() == 5).await;
    let wrong = "bad0bad0bad0bad0bad0bad0bad0bad0bad0bad0";
    lab.folder.put("token.yaml", &[crate::support::secret("cloudflare", "apiToken", wrong)]);
    up.says("CredentialsInvalid").await;
    lab.want(&hosts(2));
    lab.folder.put("token.yaml", &[crate::support::secret("cloudflare", "apiToken", &lab.token)]);
    up.says("6 of 8 owned sets").await;
    assert_eq!(lab.contents().len(), 5, "{}", up.said());
}
