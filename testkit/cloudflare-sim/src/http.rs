//! The server: accepts connections, lets faults strike, and turns requests into replies.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    body::Body,
    extract::{FromRequest, Multipart},
};
use bytes::Bytes;
use futures::stream::{self, StreamExt};
use hyper::{
    Request, Response,
    body::Incoming,
    header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, RETRY_AFTER},
    http::request::Parts,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};

use crate::{
    api::{self, BASE, Call},
    auth::{self, Actor},
    control,
    error::{Failure, Outcome},
    fault::{Action, Verdict, When},
    journal::{EntryKind, Line},
    knobs::RateLimitCode,
    query::Query,
    rate::Allowance,
    record::Effect,
    reply::Reply,
    shift,
    world::World,
};

/// The connection ends without a reply.
#[derive(Debug)]
struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("cut by the fault plan")
    }
}

impl std::error::Error for Cut {}

pub type Shared = Arc<Mutex<World>>;

/// A panic elsewhere must not hide the state from the test that wants to look at it.
pub fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs until `stop` changes or its sender is gone; open connections end with it.
pub async fn serve(listener: TcpListener, world: Shared, mut stop: watch::Receiver<()>) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.changed() => return,
        };
        if let Ok((stream, _)) = accepted {
            tokio::spawn(connection(stream, world.clone(), stop.clone()));
        }
    }
}

async fn connection(stream: TcpStream, world: Shared, mut stop: watch::Receiver<()>) {
    // Without it, small replies wait for the client's delayed acknowledgement.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| answer(world.clone(), request));
    let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        _ = serving => {}
        _ = stop.changed() => {}
    }
}

async fn answer(world: Shared, request: Request<Incoming>) -> Result<Response<Body>, Cut> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(Body::new(body), usize::MAX).await.map_err(|_| Cut)?;
    if !parts.uri.path().starts_with(BASE) {
        let reply = control::answer(&mut lock(&world), &parts, &body);
        return Ok(response(reply, None));
    }
    let form = form(&parts, &body).await;
    let is_write = parts.method != hyper::Method::GET;
    let verdict = lock(&world).faults.judge(is_write, parts.uri.path());
    if verdict.latency > 0 {
        tokio::time::sleep(Duration::from_millis(verdict.latency)).await;
    }
    if verdict.hold == Some(When::Before) {
        hold(&world).await;
    }
    let (reply, allowance) = handle(&mut lock(&world), &parts, body, &form, &verdict);
    if verdict.hold == Some(When::After) {
        hold(&world).await;
    }
    match verdict.strike {
        Some((_, Action::Cut)) => Err(Cut),
        Some((_, Action::CutMidBody)) => Ok(half(response(reply.clone(), Some(allowance)), &reply.body)),
        _ => {
            let mut response = response(reply, Some(allowance));
            if is_write {
                response.headers_mut().insert("cf-auditlog-id", HeaderValue::from_static("simulated"));
            }
            Ok(response)
        }
    }
}

/// Waits for the test; when the client goes away, hyper drops the request here, and it never takes effect.
async fn hold(world: &Shared) {
    let held = lock(world).gate.hold();
    held.released().await;
}

/// One request against the locked state: rate limit, endpoint, faults, journal.
fn handle(
    world: &mut World,
    parts: &Parts,
    body: Bytes,
    form: &BTreeMap<String, Bytes>,
    verdict: &Verdict,
) -> (Reply, Allowance) {
    world.requests += 1;
    world.writes += usize::from(parts.method != hyper::Method::GET);
    let actor = auth::identify(world, &parts.headers);
    let now = world.clock.elapsed();
    let allowance = match &actor {
        Ok(actor) => world.rate.count(&actor.hash, now),
        Err(_) => world.rate.untouched(),
    };
    let token_hash = actor.as_ref().ok().map(|actor| actor.hash.clone());
    let mut effects = Vec::new();
    let struck = verdict.strike.as_ref();
    let reply = match struck {
        Some((When::Before, action)) if *action != Action::CutMidBody => replaced(action, world),
        _ => {
            let reply = reply(world, parts, &body, form, actor, allowance, &mut effects);
            match struck {
                Some((When::After, action)) if *action != Action::CutMidBody => replaced(action, world),
                _ => reply,
            }
        }
    };
    world.bytes += body.len() + reply.body.len();
    let line = Line {
        kind: EntryKind::Request,
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        body,
        status: if matches!(struck, Some((_, Action::Cut))) { 0 } else { reply.status },
        token_hash,
        effects,
        fault: verdict.shown(),
    };
    world.note(line);
    shift::apply(world, parts.uri.path(), parts.uri.query().unwrap_or_default(), &verdict.shifts);
    (reply, allowance)
}

