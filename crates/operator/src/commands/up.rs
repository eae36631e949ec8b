//! `zonekeeper up`: the folder is the desired state, kept so until the program ends.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

use clap::Args;
use tokio::time::{Instant, sleep_until};
use zonekeeper_kernel::{record::Ttl, render};

use crate::{
    commands::{
        Ending,
        follow::Follower,
        options::{FolderOptions, listed, read},
        say,
        table::{aligned, shortened},
    },
    engine::Deletes,
    folder::Folder,
    report::shown_line,
    session::{Report, Serving, Session},
};

/// How long objects may be gone for a moment.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long to sleep where only a change of the folder can wake us.
const IDLE: Duration = Duration::from_secs(3600);
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
        // Once and for all: a signal that comes in the middle of a pass must not be lost. A crash at any
        // write is harmless, and so is this.
        tokio::select! {
            ended = self.keep() => ended,
            () = ended() => Ok(Ending::Done),
        }
    }

    async fn keep(self) -> anyhow::Result<Ending> {
        let mut follower = Follower::of(&self.folder)?;
        let mut session = self.options.open(Some(&self.folder), Serving::Answering).await?;
        greet(&session);
        let mut keeper = Keeper { session: &mut session, standing: BTreeSet::new() };
        let report = keeper.pass(Instant::now()).await;
        say::line(table(keeper.session, &report));
        loop {
            let due = keeper.session.due().unwrap_or_else(|| Instant::now() + IDLE);
            tokio::select! {
                () = follower.changed() => {
                    match self.read_settled(keeper.session.folder(), &mut follower).await {
                        Ok((folder, seen)) => match keeper.session.reload(folder).await {
                            Ok(()) => {
                                let report = keeper.pass(seen).await;
                                if report.zones.iter().any(|zone| !zone.pass.applied.is_empty()) {
                                    say::line(table(keeper.session, &report));
                                }
                            }
                            Err(problems) => refuse(&listed(&problems)),
                        },
                        Err(error) => refuse(&error.to_string()),
                    }
                }
                () = sleep_until(due) => {
                    keeper.session.wake().await;
                    keeper.pass(Instant::now()).await;
                }
            }
        }
    }

    /// Reads the folder; where objects have gone, once more after a while: a checkout or a copy may be under way.
    /// Says since when it is so.
    async fn read_settled(
        &self,
        before: &Folder,
        follower: &mut Follower,
    ) -> anyhow::Result<(Folder, Instant)> {
        follower.note();
        let seen = Instant::now();
        let folder = read(&self.folder)?;
        if !folder.lacks_objects_of(before) {
            return Ok((folder, seen));
        }
        tokio::time::sleep(PATIENCE).await;
        follower.note();
        let again = read(&self.folder)?;
        let seen = if again.lacks_objects_of(&folder) { Instant::now() } else { seen };
        Ok((again, seen))
    }
}

/// A session, and what was said of it and still holds: that is not said again in every pass.
struct Keeper<'a> {
    session: &'a mut Session,
    standing: BTreeSet<String>,
}

// === impl Keeper ===

impl Keeper<'_> {
    /// What was deleted from the folder was so at `seen` at the latest.
    async fn pass(&mut self, seen: Instant) -> Report {
        let report = self.session.apply(&BTreeMap::new(), Deletes::SeenAt(seen), &|_, _| {}).await;
        self.session.reschedule(&report);
        for zone in &report.zones {
            for change in &zone.pass.applied {
                say::line(format_args!("{}   [{}]", render::line(change, &zone.domain), zone.domain));
            }
        }
        let standing: BTreeSet<String> = standing(&report).into_iter().collect();
        for line in standing.difference(&self.standing) {
            if line.starts_with('!') { say::aside(line) } else { say::line(line) }
        }
        self.standing = standing;
        report
    }
}

/// Waits until the program is asked to end.
pub async fn ended() {
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

fn refuse(problems: &str) {
    say::aside(format_args!("{problems}\nthe folder is not applied; what was served stays"));
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
        let (ip, port) = (address.ip(), address.port());
        say::line(format_args!("answering on {address}; ask it: dig @{ip} -p {port} {example}"));
    }
}

/// One line per error, failure, held change and refusal: all that stays so until a person does something.
/// Held changes are no errors; the others begin with `!`.
fn standing(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for zone in &report.zones {
        if let Some(error) = &zone.error {
            lines.push(format!("! {}: {}: {error}", zone.domain, error.reason()));
        }
        for failure in &zone.pass.failed {
            let line = render::line(&failure.change, &zone.domain);
            lines.push(format!("! {line}   {}: {}", failure.error.reason(), failure.error));
        }
        for change in &zone.plan().drift {
            lines.push(format!(
                "! drift, reported only: {}   [{}]",
                render::line(change, &zone.domain),
                zone.domain
            ));
        }
        for shown in zone.shown().iter().filter(|shown| shown.held.is_some()) {
            lines.push(format!("{}   [{}]", shown_line(shown, &zone.domain), zone.domain));
        }
    }
    for (_, rejection) in report.rejections() {
        lines.push(format!("! {}: {}: {}", rejection.holder, rejection.reason, rejection.message));
    }
    lines
}

/// What is served now, and who asked for it.
fn table(session: &Session, report: &Report) -> String {
    let mut rows = vec![["NAME", "TYPE", "TTL", "VALUE", "STATE"].map(str::to_owned)];
    for (zone, report) in session.zones().iter().zip(&report.zones) {
        let Ok(worker) = &zone.worker else { continue };
        let is_waiting = |name: &zonekeeper_kernel::name::Name| {
            report.shown().iter().any(|shown| shown.change.name == *name && !shown.is_settling)
        };
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
    let mut lines = aligned(&rows);
    if hidden > 0 {
        lines.push(format!("and {hidden} more"));
    }
    lines.join("\n")
}
