//! Worker processes for untrusted text: few at once, one per namespace, each with an end.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{Child, Command},
    sync::Semaphore,
};

use super::limits::{OUTPUT, Question, SECONDS, SUBCOMMAND};

/// How many run at once, over all namespaces.
const AT_ONCE: usize = 2;
/// How long one may take by the clock: longer than its processor time, for machines that are busy.
const TIME: Duration = Duration::from_secs(10);

/// Where untrusted text is run.
///
/// Guarantees: a namespace has at most one worker, and namespaces take turns, so that one with slow filters delays
/// another by no more than the workers' time limit.
#[derive(Debug, Clone)]
pub struct Workers {
    program: Arc<Path>,
    all: Arc<Semaphore>,
    by_namespace: Arc<Mutex<BTreeMap<String, Arc<Semaphore>>>>,
}

// === impl Workers ===

impl Workers {
    /// Workers that are this program, which the binary's `extract-address` is.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into().into(),
            all: Arc::new(Semaphore::new(AT_ONCE)),
            by_namespace: Arc::default(),
        }
    }

    /// Finds the address in an answer.
    pub async fn find(&self, namespace: &str, question: &Question) -> Result<IpAddr, String> {
        let own = self.seat_of(namespace);
        // A semaphore that is never closed always gives a permit.
        let seat = own.acquire().await;
        let turn = self.all.acquire().await;
        let found = self.run(question).await;
        drop((turn, seat));
        drop(own);
        self.forget_seat(namespace);
        found
    }

    fn seat_of(&self, namespace: &str) -> Arc<Semaphore> {
        let mut seats = self.by_namespace.lock().unwrap_or_else(PoisonError::into_inner);
        seats.entry(namespace.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(1))).clone()
    }

    fn forget_seat(&self, namespace: &str) {
        let mut seats = self.by_namespace.lock().unwrap_or_else(PoisonError::into_inner);
        if seats.get(namespace).is_some_and(|seat| Arc::strong_count(seat) == 1) {
            seats.remove(namespace);
        }
    }

    async fn run(&self, question: &Question) -> Result<IpAddr, String> {
        let input = serde_json::to_vec(question).map_err(|error| error.to_string())?;
        let mut worker = Command::new(&*self.program)
            .arg(SUBCOMMAND)
            // The environment holds tokens.
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("jq and regex can't be run: {error}"))?;
        match tokio::time::timeout(TIME, converse(&mut worker, &input)).await {
            Ok(Ok((said, status))) => result(&said, status),
            Ok(Err(error)) => Err(format!("jq and regex can't be run: {error}")),
            Err(_elapsed) => {
                // It is reaped in the background, killed as it is.
                let _ = worker.start_kill();
                Err(too_long())
            }
        }
    }
}

/// By default the running program: also where its file was replaced meanwhile.
impl Default for Workers {
    fn default() -> Self {
        let running = Path::new("/proc/self/exe");
        let program = match running.exists() {
            true => running.to_owned(),
            false => std::env::current_exe().unwrap_or_else(|_| "zonekeeper".into()),
        };
        Self::new(program)
    }
}

async fn converse(worker: &mut Child, input: &[u8]) -> std::io::Result<(Vec<u8>, ExitStatus)> {
    let (mut stdin, stdout) = (worker.stdin.take(), worker.stdout.take());
    let asking = async {
        if let Some(stdin) = &mut stdin {
            // One that has ended does not listen; how it ended says why.
            let _ = stdin.write_all(input).await;
        }
        drop(stdin);
    };
    let hearing = async {
        let mut said = Vec::new();
        if let Some(stdout) = stdout {
            stdout.take(OUTPUT as u64).read_to_end(&mut said).await?;
        }
        Ok::<_, std::io::Error>(said)
    };
    let ((), said) = tokio::join!(asking, hearing);
    Ok((said?, worker.wait().await?))
}

fn result(said: &[u8], status: ExitStatus) -> Result<IpAddr, String> {
    // What it says is as untrusted as what it ran.
    let said: Option<Result<String, String>> = serde_json::from_slice(said).ok();
    match (said, status.signal()) {
        (Some(Ok(address)), None) if status.success() => {
            address.parse().map_err(|_| "the answer holds no IP address".to_owned())
        }
        (Some(Err(error)), None) if status.success() => Err(error),
        (_, Some(signal)) if signal == KILLED || signal == OUT_OF_TIME => Err(too_long()),
        _ => Err("jq or regex needs more memory or nests deeper than is allowed, and was stopped".into()),
    }
}

/// Signals by which a process ends that used up its processor time.
const KILLED: i32 = 9;
const OUT_OF_TIME: i32 = 24;

fn too_long() -> String {
    format!("jq or regex takes too long, and was stopped; it has {SECONDS} s")
}
