//! What was changed from outside, in words.

use zonekeeper_kernel::{
    name::Name,
    plan::{Change, SetState},
    render,
};

/// Names the field, the live and the desired value.
pub fn message(change: &Change, domain: &Name) -> String {
    let name = change.name.relative_to(domain);
    let differences = differences(&change.before(), &change.after());
    let what = match differences.is_empty() {
        true => "the ownership marker was changed or removed".to_owned(),
        false => differences.join("; "),
    };
    format!("{name} {} of {domain} was changed from outside: {what}", change.rtype)
}

fn differences(live: &[SetState], desired: &[SetState]) -> Vec<String> {
    let mut differences = Vec::new();
    for wanted in desired {
        let Some(found) = live.iter().find(|state| state.rtype == wanted.rtype) else {
            differences.push(format!("values: live none, desired {}", values(wanted)));
            continue;
        };
        if found.values != wanted.values {
            differences.push(format!("values: live {}, desired {}", values(found), values(wanted)));
        }
        let fields = render::differences(found, wanted).into_iter();
        differences.extend(fields.map(|(field, live, desired)| {
            let (live, desired) = (or_none(live), or_none(desired));
            format!("{field}: live {live}, desired {desired}")
        }));
    }
    for found in live.iter().filter(|found| !desired.iter().any(|wanted| wanted.rtype == found.rtype)) {
        differences.push(format!("values: live {} {}, desired none", found.rtype, values(found)));
    }
    differences
}

fn values(state: &SetState) -> String {
    state.values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn or_none(value: String) -> String {
    if value.is_empty() { "none".into() } else { value }
}
