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
    /// By number in the log's vocabulary: the number of the term, [`NONE`] for any other word.
    of_number: Vec<u8>,
    /// Position of the oldest turn whose words were looked at.
    first: usize,
}

/// What the log has of a term.
#[derive(Clone, Copy, Debug)]
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
        let vocabulary = log.vocabulary();
        self.of_number.clear();
        self.of_number.resize(vocabulary.size(), NONE);
        self.held.clear();
        for (term, at) in self.terms.iter().zip(0..) {
            let number = vocabulary.number(*term);
            if let Some(number) = number {
                self.of_number[number as usize] = at;
            }
            let frequency = number.map_or(0, |number| vocabulary.frequency(number));
            self.held.push(Held { frequency, idf: log.rarity(frequency), turns: 0 });
        }
        self.first = log.len().saturating_sub(WINDOW);
        for (turn, bit) in log.recent(WINDOW).iter().zip(0..) {
            for number in turn.terms.numbers() {
                if let Some(held) = self.held.get_mut(usize::from(self.of_number[number as usize])) {
                    held.turns |= 1 << bit;
                }
            }
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
    #[inline]
    pub fn of_word(&self, at: usize) -> Option<&Held> {
        self.held.get(usize::from(self.of_word[at]))
    }

    /// Number of turns that hold word `at` of the text.
    #[inline]
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
