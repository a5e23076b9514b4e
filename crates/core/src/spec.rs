//! The `spec` profile: SPEC-028's pseudo-code to the letter. Markers are substrings of the lower-cased turn, the first
//! rule that fires decides, cosines are raw; the lists are in `packs/spec.json`, so that anyone can compare.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::error::Result;
use crate::intent::Intent;
use crate::references::{Item, Reason, Reference, ReferenceType, Target};
use crate::scratch::ScratchBuffer;
use crate::text::Pack;
use crate::turn_log::{Role, TurnLog};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists<'a> {
    #[serde(borrow)]
    clarify: Vec<&'a str>,
    #[serde(borrow, rename = "continue")]
    go_on: Vec<&'a str>,
    #[serde(borrow)]
    tool: Vec<&'a str>,
    #[serde(borrow)]
    references: ReferenceLists<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferenceLists<'a> {
    #[serde(borrow)]
    entity: Vec<&'a str>,
    #[serde(borrow)]
    turn: Vec<&'a str>,
    #[serde(borrow)]
    ordinal: Vec<&'a str>,
    #[serde(borrow)]
    action: Vec<&'a str>,
}

/// What a phrase of the lists is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Clarify,
    Continue,
    Reference(ReferenceType),
}

/// A phrase of the lists.
struct Phrase {
    text: &'static str,
    usage: Use,
    /// Place in its list.
    rank: u32,
}

impl Phrase {
    /// It has no letter beside it: the document matches markers anywhere, and does not say how expressions are found.
    const fn alone(&self) -> bool {
        matches!(self.usage, Use::Reference(_))
    }
}

/// Finds the phrases of the lists: a few table reads a byte tell where one may begin, and only there phrases are compared.
/// Case is ignored by the tables, so that the turn is not copied; all phrases are ASCII.
struct Matcher {
    /// By byte, the groups of phrases that may have it at each of [`LOOKED_AT`].
    tables: [[u32; 256]; LOOKED_AT.len()],
    groups: [Vec<Phrase>; 32],
}

/// The bytes that are looked at, counted from before a phrase: the one before it, its first three and its fifth, which
/// tells "the first" from "the port".
const LOOKED_AT: [usize; 5] = [0, 1, 2, 3, 5];
/// Bytes from the first to the last of them.
const WINDOW: usize = 6;

impl Matcher {
    fn new(phrases: Vec<Phrase>) -> Self {
        let mut matcher = Self { tables: [[0; 256]; LOOKED_AT.len()], groups: Default::default() };
        // Phrases that begin alike share a group, so that a place where one may begin is one for few others.
        let mut beginnings: Vec<&[u8]> = Vec::new();
        for phrase in phrases {
            let bytes = phrase.text.as_bytes();
            let beginning = &bytes[..bytes.len().min(3)];
            let at = beginnings.iter().position(|known| *known == beginning).unwrap_or_else(|| {
                beginnings.push(beginning);
                beginnings.len() - 1
            });
            let group = at % matcher.groups.len();
            for (table, place) in matcher.tables.iter_mut().zip(LOOKED_AT) {
                for (byte, groups) in (0..=u8::MAX).zip(table) {
                    let beside = place == 0 || place == bytes.len() + 1;
                    let allowed = match place.checked_sub(1).and_then(|at| bytes.get(at)) {
                        Some(expected) => *expected == byte.to_ascii_lowercase(),
                        None => !(beside && phrase.alone() && byte.is_ascii_alphanumeric()),
                    };
                    *groups |= u32::from(allowed) << group;
                }
            }
            matcher.groups[group].push(phrase);
        }
        matcher
    }

