//! Work beside the model: what panics is counted and said, and begun again; nothing ends in silence.

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    sync::LazyLock,
    time::{Duration, Instant},
};

use futures::FutureExt;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
};
use zonekeeper_providers::{ProviderError, builtin};

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// What worked for this long begins anew without a long pause.
const GOOD: Duration = Duration::from_secs(60);
/// How much of a panic's words is logged.
const EXCERPT: usize = 500;

/// How often work of a kind has panicked.
pub static FAILURES: LazyLock<Family<TaskLabels, Counter>> = LazyLock::new(Family::default);

/// What is done beside the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// A pass over a zone.
    Pass,
    /// A zone is looked for at its provider.
    Opening,
    /// Credentials are tried.
    Check,
    /// Holders of records are confirmed by fresh reads.
    Confirmation,
    /// An AddressSource is asked.
    Addresses,
    /// The DNS is asked.
    Lookup,
    /// Objects of a kind, or a Secret, are watched.
    Watch,
    /// An object of ours is written.
    Write,
    /// An Event is written.
    Event,
    /// The built-in server answers.
    Server,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct TaskLabels {
    task: &'static str,
}

// === impl Task ===

impl Task {
    /// Its name in metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Opening => "opening",
            Self::Check => "check",
            Self::Confirmation => "confirmation",
            Self::Addresses => "addresses",
            Self::Lookup => "lookup",
            Self::Watch => "watch",
            Self::Write => "write",
            Self::Event => "event",
            Self::Server => "server",
        }
    }

    /// What is said where it has panicked: the same words each time, and nothing of the panic itself.
    pub fn error(self) -> ProviderError {
        let what = match self {
            Self::Pass => "the pass over the zone",
            Self::Opening => "the search for the zone",
            Self::Check => "the check of the credentials",
            Self::Confirmation => "the confirmation of a deletion",
            Self::Addresses => "the question for addresses",
            Self::Lookup => "the question for the delegation",
            Self::Watch => "a watch",
            Self::Write => "the write",
            Self::Event => "the Event",
            Self::Server => "the answer",
        };
        let message = format!(
            "{what} failed because of a fault in Zonekeeper; it is tried again. Please report it with the lines of the operator's log that say \"panicked\""
        );
        ProviderError::Internal { message }
    }
}

/// Does some work; nothing where it panicked, which is counted and logged.
pub async fn caught<T>(task: Task, work: impl Future<Output = T>) -> Option<T> {
    let work = async {
        fail_point(task);
        work.await
    };
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(done) => Some(done),
        Err(panic) => {
            count(task, 1);
            tracing::error!(task = task.as_str(), panic = words(&*panic), "panicked; it is begun again");
            None
        }
    }
}

/// Does work that has no end by itself, and begins it anew where it panics.
pub async fn kept_up<W: Future<Output = ()>>(task: Task, mut begin: impl FnMut() -> W) {
    let mut pause = FIRST_PAUSE;
    loop {
        let begun = Instant::now();
        if caught(task, async { begin().await }).await.is_some() {
            return;
        }
        if begun.elapsed() > GOOD {
            pause = FIRST_PAUSE;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Counts what the built-in server has caught by itself.
pub fn count_server_failures() {
    count(Task::Server, builtin::take_failures());
}

fn count(task: Task, failures: u64) {
    FAILURES.get_or_create(&TaskLabels { task: task.as_str() }).inc_by(failures);
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without words").chars().take(EXCERPT).collect()
}

/// Panics, in test builds, where the folder that `ZONEKEEPER_FAIL_POINTS` names has a file of the task's name; one
/// file is one panic.
#[cfg(debug_assertions)]
#[allow(clippy::panic, reason = "that is what it is for")]
fn fail_point(task: Task) {
    static FOLDER: LazyLock<Option<std::path::PathBuf>> =
        LazyLock::new(|| std::env::var_os("ZONEKEEPER_FAIL_POINTS").map(Into::into));
    if let Some(folder) = &*FOLDER
        && std::fs::remove_file(folder.join(task.as_str())).is_ok()
    {
        panic!("fail point {}", task.as_str());
    }
}

#[cfg(not(debug_assertions))]
fn fail_point(_: Task) {}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn counted(task: Task) -> u64 {
        FAILURES.get_or_create(&TaskLabels { task: task.as_str() }).get()
    }

    #[tokio::test]
    async fn a_panic_is_counted_and_its_work_is_begun_again() {
        assert_eq!(caught(Task::Event, async { 7 }).await, Some(7));
        assert_eq!(
            (caught(Task::Event, async { panic!("oh") }).await, counted(Task::Event)),
            (None::<u32>, 1)
        );
        let tries = AtomicU32::new(0);
        let work = || async {
            if tries.fetch_add(1, Ordering::Relaxed) < 1 {
                panic!("not yet");
            }
        };
        kept_up(Task::Write, work).await;
        assert_eq!((tries.into_inner(), counted(Task::Write)), (2, 1));
    }
}
