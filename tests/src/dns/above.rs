//! The zone above those of a test, on a server at port 53, where zones are asked.

use std::{
    io::{self, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket},
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use dns_servers::{DnsServer, Setup, Software};

/// How often it is looked whether a front is still wanted.
const LOOK: Duration = Duration::from_millis(20);
/// How long a server may take to answer.
const ANSWER: Duration = Duration::from_secs(1);

static NEXT: AtomicU8 = AtomicU8::new(1);

/// Loopback addresses of a test's own, whose port 53 is free: that of a parent's server, and that of a child's. None, and
/// the run says so, without the right to listen there.
pub fn addresses() -> Option<(String, String)> {
    let network = format!("127.{}.{}", 20 + process::id() % 200, NEXT.fetch_add(1, Ordering::Relaxed));
    match UdpSocket::bind(format!("{network}.1:53")) {
        Ok(_) => Some((format!("{network}.1"), format!("{network}.2"))),
        Err(error) => {
            // Not captured: the whole run repeats it at its end.
            let _ = writeln!(
                std::io::stderr(),
                "left out: delegations, which need a server at port 53 ({error}); run the tests as root"
            );
            None
        }
    }
}

/// Port 53 of an address, which leads to a server. It is not the server's own: named listens only at addresses that an
/// interface has.
pub struct Front {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

// === impl Front ===

impl Front {
    /// Takes questions, by UDP and by TCP, until it is dropped.
    pub fn start(address: &str, server: &DnsServer) -> Self {
        let here = format!("{address}:53");
        let there: SocketAddr = server.address().parse().expect("an address");
        let (udp, tcp) = (UdpSocket::bind(&here), TcpListener::bind(&here));
        let (udp, tcp) = (udp.expect("the port is free"), tcp.expect("the port is free"));
        udp.set_read_timeout(Some(LOOK)).expect("a socket");
        tcp.set_nonblocking(true).expect("a socket");
        let is_over = Arc::new(AtomicBool::new(false));
        let (of_udp, of_tcp) = (is_over.clone(), is_over.clone());
        let threads = vec![
            thread::spawn(move || carry_packets(&udp, there, &of_udp)),
            thread::spawn(move || carry_streams(&tcp, there, &of_tcp)),
        ];
        Self { is_over, threads }
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn carry_packets(socket: &UdpSocket, server: SocketAddr, is_over: &AtomicBool) {
    let mut question = [0; 4_096];
    while !is_over.load(Ordering::SeqCst) {
        let Ok((length, from)) = socket.recv_from(&mut question) else { continue };
        let _ = forward(socket, &question[..length], from, server);
    }
}

fn forward(socket: &UdpSocket, question: &[u8], from: SocketAddr, server: SocketAddr) -> io::Result<()> {
    let onward = UdpSocket::bind("127.0.0.1:0")?;
    onward.set_read_timeout(Some(ANSWER))?;
    onward.send_to(question, server)?;
    let mut answer = [0; 65_535];
    let (length, _) = onward.recv_from(&mut answer)?;
    socket.send_to(&answer[..length], from).map(drop)
}

fn carry_streams(listener: &TcpListener, server: SocketAddr, is_over: &AtomicBool) {
    while !is_over.load(Ordering::SeqCst) {
        match listener.accept() {
            Ok((stream, _)) => drop(thread::spawn(move || carry_stream(stream, server))),
            Err(_) => thread::sleep(LOOK),
        }
    }
}

fn carry_stream(client: TcpStream, server: SocketAddr) -> io::Result<()> {
    client.set_nonblocking(false)?;
    let server = TcpStream::connect(server)?;
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    let back = thread::spawn(move || io::copy(&mut &server, &mut &client));
    io::copy(&mut from, &mut to)?;
    to.shutdown(Shutdown::Write)?;
    back.join().map_err(|_| io::Error::other("a panic"))?.map(drop)
}

/// A zone file whose only name server is at an address.
pub fn served_at(domain: &str, address: &str) -> String {
    format!(
        "$ORIGIN {domain}.\n$TTL 300\n@ SOA ns1 hostmaster 1 7200 3600 1209600 60\n@ NS ns1\nns1 A {address}\n"
    )
}

/// A server of `example.com`, in which nothing is delegated, and its port 53.
pub fn above() -> Option<(DnsServer, Front)> {
    let (address, _) = addresses()?;
    let mut setup = Setup::new(Software::Bind, "example.com");
    setup.zone = served_at("example.com", &address);
    let server = DnsServer::start(setup).expect("the server starts");
    let front = Front::start(&address, &server);
    Some((server, front))
}
