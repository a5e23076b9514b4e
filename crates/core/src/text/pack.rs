//! Marker packs: what one language's function words, phrases and nouns of speech mean, as data.
//!
//! A pack is a JSON file in `packs/`; a language is added by writing one, not by touching code (G-15). `und` is the pack
//! of every language without one: no word has a class, only structure and similarity decide.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range, RangeInclusive};
use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use super::Text;
use super::fold::{fold_into, folds_in_place};
use super::segment::segment;
use super::words::{is_hiragana, only_character, term};

use crate::error::{Code, Error, Result};
use crate::word_table::WordTable;

/// Most likely part of speech, after the context rules of [`super::Text::read`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tag {
    /// A noun, or a word nothing is known of.
    #[default]
    Noun,
    /// A finite verb or bare infinitive.
    Verb,
    /// An -ing form.
    Gerund,
    /// A past tense or past participle.
    Past,
    /// An adjective.
    Adjective,
    /// An adverb.
    Adverb,
    /// A word with a grammatical class of its own.
    Function,
    /// Digits.
    Number,
}

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident = $bit:literal, $key:literal;)*) => {
        /// A set of grammatical and discourse classes of a word; a word may have several.
        #[derive(Clone, Copy, Default, PartialEq, Eq)]
        pub struct Class(u64);

        impl std::fmt::Debug for Class {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_set().entries([$((Self::$name, $key)),*].iter().filter(|c| self.has(c.0)).map(|c| c.1)).finish()
            }
        }

        impl Class {
            $($(#[$doc])* pub const $name: Self = Self(1 << $bit);)*

            /// The class of a pack's `words` key.
            fn of(key: &str) -> Option<Self> {
                match key { $($key => Some(Self::$name),)* _ => None }
            }
        }
    };
}

classes! {
    /// "it".
    IT = 0, "pronoun.it";
    /// "they", "them".
    THEY = 1, "pronoun.they";
    /// "he", "she", "him".
    PERSON = 2, "pronoun.person";
    /// "I", "we", "me".
    FIRST = 3, "pronoun.first";
    /// "you".
    SECOND = 4, "pronoun.second";
    /// "its", "their", "his", "her".
    POSSESSIVE_THIRD = 5, "possessive.third";
    /// "my", "our".
    POSSESSIVE_FIRST = 6, "possessive.first";
    /// "your".
    POSSESSIVE_SECOND = 7, "possessive.second";
    /// "this", "these".
    NEAR = 8, "demonstrative.near";
    /// "that", "those".
    FAR = 9, "demonstrative.far";
    /// "the".
    DEFINITE = 10, "article.definite";
    /// "a", "some", "any", "every".
    INDEFINITE = 11, "article.indefinite";
    /// Prepositions.
    PREPOSITION = 12, "preposition";
    /// Conjunctions.
    CONJUNCTION = 13, "conjunction";
    /// Forms of "to be".
    BE = 14, "auxiliary.be";
    /// "do", "have", "will", "can" and their forms.
    AUXILIARY = 15, "auxiliary";
    /// "not", "never".
    NEGATION = 16, "negation";
    /// Question words.
    WH = 17, "wh";
    /// Verbs that take a clause: "think that".
    SAYING = 18, "verb.saying";
    /// "one", "ones" as a pro-form.
    ONE = 19, "proform.one";
    /// "other", "another", "else".
    OTHER = 20, "other";
    /// "same".
    SAME = 21, "same";
    /// "such".
    SUCH = 22, "such";
    /// "both", "either", "neither".
    PAIR = 23, "pair";
    /// "former", "latter".
    LATTER = 24, "former-latter";
    /// "last", "final".
    LAST = 25, "last";
    /// "previous", "earlier", "above".
    EARLIER = 26, "earlier";
    /// "next", "following".
    NEXT = 27, "next";
    /// "first" … ; the value is in [`Entry::value`].
    ORDINAL = 28, "ordinal";
    /// "two" … ; the value is in [`Entry::value`].
    CARDINAL = 29, "cardinal";
    /// "there", "here".
    PLACE = 30, "place";
    /// "then".
    TIME = 31, "time";
    /// "again".
    AGAIN = 32, "again";
    /// "so", "too", "also".
    ADDITIVE = 33, "additive";
    /// Nouns for what was said: "answer", "question", "message".
    SPEECH = 34, "noun.speech";
    /// Nouns for members of a list: "option", "step".
    ITEM = 35, "noun.item";
    /// Nouns for what a tool returns: "result", "output", "error".
    TOOL = 36, "noun.tool";
    /// "yes", "no", "ok", "thanks".
    INTERJECTION = 37, "interjection";
    /// Speech verbs of the second person: "said", "mentioned", "suggested".
    SAID = 38, "verb.said";
    /// Verbs as likely as the noun of the same shape: "need", "use", "cost".
    VERBAL = 39, "verb.base";
    /// "because", "if", "when": openers of a subordinate clause.
    SUBORDINATOR = 40, "subordinator";
    /// Adjectives of degree and evaluation that make "it is … to/that" empty.
    EVALUATIVE = 41, "adjective.evaluative";
    /// Weather, time and distance words of the empty "it".
    EMPTY_IT = 42, "it.empty";
    /// Verbs of doing: "do", "try", "run" in "do it again".
    DO = 43, "verb.do";
    /// Generic nouns of things, people and places that a definite description reuses.
    GENERIC = 44, "noun.generic";
    /// Words for writing a piece: "write", "draft", "compose".
    WRITE = 45, "verb.write";
    /// Pieces of writing: "email", "guide", "report".
    DOCUMENT = 46, "noun.document";
    /// Words that make a standing rule: "must", "only", "never", "always", "from now on".
    STANDING = 47, "constraint";
    /// Things that exist once and need no antecedent: "sun", "internet", "world".
    UNIQUE = 48, "noun.unique";
    /// Words of comparison: "than", "versus", "more", "less".
    COMPARE = 49, "compare";
    /// "maybe", "actually", "well", "hmm": fillers in front of a turn.
    FILLER = 50, "filler";
    /// Too frequent to tell one text from another.
    STOP = 51, "stop";
    /// Nouns for people: "person", "doctor", "friend".
    HUMAN = 52, "noun.human";
    /// Letters and labels an item may carry.
    LABEL = 53, "label";
    /// Words that name a kind of tool output: "table", "list", "json".
    OUTPUT_KIND = 54, "noun.output";
    /// Imperative verbs that open a request.
    REQUEST = 55, "verb.request";
    /// Words that open a conversation: "hello".
    GREETING = 56, "interjection.greeting";
}

impl Class {
    /// No class.
    pub const NONE: Self = Self(0);
    /// Third-person pronouns and demonstratives, all of which can refer.
    pub const REFERRING: Self =
        Self(Self::IT.0 | Self::THEY.0 | Self::PERSON.0 | Self::POSSESSIVE_THIRD.0 | Self::NEAR.0 | Self::FAR.0);

