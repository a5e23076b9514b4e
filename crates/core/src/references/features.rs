//! What is known of a candidate expression, in numbers with names.

use super::candidates::{Candidate, Shape};
use super::resolve::Context;
use crate::text::{Class, Gap, PhraseKind, Tag};
use crate::turn_log::Role;

/// Names of the numbers in [`candidate_features`]; the weights in `packs/model.json` use them.
pub const CANDIDATE_FEATURES: [&str; 62] = [
    "shape.it",
    "shape.they",
    "shape.person",
    "shape.possessive",
    "shape.demonstrative",
    "shape.demonstrative-noun",
    "shape.definite",
    "shape.definite-bare",
    "shape.one",
    "shape.such",
    "shape.place-time",
    "shape.ordinal",
    "shape.turn",
    "shape.action",
    "opens",
    "ends",
    "words",
    "late-sentence",
    "position",
    "prev.verb",
    "prev.preposition",
    "prev.saying",
    "prev.be",
    "prev.noun",
    "next.be",
    "next.auxiliary",
    "next.verb",
    "next.noun",
    "next.preposition",
    "next.of",
    "next.relative",
    "idiom",
    "pleonastic",
    "local.nouns",
    "local.indefinite",
    "local.plural",
    "local.name",
    "local.human",
    "local.same-head",
    "head.known",
    "head.recency",
    "head.last-answer",
    "head.last-user",
    "head.generic",
    "head.human",
    "head.unique",
    "head.speech",
    "head.item",
    "head.tool",
    "head.capital",
    "head.none",
    "phrase.length",
    "phrase.modifiers-known",
    "phrase.earlier",
    "phrase.same-other",
    "definite.known",
    "definite.postmodified",
    "definite.generic",
    "far",
    "plural-demonstrative",
    "log.question",
    "similarity.last",
];

/// Words before a candidate that are searched for an antecedent inside the turn.
const LOOK_BACK: usize = 40;

