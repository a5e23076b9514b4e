//! Words by Unicode segmentation (UAX #29), fast for the scripts that chats are written in.
//!
//! Letters of Latin, Cyrillic and Greek, ASCII, characters that always stand alone (Han, kana of the plain kind,
//! ideographic stops) and emoji follow a handful of the annex's rules; a stretch with anything else is left to
//! `unicode_segmentation`. Stretches end where no rule joins what is on both sides.

use std::ops::{ControlFlow, Range};

use unicode_segmentation::UnicodeSegmentation;

use crate::word_table::letters;

use super::pack::IDEOGRAPHS;

/// What a character is to the rules that apply here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Letter,
    Digit,
    /// Joins letters and digits: "_".
    Low,
    /// Stands between letters: ":".
    MidLetter,
    /// Stands between digits: ",", ";".
    MidDigit,
    /// Stands between either: ".", "'".
    Mid,
    Space,
    /// A word of its own.
    Alone,
    /// Never in a word.
    Mark,
    /// Emoji, a flag's letter: never in a word either, but what changes it may follow.
    Picture,
    /// Changes what it follows: skin tones, a joiner, the sign that a picture is meant.
    Behind,
    /// Anything else.
    Other,
}

impl Kind {
    #[inline]
    fn of(c: char) -> Self {
        static ASCII: [Kind; 128] = {
            let mut kinds = [Kind::Mark; 128];
            let mut byte = 0;
            while byte < 128 {
                kinds[byte] = match byte as u8 {
                    b'a'..=b'z' | b'A'..=b'Z' => Kind::Letter,
                    b'0'..=b'9' => Kind::Digit,
                    b' ' => Kind::Space,
                    b'_' => Kind::Low,
                    b':' => Kind::MidLetter,
                    b',' | b';' => Kind::MidDigit,
                    b'.' | b'\'' => Kind::Mid,
                    _ => Kind::Mark,
                };
                byte += 1;
            }
            kinds
        };
        if IDEOGRAPHS.contains(&c) {
            return Self::Alone;
        }
        match c {
            '\0'..='\u{7f}' => ASCII[c as usize],
            '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{17F}' => Self::Letter,
            '\u{391}'..='\u{3A1}' | '\u{3A3}'..='\u{3CE}' | '\u{400}'..='\u{481}' | '\u{48A}'..='\u{52F}' => {
                Self::Letter
            }
            '\u{3041}'..='\u{3096}' => Self::Alone,
            '\u{1F3FB}'..='\u{1F3FF}' | '\u{200D}' | '\u{FE0F}' => Self::Behind,
            '\u{1F300}'..='\u{1F64F}'
            | '\u{1F680}'..='\u{1F6FF}'
            | '\u{1F900}'..='\u{1F9FF}'
            | '\u{1FA70}'..='\u{1FAFF}'
            | '\u{1F1E6}'..='\u{1F1FF}'
            | '\u{2600}'..='\u{2775}'
            | '\u{2794}'..='\u{27BF}' => Self::Picture,
            '\u{3001}' | '\u{3002}' | '\u{300C}' | '\u{300D}' | '\u{FF01}' | '\u{FF1F}' => Self::Mark,
            '\u{2019}' => Self::Mid,
            '\u{FF0C}' | '\u{FF1B}' => Self::MidDigit,
            '\u{FF1A}' => Self::MidLetter,
            _ => Self::Other,
        }
    }

    /// Words beside such a character need all of the rules, unless it changes a picture.
    const fn needs_all(self) -> bool {
        matches!(self, Self::Other | Self::Behind)
    }
}

/// Calls `word` with the byte ranges of the words of `text` until it breaks: those of `unicode_word_indices`. Cost: about
/// 2 ns a character of the scripts above.
pub fn segment(text: &str, mut word: impl FnMut(Range<usize>) -> ControlFlow<()>) -> ControlFlow<()> {
    let mut at = 0;
    while at < text.len() {
        let from = plain(text, at, &mut word)?;
        // A stretch that needs all of the rules ends before a space, but for one that continues others, and before a
        // character that is a word of its own.
        let rest = &text[from..];
        let other = rest.find(|c| Kind::of(c).needs_all()).unwrap_or(rest.len());
        let mut before = ' ';
        let ends = |c: char| {
            let continues = std::mem::replace(&mut before, c).is_whitespace();
            c == ' ' && !continues || Kind::of(c) == Kind::Alone
        };
        let stretch = rest[other..].find(ends).map_or(rest.len(), |space| other + space);
        rest[..stretch].unicode_word_indices().try_for_each(|(at, found)| word(from + at..from + at + found.len()))?;
        at = from + stretch;
    }
    ControlFlow::Continue(())
}

