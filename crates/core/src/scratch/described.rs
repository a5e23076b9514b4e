//! Rows that a phrase describes by what they hold: "the 500 one", "the card ending in 4242", "the 2pm meeting".

use std::ops::Range;

use super::structure::{Json, Sequence, Shape};
use super::{OutputClass, ScratchEntry, hash, stem, words_of};

/// A row that a phrase describes.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// The entry that holds it.
    pub ordinal: u32,
    /// 0-based index in its sequence and byte range of each row; several when the phrase fits them alike.
    pub rows: Vec<(u32, Range<usize>)>,
    /// How much of the phrase tells the row from the others: 1 for each word that only it holds.
    pub score: f32,
}

/// The rows of `entries` that `words`, folded, tell from the other rows of their output, or the whole outputs that they tell
/// from other outputs of the same tool; `wanted` rows at most when the phrase says how many. The newest wins among equals.
/// Cost: a look at each entry's words; the outputs that share one are read.
pub fn described<'a>(
    entries: &(impl DoubleEndedIterator<Item = &'a ScratchEntry> + Clone),
    words: &[String],
    wanted: usize,
) -> Option<Described> {
    let asked: Vec<u32> = words.iter().map(|word| hash(stem(word))).collect();
    let extreme = words.iter().find_map(|word| Extreme::of(word));
    let mut best: Option<Described> = None;
    for entry in entries.clone().rev() {
        if entry.class == OutputClass::Error || !asked.iter().any(|word| entry.holds_term(*word)) {
            continue;
        }
        let found = row_of(entry, &asked, extreme, wanted).into_iter().chain(whole(entry, entries.clone(), &asked));
        for found in found {
            if best.as_ref().is_none_or(|best| found.score > best.score) {
                best = Some(found);
            }
        }
    }
    best
}

/// The row of one output that the words tell from its siblings.
fn row_of(entry: &ScratchEntry, asked: &[u32], extreme: Option<Extreme>, wanted: usize) -> Option<Described> {
    let mut best: Option<Described> = None;
    for sequence in Shape::of(&entry.raw).sequences() {
        let held: Vec<Vec<u32>> = sequence.rows.iter().map(|row| content(&entry.raw[row.clone()])).collect();
        let mut scores = vec![0.0f32; held.len()];
        for word in asked {
            let holders = held.iter().filter(|words| words.binary_search(word).is_ok()).count();
            if holders == 0 || holders == held.len() && (extreme.is_none() || holders == 1) {
                continue;
            }
            for (score, words) in scores.iter_mut().zip(&held) {
                if words.binary_search(word).is_ok() {
                    *score += 1.0 / holders as f32;
                }
            }
        }
        let top = scores.iter().copied().fold(0.0, f32::max);
        let mut rows: Vec<usize> = (0..scores.len()).filter(|at| top > 0.0 && scores[*at] >= top - 1e-4).collect();
        let mut score = top;
        if let Some(extreme) = extreme.filter(|_| rows.len() > 1)
            && let Some(at) = extreme.among(&entry.raw, &sequence, &rows)
        {
            rows = vec![at];
            score += 0.5;
        }
        let named = words_of(sequence.name).any(|word| asked.contains(&hash(stem(&word))));
        score += if named { 0.25 } else { 0.0 } - 0.01 * sequence.depth as f32;
        if top > 0.0 && rows.len() <= wanted.max(2) && best.as_ref().is_none_or(|best| score > best.score) {
            best = Some(Described {
                ordinal: entry.ordinal,
                rows: rows.into_iter().map(|at| (at as u32, sequence.rows[at].clone())).collect(),
                score,
            });
        }
    }
    best
}

/// A whole object that the words tell from other outputs of the same tool.
fn whole<'a>(
    entry: &ScratchEntry,
    entries: impl Iterator<Item = &'a ScratchEntry>,
    asked: &[u32],
) -> Option<Described> {
    if entry.class != OutputClass::Object {
        return None;
    }
    let mut others = 0;
    let mut holders = vec![0u32; asked.len()];
    for other in entries.filter(|other| other.tool == entry.tool && other.class == OutputClass::Object) {
        others += 1;
        for (count, word) in holders.iter_mut().zip(asked) {
            *count += u32::from(other.holds_term(*word));
        }
    }
    let held = asked.iter().zip(holders).filter(|(word, count)| *count < others && entry.holds_term(**word));
    let score: f32 = held.map(|(_, count)| 0.9 / count as f32).sum();
    let start = entry.raw.len() - entry.raw.trim_start().len();
    (score > 0.0).then(|| Described {
        ordinal: entry.ordinal,
        rows: vec![(0, start..start + entry.raw.trim().len())],
        score,
    })
}

/// The most or least of something among rows.
#[derive(Clone, Copy)]
enum Extreme {
    Most(&'static [&'static str]),
    Least(&'static [&'static str]),
}

