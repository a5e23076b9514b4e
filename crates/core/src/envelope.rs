//! Packing: budgets, redistribution and the primacy-recency sandwich (SPEC-028 §2.2, SPEC-003 phases, G-1 … G-5, G-35, G-44).

use crate::blend::{Blend, Tier, shares};
use crate::references::Reason;
use crate::select::SpecTurns;

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// A turn of the log, by id.
    Turn,
    /// A fact, by index in its knowledge base.
    Fact,
    /// A scratch entry, by ordinal.
    Scratch,
    /// The Active Thread Summary, by thread ordinal.
    Summary,
}

/// Something that could be packed.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its tier.
    pub tier: Tier,
    /// What it is.
    pub kind: ItemKind,
    /// Turn id, fact index, scratch ordinal or thread ordinal.
    pub id: u32,
    /// In [0, 1] within its tier.
    pub score: f32,
    /// Tokens as rendered, overhead included.
    pub tokens: u32,
    /// Must be packed (G-35).
    pub pinned: bool,
    /// Why it is a candidate.
    pub reason: Reason,
}

/// A packed item; `tokens` may be fewer than its candidate's when it was cut.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed {
    /// Position among the candidates.
    pub candidate: usize,
    /// Tokens granted.
    pub tokens: u32,
    /// Fewer than it wanted.
    pub cut: bool,
}

/// What was packed and what was not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packing {
    /// The candidates given, and those that were taken from the turns.
    pub candidates: Vec<Candidate>,
    /// Packed items, by tier, then score.
    pub packed: Vec<Packed>,
    /// By candidate: it was packed.
    pub taken: Vec<bool>,
    /// Tokens spent by tier.
    pub spent: [u32; 3],
    /// Tokens of the budget that nothing wanted, or that nothing fits in.
    pub free: u32,
    /// The share of each tier.
    pub shares: [u32; 3],
}

impl Packing {
    /// Why a candidate was left out.
    pub fn why_left(candidate: &Candidate, free: u32, share: u32) -> Reason {
        if candidate.tokens > free && candidate.tokens <= share { Reason::OverShare } else { Reason::OverBudget }
    }
}

/// Packs candidates, and turns that are ranked already, into `budget` tokens. Pinned ones come first and may borrow what
/// other tiers do not need; then each tier fills its share in score order, skipping what does not fit (R003-8); then unused
/// tokens go to tiers that still have candidates, by nominal weight, until nothing moves (G-5). Never exceeds the budget.
pub fn pack(candidates: Vec<Candidate>, turns: Option<SpecTurns<'_>>, budget: u32, blend: Blend) -> Packing {
    let weights = blend.weights();
    let shares = shares(budget, weights);
    let order = by_score(candidates.len(), |at| candidates[at].score);
    let taken = vec![false; candidates.len()];
    let mut packing = Packing { candidates, taken, shares, ..Packing::default() };
    if let Some(turns) = &turns {
        let most = turns.most(budget);
        packing.candidates.reserve(most);
        packing.taken.reserve(most);
        packing.packed.reserve(most + order.len());
    }
    let cheapest = Tier::ALL.map(|tier| {
        let tokens = packing.candidates.iter().filter(|c| c.tier == tier).map(|c| c.tokens);
        tokens.min().unwrap_or(u32::MAX)
    });
    let mut state = State { order, cheapest, turns, budget, packing };
    state.pinned();
    for tier in Tier::ALL {
        // A share already overdrawn by pinned items is empty, not negative.
        let room = shares[tier as usize].saturating_sub(state.packing.spent[tier as usize]).min(state.left());
        state.fill(tier, room);
    }
    while state.redistribute(weights) {}
    let free = state.left();
    Packing { free, ..state.packing }
}

/// The positions of `len` scores, each 0 or more: the largest first, then by position, a total order (G-65).
fn by_score(len: usize, score: impl Fn(usize) -> f32) -> Vec<usize> {
    // The bits of such scores are in their order.
    let key = |at: usize| u64::from(!score(at).max(0.0).to_bits()) << 32 | at as u64;
    let mut order: Vec<u64> = (0..len).map(key).collect();
    #[expect(clippy::stable_sort_primitive, reason = "packed items come in runs, which this sort merges")]
    order.sort();
    order.into_iter().map(|key| key as u32 as usize).collect()
}

