//! Enumerations: what "the second one", "option B" or "the latter" can count in (G-32).

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::fold::digit;
use super::pack::{Class, Tag};
use super::words::{Gap, Text, Word};

/// How the items are set off from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EnumerationKind {
    /// `1.` `2)` `(3)`, on lines of their own or in running text.
    Numbered,
    /// `A.` `b)` `Option C:`.
    Lettered,
    /// `-` `*` `•` at the start of lines.
    Bulleted,
    /// Lines of a Markdown table, the header left out.
    Table,
    /// "First, … Second, …" in prose.
    Prose,
    /// "a, b and c" in a sentence.
    Inline,
}

/// Items of one enumeration, in order, as byte ranges of the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enumeration {
    /// How it is written.
    pub kind: EnumerationKind,
    /// The items without their markers.
    pub items: Box<[(u32, u32)]>,
    /// Number or letter position of the first item (1 = "1." or "A").
    pub first: u16,
}

impl Enumeration {
    /// Index of the item labelled `label` (the number before it, or the letter's position).
    pub fn labelled(&self, label: i16) -> Option<usize> {
        let at = i32::from(label) - i32::from(self.first);
        usize::try_from(at).ok().filter(|at| *at < self.items.len())
    }
}

/// A line with an item marker.
struct Marked {
    kind: EnumerationKind,
    /// Number or letter position; 0 for bullets.
    label: u16,
    indent: usize,
    /// Where the item's text begins.
    body: usize,
    /// Where its line begins.
    line: usize,
}

/// Every enumeration of at least two items in `source`, which `text` has read; outer lists before prose ones.
/// Cost: linear, one pass over the lines and one over the words.
pub fn enumerations(source: &str, text: &Text) -> Vec<Enumeration> {
    let mut found = listed(source);
    found.extend(table(source));
    if found.is_empty() {
        found.extend(inline_numbers(source).or_else(|| native_inline(source)));
    }
    found.extend(prose(source, text));
    found.extend(comma_lists(source, text));
    found
}

fn lines(source: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    source.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        start..start + line.trim_end().len()
    })
}

fn listed(source: &str) -> Vec<Enumeration> {
    let mut lists: Vec<(Open, usize)> = Vec::new();
    let mut done = Vec::new();
    for line in lines(source) {
        let Some(marked) = marker(source, &line) else { continue };
        lists.retain(|(list, indent)| {
            let keep = *indent <= marked.indent;
            if !keep {
                done.push(list.clone());
            }
            keep
        });
        let same = lists.iter_mut().find(|(list, indent)| *indent == marked.indent && list.takes(&marked));
        if let Some((list, _)) = same {
            list.starts.push((marked.line, marked.body));
            continue;
        }
        if let Some(at) = lists.iter().position(|(_, indent)| *indent == marked.indent) {
            done.push(lists.remove(at).0);
        }
        let list = Open { kind: marked.kind, first: marked.label, starts: vec![(marked.line, marked.body)] };
        lists.push((list, marked.indent));
    }
    done.extend(lists.into_iter().map(|(list, _)| list));
    done.retain(|list| list.starts.len() > 1);
    done.sort_by_key(|list| list.starts[0].0);
    done.iter().map(|list| list.finish(source)).collect()
}

/// A list under construction: where each item's line and body begin.
#[derive(Clone)]
struct Open {
    kind: EnumerationKind,
    first: u16,
    starts: Vec<(usize, usize)>,
}

impl Open {
    fn takes(&self, marked: &Marked) -> bool {
        self.kind == marked.kind
            && (marked.label == 0 || usize::from(marked.label) == usize::from(self.first) + self.starts.len())
    }

    fn finish(&self, source: &str) -> Enumeration {
        let items = self.starts.iter().enumerate().map(|(i, (_, body))| {
            let end = self.starts.get(i + 1).map_or_else(|| last_item_end(source, *body), |(line, _)| *line);
            (*body as u32, (*body + source[*body..end.max(*body)].trim_end().len()) as u32)
        });
        Enumeration { kind: self.kind, items: items.collect(), first: self.first }
    }
}

/// The last item ends at the first blank line, or with the text.
fn last_item_end(source: &str, body: usize) -> usize {
    let rest = &source[body..];
    rest.find("\n\n").or_else(|| rest.find("\r\n\r\n")).map_or(source.len(), |at| body + at)
}

