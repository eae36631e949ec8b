//! Traces behind a flag, taken by anything that speaks OTLP over HTTP.

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::support::Lab;

/// A collector that takes everything; what came, request by request.
async fn collector() -> (String, Arc<Mutex<Vec<Vec<u8>>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let taken: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let requests = taken.clone();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let requests = requests.clone();
            tokio::spawn(async move {
                let mut request = Vec::new();
                while let Ok(1..) = connection.read_buf(&mut request).await {
                    if is_complete(&request) {
                        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                        // Whoever asked may be gone.
                        let _ = connection.write_all(answer).await;
                        requests.lock().expect("no panic").push(std::mem::take(&mut request));
                        break;
                    }
                }
            });
        }
    });
    (address, taken)
}

fn is_complete(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some(end) = request.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    request.len() >= end + 4 + length.unwrap_or(0_usize)
}

#[tokio::test]
async fn passes_over_zones_are_traced_where_asked_for() {
    let (address, taken) = collector().await;
    let lab = Lab::ready_to_run("traces").await;
    lab.run_with(&["--otlp-endpoint", &address]);
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    control_plane::eventually("a trace of a pass", control_plane::DEADLINE, async || {
        let taken = taken.lock().expect("no panic");
        let texts: Vec<String> =
            taken.iter().map(|request| String::from_utf8_lossy(request).into_owned()).collect();
        let zone = format!("{}/zone", lab.home.name());
        let is_it = |text: &String| {
            text.starts_with("POST /v1/traces") && text.contains("pass") && text.contains(&zone)
        };
        if texts.iter().any(is_it) { Ok(()) } else { Err(texts.len()) }
    })
    .await;
    // No secret travels with it.
    let taken = taken.lock().expect("no panic");
    assert!(taken.iter().all(|request| !String::from_utf8_lossy(request).contains(&lab.token)));
}
