//! Words of a turn with their classes, tags and terms, and the phrases that stand in it.

use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use super::fold::fold_in_place;
use super::pack::{Class, Compound, Entry, Grammar, IDEOGRAPHS, Pack, PhraseKind, Reading, Tag};
use super::segment::segment;
use crate::word_table::{Key, hash, key_in};

/// What stands between a word and the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gap(u8);

impl Gap {
    /// Nothing: the word was split off its neighbour ("it" + "'s").
    pub const JOINED: Self = Self(1);
    /// A comma, semicolon, colon, dash, bracket or quotation mark.
    pub const PAUSE: Self = Self(2);
    /// The end of a sentence or line.
    pub const STOP: Self = Self(4);
    /// The sentence that ended was a question.
    pub const QUESTION: Self = Self(8);

    /// The bits of either.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True when the gap has any of `other`.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// One word of the turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Word {
    /// Byte range in the source.
    pub start: u32,
    /// End of the byte range.
    pub end: u32,
    folded: (u32, u32),
    role: (u32, u32),
    /// Its number in the pack; 0 when the pack does not know it.
    string: u32,
    /// Hash of the stem: equal for "bug" and "bugs", in any text.
    pub term: u32,
    /// Classes of the pack.
    pub class: Class,
    /// Part of speech, context considered.
    pub tag: Tag,
    /// Value of an ordinal, cardinal or number; 0 if none.
    pub value: i16,
    /// Sentence number, from 0.
    pub sentence: u16,
    /// What stands before it.
    pub gap: Gap,
    /// Starts with an upper-case letter.
    pub capital: bool,
    /// To the pack, words known as one, or phrases, begin with it.
    leads: bool,
}

impl Word {
    /// True for words that say what a text is about.
    pub const fn is_content(&self) -> bool {
        const GRAMMAR: Class = Class::REFERRING
            .or(Class::FIRST)
            .or(Class::SECOND)
            .or(Class::POSSESSIVE_FIRST)
            .or(Class::POSSESSIVE_SECOND)
            .or(Class::DEFINITE)
            .or(Class::INDEFINITE)
            .or(Class::PREPOSITION)
            .or(Class::CONJUNCTION)
            .or(Class::SUBORDINATOR)
            .or(Class::BE)
            .or(Class::AUXILIARY)
            .or(Class::NEGATION)
            .or(Class::WH)
            .or(Class::INTERJECTION)
            .or(Class::FILLER)
            .or(Class::STOP)
            .or(Class::PLACE)
            .or(Class::TIME)
            .or(Class::AGAIN)
            .or(Class::ADDITIVE)
            .or(Class::OTHER)
            .or(Class::SAME)
            .or(Class::SUCH)
            .or(Class::PAIR)
            .or(Class::ONE);
        !self.class.has(GRAMMAR)
    }

    /// A particle or ending written as one with the word before it.
    fn is_attached(&self) -> bool {
        self.gap == Gap::JOINED && self.class == Class::STOP
    }

    /// True when a sentence starts here.
    pub const fn opens(&self) -> bool {
        self.start == 0 || self.gap.has(Gap::STOP)
    }

    /// True for a word that is a name by its form: a capital that no sentence start explains.
    pub const fn is_name(&self) -> bool {
        self.capital && !self.opens() && self.is_content()
    }
}

/// A phrase of the pack found in the turn, by word positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phrase {
    /// What it is for.
    pub kind: PhraseKind,
    /// Its words.
    pub words: Range<usize>,
}

/// A turn, read. Reuse one value for many turns: after the first few it allocates nothing.
#[derive(Debug, Default)]
pub struct Text {
    /// The source, folded in place; behind it what does not fold so, and roles.
    folded: String,
    words: Vec<Word>,
    phrases: Vec<Phrase>,
    sentences: u16,
    question: bool,
    /// Holds characters of a script without spaces.
    unspaced: bool,
    /// Words that are parts of others to a reader.
    joined: usize,
    grammar: Arc<Grammar>,
    guesses: Guesses,
}

/// What is guessed of words that a pack does not know: names and subjects come again and again within a conversation.
#[derive(Debug, Default)]
struct Guesses(Vec<(Key, Reading)>);

