//! The key that signs zone transfers from the primaries of a secondary zone.

use std::fmt;

/// A TSIG key (RFC 8945).
///
/// Guarantees: its secret is in no text that is made of it.
#[derive(Clone, PartialEq, Eq)]
pub struct TransferKey {
    /// Its name, as the primaries have it.
    pub name: String,
    /// Its algorithm, such as `hmac-sha256`.
    pub algorithm: String,
    secret: String,
}

// === impl TransferKey ===

impl TransferKey {
    /// A key; the secret is in base64.
    pub fn new(name: impl Into<String>, algorithm: impl Into<String>, secret: impl Into<String>) -> Self {
        Self { name: name.into(), algorithm: algorithm.into(), secret: secret.into() }
    }

    /// The secret in base64.
    pub fn expose_secret(&self) -> &str {
        &self.secret
    }
}

impl fmt::Debug for TransferKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, algorithm, secret: _ } = self;
        formatter
            .debug_struct("TransferKey")
            .field("name", name)
            .field("algorithm", algorithm)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_secret_is_not_shown() {
        let text = format!("{:?}", TransferKey::new("transfer", "hmac-sha256", "c2VjcmV0"));
        assert!(text.contains("transfer") && !text.contains("c2VjcmV0"), "{text}");
    }
}
