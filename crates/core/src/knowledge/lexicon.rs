//! Which facts hold which words: an inverted index, kept as facts come and go, and how much of a query a fact answers.

use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

/// Facts by term.
#[derive(Clone, Debug, Default)]
pub struct Lexicon {
    /// Positions of the facts that hold a term, ascending, each once.
    postings: FxHashMap<u64, Vec<u32>>,
}

impl Lexicon {
    /// Adds the terms of the fact at `at`, which is the last position.
    pub fn add(&mut self, at: u32, terms: &[String]) {
        for term in distinct(terms) {
            self.postings.entry(term).or_default().push(at);
        }
    }

    /// Takes away the fact at `at`, whose terms were `terms`.
    pub fn remove(&mut self, at: u32, terms: &[String]) {
        for term in distinct(terms) {
            let Some(facts) = self.postings.get_mut(&term) else { continue };
            if let Ok(found) = facts.binary_search(&at) {
                facts.remove(found);
            }
            if facts.is_empty() {
                self.postings.remove(&term);
            }
        }
    }

    /// Moves every fact to the position that `moved` gives for its old one; the order stays.
    pub fn renumber(&mut self, moved: &[u32]) {
        for facts in self.postings.values_mut() {
            for at in facts {
                *at = moved[*at as usize];
            }
        }
    }

    /// Into `out`, by position: the share, in [0, 1], of the query that each of `facts` facts holds. A term weighs what BM25
    /// makes of its rarity, so that a rare word counts for more than three common ones; how often a fact repeats it does not
    /// matter in texts as short as facts.
    ///
    /// Cost: the lengths of the lists of the query's terms, and clearing `out`.
    pub fn shares(&self, query: &[String], facts: usize, out: &mut [f32]) {
        out.fill(0.0);
        let mut total = 0.0;
        for term in distinct(query) {
            let holders = self.postings.get(&term).map_or(&[][..], Vec::as_slice);
            let weight = rarity(holders.len(), facts);
            total += weight;
            for at in holders {
                out[*at as usize] += weight;
            }
        }
        if total > 0.0 {
            for share in out {
                *share = (*share / total).min(1.0);
            }
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.postings.values().map(|facts| facts.capacity() * 4 + size_of::<(u64, Vec<u32>)>()).sum()
    }
}

/// BM25's inverse document frequency, above 0. Taken in `f64`, so that the platform's logarithm does not show in an `f32`.
fn rarity(holders: usize, facts: usize) -> f32 {
    let (holders, facts) = (holders as f64, facts as f64);
    (1.0 + (facts - holders + 0.5) / (holders + 0.5)).ln() as f32
}

/// Hashes of the stems of `terms`, each once, in order of first mention.
fn distinct(terms: &[String]) -> impl Iterator<Item = u64> {
    let mut seen = FxHashSet::default();
    terms.iter().map(|term| hash(stem(term))).filter(move |term| seen.insert(*term))
}

fn hash(stem: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(stem.as_bytes());
    hasher.finish()
}

/// A folded word without the ending in which a noun and its plural, or a tool's verb and its noun, differ: "flights" and
/// "flight", "booking" and "book". English endings; words of other scripts stay as they are.
pub(crate) fn stem(word: &str) -> &str {
    const SHORTEST: usize = 3;
    const ENDINGS: [&str; 8] = ["ings", "ing", "ies", "ed", "es", "s", "y", "e"];
    let fits = |ending: &&&str| **ending != "s" || !word.ends_with("ss");
    let stems = ENDINGS.iter().filter(fits).filter_map(|ending| word.strip_suffix(ending));
    stems.into_iter().find(|stem| stem.len() >= SHORTEST).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::float_cmp, reason = "exact values are meant")]

    use proptest::prelude::*;

    use super::*;

    fn terms(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_rare_word_counts_for_more_than_a_common_one() {
        let mut lexicon = Lexicon::default();
        for (at, text) in ["etcd port 2379", "port of oslo", "port wine"].into_iter().enumerate() {
            lexicon.add(at as u32, &terms(text));
        }
        let mut shares = [0.0; 3];
        lexicon.shares(&terms("etcd ports"), 3, &mut shares);
        assert!((shares[0] - 1.0).abs() < 1e-6);
        assert!(shares[1] > 0.0 && shares[1] < 0.3 && shares[1] == shares[2]);
        lexicon.shares(&terms("nothing known"), 3, &mut shares);
        assert_eq!(shares, [0.0; 3]);
        lexicon.shares(&[], 3, &mut shares);
        assert_eq!(shares, [0.0; 3]);
    }

    #[test]
    fn stems() {
        let pairs = [
            ("flights", "flight"),
            ("booking", "book"),
            ("cities", "city"),
            ("prices", "price"),
            ("addresses", "address"),
            ("queries", "query"),
            ("used", "used"),
            ("ключи", "ключи"),
        ];
        for (one, other) in pairs {
            assert_eq!(stem(one), stem(other), "{one}");
        }
    }

    proptest! {
        #[test]
        fn what_came_and_went_leaves_nothing(texts in prop::collection::vec("[a-c]{1,2}( [a-c]{1,2}){0,4}", 1..12), gone in prop::collection::vec(any::<bool>(), 12)) {
            let mut lexicon = Lexicon::default();
            for (at, text) in texts.iter().enumerate() {
                lexicon.add(at as u32, &terms(text));
            }
            let mut moved = Vec::new();
            let mut kept = Vec::new();
            for (at, text) in texts.iter().enumerate() {
                moved.push(kept.len() as u32);
                if gone[at] { lexicon.remove(at as u32, &terms(text)) } else { kept.push(text) }
            }
            lexicon.renumber(&moved);
            let mut fresh = Lexicon::default();
            for (at, text) in kept.iter().enumerate() {
                fresh.add(at as u32, &terms(text));
            }
            prop_assert_eq!(lexicon.postings, fresh.postings);
        }
    }
}
