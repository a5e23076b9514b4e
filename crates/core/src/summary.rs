//! Summaries of tool output without a model: what the envelope carries instead of the output itself (R029-2 to R029-4).
//!
//! A table becomes its columns, ranges and first rows; an object its keys and scalar values; a list its length and ends; a
//! long text its first sentence and names; an error stays whole. Each is written at falling levels of detail until it
//! fits, and cut as the last resort. An output no longer than its summary is its own summary.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

use rustc_hash::FxHashMap;
use unicode_segmentation::UnicodeSegmentation;

use crate::error::Result;
use crate::render;
use crate::scratch::OutputClass;
use crate::scratch::structure::{Json, Kind, Shape, TextTable, is_date};
use crate::text::{Pack, Text, entities};
use crate::tokens::TokenCounter;

/// No tokenizer makes a token of more bytes on average; longer texts need not be counted to know that they do not fit.
const MOST_BYTES_OF_TOKEN: usize = 32;

/// How much a summary says, from most to least.
#[derive(Clone, Copy, Debug)]
struct Detail {
    /// Rows or list items shown, at either end for a list.
    samples: usize,
    /// Longest sample or value, in bytes.
    width: usize,
    /// Columns or keys named.
    names: usize,
    /// Columns carry their range.
    ranges: bool,
    /// How many levels of nested values are shown.
    depth: usize,
}

const DETAILS: [Detail; 6] = [
    Detail { samples: 3, width: 400, names: 48, ranges: true, depth: 3 },
    Detail { samples: 3, width: 160, names: 32, ranges: true, depth: 2 },
    Detail { samples: 2, width: 100, names: 24, ranges: true, depth: 1 },
    Detail { samples: 1, width: 60, names: 16, ranges: true, depth: 1 },
    Detail { samples: 0, width: 40, names: 12, ranges: true, depth: 0 },
    Detail { samples: 0, width: 24, names: 6, ranges: false, depth: 0 },
];

/// The summary of `raw`, which is of class `class`, in at most `cap` tokens.
///
/// Deterministic. Cost: linear in `raw`, and a few counts of texts about as long as the summary.
///
/// # Errors
/// Those of the counter.
pub fn summarise(raw: &str, class: OutputClass, cap: u32, counter: &dyn TokenCounter) -> Result<String> {
    let fits = raw.len() <= cap as usize * MOST_BYTES_OF_TOKEN;
    let raw_tokens = if fits { counter.count(raw)? } else { u32::MAX };
    counted(raw, raw_tokens, class, cap, counter).map(|(summary, _)| summary)
}

/// The same, and its tokens, when those of `raw` are known or known to be more than `cap`.
pub(crate) fn counted(
    raw: &str,
    raw_tokens: u32,
    class: OutputClass,
    cap: u32,
    counter: &dyn TokenCounter,
) -> Result<(String, u32)> {
    let whole = raw.trim();
    let whole_tokens = match raw_tokens {
        tokens if tokens <= cap && whole.len() < raw.len() => counter.count(whole)?,
        tokens => tokens,
    };
    if matches!(class, OutputClass::Error | OutputClass::Scalar) || whole_tokens <= cap / 4 {
        return fitted(whole, whole_tokens, cap, counter);
    }
    let source = Source::of(raw, class);
    let mut shortest = String::new();
    for detail in DETAILS {
        shortest = source.written(detail);
        if shortest.len() > cap as usize * MOST_BYTES_OF_TOKEN {
            continue;
        }
        let tokens = counter.count(&shortest)?;
        if whole_tokens <= tokens.min(cap) {
            return Ok((whole.to_owned(), whole_tokens));
        }
        if tokens <= cap {
            return Ok((shortest, tokens));
        }
    }
    fitted(&shortest, u32::MAX, cap, counter)
}

/// `text` and its tokens, cut if it costs more than `cap`.
fn fitted(text: &str, tokens: u32, cap: u32, counter: &dyn TokenCounter) -> Result<(String, u32)> {
    if tokens <= cap {
        return Ok((text.to_owned(), tokens));
    }
    let cut = render::cut(head(text, cap as usize * MOST_BYTES_OF_TOKEN), cap, counter)?;
    let tokens = counter.count(&cut)?;
    Ok((cut, tokens))
}

