//! What a tool output is made of: the values of a JSON text, or the rows of a table or a list, as exact byte ranges.
//!
//! Everything here is linear and keeps its own stack. Hostile text does not fail: what is not well-formed is prose.

use std::borrow::Cow;
use std::ops::Range;

use rustc_hash::FxHashSet;

/// What kind of value a JSON node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{…}`
    Object,
    /// `[…]`, or several objects or arrays, one a line.
    Array,
    /// `"…"`, or `'…'` as Python writes it.
    String,
    /// A number.
    Number,
    /// `true`, `false`, `null`, and Python's words for them.
    Literal,
}

#[derive(Clone, Debug)]
struct Node {
    kind: Kind,
    span: Range<usize>,
    /// The key without its quotes; empty for elements.
    key: Range<usize>,
    depth: usize,
    /// Members or elements.
    children: usize,
    /// Position of the first node after all that is inside this one.
    after: usize,
}

/// A JSON text as a flat list of its values: outer before inner, in order.
#[derive(Debug)]
pub struct Json<'a> {
    raw: &'a str,
    nodes: Vec<Node>,
}

impl<'a> Json<'a> {
    /// Reads `raw` as one JSON value, or as several objects or arrays, one a line. `None` when it is neither, is nested
    /// deeper than 512 or holds more than a million values.
    pub fn parse(raw: &'a str) -> Option<Self> {
        let nodes = Parser { bytes: raw.as_bytes(), at: 0, nodes: Vec::new(), open: Vec::new() }.run()?;
        Some(Self { raw, nodes })
    }

    /// The outermost value.
    pub fn root(&self) -> usize {
        0
    }

    /// What kind of value it is.
    pub fn kind(&self, at: usize) -> Kind {
        self.nodes[at].kind
    }

    /// Where it stands.
    pub fn span(&self, at: usize) -> Range<usize> {
        self.nodes[at].span.clone()
    }

    /// The value as written.
    pub fn source(&self, at: usize) -> &'a str {
        &self.raw[self.span(at)]
    }

    /// Its key as written, without quotes; empty for elements and the root.
    pub fn key(&self, at: usize) -> &'a str {
        &self.raw[self.nodes[at].key.clone()]
    }

    /// Its number of members or elements.
    pub fn len(&self, at: usize) -> usize {
        self.nodes[at].children
    }

    /// Its members or elements, in order. Cost: one step each.
    pub fn children(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        let end = self.nodes[at].after;
        let first = (at + 1 < end).then_some(at + 1);
        std::iter::successors(first, move |child| Some(self.nodes[*child].after).filter(|next| *next < end))
    }

    /// A scalar as people read it: a string without quotes and escapes, anything else as written.
    pub fn scalar(&self, at: usize) -> Cow<'a, str> {
        let source = self.source(at);
        if self.kind(at) != Kind::String {
            return Cow::Borrowed(source);
        }
        let inner = &source[1..source.len() - 1];
        if !inner.contains('\\') {
            return Cow::Borrowed(inner);
        }
        serde_json::from_str(source).map_or(Cow::Borrowed(inner), Cow::Owned)
    }

    /// True for a string, number or literal.
    pub fn is_scalar(&self, at: usize) -> bool {
        !matches!(self.kind(at), Kind::Object | Kind::Array)
    }

    /// True when it has members or elements and all of them are objects.
    pub fn holds_objects(&self, at: usize) -> bool {
        self.len(at) > 0 && self.children(at).all(|child| self.kind(child) == Kind::Object)
    }

    /// True when its members or elements are objects that share keys with the first.
    pub fn is_tabular(&self, at: usize) -> bool {
        if !self.holds_objects(at) {
            return false;
        }
        let Some(first) = self.children(at).next() else { return false };
        let keys: FxHashSet<&str> = self.children(first).map(|member| self.key(member)).collect();
        self.children(at).all(|row| self.children(row).any(|member| keys.contains(self.key(member))))
    }

    /// The array or map of rows that this output is a wrapping of: the root, or the only array in a root of scalars.
    pub fn table(&self) -> Option<usize> {
        let root = self.root();
        match self.kind(root) {
            Kind::Array => self.is_tabular(root).then_some(root),
            Kind::Object if self.len(root) > 1 && self.is_tabular(root) => Some(root),
            Kind::Object => {
                let mut nested = self.children(root).filter(|child| !self.is_scalar(*child));
                let only = nested.next().filter(|only| self.kind(*only) == Kind::Array && self.is_tabular(*only))?;
                nested.next().is_none().then_some(only)
            }
            _ => None,
        }
    }
}

