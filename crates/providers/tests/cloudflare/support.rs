//! What the tests of the Cloudflare provider share: the simulator, a stub that answers anything, and changes.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use cloudflare_sim::{Config, Entry, Knobs, Plan, Sim, TokenGrant, knobs::RecordQuota};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
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
    Outcome, Provider, ProviderError, ZoneAccess,
    cloudflare::{
        Cloudflare, Settings,
        budget::{Budgets, Rate},
    },
};

pub const TOKEN: &str = "canary_0123456789_canary_0123456789_cana";

/// The simulator with one zone, and the zone as our provider opens it.
pub struct At {
    pub sim: Sim,
    pub zone: String,
    pub access: Arc<dyn ZoneAccess>,
}

impl At {
    pub async fn plan(plan: Plan) -> Self {
        Self::with(plan, |_| {}).await
    }

    /// A zone at the simulator, whatever its quota.
    pub async fn with(plan: Plan, adjust: impl FnOnce(&mut Settings)) -> Self {
        let sim = Sim::start(Config::unlimited()).await.unwrap();
        sim.knobs(Knobs { record_quota: RecordQuota::Off, ..Knobs::default() });
        assert!(sim.accept_token(TOKEN, TokenGrant::full()));
        let zone = sim.zone("example.com", plan);
        let access = provider(&sim.base_url(), adjust).open(&domain(), None).await.unwrap();
        Self { sim, zone, access }
    }

    pub async fn apply(&self, changes: Vec<Change>) -> Vec<Outcome> {
        self.access.apply(&cleared(changes), &|_| {}).await
    }

    /// The writes so far.
    pub fn writes(&self) -> Vec<Entry> {
        self.sim.journal().into_iter().filter(|entry| !matches!(&*entry.method, "GET" | "")).collect()
    }

    /// The listed record of a name.
    pub async fn live(&self, at: &str) -> LiveRecord {
        let mut found = self.access.list().await.unwrap();
        found.retain(|(listed, _)| *listed == name(at));
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0).1
    }
}

pub fn provider(base_url: &str, adjust: impl FnOnce(&mut Settings)) -> Cloudflare {
    let mut settings = Settings {
        base_url: base_url.into(),
        rate: Rate { requests: 10_000_000, window: Duration::from_secs(1) },
        ..Settings::new(SecretString::from(TOKEN))
    };
    adjust(&mut settings);
    Cloudflare::new(settings, &Budgets::default()).unwrap()
}

pub fn domain() -> Name {
    Name::parse("example.com").unwrap()
}

pub fn name(relative: &str) -> Name {
    Name::parse_under(relative, &domain()).unwrap()
}

pub fn record(rtype: &str, at: &str, value: &str) -> Record {
    let rtype: RecordType = rtype.parse().unwrap();
    let rdata = Rdata::parse(rtype, value).unwrap();
    Record { name: name(at), rdata, ttl: Ttl(300), attributes: Attributes::default(), comment: "".into() }
}

pub fn creating(record: Record) -> Change {
    change(Operation::Create, vec![Edit::Create { record, role: Role::Data }])
}

pub fn create(rtype: &str, at: &str, value: &str) -> Change {
    creating(record(rtype, at, value))
}

/// A new set with its marker: two records that belong together.
pub fn create_marked(at: &str, value: &str) -> Change {
    let marker = record("TXT", &format!("a-{at}"), "heritage=external-dns,external-dns/owner=us");
    let edits = vec![
        Edit::Create { record: marker, role: Role::Marker },
        Edit::Create { record: record("A", at, value), role: Role::Data },
    ];
    Change { name: name(at), ..change(Operation::Create, edits) }
}

pub fn update(before: LiveRecord, after: Record) -> Change {
    change(Operation::Update, vec![Edit::Update { before, after, role: Role::Data }])
}

pub fn delete(at: &str, before: LiveRecord) -> Change {
    change(Operation::Delete, vec![Edit::Delete { name: name(at), before, role: Role::Data }])
}

