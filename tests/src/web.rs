//! A tiny HTTP server whose answer a test decides, and which remembers what it was asked; a client for other servers.

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// A client as the program makes them.
pub fn client() -> reqwest::Client {
    zonekeeper_providers::tls::set_up();
    reqwest::Client::new()
}

/// Stops with the test's runtime.
#[derive(Clone)]
pub struct Web {
    port: u16,
    state: Arc<Mutex<State>>,
}

struct State {
    answer: Answer,
    requests: Vec<String>,
}

#[derive(Clone)]
pub enum Answer {
    Text(u16, String),
    Redirect(String),
    /// One redirect, then this text.
    RedirectOnce(String, String),
    /// A redirect that keeps method and body.
    MovedWithBody(String),
    /// The connection stays open and silent.
    Silence,
}

impl Web {
    pub async fn start(answer: Answer) -> Self {
        Self::at("127.0.0.1", answer).await
    }

    /// On another address of the loopback network.
    pub async fn at(host: &str, answer: Answer) -> Self {
        let listener = TcpListener::bind((host, 0)).await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(Mutex::new(State { answer, requests: Vec::new() }));
        let web = Self { port, state };
        let served = web.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(served.clone().serve(stream));
            }
        });
        web
    }

    /// Answers 200 with this text.
    pub async fn saying(text: &str) -> Self {
        Self::start(Answer::Text(200, text.into())).await
    }

    pub fn answer(&self, answer: Answer) {
        self.state.lock().expect("no panic").answer = answer;
    }

    pub fn url(&self) -> String {
        self.url_at("127.0.0.1")
    }

    pub fn url_at(&self, host: &str) -> String {
        format!("http://{host}:{}/", self.port)
    }

    /// Every request so far, head and body.
    pub fn requests(&self) -> Vec<String> {
        self.state.lock().expect("no panic").requests.clone()
    }

    async fn serve(self, mut stream: TcpStream) {
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(read) => request.extend_from_slice(&buffer[..read]),
            }
            if is_complete(&request) {
                break;
            }
        }
        let answer = {
            let mut state = self.state.lock().expect("no panic");
            state.requests.push(String::from_utf8_lossy(&request).into_owned());
            let answer = state.answer.clone();
            if let Answer::RedirectOnce(_, text) = &answer {
                state.answer = Answer::Text(200, text.clone());
            }
            answer
        };
        let reply = match answer {
            Answer::Text(status, body) => {
                format!(
                    "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                )
            }
            Answer::Redirect(to) | Answer::RedirectOnce(to, _) => redirect(302, &to),
            Answer::MovedWithBody(to) => redirect(307, &to),
            Answer::Silence => return std::future::pending().await,
        };
        // A client that went away is no concern of ours.
        let _ = stream.write_all(reply.as_bytes()).await;
        let _ = stream.shutdown().await;
    }
}

fn redirect(status: u16, to: &str) -> String {
    format!("HTTP/1.1 {status} X\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

fn is_complete(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse::<usize>().ok());
    body.len() >= length.unwrap_or(0)
}
