//! Counts of the byte-pair encodings, from the same tables as `bpe_openai`, faster for what chats are made of: ASCII is
//! cut by hand, and a piece that is itself a token is one token, found by look-up.

use std::cell::RefCell;
use std::sync::OnceLock;

use bpe_openai::Tokenizer;

use crate::word_table::{Key, WordTable, hash, key};

/// How an encoding cuts a text into pieces; none of its tokens crosses one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// Words break before a capital and keep "'s"; slashes stay with the marks before them.
    O200k,
    /// Any letters; "'s" stands alone.
    Cl100k,
}

/// An encoding, ready to count.
pub(super) struct Encoding {
    tokenizer: &'static Tokenizer,
    cut: Cut,
    /// The ASCII tokens that can be a whole piece.
    whole: WordTable<()>,
}

impl Encoding {
    /// `o200k_base`.
    pub(super) fn o200k() -> &'static Self {
        static O200K: OnceLock<Encoding> = OnceLock::new();
        O200K.get_or_init(|| Self::new(bpe_openai::o200k_base(), Cut::O200k))
    }

    /// `cl100k_base`.
    pub(super) fn cl100k() -> &'static Self {
        static CL100K: OnceLock<Encoding> = OnceLock::new();
        CL100K.get_or_init(|| Self::new(bpe_openai::cl100k_base(), Cut::Cl100k))
    }

    fn new(tokenizer: &'static Tokenizer, cut: Cut) -> Self {
        let whole: Vec<&[u8]> = (0..tokenizer.bpe.num_tokens() as u32)
            .map(|id| tokenizer.bpe.token_bytes(id))
            .filter(|token| key(token).is_some() && piece(token, cut) == Some(token.len()))
            .collect();
        Self { tokenizer, cut, whole: WordTable::new(whole.into_iter().map(|token| (token, ()))) }
    }

    /// Tokens of `text`. Cost: about 10 ns a common English word.
    pub(super) fn count(&self, text: &str) -> u32 {
        self.up_to(text, u32::MAX).0
    }

    /// End of the piece with which `text` has more than `limit` tokens; `None` when it has not. Cost: that of so many tokens.
    pub(super) fn overflow(&self, text: &str, limit: u32) -> Option<usize> {
        let (count, at) = self.up_to(text, limit);
        (count > limit).then_some(at)
    }

    /// Tokens of the pieces of `text`, none after those that make it more than `limit`; where they end.
    fn up_to(&self, text: &str, limit: u32) -> (u32, usize) {
        let bytes = text.as_bytes();
        let (mut at, mut count) = (0, 0);
        while at < bytes.len() && count <= limit {
            let rest = &bytes[at..];
            let length = piece(rest, self.cut).or_else(|| {
                let pieces = self.tokenizer.pre.as_ref()?;
                pieces.split(&text[at..]).next().map(str::len)
            });
            let Some(length) = length else { break };
            count += self.tokens(&rest[..length]);
            at += length;
        }
        (count, at)
    }

    fn tokens(&self, piece: &[u8]) -> u32 {
        match key(piece) {
            Some(key) if self.whole.get_key(key).is_some() => 1,
            Some(key) => self.rare(key, piece),
            None => self.tokenizer.bpe.count(piece) as u32,
        }
    }

    /// A piece that is no token, or not ASCII: names and long words come again and again within a conversation.
    fn rare(&self, key: Key, piece: &[u8]) -> u32 {
        /// Counts remembered by a thread, in 24 bytes each; a newer one takes an older one's place.
        const REMEMBERED: usize = 2048;
        thread_local! {
            static RARE: RefCell<Vec<(Key, u32)>> = const { RefCell::new(Vec::new()) };
        }
        // The length takes four bits of its byte; a fifth keeps the encodings apart.
        let key = [key[0], key[1] | u64::from(self.cut == Cut::Cl100k) << 60];
        RARE.with_borrow_mut(|rare| {
            rare.resize(REMEMBERED, Default::default());
            let remembered = &mut rare[hash(key) as usize % REMEMBERED];
            if remembered.0 != key {
                *remembered = (key, self.tokenizer.bpe.count(piece) as u32);
            }
            remembered.1
        })
    }
}

