//! One question to one server: by UDP, and by TCP if the answer does not fit.

use std::{io, net::SocketAddr, time::Duration};

use domain::base::{Message, Rtype, iana::Rcode};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UdpSocket},
    time::timeout,
};
use zonekeeper_kernel::name::Name;

use crate::{
    lookup::LookupError,
    rfc2136::message::{self, Item},
};

/// How long a server has for one try.
const PATIENCE: Duration = Duration::from_secs(2);
/// Packets get lost.
const TRIES: usize = 2;
/// No answer by UDP is longer without EDNS; a larger one says that it was cut.
const LARGEST: usize = 4_096;

/// Whether the server is to ask others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recursion {
    Desired,
    /// Only what the server knows itself.
    None,
}

/// What a server said.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) rcode: Rcode,
    /// Whether it speaks for the zone.
    pub(super) is_authoritative: bool,
    pub(super) answers: Vec<Item>,
    pub(super) authority: Vec<Item>,
    pub(super) additional: Vec<Item>,
}

/// Asks a server.
pub(super) async fn ask(
    server: SocketAddr,
    name: &Name,
    rtype: Rtype,
    recursion: Recursion,
) -> Result<Answer, LookupError> {
    let mut question = message::query(name, rtype);
    question.header_mut().set_rd(recursion == Recursion::Desired);
    let octets = question.finish().into_target();
    let no_answer = |why: String| LookupError::NoAnswer {
        server: server.to_string(),
        question: format!("{name} {rtype}"),
        why,
    };
    let mut last = io::Error::other("it was not asked");
    for _ in 0..TRIES {
        match timeout(PATIENCE, exchange(server, &octets)).await {
            Ok(Ok(answer)) => return read(&answer).map_err(no_answer),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::Error::other(format!("nothing came within {} s", PATIENCE.as_secs())),
        }
    }
    Err(no_answer(last.to_string()))
}

async fn exchange(server: SocketAddr, question: &[u8]) -> io::Result<Message<Vec<u8>>> {
    let any = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(server).await?;
    socket.send(question).await?;
    let mut buffer = vec![0; LARGEST];
    loop {
        let length = socket.recv(&mut buffer).await?;
        // Anything else was not meant for this question.
        let answer = Message::from_octets(buffer[..length].to_vec());
        let Some(answer) = answer.ok().filter(|answer| is_answer(question, answer)) else { continue };
        if !answer.header().tc() {
            return Ok(answer);
        }
        return exchange_by_tcp(server, question).await;
    }
}

async fn exchange_by_tcp(server: SocketAddr, question: &[u8]) -> io::Result<Message<Vec<u8>>> {
    let mut stream = TcpStream::connect(server).await?;
    // A question is far below 64 KiB.
    let length = u16::try_from(question.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes()[..], question].concat()).await?;
    let mut answer = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut answer).await?;
    let answer = Message::from_octets(answer).map_err(|_| io::Error::other("an answer that is cut off"))?;
    match is_answer(question, &answer) {
        true => Ok(answer),
        false => Err(io::Error::other("an answer to another question")),
    }
}

fn is_answer(question: &[u8], answer: &Message<Vec<u8>>) -> bool {
    Message::from_octets(question).is_ok_and(|question| answer.is_answer(&question))
}

fn read(message: &Message<Vec<u8>>) -> Result<Answer, String> {
    Ok(Answer {
        rcode: message.header().rcode(),
        is_authoritative: message.header().aa(),
        answers: message::items(message)?,
        authority: message::authority(message)?,
        additional: message::additional(message)?,
    })
}
