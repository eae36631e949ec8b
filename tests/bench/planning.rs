//! How long planning takes, and how much memory.

use std::{
    collections::BTreeSet,
    fmt,
    str::FromStr,
    time::{Duration, Instant},
};

use zonekeeper_kernel::{
    attribute::Attributes,
    capability::Capabilities,
    claim::{Known, marked_comment},
    desired::{Adoption, Desired, DesiredSet, Values, Wanted},
    holder::Holder,
    marker::Registry,
    name::Name,
    plan::{Evidence, Plan, Scope, Settled, Situation, plan},
    rdata::{Rdata, RecordType},
    record::{Live, LiveRecord, RecordId, Ttl},
    zone::Rules,
};
use zonekeeper_providers::cloudflare;
use zonekeeper_tests::stage::{Marks, domain, registry};

/// What differs between live and desired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    One,
    Hundredth,
    AllNew,
}

struct Zone {
    desired: Desired,
    live: Live,
    registry: Registry,
    capabilities: Capabilities,
}

// === impl Change ===

impl Change {
    pub const ALL: [Self; 3] = [Self::One, Self::Hundredth, Self::AllNew];

    fn concerns(self, index: usize) -> bool {
        match self {
            Self::One => index == 0,
            Self::Hundredth => index.is_multiple_of(100),
            Self::AllNew => true,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::One => "1 changed",
            Self::Hundredth => "1 % changed",
            Self::AllNew => "all new",
        })
    }
}

impl FromStr for Change {
    type Err = anyhow::Error;
    fn from_str(text: &str) -> anyhow::Result<Self> {
        let found = Self::ALL.into_iter().find(|change| change.to_string() == text);
        found.ok_or_else(|| anyhow::anyhow!("no such change: {text}"))
    }
}

// === impl Zone ===

impl Zone {
    fn new(records: usize, change: Change) -> anyhow::Result<Self> {
        let registry = registry(Marks::Comment, Some(500));
        let capabilities = cloudflare::capabilities(60, 100);
        let (mut desired, mut live) = (Desired::default(), Live::default());
        for index in 0..records {
            let name = Name::parse(&format!("host-{index:07}.example.com"))?;
            let holder = Holder::new("recordset", "default", &format!("host-{index:07}"));
            let [_, a, b, c] = u32::try_from(index)?.to_be_bytes();
            let address = |first: u8| Rdata::parse(RecordType::A, &format!("{first}.{a}.{b}.{c}"));
            let differs = change.concerns(index);
            if change != Change::AllNew {
                let (comment, _) = marked_comment(&registry, (&name, RecordType::A), &holder, "");
                let record = LiveRecord {
                    rdata: address(10)?,
                    id: RecordId(format!("{index:032x}").into()),
                    ttl: Ttl(300),
                    attributes: Attributes::default(),
                    comment,
                    read_only: false,
                };
                live.insert(name.clone(), record);
            }
            let rdata = address(if differs { 11 } else { 10 })?;
            let set = DesiredSet {
                rtype: RecordType::A,
                values: Values::Known(vec![Wanted { rdata, holder: holder.clone() }]),
                ttl: Ttl(300),
                attributes: Attributes::default(),
                comment: None,
                adoption: Adoption::Identical,
                holders: vec![holder],
            };
            desired.insert(name, set);
        }
        Ok(Self { desired, live, registry, capabilities })
    }

    fn plan(&self, scope: Scope<'_>) -> (Plan, Duration) {
        let situation = Situation {
            desired: &self.desired,
            live: &self.live,
            registry: &self.registry,
            known: &Known::Nothing,
            rules: &Rules::default(),
            capabilities: &self.capabilities,
            evidence: &Evidence::complete(),
            settled: &Settled::default(),
        };
        let begun = Instant::now();
        let plan = plan(&situation, scope);
        (plan, begun.elapsed())
    }
}

/// Prints one row of the table.
pub fn measure(records: usize, change: Change) -> anyhow::Result<()> {
    let zone = Zone::new(records, change)?;
    let (plan, elapsed) = zone.plan(Scope::Zone);
    let milliseconds = elapsed.as_secs_f64() * 1e3;
    println!(
        "| {records} | {change} | {milliseconds:.1} ms | {} | {} MiB |",
        plan.changes.len(),
        peak_memory()? / 1024
    );
    Ok(())
}

/// How long planning for one name takes, the best and the median of many.
pub fn one_name(records: usize) -> anyhow::Result<String> {
    let zone = Zone::new(records, Change::One)?;
    let names = BTreeSet::from([Name::parse("host-0000000.example.com")?]);
    let mut times: Vec<Duration> = (0..1_001).map(|_| zone.plan(Scope::Names(&names)).1).collect();
    times.sort();
    let is_within = zone.plan(Scope::Names(&names)).0.changes.len() == 1 && domain() == zone.registry.domain;
    anyhow::ensure!(is_within, "one change is planned");
    let median = times[times.len() / 2].as_secs_f64() * 1e6;
    let worst = times[times.len() - 1].as_secs_f64() * 1e6;
    Ok(format!("{median:.1} µs (median of {}), {worst:.1} µs at worst", times.len()))
}

/// Kibibytes that this process ever held in memory at once.
fn peak_memory() -> anyhow::Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    Ok(number.ok_or_else(|| anyhow::anyhow!("no VmHWM in /proc/self/status"))?.parse()?)
}
