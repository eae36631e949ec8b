//! The figures in BENCHMARKS.md: planning in memory, calls at the simulator, a cold plan beside a peer, the
//! operator on a real API server, source objects beside ExternalDNS, and the operator on BIND.
//!
//! `make bench` runs it in release mode. Each planning figure comes from a process of its own, so that its
//! peak memory is its own. `bench operator`, `bench sources` and `bench rfc2136` run one part, and parts of it by name.

mod calls;
mod cold;
mod operator;
mod planning;
mod rfc2136;
mod sources;

use std::process::Command;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (mode, parts) = arguments.split_first().map_or(("", &[][..]), |(mode, parts)| (mode.as_str(), parts));
    match (mode, parts) {
        ("plan", [records, change]) => planning::measure(records.parse()?, change.parse()?),
        ("operator", parts) => operator::measure(parts).await,
        ("sources", parts) => sources::measure(parts).await,
        ("rfc2136", parts) => rfc2136::measure(parts).await,
        _everything => everything().await,
    }
}

async fn everything() -> anyhow::Result<()> {
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
    sources::measure(&[]).await?;
    rfc2136::measure(&[]).await
}