fn reply(
    world: &mut World,
    parts: &Parts,
    body: &Bytes,
    form: &BTreeMap<String, Bytes>,
    actor: Outcome<Actor>,
    allowance: Allowance,
    effects: &mut Vec<Effect>,
) -> Reply {
    let content_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let outcome = actor.and_then(|actor| {
        if let Some(retry_after) = allowance.retry_after {
            return Err(rate_limited(world, retry_after));
        }
        let call = Call {
            method: parts.method.as_str(),
            path: parts.uri.path(),
            query: Query::parse(parts.uri.query().unwrap_or_default()),
            content_type,
            body,
            form,
            actor: &actor,
        };
        api::answer(world, &call, effects)
    });
    outcome.unwrap_or_else(Reply::from)
}

fn rate_limited(world: &World, retry_after: u64) -> Failure {
    let failure = match world.knobs.rate_limit_code {
        RateLimitCode::Code10429 => Failure::gateway(
            429,
            10429,
            "Rate limited. Please wait and consider throttling your request speed",
        ),
        RateLimitCode::Code971 => {
            Failure::gateway(429, 971, "Please wait and consider throttling your request speed")
        }
    };
    Failure { retry_after: Some(retry_after), ..failure }
}

/// The reply that a fault puts in place of the real one.
fn replaced(action: &Action, world: &World) -> Reply {
    match action {
        Action::RateLimited { retry_after } => rate_limited(world, *retry_after).into(),
        Action::RateLimitedHtml => Reply::html(429, "Error 1015: You are being rate limited"),
        Action::Json(status) => internal(*status).into(),
        Action::Refusal { status, code } => Failure::service(*status, *code, "refused").into(),
        Action::Html(status) => Reply::html(*status, &format!("{status}: error")),
        Action::Empty(status) => Reply::empty(*status),
        Action::Unsuccessful => internal(200).into(),
        Action::Cut | Action::CutMidBody | Action::Latency(_) | Action::Hold | Action::ShiftPages { .. } => {
            Reply::empty(500)
        }
    }
}

/// No capture shows the code; it only must not be one that clients give a meaning.
fn internal(status: u16) -> Failure {
    Failure::service(status, 1, "Internal error, please retry")
}

async fn form(parts: &Parts, body: &Bytes) -> BTreeMap<String, Bytes> {
    let mut fields = BTreeMap::new();
    let content_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !content_type.is_some_and(|kind| kind.starts_with("multipart/")) {
        return fields;
    }
    let request = Request::from_parts(parts.clone(), Body::from(body.clone()));
    if let Ok(mut multipart) = Multipart::from_request(request, &()).await {
        while let Ok(Some(field)) = multipart.next_field().await {
            let name = field.name().unwrap_or_default().to_owned();
            fields.insert(name, field.bytes().await.unwrap_or_default());
        }
    }
    fields
}

fn response(reply: Reply, allowance: Option<Allowance>) -> Response<Body> {
    let mut response = Response::new(Body::from(reply.body));
    *response.status_mut() =
        hyper::StatusCode::from_u16(reply.status).unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(reply.content_type));
    headers.insert("cf-ray", HeaderValue::from_static("0000000000000000-SIM"));
    if let Some(seconds) = reply.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if let Some(allowance) = allowance {
        let values = [
            ("ratelimit", format!("\"default\";r={};t={}", allowance.remaining, allowance.reset)),
            ("ratelimit-policy", allowance.policy()),
        ];
        for (name, value) in values {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        }
    }
    response
}

/// Promises the whole body, sends half of it, and breaks off.
fn half(response: Response<Body>, body: &Bytes) -> Response<Body> {
    let (mut parts, _) = response.into_parts();
    parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    let sent = body.slice(..body.len() / 2);
    let start = stream::once(async move { Ok::<_, std::io::Error>(sent) });
    let stop = stream::once(async {
        // Time for the first half to leave before the connection does.
        tokio::time::sleep(Duration::from_millis(5)).await;
        Err(std::io::Error::other(Cut))
    });
    Response::from_parts(parts, Body::from_stream(start.chain(stop)))
}