struct State<'a> {
    order: Vec<usize>,
    /// Tokens of the cheapest candidate of each tier.
    cheapest: [u32; 3],
    turns: Option<SpecTurns<'a>>,
    budget: u32,
    packing: Packing,
}

impl State<'_> {
    fn left(&self) -> u32 {
        self.budget - self.packing.spent.iter().sum::<u32>()
    }

    fn take(&mut self, at: usize, tokens: u32) {
        let candidate = &self.packing.candidates[at];
        self.packing.taken[at] = true;
        self.packing.spent[candidate.tier as usize] += tokens;
        self.packing.packed.push(Packed { candidate: at, tokens, cut: tokens < candidate.tokens });
    }

    /// Pinned items, best first, whole where they fit in their share plus what the other tiers leave; the rest is cut to
    /// even parts of what remains (G-35).
    fn pinned(&mut self) {
        /// Below this a cut item says nothing.
        const LEAST: u32 = 8;
        let candidates = &self.packing.candidates;
        if !candidates.iter().any(|candidate| candidate.pinned) {
            return;
        }
        let share = self.packing.shares;
        let wanted = |tier: Tier| {
            let given = candidates.iter().filter(|c| c.tier == tier).map(|c| u64::from(c.tokens)).sum::<u64>();
            given + self.turns.as_ref().filter(|_| tier == Tier::C).map_or(0, SpecTurns::tokens)
        };
        let unused = Tier::ALL.map(|tier| u64::from(share[tier as usize]).saturating_sub(wanted(tier)) as u32);
        for tier in Tier::ALL {
            let borrowed: u32 =
                Tier::ALL.iter().filter(|other| **other != tier).map(|other| unused[*other as usize]).sum();
            let mut room = (share[tier as usize] + borrowed).min(self.left());
            let pinned = |at: &usize| {
                let candidate = &self.packing.candidates[*at];
                candidate.pinned && candidate.tier == tier
            };
            let pins: Vec<usize> = self.order.iter().copied().filter(pinned).collect();
            let mut long = Vec::new();
            for at in pins {
                let tokens = self.packing.candidates[at].tokens;
                if tokens <= room {
                    self.take(at, tokens);
                    room -= tokens;
                } else {
                    long.push(at);
                }
            }
            for (n, at) in long.iter().enumerate() {
                let tokens = self.packing.candidates[*at].tokens.min(room / (long.len() - n) as u32);
                if tokens >= LEAST {
                    self.take(*at, tokens);
                    room -= tokens;
                }
            }
        }
    }

    /// Fills `room` tokens with candidates of a tier; true when one was packed.
    fn fill(&mut self, tier: Tier, mut room: u32) -> bool {
        let packed = self.packing.packed.len();
        if let Some(turns) = &mut self.turns {
            turns.restart();
        }
        for place in 0..self.order.len() {
            if room < self.cheapest[tier as usize] {
                break;
            }
            let at = self.order[place];
            let candidate = &self.packing.candidates[at];
            if candidate.tier == tier && !self.packing.taken[at] && candidate.tokens <= room {
                let before = (candidate.score, id_of(candidate));
                self.fill_with_turns(tier, &mut room, Some(before));
                let tokens = self.packing.candidates[at].tokens;
                if tokens <= room {
                    room -= tokens;
                    self.take(at, tokens);
                }
            }
        }
        self.fill_with_turns(tier, &mut room, None);
        self.packing.packed.len() > packed
    }

    /// Fills with ranked turns, as far as they come before a score and id.
    fn fill_with_turns(&mut self, tier: Tier, room: &mut u32, before: Option<(f32, u32)>) {
        let Some(turns) = self.turns.as_mut().filter(|_| tier == Tier::C) else { return };
        while *room >= turns.shortest() {
            let Some(ranked) = turns.peek(*room) else { return };
            let turn = turns.candidate(ranked);
            if before.is_some_and(|(score, id)| (turn.score, id) < (score, turn.id)) {
                return;
            }
            turns.take(ranked);
            *room -= turn.tokens;
            self.packing.spent[tier as usize] += turn.tokens;
            self.packing.packed.push(Packed {
                candidate: self.packing.candidates.len(),
                tokens: turn.tokens,
                cut: false,
            });
            self.packing.candidates.push(turn);
            self.packing.taken.push(true);
        }
    }

    /// One round of handing unused tokens to tiers that still have candidates; true when something was packed.
    fn redistribute(&mut self, weights: [f64; 3]) -> bool {
        let left = self.left();
        let Packing { candidates, taken, .. } = &self.packing;
        let mut open = [false; 3];
        for (candidate, taken) in candidates.iter().zip(taken) {
            open[candidate.tier as usize] |= !taken && candidate.tokens <= left;
        }
        if let Some(turns) = &mut self.turns {
            turns.restart();
            open[Tier::C as usize] |= left >= turns.shortest() && turns.peek(left).is_some();
        }
        if open == [false; 3] {
            return false;
        }
        let hungry = Tier::ALL.map(|tier| if open[tier as usize] { weights[tier as usize] } else { 0.0 });
        let extra = shares(left, hungry);
        let mut moved = false;
        for tier in Tier::ALL {
            moved |= extra[tier as usize] > 0 && self.fill(tier, extra[tier as usize]);
        }
        if !moved {
            // Shares of the rest may each be too small for what would fit alone: the heaviest tier gets it all.
            let heaviest = Tier::ALL
                .into_iter()
                .filter(|tier| hungry[*tier as usize] > 0.0)
                .max_by(|a, b| hungry[*a as usize].total_cmp(&hungry[*b as usize]));
            moved = heaviest.is_some_and(|tier| self.fill(tier, left));
        }
        moved
    }
}

