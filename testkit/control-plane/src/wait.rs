//! Waiting for something with a deadline, and with a word about what was there instead.

#![allow(clippy::panic, reason = "a test that waits in vain fails")]

use std::{
    fmt::Debug,
    time::{Duration, Instant},
};

use kube::{
    Api, Resource,
    runtime::wait::{Condition, await_condition},
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::{sleep, timeout};

/// Long enough for a busy machine: only a failing test waits that long.
pub const DEADLINE: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(20);

/// Looks until there is `Ok`; panics after the deadline with the last `Err`, which says what was there instead.
pub async fn eventually<T, S: Debug>(
    what: &str,
    deadline: Duration,
    mut look: impl AsyncFnMut() -> Result<T, S>,
) -> T {
    let start = Instant::now();
    let mut last = None;
    loop {
        let left = deadline.saturating_sub(start.elapsed());
        match timeout(left, look()).await {
            Ok(Ok(found)) => return found,
            // A look that never waits is never interrupted: the clock ends it too.
            Ok(Err(seen)) if left.is_zero() => {
                panic!("{what}: not within {deadline:?}; last seen: {seen:#?}")
            }
            Ok(Err(seen)) => last = Some(seen),
            Err(_) => panic!("{what}: not within {deadline:?}; last seen: {last:#?}"),
        }
        sleep(PAUSE).await;
    }
}

/// Watches the object of that name until the condition holds, and returns it.
pub async fn wait_for<K>(api: &Api<K>, name: &str, condition: impl Condition<K>) -> K
where
    K: Resource + Clone + Debug + Serialize + DeserializeOwned + Send + 'static,
{
    match timeout(DEADLINE, await_condition(api.clone(), name, condition)).await {
        Ok(Ok(Some(object))) => object,
        Ok(Ok(None)) => panic!("{name} is gone"),
        Ok(Err(error)) => panic!("watching {name}: {error}"),
        Err(_) => {
            let last = timeout(PAUSE * 100, api.get_opt(name)).await;
            let text = match &last {
                Ok(Ok(object)) => serde_json::to_string_pretty(object).unwrap_or_default(),
                other => format!("{other:?}"),
            };
            panic!("{name}: not within {DEADLINE:?}; last seen: {text}")
        }
    }
}
