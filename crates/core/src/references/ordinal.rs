//! Positions: "the second one", "option B", "#3", "the last two", "the former", "both", "two messages ago" (G-32).

use std::ops::Range;

use super::candidates::{hyphenated, phrase_end};
use crate::text::{Class, Gap, Tag, Text};

/// Which members of a list, or which turn, an expression selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// 1-based positions, in the order named.
    At(Vec<u32>),
    /// A label: the number or letter position written beside the item.
    Label(u32),
    /// The k-th from the end; 1 = the last.
    FromEnd(u32),
    /// The first n.
    First(u32),
    /// The last n.
    Last(u32),
    /// Both of two, either, neither.
    Pair,
    /// All n of a list of n: "the two options".
    All(u32),
    /// The one in the middle.
    Middle,
    /// n turns of the same speaker ago.
    TurnsAgo(u32),
    /// The turn before.
    Previous,
}

impl Selector {
    /// 1-based positions in a list of `n`, or `None` when the list has no such members.
    pub fn positions(&self, n: u32) -> Option<Vec<u32>> {
        let within = |at: u32| (1..=n).contains(&at);
        match self {
            Self::At(positions) => positions.iter().all(|at| within(*at)).then(|| positions.clone()),
            Self::Label(at) => within(*at).then(|| vec![*at]),
            Self::FromEnd(k) => within(*k).then(|| vec![n + 1 - k]),
            Self::First(k) => within(*k).then(|| (1..=*k).collect()),
            Self::Last(k) => within(*k).then(|| (n + 1 - k..=n).collect()),
            Self::Pair => (n == 2).then(|| vec![1, 2]),
            Self::All(k) => (n == *k).then(|| (1..=n).collect()),
            Self::Middle => (n >= 3 && n % 2 == 1).then(|| vec![n / 2 + 1]),
            Self::TurnsAgo(_) | Self::Previous => None,
        }
    }
}

impl Selector {
    /// True when a list of `n` whose first item carries label `first` has the members; as [`Selector::positions`], but free.
    pub(super) fn fits(&self, n: u32, first: u32) -> bool {
        match self {
            Self::At(positions) => positions.iter().all(|at| (1..=n).contains(at)),
            Self::Label(at) => (first..first + n).contains(at),
            Self::FromEnd(k) | Self::First(k) | Self::Last(k) => (1..=n).contains(k),
            Self::Pair => n == 2,
            Self::All(k) => n == *k,
            Self::Middle => n >= 3 && n % 2 == 1,
            Self::TurnsAgo(_) | Self::Previous => false,
        }
    }
}

/// The selector of a phrase already found, such as "your second answer" or "my last question".
pub(super) fn selector(text: &Text, words: Range<usize>) -> Option<Selector> {
    text.words()[words].iter().find_map(|word| {
        if word.class.has(Class::ORDINAL) {
            Some(Selector::At(vec![word.value as u32]))
        } else if word.class.has(Class::LAST) {
            Some(Selector::FromEnd(1))
        } else if word.class.has(Class::EARLIER) {
            Some(Selector::Previous)
        } else {
            None
        }
    })
}