impl Extreme {
    const PRICE: &'static [&'static str] = &["price", "cost", "fare", "amount", "total", "fee"];
    const SIZE: &'static [&'static str] =
        &["amount", "balance", "size", "total", "price", "quantity", "count", "score", "rating"];
    const TIME: &'static [&'static str] = &["time", "timestamp", "date", "created", "due", "start"];

    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "cheapest" | "cheaper" => Self::Least(Self::PRICE),
            "expensive" | "pricey" | "priciest" | "dearest" => Self::Most(Self::PRICE),
            "biggest" | "bigger" | "largest" | "larger" | "highest" | "higher" => Self::Most(Self::SIZE),
            "smallest" | "smaller" | "lowest" | "lower" => Self::Least(Self::SIZE),
            "latest" | "newest" | "newer" => Self::Most(Self::TIME),
            "earliest" | "oldest" | "older" => Self::Least(Self::TIME),
            _ => return None,
        })
    }

    /// Which of the rows at `among` has it, by the first key they share that measures it.
    fn among(self, raw: &str, sequence: &Sequence<'_>, among: &[usize]) -> Option<usize> {
        let (keys, most) = match self {
            Self::Most(keys) => (keys, true),
            Self::Least(keys) => (keys, false),
        };
        let measured = |at: usize, key: &str| -> Option<(f64, String)> {
            let json = Json::parse(&raw[sequence.rows[at].clone()])?;
            let member = json
                .children(json.root())
                .find(|member| json.is_scalar(*member) && words_of(json.key(*member)).any(|word| word == key))?;
            let value = json.scalar(member).into_owned();
            Some((value.parse().unwrap_or(0.0), value))
        };
        keys.iter().find_map(|key| {
            let values: Option<Vec<_>> = among.iter().map(|at| measured(*at, key).map(|value| (value, *at))).collect();
            let order = |a: &((f64, String), usize), b: &((f64, String), usize)| {
                a.0.0.total_cmp(&b.0.0).then_with(|| a.0.1.cmp(&b.0.1))
            };
            let values = values?.into_iter();
            if most { values.max_by(order) } else { values.min_by(order) }.map(|(_, at)| at)
        })
    }
}

/// Hashes of the words of an output's values, keys left out, sorted; dates also as weekday, month and day, hours also as "2pm".
pub(super) fn content(raw: &str) -> Vec<u32> {
    const MOST: usize = 4096;
    let mut words = Vec::new();
    for value in values(raw) {
        for word in words_of(value) {
            words.push(hash(stem(&word)));
        }
        for (at, _) in value.match_indices('-').filter(|(at, _)| *at >= 4) {
            if let Some(date) = value.get(at - 4..at + 6).and_then(Date::parse) {
                words.extend([hash(stem(date.weekday())), hash(stem(date.month_name())), hash(&date.day.to_string())]);
            }
        }
        for (at, _) in value.match_indices(':').filter(|(at, _)| *at >= 2) {
            if let (Some(hour), Some("00")) =
                (value.get(at - 2..at).and_then(|hour| hour.parse::<u32>().ok()), value.get(at + 1..at + 3))
            {
                let half = if hour < 12 { "am" } else { "pm" };
                words.push(hash(&format!("{}{half}", (hour + 11) % 12 + 1)));
            }
        }
        if words.len() > MOST {
            break;
        }
    }
    words.sort_unstable();
    words.dedup();
    words
}

/// The pieces of a text that are not quoted keys of objects.
fn values(raw: &str) -> impl Iterator<Item = &str> {
    let mut rest = raw;
    std::iter::from_fn(move || {
        loop {
            if rest.is_empty() {
                return None;
            }
            let Some(open) = rest.find('"') else { return Some(std::mem::take(&mut rest)) };
            if open > 0 {
                let (before, after) = rest.split_at(open);
                rest = after;
                return Some(before);
            }
            let close = close_of(rest);
            let (quoted, after) = rest.split_at(close);
            rest = after;
            if !after.trim_start().starts_with(':') {
                return Some(quoted);
            }
        }
    })
}

/// Where the quoted string that `text` begins with ends, behind its quote.
fn close_of(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return at + 1,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// A day of the Gregorian calendar.
struct Date {
    year: i32,
    month: u32,
    day: u32,
}

impl Date {
    /// `2024-05-16`.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (year, month, day) =
            (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        ((1..=12).contains(&month) && (1..=31).contains(&day)).then_some(Self { year, month, day })
    }

    /// Zeller's congruence.
    fn weekday(&self) -> &'static str {
        let (year, month) = if self.month < 3 { (self.year - 1, self.month + 12) } else { (self.year, self.month) };
        let days = self.day as i32 + 13 * (month as i32 + 1) / 5 + year + year.div_euclid(4) - year.div_euclid(100)
            + year.div_euclid(400);
        ["saturday", "sunday", "monday", "tuesday", "wednesday", "thursday", "friday"][days.rem_euclid(7) as usize]
    }

    fn month_name(&self) -> &'static str {
        [
            "january",
            "february",
            "march",
            "april",
            "may",
            "june",
            "july",
            "august",
            "september",
            "october",
            "november",
            "december",
        ][self.month as usize - 1]
    }
}

