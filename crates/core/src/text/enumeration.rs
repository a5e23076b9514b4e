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
    /// `-` `*` `•` at the start of lines, headings, `Monday: …`, or nothing but a line each.
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
    start: Start,
}

/// Where an item begins.
#[derive(Clone, Copy)]
struct Start {
    line: usize,
    /// Its text.
    body: usize,
    /// The number behind a bullet, and where the text behind that begins.
    numbered: Option<(u16, usize)>,
}

impl Start {
    const fn new(line: usize, body: usize) -> Self {
        Self { line, body, numbered: None }
    }
}

/// Every enumeration of at least two items in `source`, which `text` has read; outer lists before prose ones.
/// Cost: linear, a few passes over the lines and one over the words.
pub fn enumerations(source: &str, text: &Text) -> Vec<Enumeration> {
    let mut found = listed(source);
    found.extend(table(source));
    if found.is_empty() {
        let inline = inline_numbers(source).or_else(|| inline_labels(source)).or_else(|| native_inline(source));
        found.extend(inline.or_else(|| headings(source)).or_else(|| bare_lines(source)));
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

/// Lists of lines with markers. One stays open while others stand inside its items, indented or not.
fn listed(source: &str) -> Vec<Enumeration> {
    let mut open: Vec<Open> = Vec::new();
    let mut done = Vec::new();
    for marked in lines(source).filter_map(|line| marker(source, &line)) {
        let inner = open.iter().position(|list| list.indent > marked.indent).unwrap_or(open.len());
        done.extend(open.drain(inner..));
        if let Some(at) = open.iter().position(|list| list.takes(&marked)) {
            done.extend(open.drain(at + 1..));
            open[at].starts.push(marked.start);
            continue;
        }
        let again = |list: &Open| list.indent == marked.indent && list.kind == marked.kind;
        if let Some(at) = open.iter().position(again) {
            done.extend(open.drain(at..));
        }
        open.push(Open::new(&marked));
    }
    done.extend(open);
    done.retain(|list| list.starts.len() > 1);
    done.sort_by_key(|list| list.starts[0].line);
    done.iter().map(|list| list.finish(source)).collect()
}

/// A list under construction.
struct Open {
    kind: EnumerationKind,
    first: u16,
    indent: usize,
    starts: Vec<Start>,
}

impl Open {
    fn new(marked: &Marked) -> Self {
        let (kind, first) = match roman(marked.kind, marked.label) {
            Some(1) => (EnumerationKind::Numbered, 1),
            _ => (marked.kind, marked.label),
        };
        Self { kind, first, indent: marked.indent, starts: vec![marked.start] }
    }

    fn takes(&self, marked: &Marked) -> bool {
        let next = |label: u16| usize::from(label) == usize::from(self.first) + self.starts.len();
        let follows = self.kind == marked.kind && (marked.label == 0 || next(marked.label))
            || self.kind == EnumerationKind::Numbered && roman(marked.kind, marked.label).is_some_and(next);
        self.indent == marked.indent && follows
    }

    fn finish(&self, source: &str) -> Enumeration {
        // Bullets with numbers behind them are numbers when each is the next.
        let first = self.starts[0].numbered.map_or(0, |(first, _)| first);
        let counted =
            self.starts.iter().zip(first..).all(|(start, next)| start.numbered.is_some_and(|(n, _)| n == next));
        let (kind, first) = if counted { (EnumerationKind::Numbered, first) } else { (self.kind, self.first) };
        let items = self.starts.iter().enumerate().map(|(i, start)| {
            let body = start.numbered.filter(|_| counted).map_or(start.body, |(_, body)| body);
            let end = self.starts.get(i + 1).map_or_else(|| last_item_end(source, body), |next| next.line);
            let item = source[body..end.max(body)].trim_end();
            ((body + item.len() - item.trim_start().len()) as u32, (body + item.len()) as u32)
        });
        Enumeration { kind, items: items.collect(), first }
    }
}

/// The list of these items, if there are two at least.
fn list_of(source: &str, kind: EnumerationKind, starts: Vec<Start>) -> Option<Enumeration> {
    let list = Open { kind, first: u16::from(kind != EnumerationKind::Bulleted), indent: 0, starts };
    (list.starts.len() > 1).then(|| list.finish(source))
}

/// "i", "v" and "x" as Roman numerals; the others are read as numbers at once.
const fn roman(kind: EnumerationKind, label: u16) -> Option<u16> {
    match (kind, label) {
        (EnumerationKind::Lettered, 9) => Some(1),
        (EnumerationKind::Lettered, 22) => Some(5),
        (EnumerationKind::Lettered, 24) => Some(10),
        _ => None,
    }
}

/// The last item ends at the first blank line behind what it says, or with the text.
fn last_item_end(source: &str, body: usize) -> usize {
    let rest = source[body..].trim_start();
    let begun = source.len() - rest.len();
    rest.find("\n\n").or_else(|| rest.find("\r\n\r\n")).map_or(source.len(), |at| begun + at)
}

fn marker(source: &str, line: &Range<usize>) -> Option<Marked> {
    let text = &source[line.clone()];
    let trimmed = text.trim_start();
    let indent = text.len() - trimmed.len();
    let bullet = ["- ", "* ", "• ", "– ", "· ", "‣ ", "◦ ", "+ ", "・", "●", "■"]
        .iter()
        .find(|mark| trimmed.starts_with(**mark));
    let at = |rest: &str| line.end - rest.len();
    if let Some(mark) = bullet {
        let inner = unboxed(&trimmed[mark.len()..]);
        let bare = inner.trim_start_matches(['*', '_']);
        let numbered = label(bare).filter(|(kind, ..)| *kind == EnumerationKind::Numbered);
        let numbered = numbered.map(|(_, value, len)| (value, at(&bare[len..])));
        let start = Start { numbered, ..Start::new(line.start, at(inner)) };
        return Some(Marked { kind: EnumerationKind::Bulleted, label: 0, indent, start });
    }
    let bare = trimmed.trim_start_matches(['*', '#', '_', '>']).trim_start_matches(' ');
    let (kind, label, len) = label(bare).or_else(|| native_label(bare))?;
    Some(Marked { kind, label, indent, start: Start::new(line.start, at(&bare[len..])) })
}

/// The text behind the box of a task: `[ ] done?`.
fn unboxed(text: &str) -> &str {
    ["[ ] ", "[x] ", "[X] "].iter().find_map(|mark| text.strip_prefix(mark)).unwrap_or(text)
}

/// `1.` `1)` `(1)` `1:` `1 -` `A.` `b)` `ii.` `Q3:` `Option C:` `**Step 2**:` at the start of a line, or `Day 3` as all of it: kind,
/// value, length with the space.
fn label(text: &str) -> Option<(EnumerationKind, u16, usize)> {
    let open = usize::from(text.starts_with('('));
    let letters = text[open..].chars().take_while(|c| c.is_alphabetic()).map(char::len_utf8).sum::<usize>();
    let skip = match text.as_bytes()[open + letters..] {
        [b' ', ..] if letters > 2 => open + letters + 1,
        [b'0'..=b'9', ..] if letters == 1 && open == 0 && text.starts_with(char::is_uppercase) => 1,
        _ => open,
    };
    let word = &text[skip..];
    let named = skip > open;
    let (kind, value, len) = number(word).or_else(|| {
        let letter = word.bytes().next().filter(u8::is_ascii_alphabetic)?;
        Some((EnumerationKind::Lettered, u16::from(letter.to_ascii_lowercase() - b'a' + 1), 1))
    })?;
    let after = word[len..].trim_start_matches(['*', '_']);
    let dash = after.trim_start();
    let behind = if after.is_empty() && named && kind == EnumerationKind::Numbered {
        after
    } else if dash.len() < after.len() && dash.starts_with(['-', '–', '—']) {
        dash.trim_start_matches(['-', '–', '—'])
    } else {
        let close = after.chars().next().filter(|c| matches!(c, '.' | ')' | ':' | ']' | '-' | '–'))?;
        if named && close == '.' && kind == EnumerationKind::Lettered {
            return None;
        }
        after[close.len_utf8()..].trim_start_matches(['*', '_', ')'])
    };
    let closed = behind.is_empty() || behind.starts_with(char::is_whitespace);
    closed.then(|| (kind, value, text.len() - behind.trim_start().len()))
}

/// One to three digits, or a Roman numeral of two letters or more: kind, value, length.
fn number(text: &str) -> Option<(EnumerationKind, u16, usize)> {
    const ROMAN: [&str; 10] = ["", "ii", "iii", "iv", "", "vi", "vii", "viii", "ix", ""];
    let digits = || text.chars().map_while(|c| digit(c).map(|value| (value, c.len_utf8())));
    if (1..=3).contains(&digits().count()) {
        let value = digits().fold(0, |value, (digit, _)| value * 10 + u16::from(digit));
        return Some((EnumerationKind::Numbered, value, digits().map(|(_, len)| len).sum()));
    }
    let len = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let at = ROMAN.iter().position(|numeral| len > 1 && numeral.eq_ignore_ascii_case(&text[..len]))?;
    Some((EnumerationKind::Numbered, at as u16 + 1, len))
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
    let mut starts = Vec::new();
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
                starts.push(Start::new(at, end + 2));
            }
            at = end;
        }
        at += 1;
    }
    list_of(source, EnumerationKind::Numbered, starts)
}

