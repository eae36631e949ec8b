//! Cloudflare's envelope over HTTP: one place that sends, and that knows what an answer means.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use reqwest::{Method, Response, StatusCode, header::HeaderMap};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    cloudflare::{
        Settings,
        budget::{Budget, Purpose},
    },
    fence::Fence,
    meter::{Meter, Outcome},
};

/// How much of an answer that is not JSON is shown to a person.
const EXCERPT: usize = 200;
/// How much of one error's words is shown to a person.
const LONGEST_MESSAGE: usize = 500;
/// Cloudflare blocks for the rest of the window; without a header we can't know how long that is.
const BLIND_WAIT: Duration = Duration::from_secs(60);
/// Cloudflare's longest page, 5,000 records with comments and tags, is a tenth of this.
const LARGEST_ANSWER: usize = 64 << 20;
/// A server that asks for more is asked again after this long: its window is 5 minutes.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// A client for one credential.
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: SecretString,
    budget: Arc<Budget>,
    reads: ReadTries,
    /// How long a request of a zone waits for the budget; none waits as long as it takes.
    budget_patience: Option<Duration>,
    fence: Arc<dyn Fence>,
    meter: Arc<dyn Meter>,
    timeout: Duration,
}

/// How often a read is sent, and how long it may wait for the rate limit in between.
#[derive(Debug, Clone, Copy)]
struct ReadTries {
    tries: u32,
    patience: Duration,
}

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path below the base, with its query.
    pub path: String,
    /// The JSON body.
    pub body: Option<Value>,
    /// What it is for.
    pub purpose: Purpose,
}

/// A successful answer.
#[derive(Debug)]
pub struct Reply<T> {
    /// What was asked for.
    pub result: T,
    /// Paging.
    pub info: Option<ResultInfo>,
}

/// Where a page lies in its listing.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct ResultInfo {
    /// Records in the whole listing.
    pub total_count: Option<usize>,
    /// Pages in the whole listing.
    pub total_pages: Option<usize>,
}

/// Why there is no successful answer.
#[derive(Debug, Clone)]
pub enum Failure {
    /// Cloudflare said no: nothing was changed.
    Refused {
        /// The HTTP status.
        status: u16,
        /// Its errors, causes included.
        errors: Vec<ApiError>,
    },
    /// Too many requests: nothing was changed.
    RateLimited {
        /// How long to wait.
        after: Duration,
    },
    /// Our own budget for this credential is used up: it was never sent.
    OverBudget {
        /// How long to wait.
        after: Duration,
    },
    /// It was never sent.
    NotSent {
        /// Why.
        message: String,
    },
    /// No answer, or none that tells what happened: a write may have been applied.
    Lost {
        /// What was seen.
        message: String,
    },
}

/// One error of Cloudflare's.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ApiError {
    /// Its code.
    #[serde(default)]
    pub code: i64,
    /// Its words.
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    error_chain: Vec<ApiError>,
}

#[derive(Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
struct Envelope<T> {
    success: bool,
    #[serde(default)]
    result: Option<T>,
    #[serde(default)]
    errors: Option<Vec<ApiError>>,
    #[serde(default)]
    result_info: Option<ResultInfo>,
}

#[derive(Deserialize)]
struct Errors {
    #[serde(default)]
    errors: Option<Vec<ApiError>>,
}

// === impl Client ===

impl Client {
    /// A client; white space around the token is dropped.
    pub fn new(http: reqwest::Client, settings: &Settings, budget: Arc<Budget>) -> Self {
        Self {
            http,
            base: settings.base_url.trim_end_matches('/').to_owned(),
            token: SecretString::from(settings.token.expose_secret().trim()),
            budget,
            reads: ReadTries { tries: settings.read_tries, patience: settings.patience },
            budget_patience: settings.budget_patience,
            fence: settings.fence.clone(),
            meter: settings.meter.clone(),
            timeout: settings.timeout,
        }
    }

    /// How many requests are left in this window.
    pub fn budget_left(&self) -> usize {
        self.budget.left()
    }

    /// Sends a request that changes nothing, and again where an answer is lost.
    pub async fn read<T: DeserializeOwned>(
        &self,
        path: String,
        purpose: Purpose,
    ) -> Result<Reply<T>, Failure> {
        let request = Request { method: Method::GET, path, body: None, purpose };
        let mut pause = Duration::from_millis(100);
        for _ in 1..self.reads.tries {
            match self.send(&request).await {
                Err(Failure::Lost { .. } | Failure::NotSent { .. }) => tokio::time::sleep(pause).await,
                // The budget is blocked for as long as Cloudflare asks: the next try waits for it.
                Err(Failure::RateLimited { after }) if after <= self.reads.patience => {
                    tracing::warn!(seconds = after.as_secs(), "Cloudflare's rate limit is reached; waiting");
                }
                answer => return answer,
            }
            pause *= 3;
        }
        self.send(&request).await
    }

    /// Sends a request once.
    #[tracing::instrument(level = "debug", name = "request", skip_all, fields(method = %request.method, path = request.path))]
    pub async fn send<T: DeserializeOwned>(&self, request: &Request) -> Result<Reply<T>, Failure> {
        match zone_of(&request.path) {
            Some(zone) => {
                let allowed = self.budget.acquire_for(zone, request.purpose, self.budget_patience).await;
                allowed.map_err(|after| Failure::OverBudget { after })?;
            }
            None => self.budget.acquire(request.purpose).await,
        }
        let begun = Instant::now();
        let answer = self.exchange(request).await;
        let outcome = match &answer {
            Ok(_) => Outcome::Success,
            Err(Failure::Refused { .. }) => Outcome::Refused,
            Err(Failure::RateLimited { .. }) => Outcome::RateLimited,
            Err(Failure::OverBudget { .. } | Failure::NotSent { .. } | Failure::Lost { .. }) => Outcome::Lost,
        };
        self.meter.request(method_name(&request.method), outcome, begun.elapsed());
        answer
    }