/// The position expression that begins at word `at`, if one does: its words and what it selects.
pub(super) fn find(source: &str, text: &Text, at: usize) -> Option<(Range<usize>, Selector)> {
    let words = text.words();
    let word = words[at];
    if !may_begin(text, at) {
        return None;
    }
    if word.class.has(Class::LABEL)
        && !word.class.has(Class::CARDINAL)
        && let Some(found) = labelled(source, text, at)
    {
        return Some(found);
    }
    if word.tag == Tag::Number && source[..word.start as usize].ends_with('#') && word.value > 0 {
        return Some((at..at + 1, Selector::Label(word.value as u32)));
    }
    // "4 numara"
    if word.tag == Tag::Number && word.value > 0 && at + 1 < words.len() && text.role(at + 1) == "numbered" {
        return Some((at..at + 2, Selector::Label(word.value as u32)));
    }
    if let Some(label) = label_before(source, text, at) {
        return Some(label);
    }
    // "la b", "o B": the label of a member, with an article.
    if word.class.has(Class::DEFINITE)
        && words.get(at + 1).is_some_and(|label| !label.gap.has(Gap::STOP.or(Gap::PAUSE)))
        && let Some((label, selector)) = bare_label(source, text, at + 1)
    {
        return Some((at..label.end, selector));
    }
    if let Some(found) = bare_label(source, text, at).or_else(|| numerals(source, text, at)) {
        return Some(found);
    }
    if word.class.has(Class::PAIR) && !coordination(text, at) {
        let end = pair_end(text, at);
        return Some((at..end, Selector::Pair));
    }
    let all = || words.get(at + 1).is_some_and(|w| !w.gap.has(Gap::STOP.or(Gap::PAUSE)) && text.role(at + 1) == "all");
    if word.class.has(Class::CARDINAL) && word.value > 1 && all() {
        return Some((at..at + 1, Selector::All(word.value as u32)));
    }
    if text.role(at) == "all"
        && let Some(n) =
            words.get(at + 1).filter(|n| n.class.has(Class::CARDINAL) && n.value > 1 && !n.gap.has(Gap::STOP))
    {
        let noun = (at + 2..phrase_end(text, at + 2)).rev().find(|i| words[*i].tag == Tag::Noun);
        return Some((at..noun.map_or(at + 2, |noun| noun + 1), Selector::All(n.value as u32)));
    }
    if word.class.is_empty() && word.tag != Tag::Number && !matches!(text.role(at), "penultimate" | "middle") {
        return None;
    }
    let determined = word.class.has(Class::DEFINITE.or(Class::NEAR).or(Class::FAR).or(Class::POSSESSIVE_SECOND));
    let another = word.class.has(Class::INDEFINITE) && matches!(text.role(at), "a");
    let start = at + usize::from(determined || another);
    let first = words.get(start).filter(|w| start == at || !w.gap.has(Gap::STOP.or(Gap::PAUSE)))?;
    if first.class.has(Class::LATTER) {
        let end = if words.get(start + 1).is_some_and(|w| {
            w.tag == Tag::Noun && !w.gap.has(Gap::STOP.or(Gap::PAUSE)) && w.class.has(Class::ITEM.or(Class::ONE))
        }) {
            start + 2
        } else {
            start + 1
        };
        return Some((
            at..end,
            if text.role(start).starts_with('l') { Selector::FromEnd(1) } else { Selector::At(vec![1]) },
        ));
    }
    if let Some((words, selector)) = Some(start)
        .filter(|start| *start > at && first.class.has(Class::LABEL))
        .and_then(|at| labelled(source, text, at))
    {
        return Some((at..words.end, selector));
    }
    if let Some(found) = after_noun(text, at, start) {
        return Some(found);
    }
    if determined && modifies(text, at) {
        return None;
    }
    let bare = !determined && !another;
    let (after, selector) = positions(text, start)?;
    // "2番目の手順": the genitive joins a position to its noun.
    let joint = text.grammar().clauses_before && words.get(after).is_some_and(|_| text.role(after) == "of");
    let after = after + usize::from(joint && phrase_end(text, after + 1) > after + 1);
    // "ilk ikisini": the ending of case ends the phrase.
    let end = if text.grammar().is_cased(text.folded(after - 1)) { after } else { phrase_end(text, after) };
    let next = words.get(after);
    let noun = (after..end).rev().find(|i| words[*i].tag == Tag::Noun);
    let end = if text.grammar().clauses_before && noun.is_none() { after } else { end };
    // "first of all", "second world war", "the 5th of May", "the last time"
    let listed =
        noun.is_some_and(|n| words[n].class.has(Class::ITEM.or(Class::ONE).or(Class::TOOL).or(Class::GENERIC)));
    let listed = listed || next.is_some_and(|n| n.class.has(Class::ONE) && !n.gap.has(Gap::STOP.or(Gap::PAUSE)));
    let marked = || next.is_some_and(|n| n.class.has(Class::PREPOSITION) && !n.gap.has(Gap::STOP.or(Gap::PAUSE)));
    let listed = listed
        || text.grammar().no_article
            && (noun.is_some() || text.grammar().inflected || text.grammar().postpositions && marked());
    // "第二个": the measure word counts members.
    let measured = text.grammar().no_article
        && (after > start + 1
            || first.class.has(Class::ITEM)
            || next.is_some_and(|n| n.class.has(Class::ITEM) && !n.gap.has(Gap::STOP.or(Gap::PAUSE))));
    let listed = listed || measured;
    let proper = (after..end).any(|i| words[i].capital);
    let of = !text.grammar().clauses_before && next.is_some_and(|_| end == after && text.role(after) == "of");
    let members = of
        && words
            .get(after + 1)
            .is_some_and(|n| n.class.has(Class::DEFINITE.or(Class::REFERRING).or(Class::POSSESSIVE_SECOND)));
    let dated = of && !members || first.tag == Tag::Number && noun.is_none() && at > 0 && text.role(at - 1) == "on";
    let joined = hyphenated(text, after) && after == start + 1;
    let end = if members { phrase_end(text, after + 2).max(after + 2) } else { end };
    let named = noun.is_some_and(|n| {
        counts_no_list(text, n) || text.role(n) == "place" && (at.saturating_sub(2)..at).any(|i| text.role(i) == "in")
    });
    let fraction = another
        && !(end == after && next.is_none_or(|n| n.gap.has(Gap::STOP.or(Gap::PAUSE))))
        && !words.get(after).is_some_and(|n| n.class.has(Class::ONE));
    if proper || dated || named || joined || fraction || (bare && !listed && !(start == 0 && end == words.len())) {
        return None;
    }
    Some((at..end.max(after), selector))
}

