//! Exact look-up of words: a short one is two integers, found without comparing strings, most often in one cache line.

use std::ops::Range;

use rustc_hash::FxHashMap;

/// Bytes of the longest word that fits into a [`Key`].
const SHORT: usize = 15;

/// A short word and its length as two integers; no two words share one, and none is zero.
pub type Key = [u64; 2];

/// The key of a word of 1 to 15 bytes.
#[inline]
pub fn key(word: &[u8]) -> Option<Key> {
    let n = word.len();
    let at = |i: usize| u64::from(word[i]) << (8 * i);
    let (low, high) = match n {
        0 | 16.. => return None,
        8..=SHORT => (
            u64::from_le_bytes(*word.first_chunk()?),
            (u64::from_le_bytes(*word.last_chunk()?) >> 8) >> (8 * (SHORT - n)),
        ),
        4..8 => {
            let (first, last) = (u32::from_le_bytes(*word.first_chunk()?), u32::from_le_bytes(*word.last_chunk()?));
            (u64::from(first) | u64::from(last) << (8 * (n - 4)), 0)
        }
        _ => (at(0) | at(n / 2) | at(n - 1), 0),
    };
    Some([low, high | (n as u64) << 56])
}

/// By their number: the first bytes of sixteen.
static FIRST: [u128; SHORT + 1] = {
    let mut first = [0; SHORT + 1];
    let mut n = 1;
    while n <= SHORT {
        first[n] = u128::MAX >> (128 - 8 * n);
        n += 1;
    }
    first
};

/// The [`key`] of a word of `text`. Its length does not decide where the code goes on, unless the text ends soon after it.
#[inline]
pub fn key_in(text: &[u8], word: Range<usize>) -> Option<Key> {
    let n = word.len();
    match text[word.start..].first_chunk() {
        Some(bytes) if (1..=SHORT).contains(&n) => {
            let bytes = u128::from_le_bytes(*bytes) & FIRST[n];
            Some([bytes as u64, (bytes >> 64) as u64 | (n as u64) << 56])
        }
        _ => key(&text[word]),
    }
}

/// The key of an ASCII word in lower case.
#[inline]
pub fn lower(key: Key) -> Key {
    key.map(|bytes| bytes | within(bytes, b'A', b'Z') >> 2)
}

/// How many ASCII letters and digits a text of ASCII begins with, and their key in lower case, if they have one.
#[inline]
pub fn leading(text: &[u8]) -> (usize, Option<Key>) {
    // Of a word of up to 7 bytes, which most are, neither is a loop, nor does its length decide where the code goes on.
    let Some(first) = text.first_chunk() else { return leading_slow(text) };
    let bytes = u64::from_le_bytes(*first);
    let [folded, _] = lower([bytes, 0]);
    let outside = !(within(folded, b'a', b'z') | within(bytes, b'0', b'9')) & TOPS;
    match outside.trailing_zeros() as usize / 8 {
        0 => (0, None),
        8 => leading_slow(text),
        n => (n, Some([folded & (u64::MAX >> (64 - 8 * n)), (n as u64) << 56])),
    }
}

/// How many ASCII letters a text begins with.
#[inline]
pub fn letters(text: &[u8]) -> usize {
    let plain = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let Some(first) = text.first_chunk() else { return plain(text) };
    let bytes = u64::from_le_bytes(*first);
    let letters = within(lower([bytes & !TOPS, 0])[0], b'a', b'z') & !bytes;
    match (!letters & TOPS).trailing_zeros() as usize / 8 {
        8 => 8 + plain(&text[8..]),
        n => n,
    }
}

fn leading_slow(text: &[u8]) -> (usize, Option<Key>) {
    let n = text.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    (n, key(&text[..n]).map(lower))
}

const EACH: u64 = 0x0101_0101_0101_0101;
/// The top bit of each of eight bytes.
const TOPS: u64 = EACH * 128;

/// The top bits of those of eight bytes, none above 127, that are from `first` to `last`.
#[inline]
const fn within(bytes: u64, first: u8, last: u8) -> u64 {
    let (from_first, beyond_last) = (bytes + EACH * (128 - first as u64), bytes + EACH * (127 - last as u64));
    from_first & !beyond_last & TOPS
}

