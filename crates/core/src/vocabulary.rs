//! The words of a log, numbered in order of first mention, and in which turns each occurs: in a short log how many they
//! are, in a long one which.
//!
//! A word is a hash of four bytes. Conversations repeat themselves, so that its number takes a byte or two.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::slice;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::growth;

/// The words of a log.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Vocabulary {
    /// Hashes by number, 0 where the number is free.
    hashes: Vec<u32>,
    /// Made anew by [`Vocabulary::index`].
    #[serde(skip)]
    index: Index,
}

/// In which turns a word occurs, and what its number is.
#[derive(Clone, Debug)]
enum Index {
    /// Looking through the turns of a short log costs less than knowing which.
    Short(Counts),
    Long(Box<Postings>),
}

impl Default for Index {
    fn default() -> Self {
        Self::Short(Counts::default())
    }
}

/// How many turns of a short log hold each word.
#[derive(Clone, Debug, Default)]
struct Counts {
    /// Numbers, by ascending hash.
    order: Vec<u16>,
    /// Turns that hold each word, by number; none where it is free.
    turns: Vec<u8>,
}

impl Counts {
    /// Where a word is in the order, or would be. Hashes lie evenly, so that the place that is guessed is near.
    #[inline]
    fn find(&self, hash: u32, hashes: &[u32]) -> Result<usize, usize> {
        let of = |at: usize| self.order.get(at).map(|number| hashes[usize::from(*number)]);
        let mut at = ((u64::from(hash) * self.order.len() as u64) >> 32) as usize;
        while at > 0 && of(at - 1) >= Some(hash) {
            at -= 1;
        }
        loop {
            match of(at) {
                Some(before) if before < hash => at += 1,
                Some(found) if found == hash => return Ok(at),
                _ => return Err(at),
            }
        }
    }
}

/// Which turns of a long log hold each word.
#[derive(Clone, Debug, Default)]
struct Postings {
    numbers: FxHashMap<u32, u32>,
    /// Ids of the turns that hold each word, ascending, by number; none where it is free.
    turns: Vec<Vec<u32>>,
    /// Numbers that are free.
    free: BinaryHeap<Reverse<u32>>,
    /// Ids for which the lists have room.
    room: usize,
}

impl Vocabulary {
    /// Turns of a log that is short.
    const MOST_TURNS: usize = 128;
    /// Words of a log that is short.
    const MOST_WORDS: usize = 1 << 16;

    /// True when a log with so many turns, and so many words more, is no longer short and has to be indexed anew.
    pub fn outgrows(&self, turns: usize, words: usize) -> bool {
        let short = matches!(self.index, Index::Short(_));
        short && (turns > Self::MOST_TURNS || self.hashes.len() + words > Self::MOST_WORDS)
    }

