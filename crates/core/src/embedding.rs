//! Vectors: the built-in static embedder, the one [`EmbeddingSpec`] of a session (G-56) and the calibration that maps a
//! model's cosine to the scale on which SPEC-028's 0.70 / 0.50 mean what they say.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use pulp::{Arch, Simd, WithSimd};
use serde::{Deserialize, Serialize};
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

use crate::error::{Code, Error, Result};
use crate::similarity;
use crate::word_table::{WordTable, leading};

/// Piecewise-linear map from a model's cosine to the calibrated scale; flat beyond its ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    x: Vec<f32>,
    y: Vec<f32>,
}

impl Calibration {
    /// A map through the points `(x, y)`; no points is the identity.
    ///
    /// # Errors
    /// `INVALID_OPTION` unless both have the same length, `x` ascends and `y` does not descend.
    pub fn new(x: Vec<f32>, y: Vec<f32>) -> Result<Self> {
        let ascending = x.windows(2).all(|w| w[0] < w[1]) && y.windows(2).all(|w| w[0] <= w[1]);
        let finite = x.iter().chain(&y).all(|v| v.is_finite());
        if x.len() != y.len() || x.len() == 1 || !ascending || !finite {
            return Err(Error::limit(
                Code::InvalidOption,
                "calibration",
                format!("{} and {} knots", x.len(), y.len()),
                "two or more finite knots, x ascending, y not descending",
            ));
        }
        Ok(Self { x, y })
    }

    /// The calibrated value of a cosine.
    pub fn apply(&self, cosine: f32) -> f32 {
        let (Some(first), Some(last)) = (self.x.first(), self.x.last()) else { return cosine };
        if cosine <= *first {
            return self.y[0];
        }
        if cosine >= *last {
            return self.y[self.y.len() - 1];
        }
        let at = self.x.partition_point(|x| *x <= cosine);
        let (x0, x1, y0, y1) = (self.x[at - 1], self.x[at], self.y[at - 1], self.y[at]);
        y0 + (y1 - y0) * (cosine - x0) / (x1 - x0)
    }
}

/// A model of vectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// Names the model and its version.
    pub id: String,
    /// Length of every vector.
    pub dimensions: usize,
    /// Maps its cosines to the calibrated scale; the identity when absent.
    #[serde(default)]
    pub calibration: Calibration,
}

/// Model id, dimension and calibration: one value, fixed by the first vector, checked on every later one. The sessions of an
/// engine share it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Model", into = "Model")]
pub struct EmbeddingSpec(Arc<Model>);

impl From<Model> for EmbeddingSpec {
    fn from(model: Model) -> Self {
        Self(Arc::new(model))
    }
}

impl From<EmbeddingSpec> for Model {
    fn from(spec: EmbeddingSpec) -> Self {
        Arc::unwrap_or_clone(spec.0)
    }
}

impl Deref for EmbeddingSpec {
    type Target = Model;

    fn deref(&self) -> &Model {
        &self.0
    }
}

impl EmbeddingSpec {
    /// A unit copy of `vector`.
    ///
    /// # Errors
    /// `INVALID_VECTOR` on another length, NaN, infinity or zero norm.
    pub fn unit(&self, vector: &[f32]) -> Result<Vec<f32>> {
        let mut unit = Vec::new();
        self.unit_into(vector, &mut unit)?;
        Ok(unit)
    }

    /// As [`EmbeddingSpec::unit`], into a buffer that is used again.
    ///
    /// # Errors
    /// The same; `unit` is of no use then.
    pub fn unit_into(&self, vector: &[f32], unit: &mut Vec<f32>) -> Result<()> {
        self.fits(vector)?;
        similarity::unit_into(vector, unit)
    }

    /// Refuses a vector of another dimension or without a direction.
    ///
    /// # Errors
    /// `INVALID_VECTOR`.
    pub fn check(&self, vector: &[f32]) -> Result<()> {
        self.fits(vector)?;
        similarity::check(vector)
    }

