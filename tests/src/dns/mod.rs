//! A DNS server seen from outside: what it answers, a hand that changes its zones, a network that can't be trusted.

pub mod above;
mod hand;
mod relay;
mod watch;

pub use hand::{answers, by_hand, serial, served, try_by_hand};
pub use relay::{Fault, Kind, Relay};
pub use watch::{Answers, Watch};
