//! ExternalDNS's encryption of TXT markers: gzip, AES-256-GCM, base64.

use std::{fmt, io::Read, sync::Arc};

use aes_gcm::{
    Aes256Gcm, KeyInit, Nonce,
    aead::{Aead, consts::U12},
};
use data_encoding::BASE64;
use flate2::{Compression, read::GzDecoder, read::GzEncoder};
use hmac::{Hmac, Mac};
use sha2::Sha256;

const NONCE: usize = 12;
/// A marker is well under 1 KiB; anything larger is a decompression bomb.
const MAX_PLAIN: u64 = 64 * 1024;

/// A key for encrypted TXT markers.
#[derive(Clone)]
pub struct EncryptionKey(Arc<[u8; 32]>);

/// Why a text is not a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the encryption key has {0} bytes; give 32 bytes, raw or in standard base64")]
pub struct KeyError(usize);

// === impl EncryptionKey ===

impl EncryptionKey {
    /// A key of 32 raw bytes, or their base64 form.
    pub fn new(text: &[u8]) -> Result<Self, KeyError> {
        let raw = match text.len() {
            32 => text.to_vec(),
            _ => BASE64.decode(text).map_err(|_| KeyError(text.len()))?,
        };
        let key = <[u8; 32]>::try_from(raw).map_err(|_| KeyError(text.len()))?;
        Ok(Self(Arc::new(key)))
    }

    /// Encrypts a marker's text.
    ///
    /// The nonce is derived from key and text, so that the same marker always reads the same and no
    /// nonce is ever used for two texts.
    pub fn encrypt(&self, text: &str) -> String {
        let mut derive = Hmac::<Sha256>::new_from_slice(&*self.0).expect("HMAC takes keys of any length");
        derive.update(text.as_bytes());
        let mut nonce = [0; NONCE];
        nonce.copy_from_slice(&derive.finalize().into_bytes()[..NONCE]);

        let mut packed = Vec::new();
        GzEncoder::new(text.as_bytes(), Compression::best())
            .read_to_end(&mut packed)
            .expect("reading from memory can't fail");
        let sealed = self
            .cipher()
            .encrypt(&Nonce::<U12>::from(nonce), &*packed)
            .expect("AES-GCM only refuses texts over 64 GiB");
        BASE64.encode(&[&nonce[..], &sealed].concat())
    }

    /// Decrypts a marker's text; none where it is something else, or sealed with another key.
    pub fn decrypt(&self, text: &str) -> Option<String> {
        let sealed = BASE64.decode(text.as_bytes()).ok()?;
        let (nonce, sealed) = sealed.split_at_checked(NONCE)?;
        let nonce = <[u8; NONCE]>::try_from(nonce).ok()?;
        let packed = self.cipher().decrypt(&Nonce::<U12>::from(nonce), sealed).ok()?;
        let mut plain = String::new();
        GzDecoder::new(&*packed).take(MAX_PLAIN).read_to_string(&mut plain).ok()?;
        Some(plain)
    }

    fn cipher(&self) -> Aes256Gcm {
        Aes256Gcm::new((&*self.0).into())
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("EncryptionKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAW: &[u8] = b"0123456789abcdef0123456789abcdef";
    const PLAIN: &str =
        "heritage=external-dns,external-dns/owner=default,external-dns/resource=ingress/shop/web";

    /// Sealed by Go's standard library in the way of ExternalDNS.
    const SEALED_BY_GO: &str = "YWJjZGVmZ2hpamtsdkfBv8vlbdNj46bYy5TYH1A0a5qNzK9rSwB+3oivlWiPs3Uf5T+SrOOy6KJaivyMQev0Aq+Sc2wS7rBvcIvHoWJm+YIkHChGwkIDaNaX5qs167x0qJ/V4jKWIW0IuLaCJzExc6Dl";

    #[test]
    fn texts_sealed_by_go_are_read() {
        assert_eq!(EncryptionKey::new(RAW).unwrap().decrypt(SEALED_BY_GO).as_deref(), Some(PLAIN));
    }

    #[test]
    fn sealing_is_reproducible_and_reversible() {
        let key = EncryptionKey::new(RAW).unwrap();
        assert_eq!(key.encrypt(PLAIN), key.encrypt(PLAIN));
        assert_eq!(key.decrypt(&key.encrypt(PLAIN)).as_deref(), Some(PLAIN));
        let other = EncryptionKey::new(b"another key another key another!").unwrap();
        assert_eq!(other.decrypt(&key.encrypt(PLAIN)), None);
    }

    /// Case 65 of ExternalDNS's catalogue.
    #[test]
    fn keys_are_32_bytes_raw_or_in_base64() {
        assert!(EncryptionKey::new(BASE64.encode(RAW).as_bytes()).is_ok());
        assert_eq!(EncryptionKey::new(&[b'x'; 49]).unwrap_err(), KeyError(49));
        assert_eq!(EncryptionKey::new(b"").unwrap_err(), KeyError(0));
    }
}
