//! The scratch buffer: Tier E's store (SPEC-029).
//!
//! Every tool result becomes an entry: what came back, a summary of it that the envelope carries, when it came and how
//! long it is true. Entries leave when the buffer is full, except those that are pinned.

use std::ops::Range;

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::duration;
use crate::error::{Code, Error, Result};
use crate::growth;
use crate::knowledge::stem;
use crate::summary;
use crate::tokens::TokenCounter;

mod class;
pub mod described;
mod kind;
pub mod structure;
mod words;

pub use class::{OutputClass, classify};
use kind::Asked;
pub use kind::ToolKind;
use structure::{Sequence, Shape};
use words::{hash, words_of};

/// How soon an output stops being true (R029-5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Volatility {
    /// 30 seconds.
    Realtime,
    /// 5 minutes; also what a tool that says nothing is (G-61).
    #[default]
    Volatile,
    /// 1 hour.
    Stable,
    /// As long as the session.
    Static,
}

impl Volatility {
    /// The name in headers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Realtime => "REALTIME",
            Self::Volatile => "VOLATILE",
            Self::Stable => "STABLE",
            Self::Static => "STATIC",
        }
    }

    /// Milliseconds for which an output is fresh; `None` for the whole session.
    pub const fn lifetime(self) -> Option<i64> {
        match self {
            Self::Realtime => Some(30_000),
            Self::Volatile => Some(5 * 60_000),
            Self::Stable => Some(60 * 60_000),
            Self::Static => None,
        }
    }

    /// What happens to stale output of this class unless the host says otherwise (R029-6).
    pub const fn stale_policy(self) -> StalePolicy {
        match self {
            Self::Realtime => StalePolicy::Reinvoke,
            _ => StalePolicy::Warn,
        }
    }
}

/// What happens to an output that is no longer fresh (R029-6). None of them presents it as current.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StalePolicy {
    /// The host is asked to call the tool again (G-61).
    Reinvoke,
    /// It goes in with a note of its age.
    Warn,
    /// It stays out.
    Exclude,
}

/// Whether an output still stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Younger than its lifetime.
    Fresh,
    /// As old as its lifetime or older.
    Stale {
        /// Milliseconds since it came.
        age_ms: i64,
    },
}

/// A tool result as it comes in.
#[derive(Clone, Debug, Default)]
pub struct NewEntry {
    /// Name of the tool; may be empty.
    pub tool: String,
    /// Arguments of the call, usually JSON; may be empty.
    pub arguments: String,
    /// Id of the call it answers.
    pub call_id: Option<String>,
    /// What came back.
    pub raw: String,
    /// How soon it stops being true.
    pub volatility: Option<Volatility>,
    /// Lifetime: milliseconds, an ISO 8601 duration, `session` or `none`. By volatility when absent.
    pub ttl: Option<Value>,
    /// Never evicted.
    pub pinned: bool,
    /// The user turn whose group produced it; 0 for none.
    pub turn: u32,
}

/// A tool result (R029-1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScratchEntry {
    /// From 1, never reused.
    pub ordinal: u32,
    /// `scratch_<tool>_<ordinal>`, such as `scratch_run_sql_001`; ASCII.
    pub id: String,
    /// Name of the tool; may be empty.
    pub tool: String,
    /// Arguments of the call; may be empty.
    pub arguments: String,
    /// Id of the call it answers.
    pub call_id: Option<String>,
    /// What came back, unchanged.
    pub raw: String,
    /// Tokens of `raw`.
    pub raw_tokens: u32,
    /// What the envelope carries.
    pub summary: String,
    /// Tokens of `summary`.
    pub summary_tokens: u32,
    /// What it is.
    pub class: OutputClass,
    /// Number of [`rows`] in it.
    pub rows: u32,
    /// How soon it stops being true.
    pub volatility: Volatility,
    /// Milliseconds for which it is fresh; `None` for the whole session.
    pub ttl: Option<i64>,
    /// Never evicted (R029-8).
    pub pinned: bool,
    /// What a pinned entry is called.
    pub name: Option<String>,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// The user turn whose group produced it; 0 for none.
    pub turn: u32,
    /// User turns that referred to it, each once, in order of the last mention.
    pub referenced_by: Vec<u32>,
    /// `sha256:` and 64 hexadecimal digits of `raw` (G-61).
    pub provenance: String,
    /// Hashes of the words it can be asked for by: tool, arguments and keys, sorted.
    words: Vec<u32>,
    /// Hashes of the words of its values, sorted.
    content: Vec<u32>,
}

