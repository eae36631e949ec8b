//! `zonekeeper up`: the folder is the desired state, kept so until somebody ends the program.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context;
use clap::Args;
use notify::{RecursiveMode, Watcher};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};
use zonekeeper_kernel::{record::Ttl, render};

use crate::{
    commands::{Ending, options::{FolderOptions, listed, read}},
    report::shown_line,
    session::{Report, Serving, Session},
    zone::Waiting,
};

/// Editors write a file in several steps; this is how long they take.
const QUIET: Duration = Duration::from_millis(20);
/// How long after trouble the zones are tried again.
const RETRY: Duration = Duration::from_secs(30);
const GUARD_WINDOW: Duration = Duration::from_secs(600);
const TABLE_ROWS: usize = 40;

/// Serve and maintain the zones of a folder.
#[derive(Debug, Args)]
pub struct Up {
    /// The folder of manifests.
    folder: PathBuf,
    #[command(flatten)]
    options: FolderOptions,
}

// === impl Up ===

impl Up {
    pub async fn run(self) -> anyhow::Result<Ending> {
        let (changed, mut changes) = mpsc::unbounded_channel();
        let _watcher = watch(&self.folder, changed)?;
        let mut session = self.options.open(Some(&self.folder), Serving::Answering).await?;
        greet(&session);
        let mut keeper = Keeper { session: &mut session, next: Instant::now(), window: Instant::now() };
        let report = keeper.pass(&BTreeMap::new()).await;
        println!("{}", table(keeper.session, &report));
        loop {
            tokio::select! {
                Some(()) = changes.recv() => {
                    settle(&mut changes).await;
                    match read(&self.folder) {
                        Ok(folder) => match keeper.session.reload(folder).await {
                            Ok(()) => {
                                let report = keeper.pass(&BTreeMap::new()).await;
                                if report.zones.iter().any(|zone| !zone.pass.applied.is_empty()) {
                                    println!("{}", table(keeper.session, &report));
                                }
                            }
                            Err(problems) => eprintln!("{}\nthe folder is not applied; what was served stays", listed(&problems)),
                        },
                        Err(error) => eprintln!("{error}\nthe folder is not applied; what was served stays"),
                    }
                }
                () = sleep_until(keeper.next) => {
                    keeper.session.scan();
                    keeper.pass(&BTreeMap::new()).await;
                }
                _ = ended() => return Ok(Ending::Done),
            }
        }
    }
}

/// A session and when it must be looked at again.
struct Keeper<'a> {
    session: &'a mut Session,
    next: Instant,
    window: Instant,
}

// === impl Keeper ===

impl Keeper<'_> {
    async fn pass(&mut self, approved: &BTreeMap<zonekeeper_kernel::zone::ZoneKey, String>) -> Report {
        if self.window.elapsed() > GUARD_WINDOW {
            self.session.begin_windows();
            self.window = Instant::now();
        }
        let report = self.session.apply(approved, Waiting::Never, &|_, _| {}).await;
        say(&report);
        let soonest = report.zones.iter().filter_map(|zone| zone.pass.retry).min();
        let trouble = report.zones.iter().any(|zone| zone.error.is_some() || !zone.pass.failed.is_empty());
        let interval = self.session.shortest_interval().unwrap_or(Duration::from_secs(3600));
        let wait = match (soonest, trouble) {
            (Some(retry), _) => retry.max(Duration::from_secs(1)),
            (None, true) => RETRY.min(interval),
            (None, false) => interval,
        };
        self.next = Instant::now() + wait;
        report
    }
}

/// Watches a folder; every change sends one message.
fn watch(folder: &Path, changed: mpsc::UnboundedSender<()>) -> anyhow::Result<impl Watcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let is_change = event.is_ok_and(|event| !matches!(event.kind, notify::EventKind::Access(_)));
        if is_change {
            // The receiver ends with the program.
            let _ = changed.send(());
        }
    })?;
    watcher
        .watch(folder, RecursiveMode::Recursive)
        .with_context(|| format!("watching {}", folder.display()))?;
    Ok(watcher)
}

/// Waits until nothing has changed for a moment.
async fn settle(changes: &mut mpsc::UnboundedReceiver<()>) {
    while let Ok(Some(())) = tokio::time::timeout(QUIET, changes.recv()).await {}
}

async fn ended() {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
    let terminated = async {
        match &mut terminate {
            Ok(signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
    }
}

fn greet(session: &Session) {
    for address in session.listening() {
        let domain = session.zones().first().map(|zone| zone.zone.domain.to_string()).unwrap_or_default();
        let example = session
            .folder()
            .record_sets
            .iter()
            .find_map(|declared| declared.object.spec.name.clone())
            .unwrap_or(domain);
        println!("answering on {address}; ask it: dig @{} -p {} {example}", address.ip(), address.port());
    }
}

/// One line per change, failure and refusal.
fn say(report: &Report) {
    for zone in &report.zones {
        if let Some(error) = &zone.error {
            eprintln!("! {}: {}: {error}", zone.domain, error.reason());
        }
        for change in &zone.pass.applied {
            println!("{}   [{}]", render::line(change, &zone.domain), zone.domain);
        }
        for failure in &zone.pass.failed {
            let line = render::line(&failure.change, &zone.domain);
            eprintln!("! {line}   {}: {}", failure.error.reason(), failure.error);
        }
        for shown in zone.shown().iter().filter(|shown| shown.held.is_some()) {
            println!("{}   [{}]", shown_line(shown, &zone.domain), zone.domain);
        }
    }
    for (_, rejection) in report.rejections() {
        eprintln!("! {}: {}: {}", rejection.holder, rejection.reason, rejection.message);
    }
}

/// What is served now, and who asked for it.
fn table(session: &Session, report: &Report) -> String {
    let mut rows = vec![["NAME", "TYPE", "TTL", "VALUE", "STATE"].map(str::to_owned)];
    for (zone, report) in session.zones().iter().zip(&report.zones) {
        let Ok(worker) = &zone.worker else { continue };
        let is_waiting = |name: &zonekeeper_kernel::name::Name| report.shown().iter().any(|shown| shown.change.name == *name);
        for (name, records) in worker.cache().live().iter() {
            for record in records {
                let ttl = if record.ttl == Ttl::AUTOMATIC { "auto".into() } else { record.ttl.0.to_string() };
                let state = if is_waiting(name) { "Held" } else { "Programmed" };
                let value = shortened(&record.rdata.to_string());
                rows.push([name.to_string(), record.rdata.rtype().to_string(), ttl, value, state.into()]);
            }
        }
    }
    let hidden = rows.len().saturating_sub(TABLE_ROWS + 1);
    rows.truncate(TABLE_ROWS + 1);
    let mut widths = [0; 5];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; 5]| {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    if hidden > 0 {
        lines.push(format!("and {hidden} more"));
    }
    lines.join("\n")
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= 60 { text.to_owned() } else { text.chars().take(57).chain("...".chars()).collect() }
}