/// The numbers of one candidate, each in [0, 1] or near it. Cost: linear in the words before it and a look at the last
/// turns for its head.
pub fn candidate_features(candidate: &Candidate, context: &Context<'_>) -> [f32; CANDIDATE_FEATURES.len()] {
    let text = context.text;
    let words = text.words();
    let Candidate { words: range, head, shape, .. } = candidate;
    let (start, end) = (range.start, range.end);
    let first = words[start];
    let joined = |at: usize| !words[at].gap.has(Gap::STOP);
    let previous = (start > 0 && joined(start)).then(|| words[start - 1]);
    let next = (end < words.len() && joined(end)).then(|| words[end]);
    let flag = |holds: bool| f32::from(u8::from(holds));
    let prev_is = |class: Class| flag(previous.is_some_and(|w| w.class.has(class)));
    let next_is = |class: Class| flag(next.is_some_and(|w| w.class.has(class)));

    // What stands further back in a long turn is no antecedent of a pronoun.
    let before = &words[start.saturating_sub(LOOK_BACK)..start];
    let nouns = before.iter().filter(|w| w.tag == Tag::Noun && w.is_content() && !w.class.has(Class::REQUEST)).count();
    let local_plural = before.iter().any(|w| w.tag == Tag::Noun && w.is_content() && text.stem(w).ends_with('s'));
    let local_name = before.iter().any(|w| w.capital && w.is_content() && !w.opens());

    let head_word = head.map(|at| words[at]);
    let head_is = |class: Class| flag(head_word.is_some_and(|w| w.class.has(class)));
    let mention = head_word.filter(|w| w.is_content() || w.class.has(Class::GENERIC.or(Class::ITEM))).and_then(|w| context.last_mention(w.term));
    let known = flag(mention.is_some());
    let recency = mention.map_or(0.0, |m| 0.5f32.powf(m.distance as f32 / 4.0));
    let modifiers: Vec<u32> = range.clone().filter(|at| Some(*at) != *head && words[*at].is_content()).map(|at| words[at].term).collect();
    let modifiers_known = if modifiers.is_empty() { 0.0 } else { modifiers.iter().filter(|term| context.last_mention(**term).is_some()).count() as f32 / modifiers.len() as f32 };
    let local_head = head_word.is_some_and(|h| before.iter().any(|w| w.term == h.term));

    let definite = matches!(shape, Shape::Definite | Shape::DefiniteBare);
    let of = next.is_some_and(|_| text.folded(end) == "of");
    let relative = next.is_some_and(|w| w.class.has(Class::WH.or(Class::FAR)) || w.class.has(Class::FIRST.or(Class::SECOND)) && head.is_some());
    let preposition = next.is_some_and(|w| w.class.has(Class::PREPOSITION));
    let idiom = (start.saturating_sub(6)..end).any(|at| text.phrase_at(at, PhraseKind::Idiom).is_some_and(|p| start < p.words.end));

    let mut features = [0.0; CANDIDATE_FEATURES.len()];
    features[Shape::ALL.iter().position(|s| s == shape).unwrap_or(0)] = 1.0;
    let rest = [
        flag(first.opens()),
        flag(end == words.len()),
        (words.len() as f32).ln() / 4.0,
        flag(first.sentence > 0),
        start as f32 / words.len() as f32,
        flag(previous.is_some_and(|w| matches!(w.tag, Tag::Verb | Tag::Past | Tag::Gerund))),
        prev_is(Class::PREPOSITION),
        prev_is(Class::SAYING),
        prev_is(Class::BE),
        flag(previous.is_some_and(|w| w.tag == Tag::Noun)),
        next_is(Class::BE),
        next_is(Class::AUXILIARY),
        flag(next.is_some_and(|w| w.tag == Tag::Verb)),
        flag(next.is_some_and(|w| w.tag == Tag::Noun || w.tag == Tag::Adjective)),
        flag(preposition),
        flag(of),
        flag(relative),
        flag(idiom),
        flag(*shape == Shape::It && pleonastic(context, start)),
        nouns.min(4) as f32 / 4.0,
        flag(before.iter().zip(before.iter().skip(1)).any(|(a, n)| a.class.has(Class::INDEFINITE) && matches!(n.tag, Tag::Noun | Tag::Adjective))),
        flag(local_plural),
        flag(local_name),
        flag(before.iter().any(|w| w.class.has(Class::HUMAN))),
        flag(local_head),
        known,
        recency,
        flag(mention.is_some_and(|m| m.distance <= 2 && m.role == Role::Assistant)),
        flag(mention.is_some_and(|m| m.distance <= 2 && m.role == Role::User)),
        head_is(Class::GENERIC),
        head_is(Class::HUMAN),
        head_is(Class::UNIQUE),
        head_is(Class::SPEECH),
        head_is(Class::ITEM),
        head_is(Class::TOOL),
        flag(range.clone().any(|at| words[at].capital && at > start)),
        flag(head.is_none()),
        range.len() as f32 / 4.0,
        modifiers_known,
        flag(range.clone().any(|at| words[at].class.has(Class::EARLIER))),
        flag(range.clone().any(|at| words[at].class.has(Class::SAME.or(Class::OTHER)))),
        if definite { known } else { 0.0 },
        flag(definite && (of || relative || preposition)),
        if definite { head_is(Class::GENERIC) } else { 0.0 },
        flag(first.class.has(Class::FAR)),
        flag(matches!(text.folded(start), "these" | "those")),
        flag(context.log.last(Role::Assistant).is_some_and(|turn| turn.question)),
        context.similarity_last().max(0.0),
    ];
    features[Shape::ALL.len()..].copy_from_slice(&rest);
    features
}

/// "it is important to …", "is it safe to …", "it rains", "it takes two hours to …": nothing is meant by "it".
fn pleonastic(context: &Context<'_>, at: usize) -> bool {
    let words = context.text.words();
    let before = at.checked_sub(1).map(|i| words[i]);
    let inverted = before.is_some_and(|w| w.class.has(Class::BE.or(Class::AUXILIARY)));
    let window = &words[at + 1..words.len().min(at + 7)];
    let evaluative = window.iter().take(4).position(|w| w.class.has(Class::EVALUATIVE));
    let clause = evaluative.is_some_and(|i| window[i + 1..].iter().take(3).any(|w| w.class.has(Class::PREPOSITION.or(Class::SUBORDINATOR).or(Class::FAR))));
    let empty = window.iter().take(3).any(|w| w.class.has(Class::EMPTY_IT));
    let be = window.first().is_some_and(|w| w.class.has(Class::BE.or(Class::AUXILIARY))) || inverted;
    be && (clause || empty)
}
