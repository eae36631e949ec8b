//! The `zonekeeper` binary.

use std::process::ExitCode;

use clap::{Parser, error::ErrorKind};
use zonekeeper::{
    address_source::limits,
    commands::{Cli, say},
};
use zonekeeper_providers::tls;

fn main() -> ExitCode {
    // A worker limits itself before anything else: no runtime, no environment, no log.
    if std::env::args_os().nth(1).is_some_and(|word| word == limits::SUBCOMMAND) {
        return limits::work();
    }
    run()
}

#[tokio::main]
async fn run() -> ExitCode {
    tls::set_up();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let is_answer = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            // If this fails, too, there is no other place to say it. Exit code 2 means changes, so a wrong call is 1.
            let _ = error.print();
            return if is_answer { ExitCode::SUCCESS } else { ExitCode::from(1) };
        }
    };
    let running = match cli.telemetry().start() {
        Ok(running) => running,
        Err(error) => return failed(&error),
    };
    let ended = cli.run().await;
    running.end();
    match ended {
        Ok(ending) => ending.into(),
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    let chain: Vec<String> = error.chain().map(ToString::to_string).collect();
    say::aside(format_args!("error: {}", chain.join(": ")));
    ExitCode::from(1)
}