    fn fits(&self, vector: &[f32]) -> Result<()> {
        if vector.len() == self.dimensions {
            return Ok(());
        }
        Err(Error::limit(
            Code::InvalidVector,
            format_args!("vector for {}", self.id),
            format!("{} numbers", vector.len()),
            self.dimensions,
        ))
    }
}

/// The built-in embedder: a table of token vectors, int8 with one scale a row, whose weighted mean, brought to unit
/// length, stands for a text. Made by `scripts/embedder`; provenance and licence are in its metadata.
#[derive(Debug)]
pub struct StaticEmbedder {
    spec: EmbeddingSpec,
    /// Tokens that begin a word.
    words: WordTable<u32>,
    /// Tokens that carry one on, without their "##".
    continuations: WordTable<u32>,
    scales: Vec<f32>,
    rows: &'static [u8],
    unknown: Option<u32>,
    /// Longest token in bytes.
    longest: usize,
}

#[derive(Deserialize)]
struct Meta {
    id: String,
    dim: usize,
    #[serde(default = "no_unknown")]
    unk_token: i64,
    calibration: Calibration,
}

const fn no_unknown() -> i64 {
    -1
}

static TABLE: &[u8] = include_bytes!("../data/embedder.bin");

impl StaticEmbedder {
    /// Language of the shipped table's words.
    pub const LANGUAGE: &str = "en";

