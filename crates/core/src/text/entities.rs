//! Named entities by form (G-33): identifiers, quoted and back-ticked strings, capitalised sequences, codes.

use super::pack::Class;
use super::words::{Gap, Text};

/// Entities of `source`, which `text` has read, in order of first mention, without duplicates; at most 32.
/// Hosts that know better pass their own. Cost: linear.
pub fn entities(source: &str, text: &Text) -> Vec<String> {
    const MOST: usize = 32;
    let mut found: Vec<String> = Vec::new();
    let mut add = |entity: &str| {
        let entity = entity.trim();
        if entity.chars().count() > 1 && found.len() < MOST && !found.iter().any(|known| known == entity) {
            found.push(entity.to_owned());
        }
    };
    for quoted in quoted(source) {
        add(quoted);
    }
    let words = text.words();
    let mut at = 0;
    while at < words.len() {
        let word = words[at];
        let written = &source[word.start as usize..word.end as usize];
        if named(text, at) {
            let mut end = at + 1;
            while end < words.len()
                && words[end].capital
                && !words[end].gap.has(Gap::STOP.or(Gap::PAUSE))
                && words[end].is_content()
            {
                end += 1;
            }
            add(&source[word.start as usize..words[end - 1].end as usize]);
            at = end;
        } else {
            if identifier(written) {
                add(written);
            }
            at += 1;
        }
    }
    found
}

/// A capitalised content word that is not capital only because it opens a sentence.
fn named(text: &Text, at: usize) -> bool {
    let words = text.words();
    let word = words[at];
    let continues = words.get(at + 1).is_some_and(|next| next.capital && !next.gap.has(Gap::STOP) && next.is_content());
    word.capital
        && word.is_content()
        && (!word.opens()
            || continues
            || !word.class.has(Class::REQUEST) && word.class.is_empty() && word.tag == super::Tag::Noun)
}

/// Letters with digits, underscores, dots or inner capitals: a name of code, a product, a flight.
fn identifier(word: &str) -> bool {
    let letters = word.chars().any(char::is_alphabetic);
    let digits = word.chars().any(|c| c.is_ascii_digit());
    let joined = word.contains(['_', '.', '/', ':']) && word.len() > 3;
    let inner_capital = word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    letters && (digits || joined || inner_capital)
}

fn quoted(source: &str) -> Vec<&str> {
    const LONGEST: usize = 60;
    let mut found = Vec::new();
    for (open, close) in [('`', '`'), ('"', '"'), ('“', '”'), ('«', '»'), ('「', '」'), ('『', '』'), ('《', '》')]
    {
        let mut rest = source;
        while let Some(start) = rest.find(open) {
            let body = &rest[start + open.len_utf8()..];
            let Some(end) = body.find(close) else { break };
            if end > 0 && end <= LONGEST && !body[..end].contains('\n') {
                found.push(&body[..end]);
            }
            rest = &body[end + close.len_utf8()..];
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::Pack;
    use super::*;

    #[test]
    fn names_codes_and_quotes_but_not_sentence_openers() {
        let source =
            "Show me flights to New York with `HAT136`, parse_config and \"Blue Train\". The weather? etcd3 in Zürich";
        let mut text = Text::default();
        text.read(source, &Pack::of("en"));
        assert_eq!(entities(source, &text), ["HAT136", "Blue Train", "New York", "parse_config", "etcd3", "Zürich"]);
        text.read("《红楼梦》和『雪国』", &Pack::of("zh"));
        assert_eq!(entities("《红楼梦》和『雪国』", &text), ["雪国", "红楼梦"]);
    }
}
