//! The request budget, rate limits, and the token that never gets out.

use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::support::{Answer, At, Stub, TOKEN, all_applied, cleared, create, domain, provider};
use cloudflare_sim::{Action, Config, Fault, Plan, Sim, TokenGrant, token_hash};
use secrecy::SecretString;
use serde_json::json;
use tracing::{Event, Metadata, Subscriber, field::Field, span};
use zonekeeper_providers::{
    Outcome, Provider, ProviderError, ZoneAccess,
    cloudflare::{
        Cloudflare, Settings,
        budget::{Budget, Budgets, Purpose, Rate},
    },
};

#[tokio::test]
async fn the_default_budget_is_1000_in_5_minutes_and_the_default_url_cloudflares() {
    let settings = Settings::new(SecretString::from(TOKEN));
    assert_eq!(settings.rate, Rate { requests: 1_000, window: Duration::from_secs(300) });
    assert_eq!(settings.base_url, "https://api.cloudflare.com/client/v4");
}

#[tokio::test]
async fn a_429_is_understood_and_obeyed_and_nothing_was_written() {
    let at = At::plan(Plan::Free).await;
    at.sim.faults(vec![Fault::nth_write(1, Action::RateLimited { retry_after: 2 })]);
    let begun = tokio::time::Instant::now();
    let outcomes = at.apply(vec![create("A", "www", "192.0.2.1"), create("A", "api", "192.0.2.1")]).await;
    for outcome in &outcomes {
        let Outcome::NotSent(ProviderError::RateLimited { after, message }) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(*after, Duration::from_secs(2));
        // How long is in `after`: a message that changed each time would be told each time.
        assert!(message.contains("rate limit") && !message.contains("2 s"), "{message}");
    }
    let requests = at.sim.requests();
    // Whoever goes on at once waits first, in the same process and for the same token.
    all_applied(&at.apply(vec![create("A", "www", "192.0.2.1")]).await);
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!(at.sim.requests() - requests, 1);
}

#[tokio::test]
async fn the_page_of_error_1015_and_other_429s_are_understood() {
    for answer in [
        || Answer::html(429, "<html>Error 1015: You are being rate limited</html>"),
        || Answer::error(429, 971, "Please wait and consider throttling your request speed"),
        || Answer::html(429, ""),
        || Answer::html(429, "").header("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"),
    ] {
        let stub = Stub::start(move |_| answer()).await;
        let error = provider(&stub.url(), |_| {}).open(&domain(), None).await.unwrap_err();
        assert_eq!(error.reason(), "RateLimited");
        let ProviderError::RateLimited { after, .. } = error else { panic!("{error}") };
        assert_eq!(after, Duration::from_secs(60), "without a number we wait a minute");
        assert_eq!(stub.asked().len(), 1, "and do not ask again meanwhile");
    }
}

