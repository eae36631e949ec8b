//! What all tests need: requests that are counted, a hand that changes the zone from outside, a relay that cuts.

use std::{
    collections::BTreeMap,
    io::Write,
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dns_servers::DnsServer;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use zonekeeper_providers::{
    meter::{Meter, Outcome},
    rfc2136,
};
use zonekeeper_tests::stage::{AtServer, Marks, Stage};

/// Counts requests by their method.
#[derive(Debug, Default)]
pub struct Counter(Mutex<BTreeMap<&'static str, usize>>);

impl Meter for Counter {
    fn request(&self, method: &'static str, _: Outcome, _: Duration) {
        *self.0.lock().unwrap().entry(method).or_default() += 1;
    }
}

impl Counter {
    /// How many requests of a method there were since the last time that somebody asked for it.
    pub fn take(&self, method: &str) -> usize {
        self.0.lock().unwrap().remove(method).unwrap_or_default()
    }
}

/// A stage whose requests are counted.
pub async fn counted(at: &AtServer) -> (Stage, Arc<Counter>) {
    let counter = Arc::new(Counter::default());
    let settings = rfc2136::Settings { meter: counter.clone(), ..at.settings() };
    (AtServer::stage_of(settings, Marks::Txt).await, counter)
}

/// Lines for `nsupdate`, as somebody else would type them.
pub fn by_hand(server: &DnsServer, lines: &str) {
    let key = server.key();
    let mut child = Command::new("nsupdate")
        .args(["-v", "-y", &format!("{}:{}:{}", key.algorithm, key.name, key.secret)])
        .stdin(Stdio::piped())
        .spawn()
        .expect("nsupdate is installed");
    let script = format!("server 127.0.0.1 {}\nzone example.com\n{lines}\nsend\n", server.port());
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{lines}");
}

/// What the server answers, as `dig +short` shows it.
pub fn served(server: &DnsServer, name: &str, rtype: &str) -> Vec<String> {
    let output = Command::new("dig")
        .args(["@127.0.0.1", "-p", &server.port().to_string(), "+short", "+tcp", name, rtype])
        .output()
        .expect("dig is installed");
    let mut lines: Vec<String> =
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// The version of the zone.
pub fn serial(server: &DnsServer) -> u32 {
    let soa = served(server, "example.com", "SOA").join(" ");
    soa.split(' ').nth(2).unwrap().parse().unwrap()
}

/// What a relay loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The request never arrives.
    Request,
    /// The request arrives, its answer does not.
    Answer,
    /// The answer is cut off after so many octets.
    Rest(usize),
}

/// Stands between us and a server, and cuts the connection at one request.
pub struct Relay {
    pub address: String,
    requests: Arc<AtomicUsize>,
}

impl Relay {
    /// Cuts at the request with this number, counted from 0 over all connections.
    pub async fn start(server: &DnsServer, at: usize, loss: Loss) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (requests, upstream) = (Arc::new(AtomicUsize::new(0)), server.address());
        let counter = requests.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (counter, upstream) = (counter.clone(), upstream.clone());
                tokio::spawn(async move {
                    let _ = relay(client, &upstream, &counter, at, loss).await;
                });
            }
        });
        Self { address, requests }
    }

    /// How many requests came by.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

async fn relay(
    client: TcpStream,
    upstream: &str,
    counter: &AtomicUsize,
    at: usize,
    loss: Loss,
) -> std::io::Result<()> {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = TcpStream::connect(upstream).await?.into_split();
    // How many octets of answers may still pass, once that is limited.
    let (allow, mut allowed) = tokio::sync::watch::channel(usize::MAX);
    let answers = tokio::spawn(async move {
        let (mut buffer, mut left) = (vec![0; 65_536], usize::MAX);
        loop {
            let length = from_server.read(&mut buffer).await?;
            if allowed.has_changed().unwrap_or(false) {
                left = *allowed.borrow_and_update();
            }
            let passed = length.min(left);
            left -= passed;
            to_client.write_all(&buffer[..passed]).await?;
            if length == 0 || passed < length {
                return to_client.shutdown().await;
            }
        }
    });
    loop {
        let length = from_client.read_u16().await?;
        let mut request = vec![0; usize::from(length)];
        from_client.read_exact(&mut request).await?;
        if counter.fetch_add(1, Ordering::SeqCst) == at {
            match loss {
                Loss::Request => {
                    answers.abort();
                    return Ok(());
                }
                Loss::Answer => allow.send_replace(0),
                Loss::Rest(octets) => allow.send_replace(octets),
            };
        }
        to_server.write_all(&[&length.to_be_bytes()[..], &request].concat()).await?;
    }
}