    /// Calls `found` with every phrase and where it begins, in order of the places.
    fn find(&self, source: &str, mut found: impl FnMut(&Phrase, usize)) {
        /// Past either end there is nothing, which is no letter.
        const NOTHING: u8 = b' ';
        let bytes = source.as_bytes();
        let mut edge = [NOTHING; 2 * WINDOW];
        let start = bytes.len().min(WINDOW - 1);
        edge[1..=start].copy_from_slice(&bytes[..start]);
        self.check(source, 0, self.groups_at(*edge.first_chunk().expect("longer")), &mut found);
        for (at, window) in bytes.windows(WINDOW).enumerate() {
            let groups = self.groups_at(*window.first_chunk().expect("as long"));
            if groups != 0 {
                self.check(source, at + 1, groups, &mut found);
            }
        }
        let rest = bytes.len().saturating_sub(WINDOW - 1);
        let mut edge = [NOTHING; 2 * WINDOW];
        edge[..bytes.len() - rest].copy_from_slice(&bytes[rest..]);
        for (at, window) in edge.windows(WINDOW).enumerate().take((bytes.len() - rest).saturating_sub(1)) {
            self.check(source, rest + at + 1, self.groups_at(*window.first_chunk().expect("as long")), &mut found);
        }
    }

    /// Groups of which a phrase may begin at the second byte of a window.
    #[inline]
    fn groups_at(&self, window: [u8; WINDOW]) -> u32 {
        let looked_up = LOOKED_AT.iter().zip(&self.tables).map(|(place, table)| table[usize::from(window[*place])]);
        looked_up.fold(u32::MAX, |all, groups| all & groups)
    }

    fn check(&self, source: &str, at: usize, mut groups: u32, found: &mut impl FnMut(&Phrase, usize)) {
        let bytes = source.as_bytes();
        while groups != 0 {
            let group = groups.trailing_zeros() as usize;
            groups &= groups - 1;
            for phrase in &self.groups[group] {
                let (end, text) = (at + phrase.text.len(), phrase.text.as_bytes());
                if bytes.get(end - 1).is_some_and(|last| last.eq_ignore_ascii_case(&text[text.len() - 1]))
                    && bytes[at..end].eq_ignore_ascii_case(text)
                    && (!phrase.alone() || stands_alone(source, at, end))
                {
                    found(phrase, at);
                }
            }
        }
    }
}

/// Index of the pack that the lists are of: English.
pub fn locale() -> u16 {
    static LOCALE: OnceLock<u16> = OnceLock::new();
    *LOCALE.get_or_init(|| Pack::of("en").index())
}

fn matcher() -> &'static Matcher {
    static MATCHER: OnceLock<Matcher> = OnceLock::new();
    MATCHER.get_or_init(|| Matcher::new(phrases()))
}

fn phrases() -> Vec<Phrase> {
    let lists: Lists<'static> =
        serde_json::from_str(include_str!("../../../packs/spec.json")).expect("packs/spec.json is checked by tests");
    let groups = [
        (Use::Reference(ReferenceType::Tool), lists.tool),
        (Use::Reference(ReferenceType::Entity), lists.references.entity),
        (Use::Reference(ReferenceType::Turn), lists.references.turn),
        (Use::Reference(ReferenceType::Ordinal), lists.references.ordinal),
        (Use::Reference(ReferenceType::Action), lists.references.action),
        (Use::Clarify, lists.clarify),
        (Use::Continue, lists.go_on),
    ];
    let of = |(usage, list): (Use, Vec<&'static str>)| {
        list.into_iter().enumerate().map(move |(rank, text)| Phrase { text, usage, rank: rank as u32 })
    };
    groups.into_iter().flat_map(of).collect()
}

/// What the lists found in a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detected {
    /// A CLARIFY marker stands in it.
    pub clarify: bool,
    /// A CONTINUE marker stands in it.
    pub go_on: bool,
    /// One expression a class, the first of its list that occurs: class and byte range.
    pub references: [Option<(usize, usize)>; 5],
}

