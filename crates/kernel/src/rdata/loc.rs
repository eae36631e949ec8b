//! LOC (RFC 1876): a place on earth, whose presentation has another order than its wire form.

use std::fmt::{self, Write};

use super::{
    FieldKind, FieldValue,
    error::{Fault, Problem},
    read::number,
};

/// Thousandths of a second of arc per degree.
const DEGREE: u32 = 3_600_000;
/// The wire value of the equator and of the prime meridian.
const ORIGIN: u32 = 1 << 31;
/// The wire value of altitude 0: centimetres above 100,000 m below it.
const SEA_LEVEL: i64 = 10_000_000;
/// The presentation's default size and precisions, as they are on the wire: 1 m, 10 km, 10 m.
const DEFAULTS: [u8; 3] = [0x12, 0x16, 0x13];

/// Whether 16 octets are a place.
pub(super) fn check(octets: &[u8]) -> Result<(), Problem> {
    let place = Place::from_wire(octets).ok_or("is cut off")?;
    if octets.first() != Some(&0) {
        return Err("has a version other than 0".into());
    }
    if place.sizes.iter().any(|size| size >> 4 > 9 || size & 0xf > 9) {
        return Err("has a size or precision that is no digit and power of ten".into());
    }
    let within = |angle: u32, degrees: u32| angle.abs_diff(ORIGIN) <= degrees * DEGREE;
    if within(place.latitude, 90) && within(place.longitude, 180) {
        Ok(())
    } else {
        Err("lies beyond 90 degrees of latitude or 180 of longitude".into())
    }
}

/// A size of zero has ten wire forms; the canonical one has the power zero.
pub(super) fn canonicalise(octets: &mut [u8]) {
    for size in octets.iter_mut().skip(1).take(3) {
        if *size >> 4 == 0 {
            *size = 0;
        }
    }
}

/// Reads `d [m [s]] N|S d [m [s]] E|W altitude [size [horizontal [vertical]]]`; metres may end in `m`.
pub(super) fn read(text: &str, wire: &mut Vec<u8>) -> Result<(), Fault> {
    let mut words = text.split_ascii_whitespace();
    let incomplete = || match text {
        "" => Fault::Missing,
        _ => Fault::bad(text, "is incomplete"),
    };
    let latitude = angle(&mut words, 90, ["N", "S"])?.ok_or_else(incomplete)?;
    let longitude = angle(&mut words, 180, ["E", "W"])?.ok_or_else(incomplete)?;
    let word = words.next().ok_or_else(incomplete)?;
    let altitude = altitude(word)
        .ok_or_else(|| Fault::bad(word, "is not an altitude from -100000.00 to 42849672.95 metres"))?;
    let mut sizes = DEFAULTS;
    for size in &mut sizes {
        if let Some(word) = words.next() {
            *size = centimetres(word).and_then(power_of_ten).ok_or_else(|| {
                Fault::bad(word, "is not a size or precision from 0.00 to 90000000.00 metres")
            })?;
        }
    }
    if let Some(excess) = words.next() {
        return Err(Fault::bad(excess, "follows the vertical precision, which is the last part"));
    }
    wire.push(0);
    wire.extend(sizes);
    for part in [latitude, longitude, altitude] {
        wire.extend(part.to_be_bytes());
    }
    Ok(())
}

/// Writes all parts, without loss.
pub(super) fn print(octets: &[u8], out: &mut impl Write) -> fmt::Result {
    let place = Place::from_wire(octets).ok_or(fmt::Error)?;
    for (angle, hemispheres) in [(place.latitude, ["N", "S"]), (place.longitude, ["E", "W"])] {
        let [degrees, minutes, seconds, hemisphere] = angle_parts(angle, hemispheres);
        write!(out, "{degrees} {minutes} {seconds} {hemisphere} ")?;
    }
    write!(out, "{}m", metres(i64::from(place.altitude) - SEA_LEVEL))?;
    place.sizes.iter().try_for_each(|size| write!(out, " {}m", metres(size_of(*size))))
}

