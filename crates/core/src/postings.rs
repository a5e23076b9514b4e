//! In which turns of a log a term occurs: in a short log how many they are, in a long one which.

use rustc_hash::FxHashMap;

use crate::growth;

/// How many turns of a short log hold each term.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Terms, ascending.
    terms: Vec<u32>,
    /// Turns that hold each, in the same order.
    turns: Vec<u8>,
}

impl Counts {
    /// Turns of a log that is short.
    pub const MOST_TURNS: usize = 128;

    /// Counts a turn; its terms are different from each other. At most [`Counts::MOST_TURNS`] may be counted.
    pub fn add(&mut self, terms: &[u32]) {
        for term in terms {
            match self.find(*term) {
                Ok(at) => self.turns[at] += 1,
                Err(at) => {
                    growth::reserve(&mut self.terms, 1);
                    growth::reserve(&mut self.turns, 1);
                    self.terms.insert(at, *term);
                    self.turns.insert(at, 1);
                }
            }
        }
    }

    /// Takes a turn out.
    pub fn remove(&mut self, terms: &[u32]) {
        for term in terms {
            if let Ok(at) = self.find(*term) {
                self.turns[at] -= 1;
                if self.turns[at] == 0 {
                    self.terms.remove(at);
                    self.turns.remove(at);
                }
            }
        }
    }

    /// Number of turns that hold a term. Cost: a few steps.
    #[inline]
    pub fn of(&self, term: u32) -> u32 {
        self.find(term).map_or(0, |at| u32::from(self.turns[at]))
    }

    /// Where a term is, or would be. Terms are hashes, so that they lie evenly, and the place that is guessed is near.
    #[inline]
    fn find(&self, term: u32) -> Result<usize, usize> {
        let guess = ((u64::from(term) * self.terms.len() as u64) >> 32) as usize;
        let (before, behind) = self.terms.split_at(guess);
        let at = match before.last() {
            Some(last) if *last >= term => before.iter().rposition(|before| *before < term).map_or(0, |at| at + 1),
            _ => guess + behind.iter().take_while(|behind| **behind < term).count(),
        };
        if self.terms.get(at) == Some(&term) { Ok(at) } else { Err(at) }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        growth::bytes(&self.terms) + growth::bytes(&self.turns)
    }
}

/// Term to the ids of the turns that hold it, ascending.
#[derive(Clone, Debug, Default)]
pub struct Postings {
    turns: FxHashMap<u32, Vec<u32>>,
    /// Ids for which the lists have room.
    room: usize,
}

impl Postings {
    /// Adds a turn, newer than those before it; its terms are different from each other.
    pub fn add(&mut self, id: u32, terms: &[u32]) {
        for term in terms {
            let ids = self.turns.entry(*term).or_default();
            let room = ids.capacity();
            ids.push(id);
            self.room += ids.capacity() - room;
        }
    }

    /// Takes a turn out.
    pub fn remove(&mut self, id: u32, terms: &[u32]) {
        for term in terms {
            if let Some(ids) = self.turns.get_mut(term) {
                ids.retain(|held| *held != id);
                if ids.is_empty() {
                    self.room -= ids.capacity();
                    self.turns.remove(term);
                }
            }
        }
    }

    /// Ids of the turns that hold a term, ascending.
    pub fn of(&self, term: u32) -> &[u32] {
        self.turns.get(&term).map_or(&[], Vec::as_slice)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        growth::table_bytes::<(u32, Vec<u32>)>(self.turns.capacity()) + self.room * size_of::<u32>()
    }
}