/// False for most words that begin no position, by what they are alone.
fn may_begin(text: &Text, at: usize) -> bool {
    const BEGINS: Class = Class::LABEL
        .or(Class::DEFINITE)
        .or(Class::INDEFINITE)
        .or(Class::NEAR)
        .or(Class::FAR)
        .or(Class::POSSESSIVE_SECOND)
        .or(Class::PAIR)
        .or(Class::LATTER)
        .or(Class::ONE)
        .or(Class::LAST)
        .or(Class::CARDINAL)
        .or(Class::ORDINAL);
    let word = &text.words()[at];
    word.class.has(BEGINS)
        || word.tag == Tag::Number
        || word.value != 0
        || word.end == word.start + 1
        || text.grammar().modifiers_after
        || matches!(text.role(at), "all" | "both" | "either" | "neither" | "penultimate" | "middle")
}

/// "time", "century", "floor": nouns whose ordinals count something else than a list.
fn counts_no_list(text: &Text, noun: usize) -> bool {
    text.words()[noun].class.has(Class::UNIQUE)
        || matches!(
            text.role(noun),
            "time"
                | "century"
                | "grade"
                | "floor"
                | "birthday"
                | "anniversary"
                | "half"
                | "world"
                | "thing"
                | "quarter"
                | "episode"
                | "season"
        )
}

/// "الخيار الثاني", "la opción segunda": the position follows its noun, which stands at `start`.
fn after_noun(text: &Text, at: usize, start: usize) -> Option<(Range<usize>, Selector)> {
    const ADJECTIVES: usize = 2;
    let words = text.words();
    let nominal = |i: usize| words.get(i).is_some_and(|w| matches!(w.tag, Tag::Noun | Tag::Adjective) && w.value == 0);
    if !text.grammar().modifiers_after || !nominal(start) || words[start].tag != Tag::Noun {
        return None;
    }
    let mut next = start + 1;
    for _ in 0..=ADJECTIVES {
        let article = words.get(next).is_some_and(|w| w.class.has(Class::DEFINITE));
        let place = next + usize::from(article);
        let word = words.get(place)?;
        if words[next].gap.has(Gap::STOP.or(Gap::PAUSE)) || text.grammar().attached_article && (!article || at == start)
        {
            return None;
        }
        if word.class.has(Class::ORDINAL.or(Class::LAST)) {
            let (end, selector) = positions(text, place)?;
            return (!counts_no_list(text, start)).then_some((at..end, selector));
        }
        if !nominal(place) {
            return None;
        }
        next = place + 1;
    }
    None
}

/// The word behind an attached article belongs to the definite noun before it: "الحرب العالمية الثانية".
fn modifies(text: &Text, article: usize) -> bool {
    let words = text.words();
    text.grammar().attached_article
        && article > 1
        && !words[article].gap.has(Gap::STOP.or(Gap::PAUSE))
        && words[article - 1].gap == Gap::JOINED
        && words[article - 2].class.has(Class::DEFINITE)
}

