//! The lookup against a model that knows no tree: a list of records, searched from end to end.

use std::{collections::BTreeSet, sync::Arc};

use domain::base::iana::Rcode;
use proptest::{collection::vec, prelude::*, sample::select};

use super::{change, created, deleted, name};
use crate::{
    Outcome,
    builtin::{
        authority::Authority,
        draft::live,
        lookup::{AnyAnswer, answer},
        zone::Zone,
        zones::Zones,
    },
};

const APEX: &str = "example.com";

/// Owner, type and value, as texts.
type Row = (String, &'static str, String);

/// Code, authority, answers, and what the authority section is about.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    rcode: Rcode,
    is_authoritative: bool,
    answers: BTreeSet<(String, String, String)>,
    authority: BTreeSet<(String, String)>,
}

/// A name of up to four labels below the apex; few labels, so that names meet.
fn owner() -> impl Strategy<Value = String> {
    vec(select(vec!["a", "b", "*"]), 0..4).prop_map(|mut labels| {
        labels.push(APEX);
        labels.join(".")
    })
}

fn row() -> impl Strategy<Value = Row> {
    let kinds = vec!["A", "A", "TXT", "CNAME", "NS", "DS"];
    (owner(), select(kinds), owner(), 1..4_u8).prop_map(|(owner, rtype, target, number)| {
        let value = match rtype {
            "A" => format!("192.0.2.{number}"),
            "TXT" => format!("\"{number}\""),
            "DS" => format!("{number} 13 2 {}", "ab".repeat(32)),
            _points => format!("{target}."),
        };
        (owner, rtype, value)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn lookup_agrees_with_the_model(
        rows in vec(row(), 0..14),
        is_kept in vec(any::<bool>(), 14),
        questions in vec((owner(), select(vec!["A", "TXT", "CNAME", "NS", "DS", "MX"])), 1..24),
    ) {
        let domain = name(APEX);
        let zones = Zones::default();
        let make = || Zone::new(domain.clone(), Authority::default_for(&domain), 0);
        let zone = zones.get_or_insert(domain.clone(), make);
        let rows = filled(&zone, rows, &is_kept);
        zone.know();
        for (owner, rtype) in questions {
            let answer = answer(&zones, &name(&owner), rtype.parse().unwrap(), AnyAnswer::AllSets);
            let said = Said {
                rcode: answer.rcode,
                is_authoritative: answer.is_authoritative,
                answers: answer.answer.iter().flat_map(|set| set.values().map(|rdata| {
                    (set.owner.to_string(), rdata.rtype().to_string(), rdata.to_string())
                })).collect(),
                authority: answer.authority.iter().flat_map(|set| set.values().map(|rdata| {
                    (set.owner.to_string(), rdata.rtype().to_string())
                })).collect(),
            };
            prop_assert_eq!(said, expected(&rows, &owner, rtype), "{} {} in {:#?}", owner, rtype, rows);
        }
    }
}

/// Writes all rows one by one, deletes those not kept, and returns what the zone took and still holds.
fn filled(zone: &Arc<Zone>, rows: Vec<Row>, is_kept: &[bool]) -> Vec<Row> {
    let mut taken = Vec::new();
    for row in rows {
        let line = format!("{} {} {}", row.0, row.1, row.2);
        if let [Outcome::Applied(_)] = &*zone.apply(&[change(vec![created(&line)])]) {
            taken.push(row);
        }
    }
    let mut kept: Vec<Row> = Vec::new();
    for (row, is_kept) in taken.into_iter().zip(is_kept) {
        if *is_kept {
            kept.push(row);
            continue;
        }
        let stored = zone
            .state()
            .tree()
            .get(&row.0)
            .unwrap()
            .iter()
            .find(|stored| stored.rdata.rtype().to_string() == row.1 && stored.rdata.to_string() == row.2)
            .map(live)
            .unwrap();
        let outcomes = zone.apply(&[change(vec![deleted(&row.0, stored)])]);
        assert!(matches!(&*outcomes, [Outcome::Applied(_)]), "{outcomes:?}");
    }
    if !kept.iter().any(|(owner, rtype, _)| owner == APEX && *rtype == "NS") {
        kept.push((APEX.into(), "NS", "ns.example.com.".into()));
    }
    kept
}

fn expected(rows: &[Row], owner: &str, rtype: &str) -> Said {
    let mut said = Said {
        rcode: Rcode::NOERROR,
        is_authoritative: true,
        answers: BTreeSet::new(),
        authority: BTreeSet::new(),
    };
    let mut seen = vec![owner.to_owned()];
    loop {
        let owner = seen.last().unwrap().clone();
        if let Some(cut) = cut_above(rows, &owner).filter(|cut| !(*cut == owner && rtype == "DS")) {
            said.is_authoritative &= seen.len() > 1;
            let at_cut = at(rows, &cut).filter(|row| ["NS", "DS"].contains(&row.1));
            said.authority = at_cut.map(|row| (cut.clone(), row.1.to_owned())).collect();
            return said;
        }
        let Some(source) = source_of(rows, &owner) else {
            said.rcode = Rcode::NXDOMAIN;
            said.authority.insert((APEX.into(), "SOA".into()));
            return said;
        };
        if let Some(alias) = at(rows, &source).find(|row| row.1 == "CNAME" && rtype != "CNAME") {
            said.answers.insert((owner, "CNAME".into(), alias.2.clone()));
            let target = alias.2.trim_end_matches('.').to_owned();
            if seen.contains(&target) {
                return said;
            }
            seen.push(target);
            continue;
        }
        let found: Vec<_> = at(rows, &source).filter(|row| row.1 == rtype).collect();
        if found.is_empty() {
            said.authority.insert((APEX.into(), "SOA".into()));
        }
        said.answers.extend(found.iter().map(|row| (owner.clone(), row.1.to_owned(), row.2.clone())));
        return said;
    }
}

fn at<'a>(rows: &'a [Row], owner: &'a str) -> impl Iterator<Item = &'a Row> {
    rows.iter().filter(move |row| row.0 == owner)
}

/// The names from the apex down to this one.
fn path(owner: &str) -> Vec<String> {
    let below = owner.strip_suffix(APEX).unwrap().trim_end_matches('.');
    let mut names = vec![APEX.to_owned()];
    for label in below.rsplit('.').filter(|label| !label.is_empty()) {
        names.push(format!("{label}.{}", names.last().unwrap()));
    }
    names
}

fn cut_above(rows: &[Row], owner: &str) -> Option<String> {
    path(owner).into_iter().skip(1).find(|above| at(rows, above).any(|row| row.1 == "NS"))
}

/// The name whose records are the answer: itself if it exists, else the wildcard at the closest encloser.
fn source_of(rows: &[Row], owner: &str) -> Option<String> {
    let exists = |name: &str| {
        name == APEX || rows.iter().any(|row| row.0 == name || row.0.ends_with(&format!(".{name}")))
    };
    if exists(owner) {
        return Some(owner.to_owned());
    }
    let encloser = path(owner).into_iter().rev().find(|above| exists(above)).unwrap();
    Some(format!("*.{encloser}")).filter(|source| exists(source))
}
