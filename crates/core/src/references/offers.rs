//! What the words before an expression offer as antecedents inside the turn: read once for all expressions.

use super::candidates::is_plural;
use crate::text::{Class, Gap, Tag, Text};

/// Words before a candidate that are searched for an antecedent inside the turn: what stands further back in a long turn is
/// no antecedent of a pronoun.
const LOOK_BACK: usize = 40;

/// How many words offer what, one byte each: no more than [`LOOK_BACK`] are ever counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Offer(u64);

impl Offer {
    pub(super) const CONTENT: Self = Self(1);
    pub(super) const NAME: Self = Self(1 << 8);
    pub(super) const HUMAN: Self = Self(1 << 16);
    pub(super) const VERB: Self = Self(1 << 24);
    pub(super) const NOUN: Self = Self(1 << 32);
    /// Nouns a pronoun could stand for: not asked about, not of speech or time, not governing the pronoun.
    pub(super) const ANTECEDENT: Self = Self(1 << 40);
    pub(super) const PLURAL: Self = Self(1 << 48);
    pub(super) const SINGULAR: Self = Self(1 << 56);

    /// How many words offer `what`.
    pub(super) const fn count(self, what: Self) -> u32 {
        (self.0 / what.0) as u32 & 0xFF
    }

    /// True when some word offers `what`.
    pub(super) const fn has(self, what: Self) -> bool {
        self.count(what) > 0
    }

    const fn when(self, holds: bool) -> Self {
        if holds { self } else { Self(0) }
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    const fn without(self, other: Self) -> Self {
        Self(self.0.wrapping_sub(other.0))
    }

    /// What makes a word an antecedent, and what it is as one.
    const fn as_antecedent(self) -> Self {
        Self(self.0 & !(Self::ANTECEDENT.0 - 1))
    }

    /// What word `at` offers to an expression behind it.
    fn of(text: &Text, at: usize) -> Self {
        let words = text.words();
        let word = &words[at];
        let acts = matches!(word.tag, Tag::Verb | Tag::Past) || word.class.has(Class::BE.or(Class::AUXILIARY));
        let offer = Self::HUMAN.when(word.class.has(Class::HUMAN)).and(Self::VERB.when(acts));
        if !word.is_content() {
            return offer;
        }
        let offer = offer.and(Self::CONTENT).and(Self::NAME.when(word.capital && !word.opens()));
        if word.tag != Tag::Noun || word.class.has(Class::REQUEST) {
            return offer;
        }
        let offer = offer.and(Self::NOUN);
        let article = at.checked_sub(1).map(|i| &words[i]);
        let further = at.checked_sub(2).map(|i| &words[i]);
        let asked = article.is_some_and(|a| a.class.has(Class::WH))
            || further.is_some_and(|f| f.class.has(Class::WH))
                && !article.is_some_and(|a| a.class.has(Class::DEFINITE.or(Class::BE).or(Class::AUXILIARY)));
        if asked || word.class.has(Class::SPEECH.or(Class::UNIQUE).or(Class::ITEM)) {
            return offer;
        }
        let plural = is_plural(text, at);
        let head_noun = !words
            .get(at + 1)
            .is_some_and(|next| next.tag == Tag::Noun && next.is_content() && !next.gap.has(Gap::STOP.or(Gap::PAUSE)));
        offer.and(Self::ANTECEDENT).and(Self::PLURAL.when(plural)).and(Self::SINGULAR.when(!plural && head_noun))
    }
}

/// What the words of a turn offer, summed up from the first on.
#[derive(Debug, Default)]
pub(super) struct Offers {
    /// By word: what those before it offer; the bytes run over, their differences do not.
    sums: Vec<Offer>,
}

impl Offers {
    /// Reads a turn up to the last word that an expression begins at, replacing what was read before. Cost: linear in the words.
    pub(super) fn read(&mut self, text: &Text, last: usize) {
        self.sums.clear();
        let mut sum = Offer::default();
        self.sums.extend((0..=last).map(|at| {
            let before = sum;
            sum = sum.and(Offer::of(text, at));
            before
        }));
    }

    /// What the words before `start` offer to an expression that begins there; those of its sentence alone as antecedents.
    pub(super) fn before(&self, text: &Text, start: usize) -> (Offer, Offer) {
        let words = text.words();
        let from = start.saturating_sub(LOOK_BACK);
        let sentence = from + words[from..start].partition_point(|word| word.sentence < words[start].sentence);
        let between = |from: usize, to: usize| self.sums[to].without(self.sums[from]);
        // "the price of it": the noun governs the pronoun.
        let governor = start.checked_sub(2).filter(|_| words[start - 1].class.has(Class::PREPOSITION));
        let governs = |from: usize| {
            governor.filter(|at| *at >= from).map_or(Offer::default(), |at| between(at, at + 1).as_antecedent())
        };
        (between(from, start).without(governs(from)), between(sentence, start).without(governs(sentence)))
    }

    /// True when one of those words is of the same term as word `head`.
    pub(super) fn repeats(text: &Text, start: usize, head: usize) -> bool {
        let words = text.words();
        words[start.saturating_sub(LOOK_BACK)..start].iter().any(|word| word.term == words[head].term)
    }
}
