//! What detection and resolution look up of a turn, worked out once.

use std::cell::OnceCell;
use std::ops::Range;

use super::candidates::Candidate;
use super::resolve::Context;
use crate::text::Word;
use crate::turn_log::Role;

/// How many turns back an antecedent is looked for by description; explicit counts and lists reach further.
pub(super) const REACH: usize = 24;

/// Content words of the turn that are compared with possible antecedents.
const COMPARED: usize = 64;

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
    /// The log has answers, not the user's turns only.
    pub(super) answered: bool,
    /// By word: in the log at all.
    known: Vec<bool>,
    content: u32,
    content_known: u32,
    overlap: OnceCell<Overlap>,
}

/// The content words of the turn in the turns within reach.
struct Overlap {
    /// By word: its rarity in the log; 0 for other words.
    idf: Vec<f32>,
    total: f32,
    /// By turn within reach: summed rarity of the words it holds.
    shared: Vec<f32>,
}

impl<'a> Scene<'a> {
    /// Cost: one look-up a word.
    pub(super) fn new(context: &'a Context<'a>) -> Self {
        let (mut content, mut content_known) = (0, 0);
        let known = context.text.words().iter().map(|word| {
            let known = context.log.frequency(word.term) > 0;
            content += u32::from(word.is_content());
            content_known += u32::from(word.is_content() && known);
            known
        });
        let known = known.collect();
        let most_similar = context.similarities.iter().copied().fold(f32::MIN, f32::max);
        let answered = context.log.last(Role::Assistant).is_some();
        Self { context, most_similar, answered, known, content, content_known, overlap: OnceCell::new() }
    }

    /// True when the log holds the word.
    pub(super) fn knows(&self, at: usize) -> bool {
        self.known[at]
    }

    /// Share of the content words outside `range` that the log holds.
    pub(super) fn share_known(&self, range: Range<usize>) -> f32 {
        let words = self.context.text.words();
        let inside = range.filter(|at| words[*at].is_content());
        let (mut all, mut known) = (self.content, self.content_known);
        for at in inside {
            all -= 1;
            known -= u32::from(self.known[at]);
        }
        known as f32 / all.max(1) as f32
    }

    /// Position of the oldest turn within reach.
    pub(super) fn first(&self) -> usize {
        self.context.log.len().saturating_sub(REACH)
    }

    fn overlaps(&self) -> &Overlap {
        self.overlap.get_or_init(|| {
            let Context { text, log, .. } = self.context;
            // Only so many words are compared: a megabyte in one turn stays linear.
            let mut left = COMPARED;
            let mut weigh = |word: &Word| {
                let counts = word.is_content() && left > 0;
                left -= usize::from(counts);
                if counts { log.idf(word.term) } else { 0.0 }
            };
            let idf: Vec<f32> = text.words().iter().map(&mut weigh).collect();
            let known =
                text.words().iter().zip(&idf).zip(&self.known).filter(|((_, idf), known)| **idf > 0.0 && **known);
            let known: Vec<(u32, f32)> = known.map(|((word, idf), _)| (word.term, *idf)).collect();
            let held = |terms: &[u32]| known.iter().filter(|(term, _)| terms.contains(term)).map(|(_, idf)| idf).sum();
            let shared = log.turns().since(self.first()).iter().map(|turn| held(turn.terms)).collect();
            Overlap { total: idf.iter().sum(), idf, shared }
        })
    }

    /// Rarity of a content word in the log; 0 for other words.
    pub(super) fn idf(&self, at: usize) -> f32 {
        self.overlaps().idf[at]
    }

    /// Share of the turn's content words, by rarity and without those of the candidate, that the turn at `position` holds.
    pub(super) fn overlap(&self, candidate: &Candidate, position: usize) -> f32 {
        let Some(at) = position.checked_sub(self.first()) else { return 0.0 };
        let overlaps = self.overlaps();
        let terms = self.context.log.turns().at(position).terms;
        let (mut total, mut shared) = (overlaps.total, overlaps.shared[at]);
        for at in candidate.words.clone() {
            let idf = overlaps.idf[at];
            if idf > 0.0 {
                total -= idf;
                shared -= if self.known[at] && terms.contains(&self.context.text.words()[at].term) { idf } else { 0.0 };
            }
        }
        if total > 1e-3 { (shared / total).max(0.0) } else { 0.0 }
    }
}
