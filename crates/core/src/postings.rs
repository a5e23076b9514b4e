//! Which turns of a long log hold a term.

use rustc_hash::FxHashMap;

/// Term to the ids of the turns that hold it, ascending.
#[derive(Clone, Debug, Default)]
pub struct Postings(FxHashMap<u32, Vec<u32>>);

impl Postings {
    /// Adds a turn, newer than those before it; its terms are different from each other.
    pub fn add(&mut self, id: u32, terms: &[u32]) {
        for term in terms {
            self.0.entry(*term).or_default().push(id);
        }
    }

    /// Takes a turn out.
    pub fn remove(&mut self, id: u32, terms: &[u32]) {
        for term in terms {
            if let Some(ids) = self.0.get_mut(term) {
                ids.retain(|held| *held != id);
                if ids.is_empty() {
                    self.0.remove(term);
                }
            }
        }
    }

    /// Ids of the turns that hold a term, ascending.
    pub fn of(&self, term: u32) -> &[u32] {
        self.0.get(&term).map_or(&[], Vec::as_slice)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<(u32, Vec<u32>)>() + self.0.values().map(|ids| ids.capacity() * 4).sum::<usize>()
    }
}