impl Guesses {
    /// Words remembered, in 48 bytes each; a newer one takes an older one's place.
    const MOST: usize = 256;

    /// The place of a word.
    fn of(&mut self, key: Key) -> &mut (Key, Reading) {
        self.0.resize(Self::MOST, Default::default());
        &mut self.0[hash(key) as usize % Self::MOST]
    }
}

/// Where a word stands.
struct Place {
    /// In the source.
    start: usize,
    end: usize,
    /// In the folded text.
    from: usize,
    to: usize,
    gap: Gap,
    sentence: u16,
}

impl Text {
    /// Reads `source` with `pack`, replacing what was read before. Cost: about 35 ns a word.
    pub fn read(&mut self, source: &str, pack: &Pack) {
        self.folded.clear();
        fold_in_place(source, &mut self.folded);
        let folded_in_place = source.is_ascii() && pack.folds_in_place(source);
        self.words.clear();
        self.phrases.clear();
        self.unspaced = false;
        if !Arc::ptr_eq(&self.grammar, pack.grammar()) {
            self.grammar = Arc::clone(pack.grammar());
            self.guesses.0.clear();
        }
        let mut sentence = 0;
        let mut last_end = 0;
        _ = segment(source, |Range { start, end }| {
            let gap = gap(source, last_end..start);
            if gap.has(Gap::STOP) && !self.words.is_empty() {
                sentence += 1;
            }
            last_end = end;
            self.push(source, Place { start, end, from: start, to: end, gap, sentence }, folded_in_place, pack);
            ControlFlow::Continue(())
        });
        self.sentences = if self.words.is_empty() { 0 } else { sentence + 1 };
        self.compounds(pack);
        self.joined = self.words.iter().filter(|word| word.is_attached()).count();
        if self.unspaced {
            self.pair_characters();
        }
        self.find_phrases(pack);
        self.question = self.ends_asking(source, last_end);
        if self.grammar.capital_nouns {
            self.capital_nouns();
        }
        if self.grammar.article_demonstratives {
            self.articles();
        }
        self.tag();
    }

    fn push(&mut self, source: &str, mut place: Place, folded_in_place: bool, pack: &Pack) {
        let written = place.start..place.end;
        let mut lone = None;
        if !folded_in_place {
            lone = ideograph(&source.as_bytes()[written.clone()]);
            if lone.is_none() {
                let word = &source[written.clone()];
                if !pack.folds_in_place(word) {
                    place.from = self.folded.len();
                    pack.fold_into(word, &mut self.folded);
                    place.to = self.folded.len();
                }
                lone = only_character(&self.folded[place.from..place.to]);
            }
        }
        let string = match lone {
            Some(c) => pack.find_lone(c),
            None => pack.find(&self.folded, place.from..place.to),
        };
        let known = pack.reading(string);
        if known.whole {
            return self.word(source, &place, lone, string, &known, pack);
        }
        let key = if string == 0 { key_in(self.folded.as_bytes(), place.from..place.to) } else { None };
        let guessed = key.map(|key| *self.guesses.of(key)).filter(|(of, _)| key == Some(*of));
        if let Some((_, known)) = guessed {
            return self.word(source, &place, lone, string, &known, pack);
        }
        let folded = &self.folded[place.from..place.to];
        // One character has no parts.
        let cuts = if lone.is_some() { None } else { pack.cuts(folded) };
        let Some(cuts) = cuts else {
            let known = pack.guessed(folded);
            if let Some(key) = key {
                *self.guesses.of(key) = (key, known);
            }
            return self.word(source, &place, lone, string, &known, pack);
        };
        let Place { start, from, to, .. } = place;
        for (at, end) in cuts.places().iter().map(|cut| from + cut).chain([to]).enumerate() {
            // A word whose parts cannot be told apart in what was written stays whole.
            let until = if end == to {
                written.end
            } else {
                let part = written_until(&source[written.clone()], &self.folded[from..end], pack);
                let Some(until) = part else { continue };
                start + until
            };
            let folded = &self.folded[place.from..end];
            let behind = at > cuts.before && place.from > from;
            let entry = if behind { pack.attached(folded) } else { pack.carrier(folded) }.in_text(folded);
            let lone = only_character(folded);
            let string = pack.find(&self.folded, place.from..end);
            let mut known = if string > 0 { pack.reading(string) } else { pack.guessed(folded) };
            known.entry = entry;
            (place.end, place.to) = (until, end);
            self.word(if behind { "" } else { source }, &place, lone, string, &known, pack);
            (place.start, place.from, place.gap) = (until, end, Gap::JOINED);
        }
    }

