//! Progress on a terminal, for what takes longer than a second; nothing in a pipe.

use std::{
    collections::BTreeMap,
    io::IsTerminal,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use zonekeeper_kernel::zone::ZoneKey;

const PATIENCE: Duration = Duration::from_secs(1);

/// Shown while it lives.
pub struct Spinner {
    _delayed: Delayed,
}

/// Counts changes over all zones.
pub struct Bar {
    done: Mutex<BTreeMap<ZoneKey, usize>>,
    delayed: Delayed,
}

/// A progress bar that stays hidden for its first second.
struct Delayed {
    bar: ProgressBar,
    is_over: Arc<AtomicBool>,
}

/// Something of unknown length.
pub fn spinner(what: &'static str) -> Spinner {
    let bar = ProgressBar::hidden();
    bar.set_style(style("{spinner} {msg}"));
    bar.set_message(what);
    Spinner { _delayed: Delayed::new(bar) }
}

// === impl Bar ===

impl Bar {
    /// A bar towards a total, where that is known.
    pub fn new(total: Option<usize>) -> Self {
        let bar = ProgressBar::hidden();
        if let Some(total) = total {
            bar.set_length(total as u64);
            bar.set_style(style("{bar:30} {pos}/{len} changes"));
        } else {
            bar.set_style(style("{spinner} {pos} changes"));
        }
        Self { done: Mutex::default(), delayed: Delayed::new(bar) }
    }

    /// A zone has come this far.
    pub fn set(&self, zone: &ZoneKey, done: usize) {
        let mut counts = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        counts.insert(zone.clone(), done);
        self.delayed.bar.set_position(counts.values().sum::<usize>() as u64);
    }
}

// === impl Delayed ===

impl Delayed {
    fn new(bar: ProgressBar) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        if std::io::stderr().is_terminal() {
            let (bar, is_over) = (bar.clone(), is_over.clone());
            tokio::spawn(async move {
                tokio::time::sleep(PATIENCE).await;
                if !is_over.load(Ordering::Acquire) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(Duration::from_millis(120));
                }
            });
        }
        Self { bar, is_over }
    }
}

impl Drop for Delayed {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