/// The twelve parts by name.
pub(super) fn values(octets: &[u8], values: &mut Vec<FieldValue>) {
    let Some(place) = Place::from_wire(octets) else { return };
    let mut push = |name, kind, text| values.push(FieldValue { name, kind, text });
    const LATITUDE: [&str; 4] = ["lat_degrees", "lat_minutes", "lat_seconds", "lat_direction"];
    const LONGITUDE: [&str; 4] = ["long_degrees", "long_minutes", "long_seconds", "long_direction"];
    for (angle, hemispheres, names) in
        [(place.latitude, ["N", "S"], LATITUDE), (place.longitude, ["E", "W"], LONGITUDE)]
    {
        let kinds = [FieldKind::Number, FieldKind::Number, FieldKind::Number, FieldKind::Text];
        for ((name, kind), text) in names.into_iter().zip(kinds).zip(angle_parts(angle, hemispheres)) {
            push(name, kind, text);
        }
    }
    push("altitude", FieldKind::Number, metres(i64::from(place.altitude) - SEA_LEVEL));
    for (name, size) in ["size", "precision_horz", "precision_vert"].into_iter().zip(place.sizes) {
        push(name, FieldKind::Number, metres(size_of(size)));
    }
}

/// The wire form, taken apart.
struct Place {
    sizes: [u8; 3],
    latitude: u32,
    longitude: u32,
    altitude: u32,
}

impl Place {
    fn from_wire(octets: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_be_bytes(octets.get(at..at + 4)?.try_into().ok()?));
        let sizes = octets.get(1..4)?.try_into().ok()?;
        Some(Self { sizes, latitude: word(4)?, longitude: word(8)?, altitude: word(12)? })
    }
}

/// Reads degrees, minutes and seconds up to the hemisphere; none if the text ends before it.
fn angle<'a>(
    words: &mut impl Iterator<Item = &'a str>,
    most: u32,
    hemispheres: [&str; 2],
) -> Result<Option<u32>, Fault> {
    let [positive, negative] = hemispheres;
    let mut thousandths = 0;
    for (parts, word) in words.enumerate() {
        let sign =
            [positive, negative].into_iter().position(|hemisphere| word.eq_ignore_ascii_case(hemisphere));
        match (sign, parts) {
            (Some(_), 0) => return Err(Fault::bad(word, "follows no degrees")),
            (Some(_), _) if thousandths > most * DEGREE => {
                return Err(Fault::bad(word, format!("follows more than {most} degrees")));
            }
            (Some(0), _) => return Ok(Some(ORIGIN + thousandths)),
            (Some(_), _) => return Ok(Some(ORIGIN - thousandths)),
            (None, 0) => thousandths += number(word, most)? * DEGREE,
            (None, 1) => thousandths += number(word, 59_u32)? * 60_000,
            (None, 2) => {
                let seconds = fixed_point(word, 3).filter(|seconds| *seconds < 60_000);
                let bad = || Fault::bad(word, "is not a number of seconds from 0 to 59.999");
                thousandths += seconds.and_then(|seconds| u32::try_from(seconds).ok()).ok_or_else(bad)?;
            }
            (None, _) => {
                return Err(Fault::bad(word, format!("stands where {positive} or {negative} should")));
            }
        }
    }
    Ok(None)
}

fn angle_parts(angle: u32, hemispheres: [&str; 2]) -> [String; 4] {
    let thousandths = angle.abs_diff(ORIGIN);
    let [positive, negative] = hemispheres;
    let seconds = thousandths % 60_000;
    [
        (thousandths / DEGREE).to_string(),
        (thousandths / 60_000 % 60).to_string(),
        format!("{}.{:03}", seconds / 1000, seconds % 1000),
        if angle < ORIGIN { negative } else { positive }.into(),
    ]
}

fn altitude(word: &str) -> Option<u32> {
    let above = match word.strip_prefix('-') {
        Some(depth) => -centimetres(depth)?,
        None => centimetres(word)?,
    };
    u32::try_from(above.checked_add(SEA_LEVEL)?).ok()
}

fn centimetres(word: &str) -> Option<i64> {
    fixed_point(word.strip_suffix(['m', 'M']).unwrap_or(word), 2)
}

/// Reads digits with at most `places` after the point, in units of the last place.
fn fixed_point(word: &str, places: usize) -> Option<i64> {
    let (whole, fraction) = word.split_once('.').unwrap_or((word, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || fraction.len() > places || !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    format!("{whole}{fraction:0<places$}").parse().ok()
}

/// One digit and a power of ten, rounded down as in RFC 1876 appendix A.
fn power_of_ten(centimetres: i64) -> Option<u8> {
    let mut digit = centimetres;
    let mut power = 0;
    while digit > 9 {
        digit /= 10;
        power += 1;
    }
    if power > 9 { None } else { u8::try_from(digit << 4 | power).ok() }
}

fn size_of(size: u8) -> i64 {
    i64::from(size >> 4) * 10_i64.pow(u32::from(size & 0xf))
}

fn metres(centimetres: i64) -> String {
    let sign = if centimetres < 0 { "-" } else { "" };
    let size = centimetres.unsigned_abs();
    format!("{sign}{}.{:02}", size / 100, size % 100)
}