    /// Classes whose words are nouns, verbs or adjectives too.
    pub const OPEN: Self = Self(
        Self::SPEECH.0
            | Self::ITEM.0
            | Self::TOOL.0
            | Self::SAID.0
            | Self::SAYING.0
            | Self::VERBAL.0
            | Self::EVALUATIVE.0
            | Self::EMPTY_IT.0
            | Self::DO.0
            | Self::GENERIC.0
            | Self::WRITE.0
            | Self::DOCUMENT.0
            | Self::UNIQUE.0
            | Self::HUMAN.0
            | Self::OUTPUT_KIND.0
            | Self::REQUEST.0
            | Self::LABEL.0,
    );

    /// The classes that the other has not.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Words that tell one member from others and stand before a noun: "third", "two", "other", "same", "last", "former".
    pub const POSITIONAL: Self = Self(
        Self::ORDINAL.0
            | Self::CARDINAL.0
            | Self::OTHER.0
            | Self::SAME.0
            | Self::LAST.0
            | Self::EARLIER.0
            | Self::NEXT.0
            | Self::LATTER.0,
    );

    /// True when the two share a class.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The classes of either.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True for classes whose words are nouns, verbs or adjectives too, and nothing else.
    const fn is_open(self) -> bool {
        self.has(Self::OPEN) && self.0 & !(Self::OPEN.0 | Self::COMPARE.0 | Self::STOP.0 | Self::STANDING.0) == 0
    }

    /// True when the word has no class.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What a pack knows of one word.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    /// Its classes.
    pub class: Class,
    /// Its likely part of speech.
    pub tag: Tag,
    /// The number an ordinal or cardinal stands for.
    pub value: i16,
    /// 1-based position in the pack's roles; 0 for none.
    role: u16,
}

impl Entry {
    /// The likely part of speech: a word with a closed class is a function word.
    pub fn likely(self) -> Tag {
        let closed = !self.class.is_empty() && self.tag == Tag::Noun && !self.class.has(Class::OPEN);
        if closed { Tag::Function } else { self.tag }
    }

    /// What it says of the folded word of a text: digits are a number whatever they stand for, and a character of hiragana
    /// that is nothing else is a piece of an ending.
    pub fn in_text(self, folded: &str) -> Self {
        if folded.starts_with(|c: char| c.is_ascii_digit()) {
            let digits = folded.bytes().take_while(u8::is_ascii_digit).count();
            return Self { tag: Tag::Number, value: folded[..digits].parse().unwrap_or(0), ..self };
        }
        if self.class.is_empty() && only_character(folded).is_some_and(is_hiragana) {
            return Self { class: Class::STOP, tag: Tag::Function, ..self };
        }
        Self { tag: self.likely(), ..self }
    }
}

/// What a phrase of a pack is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum PhraseKind {
    /// Asks to make clear what was said ("what do you mean").
    Clarify,
    /// Asks to go on ("go on", "and then").
    Continue,
    /// Goes back to an earlier subject ("back to", "as for").
    Return,
    /// Leaves the subject ("by the way", "new topic").
    Digress,
    /// Points at what was said ("you said", "as mentioned").
    Said,
    /// Asks to repeat an action ("do it again", "same for").
    Action,
    /// Opens an elliptical follow-up ("what about", "how about").
    FollowUp,
    /// Confirms or refuses ("yes please").
    Answer,
    /// Puts a rule on all later answers ("from now on").
    Standing,
    /// Puts a bound on what is asked for, in a question too ("no more than").
    Limit,
    /// Opens a sentence that forbids something ("please avoid").
    Forbid,
    /// Points at the conversation as a whole ("what we discussed").
    Discussed,
    /// Idioms whose pronoun refers to nothing ("that is", "it depends").
    Idiom,
    /// Disagrees with or doubts the last answer ("are you sure").
    Challenge,
    /// Mends what the user said before ("I meant").
    Repair,
    /// Wants what was said in another form ("rephrase", "in bullet points").
    Rephrase,
    /// An answer that does not answer ("I don't have information").
    Refusal,
    /// Asks to make clear only when it is the whole turn ("explain").
    ClarifyAlone,
    /// Makes a short turn an elliptical follow-up when it closes it ("呢", "는?").
    Closing,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PackFile {
    locale: String,
    #[serde(default)]
    words: BTreeMap<String, Vec<String>>,
    /// Words that are of another class when they are written with a capital inside a sentence: "Sie".
    #[serde(default)]
    capitals: BTreeMap<String, Vec<String>>,
    /// Ordinal and cardinal words with their values.
    #[serde(default)]
    numbers: BTreeMap<String, BTreeMap<String, i16>>,
    #[serde(default)]
    phrases: BTreeMap<String, Vec<String>>,
    /// Endings cut off to compare words: `"ies>y"`.
    #[serde(default)]
    stems: Vec<String>,
    /// Words take several of these endings, and one that is not known is looked up without them.
    #[serde(default)]
    inflected: bool,
    /// Letters that are another one in this language, before they are folded: `"I": "ı"`.
    #[serde(default)]
    letters: BTreeMap<char, char>,
    /// Clitics split off a word: `"'s"`, `"n't"`.
    #[serde(default)]
    clitics: Vec<String>,
    /// Function words written in front of a word as one with it, with the letters that a rest nobody knows must have:
    /// `"l'": 1`, `"ال": 3`; 0: only a word the pack knows is left.
    #[serde(default)]
    proclitics: BTreeMap<String, usize>,
    /// Pronouns and particles written behind a word as one with it, likewise: `"melo": 0`, `"는": 2`.
    #[serde(default)]
    enclitics: BTreeMap<String, usize>,
    /// Words that rules name one by one, by the English word whose part they play: `"of": ["का", "की"]`.
    #[serde(default)]
    roles: BTreeMap<String, Vec<String>>,
    /// Endings of plural nouns, `"s>p"`, and of singular ones that look like it, `"ss>s"`; the first that fits decides.
    #[serde(default)]
    plurals: Vec<String>,
    /// Endings of superlatives.
    #[serde(default)]
    superlatives: Vec<String>,
    /// Endings as they are before an enclitic, and alone: `"ت>ة"`.
    #[serde(default)]
    joints: Vec<String>,
    /// Adjectives and ordinals come after their noun: "الخيار الثاني".
    #[serde(default)]
    modifiers_after: bool,
    /// What prepositions are elsewhere comes after its noun: "दुकान में".
    #[serde(default)]
    postpositions: bool,
    /// The verb ends its sentence, so that a request does too.
    #[serde(default)]
    verb_final: bool,
    /// Question words stand where the answer would, not first.
    #[serde(default)]
    wh_in_place: bool,
    /// Things in general take the definite article, so that a phrase is not known to be definite by it.
    #[serde(default)]
    generic_article: bool,
    /// The language has no definite article, so that a bare noun phrase may be definite.
    #[serde(default)]
    no_article: bool,
    /// Relative clauses come before their noun, and "again" before its verb: "你刚才说的方案", "아까 말한 방법".
    #[serde(default)]
    clauses_before: bool,
    /// Endings of a question that needs no mark: "吗", "ですか".
    #[serde(default)]
    questions: Vec<String>,
    /// Endings of case after which a noun phrase is over: `"yi"`.
    #[serde(default)]
    cases: Vec<String>,
    /// Nouns are written with a capital: a word without is none.
    #[serde(default)]
    capital_nouns: bool,
    /// Suffixes that tell a tag: `"ly>R"`.
    #[serde(default)]
    suffixes: Vec<String>,
}

