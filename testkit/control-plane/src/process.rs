//! One process of the control plane: started, paused, resumed, killed, started again.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::{binaries, spawner};

/// A process that ends when this is dropped, and when the test process ends in whatever way.
pub struct Process {
    name: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    log: PathBuf,
    child: Mutex<Child>,
}

// === impl Process ===

impl Process {
    /// Starts a program of the control plane; what it prints goes to a file in `logs`.
    pub(crate) fn start(
        name: &'static str,
        program: &str,
        arguments: Vec<String>,
        logs: &Path,
    ) -> Result<Self> {
        let program = binaries::find(program)?;
        let log = logs.join(format!("{name}.log"));
        let child =
            Mutex::new(launch(&program, &arguments, &log).with_context(|| format!("starting {name}"))?);
        Ok(Self { name, program, arguments, log, child })
    }

    /// What it is called in logs: `etcd`, `kube-apiserver`, `kube-apiserver-2`, `kube-controller-manager`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child().id()
    }

    /// The file with everything it printed.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Stops it where it is, with its connections open (SIGSTOP).
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets it go on (SIGCONT).
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// Ends it at once (SIGKILL).
    pub fn kill(&self) -> Result<()> {
        end(&mut self.child()).with_context(|| format!("killing {}", self.name))
    }

    /// Kills it where it runs, and starts it again with the same arguments; its readiness is not awaited.
    pub fn restart(&self) -> Result<()> {
        self.kill()?;
        *self.child() = launch(&self.program, &self.arguments, &self.log)
            .with_context(|| format!("starting {} again", self.name))?;
        Ok(())
    }

    /// Fails with the end of its log where it has ended.
    pub(crate) fn check(&self) -> Result<()> {
        let Some(status) = self.child().try_wait()? else { return Ok(()) };
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let last: Vec<&str> = log.lines().rev().take(15).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        bail!("{} ended with {status}:\n{}", self.name, last.join("\n"))
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let child = self.child();
        let pid = Pid::from_child(&child);
        kill_process(pid, signal).with_context(|| format!("signalling {}", self.name))
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A process that is gone already is what we want.
        let _ = self.kill();
    }
}

fn launch(program: &Path, arguments: &[String], log: &Path) -> io::Result<Child> {
    let log: File = OpenOptions::new().create(true).append(true).open(log)?;
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program).args(arguments);
    // A group of its own: an interrupt from the terminal is ours to act on.
    command.process_group(0).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    spawner::spawn(command)
}

fn end(child: &mut Child) -> io::Result<()> {
    child.kill()?;
    child.wait().map(drop)
}
