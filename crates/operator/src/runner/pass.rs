//! Runs a pass with the worker of its zone, which goes back whatever happens.

use std::sync::Arc;

use tokio::time::Instant;
use zonekeeper_kernel::zone::ZoneKey;

use zonekeeper_model::{Event, passes::StartPass, zone_entry::Settling};

use crate::{
    engine::{open::Engine, run_pass},
    runner::tasks::{self, Task},
    serve::Metrics,
};

/// Does it, and answers the model.
pub async fn run(start: StartPass, engine: Arc<Engine>, metrics: Arc<Metrics>) -> Event {
    let StartPass { zone, number, setup, request } = start;
    let Some(mut worker) = engine.lend(&zone, number, setup) else {
        return lost(zone, number);
    };
    let begun = Instant::now();
    let pass = async move {
        let result = Box::new(run_pass(request, &mut worker).await);
        (worker, result)
    };
    let done = tasks::caught(Task::Pass, pass).await;
    let Some((worker, result)) = done else { return lost(zone, number) };
    metrics.observe(&zone, &result, begun.elapsed());
    let settling = worker.settles_at().map(|due| {
        let names = worker.settling_names().cloned().collect();
        Settling { due: due.into_std(), names }
    });
    engine.take_back(&zone, number, worker);
    Event::Done { zone, number, result, settling }
}

fn lost(zone: ZoneKey, number: u64) -> Event {
    Event::Lost { zone, number, error: Task::Pass.error() }
}
