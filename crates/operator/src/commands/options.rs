//! Flags that every command on a folder takes.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use anyhow::{Context, bail};
use clap::Args;
use ipnet::IpNet;
use zonekeeper_providers::lookup::Resolver;

use crate::{
    address_source::Reachable,
    commands::say,
    engine::Waiting,
    folder::{self, Folder, Problem},
    session::{Options, Serving, Session},
};

/// Cloudflare blocks for five minutes at most; one run does not wait longer than that.
const PATIENCE: Duration = Duration::from_secs(330);

/// Flags that every command on a folder takes.
#[derive(Debug, Args)]
pub struct FolderOptions {
    /// The owner id, where spec.registry.ownerID names none.
    #[arg(long, value_name = "ID")]
    owner_id: Option<String>,
    /// A file with the key that signs ownership markers; a Secret in the folder goes before it.
    #[arg(long, value_name = "FILE")]
    marker_key_file: Option<PathBuf>,
    /// A network that AddressSources may ask though it is not public; may be given several times.
    #[arg(long, value_name = "CIDR")]
    allow_address_source: Vec<IpNet>,
    /// A DNS server that is asked about delegations, in place of those of this machine; may be given several times.
    #[arg(long, value_name = "ADDRESS:PORT")]
    resolver: Vec<SocketAddr>,
}

/// The DNS servers that are named, or those of this machine.
pub fn resolver(named: &[SocketAddr]) -> Resolver {
    if named.is_empty() { Resolver::of_system() } else { Resolver::new(named.to_vec()) }
}

// === impl FolderOptions ===

impl FolderOptions {
    /// The options as the session takes them.
    pub fn read(&self, serving: Serving) -> anyhow::Result<Options> {
        let marker_key = match &self.marker_key_file {
            None => None,
            Some(file) => {
                let mut key = std::fs::read(file)
                    .with_context(|| format!("reading the marker key from {}", file.display()))?;
                if key.ends_with(b"\n") {
                    key.pop();
                }
                if key.is_empty() {
                    bail!("the marker key file {} is empty; put a random text there", file.display());
                }
                Some(key)
            }
        };
        let is_odd = |letter: char| letter.is_whitespace() || matches!(letter, '"' | ',' | '=');
        if self.owner_id.as_ref().is_some_and(|id| id.contains(is_odd)) {
            bail!("--owner-id holds a space, a quote, a comma or an equals sign; markers can't carry that");
        }
        let token = ["CLOUDFLARE_API_TOKEN", "CF_API_TOKEN"]
            .into_iter()
            .find_map(|name| std::env::var(name).ok().filter(|token| !token.trim().is_empty()));
        Ok(Options {
            owner_id: self.owner_id.clone().filter(|id| !id.is_empty()),
            marker_key,
            token,
            reachable: Reachable { allowed: self.allow_address_source.clone(), ..Reachable::default() },
            resolver: resolver(&self.resolver),
            waiting: match serving {
                Serving::Answering => Waiting::Never,
                Serving::Comparing | Serving::Showing | Serving::Checking => Waiting::UpTo(PATIENCE),
            },
            serving,
        })
    }

    /// Options for which neither credentials nor a network are needed.
    pub fn offline() -> Options {
        let placeholder = "offline";
        Options {
            owner_id: Some(placeholder.into()),
            marker_key: Some(placeholder.into()),
            token: Some(placeholder.into()),
            reachable: Reachable::default(),
            resolver: Resolver::new(Vec::new()),
            waiting: Waiting::Never,
            serving: Serving::Checking,
        }
    }

    /// Reads a folder and opens it.
    pub async fn open(&self, path: Option<&PathBuf>, serving: Serving) -> anyhow::Result<Session> {
        let Some(path) = path else {
            bail!("give the folder with -f DIR; planning from a cluster is not available in this version");
        };
        let folder = read(path)?;
        for note in &folder.notes {
            say::aside(format_args!("note: {note}"));
        }
        Session::open(folder, self.read(serving)?)
            .await
            .map_err(|problems| anyhow::anyhow!(listed(&problems)))
    }
}

/// Reads a folder, or says everything that is wrong with it.
pub fn read(path: &std::path::Path) -> anyhow::Result<Folder> {
    folder::read(path).map_err(|problems| anyhow::anyhow!(listed(&problems.0)))
}

/// Problems, one per line.
pub fn listed(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}
