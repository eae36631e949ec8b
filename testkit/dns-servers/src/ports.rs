//! Free ports, and whether a server answers on one.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket},
    ops::Range,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use anyhow::{Context, Result};

const PATIENCE: Duration = Duration::from_millis(500);

/// Ports below those that the system gives to clients, so that no connection takes one from under us.
const PORTS: Range<u32> = 20_000..32_000;

/// A port that nobody listens on, neither by UDP nor by TCP, and that this process never used before.
pub(super) fn free() -> Result<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    for _ in 0..PORTS.len() {
        let step = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_add(std::process::id().wrapping_mul(97));
        let port = (PORTS.start + step % (PORTS.end - PORTS.start)) as u16;
        let is_free = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
            && UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
        if is_free {
            return Ok(port);
        }
    }
    None.context("no free port")
}

/// Whether a server answers for a zone.
pub(super) fn answers_soa(port: u16, domain: &str) -> bool {
    ask_soa(port, domain).unwrap_or(false)
}

fn ask_soa(port: u16, domain: &str) -> std::io::Result<bool> {
    let mut question = vec![0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in domain.split('.') {
        question.push(label.len() as u8);
        question.extend(label.as_bytes());
    }
    question.extend([0, 0, 6, 0, 1]);
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(&(question.len() as u16).to_be_bytes())?;
    stream.write_all(&question)?;
    let mut header = [0; 14];
    stream.read_exact(&mut header)?;
    // NOERROR, with an answer.
    Ok(header[5] & 0x0f == 0 && header[9] > 0)
}