/// Rows of the newest output whose sequence is named by one of `words`, folded, and has row `position` (from 1):
/// "the third reservation" counts in `"reservations": […]`.
pub fn named_rows<'a>(
    entries: impl DoubleEndedIterator<Item = &'a ScratchEntry>,
    words: &[&str],
    fits: impl Fn(usize) -> bool,
) -> Option<(u32, Vec<Range<usize>>)> {
    let asked: Vec<u32> = words.iter().map(|word| hash(stem(word))).collect();
    entries.rev().filter(|entry| asked.iter().any(|word| entry.words.binary_search(word).is_ok())).find_map(|entry| {
        let shape = Shape::of(&entry.raw);
        let sequences = shape.sequences();
        let named = |sequence: &&Sequence<'_>| {
            words_of(sequence.name).any(|word| asked.contains(&hash(stem(&word)))) && fits(sequence.rows.len())
        };
        let sequence = sequences.iter().filter(named).min_by_key(|sequence| sequence.depth)?;
        Some((entry.ordinal, sequence.rows.clone()))
    })
}

#[cfg(test)]
mod tests {
    use super::super::{NewEntry, ScratchBuffer};
    use super::*;
    use crate::tokens::Counter;

    fn buffer(results: &[(&str, &str)]) -> ScratchBuffer {
        let mut buffer = ScratchBuffer::new(9, 99);
        for (tool, raw) in results {
            buffer
                .add(
                    NewEntry { tool: (*tool).into(), raw: (*raw).into(), ..NewEntry::default() },
                    0,
                    &Counter::Estimate,
                )
                .unwrap();
        }
        buffer
    }

    fn found(buffer: &ScratchBuffer, words: &str, wanted: usize) -> Option<(u32, Vec<String>)> {
        let words: Vec<String> = words.split(' ').map(Into::into).collect();
        described(&buffer.iter(), &words, wanted).map(|found| {
            (
                found.ordinal,
                found
                    .rows
                    .iter()
                    .map(|(_, row)| buffer.get(found.ordinal).unwrap().raw[row.clone()].to_owned())
                    .collect(),
            )
        })
    }

    #[test]
    fn a_row_is_known_by_what_only_it_holds() {
        let boats = r#"{"boats":[{"name":"Heron","seats":4,"when":"2024-05-16 14:00:00"},{"name":"Swift","seats":9,"when":"2024-05-17 09:30:00"}]}"#;
        let buffer = buffer(&[("list_boats", boats), ("weather", r#"{"sky":"clear"}"#)]);
        for (words, row) in
            [("swift", "Swift"), ("2pm", "Heron"), ("friday", "Swift"), ("17 boat", "Swift"), ("4 seater", "Heron")]
        {
            let (ordinal, rows) = found(&buffer, words, 1).unwrap();
            assert!(ordinal == 1 && rows.len() == 1 && rows[0].contains(row), "{words}: {rows:?}");
        }
        assert_eq!(found(&buffer, "seats", 1), None);
        assert_eq!(found(&buffer, "may", 2), None);
    }

    #[test]
    fn the_most_of_several() {
        let cards = r#"{"cards":{"a":{"source":"gift","amount":51},"b":{"source":"gift","amount":262},"c":{"source":"visa","amount":900}}}"#;
        let buffer = buffer(&[("get_user", cards)]);
        assert_eq!(found(&buffer, "bigger gift", 1).unwrap().1, [r#"{"source":"gift","amount":262}"#]);
        assert_eq!(found(&buffer, "gift", 2).unwrap().1.len(), 2);
    }

    #[test]
    fn an_object_among_outputs_of_its_tool() {
        let buffer =
            buffer(&[("get_trip", r#"{"id":1,"cabin":"business"}"#), ("get_trip", r#"{"id":2,"cabin":"economy"}"#)]);
        assert_eq!(found(&buffer, "pricey business", 1), Some((1, vec![r#"{"id":1,"cabin":"business"}"#.to_owned()])));
    }

    #[test]
    fn rows_under_the_noun_that_counts_them() {
        let buffer =
            buffer(&[("get_user", r#"{"cards":[1,2],"orders":["X","Y","Z"]}"#), ("get_order", r#"{"order_id":"X"}"#)]);
        assert_eq!(
            named_rows(buffer.iter(), &["order"], |n| n >= 3).map(|(ordinal, rows)| (ordinal, rows.len())),
            Some((1, 3))
        );
        assert_eq!(named_rows(buffer.iter(), &["order"], |n| n >= 4), None);
    }

    #[test]
    fn weekdays() {
        assert_eq!(Date::parse("2024-02-29").unwrap().weekday(), "thursday");
        assert_eq!(Date::parse("2000-01-01").unwrap().weekday(), "saturday");
        assert!(Date::parse("2024-13-01").is_none());
    }
}
