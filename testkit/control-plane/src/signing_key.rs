//! The key that signs tokens of ServiceAccounts.

use std::{fs, path::Path};

use anyhow::{Result, anyhow};
use aws_lc_rs::{
    encoding::{AsDer, PublicKeyX509Der},
    error::Unspecified,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair},
};
use data_encoding::BASE64;

pub const PRIVATE: &str = "service-account.key";
pub const PUBLIC: &str = "service-account.pub";

/// Writes both halves of a new key.
pub fn write(folder: &Path) -> Result<()> {
    let (private, public) = generate().map_err(|Unspecified| anyhow!("generating a key"))?;
    fs::write(folder.join(PRIVATE), private)?;
    fs::write(folder.join(PUBLIC), public)?;
    Ok(())
}

fn generate() -> Result<(String, String), Unspecified> {
    let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING)?;
    let public: PublicKeyX509Der<'_> = key.public_key().as_der()?;
    Ok((pem("PRIVATE KEY", key.to_pkcs8v1()?.as_ref()), pem("PUBLIC KEY", public.as_ref())))
}

fn pem(label: &str, content: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", BASE64.encode(content))
}