/// An object or array that is still open.
struct Open {
    /// Its position, if it is listed.
    node: Option<usize>,
    close: u8,
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    nodes: Vec<Node>,
    open: Vec<Open>,
}

impl Parser<'_> {
    /// Deeper values are checked, not listed: nothing so deep is a row or a column.
    const LISTED_DEPTH: usize = 6;
    const MOST_DEPTH: usize = 512;
    const MOST_NODES: usize = 1 << 20;

    fn run(mut self) -> Option<Vec<Node>> {
        let mut roots = Vec::new();
        self.space();
        while self.at < self.bytes.len() {
            roots.push(self.nodes.len());
            self.value()?;
            let end = self.at;
            self.space();
            if self.at < self.bytes.len() && !self.bytes[end..self.at].contains(&b'\n') {
                return None;
            }
        }
        match roots[..] {
            [] => None,
            [_] => Some(self.nodes),
            _ => self.joined(&roots),
        }
    }

    /// Several values as the elements of one array.
    fn joined(mut self, roots: &[usize]) -> Option<Vec<Node>> {
        if roots.iter().any(|root| !matches!(self.nodes[*root].kind, Kind::Object | Kind::Array)) {
            return None;
        }
        let span = self.nodes[0].span.start..self.nodes[*roots.last()?].span.end;
        for node in &mut self.nodes {
            node.depth += 1;
            node.after += 1;
        }
        let after = self.nodes.len() + 1;
        self.nodes.insert(0, Node { kind: Kind::Array, span, key: 0..0, depth: 0, children: roots.len(), after });
        Some(self.nodes)
    }

    /// One value with all that is inside it.
    fn value(&mut self) -> Option<()> {
        let mut key = 0..0;
        loop {
            if self.begin(key)? {
                loop {
                    let Some(open) = self.open.last() else { return Some(()) };
                    let close = open.close;
                    self.space();
                    match self.take()? {
                        b',' => break,
                        byte if byte == close => self.end(),
                        _ => return None,
                    }
                }
            }
            key = if self.open.last()?.close == b'}' { self.name()? } else { 0..0 };
        }
    }

    /// Reads a scalar or an empty container and returns true, or opens a container and returns false.
    fn begin(&mut self, key: Range<usize>) -> Option<bool> {
        self.space();
        let start = self.at;
        let kind = match *self.bytes.get(start)? {
            b'{' => Kind::Object,
            b'[' => Kind::Array,
            b'"' | b'\'' => self.string().map(|_| Kind::String)?,
            b'-' | b'0'..=b'9' => self.number()?,
            _ => self.literal()?,
        };
        let depth = self.open.len();
        if let Some(Open { node: Some(parent), .. }) = self.open.last() {
            self.nodes[*parent].children += 1;
        }
        let node = (depth <= Self::LISTED_DEPTH).then_some(self.nodes.len());
        if node.is_some() {
            if self.nodes.len() == Self::MOST_NODES {
                return None;
            }
            self.nodes.push(Node { kind, span: start..self.at, key, depth, children: 0, after: self.nodes.len() + 1 });
        }
        let close = match kind {
            Kind::Object => b'}',
            Kind::Array => b']',
            _ => return Some(true),
        };
        if depth == Self::MOST_DEPTH {
            return None;
        }
        self.at += 1;
        self.open.push(Open { node, close });
        self.space();
        let empty = self.bytes.get(self.at) == Some(&close);
        if empty {
            self.at += 1;
            self.end();
        }
        Some(empty)
    }

    /// Closes the innermost container.
    fn end(&mut self) {
        if let Some(Open { node: Some(node), .. }) = self.open.pop() {
            self.nodes[node].span.end = self.at;
            self.nodes[node].after = self.nodes.len();
        }
    }

    /// A key and its colon.
    fn name(&mut self) -> Option<Range<usize>> {
        self.space();
        let key = self.string()?;
        self.space();
        (self.take()? == b':').then_some(key)
    }

    /// A quoted string; returns what is between the quotes.
    fn string(&mut self) -> Option<Range<usize>> {
        let quote = self.take().filter(|byte| matches!(byte, b'"' | b'\''))?;
        let start = self.at;
        loop {
            match self.take()? {
                b'\\' => self.at += 1,
                byte if byte == quote => return Some(start..self.at - 1),
                _ => {}
            }
        }
    }

    fn number(&mut self) -> Option<Kind> {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')) {
            self.at += 1;
        }
        let text = std::str::from_utf8(&self.bytes[start..self.at]).ok()?;
        text.parse::<f64>().is_ok().then_some(Kind::Number)
    }

    fn literal(&mut self) -> Option<Kind> {
        const WORDS: [&[u8]; 8] = [b"true", b"false", b"null", b"None", b"True", b"False", b"NaN", b"Infinity"];
        let word = WORDS.into_iter().find(|word| self.bytes[self.at..].starts_with(word))?;
        self.at += word.len();
        Some(Kind::Literal)
    }

    fn take(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn space(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }
}

