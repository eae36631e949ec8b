//! Asks for the addresses of a target.

use zonekeeper_kernel::name::Name;
use zonekeeper_model::{Event, Key, targets::Resolved};
use zonekeeper_providers::lookup::Resolver;

use crate::runner::tasks::{self, Task};

/// Asks, and answers the model.
pub async fn resolve(record: Key, target: Name, attempt: u64, resolver: Resolver) -> Event {
    let asked = tasks::caught(Task::Lookup, resolver.resolve(&target)).await;
    let found = match asked {
        Some(Ok((addresses, ttl))) => Ok(Resolved { addresses, ttl }),
        Some(Err(error)) => Err(error.to_string()),
        None => Err(Task::Lookup.error().to_string()),
    };
    Event::TargetResolved { record, attempt, found }
}
