//! A history that breaks a rule, without the steps that it does not need.

use crate::{
    run::run,
    script::{Step, script},
};

/// How many histories shrinking may take, unless `WORLD_TRIES` says otherwise.
const TRIES: u64 = 1_000;

/// The steps and the history of a seed that breaks a rule, as short as greedy shrinking makes them.
pub fn tell(seed: u64) -> String {
    let rule = run(seed, &script(seed), false).broken.unwrap_or_default();
    let steps = shrink(seed, script(seed), rule.split(':').next().unwrap_or_default());
    let outcome = run(seed, &steps, true);
    let lines = outcome.history.join("\n");
    format!("{} steps are left:\n{lines}\n{}", steps.len(), outcome.broken.unwrap_or_default())
}

fn shrink(seed: u64, mut steps: Vec<Step>, rule: &str) -> Vec<Step> {
    let (mut tries, most) = (0, crate::number("WORLD_TRIES", TRIES));
    let mut size = steps.len() / 2;
    while size > 0 && tries < most {
        let mut at = 0;
        while at < steps.len() && tries < most {
            let end = (at + size).min(steps.len());
            let left_out = steps[at..end].iter().map(|step| step.after).sum::<u64>();
            let mut fewer = [&steps[..at], &steps[end..]].concat();
            // Time passes all the same.
            if let Some(step) = fewer.get_mut(at) {
                step.after += left_out;
            }
            tries += 1;
            match run(seed, &fewer, false).broken {
                Some(broken) if broken.starts_with(rule) => steps = fewer,
                Some(_) | None => at = end,
            }
        }
        size /= 2;
    }
    steps
}