impl ScratchEntry {
    /// Fresh iff younger than its lifetime (G-61): a lifetime of 0 is stale at once. Pinning does not make it true longer.
    pub fn freshness(&self, now: i64) -> Freshness {
        // A clock that was set back makes nothing younger than new.
        let age_ms = now.saturating_sub(self.created_at).max(0);
        if self.ttl.is_none_or(|ttl| age_ms < ttl) { Freshness::Fresh } else { Freshness::Stale { age_ms } }
    }

    /// Number of `words`, folded, that its tool, arguments, keys or name contain, whatever their ending.
    pub fn shared(&self, words: &[&str]) -> usize {
        self.shared_with(&Asked::of(words))
    }

    /// True when its tool, arguments, keys or values contain the word, folded, whatever its ending.
    pub fn knows(&self, word: &str) -> bool {
        let word = hash(stem(word));
        self.words.binary_search(&word).is_ok() || self.holds_term(word)
    }

    /// True when one of its values contains the word, folded, whatever its ending.
    pub fn holds(&self, word: &str) -> bool {
        self.holds_term(hash(stem(word)))
    }

    /// Bytes held beside its own size.
    fn bytes(&self) -> usize {
        let texts = [&self.id, &self.tool, &self.arguments, &self.raw, &self.summary, &self.provenance];
        let rare = [&self.call_id, &self.name].into_iter().flatten();
        texts.into_iter().chain(rare).map(String::capacity).sum::<usize>()
            + growth::bytes(&self.referenced_by)
            + growth::bytes(&self.words)
            + growth::bytes(&self.content)
    }

    fn holds_term(&self, word: u32) -> bool {
        self.content.binary_search(&word).is_ok()
    }

    fn shared_with(&self, asked: &Asked) -> usize {
        asked.0.iter().filter(|word| self.words.binary_search(word).is_ok() || self.is_named(**word)).count()
    }

    fn is_named(&self, word: u32) -> bool {
        self.name.as_deref().is_some_and(|name| words_of(name).any(|part| hash(stem(&part)) == word))
    }
}

/// The entries of a session, oldest first, at most a fixed number of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScratchBuffer {
    entries: Vec<ScratchEntry>,
    /// The last ordinal given out.
    last: u32,
    max_entries: usize,
    summary_cap: u32,
}

impl ScratchBuffer {
    /// Distinct turns that refer to an entry before it is pinned (R029-8).
    const PINNING_REFERENCES: usize = 2;

    /// An empty buffer for `max_entries` entries (at least 1) with summaries of at most `summary_cap` tokens (R029-4).
    pub fn new(max_entries: usize, summary_cap: u32) -> Self {
        Self { entries: Vec::new(), last: 0, max_entries: max_entries.max(1), summary_cap }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True without entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of pinned entries.
    pub fn pinned(&self) -> usize {
        self.entries.iter().filter(|entry| entry.pinned).count()
    }

    /// The entries, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &ScratchEntry> + ExactSizeIterator + Clone {
        self.entries.iter()
    }

    /// An entry by ordinal.
    pub fn get(&self, ordinal: u32) -> Option<&ScratchEntry> {
        self.position(ordinal).map(|at| &self.entries[at])
    }

    /// An entry by its id.
    pub fn by_id(&self, id: &str) -> Option<&ScratchEntry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// The newest entry that answers a tool call.
    pub fn by_call(&self, call_id: &str) -> Option<&ScratchEntry> {
        self.entries.iter().rev().find(|entry| entry.call_id.as_deref() == Some(call_id))
    }

    fn position(&self, ordinal: u32) -> Option<usize> {
        self.entries.binary_search_by_key(&ordinal, |entry| entry.ordinal).ok()
    }

