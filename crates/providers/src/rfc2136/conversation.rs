//! One message and its answer over one connection: signed, and verified before it is used.

use std::{io, sync::Arc, time::Duration};

use domain::{
    base::{
        Message,
        iana::{Rcode, TsigRcode},
    },
    rdata::tsig::{Time48, Tsig},
    tsig::{ClientSequence, Key, ValidationError},
};
use tokio::time::timeout;

use super::{connection::Connection, key::label, message::Unsigned};

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
pub(super) enum Cause {
    /// The server said no, and changed nothing.
    Refused(Rcode),
    /// It does not answer for the zone.
    NotServed(Rcode),
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

// === impl Cause ===

impl Cause {
    /// Whether another key may help. PowerDNS does not sign what it says about a key that it does not know.
    pub(super) fn is_about_the_key(&self) -> bool {
        match self {
            Self::UnknownKey(_) | Self::BadSignature(_) => true,
            Self::Unsigned(rcode) => matches!(*rcode, Rcode::NOTAUTH | Rcode::REFUSED),
            Self::Refused(_) | Self::NotServed(_) | Self::BadTime(_) | Self::NotSent(_) | Self::Lost(_) => {
                false
            }
        }
    }
}

/// Asks over a connection, and gives it back.
pub(super) async fn converse_over(
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
pub(super) fn verify(
    sequence: &mut ClientSequence<Arc<Key>>,
    answer: &mut Message<Vec<u8>>,
) -> Result<(), Cause> {
    let key = label(sequence.key());
    // The error field goes first: what a server says about a bad signature is not signed itself (RFC 8945 section 5.3.2).
    let is_about_signature = answer.header().rcode() == Rcode::NOTAUTH;
    if let Some(tsig) = answer.get_last_additional::<Tsig<_, _>>().filter(|_| is_about_signature) {
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
        ValidationError::ServerUnsigned
            if matches!(rcode, Rcode::FORMERR | Rcode::NOTIMP | Rcode::SERVFAIL) =>
        {
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