    /// Adds a word; no `source` is given where a capital would say nothing.
    fn word(&mut self, source: &str, place: &Place, lone: Option<char>, string: u32, known: &Reading, pack: &Pack) {
        let Place { start, end, from, to, gap, sentence } = *place;
        let han = lone.is_some_and(is_han);
        self.unspaced |= han;
        let capital = !han && has_capital(source, start);
        let inside = start > 0 && !gap.has(Gap::STOP);
        let named = if capital && inside { pack.capital(&self.folded[from..to]) } else { None };
        let entry = named.map_or(known.entry, |entry| entry.in_text(&self.folded[from..to]));
        let Entry { class, tag, value, .. } = entry;
        let folded = (from as u32, to as u32);
        let role = pack.role(&entry).map_or(folded, |role| self.put(role));
        self.words.push(Word {
            start: start as u32,
            end: end as u32,
            folded,
            role,
            string,
            term: known.term,
            class,
            tag,
            value,
            sentence,
            gap,
            capital,
            leads: known.leads(),
        });
    }

    /// Puts a role behind what is folded; where it stands.
    fn put(&mut self, role: &str) -> (u32, u32) {
        let from = self.folded.len();
        self.folded.push_str(role);
        (from as u32, self.folded.len() as u32)
    }

    /// Joins words that the pack knows as one ("each other", "这个").
    fn compounds(&mut self, pack: &Pack) {
        let begins = |word: &Word| word.leads && !pack.led(word.string).compounds.is_empty();
        let Some(first) = self.words.iter().position(begins) else { return };
        let (mut at, mut kept) = (first, first);
        while at < self.words.len() {
            let known = if begins(&self.words[at]) { self.compound(at, pack) } else { None };
            let found = known.filter(|(rest, of)| {
                // "でもう一度": a longer word that begins inside comes first; "期限はいつ": no yes in the middle of a clause.
                let crossed =
                    || (at + 1..=at + rest).any(|i| self.compound(i, pack).is_some_and(|(more, _)| more > *rest));
                let inside =
                    || self.words[at].gap == Gap::JOINED && only_character(self.folded(at)).is_some_and(is_hiragana);
                !(of.entry.class.has(Class::INTERJECTION) && inside() || self.unspaced && *rest == 1 && crossed())
            });
            if kept < at {
                self.words[kept] = self.words[at];
            }
            if let Some((rest, of)) = found {
                let folded = self.together(at..at + rest + 1);
                let role = pack.role(&of.entry).map_or(folded, |role| self.put(role));
                let end = self.words[at + rest].end;
                let word = &mut self.words[kept];
                (word.end, word.folded, word.role) = (end, folded, role);
                (word.string, word.term) = (of.string, of.term);
                word.leads = pack.reading(of.string).leads();
                (word.class, word.value, word.tag) = (of.entry.class, of.entry.value, of.entry.likely());
                at += rest;
            }
            (at, kept) = (at + 1, kept + 1);
        }
        self.words.truncate(kept);
    }

    /// Where the folded forms of several words stand as one: where they are, or put behind all others.
    fn together(&mut self, words: Range<usize>) -> (u32, u32) {
        let (from, to) = (self.words[words.start].folded.0, self.words[words.end - 1].folded.1);
        if self.words[words.clone()].windows(2).all(|pair| pair[0].folded.1 == pair[1].folded.0) {
            return (from, to);
        }
        let from = self.folded.len();
        for at in words {
            let (start, end) = self.words[at].folded;
            self.folded.extend_from_within(start as usize..end as usize);
        }
        (from as u32, self.folded.len() as u32)
    }

