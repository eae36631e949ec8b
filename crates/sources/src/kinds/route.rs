//! Routes of the Gateway API, all kinds alike: hosts that they share with listeners, addresses of Gateways.

use std::collections::BTreeMap;

use zonekeeper_kernel::{name::Name, reason::Reason};

use super::{
    hostname::{intersection, normal},
    listener::{NotKnown, takes},
    parent::{Attached, attach, is_accepted_by, parents, refusal},
};
use crate::{
    dialect::Setting,
    object::gateway::{Listener, ParentRef, Route},
    reader::{Host, Reader},
    settings::Settings,
    wish::{Targets, Wish},
};

const HOSTNAMES: &str = "spec.hostnames";

/// What the parents of a route make of its hosts.
#[derive(Default)]
struct Served {
    hosts: BTreeMap<String, Targets>,
    /// Whether some parent is there, as far as is known.
    has_parent: bool,
    /// Why some parent serves nothing now, though the route asks for it.
    refused: Option<String>,
    /// Why it can't be said what some parent serves.
    unknown: Option<NotKnown>,
}

pub(super) fn wishes(reader: &mut Reader<'_>, route: &Route) -> Vec<Wish> {
    let mut settings = reader.settings();
    let hosts = hosts(reader, route);
    let mut served = Served::default();
    for parent in parents(reader, route) {
        if let Err(why) = served.ask(reader, route, &parent, &hosts, &mut settings) {
            served.unknown.get_or_insert(why);
        }
    }
    // Only listeners can say which names a route means that has none of its own, or a wildcard.
    let is_open = hosts.iter().any(|(host, _)| host.is_empty() || host.starts_with("*."));
    let named = named(reader, hosts);
    if served.has_parent {
        // A wildcard names all that is below it, whichever part of it listeners serve now.
        let is_whole = |host: &&String| matches!(served.hosts.get(*host), Some(Targets::Known(_)));
        let in_part = named.keys().filter(|host| !is_whole(host));
        let wide = in_part.filter_map(|host| host.strip_prefix("*."));
        reader.covered.extend(wide.filter_map(|host| Name::parse(host).ok()));
    }
    if let Some(why) = served.unknown.as_ref().or(served.refused.as_ref())
        && is_open
    {
        reader.unclear.get_or_insert((Reason::TargetsUnknown, why.clone()));
    }
    let wish = |(host, targets): (String, Targets)| {
        let field = named.get(&host).cloned().unwrap_or_else(|| HOSTNAMES.to_owned());
        reader.wishes(vec![(host, field)], &targets, &settings)
    };
    served.targets(named.keys()).into_iter().flat_map(wish).collect()
}

// === impl Served ===

impl Served {
    /// Adds what one parent serves, and the settings that the route inherits from it.
    fn ask(
        &mut self,
        reader: &mut Reader<'_>,
        route: &Route,
        parent: &ParentRef,
        hosts: &[Host],
        settings: &mut Settings,
    ) -> Result<(), NotKnown> {
        let (entry, attached) = match is_accepted_by(reader, route, parent) {
            Some(entry) => (entry.clone(), attach(reader, &entry)?),
            None => (parent.clone(), refusal(reader, parent)),
        };
        match attached {
            Attached::Gone => return Ok(()),
            Attached::Refused(why) => drop(self.refused.get_or_insert(why)),
            Attached::To { listeners, namespace, targets, settings: inherited, refused } => {
                self.has_parent = true;
                self.refused = self.refused.take().or(refused);
                settings.inherit(&inherited);
                let targets = reader.target_of(reader.object).unwrap_or(targets);
                let mut is_taken = false;
                for listener in listeners {
                    if takes(reader, listener, &namespace, &entry)? {
                        is_taken = true;
                        self.serve(hosts, listener, &targets);
                    }
                }
                if !is_taken {
                    let why = format!(
                        "no listener of {namespace}/{} takes {}",
                        entry.name,
                        reader.object.reference()
                    );
                    self.refused.get_or_insert(why);
                }
            }
        }
        self.has_parent = true;
        Ok(())
    }

    /// Adds the hosts that a listener shares with the route.
    fn serve(&mut self, hosts: &[Host], listener: &Listener, targets: &Targets) {
        for (host, _) in hosts {
            let Some(host) = intersection(&listener.hostname, host) else { continue };
            let targets = match self.hosts.remove(&host) {
                Some(before) => before.and(targets.clone()),
                None => targets.clone(),
            };
            self.hosts.insert(host, targets);
        }
    }

    /// What each host resolves to. Those that the route names are lost only with their parents: what a listener
    /// serves, and whose routes it takes, is another object's word (law 5).
    fn targets<'a>(self, named: impl Iterator<Item = &'a String>) -> BTreeMap<String, Targets> {
        let mut hosts = self.hosts;
        let why = self.unknown.as_ref().or(self.refused.as_ref());
        for host in named {
            // Of a wildcard, listeners may serve a part; that the rest is not asked for is no trouble.
            let is_in_part = || hosts.keys().any(|served| is_below(served, host));
            let unknown = match why {
                Some(why) => Targets::unknown(why),
                None if !self.has_parent || is_in_part() => continue,
                None => Targets::unknown(format!("no listener that takes the route serves {host}")),
            };
            hosts.entry(host.clone()).or_insert(unknown);
        }
        if let Some(why) = &self.unknown {
            hosts.values_mut().for_each(|targets| *targets = Targets::unknown(why));
        }
        hosts
    }
}

/// Whether a host lies below a wildcard.
fn is_below(host: &str, wildcard: &str) -> bool {
    wildcard.strip_prefix('*').is_some_and(|suffix| host.ends_with(suffix))
}

/// The hosts that the route names itself, and where; one that is no host name is told.
fn named(reader: &mut Reader<'_>, hosts: Vec<Host>) -> BTreeMap<String, String> {
    let mut asked = BTreeMap::new();
    for (host, field) in hosts {
        match normal(&host) {
            Some(host) if host.is_empty() => {}
            Some(host) => drop(asked.insert(host, field)),
            None => reader.misname(field, format!("{host:?} is not a host name")),
        }
    }
    asked
}

/// The hosts that the spec of a route names.
pub(super) fn defined_hosts(route: &Route) -> Vec<Host> {
    route.spec.hostnames.iter().map(|host| (host.clone(), HOSTNAMES.to_owned())).collect()
}

/// The hosts of the route; an empty one stands for those of the listeners.
fn hosts(reader: &mut Reader<'_>, route: &Route) -> Vec<Host> {
    let source = reader.word(Setting::GatewayHostnameSource, &["defined-hosts-only", "annotation-only"]);
    let annotated = reader.hosts(Setting::Hostname);
    if source == Some("annotation-only") {
        return annotated;
    }
    let defined = defined_hosts(route);
    let is_open = defined.is_empty();
    let mut hosts = reader.or_templated(defined);
    if source != Some("defined-hosts-only") {
        hosts.extend(annotated);
        hosts.extend(is_open.then(|| (String::new(), HOSTNAMES.to_owned())));
    }
    hosts
}
