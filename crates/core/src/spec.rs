//! The `spec` profile: SPEC-028's pseudo-code to the letter. Markers are substrings of the lower-cased turn, the first
//! rule that fires decides, cosines are raw; the lists are in `packs/spec.json`, so that anyone can compare.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, Input, Span, packed};
use serde::Deserialize;

use crate::error::Result;
use crate::intent::Intent;
use crate::references::{Alternatives, Item, Reason, Reference, ReferenceType, Target};
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
#[derive(Clone, Copy)]
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

    /// Its rarest four bytes in a folded text, and how far before their place there it begins in the text itself.
    fn fragment(&self) -> ([u8; FRAGMENT], usize) {
        /// Letters of English, the most frequent first.
        const FREQUENT: &[u8] = b" etaoinshrdlcumwfgypbvkjxqz";
        let beside = if self.alone() { " " } else { "" };
        let framed = format!("{beside}{}{beside}", self.text);
        let rarity = |bytes: &[u8]| -> usize {
            bytes.iter().filter_map(|byte| FREQUENT.iter().position(|letter| letter == byte)).sum()
        };
        let windows = framed.as_bytes().windows(FRAGMENT).enumerate();
        let (at, rarest) = windows
            .max_by_key(|(_, window)| (!window.contains(&b' '), rarity(window)))
            .expect("a phrase has two letters, and either side of it counts");
        (*rarest.first_chunk().expect("as long"), BEFORE.len() + at - usize::from(self.alone()))
    }

    /// It stands at this place.
    fn is_at(&self, source: &str, at: usize) -> bool {
        let end = at + self.text.len();
        source.as_bytes().get(at..end).is_some_and(|bytes| bytes.eq_ignore_ascii_case(self.text.as_bytes()))
            && (!self.alone() || stands_alone(source, at, end))
    }
}

/// Bytes by which phrases are looked for.
const FRAGMENT: usize = 4;

/// Finds the phrases of the lists: a search for four bytes of each, many bytes at a time, tells where one may be, and only
/// there phrases are compared. All phrases are ASCII.
struct Matcher {
    search: Search,
    /// By fragment, the phrases that have it, and how far before its place they begin.
    phrases: Vec<Vec<(Phrase, usize)>>,
}

enum Search {
    Packed(packed::Searcher),
    /// For CPUs that the other has nothing for.
    Automaton(AhoCorasick),
}

impl Search {
    fn new(fragments: &[[u8; FRAGMENT]]) -> Self {
        let packed = packed::Config::new().heuristic_pattern_limits(false).builder().extend(fragments).build();
        packed.map_or_else(|| Self::Automaton(AhoCorasick::new(fragments).expect("a few short patterns")), Self::Packed)
    }

    /// The first fragment from a place on, and where it begins. No two begin at one place.
    #[inline]
    fn next(&self, folded: &[u8], from: usize) -> Option<(usize, usize)> {
        let span = Span { start: from, end: folded.len() };
        let found = match self {
            Self::Packed(searcher) => searcher.find_in(folded, span),
            Self::Automaton(automaton) => automaton.find(Input::new(folded).span(span)),
        };
        found.map(|found| (found.pattern().as_usize(), found.start()))
    }
}

impl Matcher {
    fn new(phrases: impl IntoIterator<Item = Phrase>) -> Self {
        /// With more than 32 the search tells them apart by twice as many groups, which few wrong places pass.
        const FRAGMENTS: usize = 33;
        let mut fragments: Vec<[u8; FRAGMENT]> = Vec::new();
        let mut by_fragment: Vec<Vec<(Phrase, usize)>> = Vec::new();
        for phrase in phrases {
            let (fragment, before) = phrase.fragment();
            let at = fragments.iter().position(|known| *known == fragment).unwrap_or_else(|| {
                fragments.push(fragment);
                by_fragment.push(Vec::new());
                fragments.len() - 1
            });
            by_fragment[at].push((phrase, before));
        }
        // Bytes that no folded text has.
        fragments.extend((by_fragment.len()..FRAGMENTS).map(|byte| [byte as u8 | 0x80; FRAGMENT]));
        by_fragment.resize_with(fragments.len(), Vec::new);
        Self { search: Search::new(&fragments), phrases: by_fragment }
    }

    /// Calls `found` with every phrase and where it begins; for each phrase in order of the places.
    fn find(&self, source: &str, folded: &mut Vec<u8>, mut found: impl FnMut(&Phrase, usize)) {
        fold(source, folded);
        let mut from = 0;
        while let Some((fragment, start)) = self.search.next(folded, from) {
            from = start + 1;
            for (phrase, before) in &self.phrases[fragment] {
                if let Some(at) = start.checked_sub(*before).filter(|at| phrase.is_at(source, *at)) {
                    found(phrase, at);
                }
            }
        }
    }
}