    /// The longest word of several that begins at word `at`: how many follow the first, and what is known of it.
    fn compound<'p>(&self, at: usize, pack: &'p Pack) -> Option<(usize, &'p Compound)> {
        let mut known = pack.led(self.words[at].string).compounds.going_on(self.string(at + 1));
        known.find(|(rest, _)| self.matches(at + 1, rest)).map(|(rest, of)| (rest.len(), of))
    }

    /// The number in the pack of word `at`; 0 when there is no such word, or the pack does not know it.
    fn string(&self, at: usize) -> u32 {
        self.words.get(at).map_or(0, |word| word.string)
    }

    /// Scripts without spaces come in single characters. Two that no word of the pack covers say what a text is about where
    /// one does not: the term of such a Han character is the pair that it begins, of the last of a run the pair that it ends.
    fn pair_characters(&mut self) {
        let unknown = |text: &Self, at: usize| {
            let word = &text.words[at];
            word.class.is_empty() && word.tag == Tag::Noun && only_character(text.folded(at)).is_some_and(is_han)
        };
        let (mut before, mut run) = (false, 0);
        let mut next = !self.words.is_empty() && unknown(self, 0);
        for at in 0..self.words.len() {
            let here = std::mem::replace(&mut next, at + 1 < self.words.len() && unknown(self, at + 1));
            let pairs = here && next && self.words[at + 1].gap == Gap::JOINED;
            if pairs {
                self.words[at].term = term((self.folded(at), self.folded(at + 1)));
            } else if before {
                self.words[at].term = self.words[at - 1].term;
            }
            run = if pairs || before { run + 1 } else { 0 };
            self.joined += usize::from(run > 0 && run % 2 == 0);
            before = pairs;
        }
    }

    /// A question mark, an ending that asks, or a question word in place and nothing that closes the sentence.
    fn ends_asking(&self, source: &str, end: usize) -> bool {
        let (text, after) = source.split_at(end);
        let in_place = || {
            let last = self.words.iter().rposition(Word::opens).unwrap_or_default();
            !after.contains(['.', '!', '。', '！', '।', '…']) && self.asks(last)
        };
        after.contains(['?', '？', '؟'])
            || self.grammar.questions.iter().any(|ending| text.ends_with(&**ending))
            || self.grammar.wh_in_place && in_place()
    }

    fn find_phrases(&mut self, pack: &Pack) {
        /// Words of a turn that a closing particle makes a follow-up.
        const SHORT: usize = 8;
        for at in 0..self.words.len() {
            if !self.words[at].leads {
                continue;
            }
            for (rest, kind) in pack.led(self.words[at].string).phrases.going_on(self.string(at + 1)) {
                if !self.matches(at + 1, rest) {
                    continue;
                }
                let words = at..at + 1 + rest.len();
                // A longer phrase of the kind that covers this one began at most a phrase's length ago.
                if !self.phrases.iter().rev().take(8).any(|p| p.kind == *kind && p.words.end >= words.end) {
                    self.phrases.push(Phrase { kind: *kind, words });
                }
            }
        }
        let closes = |p: &Phrase| p.kind == PhraseKind::Closing && p.words.end == self.words.len();
        if self.words.len() <= SHORT && self.phrases.iter().any(closes) {
            self.phrases.insert(0, Phrase { kind: PhraseKind::FollowUp, words: 0..self.words.len() });
        }
    }

    /// True when the words from `at` on are these strings of the pack, within a sentence.
    fn matches(&self, at: usize, strings: &[u32]) -> bool {
        strings.iter().enumerate().all(|(ahead, string)| {
            self.words.get(at + ahead).is_some_and(|word| word.string == *string && !word.gap.has(Gap::STOP))
        })
    }

    /// Where nouns have capitals, an unknown word without one is an adjective before a noun, else a verb, and a capital
    /// names only beside another ("Kölner Dom"). Who writes no capital at all says nothing by it.
    fn capital_nouns(&mut self) {
        if !self.words.iter().any(|word| word.capital) {
            return;
        }
        let capitals: Vec<bool> = self.words.iter().map(|word| word.capital && word.is_content()).collect();
        let beside = |at: usize| capitals.get(at).is_some_and(|capital| *capital);
        for at in (0..self.words.len()).rev() {
            let word = self.words[at];
            let nominal = self.words.get(at + 1).is_some_and(|next| {
                matches!(next.tag, Tag::Noun | Tag::Adjective) && !next.gap.has(Gap::STOP.or(Gap::PAUSE))
            });
            let unknown = word.class.is_empty() && !word.opens() && word.tag != Tag::Number;
            self.words[at].tag = match word.tag {
                _ if unknown && word.capital => Tag::Noun,
                Tag::Noun | Tag::Past | Tag::Verb if unknown && nominal => Tag::Adjective,
                Tag::Noun if unknown => Tag::Verb,
                tag => tag,
            };
            let joined = |at: usize| beside(at) && !self.words[at].gap.has(Gap::STOP.or(Gap::PAUSE));
            let named = joined(at) && (at > 0 && beside(at - 1)) || joined(at + 1);
            self.words[at].capital = word.capital && named;
        }
    }

    /// A word that is article, demonstrative and relative pronoun in one ("das", "die"): an article before what belongs to
    /// a noun, a relative pronoun after a comma unless the verb follows, else a demonstrative.
    fn articles(&mut self) {
        const NOMINAL: Class = Class::POSITIONAL.or(Class::PAIR);
        for at in 0..self.words.len() {
            let word = self.words[at];
            if !(word.class.has(Class::DEFINITE) && word.class.has(Class::FAR)) {
                continue;
            }
            let next = self.words.get(at + 1).filter(|next| !next.gap.has(Gap::STOP.or(Gap::PAUSE)));
            let nominal = |n: &Word| matches!(n.tag, Tag::Noun | Tag::Adjective | Tag::Number) || n.class.has(NOMINAL);
            let finite = |n: &Word| n.tag == Tag::Verb || n.class.has(Class::BE.or(Class::AUXILIARY).or(Class::VERBAL));
            self.words[at].class = if next.is_some_and(nominal) {
                word.class.without(Class::FAR)
            } else if word.gap.has(Gap::PAUSE) && next.is_some_and(|next| !finite(next)) {
                Class::SUBORDINATOR
            } else {
                word.class.without(Class::DEFINITE)
            };
        }
    }

    /// Context rules over the likely tags: after a determiner a verb is a noun, after a subject or "to" a noun may be a verb.
    fn tag(&mut self) {
        const DETERMINER: Class = Class::DEFINITE
            .or(Class::INDEFINITE)
            .or(Class::POSSESSIVE_FIRST)
            .or(Class::POSSESSIVE_SECOND)
            .or(Class::POSSESSIVE_THIRD);
        const SUBJECT: Class = Class::FIRST.or(Class::SECOND).or(Class::THEY).or(Class::AUXILIARY);
        for at in 0..self.words.len() {
            let word = &self.words[at];
            if word.tag == Tag::Function || word.tag == Tag::Number {
                continue;
            }
            let before = at.checked_sub(1).map(|i| &self.words[i]).filter(|_| !word.gap.has(Gap::STOP));
            let nominal = before.is_some_and(|b| b.class.has(DETERMINER) || b.tag == Tag::Adjective);
            let verbal = word.class.has(Class::VERBAL);
            let tag = if nominal && word.tag == Tag::Verb {
                // "la compro": the article may be an object, and then a verb after it is one.
                let object = before.is_some() && self.role(at - 1) == "object";
                (!object || verbal).then_some(Tag::Noun)
            } else if verbal && !nominal {
                let after = self.words.get(at + 1).filter(|next| !next.gap.has(Gap::STOP));
                let subject = before.is_some_and(|b| b.class.has(SUBJECT));
                let object = after.is_some_and(|a| a.class.has(DETERMINER.or(Class::REFERRING).or(Class::FIRST)));
                (subject || object).then_some(Tag::Verb)
            } else {
                None
            };
            if let Some(tag) = tag {
                self.words[at].tag = tag;
            }
        }
    }

    /// The words, in order.
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// The phrases found, in order of their first word.
    pub fn phrases(&self) -> &[Phrase] {
        &self.phrases
    }

    /// The first phrase of a kind.
    pub fn phrase(&self, kind: PhraseKind) -> Option<&Phrase> {
        self.phrases.iter().find(|phrase| phrase.kind == kind)
    }

    /// The phrase of a kind that begins at word `at`.
    pub fn phrase_at(&self, at: usize, kind: PhraseKind) -> Option<&Phrase> {
        let from = self.phrases.partition_point(|phrase| phrase.words.start < at);
        self.phrases[from..].iter().take_while(|phrase| phrase.words.start == at).find(|phrase| phrase.kind == kind)
    }

    /// Number of sentences.
    pub fn sentences(&self) -> u16 {
        self.sentences
    }

    /// How many words there are to a reader: particles and endings written as one with a word are none, and two characters
    /// that no word of the pack covers are one.
    pub fn length(&self) -> usize {
        self.words.len() - self.joined
    }

    /// True when the turn ends as a question.
    pub fn is_question(&self) -> bool {
        self.question
    }

    /// The word that a sentence opens with, from its first: a conjunction written as one with the next word says little
    /// ("وكيف" is "how").
    pub fn opener(&self, at: usize) -> usize {
        let attached = self.words.get(at + 1).is_some_and(|next| next.gap == Gap::JOINED);
        at + usize::from(attached && self.words[at].class.has(Class::CONJUNCTION))
    }

    /// True when the sentence whose first word is `at` opens as a request; in a language whose verb comes last, when it
    /// ends as one.
    pub fn requests(&self, at: usize) -> bool {
        const AFTER: Class = Class::AUXILIARY.or(Class::BE).or(Class::FILLER).or(Class::SECOND);
        let at = self.opener(at);
        let Some(first) = self.words.get(at) else { return false };
        first.class.has(Class::REQUEST)
            || self.grammar.verb_final
                && self.words[at..]
                    .iter()
                    .take_while(|word| word.sentence == first.sentence)
                    .filter(|word| !word.class.has(AFTER) || word.class.has(Class::REQUEST))
                    .last()
                    .is_some_and(|verb| verb.class.has(Class::REQUEST))
    }

    /// True when the sentence whose first word is `at` opens with a question word; in a language where they stay in place,
    /// when it has one.
    pub fn asks(&self, at: usize) -> bool {
        let at = self.opener(at);
        let Some(first) = self.words.get(at) else { return false };
        first.class.has(Class::WH)
            || self.grammar.wh_in_place
                && self.words[at..]
                    .iter()
                    .take_while(|word| word.sentence == first.sentence)
                    .any(|word| word.class.has(Class::WH))
    }

    /// Folded form of word `at`.
    pub fn folded(&self, at: usize) -> &str {
        let (from, to) = self.words[at].folded;
        &self.folded[from as usize..to as usize]
    }

    /// The English word whose part word `at` plays in the rules that name words one by one; most often its folded form.
    pub fn role(&self, at: usize) -> &str {
        let (from, to) = self.words[at].role;
        &self.folded[from as usize..to as usize]
    }

    /// What the language's grammar says beside its words.
    pub fn grammar(&self) -> &Grammar {
        &self.grammar
    }

    /// Folded form of a word of this text.
    pub fn stem(&self, word: &Word) -> &str {
        &self.folded[word.folded.0 as usize..word.folded.1 as usize]
    }
}

