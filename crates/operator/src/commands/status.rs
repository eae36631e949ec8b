//! `zonekeeper status`: who asks for which records, and what became of them.

use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use kube::Client;

use crate::{
    cluster::{
        overview::{self, Overview, Row},
        presence::Presence,
    },
    commands::{
        Ending,
        connect::ClusterOptions,
        say,
        table::{aligned, shortened},
    },
};

/// An operator that is not there must not keep anybody waiting.
const PATIENCE: Duration = Duration::from_secs(3);

/// Show who asks for which records, and what became of them.
#[derive(Debug, Args)]
pub struct Status {
    #[command(flatten)]
    cluster: ClusterOptions,
    /// Where the operator serves, such as http://127.0.0.1:8080; default: found in the cluster.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// How to print it.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// How to print a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
}

// === impl Status ===

impl Status {
    pub async fn run(self) -> anyhow::Result<Ending> {
        let overview = match &self.server {
            Some(server) => ask(server).await.with_context(|| format!("asking {server}"))?,
            None => self.find().await?,
        };
        match self.output {
            Output::Json => say::line(serde_json::to_string_pretty(&overview)?),
            Output::Text => say::result(text(&overview)),
        }
        Ok(Ending::Done)
    }

    /// Asks every operator of the cluster.
    async fn find(&self) -> anyhow::Result<Overview> {
        let (client, namespace) = self.cluster.connect().await?;
        let operators =
            Presence::all(&client, &namespace).await.context("looking for the operator's Lease")?;
        let mut all = Overview::default();
        let mut errors = Vec::new();
        for operator in &operators {
            match ask_operator(&client, operator).await {
                Ok(overview) => all.records.extend(overview.records),
                Err(error) => errors.push(format!("{}: {error:#}", operator.namespace)),
            }
        }
        if operators.len() == errors.len() {
            let tried =
                if errors.is_empty() { "none has announced itself".into() } else { errors.join("; ") };
            bail!("no operator could be asked ({tried}); start one, or name it by --server URL");
        }
        errors.iter().for_each(|error| say::aside(format_args!("note: {error}")));
        all.records.sort();
        Ok(all)
    }
}

/// Asks an operator directly, else through the API server.
async fn ask_operator(client: &Client, operator: &Presence) -> anyhow::Result<Overview> {
    let directly = ask(&format!("http://{}", operator.address)).await;
    let Some(pod) = operator.pod.as_ref().filter(|_| directly.is_err()) else { return directly };
    let (namespace, port) = (&operator.namespace, operator.address.port());
    let path = format!("/api/v1/namespaces/{namespace}/pods/{pod}:{port}/proxy{}", overview::PATH);
    let request = axum::http::Request::get(path).body(Vec::new())?;
    client.request(request).await.context("through the API server, which needs get on pods/proxy")
}

async fn ask(server: &str) -> anyhow::Result<Overview> {
    let client = reqwest::Client::builder().timeout(PATIENCE).build()?;
    let url = format!("{}{}", server.trim_end_matches('/'), overview::PATH);
    Ok(client.get(url).send().await?.error_for_status()?.json().await?)
}

fn text(overview: &Overview) -> String {
    if overview.records.is_empty() {
        return "nobody asks for a record\n".into();
    }
    let heading = ["NAME", "TYPE", "VALUE", "SOURCE", "STATE", "REASON"].map(str::to_owned);
    let rows: Vec<_> = [heading].into_iter().chain(overview.records.iter().map(cells)).collect();
    let mut lines = aligned(&rows);
    for row in overview.records.iter().filter(|row| row.state != overview::State::Ready) {
        lines.push(format!("! {} {}: {}", row.name, row.source, row.message));
    }
    lines.join("\n") + "\n"
}

fn cells(row: &Row) -> [String; 6] {
    let or_dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
    [
        row.name.clone(),
        or_dash(row.rtype.clone()),
        or_dash(shortened(&row.values.join(", "))),
        row.source.to_string(),
        row.state.as_str().to_owned(),
        row.reason.clone(),
    ]
}
