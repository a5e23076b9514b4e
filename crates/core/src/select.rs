//! Candidates of Tier C: which turns could be packed, and how much each matters (R028-6, R028-7, R028-10, G-45).

use crate::blend::Tier;
use crate::classify::Classification;
use crate::envelope::{Candidate, ItemKind};
use crate::model::sigmoid;
use crate::references::{Reason, turn_targets};
use crate::threads::ThreadEvent;
use crate::turn_log::{Mark, TurnLog, turn_recency};

/// Recency weights by distance, computed once a half-life.
#[derive(Debug, Default)]
pub struct Recency {
    half_life: f64,
    weights: Vec<f32>,
}

impl Recency {
    /// The weights last asked for.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Weights of distances from 0 on: up to the oldest turn of a log, or to the first that is 0, as all beyond it are.
    pub fn over(&mut self, log: &TurnLog, half_life: f64) -> &[f32] {
        let most = log.marks().first().map_or(0, |mark| log.next_id() - mark.id);
        if self.half_life.to_bits() != half_life.to_bits() {
            *self = Self { half_life, weights: Vec::new() };
        }
        while self.weights.len() <= most as usize && self.weights.last() != Some(&0.0) {
            self.weights.push(turn_recency(self.weights.len() as u32, half_life) as f32);
        }
        &self.weights
    }
}

/// Turns of SPEC-028 by G-45, best first and the older of equals first: 0.5^(k/H) by distance inside the active thread,
/// 0.5^(d/H) elsewhere. Both sequences are sorted as they are: the ranking is their merge, and no turn is looked at that
/// packing does not come to.
#[derive(Debug)]
pub struct SpecTurns<'a> {
    marks: &'a [Mark],
    log: &'a TurnLog,
    /// Ids of the thread's turns.
    thread: &'a [u32],
    recency: &'a [f32],
    overhead: u32,
    /// Turns of the thread, by position.
    inside: Bits,
    /// Turns that were referred to or taken, by position.
    gone: Bits,
    thread_at: Place,
    other_at: Place,
    shortest: u32,
}

/// A turn of the ranking. (It fits two registers: a candidate would be written to memory and read again, for every turn.)
#[derive(Clone, Copy, Debug)]
pub struct Ranked {
    at: u32,
    score: f32,
    /// Of the active thread.
    inside: bool,
}

/// Where a sequence of ascending scores has been read to, from its end: turns of one score are read from the oldest on.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: usize,
    end: usize,
    start: usize,
}

impl Place {
    const fn at_end(of: usize) -> Self {
        Self { at: of, end: of, start: of }
    }

    /// The next one that is `open`; stays there.
    fn seek(&mut self, score: impl Fn(usize) -> f32, open: impl Fn(usize) -> bool) -> Option<usize> {
        loop {
            while self.at < self.end {
                if open(self.at) {
                    return Some(self.at);
                }
                self.at += 1;
            }
            let end = self.start;
            let score_of = score(end.checked_sub(1)?);
            let mut start = end - 1;
            if score_of == 0.0 {
                start = 0;
            }
            while start > 0 && score(start - 1) >= score_of {
                start -= 1;
            }
            *self = Self { at: start, end, start };
        }
    }
}

#[derive(Debug)]
struct Bits(Vec<u64>);

impl Bits {
    fn of(len: usize, set: impl Iterator<Item = usize>) -> Self {
        let mut bits = Self(vec![0; len.div_ceil(64)]);
        for at in set {
            bits.set(at);
        }
        bits
    }

    fn set(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn get(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }
}

impl<'a> SpecTurns<'a> {
    /// The turns of a log but those that were referred to, which are candidates whatever their age; `thread` has ascending ids.
    pub fn new(
        log: &'a TurnLog,
        thread: &'a [u32],
        referenced: &[u32],
        overhead: u32,
        half_life: f64,
        recency: &'a mut Recency,
    ) -> Self {
        let marks = log.marks();
        Self {
            marks,
            log,
            thread,
            recency: recency.over(log, half_life),
            overhead,
            inside: Bits::of(marks.len(), log.runs(thread).flatten()),
            gone: Bits::of(marks.len(), referenced.iter().filter_map(|id| log.position(*id))),
            thread_at: Place::at_end(thread.len()),
            other_at: Place::at_end(marks.len()),
            shortest: marks.iter().map(|mark| mark.tokens).min().unwrap_or(u32::MAX).saturating_add(overhead),
        }
    }

