//! One history from its beginning to its end.

use std::{sync::Arc, time::Duration};

use crate::{
    clock::Millis,
    lease::Lease,
    quiet,
    replica::Replica,
    script::{Act, Step},
    world::World,
};

/// Longer than a request takes.
const HANDOVER: Duration = Duration::from_secs(5);

/// How a history ended.
pub struct Outcome {
    /// The first rule that was broken.
    pub broken: Option<String>,
    pub history: Vec<String>,
}

/// Runs a history; its lines are kept where they are to be told.
pub fn run(seed: u64, steps: &[Step], is_told: bool) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O");
    runtime.block_on(async {
        let world = World::new(seed, is_told);
        world.lock().set_up();
        let broken = history(&world, steps).await.err();
        let mut state = world.lock();
        Outcome { broken, history: state.take_history() }
    })
}

async fn history(world: &Arc<World>, steps: &[Step]) -> Result<(), String> {
    let mut lives = 0;
    let mut start = || {
        lives += 1;
        Replica::start(world, &format!("operator-{lives}"), Lease::new())
    };
    let mut replica = start();
    // Those that do not lead any more, and do not know it.
    let mut before: Vec<(Millis, Replica)> = Vec::new();
    for step in steps {
        tokio::time::sleep(Duration::from_millis(step.after)).await;
        world.lock().tell(|| format!("-- {:?}", step.act));
        match &step.act {
            Act::Kill => {
                drop(replica);
                replica = start();
            }
            Act::KillAtEffect(effects) => world.lock().effects_left = Some(*effects),
            Act::Handover(lingers) => {
                replica.lease.end();
                // A new leader waits until no request of the old one can be under way.
                tokio::time::sleep(HANDOVER).await;
                let end = world.lock().clock.millis() + lingers;
                before.push((end, std::mem::replace(&mut replica, start())));
            }
            act => world.lock().act(act),
        }
        let now = world.lock().clock.millis();
        before.retain(|(end, _)| *end > now);
        if !replica.is_running() {
            replica = start();
        }
        world.changed.notify_waiters();
        check(world)?;
    }
    drop(before);
    quiet::settle(world, &mut replica, &mut start).await?;
    check(world)
}

pub fn check(world: &World) -> Result<(), String> {
    if let Some(panic) = crate::panics::take() {
        world.lock().break_rule(format!("panic: {panic}"));
    }
    world.lock().broken.clone().map_or(Ok(()), Err)
}
