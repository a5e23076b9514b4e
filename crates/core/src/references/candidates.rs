//! Candidate expressions, by structure: every pronoun, demonstrative, definite phrase, position, turn and action that
//! *could* point out of the turn. Deciding which do is the model's part.

use std::cell::LazyCell;
use std::ops::{Deref, Range};

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
    /// "my flight", "our plan".
    Own,
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

/// All candidates of a turn into `found`, left to right, none inside another (SPEC-028 §4.2, G-36). Cost: linear in the words.
pub fn detect_referential_expressions(source: &str, text: &Text, found: &mut Vec<Candidate>) {
    found.clear();
    let mut at = 0;
    while at < text.words().len() && found.len() < MOST {
        match Some(at).filter(|at| may_open(text, *at)).and_then(|at| candidate(source, text, at)) {
            Some(candidate) => {
                at = candidate.words.end.max(at + 1);
                found.push(candidate);
            }
            None => at += 1,
        }
    }
}

/// False for most words that open no expression.
fn may_open(text: &Text, at: usize) -> bool {
    const OPENS: Class = Class::REFERRING
        .or(Class::DEFINITE)
        .or(Class::INDEFINITE)
        .or(Class::POSSESSIVE_FIRST)
        .or(Class::POSSESSIVE_SECOND)
        .or(Class::WH)
        .or(Class::PREPOSITION)
        .or(Class::CONJUNCTION)
        .or(Class::ONE)
        .or(Class::OTHER)
        .or(Class::SAME)
        .or(Class::SUCH)
        .or(Class::PAIR)
        .or(Class::LATTER)
        .or(Class::LAST)
        .or(Class::ORDINAL)
        .or(Class::CARDINAL)
        .or(Class::PLACE)
        .or(Class::TIME)
        .or(Class::LABEL)
        .or(Class::EARLIER)
        .or(Class::TOOL);
    let words = text.words();
    let word = &words[at];
    word.class.has(OPENS)
        || word.tag == Tag::Number
        || word.end == word.start + 1
        || text.grammar().modifiers_after && word.tag == Tag::Noun
        || words.get(at + 1).is_some_and(|next| next.class.has(Class::AGAIN))
        || owned(text, at)
        || text.phrases().iter().any(|phrase| phrase.words.start == at)
}

fn candidate(source: &str, text: &Text, at: usize) -> Option<Candidate> {
    if connects(text, at) {
        return None;
    }
    // Where the noun phrase behind a determiner ends.
    let end = LazyCell::new(|| phrase_end(text, at + 1));
    reported(text, at)
        .or_else(|| action(text, at))
        .or_else(|| turn(text, at, &end))
        .or_else(|| ordinal(source, text, at))
        .or_else(|| noun_phrase(text, at, &end))
        .or_else(|| pronoun(text, at))
}

/// "那糖醋里脊怎么做": a demonstrative that is "then" where it opens a clause and is no subject of "to be".
fn connects(text: &Text, at: usize) -> bool {
    let word = text.words()[at];
    word.class.has(Class::FAR)
        && text.role(at) == "then"
        && (word.opens() || word.gap.has(Gap::PAUSE))
        && !text.words().get(at + 1).is_some_and(|next| next.class.has(Class::BE))
}

/// "what you said about it", "what I've asked", "what you just did", "the way you did".
fn reported(text: &Text, at: usize) -> Option<Candidate> {
    let words = text.words();
    if !words[at].class.has(Class::WH.or(Class::DEFINITE).or(Class::CONJUNCTION).or(Class::PREPOSITION)) {
        return None;
    }
    let way = words[at].class.has(Class::DEFINITE) && words.get(at + 1).is_some_and(|_| text.role(at + 1) == "way");
    let reports = match text.role(at) {
        "what" => true,
        "like" | "as" => words[at].class.has(Class::CONJUNCTION.or(Class::PREPOSITION)),
        _ => false,
    };
    if !reports && !way {
        return None;
    }
    if let Some(verb) = inverted_end(text, at) {
        return Some(Candidate { words: at..verb, head: None, shape: Shape::Turn, selector: None });
    }
    let subject = at + 1 + usize::from(way);
    if !words.get(subject)?.class.has(Class::FIRST.or(Class::SECOND)) || words[subject].gap.has(Gap::STOP) {
        return None;
    }
    let verb = told_end(text, subject)?;
    let done = matches!(text.role(verb - 1), "did" | "done");
    let told = words[verb - 1].class.has(Class::SAID) || matches!(words[verb - 1].tag, Tag::Past);
    (done || told && !way).then_some(Candidate {
        words: at..verb,
        head: None,
        shape: if done { Shape::Action } else { Shape::Turn },
        selector: None,
    })
}

