//! What a conversation has covered (G-8): one entry an answer, with the vector of the question it answered.

use std::cell::OnceCell;

use serde::{Deserialize, Serialize};

use crate::growth;
use crate::knowledge::NgramGuard;
use crate::turn_log::TurnLog;

/// Entries kept; the oldest go first.
const MOST: usize = 256;

/// The coverage set of a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// User turn and depth weight (R024-9).
    entries: Vec<(u32, f32)>,
    /// Read from the log when facts are first looked for: it weighs four times what was said, and most sessions have none.
    #[serde(skip)]
    ngrams: OnceCell<Box<NgramGuard>>,
}

impl Coverage {
    /// Records that `answer` answered the user turn `turn`.
    pub fn add(&mut self, turn: u32, answer: &str) {
        growth::push(&mut self.entries, (turn, depth(answer)));
        if self.entries.len() > MOST {
            self.entries.remove(0);
        }
        if let Some(ngrams) = self.ngrams.get_mut() {
            ngrams.add(answer);
        }
    }

    /// The oldest turn leaves the log, with what it answered.
    pub fn evict(&mut self, turn: u32, answer: &str) {
        self.entries.retain(|(covered, _)| *covered != turn);
        if let Some(ngrams) = self.ngrams.get_mut() {
            ngrams.remove(answer);
        }
    }

    /// A turn is erased. The 6-grams are read again, since there may be room for those of older answers now.
    pub fn remove(&mut self, turn: u32) {
        self.entries.retain(|(covered, _)| *covered != turn);
        self.ngrams.take();
    }

    /// The turns from `turn` on are taken back.
    pub fn rewind(&mut self, turn: u32) {
        self.entries.retain(|(covered, _)| *covered < turn);
        self.ngrams.take();
    }

    /// 6-grams of the answers in the log (R024-10). Cost: linear in them the first time.
    pub fn ngrams(&self, log: &TurnLog) -> &NgramGuard {
        self.ngrams.get_or_init(|| {
            let mut ngrams = Box::new(NgramGuard::default());
            log.turns().iter().for_each(|turn| ngrams.add(turn.answer()));
            ngrams
        })
    }

    /// The weighted mean of the covered vectors: coverage of a fact is its dot product with it (R024-2). `None` when
    /// nothing is covered (R024-8).
    pub fn mean(&self, log: &TurnLog) -> Option<Vec<f32>> {
        let mut mean = vec![0.0; log.dimensions()];
        let mut total = 0.0;
        for (position, weight) in
            self.entries.iter().filter_map(|(turn, weight)| log.position(*turn).map(|at| (at, weight)))
        {
            total += weight;
            log.add_vector(&mut mean, position, *weight);
        }
        (total > 0.0 && !mean.is_empty()).then(|| {
            for value in &mut mean {
                *value /= total;
            }
            mean
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        growth::bytes(&self.entries) + self.ngrams.get().map_or(0, |ngrams| ngrams.bytes())
    }
}

/// Depth by length (R024-9, G-8): a sentence is marginal, a page is thorough.
fn depth(answer: &str) -> f32 {
    match answer.split_whitespace().count() {
        0..=8 => 0.15,
        9..=40 => 0.40,
        41..=150 => 0.70,
        _ => 0.90,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_back_is_not_covered() {
        let mut coverage = Coverage::default();
        for turn in [1, 3, 5] {
            coverage.add(turn, "Clients use port 2379.");
        }
        coverage.rewind(3);
        assert_eq!(coverage.entries.iter().map(|(turn, _)| *turn).collect::<Vec<_>>(), [1]);
    }
}