    /// The table shipped with the package, read once (about 3 ms).
    ///
    /// # Panics
    /// Never: the table is checked by tests.
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<StaticEmbedder> = OnceLock::new();
        BUILTIN.get_or_init(|| Self::parse(TABLE).expect("the shipped table is checked by tests"))
    }

    fn parse(bytes: &'static [u8]) -> Option<Self> {
        let mut reader = Reader(bytes.strip_prefix(b"THSE")?);
        let _version = reader.u32().filter(|version| *version == 1)?;
        let meta: Meta = {
            let len = reader.u32()?;
            serde_json::from_slice(reader.take(len as usize)?).ok()?
        };
        let (n, d, vocabulary_bytes) = (reader.u32()? as usize, reader.u32()? as usize, reader.u32()? as usize);
        let tokens = std::str::from_utf8(reader.take(vocabulary_bytes)?).ok()?;
        let tokens: Vec<(&[u8], u32)> = tokens.trim_end_matches('\n').split('\n').map(str::as_bytes).zip(0..).collect();
        let continuations: Vec<(&[u8], u32)> =
            tokens.iter().filter_map(|(token, id)| Some((token.strip_prefix(b"##")?, *id))).collect();
        let scales =
            reader.take(n * 4)?.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        let rows = reader.take(n * d)?;
        let longest = tokens.iter().map(|(token, _)| token.len()).max()?;
        (d == meta.dim && tokens.len() == n).then(|| Self {
            spec: Model { id: meta.id, dimensions: d, calibration: meta.calibration }.into(),
            words: WordTable::new(tokens.into_iter()),
            continuations: WordTable::new(continuations.into_iter()),
            scales,
            rows,
            unknown: u32::try_from(meta.unk_token).ok(),
            longest,
        })
    }

    /// Its id, dimension and calibration.
    pub fn spec(&self) -> &EmbeddingSpec {
        &self.spec
    }

    /// The unit vector of `text` into `out`, which is resized to the dimension; `None` when the vocabulary covers less
    /// than half of its words, so that other scripts fall back to lexical similarity instead of noise.
    /// Cost: about 20 ns a token; nothing is allocated.
    pub fn embed(&self, text: &str, out: &mut Vec<f32>) -> Option<()> {
        /// Rows added in one pass over the sums.
        const TOGETHER: usize = 64;
        out.clear();
        out.resize(self.spec.dimensions, 0.0);
        let (mut known, mut unknown) = (0usize, 0usize);
        let mut ids = [0u32; TOGETHER];
        self.each(text, |id| match id {
            Some(id) => {
                ids[known % TOGETHER] = id;
                known += 1;
                if known.is_multiple_of(TOGETHER) {
                    self.add(&ids, out);
                }
            }
            None => unknown += 1,
        });
        self.add(&ids[..known % TOGETHER], out);
        (known > unknown && similarity::normalise(out).is_ok()).then_some(())
    }

    /// Token ids of `text`; unknown words are the unknown token, or left out.
    pub fn tokens(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        self.each(text, |id| ids.extend(id.or(self.unknown)));
        ids
    }

    /// Adds the rows of `ids`, in their order, to the sums.
    fn add(&self, ids: &[u32], out: &mut [f32]) {
        Arch::new().dispatch(AddRows { table: self, ids, out });
    }

    fn row(&self, id: u32) -> (f32, &'static [u8]) {
        let (at, d) = (id as usize, self.spec.dimensions);
        (self.scales[at], &self.rows[at * d..][..d])
    }

    /// Every token of `text`, `None` for a word that the vocabulary cannot spell. BERT's uncased pre-tokenisation: lower
    /// case, no accents, punctuation and ideographs on their own.
    fn each(&self, text: &str, mut each: impl FnMut(Option<u32>)) {
        let mut word = Word::default();
        if !text.is_ascii() {
            for c in text.chars() {
                // Marks are dropped, so their order does not matter and each character can be taken apart on its own.
                if c.is_ascii() || matches!(c, '\u{4E00}'..='\u{9FFF}') {
                    self.take(c.to_ascii_lowercase(), &mut word, &mut each);
                } else {
                    decompose_canonical(c, |part| {
                        if !is_combining_mark(part) {
                            part.to_lowercase().for_each(|c| self.take(c, &mut word, &mut each));
                        }
                    });
                }
            }
            return self.end(&mut word, &mut each);
        }
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let (length, key) = leading(&bytes[at..]);
            let end = at + length;
            // A whole word, unless a control character hides in it.
            let whole = word.is_empty() && !bytes.get(end).is_some_and(|next| is_dropped(*next as char));
            let id = key.filter(|_| whole).and_then(|key| self.words.get_key(key));
            if id.is_some() {
                each(id);
            } else {
                bytes[at..end].iter().for_each(|byte| word.push(byte.to_ascii_lowercase() as char));
            }
            match bytes.get(end) {
                // Most words end so, and nothing is left to end.
                Some(b' ') if word.is_empty() => {}
                Some(next) => self.take(*next as char, &mut word, &mut each),
                None => {}
            }
            at = end + 1;
        }
        self.end(&mut word, &mut each);
    }

    fn take(&self, c: char, word: &mut Word, each: &mut impl FnMut(Option<u32>)) {
        if c.is_whitespace() {
            self.end(word, each);
        } else if is_punctuation(c) || is_ideograph(c) {
            self.end(word, each);
            self.pieces(c.encode_utf8(&mut [0; 4]).as_bytes(), each);
        } else if !is_dropped(c) {
            word.push(c);
        }
    }

    fn end(&self, word: &mut Word, each: &mut impl FnMut(Option<u32>)) {
        match word.bytes() {
            Some([]) => {}
            Some(bytes) => self.pieces(bytes, each),
            None => each(None),
        }
        *word = Word { length: 0, characters: 0, ..*word };
    }

    /// Greedy longest-match pieces of one word, as in BERT: all of them, or one unknown.
    fn pieces(&self, word: &[u8], piece: &mut impl FnMut(Option<u32>)) {
        if let Some(id) = self.words.get(word) {
            return piece(Some(id));
        }
        let mut found = [0u32; 64];
        let mut count = 0;
        let mut start = 0;
        while start < word.len() {
            let vocabulary = if start == 0 { &self.words } else { &self.continuations };
            let longest = word.len().min(start + self.longest);
            let fits = (start + 1..=longest)
                .rev()
                .filter(|end| word.get(*end).is_none_or(|next| next & 0xC0 != 0x80))
                .find_map(|end| vocabulary.get(&word[start..end]).map(|id| (end, id)));
            match fits {
                Some((end, id)) if count < found.len() => {
                    found[count] = id;
                    count += 1;
                    start = end;
                }
                _ => return piece(None),
            }
        }
        found[..count].iter().for_each(|id| piece(Some(*id)));
    }
}