/// End of "was hast du … gesagt": the participle ends the sentence, as far behind its auxiliary as the sentence is long.
fn inverted_end(text: &Text, at: usize) -> Option<usize> {
    let words = text.words();
    let [auxiliary, subject, ..] = words.get(at + 1..)? else { return None };
    let asked = auxiliary.class.has(Class::AUXILIARY) && subject.class.has(Class::FIRST.or(Class::SECOND));
    let end = (at + 3..words.len()).find(|i| words[*i].gap.has(Gap::STOP)).unwrap_or(words.len());
    let last = words.get(end - 1).filter(|_| asked && end > at + 3)?;
    (last.class.has(Class::SAID) && last.tag == Tag::Past).then_some(end)
}

/// End of "you said", "I've just asked", "she sent" that begins at a subject: after its verb of the past or of saying.
fn told_end(text: &Text, subject: usize) -> Option<usize> {
    const BETWEEN: Class = Class::AUXILIARY.or(Class::FILLER).or(Class::STOP).or(Class::EARLIER);
    let words = text.words();
    // "dijiste": the verb says who speaks.
    let mut at = subject + usize::from(!words.get(subject)?.class.has(Class::SAID));
    while at < subject + 4 {
        let word = words.get(at).filter(|w| !w.gap.has(Gap::STOP.or(Gap::PAUSE)))?;
        if word.class.has(Class::SAID)
            || word.tag == Tag::Past
            || matches!(text.role(at), "did" | "done")
                && !words.get(at + 1).is_some_and(|next| next.class.has(Class::NEGATION))
        {
            return Some(at + 1);
        }
        if !(word.class.has(BETWEEN) || word.tag == Tag::Adverb)
            || matches!(text.role(at), "would" | "could" | "should" | "can" | "will" | "might" | "must" | "may")
        {
            return None;
        }
        at += 1;
    }
    None
}

/// "the option you gave", "the steps that you just listed": the clause belongs to the phrase that ends at `end`.
fn with_clause(text: &Text, end: usize) -> usize {
    let words = text.words();
    let joined = |at: usize| words.get(at).filter(|w| !w.gap.has(Gap::STOP.or(Gap::PAUSE)));
    let relative = usize::from(joined(end).is_some_and(|w| w.class.has(Class::FAR.or(Class::WH))));
    let subject = end + relative;
    if !joined(subject).is_some_and(|w| w.class.has(Class::FIRST.or(Class::SECOND).or(Class::PERSON).or(Class::THEY))) {
        return end;
    }
    let Some(told) = told_end(text, subject) else { return end };
    told + usize::from(joined(told).is_some_and(|w| w.class.has(Class::EARLIER)))
}

/// "do it again", "same for": the phrase itself; "check again": a verb and "again".
fn action(text: &Text, at: usize) -> Option<Candidate> {
    let again =
        text.words().get(at + 1).is_some_and(|w| w.class.has(Class::AGAIN) && !w.gap.has(Gap::STOP.or(Gap::PAUSE)));
    let clarifies = || text.phrases().iter().any(|p| p.kind == PhraseKind::Clarify && p.words.contains(&at));
    if again && !clarifies() && (text.words()[at].tag == Tag::Verb || text.words()[at].class.has(Class::VERBAL)) {
        return Some(Candidate { words: at..at + 2, head: None, shape: Shape::Action, selector: None });
    }
    if text.grammar().clauses_before && text.words()[at].class.has(Class::AGAIN) && !clarifies() {
        let joined = |i: &usize| text.words().get(*i).is_some_and(|w| !w.gap.has(Gap::STOP.or(Gap::PAUSE)));
        let does = |i: &usize| {
            let word = text.words()[*i];
            word.tag == Tag::Verb && !word.class.has(Class::SAID) || word.class.has(Class::VERBAL.or(Class::DO))
        };
        if let Some(verb) = (at + 1..at + 4).take_while(joined).find(does) {
            return Some(Candidate { words: at..verb + 1, head: None, shape: Shape::Action, selector: None });
        }
    }
    let phrase = text.phrases().iter().find(|p| p.kind == PhraseKind::Action && p.words.start == at)?;
    let first = text.words()[at];
    let opens = first.opens() || first.gap.has(Gap::PAUSE) || at <= 3;
    (opens || phrase.words.len() > 2).then(|| Candidate {
        words: phrase.words.clone(),
        head: None,
        shape: Shape::Action,
        selector: None,
    })
}

/// A noun whose owner, the user or the assistant, is written behind it as one with it: "جوابك".
fn owned(text: &Text, at: usize) -> bool {
    text.words().get(at + 1).is_some_and(|owner| {
        owner.gap == Gap::JOINED && owner.class.has(Class::POSSESSIVE_FIRST.or(Class::POSSESSIVE_SECOND))
    })
}

