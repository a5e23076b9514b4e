//! What is known of a candidate expression, in numbers with names.

use std::sync::OnceLock;

use super::candidates::{Candidate, Shape, is_plural};
use super::offers::{Offer, Offers};
use super::resolve::Context;
use super::scene::{MENTIONED, Mention, Scene};
use crate::text::{Class, Gap, PhraseKind, Tag, Text, Word};
use crate::turn_log::Role;

/// Names of the numbers in [`candidate_features`]; the weights in `packs/model.json` use them.
pub const CANDIDATE_FEATURES: [&str; 106] = [
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
    "shape.own",
    "opens",
    "ends",
    "words",
    "late-sentence",
    "position",
    "prev.verb",
    "prev.preposition",
    "prev.saying",
    "prev.be",
    "prev.auxiliary",
    "prev.indefinite",
    "next.be",
    "next.auxiliary",
    "next.verb",
    "next.noun",
    "next.preposition",
    "next.of",
    "next.relative",
    "idiom",
    "pleonastic",
    "extraposed",
    "existential",
    "superlative",
    "local.nouns",
    "local.antecedents",
    "local.antecedents-in-sentence",
    "local.plural",
    "local.name",
    "local.same-head",
    "local.content",
    "local.it-singular",
    "local.they-plural",
    "local.person-human",
    "local.possessive-noun",
    "local.demonstrative-clause",
    "chain.described",
    "chain.pronoun",
    "chain.same-words",
    "chain.nested",
    "chain.nested-in-position",
    "chain.pronoun-after-described",
    "chain.pronoun-after-position",
    "head.known",
    "head.recency",
    "head.last-answer",
    "head.last-user",
    "head.everywhere",
    "head.generic",
    "head.human",
    "head.unique",
    "head.speech",
    "head.item",
    "head.tool",
    "scratch.holds",
    "head.capital",
    "head.none",
    "head.plural",
    "phrase.length",
    "phrase.modifiers-known",
    "phrase.modifiers-new",
    "phrase.earlier",
    "phrase.same-other",
    "phrase.told",
    "definite.known",
    "definite.postmodified",
    "definite.generic",
    "definite.unique",
    "definite.plural",
    "definite.plural-known",
    "definite.together",
    "definite.of-known",
    "definite.of-new",
    "definite.new",
    "near.time",
    "near.copula",
    "own.last-answer",
    "one.modified",
    "one.which",
    "ordinal.fits",
    "ordinal.alone",
    "turn.main-clause",
    "place.ends",
    "then.opens",
    "far",
    "plural-demonstrative",
    "log.question",
    "log.short",
    "turn.known",
    "turn.request",
    "similarity.last",
    "similarity.best",
];

/// What earlier expressions of the turn a candidate may only repeat.
#[derive(Default)]
struct Chain {
    described: bool,
    /// A position, or a pro-form with words of its own.
    position: bool,
    pronoun: bool,
    same_words: bool,
    /// It stands in the phrase that follows another: "the second tip for *the garden*".
    nested: bool,
    nested_in_position: bool,
}

impl Chain {
    fn read(candidate: &Candidate, earlier: &[Candidate], scene: &Scene<'_>) -> Self {
        let text = scene.context.text;
        let mut seen = Self::default();
        for other in earlier {
            let pronoun = is_pronoun(other.shape);
            let known = || other.head.is_some_and(|head| scene.knows(head));
            seen.pronoun |= pronoun;
            seen.position |=
                matches!(other.shape, Shape::Ordinal) || other.shape == Shape::One && other.words.len() > 1;
            seen.described |= matches!(other.shape, Shape::Ordinal | Shape::DemonstrativeNoun | Shape::One)
                || matches!(other.shape, Shape::Definite | Shape::Own) && known();
            seen.same_words |= pronoun
                && other.words.len() == candidate.words.len()
                && text.folded(other.words.start) == text.folded(candidate.words.start);
        }
        let start = candidate.words.start;
        if let Some(outer) = earlier.last().filter(|outer| {
            start > 0 && outer.words.end + 1 == start && text.words()[start - 1].class.has(Class::PREPOSITION)
        }) {
            seen.nested = true;
            seen.nested_in_position = matches!(outer.shape, Shape::Ordinal | Shape::One | Shape::Turn | Shape::Action);
        }
        seen
    }
}