/// `detect_referential_expressions` and both marker tests in one pass. Markers match anywhere, as `phrase in turn` does;
/// the document does not say how expressions are found, so those match whole words.
pub fn detect(source: &str) -> Detected {
    let mut detected = Detected::default();
    let mut ranks = [u32::MAX; 5];
    matcher().find(source, |phrase, start| match phrase.usage {
        Use::Clarify => detected.clarify = true,
        Use::Continue => detected.go_on = true,
        Use::Reference(kind) => {
            let class = kind as usize;
            if phrase.rank < ranks[class] {
                ranks[class] = phrase.rank;
                detected.references[class] = Some((start, start + phrase.text.len()));
            }
        }
    });
    detected
}

fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    !letter(text[..start].chars().next_back()) && !letter(text[end..].chars().next())
}

/// `classify_intent` (SPEC-028 §5.2); the similarity is asked for only when no marker decides.
///
/// # Errors
/// Those of `similarity`.
pub fn classify_intent(
    detected: &Detected,
    similarity: impl FnOnce() -> Result<f32>,
    stay: f32,
) -> Result<(Intent, Reason, f32)> {
    Ok(if detected.references[ReferenceType::Tool as usize].is_some() {
        (Intent::ToolReference, Reason::SpecMarker, 0.0)
    } else if detected.clarify {
        (Intent::Clarify, Reason::SpecMarker, 0.0)
    } else if detected.references.iter().any(Option::is_some) {
        (Intent::DrillDown, Reason::SpecMarker, 0.0)
    } else if detected.go_on {
        (Intent::Continue, Reason::SpecMarker, 0.0)
    } else {
        let similarity = similarity()?;
        (if similarity < stay { Intent::Explore } else { Intent::Continue }, Reason::SpecSimilarity, similarity)
    })
}

/// `resolve_references` (SPEC-028 §4.2): entity → the most recent turn mentioning it, turn → the most recent answer,
/// ordinal → the newest turn with such an enumeration, tool → the most recent scratch entry, action → whatever was
/// resolved before it, since the procedure has no branch for it (G-30).
pub fn resolve_references(source: &str, detected: &Detected, log: &TurnLog, scratch: &ScratchBuffer) -> Vec<Reference> {
    let order = [
        ReferenceType::Entity,
        ReferenceType::Turn,
        ReferenceType::Ordinal,
        ReferenceType::Action,
        ReferenceType::Tool,
    ];
    let mut resolved: Vec<Reference> = Vec::new();
    let mut previous = None;
    for kind in order {
        let Some((start, end)) = detected.references[kind as usize] else { continue };
        let span = start..end;
        let mut items = Vec::new();
        let target = match kind {
            ReferenceType::Entity => mention(source, &span, log),
            ReferenceType::Turn => log.last(Role::Assistant).map(|turn| Target::Turn(turn.id)),
            ReferenceType::Ordinal => enumeration(source, &span, log, &mut items),
            ReferenceType::Tool => scratch.iter().last().map(|entry| Target::Scratch(entry.ordinal)),
            ReferenceType::Action => previous,
        };
        previous = target;
        let reason = if target.is_some() { Reason::SpecMarker } else { Reason::NoAntecedent };
        resolved.push(Reference {
            span,
            kind,
            target,
            alternatives: Vec::new(),
            items,
            rows: Vec::new(),
            confidence: 1.0,
            reason,
        });
    }
    resolved
}

/// "that bug": the last word of the expression, or the word after it, looked for in the turns, newest first.
fn mention(source: &str, span: &std::ops::Range<usize>, log: &TurnLog) -> Option<Target> {
    let after = source.get(span.end..)?.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
    let named = source.get(span.clone())?.split(' ').nth(1).or(after)?.to_lowercase();
    log.turns().iter().rev().find(|turn| mentions(&turn.text, &named)).map(|turn| Target::Turn(turn.id))
}

/// True when `text` in lower case contains `named`.
fn mentions(text: &str, named: &str) -> bool {
    if !text.is_ascii() || !named.is_ascii() {
        return text.to_lowercase().contains(named);
    }
    named.is_empty() || text.as_bytes().windows(named.len()).any(|window| window.eq_ignore_ascii_case(named.as_bytes()))
}

