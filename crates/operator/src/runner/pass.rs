//! Runs a pass with the worker of its zone, which goes back whatever happens.

use std::sync::Arc;

use tokio::time::Instant;
use zonekeeper_kernel::zone::ZoneKey;

use crate::{
    engine::open::Engine,
    model::{Event, passes::StartPass, zone_entry::Settling},
    runner::tasks::{self, Task},
    serve::Metrics,
};

// === impl StartPass ===

impl StartPass {
    /// Does it, and answers the model.
    pub async fn run(self, engine: Arc<Engine>, metrics: Arc<Metrics>) -> Event {
        let Self { zone, number, setup, request } = self;
        let Some(mut worker) = engine.lend(&zone, number, setup) else {
            return lost(zone, number);
        };
        let begun = Instant::now();
        let pass = async move {
            let result = Box::new(request.run(&mut worker).await);
            (worker, result)
        };
        let done = tasks::caught(Task::Pass, pass).await;
        let Some((worker, result)) = done else { return lost(zone, number) };
        metrics.observe(&result, begun.elapsed());
        let settling = worker.settles_at().map(|due| {
            let names = worker.settling_names().cloned().collect();
            Settling { due, names }
        });
        engine.take_back(&zone, number, worker);
        Event::Done { zone, number, result, settling }
    }
}

fn lost(zone: ZoneKey, number: u64) -> Event {
    Event::Lost { zone, number, error: Task::Pass.error() }
}
