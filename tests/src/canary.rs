//! What is secret in every lab, and must be shown nowhere: in no log, status, Event, metric or output.

use cloudflare_sim::{Sim, TokenGrant};
use data_encoding::BASE64;

/// The token of every lab.
pub const TOKEN: &str = "canary-token-canary-token-canary-token-1";
/// How every TSIG secret of a lab begins; it is base64 by itself.
pub const TSIG: &str = dns_servers::CANARY;

/// Has a simulator take the token.
pub fn token(sim: &Sim) -> String {
    assert!(sim.accept_token(TOKEN, TokenGrant::full()), "it is shaped like a token");
    TOKEN.to_owned()
}

/// Panics where a text shows a secret.
#[track_caller]
pub fn assert_hidden(place: &str, text: &str) {
    // The last characters of its base64 depend on what follows.
    let encoded = BASE64.encode(TOKEN.as_bytes());
    for secret in [TOKEN, &encoded[..48], TSIG] {
        if let Some(at) = text.find(secret) {
            let from = text[..at].char_indices().rev().nth(300).map_or(0, |(index, _)| index);
            panic!("{place} shows a secret: ...{}", &text[from..at + secret.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_found() {
        assert_hidden("a log", "a token, canary");
        let base64 = BASE64.encode(format!("{TOKEN}\n").as_bytes());
        for shown in [TOKEN, &base64, &dns_servers::Key::new("a").secret] {
            let text = format!("a log with {shown} in it");
            assert!(std::panic::catch_unwind(|| assert_hidden("a log", &text)).is_err(), "{shown}");
        }
    }
}