/// "what you said", "your last answer", "two messages ago", "my first question".
fn turn(text: &Text, at: usize, end: &impl Deref<Target = usize>) -> Option<Candidate> {
    let words = text.words();
    if let Some(phrase) = text.phrase_at(at, PhraseKind::Said) {
        if text.grammar().clauses_before {
            return Some(said_before(text, phrase.words.clone()));
        }
        let start = at - usize::from(at > 0 && words[at - 1].class.has(Class::WH) && !words[at].gap.has(Gap::STOP));
        let selector = selector(text, phrase.words.clone()).filter(|selector| matches!(selector, Selector::At(_)));
        return Some(Candidate { words: start..phrase.words.end, head: None, shape: Shape::Turn, selector });
    }
    if let Some(talk) = earlier_talk(text, at) {
        return Some(talk);
    }
    let word = words[at];
    if word.class.has(Class::SPEECH) && owned(text, at) {
        let end = phrase_end(text, at + 2).max(at + 2);
        let counted = selector(text, at + 2..end);
        return (counted.is_some() || words[at + 1].class.has(Class::POSSESSIVE_SECOND)).then_some(Candidate {
            words: at..end,
            head: Some(at),
            shape: Shape::Turn,
            selector: counted,
        });
    }
    let owner = word.class.has(Class::POSSESSIVE_SECOND.or(Class::POSSESSIVE_FIRST));
    if owner || word.class.has(Class::DEFINITE) {
        let end = **end;
        let last = end.checked_sub(1).filter(|head| *head > at)?;
        let head = if text.grammar().modifiers_after { head_noun(text, at + 1..end).unwrap_or(last) } else { last };
        let counted = words[at + 1..end]
            .iter()
            .any(|w| w.class.has(Class::ORDINAL.or(Class::LAST).or(Class::EARLIER).or(Class::SAME)));
        let about = words[head].class.has(Class::SPEECH)
            && said_noun(text, head)
            && words.get(end).is_some_and(|next| {
                !next.gap.has(Gap::STOP.or(Gap::PAUSE))
                    && matches!(text.role(end), "about" | "on" | "regarding" | "concerning")
            });
        if about && word.class.has(Class::DEFINITE) {
            return Some(Candidate {
                words: at..end,
                head: Some(head),
                shape: Shape::Turn,
                selector: selector(text, at..end),
            });
        }
        // "your suggestion from a couple of messages back"
        let from = (end + 1..words.len().min(end + 3)).find_map(|from| turns_ago(text, from));
        if let Some((end, count)) =
            from.filter(|_| owner && words[head].class.has(Class::SPEECH) && words[end].class.has(Class::PREPOSITION))
        {
            return Some(Candidate {
                words: at..end,
                head: Some(head),
                shape: Shape::Turn,
                selector: Some(Selector::TurnsAgo(count)),
            });
        }
        if words[head].class.has(Class::SPEECH)
            && (owner && (counted || word.class.has(Class::POSSESSIVE_SECOND)) || counted && spoken(text, head))
        {
            return Some(Candidate {
                words: at..end,
                head: Some(head),
                shape: Shape::Turn,
                selector: selector(text, at..end),
            });
        }
    }
    // "पिछला जवाब", "последний ответ": no article says that it is the one given.
    if text.grammar().no_article && word.class.has(Class::ORDINAL.or(Class::LAST).or(Class::EARLIER)) {
        let end = **end;
        if let Some(head) = head_noun(text, at + 1..end).filter(|head| spoken(text, *head)) {
            return Some(Candidate {
                words: at..end,
                head: Some(head),
                shape: Shape::Turn,
                selector: selector(text, at..end),
            });
        }
    }
    let (end, count) = turns_ago(text, at)?;
    Some(Candidate {
        words: at..end,
        head: Some(end - 2),
        shape: Shape::Turn,
        selector: Some(Selector::TurnsAgo(count)),
    })
}

/// "你刚才说的维修责任", "아까 말한 거": a clause about what was said and the noun that it comes before.
fn said_before(text: &Text, clause: Range<usize>) -> Candidate {
    const SPOKEN: Class = Class::SPEECH.or(Class::ONE);
    let words = text.words();
    let joined = |at: usize| words.get(at).is_some_and(|w| !w.gap.has(Gap::STOP.or(Gap::PAUSE)));
    let spoken = |at: usize| words[at].class.has(SPOKEN);
    let pointed = joined(clause.end) && words[clause.end].class.has(Class::NEAR.or(Class::FAR).or(Class::INDEFINITE));
    let from = clause.end + usize::from(pointed);
    let end = match (joined(from), joined(from + 1)) {
        (true, _) if spoken(from) => from + 1,
        // "维修责任": a verb before the noun that it describes.
        (true, true) if words[from].tag == Tag::Verb && words[from + 1].tag == Tag::Noun => phrase_end(text, from + 1),
        (true, _) => phrase_end(text, from),
        _ => from,
    };
    let head = head_noun(text, from..end);
    let said = head.is_none_or(spoken);
    let words = clause.start..if head.is_some() { end } else { clause.end };
    // "刚才" says that it was said, not which turn said it.
    let selector = selector(text, words.clone()).filter(|selector| said && *selector != Selector::Previous);
    Candidate { words, head, shape: if said { Shape::Turn } else { Shape::Definite }, selector }
}

