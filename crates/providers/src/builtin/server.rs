//! The sockets: UDP and TCP on one port, and the tasks that answer on them.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UdpSocket},
    task::JoinSet,
    time::timeout,
};

use super::{
    peer::TransferPeer,
    request::Transport,
    respond::{Reply, respond},
    zones::Zones,
};
use crate::ProviderError;

/// How many connections are served at a time; further ones are closed at once.
const MAX_CONNECTIONS: usize = 512;
/// How long a client may be silent on a connection (RFC 7766 section 6.2.3).
const IDLE: Duration = Duration::from_secs(15);
/// How long a client may take to accept one message.
const STALLED: Duration = Duration::from_secs(15);
/// How often a free port is looked for that is free for both.
const PORT_ATTEMPTS: usize = 16;
/// How long the system gets to recover after it refused us a datagram or a connection.
const PAUSE: Duration = Duration::from_millis(50);
/// The longest datagram.
const MAX_DATAGRAM: usize = 65_535;

/// Questions whose answer has panicked, and that are not counted yet.
static FAILURES: AtomicU64 = AtomicU64::new(0);

/// How many questions were not answered because of a fault of our own, since this was asked last.
pub fn take_failures() -> u64 {
    FAILURES.swap(0, Ordering::Relaxed)
}

/// What is served, and to whom.
#[derive(Debug)]
pub(super) struct Service {
    /// The zones.
    pub(super) zones: Zones,
    /// Who may transfer them.
    pub(super) peers: Vec<TransferPeer>,
}

/// Two sockets on one port.
#[derive(Debug)]
pub(super) struct Sockets {
    udp: UdpSocket,
    tcp: TcpListener,
}

// === impl Service ===

impl Service {
    fn respond(&self, message: &[u8], source: IpAddr, transport: Transport) -> Reply {
        // Whatever one question does, the next one is answered.
        let answer = || respond(&self.zones, &self.peers, message, source, transport);
        catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_| {
            FAILURES.fetch_add(1, Ordering::Relaxed);
            tracing::error!(%source, "panicked over a question, which is not answered");
            Reply::Silence
        })
    }
}

// === impl Sockets ===

impl Sockets {
    /// Binds both; port 0 is any that is free for both.
    pub(super) async fn bind(listen: SocketAddr) -> Result<Self, ProviderError> {
        let mut attempts = if listen.port() == 0 { PORT_ATTEMPTS } else { 1 };
        loop {
            attempts -= 1;
            match Self::try_bind(listen).await {
                Ok(sockets) => return Ok(sockets),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && attempts > 0 => {}
                Err(error) => return Err(unusable(listen, &error)),
            }
        }
    }

    /// The address that both are bound to.
    pub(super) fn local_addr(&self) -> Option<SocketAddr> {
        self.udp.local_addr().ok()
    }

    /// Answers until the set is dropped, which closes sockets and connections.
    pub(super) fn serve(self, service: &Arc<Service>, tasks: &mut JoinSet<()>) {
        let udp = Arc::new(self.udp);
        let workers = std::thread::available_parallelism().map_or(1, usize::from).min(4);
        for _ in 0..workers {
            tasks.spawn(serve_datagrams(udp.clone(), service.clone()));
        }
        tasks.spawn(serve_connections(self.tcp, service.clone()));
    }

    async fn try_bind(listen: SocketAddr) -> io::Result<Self> {
        let udp = UdpSocket::bind(listen).await?;
        let tcp = TcpListener::bind(udp.local_addr()?).await?;
        Ok(Self { udp, tcp })
    }
}

async fn serve_datagrams(socket: Arc<UdpSocket>, service: Arc<Service>) {
    let mut buffer = vec![0; MAX_DATAGRAM];
    loop {
        let Ok((length, source)) = socket.recv_from(&mut buffer).await else {
            // Out of memory, for one: the socket itself is well.
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        match service.respond(&buffer[..length], source.ip(), Transport::Udp) {
            Reply::Message(message) => {
                if let Err(error) = socket.send_to(&message, source).await {
                    tracing::debug!(%source, %error, "answer not sent");
                }
            }
            Reply::Silence | Reply::Transfer(_) => {}
        }
    }
}

async fn serve_connections(listener: TcpListener, service: Arc<Service>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, source)) if connections.len() < MAX_CONNECTIONS => {
                    let service = service.clone();
                    connections.spawn(async move {
                        if let Err(error) = serve_connection(stream, source.ip(), &service).await {
                            tracing::debug!(%source, %error, "connection ended");
                        }
                    });
                }
                Ok((_, source)) => tracing::debug!(%source, "connection refused: too many"),
                // Out of descriptors, for one: wait for connections to end.
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Answers one question after the other until the client closes or falls silent.
async fn serve_connection(mut stream: TcpStream, source: IpAddr, service: &Service) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut message = Vec::new();
    loop {
        match timeout(IDLE, read_message(&mut stream, &mut message)).await? {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
        match service.respond(&message, source, Transport::Tcp) {
            Reply::Silence => return Ok(()),
            Reply::Message(reply) => write_message(&mut stream, &reply).await?,
            Reply::Transfer(transfer) => {
                for reply in transfer {
                    write_message(&mut stream, &reply).await?;
                }
            }
        }
    }
}

async fn read_message(stream: &mut TcpStream, message: &mut Vec<u8>) -> io::Result<()> {
    let length = stream.read_u16().await?;
    message.resize(usize::from(length), 0);
    stream.read_exact(message).await.map(|_| ())
}

/// Writes length and message at once (RFC 7766 section 8).
async fn write_message(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    let length = u16::try_from(message.len()).map_err(io::Error::other)?;
    let framed = [&length.to_be_bytes()[..], message].concat();
    timeout(STALLED, stream.write_all(&framed)).await?
}

fn unusable(listen: SocketAddr, error: &io::Error) -> ProviderError {
    let message = match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "{listen} is in use by another program; free it, or change spec.builtin.listen of the DNSProvider"
        ),
        io::ErrorKind::PermissionDenied => format!(
            "{listen} may not be bound ({error}); grant NET_BIND_SERVICE, or choose a port from 1024 in \
             spec.builtin.listen of the DNSProvider"
        ),
        _other => format!("{listen} can't be bound ({error}); change spec.builtin.listen of the DNSProvider"),
    };
    ProviderError::Configuration { message }
}