/// "second", "first and third", "last", "last two", "first three", "second to last", "one before last", "middle", "two".
fn positions(text: &Text, start: usize) -> Option<(usize, Selector)> {
    let words = text.words();
    let value = |i: usize| {
        words
            .get(i)
            .filter(|w| !w.gap.has(Gap::STOP) && w.value > 0 && (w.class.has(Class::CARDINAL) || w.tag == Tag::Number))
            .map(|w| w.value as u32)
    };
    let is = |i: usize, folded: &str| i < words.len() && text.role(i) == folded;
    let word = words[start];
    let last = |i: usize| words.get(i).is_some_and(|w| w.class.has(Class::LAST));
    if is(start, "penultimate") {
        return Some((start + 1, Selector::FromEnd(2)));
    }
    if is(start, "middle") {
        return Some((start + 1, Selector::Middle));
    }
    if word.class.has(Class::ONE) && is(start + 1, "before") {
        let article = usize::from(words.get(start + 2).is_some_and(|w| w.class.has(Class::DEFINITE)));
        return last(start + 2 + article).then_some((start + 3 + article, Selector::FromEnd(2)));
    }
    if word.class.has(Class::LAST) {
        let but = is(start + 1, "but") && is(start + 2, "one");
        return Some(match value(start + 1).filter(|n| *n > 1) {
            _ if but => (start + 3, Selector::FromEnd(2)),
            Some(n) => (start + 2, Selector::Last(n)),
            None => (start + 1, Selector::FromEnd(1)),
        });
    }
    // "los dos primeros", "les deux dernières"
    if let Some(n) = value(start).filter(|n| *n > 1 && word.class.has(Class::CARDINAL)) {
        let next = words.get(start + 1).filter(|next| !next.gap.has(Gap::STOP.or(Gap::PAUSE)))?;
        return if next.class.has(Class::ORDINAL) && next.value == 1 {
            Some((start + 2, Selector::First(n)))
        } else {
            next.class.has(Class::LAST).then_some((start + 2, Selector::Last(n)))
        };
    }
    if word.class.has(Class::ORDINAL) {
        let to_last = (is(start + 1, "to") || is(start + 1, "from"))
            && (last(start + 2) || is(start + 3, "end") || is(start + 3, "last"));
        if to_last {
            return Some((start + if last(start + 2) { 3 } else { 4 }, Selector::FromEnd(word.value as u32)));
        }
        if word.value == 1
            && let Some(n) = value(start + 1).filter(|n| *n > 1)
        {
            return Some((start + 2, Selector::First(n)));
        }
        return Some(several(text, start));
    }
    None
}

/// "first, third and fifth": one selector for coordinated ordinals.
fn several(text: &Text, start: usize) -> (usize, Selector) {
    let words = text.words();
    let mut chosen = vec![words[start].value as u32];
    let mut end = start + 1;
    loop {
        let joint =
            usize::from(words.get(end).is_some_and(|w| w.class.has(Class::CONJUNCTION) && !w.gap.has(Gap::STOP)));
        let article = usize::from(joint > 0 && words.get(end + joint).is_some_and(|w| w.class.has(Class::DEFINITE)));
        let at = end + joint + article;
        let next = words
            .get(at)
            .filter(|w| w.class.has(Class::ORDINAL) && !w.gap.has(Gap::STOP) && (joint > 0 || w.gap.has(Gap::PAUSE)));
        // "the first option or the third": the noun comes with the first; the second ordinal stands as a candidate of its own.
        let Some(next) = next.filter(|_| article == 0) else { break };
        chosen.push(next.value as u32);
        end = at + 1;
    }
    (end, Selector::At(chosen))
}

/// "option B", "number 5", "step 2", "items 2 and 4".
fn labelled(source: &str, text: &Text, at: usize) -> Option<(Range<usize>, Selector)> {
    let words = text.words();
    let next = words.get(at + 1).filter(|w| !w.gap.has(Gap::STOP.or(Gap::PAUSE)))?;
    let written = &source[next.start as usize..next.end as usize];
    let letter =
        written.len() == 1 && written.bytes().all(|b| b.is_ascii_uppercase() && b != b'I') && text.role(at) != "no";
    let number = next.value > 0
        && (next.tag == Tag::Number && text.folded(at + 1).bytes().all(|b| b.is_ascii_digit())
            || next.class.has(Class::CARDINAL));
    if letter {
        return Some((at..at + 2, Selector::Label(u32::from(written.as_bytes()[0] - b'A' + 1))));
    }
    if !number || next.value > 100 {
        return None;
    }
    let (chosen, end) = series(text, at + 1);
    let selector = if chosen.is_empty() { Selector::Label(next.value as u32) } else { Selector::At(chosen) };
    Some((at..end, selector))
}

/// "B案", "④": a letter written as one with what it labels, or the sign of a list that is counted with such signs.
fn label_before(source: &str, text: &Text, at: usize) -> Option<(Range<usize>, Selector)> {
    let words = text.words();
    let word = words[at];
    let written = &source[word.start as usize..word.end as usize];
    if word.value > 0 && written.starts_with(|c| matches!(c, '①'..='⑳')) {
        return Some((at..at + 1, Selector::Label(word.value as u32)));
    }
    let letter = *written.as_bytes().first().filter(|b| written.len() == 1 && (b'A'..=b'H').contains(b))?;
    let labels = words.get(at + 1).is_some_and(|w| w.gap == Gap::JOINED && w.class.has(Class::LABEL));
    labels.then(|| (at..at + 2, Selector::Label(u32::from(letter - b'A' + 1))))
}