/// What tells candidates of one tier and score apart: the older turn comes first, then what is not a turn.
fn id_of(candidate: &Candidate) -> u32 {
    if candidate.kind == ItemKind::Turn { candidate.id } else { u32::MAX }
}

/// The sandwich over units given by score in [0, 1], best first: best, second, supporting, important, the remaining
/// critical ones with the strongest last (G-1). Returns positions in rendering order: a permutation.
pub fn sandwich(scores: &[f32]) -> Vec<usize> {
    let ranked = by_score(scores.len(), |at| scores[at]);
    let (critical, important, supporting) = classes(&ranked, scores);
    let (first, rest) = critical.split_at(critical.len().min(2));
    let mut order = [first, supporting, important].concat();
    order.extend(rest.iter().rev());
    order
}

/// SPEC-003's own order, its defects mended only where they lose or repeat an item: first, last, supporting, important,
/// the critical ones between (G-1, `literal`).
pub fn sandwich_literal(scores: &[f32]) -> Vec<usize> {
    let ranked = by_score(scores.len(), |at| scores[at]);
    let (critical, important, supporting) = classes(&ranked, scores);
    let (first, rest) = critical.split_at(critical.len().min(1));
    let (between, last) = rest.split_at(rest.len().saturating_sub(1));
    [first, last, supporting, important, between].concat()
}