/// `Step 1: … Step 2: …` and `(i) … (ii) …` inside running text.
fn inline_labels(source: &str) -> Option<Enumeration> {
    let mut starts: Vec<Start> = Vec::new();
    let words = source.split_ascii_whitespace().map(|word| word.as_ptr() as usize - source.as_ptr() as usize);
    for at in words {
        let next = |label: u16| usize::from(label) == starts.len() + 1;
        let Some((kind, value, len)) = label(&source[at..]) else { continue };
        let opens = source[at..].starts_with('(') || source[at..].starts_with(char::is_uppercase);
        let counts = kind == EnumerationKind::Numbered && next(value) || roman(kind, value).is_some_and(next);
        if opens && counts {
            starts.push(Start::new(at, at + len));
        }
    }
    list_of(source, EnumerationKind::Numbered, starts)
}

/// Headings of the highest level that has several.
fn headings(source: &str) -> Option<Enumeration> {
    let found: Vec<(usize, Start)> = lines(source)
        .filter_map(|line| {
            let text = source[line.clone()].trim_start_matches('#');
            let level = line.len() - text.len();
            let body = text.strip_prefix(' ')?;
            (1..=6).contains(&level).then(|| (level, Start::new(line.start, line.end - body.len())))
        })
        .collect();
    let several = |level: &usize| found.iter().filter(|(other, _)| other == level).count() > 1;
    let level = (1..=6).find(several)?;
    list_of(
        source,
        EnumerationKind::Bulleted,
        found.iter().filter(|(other, _)| *other == level).map(|(_, start)| *start).collect(),
    )
}

