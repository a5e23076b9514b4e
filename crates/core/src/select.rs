//! Candidates of Tier C: which turns could be packed, and how much each matters (R028-6, R028-7, R028-10, G-45).

use crate::blend::Tier;
use crate::classify::Classification;
use crate::envelope::{Candidate, ItemKind};
use crate::references::{Reason, Target};
use crate::threads::ThreadEvent;
use crate::turn_log::{Role, TurnLog, turn_recency};

/// What selection reads beside the classification.
#[derive(Debug)]
pub struct Selection<'a> {
    /// Earlier turns.
    pub log: &'a TurnLog,
    /// Calibrated similarity of the turn, or of its query, to each turn, by position; empty without.
    pub similarities: &'a [f32],
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

/// Turns of the `default` profile: what the turn points at or extends is pinned; inside the thread, recency and what the
/// query shares with a turn add up; turns of other threads come in only when they are what the turn is about.
pub fn turns(selection: &Selection<'_>, of: &Classification) -> Vec<Candidate> {
    /// How much of a score inside the thread is recency; the rest is relevance.
    const RECENCY: f32 = 0.5;
    /// Relevance a turn of another thread needs.
    const FOREIGN: f32 = 0.62;
    let log = selection.log;
    let pins = pinned(of);
    let relevance = relevance(selection, of);
    let fresh = of.thread.event == ThreadEvent::New;
    let resumed = of.thread.event == ThreadEvent::Resume;
    let next = log.next_id();
    let mut inside = 0;
    let mut found: Vec<Candidate> = Vec::with_capacity(log.len());
    for (at, turn) in log.turns().iter().enumerate().rev() {
        let active = turn.thread == of.thread.thread;
        inside += u32::from(active);
        let recency = turn_recency(if active { inside } else { next - turn.id }, selection.half_life) as f32;
        let relevant = relevance[at];
        let pinned = pins.contains(&turn.id);
        let (score, reason) = if pinned {
            (1.0, if of.carries_over == Some(turn.id) { Reason::CarriedOver } else { Reason::Pinned })
        } else if active {
            (
                RECENCY * recency + (1.0 - RECENCY) * relevant,
                if resumed {
                    Reason::ResumedThread
                } else if relevant > recency {
                    Reason::Relevant
                } else {
                    Reason::Recent
                },
            )
        } else if relevant >= FOREIGN || fresh && of.context_dependent && next - turn.id <= 2 {
            (0.5 * relevant + 0.2 * recency, Reason::Relevant)
        } else {
            continue;
        };
        found.push(Candidate {
            tier: Tier::C,
            kind: ItemKind::Turn,
            id: turn.id,
            score: score.min(1.0),
            tokens: turn.tokens.saturating_add(selection.overhead),
            pinned,
            reason,
        });
    }
    found.reverse();
    pair(&mut found, log);
    found
}

/// Turns that must be packed: first targets of references and what the turn extends.
fn pinned(of: &Classification) -> Vec<u32> {
    let mut pins: Vec<u32> = of
        .references
        .iter()
        .filter_map(|reference| match reference.target {
            Some(Target::Turn(id)) => Some(id),
            _ => None,
        })
        .chain(of.carries_over)
        .collect();
    pins.sort_unstable();
    pins.dedup();
    pins
}

/// How much each turn shares with the query: similarity of vectors and idf-weighted overlap of words, in [0, 1].
fn relevance(selection: &Selection<'_>, of: &Classification) -> Vec<f32> {
    let log = selection.log;
    let terms: Vec<(u32, f32)> =
        of.query.terms.iter().filter(|term| log.frequency(**term) > 0).map(|term| (*term, log.idf(*term))).collect();
    let total: f32 = of.query.terms.iter().map(|term| log.idf(*term)).sum();
    log.turns()
        .iter()
        .enumerate()
        .map(|(at, turn)| {
            let shared: f32 = terms.iter().filter(|(term, _)| turn.terms.contains(term)).map(|(_, idf)| idf).sum();
            let overlap = if total > 0.0 { (shared / total).sqrt() } else { 0.0 };
            let similarity = selection.similarities.get(at).copied().unwrap_or(0.0).clamp(0.0, 1.0);
            0.5 * overlap + 0.5 * similarity
        })
        .collect()
}

/// A question and its answer belong together: the weaker of the two is lifted towards the stronger.
fn pair(found: &mut [Candidate], log: &TurnLog) {
    const LIFT: f32 = 0.6;
    for at in 1..found.len() {
        let (question, answer) = (&found[at - 1], &found[at]);
        let role = |candidate: &Candidate| log.get(candidate.id).map(|turn| turn.role);
        if answer.id == question.id + 1 && role(question) == Some(Role::User) && role(answer) == Some(Role::Assistant) {
            let (q, a) = (question.score, answer.score);
            if !found[at - 1].pinned && a * LIFT > q {
                found[at - 1].score = a * LIFT;
                found[at - 1].reason = Reason::PairedAnswer;
            }
            if !found[at].pinned && q * LIFT > a {
                found[at].score = q * LIFT;
                found[at].reason = Reason::PairedAnswer;
            }
        }
    }
}
