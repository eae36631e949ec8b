//! The key that signs tokens of ServiceAccounts.

use std::{fs, path::Path};

use anyhow::{Result, anyhow};
use data_encoding::BASE64;
use ring::{
    error::{KeyRejected, Unspecified},
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING as ALGORITHM, EcdsaKeyPair, KeyPair},
};

pub const PRIVATE: &str = "service-account.key";
pub const PUBLIC: &str = "service-account.pub";

/// What comes before the point in a public key of P-256 (RFC 5480, SubjectPublicKeyInfo).
const PUBLIC_KEY_OF_P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Writes both halves of a new key.
pub fn write(folder: &Path) -> Result<()> {
    let random = SystemRandom::new();
    let private = EcdsaKeyPair::generate_pkcs8(&ALGORITHM, &random)
        .map_err(|Unspecified| anyhow!("generating a key"))?;
    let key = EcdsaKeyPair::from_pkcs8(&ALGORITHM, private.as_ref(), &random)
        .map_err(|error: KeyRejected| anyhow!("reading the key that was generated: {error}"))?;
    let public = [&PUBLIC_KEY_OF_P256, key.public_key().as_ref()].concat();
    let (private, public) = (pem("PRIVATE KEY", private.as_ref()), pem("PUBLIC KEY", &public));
    fs::write(folder.join(PRIVATE), private)?;
    fs::write(folder.join(PUBLIC), public)?;
    Ok(())
}

fn pem(label: &str, content: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", BASE64.encode(content))
}