    /// Tokens of all turns.
    pub fn tokens(&self) -> u64 {
        (0..self.marks.len()).filter(|at| !self.gone.get(*at)).map(|at| u64::from(self.cost(at))).sum()
    }

    /// Tokens of the cheapest turn.
    pub fn shortest(&self) -> u32 {
        self.shortest
    }

    /// Turns that fit into a budget, at most.
    pub fn most(&self, budget: u32) -> usize {
        self.marks.len().min((budget / self.shortest.max(1)) as usize)
    }

    /// Begins again with the best.
    pub fn restart(&mut self) {
        self.thread_at = Place::at_end(self.thread.len());
        self.other_at = Place::at_end(self.marks.len());
    }

    fn cost(&self, at: usize) -> u32 {
        self.marks[at].tokens.saturating_add(self.overhead)
    }

    /// The next turn that costs at most `room`. Turns that were passed over come again only after a restart.
    pub fn peek(&mut self, room: u32) -> Option<Ranked> {
        let weight = |distance: u32| self.recency.get(distance as usize).copied().unwrap_or(0.0);
        let (next, length) = (self.log.next_id(), self.thread.len());
        let near = |member: usize| weight((length - member) as u32);
        let far = |at: usize| weight(next - self.marks[at].id);
        let fits = |at: usize| self.cost(at) <= room && !self.gone.get(at);
        let position = |member: usize| self.log.position(self.thread[member]);
        let (mut thread_at, mut other_at) = (self.thread_at, self.other_at);
        let member = thread_at.seek(near, |member| position(member).is_some_and(fits));
        let other = other_at.seek(far, |at| fits(at) && !self.inside.get(at));
        let ranked = |score: f32, at: usize, inside: bool| Ranked { at: at as u32, score, inside };
        let member = member.and_then(|member| Some(ranked(near(member), position(member)?, true)));
        let other = other.map(|at| ranked(far(at), at, false));
        let best = match (member, other) {
            (Some(member), Some(other)) if (other.score, member.at) > (member.score, other.at) => other,
            (member, other) => member.or(other)?,
        };
        (self.thread_at, self.other_at) = (thread_at, other_at);
        Some(best)
    }

    /// A turn of the ranking as a candidate.
    #[inline]
    pub fn candidate(&self, of: Ranked) -> Candidate {
        let mark = self.marks[of.at as usize];
        Candidate {
            tier: Tier::C,
            kind: ItemKind::Turn,
            id: mark.id,
            score: of.score,
            tokens: mark.tokens.saturating_add(self.overhead),
            pinned: false,
            reason: if of.inside { Reason::Recent } else { Reason::RecentOther },
        }
    }

    /// The turn was packed.
    pub fn take(&mut self, of: Ranked) {
        self.gone.set(of.at as usize);
    }
}

impl Iterator for SpecTurns<'_> {
    type Item = Candidate;

    fn next(&mut self) -> Option<Candidate> {
        let turn = self.peek(u32::MAX)?;
        self.take(turn);
        Some(self.candidate(turn))
    }
}

/// Turns that were referred to, which are packed first.
pub fn spec_pinned(log: &TurnLog, referenced: &[u32], overhead: u32) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = referenced
        .iter()
        .filter_map(|id| log.get(*id))
        .map(|turn| Candidate {
            tier: Tier::C,
            kind: ItemKind::Turn,
            id: turn.id,
            score: 1.0,
            tokens: turn.tokens.saturating_add(overhead),
            pinned: true,
            reason: Reason::Pinned,
        })
        .collect();
    found.sort_unstable_by_key(|candidate| candidate.id);
    found.dedup_by_key(|candidate| candidate.id);
    found
}

