//! Token counts: exact for o200k and cl100k, exact for any Hugging Face `tokenizer.json`, or an estimate that
//! errs to the high side for written text (G-48, R003-15).
//!
//! Every item is counted once, when it enters the session, and the number is kept.

mod bpe;

use crate::error::{Code, Error, Result};
use bpe::Encoding;

/// Counts the tokens of a text.
pub trait TokenCounter {
    /// Tokens of `text`, without any message overhead.
    ///
    /// # Errors
    /// `TOKENIZER` when a foreign tokenizer or function fails.
    fn count(&self, text: &str) -> Result<u32>;

    /// Where in `text` more than `limit` tokens have been seen, `None` when it has no more than those. A text that is the
    /// same up to the end of that line, with another after it, has more than `limit` too.
    ///
    /// # Errors
    /// As [`TokenCounter::count`].
    fn overflow(&self, text: &str, limit: u32) -> Result<Option<usize>> {
        Ok((self.count(text)? > limit).then_some(text.len()))
    }

    /// True when the numbers are estimates.
    fn estimated(&self) -> bool {
        false
    }
}

/// The counters that need nothing from the host.
#[derive(Debug)]
pub enum Counter {
    /// `o200k_base`, exact.
    O200k,
    /// `cl100k_base`, exact.
    Cl100k,
    /// Script-aware upper estimate.
    Estimate,
    /// A Hugging Face tokenizer, exact, without special tokens.
    HuggingFace(Box<tokenizers::Tokenizer>),
}

impl Counter {
    /// Reads a Hugging Face `tokenizer.json`.
    ///
    /// # Errors
    /// `TOKENIZER` when the text is not one.
    pub fn from_json(json: &str) -> Result<Self> {
        json.parse::<tokenizers::Tokenizer>()
            .map(|tokenizer| Self::HuggingFace(Box::new(tokenizer)))
            .map_err(|e| Error::new(Code::Tokenizer, format!("not a tokenizer.json: {e}")))
    }
}

impl TokenCounter for Counter {
    fn count(&self, text: &str) -> Result<u32> {
        match self {
            Self::O200k => Ok(Encoding::o200k().count(text)),
            Self::Cl100k => Ok(Encoding::cl100k().count(text)),
            Self::Estimate => Ok(estimate(text)),
            Self::HuggingFace(tokenizer) => tokenizer
                .encode_fast(text, false)
                .map(|encoding| encoding.len() as u32)
                .map_err(|e| Error::new(Code::Tokenizer, e.to_string())),
        }
    }

    fn overflow(&self, text: &str, limit: u32) -> Result<Option<usize>> {
        match self {
            Self::O200k => Ok(Encoding::o200k().overflow(text, limit)),
            Self::Cl100k => Ok(Encoding::cl100k().overflow(text, limit)),
            _ => Ok((self.count(text)? > limit).then_some(text.len())),
        }
    }

    fn estimated(&self) -> bool {
        matches!(self, Self::Estimate)
    }
}

/// An upper estimate by script. Latin words cost a token for three letters, capitals and digits one for two and one,
/// ideographs, Greek and the Semitic scripts two, Cyrillic one a letter, everything else its UTF-8 length, which no
/// byte-level tokenizer exceeds.
fn estimate(text: &str) -> u32 {
    let mut thirds = 0u64;
    let mut last = Script::Space;
    let mut run = 0u64;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let script = Script::of(c);
        run = if script == last { run + 1 } else { 0 };
        thirds += match script {
            // A single blank belongs to the letters or marks it stands before, to nothing else.
            Script::Space => {
                let joins = characters.peek().is_some_and(|next| {
                    use Script::{Abjad, Alphabet, Lower, Mark, Upper};
                    matches!(Script::of(*next), Lower | Upper | Mark | Alphabet | Abjad)
                });
                u64::from(c != ' ' || run > 0 || !joins) * 3
            }
            // The first letter of a run pays for a whole token: no run is shorter than one.
            Script::Lower => {
                if run == 0 {
                    3
                } else {
                    1
                }
            }
            Script::Upper => {
                if run == 0 {
                    3
                } else {
                    2
                }
            }
            Script::Digit | Script::Mark | Script::Alphabet => 3,
            Script::Ideograph | Script::Abjad => 6,
            Script::Other => 3 * c.len_utf8() as u64,
        };
        last = script;
    }
    u32::try_from(thirds.div_ceil(3)).unwrap_or(u32::MAX)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Space,
    Lower,
    Upper,
    Digit,
    Mark,
    Ideograph,
    Alphabet,
    Abjad,
    Other,
}

impl Script {
    const fn of(c: char) -> Self {
        match c {
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Upper,
            '0'..='9' => Self::Digit,
            ' ' | '\n' | '\r' | '\t' => Self::Space,
            '!'..='~' => Self::Mark,
            '\u{400}'..='\u{52F}' => Self::Alphabet,
            '\u{370}'..='\u{3FF}' | '\u{530}'..='\u{6FF}' => Self::Abjad,
            '\u{3040}'..='\u{30FF}'
            | '\u{4E00}'..='\u{9FFF}'
            | '\u{AC00}'..='\u{D7AF}'
            | '\u{3000}'..='\u{303F}'
            | '\u{FF00}'..='\u{FFEF}' => Self::Ideograph,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: &[&str] = &[
        "How do I configure etcd? The client port is 2379, the peer port 2380.",
        "{\"id\":\"7f3a9c2e-41d0-4b6e\",\"total\":1234.56,\"ok\":true}",
        "fn main() { println!(\"{:?}\", xs.iter().map(|x| x * 2).collect::<Vec<_>>()); }",
        "Wie groß ist die Straße in München? Übermäßig öffentliche Gebäude.",
        "Как настроить сервер и открыть порт для клиентов?",
        "我想把会议改到下周三下午三点，可以吗？",
        "明日の会議の資料を送ってください。よろしくお願いします。",
        "내일 회의 자료를 보내 주세요. 감사합니다.",
        "मुझे कल की बैठक के लिए दस्तावेज़ भेजें।",
        "שלום עולם, מה שלומך?",
        "Καλημέρα κόσμε, τι κάνεις;",
        "أرسل لي تفاصيل الرحلة من فضلك",
        "ตั้งค่าเซิร์ฟเวอร์อย่างไร",
        "👩‍👩‍👧‍👦 🎉🎉 ok 🏳️‍🌈 ASCII ALLCAPS XKCD QWRTP",
        "zxqj kwvbn ptkmr hjklm aGVsbG8gd29ybGQ=",
    ];

    #[test]
    fn the_estimate_never_under_counts() {
        for sample in SAMPLES {
            for exact in [Counter::O200k, Counter::Cl100k] {
                let (estimated, counted) = (Counter::Estimate.count(sample).unwrap(), exact.count(sample).unwrap());
                assert!(estimated >= counted, "{sample}: {estimated} < {counted}");
            }
            let (estimated, counted) =
                (Counter::Estimate.count(sample).unwrap(), Counter::Cl100k.count(sample).unwrap());
            assert!(estimated <= counted * 3 + 8, "{sample}: {estimated} is useless beside {counted}");
        }
    }

    #[test]
    fn known_counts() {
        assert_eq!(Counter::O200k.count("hello world").unwrap(), 2);
        assert_eq!(Counter::Cl100k.count("hello world").unwrap(), 2);
        assert_eq!(Counter::O200k.count("").unwrap(), 0);
    }

    #[test]
    fn a_broken_tokenizer_is_a_typed_error() {
        assert_eq!(Counter::from_json("{}").unwrap_err().code, Code::Tokenizer);
    }
}