/// Bytes that the search looks at together, from the fourth on.
const STEP: usize = 16;
/// What stands before and after a folded text: a space, and bytes that no phrase has. The search takes the first three bytes of
/// what it looks at to be any, at its end once more, and is slow on a few bytes: both then happen where nothing is found. The
/// text begins where the search takes a step, so that it reads the text as it was written, which is what costs on short ones.
const BEFORE: [u8; STEP + 3] = *b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0 ";
const AFTER: [u8; STEP + 4] = *b" \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

/// The text in lower case, everything but ASCII letters as spaces, between [`BEFORE`] and [`AFTER`].
fn fold(source: &str, folded: &mut Vec<u8>) {
    let fold = |byte: u8| {
        let lower = byte | 0x20;
        if lower.is_ascii_lowercase() { lower } else { b' ' }
    };
    if folded.is_empty() {
        folded.extend_from_slice(&BEFORE);
    }
    folded.truncate(BEFORE.len());
    let (steps, rest) = source.as_bytes().as_chunks::<STEP>();
    for step in steps {
        folded.extend_from_slice(&step.map(fold));
    }
    match source.as_bytes().last_chunk::<STEP>() {
        // Some again: single bytes would take as long as all others.
        Some(last) if !rest.is_empty() => {
            folded.truncate(BEFORE.len() + source.len() - STEP);
            folded.extend_from_slice(&last.map(fold));
        }
        _ => folded.extend(rest.iter().map(|byte| fold(*byte))),
    }
    folded.extend_from_slice(&AFTER);
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

fn phrases() -> impl Iterator<Item = Phrase> {
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
    groups.into_iter().flat_map(of)
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

impl Detected {
    /// It has a referential expression.
    #[inline]
    pub fn points_back(&self) -> bool {
        self.references.iter().any(Option::is_some)
    }
}

/// `detect_referential_expressions` and both marker tests in one pass. Markers match anywhere, as `phrase in turn` does;
/// the document does not say how expressions are found, so those match whole words.
///
/// `folded` is a buffer to work in.
pub fn detect(source: &str, folded: &mut Vec<u8>) -> Detected {
    let mut detected = Detected::default();
    let mut ranks = [u32::MAX; 5];
    matcher().find(source, folded, |phrase, start| match phrase.usage {
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
    } else if detected.points_back() {
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
            alternatives: Alternatives::default(),
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
    log.turns().iter().rev().find(|turn| mentions(turn.text, &named)).map(|turn| Target::Turn(turn.id))
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
        for list in turn.lists() {
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
        classify_intent(&detect(source, &mut Vec::new()), || Ok(similarity), 0.50).unwrap().0
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
        fn the_search_finds_what_a_slow_one_finds(pieces in prop::collection::vec((0usize..60, "[ .,xİé我]{0,2}", any::<bool>()), 0..12)) {
            let phrases: Vec<Phrase> = phrases().collect();
            let (mut source, mut folded) = (String::new(), Vec::new());
            for (at, between, upper) in pieces {
                let text = phrases.get(at).map_or("with others", |phrase| phrase.text);
                source += &if upper { text.to_uppercase() } else { text.to_owned() };
                source += &between;
            }
            for end in (0..=source.len()).filter(|end| source.is_char_boundary(*end)) {
                let source = &source[..end];
                let mut found = Vec::new();
                matcher().find(source, &mut folded, |phrase, at| found.push((at, phrase.text)));
                let mut sorted = found.clone();
                sorted.sort_unstable();
                prop_assert_eq!(sorted, naive(source));
                // Of one phrase the first comes first: stable by phrase, they are sorted.
                found.sort_by_key(|(_, text)| *text);
                prop_assert!(found.is_sorted_by_key(|(at, text)| (*text, *at)));
            }
        }
    }

    #[test]
    fn no_phrase_has_a_letter_that_other_scripts_have_in_lower_case() {
        // The Kelvin sign becomes "k"; then bytes could not be compared without regard to case alone.
        assert!(phrases().all(|phrase| phrase.text.is_ascii() && !phrase.text.contains('k')));
    }

    #[test]
    fn its_markers_are_substrings_as_written() {
        assert_eq!(intent("furthermore", 0.0), Intent::Continue);
        assert_eq!(intent("an unexplained case against us", 0.0), Intent::Clarify);
    }
}