/// One language's words, phrases and endings.
#[derive(Debug, Default)]
pub struct Pack {
    locale: String,
    words: FxHashMap<Box<str>, Entry>,
    compounds: FxHashMap<Box<str>, Vec<(Box<[Box<str>]>, Entry)>>,
    phrases: FxHashMap<Box<str>, Vec<(PhraseKind, Box<[Box<str>]>)>>,
    stems: Endings<Box<str>>,
    /// Nouns, verbs and adjectives by their stems; empty in a language that is not inflected.
    stemmed: FxHashMap<Box<str>, Entry>,
    inflected: bool,
    letters: Vec<(char, char)>,
    capitals: FxHashMap<Box<str>, Entry>,
    clitics: Vec<Box<str>>,
    /// Every clitic has an apostrophe.
    apostrophes: bool,
    proclitics: Vec<(Box<str>, usize)>,
    enclitics: Vec<(Box<str>, usize)>,
    /// Words as they are known when split off behind another.
    attached: FxHashMap<Box<str>, Entry>,
    joints: Vec<(Box<str>, Box<str>)>,
    roles: Vec<Box<str>>,
    grammar: Arc<Grammar>,
    suffixes: Endings<Tag>,
    /// Numbers of the strings above, from 1.
    strings: Option<WordTable<u32>>,
    /// Those of single ideographs, in the order of Unicode; none where the pack has none.
    ideographs: Box<[u32]>,
    /// What is known of all the strings above, in the order of their numbers.
    readings: Vec<Reading>,
    /// What begins with those of them that something begins with, behind nothing.
    led: Vec<Led>,
    index: u16,
}

/// What a pack knows of one string, found in one look-up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    /// Its entry, of its own or by its ending, as a word of a text has it.
    pub entry: Entry,
    /// Hash of its stem.
    pub term: u32,
    /// Where the pack has what begins with it; 0 for nothing.
    led: u32,
    /// It does not fall into parts.
    pub whole: bool,
}

impl Reading {
    /// True when words known as one, or phrases, begin with it.
    pub const fn leads(&self) -> bool {
        self.led > 0
    }
}

/// What begins with one string.
#[derive(Debug, Default)]
pub struct Led {
    /// Words known as one.
    pub compounds: Sequences<Compound>,
    /// Phrases.
    pub phrases: Sequences<PhraseKind>,
}

/// What is known of several words together.
#[derive(Clone, Copy, Debug)]
pub struct Compound {
    /// What is known.
    pub entry: Entry,
    /// Their number as one string; 0 when the pack does not know it.
    pub string: u32,
    /// Hash of that string.
    pub term: u32,
}

/// What is known of strings in a row that begin with one, by those after it: found by the first of them.
#[derive(Debug)]
pub struct Sequences<T> {
    /// The first string after it, ascending; 0 for none.
    seconds: Box<[u32]>,
    rows: Box<[(Box<[u32]>, T)]>,
    /// How many of them end with it.
    alone: usize,
    /// A bit for each string after it: most that follow in a text are none of them.
    bits: u64,
}

impl<T> Sequences<T> {
    /// Those of an equal beginning keep their order.
    fn new(rows: impl Iterator<Item = (Box<[u32]>, T)>) -> Self {
        let second = |rest: &[u32]| rest.first().copied().unwrap_or_default();
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_key(|(rest, _)| second(rest));
        let seconds: Box<[u32]> = rows.iter().map(|(rest, _)| second(rest)).collect();
        let alone = seconds.partition_point(|second| *second == 0);
        let bits = seconds[alone..].iter().fold(0, |bits, second| bits | Self::bit(*second));
        Self { seconds, rows: rows.into(), alone, bits }
    }

    const fn bit(string: u32) -> u64 {
        1 << (string % u64::BITS)
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Those that go on with a string, then those that end here; each the longest first.
    pub fn going_on(&self, with: u32) -> impl Iterator<Item = &(Box<[u32]>, T)> {
        let (alone, longer) = self.rows.split_at(self.alone);
        let longer = if with > 0 && self.bits & Self::bit(with) > 0 {
            let from = self.seconds.partition_point(|second| *second < with);
            let count = self.seconds[from..].iter().take_while(|second| **second == with).count();
            &longer[from - self.alone..][..count]
        } else {
            &[]
        };
        longer.iter().chain(alone)
    }
}

impl<T> Default for Sequences<T> {
    fn default() -> Self {
        Self { seconds: Box::default(), rows: Box::default(), alone: 0, bits: 0 }
    }
}

/// What rules ask of a language beside its words; shared with every text read.
#[derive(Debug, Default)]
pub struct Grammar {
    /// Endings of nouns, and whether they make a plural.
    plurals: Endings<bool>,
    superlatives: Endings<()>,
    cases: Vec<Box<str>>,
    /// Adjectives and ordinals come after their noun.
    pub modifiers_after: bool,
    /// What prepositions are elsewhere comes after its noun.
    pub postpositions: bool,
    /// The verb ends its sentence.
    pub verb_final: bool,
    /// Question words stand where the answer would.
    pub wh_in_place: bool,
    /// Things in general take the definite article: "la vida", "الحياة".
    pub generic_article: bool,
    /// There is no definite article.
    pub no_article: bool,
    /// Relative clauses come before their noun, and "again" before its verb.
    pub clauses_before: bool,
    /// Endings of a question that needs no mark.
    pub questions: Box<[Box<str>]>,
    /// The definite article is written as one with its noun, and once more with every adjective.
    pub attached_article: bool,
    /// Nouns are written with a capital.
    pub capital_nouns: bool,
    /// A word is article and demonstrative in one: "das".
    pub article_demonstratives: bool,
    /// Words take several endings.
    pub inflected: bool,
}

impl Grammar {
    /// True for a noun in the plural, by its form.
    pub fn is_plural(&self, folded: &str) -> bool {
        folded.len() > 3 && self.plurals.first(folded, |_| true).is_some_and(|(_, plural)| *plural)
    }