/// A table written as text: Markdown, `psql`, CSV, TSV.
#[derive(Debug)]
pub struct TextTable<'a> {
    raw: &'a str,
    /// What stands between cells; bars may also frame a line.
    separator: char,
    framed: bool,
    /// Names of the columns.
    pub columns: Vec<Cow<'a, str>>,
    /// The data rows, without the header.
    pub rows: Vec<Range<usize>>,
}

impl<'a> TextTable<'a> {
    /// The table in `raw`; `None` when there is none with a header and a row.
    pub fn parse(raw: &'a str) -> Option<Self> {
        Self::piped(raw)
            .or_else(|| [',', '\t', ';', '|'].into_iter().find_map(|separator| Self::separated(raw, separator)))
    }

    /// The cells of a row.
    pub fn cells(&self, row: &Range<usize>) -> Vec<Cow<'a, str>> {
        let line = &self.raw[row.clone()];
        if self.framed { piped_cells(line) } else { separated_cells(line, self.separator) }
    }

    /// A header, a ruler of dashes, rows with bars; prose may stand before and after.
    fn piped(raw: &'a str) -> Option<Self> {
        let lines: Vec<Range<usize>> = lines(raw).collect();
        let ruler = (1..lines.len())
            .find(|at| is_ruler(&raw[lines[*at].clone()]) && raw[lines[*at - 1].clone()].contains('|'))?;
        let columns = piped_cells(&raw[lines[ruler - 1].clone()]);
        let rows: Vec<Range<usize>> = lines[ruler + 1..]
            .iter()
            .take_while(|line| raw[(*line).clone()].contains('|'))
            .map(|line| trimmed(raw, line.clone()))
            .collect();
        (!rows.is_empty()).then_some(Self { raw, separator: '|', framed: true, columns, rows })
    }

    /// Every line has the same number of cells, and the first line reads like names.
    fn separated(raw: &'a str, separator: char) -> Option<Self> {
        if !raw.lines().find(|line| !line.trim().is_empty())?.contains(separator) {
            return None;
        }
        let mut records = records(raw)?.into_iter();
        let columns = separated_cells(&raw[records.next()?], separator);
        let rows: Vec<Range<usize>> = records.collect();
        let width = columns.len();
        let even = rows.iter().all(|row| separated_cells(&raw[row.clone()], separator).len() == width);
        let table = Self { raw, separator, framed: false, columns, rows };
        (width > 1 && even && table.has_names() && table.is_convincing()).then_some(table)
    }

    fn has_names(&self) -> bool {
        let mut seen = FxHashSet::default();
        self.columns.iter().all(|name| {
            let name = name.trim();
            let words = name.split_whitespace().count();
            let prose = name.ends_with(['.', '!', '?', ':']);
            (1..=5).contains(&words) && name.len() <= 40 && !prose && name.parse::<f64>().is_err() && seen.insert(name)
        })
    }

    /// Two lines of prose with a comma each are no table.
    fn is_convincing(&self) -> bool {
        let spaced = self.columns.iter().skip(1).any(|name| name.starts_with(' '));
        let cells = self.columns.len() * self.rows.len();
        let certain = self.separator == '\t' || !spaced && cells >= 4;
        !self.rows.is_empty() && (certain || self.has_values())
    }

    /// True when one of the columns holds nothing but numbers, dates and literals.
    fn has_values(&self) -> bool {
        let mut columns = vec![true; self.columns.len()];
        for row in &self.rows {
            for (column, cell) in columns.iter_mut().zip(self.cells(row)) {
                *column &= is_value(cell.trim());
            }
        }
        columns.contains(&true)
    }
}

