//! The text pass: one reading of a turn that every later step shares.
//!
//! Words are cut by Unicode segmentation, folded for matching only (NFKC, full case folding, straight apostrophes and
//! hyphens, no zero-width characters: G-14) and looked up once in the locale's [`Pack`]. The original is never changed;
//! offsets are bytes inside and become UTF-16 units at the binding through [`Utf16`].

mod entities;
mod enumeration;
mod fold;
mod pack;
mod segment;
mod words;

pub use entities::entities;
pub use enumeration::{Enumeration, EnumerationKind, enumerations};
pub use fold::{fold, fold_into};
pub use pack::{Class, Pack, PhraseKind, Tag};
pub use words::{Gap, Phrase, Text, Word};

/// Content words of `text`, folded, in order, duplicates kept: what the lexical index of Tier P and the log is made of.
///
/// Cost: linear, about 40 ns a word.
pub fn terms(text: &str) -> Vec<String> {
    let pack = Pack::und();
    let mut pass = Text::default();
    pass.read(text, &pack);
    pass.words().iter().filter(|word| word.is_content()).map(|word| pass.stem(word).to_owned()).collect()
}

/// Converts byte offsets of one text into UTF-16 offsets; free for ASCII.
#[derive(Clone, Copy, Debug)]
pub struct Utf16<'a> {
    text: &'a str,
    ascii: bool,
}

impl<'a> Utf16<'a> {
    /// Prepares conversion for `text`.
    pub fn new(text: &'a str) -> Self {
        Self { text, ascii: text.is_ascii() }
    }

    /// UTF-16 units before byte offset `at`, which must lie on a character boundary. Cost: linear in `at` unless ASCII.
    pub fn offset(&self, at: usize) -> usize {
        if self.ascii { at } else { encoding_len(&self.text[..at]) }
    }
}

fn encoding_len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}
