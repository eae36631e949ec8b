//! TSIG keys (RFC 8945): a current one, and the one before it while a rotation lasts.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use data_encoding::BASE64;
use domain::{
    base::{Name as WireName, ToName},
    tsig::{Algorithm, Key, KeyName},
};
use secrecy::{ExposeSecret, SecretString};
use zonekeeper_kernel::name::Name;

use crate::{ProviderError, wire::wire_name};

/// A TSIG key as people write it.
#[derive(Debug, Clone)]
pub struct Tsig {
    /// Its name, which the server knows it by.
    pub name: String,
    /// `hmac-sha256`, `hmac-sha384`, `hmac-sha512`, or `hmac-sha1` for old servers.
    pub algorithm: String,
    /// Its secret in base64.
    pub secret: SecretString,
}

/// A key, and the one that it replaces.
#[derive(Debug, Clone, Default)]
pub struct Rotation {
    /// The key; none where messages are not signed.
    pub current: Option<Tsig>,
    /// The key before it, tried where a server does not know the current one yet.
    pub previous: Option<Tsig>,
}

/// Keys ready for use, the one that worked last first.
pub(super) struct Keys {
    keys: Vec<Arc<Key>>,
    preferred: AtomicUsize,
}

// === impl Keys ===

impl Keys {
    /// Reads keys.
    pub(super) fn new(rotation: &Rotation) -> Result<Self, ProviderError> {
        let keys = rotation.current.iter().chain(&rotation.previous).map(|tsig| read(tsig).map(Arc::new));
        Ok(Self { keys: keys.collect::<Result<_, _>>()?, preferred: AtomicUsize::new(0) })
    }

    /// The keys in the order in which they are tried; one none where messages are not signed.
    pub(super) fn in_order(&self) -> Vec<(usize, Option<Arc<Key>>)> {
        let preferred = self.preferred.load(Ordering::Relaxed);
        let mut keys: Vec<_> = self.keys.iter().cloned().map(Some).enumerate().collect();
        if keys.is_empty() {
            keys.push((0, None));
        }
        keys.sort_by_key(|(index, _)| *index != preferred);
        keys
    }

    /// Tries this key first from now on.
    pub(super) fn prefer(&self, index: usize) {
        self.preferred.store(index, Ordering::Relaxed);
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.keys.iter().map(|key| label(key))).finish()
    }
}

/// A key's name and algorithm, for messages.
pub(super) fn label(key: &Key) -> String {
    format!("{} ({})", key.name(), key.algorithm())
}

fn read(tsig: &Tsig) -> Result<Key, ProviderError> {
    let wrong = |message: String| ProviderError::Credentials { message };
    // Who mixes them up must not find the secret in a status: what is wrong is named, and not shown.
    let name = Name::parse(tsig.name.trim()).map_err(|_| {
        wrong(
            "the TSIG key's name is no domain name; the Secret's `name` is the name of the key alone".into(),
        )
    })?;
    let algorithm = algorithm(&tsig.algorithm).ok_or_else(|| {
        wrong(format!(
            "the algorithm of TSIG key {name} is not known; use hmac-sha256, hmac-sha384, hmac-sha512 or hmac-sha1"
        ))
    })?;
    let bad_secret = || {
        wrong(format!("the secret of TSIG key {name} is not base64; copy it from the server's key statement"))
    };
    let secret = BASE64.decode(tsig.secret.expose_secret().trim().as_bytes()).map_err(|_| bad_secret())?;
    if secret.is_empty() {
        return Err(bad_secret());
    }
    let wire: KeyName = wire_name(&name)
        .try_to_name()
        .map_err(|_| wrong(format!("the TSIG key's name {name} is too long")))?;
    Key::new(algorithm, &secret, wire, None, None)
        .map_err(|error| wrong(format!("TSIG key {name} can't be used: {error}")))
}

fn algorithm(text: &str) -> Option<Algorithm> {
    let text = text.trim().trim_end_matches('.').to_ascii_lowercase();
    let name: WireName<Vec<u8>> = text.parse().ok()?;
    Algorithm::from_name(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tsig(algorithm: &str, secret: &str) -> Tsig {
        Tsig { name: "Zone-Key.".into(), algorithm: algorithm.into(), secret: secret.into() }
    }

    #[test]
    fn a_key_is_read_as_servers_write_it() {
        for algorithm in ["hmac-sha256", "HMAC-SHA512.", " hmac-sha384", "hmac-sha1"] {
            let key = read(&tsig(algorithm, " c2VjcmV0LXNlY3JldA==\n")).unwrap();
            assert_eq!(key.name().to_string(), "zone-key");
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_the_secret() {
        let text = |tsig: &Tsig| read(tsig).unwrap_err().to_string();
        assert!(text(&tsig("hmac-md5", "c2VjcmV0")).contains("hmac-sha256"));
        let bad = tsig("hmac-sha256", "not base64!");
        assert!(text(&bad).contains("is not base64") && !text(&bad).contains("not base64!"));
        // As nsupdate takes it, and mixed up.
        let whole = Tsig { name: "hmac-sha256:key:c2VjcmV0==".into(), ..tsig("hmac-sha256", "c2VjcmV0") };
        for mistaken in [whole, tsig("c2VjcmV0", "hmac-sha256")] {
            assert!(!text(&mistaken).contains("c2VjcmV0"), "{}", text(&mistaken));
        }
        let rotation = Rotation { current: Some(tsig("hmac-sha256", "c2VjcmV0")), previous: None };
        let shown = format!("{rotation:?} {:?}", Keys::new(&rotation).unwrap());
        assert!(!shown.contains("c2VjcmV0") && !shown.contains("secret\""), "{shown}");
    }

    #[test]
    fn the_key_that_worked_is_tried_first() {
        let rotation = Rotation {
            current: Some(tsig("hmac-sha256", "bmV3")),
            previous: Some(tsig("hmac-sha256", "b2xk")),
        };
        let keys = Keys::new(&rotation).unwrap();
        let order = |keys: &Keys| keys.in_order().iter().map(|(index, _)| *index).collect::<Vec<_>>();
        assert_eq!(order(&keys), [0, 1]);
        keys.prefer(1);
        assert_eq!(order(&keys), [1, 0]);
    }
}
