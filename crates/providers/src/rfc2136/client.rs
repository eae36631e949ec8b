//! Asks servers: signs, sends, verifies what comes back, and knows what an answer means.

use std::{
    fmt, io,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use domain::{
    base::{
        Message,
        iana::{Rcode, TsigRcode},
    },
    rdata::tsig::{Time48, Tsig},
    tsig::{ClientSequence, Key, ValidationError},
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use super::{
    Settings,
    connection::{Connection, Connector},
    key::{Keys, label},
    message::Unsigned,
};
use crate::{
    ProviderError,
    fence::Fence,
    meter::{Meter, Outcome},
};

/// How long opening a connection may take.
const CONNECTING: Duration = Duration::from_secs(3);
/// An idle connection older than this is not used again: servers close theirs after 10 s or more.
const IDLE: Duration = Duration::from_secs(5);
/// Connections to one server at a time.
const CONNECTIONS: usize = 4;

/// Servers of the same zones.
pub(super) struct Client {
    servers: Vec<Server>,
    connector: Connector,
    update_keys: Keys,
    transfer_keys: Keys,
    timeout: Duration,
    fence: Arc<dyn Fence>,
    meter: Arc<dyn Meter>,
}

struct Server {
    address: String,
    idle: Mutex<Vec<(Instant, Connection)>>,
    permits: Semaphore,
}

/// What is asked, as metrics name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Query,
    Transfer,
    Update,
}

/// Whether more messages belong to an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    More,
    Done,
}

/// Takes the messages of an answer, one after the other; its error says what is wrong with them.
pub(super) type Take<'a> = dyn FnMut(&Message<Vec<u8>>) -> Result<Next, String> + Send + 'a;

/// Why there is no successful answer.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    /// Who was asked.
    pub(super) server: String,
    /// Why.
    pub(super) cause: Cause,
}

/// Why there is no successful answer.
#[derive(Debug, Clone)]
pub(super) enum Cause {
    /// The server said no, and changed nothing.
    Refused(Rcode),
    /// It does not know the key, or not with this algorithm.
    UnknownKey(String),
    /// It has another secret under the key's name.
    BadSignature(String),
    /// Its clock is ahead of ours by so many seconds.
    BadTime(i64),
    /// It answers without a signature where one is due.
    Unsigned(Rcode),
    /// Nothing was sent.
    NotSent(String),
    /// No answer, or none that can be trusted: an update may have been applied.
    Lost(String),
}

// === impl Client ===

impl Client {
    pub(super) fn new(settings: Settings) -> Result<Self, ProviderError> {
        let configuration = |message: String| ProviderError::Configuration { message };
        if settings.servers.is_empty() {
            return Err(configuration("rfc2136.servers is empty; name a server as host:port".into()));
        }
        let connector = Connector::new(settings.transport)
            .map_err(|error| configuration(format!("setting up TLS: {error}")))?;
        let update_keys = Keys::new(&settings.update_key)?;
        let transfer_keys = match &settings.transfer_key {
            Some(rotation) => Keys::new(rotation)?,
            None => Keys::new(&settings.update_key)?,
        };
        let servers = settings.servers.into_iter().map(|address| Server {
            address,
            idle: Mutex::default(),
            permits: Semaphore::new(CONNECTIONS),
        });
        Ok(Self {
            servers: servers.collect(),
            connector,
            update_keys,
            transfer_keys,
            timeout: settings.timeout,
            fence: settings.fence,
            meter: settings.meter,
        })
    }

    /// A server as people know it.
    pub(super) fn address(&self, server: usize) -> &str {
        &self.servers[server].address
    }

    /// Asks the servers in order until one can be reached, and says which one it was.
    pub(super) async fn ask(&self, message: &Unsigned) -> Result<(usize, Message<Vec<u8>>), Failure> {
        let mut last = None;
        for server in 0..self.servers.len() {
            let mut answer = None;
            let mut take = |message: &Message<Vec<u8>>| {
                answer = Some(message.clone());
                Ok(Next::Done)
            };
            let asked = self.converse(server, Method::Query, message, &mut take).await;
            match (asked, answer) {
                (Ok(()), Some(answer)) => return Ok((server, answer)),
                (Err(failure), _) if failure.is_refusal() => return Err(failure),
                (Err(failure), _) => last = last.or(Some(failure)),
                (Ok(()), None) => {}
            }
        }
        Err(last.unwrap_or_else(|| Failure::lost("no server", "nothing was answered")))
    }

