//! The built-in server as the primary of a real BIND.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "builtin_support.rs"]
mod support;

use std::{
    fs::{self, File},
    net::{SocketAddr, TcpListener, UdpSocket},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use support::{Directory, apply, bound, create, delete, dig, name, record, serve, update};

const DEADLINE: Duration = Duration::from_secs(40);

/// A `named` that is a secondary for `example.com`; it ends with the value.
struct Secondary {
    child: Child,
    address: SocketAddr,
    directory: Directory,
}

impl Secondary {
    fn start(primary: SocketAddr, address: SocketAddr) -> Self {
        let directory = Directory::fresh();
        let path = directory.0.display();
        let configuration = format!(
            "options {{ directory \"{path}\"; pid-file none; session-keyfile none; \
               listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }}; \
               recursion no; dnssec-validation no; notify no; allow-transfer {{ none; }}; }};\n\
             controls {{ }};\n\
             zone \"example.com\" {{ type secondary; file \"example.com.db\"; masterfile-format text; \
               primaries {{ {ip} port {primary_port}; }}; }};\n",
            port = address.port(),
            ip = primary.ip(),
            primary_port = primary.port(),
        );
        let file = directory.0.join("named.conf");
        fs::write(&file, configuration).unwrap();
        let log = File::create(directory.0.join("log")).unwrap();
        let child = Command::new("/usr/sbin/named")
            .args(["-g", "-n", "1", "-c"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("named does not start ({error}); install the package bind9"));
        Self { child, address, directory }
    }

    /// Asks until the answer is the expected one.
    async fn comes_to_say(&self, question: &str, expected: &str) {
        let begin = Instant::now();
        loop {
            let said = dig(self.address, &format!("{question} +short +tries=1 +time=1")).await;
            if said.trim() == expected {
                return;
            }
            if begin.elapsed() > DEADLINE {
                let log = fs::read_to_string(self.directory.0.join("log")).unwrap_or_default();
                panic!("{question}: {said:?} instead of {expected:?}\n{log}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Secondary {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that is free for UDP and TCP at this moment.
fn free_address() -> SocketAddr {
    loop {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = udp.local_addr().unwrap();
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bind_secondary_follows_every_change() {
    let address = free_address();
    let (builtin, primary) = bound(&[&address.to_string()]).await;
    let zone = serve(
        &builtin,
        "example.com",
        [
            "ns.example.com 300 A 192.0.2.53",
            "www.example.com 300 A 192.0.2.1",
            "old.example.com 300 TXT \"bye\"",
        ],
    )
    .await;
    let secondary = Secondary::start(primary, address);
    secondary.comes_to_say("www.example.com A", "192.0.2.1").await;
    secondary.comes_to_say("old.example.com TXT", "\"bye\"").await;

    // The SOA says to look once an hour: only a NOTIFY can make it look now.
    let live = zone.list().await.unwrap();
    let find = |owner: &str| live.iter().find(|(found, _)| found.as_str() == owner).unwrap().1.clone();
    let outcomes = apply(
        &*zone,
        vec![
            update(find("www.example.com"), record("www.example.com 300 A 192.0.2.2")),
            create(record("new.example.com 300 AAAA 2001:db8::1")),
            delete(name("old.example.com"), find("old.example.com")),
        ],
    )
    .await;
    assert!(outcomes.iter().all(|outcome| outcome.error().is_none()), "{outcomes:?}");
    secondary.comes_to_say("www.example.com A", "192.0.2.2").await;
    secondary.comes_to_say("new.example.com AAAA", "2001:db8::1").await;
    secondary.comes_to_say("old.example.com TXT", "").await;
    let ours = dig(primary, "example.com SOA +short").await;
    secondary.comes_to_say("example.com SOA", ours.trim()).await;
}

#[tokio::test]
async fn a_silent_secondary_is_told_again_until_it_answers() {
    let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let secondary = socket.local_addr().unwrap().to_string();
    let (builtin, _) = bound(&[&secondary]).await;
    let zone = serve(&builtin, "example.com", ["www.example.com 300 A 192.0.2.1"]).await;
    // One for the declaration, perhaps, then the same one again and again for the record.
    let mut heard = vec![hear(&socket).await, hear(&socket).await];
    while heard[heard.len() - 1].0 != heard[heard.len() - 2].0 {
        heard.push(hear(&socket).await);
    }
    let (first, source) = heard.pop().unwrap();
    assert_eq!(first[2] & 0x78, 4 << 3, "opcode NOTIFY");
    assert_eq!(first[6..8], [0, 1], "the SOA record in the answer section");
    let mut acknowledgement = first.clone();
    acknowledgement[2] |= 0x80;
    socket.send_to(&acknowledgement, source).await.unwrap();
    apply(&*zone, vec![create(record("new.example.com 300 A 192.0.2.2"))]).await;
    // The next message that differs is about the change: its SOA has another serial number.
    let (mut next, _) = hear(&socket).await;
    while next == first {
        next = hear(&socket).await.0;
    }
    assert_eq!(next.len(), first.len());
    assert_ne!(next[12..], first[12..]);
}

async fn hear(socket: &tokio::net::UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = [0; 512];
    let heard = tokio::time::timeout(DEADLINE, socket.recv_from(&mut buffer)).await.expect("no NOTIFY");
    let (length, source) = heard.unwrap();
    (buffer[..length].to_vec(), source)
}