/// The character of a text of one that is not ASCII.
pub(super) fn only_character(text: &str) -> Option<char> {
    text.chars().next().filter(|c| !c.is_ascii() && c.len_utf8() == text.len())
}

/// The common ideograph that a word is.
fn ideograph(word: &[u8]) -> Option<char> {
    let [first @ 0xE4..=0xE9, second, third] = *word else { return None };
    let low = |byte: u8| u32::from(byte & 0x3F);
    char::from_u32(u32::from(first & 0x0F) << 12 | low(second) << 6 | low(third)).filter(|c| IDEOGRAPHS.contains(c))
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3134F}')
}

pub(super) fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{3096}')
}

/// Hash of a stem given as prefix and replacement ending; the same in every text and on every machine.
pub(super) fn term((prefix, ending): (&str, &str)) -> u32 {
    let mut hasher = FxHasher::default();
    for byte in prefix.bytes().chain(ending.bytes()) {
        hasher.write_u8(byte);
    }
    (hasher.finish() >> 32) as u32
}

/// Where in `word` the part ends that folds to `folded`, marks that fold to nothing with it.
fn written_until(word: &str, folded: &str, pack: &Pack) -> Option<usize> {
    let mut rest = folded;
    let mut piece = String::new();
    let mut end = None;
    for (at, c) in word.char_indices() {
        piece.clear();
        pack.fold_into(&word[at..at + c.len_utf8()], &mut piece);
        match rest.strip_prefix(&*piece) {
            Some(left) => rest = left,
            None => break,
        }
        if rest.is_empty() {
            end = Some(at + c.len_utf8());
        }
    }
    end
}

