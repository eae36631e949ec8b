//! The figures in BENCHMARKS.md: planning in memory, calls at the simulator, a cold plan beside a peer, and
//! the operator on a real API server.
//!
//! `make bench` runs it in release mode. Each planning figure comes from a process of its own, so that its
//! peak memory is its own.

mod calls;
mod cold;
mod operator;
mod planning;
mod sources;

use std::process::Command;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, records, change] = arguments.as_slice()
        && mode == "plan"
    {
        return planning::measure(records.parse()?, change.parse()?);
    }
    if let [mode, parts @ ..] = arguments.as_slice()
        && mode == "operator"
    {
        return operator::measure(parts).await;
    }
    if let [mode, parts @ ..] = arguments.as_slice()
        && mode == "sources"
    {
        return sources::measure(parts).await;
    }
    println!("## Planning\n");
    println!("Live and desired in memory, comment markers signed and verified; one thread.\n");
    println!("| records | change | plan | changes | peak memory of the process |\n|---|---|---|---|---|");
    for records in [10_000, 100_000, 1_000_000] {
        for change in planning::Change::ALL {
            let arguments = ["plan".to_owned(), records.to_string(), change.to_string()];
            let output = Command::new(std::env::current_exe()?).args(arguments).output()?;
            anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            print!("{}", String::from_utf8(output.stdout)?);
        }
    }
    println!("\nOne changed name in a zone of 100,000 records: {}\n", planning::one_name(100_000)?);
    calls::measure().await?;
    cold::measure().await?;
    operator::measure(&[]).await?;
    sources::measure(&[]).await
}