/// What a summary is written from, taken apart once for all levels of detail.
enum Source<'a> {
    Table { table: Table<'a>, around: Vec<(&'a str, Cow<'a, str>)> },
    Object(Json<'a>),
    List { items: Vec<Cow<'a, str>>, kind: &'static str },
    Text { sentence: &'a str, words: usize, names: Vec<String> },
}

impl<'a> Source<'a> {
    fn of(raw: &'a str, class: OutputClass) -> Self {
        match (class, Shape::of(raw)) {
            (OutputClass::Table, Shape::Json(json)) => match json.table() {
                Some(at) => Self::Table { around: around(&json, at), table: Table::of_json(&json, at) },
                None => Self::Object(json),
            },
            (OutputClass::Table, Shape::Table(table)) => {
                Self::Table { table: Table::of_text(raw, &table), around: Vec::new() }
            }
            (OutputClass::Object, Shape::Json(json)) if json.kind(json.root()) == Kind::Object => Self::Object(json),
            (OutputClass::List, Shape::Json(json)) => {
                Self::List { items: elements(&json), kind: kind_of_elements(&json) }
            }
            (OutputClass::List, Shape::List(items)) => {
                Self::List { items: items.into_iter().map(|item| Cow::Borrowed(&raw[item])).collect(), kind: "items" }
            }
            _ => Self::of_text(raw),
        }
    }

    fn of_text(raw: &'a str) -> Self {
        /// Names are looked for in the beginning of a text only: the rest of a long one repeats them.
        const READ: usize = 16 * 1024;
        let start = head(raw.trim(), READ);
        let sentence = start.unicode_sentences().next().unwrap_or(start).trim();
        let mut pass = Text::default();
        pass.read(start, &Pack::und());
        Self::Text { sentence, words: raw.split_whitespace().count(), names: entities(start, &pass) }
    }

    fn written(&self, detail: Detail) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = match self {
            Self::Table { table, around } => table.write(&mut out, around, detail),
            Self::Object(json) => write_object(&mut out, json, detail),
            Self::List { items, kind } => write_list(&mut out, items, kind, detail),
            Self::Text { sentence, words, names } => write_text(&mut out, sentence, *words, names, detail),
        };
        out
    }
}

// ---- tables --------------------------------------------------------------------------------------------------------

/// A table, counted.
struct Table<'a> {
    rows: usize,
    /// Distinct keys, those beyond [`Table::MOST_COLUMNS`] included.
    names: usize,
    columns: Vec<Column<'a>>,
    samples: Vec<&'a str>,
}

/// A column, by what stands in it.
#[derive(Default)]
struct Column<'a> {
    /// The key of the object around it; empty at the top.
    group: &'a str,
    name: Cow<'a, str>,
    numbers: Extent<'a>,
    dates: Extent<'a>,
    others: usize,
}

