//! `zonekeeper status`: who asks for which records, and what became of them.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, bail, ensure};
use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode, header},
};
use clap::{Args, ValueEnum};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client};

use zonekeeper_model::overview::{self, Overview, Row};

use crate::{
    commands::{
        Ending,
        cluster::connect::ClusterOptions,
        say,
        table::{aligned, shortened},
    },
    kube::presence::Presence,
};

/// An operator that is not there must not keep the user waiting.
const PATIENCE: Duration = Duration::from_secs(3);
/// A port is forwarded over three machines.
const FORWARDING: Duration = Duration::from_secs(15);
const MAX_ANSWER: usize = 1 << 30;

/// Show who asks for which records, and what became of them.
#[derive(Debug, Args)]
pub struct Status {
    #[command(flatten)]
    cluster: ClusterOptions,
    /// Where the operator serves its API, such as http://127.0.0.1:8081; default: found in the cluster.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// A file with the bearer token for an API that is not served on a loopback address.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
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
        let token = match &self.token_file {
            Some(file) => {
                let text = std::fs::read_to_string(file);
                let text = text.with_context(|| format!("reading the token in {}", file.display()))?;
                Some(text.trim().to_owned())
            }
            None => None,
        };
        let token = token.as_deref();
        let overview = match &self.server {
            Some(server) => ask(server, token).await.with_context(|| format!("asking {server}"))?,
            None => self.find(token).await?,
        };
        match self.output {
            Output::Json => say::line(serde_json::to_string_pretty(&overview)?),
            Output::Text => say::result(text(&overview)),
        }
        Ok(Ending::Done)
    }

    /// Asks every operator of the cluster.
    async fn find(&self, token: Option<&str>) -> anyhow::Result<Overview> {
        let (client, namespace) = self.cluster.connect().await?;
        let operators =
            Presence::all(&client, &namespace).await.context("looking for the operator's Lease")?;
        let mut all = Overview::default();
        let mut errors = Vec::new();
        for operator in &operators {
            match ask_operator(&client, operator, token).await {
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

/// Asks an operator: in a Pod through a forwarded port, which reaches its loopback address, else directly.
async fn ask_operator(client: &Client, operator: &Presence, token: Option<&str>) -> anyhow::Result<Overview> {
    let Some(pod) = &operator.pod else { return ask(&format!("http://{}", operator.address), token).await };
    let asked = tokio::time::timeout(FORWARDING, forwarded(client, operator, pod, token)).await;
    let hint = || format!("through Pod {pod}, which needs create and get on pods/portforward");
    asked.with_context(hint)?.with_context(hint)
}

async fn forwarded(
    client: &Client,
    operator: &Presence,
    pod: &str,
    token: Option<&str>,
) -> anyhow::Result<Overview> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), &operator.namespace);
    let port = operator.address.port();
    let mut forwarder = pods.portforward(pod, &[port]).await?;
    let stream = forwarder.take_stream(port).context("no stream of the port")?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends with the stream; what went wrong is seen by the request.
    let carrying = tokio::spawn(connection);
    let mut request = Request::get(overview::PATH).header(header::HOST, format!("127.0.0.1:{port}"));
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    let response = sender.send_request(request.body(Body::empty())?).await?;
    let status = response.status();
    let body = to_bytes(Body::new(response.into_body()), MAX_ANSWER).await?;
    carrying.abort();
    ensure!(status == StatusCode::OK, "HTTP {status}: {}", String::from_utf8_lossy(&body).trim());
    Ok(serde_json::from_slice(&body)?)
}

async fn ask(server: &str, token: Option<&str>) -> anyhow::Result<Overview> {
    let client = reqwest::Client::builder().timeout(PATIENCE).no_proxy().build()?;
    let url = format!("{}{}", server.trim_end_matches('/'), overview::PATH);
    let request = client.get(url);
    let request = match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    let response = request.send().await?;
    let status = response.status();
    if status.is_success() {
        return Ok(response.json().await?);
    }
    let said = response.text().await.unwrap_or_default();
    bail!("HTTP {status}: {}", said.chars().take(200).collect::<String>().trim())
}

fn text(overview: &Overview) -> String {
    if overview.records.is_empty() {
        return "No records requested.\n".into();
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