/// Turns of the `default` profile: what the turn points at or extends is pinned; inside the thread each turn matters as
/// much as it is likely to be needed; turns of other threads come in only when they very likely are. `needs` in log-odds, by
/// position in the log; `overhead`: tokens a message costs beside its text.
pub fn turns(log: &TurnLog, of: &Classification, needs: &[f32], overhead: u32) -> Vec<Candidate> {
    /// Log-odds above which a turn of another thread is needed: four to one.
    const FOREIGN: f32 = 1.386;
    // Pinned turns are critical to the sandwich; where not all fit, those most likely needed come first.
    let pin = |need: f32| 0.8 + 0.2 * need;
    let pins = pinned(of);
    let resumed = of.thread.event == ThreadEvent::Resume;
    let needed = log.marks().iter().zip(log.traits()).zip(needs);
    needed
        .filter_map(|((turn, traits), need)| {
            let pinned = pins.contains(&turn.id);
            let active = traits.thread == of.thread.thread;
            if !pinned && !active && *need <= FOREIGN {
                return None;
            }
            let need = sigmoid(*need);
            let (score, reason) = match (pinned, active) {
                (true, _) if of.carries_over == Some(turn.id) => (pin(need), Reason::CarriedOver),
                (true, _) => (pin(need), Reason::Pinned),
                (false, true) if resumed => (need, Reason::ResumedThread),
                (false, true) if log.next_id() - turn.id <= 2 => (need, Reason::Recent),
                (false, _) => (need, Reason::Relevant),
            };
            Some(Candidate {
                tier: Tier::C,
                kind: ItemKind::Turn,
                id: turn.id,
                score,
                tokens: turn.tokens.saturating_add(overhead),
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::blend::Blend;
    use crate::envelope::pack;
    use crate::intent::Intent;
    use crate::turn_log::Role;
    use crate::turn_log::tests::turn;

    /// All turns as G-45 scores them, in the order of the log.
    fn scored(log: &TurnLog, thread: &[u32], referenced: &[u32], half_life: f64) -> Vec<Candidate> {
        let mut inside = 0;
        let mut found = spec_pinned(log, referenced, 4);
        for turn in log.turns().iter().rev() {
            let active = thread.contains(&turn.id);
            inside += u32::from(active);
            let distance = if active { inside } else { log.next_id() - turn.id };
            if !referenced.contains(&turn.id) {
                found.push(Candidate {
                    tier: Tier::C,
                    kind: ItemKind::Turn,
                    id: turn.id,
                    score: turn_recency(distance, half_life) as f32,
                    tokens: turn.tokens + 4,
                    pinned: false,
                    reason: if active { Reason::Recent } else { Reason::RecentOther },
                });
            }
        }
        found.sort_by_key(|candidate| candidate.id);
        found
    }

    proptest! {
        #[test]
        fn ranked_turns_are_packed_as_a_list_of_all_turns_is(
            turns in prop::collection::vec((any::<bool>(), 1u32..60, prop::bool::weighted(0.05), prop::bool::weighted(0.05)), 0..400),
            half_life in prop::sample::select(vec![0.3, 1.0, 6.0, 1e9]),
            budget in 1u32..1500,
            intent in 0usize..5,
        ) {
            let mut log = TurnLog::default();
            let mut thread = Vec::new();
            let mut referenced = Vec::new();
            for (inside, tokens, pinned, removed) in turns {
                let id = log.next_id();
                log.append(crate::turn_log::NewTurn { tokens, ..turn(Role::User, "a") }, None);
                if removed {
                    log.remove(id);
                    continue;
                }
                if inside { thread.push(id); }
                if pinned { referenced.push(id); }
            }
            let blend = Blend::of(Intent::ALL[intent]);
            let mut recency = Recency::default();
            let ranked = SpecTurns::new(&log, &thread, &referenced, 4, half_life, &mut recency);
            let lazy = pack(spec_pinned(&log, &referenced, 4), Some(ranked), budget, blend);
            let whole = pack(scored(&log, &thread, &referenced, half_life), None, budget, blend);
            let items = |packing: &crate::envelope::Packing| -> Vec<(Candidate, u32)> {
                packing.packed.iter().map(|p| (packing.candidates[p.candidate].clone(), p.tokens)).collect()
            };
            prop_assert_eq!(items(&lazy), items(&whole));
            prop_assert_eq!(lazy.free, whole.free);
            let ranked = SpecTurns::new(&log, &thread, &referenced, 4, half_life, &mut recency);
            let mut all: Vec<Candidate> = spec_pinned(&log, &referenced, 4).into_iter().chain(ranked).collect();
            all.sort_by_key(|candidate| candidate.id);
            prop_assert_eq!(all, scored(&log, &thread, &referenced, half_life));
        }
    }
}