/// How many values, and the least and greatest as written.
#[derive(Default)]
struct Extent<'a> {
    count: usize,
    least: (f64, Cow<'a, str>),
    greatest: (f64, Cow<'a, str>),
}

impl<'a> Extent<'a> {
    fn widen(&mut self, key: f64, value: Cow<'a, str>) {
        self.count += 1;
        if self.count == 1 || key < self.least.0 {
            self.least = (key, value.clone());
        }
        if self.count == 1 || key > self.greatest.0 {
            self.greatest = (key, value);
        }
    }

    fn written(&self) -> String {
        const WIDTH: usize = 32;
        let (least, greatest) = (clipped(&self.least.1, WIDTH), clipped(&self.greatest.1, WIDTH));
        if least == greatest { least } else { format!("{least} to {greatest}") }
    }
}

impl<'a> Column<'a> {
    fn add(&mut self, value: Cow<'a, str>) {
        let text = value.trim();
        if matches!(text, "" | "null" | "None" | "NULL") {
            return;
        }
        if is_date(text) {
            self.dates.widen(date_key(text), value);
        } else if let Some(number) = number(text) {
            self.numbers.widen(number, value);
        } else {
            self.others += 1;
        }
    }

    fn written(&self, ranges: bool) -> String {
        const WIDTH: usize = 48;
        let name = clipped(self.name.trim(), WIDTH);
        let name = if self.group.is_empty() { name } else { format!("{}.{name}", clipped(self.group, WIDTH)) };
        match (self.numbers.count, self.dates.count, self.others) {
            (1.., 0, 0) if ranges => format!("{name} ({})", self.numbers.written()),
            (0, 1.., 0) if ranges => format!("{name} ({})", self.dates.written()),
            _ => name,
        }
    }
}

impl<'a> Table<'a> {
    /// Distinct keys beyond this are counted, not told apart.
    const MOST_COLUMNS: usize = 256;

    /// The rows are the members or elements of the value at `at`; an object inside a row gives a column for each scalar.
    fn of_json(json: &Json<'a>, at: usize) -> Self {
        let mut table = Self { rows: json.len(at), names: 0, columns: Vec::new(), samples: Vec::new() };
        let mut known: FxHashMap<(&str, &str), usize> = FxHashMap::default();
        for row in json.children(at) {
            if table.samples.len() < DETAILS[0].samples {
                table.samples.push(json.source(row));
            }
            for member in json.children(row) {
                if json.kind(member) == Kind::Object {
                    for inner in json.children(member) {
                        table.add(&mut known, json, json.key(member), inner);
                    }
                } else {
                    table.add(&mut known, json, "", member);
                }
            }
        }
        table.names = known.len();
        table
    }

    fn add(&mut self, known: &mut FxHashMap<(&'a str, &'a str), usize>, json: &Json<'a>, group: &'a str, at: usize) {
        let name = json.key(at);
        let next = known.len();
        let column = *known.entry((group, name)).or_insert(next);
        if column >= Self::MOST_COLUMNS {
            return;
        }
        if column == self.columns.len() {
            self.columns.push(Column { group, name: Cow::Borrowed(name), ..Column::default() });
        }
        if json.is_scalar(at) {
            self.columns[column].add(json.scalar(at));
        } else {
            self.columns[column].others += 1;
        }
    }

    fn of_text(raw: &'a str, table: &TextTable<'a>) -> Self {
        let mut columns: Vec<Column<'a>> = table
            .columns
            .iter()
            .take(Self::MOST_COLUMNS)
            .map(|name| Column { name: name.clone(), ..Column::default() })
            .collect();
        for row in &table.rows {
            for (column, cell) in columns.iter_mut().zip(table.cells(row)) {
                column.add(cell);
            }
        }
        let samples = table.rows.iter().take(DETAILS[0].samples).map(|row| &raw[row.clone()]).collect();
        Self { rows: table.rows.len(), names: table.columns.len(), columns, samples }
    }

    fn write(&self, out: &mut String, around: &[(&str, Cow<'_, str>)], detail: Detail) -> std::fmt::Result {
        write!(out, "table, {}", plural(self.rows, "row"))?;
        for (key, value) in around.iter().take(detail.names / 4) {
            write!(out, "; {}: {}", clipped(key, detail.width), clipped(value, detail.width))?;
        }
        let columns = self.columns.iter().map(|column| column.written(detail.ranges));
        write!(out, "\ncolumns: {}", first(columns, self.names, detail.names, ", "))?;
        let shown = self.samples.len().min(detail.samples);
        match shown {
            0 => return Ok(()),
            1 => write!(out, "\nrow 1:")?,
            _ => write!(out, "\nrows 1 to {shown}:")?,
        }
        for sample in &self.samples[..shown] {
            write!(out, "\n{}", clipped(sample, detail.width))?;
        }
        Ok(())
    }
}

/// The scalars beside a table that is wrapped in an object: totals, pages, the query.
fn around<'a>(json: &Json<'a>, table: usize) -> Vec<(&'a str, Cow<'a, str>)> {
    if table == json.root() {
        return Vec::new();
    }
    json.children(json.root()).filter(|at| json.is_scalar(*at)).map(|at| (json.key(at), json.scalar(at))).collect()
}

fn number(text: &str) -> Option<f64> {
    let starts = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    text.parse().ok().filter(|number: &f64| starts && number.is_finite())
}

/// The digits of an ISO date down to seconds, which sort as the date does.
fn date_key(text: &str) -> f64 {
    const DIGITS: usize = 14;
    let digits = text.bytes().filter(u8::is_ascii_digit).chain(std::iter::repeat(b'0')).take(DIGITS);
    digits.fold(0.0, |key, digit| key * 10.0 + f64::from(digit - b'0'))
}

// ---- objects, lists, text --------------------------------------------------------------------------------------------

fn write_object(out: &mut String, json: &Json<'_>, detail: Detail) -> std::fmt::Result {
    let root = json.root();
    write!(out, "object, {}", plural(json.len(root), "key"))?;
    for member in json.children(root).take(detail.names) {
        write!(out, "\n{}: {}", clipped(json.key(member), detail.width), value_text(json, member, detail))?;
    }
    let more = json.len(root).saturating_sub(detail.names);
    if more > 0 { write!(out, "\n…{more} more") } else { Ok(()) }
}

/// A value on one line; what is nested deeper than the detail shows is counted.
fn value_text(json: &Json<'_>, at: usize, detail: Detail) -> String {
    if json.is_scalar(at) {
        return clipped(&json.scalar(at), detail.width);
    }
    let objects = json.holds_objects(at);
    let size = plural(json.len(at), if objects { "object" } else { "item" });
    let inner =
        Detail { width: detail.width / 2, names: detail.names / 2, depth: detail.depth.saturating_sub(1), ..detail };
    let members = |of: usize| {
        let members = json
            .children(of)
            .map(|at| format!("{}: {}", clipped(json.key(at), inner.width), value_text(json, at, inner)));
        format!("{{{}}}", first(members, json.len(of), inner.names, ", "))
    };
    match json.kind(at) {
        Kind::Object if detail.depth == 0 => format!("{{{}}}", plural(json.len(at), "key")),
        Kind::Object => members(at),
        _ if detail.depth == 0 || json.len(at) == 0 => size,
        _ if objects && detail.depth == 1 => {
            let row = json.children(at).next().unwrap_or(at);
            let keys = json.children(row).map(|member| clipped(json.key(member), inner.width));
            format!("{size} {{{}}}", first(keys, json.len(row), inner.names, ", "))
        }
        _ => {
            let items = json.children(at).map(|item| value_text(json, item, inner));
            format!("{size}: {}", first(items, json.len(at), 2 * detail.samples, "; "))
        }
    }
}

fn elements<'a>(json: &Json<'a>) -> Vec<Cow<'a, str>> {
    json.children(json.root()).map(|at| json.scalar(at)).collect()
}

