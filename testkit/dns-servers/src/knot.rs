//! Knot DNS: its configuration.

use std::{fs, path::Path};

use anyhow::Result;

use super::{Ports, Setup, program};

pub(super) fn write_config(directory: &Path, setup: &Setup, ports: Ports) -> Result<()> {
    let path = directory.display();
    let mut config = format!(
        "server:\n    listen: 127.0.0.1@{}\n    rundir: \"{path}\"\n    udp-workers: 1\n    tcp-workers: 2\n    \
         background-workers: 1\nlog:\n  - target: stderr\n    any: info\ndatabase:\n    storage: \"{path}\"\nkey:\n",
        ports.dns
    );
    for key in &setup.keys {
        config += &format!(
            "  - id: {}\n    algorithm: {}\n    secret: \"{}\"\n",
            key.name, key.algorithm, key.secret
        );
    }
    let names: Vec<&str> = setup.keys.iter().map(|key| &*key.name).collect();
    config += &format!(
        "acl:\n  - id: all\n    key: [{}]\n    action: [transfer, update]\nzone:\n  - domain: {}\n    \
         storage: \"{path}\"\n    file: zone.db\n    zonefile-sync: -1\n    zonefile-load: difference\n    \
         journal-content: changes\n    acl: all\n",
        names.join(", "),
        setup.domain
    );
    fs::write(directory.join("knot.conf"), config)?;
    Ok(())
}

pub(super) fn command(directory: &Path) -> Result<Vec<String>> {
    Ok(vec![program("knotd")?, "-c".into(), directory.join("knot.conf").display().to_string()])
}