    /// Notes the turns of the log anew, given as their ids and words, oldest first.
    pub fn index<'a>(&mut self, long: bool, turns: impl Iterator<Item = (u32, &'a [u8])>) {
        growth::trim(&mut self.hashes);
        let words = self.hashes.len();
        self.index = if long {
            Index::Long(Box::new(Postings { turns: vec![Vec::new(); words], ..Postings::default() }))
        } else {
            Index::Short(Counts { order: Vec::new(), turns: vec![0; words] })
        };
        for (id, words) in turns {
            Numbers::of(words).for_each(|number| self.note(number, id));
        }
        match &mut self.index {
            Index::Short(counts) => {
                counts.order = (0..).zip(&counts.turns).filter(|(_, turns)| **turns > 0).map(|(at, _)| at).collect();
                growth::trim(&mut counts.order);
                counts.order.sort_unstable_by_key(|number| self.hashes[usize::from(*number)]);
            }
            Index::Long(postings) => {
                for ((number, hash), turns) in (0..).zip(&self.hashes).zip(&postings.turns) {
                    if turns.is_empty() {
                        postings.free.push(Reverse(number));
                    } else {
                        postings.numbers.insert(*hash, number);
                    }
                }
            }
        }
    }

    /// Notes that a turn, the newest, holds a word, whose number is returned. Words of a turn are different from each other.
    pub fn add(&mut self, hash: u32, id: u32) -> u32 {
        let number = self.number(hash).unwrap_or_else(|| self.enter(hash));
        self.note(number, id);
        number
    }

    fn note(&mut self, number: u32, id: u32) {
        match &mut self.index {
            Index::Short(counts) => counts.turns[number as usize] += 1,
            Index::Long(postings) => {
                let ids = &mut postings.turns[number as usize];
                let room = ids.capacity();
                ids.push(id);
                postings.room += ids.capacity() - room;
            }
        }
    }

    /// Gives a new word the lowest number that is free: which ones are does not depend on what the log went through since it
    /// was loaded.
    fn enter(&mut self, hash: u32) -> u32 {
        let Self { hashes, index } = self;
        let free = match index {
            Index::Short(counts) if counts.order.len() < hashes.len() => {
                counts.turns.iter().position(|turns| *turns == 0)
            }
            Index::Short(_) => None,
            Index::Long(postings) => postings.free.pop().map(|Reverse(number)| number as usize),
        };
        let number = free.unwrap_or(hashes.len());
        if number == hashes.len() {
            growth::push(hashes, 0);
            match index {
                Index::Short(counts) => growth::push(&mut counts.turns, 0),
                Index::Long(postings) => growth::push(&mut postings.turns, Vec::new()),
            }
        }
        match index {
            Index::Short(counts) => {
                let (Ok(at) | Err(at)) = counts.find(hash, hashes);
                growth::reserve(&mut counts.order, 1);
                counts.order.insert(at, number as u16);
            }
            Index::Long(postings) => drop(postings.numbers.insert(hash, number as u32)),
        }
        hashes[number] = hash;
        number as u32
    }

    /// Takes a turn out. What stays of a word that no other turn holds is a number that is free.
    pub fn remove(&mut self, id: u32, words: &[u8]) {
        let Self { hashes, index } = self;
        for number in Numbers::of(words) {
            let at = number as usize;
            let hash = hashes[at];
            match index {
                Index::Short(counts) => {
                    counts.turns[at] -= 1;
                    if counts.turns[at] > 0 {
                        continue;
                    }
                    if let Ok(place) = counts.find(hash, hashes) {
                        counts.order.remove(place);
                    }
                }
                Index::Long(postings) => {
                    let ids = &mut postings.turns[at];
                    if let Ok(place) = ids.binary_search(&id) {
                        ids.remove(place);
                    }
                    if !ids.is_empty() {
                        continue;
                    }
                    postings.room -= std::mem::take(ids).capacity();
                    postings.numbers.remove(&hash);
                    postings.free.push(Reverse(number));
                }
            }
            hashes[at] = 0;
        }
    }

    /// Number of a word that some turn holds. Cost: a few steps.
    #[inline]
    pub fn number(&self, hash: u32) -> Option<u32> {
        match &self.index {
            Index::Short(counts) => counts.find(hash, &self.hashes).ok().map(|at| u32::from(counts.order[at])),
            Index::Long(postings) => postings.numbers.get(&hash).copied(),
        }
    }

    /// How many turns hold a word, by number.
    #[inline]
    pub fn frequency(&self, number: u32) -> u32 {
        match &self.index {
            Index::Short(counts) => u32::from(counts.turns[number as usize]),
            Index::Long(postings) => postings.turns[number as usize].len() as u32,
        }
    }

    /// Ids of the turns that hold a word, ascending; none are known of a short log.
    pub fn holders(&self, number: u32) -> Option<&[u32]> {
        match &self.index {
            Index::Short(_) => None,
            Index::Long(postings) => Some(&postings.turns[number as usize]),
        }
    }

    /// The words of a turn, of which there are so many, [`u8::MAX`] at most.
    #[inline]
    pub fn terms<'a>(&'a self, words: &'a [u8], count: u8) -> Terms<'a> {
        Terms { words, hashes: &self.hashes, count }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let index = match &self.index {
            Index::Short(counts) => growth::bytes(&counts.order) + growth::bytes(&counts.turns),
            Index::Long(postings) => {
                size_of::<Postings>()
                    + growth::table_bytes::<(u32, u32)>(postings.numbers.capacity())
                    + growth::bytes(&postings.turns)
                    + (postings.room + postings.free.capacity()) * size_of::<u32>()
            }
        };
        growth::bytes(&self.hashes) + index
    }
}

/// The different content words of a turn, in order of first mention.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    words: &'a [u8],
    hashes: &'a [u32],
    /// How many they are, [`u8::MAX`] at most.
    count: u8,
}

impl<'a> Terms<'a> {
    /// How many they are.
    #[inline]
    pub fn len(&self) -> usize {
        if self.count < u8::MAX { usize::from(self.count) } else { self.numbers().count() }
    }

