//! A relay that can hold back everything: in front of etcd, for an API server that must not see what is new, or in
//! front of an API server, for a client that must not.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
};

use anyhow::{Context, Result};

/// Passes connections on to a port on loopback; ends when dropped.
pub struct Relay {
    port: u16,
    gate: Arc<Gate>,
}

/// What a relay does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Passes everything on.
    Open,
    /// Passes nothing on; connections stay open.
    Held,
    /// Closes everything.
    Ended,
}

struct Gate {
    flow: Mutex<Flow>,
    changed: Condvar,
}

// === impl Relay ===

impl Relay {
    /// Listens on a free port and passes everything on to the target's.
    pub fn start(target: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("starting a relay")?;
        let port = listener.local_addr()?.port();
        let gate = Arc::new(Gate { flow: Mutex::new(Flow::Open), changed: Condvar::new() });
        let own = Arc::clone(&gate);
        thread::spawn(move || {
            for near in listener.incoming().flatten().take_while(|_| own.passes()) {
                // Either side sees a closed connection, as when etcd is down.
                let _ = connect(near, target, &own);
            }
        });
        Ok(Self { port, gate })
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Does something else from now on.
    pub fn set(&self, flow: Flow) {
        *self.gate.flow.lock().unwrap_or_else(PoisonError::into_inner) = flow;
        self.gate.changed.notify_all();
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.set(Flow::Ended);
        // Wakes the listener, which then ends.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

// === impl Gate ===

impl Gate {
    /// Waits while the flow is held; whether it goes on then.
    fn passes(&self) -> bool {
        let flow = self.flow.lock().unwrap_or_else(PoisonError::into_inner);
        let flow = self.changed.wait_while(flow, |flow| *flow == Flow::Held);
        *flow.unwrap_or_else(PoisonError::into_inner) == Flow::Open
    }
}

fn connect(near: TcpStream, target: u16, gate: &Arc<Gate>) -> std::io::Result<()> {
    let far = TcpStream::connect((Ipv4Addr::LOCALHOST, target))?;
    for (from, to) in [(near.try_clone()?, far.try_clone()?), (far, near)] {
        to.set_nodelay(true)?;
        let gate = Arc::clone(gate);
        thread::spawn(move || pump(from, to, &gate));
    }
    Ok(())
}

fn pump(mut from: TcpStream, mut to: TcpStream, gate: &Gate) {
    let mut buffer = [0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if !gate.passes() || to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    for end in [from, to] {
        let _ = end.shutdown(Shutdown::Both);
    }
}