/// "刚才签证的话题", "さっきの経費の話": what was said earlier about something.
fn earlier_talk(text: &Text, at: usize) -> Option<Candidate> {
    let words = text.words();
    if !(text.grammar().clauses_before && words[at].class.has(Class::EARLIER)) {
        return None;
    }
    let mut end = phrase_end(text, at + 1);
    if end > at + 1 && words.get(end).is_some_and(|_| text.role(end) == "of") {
        end = phrase_end(text, end + 1);
    }
    let head = end.checked_sub(1).filter(|head| *head > at && words[*head].class.has(Class::SPEECH))?;
    Some(Candidate { words: at..end, head: Some(head), shape: Shape::Turn, selector: None })
}

/// "two messages ago", "3 turns back", "a couple of answers ago": where it ends and how many.
fn turns_ago(text: &Text, at: usize) -> Option<(usize, u32)> {
    let words = text.words();
    let word = words.get(at)?;
    if !(word.value > 0 && word.class.has(Class::CARDINAL) || word.tag == Tag::Number) {
        return None;
    }
    let noun = at + 1 + usize::from(words.get(at + 1).is_some_and(|_| text.role(at + 1) == "of"));
    let ago = words.get(noun + 1).filter(|ago| !ago.gap.has(Gap::STOP))?;
    let turns =
        words[noun].class.has(Class::SPEECH) || matches!(text.role(noun), "turn" | "turns" | "prompt" | "prompts");
    (turns && (matches!(text.role(noun + 1), "ago" | "back") || ago.class.has(Class::EARLIER)))
        .then(|| (noun + 2, u32::from(word.value.unsigned_abs())))
}

/// A noun of speech that is about this conversation: messages, answers, questions, not "the last point of the essay".
fn spoken(text: &Text, head: usize) -> bool {
    said_noun(text, head) && !text.words().get(head + 1).is_some_and(|next| next.class.has(Class::PREPOSITION))
}

fn said_noun(text: &Text, head: usize) -> bool {
    matches!(
        text.role(head),
        "message"
            | "messages"
            | "answer"
            | "answers"
            | "question"
            | "questions"
            | "reply"
            | "replies"
            | "response"
            | "responses"
    )
}

/// Positions: "the second one", "option B", "#3", "both", "the latter".
fn ordinal(source: &str, text: &Text, at: usize) -> Option<Candidate> {
    let (words, selector) = super::ordinal::find(source, text, at)?;
    let words = words.start..with_clause(text, words.end);
    let head = words
        .clone()
        .rev()
        .find(|i| matches!(text.words()[*i].tag, Tag::Noun) && *i > words.start && text.words()[*i].value == 0);
    Some(Candidate { words, head, shape: Shape::Ordinal, selector: Some(selector) })
}

/// Definite and demonstrative phrases, possessives, "such a …", "the same …".
fn noun_phrase(text: &Text, at: usize, end: &impl Deref<Target = usize>) -> Option<Candidate> {
    const DETERMINER: Class = Class::NEAR
        .or(Class::FAR)
        .or(Class::DEFINITE)
        .or(Class::POSSESSIVE_THIRD)
        .or(Class::POSSESSIVE_FIRST)
        .or(Class::OTHER)
        .or(Class::SUCH);
    let words = text.words();
    let word = words[at];
    if text.grammar().no_article && word.class.has(Class::TOOL) {
        let words = at..output_end(text, at..phrase_end(text, at).max(at + 1));
        return Some(Candidate { head: head_noun(text, words.clone()), words, shape: Shape::Definite, selector: None });
    }
    // "explique-le", "deixe-o": behind its verb the article is a pronoun.
    let pronoun = word.class.has(Class::DEFINITE) && word.class.has(Class::IT.or(Class::THEY)) && hyphenated(text, at);
    if !word.class.has(DETERMINER) || pronoun {
        return None;
    }
    let end = output_end(text, at..**end);
    let noun = head_noun(text, at + 1..end);
    let selector = whole(text, at, end);
    let with =
        |shape| Some(Candidate { words: at..with_clause(text, end), head: noun, shape, selector: selector.clone() });
    let one = |i: usize| words.get(i).is_some_and(|w| w.class.has(Class::ONE) && !w.gap.has(Gap::STOP));
    // "그걸", "これ": no determiner, whatever follows.
    if word.class.has(Class::IT) && word.class.has(Class::NEAR.or(Class::FAR)) {
        return None;
    }
    if word.class.has(Class::NEAR.or(Class::FAR)) {
        // "هذا الخطأ" is "this error", "هذا خطأ" is "this is an error".
        if text.grammar().attached_article && !words.get(at + 1).is_some_and(|next| next.class.has(Class::DEFINITE)) {
            return None;
        }
        if one(at + 1) {
            return Some(Candidate { words: at..at + 2, head: None, shape: Shape::One, selector: None });
        }
        if noun.is_none() && selector.is_some() {
            return with(Shape::Demonstrative);
        }
        return if noun.is_some_and(|noun| agrees(text, at, noun))
            && !conjunction(text, at)
            && !verb_follows(text, at, end)
        {
            with(Shape::DemonstrativeNoun)
        } else {
            None
        };
    }
    if word.class.has(Class::OTHER) && one(at + 1) {
        return Some(Candidate { words: at..at + 2, head: None, shape: Shape::One, selector: None });
    }
    if word.class.has(Class::POSSESSIVE_FIRST) && noun.is_some() {
        return with(Shape::Own);
    }
    if word.class.has(Class::POSSESSIVE_THIRD) && word.gap == Gap::JOINED && at > 0 {
        let noun = Some(at - 1).filter(|owned| words[*owned].tag == Tag::Noun);
        let shape = if noun.is_some() { Shape::Possessive } else { Shape::It };
        return Some(Candidate { words: at..at + 1, head: noun, shape, selector: None });
    }
    if word.class.has(Class::POSSESSIVE_THIRD) && end > at + 1 {
        return Some(Candidate { words: at..at + 1, head: noun, shape: Shape::Possessive, selector: None });
    }
    if word.class.has(Class::DEFINITE) {
        if let Some(end) = described_one(text, at) {
            return Some(Candidate { words: at..end, head: None, shape: Shape::One, selector: None });
        }
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
        return (end > at + 1 + skip && !as_like).then(|| Candidate {
            words: at..end,
            head: Some(end - 1),
            shape: Shape::Such,
            selector: None,
        });
    }
    None
}

