//! API calls to create, change and delete 10,000 records, beside the smallest number there can be.

use std::time::Instant;

use cloudflare_sim::Plan;
use zonekeeper_tests::{
    stage::{AtCloudflare, Marks, Stage},
    wish::{Wish, want},
};

const RECORDS: usize = 10_000;
/// Operations in one batch on a paid plan, and records on one page.
const BATCH: usize = 3_500;
const PAGE: usize = 5_000;

/// Prints the table.
pub async fn measure() -> anyhow::Result<()> {
    println!("## Calls\n");
    println!(
        "{RECORDS} records on a paid plan at the simulator; reads are what the design asks for: a listing at the"
    );
    println!("start, and one read before deletes.\n");
    println!("| job | calls | minimum: writes + reads | time |\n|---|---|---|---|");
    let at = AtCloudflare::start(Plan::Enterprise).await;
    let writes = RECORDS.div_ceil(BATCH);
    let pages = RECORDS.div_ceil(PAGE);
    row("create", &at, &wishes(1), writes, 1).await?;
    row("change", &at, &wishes(2), writes, pages).await?;
    row("nothing to do", &at, &wishes(2), 0, pages).await?;
    row("delete", &at, &[], writes, 2 * pages).await?;
    println!();
    Ok(())
}

async fn row(
    job: &str,
    at: &AtCloudflare,
    wishes: &[Wish],
    writes: usize,
    reads: usize,
) -> anyhow::Result<()> {
    let mut stage: Stage = at.stage(Marks::Comment).await;
    let (before, begun) = (at.sim.requests(), Instant::now());
    let pass = stage.sync(wishes).await?;
    anyhow::ensure!(pass.failed.is_empty() && pass.verdict.held.is_empty(), "{job} goes through");
    let calls = at.sim.requests() - before;
    let seconds = begun.elapsed().as_secs_f64();
    println!("| {job} | {calls} | {writes} + {reads} = {} | {seconds:.2} s |", writes + reads);
    Ok(())
}

fn wishes(version: u8) -> Vec<Wish> {
    (0..RECORDS)
        .map(|index| want("A", &format!("host-{index}"), [&format!("192.0.2.{version}")]).ttl(300))
        .collect()
}