fn enumeration(source: &str, span: &std::ops::Range<usize>, log: &TurnLog, items: &mut Vec<Item>) -> Option<Target> {
    const WORDS: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];
    let word = source.get(span.clone())?.split(' ').nth(1)?.to_lowercase();
    for turn in log.turns().iter().rev() {
        for list in &turn.lists {
            let n = list.items.len();
            let number = WORDS.iter().position(|w| *w == word).map_or(n, |at| at + 1);
            if let Some((from, to)) = list.items.get(number - 1) {
                items.push(Item { number: number as u32, text: turn.text[*from as usize..*to as usize].to_owned() });
                return Some(Target::Turn(turn.id));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn intent(source: &str, similarity: f32) -> Intent {
        classify_intent(&detect(source), || Ok(similarity), 0.50).unwrap().0
    }

    #[test]
    fn the_order_of_the_pseudo_code() {
        assert_eq!(intent("explain the query result", 0.0), Intent::ToolReference);
        assert_eq!(intent("explain that again", 0.0), Intent::Clarify);
        assert_eq!(intent("fix that bug", 0.0), Intent::DrillDown);
        assert_eq!(intent("Go ON", 0.0), Intent::Continue);
        assert_eq!(intent("tell me about tls", 0.49), Intent::Explore);
        assert_eq!(intent("tell me about tls", 0.50), Intent::Continue);
    }

    /// Every phrase and where it begins, the slow way.
    fn naive(source: &str) -> Vec<(usize, &'static str)> {
        let lower: String = source.chars().map(|c| c.to_ascii_lowercase()).collect();
        let mut found = Vec::new();
        for phrase in phrases() {
            for (at, _) in lower.match_indices_overlapping(phrase.text) {
                if !phrase.alone() || stands_alone(source, at, at + phrase.text.len()) {
                    found.push((at, phrase.text));
                }
            }
        }
        found.sort_unstable();
        found
    }

    trait Overlapping {
        fn match_indices_overlapping<'a>(&'a self, phrase: &'a str) -> impl Iterator<Item = (usize, &'a str)>;
    }

    impl Overlapping for str {
        fn match_indices_overlapping<'a>(&'a self, phrase: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
            self.char_indices().map(|(at, _)| (at, &self[at..])).filter(move |(_, rest)| rest.starts_with(phrase))
        }
    }

    proptest! {
        #[test]
        fn the_tables_find_what_a_search_finds(pieces in prop::collection::vec((0usize..60, "[ .,xİé我]{0,2}", any::<bool>()), 0..12)) {
            let phrases = phrases();
            let mut source = String::new();
            for (at, between, upper) in pieces {
                let text = phrases.get(at).map_or("with others", |phrase| phrase.text);
                source += &if upper { text.to_uppercase() } else { text.to_owned() };
                source += &between;
            }
            for end in (0..=source.len()).filter(|end| source.is_char_boundary(*end)) {
                let source = &source[..end];
                let mut found = Vec::new();
                matcher().find(source, |phrase, at| found.push((at, phrase.text)));
                prop_assert!(found.is_sorted_by_key(|(at, _)| *at));
                found.sort_unstable();
                prop_assert_eq!(found, naive(source));
            }
        }
    }

    #[test]
    fn no_phrase_has_a_letter_that_other_scripts_have_in_lower_case() {
        // The Kelvin sign becomes "k"; then bytes could not be compared without regard to case alone.
        assert!(phrases().iter().all(|phrase| phrase.text.is_ascii() && !phrase.text.contains('k')));
    }

    #[test]
    fn its_markers_are_substrings_as_written() {
        assert_eq!(intent("furthermore", 0.0), Intent::Continue);
        assert_eq!(intent("an unexplained case against us", 0.0), Intent::Clarify);
    }
}