fn pronoun(text: &Text, at: usize) -> Option<Candidate> {
    const PRONOUN: Class = Class::REFERRING.or(Class::PLACE).or(Class::TIME).or(Class::ONE).or(Class::OTHER);
    let words = text.words();
    let word = words[at];
    if !word.class.has(PRONOUN) {
        return None;
    }
    let owns = text.grammar().clauses_before && words.get(at + 1).is_some_and(|_| text.role(at + 1) == "of");
    let shape = if owns && word.class.has(Class::IT.or(Class::THEY).or(Class::PERSON)) {
        let end = phrase_end(text, at + 2);
        let head = head_noun(text, at + 2..end);
        return Some(Candidate { words: at..at + 1, head, shape: Shape::Possessive, selector: None });
    } else if word.class.has(Class::IT) {
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
    } else if word.class.has(Class::ONE)
        && !text.grammar().clauses_before
        && word.tag != Tag::Number
        && (at == 0 || !words[at - 1].class.has(Class::CARDINAL) || word.gap.has(Gap::STOP))
    {
        if counts_noun(text, at) {
            return None;
        }
        Shape::One
    } else if word.class.has(Class::OTHER) && text.role(at) != "else" && !follows_noun(text, at) {
        Shape::One
    } else {
        return None;
    };
    if shape == Shape::Demonstrative && conjunction(text, at) || formula(text, at, shape) {
        return None;
    }
    Some(Candidate { words: at..at + 1, head: None, shape, selector: None })
}

/// "سؤال آخر" is "another question": the word belongs to the noun before it.
fn follows_noun(text: &Text, at: usize) -> bool {
    let words = text.words();
    text.grammar().modifiers_after
        && at > 0
        && words[at - 1].tag == Tag::Noun
        && !words[at].gap.has(Gap::STOP.or(Gap::PAUSE))
}

/// "that's all", "that is it", "got it": said in dialogues about nothing in particular.
fn formula(text: &Text, at: usize, shape: Shape) -> bool {
    let words = text.words();
    match shape {
        Shape::Demonstrative => {
            words.get(at + 1).is_some_and(|w| w.class.has(Class::BE))
                && words
                    .get(at + 2)
                    .is_some_and(|_| matches!(text.role(at + 2), "all" | "it" | "enough" | "everything"))
                || correlative(text, at)
        }
        Shape::It => {
            at >= 1
                && text.role(at - 1) == "got"
                && words.get(at + 1).is_none_or(|w| w.gap.has(Gap::STOP.or(Gap::PAUSE)))
                || at >= 2 && words[at - 1].class.has(Class::BE) && words[at - 2].class.has(Class::FAR)
        }
        _ => false,
    }
}

/// "वह … जो", "тот, кто": the relative clause that follows says who is meant.
fn correlative(text: &Text, at: usize) -> bool {
    const LONGEST: usize = 12;
    let words = text.words();
    words[at].class.has(Class::FAR)
        && (at + 1..words.len().min(at + LONGEST))
            .take_while(|i| words[*i].sentence == words[at].sentence)
            .any(|i| text.role(i) == "whoever")
}

/// "one last thing", "one way": a number before its noun, not a pro-form.
fn counts_noun(text: &Text, at: usize) -> bool {
    let next = text.words().get(at + 1).filter(|next| !next.gap.has(Gap::STOP.or(Gap::PAUSE)));
    let anyone =
        at > 0 && text.words()[at - 1].class.has(Class::AUXILIARY) && next.is_some_and(|next| next.tag == Tag::Verb);
    text.role(at) == "one" && (anyone || at > 0 && text.role(at - 1) == "by")
        || text.role(at) == "one"
            && next.is_some_and(|next| {
                matches!(next.tag, Tag::Noun | Tag::Adjective)
                    && !next.class.has(Class::BE.or(Class::AUXILIARY).or(Class::PREPOSITION))
                    || next.class.has(Class::LAST)
                    || text.role(at + 1) == "by"
            })
}

