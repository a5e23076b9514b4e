//! Vectors: the built-in static embedder, the one [`EmbeddingSpec`] of a session (G-56) and the calibration that maps a
//! model's cosine to the scale on which SPEC-028's 0.70 / 0.50 mean what they say.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::error::{Code, Error, Result};
use crate::similarity;

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

/// Model id, dimension and calibration: one value, fixed by the first vector, checked on every later one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmbeddingSpec {
    /// Names the model and its version.
    pub id: String,
    /// Length of every vector.
    pub dimensions: usize,
    /// Maps its cosines to the calibrated scale.
    pub calibration: Calibration,
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
        unit.clear();
        unit.extend_from_slice(vector);
        similarity::normalise(unit)
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
    vocabulary: FxHashMap<&'static str, u32>,
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
        let vocabulary: FxHashMap<&'static str, u32> = tokens.trim_end_matches('\n').split('\n').zip(0..).collect();
        let scales =
            reader.take(n * 4)?.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        let rows = reader.take(n * d)?;
        let longest = vocabulary.keys().map(|token| token.len()).max()?;
        (d == meta.dim && vocabulary.len() == n).then(|| Self {
            spec: EmbeddingSpec { id: meta.id, dimensions: d, calibration: meta.calibration },
            vocabulary,
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
    /// Cost: about 60 ns a token.
    pub fn embed(&self, text: &str, out: &mut Vec<f32>) -> Option<()> {
        out.clear();
        out.resize(self.spec.dimensions, 0.0);
        let (mut known, mut unknown) = (0u32, 0u32);
        let mut words = Words::default();
        words.each(text, |word| {
            self.pieces(word, |id| match id {
                Some(id) => {
                    known += 1;
                    self.add(id, out);
                }
                None => unknown += 1,
            });
        });
        (known > unknown && similarity::normalise(out).is_ok()).then_some(())
    }

    /// Token ids of `text`; unknown words are the unknown token, or left out.
    pub fn tokens(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        Words::default().each(text, |word| self.pieces(word, |id| ids.extend(id.or(self.unknown))));
        ids
    }

    fn add(&self, id: u32, out: &mut [f32]) {
        let (scale, d) = (self.scales[id as usize], self.spec.dimensions);
        let row = &self.rows[id as usize * d..][..d];
        for (sum, byte) in out.iter_mut().zip(row) {
            *sum += scale * f32::from(*byte as i8);
        }
    }

    /// Greedy longest-match pieces of one word, as in BERT: all of them, or one unknown.
    fn pieces(&self, word: &str, mut piece: impl FnMut(Option<u32>)) {
        if let Some(id) = self.vocabulary.get(word) {
            return piece(Some(*id));
        }
        let mut found = [0u32; 64];
        let mut count = 0;
        let mut continuation = String::with_capacity(word.len() + 2);
        let mut start = 0;
        while start < word.len() {
            let mut end = word.len().min(start + self.longest);
            let id = loop {
                while !word.is_char_boundary(end) {
                    end -= 1;
                }
                if end <= start {
                    break None;
                }
                let key: &str = if start == 0 {
                    &word[..end]
                } else {
                    continuation.clear();
                    continuation.push_str("##");
                    continuation.push_str(&word[start..end]);
                    &continuation
                };
                if let Some(id) = self.vocabulary.get(key) {
                    break Some(*id);
                }
                end -= 1;
            };
            match id {
                Some(id) if count < found.len() => {
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

/// BERT's uncased pre-tokenisation: lower case, no accents, punctuation and ideographs on their own.
#[derive(Default)]
struct Words {
    word: String,
}

impl Words {
    fn each(&mut self, text: &str, mut each: impl FnMut(&str)) {
        if text.is_ascii() {
            for byte in text.bytes() {
                self.take(byte.to_ascii_lowercase() as char, &mut each);
            }
        } else {
            for c in text.nfd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase) {
                self.take(c, &mut each);
            }
        }
        self.end(&mut each);
    }

    fn take(&mut self, c: char, each: &mut impl FnMut(&str)) {
        if c.is_whitespace() || c.is_control() || c == '\u{FFFD}' {
            if c.is_whitespace() {
                self.end(each);
            }
        } else if is_punctuation(c) || is_ideograph(c) {
            self.end(each);
            each(c.encode_utf8(&mut [0; 4]));
        } else {
            self.word.push(c);
        }
    }

    fn end(&mut self, each: &mut impl FnMut(&str)) {
        /// BERT calls longer words unknown.
        const LONGEST: usize = 100;
        if !self.word.is_empty() {
            let word = if self.word.chars().count() > LONGEST { "\u{0}" } else { &self.word };
            each(word);
            self.word.clear();
        }
    }
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
