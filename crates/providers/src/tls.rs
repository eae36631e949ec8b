//! The one library for cryptography: what TSIG needs, and TLS takes it, too.

use rustls::crypto::ring;

/// Has every TLS client of this process use it; asked again, nothing changes.
pub fn set_up() {
    // An error says that it was done before.
    let _ = ring::default_provider().install_default();
}