fn kind_of_elements(json: &Json<'_>) -> &'static str {
    let mut kinds = json.children(json.root()).map(|at| json.kind(at));
    match kinds.next() {
        Some(first) if kinds.all(|kind| kind == first) => match first {
            Kind::Object => "objects",
            Kind::Array => "lists",
            Kind::String => "strings",
            Kind::Number => "numbers",
            Kind::Literal => "values",
        },
        _ => "items",
    }
}

fn write_list(out: &mut String, items: &[Cow<'_, str>], kind: &str, detail: Detail) -> std::fmt::Result {
    write!(out, "list, {} {kind}", items.len())?;
    let show = |range: Range<usize>| {
        let shown: Vec<String> = items[range].iter().map(|item| clipped(item, detail.width)).collect();
        shown.join("; ")
    };
    let samples = detail.samples;
    if samples == 0 || items.is_empty() {
        return Ok(());
    }
    if items.len() <= 2 * samples {
        return write!(out, "\nall: {}", show(0..items.len()));
    }
    write!(out, "\nfirst: {}\nlast: {}", show(0..samples), show(items.len() - samples..items.len()))
}

fn write_text(out: &mut String, sentence: &str, words: usize, names: &[String], detail: Detail) -> std::fmt::Result {
    write!(out, "{}", clipped(sentence, 2 * detail.width))?;
    if !names.is_empty() {
        let shown = names.iter().map(|name| clipped(name, detail.width));
        write!(out, "\nnames: {}", first(shown, names.len(), detail.names, ", "))?;
    }
    write!(out, "\n{} in all", plural(words, "word"))
}

/// The first `most` of `total` parts, and how many more there are; only those that are shown are made.
fn first(parts: impl Iterator<Item = String>, total: usize, most: usize, between: &str) -> String {
    let mut shown: Vec<String> = parts.take(most).collect();
    if total > shown.len() {
        shown.push(format!("…{} more", total - shown.len()));
    }
    shown.join(between)
}

fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// `text` on one line and in at most `width` bytes, the mark of a cut included, ending at a grapheme.
fn clipped(text: &str, width: usize) -> String {
    const CUT: &str = "…";
    // White space shrinks; a text many times too long need not be read to its end.
    let start = head(text, 8 * width);
    let line = start.split_whitespace().collect::<Vec<&str>>().join(" ");
    if line.len() <= width && start.len() == text.len() {
        return line;
    }
    let room = width.saturating_sub(CUT.len());
    let end =
        line.grapheme_indices(true).map(|(at, grapheme)| at + grapheme.len()).take_while(|end| *end <= room).last();
    format!("{}{CUT}", &line[..end.unwrap_or(0)])
}

/// The beginning of `text` in at most `bytes` bytes, ending at a character.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scratch::classify;

    /// A token a byte.
    struct Bytes;

    impl TokenCounter for Bytes {
        fn count(&self, text: &str) -> Result<u32> {
            Ok(text.len() as u32)
        }
    }

    /// A token a word, roughly as a tokenizer counts.
    struct Words;

    impl TokenCounter for Words {
        fn count(&self, text: &str) -> Result<u32> {
            Ok(text.split(|c: char| !c.is_alphanumeric()).count() as u32)
        }
    }

    fn summary(raw: &str, cap: u32) -> String {
        summarise(raw, classify(raw), cap, &Words).unwrap()
    }

    fn flights(count: usize) -> String {
        let rows: Vec<serde_json::Value> = (0..count)
            .map(|n| {
                serde_json::json!({
                    "flight": format!("HAT{n:03}"), "date": format!("2024-05-{:02}", 1 + n % 28),
                    "seats": {"economy": n, "business": 2}, "price": 100 + 7 * n, "note": null
                })
            })
            .collect();
        serde_json::Value::from(rows).to_string()
    }

    #[test]
    fn a_table_has_columns_ranges_and_samples() {
        let summary = summary(&flights(40), 256);
        assert_eq!(
            summary,
            "table, 40 rows\ncolumns: flight, date (2024-05-01 to 2024-05-28), seats.economy (0 to 39), seats.business (2), \
             price (100 to 373), note\nrows 1 to 3:\n\
             {\"flight\":\"HAT000\",\"date\":\"2024-05-01\",\"seats\":{\"economy\":0,\"business\":2},\"price\":100,\"note\":null}\n\
             {\"flight\":\"HAT001\",\"date\":\"2024-05-02\",\"seats\":{\"economy\":1,\"business\":2},\"price\":107,\"note\":null}\n\
             {\"flight\":\"HAT002\",\"date\":\"2024-05-03\",\"seats\":{\"economy\":2,\"business\":2},\"price\":114,\"note\":null}"
        );
    }

    #[test]
    fn a_tighter_cap_leaves_out_samples_then_ranges() {
        let samples = |cap| summary(&flights(40), cap).lines().filter(|line| line.starts_with('{')).count();
        let mut seen: Vec<usize> = (14..=256).map(samples).collect();
        assert!(seen.is_sorted());
        seen.dedup();
        assert_eq!(seen, [0, 1, 2, 3]);
        assert!(summary(&flights(40), 45).contains("price (100 to 373)"));
        assert_eq!(
            summary(&flights(40), 19),
            "table, 40 rows\ncolumns: flight, date, seats.economy, seats.business, price, note"
        );
    }

    #[test]
    fn what_wraps_a_table_is_kept() {
        let raw = format!("{{\"total\": 40, \"page\": \"1\", \"results\": {}}}", flights(40));
        assert!(summary(&raw, 256).starts_with("table, 40 rows; total: 40; page: 1\ncolumns: flight"));
    }

    #[test]
    fn tables_in_text_are_tables() {
        let csv: String = std::iter::once("id,city,population\n".to_owned())
            .chain((1..200).map(|n| format!("{n},City{n},{}\n", n * 1000)))
            .collect();
        assert_eq!(
            summary(&csv, 256),
            "table, 199 rows\ncolumns: id (1 to 199), city, population (1000 to 199000)\nrows 1 to 3:\n1,City1,1000\n2,City2,2000\n3,City3,3000"
        );
    }

    #[test]
    fn an_object_shows_keys_and_scalars() {
        let raw = serde_json::json!({
            "name": {"first": "James", "last": "Patel"}, "dob": "1995-04-07", "address": "x".repeat(2000),
            "cards": [{"id": 1, "kind": "gift"}, {"id": 2}], "bookings": ["A1", "B2"], "tags": []
        });
        let long = summary(&raw.to_string(), 60);
        assert!(
            long.starts_with("object, 6 keys\nname: {first: James, last: Patel}\ndob: 1995-04-07\naddress: xxx"),
            "{long}"
        );
        assert!(
            long.ends_with(
                "…\ncards: 2 objects: {id: 1, kind: gift}; {id: 2}\nbookings: 2 items: A1; B2\ntags: 0 items"
            ),
            "{long}"
        );
        let tighter: Vec<String> = (10..60).map(|cap| summary(&raw.to_string(), cap)).collect();
        assert!(tighter.iter().any(|summary| summary.contains("\ncards: 2 objects {id, kind}\n")));
        assert!(tighter.iter().any(|summary| summary.contains("\nname: {2 keys}\n")));
    }

    #[test]
    fn a_list_shows_its_ends() {
        let raw = serde_json::to_string(&(0..100).map(|n| format!("item {n}")).collect::<Vec<_>>()).unwrap();
        assert_eq!(
            summary(&raw, 64),
            "list, 100 strings\nfirst: item 0; item 1; item 2\nlast: item 97; item 98; item 99"
        );
    }

    #[test]
    fn a_long_text_is_its_first_sentence_and_names() {
        let raw = format!("The report was written by Maria Lopez. {}", "It goes on and on. ".repeat(200));
        let summary = summary(&raw, 100);
        assert!(summary.starts_with("The report was written by Maria Lopez.\nnames: "), "{summary}");
        assert!(summary.ends_with("words in all"));
    }

    #[test]
    fn what_is_short_is_its_own_summary() {
        for raw in
            ["12.0", "Transfer successful", "{\"id\": 7}", "[1, 2]", "[{\"a\":1},{\"a\":2}]", "hello, world\n", ""]
        {
            assert_eq!(summary(raw, 256), raw.trim());
        }
    }

    #[test]
    fn an_error_is_whole_or_visibly_cut() {
        assert_eq!(summary("Error: class not found", 256), "Error: class not found");
        let long = format!("Error: {}", "word ".repeat(500));
        assert_eq!(summary(&long, 1000), long.trim());
        let cut = summary(&long, 50);
        assert!(cut.starts_with("Error: word") && cut.ends_with(render::CUT), "{cut}");
    }

    #[test]
    fn nothing_is_cut_inside_a_grapheme() {
        let family = "👨‍👩‍👧‍👦";
        for width in 0..40 {
            let clipped = clipped(&family.repeat(3), width);
            assert!(clipped.trim_end_matches('…').len().is_multiple_of(family.len()), "{clipped}");
        }
    }

    #[test]
    fn hostile_outputs_are_summarised() {
        let deep = format!("{}1{}", "[".repeat(400), "]".repeat(400));
        let wide = format!("{{{}}}", (0..20_000).map(|n| format!("\"k{n}\":{n}")).collect::<Vec<_>>().join(","));
        let long = "x".repeat(3_000_000);
        let columns =
            format!("{}\n{}", (0..20_000).map(|n| format!("c{n}")).collect::<Vec<_>>().join(","), "1,".repeat(19_999));
        for raw in [deep, wide, long.clone(), format!("{{\"{long}\":\"{long}\"}}"), columns, "\u{301}".repeat(100_000)]
        {
            for cap in [16, 256] {
                assert!(Bytes.count(&summarise(&raw, classify(&raw), cap, &Bytes).unwrap()).unwrap() <= cap);
            }
        }
    }

    fn outputs() -> impl Strategy<Value = String> {
        prop_oneof![
            "\\PC{0,400}",
            "[-\\[\\]{}\"',:;|\\\\0-9a-c \\n\\t]{0,200}",
            (0..40usize).prop_map(flights),
            prop::collection::vec("[a-zé ]{0,12},[0-9]{1,4},\\PC{0,6}", 0..30)
                .prop_map(|rows| format!("name,size,note\n{}", rows.join("\n"))),
            prop::collection::vec("\\PC{0,40}", 0..20).prop_map(|items| serde_json::to_string(&items).unwrap()),
            prop::collection::hash_map("\\PC{0,10}", "\\PC{0,60}", 0..20)
                .prop_map(|map| serde_json::to_string(&map).unwrap()),
        ]
    }

    const CLASSES: [OutputClass; 6] = [
        OutputClass::Table,
        OutputClass::Object,
        OutputClass::List,
        OutputClass::Scalar,
        OutputClass::Text,
        OutputClass::Error,
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn the_cap_holds_whatever_the_output_and_its_class(raw in outputs(), cap in 1..400u32, class in 0..6usize) {
            for class in [classify(&raw), CLASSES[class]] {
                for counter in [&Bytes as &dyn TokenCounter, &Words] {
                    let summary = summarise(&raw, class, cap, counter).unwrap();
                    prop_assert!(counter.count(&summary).unwrap() <= cap, "{summary:?}");
                    prop_assert_eq!(&summary, &summarise(&raw, class, cap, counter).unwrap());
                }
            }
        }
    }
}