const fn is_pronoun(shape: Shape) -> bool {
    matches!(shape, Shape::It | Shape::They | Shape::Person | Shape::Possessive | Shape::Demonstrative)
}

/// What of a candidate's words the log knows.
#[derive(Default)]
struct Known {
    mention: Option<Mention>,
    /// Share of the words beside the head that the log knows; 0 when there are none.
    modifiers: f32,
    modifiers_new: bool,
    /// All words stand in one turn: the one that mentions the head last, or for no head any modifier.
    together: bool,
}

impl Known {
    fn read(candidate: &Candidate, scene: &Scene<'_>) -> Self {
        let words = scene.context.text.words();
        let head =
            candidate.head.filter(|at| words[*at].is_content() || words[*at].class.has(Class::GENERIC.or(Class::ITEM)));
        let mention = head.and_then(|at| scene.context.last_mention(at));
        let (mut all, mut known, mut together) = (0u32, 0u32, 0u32);
        for at in candidate.words.clone().filter(|at| Some(*at) != candidate.head) {
            let word = words[at];
            if word.is_content() && word.tag != Tag::Function {
                all += 1;
                known += u32::from(scene.knows(at));
                together += u32::from(mention.is_some_and(|m| scene.holds(at, m.position)));
            }
        }
        Self {
            mention,
            modifiers: known as f32 / all.max(1) as f32,
            modifiers_new: known < all,
            together: mention.is_some() && together == all,
        }
    }
}

/// How much the last mention of a head counts that is so far back.
fn recency(distance: usize) -> f32 {
    static BY_DISTANCE: OnceLock<[f32; MENTIONED + 1]> = OnceLock::new();
    BY_DISTANCE.get_or_init(|| std::array::from_fn(|distance| 0.5f32.powf(distance as f32 / 4.0)))[distance]
}

