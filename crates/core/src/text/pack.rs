//! Marker packs: what one language's function words, phrases and nouns of speech mean, as data.
//!
//! A pack is a JSON file in `packs/`; a language is added by writing one, not by touching code (G-15). `und` is the pack
//! of every language without one: no word has a class, only structure and similarity decide.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use serde::Deserialize;

use unicode_segmentation::UnicodeSegmentation;

use crate::embedding::StaticEmbedder;
use crate::error::{Code, Error, Result};
use crate::similarity;

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
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Class(u64);

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

    /// True when the two share a class.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The classes of either.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
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
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PackFile {
    locale: String,
    #[serde(default)]
    words: BTreeMap<String, Vec<String>>,
    /// Ordinal and cardinal words with their values.
    #[serde(default)]
    numbers: BTreeMap<String, BTreeMap<String, i16>>,
    #[serde(default)]
    phrases: BTreeMap<String, Vec<String>>,
    /// Endings cut off to compare words: `"ies>y"`.
    #[serde(default)]
    stems: Vec<String>,
    /// Clitics split off a word: `"'s"`, `"n't"`.
    #[serde(default)]
    clitics: Vec<String>,
    /// Suffixes that tell a tag: `"ly>R"`.
    #[serde(default)]
    suffixes: Vec<String>,
    /// Requests to clarify, for comparison by vector.
    #[serde(default)]
    exemplars: Vec<String>,
}

