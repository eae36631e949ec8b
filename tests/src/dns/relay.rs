//! Stands between us and a server, sees every message, and does to one of them whatever a network can do.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::base::Message;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};

/// What becomes of a request or of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The connection ends before the request arrives.
    Request,
    /// The request arrives; the connection ends before its answer does.
    Answer,
    /// The answer is cut off after so many octets.
    Rest(usize),
    /// The request never arrives, and nobody learns of it.
    LostRequest,
    /// The request arrives, the answer never does, and nobody learns of it.
    LostAnswer,
    /// The answer comes so much later.
    Late(Duration),
    /// The request arrives with one bit turned over.
    BentRequest,
    /// The answer arrives with one bit turned over.
    BentAnswer,
    /// An unsigned update arrives without its changes: the server agrees, and does nothing.
    Hollow,
}

/// What a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Query,
    Transfer,
    Update,
}

/// A relay, which ends with its test.
pub struct Relay {
    /// Where it listens.
    pub address: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    connections: usize,
    seen: Vec<Kind>,
    /// All that passed, both ways.
    octets: usize,
    /// The number of the request that it happens to.
    fault: Option<(usize, Fault)>,
}

// === impl Relay ===

impl Relay {
    /// A relay to `host:port` that does nothing bad yet.
    pub async fn start(upstream: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                lock(&shared).connections += 1;
                let (state, upstream) = (shared.clone(), upstream.clone());
                // A connection that ends is nothing to report: the test looks at what becomes of it.
                tokio::spawn(async move { drop(relay(client, &upstream, state).await) });
            }
        });
        Self { address, state }
    }

    /// Something happens to one request: the next one is number 0.
    pub fn fault(&self, number: usize, fault: Fault) {
        let mut state = lock(&self.state);
        let at = state.seen.len() + number;
        state.fault = Some((at, fault));
    }

    /// Nothing bad happens from now on; whether it had come to that.
    pub fn heal(&self) -> bool {
        let is_reached = self.is_reached();
        lock(&self.state).fault = None;
        is_reached
    }

    /// Whether the request came by to which something was to happen.
    pub fn is_reached(&self) -> bool {
        let state = lock(&self.state);
        state.fault.is_some_and(|(at, _)| at < state.seen.len())
    }

    /// How many connections were opened to it.
    pub fn connections(&self) -> usize {
        lock(&self.state).connections
    }

    /// How many requests came by.
    pub fn requests(&self) -> usize {
        lock(&self.state).seen.len()
    }

    /// What came by after the first so many requests.
    pub fn since(&self, requests: usize) -> Vec<Kind> {
        lock(&self.state).seen[requests..].to_vec()
    }

    /// How many octets passed, both ways.
    pub fn octets(&self) -> usize {
        lock(&self.state).octets
    }
}

// === impl Kind ===

impl Kind {
    fn of(message: &[u8]) -> Self {
        let opcode = message.get(2).map_or(0, |octet| octet >> 3 & 0x0f);
        // The name of the question ends with an empty label, and its type follows.
        let name: usize =
            message.get(12..).map_or(0, |rest| rest.iter().take_while(|&&octet| octet > 0).count());
        let rtype = message.get(13 + name..15 + name);
        match (opcode, rtype) {
            (5, _) => Self::Update,
            (_, Some([0, 251 | 252])) => Self::Transfer,
            _other => Self::Query,
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn relay(client: TcpStream, upstream: &str, state: Arc<Mutex<State>>) -> io::Result<()> {
    client.set_nodelay(true)?;
    let (mut from_client, to_client) = client.into_split();
    let server = TcpStream::connect(upstream).await?;
    server.set_nodelay(true)?;
    let (from_server, mut to_server) = server.into_split();
    let (tell, told) = watch::channel(None);
    let answers = tokio::spawn(pass_answers(from_server, to_client, told, state.clone()));
    loop {
        let mut message = receive(&mut from_client).await?;
        let fault = {
            let mut state = lock(&state);
            let number = state.seen.len();
            state.seen.push(Kind::of(&message));
            state.octets += message.len() + 2;
            state.fault.filter(|(at, _)| *at == number).map(|(_, fault)| fault)
        };
        match fault {
            Some(Fault::Request) => {
                answers.abort();
                return Ok(());
            }
            Some(Fault::LostRequest) => continue,
            Some(Fault::BentRequest) => bend(&mut message),
            Some(Fault::Hollow) => hollow(&mut message),
            other => drop(tell.send_replace(other)),
        }
        send(&mut to_server, &message).await?;
    }
}

/// Passes answers on until something happens to one.
async fn pass_answers(
    mut from_server: OwnedReadHalf,
    mut to_client: OwnedWriteHalf,
    mut told: watch::Receiver<Option<Fault>>,
    state: Arc<Mutex<State>>,
) -> io::Result<()> {
    let mut left = usize::MAX;
    loop {
        let mut message = receive(&mut from_server).await?;
        lock(&state).octets += message.len() + 2;
        let is_new = told.has_changed().unwrap_or(false);
        let fault = *told.borrow_and_update();
        match fault {
            Some(Fault::Answer) => return Ok(()),
            Some(Fault::LostAnswer) => continue,
            Some(Fault::Late(delay)) if is_new => tokio::time::sleep(delay).await,
            Some(Fault::BentAnswer) if is_new => bend(&mut message),
            Some(Fault::Rest(octets)) if is_new => left = octets,
            _other => {}
        }
        if left < message.len() + 2 {
            let framed = [&(message.len() as u16).to_be_bytes()[..], &message].concat();
            to_client.write_all(&framed[..left]).await?;
            return to_client.shutdown().await;
        }
        left = left.saturating_sub(message.len() + 2);
        send(&mut to_client, &message).await?;
    }
}

async fn receive(from: &mut OwnedReadHalf) -> io::Result<Vec<u8>> {
    let mut message = vec![0; usize::from(from.read_u16().await?)];
    from.read_exact(&mut message).await?;
    Ok(message)
}

async fn send(to: &mut OwnedWriteHalf, message: &[u8]) -> io::Result<()> {
    to.write_all(&[&(message.len() as u16).to_be_bytes()[..], message].concat()).await
}

/// In the middle there are records; the header stays, so that it is still an answer.
fn bend(message: &mut [u8]) {
    let middle = 12 + message.len().saturating_sub(12) / 2;
    if let Some(octet) = message.get_mut(middle) {
        *octet ^= 1;
    }
}

/// Leaves the zone and the prerequisites.
fn hollow(message: &mut Vec<u8>) {
    let changes =
        Message::from_octets(&message[..]).ok().and_then(|update| Some(update.update().ok()?.pos()));
    if let Some(changes) = changes {
        message.truncate(changes);
        message[8..12].fill(0);
    }
}