    /// Sends an update to the first server that can be reached; never twice.
    pub(super) async fn update(&self, message: &Unsigned) -> Result<(), Failure> {
        let mut last = None;
        for server in 0..self.servers.len() {
            let mut take = |_: &Message<Vec<u8>>| Ok(Next::Done);
            match self.converse(server, Method::Update, message, &mut take).await {
                Err(failure) if matches!(failure.cause, Cause::NotSent(_)) => last = last.or(Some(failure)),
                answered => return answered,
            }
        }
        Err(last.unwrap_or_else(|| Failure::lost("no server", "nothing was answered")))
    }

    /// Asks one server, with each key until one is known there.
    ///
    /// Guarantees: what `take` sees was verified, but for messages between two signed ones (RFC 8945 section
    /// 5.3.1); `Ok` is returned only if the last one was, too.
    pub(super) async fn converse(
        &self,
        server: usize,
        method: Method,
        message: &Unsigned,
        take: &mut Take<'_>,
    ) -> Result<(), Failure> {
        let keys = match method {
            Method::Update => &self.update_keys,
            Method::Query | Method::Transfer => &self.transfer_keys,
        };
        let server = &self.servers[server];
        let mut first = None;
        for (index, key) in keys.in_order() {
            let begun = Instant::now();
            let answer = self.exchange(server, method, message, key, take).await;
            self.meter.request(method.as_str(), outcome(&answer), begun.elapsed());
            match answer {
                Err(cause @ (Cause::UnknownKey(_) | Cause::BadSignature(_))) => first = first.or(Some(cause)),
                Err(cause) => return Err(Failure { server: server.address.clone(), cause }),
                Ok(()) => {
                    keys.prefer(index);
                    return Ok(());
                }
            }
        }
        let cause = first.unwrap_or_else(|| Cause::NotSent("there is no key".into()));
        Err(Failure { server: server.address.clone(), cause })
    }

    /// Asks once; a question, which changes nothing, again where a kept connection turns out to be closed.
    async fn exchange(
        &self,
        server: &Server,
        method: Method,
        message: &Unsigned,
        key: Option<Arc<Key>>,
        take: &mut Take<'_>,
    ) -> Result<(), Cause> {
        let _permit = server.permit().await?;
        if let Some(kept) = server.kept() {
            let patience = self.patience()?;
            let mut is_answered = false;
            let mut watched = |message: &Message<Vec<u8>>| {
                is_answered = true;
                take(message)
            };
            match converse_over(kept, message, key.clone(), patience, &mut watched).await {
                (Err(Cause::Lost(_)), _) if method != Method::Update && !is_answered => {}
                (answer, connection) => return server.keep(answer, connection),
            }
        }
        let connecting = CONNECTING.min(self.patience()?);
        let connection = match timeout(connecting, self.connector.connect(&server.address)).await {
            Ok(Ok(connection)) => connection,
            Ok(Err(error)) => return Err(Cause::NotSent(format!("can't connect: {error}"))),
            Err(_) => return Err(Cause::NotSent("can't connect: no answer in time".into())),
        };
        let (answer, connection) = converse_over(connection, message, key, self.patience()?, take).await;
        server.keep(answer, connection)
    }

    /// How long what is sent now may take, unless nothing may be sent any more.
    fn patience(&self) -> Result<Duration, Cause> {
        match self.fence.time_left() {
            Some(left) => Ok(self.timeout.min(left)),
            None => {
                Err(Cause::NotSent("this process is not the leader any more; the new one goes on".into()))
            }
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers: Vec<&str> = self.servers.iter().map(|server| &*server.address).collect();
        formatter
            .debug_struct("Client")
            .field("servers", &servers)
            .field("update_keys", &self.update_keys)
            .field("transfer_keys", &self.transfer_keys)
            .finish_non_exhaustive()
    }
}

// === impl Server ===

impl Server {
    async fn permit(&self) -> Result<SemaphorePermit<'_>, Cause> {
        self.permits.acquire().await.map_err(|_| Cause::NotSent("the client is closed".into()))
    }

    fn kept(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((since, mut connection)) = idle.pop() {
            if since.elapsed() < IDLE && !connection.is_stale() {
                return Some(connection);
            }
        }
        None
    }

    /// Keeps a connection on which the next message begins where the last one ended.
    fn keep(&self, answer: Result<(), Cause>, connection: Connection) -> Result<(), Cause> {
        if matches!(answer, Ok(()) | Err(Cause::Refused(_))) {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.push((Instant::now(), connection));
        }
        answer
    }
}

// === impl Method ===