/// The shape of an output.
#[derive(Debug)]
pub enum Shape<'a> {
    /// JSON.
    Json(Json<'a>),
    /// A table in text.
    Table(TextTable<'a>),
    /// A numbered or bulleted list, or short lines that can only be one; the items without their markers.
    List(Vec<Range<usize>>),
    /// Anything else.
    Prose,
}

impl<'a> Shape<'a> {
    /// Reads `raw`.
    pub fn of(raw: &'a str) -> Self {
        if let Some(json) = Json::parse(raw) {
            return Self::Json(json);
        }
        if let Some(table) = TextTable::parse(raw) {
            return Self::Table(table);
        }
        match marked_items(raw).or_else(|| short_lines(raw)) {
            Some(items) => Self::List(items),
            None => Self::Prose,
        }
    }

    /// Every sequence in the output, outer before inner.
    pub fn sequences(&self) -> Vec<Sequence<'a>> {
        match self {
            Self::Json(json) => json_sequences(json),
            Self::Table(table) => vec![Sequence::of(table.rows.clone())],
            Self::List(items) => vec![Sequence::of(items.clone())],
            Self::Prose => Vec::new(),
        }
    }
}

/// Things of one kind, one after the other: an array, the values of a map, the lines of a table or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence<'a> {
    /// The key it stands under; empty at the top.
    pub name: &'a str,
    /// Byte ranges of the elements, in order.
    pub rows: Vec<Range<usize>>,
    /// They are objects, or lines of a table.
    pub records: bool,
    /// How deep it is nested; 0 at the top.
    pub depth: usize,
    /// The elements are the values of a map.
    keyed: bool,
}

impl Sequence<'_> {
    fn of(rows: Vec<Range<usize>>) -> Self {
        Self { name: "", rows, records: true, depth: 0, keyed: false }
    }
}

/// The sequence that an output is about: the outermost of records, else the outermost; the longest of several.
pub fn dominant<'a, 'b>(sequences: &'b [Sequence<'a>]) -> Option<&'b Sequence<'a>> {
    let rank = |s: &Sequence<'_>| (s.depth == 0, s.records, usize::MAX - s.depth, s.rows.len());
    let mut best: Option<&Sequence<'_>> = None;
    for sequence in sequences.iter().filter(|s| !s.keyed || s.rows.len() > 1) {
        if best.is_none_or(|best| rank(sequence) > rank(best)) {
            best = Some(sequence);
        }
    }
    best
}

fn json_sequences<'a>(json: &Json<'a>) -> Vec<Sequence<'a>> {
    let mut found = Vec::new();
    for (at, node) in json.nodes.iter().enumerate() {
        let keyed = node.kind == Kind::Object && json.holds_objects(at);
        // Below the last listed level the elements are not known.
        let listed = node.depth < Parser::LISTED_DEPTH;
        if listed && node.children > 0 && (keyed || node.kind == Kind::Array) {
            let rows = json.children(at).map(|child| json.span(child)).collect();
            found.push(Sequence {
                name: json.key(at),
                rows,
                records: json.holds_objects(at),
                depth: node.depth,
                keyed,
            });
        }
    }
    found
}

/// Non-blank lines, without their ends.
fn lines(raw: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    raw.split_inclusive('\n')
        .scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some(start..start + line.trim_end().len())
        })
        .filter(|line| !raw[line.clone()].trim().is_empty())
}

