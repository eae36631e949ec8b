//! RFC 2136 servers in the provider's terms, with the TSIG keys of their Secrets.

use secrecy::SecretString;
use zonekeeper_api::{DNSProvider, Rfc2136Backend, SecretReference, Transport, ZoneReading};
use zonekeeper_providers::{
    Backend,
    rfc2136::{self, Rotation, Tsig},
};

use crate::declare::{BadField, Credentials};

/// How to reach servers, where the object declares some.
pub(super) fn backend(
    object: &DNSProvider,
    credentials: &dyn Credentials,
) -> Option<Result<Backend, BadField>> {
    Some(settings(object.spec.rfc2136.as_ref()?, credentials).map(Backend::Rfc2136))
}

fn settings(declared: &Rfc2136Backend, credentials: &dyn Credentials) -> Result<rfc2136::Settings, BadField> {
    let keys = |field: &str, reference: &Option<SecretReference>| {
        let reference = reference.as_ref();
        reference.map(|reference| rotation(field, reference, credentials)).transpose()
    };
    Ok(rfc2136::Settings {
        transport: match declared.transport {
            Transport::Tcp => rfc2136::Transport::Tcp,
            Transport::Tls => rfc2136::Transport::Tls,
        },
        reading: match declared.reading {
            ZoneReading::Transfer => rfc2136::Reading::Transfer,
            ZoneReading::Names => rfc2136::Reading::Names,
        },
        update_key: keys("tsigSecretRef", &declared.tsig_secret_ref)?.unwrap_or_default(),
        transfer_key: keys("transferTsigSecretRef", &declared.transfer_tsig_secret_ref)?,
        ..rfc2136::Settings::new(declared.servers.iter().cloned())
    })
}

/// A Secret's key, and the one before it while a rotation lasts.
fn rotation(
    field: &str,
    reference: &SecretReference,
    credentials: &dyn Credentials,
) -> Result<Rotation, BadField> {
    let text = |key: &str| {
        let bytes = credentials.secret(reference.namespace.as_deref(), &reference.name, key)?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned()).filter(|text| !text.is_empty())
    };
    let required = |key: &str| {
        text(key).ok_or_else(|| {
            let message = format!(
                "no Secret {} with key {key}; it needs name, algorithm and secret, as the server's key statement has them",
                reference.name
            );
            BadField::new(format!("spec.rfc2136.{field}"), message)
        })
    };
    let (name, algorithm) = (required("name")?, required("algorithm")?);
    let current = Tsig {
        name: name.clone(),
        algorithm: algorithm.clone(),
        secret: SecretString::from(required("secret")?),
    };
    let previous = text("previousSecret").map(|secret| Tsig {
        name: text("previousName").unwrap_or(name),
        algorithm: text("previousAlgorithm").unwrap_or(algorithm),
        secret: SecretString::from(secret),
    });
    Ok(Rotation { current: Some(current), previous })
}
