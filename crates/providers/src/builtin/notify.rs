//! Tells secondaries that a zone has changed (RFC 1996), until they acknowledge it.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{Arc, Weak},
    time::Duration,
};

use domain::base::{
    Message, MessageBuilder, Rtype,
    iana::{Class, Opcode, Rcode},
};
use tokio::{net::UdpSocket, sync::watch, time::timeout};

use super::{
    answer::RecordSet,
    reply,
    wire::{Buffer, wire_name},
    zone::Zone,
};

/// How long an acknowledgement is waited for, attempt by attempt.
const PATIENCE: [Duration; 5] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
    Duration::from_secs(16),
];

/// Tells one server of every change to one zone, from the moment at which its contents are known until the zone is
/// gone; a newer change replaces the older.
pub(super) async fn notify_of_changes(
    zone: Weak<Zone>,
    mut serials: watch::Receiver<Option<u32>>,
    from: IpAddr,
    to: SocketAddr,
) {
    if serials.wait_for(Option::is_some).await.is_err() {
        return;
    }
    loop {
        serials.mark_unchanged();
        let Some(soa) = zone.upgrade().and_then(|zone| zone.state().soa()) else { return };
        tokio::select! {
            told = tell(&soa, from, to) => {
                match told {
                    Ok(()) => tracing::debug!(zone = %soa.owner, secondary = %to, "notified"),
                    Err(error) => tracing::debug!(zone = %soa.owner, secondary = %to, %error, "not notified"),
                }
                if serials.changed().await.is_err() {
                    return;
                }
            }
            changed = serials.changed() => if changed.is_err() { return },
        }
    }
}

/// Follows the zone without keeping it.
pub(super) fn watch_of(zone: &Arc<Zone>) -> (Weak<Zone>, watch::Receiver<Option<u32>>) {
    (Arc::downgrade(zone), zone.serials())
}

async fn tell(soa: &RecordSet, from: IpAddr, to: SocketAddr) -> io::Result<()> {
    let socket = UdpSocket::bind(SocketAddr::new(source_for(from, to), 0)).await?;
    socket.connect(to).await?;
    let id = socket.local_addr()?.port();
    let message = notification(soa, id);
    for patience in PATIENCE {
        // A refused port answers at once; the secondary may be about to start.
        let outcome = match socket.send(&message).await {
            Ok(_) => timeout(patience, acknowledged(&socket, id)).await,
            Err(error) => Ok(Err(error)),
        };
        match outcome {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(_)) => tokio::time::sleep(patience).await,
            Err(_) => {}
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// Waits for the answer to our message; any answer is an acknowledgement that repeating won't improve.
async fn acknowledged(socket: &UdpSocket, id: u16) -> io::Result<()> {
    let mut buffer = [0; 512];
    loop {
        let length = socket.recv(&mut buffer).await?;
        let Ok(message) = Message::from_slice(&buffer[..length]) else { continue };
        let header = message.header();
        if header.qr() && header.id() == id && header.opcode() == Opcode::NOTIFY {
            return Ok(());
        }
    }
}

fn notification(soa: &RecordSet, id: u16) -> Vec<u8> {
    let mut message = MessageBuilder::from_target(Buffer::new(Vec::with_capacity(512)))
        .expect("a vector has room for a header");
    let header = message.header_mut();
    header.set_id(id);
    header.set_opcode(Opcode::NOTIFY);
    header.set_aa(true);
    header.set_rcode(Rcode::NOERROR);
    let mut question = message.question();
    question
        .push((&wire_name(&soa.owner), Rtype::SOA, Class::IN))
        .expect("a vector grows, and the message has no limit");
    let mut answer = question.answer();
    reply::push(&mut answer, soa).expect("a vector grows, and the message has no limit");
    answer.finish().into_target()
}

/// The address that secondaries know us by: the one we listen on, if it is one.
fn source_for(listen: IpAddr, to: SocketAddr) -> IpAddr {
    match to {
        SocketAddr::V4(_) if listen.is_ipv4() => listen,
        SocketAddr::V6(_) if listen.is_ipv6() => listen,
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}