fn marker(source: &str, line: &Range<usize>) -> Option<Marked> {
    let text = &source[line.clone()];
    let trimmed = text.trim_start();
    let indent = text.len() - trimmed.len();
    let bare = trimmed.trim_start_matches(['*', '#', '_', '>']).trim_start_matches(' ');
    let decorated = trimmed.len() - bare.len();
    let body = |skip: usize| line.start + indent + skip;
    let bullet = ["- ", "* ", "• ", "– ", "· ", "‣ ", "◦ ", "+ ", "・", "●", "■"]
        .iter()
        .find(|mark| trimmed.starts_with(**mark));
    if let Some(mark) = bullet {
        let inner = &trimmed[mark.len()..];
        return Some(match label(inner.trim_start_matches(['*', '_'])) {
            Some((kind, value, len)) if kind == EnumerationKind::Numbered => Marked {
                kind,
                label: value,
                indent,
                body: body(mark.len() + inner.len() - inner.trim_start_matches(['*', '_']).len() + len),
                line: line.start,
            },
            _ => Marked { kind: EnumerationKind::Bulleted, label: 0, indent, body: body(mark.len()), line: line.start },
        });
    }
    let (kind, value, len) = label(bare).or_else(|| native_label(bare))?;
    Some(Marked { kind, label: value, indent, body: body(decorated + len), line: line.start })
}

/// `1.` `1)` `(1)` `1:` `A.` `b)` `Option C:` `Step 2:` at the start of a line: kind, value, length with the space.
fn label(text: &str) -> Option<(EnumerationKind, u16, usize)> {
    let open = usize::from(text.starts_with('('));
    let (word, skip) = match text[open..].split_once(' ') {
        Some((word, rest))
            if word.chars().all(char::is_alphabetic)
                && word.len() > 2
                && rest.starts_with(|c: char| c.is_ascii_alphanumeric() || digit(c).is_some()) =>
        {
            (rest, open + word.len() + 1)
        }
        _ => (&text[open..], open),
    };
    let digits = || word.chars().map_while(|c| digit(c).map(|value| (value, c.len_utf8())));
    let (kind, value, len) = if (1..=3).contains(&digits().count()) {
        let value = digits().fold(0, |value, (digit, _)| value * 10 + u16::from(digit));
        (EnumerationKind::Numbered, value, digits().map(|(_, len)| len).sum())
    } else {
        let letter = word.bytes().next().filter(u8::is_ascii_alphabetic)?;
        (EnumerationKind::Lettered, u16::from(letter.to_ascii_lowercase() - b'a' + 1), 1)
    };
    let after = &word[len..];
    let close = after.chars().next().filter(|c| matches!(c, '.' | ')' | ':' | ']' | '-' | '–'))?;
    let rest = &after[close.len_utf8()..];
    let rest_trimmed = rest.trim_start_matches(['*', '_', ')']);
    if !(rest_trimmed.is_empty() || rest_trimmed.starts_with(char::is_whitespace))
        || (skip > open && close == '.' && kind == EnumerationKind::Lettered)
    {
        return None;
    }
    let spaces = rest_trimmed.len() - rest_trimmed.trim_start().len();
    Some((kind, value, skip + len + close.len_utf8() + (rest.len() - rest_trimmed.len()) + spaces))
}

/// `①` `１．` `1、` `（一）` `一、` `가.` `A案：` `方案一：` at the start of a line, with or without a space behind: kind, value,
/// length with the space.
fn native_label(text: &str) -> Option<(EnumerationKind, u16, usize)> {
    const LONGEST_WORD: usize = 3;
    if text.is_ascii() {
        return None;
    }
    let spaced = |len: usize| len + (text[len..].len() - text[len..].trim_start().len());
    if let Some((value, len)) = circled(text) {
        return Some((EnumerationKind::Numbered, value, spaced(len)));
    }
    let open = text.chars().next().filter(|c| matches!(c, '（' | '(' | '【' | '〔')).map_or(0, char::len_utf8);
    let wordy = |c: &char| c.is_alphabetic() && !c.is_ascii();
    // A word before the number or letter, which ends at a colon then: "方案一：".
    let words = text[open..].chars().take_while(wordy).take(LONGEST_WORD).map(char::len_utf8);
    let starts = std::iter::once(0).chain(words.scan(0, |at, len| {
        *at += len;
        Some(*at)
    }));
    for before in starts {
        let at = open + before;
        let Some((kind, value, len)) = counter(&text[at..]) else { continue };
        let behind = text[at + len..].chars().take_while(wordy).take(2).map(char::len_utf8).sum::<usize>();
        for after in if behind > 0 { vec![0, behind] } else { vec![0] } {
            let end = at + len + after;
            let Some(close) = text[end..].chars().next() else { continue };
            let named = before + after > 0;
            let closes = match close {
                '：' | ':' => true,
                '）' | ')' | '】' | '〕' | '、' | '．' => !named,
                '.' | '，' => {
                    !named && open == 0 && !text[end + close.len_utf8()..].starts_with(|c: char| c.is_ascii_digit())
                }
                _ => false,
            };
            if closes && (open == 0 || !matches!(close, '、' | '．')) {
                return Some((kind, value, spaced(end + close.len_utf8())));
            }
        }
    }
    None
}

