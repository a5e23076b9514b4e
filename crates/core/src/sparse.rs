//! What few turns have: kept beside the log by turn, so that the others pay nothing for it.

use serde::{Deserialize, Serialize};

use crate::growth;

/// Elements by the id of their turn, ascending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sparse<T>(Vec<(u32, T)>);

impl<T> Sparse<T> {
    /// Adds those of a turn that is newer than all others.
    pub fn add(&mut self, turn: u32, elements: impl IntoIterator<Item = T>) {
        for element in elements {
            growth::push(&mut self.0, (turn, element));
        }
    }

    /// Those of a turn, in order; none of no turn. Cost: logarithmic in their number.
    pub fn of(&self, turn: impl Into<Option<u32>>) -> impl Iterator<Item = &T> + Clone {
        let turn = turn.into();
        let first = turn.map_or(self.0.len(), |turn| self.0.partition_point(|(of, _)| *of < turn));
        self.0[first..].iter().take_while(move |(of, _)| Some(*of) == turn).map(|(_, element)| element)
    }

    /// Keeps the elements for which `keep`, given the turn and the element, is true.
    pub fn retain(&mut self, mut keep: impl FnMut(u32, &T) -> bool) {
        self.0.retain(|(turn, element)| keep(*turn, element));
    }

    /// Bytes held, those that the elements own left out.
    pub fn bytes(&self) -> usize {
        growth::bytes(&self.0)
    }

    /// As [`growth::trim`].
    pub fn trim(&mut self) {
        growth::trim(&mut self.0);
    }
}

impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_turn_has_its_own() {
        let mut sparse = Sparse::default();
        for (turn, elements) in [(1, vec!["a", "b"]), (2, vec![]), (4, vec!["c"])] {
            sparse.add(turn, elements);
        }
        let of = |sparse: &Sparse<&'static str>, turn| sparse.of(turn).copied().collect::<Vec<_>>();
        assert_eq!([1, 2, 3, 4].map(|turn| of(&sparse, turn)), [vec!["a", "b"], vec![], vec![], vec!["c"]]);
        sparse.retain(|turn, element| turn != 4 && *element != "a");
        assert_eq!([1, 4].map(|turn| of(&sparse, turn)), [vec!["b"], vec![]]);
        assert_eq!(Sparse::<u64>::default().bytes(), 0);
    }
}