#[tokio::test]
async fn absurd_headers_neither_crash_nor_block_for_ever() {
    for (header, value) in [("retry-after", "18446744073709551615"), ("retry-after", "99999999999")] {
        let stub = Stub::start(move |_| Answer::html(429, "").header(header, value)).await;
        let error = provider(&stub.url(), |_| {}).open(&domain(), None).await.unwrap_err();
        let ProviderError::RateLimited { after, .. } = error else { panic!("{error}") };
        assert!(after <= Duration::from_secs(3_600), "{after:?}");
    }
    for value in ["\"default\";r=50;t=18446744073709551615", "\"x\";r=-1;t=-1", "r=;t=", ";;;"] {
        let stub = Stub::start(move |_| Answer::zone("free").header("ratelimit", value)).await;
        provider(&stub.url(), |_| {}).open(&domain(), None).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_header_that_asks_for_an_age_is_not_believed() {
    let budget = Budget::new(Rate { requests: 10, window: Duration::from_secs(300) });
    budget.correct("\"default\";r=0;t=18446744073709551615");
    tokio::time::timeout(Duration::from_secs(3_601), budget.acquire(Purpose::Change)).await.unwrap();
}

#[tokio::test]
async fn the_servers_own_limit_is_never_passed() {
    // The server allows 10 in a window; our own budget would allow far more.
    let sim = Sim::start(Config { rate_limit: 10, rate_window: Duration::from_secs(2), ..Config::default() })
        .await
        .unwrap();
    sim.zone("example.com", Plan::Enterprise);
    assert!(sim.accept_token(TOKEN, TokenGrant::full()));
    let access = provider(&sim.base_url(), |settings| settings.batch_limit = Some(1))
        .open(&domain(), None)
        .await
        .unwrap();
    let changes = (0..15).map(|i| create("A", &format!("host-{i}"), "192.0.2.1")).collect();
    all_applied(&access.apply(&cleared(changes), &|_| {}).await);
    assert!(
        sim.journal().iter().all(|entry| entry.status != 429),
        "the header was heeded before it was too late"
    );
}

#[tokio::test]
async fn white_space_around_the_token_is_dropped() {
    let sim = Sim::start(Config::unlimited()).await.unwrap();
    sim.zone("example.com", Plan::Free);
    assert!(sim.accept_token(TOKEN, TokenGrant::full()));
    let budgets = Budgets::default();
    for token in [format!("{TOKEN}\n"), format!("  {TOKEN}\r\n"), format!("\t{TOKEN} ")] {
        let settings = Settings { base_url: sim.base_url(), ..Settings::new(SecretString::from(token)) };
        Cloudflare::new(settings, &budgets).unwrap().open(&domain(), None).await.unwrap();
    }
    assert!(sim.journal().iter().all(|entry| entry.token_hash == Some(token_hash(TOKEN))));
    for empty in ["", " \n"] {
        let error = Cloudflare::new(Settings::new(SecretString::from(empty)), &budgets).unwrap_err();
        assert_eq!(error.reason(), "CredentialsInvalid");
        assert!(error.to_string().contains("DNS:Edit"), "{error}");
    }
}

#[tokio::test]
async fn a_token_that_no_header_can_carry_is_refused_and_not_shown() {
    let token = format!("{TOKEN}\u{1}{TOKEN}");
    let stub = Stub::start(|_| Answer::zone("free")).await;
    let settings =
        Settings { base_url: stub.url(), read_tries: 1, ..Settings::new(SecretString::from(token)) };
    let text = match Cloudflare::new(settings, &Budgets::default()) {
        Err(error) => error.to_string(),
        Ok(provider) => provider.open(&domain(), None).await.unwrap_err().to_string(),
    };
    assert!(!text.contains("canary"), "{text}");
    assert_eq!(stub.asked().len(), 0);
}

/// Collects everything that is logged, at every level, by every crate.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<String>>);

impl Logged {
    fn note(&self, value: &dyn Debug) {
        self.0.lock().unwrap().push_str(&format!("{value:?}\n"));
    }
}

impl tracing::field::Visit for Logged {
    fn record_debug(&mut self, _field: &Field, value: &dyn Debug) {
        self.note(value);
    }
}

impl Subscriber for Logged {
    fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        span.record(&mut self.clone());
        span::Id::from_u64(1)
    }

    fn record(&self, _span: &span::Id, values: &span::Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _span: &span::Id, _follows: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _span: &span::Id) {}

    fn exit(&self, _span: &span::Id) {}
}

/// Whatever a server echoes, and wherever it does, the token is in no error, no Debug text and no log line.
#[tokio::test]
async fn the_token_never_gets_out() {
    let logged = Logged::default();
    let _guard = tracing::subscriber::set_default(logged.clone());
    let echoes: [fn(&str) -> Answer; 8] = [
        |echo| Answer::error(400, 9007, &format!("Content {echo} is invalid")),
        |echo| Answer::error(403, 10000, echo),
        |echo| {
            Answer::json(
                400,
                json!({"success": false, "errors": [{"code": 6003, "message": "x",
            "error_chain": [{"code": 6111, "message": echo}]}]}),
            )
        },
        |echo| Answer::json(200, json!({"success": false, "errors": [{"code": 1, "message": echo}]})),
        |echo| Answer::html(403, &format!("<html>{}{echo}</html>", "y".repeat(170))),
        |echo| Answer::html(502, &format!("<html>{echo}</html>")),
        |echo| Answer::html(200, &format!("<html>{echo}</html>")),
        |echo| Answer::html(429, echo),
    ];
    let mut texts = String::new();
    for echo in echoes {
        let stub = Stub::start(move |asked| match asked.path.contains("dns_records") {
            true => echo(&asked.authorization),
            false => Answer::zone("free"),
        })
        .await;
        let provider = provider(&stub.url(), |settings| settings.read_tries = 1);
        let access: Arc<dyn ZoneAccess> = provider.open(&domain(), None).await.unwrap();
        let outcomes = access.apply(&cleared(vec![create("A", "www", "192.0.2.1")]), &|_| {}).await;
        texts.push_str(&format!("{provider:?} {access:?} {outcomes:?} {}", outcomes[0].error().unwrap()));
        // A 429 blocks the budget; a new provider has a budget of its own.
        let access = crate::support::provider(&stub.url(), |settings| settings.read_tries = 1)
            .open(&domain(), None)
            .await
            .unwrap();
        let error = access.list().await.unwrap_err();
        texts.push_str(&format!("{error} {error:?}"));
        assert!(
            stub.asked().iter().all(|asked| asked.authorization == format!("Bearer {TOKEN}")),
            "the stub did see it"
        );
    }
    texts.push_str(&format!("{:?}", Settings::new(SecretString::from(TOKEN))));
    assert!(!texts.contains("canary"), "{texts}");
    assert!(texts.contains("[token]"), "where it was, there is a word in its place");
    let logged = logged.0.lock().unwrap();
    assert!(!logged.contains("canary"), "{logged}");
}