/// The numbers of one candidate, each in [0, 1] or near it; `earlier` are the candidates before it. Cost: linear in its
/// words, and a look at those before it for its head.
pub(super) fn candidate_features(
    candidate: &Candidate,
    earlier: &[Candidate],
    scene: &Scene<'_>,
) -> [f32; CANDIDATE_FEATURES.len()] {
    let Context { text, log, .. } = scene.context;
    let words = text.words();
    let Candidate { words: range, head, shape, .. } = candidate;
    let (start, end) = (range.start, range.end);
    let first = words[start];
    let joined = |at: usize| !words[at].gap.has(Gap::STOP);
    // What comes before an attached pronoun comes before the word that carries it: "سعره" is "its price".
    let outer = start - usize::from(start > 0 && first.gap == Gap::JOINED && first.class.has(Class::POSSESSIVE_THIRD));
    let previous = (outer > 0 && joined(outer)).then(|| words[outer - 1]);
    // "la compro": an object before its verb is read as if it stood behind it.
    let object = is_pronoun(*shape) && end < words.len() && joined(end) && before_verb(text, start);
    let (previous, end) = if object { (Some(words[end]), end + 1) } else { (previous, end) };
    let next = (end < words.len() && joined(end)).then(|| words[end]);
    let flag = |holds: bool| f32::from(u8::from(holds));
    let adposition = if text.grammar().postpositions { next } else { previous };
    let prev_is = |class: Class| flag(previous.is_some_and(|w| w.class.has(class)));
    let next_is = |class: Class| flag(next.is_some_and(|w| w.class.has(class)));

    let head_word = head.map(|at| words[at]);
    let last_word = words[end - 1];
    let head_is = |class: Class| head_word.is_some_and(|w| w.class.has(class));
    let (before, in_sentence) = scene.offers.before(text, outer);
    let same_head = head.is_some_and(|head| Offers::repeats(text, outer, head));
    let chain = Chain::read(candidate, earlier, scene);
    let found = Known::read(candidate, scene);
    let mention = found.mention;
    let known = mention.is_some();
    let recency = mention.map_or(0.0, |m| recency(m.distance));
    let everywhere = head.filter(|_| known).map_or(0.0, |at| scene.frequency(at) as f32 / log.len().max(1) as f32);
    let last_answer = mention.is_some_and(|m| m.distance <= 2 && m.role == Role::Assistant);

    let definite = matches!(shape, Shape::Definite | Shape::DefiniteBare);
    let pronoun = is_pronoun(*shape);
    let plural = head.is_some_and(|at| is_plural(text, at));
    let of = !text.grammar().clauses_before && next.is_some_and(|_| text.role(end) == "of");
    let relative = next.is_some_and(|w| {
        w.class.has(Class::WH.or(Class::FAR)) || w.class.has(Class::FIRST.or(Class::SECOND)) && head.is_some()
    });
    let preposition = !text.grammar().postpositions && next.is_some_and(|w| w.class.has(Class::PREPOSITION));
    let modified = (definite && preposition).then(|| complement(text, end)).flatten();
    let modifier_known = modified.is_some_and(|at| scene.knows(at));
    let idiom = text.phrases().iter().any(|p| {
        p.kind == PhraseKind::Idiom && (start.saturating_sub(6)..end).contains(&p.words.start) && start < p.words.end
    });
    let superlative = range.clone().any(|at| is_superlative(text, at));
    let classes = |of: &[Word]| of.iter().fold(Class::NONE, |all, word| all.or(word.class));
    let behind_first = &words[start + 1..range.end];
    let (behind, inside) = (classes(behind_first), classes(&words[range.clone()]));
    let unique =
        head_is(Class::UNIQUE) || head.is_none() && *shape == Shape::DefiniteBare && last_word.class.has(Class::UNIQUE);
    let one = *shape == Shape::One;

    let is = |of: Shape| flag(*shape == of);
    [
        is(Shape::It),
        is(Shape::They),
        is(Shape::Person),
        is(Shape::Possessive),
        is(Shape::Demonstrative),
        is(Shape::DemonstrativeNoun),
        is(Shape::Definite),
        is(Shape::DefiniteBare),
        is(Shape::One),
        is(Shape::Such),
        is(Shape::PlaceTime),
        is(Shape::Ordinal),
        is(Shape::Turn),
        is(Shape::Action),
        is(Shape::Own),
        flag(words[outer].opens()),
        flag(end == words.len()),
        (text.length().max(1) as f32).ln() / 4.0,
        flag(first.sentence > 0),
        start as f32 / words.len() as f32,
        flag(previous.is_some_and(|w| matches!(w.tag, Tag::Verb | Tag::Past | Tag::Gerund))),
        flag(adposition.is_some_and(|w| w.class.has(Class::PREPOSITION))),
        prev_is(Class::SAYING),
        prev_is(Class::BE),
        prev_is(Class::AUXILIARY),
        prev_is(Class::INDEFINITE),
        next_is(Class::BE),
        next_is(Class::AUXILIARY),
        flag(next.is_some_and(|w| w.tag == Tag::Verb)),
        flag(next.is_some_and(|w| w.tag == Tag::Noun || w.tag == Tag::Adjective)),
        flag(preposition),
        flag(of),
        flag(relative),
        flag(idiom),
        flag(*shape == Shape::It && pleonastic(text, start)),
        flag(*shape == Shape::It && extraposed(text, start)),
        flag(*shape == Shape::PlaceTime && existential(text, start)),
        flag(superlative),
        before.count(Offer::NOUN).min(4) as f32 / 4.0,
        before.count(Offer::ANTECEDENT).min(4) as f32 / 4.0,
        in_sentence.count(Offer::ANTECEDENT).min(3) as f32 / 3.0,
        flag(before.has(Offer::PLURAL)),
        flag(before.has(Offer::NAME)),
        flag(same_head),
        before.count(Offer::CONTENT).min(8) as f32 / 8.0,
        flag(*shape == Shape::It && before.has(Offer::SINGULAR)),
        flag(*shape == Shape::They && before.has(Offer::PLURAL)),
        flag(*shape == Shape::Person && (before.has(Offer::HUMAN) || before.has(Offer::NAME))),
        flag(*shape == Shape::Possessive && before.has(Offer::NOUN)),
        flag(*shape == Shape::Demonstrative && before.has(Offer::VERB) && before.has(Offer::NOUN)),
        flag(chain.described),
        flag(chain.pronoun),
        flag(chain.same_words),
        flag(chain.nested),
        flag(chain.nested_in_position),
        flag(pronoun && chain.described),
        flag(pronoun && chain.position),
        flag(known),
        recency,
        flag(last_answer),
        flag(mention.is_some_and(|m| m.distance <= 2 && m.role == Role::User)),
        everywhere,
        flag(head_is(Class::GENERIC)),
        flag(head_is(Class::HUMAN)),
        flag(unique),
        flag(head_is(Class::SPEECH)),
        flag(head_is(Class::ITEM)),
        flag(head_is(Class::TOOL)),
        flag(!pronoun && scene.context.scratch_holds(range.clone())),
        flag(behind_first.iter().any(|word| word.capital)),
        flag(head.is_none()),
        flag(plural),
        range.len() as f32 / 4.0,
        found.modifiers,
        flag(found.modifiers_new),
        flag(inside.has(Class::EARLIER)),
        flag(inside.has(Class::SAME.or(Class::OTHER))),
        flag(
            *shape != Shape::Turn
                && (behind.has(Class::FIRST.or(Class::SECOND)) || text.phrase_at(start, PhraseKind::Said).is_some()),
        ),
        flag(definite && known),
        flag(definite && (of || relative || preposition)),
        flag(definite && head_is(Class::GENERIC)),
        flag(definite && unique),
        flag(definite && plural),
        flag(definite && plural && known),
        flag(definite && found.together),
        flag(modified.is_some() && modifier_known),
        flag(modified.is_some() && !modifier_known),
        flag(definite && !known && found.modifiers == 0.0),
        flag(matches!(shape, Shape::DemonstrativeNoun) && unique && first.class.has(Class::NEAR)),
        flag(
            *shape == Shape::Demonstrative
                && first.class.has(Class::NEAR)
                && next.is_some_and(|w| w.class.has(Class::BE))
                && words.get(end + 1).is_some_and(|w| w.class.has(Class::INDEFINITE.or(Class::POSSESSIVE_FIRST))),
        ),
        flag(*shape == Shape::Own && last_answer),
        flag(one && range.len() > 1),
        flag(one && previous.is_some_and(|w| w.class.has(Class::WH))),
        flag(candidate.selector.as_ref().is_some_and(|selector| scene.context.some_list_has(selector))),
        flag(
            *shape == Shape::Ordinal
                && candidate.selector.as_ref().is_some_and(|selector| !scene.context.some_list_has(selector)),
        ),
        flag(*shape == Shape::Turn && first.opens() && !first.class.has(Class::WH)),
        flag(*shape == Shape::PlaceTime && end == words.len()),
        flag(*shape == Shape::PlaceTime && first.class.has(Class::TIME) && first.opens()),
        flag(first.class.has(Class::FAR)),
        flag(matches!(text.role(start), "these" | "those")),
        flag(log.last_position(Role::Assistant).is_some_and(|at| log.traits()[at].question())),
        1.0 / log.len().max(1) as f32,
        scene.share_known(range.clone()),
        flag(text.requests(0)),
        scene.context.similarity_last().max(0.0),
        scene.most_similar.max(0.0),
    ]
}

