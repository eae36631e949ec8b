//! The thread that starts every process.
//!
//! The kernel kills a process that asked for `--pdeathsig` when the thread that started it ends; a test's
//! own thread ends with the test, this one with the test process.

use std::{
    io,
    process::{Child, Command},
    sync::{LazyLock, mpsc},
    thread,
};

type Order = (Command, mpsc::Sender<io::Result<Child>>);

static SPAWNER: LazyLock<mpsc::Sender<Order>> = LazyLock::new(|| {
    let (orders, queue) = mpsc::channel::<Order>();
    thread::spawn(move || {
        for (mut command, answer) in queue {
            // Whoever asked waits for the answer.
            let _ = answer.send(command.spawn());
        }
    });
    orders
});

/// Starts the command from the thread that never ends.
pub fn spawn(command: Command) -> io::Result<Child> {
    let (answer, child) = mpsc::channel();
    let gone = |_| io::Error::other("the spawner thread is gone");
    SPAWNER.send((command, answer)).map_err(|_| gone(mpsc::RecvError))?;
    child.recv().map_err(gone)?
}