    /// Takes in a tool result and returns its ordinal. When the buffer is full the least needed entry leaves (R029-9): the
    /// oldest that nobody referred to, stale ones first; else the one referred to the longest time ago; never a pinned one.
    ///
    /// Cost: linear in the output; one count of it and a few of its summary.
    ///
    /// # Errors
    /// `SCRATCH_FULL` when every entry is pinned, `INVALID_OPTION` for an unreadable lifetime, and those of the counter. The
    /// buffer is unchanged then.
    pub fn add(&mut self, new: NewEntry, now: i64, counter: &dyn TokenCounter) -> Result<u32> {
        let evicted = self.room(now)?;
        let ordinal = self.last + 1;
        let entry = self.read(new, ordinal, now, counter)?;
        if let Some(at) = evicted {
            self.entries.remove(at);
        }
        self.entries.push(entry);
        self.last = ordinal;
        Ok(ordinal)
    }

    /// The entry that has to leave before another can come.
    fn room(&self, now: i64) -> Result<Option<usize>> {
        if self.entries.len() < self.max_entries {
            return Ok(None);
        }
        let need = |entry: &ScratchEntry| {
            let last_turn = entry.referenced_by.last().copied().unwrap_or(0);
            (!entry.referenced_by.is_empty(), last_turn, entry.freshness(now) == Freshness::Fresh)
        };
        let evictable = self.entries.iter().enumerate().filter(|(_, entry)| !entry.pinned);
        match evictable.min_by_key(|(_, entry)| need(entry)) {
            Some((at, _)) => Ok(Some(at)),
            None => Err(Error::limit(
                Code::ScratchFull,
                "every scratch entry is pinned",
                self.entries.len() + 1,
                self.max_entries,
            )),
        }
    }

    fn read(&self, new: NewEntry, ordinal: u32, now: i64, counter: &dyn TokenCounter) -> Result<ScratchEntry> {
        let volatility = new.volatility.unwrap_or_default();
        let ttl = new.ttl.as_ref().map_or(Ok(volatility.lifetime()), duration::lifetime)?;
        let shape = Shape::of(&new.raw);
        let sequences = shape.sequences();
        let class = class::of(&new.raw, &shape);
        let words = entry_words(&new, &shape, &sequences);
        let rows = structure::dominant(&sequences).map_or(0, |sequence| sequence.rows.len() as u32);
        let raw_tokens = counter.count(&new.raw)?;
        let (summary, summary_tokens) = summary::counted(&new.raw, raw_tokens, class, self.summary_cap, counter)?;
        let id = format!("scratch_{}_{ordinal:03}", slug(&new.tool).unwrap_or_else(|| class.name().to_owned()));
        Ok(ScratchEntry {
            ordinal,
            name: new.pinned.then(|| id.clone()),
            id,
            raw_tokens,
            summary,
            summary_tokens,
            class,
            rows,
            volatility,
            ttl,
            pinned: new.pinned,
            created_at: now,
            turn: new.turn,
            referenced_by: Vec::new(),
            provenance: format!("sha256:{}", hex(&Sha256::digest(new.raw.as_bytes()))),
            words,
            content: described::content(&new.raw),
            tool: new.tool,
            arguments: new.arguments,
            call_id: new.call_id,
            raw: new.raw,
        })
    }

    /// Records that a user turn referred to an entry; the second turn that does pins it (R029-8). Returns true when it did.
    /// Unknown ordinals are ignored: the entry may have left.
    pub fn refer(&mut self, ordinal: u32, turn: u32) -> bool {
        let Some(at) = self.position(ordinal) else { return false };
        let entry = &mut self.entries[at];
        entry.referenced_by.retain(|known| *known != turn);
        entry.referenced_by.push(turn);
        let pins = !entry.pinned && entry.referenced_by.len() >= Self::PINNING_REFERENCES;
        if pins {
            entry.pinned = true;
            entry.name = Some(entry.id.clone());
        }
        pins
    }