/// "la compro", "le pongo": a pronoun that is an object wherever it stands, here before its verb.
fn before_verb(text: &Text, at: usize) -> bool {
    let words = text.words();
    text.role(at) == "object"
        && (words[at + 1].tag == Tag::Verb || words[at + 1].class.has(Class::AUXILIARY.or(Class::BE)))
}

/// The noun that a preposition after the phrase brings: "the price of the *boat*".
fn complement(text: &Text, preposition: usize) -> Option<usize> {
    let words = text.words();
    (preposition + 1..words.len().min(preposition + 5))
        .take_while(|at| !words[*at].gap.has(Gap::STOP.or(Gap::PAUSE)))
        .find(|at| words[*at].is_content() && matches!(words[*at].tag, Tag::Noun | Tag::Gerund | Tag::Adjective))
}

/// "best", "cheapest", "most": one of all, which needs no antecedent.
fn is_superlative(text: &Text, at: usize) -> bool {
    matches!(text.role(at), "most" | "least" | "best" | "worst" | "top" | "only" | "main")
        || text.grammar().is_superlative(text.folded(at)) && text.words()[at].tag != Tag::Verb
}

/// "there is", "are there any", "what sorts are there": nothing is meant by "there".
fn existential(text: &Text, at: usize) -> bool {
    let words = text.words();
    let be = |i: usize| words.get(i).is_some_and(|w| w.class.has(Class::BE) && !w.gap.has(Gap::STOP));
    let from = words.partition_point(|word| word.sentence < words[at].sentence);
    let negated = at >= 2 && words[at - 1].class.has(Class::NEGATION) && words[at - 2].class.has(Class::BE);
    words[at].class.has(Class::PLACE)
        && text.role(at) == "there"
        && (be(at + 1)
            || words.get(at + 1).is_some_and(|w| w.class.has(Class::AUXILIARY))
            || (at > 0 && words[at - 1].class.has(Class::BE) || negated)
                && (at + 1 < words.len() || at > 1 && words[at - 2].tag == Tag::Noun && text.asks(from)))
}

