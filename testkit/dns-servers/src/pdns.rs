//! PowerDNS with SQLite: its configuration and its database.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use super::{Ports, Setup, finish, program};

/// Where the Debian package keeps the tables.
const SCHEMA: &str = "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql";

pub(super) fn prepare(directory: &Path, setup: &Setup, ports: Ports) -> Result<()> {
    let path = directory.display();
    let config = format!(
        "launch=gsqlite3\ngsqlite3-database={path}/zones.db\ngsqlite3-dnssec=yes\nlocal-address=127.0.0.1\n\
         local-port={}\nsocket-dir={path}\ndnsupdate=yes\nallow-dnsupdate-from=127.0.0.0/8\ncache-ttl=0\n\
         query-cache-ttl=0\nnegquery-cache-ttl=0\nzone-cache-refresh-interval=0\ndaemon=no\nguardian=no\n\
         disable-syslog=yes\nsecurity-poll-suffix=\ndefault-soa-edit=\n",
        ports.dns
    );
    fs::write(directory.join("pdns.conf"), config)?;
    let schema = fs::read_to_string(SCHEMA).with_context(|| format!("{SCHEMA} is missing"))?;
    fs::write(directory.join("schema.sql"), schema)?;
    finish("sqlite3", &["zones.db", ".read schema.sql"], directory)?;
    let config = format!("--config-dir={path}");
    let pdnsutil = |arguments: &[&str]| finish("pdnsutil", &[&[&*config], arguments].concat(), directory);
    let domain = &*setup.domain;
    pdnsutil(&["load-zone", domain, "zone.db"])?;
    pdnsutil(&["set-kind", domain, "primary"])?;
    for key in &setup.keys {
        pdnsutil(&["import-tsig-key", &key.name, &key.algorithm, &key.secret])?;
        pdnsutil(&["add-meta", domain, "TSIG-ALLOW-AXFR", &key.name])?;
        pdnsutil(&["add-meta", domain, "TSIG-ALLOW-DNSUPDATE", &key.name])?;
    }
    pdnsutil(&["set-meta", domain, "SOA-EDIT-DNSUPDATE", "INCREASE"])?;
    Ok(())
}

pub(super) fn command(directory: &Path) -> Result<Vec<String>> {
    Ok(vec![program("pdns_server")?, format!("--config-dir={}", directory.display())])
}
