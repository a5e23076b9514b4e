//! The n-gram guard: which facts repeat, word for word, what was already generated (R024-10).

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use unicode_segmentation::UnicodeSegmentation;

use crate::growth;

/// Words in a row that make a repetition.
const WORDS: usize = 6;
/// What one repetition takes off the score, and the most that all of them take.
const PENALTY: f32 = 0.15;
const MOST_PENALTY: f32 = 0.80;
/// n-grams kept; the oldest outputs are forgotten first. About 1.5 MB.
const MOST: usize = 1 << 16;

/// Hashes of the 6-grams of the outputs of a session, words lower-cased.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NgramGuard {
    /// The 6-grams of each output, oldest first.
    outputs: VecDeque<Box<[u64]>>,
    /// How often a 6-gram occurs in them.
    count: FxHashMap<u64, u32>,
    /// 6-grams in all of them.
    held: usize,
}

impl NgramGuard {
    /// Adds an output. Cost: linear.
    pub fn add(&mut self, output: &str) {
        self.keep(ngrams(output).collect());
        while self.held > MOST && self.outputs.len() > 1 {
            self.forget(0);
        }
    }

    /// Takes an output back, the oldest of equal ones; nothing happens when it is not there.
    pub fn remove(&mut self, output: &str) {
        let ngrams: Box<[u64]> = ngrams(output).collect();
        if let Some(at) = self.outputs.iter().position(|known| *known == ngrams) {
            self.forget(at);
        }
    }

    /// True when no 6-gram is known.
    pub fn is_empty(&self) -> bool {
        self.count.is_empty()
    }

    /// Number of 6-grams of `text` that an output holds. Cost: linear; nothing when the guard is empty.
    pub fn matches(&self, text: &str) -> usize {
        if self.is_empty() { 0 } else { ngrams(text).filter(|ngram| self.count.contains_key(ngram)).count() }
    }

    /// What the matches take off a score: min(0.80, 0.15 each).
    pub fn penalty(&self, text: &str) -> f32 {
        (self.matches(text) as f32 * PENALTY).min(MOST_PENALTY)
    }

    /// Bytes held, its own size included.
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.outputs.capacity() * size_of::<Box<[u64]>>()
            + self.held * size_of::<u64>()
            + growth::table_bytes::<(u64, u32)>(self.count.capacity())
    }

    fn keep(&mut self, output: Box<[u64]>) {
        for ngram in &output {
            *self.count.entry(*ngram).or_default() += 1;
        }
        self.held += output.len();
        if !output.is_empty() {
            self.outputs.push_back(output);
        }
    }

    fn forget(&mut self, at: usize) {
        let output = self.outputs.remove(at).unwrap_or_default();
        self.held -= output.len();
        for ngram in output {
            if let Some(count) = self.count.get_mut(&ngram) {
                *count -= 1;
                if *count == 0 {
                    self.count.remove(&ngram);
                }
            }
        }
    }
}

/// Hashes of every six words in a row.
fn ngrams(text: &str) -> impl Iterator<Item = u64> + '_ {
    let mut last = [0; WORDS];
    text.unicode_words().enumerate().filter_map(move |(at, word)| {
        last.rotate_left(1);
        last[WORDS - 1] = word.chars().flat_map(char::to_lowercase).fold(SEED, |hash, c| mixed(hash, u64::from(c)));
        (at + 1 >= WORDS).then(|| last.iter().fold(SEED, |hash, word| mixed(hash, *word)))
    })
}

/// FNV-1a over whole numbers.
const SEED: u64 = 0xcbf2_9ce4_8422_2325;

const fn mixed(hash: u64, value: u64) -> u64 {
    let hash = (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3);
    // A multiplication carries only upwards; this brings the high bits down.
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::float_cmp, reason = "exact values are meant")]

    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn six_words_in_a_row_are_a_repetition() {
        let mut guard = NgramGuard::default();
        guard.add("The client port of etcd is 2379 by default.");
        assert_eq!(guard.matches("the CLIENT port of etcd is"), 1);
        assert_eq!(guard.matches("client port of etcd is"), 0);
        assert_eq!(guard.matches("Note: the client port of etcd is 2379!"), 2);
        assert!((guard.penalty("the client port of etcd is 2379") - 0.30).abs() < 1e-6);
    }

    #[test]
    fn the_penalty_has_a_ceiling() {
        let mut guard = NgramGuard::default();
        let text = "word ".repeat(50);
        guard.add(&text);
        assert_eq!(guard.penalty(&text), MOST_PENALTY);
    }

    #[test]
    fn old_outputs_are_forgotten() {
        let mut guard = NgramGuard::default();
        let output = |n: usize| (0..2000).map(|word| format!("w{n}x{word}")).collect::<Vec<_>>().join(" ");
        for n in 0..60 {
            guard.add(&output(n));
        }
        assert!(guard.count.len() <= MOST);
        assert_eq!(guard.matches(&output(0)), 0);
        assert_eq!(guard.matches(&output(59)), 1995);
    }

    proptest! {
        #[test]
        fn matches_are_those_of_the_definition(outputs in prop::collection::vec("[ab ]{0,60}", 0..4), text in "[ab ]{0,60}") {
            let mut guard = NgramGuard::default();
            let mut known = HashSet::new();
            for output in &outputs {
                guard.add(output);
                let words: Vec<&str> = output.split_whitespace().collect();
                known.extend(words.windows(WORDS).map(<[&str]>::to_vec));
            }
            let words: Vec<&str> = text.split_whitespace().collect();
            let expected = words.windows(WORDS).filter(|window| known.contains(*window)).count();
            prop_assert_eq!(guard.matches(&text), expected);
            for output in &outputs {
                guard.remove(output);
            }
            prop_assert_eq!(guard, NgramGuard::default());
        }
    }
}