    async fn exchange<T: DeserializeOwned>(&self, request: &Request) -> Result<Reply<T>, Failure> {
        let Some(left) = self.fence.time_left() else {
            let message = "this process is not the leader any more; the new one goes on".into();
            return Err(Failure::NotSent { message });
        };
        let url = format!("{}{}", self.base, request.path);
        let mut builder = self
            .http
            .request(request.method.clone(), url)
            .timeout(self.timeout.min(left))
            .bearer_auth(self.token.expose_secret());
        if let Some(body) = &request.body {
            builder = builder.json(body);
        }
        let response = builder.send().await.map_err(|error| self.transport(error))?;
        let status = response.status();
        if status == StatusCode::TOO_MANY_REQUESTS {
            let after = retry_after(response.headers());
            self.budget.block(after);
            return Err(Failure::RateLimited { after });
        }
        if let Some(header) = response.headers().get("ratelimit").and_then(|value| value.to_str().ok()) {
            self.budget.correct(header);
        }
        let body = self.body(response).await?;
        self.understand(status, &body)
    }

    /// The body of an answer, unless it is too large to be one of Cloudflare's.
    async fn body(&self, mut response: Response) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.transport(error))? {
            if body.len() + chunk.len() > LARGEST_ANSWER {
                let message = format!("{} sent more than {LARGEST_ANSWER} bytes", self.base);
                return Err(Failure::Lost { message });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// What an answer means.
    #[doc(hidden)]
    pub fn understand<T: DeserializeOwned>(
        &self,
        status: StatusCode,
        body: &[u8],
    ) -> Result<Reply<T>, Failure> {
        if status.is_server_error() {
            return Err(Failure::Lost { message: self.excerpt(status, body) });
        }
        if status.is_success() {
            return match serde_json::from_slice::<Envelope<T>>(body) {
                Ok(Envelope { success: true, result: Some(result), result_info, .. }) => {
                    Ok(Reply { result, info: result_info })
                }
                Ok(Envelope { success: true, result: None, .. }) => {
                    Err(Failure::Lost { message: "an answer without a result".into() })
                }
                // Seen in the field: a refusal under HTTP 200 (2026-11).
                Ok(Envelope { success: false, errors, .. }) => Err(self.refused(status, errors)),
                Err(_) => match serde_json::from_slice::<Envelope<Value>>(body) {
                    Ok(Envelope { success: false, errors, .. }) => Err(self.refused(status, errors)),
                    Ok(_) | Err(_) => Err(Failure::Lost { message: self.excerpt(status, body) }),
                },
            };
        }
        match (serde_json::from_slice::<Errors>(body), status) {
            (Ok(Errors { errors }), _) => Err(self.refused(status, errors)),
            (Err(_), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::PAYLOAD_TOO_LARGE) => {
                let message = self.excerpt(status, body);
                Err(self.refused(status, Some(vec![ApiError { code: 0, message, error_chain: Vec::new() }])))
            }
            // Not Cloudflare's words: something else answered in its place.
            (Err(_), _) => Err(Failure::Lost { message: self.excerpt(status, body) }),
        }
    }

    fn refused(&self, status: StatusCode, errors: Option<Vec<ApiError>>) -> Failure {
        let mut flat = Vec::new();
        for mut error in errors.unwrap_or_default() {
            let chain = std::mem::take(&mut error.error_chain);
            flat.extend(std::iter::once(error).chain(chain));
        }
        for error in &mut flat {
            error.message = self.scrub(&error.message).chars().take(LONGEST_MESSAGE).collect();
        }
        Failure::Refused { status: status.as_u16(), errors: flat }
    }

    fn transport(&self, error: reqwest::Error) -> Failure {
        let message = self.scrub(&cause(&error));
        match error.is_connect() || error.is_builder() {
            true => Failure::NotSent { message: format!("can't connect to {}: {message}", self.base) },
            false => Failure::Lost { message: format!("no answer from {}: {message}", self.base) },
        }
    }

    fn excerpt(&self, status: StatusCode, body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body);
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut excerpt: String = self.scrub(&words.join(" ")).chars().take(EXCERPT).collect();
        if excerpt.is_empty() {
            excerpt = "no text".into();
        }
        format!("HTTP {}: {excerpt}", status.as_u16())
    }

    /// Whatever a server echoes, the token never gets further than this.
    fn scrub(&self, text: &str) -> String {
        match self.token.expose_secret() {
            "" => text.to_owned(),
            token => text.replace(token, "[token]"),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("base", &self.base).finish_non_exhaustive()
    }
}

/// What happened: reqwest's own message repeats the URL or says little, and its last source names the cause.
pub(super) fn cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), cause)
}

/// The id of the zone that a request is about.
fn zone_of(path: &str) -> Option<&str> {
    let id = path.strip_prefix("/zones/")?.split(['/', '?']).next()?;
    Some(id).filter(|id| !id.is_empty())
}

fn method_name(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        _other => "OTHER",
    }
}

fn retry_after(headers: &HeaderMap) -> Duration {
    let seconds =
        headers.get("retry-after").and_then(|value| value.to_str().ok()).and_then(|text| text.parse().ok());
    seconds.map_or(BLIND_WAIT, |seconds| Duration::from_secs(seconds).min(LONGEST_WAIT))
}
