//! What the tests of the built-in server share: a zone to fill, and programs to ask it with.

#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use std::{
    net::SocketAddr,
    path::PathBuf,
    process::{Command, Output},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use zonekeeper_kernel::{
    attribute::Attributes,
    guard::{self, Approval, Cleared, Subject, Window},
    name::Name,
    plan::{Cause, Change, Edit, Operation, Role},
    rdata::{Rdata, RecordType},
    record::{LiveRecord, Record, Ttl},
    zone::Rules,
};
use zonekeeper_providers::{
    Outcome, Provider, ZoneAccess,
    builtin::{Authority, Builtin},
};

pub fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// A record from `name ttl type value`.
pub fn record(line: &str) -> Record {
    let mut words = line.splitn(4, ' ');
    let mut word = || words.next().unwrap();
    let (owner, ttl, rtype): (_, u32, RecordType) =
        (word(), word().parse().unwrap(), word().parse().unwrap());
    Record {
        name: name(owner),
        rdata: Rdata::parse(rtype, word()).unwrap(),
        ttl: Ttl(ttl),
        attributes: Attributes::default(),
        comment: "".into(),
    }
}

pub fn create(record: Record) -> Change {
    change(Operation::Create, record.name.clone(), Edit::Create { record, role: Role::Data })
}

pub fn update(before: LiveRecord, after: Record) -> Change {
    change(Operation::Update, after.name.clone(), Edit::Update { before, after, role: Role::Data })
}

pub fn delete(name: Name, before: LiveRecord) -> Change {
    change(Operation::Delete, name.clone(), Edit::Delete { name, before, role: Role::Data })
}

pub async fn apply(zone: &dyn ZoneAccess, changes: Vec<Change>) -> Vec<Outcome> {
    zone.apply(&cleared(changes), &|_| {}).await
}

/// A server on any free port of this machine.
pub async fn bound(peers: &[&str]) -> (Builtin, SocketAddr) {
    let peers = peers.iter().map(|peer| peer.parse().unwrap()).collect();
    let builtin = Builtin::bind("127.0.0.1:0".parse().unwrap(), peers).await.unwrap();
    let address = builtin.local_addr().unwrap();
    (builtin, address)
}

/// Declares a zone and fills it; every record must be taken.
pub async fn serve(
    builtin: &Builtin,
    domain: &str,
    lines: impl IntoIterator<Item = impl AsRef<str>>,
) -> Arc<dyn ZoneAccess> {
    let domain = name(domain);
    builtin.declare(domain.clone(), Authority::default_for(&domain));
    let zone = builtin.open(&domain, None).await.unwrap();
    let outcomes = apply(&*zone, lines.into_iter().map(|line| create(record(line.as_ref()))).collect()).await;
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Applied(_))), "{outcomes:?}");
    zone.passed();
    zone
}

/// Runs a program of a package to its end, off the runtime's threads.
pub async fn run(program: &'static str, package: &'static str, arguments: Vec<String>) -> Output {
    let run = move || Command::new(program).args(arguments).output();
    match tokio::task::spawn_blocking(run).await.unwrap() {
        Ok(output) => output,
        Err(error) => panic!("{program} does not start ({error}); install the package {package}"),
    }
}

/// What `dig` prints.
pub async fn dig(server: SocketAddr, arguments: &str) -> String {
    let mut words: Vec<String> = ["+norecurse", "+nocookie", "+tries=2", "+time=5"].map(Into::into).into();
    words.extend([format!("@{}", server.ip()), "-p".into(), server.port().to_string()]);
    words.extend(arguments.split_whitespace().map(str::to_owned));
    let output = run("dig", "bind9-dnsutils", words).await;
    String::from_utf8(output.stdout).unwrap()
}

/// A fresh directory, gone with the value.
pub struct Directory(pub PathBuf);

impl Directory {
    pub fn fresh() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("zonekeeper-builtin-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Changes as the guard lets them through.
fn cleared(changes: Vec<Change>) -> Cleared {
    let (domain, rules) = (Name::root(), Rules::default());
    let subject = Subject { identity: "test", domain: &domain, rules: &rules, limits: None };
    guard::clear(changes, &subject, Window::default(), &Approval::None).cleared
}

fn change(operation: Operation, name: Name, edit: Edit) -> Change {
    let rtype = match (edit.before(), edit.after()) {
        (_, Some(after)) => after.rdata.rtype(),
        (Some(before), None) => before.rdata.rtype(),
        (None, None) => unreachable!("an edit has a side"),
    };
    let (unchanged, cause, holders) = (Vec::new(), Cause::Wanted, Vec::new());
    Change { operation, name, rtype, edits: vec![edit], unchanged, claims: Vec::new(), cause, holders }
}