fn trimmed(raw: &str, range: Range<usize>) -> Range<usize> {
    let text = &raw[range.clone()];
    let start = range.start + (text.len() - text.trim_start().len());
    start..start + text.trim().len()
}

fn is_ruler(line: &str) -> bool {
    line.contains("--") && line.chars().all(|c| matches!(c, '-' | '|' | '+' | ':' | ' ' | '\t'))
}

/// Cells between bars; bars at both ends are a frame.
fn piped_cells(line: &str) -> Vec<Cow<'_, str>> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line.strip_suffix('|').unwrap_or(line);
    line.split('|').map(|cell| Cow::Borrowed(cell.trim())).collect()
}

/// Cells of a CSV record (RFC 4180).
fn separated_cells(record: &str, separator: char) -> Vec<Cow<'_, str>> {
    let mut cells = Vec::new();
    let mut start = 0;
    let mut quoted = false;
    for (at, c) in record.char_indices() {
        if c == '"' {
            quoted = !quoted;
        } else if c == separator && !quoted {
            cells.push(unquoted(&record[start..at]));
            start = at + c.len_utf8();
        }
    }
    cells.push(unquoted(&record[start..]));
    cells
}

fn unquoted(cell: &str) -> Cow<'_, str> {
    match cell.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) if inner.contains("\"\"") => Cow::Owned(inner.replace("\"\"", "\"")),
        Some(inner) => Cow::Borrowed(inner),
        None => Cow::Borrowed(cell),
    }
}

/// Non-blank lines, where a quoted cell may hold line ends. `None` when a quote stays open.
fn records(raw: &str) -> Option<Vec<Range<usize>>> {
    let mut records = Vec::new();
    let mut start = 0;
    let mut quoted = false;
    for (at, byte) in raw.bytes().chain([b'\n']).enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => {
                let end = start + raw[start..at.min(raw.len())].trim_end().len();
                if end > start {
                    records.push(start..end);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    (!quoted).then_some(records)
}

/// True for a number, a date or a literal.
fn is_value(cell: &str) -> bool {
    cell.parse::<f64>().is_ok()
        || is_date(cell)
        || matches!(cell, "true" | "false" | "null" | "True" | "False" | "None")
}

/// True for an ISO 8601 date, alone or with a time.
pub fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |range: Range<usize>| bytes[range].iter().all(u8::is_ascii_digit);
    (10..=35).contains(&bytes.len())
        && digits(0..4)
        && bytes[4] == b'-'
        && digits(5..7)
        && bytes[7] == b'-'
        && digits(8..10)
        && (bytes.len() == 10 || matches!(bytes[10], b'T' | b' ') && bytes.get(11).is_some_and(u8::is_ascii_digit))
}

/// How an item of a list is set off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marker {
    Number,
    Bullet(char),
}

/// The marker a line begins with, its indent and where the item begins.
fn marker(line: &str) -> Option<(Marker, usize, usize)> {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (marker, length) = match text[digits..].chars().next()? {
        '.' | ')' if (1..=4).contains(&digits) => (Marker::Number, digits + 1),
        bullet @ ('-' | '*' | '•' | '–') if digits == 0 => (Marker::Bullet(bullet), bullet.len_utf8()),
        _ => return None,
    };
    let body = &text[length..];
    let gap = body.len() - body.trim_start().len();
    (gap > 0 && gap < body.len()).then_some((marker, indent, indent + length + gap))
}

/// The items of a numbered or bulleted list: lines like the first marked one, each with the lines that continue it.
fn marked_items(raw: &str) -> Option<Vec<Range<usize>>> {
    let mut like: Option<(Marker, usize)> = None;
    let mut items: Vec<Range<usize>> = Vec::new();
    let mut before = 0;
    for line in lines(raw) {
        let text = &raw[line.clone()];
        // A line that was added, in a list of lines that were taken away, makes it a diff.
        if text.starts_with("+ ") {
            return None;
        }
        match (marker(text), like) {
            (Some((kind, indent, body)), None) => {
                like = Some((kind, indent));
                items.push(line.start + body..line.end);
            }
            (Some((kind, indent, body)), Some(first)) if (kind, indent) == first => {
                items.push(line.start + body..line.end);
            }
            (found, Some((_, indent))) => {
                let last = items.last_mut()?;
                let inner = found.is_some() || text.len() - text.trim_start().len() > indent;
                if inner || raw[last.end..line.start].matches('\n').count() < 2 {
                    last.end = line.end;
                }
            }
            (None, None) => before += 1,
        }
    }
    (items.len() > 1 && before <= items.len()).then_some(items)
}

