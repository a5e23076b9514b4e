//! Folding for matching only (G-14): NFKC, full Unicode case folding, straight apostrophes and hyphens, no zero-width
//! characters. The original text is never replaced by it.

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;

/// Appends the folded form of `word` to `out`. Cost: about 1 ns a byte for ASCII, 40 ns a character otherwise.
pub fn fold_into(word: &str, out: &mut String) {
    if folds_in_place(word) {
        fold_in_place(word, out);
    } else {
        out.extend(word.nfkc().default_case_fold().nfkc().filter_map(plain));
    }
}

/// Appends `text` with every character folded that folds by itself, at the place where it stands; the others as they are.
pub(super) fn fold_in_place(text: &str, out: &mut String) {
    // Letters beyond ASCII that change begin with one of these bytes; all bytes are looked at, so many at a time.
    let begins = |byte: u8| u8::from(byte == 0xC3) | u8::from(byte == 0xD0);
    if !text.is_ascii() && text.bytes().fold(0, |found, byte| found | begins(byte)) > 0 {
        out.extend(text.chars().map(|c| simple(c).unwrap_or(c)));
    } else {
        let from = out.len();
        out.push_str(text);
        out[from..].make_ascii_lowercase();
    }
}

/// True for a word that [`fold_in_place`] folds.
pub(super) fn folds_in_place(word: &str) -> bool {
    word.is_ascii() || word.chars().all(|c| simple(c).is_some())
}

/// The folded form of a letter or ideograph that folds to one character of as many bytes whatever stands beside it; others
/// need the whole algorithm.
fn simple(c: char) -> Option<char> {
    match c {
        '\0'..='\u{7f}' => Some(c.to_ascii_lowercase()),
        '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{DE}' | '\u{410}'..='\u{42F}' => char::from_u32(c as u32 + 0x20),
        '\u{400}'..='\u{40F}' => char::from_u32(c as u32 + 0x50),
        '\u{E0}'..='\u{F6}'
        | '\u{F8}'..='\u{FF}'
        | '\u{430}'..='\u{45F}'
        | '\u{3041}'..='\u{3096}'
        | '\u{4E00}'..='\u{9FFF}' => Some(c),
        _ => None,
    }
}

/// The folded form of `text`, white space collapsed to single spaces.
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    fold_into(text, &mut folded);
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One plain character for the many shapes of apostrophe, dash, digit, alef and nasal; nothing for zero-width ones and for
/// the vowel signs of Arabic and the dot of Devanagari, which are written or left out at will.
fn plain(c: char) -> Option<char> {
    match c {
        '\u{2019}' | '\u{2018}' | '\u{02BC}' | '\u{FF07}' => Some('\''),
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{FE58}' | '\u{FE63}' | '\u{FF0D}' => Some('-'),
        '\u{200B}'..='\u{200F}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{2064}'
        | '\u{FEFF}'
        | '\u{00AD}'
        | '\u{0640}'
        | '\u{064B}'..='\u{065F}'
        | '\u{0670}'
        | '\u{093C}' => None,
        '\u{0901}' => Some('\u{0902}'),
        'أ' | 'إ' | 'آ' | 'ٱ' => Some('ا'),
        'ى' => Some('ي'),
        c => Some(digit(c).map_or(c, |value| (b'0' + value) as char)),
    }
}

/// Value of a decimal digit of the scripts whose digits are in common use, 0 to 9 in a row.
pub(super) fn digit(c: char) -> Option<u8> {
    const ZEROS: [char; 12] = ['0', '٠', '۰', '०', '০', '੦', '૦', '௦', '౦', '೦', '൦', '๐'];
    let zeros = if c < '٠' { &ZEROS[..1] } else { &ZEROS[1..] };
    zeros.iter().find_map(|zero| (c as u32).checked_sub(*zero as u32).filter(|value| *value < 10)).map(|v| v as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_case_width_quotes_dashes_and_zero_width() {
        assert_eq!(fold("I DON\u{2019}T  know\u{200B}"), "i don't know");
        assert_eq!(fold("Straße ＡＢＣ ﬁx"), "strasse abc fix");
        assert_eq!(fold("co\u{2011}op — İ"), "co-op - i\u{307}");
    }

    #[test]
    fn ascii_and_general_paths_agree() {
        let ascii: String = (32u8..127).map(char::from).collect();
        let mut fast = String::new();
        fold_into(&ascii, &mut fast);
        let slow: String = ascii.nfkc().default_case_fold().nfkc().filter_map(plain).collect();
        assert_eq!(fast, slow);
        for c in (0..0xFFFF).filter_map(char::from_u32).filter(|c| simple(*c).is_some()) {
            assert_eq!(simple(c).map(char::len_utf8), Some(c.len_utf8()));
            fast.clear();
            fold_in_place(&format!("{c}{c}"), &mut fast);
            assert_eq!(fast, [simple(c); 2].into_iter().flatten().collect::<String>());
            for word in [format!("{c}"), format!("a{c}b"), format!("й{c}か{c}é")] {
                let slow: String = word.nfkc().default_case_fold().nfkc().filter_map(plain).collect();
                fast.clear();
                fold_into(&word, &mut fast);
                assert_eq!(fast, slow);
            }
        }
        let mut accented = String::new();
        fold_into("É", &mut accented);
        assert_eq!(accented, "é");
    }
}
