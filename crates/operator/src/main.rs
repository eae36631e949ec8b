//! The `zonekeeper` binary.

use std::process::ExitCode;

use clap::{Parser, error::ErrorKind};
use tracing_subscriber::EnvFilter;
use zonekeeper::commands::{Cli, say};

#[tokio::main]
async fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let is_answer = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            // Nobody is left to tell if this fails too. Exit code 2 means changes, so a wrong call is 1.
            let _ = error.print();
            return if is_answer { ExitCode::SUCCESS } else { ExitCode::from(1) };
        }
    };
    let level = if cli.is_service() { "info" } else { "warn" };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match cli.is_service() {
        true => log.json().flatten_event(true).init(),
        false => log.init(),
    }
    match cli.run().await {
        Ok(ending) => ending.into(),
        Err(error) => {
            let chain: Vec<String> = error.chain().map(ToString::to_string).collect();
            say::aside(format_args!("error: {}", chain.join(": ")));
            ExitCode::from(1)
        }
    }
}
