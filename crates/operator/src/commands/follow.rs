//! Follows a folder, whatever becomes of it: files that are saved, links that are swapped, a folder that is replaced.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::{Instant, sleep_until, timeout},
};

use crate::folder::{Listing, Problems};

/// Editors write a file in several steps; this is how long they take.
const QUIET: Duration = Duration::from_millis(20);
/// While changes keep coming, they are told no later than this.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the folder is looked at, whether or not a change was told: the system tells nothing of what happens behind
/// links, and of a folder that has taken this one's place.
const LOOK: Duration = Duration::from_secs(1);
/// A look at a large folder takes long; this is the share of the time that looks may take.
const SHARE: u32 = 50;

/// Follows a folder.
pub struct Follower {
    folder: PathBuf,
    tell: UnboundedSender<()>,
    told: UnboundedReceiver<()>,
    /// None where the system refused it; looks go on.
    watcher: Option<RecommendedWatcher>,
    /// What was there when the folder was last read.
    seen: Result<Listing, Problems>,
    next_look: Instant,
    /// A change that was seen and not told yet.
    has_changed: bool,
}

// === impl Follower ===

impl Follower {
    /// Follows a folder from now on.
    pub fn of(folder: &Path) -> anyhow::Result<Self> {
        let (tell, told) = unbounded_channel();
        let watcher =
            watch(folder, tell.clone()).with_context(|| format!("watching {}", folder.display()))?;
        let mut follower = Self {
            folder: folder.to_owned(),
            tell,
            told,
            watcher: Some(watcher),
            seen: Err(Problems(Vec::new())),
            next_look: Instant::now(),
            has_changed: false,
        };
        follower.note();
        Ok(follower)
    }

    /// Notes what is there: what differs from it is a change. Called before the folder is read.
    pub fn note(&mut self) {
        self.seen = self.look();
    }

    /// Waits for a change, and until nothing has changed for a moment.
    ///
    /// Guarantees: may be given up at any time without losing a change.
    pub async fn changed(&mut self) {
        while !self.has_changed {
            tokio::select! {
                Some(()) = self.told.recv() => self.has_changed = true,
                () = sleep_until(self.next_look) => {
                    self.has_changed = self.look() != self.seen;
                    // What the system did not tell is behind a link, or in a folder that has taken this one's place.
                    if self.has_changed || self.watcher.is_none() {
                        self.watcher = watch(&self.folder, self.tell.clone()).ok();
                    }
                }
            }
        }
        self.settle().await;
        self.has_changed = false;
    }

    fn look(&mut self) -> Result<Listing, Problems> {
        let begun = Instant::now();
        let found = Listing::of(&self.folder);
        let end = Instant::now();
        self.next_look = end + LOOK.max((end - begun) * SHARE);
        found
    }

    /// Waits until nothing has changed for a moment, but not for ever.
    async fn settle(&mut self) {
        let latest = Instant::now() + PATIENCE;
        while let Ok(Some(())) = timeout(QUIET, self.told.recv()).await {
            if Instant::now() >= latest {
                return;
            }
        }
    }
}

/// Watches a folder; every change sends one message.
fn watch(folder: &Path, tell: UnboundedSender<()>) -> notify::Result<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let is_change = event.is_ok_and(|event| !matches!(event.kind, notify::EventKind::Access(_)));
        if is_change {
            // The receiver ends with the program.
            let _ = tell.send(());
        }
    })?;
    watcher.watch(folder, RecursiveMode::Recursive)?;
    Ok(watcher)
}
