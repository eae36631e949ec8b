//! One reply in five is lost, before or after the request took effect.

use cloudflare_sim::{Action, Fault};

use crate::workload::{Registry, Wishes, Workload};

async fn one_in_five(name: &str, registry: Registry) {
    let workload = Workload::new(name, registry).await;
    workload.run_clean().await;
    workload.lab.run();
    let (mut wishes, mut lost) = (Wishes::First, 0);
    for seed in 1..=5 {
        wishes = wishes.other();
        let mark = workload.lab.mark();
        workload.lab.sim.faults(vec![
            Fault::fraction(0.1, seed, Action::Cut),
            Fault::fraction(0.1, seed + 100, Action::Cut).after(),
        ]);
        workload.wish(wishes).await;
        workload.wait_done(wishes).await;
        workload.lab.sim.faults(Vec::new());
        let cut = workload.lab.sim.journal_since(mark).iter().filter(|entry| entry.status == 0).count();
        lost += cut;
        workload.assert_ends(wishes, mark, &format!("seed {seed}, {cut} replies lost")).await;
    }
    // A handful of requests may well get through.
    assert!(lost > 0, "replies were lost");
}

#[tokio::test]
async fn one_reply_in_five_is_lost_with_comment_markers() {
    one_in_five("lost-comment", Registry::Comment).await;
}

#[tokio::test]
async fn one_reply_in_five_is_lost_with_txt_markers() {
    one_in_five("lost-txt", Registry::Txt).await;
}