/// "4 and 5", "2, 3 or 6", "one through three" from word `at` on, which is a number: the numbers, none where
/// it is the only one, and where they end.
fn series(text: &Text, at: usize) -> (Vec<u32>, usize) {
    let words = text.words();
    let number = |i: usize| {
        words
            .get(i)
            .filter(|w| {
                w.value > 0
                    && w.value <= 100
                    && !w.gap.has(Gap::STOP)
                    && (w.tag == Tag::Number || w.class.has(Class::CARDINAL))
            })
            .map(|w| w.value as u32)
    };
    let mut chosen = Vec::new();
    let mut end = at + 1;
    loop {
        let through = words.get(end).is_some_and(|_| matches!(text.role(end), "through" | "thru"));
        let joint = usize::from(through || words.get(end).is_some_and(|w| w.class.has(Class::CONJUNCTION)));
        let listed = joint > 0 || words.get(end).is_some_and(|w| w.gap.has(Gap::PAUSE));
        let Some(next) = number(end + joint).filter(|_| listed) else { return (chosen, end) };
        if chosen.is_empty() {
            chosen.push(words[at].value as u32);
        }
        if through && let Some(from) = chosen.last().copied().filter(|from| *from < next) {
            chosen.extend(from + 1..next);
        }
        chosen.push(next);
        end += joint + 1;
    }
}

/// "4 and 5", "either 2 or 5", "one through three" with nothing counted after them.
fn numerals(source: &str, text: &Text, at: usize) -> Option<(Range<usize>, Selector)> {
    const UNITS: Class = Class::PREPOSITION.or(Class::CARDINAL);
    let words = text.words();
    let start = at + usize::from(matches!(text.role(at), "either" | "both" | "neither"));
    let first = words
        .get(start)
        .filter(|w| w.value > 0 && w.value <= 30 && (w.tag == Tag::Number || w.class.has(Class::CARDINAL)))?;
    let plain = |at: usize| words[at].tag != Tag::Number || text.folded(at).bytes().all(|b| b.is_ascii_digit());
    let measured = at > 0
        && !words[at].gap.has(Gap::STOP)
        && words[at - 1].class.has(UNITS)
        && !matches!(text.role(at - 1), "for" | "about" | "on" | "with" | "like");
    if measured || !plain(start) || source[..first.start as usize].ends_with(['$', '€', '£']) {
        return None;
    }
    let (chosen, end) = series(text, start);
    let counted = words.get(end).is_some_and(|w| {
        !w.gap.has(Gap::STOP.or(Gap::PAUSE))
            && (matches!(w.tag, Tag::Noun | Tag::Adjective | Tag::Number)
                || text.role(end) == "of"
                || w.gap == Gap::JOINED)
    });
    let symbol = source[words[end - 1].end as usize..].starts_with(['%', '°', ':', '/'])
        || source[first.start as usize..words[end - 1].end as usize].contains([':', '/']);
    (!chosen.is_empty() && !counted && !symbol && plain(end - 1)).then_some((at..end, Selector::At(chosen)))
}

/// "and what about B", "D please": a letter that stands alone.
fn bare_label(source: &str, text: &Text, at: usize) -> Option<(Range<usize>, Selector)> {
    let words = text.words();
    let word = words[at];
    let article = at > 0 && words[at - 1].class.has(Class::DEFINITE) && !word.gap.has(Gap::STOP.or(Gap::PAUSE));
    let letter = source[word.start as usize..word.end as usize]
        .bytes()
        .next()
        .map(|b| if article { b.to_ascii_uppercase() } else { b })
        .filter(|b| word.end == word.start + 1 && (b'B'..=b'H').contains(b))?;
    let alone = |i: usize| {
        words.get(i).is_none_or(|w| {
            w.gap.has(Gap::STOP.or(Gap::PAUSE)) || w.class.has(Class::BE.or(Class::AUXILIARY).or(Class::INTERJECTION))
        })
    };
    let placed = word.opens()
        || at > 0
            && (word.gap.has(Gap::PAUSE)
                || words[at - 1].class.has(Class::PREPOSITION.or(Class::DEFINITE))
                || words[at - 1].tag == Tag::Verb);
    (placed && alone(at + 1)).then(|| (at..at + 1, Selector::Label(u32::from(letter - b'A' + 1))))
}

