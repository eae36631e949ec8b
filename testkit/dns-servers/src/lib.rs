//! Real DNS servers as child processes on loopback ports, each with one zone that takes signed updates.

mod bind;
mod knot;
mod pdns;
mod ports;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

/// How the secret of every key begins, so that tests find it wherever it is shown.
pub const CANARY: &str = "canary/tsig/";

/// How long a server may take until it answers.
const STARTING: Duration = Duration::from_secs(20);
/// How often another port is tried: somebody else may take one between choosing and binding it.
const TRIES: usize = 5;

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Software {
    /// BIND 9: `named`.
    Bind,
    /// Knot DNS: `knotd`.
    Knot,
    /// PowerDNS with SQLite: `pdns_server`.
    PowerDns,
}

/// A TSIG key.
#[derive(Debug, Clone)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// Its algorithm, such as `hmac-sha256`.
    pub algorithm: String,
    /// Its secret in base64.
    pub secret: String,
}

/// What a server serves, and to whom.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Which server.
    pub software: Software,
    /// The zone's domain.
    pub domain: String,
    /// The zone as a master file.
    pub zone: String,
    /// BIND only: further domains, each with nothing but what every zone has.
    pub more_domains: Vec<String>,
    /// The keys that the server knows.
    pub keys: Vec<Key>,
    /// BIND only: who may do what, as statements of the zone. All keys may do everything by default.
    pub rules: Option<String>,
    /// BIND only: keys and zones as somebody else wrote them, in place of ours.
    pub statements: Option<String>,
    /// BIND only: further statements of `options`.
    pub options: String,
    /// What runs before the server's command, such as `faketime -f +1000s`.
    pub wrapper: Vec<String>,
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct DnsServer {
    setup: Setup,
    directory: TempDir,
    ports: Ports,
    child: Option<Child>,
}

/// Where a server listens.
#[derive(Debug, Clone, Copy)]
struct Ports {
    dns: u16,
    control: u16,
}

// === impl Key ===

impl Key {
    /// A key with a fixed secret that differs by `name`.
    pub fn new(name: &str) -> Self {
        let digits = name.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
        // Hexadecimal digits are base64, too.
        let secret = format!("{CANARY}{digits:016x}{digits:016x}zzzz");
        Self { name: name.into(), algorithm: "hmac-sha256".into(), secret }
    }

    /// The key as `named.conf` has it.
    pub fn statement(&self) -> String {
        let Self { name, algorithm, secret } = self;
        format!("key \"{name}\" {{ algorithm {algorithm}; secret \"{secret}\"; }};\n")
    }
}

// === impl Setup ===

impl Setup {
    /// A zone with a SOA record and one name server, and a key `zonekeeper` that may do everything.
    pub fn new(software: Software, domain: &str) -> Self {
        Self {
            software,
            domain: domain.into(),
            zone: bare_zone(domain),
            more_domains: Vec::new(),
            keys: vec![Key::new("zonekeeper")],
            rules: None,
            statements: None,
            options: String::new(),
            wrapper: Vec::new(),
        }
    }
}

// === impl DnsServer ===

impl DnsServer {
    /// Starts a server and waits until it answers for its zone.
    pub fn start(setup: Setup) -> Result<Self> {
        let mut last = None;
        for _ in 0..TRIES {
            let directory = tempfile::Builder::new().prefix("zonekeeper-dns-").tempdir()?;
            let ports = Ports { dns: ports::free()?, control: ports::free()? };
            let mut server = Self { setup: setup.clone(), directory, ports, child: None };
            server.prepare()?;
            match server.run() {
                Ok(()) => return Ok(server),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| anyhow::anyhow!("no server was started")))
    }

