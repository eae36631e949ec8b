//! SIGKILL before, within and after every write of the workload.

use cloudflare_sim::{Action, Fault, Match, Scope, When, Which};
use control_plane::eventually;

use crate::{
    support::lab::DEADLINE,
    workload::{Registry, Wishes, Workload},
};

/// More writes than this are not needed for what is to be done; only a sweep that never ends has them.
const MOST_WRITES: u64 = 40;

/// When the operator is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The request was sent, and never takes effect.
    BeforeSend,
    /// It has taken effect; the operator does not know.
    AfterApply,
    /// The operator knows, and has begun to act on it.
    AfterReply,
}

/// When the objects change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// While the operator is down: it finds all at once.
    WhileDown,
    /// While it runs: in many small steps.
    WhileUp,
}

// === impl Change ===

impl Change {
    /// When the operator is killed around its nth write. Small steps differ from run to run: there one moment each.
    fn moments(self, n: u64) -> &'static [Moment] {
        match (self, n % 3) {
            (Self::WhileDown, _) => &[Moment::BeforeSend, Moment::AfterApply, Moment::AfterReply],
            (Self::WhileUp, 0) => &[Moment::BeforeSend],
            (Self::WhileUp, 1) => &[Moment::AfterApply],
            (Self::WhileUp, _) => &[Moment::AfterReply],
        }
    }
}

async fn sweep(name: &str, registry: Registry, change: Change) {
    let workload = Workload::new(name, registry).await;
    workload.run_clean().await;
    let mut wishes = Wishes::First;
    let mut points = 0;
    for n in 1..=MOST_WRITES {
        for &moment in change.moments(n) {
            wishes = wishes.other();
            let label = format!("{registry:?}, {change:?}: killed {moment:?} write {n}, to {wishes:?}");
            let mark = workload.lab.mark();
            let was_killed = run_until(&workload, wishes, change, n, moment).await;
            if was_killed {
                points += 1;
                workload.lab.run();
            }
            workload.assert_ends(wishes, mark, &label).await;
            workload.lab.kill().await;
            if !was_killed {
                eprintln!("{name}: killed {points} times, up to write {n}");
                assert!(n > 3, "every zone was written to");
                return;
            }
        }
    }
    panic!("it never ends");
}

/// Runs the operator until its nth write, and kills it there; where there are fewer, it runs on and is not killed.
async fn run_until(workload: &Workload, wishes: Wishes, change: Change, n: u64, moment: Moment) -> bool {
    let (lab, sim) = (&workload.lab, &workload.lab.sim);
    if change == Change::WhileUp {
        lab.run();
        // It has looked at everything, and has nothing to do.
        workload.wait_done(wishes.other()).await;
        lab.scan_of("zone-0").await;
    }
    let before = sim.writes();
    let at = |which| Match { scope: Scope::Writes, which, ..Match::default() };
    let hold_nth = Fault::new(at(Which::Nth(n)), Action::Hold);
    let hold_later = Fault::new(at(Which::From(n + 1)), Action::Hold);
    sim.faults(match moment {
        Moment::BeforeSend => vec![Fault::hold_from_write(n, When::Before)],
        Moment::AfterApply => vec![hold_nth.after(), hold_later],
        Moment::AfterReply => vec![hold_later],
    });
    match change {
        Change::WhileDown => {
            workload.wish(wishes).await;
            lab.run();
        }
        Change::WhileUp => workload.wish(wishes).await,
    }
    let applied = || (sim.writes() - before) as u64;
    let is_reached = match moment {
        Moment::BeforeSend => n - 1,
        Moment::AfterApply | Moment::AfterReply => n,
    };
    let reached = eventually(&format!("write {n}"), DEADLINE, async || {
        let is_held = moment == Moment::AfterReply || sim.held() > 0;
        if applied() == is_reached && is_held {
            return Ok(true);
        }
        match workload.is_done(wishes).await {
            Ok(()) => Ok(false),
            Err(why) => Err((applied(), sim.held(), why)),
        }
    })
    .await;
    if !reached {
        sim.faults(Vec::new());
        return false;
    }
    if moment == Moment::AfterReply {
        // Its first consequence: another request, or a word about it on an object.
        let versions = workload.versions().await;
        eventually("the next step", DEADLINE, async || {
            let is_next = sim.held() > 0 || workload.versions().await != versions;
            if is_next || workload.is_done(wishes).await.is_ok() { Ok(()) } else { Err(()) }
        })
        .await;
    }
    lab.kill().await;
    eventually(
        "its requests are gone",
        DEADLINE,
        async || if sim.held() == 0 { Ok(()) } else { Err(sim.held()) },
    )
    .await;
    sim.faults(Vec::new());
    true
}

#[tokio::test]
async fn killed_at_every_write_after_a_start_with_comment_markers() {
    sweep("kill-comment", Registry::Comment, Change::WhileDown).await;
}

#[tokio::test]
async fn killed_at_every_write_after_a_start_with_txt_markers() {
    sweep("kill-txt", Registry::Txt, Change::WhileDown).await;
}

#[tokio::test]
async fn killed_at_every_write_while_changes_come_with_comment_markers() {
    sweep("kill-live-comment", Registry::Comment, Change::WhileUp).await;
}

#[tokio::test]
async fn killed_at_every_write_while_changes_come_with_txt_markers() {
    sweep("kill-live-txt", Registry::Txt, Change::WhileUp).await;
}
