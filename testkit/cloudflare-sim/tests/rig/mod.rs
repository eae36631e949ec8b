//! One zone, one token and a plain HTTP client, for tests of what SDKs hide.

use cloudflare_sim::{Config, Plan, Sim, TokenGrant};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

pub struct Rig {
    pub sim: Sim,
    pub zone: String,
    pub token: String,
    pub http: reqwest::Client,
}

/// The simulator speaks no TLS, but a client is not made without.
pub fn client() -> reqwest::Client {
    // An error says that it was done before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

pub type Answer = Result<(StatusCode, Value), reqwest::Error>;

impl Rig {
    pub async fn start(config: Config) -> Self {
        let sim = Sim::start(config).await.expect("loopback has a free port");
        let zone = sim.zone("example.com", Plan::Enterprise);
        let token = sim.token(TokenGrant::full());
        Self { sim, zone, token, http: client() }
    }

    pub async fn unlimited() -> Self {
        Self::start(Config::unlimited()).await
    }

    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let url = format!("{}/zones/{}{path}", self.sim.base_url(), self.zone);
        self.http.request(method, url).bearer_auth(&self.token)
    }

    /// The status and body; an error if the connection broke.
    pub async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        let request = self.request(method, path);
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        let response = request.send().await?;
        let status = response.status();
        let text = response.text().await?;
        Ok((status, serde_json::from_str(&text).unwrap_or(Value::String(text))))
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None).await
    }

    pub async fn create(&self, name: &str) -> Answer {
        self.send(Method::POST, "/dns_records", Some(a(name))).await
    }

    pub fn names(&self) -> Vec<String> {
        let records = self.sim.records(&self.zone);
        records
            .iter()
            .filter_map(|record| record["name"].as_str())
            .map(|name| name.replace(".example.com", ""))
            .collect()
    }
}

pub fn a(name: &str) -> Value {
    json!({"type": "A", "name": name, "content": "192.0.2.1"})
}
