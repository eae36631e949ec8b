//! Values of every type, generated from the table and checked against themselves, `domain` and hickory.

#![allow(clippy::unwrap_used)]

mod generate;
mod limits;

use domain::{
    base::{
        ParsedName, Rtype,
        rdata::{ComposeRecordData, ParseRecordData},
        zonefile_fmt::{DisplayKind, ZonefileFmt},
    },
    dep::octseq::Parser,
    rdata::ZoneRecordData,
    zonefile::inplace::{Entry, Zonefile},
};
use hickory_proto::{
    rr::RData,
    serialize::binary::{BinDecoder, BinEncodable, BinEncoder, NameEncoding, Restrict},
};
use proptest::{collection::vec, prelude::*, sample::Index};
use zonekeeper_kernel::rdata::{Rdata, RecordType};

use self::{
    generate::{any_text, any_type, damaged_text, octet, rdata},
    limits::{
        domain_has_text_form, has_param_that_domain_cannot_read, hickory_has_text_form,
        is_printed_wrongly_by_domain, is_refused_by_hickory,
    },
};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn print_then_parse_gives_the_value_back(value in rdata()) {
        prop_assert_eq!(&Rdata::parse(value.rtype(), &value.to_string()), &Ok(value));
    }

    #[test]
    fn wire_then_from_wire_gives_the_value_back(value in rdata()) {
        prop_assert_eq!(&Rdata::from_wire(value.rtype(), value.wire()), &Ok(value.clone()));
        let generic = format!("\\# {} {}", value.wire().len(), hex(value.wire()));
        prop_assert_eq!(&Rdata::parse(value.rtype(), &generic), &Ok(value));
    }

    #[test]
    fn fields_then_from_fields_gives_the_value_back(value in rdata()) {
        let fields: Vec<String> = value.fields().into_iter().map(|field| field.text).collect();
        let again = Rdata::from_fields(value.rtype(), &fields.iter().map(String::as_str).collect::<Vec<_>>());
        if value.rtype() == RecordType::TXT {
            // TXT forgets where its strings were split.
            prop_assert_eq!(again.unwrap().fields(), value.fields());
        } else if fields.iter().all(|text| !text.contains('\u{fffd}')) {
            // U+FFFD stands for octets that are no UTF-8.
            prop_assert_eq!(again, Ok(value));
        }
    }

    #[test]
    fn domain_reads_what_we_print(value in rdata()) {
        if !domain_has_text_form(value.rtype()) || has_param_that_domain_cannot_read(&value) {
            return Ok(());
        }
        let line = format!("example.com. 60 IN {} {value}\n", value.rtype());
        let mut zone = Zonefile::load(&mut line.as_bytes()).unwrap();
        match zone.next_entry() {
            Ok(Some(Entry::Record(record))) => {
                let mut wire = Vec::new();
                record.data().compose_rdata(&mut wire).unwrap();
                prop_assert_eq!(hex(&wire), hex(value.wire()), "{}", line);
            }
            other => prop_assert!(false, "{line}{other:?}"),
        }
    }

    #[test]
    fn we_read_what_domain_prints(value in rdata()) {
        if is_printed_wrongly_by_domain(&value) {
            return Ok(());
        }
        let rtype = Rtype::from_int(value.rtype().code());
        let mut parser = Parser::from_ref(value.wire());
        let data = ZoneRecordData::<_, ParsedName<_>>::parse_rdata(rtype, &mut parser).unwrap().unwrap();
        let text = data.display_zonefile(DisplayKind::Simple).to_string();
        prop_assert_eq!(&Rdata::parse(value.rtype(), &text), &Ok(value), "{}", text);
    }

    #[test]
    fn hickory_writes_the_wire_that_it_reads(value in rdata()) {
        let length = u16::try_from(value.wire().len()).unwrap();
        let rtype = value.rtype().code().into();
        match RData::read(&mut BinDecoder::new(value.wire()), rtype, Restrict::new(length)) {
            Ok(data) => prop_assert_eq!(hex(&emit(&data)), hex(value.wire())),
            Err(error) => prop_assert!(is_refused_by_hickory(&value), "{value:?}: {error}"),
        }
    }

    #[test]
    fn hickory_reads_what_we_print(value in rdata()) {
        if !hickory_has_text_form(&value) {
            return Ok(());
        }
        match RData::try_from_str(value.rtype().code().into(), &value.to_string()) {
            Ok(data) => prop_assert_eq!(hex(&emit(&data)), hex(value.wire()), "{:?}", value),
            Err(error) => prop_assert!(false, "{value:?}: {error}"),
        }
    }

    #[test]
    fn no_text_panics_and_printing_is_idempotent(rtype in any_type(), text in any_text()) {
        if let Ok(value) = Rdata::parse(rtype, &text) {
            let printed = value.to_string();
            let again = Rdata::parse(rtype, &printed);
            prop_assert_eq!(&again, &Ok(value), "{} {}", text, printed);
            prop_assert_eq!(again.unwrap().to_string(), printed);
        }
        let _ = Rdata::from_fields(rtype, &text.split(' ').collect::<Vec<_>>());
    }

    #[test]
    fn a_damaged_text_is_refused_or_prints((rtype, text) in damaged_text()) {
        if let Ok(value) = Rdata::parse(rtype, &text) {
            prop_assert_eq!(&Rdata::parse(rtype, &value.to_string()), &Ok(value), "{}", text);
        }
    }

    #[test]
    fn no_octets_panic_and_an_accepted_wire_prints(rtype in any_type(), wire in vec(octet(), 0..64)) {
        if let Ok(value) = Rdata::from_wire(rtype, &wire) {
            prop_assert_eq!(&Rdata::parse(rtype, &value.to_string()), &Ok(value.clone()));
            prop_assert_eq!(&Rdata::from_wire(rtype, value.wire()), &Ok(value));
        }
    }

    #[test]
    fn a_damaged_wire_is_refused_or_prints(value in rdata(), at in any::<Index>(), octet in octet()) {
        let mut wire = value.wire().to_vec();
        if let Some(there) = wire.get_mut(at.index(value.wire().len().max(1))) {
            *there = octet;
        }
        if let Ok(damaged) = Rdata::from_wire(value.rtype(), &wire) {
            prop_assert_eq!(&Rdata::parse(value.rtype(), &damaged.to_string()), &Ok(damaged));
        }
    }
}

fn config() -> ProptestConfig {
    let config = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(10_000),
    };
    // The file for failures is named after `main.rs`, and another test would write to the same.
    ProptestConfig { failure_persistence: None, ..config }
}

fn emit(data: &RData) -> Vec<u8> {
    let mut wire = Vec::new();
    let mut encoder = BinEncoder::new(&mut wire);
    encoder.set_canonical_form(true);
    encoder.set_name_encoding(NameEncoding::Uncompressed);
    data.emit(&mut encoder).unwrap();
    wire
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