/// A number in digits or Chinese numerals, a letter of A to H, or a syllable of 가나다: kind, value, length.
fn counter(text: &str) -> Option<(EnumerationKind, u16, usize)> {
    const HANGUL: &str = "가나다라마바사아자차카타파하";
    const NUMERALS: &str = "一二三四五六七八九";
    let first = text.chars().next()?;
    let numbered = |(value, len)| Some((EnumerationKind::Numbered, value, len));
    let digit = |c: char| digit(c).or_else(|| matches!(c, '０'..='９').then(|| (c as u32 - '０' as u32) as u8));
    let digits = text.chars().map_while(|c| Some((digit(c)?, c.len_utf8()))).take(3);
    let (value, len) = digits.fold((0, 0), |(value, len), (digit, bytes)| (value * 10 + u16::from(digit), len + bytes));
    if len > 0 {
        return numbered((value, len));
    }
    let numeral = |c: char| NUMERALS.chars().position(|n| n == c).map(|at| at as u16 + 1);
    if first == '十' {
        let units = text.chars().nth(1).and_then(numeral);
        return numbered((10 + units.unwrap_or(0), if units.is_some() { 6 } else { 3 }));
    }
    if let Some(value) = numeral(first) {
        return numbered((value, 3));
    }
    let lettered = |value: usize, len| Some((EnumerationKind::Lettered, value as u16 + 1, len));
    if matches!(first, 'A'..='H') {
        return lettered(first as usize - 'A' as usize, 1);
    }
    lettered(HANGUL.chars().position(|syllable| syllable == first)?, 3)
}

/// `①` to `⑳`: value, length.
fn circled(text: &str) -> Option<(u16, usize)> {
    let first = text.chars().next().filter(|c| matches!(c, '①'..='⑳'))?;
    Some((first as u16 - '①' as u16 + 1, first.len_utf8()))
}

/// Data rows of Markdown tables.
fn table(source: &str) -> Vec<Enumeration> {
    let mut found = Vec::new();
    let mut rows: Vec<(u32, u32)> = Vec::new();
    let mut ruled = false;
    let mut close = |rows: &mut Vec<(u32, u32)>, ruled: &mut bool| {
        if *ruled && rows.len() > 1 {
            found.push(Enumeration { kind: EnumerationKind::Table, items: std::mem::take(rows).into(), first: 1 });
        }
        rows.clear();
        *ruled = false;
    };
    for line in lines(source) {
        let text = source[line.clone()].trim();
        if !text.starts_with('|') {
            close(&mut rows, &mut ruled);
        } else if text.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ')) {
            ruled = true;
            rows.clear();
        } else {
            rows.push((line.start as u32, line.end as u32));
        }
    }
    close(&mut rows, &mut ruled);
    found
}

/// `1. … 2. … 3. …` inside running text.
fn inline_numbers(source: &str) -> Option<Enumeration> {
    let bytes = source.as_bytes();
    let mut starts: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let open = usize::from(bytes[at] == b'(');
        let boundary = at == 0 || bytes[at - 1].is_ascii_whitespace();
        let digits = bytes[at + open..].iter().take(3).take_while(|b| b.is_ascii_digit()).count();
        if boundary && (1..=2).contains(&digits) {
            let end = at + open + digits;
            let closed = bytes.get(end).is_some_and(|b| *b == b')' || (*b == b'.' && open == 0));
            let spaced = bytes.get(end + 1).is_some_and(u8::is_ascii_whitespace);
            let value: usize = source[at + open..end].parse().unwrap_or(0);
            if closed && spaced && value == starts.len() + 1 {
                starts.push((at, end + 2));
            }
            at = end;
        }
        at += 1;
    }
    let list = Open { kind: EnumerationKind::Numbered, first: 1, starts };
    (list.starts.len() > 1).then(|| list.finish(source))
}

