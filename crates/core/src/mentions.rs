//! Which earlier turns hold which of a turn's content words: looked up once for references, threads, needs and intent.

use crate::text::Text;
use crate::turn_log::TurnLog;

/// Different content words of the turn itself that are compared with the log; keeps a megabyte on one line linear.
pub const READ_TERMS: usize = 64;

/// The newest turns, whose words are looked at one by one; those of a longer log are asked for by the log's own means.
const WINDOW: usize = u64::BITS as usize;

/// The different content words of a turn, in order of first mention, and what the log has of each.
#[derive(Debug, Default)]
pub struct Mentions {
    terms: Vec<u32>,
    /// By term.
    held: Vec<Held>,
    /// By word of the turn: the number of its term, [`NONE`] for one that is not compared.
    of_word: Vec<u8>,
    /// Position of the oldest turn whose words were looked at.
    first: usize,
}

/// What the log has of a term.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// Number of turns that hold it.
    pub frequency: u32,
    /// Its rarity among the turns.
    pub idf: f32,
    /// Bit n: the n-th turn from the oldest looked at holds it.
    turns: u64,
}

/// The number of no term.
const NONE: u8 = u8::MAX;

/// Numbers of terms by their upper bits, from 1; a quarter full at most.
struct Slots([u8; Self::COUNT]);

impl Slots {
    const COUNT: usize = 4 * READ_TERMS;

    /// Where the number of `term` is, or belongs.
    fn of(&self, term: u32, terms: &[u32]) -> usize {
        let mut slot = (term >> 24) as usize;
        while self.0[slot] != 0 && terms[usize::from(self.0[slot]) - 1] != term {
            slot = (slot + 1) % Self::COUNT;
        }
        slot
    }

    /// The number of `term`, from 0, if it has one.
    fn number(&self, term: u32, terms: &[u32]) -> Option<usize> {
        usize::from(self.0[self.of(term, terms)]).checked_sub(1)
    }
}

impl Mentions {
    /// Looks up the words of `text`, replacing what was looked up before. Cost: one look-up in the log a term, and a look at
    /// every word of the newest turns.
    pub fn read(&mut self, text: &Text, log: &TurnLog) {
        let mut slots = Slots([0; Slots::COUNT]);
        self.terms.clear();
        self.of_word.clear();
        for word in text.words() {
            let mut number = NONE;
            if word.is_content() {
                let slot = slots.of(word.term, &self.terms);
                if slots.0[slot] == 0 && self.terms.len() < READ_TERMS {
                    self.terms.push(word.term);
                    slots.0[slot] = self.terms.len() as u8;
                }
                number = slots.0[slot].wrapping_sub(1);
            }
            self.of_word.push(number);
        }
        self.held.clear();
        self.held.resize(self.terms.len(), Held::default());
        self.first = log.len().saturating_sub(WINDOW);
        for (turn, bit) in (self.first..log.len()).zip(0..) {
            for term in log.terms(turn) {
                if let Some(number) = slots.number(*term, &self.terms) {
                    self.held[number].turns |= 1 << bit;
                }
            }
        }
        // Few turns hold most terms, so most have the rarity of another.
        let mut rarities = [None; 8];
        for (held, term) in self.held.iter_mut().zip(&self.terms) {
            // A short log has been looked at as a whole.
            held.frequency = if self.first == 0 { held.turns.count_ones() } else { log.frequency(*term) };
            held.idf = match rarities.get_mut(held.frequency as usize) {
                Some(known) => *known.get_or_insert_with(|| log.rarity(held.frequency)),
                None => log.rarity(held.frequency),
            };
        }
    }

    /// The terms, in order of first mention.
    pub fn terms(&self) -> &[u32] {
        &self.terms
    }

    /// What the log has of each term.
    pub fn held(&self) -> &[Held] {
        &self.held
    }

    /// Summed rarity of the terms, more than 0.
    pub fn rarity(&self) -> f32 {
        self.held.iter().map(|held| held.idf).sum::<f32>().max(f32::MIN_POSITIVE)
    }

    /// What the log has of the term of word `at`; nothing for one that is not compared.
    pub fn of_word(&self, at: usize) -> Option<&Held> {
        self.held.get(usize::from(self.of_word[at]))
    }

    /// Number of turns that hold word `at` of the text.
    pub fn frequency(&self, at: usize, text: &Text, log: &TurnLog) -> u32 {
        self.of_word(at).map_or_else(|| log.frequency(text.words()[at].term), |held| held.frequency)
    }

    /// Share of the terms that no turn holds.
    pub fn unseen(&self) -> f32 {
        self.share(self.held.iter().filter(|held| held.frequency == 0).count())
    }