impl Method {
    fn as_str(self) -> &'static str {
        match self {
            Self::Query => "QUERY",
            Self::Transfer => "TRANSFER",
            Self::Update => "UPDATE",
        }
    }
}

// === impl Failure ===

impl Failure {
    /// An answer that says too little, or what can't be true.
    pub(super) fn lost(server: &str, message: impl Into<String>) -> Self {
        Self { server: server.into(), cause: Cause::Lost(message.into()) }
    }

    /// Whether the server answered, and said no.
    pub(super) fn is_refusal(&self) -> bool {
        !matches!(self.cause, Cause::NotSent(_) | Cause::Lost(_))
    }
}

async fn converse_over(
    mut connection: Connection,
    message: &Unsigned,
    key: Option<Arc<Key>>,
    patience: Duration,
    take: &mut Take<'_>,
) -> (Result<(), Cause>, Connection) {
    let answer = talk(&mut connection, message.clone(), key, patience, take).await;
    (answer, connection)
}

async fn talk(
    connection: &mut Connection,
    mut message: Unsigned,
    key: Option<Arc<Key>>,
    patience: Duration,
    take: &mut Take<'_>,
) -> Result<(), Cause> {
    let id = message.header().id();
    let mut signed = match key {
        Some(key) => Some(
            ClientSequence::request(key, &mut message, Time48::now())
                .map_err(|_| Cause::NotSent("the message is too long to be signed".into()))?,
        ),
        None => None,
    };
    let octets = message.finish().into_target();
    in_time(patience, connection.send(&octets)).await?;
    loop {
        let octets = in_time(patience, connection.receive()).await?;
        let mut answer = Message::from_octets(octets)
            .map_err(|_| Cause::Lost("an answer that is too short for a message".into()))?;
        if answer.header().id() != id || !answer.header().qr() {
            return Err(Cause::Lost("an answer to something else".into()));
        }
        if let Some(sequence) = &mut signed {
            verify(sequence, &mut answer)?;
        }
        match answer.header().rcode() {
            Rcode::NOERROR => {}
            rcode => return Err(Cause::Refused(rcode)),
        }
        if take(&answer).map_err(Cause::Lost)? == Next::Done {
            break;
        }
    }
    match signed.map(ClientSequence::done) {
        None | Some(Ok(())) => Ok(()),
        Some(Err(_)) => Err(Cause::Lost("the end of the answer is not signed".into())),
    }
}

/// Checks a signature, or says what the server has against ours.
fn verify(sequence: &mut ClientSequence<Arc<Key>>, answer: &mut Message<Vec<u8>>) -> Result<(), Cause> {
    let key = label(sequence.key());
    // The error field goes first: what a server says about a bad signature is not signed itself.
    if let Some(tsig) = answer.get_last_additional::<Tsig<_, _>>() {
        match tsig.data().error() {
            TsigRcode::BADKEY => return Err(Cause::UnknownKey(key)),
            TsigRcode::BADSIG => return Err(Cause::BadSignature(key)),
            TsigRcode::BADTIME => {
                let ours = u64::from(Time48::now()) as i64;
                let theirs = tsig.data().other_time().map_or(ours, |time| u64::from(time) as i64);
                return Err(Cause::BadTime(theirs - ours));
            }
            _none => {}
        }
    }
    let rcode = answer.header().rcode();
    sequence.answer(answer, Time48::now()).map_err(|error| match error {
        // Who can't read a message can't sign an answer to it.
        ValidationError::ServerUnsigned if matches!(rcode, Rcode::FORMERR | Rcode::NOTIMP) => {
            Cause::Refused(rcode)
        }
        ValidationError::ServerUnsigned => Cause::Unsigned(rcode),
        other => Cause::Lost(format!("an answer whose signature is wrong: {other}")),
    })
}

async fn in_time<T>(patience: Duration, act: impl Future<Output = io::Result<T>>) -> Result<T, Cause> {
    match timeout(patience, act).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(Cause::Lost("the connection was closed before the answer was complete".into()))
        }
        Ok(Err(error)) => Err(Cause::Lost(format!("no answer: {error}"))),
        Err(_) => Err(Cause::Lost(format!("no answer within {} s", patience.as_secs()))),
    }
}

fn outcome(answer: &Result<(), Cause>) -> Outcome {
    match answer {
        Ok(()) => Outcome::Success,
        Err(Cause::NotSent(_) | Cause::Lost(_)) => Outcome::Lost,
        Err(_refusal) => Outcome::Refused,
    }
}