/// `①…②…` and `（一）…（二）…` inside running text.
fn native_inline(source: &str) -> Option<Enumeration> {
    if source.is_ascii() {
        return None;
    }
    let mut starts: Vec<(usize, usize)> = Vec::new();
    for (at, c) in source.char_indices() {
        let mark = match c {
            '①'..='⑳' => circled(&source[at..]),
            '（' | '(' => native_label(&source[at..]).map(|(_, value, len)| (value, len)),
            _ => None,
        };
        if let Some((_, len)) = mark.filter(|(value, _)| usize::from(*value) == starts.len() + 1) {
            starts.push((at, at + len));
        }
    }
    let list = Open { kind: EnumerationKind::Numbered, first: 1, starts };
    (list.starts.len() > 1).then(|| list.finish(source))
}

/// "First, … Second, … Finally, …": ordinals that open a clause, in sequence.
fn prose(source: &str, text: &Text) -> Option<Enumeration> {
    let mut starts: Vec<usize> = Vec::new();
    for (at, word) in text.words().iter().enumerate() {
        let opens = word.opens()
            || word.gap.has(Gap::PAUSE)
            || (at > 0 && text.words()[at - 1].class.has(Class::CONJUNCTION.or(Class::DEFINITE)));
        let next = word.class.has(Class::ORDINAL) && word.value as usize == starts.len() + 1;
        let last = word.class.has(Class::LAST) && starts.len() > 1;
        if opens && (next || last) {
            starts.push(word.start as usize);
        }
    }
    if starts.len() < 2 {
        return None;
    }
    let items = starts.iter().enumerate().map(|(i, start)| {
        let end = starts.get(i + 1).copied().unwrap_or_else(|| last_item_end(source, *start));
        (*start as u32, (start + source[*start..end].trim_end().len()) as u32)
    });
    Some(Enumeration { kind: EnumerationKind::Prose, items: items.collect(), first: 1 })
}

/// "a, b, and c", "x or y": short coordinated phrases of one sentence.
fn comma_lists(source: &str, text: &Text) -> Vec<Enumeration> {
    let words = text.words();
    let mut found = Vec::new();
    let mut sentence_start = 0;
    while sentence_start < words.len() {
        let sentence = words[sentence_start].sentence;
        let end = words[sentence_start..]
            .iter()
            .position(|w| w.sentence != sentence)
            .map_or(words.len(), |n| sentence_start + n);
        found.extend(comma_list(source, text, sentence_start..end));
        sentence_start = end;
    }
    found
}

fn comma_list(source: &str, text: &Text, range: Range<usize>) -> Option<Enumeration> {
    const LONGEST: usize = 7;
    let words = text.words();
    let comma = |at: usize| {
        words[at].gap.has(Gap::PAUSE)
            && source[words[at - 1].end as usize..words[at].start as usize].contains([',', ';', '、', '，', '،', '؛'])
    };
    // The last coordination of the sentence: "… and c".
    let joint =
        range.clone().skip(1).rev().find(|at| joins(text, *at) && at + 1 < range.end && !finite(&words[at + 1]))?;
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut end = joint;
    let mut at = joint;
    while at > range.start {
        at -= 1;
        if end - at > LONGEST {
            break;
        }
        if at > range.start && comma(at) {
            parts.push(at..end);
            end = at;
        }
    }
    let reach = if parts.is_empty() { 1 } else { 4 };
    let head = phrase_before(text, range.start, end, reach);
    if head < end {
        parts.push(head..end);
    }
    parts.reverse();
    let stop = (joint + 1..range.end).find(|at| comma(*at) || (at - joint > LONGEST)).unwrap_or(range.end);
    parts.push(joint + 1..phrase_after(text, joint + 1, stop));
    let items: Vec<(u32, u32)> = parts
        .iter()
        .filter(|part| !part.is_empty())
        .map(|part| (words[part.start].start, words[part.end - 1].end))
        .collect();
    (items.len() > 1).then(|| Enumeration { kind: EnumerationKind::Inline, items: items.into(), first: 1 })
}

/// The second part is a clause of its own: "lasts three years and is practical".
fn finite(word: &Word) -> bool {
    word.tag == Tag::Verb || word.class.has(Class::BE.or(Class::AUXILIARY))
}

/// "and", "or": what it joins is of a kind, unlike what "but" does.
fn joins(text: &Text, at: usize) -> bool {
    text.words()[at].class.has(Class::CONJUNCTION) && text.role(at) != "but"
}