pub fn change(operation: Operation, edits: Vec<Edit>) -> Change {
    let rtype = match (edits[0].after(), edits[0].before()) {
        (Some(after), _) => after.rdata.rtype(),
        (None, Some(before)) => before.rdata.rtype(),
        (None, None) => unreachable!("an edit has a side"),
    };
    let name = edits[0].name().clone();
    Change {
        operation,
        name,
        rtype,
        edits,
        unchanged: Vec::new(),
        claims: Vec::new(),
        cause: Cause::Wanted,
        holders: Vec::new(),
    }
}

pub fn cleared(changes: Vec<Change>) -> Cleared {
    let (domain, rules) = (domain(), Rules::default());
    let subject = Subject { identity: "test", domain: &domain, rules: &rules, limits: None };
    guard::clear(changes, &subject, Window::default(), &Approval::None).cleared
}

pub fn all_applied(outcomes: &[Outcome]) {
    let failed: Vec<&ProviderError> = outcomes.iter().filter_map(Outcome::error).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

/// How many operations a batch call carries.
pub fn operations(body: &Value) -> usize {
    let count = |list: &str| body[list].as_array().map_or(0, Vec::len);
    count("deletes") + count("patches") + count("puts") + count("posts")
}

/// A request that the stub got.
#[derive(Debug, Clone)]
pub struct Asked {
    pub path: String,
    pub authorization: String,
    pub body: Value,
}

/// What the stub answers.
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

/// An HTTP server that answers whatever a test wants.
pub struct Stub {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Answer {
    pub fn json(status: u16, body: Value) -> Self {
        Self { status, headers: vec![("content-type", "application/json".into())], body: body.to_string() }
    }

    pub fn html(status: u16, body: &str) -> Self {
        Self { status, headers: vec![("content-type", "text/html".into())], body: body.into() }
    }

    pub fn ok(result: Value) -> Self {
        Self::json(200, json!({"success": true, "errors": [], "messages": [], "result": result}))
    }

    pub fn error(status: u16, code: i64, message: &str) -> Self {
        Self::json(status, json!({"success": false, "errors": [{"code": code, "message": message}]}))
    }

    pub fn zone(plan: &str) -> Self {
        Self::ok(json!([{"id": "z", "name": "example.com", "status": "active", "plan": {"legacy_id": plan}}]))
    }

    /// What Cloudflare says to a batch that it applied.
    pub fn applied(body: &Value) -> Self {
        let posts: Vec<Value> = body["posts"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(index, post)| {
                let mut record = post.clone();
                record["id"] = json!(format!("{index}-{}", post["name"].as_str().unwrap_or_default()));
                record
            })
            .collect();
        Self::ok(json!({"posts": posts, "patches": [], "puts": [], "deletes": []}))
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl Stub {
    pub async fn start(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (answer, log) = (Arc::new(answer), asked.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, log) = (answer.clone(), log.clone());
                tokio::spawn(async move { serve(stream, &*answer, &log).await });
            }
        });
        Self { address, asked }
    }

    /// A zone that answers every batch with the same refusal.
    pub async fn refusing(status: u16, body: Value) -> Self {
        Self::start(move |asked| match asked.path.ends_with("/batch") {
            true => Answer::json(status, body.clone()),
            false => Answer::zone("enterprise"),
        })
        .await
    }

    pub fn url(&self) -> String {
        format!("http://{}/client/v4", self.address)
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub fn batches(&self) -> Vec<Asked> {
        self.asked().into_iter().filter(|asked| asked.path.ends_with("/batch")).collect()
    }
}

async fn serve(
    mut stream: TcpStream,
    answer: &(dyn Fn(&Asked) -> Answer + Send + Sync),
    log: &Mutex<Vec<Asked>>,
) {
    let mut bytes = Vec::new();
    let head = loop {
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let header = |name: &str| {
        let line = text.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}:")))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let length: usize = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while bytes.len() < head + 4 + length {
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let path = text.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let asked = Asked {
        path,
        authorization: header("authorization").unwrap_or_default(),
        body: serde_json::from_slice(&bytes[head + 4..]).unwrap_or(Value::Null),
    };
    let Answer { status, headers, body } = answer(&asked);
    log.lock().unwrap().push(asked);
    let mut reply =
        format!("HTTP/1.1 {status} Stub\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        reply.push_str(&format!("{name}: {value}\r\n"));
    }
    let _ = stream.write_all(format!("{reply}\r\n{body}").as_bytes()).await;
}