/// [`StaticEmbedder::add`], compiled for each instruction set; the products are not fused, so all give the same bits.
struct AddRows<'a> {
    table: &'a StaticEmbedder,
    ids: &'a [u32],
    out: &'a mut [f32],
}

impl WithSimd for AddRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        /// Sums that stay in registers; as many bytes of a row are a cache line.
        const WIDE: usize = 64;
        let (blocks, tail) = self.out.as_chunks_mut::<WIDE>();
        let rest = blocks.len() * WIDE;
        for (at, sums) in blocks.iter_mut().enumerate() {
            let mut block = *sums;
            for id in self.ids {
                let (scale, row) = self.table.row(*id);
                let Some(row) = row[at * WIDE..].first_chunk::<WIDE>() else { continue };
                for (sum, byte) in block.iter_mut().zip(row) {
                    *sum += scale * f32::from(*byte as i8);
                }
            }
            *sums = block;
        }
        for id in self.ids {
            let (scale, row) = self.table.row(*id);
            for (sum, byte) in tail.iter_mut().zip(&row[rest..]) {
                *sum += scale * f32::from(*byte as i8);
            }
        }
    }
}

/// BERT calls longer words unknown, in characters.
const LONGEST_WORD: usize = 100;

/// A word on its way, in UTF-8.
#[derive(Clone, Copy)]
struct Word {
    bytes: [u8; 4 * LONGEST_WORD],
    length: usize,
    characters: usize,
}

impl Default for Word {
    fn default() -> Self {
        Self { bytes: [0; 4 * LONGEST_WORD], length: 0, characters: 0 }
    }
}

impl Word {
    fn push(&mut self, c: char) {
        if self.characters < LONGEST_WORD {
            self.length += c.encode_utf8(&mut self.bytes[self.length..]).len();
        }
        self.characters += 1;
    }

    fn is_empty(&self) -> bool {
        self.characters == 0
    }

    /// `None` when it was too long.
    fn bytes(&self) -> Option<&[u8]> {
        (self.characters <= LONGEST_WORD).then(|| &self.bytes[..self.length])
    }
}

/// Control characters, and what stands for a character that could not be read.
fn is_dropped(c: char) -> bool {
    !c.is_whitespace() && c.is_control() || c == '\u{FFFD}'
}

/// ASCII symbols count as punctuation, as in BERT; beyond ASCII the general punctuation blocks.
fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(c, '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205E}' | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{00A1}' | '\u{00A7}' | '\u{00AB}' | '\u{00B6}' | '\u{00B7}' | '\u{00BB}' | '\u{00BF}' | '\u{FF01}'..='\u{FF0F}' | '\u{FF1A}'..='\u{FF20}' | '\u{0964}' | '\u{060C}' | '\u{061B}' | '\u{061F}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}' | '\u{20000}'..='\u{2CEAF}' | '\u{F900}'..='\u{FAFF}' | '\u{2F800}'..='\u{2FA1F}')
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }
}

