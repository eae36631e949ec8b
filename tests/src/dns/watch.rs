//! Resolvers that ask all the time, and remember every answer that should not have been.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use domain::base::{Message, MessageBuilder, Name as WireName, Rtype, iana::Rcode};
use tokio::{net::UdpSocket, task::JoinHandle, time};

/// How often each name is asked for.
const EVERY: Duration = Duration::from_millis(20);

/// What was answered.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// Questions that got the records of their name.
    pub good: usize,
    /// Questions that the server did not answer, or not with data: it was down, or still loading.
    pub none: usize,
    /// Names that do not exist or hold nothing, according to the server.
    pub wrong: Vec<String>,
}

/// Asks for names until it is ended.
pub struct Watch {
    is_over: Arc<AtomicBool>,
    answers: Arc<Mutex<Answers>>,
    tasks: Vec<JoinHandle<()>>,
}

// === impl Watch ===

impl Watch {
    /// Asks a server for the addresses of each name, 50 times a second.
    pub fn start(server: SocketAddr, names: &[String]) -> Self {
        let (is_over, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Answers::default())));
        let ask =
            |name: &String| tokio::spawn(keep_asking(server, name.clone(), is_over.clone(), answers.clone()));
        let tasks = names.iter().map(ask).collect();
        Self { is_over, answers, tasks }
    }

    /// Stops, and says what was answered.
    pub async fn end(self) -> Answers {
        self.is_over.store(true, Ordering::SeqCst);
        for task in self.tasks {
            task.await.expect("a resolver does not fail");
        }
        self.answers.lock().expect("no panic").clone()
    }
}

async fn keep_asking(
    server: SocketAddr,
    name: String,
    is_over: Arc<AtomicBool>,
    answers: Arc<Mutex<Answers>>,
) {
    let mut ticks = time::interval(EVERY);
    for id in 0_u16.. {
        ticks.tick().await;
        if is_over.load(Ordering::SeqCst) {
            return;
        }
        // A socket of its own for each question: a late answer to another one is never taken for this one's.
        let answer = time::timeout(Duration::from_millis(500), ask(server, &name, id)).await;
        let mut answers = answers.lock().expect("no panic");
        match answer.ok().and_then(Result::ok).map(|message| (message.header().rcode(), count(&message))) {
            Some((Rcode::NOERROR, 1..)) => answers.good += 1,
            Some((Rcode::NOERROR, 0)) => answers.wrong.push(format!("{name}: nothing")),
            Some((Rcode::NXDOMAIN, _)) => answers.wrong.push(format!("{name}: NXDOMAIN")),
            Some(_) | None => answers.none += 1,
        }
    }
}

fn count(message: &Message<Vec<u8>>) -> u16 {
    message.header_counts().ancount()
}

async fn ask(server: SocketAddr, name: &str, id: u16) -> std::io::Result<Message<Vec<u8>>> {
    let name: WireName<Vec<u8>> = name.parse().map_err(std::io::Error::other)?;
    let mut question = MessageBuilder::new_vec().question();
    question.header_mut().set_id(id);
    question.push((name, Rtype::A)).map_err(std::io::Error::other)?;
    let socket = UdpSocket::bind("127.0.0.1:0").await?;
    socket.connect(server).await?;
    socket.send(&question.finish()).await?;
    let mut buffer = vec![0; 4_096];
    let length = socket.recv(&mut buffer).await?;
    buffer.truncate(length);
    Message::from_octets(buffer).map_err(std::io::Error::other)
}