/// Length of the first piece of `text`, as the encoding's pattern finds it; `None` when that depends on characters
/// beyond ASCII.
#[inline]
fn piece(text: &[u8], cut: Cut) -> Option<usize> {
    let first = kind(text, 0);
    if cut == Cut::Cl100k && text[0] == b'\'' {
        let clitic = clitic(text, 0)?;
        if clitic > 0 {
            return Some(clitic);
        }
    }
    // One character that is neither letter, digit nor line end belongs to the letters after it.
    let letters = match first {
        Kind::Upper | Kind::Lower => 0,
        Kind::Space | Kind::Mark => 1,
        Kind::Line | Kind::Digit => usize::MAX,
        Kind::Beyond | Kind::End => return None,
    };
    if letters < usize::MAX {
        match kind(text, letters) {
            Kind::Upper | Kind::Lower => return word(text, letters, cut),
            Kind::Beyond => return None,
            _ => {}
        }
    }
    match first {
        Kind::Digit => {
            let end = (1..3).find(|at| kind(text, *at) != Kind::Digit).unwrap_or(3);
            (end == 3 || kind(text, end) != Kind::Beyond).then_some(end)
        }
        Kind::Mark => marks(text, 1, cut),
        Kind::Space if text[0] == b' ' && kind(text, 1) == Kind::Mark => marks(text, 2, cut),
        _ => blank(text),
    }
}

/// Letters from `start` on.
#[inline]
fn word(text: &[u8], start: usize, cut: Cut) -> Option<usize> {
    let run =
        |from: usize, of: fn(Kind) -> bool| (from..text.len()).find(|at| !of(kind(text, *at))).unwrap_or(text.len());
    let end = match cut {
        Cut::O200k => run(run(start, |kind| kind == Kind::Upper), |kind| kind == Kind::Lower),
        Cut::Cl100k => run(start, |kind| matches!(kind, Kind::Upper | Kind::Lower)),
    };
    match kind(text, end) {
        Kind::Beyond => None,
        Kind::Mark if cut == Cut::O200k && text[end] == b'\'' => Some(end + clitic(text, end)?),
        _ => Some(end),
    }
}

/// Marks from `from` on, with the line ends (and slashes) after them.
fn marks(text: &[u8], from: usize, cut: Cut) -> Option<usize> {
    let end = (from..=text.len()).find(|at| kind(text, *at) != Kind::Mark)?;
    if kind(text, end) == Kind::Beyond {
        return None;
    }
    (end..=text.len()).find(|at| kind(text, *at) != Kind::Line && !(cut == Cut::O200k && text.get(*at) == Some(&b'/')))
}

/// White space up to its last line end, or all of it at the end of the text, or all but the last, which belongs to what
/// comes after.
fn blank(text: &[u8]) -> Option<usize> {
    let end = (0..=text.len()).find(|at| !matches!(kind(text, *at), Kind::Space | Kind::Line))?;
    let line = (0..end).rfind(|at| kind(text, *at) == Kind::Line);
    match kind(text, end) {
        Kind::Beyond => None,
        _ if line.is_some() => line.map(|at| at + 1),
        Kind::End => Some(end),
        _ => Some(end.max(2) - 1),
    }
}

