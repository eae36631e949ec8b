//! Names and values as the `domain` crate writes them into messages.

use domain::base::{
    Name as WireName, Rtype,
    message_builder::HashCompressor,
    rdata::{ComposeRecordData, RecordData},
    wire::Composer,
};
use zonekeeper_kernel::{
    name::Name,
    rdata::{Rdata, RecordType},
};

/// What messages are written into.
pub(crate) type Buffer = HashCompressor<Vec<u8>>;

/// A value that is written with compressed names where RFC 3597 section 4 allows them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value<'a>(pub(crate) &'a Rdata);

// === impl Value ===

impl RecordData for Value<'_> {
    fn rtype(&self) -> Rtype {
        Rtype::from_int(self.0.rtype().code())
    }
}

impl ComposeRecordData for Value<'_> {
    fn rdlen(&self, compress: bool) -> Option<u16> {
        match compress && compressible(self.0).is_some() {
            true => None,
            false => u16::try_from(self.0.wire().len()).ok(),
        }
    }

    fn compose_rdata<Target: Composer + ?Sized>(
        &self,
        target: &mut Target,
    ) -> Result<(), Target::AppendError> {
        let Some((before, names)) = compressible(self.0).filter(|_| target.can_compress()) else {
            return target.append_slice(self.0.wire());
        };
        let (head, mut rest) = self.0.wire().split_at(before);
        target.append_slice(head)?;
        for _ in 0..names {
            let length = name_length(rest);
            let (name, tail) = rest.split_at(length);
            match WireName::from_slice(name) {
                Ok(name) => target.append_compressed_name(name)?,
                Err(_) => target.append_slice(name)?,
            }
            rest = tail;
        }
        target.append_slice(rest)
    }

    fn compose_canonical_rdata<Target: Composer + ?Sized>(
        &self,
        target: &mut Target,
    ) -> Result<(), Target::AppendError> {
        target.append_slice(self.0.wire())
    }
}

/// A name as the `domain` crate knows it.
pub(crate) fn wire_name(name: &Name) -> WireName<Vec<u8>> {
    let mut wire = Vec::with_capacity(64);
    name.to_wire(&mut wire);
    WireName::from_octets(wire).expect("a name's labels and length are checked when it is made")
}

/// Octets before the names, and how many names: the types of RFC 1035 that old servers decompress.
fn compressible(rdata: &Rdata) -> Option<(usize, usize)> {
    match rdata.rtype() {
        RecordType::NS | RecordType::CNAME | RecordType::PTR => Some((0, 1)),
        RecordType::MX => Some((2, 1)),
        RecordType::SOA => Some((0, 2)),
        _never_compressed => None,
    }
}

fn name_length(wire: &[u8]) -> usize {
    let mut at = 0;
    while let Some(length) = wire.get(at).filter(|length| **length != 0) {
        at += usize::from(*length) + 1;
    }
    (at + 1).min(wire.len())
}