    /// True for a noun whose ending of case ends its phrase.
    pub fn is_cased(&self, folded: &str) -> bool {
        self.cases.iter().any(|ending| folded.len() > ending.len() + 2 && folded.ends_with(&**ending))
    }

    /// True for a superlative, by its form.
    pub fn is_superlative(&self, folded: &str) -> bool {
        self.superlatives.first(folded, |rest| rest.len() > 2).is_some()
    }
}

/// Where the parts of a word end: at most [`Cuts::MOST`] places, in bytes, ascending.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cuts {
    at: [usize; Self::MOST],
    len: usize,
    /// How many of them come before the word that carries the others.
    pub before: usize,
}

impl Cuts {
    /// On each side of the word that carries them.
    const EACH: usize = 3;
    const MOST: usize = 2 * Self::EACH;
    /// No longer word is looked into, in bytes.
    const LONGEST: usize = 96;

    fn push(&mut self, at: usize) {
        self.at[self.len] = at;
        self.len += 1;
    }

    /// The places.
    pub fn places(&self) -> &[usize] {
        &self.at[..self.len]
    }
}

/// Endings of words and what each says.
#[derive(Debug, Default)]
struct Endings<T> {
    /// By their last byte, and as they were given.
    all: Vec<(Box<str>, T)>,
    /// By byte: where in `all` the endings begin that end with it or a later one.
    from: Vec<usize>,
}

impl<T> Endings<T> {
    fn new(endings: impl Iterator<Item = (Box<str>, T)>) -> Self {
        let last = |ending: &str| ending.bytes().last().map_or(0, usize::from);
        let mut all: Vec<(Box<str>, T)> = endings.collect();
        all.sort_by_key(|(ending, _)| last(ending));
        let from = (0..=256).map(|byte| all.partition_point(|(ending, _)| last(ending) < byte)).collect();
        Self { all, from }
    }

    /// Of the endings of `word` the first given whose rest of the word `fits`: that rest, and what the ending says.
    fn first<'w>(&self, word: &'w str, fits: impl Fn(&str) -> bool) -> Option<(&'w str, &T)> {
        let last = usize::from(*word.as_bytes().last()?);
        let [from, to] = [*self.from.get(last)?, *self.from.get(last + 1)?];
        self.all[from..to].iter().find_map(|(ending, says)| {
            let rest = word.strip_suffix(&**ending).filter(|rest| fits(rest))?;
            Some((rest, says))
        })
    }
}

/// `(language, pack, tag lexicon)` of a language with a lexicon, or without one.
macro_rules! pack {
    ($locale:literal) => {
        ($locale, include_str!(concat!("../../../../packs/", $locale, ".json")), "")
    };
    ($locale:literal with tags) => {
        (
            $locale,
            include_str!(concat!("../../../../packs/", $locale, ".json")),
            include_str!(concat!("../../../../packs/", $locale, ".tags.txt")),
        )
    };
}