/// `Monday: …` `**Lisbon** …`, or nothing but short lines: three in a row at least, blank lines aside.
fn bare_lines(source: &str) -> Option<Enumeration> {
    const LEAST: usize = 3;
    let alike: [fn(&str) -> bool; 2] = [leads, short];
    alike.iter().find_map(|alike| {
        let mut runs = vec![Vec::new()];
        for line in lines(source).filter(|line| !source[line.clone()].trim().is_empty()) {
            match runs.last_mut() {
                Some(run) if alike(&source[line.clone()]) => run.push(Start::new(line.start, line.start)),
                _ => runs.push(Vec::new()),
            }
        }
        let run = runs.into_iter().find(|run| run.len() >= LEAST)?;
        list_of(source, EnumerationKind::Bulleted, run)
    })
}

/// True for a line that begins with a few words and a colon, or with words in bold.
fn leads(line: &str) -> bool {
    const WORDS: usize = 4;
    let bold = |mark| line.strip_prefix(mark).is_some_and(|rest: &str| rest.contains(mark));
    let lead = line.split_once([':', '：']).filter(|(_, rest)| !rest.trim().is_empty() && !rest.starts_with("//"));
    bold("**") || bold("__") || lead.is_some_and(|(lead, _)| lead.split_whitespace().count() <= WORDS)
}