    /// True when they are of the vocabulary, different from each other and as many as they are said to be.
    pub fn is_sound(&self) -> bool {
        let mut numbers: Vec<u32> = self.numbers().collect();
        numbers.sort_unstable();
        numbers.len().min(usize::from(u8::MAX)) == usize::from(self.count)
            && numbers.is_sorted_by(|before, after| before < after)
            && numbers.last().is_none_or(|last| (*last as usize) < self.hashes.len())
    }

    /// True without words.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// True when a word is among them. Cost: a look at each.
    pub fn contains(&self, hash: &u32) -> bool {
        self.iter().any(|held| held == hash)
    }

    /// Their hashes.
    #[inline]
    #[expect(clippy::iter_without_into_iter, reason = "a view is passed by value")]
    pub fn iter(&self) -> Hashes<'a> {
        Hashes { numbers: self.numbers(), hashes: self.hashes }
    }

    /// Their numbers in the vocabulary.
    #[inline]
    pub fn numbers(&self) -> Numbers<'a> {
        Numbers::of(self.words)
    }
}

impl<'a> IntoIterator for Terms<'a> {
    type Item = &'a u32;
    type IntoIter = Hashes<'a>;

    #[inline]
    fn into_iter(self) -> Hashes<'a> {
        self.iter()
    }
}

/// Hashes of the words of a turn.
pub struct Hashes<'a> {
    numbers: Numbers<'a>,
    hashes: &'a [u32],
}

impl<'a> Iterator for Hashes<'a> {
    type Item = &'a u32;

    #[inline]
    fn next(&mut self) -> Option<&'a u32> {
        self.hashes.get(self.numbers.next()? as usize)
    }
}

/// Numbers of the words of a turn.
pub struct Numbers<'a>(slice::Iter<'a, u8>);

/// Set in the bytes of a number that are not its last.
const MORE: u8 = 1 << 7;

impl<'a> Numbers<'a> {
    /// Those that [`Numbers::push`] wrote.
    #[inline]
    pub fn of(words: &'a [u8]) -> Self {
        Self(words.iter())
    }

    /// Appends a number, seven bits a byte, the lowest first.
    pub fn push(mut number: u32, words: &mut Vec<u8>) {
        while number >= u32::from(MORE) {
            growth::push(words, number as u8 | MORE);
            number >>= 7;
        }
        growth::push(words, number as u8);
    }
}

impl Iterator for Numbers<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let mut byte = *self.0.next()?;
        let mut number = u32::from(byte & !MORE);
        let mut shift = 0;
        while byte >= MORE {
            byte = *self.0.next()?;
            shift += 7;
            number |= u32::from(byte & !MORE) << shift;
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_as_few_bytes_as_they_need() {
        let all = [0, 127, 128, 16_383, 16_384, 1 << 21, u32::MAX];
        let mut words = Vec::new();
        for number in all {
            Numbers::push(number, &mut words);
        }
        assert_eq!(words.len(), 1 + 1 + 2 + 2 + 3 + 4 + 5);
        assert!(Numbers::of(&words).eq(all));
    }

    #[test]
    fn a_number_that_no_turn_holds_is_given_out_again_the_lowest_first() {
        for long in [false, true] {
            let mut vocabulary = Vocabulary::default();
            vocabulary.index(long, std::iter::empty());
            let numbers = |vocabulary: &mut Vocabulary, id| [70, 80, 90].map(|hash| vocabulary.add(hash + id, id));
            assert_eq!(numbers(&mut vocabulary, 1), [0, 1, 2]);
            assert_eq!(numbers(&mut vocabulary, 2), [3, 4, 5]);
            vocabulary.remove(1, &[2, 0]);
            assert_eq!([71, 81].map(|hash| vocabulary.number(hash)), [None, Some(1)]);
            assert_eq!(numbers(&mut vocabulary, 3), [0, 2, 6]);
            assert_eq!(vocabulary.add(81, 3), 1);
            assert_eq!(vocabulary.frequency(1), 2);
        }
    }

    #[test]
    fn a_log_of_many_words_is_long() {
        let mut vocabulary = Vocabulary::default();
        for hash in 0..1 << 16 {
            vocabulary.add(hash, 1);
        }
        assert!(vocabulary.outgrows(1, 1) && !vocabulary.outgrows(1, 0));
    }
}