/// A hash of a key, good in all of its bits.
#[inline]
pub fn hash(key: Key) -> u64 {
    let product = u128::from(key[0] ^ 0x9E37_79B9_7F4A_7C15) * u128::from(key[1] ^ 0xD6E8_FEB8_6659_FD93);
    (product >> 64) as u64 ^ product as u64
}

/// Words with a value each, made once and never changed.
#[derive(Debug)]
pub struct WordTable<V> {
    /// Open addressing, at most half full; the key of an empty slot is zero. A value lies with its key, in one cache line most
    /// often.
    slots: Box<[(Key, V)]>,
    long: FxHashMap<Box<[u8]>, V>,
}

impl<V: Copy + Default> WordTable<V> {
    /// A table of `words`; the last value of a word counts. The empty word is left out.
    pub fn new<'a>(words: impl ExactSizeIterator<Item = (&'a [u8], V)>) -> Self {
        let slots = (2 * words.len()).next_power_of_two();
        let mut table = Self { slots: vec![Default::default(); slots].into(), long: FxHashMap::default() };
        for (word, value) in words {
            if let Some(key) = key(word) {
                table.slots[table.slot(key)] = (key, value);
            } else if !word.is_empty() {
                table.long.insert(word.into(), value);
            }
        }
        table
    }

    /// The value of a word. Cost: a few nanoseconds, and a cache miss where the word is rare.
    #[inline]
    pub fn get(&self, word: &[u8]) -> Option<V> {
        self.get_in(word, 0..word.len())
    }

    /// The value of a word of `text`: faster than of the word alone.
    #[inline]
    pub fn get_in(&self, text: &[u8], word: Range<usize>) -> Option<V> {
        match key_in(text, word.clone()) {
            Some(key) => self.get_key(key),
            None => self.long.get(&text[word]).copied(),
        }
    }

    /// The value of a word given by its key.
    #[inline]
    pub fn get_key(&self, key: Key) -> Option<V> {
        let (found, value) = self.slots[self.slot(key)];
        (found == key).then_some(value)
    }

    /// Where `key` is or belongs.
    #[inline]
    fn slot(&self, key: Key) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash(key) as usize & mask;
        while self.slots[at].0 != key && self.slots[at].0 != [0; 2] {
            at = (at + 1) & mask;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn lower_case_in_place_is_that_of_the_word() {
        let ascii: Vec<u8> = (0..128).collect();
        for n in 1..=SHORT {
            for word in ascii.windows(n) {
                assert_eq!(key(word).map(lower), key(&word.to_ascii_lowercase()));
            }
        }
    }

    proptest! {
        #[test]
        fn a_text_begins_with_the_word_that_a_look_at_each_byte_finds(text in "[a-zA-Z0-9@\\[`{/:]{0,20}[\\x00-\\x7f]{0,12}") {
            prop_assert_eq!(leading(text.as_bytes()), leading_slow(text.as_bytes()));
        }

        #[test]
        fn words_of_a_text_have_the_keys_that_they_have_alone(text in "[a-zA-Zé`{@\\[ ]{0,40}", at in 0..40usize, n in 0..20usize) {
            let from = at.min(text.len());
            let word = from..text.len().min(from + n);
            prop_assert_eq!(key_in(text.as_bytes(), word.clone()), key(&text.as_bytes()[word]));
            let count = text.bytes().skip(from).take_while(u8::is_ascii_alphabetic).count();
            prop_assert_eq!(letters(&text.as_bytes()[from..]), count);
        }

        #[test]
        fn a_table_finds_what_a_map_finds(
            words in prop::collection::vec(prop::collection::vec(prop::sample::select(vec![0u8, b'a', b'b', 255]), 0..18), 0..60),
            asked in prop::collection::vec(prop::collection::vec(prop::sample::select(vec![0u8, b'a', b'b', 255]), 0..18), 0..60),
        ) {
            let map: BTreeMap<&[u8], usize> = words.iter().map(Vec::as_slice).zip(0..).filter(|(word, _)| !word.is_empty()).collect();
            let table = WordTable::new(words.iter().map(Vec::as_slice).zip(0..words.len()));
            for word in words.iter().chain(&asked) {
                prop_assert_eq!(table.get(word), map.get(word.as_slice()).copied());
            }
        }
    }
}