/// "is it expensive to …", "what does it mean to …", "how long does it take to …": "it" stands for what comes after "to".
fn extraposed(text: &Text, at: usize) -> bool {
    let words = text.words();
    let be = words.get(at + 1).is_some_and(|w| w.class.has(Class::BE.or(Class::AUXILIARY)))
        || at > 0 && words[at - 1].class.has(Class::BE.or(Class::AUXILIARY))
        || at > 0 && words[at - 1].class.has(Class::SAYING);
    let inside = (at + 1..words.len().min(at + 9)).take_while(|i| {
        !words[*i].gap.has(Gap::STOP.or(Gap::PAUSE)) && !words[*i].class.has(Class::REFERRING.or(Class::FIRST))
    });
    let Some(to) = inside.clone().find(|i| {
        text.role(*i) == "to"
            && words
                .get(i + 1)
                .is_some_and(|w| w.tag == Tag::Verb || w.class.has(Class::VERBAL.or(Class::BE).or(Class::AUXILIARY)))
    }) else {
        return inside.clone().any(|i| matches!(text.role(i), "take" | "takes" | "took") && i <= at + 2);
    };
    let before_to = &words[at + 1..to];
    be && before_to.iter().any(|w| matches!(w.tag, Tag::Adjective) || w.class.has(Class::EVALUATIVE))
        || before_to.iter().enumerate().any(|(i, _)| {
            matches!(text.role(at + 1 + i), "mean" | "means" | "take" | "takes" | "cost" | "costs" | "help" | "helps")
        })
}

/// "it is important to …", "is it safe to …", "it rains", "it takes two hours to …": nothing is meant by "it".
pub(super) fn pleonastic(text: &Text, at: usize) -> bool {
    let words = text.words();
    let before = at.checked_sub(1).map(|i| words[i]);
    let inverted = before.is_some_and(|w| w.class.has(Class::BE.or(Class::AUXILIARY)));
    let window = &words[at + 1..words.len().min(at + 7)];
    let evaluative = window.iter().take(4).position(|w| w.class.has(Class::EVALUATIVE));
    let clause = evaluative.is_some_and(|i| {
        window[i + 1..].iter().take(3).any(|w| w.class.has(Class::PREPOSITION.or(Class::SUBORDINATOR).or(Class::FAR)))
    });
    let empty = window.iter().take(3).any(|w| w.class.has(Class::EMPTY_IT));
    let be = window.first().is_some_and(|w| w.class.has(Class::BE.or(Class::AUXILIARY))) || inverted;
    be && (clause || empty)
}
