//! What happens in a history, step by step: made from a seed, and small enough to be read.

use crate::{clock::Millis, random::Random, truth::Grant};

/// One step: after a while, something happens.
#[derive(Debug, Clone)]
pub struct Step {
    pub after: Millis,
    pub act: Act,
}

pub const TEAMS: [&str; 2] = ["team-a", "team-b"];
pub const LABELS: [&str; 7] = ["www", "api", "mail", "shop", "a.team", "b.team", "*.web"];
pub const DOMAINS: [&str; 2] = ["example.com", "example.net"];

/// What an actor does. Objects and names are numbers, so that a step means the same when others are left out.
#[derive(Debug, Clone)]
pub enum Act {
    /// Creates a RecordSet, or makes it ask for this.
    Put(Object, Wish),
    Delete(Object),
    /// Deletes a RecordSet and creates it again at once.
    Recreate(Object, Wish),
    /// Somebody deletes many at once.
    DeleteMany(usize),
    Approve,
    /// An approval that was given before, or never.
    ApproveWrongly,
    Grant(usize, Grant),
    Suspend(usize, bool),
    /// Deletes a DNSZone and creates it again.
    RemakeZone(usize),
    RotateToken,
    /// A namespace is deleted with all that is in it, and made again later.
    DeleteNamespace(usize),
    /// Creates an Ingress, or changes its host or address: none where the load balancer has lost it.
    PutIngress(Object, usize, Option<u8>),
    DeleteIngress(Object),
    /// Ingresses may not be listed any more, or again.
    ForbidIngresses(bool),
    Person(Person),
    Fault(Fault),
    /// Another replica leads; the one before goes on for a while without a lease.
    Handover(Millis),
    /// Every watch of a kind begins anew with a list.
    Relist(bool),
    Kill,
    KillAtEffect(u64),
}

/// What people do at the provider.
#[derive(Debug, Clone)]
pub enum Person {
    /// A record of their own.
    Creates {
        label: usize,
        value: Value,
        comment: Comment,
    },
    /// The nth record gets another value.
    Edits(u64, u8),
    /// The nth record loses its comment.
    Wipes(u64),
    /// The nth record becomes theirs: another value, and their own comment or another installation's.
    Repurposes(u64, u8),
    Renames(u64, usize),
    /// A copy of the nth record, marker and all, at another name.
    Copies(u64, usize),
    Deletes(u64),
}

#[derive(Debug, Clone, Copy)]
pub enum Comment {
    None,
    Text,
    /// A marker as ours, without the key.
    Forged,
    /// The marker of another installation.
    Others,
}

#[derive(Debug, Clone)]
pub enum Fault {
    ProviderDown(Millis),
    RateLimited(Millis),
    Lagging(Millis),
    LostReplies(u64),
    Refusals(u64),
    ApiDown(Millis),
    WatchesStuck(Millis),
    Conflicts(u64),
}

/// A RecordSet by number: its namespace and its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    pub team: usize,
    pub number: usize,
}

#[derive(Debug, Clone)]
pub struct Wish {
    pub domain: usize,
    pub label: usize,
    pub value: Value,
    pub adoption: u8,
    pub is_retained: bool,
}

#[derive(Debug, Clone)]
pub enum Value {
    A(Vec<u8>),
    Aaaa(u8),
    Txt(u8),
    Cname(u8),
}

/// A history's steps.
pub fn script(seed: u64) -> Vec<Step> {
    let mut random = Random::new(seed ^ 0x5eed);
    let count = random.between(100, 300);
    let crowd = random.between(3, 16) as usize;
    (0..count).map(|_| Step { after: pause(&mut random), act: act(&mut random, crowd) }).collect()
}

fn pause(random: &mut Random) -> Millis {
    match random.below(100) {
        0..40 => 0,
        40..70 => random.below(300),
        70..90 => random.below(5_000),
        90..97 => random.below(40_000),
        _ => random.below(200_000),
    }
}

fn act(random: &mut Random, crowd: usize) -> Act {
    let object = |random: &mut Random| Object {
        team: random.below(TEAMS.len() as u64) as usize,
        number: random.below(crowd as u64) as usize,
    };
    match random.below(1000) {
        0..350 => Act::Put(object(random), wish(random)),
        350..400 => {
            let label = random.below(LABELS.len() as u64 - 1) as usize;
            let address = random.percent(70).then(|| random.between(1, 5) as u8);
            Act::PutIngress(object(random), label, address)
        }
        400..415 => Act::DeleteIngress(object(random)),
        415..420 => Act::ForbidIngresses(random.percent(50)),
        420..430 => Act::Handover(random.below(1_500)),
        430..540 => Act::Delete(object(random)),
        540..580 => Act::Recreate(object(random), wish(random)),
        580..590 => Act::DeleteMany(random.between(3, 12) as usize),
        590..620 => Act::Approve,
        620..625 => Act::ApproveWrongly,
        625..640 => Act::Grant(0, random.pick(&[Grant::None, Grant::All, Grant::Team, Grant::All])),
        640..650 => Act::Suspend(0, random.percent(30)),
        650..655 => Act::RemakeZone(0),
        655..660 => Act::RotateToken,
        660..665 => Act::DeleteNamespace(random.below(2) as usize),
        665..830 => Act::Person(person(random)),
        830..940 => Act::Fault(fault(random)),
        940..960 => Act::Relist(random.percent(50)),
        960..980 => Act::Kill,
        _ => Act::KillAtEffect(random.below(12)),
    }
}

fn wish(random: &mut Random) -> Wish {
    Wish {
        domain: usize::from(random.percent(10)),
        label: random.below(LABELS.len() as u64) as usize,
        value: value(random),
        adoption: random.pick(&[0, 1, 1, 1, 1, 2]),
        is_retained: random.percent(8),
    }
}

fn value(random: &mut Random) -> Value {
    let number = random.between(1, 5) as u8;
    match random.below(10) {
        0..6 => {
            let more = random.percent(25).then(|| number + 1);
            Value::A([number].into_iter().chain(more).collect())
        }
        6 => Value::Aaaa(number),
        7 => Value::Txt(number),
        _ => Value::Cname(number),
    }
}

fn person(random: &mut Random) -> Person {
    let nth = random.next() % 1_000;
    let number = random.between(1, 9) as u8;
    let label = random.below(LABELS.len() as u64) as usize;
    match random.below(12) {
        0..3 => Person::Creates {
            label,
            value: value(random),
            comment: random.pick(&[Comment::None, Comment::Text, Comment::Forged, Comment::Others]),
        },
        3 | 4 => Person::Edits(nth, number),
        5 => Person::Wipes(nth),
        6 | 7 => Person::Repurposes(nth, number),
        8 => Person::Renames(nth, label),
        9 => Person::Copies(nth, label),
        _ => Person::Deletes(nth),
    }
}

fn fault(random: &mut Random) -> Fault {
    match random.below(12) {
        0 => Fault::ProviderDown(random.between(500, 40_000)),
        1 => Fault::RateLimited(random.between(500, 40_000)),
        2 | 3 => Fault::Lagging(random.between(5_000, 60_000)),
        4..7 => Fault::LostReplies(random.between(1, 3)),
        7 => Fault::Refusals(random.between(1, 3)),
        8 => Fault::ApiDown(random.between(500, 15_000)),
        9 => Fault::WatchesStuck(random.between(500, 15_000)),
        _ => Fault::Conflicts(random.between(1, 4)),
    }
}