/// "the red one", "the Oslo to Bergen one", "the round the clock one": up to its pro-form, if that comes before any verb.
fn described_one(text: &Text, at: usize) -> Option<usize> {
    const LONGEST: usize = 6;
    const CLOSED: Class = Class::BE
        .or(Class::AUXILIARY)
        .or(Class::WH)
        .or(Class::FIRST)
        .or(Class::SECOND)
        .or(Class::REFERRING)
        .or(Class::CONJUNCTION)
        .or(Class::SUBORDINATOR)
        .or(Class::NEGATION);
    let words = text.words();
    for i in at + 1..words.len().min(at + LONGEST + 1) {
        let word = words[i];
        if word.gap.has(Gap::STOP.or(Gap::PAUSE)) && !hyphenated(text, i) || matches!(word.tag, Tag::Verb) {
            return None;
        }
        if word.class.has(Class::ONE) {
            let number = counts_noun(text, i);
            return (!number).then_some(i + 1);
        }
        if word.class.has(CLOSED) && !(word.class.has(Class::PREPOSITION) && i > at + 1) {
            return None;
        }
    }
    None
}

/// "방금 에러 원인": nouns stand side by side where one would be the genitive of the other; output is what is pointed at.
fn output_end(text: &Text, phrase: Range<usize>) -> usize {
    if !text.grammar().no_article || text.grammar().modifiers_after {
        return phrase.end;
    }
    phrase.clone().rev().find(|at| text.words()[*at].class.has(Class::TOOL)).map_or(phrase.end, |at| at + 1)
}

/// The noun that a phrase is about: its last, or its first where adjectives follow.
pub(super) fn head_noun(text: &Text, phrase: Range<usize>) -> Option<usize> {
    let mut nouns = phrase.filter(|i| matches!(text.words()[*i].tag, Tag::Noun | Tag::Gerund));
    if text.grammar().modifiers_after { nouns.next() } else { nouns.next_back() }
}

/// "the two flights", "those two", "all three": as many as a list has.
fn whole(text: &Text, at: usize, end: usize) -> Option<Selector> {
    let counted = text.words()[at + 1..end.max(at + 1)]
        .iter()
        .take(2)
        .find(|word| word.class.has(Class::CARDINAL) && word.value > 1)?;
    Some(Selector::All(counted.value as u32))
}

/// "this" and "that" go with one thing, "these" and "those" with several; names of no number go with both.
fn agrees(text: &Text, at: usize, noun: usize) -> bool {
    let plural = matches!(text.role(at), "these" | "those");
    plural || text.grammar().no_article || !is_plural(text, noun) || text.words()[noun].capital
}

/// A noun in the plural, by its form.
pub(super) fn is_plural(text: &Text, noun: usize) -> bool {
    text.grammar().is_plural(text.folded(noun))
}

/// "does that apply to", "can this work": the word after the demonstrative is the verb of the question.
fn verb_follows(text: &Text, at: usize, end: usize) -> bool {
    let words = text.words();
    let asked = at > 0 && !words[at].gap.has(Gap::STOP) && words[at - 1].class.has(Class::AUXILIARY);
    let after = words.get(end).filter(|w| !w.gap.has(Gap::STOP));
    let object = after.is_none_or(|w| {
        w.class.has(Class::PREPOSITION.or(Class::DEFINITE).or(Class::INDEFINITE).or(Class::REFERRING))
            && text.role(end) != "of"
    });
    asked && end == at + 2 && object
}

/// End of the noun phrase whose words begin at `start`, just after its determiner.
pub(super) fn phrase_end(text: &Text, start: usize) -> usize {
    const MODIFIER: Class = Class::POSITIONAL.or(Class::ONE).or(Class::ITEM);
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
        if end > start && verb_at_end(text, end) {
            break;
        }
        let modifies = word.class.has(MODIFIER);
        let next_nominal = words.get(end + 1).is_some_and(|n| {
            matches!(n.tag, Tag::Noun | Tag::Adjective) && !n.gap.has(Gap::STOP.or(Gap::PAUSE)) && !n.class.has(CLOSED)
        });
        let article = text.grammar().attached_article
            && word.class.has(Class::DEFINITE)
            && words.get(end + 1).is_some_and(|n| n.gap == Gap::JOINED)
            && (end == start || word.gap != Gap::JOINED);
        // "那个方案贵吗": behind its noun an adjective is what is said of it.
        let predicate = text.grammar().clauses_before
            && word.tag == Tag::Adjective
            && end > start
            && words[end - 1].tag == Tag::Noun;
        if predicate {
            break;
        }
        let fits = article
            || hyphenated(text, end) && end > start
            || match word.tag {
                Tag::Noun | Tag::Adjective | Tag::Number => !word.class.has(CLOSED) || modifies,
                Tag::Gerund | Tag::Past => end == start && (next_nominal || word.tag == Tag::Gerund),
                Tag::Adverb => next_nominal && end == start,
                Tag::Function => {
                    modifies && !word.class.has(Class::PREPOSITION) || word.class.has(Class::EARLIER) && end == start
                }
                Tag::Verb => false,
            };
        if !fits {
            break;
        }
        end += 1;
        if word.tag == Tag::Noun && text.grammar().is_cased(text.folded(end - 1)) {
            break;
        }
    }
    let verbal_end = end > start + 1 && words[end - 1].class.has(Class::VERBAL) && asked_about(text, start);
    if verbal_end { end - 1 } else { end }
}

