//! Asks the servers of a zone's parent.

use zonekeeper_kernel::{name::Name, zone::ZoneKey};
use zonekeeper_model::Event;
use zonekeeper_providers::lookup::{Resolver, ask_parent};

use crate::runner::tasks::{self, Task};

/// Asks, and answers the model.
pub async fn ask(zone: ZoneKey, domain: Name, attempt: u64, resolver: Resolver) -> Event {
    let asked = tasks::caught(Task::Lookup, ask_parent(&resolver, &domain)).await;
    let found = match asked {
        Some(answer) => answer.map_err(|error| error.to_string()),
        None => Err(Task::Lookup.error().to_string()),
    };
    Event::ParentAnswered { zone, attempt, found }
}
