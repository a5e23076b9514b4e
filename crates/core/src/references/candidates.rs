//! Candidate expressions, by structure: every pronoun, demonstrative, definite phrase, position, turn and action that
//! *could* point out of the turn. Deciding which do is the model's part.

use std::ops::Range;

use super::ordinal::{Selector, selector};
use crate::text::{Class, Gap, PhraseKind, Tag, Text};

/// What a candidate looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// "it".
    It,
    /// "they", "them".
    They,
    /// "he", "she".
    Person,
    /// "its price", "their address".
    Possessive,
    /// Bare "this", "that", "these", "those".
    Demonstrative,
    /// "that bug", "these results".
    DemonstrativeNoun,
    /// "the movie".
    Definite,
    /// "the cheapest", "the same": a definite phrase without a noun.
    DefiniteBare,
    /// "that one", "another one", "the others".
    One,
    /// "such a trip", "the same method".
    Such,
    /// "there", "then".
    PlaceTime,
    /// "the second option", "#3", "both".
    Ordinal,
    /// "your last answer", "what you said".
    Turn,
    /// "do it again", "same for".
    Action,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 14] = [
        Self::It,
        Self::They,
        Self::Person,
        Self::Possessive,
        Self::Demonstrative,
        Self::DemonstrativeNoun,
        Self::Definite,
        Self::DefiniteBare,
        Self::One,
        Self::Such,
        Self::PlaceTime,
        Self::Ordinal,
        Self::Turn,
        Self::Action,
    ];
}

/// An expression that could point out of the turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its words.
    pub words: Range<usize>,
    /// Its head noun.
    pub head: Option<usize>,
    /// What it looks like.
    pub shape: Shape,
    /// Which members of a list or which turn it selects.
    pub selector: Option<Selector>,
}

/// Candidates looked at in one turn; nobody points at more, and a flood of "it" must not stop the event loop.
const MOST: usize = 64;

/// All candidates of a turn, left to right, none inside another (SPEC-028 §4.2, G-36). Cost: linear in the words.
pub fn detect_referential_expressions(source: &str, text: &Text) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    let mut at = 0;
    while at < text.words().len() && found.len() < MOST {
        match candidate(source, text, at) {
            Some(candidate) => {
                at = candidate.words.end.max(at + 1);
                found.push(candidate);
            }
            None => at += 1,
        }
    }
    found
}

fn candidate(source: &str, text: &Text, at: usize) -> Option<Candidate> {
    action(text, at)
        .or_else(|| turn(text, at))
        .or_else(|| ordinal(source, text, at))
        .or_else(|| noun_phrase(text, at))
        .or_else(|| pronoun(text, at))
}

/// "do it again", "same for": the phrase itself; "again" after a verb of doing.
fn action(text: &Text, at: usize) -> Option<Candidate> {
    let phrase = text.phrase_at(at, PhraseKind::Action)?;
    let first = text.words()[at];
    let opens = first.opens() || first.gap.has(Gap::PAUSE) || at <= 3;
    (opens || phrase.words.len() > 2).then(|| Candidate { words: phrase.words.clone(), head: None, shape: Shape::Action, selector: None })
}

/// "what you said", "your last answer", "two messages ago", "my first question".
fn turn(text: &Text, at: usize) -> Option<Candidate> {
    let words = text.words();
    if let Some(phrase) = text.phrase_at(at, PhraseKind::Said) {
        let start = at - usize::from(at > 0 && words[at - 1].class.has(Class::WH) && !words[at].gap.has(Gap::STOP));
        return Some(Candidate { words: start..phrase.words.end, head: None, shape: Shape::Turn, selector: None });
    }
    let word = words[at];
    let owner = word.class.has(Class::POSSESSIVE_SECOND.or(Class::POSSESSIVE_FIRST));
    if owner || word.class.has(Class::DEFINITE) {
        let end = phrase_end(text, at + 1);
        let head = end.checked_sub(1).filter(|head| *head > at)?;
        let counted = words[at + 1..=head].iter().any(|w| w.class.has(Class::ORDINAL.or(Class::LAST).or(Class::EARLIER).or(Class::SAME)));
        if words[head].class.has(Class::SPEECH) && (owner && (counted || word.class.has(Class::POSSESSIVE_SECOND)) || counted && spoken(text, head)) {
            return Some(Candidate { words: at..end, head: Some(head), shape: Shape::Turn, selector: selector(text, at..end) });
        }
    }
    // "two messages ago", "3 turns ago"
    let ago = words.get(at + 2).filter(|_| word.value > 0 && word.class.has(Class::CARDINAL) || word.tag == Tag::Number)?;
    (words[at + 1].class.has(Class::SPEECH) && text.folded(at + 2) == "ago" && !ago.gap.has(Gap::STOP))
        .then(|| Candidate { words: at..at + 3, head: Some(at + 1), shape: Shape::Turn, selector: Some(Selector::TurnsAgo(u32::from(word.value.unsigned_abs()))) })
}