static FILES: &[(&str, &str, &str)] = &[
    ("und", r#"{"locale":"und"}"#, ""),
    pack!("en" with tags),
    pack!("es" with tags),
    pack!("fr" with tags),
    pack!("de" with tags),
    pack!("it" with tags),
    pack!("pt" with tags),
    pack!("nl" with tags),
    pack!("zh" with tags),
    pack!("ja"),
    pack!("ko"),
    pack!("hi" with tags),
    pack!("ar" with tags),
    pack!("ru" with tags),
    pack!("tr" with tags),
];

/// Ideographs that are common.
pub(super) const IDEOGRAPHS: RangeInclusive<char> = '\u{4E00}'..='\u{9FFF}';

/// Share of a text's words that a pack must know for the text to be in its language.
const LEAST_KNOWN: f32 = 0.2;

/// Words of a text that tell its language.
const LOOKED_AT: usize = 24;

/// A text of at most so many words may be all names.
const NAMES: usize = 4;

impl Pack {
    /// The pack without words.
    pub fn und() -> Arc<Self> {
        Self::get(0)
    }

    /// The pack of a BCP 47 tag, by its language; `und` when there is none.
    pub fn of(locale: &str) -> Arc<Self> {
        let language = locale.split(['-', '_']).next().unwrap_or_default();
        let at = FILES.iter().position(|file| file.0.eq_ignore_ascii_case(language)).unwrap_or(0);
        Self::get(at)
    }

    /// The pack at an index of [`Pack::locales`]; `und` beyond its end.
    pub fn at(index: u16) -> Arc<Self> {
        Self::get(usize::from(index) % FILES.len())
    }

    /// Languages with a pack, `und` first; the position is [`Pack::index`].
    pub fn locales() -> impl Iterator<Item = &'static str> {
        FILES.iter().map(|file| file.0)
    }

    fn get(at: usize) -> Arc<Self> {
        static PACKS: [OnceLock<Arc<Pack>>; 32] = [const { OnceLock::new() }; 32];
        let (_, json, tags) = FILES[at];
        Arc::clone(PACKS[at].get_or_init(|| {
            let mut pack = Self::parse(json, tags).expect("packs are checked by tests");
            pack.index = at as u16;
            Arc::new(pack)
        }))
    }

    /// Reads a pack file and its tag lexicon.
    ///
    /// # Errors
    /// `INTERNAL` with the offending key when the file is not a pack.
    pub fn parse(json: &str, tags: &str) -> Result<Self> {
        let bad = |what: String| Error::new(Code::Internal, format!("marker pack: {what}"));
        let file: PackFile = serde_json::from_str(json).map_err(|e| bad(e.to_string()))?;
        let mut pack = Self {
            locale: file.locale,
            letters: file.letters.into_iter().collect(),
            inflected: file.inflected,
            ..Self::default()
        };
        for line in tags.lines() {
            let (tag, words) = line.split_once(' ').ok_or_else(|| bad(format!("tag line {line}")))?;
            let tag = tag_of(tag).ok_or_else(|| bad(format!("tag {tag}")))?;
            for word in words.split(' ') {
                // A word of ASCII is one piece; the English lexicon is too long to cut each to see.
                let entry =
                    if word.is_ascii() { pack.words.entry(word.into()).or_default() } else { pack.entry_mut(word) };
                entry.tag = tag;
            }
        }
        let mut known: Vec<(String, Class, i16)> = Vec::new();
        for (key, words) in file.words {
            let class = Class::of(&key).ok_or_else(|| bad(format!("class {key}")))?;
            known.extend(words.into_iter().map(|word| (word, class, 0)));
        }
        for (key, values) in file.numbers {
            let class = Class::of(&key).ok_or_else(|| bad(format!("class {key}")))?;
            known.extend(values.into_iter().map(|(word, value)| (word, class, value)));
        }
        let longest_first = |clitics: BTreeMap<String, usize>| {
            let mut clitics: Vec<(Box<str>, usize)> = clitics.into_iter().map(|(c, n)| (pack.fold(&c), n)).collect();
            clitics.sort_by_key(|(clitic, _)| std::cmp::Reverse(clitic.len()));
            clitics
        };
        let (proclitics, enclitics) = (longest_first(file.proclitics), longest_first(file.enclitics));
        pack.apostrophes = file.clitics.iter().all(|clitic| clitic.contains('\''));
        pack.clitics = file.clitics.into_iter().map(Into::into).collect();
        (pack.proclitics, pack.enclitics) = (proclitics, enclitics);
        pack.joints = pairs(&file.joints).collect();
        // Words of one piece first: they say where the others are split.
        known.sort_by_cached_key(|(word, ..)| pieces(word).len());
        for (word, class, value) in known {
            let entry = pack.entry_mut(&word);
            entry.class = entry.class.or(class);
            if value != 0 {
                entry.value = value;
            }
        }
        for (at, (role, words)) in file.roles.into_iter().enumerate() {
            pack.roles.push(role.into());
            for word in words {
                pack.entry_mut(&word).role = at as u16 + 1;
            }
        }
        for known in pack.compounds.values_mut() {
            known.sort_by_key(|(rest, _)| std::cmp::Reverse(rest.len()));
        }
        for (key, words) in file.capitals {
            let class = Class::of(&key).ok_or_else(|| bad(format!("class {key}")))?;
            for word in words {
                pack.capitals.entry(pack.fold(&word)).or_default().class = class;
            }
        }
        pack.number_strings();
        let mut text = Text::default();
        for (key, phrases) in file.phrases {
            let kind: PhraseKind =
                serde_json::from_value(key.clone().into()).map_err(|_| bad(format!("phrase kind {key}")))?;
            for phrase in phrases {
                // Read as a turn is, so that it falls into the same words; "that 's" is written apart for the eye.
                text.read(&phrase.replace(" '", "'"), &pack);
                let mut words = (0..text.words().len()).map(|at| Box::from(text.folded(at)));
                let first = words.next().ok_or_else(|| bad("empty phrase".into()))?;
                pack.phrases.entry(first).or_default().push((kind, words.collect()));
            }
        }
        for phrases in pack.phrases.values_mut() {
            phrases.sort_by_key(|(kind, rest)| (std::cmp::Reverse(rest.len()), *kind as u8));
        }
        pack.stems = Endings::new(pairs(&file.stems));
        let entries = pack.words.values().chain(pack.attached.values()).chain(pack.capitals.values());
        let mut classes = entries.chain(pack.compounds.values().flatten().map(|(_, entry)| entry)).map(|of| of.class);
        let article_demonstratives = classes.any(|class| class.has(Class::DEFINITE) && class.has(Class::FAR));
        pack.grammar = Arc::new(Grammar {
            plurals: Endings::new(pairs(&file.plurals).map(|(ending, number)| (ending, &*number == "p"))),
            superlatives: Endings::new(file.superlatives.into_iter().map(|ending| (ending.into(), ()))),
            cases: file.cases.into_iter().map(Into::into).collect(),
            modifiers_after: file.modifiers_after,
            postpositions: file.postpositions,
            verb_final: file.verb_final,
            wh_in_place: file.wh_in_place,
            generic_article: file.generic_article,
            no_article: file.no_article,
            clauses_before: file.clauses_before,
            questions: file.questions.into_iter().map(Into::into).collect(),
            attached_article: pack
                .proclitics
                .iter()
                .any(|(clitic, _)| !clitic.ends_with('\'') && pack.entry(clitic).class.has(Class::DEFINITE))
                && file.modifiers_after,
            capital_nouns: file.capital_nouns,
            article_demonstratives,
            inflected: file.inflected,
        });
        pack.stemmed = pack.by_stem();
        pack.suffixes = Endings::new(pairs(&file.suffixes).filter_map(|(suffix, tag)| Some((suffix, tag_of(&tag)?))));
        pack.number_strings();
        Ok(pack)
    }

    /// Makes one look-up of all there are.
    fn number_strings(&mut self) {
        let compounds =
            self.compounds.iter().flat_map(|(first, known)| known.iter().map(move |(rest, _)| (first, rest)));
        let phrases = self.phrases.iter().flat_map(|(first, known)| known.iter().map(move |(_, rest)| (first, rest)));
        let together = compounds.chain(phrases).flat_map(|(first, rest)| rest.iter().chain([first]));
        let strings: FxHashSet<&str> = self.words.keys().chain(together).map(|string| &**string).collect();
        let strings: Vec<&str> = strings.into_iter().collect();
        let table = WordTable::new(strings.iter().enumerate().map(|(at, string)| (string.as_bytes(), at as u32 + 1)));
        let all = |strings: &[Box<str>]| strings.iter().filter_map(|string| table.get(string.as_bytes())).collect();
        let begun = |string: &str| Led {
            compounds: Sequences::new(self.compounds.get(string).into_iter().flatten().map(|(rest, entry)| {
                let joined = format!("{string}{}", rest.concat());
                let number = table.get(joined.as_bytes()).unwrap_or_default();
                (all(rest), Compound { entry: *entry, string: number, term: term((&joined, "")) })
            })),
            phrases: Sequences::new(
                self.phrases.get(string).into_iter().flatten().map(|(kind, rest)| (all(rest), *kind)),
            ),
        };
        let mut led = vec![Led::default()];
        let mut reading = |string: &&str| {
            let begins = begun(string);
            let leads = !(begins.compounds.is_empty() && begins.phrases.is_empty());
            if leads {
                led.push(begins);
            }
            Reading {
                entry: self.entry(string).in_text(string),
                term: term(self.stem(string)),
                led: if leads { led.len() as u32 - 1 } else { 0 },
                whole: self.cuts(string).is_none(),
            }
        };
        self.readings = strings.iter().map(&mut reading).collect();
        self.led = led;
        let number = |c: char| table.get(c.encode_utf8(&mut [0; 4]).as_bytes()).unwrap_or_default();
        self.ideographs = IDEOGRAPHS.map(number).collect();
        if self.ideographs.iter().all(|number| *number == 0) {
            self.ideographs = Box::default();
        }
        self.strings = Some(table);
    }

    /// The number in the pack of a word of a folded text, 0 for one it does not know. Cost: about 5 ns.
    pub fn find(&self, folded: &str, word: Range<usize>) -> u32 {
        self.strings.as_ref().and_then(|strings| strings.get_in(folded.as_bytes(), word)).unwrap_or_default()
    }

    /// [`Pack::find`] for a string of one character.
    pub fn find_lone(&self, c: char) -> u32 {
        if IDEOGRAPHS.contains(&c) {
            let at = c as usize - *IDEOGRAPHS.start() as usize;
            return self.ideographs.get(at).copied().unwrap_or_default();
        }
        self.find(c.encode_utf8(&mut [0; 4]), 0..c.len_utf8())
    }

    /// What is known of the string with a number.
    pub fn reading(&self, string: u32) -> Reading {
        self.readings.get((string as usize).wrapping_sub(1)).copied().unwrap_or_default()
    }

    /// What is guessed of a folded word that it does not know.
    pub fn guessed(&self, folded: &str) -> Reading {
        let entry = self.guess(folded).in_text(folded);
        Reading { entry, term: term(self.stem(folded)), ..Reading::default() }
    }

    /// What begins with the string with a number, which [leads](Reading::leads).
    pub fn led(&self, string: u32) -> &Led {
        &self.led[self.reading(string).led as usize]
    }

    /// What is known of a word, of several words known as one, or of `-word`, split off behind another.
    fn entry_mut(&mut self, word: &str) -> &mut Entry {
        if let Some(attached) = word.strip_prefix('-') {
            return self.attached.entry(self.fold(attached)).or_default();
        }
        if word.split(' ').flat_map(pieces).count() <= 1 {
            return self.words.entry(self.fold(word)).or_default();
        }
        let mut parts = self.parts(word);
        let rest: Box<[Box<str>]> = parts.split_off(1).into();
        let known = self.compounds.entry(parts.remove(0)).or_default();
        let at = known.iter().position(|(words, _)| *words == rest).unwrap_or_else(|| {
            known.push((rest, Entry::default()));
            known.len() - 1
        });
        &mut known[at].1
    }

    /// The words that several known as one fall into.
    fn parts(&self, phrase: &str) -> Vec<Box<str>> {
        let mut parts = Vec::new();
        for piece in phrase.split(' ').flat_map(pieces) {
            let piece = self.fold(&piece);
            let mut from = 0;
            for cut in self.cuts(&piece).iter().flat_map(Cuts::places).chain([&piece.len()]) {
                parts.push(piece[from..*cut].into());
                from = *cut;
            }
        }
        parts
    }

    /// The words of open classes by their stems, if words are looked up by them.
    fn by_stem(&self) -> FxHashMap<Box<str>, Entry> {
        let mut stemmed: FxHashMap<Box<str>, Entry> = FxHashMap::default();
        for (word, entry) in self.words.iter().filter(|(_, entry)| self.inflected && entry.class.is_open()) {
            let (stem, ending) = self.stem(word);
            let known = stemmed.entry(format!("{stem}{ending}").into()).or_insert(*entry);
            known.class = known.class.or(entry.class);
        }
        stemmed
    }

    /// Appends the folded form of `word`, with the letters of the language. Cost: that of [`fold_into`].
    pub fn fold_into(&self, word: &str, out: &mut String) {
        if self.has_letters(word) {
            let written: String = word.chars().map(|c| self.letter(c).unwrap_or(c)).collect();
            fold_into(&written, out);
        } else {
            fold_into(word, out);
        }
    }

    /// True for a word whose folded form is what [`fold_in_place`](super::fold::fold_in_place) makes of it.
    pub fn folds_in_place(&self, word: &str) -> bool {
        folds_in_place(word) && !self.has_letters(word)
    }

    /// The letter that another one is in this language.
    fn letter(&self, c: char) -> Option<char> {
        self.letters.iter().find(|(from, _)| *from == c).map(|(_, to)| *to)
    }

    fn has_letters(&self, word: &str) -> bool {
        !self.letters.is_empty() && word.chars().any(|c| self.letter(c).is_some())
    }

    fn fold(&self, word: &str) -> Box<str> {
        let mut folded = String::with_capacity(word.len());
        self.fold_into(word, &mut folded);
        folded.into()
    }

    /// BCP 47 language of the pack.
    pub fn locale(&self) -> &str {
        &self.locale
    }

    /// Position among [`Pack::locales`].
    pub fn index(&self) -> u16 {
        self.index
    }

    /// True when nobody has written it yet.
    pub fn is_stub(&self) -> bool {
        self.words.is_empty()
    }

    /// True for the pack without words.
    pub fn is_und(&self) -> bool {
        self.index == 0
    }

    /// True where the built-in vectors can be meant: in English, and where the language is not known.
    pub fn is_english_or_und(&self) -> bool {
        matches!(&*self.locale, "en" | "und")
    }

    /// What is known of a folded word.
    pub fn entry(&self, folded: &str) -> Entry {
        self.words.get(folded).copied().unwrap_or_else(|| self.guess(folded))
    }

    /// What the ending of a folded word says that the pack does not have.
    pub fn guess(&self, folded: &str) -> Entry {
        if let Some(entry) = self.by_its_stem(folded) {
            return *entry;
        }
        let tag = self.suffixes.first(folded, |rest| rest.len() > 2).map_or(Tag::Noun, |(_, tag)| *tag);
        Entry { tag, ..Entry::default() }
    }

    fn by_its_stem(&self, folded: &str) -> Option<&Entry> {
        if self.stemmed.is_empty() {
            return None;
        }
        match self.stem(folded) {
            (stem, "") => self.stemmed.get(stem),
            (stem, ending) => self.stemmed.get(&*format!("{stem}{ending}")),
        }
    }

    /// The pack for a text whose language nobody named: `whichlang` guesses from the letters, and the pack's words must
    /// bear it out; a short text is decided by its words first. `und` when no pack knows the text (G-15).
    pub fn detect(text: &str) -> Arc<Self> {
        /// Shorter texts are guessed badly from their letters.
        const SHORT: usize = 48;
        let english = Self::of("en");
        let mut opening = [""; LOOKED_AT];
        let opening = first_words(text, &mut opening);
        let in_english = if text.len() <= SHORT { english.known(opening, 0.0) } else { 0.0 };
        if in_english >= 1.0 {
            return english;
        }
        let guess = Self::of(match whichlang::detect_language(text) {
            whichlang::Lang::Ara => "ar",
            whichlang::Lang::Cmn => "zh",
            whichlang::Lang::Deu => "de",
            whichlang::Lang::Eng => "en",
            whichlang::Lang::Fra => "fr",
            whichlang::Lang::Hin => "hi",
            whichlang::Lang::Ita => "it",
            whichlang::Lang::Jpn => "ja",
            whichlang::Lang::Kor => "ko",
            whichlang::Lang::Nld => "nl",
            whichlang::Lang::Por => "pt",
            whichlang::Lang::Rus => "ru",
            whichlang::Lang::Spa => "es",
            whichlang::Lang::Tur => "tr",
            _ => "und",
        });
        let known = guess.known(opening, 0.0);
        if in_english >= 0.5 && in_english >= known {
            return english;
        }
        // Neighbours share words: of a short text the guess must know all, or none may know more.
        if known >= 1.0 || known >= LEAST_KNOWN && text.chars().nth(SHORT).is_some() {
            return guess;
        }
        // The one that knows most; among equals English, which lends its words to all, then the guess.
        let mut best = if in_english >= known { (in_english, english.clone()) } else { (known, guess) };
        for at in 1..FILES.len() {
            let pack = Self::get(at);
            let known = pack.known(opening, best.0);
            if known > best.0 {
                best = (known, pack);
            }
        }
        // A few names and numbers are no other language's for that.
        let named = || opening.len() <= NAMES && opening.iter().all(|word| word.is_ascii());
        if best.0 > 0.5 || best.0 >= LEAST_KNOWN && !named() {
            best.1
        } else if named() {
            english
        } else {
            Self::und()
        }
    }

    /// Share of the first words of a text that the pack has anything to say about; a word known in parts counts, a name
    /// or number only when there is nothing else; 0 when it is not more than `best`. Cost: the look-ups, and no more than it
    /// takes to tell that the share is not small, or that it is none of use.
    fn known(&self, opening: &[&str], best: f32) -> f32 {
        let (mut plain, mut names) = ((0u8, 0u8), (0u8, 0u8));
        let mut folded = String::new();
        for (word, left) in opening.iter().zip((1..=opening.len() as u8).rev()) {
            // The share if all that are left were known.
            let most = f32::from(plain.0 + left) / f32::from(plain.1 + left);
            if plain.1 > 0 && most <= best {
                return 0.0;
            }
            folded.clear();
            self.fold_into(word, &mut folded);
            let whole = self.words.contains_key(&*folded) || self.compounds.contains_key(&*folded);
            let known = whole || self.cuts(&folded).is_some() || self.by_its_stem(&folded).is_some();
            // The first word of a text has a capital whatever it is.
            let opens = known && plain.1 + names.1 == 0;
            let name = word.starts_with(|c: char| c.is_uppercase() && !opens || c.is_numeric());
            let (some, all) = if name { &mut names } else { &mut plain };
            *some += u8::from(known);
            *all += 1;
            if plain.0 > 6 && plain.0 * 2 > plain.1 {
                break;
            }
        }
        let (some, all) = if plain.1 > 0 { plain } else { names };
        f32::from(some) / f32::from(all.max(1))
    }

    /// The stem of a folded word, for comparison across plural and singular: a prefix, or the prefix and a replacement.
    pub fn stem<'a>(&'a self, folded: &'a str) -> (&'a str, &'a str) {
        let least = if self.inflected { 2 } else { 1 };
        let mut stem = (folded, "");
        // Each round takes an ending off, or gives the stem its last form.
        while let Some((rest, with)) = self.stems.first(stem.0, |rest| rest.chars().nth(least).is_some()) {
            stem = (rest, with);
            if !self.inflected || !with.is_empty() {
                break;
            }
        }
        stem
    }

    /// Byte length of the clitic `folded` ends with, 0 for none.
    pub fn clitic(&self, folded: &str) -> usize {
        if self.apostrophes && !folded.as_bytes().contains(&b'\'') {
            return 0;
        }
        self.clitics
            .iter()
            .find(|clitic| folded.len() > clitic.len() && ends(folded, clitic))
            .map_or(0, |clitic| clitic.len())
    }

    /// Where a folded word falls into the words that are written together in it, if it does. Cost: one comparison a
    /// clitic; nothing but a look for an apostrophe in English.
    pub fn cuts(&self, folded: &str) -> Option<Cuts> {
        let clitic = self.clitic(folded);
        let attaches = !(self.proclitics.is_empty() && self.enclitics.is_empty());
        if clitic == 0 && (!attaches || folded.len() > Cuts::LONGEST) {
            return None;
        }
        let mut cuts = Cuts::default();
        if clitic > 0 {
            cuts.push(folded.len() - clitic);
        } else {
            let mut from = 0;
            while let Some(len) = self.proclitic(&folded[from..], Cuts::EACH - cuts.len) {
                let article = self.entry(&folded[from..from + len]).class.has(Class::DEFINITE);
                from += len;
                cuts.push(from);
                if article {
                    break;
                }
            }
            cuts.before = cuts.len;
            let mut to = folded.len();
            let mut ends = [0; Cuts::EACH];
            let mut count = 0;
            while let Some(len) = self.enclitic(&folded[from..to], Cuts::EACH - count) {
                to -= len;
                ends[count] = to;
                count += 1;
            }
            ends[..count].iter().rev().for_each(|end| cuts.push(*end));
        }
        (cuts.len > 0).then_some(cuts)
    }

    /// Byte length of the proclitic that a word begins with, if at most `most` clitics are on that side.
    fn proclitic(&self, word: &str, most: usize) -> Option<usize> {
        if most == 0 || self.words.contains_key(word) {
            return None;
        }
        // Nothing comes between an article and its word.
        let stands = |clitic: &str, rest: &str, least: usize| {
            self.words.contains_key(rest)
                || least > 0 && rest.chars().nth(least - 1).is_some()
                || !self.entry(clitic).class.has(Class::DEFINITE) && self.proclitic(rest, most - 1).is_some()
                || self.enclitic(rest, Cuts::EACH).is_some()
        };
        let splits = |(clitic, least): &&(Box<str>, usize)| {
            word.strip_prefix(&**clitic).is_some_and(|rest| !rest.is_empty() && stands(clitic, rest, *least))
        };
        self.proclitics.iter().find(splits).map(|(clitic, _)| clitic.len())
    }

    /// Byte length of the enclitic that a word ends with, if at most `most` are; what is left may have an accent or an
    /// ending that it has not alone.
    fn enclitic(&self, word: &str, most: usize) -> Option<usize> {
        if most == 0 || self.words.contains_key(word) {
            return None;
        }
        let alone = |rest: &str| {
            self.joints.iter().any(|(joined, alone)| {
                rest.strip_suffix(&**joined).is_some_and(|stem| self.words.contains_key(&*format!("{stem}{alone}")))
            })
        };
        let stands = |rest: &str, least: usize| {
            self.words.contains_key(rest)
                || least > 0 && rest.chars().nth(least - 1).is_some()
                || !rest.is_ascii() && self.words.contains_key(&*without_accents(rest))
                || alone(rest)
                || self.enclitic(rest, most - 1).is_some()
        };
        let splits = |(clitic, least): &&(Box<str>, usize)| {
            word.strip_suffix(&**clitic).is_some_and(|rest| !rest.is_empty() && stands(rest, *least))
        };
        self.enclitics.iter().find(splits).map(|(clitic, _)| clitic.len())
    }

    /// What is known of a folded word that is written with a capital inside a sentence.
    pub fn capital(&self, folded: &str) -> Option<Entry> {
        self.capitals.get(folded).copied()
    }

    /// What is known of a folded word that others were split off; it may have an accent that it has not alone.
    pub fn carrier(&self, folded: &str) -> Entry {
        let accented = !folded.is_ascii() && !self.words.contains_key(folded);
        let plain = accented.then(|| self.words.get(&*without_accents(folded))).flatten();
        plain.copied().unwrap_or_else(|| self.entry(folded))
    }

    /// What is known of a folded word that was split off behind another.
    pub fn attached(&self, folded: &str) -> Entry {
        self.attached.get(folded).copied().unwrap_or_else(|| self.entry(folded))
    }

    /// The English word whose part an entry plays in the rules.
    pub fn role(&self, entry: &Entry) -> Option<&str> {
        self.roles.get(usize::from(entry.role).wrapping_sub(1)).map(|role| &**role)
    }

    /// What rules ask of the language beside its words.
    pub fn grammar(&self) -> &Arc<Grammar> {
        &self.grammar
    }
}