impl Calibration {
    /// Checks knots that came from outside.
    ///
    /// # Errors
    /// As [`Calibration::new`].
    pub fn check(&self) -> Result<()> {
        Self::new(self.x.clone(), self.y.clone()).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;
    use unicode_normalization::UnicodeNormalization;

    /// BERT's tokeniser as it is described: normalise the text, cut it into words, spell each greedily.
    struct Naive(HashMap<String, u32>);

    impl Naive {
        fn new() -> Self {
            let at = 12 + u32::from_le_bytes(*TABLE[8..].first_chunk().unwrap()) as usize;
            let bytes = u32::from_le_bytes(*TABLE[at + 8..].first_chunk().unwrap()) as usize;
            let tokens = std::str::from_utf8(&TABLE[at + 12..][..bytes]).unwrap();
            Self(tokens.trim_end_matches('\n').split('\n').map(str::to_owned).zip(0..).collect())
        }

        fn tokens(&self, text: &str) -> Vec<u32> {
            let plain: String = text.nfd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase).collect();
            let mut words = vec![String::new()];
            for c in plain.chars().filter(|c| !is_dropped(*c)) {
                if c.is_whitespace() || is_punctuation(c) || is_ideograph(c) {
                    words.extend([c.to_string(), String::new()]);
                } else {
                    words.last_mut().unwrap().push(c);
                }
            }
            words.iter().filter(|word| !word.trim().is_empty()).flat_map(|word| self.spell(word)).collect()
        }

        fn spell(&self, word: &str) -> Vec<u32> {
            let letters: Vec<char> = word.chars().collect();
            let (mut ids, mut start) = (Vec::new(), 0);
            while start < letters.len() && letters.len() <= LONGEST_WORD {
                let piece = |end: usize| {
                    let letters: String = letters[start..end].iter().collect();
                    if start == 0 { letters } else { format!("##{letters}") }
                };
                let Some((end, id)) =
                    (start + 1..=letters.len()).rev().find_map(|end| Some((end, *self.0.get(&piece(end))?)))
                else {
                    return Vec::new();
                };
                ids.push(id);
                start = end;
            }
            if ids.len() > 64 { Vec::new() } else { ids }
        }
    }

    const PARTS: &[&str] = &[
        "the",
        "Cluster",
        "RESTORED",
        "xylographic",
        "antidisestablishmentarianism",
        "etcd",
        "don't",
        "2379",
        "##s",
        " ",
        "\t",
        "\n",
        "\u{1}",
        "\u{FFFD}",
        "\u{85}",
        ".",
        "(",
        "\u{2014}",
        "é",
        "e\u{301}",
        "İ",
        "Straße",
        "привет",
        "й",
        "日本",
        "\u{F900}",
        "한국",
        "👍",
        "नमस्ते",
        "a\u{323}\u{302}",
    ];

    proptest! {
        #[test]
        fn tokens_are_those_of_the_naive_tokeniser(parts in prop::collection::vec(prop::sample::select(PARTS), 0..16)) {
            thread_local!(static NAIVE: Naive = Naive::new());
            let text = parts.concat();
            prop_assert_eq!(StaticEmbedder::builtin().tokens(&text), NAIVE.with(|naive| naive.tokens(&text)), "{:?}", text);
        }
    }

    #[test]
    fn a_word_of_a_hundred_letters_is_spelt_and_a_longer_one_is_not() {
        let naive = Naive::new();
        for n in [62, 64, 66, 99, 100, 101, 400] {
            for letter in ["a", "zq", "é", "word"] {
                let text = letter.repeat(n).chars().take(n).collect::<String>();
                assert_eq!(StaticEmbedder::builtin().tokens(&text), naive.tokens(&text), "{n} {letter}");
            }
        }
    }

    #[test]
    fn a_vector_is_the_unit_sum_of_its_rows_in_order() {
        let embedder = StaticEmbedder::builtin();
        let text = "How do I restore the etcd cluster from a snapshot, step by step? ".repeat(9);
        let mut sum = vec![0.0f32; embedder.spec().dimensions];
        for id in embedder.tokens(&text) {
            let (scale, row) = embedder.row(id);
            sum.iter_mut().zip(row).for_each(|(sum, byte)| *sum += scale * f32::from(*byte as i8));
        }
        similarity::normalise(&mut sum).unwrap();
        let mut vector = Vec::new();
        embedder.embed(&text, &mut vector).unwrap();
        assert_eq!(vector, sum);
        assert!(embedder.embed("привет как дела сегодня", &mut vector).is_none());
    }
}