/// True when an upper-case letter stands at byte `at` of the source; no source has none.
fn has_capital(source: &str, at: usize) -> bool {
    match source.as_bytes().get(at) {
        Some(byte) if byte.is_ascii() => byte.is_ascii_uppercase(),
        Some(_) => source[at..].chars().next().is_some_and(char::is_uppercase),
        None => false,
    }
}

/// What stands between two words of the source, or before its first.
fn gap(source: &str, between: Range<usize>) -> Gap {
    let first = between.start == 0;
    match source.as_bytes()[between.clone()] {
        [b' '] if !first => Gap::default(),
        [] if first => Gap::STOP,
        [] => Gap::JOINED,
        _ => {
            let marks = source[between].chars().fold(Gap::default(), |gap, c| gap.or(mark(c)));
            if first { marks.or(Gap::STOP) } else { marks }
        }
    }
}

fn mark(c: char) -> Gap {
    match c {
        '?' | '？' | '؟' => Gap::STOP.or(Gap::QUESTION),
        '.' | '!' | '\n' | '。' | '！' | '।' | '॥' | '۔' | '…' => Gap::STOP,
        ',' | ';' | ':' | '-' | '–' | '—' | '(' | ')' | '[' | ']' | '"' | '“' | '”' | '«' | '»' | '„' | '、' | '，'
        | '；' | '：' | '،' | '؛' | '「' | '」' | '/' => Gap::PAUSE,
        _ => Gap::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> Text {
        let mut text = Text::default();
        text.read(source, &Pack::of("en"));
        text
    }

    fn folded(source: &str) -> Vec<String> {
        let text = read(source);
        (0..text.words().len()).map(|at| text.folded(at).to_owned()).collect()
    }

    #[test]
    fn words_that_are_remembered_read_as_they_did_at_first() {
        let mut reused = Text::default();
        for source in ["The zorblaxing quorum's flumps", "Die Zorblaxung, flumps", "zorblaxing 龘龘 flumps"].repeat(2)
        {
            for locale in ["en", "de", "zh"] {
                let (pack, mut fresh) = (Pack::of(locale), Text::default());
                fresh.read(source, &pack);
                reused.read(source, &pack);
                assert_eq!(format!("{:?}", reused.words()), format!("{:?}", fresh.words()));
                reused.read(source, &pack);
                assert_eq!(format!("{:?}", reused.words()), format!("{:?}", fresh.words()));
            }
        }
    }

    #[test]
    fn words_clitics_and_scripts() {
        assert_eq!(
            folded("I don\u{2019}t THINK it's etcd-3.5."),
            ["i", "do", "n't", "think", "it", "'s", "etcd", "3.5"]
        );
        assert_eq!(folded("日本 привет 👍 नमस्ते"), ["日", "本", "привет", "नमस्ते"]);
        assert!(folded("  \u{200b} ").is_empty());
    }

    #[test]
    fn scripts_without_spaces() {
        let read = |locale: &str, source: &str| {
            let mut text = Text::default();
            text.read(source, &Pack::of(locale));
            text
        };
        let words = |text: &Text| (0..text.words().len()).map(|at| text.folded(at).to_owned()).collect::<Vec<_>>();
        assert_eq!(words(&read("zh", "这个方案怎么做")), ["这个", "方案", "怎么", "做"]);
        // The longer word that begins inside "でも" wins.
        assert_eq!(words(&read("ja", "駅でもう一度")), ["駅", "で", "もう一度"]);
        // はい inside a clause is no yes.
        assert!(!read("ja", "期限はいつ").words().iter().any(|word| word.class.has(Class::INTERJECTION)));
        // Pairs join across texts, whatever stands around them.
        let (one, other) = (read("und", "鲈鱼"), read("und", "清蒸鲈鱼"));
        assert_eq!(one.words()[0].term, other.words()[2].term);
        assert_eq!(one.words()[1].term, one.words()[0].term);
        assert_ne!(other.words()[0].term, other.words()[2].term);
        assert_eq!(one.length(), 1);
        assert!(!read("und", "食べ").words()[1].is_content());
    }

    #[test]
    fn questions_without_a_mark() {
        let asks = |locale: &str, source: &str| {
            let mut text = Text::default();
            text.read(source, &Pack::of(locale));
            text.is_question()
        };
        assert!(
            asks("zh", "这个贵吗")
                && asks("zh", "这个怎么做")
                && asks("ja", "できますか。")
                && asks("ko", "어떻게 하나요")
        );
        assert!(!asks("zh", "不管怎么做都行。") && !asks("zh", "我选第二个") && !asks("en", "I know what"));
    }

    #[test]
    fn a_closing_particle_makes_a_follow_up() {
        let follows = |locale: &str, source: &str| {
            let mut text = Text::default();
            text.read(source, &Pack::of(locale));
            text.phrase(PhraseKind::FollowUp).is_some()
        };
        assert!(follows("zh", "押金呢？") && follows("ja", "塩ラーメンは？") && follows("ko", "보증금은?"));
        assert!(!follows("ja", "塩ラーメンはおいしい"));
    }

    #[test]
    fn terms_join_singular_and_plural_across_texts() {
        let (one, many) = (read("that bug"), read("Bugs everywhere"));
        assert_eq!(one.words()[1].term, many.words()[0].term);
        assert_ne!(one.words()[0].term, one.words()[1].term);
    }

    #[test]
    fn sentences_and_gaps() {
        let text = read("Hello. Is it on? Yes, it is");
        assert_eq!((text.sentences(), text.is_question()), (3, false));
        let yes = text.words()[4];
        assert!(yes.gap.has(Gap::QUESTION) && yes.opens());
        assert!(text.words()[5].gap.has(Gap::PAUSE));
    }

    #[test]
    fn context_decides_between_noun_and_verb() {
        assert_eq!(read("the show").words()[1].tag, Tag::Noun);
        assert_eq!(read("show me the way").words()[0].tag, Tag::Verb);
        assert_eq!(read("I need help").words()[1].tag, Tag::Verb);
        assert_eq!(read("the need").words()[1].tag, Tag::Noun);
    }

    #[test]
    fn where_nouns_have_capitals_other_words_are_none_and_polite_ones_are_told() {
        let mut text = Text::default();
        text.read("Können Sie das alte Sieb entkalken, das sie mir gab? Das klappt.", &Pack::of("de"));
        let words: Vec<Word> = text.words().to_vec();
        let class = |at: usize, class: Class| words[at].class.has(class);
        assert!(class(1, Class::SECOND) && class(7, Class::THEY));
        assert_eq!([words[3].tag, words[4].tag, words[5].tag], [Tag::Adjective, Tag::Noun, Tag::Verb]);
        assert!(class(2, Class::DEFINITE) && !class(2, Class::FAR));
        assert!(class(6, Class::SUBORDINATOR) && !class(6, Class::DEFINITE));
        assert!(class(10, Class::FAR) && !class(10, Class::DEFINITE));
        assert!(!words[4].capital);
    }

    #[test]
    fn phrases_do_not_cross_sentences_and_the_longest_wins() {
        let text = read("what do you mean by that");
        assert_eq!(text.phrases().iter().filter(|p| p.kind == PhraseKind::Clarify).count(), 1);
        assert!(read("please explain. again").phrase(PhraseKind::Clarify).is_none());
    }
}