    /// Pins an entry for good, under a name (R029-8); under its id when `name` is absent.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub fn pin(&mut self, ordinal: u32, name: Option<&str>) -> Result<()> {
        let at =
            self.position(ordinal).ok_or_else(|| Error::new(Code::NotFound, format!("no scratch entry {ordinal}")))?;
        let entry = &mut self.entries[at];
        entry.pinned = true;
        entry.name = Some(name.unwrap_or(&entry.id).to_owned());
        Ok(())
    }

    /// Erases what a turn brought and every trace of its references (G-72).
    pub fn remove_turn(&mut self, turn: u32) {
        self.remove_where(|of| of == turn);
    }

    /// Erases what the turns from `turn` on brought and referred to.
    pub fn remove_after(&mut self, turn: u32) {
        for entry in &mut self.entries {
            let by_references =
                entry.referenced_by.len() >= Self::PINNING_REFERENCES && entry.name.as_ref() == Some(&entry.id);
            let left = entry.referenced_by.iter().filter(|by| **by < turn).count();
            // What only the references taken back had pinned is not pinned any more.
            if by_references && left < Self::PINNING_REFERENCES {
                entry.pinned = false;
                entry.name = None;
            }
        }
        self.remove_where(|of| of >= turn);
    }

    fn remove_where(&mut self, gone: impl Fn(u32) -> bool) {
        self.entries.retain(|entry| entry.turn == 0 || !gone(entry.turn));
        for entry in &mut self.entries {
            entry.referenced_by.retain(|turn| !gone(*turn));
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        growth::bytes(&self.entries) + self.entries.iter().map(ScratchEntry::bytes).sum::<usize>()
    }

    /// As [`ScratchEntry::freshness`].
    pub fn freshness(&self, entry: &ScratchEntry, now: i64) -> Freshness {
        entry.freshness(now)
    }

    /// The text to inject: the output itself if `raw`, else its summary, and before it a note when it is stale (R029-6).
    pub fn rendered(&self, entry: &ScratchEntry, now: i64, raw: bool) -> String {
        let text = if raw { &entry.raw } else { &entry.summary };
        match entry.freshness(now) {
            Freshness::Fresh => text.clone(),
            Freshness::Stale { age_ms } => {
                let pinned = if entry.pinned { "PINNED " } else { "" };
                let tool = if entry.tool.is_empty() { "tool" } else { &entry.tool };
                format!("NOTE: this {pinned}output of {tool} is from {} and may be outdated.\n{text}", ago(age_ms))
            }
        }
    }
}

/// The entry that "the query result", "those results", "the error" or "the flight search" means (R029-10): of `entries` of that
/// kind the last that shares the most of `words`, which are the content words of the reference, folded. `None` when nothing of
/// that kind is held.
pub fn latest<'a>(
    entries: &(impl Iterator<Item = &'a ScratchEntry> + Clone),
    kind: ToolKind,
    words: &[&str],
) -> Option<&'a ScratchEntry> {
    let asked = Asked::of(words);
    kind.refined(words).fallbacks().iter().find_map(|accepts| {
        entries.clone().filter(|entry| accepts(entry, &asked)).max_by_key(|entry| entry.shared_with(&asked))
    })
}

/// Byte ranges of the elements of the sequence that an output is about, in order: the elements of an array, the values of a
/// map of objects, the data rows of a table, the items of a list. Empty when there is no such sequence.
///
/// Each range is exactly one element, as written. Cost: linear; JSON deeper than 512 is text.
pub fn rows(raw: &str) -> Vec<Range<usize>> {
    let sequences = Shape::of(raw).sequences();
    structure::dominant(&sequences).map(|sequence| sequence.rows.clone()).unwrap_or_default()
}

/// As [`rows`], of the sequence whose key shares a word with `words`, folded, if there is one: "the third reservation" counts
/// in `"reservations": […]`, whatever else the output holds.
pub fn rows_about(raw: &str, words: &[&str]) -> Vec<Range<usize>> {
    let sequences = Shape::of(raw).sequences();
    let asked: FxHashSet<u32> = words.iter().map(|word| hash(stem(word))).collect();
    let shared =
        |sequence: &&Sequence<'_>| words_of(sequence.name).filter(|word| asked.contains(&hash(stem(word)))).count();
    let named = sequences.iter().filter(|sequence| shared(sequence) > 0).min_by_key(|sequence| sequence.depth);
    named.or_else(|| structure::dominant(&sequences)).map(|sequence| sequence.rows.clone()).unwrap_or_default()
}