/// A noun of speech that is about this conversation: messages, answers, questions, not "the last point of the essay".
fn spoken(text: &Text, head: usize) -> bool {
    matches!(text.stem(&text.words()[head]), "message" | "messages" | "answer" | "answers" | "question" | "questions" | "reply" | "replies" | "response" | "responses")
        && !text.words().get(head + 1).is_some_and(|next| next.class.has(Class::PREPOSITION))
}

/// Positions: "the second one", "option B", "#3", "both", "the latter".
fn ordinal(source: &str, text: &Text, at: usize) -> Option<Candidate> {
    let (words, selector) = super::ordinal::find(source, text, at)?;
    let head = words.clone().rev().find(|i| matches!(text.words()[*i].tag, Tag::Noun) && *i > words.start && text.words()[*i].value == 0);
    Some(Candidate { words, head, shape: Shape::Ordinal, selector: Some(selector) })
}

/// Definite and demonstrative phrases, possessives, "such a …", "the same …".
fn noun_phrase(text: &Text, at: usize) -> Option<Candidate> {
    let words = text.words();
    let word = words[at];
    let end = phrase_end(text, at + 1);
    let noun = (at + 1..end).rev().find(|i| words[*i].tag == Tag::Noun || words[*i].tag == Tag::Gerund);
    let with = |shape| Some(Candidate { words: at..end, head: noun, shape, selector: None });
    let one = |i: usize| words.get(i).is_some_and(|w| w.class.has(Class::ONE) && !w.gap.has(Gap::STOP));
    if word.class.has(Class::NEAR.or(Class::FAR)) {
        if one(at + 1) {
            return Some(Candidate { words: at..at + 2, head: None, shape: Shape::One, selector: None });
        }
        // "that" before a clause is a conjunction; the model sees what follows and decides.
        return if noun.is_some() && !clause_follows(text, at) { with(Shape::DemonstrativeNoun) } else { None };
    }
    if word.class.has(Class::POSSESSIVE_THIRD) && end > at + 1 {
        return Some(Candidate { words: at..at + 1, head: noun, shape: Shape::Possessive, selector: None });
    }
    if word.class.has(Class::DEFINITE) {
        let same = words.get(at + 1).is_some_and(|w| w.class.has(Class::SAME));
        let other = words.get(at + 1).is_some_and(|w| w.class.has(Class::OTHER));
        return match noun {
            _ if same => with(Shape::Such),
            Some(head) if words[head].class.has(Class::ONE) => with(Shape::One),
            None if other => with(Shape::One),
            Some(_) => with(Shape::Definite),
            None if end > at + 1 => with(Shape::DefiniteBare),
            None => None,
        };
    }
    if word.class.has(Class::SUCH) {
        let skip = usize::from(words.get(at + 1).is_some_and(|w| w.class.has(Class::INDEFINITE)));
        let end = phrase_end(text, at + 1 + skip);
        let as_like = words.get(at + 1).is_some_and(|w| w.class.has(Class::PREPOSITION.or(Class::SUBORDINATOR)));
        return (end > at + 1 + skip && !as_like).then(|| Candidate { words: at..end, head: Some(end - 1), shape: Shape::Such, selector: None });
    }
    None
}

fn pronoun(text: &Text, at: usize) -> Option<Candidate> {
    let words = text.words();
    let word = words[at];
    let shape = if word.class.has(Class::IT) {
        Shape::It
    } else if word.class.has(Class::THEY) {
        Shape::They
    } else if word.class.has(Class::POSSESSIVE_THIRD) {
        Shape::Possessive
    } else if word.class.has(Class::PERSON) {
        Shape::Person
    } else if word.class.has(Class::NEAR.or(Class::FAR)) {
        Shape::Demonstrative
    } else if word.class.has(Class::PLACE.or(Class::TIME)) {
        Shape::PlaceTime
    } else if word.class.has(Class::ONE) && word.tag != Tag::Number && (at == 0 || !words[at - 1].class.has(Class::CARDINAL) || word.gap.has(Gap::STOP)) {
        Shape::One
    } else if word.class.has(Class::OTHER) {
        Shape::One
    } else {
        return None;
    };
    Some(Candidate { words: at..at + 1, head: None, shape, selector: None })
}

