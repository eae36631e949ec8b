//! All that talks to Kubernetes: watches, fresh reads, our own writes, Events and the lease.

pub mod children;
pub mod confirm;
pub mod events;
pub mod fenced;
pub mod fresh;
pub mod lease;
pub mod marker_key;
pub mod presence;
pub mod resources;
pub mod secrets;
pub mod source_watch;
pub mod watch;
pub mod writer;
