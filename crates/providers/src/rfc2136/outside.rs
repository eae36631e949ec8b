//! Answers of a server read without a connection, for tests with bytes of any kind.

use std::sync::Arc;

use domain::{
    base::{Message, Rtype},
    rdata::tsig::Time48,
    tsig::{ClientSequence, Key},
};
use zonekeeper_kernel::name::Name;

use super::{
    conversation::{Next, verify},
    message::{authority, items, query},
    transfer::Transfer,
};

/// Reads octets as they come over TCP, each message behind its length, as a transfer of a zone, whole and in
/// differences; says whether either was complete.
#[doc(hidden)]
pub fn reads_as_transfer(octets: &[u8], domain: &Name) -> bool {
    let mut transfers = [Transfer::whole(domain), Transfer::since(domain, 1)];
    let mut is_over = [false; 2];
    for message in messages(octets) {
        let _ = authority(&message);
        let Ok(items) = items(&message) else { break };
        for (transfer, is_over) in transfers.iter_mut().zip(&mut is_over).filter(|(_, is_over)| !**is_over) {
            *is_over = !matches!(transfer.take(items.clone()), Ok(Next::More));
        }
    }
    transfers.map(|transfer| transfer.finish().is_some()).contains(&true)
}

/// Whether octets, as they come over TCP, are an answer that this key signed to a question of ours.
#[doc(hidden)]
pub fn is_signed_answer(octets: &[u8], key: Arc<Key>, domain: &Name) -> bool {
    let mut question = query(domain, Rtype::SOA);
    let Ok(mut sequence) = ClientSequence::request(key, &mut question, Time48::now()) else { return false };
    messages(octets).all(|mut message| verify(&mut sequence, &mut message).is_ok()) && sequence.done().is_ok()
}

fn messages(mut octets: &[u8]) -> impl Iterator<Item = Message<Vec<u8>>> {
    std::iter::from_fn(move || {
        let (length, rest) = octets.split_first_chunk()?;
        let (message, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
        octets = rest;
        Message::from_octets(message.to_vec()).ok()
    })
}