/// End of the noun phrase whose words begin at `start`, just after its determiner.
pub(super) fn phrase_end(text: &Text, start: usize) -> usize {
    const MODIFIER: Class = Class::ORDINAL.or(Class::CARDINAL).or(Class::OTHER).or(Class::SAME).or(Class::LAST).or(Class::EARLIER).or(Class::NEXT).or(Class::LATTER).or(Class::ONE).or(Class::ITEM);
    const CLOSED: Class = Class::PREPOSITION
        .or(Class::CONJUNCTION)
        .or(Class::SUBORDINATOR)
        .or(Class::BE)
        .or(Class::AUXILIARY)
        .or(Class::WH)
        .or(Class::NEGATION)
        .or(Class::REFERRING)
        .or(Class::FIRST)
        .or(Class::SECOND)
        .or(Class::POSSESSIVE_FIRST)
        .or(Class::POSSESSIVE_SECOND)
        .or(Class::DEFINITE)
        .or(Class::INDEFINITE)
        .or(Class::INTERJECTION)
        .or(Class::AGAIN)
        .or(Class::ADDITIVE);
    let words = text.words();
    let mut end = start;
    while let Some(word) = words.get(end) {
        if word.gap.has(Gap::STOP.or(Gap::PAUSE)) && end >= start && !hyphenated(text, end) {
            break;
        }
        let modifies = word.class.has(MODIFIER);
        let next_nominal = words.get(end + 1).is_some_and(|n| matches!(n.tag, Tag::Noun | Tag::Adjective) && !n.gap.has(Gap::STOP.or(Gap::PAUSE)) && !n.class.has(CLOSED));
        let fits = match word.tag {
            Tag::Noun | Tag::Adjective | Tag::Number => !word.class.has(CLOSED) || modifies,
            Tag::Gerund | Tag::Past => next_nominal && end == start || word.tag == Tag::Gerund && end == start,
            Tag::Adverb => next_nominal && end == start,
            Tag::Function => modifies && !word.class.has(Class::PREPOSITION) || word.class.has(Class::EARLIER) && end == start,
            Tag::Verb => false,
        };
        if !fits {
            break;
        }
        end += 1;
    }
    let verbal_end = end > start + 1 && words[end - 1].class.has(Class::VERBAL) && asked_about(text, start);
    if verbal_end { end - 1 } else { end }
}

/// "which port does the second step need": the phrase is the subject of a question, so its last word is the verb.
fn asked_about(text: &Text, start: usize) -> bool {
    text.words()[start.saturating_sub(4)..start].iter().any(|word| word.class.has(Class::AUXILIARY))
}

fn hyphenated(text: &Text, at: usize) -> bool {
    at > 0 && text.words()[at].start == text.words()[at - 1].end + 1 && !text.words()[at].gap.has(Gap::STOP)
}

/// "that" + subject + verb: "I think that plants need light".
fn clause_follows(text: &Text, at: usize) -> bool {
    let words = text.words();
    let said = at > 0 && !words[at].gap.has(Gap::STOP) && words[at - 1].class.has(Class::SAYING);
    let plural_or_subject = words.get(at + 1).is_some_and(|w| w.class.has(Class::FIRST.or(Class::SECOND).or(Class::REFERRING).or(Class::DEFINITE).or(Class::INDEFINITE)));
    plural_or_subject || (said && words[at].class.has(Class::FAR) && words[at + 1..].iter().take(4).any(|w| w.tag == Tag::Verb || w.class.has(Class::BE.or(Class::AUXILIARY).or(Class::VERBAL))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Pack;

    fn found(source: &str) -> Vec<(String, Shape)> {
        let mut text = Text::default();
        text.read(source, &Pack::of("en"));
        let words = text.words();
        detect_referential_expressions(source, &text)
            .into_iter()
            .map(|c| (source[words[c.words.start].start as usize..words[c.words.end - 1].end as usize].to_owned(), c.shape))
            .collect()
    }

    fn only(source: &str) -> (String, Shape) {
        let all = found(source);
        assert_eq!(all.len(), 1, "{source}: {all:?}");
        all[0].clone()
    }

    #[test]
    fn the_examples_of_the_specification() {
        assert_eq!(only("fix that bug"), ("that bug".into(), Shape::DemonstrativeNoun));
        assert_eq!(only("what you said earlier"), ("what you said".into(), Shape::Turn));
        assert_eq!(only("the second option"), ("the second option".into(), Shape::Ordinal));
        assert_eq!(only("do it again but faster"), ("do it again".into(), Shape::Action));
        assert_eq!(only("the query result"), ("the query result".into(), Shape::Definite));
    }

    #[test]
    fn phrases_end_where_the_verb_begins() {
        assert_eq!(only("which port does the second step need?"), ("the second step".into(), Shape::Ordinal));
        assert_eq!(only("how long is the old movie in minutes"), ("the old movie".into(), Shape::Definite));
        assert_eq!(only("your last answer was wrong"), ("your last answer".into(), Shape::Turn));
        assert_eq!(only("two messages ago"), ("two messages ago".into(), Shape::Turn));
    }

    #[test]
    fn a_complementiser_is_not_a_demonstrative_phrase() {
        assert!(found("I think that plants need light").iter().all(|(_, shape)| *shape != Shape::DemonstrativeNoun));
    }

    #[test]
    fn no_expression_in_words_that_only_contain_one() {
        for source in ["Edit config.yaml", "commit changes", "recredit accounts", "habit forming", "before noon, run jobs"] {
            assert!(found(source).is_empty(), "{source}: {:?}", found(source));
        }
    }
}