/// Start of the noun phrase that ends before `end`.
fn phrase_before(text: &Text, floor: usize, end: usize, reach: usize) -> usize {
    let words = text.words();
    let mut at = end;
    while at > floor && end - at < reach.max(3) {
        let word = words[at - 1];
        if matches!(word.tag, Tag::Verb | Tag::Past)
            || word.class.has(Class::PREPOSITION.or(Class::BE).or(Class::AUXILIARY).or(Class::SUBORDINATOR))
            || word.gap.has(Gap::STOP) && at - 1 != floor
        {
            break;
        }
        at -= 1;
        if words[at].class.has(Class::DEFINITE.or(Class::INDEFINITE)) {
            break;
        }
    }
    at
}

/// End of the noun phrase that begins at `start`.
fn phrase_after(text: &Text, start: usize, stop: usize) -> usize {
    let words = text.words();
    (start..stop)
        .find(|at| {
            *at > start
                && (words[*at].class.has(Class::BE.or(Class::AUXILIARY).or(Class::SUBORDINATOR))
                    || words[*at].tag == Tag::Verb)
        })
        .unwrap_or(stop)
}

#[cfg(test)]
mod tests {
    use super::super::Pack;
    use super::*;

    fn items(source: &str) -> Vec<Vec<&str>> {
        let mut text = Text::default();
        text.read(source, &Pack::of("en"));
        enumerations(source, &text)
            .iter()
            .map(|list| list.items.iter().map(|(from, to)| &source[*from as usize..*to as usize]).collect())
            .collect()
    }

    #[test]
    fn numbered_lettered_bulleted_and_nested() {
        assert_eq!(items("Steps:\n1. Write it\n2) Read it\n")[0], ["Write it", "Read it"]);
        assert!(items("1. Write it\n\n3. Read it").is_empty());
    }

    #[test]
    fn numbered_lines_keep_their_continuations() {
        assert_eq!(
            items("Do:\n1. Write it\n   carefully\n2. Open the port\n\nDone.")[0],
            ["Write it\n   carefully", "Open the port"]
        );
        assert_eq!(items("A) tea\nB) coffee")[0], ["tea", "coffee"]);
        assert_eq!(items("- one\n  - deep\n  - deeper\n- two")[0], ["one\n  - deep\n  - deeper", "two"]);
        assert_eq!(items("**1. Cats** purr\n**2. Dogs** bark")[0], ["Cats** purr", "Dogs** bark"]);
        assert_eq!(items("Option A: tea\nOption B: coffee")[0], ["tea", "coffee"]);
        assert_eq!(items("१. चाय\n२. कॉफ़ी")[0], ["चाय", "कॉफ़ी"]);
        assert_eq!(items("(١) شاي\n(٢) قهوة")[0], ["شاي", "قهوة"]);
    }

    #[test]
    fn running_text() {
        assert_eq!(items("1. Write etcd.conf … 2. Open the port …")[0], ["Write etcd.conf …", "Open the port …"]);
        assert_eq!(items("First, unplug it. Second, wait. Finally, plug it in.")[0].len(), 3);
    }

    #[test]
    fn tables_and_commas() {
        assert_eq!(items("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |")[0], ["| 1 | 2 |", "| 3 | 4 |"]);
        assert_eq!(
            items("You can take the bus, the train, or a taxi.").last().unwrap(),
            &["the bus", "the train", "a taxi"]
        );
    }

    #[test]
    fn labels_of_other_scripts() {
        for source in [
            "①红米\n②荣耀",
            "一、红米\n二、荣耀",
            "1、红米\n2、荣耀",
            "1.红米\n2.荣耀",
            "（一）红米\n（二）荣耀",
            "１．红米\n２．荣耀",
        ] {
            assert_eq!(items(source)[0], ["红米", "荣耀"], "{source}");
        }
        assert_eq!(items("方案一：露营\n方案二：密室")[0], ["露营", "密室"]);
        assert_eq!(items("A案：買う\nB案：借りる")[0], ["買う", "借りる"]);
        assert_eq!(items("가. 동쪽\n나. 서쪽")[0], ["동쪽", "서쪽"]);
        assert_eq!(items("（一）语法；（二）项目")[0], ["语法；", "项目"]);
        assert_eq!(items("①语法 ②项目")[0], ["语法", "项目"]);
        assert!(items("三人：好\n注意：3.5元").is_empty());
    }

    #[test]
    fn clauses_are_no_lists() {
        assert!(items("The scooter is practical but heavy.").is_empty());
        assert!(items("It lasts three years and is practical.").is_empty());
    }

    #[test]
    fn version_numbers_and_single_items_are_not_lists() {
        assert!(items("Version 1.2 costs 3.4").is_empty());
        assert!(items("1. Only one").is_empty());
    }
}