/// "both A and B" names its own members.
fn coordination(text: &Text, at: usize) -> bool {
    let words = text.words();
    let both = matches!(text.role(at), "both" | "either" | "neither");
    let clause = words[at + 1..].iter().take_while(|w| !w.gap.has(Gap::STOP)).take(6);
    both && clause.clone().any(|w| w.class.has(Class::CONJUNCTION))
        || !words[at].opens() && text.role(at) == "either" && words.len() == at + 1
}

fn pair_end(text: &Text, at: usize) -> usize {
    let words = text.words();
    if text.grammar().is_cased(text.folded(at)) {
        return at + 1;
    }
    let of = words.get(at + 1).is_some_and(|w| w.class.has(Class::PREPOSITION) && !w.gap.has(Gap::STOP))
        && words.get(at + 2).is_some_and(|w| w.class.has(Class::REFERRING.or(Class::DEFINITE)));
    let start = if of { at + 2 } else { at + 1 };
    let start = start
        + usize::from(words.get(start).is_some_and(|w| {
            w.class.has(Class::DEFINITE.or(Class::NEAR).or(Class::FAR).or(Class::THEY)) && !w.gap.has(Gap::STOP)
        }));
    phrase_end(text, start).max(if of { start } else { at + 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Pack;

    fn select(source: &str) -> Option<(String, Selector)> {
        let mut text = Text::default();
        text.read(source, &Pack::of("en"));
        (0..text.words().len()).find_map(|at| find(source, &text, at)).map(|(words, selector)| {
            (
                source[text.words()[words.start].start as usize..text.words()[words.end - 1].end as usize].to_owned(),
                selector,
            )
        })
    }

    #[test]
    fn forms_of_positions() {
        for (source, text, selector) in [
            ("tell me about the second one", "the second one", Selector::At(vec![2])),
            ("option B please", "option B", Selector::Label(2)),
            ("number 5 is odd", "number 5", Selector::Label(5)),
            ("and #3?", "3", Selector::Label(3)),
            ("the last two", "the last two", Selector::Last(2)),
            ("the last one", "the last one", Selector::FromEnd(1)),
            ("the first three steps", "the first three steps", Selector::First(3)),
            ("the one before last", "the one before last", Selector::FromEnd(2)),
            ("the second to last", "the second to last", Selector::FromEnd(2)),
            ("the first and third", "the first and third", Selector::At(vec![1, 3])),
            ("is the latter cheaper", "the latter", Selector::FromEnd(1)),
            ("do both ways work", "both ways", Selector::Pair),
            ("the 7th", "the 7th", Selector::At(vec![7])),
            ("3 and 6 worry me", "3 and 6", Selector::At(vec![3, 6])),
            ("has either 2 or 4 worked", "either 2 or 4", Selector::At(vec![2, 4])),
            ("one through three are done", "one through three", Selector::At(vec![1, 2, 3])),
            ("what are numbers 6 and 7", "numbers 6 and 7", Selector::At(vec![6, 7])),
            ("and what about B, then", "B", Selector::Label(2)),
            ("are all three open", "all three", Selector::All(3)),
            ("tell me about the last of those places", "the last of those places", Selector::FromEnd(1)),
            ("first one on the packing list", "first one", Selector::At(vec![1])),
            ("is there a third?", "a third", Selector::At(vec![3])),
        ] {
            assert_eq!(select(source), Some((text.to_owned(), selector)), "{source}");
        }
    }

    #[test]
    fn ordinals_that_count_something_else() {
        for source in [
            "the first time I saw snow",
            "the Second World War",
            "the 5th of May",
            "in the 21st century",
            "first, boil water",
            "both cats and dogs",
            "No, I just asked",
            "second-hand shops",
            "on the 5th",
            "5 and 6 people",
            "costs $5 or 6",
            "a third of it",
            "in the first place",
        ] {
            assert_eq!(select(source), None, "{source}");
        }
    }

    #[test]
    fn positions_respect_the_length_of_the_list() {
        assert_eq!(Selector::At(vec![4]).positions(3), None);
        assert_eq!(Selector::Last(2).positions(5), Some(vec![4, 5]));
        assert_eq!(Selector::Pair.positions(3), None);
        assert_eq!(Selector::Middle.positions(5), Some(vec![3]));
    }
}