/// Critical ≥ 0.80, important ≥ 0.50, supporting below (R003-9), of positions that are ranked, best first.
fn classes<'a>(ranked: &'a [usize], scores: &[f32]) -> (&'a [usize], &'a [usize], &'a [usize]) {
    let (critical, rest) = ranked.split_at(ranked.partition_point(|at| scores[*at] >= 0.80));
    let (important, supporting) = rest.split_at(rest.partition_point(|at| scores[*at] >= 0.50));
    (critical, important, supporting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intent::Intent;
    use proptest::prelude::*;

    fn candidate(tier: Tier, score: f32, tokens: u32, pinned: bool) -> Candidate {
        Candidate { tier, kind: ItemKind::Turn, id: 0, score, tokens, pinned, reason: Reason::Recent }
    }

    #[test]
    fn a_small_item_is_packed_past_a_large_one() {
        let packing = pack(
            vec![candidate(Tier::P, 0.9, 400, false), candidate(Tier::P, 0.5, 10, false)],
            None,
            40,
            Blend::of(Intent::Explore),
        );
        assert_eq!(packing.packed.iter().map(|p| p.candidate).collect::<Vec<_>>(), [1]);
        assert_eq!(packing.taken, [false, true]);
        let left = &packing.candidates[0];
        assert_eq!(Packing::why_left(left, packing.free, packing.shares[0]), Reason::OverBudget);
    }

    #[test]
    fn unused_shares_go_where_candidates_are() {
        let packing = pack(vec![candidate(Tier::C, 0.9, 90, false)], None, 100, Blend::of(Intent::Explore));
        assert_eq!(packing.spent, [0, 90, 0]);
    }

    #[test]
    fn pinned_items_borrow_then_are_cut_never_dropped() {
        let pins = [
            candidate(Tier::C, 1.0, 300, true),
            candidate(Tier::C, 1.0, 300, true),
            candidate(Tier::P, 0.9, 20, false),
        ];
        let packing = pack(pins.to_vec(), None, 100, Blend::of(Intent::Clarify));
        let cut: Vec<u32> = packing.packed.iter().filter(|p| p.cut).map(|p| p.tokens).collect();
        assert_eq!(cut.len(), 2);
        assert!(packing.packed.iter().any(|p| p.candidate == 2), "the other tier keeps what it needs");
    }

    #[test]
    fn nothing_to_pack_is_an_empty_envelope() {
        let packing = pack(Vec::new(), None, 100, Blend::of(Intent::Explore));
        assert_eq!((packing.packed, packing.free), (Vec::new(), 100));
    }

    fn any_candidate() -> impl Strategy<Value = Candidate> {
        (0usize..3, 0.0f32..1.0, 1u32..200, prop::bool::weighted(0.1))
            .prop_map(|(tier, score, tokens, pinned)| candidate(Tier::ALL[tier], score, tokens, pinned))
    }

    proptest! {
        #[test]
        fn the_budget_holds_and_every_candidate_is_accounted_for(candidates in prop::collection::vec(any_candidate(), 0..40), budget in 1u32..2000, intent in 0usize..5) {
            let packing = pack(candidates.clone(), None, budget, Blend::of(Intent::ALL[intent]));
            prop_assert!(packing.spent.iter().sum::<u32>() <= budget);
            prop_assert_eq!(packing.spent.iter().sum::<u32>(), packing.packed.iter().map(|p| p.tokens).sum::<u32>());
            prop_assert_eq!(packing.spent.iter().sum::<u32>() + packing.free, budget);
            let mut seen: Vec<usize> = packing.packed.iter().map(|p| p.candidate).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..candidates.len()).filter(|at| packing.taken[*at]).collect::<Vec<_>>());
        }

        #[test]
        fn no_candidate_that_still_fits_is_left(candidates in prop::collection::vec(any_candidate(), 0..40), budget in 1u32..2000) {
            let packing = pack(candidates, None, budget, Blend::of(Intent::Continue));
            let left = packing.candidates.iter().zip(&packing.taken).filter(|(_, taken)| !**taken);
            prop_assert!(left.map(|(candidate, _)| candidate.tokens).all(|tokens| tokens > packing.free));
        }

        #[test]
        fn both_sandwiches_are_permutations(scores in prop::collection::vec(0.0f32..=1.0, 0..30)) {
            for order in [sandwich(&scores), sandwich_literal(&scores)] {
                let mut sorted = order.clone();
                sorted.sort_unstable();
                prop_assert_eq!(sorted, (0..scores.len()).collect::<Vec<_>>());
                let best = scores.iter().copied().fold(0.0, f32::max);
                if let Some(first) = order.first().filter(|_| best >= 0.80) {
                    prop_assert!(scores[*first] >= best);
                }
            }
            let order = sandwich(&scores);
            let critical = scores.iter().filter(|s| **s >= 0.80).count();
            if critical >= 3 {
                prop_assert!(scores[*order.last().unwrap()] >= 0.80);
            }
        }
    }

    #[test]
    fn order_of_the_sandwich() {
        assert_eq!(sandwich(&[0.95, 0.9, 0.85, 0.82, 0.6, 0.1]), [0, 1, 5, 4, 3, 2]);
        assert_eq!(sandwich_literal(&[0.95, 0.9, 0.85, 0.82, 0.6, 0.1]), [0, 3, 5, 4, 1, 2]);
        assert_eq!(sandwich(&[0.9]), [0]);
        assert_eq!(sandwich(&[]), [0usize; 0]);
    }
}