/// The words an entry can be asked for by: of its tool, its arguments, and the keys of its output. A few hundred at most.
fn entry_words(new: &NewEntry, shape: &Shape<'_>, sequences: &[Sequence<'_>]) -> Vec<u32> {
    const MOST: usize = 256;
    /// Arguments can hold a whole document.
    const READ: usize = 2048;
    let arguments = summary::head(&new.arguments, READ);
    let mut words: Vec<u32> = words_of(&new.tool).chain(words_of(arguments)).map(|word| hash(stem(&word))).collect();
    let mut keys: Vec<&str> = sequences.iter().map(|sequence| sequence.name).collect();
    if let Shape::Json(json) = shape {
        let record = match json.table() {
            Some(table) => json.children(table).next().unwrap_or(table),
            None => json.root(),
        };
        keys.extend(json.children(json.root()).chain(json.children(record)).take(MOST).map(|member| json.key(member)));
    }
    if let Shape::Table(table) = shape {
        keys.extend(table.columns.iter().map(AsRef::as_ref));
    }
    words.extend(keys.into_iter().take(MOST).flat_map(words_of).map(|word| hash(stem(&word))).take(MOST));
    words.sort_unstable();
    words.dedup();
    words
}

/// ASCII letters and digits of a tool's name in lower case, with `_` between words; at most 24 of them.
fn slug(tool: &str) -> Option<String> {
    const LONGEST: usize = 24;
    let words: Vec<String> =
        words_of(tool).map(|word| word.chars().filter(char::is_ascii_alphanumeric).collect()).collect();
    let mut slug: String = words.into_iter().filter(|word: &String| !word.is_empty()).collect::<Vec<_>>().join("_");
    slug.truncate(LONGEST);
    let slug = slug.trim_end_matches('_');
    (!slug.is_empty()).then(|| slug.to_owned())
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]])
        .map(char::from)
        .collect()
}

