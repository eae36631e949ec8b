//! BIND 9: its configuration, and its remote control.

use std::{fs, path::Path};

use anyhow::Result;

use super::{Key, Ports, Setup, finish, program, zone_file};

const CONTROL_SECRET: &str = "em9uZWtlZXBlci10ZXN0LXJuZGMta2V5";

pub(super) fn write_config(directory: &Path, setup: &Setup, ports: Ports) -> Result<()> {
    let (path, options) = (directory.display(), &setup.options);
    let statements = setup.statements.clone().unwrap_or_else(|| keys_and_zone(setup));
    let config = format!(
        "{}controls {{ inet 127.0.0.1 port {} allow {{ 127.0.0.1; }} keys {{ rndc; }}; }};\n\
         options {{\n directory \"{path}\"; pid-file none; session-keyfile none;\n\
         listen-on port {} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};\n\
         recursion no; notify no; dnssec-validation no; empty-zones-enable no;\n {options}\n}};\n{statements}",
        control_key(),
        ports.control,
        ports.dns,
    );
    fs::write(directory.join("named.conf"), config)?;
    fs::write(directory.join("rndc.key"), control_key())?;
    Ok(())
}

pub(super) fn command(directory: &Path) -> Result<Vec<String>> {
    let config = directory.join("named.conf").display().to_string();
    Ok([program("named")?]
        .into_iter()
        .chain(["-g", "-n", "1", "-c"].map(String::from))
        .chain([config])
        .collect())
}

pub(super) fn rndc(directory: &Path, ports: Ports, command: &[&str]) -> Result<String> {
    let (key, port) = (directory.join("rndc.key").display().to_string(), ports.control.to_string());
    let arguments = [&["-s", "127.0.0.1", "-p", &port, "-k", &key], command].concat();
    finish("rndc", &arguments, directory)
}

fn keys_and_zone(setup: &Setup) -> String {
    let Setup { domain, keys, .. } = setup;
    let names: String = keys.iter().map(|key| format!("key {}; ", key.name)).collect();
    let rules =
        setup.rules.clone().unwrap_or(format!("allow-update {{ {names}}}; allow-transfer {{ {names}}};"));
    let keys: String = keys.iter().map(Key::statement).collect();
    let zone = |domain: &str, file: &str| {
        format!("zone \"{domain}\" {{ type primary; file \"{file}\"; {rules} }};\n")
    };
    let more: String = setup.more_domains.iter().map(|domain| zone(domain, &zone_file(domain))).collect();
    keys + &zone(domain, "zone.db") + &more
}

fn control_key() -> String {
    format!("key \"rndc\" {{ algorithm hmac-sha256; secret \"{CONTROL_SECRET}\"; }};\n")
}
