//! The wire form: where each field ends, whether its octets are allowed, and their canonical form.

use super::{
    ValueError,
    error::Problem,
    loc, svcparams,
    table::{Emptiness, Kind, Root, Row},
};

const MAX_NAME: usize = 255;
const MAX_LABEL: usize = 63;

/// Checks a whole value against its row and makes it canonical in place.
pub(super) fn canonicalise(row: &'static Row, wire: &mut [u8]) -> Result<(), ValueError> {
    let mut start = 0;
    for field in row.fields {
        let bad = |problem| ValueError::BadWire { rtype: row.rtype, field: field.name, problem };
        let end = start + extent(field.kind, &wire[start..]).map_err(bad)?;
        check(field.kind, &wire[..start], &wire[start..end]).map_err(bad)?;
        match field.kind {
            // A length octet is below 64, so it is no letter.
            Kind::Name | Kind::Target(_) => wire[start..end].make_ascii_lowercase(),
            Kind::Tag => wire[start + 1..end].make_ascii_lowercase(),
            Kind::Loc => loc::canonicalise(&mut wire[start..end]),
            Kind::U8
            | Kind::U16
            | Kind::U32
            | Kind::Code8(_)
            | Kind::Code16(_)
            | Kind::Ipv4
            | Kind::Ipv6
            | Kind::CharString
            | Kind::CharStrings
            | Kind::Digest { .. }
            | Kind::Base64
            | Kind::Text(_)
            | Kind::SvcParams => {}
        }
        start = end;
    }
    match (row.fields.last(), wire.len() - start) {
        (Some(last), excess @ 1..) => Err(ValueError::BadWire {
            rtype: row.rtype,
            field: last.name,
            problem: format!("is followed by {excess} octets too many").into(),
        }),
        _ => Ok(()),
    }
}

/// How many octets at the start of `rest` belong to a field of this kind; never more than there are.
pub(super) fn extent(kind: Kind, rest: &[u8]) -> Result<usize, Problem> {
    let length = match kind {
        Kind::U8 | Kind::Code8(_) => 1,
        Kind::U16 | Kind::Code16(_) => 2,
        Kind::U32 | Kind::Ipv4 => 4,
        Kind::Ipv6 | Kind::Loc => 16,
        Kind::Name | Kind::Target(_) => return name_extent(rest),
        Kind::CharString | Kind::Tag => 1 + usize::from(*rest.first().ok_or("is missing")?),
        Kind::CharStrings | Kind::Digest { .. } | Kind::Base64 | Kind::Text(_) | Kind::SvcParams => {
            rest.len()
        }
    };
    match rest.len() {
        0 if length > 0 => Err("is missing".into()),
        there if there < length => Err("is cut off".into()),
        _ => Ok(length),
    }
}

/// Whether a field of this kind may have these octets, after those `before` it.
pub(super) fn check(kind: Kind, before: &[u8], octets: &[u8]) -> Result<(), Problem> {
    match kind {
        Kind::U8
        | Kind::U16
        | Kind::U32
        | Kind::Code8(_)
        | Kind::Code16(_)
        | Kind::Ipv4
        | Kind::Ipv6
        | Kind::Name
        | Kind::Target(Root::Allowed)
        | Kind::Text(Emptiness::Allowed)
        | Kind::CharString => Ok(()),
        Kind::Target(Root::Refused) if octets == [0] => Err("is the root, which is no host".into()),
        Kind::Target(Root::Refused) => Ok(()),
        Kind::Base64 | Kind::Text(Emptiness::Refused) => not_empty(octets),
        Kind::CharStrings => {
            not_empty(octets)?;
            let mut rest = octets;
            while let Some((length, tail)) = rest.split_first() {
                rest = tail.get(usize::from(*length)..).ok_or("is cut off")?;
            }
            Ok(())
        }
        Kind::Digest { decided_at, lengths } => {
            not_empty(octets)?;
            let decider = before.get(decided_at).copied();
            match lengths.iter().find(|(code, _)| Some(*code) == decider) {
                Some((code, length)) if *length != octets.len() => Err(format!(
                    "has {} octets, but type {code} has {length} ({} hexadecimal digits)",
                    octets.len(),
                    length * 2
                )
                .into()),
                Some(_) | None => Ok(()),
            }
        }
        Kind::Tag => match octets {
            [_, tag @ ..] if !tag.is_empty() && tag.iter().all(u8::is_ascii_alphanumeric) => Ok(()),
            _ => Err("is not made of letters and digits".into()),
        },
        Kind::SvcParams => svcparams::check(
            if before.starts_with(&[0, 0]) { svcparams::Mode::Alias } else { svcparams::Mode::Service },
            octets,
        ),
        Kind::Loc => loc::check(octets),
    }
}

fn not_empty(octets: &[u8]) -> Result<(), Problem> {
    if octets.is_empty() { Err("is empty".into()) } else { Ok(()) }
}

fn name_extent(rest: &[u8]) -> Result<usize, Problem> {
    let mut at = 0;
    loop {
        match rest.get(at).map(|length| usize::from(*length)) {
            None => return Err("is cut off".into()),
            Some(0) if at < MAX_NAME => return Ok(at + 1),
            Some(length @ 1..=MAX_LABEL) if at < MAX_NAME => at += 1 + length,
            Some(0..=MAX_LABEL) => return Err("is a name of more than 255 octets".into()),
            Some(_) => return Err("is a compressed name".into()),
        }
    }
}