/// "Bu listeyi Excel'e aktar": where the verb ends its sentence, a last word that nobody knows is it.
fn verb_at_end(text: &Text, at: usize) -> bool {
    let words = text.words();
    text.grammar().verb_final
        && words[at].class.is_empty()
        && words.get(at + 1).is_none_or(|next| next.gap.has(Gap::STOP))
}

/// "which port does the second step need": the phrase is the subject of a question, so its last word is the verb.
fn asked_about(text: &Text, start: usize) -> bool {
    text.words()[start.saturating_sub(4)..start].iter().any(|word| word.class.has(Class::AUXILIARY))
}

/// Joined to the word before by a hyphen.
pub(super) fn hyphenated(text: &Text, at: usize) -> bool {
    let words = text.words();
    at > 0 && words.get(at).is_some_and(|word| word.start == words[at - 1].end + 1 && word.gap.has(Gap::PAUSE))
}

/// "that" as conjunction or relative pronoun: "I think that plants need light", "a book that sells", "the film that you saw".
pub(super) fn conjunction(text: &Text, at: usize) -> bool {
    const SUBJECT: Class = Class::FIRST
        .or(Class::SECOND)
        .or(Class::IT)
        .or(Class::THEY)
        .or(Class::PERSON)
        .or(Class::DEFINITE)
        .or(Class::INDEFINITE)
        .or(Class::POSSESSIVE_FIRST)
        .or(Class::POSSESSIVE_SECOND)
        .or(Class::POSSESSIVE_THIRD)
        .or(Class::PLACE);
    let words = text.words();
    let word = words[at];
    if !word.class.has(Class::FAR)
        || at == 0
        || word.gap.has(Gap::STOP.or(Gap::PAUSE))
        || !matches!(text.role(at), "that" | "thats")
    {
        return false;
    }
    let before = words[at - 1];
    let Some(next) = words.get(at + 1).filter(|next| !next.gap.has(Gap::STOP.or(Gap::PAUSE))) else { return false };
    if before.class.has(Class::PREPOSITION.or(Class::BE).or(Class::AUXILIARY).or(Class::CONJUNCTION).or(Class::WH))
        && !before.class.has(Class::SAYING)
    {
        return false;
    }
    if next.class.has(SUBJECT) || next.class.has(Class::NEAR.or(Class::FAR)) {
        return true;
    }
    let verbal = |i: usize| {
        words.get(i).is_some_and(|w| {
            matches!(w.tag, Tag::Verb | Tag::Past) || w.class.has(Class::BE.or(Class::AUXILIARY).or(Class::VERBAL))
        })
    };
    let determined = at >= 2 && words[at - 2].class.has(Class::DEFINITE.or(Class::INDEFINITE));
    let nominal = (matches!(before.tag, Tag::Noun | Tag::Adjective | Tag::Number)
        || before.class.has(Class::ONE.or(Class::INDEFINITE)))
        && (determined || !before.class.has(Class::VERBAL.or(Class::REQUEST)));
    if nominal && (verbal(at + 1) || next.tag == Tag::Adverb && verbal(at + 2)) {
        return true;
    }
    let several = (at + 1..phrase_end(text, at + 1))
        .any(|i| words[i].tag == Tag::Noun && is_plural(text, i) && !words[i].capital);
    let said = before.class.has(Class::SAYING.or(Class::SAID).or(Class::EVALUATIVE)) || nominal;
    let clause = (at + 2..words.len().min(at + 8)).take_while(|i| !words[*i].gap.has(Gap::STOP)).any(verbal);
    nominal && several
        || said
            && clause
            && (several
                || next.capital
                || matches!(next.tag, Tag::Gerund)
                || next.class.has(Class::SUBORDINATOR.or(Class::WH)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Pack;

    fn detected(source: &str, text: &Text) -> Vec<Candidate> {
        let mut found = Vec::new();
        detect_referential_expressions(source, text, &mut found);
        found
    }

    fn found(source: &str) -> Vec<(String, Shape)> {
        let mut text = Text::default();
        text.read(source, &Pack::of("en"));
        let words = text.words();
        detected(source, &text)
            .into_iter()
            .map(|c| {
                (source[words[c.words.start].start as usize..words[c.words.end - 1].end as usize].to_owned(), c.shape)
            })
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
        assert_eq!(
            only("your advice from a couple of messages back"),
            ("your advice from a couple of messages back".into(), Shape::Turn)
        );
        assert_eq!(only("the answer about rent"), ("the answer".into(), Shape::Turn));
    }

    #[test]
    fn a_complementiser_is_not_a_demonstrative_phrase() {
        assert!(found("I think that plants need light").iter().all(|(_, shape)| *shape != Shape::DemonstrativeNoun));
    }

    #[test]
    fn conjunctions_relatives_and_demonstratives() {
        let that = |source: &str| {
            let mut text = Text::default();
            text.read(source, &Pack::of("en"));
            let at = (0..text.words().len()).find(|at| text.folded(*at) == "that").unwrap();
            conjunction(&text, at)
        };
        for source in [
            "I think that plants need light",
            "she said that it works",
            "a script that sorts files",
            "something that lasts",
            "the film that you saw",
            "I believe that Rome fell",
        ] {
            assert!(that(source), "{source}");
        }
        for source in [
            "explain that",
            "I like that one",
            "what about that bug",
            "is that right",
            "I believe that claim is wrong",
            "does that apply to rentals",
            "tell me more about that",
        ] {
            assert!(!that(source), "{source}");
        }
    }

    #[test]
    fn clauses_about_what_was_said_belong_to_their_phrase() {
        assert_eq!(only("the last option you gave"), ("the last option you gave".into(), Shape::Ordinal));
        assert_eq!(
            only("the tents you mentioned earlier"),
            ("the tents you mentioned earlier".into(), Shape::Definite)
        );
        assert_eq!(
            only("those steps that you just listed"),
            ("those steps that you just listed".into(), Shape::DemonstrativeNoun)
        );
        assert_eq!(only("what I've asked before"), ("what I've asked".into(), Shape::Turn));
        assert_eq!(only("scratch what you just did"), ("what you just did".into(), Shape::Action));
        assert_eq!(only("your first reply"), ("your first reply".into(), Shape::Turn));
    }

    #[test]
    fn clauses_before_their_noun() {
        let found = |locale: &str, source: &str| {
            let mut text = Text::default();
            text.read(source, &Pack::of(locale));
            let words = text.words();
            let spans = detected(source, &text).into_iter().map(|c| {
                let (from, to) = (words[c.words.start].start as usize, words[c.words.end - 1].end as usize);
                (source[from..to].to_owned(), c.shape)
            });
            spans.collect::<Vec<_>>()
        };
        for (locale, source, span, shape) in [
            ("zh", "你刚才说的那个方案贵吗", "你刚才说的那个方案", Shape::Definite),
            ("zh", "你刚才说的是真的吗", "你刚才说的", Shape::Turn),
            ("ko", "아까 말한 거 맞아?", "아까 말한 거", Shape::Turn),
            ("ja", "さっきの経費の話に戻るけど", "さっきの経費の話", Shape::Turn),
            ("zh", "它的热量高吗", "它", Shape::Possessive),
            ("zh", "第二个贵吗", "第二个", Shape::Ordinal),
            ("ja", "B案にします", "B案", Shape::Ordinal),
            ("ja", "④は？", "④", Shape::Ordinal),
            ("zh", "重新部署吧", "重新部署", Shape::Action),
        ] {
            assert!(
                found(locale, source).iter().any(|c| *c == (span.to_owned(), shape)),
                "{:?}",
                found(locale, source)
            );
        }
        for (locale, source) in [("zh", "那糖醋里脊怎么做"), ("zh", "还有别的办法吗"), ("ko", "다른 질문인데요")]
        {
            assert!(found(locale, source).is_empty(), "{:?}", found(locale, source));
        }
    }

    #[test]
    fn pro_forms() {
        assert_eq!(only("the Oslo to Bergen one"), ("the Oslo to Bergen one".into(), Shape::One));
        assert_eq!(only("which one"), ("one".into(), Shape::One));
        assert_eq!(only("the cheapest one"), ("the cheapest one".into(), Shape::One));
        assert_eq!(only("the other two"), ("the other two".into(), Shape::One));
        assert_eq!(only("cancel my flight"), ("my flight".into(), Shape::Own));
        assert_eq!(only("show me another one"), ("another one".into(), Shape::One));
        for source in
            ["one last thing", "one by one", "can one grow figs indoors", "what else", "that's all", "got it!"]
        {
            assert!(found(source).is_empty(), "{source}: {:?}", found(source));
        }
    }

    #[test]
    fn verbs_after_a_demonstrative_are_not_its_noun() {
        assert_eq!(only("does that apply to rentals"), ("that".into(), Shape::Demonstrative));
        assert_eq!(only("would that idiom offend"), ("that idiom".into(), Shape::DemonstrativeNoun));
    }

    #[test]
    fn no_expression_in_words_that_only_contain_one() {
        for source in
            ["Edit config.yaml", "commit changes", "recredit accounts", "habit forming", "before noon, run jobs"]
        {
            assert!(found(source).is_empty(), "{source}: {:?}", found(source));
        }
    }
}
