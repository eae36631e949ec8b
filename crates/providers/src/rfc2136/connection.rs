//! One connection to a server: messages with their length before them (RFC 1035 section 4.2.2), over TCP or TLS.

use std::{io, sync::Arc, time::Duration};

use futures::FutureExt;
use rustls::{ClientConfig, crypto::ring, pki_types::ServerName};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;

/// How long a TLS handshake may take; less than a connection as a whole, so that it is known what was waited for.
const SHAKING: Duration = Duration::from_millis(2_500);

/// How messages travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// Plain TCP.
    #[default]
    Tcp,
    /// TLS (RFC 7858, RFC 9103); the certificate must be valid for the server's host.
    Tls,
}

/// Opens connections.
pub(super) enum Connector {
    Tcp,
    Tls(TlsConnector),
}

/// A connection that is open.
pub(super) struct Connection {
    stream: Box<dyn Stream>,
}

/// What messages travel over.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

// === impl Connector ===

impl Connector {
    /// A connector; the roots of TLS are the platform's.
    pub(super) fn new(transport: Transport) -> Result<Self, rustls::Error> {
        match transport {
            Transport::Tcp => Ok(Self::Tcp),
            Transport::Tls => {
                let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                    .with_safe_default_protocol_versions()?
                    .with_platform_verifier()?
                    .with_no_client_auth();
                config.alpn_protocols = vec![b"dot".to_vec()];
                Ok(Self::Tls(TlsConnector::from(Arc::new(config))))
            }
        }
    }

    /// Connects to `host:port`.
    pub(super) async fn connect(&self, address: &str) -> io::Result<Connection> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let stream: Box<dyn Stream> = match self {
            Self::Tcp => Box::new(stream),
            Self::Tls(tls) => {
                let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
                let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
                let name = ServerName::try_from(host).map_err(io::Error::other)?;
                let shaking = timeout(SHAKING, tls.connect(name, stream));
                let not_tls =
                    |_| io::Error::other("no TLS handshake; is transport: TLS right for this port?");
                Box::new(shaking.await.map_err(not_tls)??)
            }
        };
        Ok(Connection { stream })
    }
}

// === impl Connection ===

impl Connection {
    /// Sends one message.
    pub(super) async fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let length = u16::try_from(message.len()).map_err(io::Error::other)?;
        let mut framed = Vec::with_capacity(2 + message.len());
        framed.extend(length.to_be_bytes());
        framed.extend(message);
        self.stream.write_all(&framed).await?;
        self.stream.flush().await
    }

    /// Receives one message.
    pub(super) async fn receive(&mut self) -> io::Result<Vec<u8>> {
        let length = self.stream.read_u16().await?;
        let mut message = vec![0; usize::from(length)];
        self.stream.read_exact(&mut message).await?;
        Ok(message)
    }

    /// Whether the server closed it, or said something unasked.
    pub(super) fn is_stale(&mut self) -> bool {
        self.stream.read_u8().now_or_never().is_some()
    }
}
