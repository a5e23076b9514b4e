//! Candidates of Tier C: which turns could be packed, and how much each matters (R028-6, R028-7, R028-10, G-45).

use crate::blend::Tier;
use crate::classify::Classification;
use crate::envelope::{Candidate, ItemKind};
use crate::model::sigmoid;
use crate::references::{Reason, turn_targets};
use crate::threads::ThreadEvent;
use crate::turn_log::{TurnLog, turn_recency};

/// What selection reads beside the classification.
#[derive(Debug)]
pub struct Selection<'a> {
    /// Earlier turns.
    pub log: &'a TurnLog,
    /// Turns until the recency weight halves.
    pub half_life: f64,
    /// Tokens a message costs beside its text.
    pub overhead: u32,
}

/// Turns of SPEC-028 by G-45: 1 if referenced, 0.5^(k/H) by distance inside the active thread, 0.5^(d/H) elsewhere.
pub fn spec_turns(selection: &Selection<'_>, referenced: &[u32], thread: u32) -> Vec<Candidate> {
    let next = selection.log.next_id();
    let mut inside = 0;
    let mut found: Vec<Candidate> = selection
        .log
        .turns()
        .iter()
        .rev()
        .map(|turn| {
            let active = turn.thread == thread;
            inside += u32::from(active);
            let pinned = referenced.contains(&turn.id);
            let (score, reason) = match (pinned, active) {
                (true, _) => (1.0, Reason::Pinned),
                (false, true) => (turn_recency(inside, selection.half_life), Reason::Recent),
                (false, false) => (turn_recency(next - turn.id, selection.half_life), Reason::RecentOther),
            };
            Candidate {
                tier: Tier::C,
                kind: ItemKind::Turn,
                id: turn.id,
                score: score as f32,
                tokens: turn.tokens.saturating_add(selection.overhead),
                pinned,
                reason,
            }
        })
        .collect();
    found.reverse();
    found
}

/// Turns of the `default` profile: what the turn points at or extends is pinned; inside the thread each turn matters as
/// much as it is likely to be needed; turns of other threads come in only when they very likely are.
pub fn turns(selection: &Selection<'_>, of: &Classification) -> Vec<Candidate> {
    /// How likely a turn of another thread must be needed.
    const FOREIGN: f32 = 0.5;
    let log = selection.log;
    let pins = pinned(of);
    let resumed = of.thread.event == ThreadEvent::Resume;
    let needed = log.turns().iter().zip(&of.needs).map(|(turn, need)| (turn, sigmoid(*need)));
    needed
        .filter_map(|(turn, need)| {
            let pinned = pins.contains(&turn.id);
            let active = turn.thread == of.thread.thread;
            let (score, reason) = match (pinned, active) {
                (true, _) if of.carries_over == Some(turn.id) => (1.0, Reason::CarriedOver),
                (true, _) => (1.0, Reason::Pinned),
                (false, true) if resumed => (need, Reason::ResumedThread),
                (false, true) if log.next_id() - turn.id <= 2 => (need, Reason::Recent),
                (false, true) => (need, Reason::Relevant),
                (false, false) if need > FOREIGN => (need, Reason::Relevant),
                (false, false) => return None,
            };
            Some(Candidate {
                tier: Tier::C,
                kind: ItemKind::Turn,
                id: turn.id,
                score,
                tokens: turn.tokens.saturating_add(selection.overhead),
                pinned,
                reason,
            })
        })
        .collect()
}

/// Turns that must be packed: first targets of references; without any, what the turn extends.
fn pinned(of: &Classification) -> Vec<u32> {
    let mut pins: Vec<u32> = turn_targets(&of.references).collect();
    if pins.is_empty() {
        pins.extend(of.carries_over);
    }
    pins.sort_unstable();
    pins.dedup();
    pins
}