/// The words from `from` on, up to the place from which other characters need all of the rules; that place.
fn plain(text: &str, from: usize, word: &mut impl FnMut(Range<usize>) -> ControlFlow<()>) -> ControlFlow<(), usize> {
    let bytes = text.as_bytes();
    let kind = |at: usize| match bytes.get(at) {
        None => (Kind::Mark, 1),
        Some(byte) if byte.is_ascii() => (Kind::of(*byte as char), 1),
        // Most ideographs are known by their first byte.
        Some(0xE5..=0xE9) => (Kind::Alone, 3),
        Some(_) => text[at..].chars().next().map_or((Kind::Mark, 1), |c| (Kind::of(c), c.len_utf8())),
    };
    let mut at = from;
    let mut before = Kind::Mark;
    let mut next = kind(at);
    // Where the word on its way began, and whether it is more than "_".
    let mut open: Option<(usize, bool)> = None;
    // Nothing before this place joins anything after it.
    let mut safe = from;
    while at < bytes.len() {
        let (here, length) = next;
        if here == Kind::Letter {
            safe = open.map_or(at, |(start, _)| start);
            open = Some((safe, true));
            before = Kind::Letter;
            at += length;
            at += letters(&bytes[at..]);
            next = kind(at);
            continue;
        }
        next = kind(at + length);
        let joins = match here {
            Kind::Letter | Kind::Digit | Kind::Low => true,
            Kind::Space | Kind::Mark | Kind::Picture => false,
            // What changes a picture is as little of a word.
            Kind::Behind if before == Kind::Picture => {
                at += length;
                continue;
            }
            Kind::Behind | Kind::Other => return ControlFlow::Continue(safe),
            // Marks that need all of the rules may stand between the three, and behind a character that stands alone.
            _ if next.0.needs_all() => return ControlFlow::Continue(safe),
            Kind::MidLetter => before == Kind::Letter && next.0 == Kind::Letter,
            Kind::MidDigit => before == Kind::Digit && next.0 == Kind::Digit,
            Kind::Mid => matches!(before, Kind::Letter | Kind::Digit) && before == next.0,
            Kind::Alone => {
                if let Some((start, true)) = open.take() {
                    word(start..at)?;
                }
                safe = at + length;
                word(at..safe)?;
                (before, at) = (here, safe);
                continue;
            }
        };
        if joins {
            let (start, says) = open.unwrap_or((at, false));
            safe = start;
            open = Some((start, says || here == Kind::Digit));
        } else {
            if let Some((start, true)) = open {
                word(start..at)?;
            }
            open = None;
            // Spaces and pictures in a row may be one to what follows them.
            if here != before || !matches!(here, Kind::Space | Kind::Picture) {
                safe = at;
            }
        }
        before = here;
        at += length;
    }
    if let Some((start, true)) = open {
        word(start..text.len())?;
    }
    ControlFlow::Continue(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PARTS: &[&str] = &[
        "a",
        "bug",
        "E",
        "7",
        "42",
        "_",
        ".",
        ",",
        ";",
        ":",
        "'",
        "\u{2019}",
        "\"",
        "-",
        "(",
        " ",
        "  ",
        "\n",
        "\r\n",
        "\t",
        "\0",
        "é",
        "ß",
        "привет",
        "й",
        "\u{482}",
        "Ω",
        "日",
        "本",
        "あ",
        "カ",
        "\u{3099}",
        "。",
        "，",
        "：",
        "\u{3000}",
        "\u{a0}",
        "\u{301}",
        "\u{200d}",
        "\u{ad}",
        "👍",
        "\u{1F3FD}",
        "🇩🇪",
        "🇩",
        "❤",
        "\u{FE0F}",
        "ע",
        "नमस्ते",
        "ा",
        "한",
        "٣",
        "ⅷ",
        "·",
        "×",
        "\u{b}",
        "\u{85}",
        "ª",
        "\u{200b}",
    ];

    fn words(text: &str) -> Vec<(usize, &str)> {
        let mut words = Vec::new();
        let ended = segment(text, |word| {
            words.push((word.start, &text[word]));
            ControlFlow::Continue(())
        });
        assert!(ended.is_continue());
        words
    }

    #[test]
    fn every_character_of_a_kind_is_one_to_the_annex() {
        for c in ('\0'..=char::MAX).filter(|c| Kind::of(*c) != Kind::Other) {
            let text = format!("{c}{c} a{c}b {c}\u{FE0F}1{c}2 日{c}");
            assert_eq!(words(&text), text.unicode_word_indices().collect::<Vec<_>>(), "{c:?}");
        }
    }

    #[test]
    fn it_ends_when_it_is_told() {
        let mut count = 0;
        let ended = segment("one two नमस्ते three", |_| {
            count += 1;
            if count == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(ended.is_break() && count == 3);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn words_are_those_of_the_annex(parts in prop::collection::vec(prop::sample::select(PARTS), 0..12)) {
            let text = parts.concat();
            prop_assert_eq!(words(&text), text.unicode_word_indices().collect::<Vec<_>>(), "{:?}", text);
        }
    }
}