    /// Share of the terms that the turn at `position` holds.
    pub fn overlap(&self, position: usize, log: &TurnLog) -> f32 {
        let holds = |(held, term): &(&Held, &u32)| {
            self.holds(held, position).unwrap_or_else(|| log.terms(position).contains(term))
        };
        self.share(self.held.iter().zip(&self.terms).filter(holds).count())
    }

    fn share(&self, terms: usize) -> f32 {
        terms as f32 / self.terms.len().max(1) as f32
    }

    /// Calls `each` with the position of every turn that holds term number `number`, oldest first.
    pub fn holders(&self, number: usize, log: &TurnLog, mut each: impl FnMut(usize)) {
        if self.first > 0 {
            return log.holders(self.terms[number], each);
        }
        bits(self.held[number].turns).for_each(&mut each);
    }

    /// The same for the term of word `at`; nothing for one that is not compared.
    pub fn holders_of_word(&self, at: usize, log: &TurnLog, each: impl FnMut(usize)) {
        let number = usize::from(self.of_word[at]);
        if number < self.terms.len() {
            self.holders(number, log, each);
        }
    }

    /// Bit n: the n-th turn from `position` on, one of the newest, holds a term.
    pub fn since(&self, held: &Held, position: usize) -> u64 {
        debug_assert!(position >= self.first);
        held.turns >> (position - self.first)
    }

    /// True when the turn at `position` holds a term; `None` when it is too old to have been looked at.
    pub fn holds(&self, held: &Held, position: usize) -> Option<bool> {
        (position >= self.first).then(|| self.since(held, position) & 1 == 1)
    }
}

/// The places of the bits of a number, ascending.
pub fn bits(mut of: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = (of != 0).then(|| of.trailing_zeros() as usize);
        of &= of.wrapping_sub(1);
        at
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::Pack;
    use crate::turn_log::tests::turn;
    use crate::turn_log::{NewTurn, Role, content_terms};

    const NOUNS: [&str; 12] = [
        "boat", "garden", "invoice", "river", "lamp", "violin", "harbour", "ticket", "onion", "window", "bridge",
        "coat",
    ];

    fn said() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(&NOUNS[..]), 0..6).prop_map(|nouns| nouns.join(" and the "))
    }

    fn read(said: &str) -> Text {
        let mut text = Text::default();
        text.read(said, &Pack::of("en"));
        text
    }

    proptest! {
        /// In logs within the window, beyond it, and long enough to know which turns hold a word.
        #[test]
        fn what_is_looked_up_is_what_the_turns_hold(turns in prop::collection::vec(said(), 0..180), asked in said()) {
            let mut log = TurnLog::default();
            for said in &turns {
                let terms = content_terms(&read(said), 64);
                log.append(NewTurn { terms, ..turn(Role::User, said) }, None);
            }
            let text = read(&asked);
            let mut mentions = Mentions::default();
            mentions.read(&text, &log);
            prop_assert_eq!(mentions.terms(), content_terms(&text, READ_TERMS));
            let holds = |term: u32, at: usize| content_terms(&read(&turns[at]), 64).contains(&term);
            for (number, (term, held)) in mentions.terms().iter().zip(mentions.held()).enumerate() {
                let holders: Vec<usize> = (0..turns.len()).filter(|at| holds(*term, *at)).collect();
                let mut found = Vec::new();
                mentions.holders(number, &log, |at| found.push(at));
                prop_assert_eq!(&found, &holders);
                prop_assert_eq!(held.frequency as usize, holders.len());
                prop_assert_eq!(held.idf.to_bits(), log.rarity(held.frequency).to_bits());
                for at in 0..turns.len() {
                    let seen = (at + WINDOW >= turns.len()).then(|| holders.contains(&at));
                    prop_assert_eq!(mentions.holds(held, at), seen);
                }
            }
            let share = |terms: usize| terms as f32 / mentions.terms().len().max(1) as f32;
            for at in 0..turns.len() {
                let shared = mentions.terms().iter().filter(|term| holds(**term, at)).count();
                prop_assert_eq!(mentions.overlap(at, &log).to_bits(), share(shared).to_bits());
            }
            let unseen = mentions.terms().iter().filter(|term| !(0..turns.len()).any(|at| holds(**term, at))).count();
            prop_assert_eq!(mentions.unseen().to_bits(), share(unseen).to_bits());
            for (at, word) in text.words().iter().enumerate() {
                let holders = (0..turns.len()).filter(|turn| holds(word.term, *turn)).count();
                prop_assert_eq!(mentions.frequency(at, &text, &log) as usize, holders);
            }
        }
    }
}
