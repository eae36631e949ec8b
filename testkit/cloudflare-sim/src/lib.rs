//! Cloudflare's DNS API, faithful enough that official clients can't tell.
//!
//! [`Sim::start`] listens on a free port; [`Sim::base_url`] is what a client needs. The rest of
//! [`Sim`] arranges state behind the API's back ([`Sim::seed`]), makes things go wrong
//! ([`Sim::faults`]), settles what nobody has verified ([`Sim::knobs`]) and tells what happened
//! ([`Sim::journal`]).

mod admit;
mod api;
mod attributes;
mod auth;
mod clock;
mod config;
mod conflict;
mod control;
mod draft;
mod error;
mod fault;
mod filter;
mod hold;
mod http;
mod journal;
mod kinds;
pub mod knobs;
mod name;
mod page;
mod query;
mod rate;
mod rdata;
mod record;
mod reply;
mod shift;
mod sim;
mod token;
mod transfers;
mod txt;
mod words;
mod world;
mod write;
mod zone;
mod zonefile;

pub use crate::{
    auth::hash as token_hash,
    config::{Config, Limits, Plan},
    fault::{Action, Fault, Match, Scope, Shift, Then, When, Which},
    journal::{Entry, EntryKind, RecordChange},
    knobs::Knobs,
    sim::{Sim, ZoneState},
    token::{Location, Right, TokenGrant, TokenOwner, TokenStatus, Zones},
};