    /// Where it listens, as `host:port`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.ports.dns)
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.ports.dns
    }

    /// Its first key.
    pub fn key(&self) -> &Key {
        &self.setup.keys[0]
    }

    /// Kills it, as a power failure would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // What runs before a server's command does not take it along.
            for wrapped in children(child.id()) {
                let _ = Command::new("kill").args(["-9", &wrapped]).status();
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts it again on the same port, with what it kept on disk.
    pub fn restart(&mut self) -> Result<()> {
        self.kill();
        self.run()
    }

    /// Starts it again with the zone of its beginning, as from a backup.
    pub fn forget(&mut self) -> Result<()> {
        self.kill();
        for journal in ["zone.db.jnl", "zone.db.signed", "zone.db.signed.jnl"] {
            let _ = fs::remove_file(self.directory.path().join(journal));
        }
        self.prepare()?;
        self.run()
    }

    /// BIND only: other keys, rules and further domains from now on.
    pub fn reconfigure(&mut self, change: impl FnOnce(&mut Setup)) -> Result<()> {
        change(&mut self.setup);
        self.write_more_zones()?;
        bind::write_config(self.directory.path(), &self.setup, self.ports)?;
        self.rndc(&["reconfig"])?;
        Ok(())
    }

    /// BIND only: a command for `rndc`.
    pub fn rndc(&self, command: &[&str]) -> Result<String> {
        bind::rndc(self.directory.path(), self.ports, command)
    }

    /// What it logged so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    fn prepare(&self) -> Result<()> {
        let directory = self.directory.path();
        fs::write(directory.join("zone.db"), &self.setup.zone)?;
        self.write_more_zones()?;
        match self.setup.software {
            Software::Bind => bind::write_config(directory, &self.setup, self.ports),
            Software::Knot => knot::write_config(directory, &self.setup, self.ports),
            Software::PowerDns => pdns::prepare(directory, &self.setup, self.ports),
        }
    }

    /// What is there already has records of its own by now.
    fn write_more_zones(&self) -> Result<()> {
        for domain in &self.setup.more_domains {
            let file = self.directory.path().join(zone_file(domain));
            if !file.exists() {
                fs::write(file, bare_zone(domain))?;
            }
        }
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        let directory = self.directory.path();
        let command = match self.setup.software {
            Software::Bind => bind::command(directory)?,
            Software::Knot => knot::command(directory)?,
            Software::PowerDns => pdns::command(directory)?,
        };
        let log = fs::OpenOptions::new().create(true).append(true).open(directory.join("log"))?;
        let words: Vec<String> = self.setup.wrapper.iter().cloned().chain(command).collect();
        let (program, arguments) = words.split_first().context("a command has a program")?;
        let child = Command::new(program)
            .args(arguments)
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {program}"))?;
        self.child = Some(child);
        self.await_answer()
    }

    fn await_answer(&mut self) -> Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < STARTING {
            if let Some(child) = &mut self.child
                && let Some(status) = child.try_wait()?
            {
                bail!("{:?} ended with {status}:\n{}", self.setup.software, self.log());
            }
            if ports::answers_soa(self.ports.dns, &self.setup.domain) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("{:?} does not answer:\n{}", self.setup.software, self.log())
    }
}

impl Drop for DnsServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port for something more that a server listens on.
pub fn free_port() -> Result<u16> {
    ports::free()
}

/// The processes that a process started.
fn children(id: u32) -> Vec<String> {
    let found = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    found.split_whitespace().map(str::to_owned).collect()
}

/// A zone with a SOA record and one name server.
fn bare_zone(domain: &str) -> String {
    format!(
        "$ORIGIN {domain}.\n$TTL 300\n@ SOA ns1.example.net. hostmaster.example.net. 1 7200 3600 1209600 60\n\
         @ NS ns1.example.net.\n"
    )
}

/// Where a further zone lies.
fn zone_file(domain: &str) -> String {
    format!("{domain}.db")
}

/// A program of a package that may lie outside PATH.
fn program(name: &str) -> Result<String> {
    let in_path = std::env::var_os("PATH").unwrap_or_default();
    let places =
        std::env::split_paths(&in_path).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/sbin")]);
    let found = places.map(|place| place.join(name)).find(|path| path.is_file());
    let found = found.with_context(|| format!("{name} is not installed; run scripts/setup test"))?;
    Ok(found.display().to_string())
}

/// Runs a program to its end.
fn finish(name: &str, arguments: &[&str], directory: &Path) -> Result<String> {
    let output = Command::new(program(name)?).args(arguments).current_dir(directory).output()?;
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{name} {}: {said}", arguments.join(" "));
    }
    Ok(said)
}
