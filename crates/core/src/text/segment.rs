//! Words by Unicode segmentation (UAX #29), fast for the scripts that chats are written in.
//!
//! Letters of Latin, Cyrillic and Greek, ASCII, and characters that always stand alone (Han, kana of the plain kind,
//! ideographic stops) follow a handful of the annex's rules; a stretch with anything else is left to
//! `unicode_segmentation`. Stretches end where no rule joins what is on both sides.

use unicode_segmentation::UnicodeSegmentation;

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
        match c {
            '\0'..='\u{7f}' => ASCII[c as usize],
            '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{17F}' => Self::Letter,
            '\u{391}'..='\u{3A1}' | '\u{3A3}'..='\u{3CE}' | '\u{400}'..='\u{481}' | '\u{48A}'..='\u{52F}' => {
                Self::Letter
            }
            '\u{4E00}'..='\u{9FFF}' | '\u{3041}'..='\u{3096}' => Self::Alone,
            '\u{3001}' | '\u{3002}' | '\u{300C}' | '\u{300D}' | '\u{FF01}' | '\u{FF1F}' => Self::Mark,
            '\u{2019}' => Self::Mid,
            '\u{FF0C}' | '\u{FF1B}' => Self::MidDigit,
            '\u{FF1A}' => Self::MidLetter,
            _ => Self::Other,
        }
    }
}

/// Calls `word` with every word of `text` and its byte offset: those of `unicode_word_indices`. Cost: about 2 ns a
/// character of the scripts above.
pub fn segment<'a>(text: &'a str, mut word: impl FnMut(usize, &'a str)) {
    let mut at = 0;
    while at < text.len() {
        let from = plain(text, at, &mut word);
        // A stretch that needs all of the rules ends before a space, but for one that continues others, and before a
        // character that is a word of its own.
        let rest = &text[from..];
        let other = rest.find(|c| Kind::of(c) == Kind::Other).unwrap_or(rest.len());
        let mut before = ' ';
        let ends = |c: char| {
            let continues = std::mem::replace(&mut before, c).is_whitespace();
            c == ' ' && !continues || Kind::of(c) == Kind::Alone
        };
        let stretch = rest[other..].find(ends).map_or(rest.len(), |space| other + space);
        rest[..stretch].unicode_word_indices().for_each(|(start, found)| word(from + start, found));
        at = from + stretch;
    }
}

/// The words from `from` on, up to the place from which other characters need all of the rules; that place.
fn plain<'a>(text: &'a str, from: usize, word: &mut impl FnMut(usize, &'a str)) -> usize {
    let bytes = text.as_bytes();
    let kind = |at: usize| match bytes.get(at) {
        None => (Kind::Mark, 1),
        Some(byte) if byte.is_ascii() => (Kind::of(*byte as char), 1),
        Some(_) => text[at..].chars().next().map_or((Kind::Mark, 1), |c| (Kind::of(c), c.len_utf8())),
    };
    let mut at = from;
    let mut before = Kind::Mark;
    // Where the word on its way began, and whether it is more than "_".
    let mut open: Option<(usize, bool)> = None;
    // Nothing before this place joins anything after it.
    let mut safe = from;
    while at < bytes.len() {
        let letters = bytes[at..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        if letters > 0 {
            safe = open.map_or(at, |(start, _)| start);
            open = Some((safe, true));
            before = Kind::Letter;
            at += letters;
            continue;
        }
        let (here, length) = kind(at);
        let after = || kind(at + length).0;
        let joins = match here {
            Kind::Letter | Kind::Digit | Kind::Low => true,
            Kind::Space | Kind::Mark => false,
            Kind::Other => return safe,
            // Marks that need all of the rules may stand between the three.
            _ if after() == Kind::Other => return safe,
            Kind::MidLetter => before == Kind::Letter && after() == Kind::Letter,
            Kind::MidDigit => before == Kind::Digit && after() == Kind::Digit,
            Kind::Mid => matches!(before, Kind::Letter | Kind::Digit) && before == after(),
            Kind::Alone => false,
        };
        if joins {
            let (start, says) = open.unwrap_or((at, false));
            safe = start;
            open = Some((start, says || matches!(here, Kind::Letter | Kind::Digit)));
        } else {
            if let Some((start, true)) = open {
                word(start, &text[start..at]);
            }
            open = None;
            if here != Kind::Space || before != Kind::Space {
                safe = at;
            }
            if here == Kind::Alone {
                safe = at + length;
                word(at, &text[at..safe]);
            }
        }
        before = here;
        at += length;
    }
    if let Some((start, true)) = open {
        word(start, &text[start..]);
    }
    text.len()
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
        "🇩🇪",
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn words_are_those_of_the_annex(parts in prop::collection::vec(prop::sample::select(PARTS), 0..12)) {
            let text = parts.concat();
            let mut words = Vec::new();
            segment(&text, |at, word| words.push((at, word)));
            prop_assert_eq!(words, text.unicode_word_indices().collect::<Vec<_>>(), "{:?}", text);
        }
    }
}
