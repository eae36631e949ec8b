//! What watches of source objects see.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::core::ApiResource;
use zonekeeper_sources::object::{Kind, Object, ObjectRef};

use crate::Key;

/// What a watch of a source kind saw.
pub enum News {
    /// It is there, like this.
    Applied(Box<Object>),
    /// It is there, and can't be read.
    Unreadable(ObjectRef, Box<ObjectReference>, String),
    /// Its deletion was seen.
    Gone(ObjectRef),
    /// A list is complete: these are there, and no others.
    Listed(Kind, BTreeSet<Key>),
    /// The watch itself has come so far.
    Standing(Kind, Standing),
}

/// How far the watch of a kind is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It was not listed yet.
    Starting,
    /// It is followed, as this resource.
    Following(ApiResource),
    /// The server does not have it.
    Missing,
    /// We may not read it.
    Forbidden,
    /// The server does not answer.
    Failing,
}
