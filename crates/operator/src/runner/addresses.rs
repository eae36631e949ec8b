//! Asks the services of an AddressSource.

use zonekeeper_api::{HttpSource, Reason};

use zonekeeper_model::{Event, addresses::AddressRequest, conditions::Verdict, zones};

use crate::{
    address_source::{Reachable, addresses},
    runner::tasks::{self, Task},
};

/// Asks, and answers the model.
pub async fn ask(request: AddressRequest, reachable: Reachable) -> Event {
    let AddressRequest { source, attempt, object, headers } = request;
    let headers_of = |asked: &HttpSource| {
        let at = object.spec.http.iter().position(|source| source == asked);
        let headers = at.and_then(|at| headers.get(at).cloned()).unwrap_or_else(|| Ok(Vec::new()));
        headers.map_err(|verdict| verdict.message)
    };
    // Where nothing answers, a Secret that is missing is the better explanation.
    let missing = headers.iter().find_map(|headers| headers.as_ref().err());
    let reason = missing.map_or(Reason::TargetsUnknown, |verdict| verdict.reason);
    let asked = addresses(&source.0, &object.spec, &reachable, headers_of);
    let found = match tasks::caught(Task::Addresses, asked).await {
        Some(found) => found.map_err(|error| Verdict::new(reason, error)),
        None => Err(zones::verdict(&Task::Addresses.error())),
    };
    Event::Addresses { source, attempt, found }
}