/// "7 minutes ago", rounded down to the largest unit that fits.
fn ago(age_ms: i64) -> String {
    const UNITS: [(i64, &str); 4] = [(86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second")];
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| age_ms >= *unit).unwrap_or(UNITS[3]);
    let count = age_ms / unit;
    format!("{count} {name}{} ago", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// A token a byte.
    struct Bytes;

    impl TokenCounter for Bytes {
        fn count(&self, text: &str) -> Result<u32> {
            Ok(text.len() as u32)
        }
    }

    const NOW: i64 = 1_700_000_000_000;

    fn result(tool: &str, raw: &str) -> NewEntry {
        NewEntry { tool: tool.into(), raw: raw.into(), ..NewEntry::default() }
    }

    fn buffer(results: &[(&str, &str)]) -> ScratchBuffer {
        let mut buffer = ScratchBuffer::new(100, 256);
        for (tool, raw) in results {
            buffer.add(result(tool, raw), NOW, &Bytes).unwrap();
        }
        buffer
    }

    #[test]
    fn an_entry_has_an_id_and_provenance() {
        let buffer = buffer(&[
            ("run_sql", "[1]"),
            ("searchDirectFlights", "x"),
            ("", "42"),
            ("погода", "ok then"),
            (&"very_long_name_".repeat(4), "1"),
        ]);
        let ids: Vec<&str> = buffer.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "scratch_run_sql_001",
                "scratch_search_direct_flights_002",
                "scratch_scalar_003",
                "scratch_text_004",
                "scratch_very_long_name_very_long_005"
            ]
        );
        assert_eq!(
            buffer.get(3).unwrap().provenance,
            "sha256:73475cb40a568e8da8a045ced110137e159f890ac4da883b6b17dc651b3a8049"
        );
        assert_eq!(buffer.by_id("scratch_scalar_003").unwrap().ordinal, 3);
    }

    #[test]
    fn freshness_ends_at_the_lifetime() {
        let mut buffer = ScratchBuffer::new(9, 256);
        let mut add = |ttl: Option<Value>, volatility: Option<Volatility>, pinned: bool| {
            let new = NewEntry { volatility, ttl, pinned, ..result("weather", "sunny spells") };
            let ordinal = buffer.add(new, NOW, &Bytes).unwrap();
            buffer.get(ordinal).unwrap().clone()
        };
        let plain = add(None, None, false);
        assert_eq!(plain.freshness(NOW + 299_999), Freshness::Fresh);
        assert_eq!(plain.freshness(NOW + 300_000), Freshness::Stale { age_ms: 300_000 });
        assert_eq!(plain.freshness(NOW - 1), Freshness::Fresh);
        assert_eq!(add(Some(json!("PT1H")), None, false).freshness(NOW + 3_599_999), Freshness::Fresh);
        assert_eq!(
            add(None, Some(Volatility::Realtime), false).freshness(NOW + 30_000),
            Freshness::Stale { age_ms: 30_000 }
        );
        assert_eq!(add(None, Some(Volatility::Static), false).freshness(i64::MAX), Freshness::Fresh);
        assert_eq!(add(Some(json!("session")), None, false).freshness(i64::MAX), Freshness::Fresh);
        assert_eq!(add(Some(json!(0)), None, false).freshness(NOW), Freshness::Stale { age_ms: 0 });
        assert_eq!(add(Some(json!(0)), None, true).freshness(NOW), Freshness::Stale { age_ms: 0 });
    }

    #[test]
    fn stale_output_says_so() {
        let buffer = buffer(&[("weather", "sunny spells")]);
        let entry = buffer.get(1).unwrap();
        assert_eq!(buffer.rendered(entry, NOW, false), "sunny spells");
        assert_eq!(
            buffer.rendered(entry, NOW + 7 * 60_000, true),
            "NOTE: this output of weather is from 7 minutes ago and may be outdated.\nsunny spells"
        );
        let mut buffer = ScratchBuffer::new(1, 256);
        buffer.add(NewEntry { pinned: true, ttl: Some(json!(0)), ..result("", "42") }, NOW, &Bytes).unwrap();
        assert_eq!(
            buffer.rendered(buffer.get(1).unwrap(), NOW, false),
            "NOTE: this PINNED output of tool is from 0 seconds ago and may be outdated.\n42"
        );
    }

    #[test]
    fn stale_policies_by_class() {
        assert_eq!(Volatility::Realtime.stale_policy(), StalePolicy::Reinvoke);
        assert_eq!(Volatility::Volatile.stale_policy(), StalePolicy::Warn);
        assert_eq!(serde_json::to_string(&StalePolicy::Reinvoke).unwrap(), "\"reinvoke\"");
    }

    #[test]
    fn the_least_needed_entry_leaves() {
        let mut buffer = ScratchBuffer::new(4, 256);
        for (raw, ttl) in [("a", json!("session")), ("b", json!(10)), ("c", json!("session")), ("d", json!("session"))]
        {
            buffer.add(NewEntry { ttl: Some(ttl), ..result("t", raw) }, NOW, &Bytes).unwrap();
        }
        let held = |buffer: &ScratchBuffer| buffer.iter().map(|entry| entry.raw.clone()).collect::<String>();
        let add = |buffer: &mut ScratchBuffer, raw: &str| {
            buffer.add(NewEntry { ttl: Some(json!("session")), ..result("t", raw) }, NOW + 20, &Bytes)
        };
        add(&mut buffer, "e").unwrap();
        assert_eq!(held(&buffer), "acde", "the stale one leaves first");
        buffer.refer(1, 7);
        add(&mut buffer, "f").unwrap();
        assert_eq!(held(&buffer), "adef", "then the oldest that nobody referred to");
        for (ordinal, turn) in [(4, 5), (5, 9), (6, 8)] {
            buffer.refer(ordinal, turn);
        }
        add(&mut buffer, "g").unwrap();
        assert_eq!(held(&buffer), "aefg", "then the one referred to the longest time ago");
        for ordinal in [1, 5, 6, 7] {
            buffer.pin(ordinal, None).unwrap();
        }
        let before = buffer.clone();
        assert_eq!(add(&mut buffer, "h").unwrap_err().code, Code::ScratchFull);
        assert_eq!(buffer, before);
    }

    #[test]
    fn ordinals_are_never_reused() {
        let mut buffer = buffer(&[("t", "a"), ("t", "b")]);
        buffer.entries.clear();
        assert_eq!(buffer.add(result("t", "c"), NOW, &Bytes), Ok(3));
    }

    #[test]
    fn a_bad_lifetime_changes_nothing() {
        let mut buffer = ScratchBuffer::new(1, 256);
        buffer.add(result("t", "a"), NOW, &Bytes).unwrap();
        let before = buffer.clone();
        let bad = NewEntry { ttl: Some(json!("soon")), ..result("t", "b") };
        assert_eq!(buffer.add(bad, NOW, &Bytes).unwrap_err().code, Code::InvalidOption);
        assert_eq!(buffer, before);
    }

    #[test]
    fn the_second_turn_that_refers_pins() {
        let mut buffer = buffer(&[("t", "a")]);
        assert!(!buffer.refer(1, 3));
        assert!(!buffer.refer(1, 3));
        assert!(!buffer.get(1).unwrap().pinned);
        assert!(buffer.refer(1, 5));
        assert!(!buffer.refer(1, 7));
        let entry = buffer.get(1).unwrap();
        assert!(entry.pinned);
        assert_eq!((entry.name.as_deref(), &entry.referenced_by[..]), (Some("scratch_t_001"), &[3, 5, 7][..]));
        assert_eq!(buffer.pinned(), 1);
        assert!(!buffer.refer(99, 1));
        assert_eq!(buffer.pin(99, None).unwrap_err().code, Code::NotFound);
    }

    #[test]
    fn erasing_a_turn_leaves_no_trace() {
        let mut buffer = ScratchBuffer::new(9, 256);
        for turn in [0, 1, 3] {
            buffer.add(NewEntry { turn, ..result("t", "a") }, NOW, &Bytes).unwrap();
        }
        buffer.refer(1, 3);
        buffer.remove_turn(3);
        assert_eq!(buffer.iter().map(|entry| entry.ordinal).collect::<Vec<_>>(), [1, 2]);
        assert!(buffer.get(1).unwrap().referenced_by.is_empty());
        buffer.remove_after(1);
        assert_eq!(buffer.iter().map(|entry| entry.turn).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn tool_references_find_their_output() {
        let table = r#"[{"flight_number":"HAT1"},{"flight_number":"HAT2"}]"#;
        let buffer = buffer(&[
            ("search_direct_flight", table),
            ("get_reservation_details", r#"{"reservation_id":"X1","cabin":"economy"}"#),
            ("list_bookings", r#"["A","B"]"#),
            ("calculate", "12.0"),
            ("book_reservation", "Error: payment amount does not add up"),
            ("think", "Let me think about it."),
        ]);
        let cases: [(ToolKind, &[&str], u32); 12] = [
            (ToolKind::of_noun("result"), &["query", "result"], 1),
            (ToolKind::of_noun("results"), &["results"], 3),
            (ToolKind::of_noun("results"), &["flight", "results"], 1),
            (ToolKind::of_noun("response"), &["api", "response"], 3),
            (ToolKind::of_noun("calculation"), &["calculation"], 4),
            (ToolKind::of_noun("error"), &["error"], 5),
            (ToolKind::of_noun("output"), &["output"], 6),
            (ToolKind::of_noun("search"), &["flight", "search"], 1),
            (ToolKind::of_noun("details"), &["reservation", "details"], 2),
            (ToolKind::of_noun("booking"), &["booking"], 5),
            (ToolKind::of_noun("bookings"), &["bookings", "list"], 5),
            (ToolKind::of_noun("cabin"), &["cabin"], 2),
        ];
        for (kind, words, ordinal) in cases {
            assert_eq!(latest(&buffer.iter(), kind, words).map(|entry| entry.ordinal), Some(ordinal), "{words:?}");
        }
        assert_eq!(latest(&ScratchBuffer::new(3, 99).iter(), ToolKind::Any, &["result"]), None);
        assert_eq!(latest(&tests::buffer(&[("t", "plain words here")]).iter(), ToolKind::Error, &["error"]), None);
    }

    #[test]
    fn a_pinned_name_is_a_way_to_ask() {
        let mut buffer = buffer(&[("calc", "[1,2]"), ("other", "7")]);
        buffer.pin(1, Some("quarterly revenue")).unwrap();
        let asked = latest(&buffer.iter(), ToolKind::Calculation, &["revenue", "calculation"]);
        assert_eq!(asked.map(|entry| entry.ordinal), Some(1));
    }

    #[test]
    fn rows_about_a_word() {
        let raw = r#"{"saved_passengers":[{"n":"A"},{"n":"B"}],"reservations":["R1","R2","R3"]}"#;
        let text = |rows: Vec<Range<usize>>| rows.into_iter().map(|row| &raw[row]).collect::<Vec<_>>();
        assert_eq!(text(rows(raw)), [r#"{"n":"A"}"#, r#"{"n":"B"}"#]);
        assert_eq!(text(rows_about(raw, &["third", "reservation"])), [r#""R1""#, r#""R2""#, r#""R3""#]);
        assert_eq!(text(rows_about(raw, &["passenger"])), text(rows(raw)));
    }

    #[test]
    fn a_snapshot_is_the_buffer() {
        let buffer = buffer(&[("t", "[1,2]"), ("u", "Error: x")]);
        let copy: ScratchBuffer = postcard::from_bytes(&postcard::to_stdvec(&buffer).unwrap()).unwrap();
        assert_eq!(copy, buffer);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Add { ttl: i64, pinned: bool, turn: u32 },
        Refer { ordinal: u32, turn: u32 },
        Pin { ordinal: u32 },
        Remove { turn: u32 },
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (0..30i64, prop::bool::weighted(0.1), 0..9u32).prop_map(|(ttl, pinned, turn)| Step::Add { ttl, pinned, turn }),
            3 => (1..30u32, 1..9u32).prop_map(|(ordinal, turn)| Step::Refer { ordinal, turn }),
            1 => (1..30u32).prop_map(|ordinal| Step::Pin { ordinal }),
            1 => (1..9u32).prop_map(|turn| Step::Remove { turn }),
        ];
        prop::collection::vec(step, 0..60)
    }

    proptest! {
        #[test]
        fn no_pinned_entry_leaves_and_the_new_one_is_in(steps in steps(), most in 1..6usize) {
            let mut buffer = ScratchBuffer::new(most, 64);
            for (step, now) in steps.into_iter().zip(NOW..) {
                let pinned: Vec<u32> = buffer.iter().filter(|entry| entry.pinned).map(|entry| entry.ordinal).collect();
                match step {
                    Step::Add { ttl, pinned: pin, turn } => {
                        let new = NewEntry { ttl: Some(json!(ttl)), pinned: pin, turn, ..result("t", "x y") };
                        match buffer.add(new, now, &Bytes) {
                            Ok(ordinal) => prop_assert_eq!(buffer.iter().last().unwrap().ordinal, ordinal),
                            Err(error) => prop_assert!(error.code == Code::ScratchFull && pinned.len() == most),
                        }
                        prop_assert!(pinned.iter().all(|ordinal| buffer.get(*ordinal).is_some()));
                    }
                    Step::Refer { ordinal, turn } => { buffer.refer(ordinal, turn); }
                    Step::Pin { ordinal } => { let _ = buffer.pin(ordinal, None); }
                    Step::Remove { turn } => buffer.remove_turn(turn),
                }
                prop_assert!(buffer.len() <= most);
                prop_assert!(buffer.iter().zip(buffer.iter().skip(1)).all(|(a, b)| a.ordinal < b.ordinal));
                prop_assert!(buffer.iter().all(|entry| entry.referenced_by.len() < 2 || entry.pinned));
            }
        }

        #[test]
        fn no_output_panics(tool in "\\PC{0,30}", raw in "\\PC{0,200}", arguments in "\\PC{0,60}") {
            let mut buffer = ScratchBuffer::new(2, 16);
            let ordinal = buffer.add(NewEntry { arguments, ..result(&tool, &raw) }, NOW, &Bytes).unwrap();
            let entry = buffer.get(ordinal).unwrap();
            prop_assert!(entry.id.is_ascii() && entry.summary_tokens <= 16);
            prop_assert_eq!(rows(&raw).len(), entry.rows as usize);
        }
    }
}