/// True for a line that is a few words and no sentence.
fn short(line: &str) -> bool {
    const LONGEST: usize = 60;
    line.len() <= LONGEST && !line.ends_with(['.', '!', '?', ',', ';', ':', '。', '！', '？', '，', '：'])
}

/// `①…②…` and `（一）…（二）…` inside running text.
fn native_inline(source: &str) -> Option<Enumeration> {
    if source.is_ascii() {
        return None;
    }
    let mut starts: Vec<Start> = Vec::new();
    for (at, c) in source.char_indices() {
        let mark = match c {
            '①'..='⑳' => circled(&source[at..]),
            '（' | '(' => native_label(&source[at..]).map(|(_, value, len)| (value, len)),
            _ => None,
        };
        if let Some((_, len)) = mark.filter(|(value, _)| usize::from(*value) == starts.len() + 1) {
            starts.push(Start::new(at, at + len));
        }
    }
    list_of(source, EnumerationKind::Numbered, starts)
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
    fn numbers_behind_bullets_count_only_when_they_do() {
        assert_eq!(items("- Day 1: hike\n- Day 2: swim")[0], ["hike", "swim"]);
        assert_eq!(items("- Days 1-3: hike\n- Day 4: swim")[0], ["Days 1-3: hike", "Day 4: swim"]);
        assert_eq!(items("- [x] hike\n- [ ] swim")[0], ["hike", "swim"]);
    }

    #[test]
    fn a_list_goes_on_behind_one_that_its_item_holds() {
        let nested = items("**1. Hike**\n- boots\n- map\n\n**2. Swim**\n- towel\n- cap\n\n3. Rest");
        assert_eq!(nested[0].len(), 3);
        assert!(nested[0][1].starts_with("Swim**"), "{nested:?}");
        assert_eq!(nested[1..], [vec!["boots", "map"], vec!["towel", "cap"]]);
    }

    #[test]
    fn labels_of_many_forms() {
        for source in [
            "Q1: tea\nQ2: milk\nQ3: water",
            "i. tea\nii. milk\niii. water",
            "(i) tea (ii) milk (iii) water",
            "Step 1: tea Step 2: milk Step 3: water",
            "1 - tea\n2 - milk\n3 - water",
            "**Option 1**: tea\n**Option 2**: milk\n**Option 3**: water",
            "Option A – tea\nOption B – milk\nOption C – water",
            "### Day 1\ntea\n\n### Day 2\nmilk\n\n### Day 3\nwater",
            "### Day 1\n\ntea\n\n### Day 2\n\nmilk\n\n### Day 3\n\nwater",
            "## tea\n## milk\n## water",
            "tea\nmilk\nwater",
        ] {
            assert_eq!(items(source)[0], ["tea", "milk", "water"], "{source}");
        }
        assert_eq!(items("Mon: tea\nTue: milk\nWed: water")[0], ["Mon: tea", "Tue: milk", "Wed: water"]);
        assert_eq!(items("**Mon** tea.\n\n**Tue** milk.\n\n**Wed** water.")[0].len(), 3);
        assert_eq!(
            items("# Plan\n## Sea\nswim\n### Where\n## Hills\nhike")[0],
            ["Sea\nswim\n### Where", "Hills\nhike"]
        );
        assert!(items("g. tea\nh. milk\ni. water")[0].len() == 3, "a letter among letters");
    }

    #[test]
    fn lines_of_prose_are_no_lists() {
        assert!(items("It rained.\nWe stayed in.\nThen it stopped.").is_empty());
        assert!(items("Dear Ann,\nit rained\nBest,\nBob").is_empty());
        assert!(items("1.\n2.")[0].iter().all(|item| item.is_empty()));
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