/// Three or more short lines that read like names, not like sentences or code.
fn short_lines(raw: &str) -> Option<Vec<Range<usize>>> {
    let items: Vec<Range<usize>> = lines(raw).collect();
    let name = |line: &str| {
        line.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '~' | '_' | '"' | '\''))
            && line.split_whitespace().count() <= 8
            && line.len() <= 120
            && !line.ends_with(['.', '!', '?', ',', ';', ':', '{', '}', '(', ')', '[', ']', '>'])
    };
    (items.len() > 2 && items.iter().all(|line| name(&raw[line.clone()]))).then_some(items)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(raw: &str) -> Vec<&str> {
        let shape = Shape::of(raw);
        let sequences = shape.sequences();
        dominant(&sequences).map(|s| s.rows.iter().map(|row| &raw[row.clone()]).collect()).unwrap_or_default()
    }

    #[test]
    fn rows_of_json() {
        assert_eq!(shown(r#"[{"a":1}, {"a": 2}]"#), [r#"{"a":1}"#, r#"{"a": 2}"#]);
        assert_eq!(shown(r#"{"total":2,"results":[ "x","y" ]}"#), [r#""x""#, r#""y""#]);
        assert_eq!(shown(r#"{"data":{"items":[1,2,3]}}"#), ["1", "2", "3"]);
        assert_eq!(shown(r#"{"u1":{"n":1},"u2":{"n":2}}"#), [r#"{"n":1}"#, r#"{"n":2}"#]);
        assert_eq!(shown("{\"a\":1}\n{\"a\":2}\n"), [r#"{"a":1}"#, r#"{"a":2}"#]);
        assert_eq!(shown("[{'name': 'Ana', 'ok': True}, {'name': \"O'Hara\", 'ok': None}]").len(), 2);
        assert_eq!(shown(r#"{"a":1,"b":"x"}"#), Vec::<&str>::new());
        assert_eq!(shown("[]"), Vec::<&str>::new());
    }

    #[test]
    fn records_come_before_plain_values_and_outer_before_inner() {
        let raw = r#"{"warnings":["a","b","c"],"data":{"flights":[{"id":1,"tags":["x","y","z"]},{"id":2,"tags":[]}]}}"#;
        assert_eq!(shown(raw), [r#"{"id":1,"tags":["x","y","z"]}"#, r#"{"id":2,"tags":[]}"#]);
    }

    #[test]
    fn every_sequence_has_its_name() {
        let raw = r#"{"payment_methods":{"card_1":{"id":"card_1"}},"reservations":["A","B"]}"#;
        let shape = Shape::of(raw);
        let names: Vec<(&str, usize)> = shape.sequences().iter().map(|s| (s.name, s.rows.len())).collect();
        assert_eq!(names, [("payment_methods", 1), ("reservations", 2)]);
    }

    #[test]
    fn rows_of_tables() {
        let markdown = "Found:\n\n| id | name |\n|----|:-----|\n| 1 | Ana |\n| 2 | Bo |\n\n2 rows";
        assert_eq!(shown(markdown), ["| 1 | Ana |", "| 2 | Bo |"]);
        let psql = " id | name \n----+------\n  1 | Ana\n  2 | Bo\n(2 rows)\n";
        assert_eq!(shown(psql), ["1 | Ana", "2 | Bo"]);
        let csv = "id,name,note\r\n1,Ana,\"a, b\"\r\n2,Bo,\"two\nlines\"\r\n";
        assert_eq!(shown(csv), ["1,Ana,\"a, b\"", "2,Bo,\"two\nlines\""]);
        assert_eq!(shown("city\tpop\nOslo\t700000\n"), ["Oslo\t700000"]);
    }

    #[test]
    fn cells_are_read() {
        let raw = "id;name\n1;\"say \"\"hi\"\"\"\n2;Bo\n";
        let table = TextTable::parse(raw).unwrap();
        assert_eq!(table.columns, ["id", "name"]);
        assert_eq!(table.cells(&table.rows[0]), ["1", "say \"hi\""]);
    }

    #[test]
    fn prose_with_commas_is_no_table() {
        for raw in [
            "hello, world\n",
            "Dear John, hi there\nHow are you, friend\nBye, see you",
            "First, do this.\nThen, do that.",
            "a, b",
            "",
        ] {
            assert!(TextTable::parse(raw).is_none(), "{raw:?}");
        }
    }

    #[test]
    fn rows_of_lists() {
        assert_eq!(shown("Steps:\n1. Open it\n2. Close it\n   gently\n\nDone."), ["Open it", "Close it\n   gently"]);
        assert_eq!(shown("- a\n  - inner\n- b"), ["a\n  - inner", "b"]);
        assert_eq!(shown("* a\n\n* b\n"), ["a", "b"]);
        assert_eq!(shown("a.txt\nb.txt\nc.txt\n"), ["a.txt", "b.txt", "c.txt"]);
        assert_eq!(shown("- old line\n- older line\n+ new line"), Vec::<&str>::new());
        assert_eq!(shown("It rained.\nWe left.\nThe end."), Vec::<&str>::new());
        assert_eq!(shown("if a:\n    b\n    c\n"), Vec::<&str>::new());
    }

    #[test]
    fn broken_json_is_prose() {
        for raw in
            ["{", "[1,", "{\"a\":}", "[1,]", "{\"a\" 1}", "nul", "\"open", "[1] x", "{a:1}", "1.2.3", "12 apples", "]"]
        {
            assert!(Json::parse(raw).is_none(), "{raw}");
        }
    }

    #[test]
    fn deep_nesting_is_bounded() {
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(Json::parse(&deep(500)).is_some());
        assert!(Json::parse(&deep(1_000_000)).is_none());
        assert!(matches!(Shape::of(&"{\"a\":".repeat(100_000)), Shape::Prose));
    }

    #[test]
    fn scalars_lose_their_quotes_and_escapes() {
        let json = Json::parse(r#"["a\"bé", 1.50, null, 'it\'s']"#).unwrap();
        let scalars: Vec<Cow<'_, str>> = json.children(0).map(|at| json.scalar(at)).collect();
        assert_eq!(scalars, ["a\"bé", "1.50", "null", "it\\'s"]);
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i32>().prop_map(Into::into),
            "\\PC{0,8}".prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(5, 60, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
                prop::collection::vec(("\\PC{0,4}", inner), 0..6)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn elements_are_the_elements_of_the_reference_parser(values in prop::collection::vec(json(), 1..6), pretty in any::<bool>()) {
            let value = serde_json::Value::from(values.clone());
            let raw = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
            let json = Json::parse(&raw).unwrap();
            let spans: Vec<serde_json::Value> =
                json.children(0).map(|at| serde_json::from_str(json.source(at)).unwrap()).collect();
            prop_assert_eq!(&spans, &values);
            for sequence in Shape::of(&raw).sequences() {
                for row in sequence.rows {
                    prop_assert!(serde_json::from_str::<serde_json::Value>(&raw[row]).is_ok());
                }
            }
        }

        #[test]
        fn what_the_reference_parser_reads_is_read(raw in "[\\[\\]{}\",:0-9a \\n-]{0,40}") {
            if serde_json::from_str::<serde_json::Value>(&raw).is_ok() {
                prop_assert!(Json::parse(&raw).is_some());
            }
        }

        #[test]
        fn no_text_panics(raw in "[-\\[\\]{}\"',:;|\\\\#*•0-9aé\u{1F600} \\r\\n\\t]{0,80}") {
            for sequence in Shape::of(&raw).sequences() {
                for row in sequence.rows {
                    prop_assert!(raw.get(row).is_some());
                }
            }
        }
    }
}
