//! The `spec` profile: SPEC-028's pseudo-code to the letter. Markers are substrings of the lower-cased turn, the first
//! rule that fires decides, cosines are raw; the lists are in `packs/spec.json`, so that anyone can compare.

use std::borrow::Cow;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use serde::Deserialize;

use crate::intent::Intent;
use crate::references::{Item, Reason, Reference, ReferenceType, Target};
use crate::scratch::ScratchBuffer;
use crate::turn_log::{Role, TurnLog};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    clarify: Vec<String>,
    #[serde(rename = "continue")]
    go_on: Vec<String>,
    tool: Vec<String>,
    references: ReferenceLists,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferenceLists {
    entity: Vec<String>,
    turn: Vec<String>,
    ordinal: Vec<String>,
    action: Vec<String>,
}

/// What a phrase of the lists is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Clarify,
    Continue,
    Reference(ReferenceType),
}

struct Matcher {
    automaton: AhoCorasick,
    uses: Vec<(Use, u32)>,
}

fn matcher() -> &'static Matcher {
    static MATCHER: OnceLock<Matcher> = OnceLock::new();
    MATCHER.get_or_init(|| {
        let lists: Lists = serde_json::from_str(include_str!("../../../packs/spec.json"))
            .expect("packs/spec.json is checked by tests");
        let groups = [
            (Use::Reference(ReferenceType::Tool), lists.tool),
            (Use::Reference(ReferenceType::Entity), lists.references.entity),
            (Use::Reference(ReferenceType::Turn), lists.references.turn),
            (Use::Reference(ReferenceType::Ordinal), lists.references.ordinal),
            (Use::Reference(ReferenceType::Action), lists.references.action),
            (Use::Clarify, lists.clarify),
            (Use::Continue, lists.go_on),
        ];
        let mut phrases = Vec::new();
        let mut uses = Vec::new();
        for (usage, list) in groups {
            for (rank, phrase) in list.into_iter().enumerate() {
                phrases.push(phrase);
                uses.push((usage, rank as u32));
            }
        }
        let automaton = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::DFA))
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(true)
            .build(&phrases)
            .expect("a few dozen short phrases");
        Matcher { automaton, uses }
    })
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
    let (lower, origins) = lower_case(source);
    let mut detected = Detected::default();
    let mut ranks = [u32::MAX; 5];
    let matcher = matcher();
    for found in matcher.automaton.find_overlapping_iter(lower.as_bytes()) {
        match matcher.uses[found.pattern().as_usize()] {
            (Use::Clarify, _) => detected.clarify = true,
            (Use::Continue, _) => detected.go_on = true,
            (Use::Reference(kind), rank) => {
                let class = kind as usize;
                if rank < ranks[class] && whole(&lower, found.start(), found.end()) {
                    ranks[class] = rank;
                    let origin = |at: usize| origins.get(at).map_or(at, |origin| *origin as usize);
                    detected.references[class] = Some((origin(found.start()), origin(found.end())));
                }
            }
        }
    }
    detected
}

/// The turn in lower case, and where each of its bytes came from when lower-casing may have changed lengths.
fn lower_case(source: &str) -> (Cow<'_, str>, Vec<u32>) {
    if source.is_ascii() {
        return (Cow::Borrowed(source), Vec::new());
    }
    let mut lower = String::with_capacity(source.len());
    let mut origins = Vec::with_capacity(source.len() + 1);
    for (at, c) in source.char_indices() {
        lower.extend(c.to_lowercase());
        origins.resize(lower.len(), at as u32);
    }
    origins.push(source.len() as u32);
    (Cow::Owned(lower), origins)
}

fn whole(text: &str, start: usize, end: usize) -> bool {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    !letter(text[..start].chars().next_back()) && !letter(text[end..].chars().next())
}

/// `classify_intent` (SPEC-028 §5.2); the similarity is asked for only when no marker decides.
pub fn classify_intent(detected: &Detected, similarity: impl FnOnce() -> f32, stay: f32) -> (Intent, Reason, f32) {
    if detected.references[ReferenceType::Tool as usize].is_some() {
        (Intent::ToolReference, Reason::SpecMarker, 0.0)
    } else if detected.clarify {
        (Intent::Clarify, Reason::SpecMarker, 0.0)
    } else if detected.references.iter().any(Option::is_some) {
        (Intent::DrillDown, Reason::SpecMarker, 0.0)
    } else if detected.go_on {
        (Intent::Continue, Reason::SpecMarker, 0.0)
    } else {
        let similarity = similarity();
        (if similarity < stay { Intent::Explore } else { Intent::Continue }, Reason::SpecSimilarity, similarity)
    }
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
    log.turns().iter().rev().find(|turn| turn.text.to_lowercase().contains(&named)).map(|turn| Target::Turn(turn.id))
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
    use super::*;

    fn intent(source: &str, similarity: f32) -> Intent {
        classify_intent(&detect(source), || similarity, 0.50).0
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

    #[test]
    fn its_markers_are_substrings_as_written() {
        assert_eq!(intent("furthermore", 0.0), Intent::Continue);
        assert_eq!(intent("an unexplained case against us", 0.0), Intent::Clarify);
    }
}
