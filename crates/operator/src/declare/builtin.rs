//! The built-in server as a DNSProvider declares it.

use zonekeeper_api::DNSProvider;
use zonekeeper_model::declare::{BadField, Credentials};
use zonekeeper_providers::{
    Backend,
    builtin::{Settings, TransferPeer},
};

/// How to serve, where the object declares such a server.
pub(super) fn backend(object: &DNSProvider, _: &dyn Credentials) -> Option<Result<Backend, BadField>> {
    let declared = object.spec.builtin.as_ref()?;
    let read = || {
        let listen = declared.listen.parse().map_err(|_| {
            BadField::new("spec.builtin.listen", format!("{:?} is no address:port", declared.listen))
        })?;
        let peer = |(index, text): (usize, &String)| {
            text.parse::<TransferPeer>()
                .map_err(|error| BadField::new(format!("spec.builtin.allowTransfer[{index}]"), error))
        };
        let allow_transfer =
            declared.allow_transfer.iter().enumerate().map(peer).collect::<Result<_, _>>()?;
        Ok(Backend::Builtin(Settings { listen, allow_transfer }))
    };
    Some(read())
}
