//! What detection and resolution look up of a turn, worked out once.

use std::cell::OnceCell;
use std::ops::Range;

use super::antecedents::Earlier;
use super::candidates::Candidate;
use super::offers::Offers;
use super::resolve::Context;
use crate::mentions::bits;
use crate::turn_log::Role;

/// How many turns back an antecedent is looked for by description; explicit counts and lists reach further.
pub(super) const REACH: usize = 24;

/// How many turns back a word is looked for by itself.
pub(super) const MENTIONED: usize = 2 * REACH;

/// Content words of the turn that are compared with possible antecedents.
const COMPARED: u32 = 64;

/// Where a term was last mentioned.
#[derive(Clone, Copy, Debug)]
pub struct Mention {
    /// Position in the log.
    pub position: usize,
    /// Turns back from the current one; 1 = the turn before.
    pub distance: usize,
    /// Who said it.
    pub role: Role,
}

/// A turn and its context with what is known of its words.
pub(super) struct Scene<'a> {
    pub(super) context: &'a Context<'a>,
    /// Largest cosine of the turn to an earlier one.
    pub(super) most_similar: f32,
    /// Content words, and those of them that the log holds.
    content: u32,
    content_known: u32,
    /// The words before this one are compared with possible antecedents.
    compared: usize,
    overlap: OnceCell<Overlap>,
    earlier: OnceCell<Earlier>,
    /// What its words offer as antecedents inside it.
    pub(super) offers: &'a Offers,
}

/// The content words of the turn in the turns within reach.
struct Overlap {
    /// Summed rarity of the turn's content words.
    total: f32,
    /// By turn within reach: that of the words it holds.
    shared: [f32; REACH],
}

impl<'a> Scene<'a> {
    /// Cost: a look at every word.
    pub(super) fn new(context: &'a Context<'a>, offers: &'a Offers) -> Self {
        let most_similar = context.similarities.iter().copied().fold(f32::MIN, f32::max);
        let mut scene = Self {
            context,
            most_similar,
            content: 0,
            content_known: 0,
            compared: 0,
            overlap: OnceCell::new(),
            earlier: OnceCell::new(),
            offers,
        };
        for at in (0..context.text.words().len()).filter(|at| context.text.words()[*at].is_content()) {
            // Only so many words are compared: a megabyte in one turn stays linear.
            if scene.content < COMPARED {
                scene.compared = at + 1;
            }
            scene.content += 1;
            scene.content_known += u32::from(scene.knows(at));
        }
        scene
    }

    /// Number of turns that hold the word.
    pub(super) fn frequency(&self, at: usize) -> u32 {
        let Context { text, log, mentions, .. } = self.context;
        mentions.frequency(at, text, log)
    }

    /// True when the log holds the word.
    pub(super) fn knows(&self, at: usize) -> bool {
        self.frequency(at) > 0
    }

    /// True when the turn at `position` holds the word.
    pub(super) fn holds(&self, at: usize, position: usize) -> bool {
        let Context { text, log, mentions, .. } = self.context;
        let held = mentions.of_word(at).and_then(|held| mentions.holds(held, position));
        held.unwrap_or_else(|| log.terms(position).contains(&text.words()[at].term))
    }

    /// Bit n: the n-th turn within reach holds the word.
    pub(super) fn holders(&self, at: usize) -> u64 {
        let Context { log, mentions, .. } = self.context;
        match mentions.of_word(at) {
            Some(held) => mentions.since(held, self.first()),
            None => (self.first()..log.len())
                .zip(0..)
                .fold(0, |bits, (turn, n)| bits | u64::from(self.holds(at, turn)) << n),
        }
    }

    /// Share of the content words outside `range` that the log holds.
    pub(super) fn share_known(&self, range: Range<usize>) -> f32 {
        let words = self.context.text.words();
        let inside = range.filter(|at| words[*at].is_content());
        let (mut all, mut known) = (self.content, self.content_known);
        for at in inside {
            all -= 1;
            known -= u32::from(self.knows(at));
        }
        known as f32 / all.max(1) as f32
    }

    /// Position of the oldest turn within reach.
    pub(super) fn first(&self) -> usize {
        self.context.log.len().saturating_sub(REACH)
    }

    /// The turns within reach as possible antecedents.
    pub(super) fn earlier(&self) -> &Earlier {
        self.earlier.get_or_init(|| Earlier::read(self))
    }

    /// Rarity in the log of a content word that is compared; 0 for other words.
    pub(super) fn idf(&self, at: usize) -> f32 {
        self.context.mentions.of_word(at).filter(|_| at < self.compared).map_or(0.0, |held| held.idf)
    }

    fn overlaps(&self) -> &Overlap {
        self.overlap.get_or_init(|| {
            // A sum of nothing is negative zero.
            let mut of = Overlap { total: -0.0, shared: [-0.0; REACH] };
            for at in 0..self.compared {
                let idf = self.idf(at);
                of.total += idf;
                if idf > 0.0 {
                    bits(self.holders(at)).for_each(|turn| of.shared[turn] += idf);
                }
            }
            of
        })
    }

    /// Share of the turn's content words, by rarity and without those of the candidate, that each turn within reach holds.
    pub(super) fn overlap(&self, candidate: &Candidate) -> [f32; REACH] {
        let Overlap { mut total, mut shared } = *self.overlaps();
        for at in candidate.words.clone() {
            let idf = self.idf(at);
            if idf > 0.0 {
                total -= idf;
                bits(self.holders(at)).for_each(|turn| shared[turn] -= idf);
            }
        }
        if total > 1e-3 { shared.map(|shared| (shared / total).max(0.0)) } else { [0.0; REACH] }
    }
}