/// `ends_with`, decided by the last byte where it can be.
fn ends(word: &str, ending: &str) -> bool {
    let last = |text: &str| text.as_bytes().last().copied();
    (ending.is_empty() || last(word) == last(ending)) && word.ends_with(ending)
}

/// Latin letters without their marks.
fn without_accents(word: &str) -> String {
    word.nfd().filter(|c| !matches!(c, '\u{300}'..='\u{36f}')).collect()
}

/// As many of the words of a text as there is place for.
fn first_words<'t, 'a>(text: &'t str, into: &'a mut [&'t str]) -> &'a [&'t str] {
    let mut count = 0;
    _ = segment(text, |word| {
        into[count] = &text[word];
        count += 1;
        if count < into.len() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    &into[..count]
}

/// The words that segmentation makes of a pack's word or phrase; scripts without spaces have several.
fn pieces(text: &str) -> Vec<Box<str>> {
    let words: Vec<Box<str>> = text.unicode_words().map(Box::from).collect();
    if words.is_empty() || text.starts_with('\'') || text.ends_with('\'') || text == "n't" {
        vec![text.into()]
    } else {
        words
    }
}

fn pairs(rules: &[String]) -> impl Iterator<Item = (Box<str>, Box<str>)> {
    rules.iter().filter_map(|rule| rule.split_once('>')).map(|(from, to)| (from.into(), to.into()))
}

fn tag_of(letter: &str) -> Option<Tag> {
    Some(match letter {
        "N" => Tag::Noun,
        "V" => Tag::Verb,
        "G" => Tag::Gerund,
        "D" => Tag::Past,
        "J" => Tag::Adjective,
        "R" => Tag::Adverb,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_pack_parses_and_knows_itself() {
        for (at, locale) in Pack::locales().enumerate() {
            let pack = Pack::of(locale);
            assert_eq!((pack.locale(), usize::from(pack.index())), (locale, at));
        }
        assert!(Pack::of("tlh").is_und());
        assert_eq!(Pack::of("en-GB").locale(), "en");
    }

    #[test]
    fn english_words_have_classes_tags_values_and_stems() {
        let pack = Pack::of("en");
        assert!(pack.entry("it").class.has(Class::IT));
        assert_eq!(pack.entry("third").value, 3);
        assert_eq!(pack.entry("quickly").tag, Tag::Adverb);
        assert_eq!(pack.entry("zorblax").tag, Tag::Noun);
        assert_eq!(pack.stem("cities"), ("cit", "y"));
        assert_eq!(pack.stem("bugs"), ("bug", ""));
        assert_eq!(pack.clitic("don't"), 3);
    }

    #[test]
    fn words_written_together_fall_apart_where_the_rest_is_known() {
        let pack = Pack::parse(
            r#"{
                "locale": "xx",
                "words": {
                    "verb.request": ["explica", "haz"], "pronoun.it": ["-lo", "-melo"], "article.definite": ["lo", "ال"],
                    "noun.speech": ["جواب", "والي"], "possessive.second": ["-ك"]
                },
                "proclitics": {"l'": 1, "ال": 3, "و": 0},
                "enclitics": {"lo": 0, "melo": 0, "ك": 0},
                "phrases": {"clarify": ["explícamelo otra vez"]}
            }"#,
            "",
        )
        .unwrap();
        let read = |source: &str| {
            let mut text = Text::default();
            text.read(source, &pack);
            let words = text.words().iter().map(|w| source[w.start as usize..w.end as usize].to_owned());
            words.collect::<Vec<_>>().join("|")
        };
        for (source, parts) in [
            ("explícamelo", "explíca|melo"),
            ("hazlo", "haz|lo"),
            ("pomelo", "pomelo"),
            ("L’altro", "L’|altro"),
            ("والجواب", "و|ال|جواب"),
            ("جَوابُكَ", "جَوابُ|كَ"),
            ("والي", "والي"),
            ("ورد", "ورد"),
            ("الورد", "ال|ورد"),
            ("ككككككككككككككك", "ككككككككككككككك"),
        ] {
            assert_eq!(read(source), parts);
        }
        let mut text = Text::default();
        text.read("¡Explícamelo otra vez!", &pack);
        assert!(text.words()[1].class.has(Class::IT) && !text.words()[1].class.has(Class::DEFINITE));
        assert!(text.phrase(PhraseKind::Clarify).is_some());
    }

    #[test]
    fn the_language_is_decided_by_words_that_a_pack_knows() {
        for (text, locale) in [
            ("Could you please tell me more about the second one?", "en"),
            ("tell me more", "en"),
            ("etcd port 2379", "en"),
            ("Julian Hester and 708-340-0190", "en"),
            ("There are various certificates: 1. Certified Advocate Cloud 2. Certified Technical Advocate Cloud", "en"),
            ("WHERE IS THE RESULT?", "en"),
            ("👍", "en"),
            ("Voisitko kertoa minulle lisää tuosta toisesta vaihtoehdosta, kiitos?", "und"),
            ("ช่วยอธิบายตัวเลือกที่สองให้ละเอียดกว่านี้ได้ไหม", "und"),
            ("Có thể giải thích rõ hơn về lựa chọn thứ hai không?", "und"),
        ] {
            assert_eq!(Pack::detect(text).locale(), locale, "{text}");
        }
    }

    #[test]
    fn inflected_words_are_known_by_their_stems_and_letters_fold_as_the_language_writes_them() {
        let turkish = Pack::of("tr");
        assert!(turkish.entry("tablolarından").class.has(Class::OUTPUT_KIND));
        assert!(turkish.entry("zorblaxlarından").class.is_empty());
        let (mut dotless, mut elsewhere) = (String::new(), String::new());
        turkish.fold_into("ILIK İLK", &mut dotless);
        Pack::of("de").fold_into("ILIK", &mut elsewhere);
        assert_eq!((&*dotless, &*elsewhere), ("ılık ilk", "ilik"));
        assert_eq!(Pack::of("ru").stem("грядками"), Pack::of("ru").stem("грядку"));
    }

    #[test]
    fn a_pack_with_an_unknown_class_is_refused() {
        let error = Pack::parse(r#"{"locale":"xx","words":{"pronoun.bogus":["a"]}}"#, "").unwrap_err();
        assert!(error.message.contains("pronoun.bogus"));
    }
}