/// One language's words, phrases and endings.
#[derive(Debug, Default)]
pub struct Pack {
    locale: String,
    words: FxHashMap<Box<str>, Entry>,
    compounds: FxHashMap<Box<str>, Vec<(Box<[Box<str>]>, Entry)>>,
    exemplars: Box<[Box<str>]>,
    exemplar_vectors: OnceLock<Vec<f32>>,
    phrases: FxHashMap<Box<str>, Vec<(PhraseKind, Box<[Box<str>]>)>>,
    stems: Vec<(Box<str>, Box<str>)>,
    clitics: Vec<Box<str>>,
    suffixes: Vec<(Box<str>, Tag)>,
    index: u16,
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
    pack!("es"),
    pack!("fr"),
    pack!("de"),
    pack!("it"),
    pack!("pt"),
    pack!("nl"),
    pack!("zh"),
    pack!("ja"),
    pack!("ko"),
    pack!("hi"),
    pack!("ar"),
    pack!("ru"),
    pack!("tr"),
];

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
        let mut pack = Self { locale: file.locale, ..Self::default() };
        for line in tags.lines() {
            let (tag, words) = line.split_once(' ').ok_or_else(|| bad(format!("tag line {line}")))?;
            let tag = tag_of(tag).ok_or_else(|| bad(format!("tag {tag}")))?;
            pack.words.extend(words.split(' ').map(|word| (word.into(), Entry { tag, ..Entry::default() })));
        }
        for (key, words) in file.words {
            let class = Class::of(&key).ok_or_else(|| bad(format!("class {key}")))?;
            for word in words {
                pack.class(&word, class, 0);
            }
        }
        for (key, values) in file.numbers {
            let class = Class::of(&key).ok_or_else(|| bad(format!("class {key}")))?;
            for (word, value) in values {
                pack.class(&word, class, value);
            }
        }
        for (key, phrases) in file.phrases {
            let kind: PhraseKind =
                serde_json::from_value(key.clone().into()).map_err(|_| bad(format!("phrase kind {key}")))?;
            for phrase in phrases {
                let mut words = phrase.split(' ').flat_map(pieces);
                let first: Box<str> = words.next().ok_or_else(|| bad("empty phrase".into()))?;
                let rest = words.collect();
                pack.phrases.entry(first).or_default().push((kind, rest));
            }
        }
        for phrases in pack.phrases.values_mut() {
            phrases.sort_by_key(|(kind, rest)| (std::cmp::Reverse(rest.len()), *kind as u8));
        }
        for known in pack.compounds.values_mut() {
            known.sort_by_key(|(rest, _)| std::cmp::Reverse(rest.len()));
        }
        pack.exemplars = file.exemplars.into_iter().map(Into::into).collect();
        pack.stems = pairs(&file.stems).collect();
        pack.clitics = file.clitics.into_iter().map(Into::into).collect();
        pack.suffixes = pairs(&file.suffixes).filter_map(|(suffix, tag)| Some((suffix, tag_of(&tag)?))).collect();
        Ok(pack)
    }

    /// Gives a word, or several words known as one, a class.
    fn class(&mut self, word: &str, class: Class, value: i16) {
        let mut pieces = pieces(word);
        let entry = if pieces.len() > 1 {
            let rest: Box<[Box<str>]> = pieces.split_off(1).into();
            let known = self.compounds.entry(pieces.remove(0)).or_default();
            let at = known.iter().position(|(words, _)| *words == rest).unwrap_or_else(|| {
                known.push((rest, Entry::default()));
                known.len() - 1
            });
            &mut known[at].1
        } else {
            self.words.entry(word.into()).or_default()
        };
        entry.class = entry.class.or(class);
        if value != 0 {
            entry.value = value;
        }
    }

    /// BCP 47 language of the pack.
    pub fn locale(&self) -> &str {
        &self.locale
    }

    /// Position among [`Pack::locales`].
    pub fn index(&self) -> u16 {
        self.index
    }

    /// True for the pack without words.
    pub fn is_und(&self) -> bool {
        self.index == 0
    }

    /// What is known of a folded word.
    pub fn entry(&self, folded: &str) -> Entry {
        if let Some(entry) = self.words.get(folded) {
            return *entry;
        }
        let tag = self
            .suffixes
            .iter()
            .find(|(suffix, _)| folded.len() > suffix.len() + 2 && folded.ends_with(&**suffix))
            .map_or(Tag::Noun, |(_, tag)| *tag);
        Entry { tag, ..Entry::default() }
    }

    /// Phrases that begin with `first`, longest first: kind and the words after the first.
    pub fn phrases(&self, first: &str) -> &[(PhraseKind, Box<[Box<str>]>)] {
        self.phrases.get(first).map_or(&[], Vec::as_slice)
    }

    /// True when some words are known only together.
    pub fn has_compounds(&self) -> bool {
        !self.compounds.is_empty()
    }

    /// Words known as one that begin with `first`, longest first: the words after the first, and what is known.
    pub fn compound(&self, first: &str) -> &[(Box<[Box<str>]>, Entry)] {
        self.compounds.get(first).map_or(&[], Vec::as_slice)
    }

    /// Largest cosine of a built-in vector to the pack's requests to clarify; 0 without any. Cost: one dot product each.
    pub fn clarify_exemplar(&self, vector: &[f32]) -> f32 {
        let rows = self.exemplar_vectors.get_or_init(|| {
            let mut rows = Vec::new();
            let mut row = Vec::new();
            for text in &self.exemplars {
                if StaticEmbedder::builtin().embed(text, &mut row).is_some() {
                    rows.extend_from_slice(&row);
                }
            }
            rows
        });
        rows.chunks_exact(vector.len()).map(|row| similarity::dot(row, vector)).fold(0.0, f32::max)
    }

    /// The pack for a text whose language nobody named: decided by `whichlang` over the text, `und` for languages
    /// without a pack (G-15).
    pub fn detect(text: &str) -> Arc<Self> {
        /// Shorter texts are guessed badly from their letters; their words decide first.
        const SHORT: usize = 48;
        let english = Self::of("en");
        if text.len() <= SHORT && english.knows_most_of(text) {
            return english;
        }
        Self::of(match whichlang::detect_language(text) {
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
        })
    }

    /// True when it has an entry for more than half of the words of `text`.
    fn knows_most_of(&self, text: &str) -> bool {
        let (mut known, mut all) = (0, 0);
        let mut folded = String::new();
        for word in text.unicode_words() {
            folded.clear();
            super::fold::fold_into(word, &mut folded);
            let base = &folded[..folded.len() - self.clitic(&folded)];
            all += 1;
            known += usize::from(self.words.contains_key(base));
        }
        known * 2 > all
    }

    /// The stem of a folded word, for comparison across plural and singular: a prefix, or the prefix and a replacement.
    pub fn stem<'a>(&'a self, folded: &'a str) -> (&'a str, &'a str) {
        let cut = self.stems.iter().find(|(suffix, _)| folded.len() > suffix.len() + 1 && folded.ends_with(&**suffix));
        match cut {
            Some((suffix, with)) => (&folded[..folded.len() - suffix.len()], with),
            None => (folded, ""),
        }
    }

    /// Byte length of the clitic `folded` ends with, 0 for none.
    pub fn clitic(&self, folded: &str) -> usize {
        self.clitics
            .iter()
            .find(|clitic| folded.len() > clitic.len() && folded.ends_with(&***clitic))
            .map_or(0, |clitic| clitic.len())
    }
}

/// The words that segmentation makes of a pack's word or phrase; scripts without spaces have several.
fn pieces(text: &str) -> Vec<Box<str>> {
    let words: Vec<Box<str>> = text.unicode_words().map(Box::from).collect();
    if words.is_empty() || text.starts_with('\'') || text == "n't" { vec![text.into()] } else { words }
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
    fn a_pack_with_an_unknown_class_is_refused() {
        let error = Pack::parse(r#"{"locale":"xx","words":{"pronoun.bogus":["a"]}}"#, "").unwrap_err();
        assert!(error.message.contains("pronoun.bogus"));
    }
}
