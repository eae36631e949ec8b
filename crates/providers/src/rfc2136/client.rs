//! Asks servers: which one, over which connection, with which key.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use domain::{
    base::{Message, iana::Rcode},
    tsig::Key,
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use super::{
    Settings,
    connection::{Connection, Connector},
    conversation::{Cause, Next, Take, converse_over},
    key::Keys,
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

/// Why there is no successful answer.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    /// Who was asked.
    pub(super) server: String,
    /// Why.
    pub(super) cause: Cause,
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

    /// Whether another server may stand in for one that can't be reached.
    pub(super) fn has_others(&self) -> bool {
        self.servers.len() > 1
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

    /// Sends an update to the first server that can be reached, never twice, and says which one took it. Those behind
    /// the last one, from which the zone was read, may be behind it in other ways, too.
    pub(super) async fn update(&self, message: &Unsigned, last: usize) -> Result<usize, Failure> {
        let mut first = None;
        for server in 0..=last {
            let mut take = |_: &Message<Vec<u8>>| Ok(Next::Done);
            match (self.converse(server, Method::Update, message, &mut take).await, &first) {
                (Ok(()), _) => return Ok(server),
                (Err(failure), None) if matches!(failure.cause, Cause::NotSent(_)) => first = Some(failure),
                // A secondary takes no updates, which says nothing of the primary that can't be reached.
                (Err(failure), Some(_)) if failure.is_not_its_business() => {}
                (Err(failure), _) => return Err(failure),
            }
        }
        Err(first.unwrap_or_else(|| Failure::lost("no server", "nothing was answered")))
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
            let (begun, mut is_answered) = (Instant::now(), false);
            let mut watched = |message: &Message<Vec<u8>>| {
                is_answered = true;
                take(message)
            };
            let answer = self.exchange(server, method, message, key, &mut watched).await;
            self.meter.request(method.as_str(), outcome(&answer), begun.elapsed());
            match answer {
                // A caller that took a part of the answer must not take another one for its rest.
                Err(cause) if cause.is_about_the_key() && !is_answered => first = first.or(Some(cause)),
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
            Ok(Err(error)) => return Err(unreachable(&error.to_string())),
            Err(_) => return Err(unreachable("no answer in time")),
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

    /// Whether a server that is asked in place of another one leaves updates to that one, or can't be reached either.
    fn is_not_its_business(&self) -> bool {
        let is_passed_on = |rcode: &Rcode| matches!(*rcode, Rcode::REFUSED | Rcode::NOTAUTH | Rcode::NOTIMP);
        match &self.cause {
            Cause::Refused(rcode) | Cause::Unsigned(rcode) => is_passed_on(rcode),
            Cause::NotSent(_) => true,
            Cause::NotServed(_)
            | Cause::UnknownKey(_)
            | Cause::BadSignature(_)
            | Cause::BadTime(_)
            | Cause::Lost(_) => false,
        }
    }

    /// Whether the server answered, and said no.
    pub(super) fn is_refusal(&self) -> bool {
        !matches!(self.cause, Cause::NotSent(_) | Cause::Lost(_))
    }
}

fn unreachable(why: &str) -> Cause {
    Cause::NotSent(format!(
        "can't connect: {why}; see that it runs, and that rfc2136.servers and the network lead there"
    ))
}

fn outcome(answer: &Result<(), Cause>) -> Outcome {
    match answer {
        Ok(()) => Outcome::Success,
        Err(Cause::NotSent(_) | Cause::Lost(_)) => Outcome::Lost,
        Err(_refusal) => Outcome::Refused,
    }
}
