//! What somebody else sees and does, with `dig` and `nsupdate`.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use dns_servers::{DnsServer, Key};

/// Lines for `nsupdate`, as somebody else would type them.
pub fn by_hand(server: &DnsServer, zone: &str, lines: &str) {
    let said = try_by_hand(server, server.key(), zone, lines);
    assert!(said.is_ok(), "{lines}: {said:?}");
}

/// The same with any key; what `nsupdate` says where the server does not agree.
pub fn try_by_hand(server: &DnsServer, key: &Key, zone: &str, lines: &str) -> Result<(), String> {
    let mut child = Command::new("nsupdate")
        .args(["-v", "-y", &format!("{}:{}:{}", key.algorithm, key.name, key.secret)])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("nsupdate is installed");
    let script = format!("server 127.0.0.1 {}\nzone {zone}\n{lines}\nsend\n", server.port());
    child.stdin.take().expect("it is piped").write_all(script.as_bytes()).expect("nsupdate reads");
    let output = child.wait_with_output().expect("nsupdate ends");
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// What the server answers, sorted, as `dig +short` shows it.
pub fn served(server: &DnsServer, name: &str, rtype: &str) -> Vec<String> {
    answers(server.port(), name, rtype)
}

/// The same of whoever listens on a port.
pub fn answers(port: u16, name: &str, rtype: &str) -> Vec<String> {
    let output = Command::new("dig")
        .args(["@127.0.0.1", "-p", &port.to_string(), "+short", "+tcp", name, rtype])
        .output()
        .expect("dig is installed");
    let answer = String::from_utf8(output.stdout).expect("dig prints ASCII");
    let mut lines: Vec<String> = answer.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// The version of a zone.
pub fn serial(server: &DnsServer, zone: &str) -> u32 {
    let soa = served(server, zone, "SOA").join(" ");
    let serial = soa.split(' ').nth(2).and_then(|number| number.parse().ok());
    serial.unwrap_or_else(|| panic!("no SOA record of {zone}: {soa:?}"))
}