/// Length of "'s", "'re" and the like at `at`, 0 for none.
fn clitic(text: &[u8], at: usize) -> Option<usize> {
    let letter = |i: usize| text.get(at + i).map_or(0, u8::to_ascii_lowercase);
    match (letter(1), letter(2)) {
        // "ſ" is an "s" to the patterns.
        (128.., _) => None,
        (b's' | b't' | b'm' | b'd', _) => Some(2),
        (b'r' | b'v', b'e') | (b'l', b'l') => Some(3),
        _ => Some(0),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Upper,
    Lower,
    Digit,
    /// White space but line ends.
    Space,
    /// Carriage return and line feed.
    Line,
    /// Everything else that is ASCII, control characters among it.
    Mark,
    Beyond,
    End,
}

/// The kind of byte `at`.
#[inline]
fn kind(text: &[u8], at: usize) -> Kind {
    static KINDS: [Kind; 256] = {
        let mut kinds = [Kind::Mark; 256];
        let mut byte = 0;
        while byte < 256 {
            kinds[byte] = match byte as u8 {
                b'A'..=b'Z' => Kind::Upper,
                b'a'..=b'z' => Kind::Lower,
                b'0'..=b'9' => Kind::Digit,
                b'\r' | b'\n' => Kind::Line,
                b' ' | b'\t' | 11 | 12 => Kind::Space,
                128.. => Kind::Beyond,
                _ => Kind::Mark,
            };
            byte += 1;
        }
        kinds
    };
    text.get(at).map_or(Kind::End, |byte| KINDS[*byte as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the patterns tell apart, alone and together.
    const PARTS: &[&str] = &[
        "a",
        "word",
        "Word",
        "WORD",
        "camelCase",
        "it's",
        "IT'S",
        "I'LL",
        "we've",
        "'d",
        "'",
        "\u{2019}s",
        "'\u{17F}",
        "7",
        "42",
        "1234567",
        " ",
        "  ",
        "   ",
        "\t",
        "\n",
        "\r\n",
        "\n\n  ",
        "\u{b}",
        "\u{c}",
        ".",
        "...",
        "/",
        "://",
        ")/\n",
        "!?\r\n",
        "{\"",
        "\u{1}",
        "\u{7f}",
        "é",
        "Ünï",
        "日本",
        "привет",
        "नमस्ते",
        "\u{a0}",
        "\u{3000}",
        "\u{85}",
        "👍",
        "٣",
        "ʰ",
        "ǅ",
        "\u{301}",
        "antidisestablishmentarianism",
        " internationalization",
        "zxqjkw",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn counts_are_those_of_the_patterns(parts in prop::collection::vec(prop::sample::select(PARTS), 0..12)) {
            let text = parts.concat();
            prop_assert_eq!(Encoding::o200k().count(&text), bpe_openai::o200k_base().count(text.as_str()) as u32, "o200k {:?}", text);
            prop_assert_eq!(Encoding::cl100k().count(&text), bpe_openai::cl100k_base().count(text.as_str()) as u32, "cl100k {:?}", text);
        }

        #[test]
        fn a_line_that_overflows_does_so_whatever_line_follows(
            line in prop::collection::vec(prop::sample::select(PARTS), 0..12),
            rest in prop::collection::vec(prop::sample::select(PARTS), 0..6),
            limit in 0u32..12,
        ) {
            let (encoding, line) = (Encoding::o200k(), line.concat());
            let text = format!("{line}\nOpen: {}", rest.concat());
            match encoding.overflow(&text, limit) {
                None => prop_assert!(encoding.count(&text) <= limit),
                Some(at) => {
                    prop_assert!(encoding.count(&text) > limit);
                    let shorter = format!("{line}\n</thread>");
                    prop_assert!(at > line.len() || encoding.count(&shorter) > limit);
                }
            }
        }

        #[test]
        fn any_ascii_counts_the_same(bytes in prop::collection::vec(0u8..128, 0..40)) {
            let text: String = bytes.into_iter().map(char::from).collect();
            prop_assert_eq!(Encoding::o200k().count(&text), bpe_openai::o200k_base().count(text.as_str()) as u32, "o200k {:?}", text);
            prop_assert_eq!(Encoding::cl100k().count(&text), bpe_openai::cl100k_base().count(text.as_str()) as u32, "cl100k {:?}", text);
        }
    }
}
