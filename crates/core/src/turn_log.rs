//! The turn log: Tier C's store (SPEC-028 §3).
//!
//! A session is many small turns, so what is kept of them stands in columns: texts and words one after the other, what
//! packing and scoring ask of every turn close together, and what few turns have beside the log.
#![expect(
    clippy::inline_always,
    reason = "most who look at a turn ask for a field or two: where the look is inlined, the others are not read"
)]

use std::ops::{Range, RangeInclusive};

use serde::{Deserialize, Serialize};

use crate::config::VectorForm;
use crate::error::{Code, Error, Result};
use crate::growth;
use crate::sparse::Sparse;
use crate::text::{Enumeration, Text};
use crate::vectors::Vectors;
use crate::vocabulary::{Numbers, Terms, Vocabulary};

/// Who spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The user.
    User,
    /// The assistant.
    Assistant,
}

/// One message of the dialogue (R028-4). Tool output is not a turn; it is a scratch entry.
#[derive(Clone, Debug)]
pub struct NewTurn<'a> {
    /// Who spoke.
    pub role: Role,
    /// Index of the speaker's name in the session; 0 for no name.
    pub speaker: u16,
    /// What was said, unchanged but for lone surrogates, which became U+FFFD.
    pub text: &'a str,
    /// Tokens of `text`, counted once.
    pub tokens: u32,
    /// Milliseconds since the epoch.
    pub at: i64,
    /// Ordinal of its thread.
    pub thread: u32,
    /// Turns it refers to.
    pub references: Vec<u32>,
    /// Named entities, by the host or by form.
    pub entities: Vec<String>,
    /// Ordinals of the scratch entries produced in its group.
    pub scratch: Vec<u32>,
    /// Hashes of its content words, each once, in order of first mention.
    pub terms: Vec<u32>,
    /// Enumerations in it.
    pub lists: Vec<Enumeration>,
    /// Host's id.
    pub host_id: Option<String>,
    /// It ends as a question.
    pub question: bool,
    /// It asks for something, or says more than thanks, a greeting or assent.
    pub request: bool,
    /// An answer that says it has none.
    pub refusal: bool,
    /// It answers a turn of the user.
    pub answers: bool,
}

/// A turn of a log, as [`NewTurn`].
#[derive(Clone, Copy)]
#[expect(missing_docs, reason = "those of NewTurn, but for the id and the last")]
pub struct Turn<'a> {
    /// From 1, monotonic, never reused (G-57); counts user and assistant messages.
    pub id: u32,
    pub role: Role,
    pub speaker: u16,
    pub text: &'a str,
    pub tokens: u32,
    pub thread: u32,
    pub terms: Terms<'a>,
    pub question: bool,
    pub request: bool,
    pub refusal: bool,
    pub answers: bool,
    /// It has [`Turn::lists`].
    pub list: bool,
    /// It has [`Turn::entities`].
    pub named: bool,
    /// Lower half of when it came.
    at: u32,
    rare: &'a Rare,
}

impl<'a> Turn<'a> {
    /// Milliseconds since the epoch.
    pub fn at(&self) -> i64 {
        let upper = self.rare.upper.partition_point(|(first, _)| *first <= self.id);
        let upper = upper.checked_sub(1).map_or(0, |at| self.rare.upper[at].1);
        i64::from(upper) << 32 | i64::from(self.at)
    }

    /// Turns it refers to.
    pub fn references(&self) -> impl Iterator<Item = u32> + Clone + use<'a> {
        self.rare.references.of(self.id).copied()
    }

    /// Named entities, by the host or by form.
    pub fn entities(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.rare.entities.of(self.id).map(|entity| &**entity)
    }

    /// Ordinals of the scratch entries produced in its group.
    pub fn scratch(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.rare.scratch.of(self.id).copied()
    }

    /// Enumerations in it.
    #[inline]
    pub fn lists(&self) -> impl Iterator<Item = &'a Enumeration> + Clone + use<'a> {
        // Most turns have none, and say so without a search.
        self.rare.lists.of(self.list.then_some(self.id))
    }

    /// Host's id.
    pub fn host_id(&self) -> Option<&'a str> {
        self.rare.host_ids.of(self.id).next().map(|id| &**id)
    }

    /// What an answer to the user said; nothing for other turns.
    pub fn answer(&self) -> &'a str {
        if self.answers { self.text } else { "" }
    }
}

/// Turns in a row, oldest first.
#[derive(Clone, Copy)]
pub struct Turns<'a> {
    log: &'a TurnLog,
    start: usize,
    end: usize,
}

impl<'a> Turns<'a> {
    /// Number of turns.
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// True without turns.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// The turn at a position.
    ///
    /// # Panics
    /// When there is no such turn.
    #[inline(always)]
    pub fn at(&self, position: usize) -> Turn<'a> {
        self.log.turn(self.start + position)
    }

    /// The turn at a position, if there is one.
    #[inline(always)]
    pub fn get(&self, position: usize) -> Option<Turn<'a>> {
        if position < self.len() { Some(self.at(position)) } else { None }
    }

    /// The newest of them.
    #[inline(always)]
    pub fn last(&self) -> Option<Turn<'a>> {
        self.get(self.len().checked_sub(1)?)
    }

    /// Those from a position on.
    pub fn since(&self, position: usize) -> Self {
        Self { start: self.end.min(self.start + position), ..*self }
    }

    /// One after the other.
    #[inline(always)]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Turn<'a>> + ExactSizeIterator + Clone + use<'a> {
        let log = self.log;
        (self.start..self.end).map(
            #[inline(always)]
            move |at| log.turn(at),
        )
    }
}

/// Where a turn's text and words end, and when it came.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Place {
    /// Lower half of the time.
    at: u32,
    text: u32,
    words: u32,
}

/// What few turns have.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Rare {
    references: Sparse<u32>,
    entities: Sparse<Box<str>>,
    scratch: Sparse<u32>,
    lists: Sparse<Enumeration>,
    host_ids: Sparse<Box<str>>,
    /// Upper half of when turns came, from a turn on; it changes every seven weeks.
    upper: Vec<(u32, i32)>,
    /// Bytes that the elements of these own.
    owned: usize,
}

impl Rare {
    fn add(&mut self, id: u32, turn: NewTurn<'_>) {
        let upper = (turn.at >> 32) as i32;
        if self.upper.last().map_or(0, |(_, upper)| *upper) != upper {
            growth::push(&mut self.upper, (id, upper));
        }
        self.references.add(id, turn.references);
        self.entities.add(id, turn.entities.into_iter().map(String::into_boxed_str));
        self.scratch.add(id, turn.scratch);
        self.lists.add(id, turn.lists);
        self.host_ids.add(id, turn.host_id.map(String::into_boxed_str));
        self.owned += self.owned_by(id);
    }

    /// Takes out what turns have.
    fn remove(&mut self, ids: RangeInclusive<u32>) {
        self.owned -= ids.clone().map(|id| self.owned_by(id)).sum::<usize>();
        self.references.retain(|turn, _| !ids.contains(&turn));
        self.entities.retain(|turn, _| !ids.contains(&turn));
        self.scratch.retain(|turn, _| !ids.contains(&turn));
        self.lists.retain(|turn, _| !ids.contains(&turn));
        self.host_ids.retain(|turn, _| !ids.contains(&turn));
    }

    /// Turns up to `id` are gone: what began with them stays only as far as later turns have it.
    fn evict(&mut self, id: u32) {
        let past = self.upper.partition_point(|(first, _)| *first <= id + 1);
        self.upper.drain(..past.saturating_sub(1));
    }

    fn owned_by(&self, id: u32) -> usize {
        let texts = self.entities.of(id).chain(self.host_ids.of(id)).map(|text| text.len()).sum::<usize>();
        texts + self.lists.of(id).map(|list| size_of_val(&*list.items)).sum::<usize>()
    }

    fn bytes(&self) -> usize {
        self.references.bytes()
            + self.entities.bytes()
            + self.scratch.bytes()
            + self.lists.bytes()
            + self.host_ids.bytes()
            + growth::bytes(&self.upper)
            + self.owned
    }

    fn trim(&mut self) {
        self.references.trim();
        self.entities.trim();
        self.scratch.trim();
        self.lists.trim();
        self.host_ids.trim();
    }
}

/// What packing asks of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// [`Turn::id`]
    pub id: u32,
    /// [`Turn::tokens`]
    pub tokens: u32,
}

/// What scoring asks of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trait {
    /// [`Turn::thread`]
    pub thread: u32,
    /// [`Turn::speaker`]
    pub speaker: u16,
    /// Number of [`Turn::terms`], [`u8::MAX`] at most.
    pub terms: u8,
    /// Flags.
    bits: u8,
}

impl Trait {
    const USER: u8 = 1;
    const QUESTION: u8 = 2;
    const LIST: u8 = 4;
    const NAMED: u8 = 8;
    const REQUEST: u8 = 16;
    const REFUSAL: u8 = 32;
    const ANSWERS: u8 = 64;
    const EMBEDDED: u8 = 128;

    fn of(turn: &NewTurn<'_>, embedded: bool) -> Self {
        let flags = [
            (turn.role == Role::User, Self::USER),
            (turn.question, Self::QUESTION),
            (!turn.lists.is_empty(), Self::LIST),
            (!turn.entities.is_empty(), Self::NAMED),
            (turn.request, Self::REQUEST),
            (turn.refusal, Self::REFUSAL),
            (turn.answers, Self::ANSWERS),
            (embedded, Self::EMBEDDED),
        ];
        Self {
            thread: turn.thread,
            speaker: turn.speaker,
            terms: turn.terms.len().min(usize::from(u8::MAX)) as u8,
            bits: flags.into_iter().filter(|(holds, _)| *holds).map(|(_, bit)| bit).sum(),
        }
    }

    /// Who spoke.
    pub const fn role(self) -> Role {
        if self.has(Self::USER) { Role::User } else { Role::Assistant }
    }

    /// [`Turn::question`]
    pub const fn question(self) -> bool {
        self.has(Self::QUESTION)
    }

    /// [`Turn::list`]
    pub const fn list(self) -> bool {
        self.has(Self::LIST)
    }

    /// [`Turn::named`]
    pub const fn named(self) -> bool {
        self.has(Self::NAMED)
    }

    const fn has(self, bit: u8) -> bool {
        self.bits & bit != 0
    }
}

/// The turns of one session with their vectors, in order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TurnLog {
    /// Their texts, one after the other.
    text: String,
    /// Their [`NewTurn::terms`], one turn after the other, as numbers of the vocabulary.
    words: Vec<u8>,
    vocabulary: Vocabulary,
    places: Vec<Place>,
    /// What packing asks of every turn, close together.
    marks: Vec<Mark>,
    /// What scoring asks of every turn, close together.
    traits: Vec<Trait>,
    rare: Rare,
    form: VectorForm,
    /// None before the first vector.
    vectors: Option<Vectors>,
    next: u32,
    evicted: u32,
}

impl TurnLog {
    /// Bytes of text that a log takes.
    pub const MOST_TEXT: usize = u32::MAX as usize;

    /// An empty log that keeps its vectors in a form.
    pub fn new(form: VectorForm) -> Self {
        Self { form, ..Self::default() }
    }

    /// Makes a log of what was stored; its vectors are in a form from now on. Floats cannot be had back from codes.
    pub fn loaded(&mut self, form: VectorForm) {
        self.form = form;
        self.vectors = self.vectors.take().map(|vectors| vectors.in_form(form));
        self.trim();
        self.index_words(self.vocabulary.outgrows(self.len(), 0));
    }

    /// True when the columns fit each other, the number of threads and the length of vectors: of a log that was stored, by
    /// whomever.
    pub fn is_sound(&self, threads: usize, dim: usize) -> bool {
        let (marks, places, traits) = (&self.marks, &self.places, &self.traits);
        marks.len() == places.len()
            && marks.len() == traits.len()
            && marks.is_sorted_by(|before, after| before.id < after.id)
            && marks.last().is_none_or(|newest| newest.id <= self.next)
            && self.vectors.as_ref().is_none_or(|vectors| vectors.is_sound(marks.len(), dim))
            && (0..marks.len()).all(|at| {
                let (text, words) = self.begin(at);
                let words = self.words.get(words..places[at].words as usize);
                self.text.get(text..places[at].text as usize).is_some()
                    && words.is_some_and(|words| self.vocabulary.terms(words, traits[at].terms).is_sound())
                    && (traits[at].thread as usize) < threads
            })
    }

    /// The form that vectors are kept in.
    pub fn form(&self) -> VectorForm {
        self.form
    }

    /// Refuses a text for which there is no room.
    ///
    /// # Errors
    /// `INVALID_MESSAGE` beyond [`TurnLog::MOST_TEXT`].
    pub fn check_room(&self, text: &str) -> Result<()> {
        room(text.len(), self.text.len())
    }

    /// Number of turns held.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// True when no turn is held.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// The id the next turn gets.
    pub fn next_id(&self) -> u32 {
        self.next + 1
    }

    /// The turns, oldest first.
    pub fn turns(&self) -> Turns<'_> {
        Turns { log: self, start: 0, end: self.len() }
    }

    /// The turn at a position.
    #[inline(always)]
    fn turn(&self, at: usize) -> Turn<'_> {
        let (mark, of, place) = (self.marks[at], self.traits[at], self.places[at]);
        let (text, words) = self.begin(at);
        Turn {
            id: mark.id,
            role: of.role(),
            speaker: of.speaker,
            text: self.text.get(text..place.text as usize).unwrap_or_default(),
            tokens: mark.tokens,
            at: place.at,
            thread: of.thread,
            terms: self.vocabulary.terms(self.words.get(words..place.words as usize).unwrap_or_default(), of.terms),
            question: of.question(),
            request: of.has(Trait::REQUEST),
            refusal: of.has(Trait::REFUSAL),
            answers: of.has(Trait::ANSWERS),
            list: of.list(),
            named: of.named(),
            rare: &self.rare,
        }
    }

    /// Where text and words of the turn at a position begin.
    #[inline(always)]
    fn begin(&self, at: usize) -> (usize, usize) {
        at.checked_sub(1).map_or((0, 0), |before| {
            let before = self.places[before];
            (before.text as usize, before.words as usize)
        })
    }

    /// Terms of the turn at a position.
    #[inline]
    pub fn terms(&self, at: usize) -> Terms<'_> {
        self.vocabulary.terms(self.words(at), self.traits[at].terms)
    }

    /// Words of the turn at a position.
    fn words(&self, at: usize) -> &[u8] {
        self.words.get(self.begin(at).1..self.places[at].words as usize).unwrap_or_default()
    }

    /// The words of the turns as numbers.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Id and tokens of the turns, oldest first.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// What scoring asks of the turns, oldest first.
    pub fn traits(&self) -> &[Trait] {
        &self.traits
    }

    /// The newest `n` turns, oldest of them first; none for 0.
    pub fn recent(&self, n: usize) -> Turns<'_> {
        self.turns().since(self.len().saturating_sub(n))
    }

    /// Position of a turn.
    pub fn position(&self, id: u32) -> Option<usize> {
        let held = |at: &usize| self.marks.get(*at).is_some_and(|mark| mark.id == id);
        // Where it is as long as no turn before it was erased.
        let at = id.checked_sub(self.marks.first()?.id)? as usize;
        Some(at).filter(held).or_else(|| self.marks.binary_search_by_key(&id, |mark| mark.id).ok())
    }

    /// A turn by id.
    #[inline(always)]
    pub fn get(&self, id: u32) -> Option<Turn<'_>> {
        self.position(id).map(|at| self.turn(at))
    }

    /// Files a turn in another thread; the one it was in, unless there is no such turn.
    pub fn refile(&mut self, id: u32, thread: u32) -> Option<u32> {
        let at = self.position(id)?;
        Some(std::mem::replace(&mut self.traits[at].thread, thread))
    }

    /// The newest turn of a role.
    #[inline(always)]
    pub fn last(&self, role: Role) -> Option<Turn<'_>> {
        self.last_position(role).map(|at| self.turn(at))
    }

    /// Position of the newest turn of a role.
    pub fn last_position(&self, role: Role) -> Option<usize> {
        self.traits.iter().rposition(|turn| turn.role() == role)
    }

    /// True when the id was given out and has left the log by eviction.
    pub fn was_evicted(&self, id: u32) -> bool {
        id >= 1 && id <= self.evicted && self.position(id).is_none()
    }

    /// The vectors, one a turn; none before the first.
    pub fn vectors(&self) -> Option<&Vectors> {
        self.vectors.as_ref()
    }

    /// Vector length; 0 before the first vector.
    pub fn dimensions(&self) -> usize {
        self.vectors.as_ref().map_or(0, Vectors::dim)
    }

    /// Adds the vector of the turn at a position to `sum`, `weight` times; nothing when there are none.
    pub fn add_vector(&self, sum: &mut [f32], at: usize, weight: f32) {
        if let Some(vectors) = &self.vectors {
            vectors.add_to(sum, at, weight);
        }
    }

    /// Positions of turns of the log, given by ascending ids, as ranges of neighbours. Cost: logarithmic in the length of a
    /// range.
    pub fn runs<'a>(&'a self, mut ids: &'a [u32]) -> impl Iterator<Item = Range<usize>> + Clone + 'a {
        std::iter::from_fn(move || {
            let first = *ids.first()?;
            let start = self.position(first)?;
            let follows = |at: usize| ids.get(at).is_some_and(|id| *id == first + at as u32);
            let mut low = 1;
            while follows(2 * low - 1) {
                low *= 2;
            }
            let mut high = (2 * low - 1).min(ids.len());
            while low < high {
                let mid = (low + high).div_ceil(2);
                if follows(mid - 1) { low = mid } else { high = mid - 1 }
            }
            ids = &ids[low..];
            Some(start..start + low)
        })
    }

    /// Number of turns that hold a term.
    pub fn frequency(&self, term: u32) -> u32 {
        self.vocabulary.number(term).map_or(0, |number| self.vocabulary.frequency(number))
    }

    /// Calls `each` with the position of every turn that holds `term`, oldest first. Cost: the turns that do, in a long log;
    /// all turns in a short one.
    pub fn holders(&self, term: u32, mut each: impl FnMut(usize)) {
        let Some(number) = self.vocabulary.number(term) else { return };
        match self.vocabulary.holders(number) {
            Some(ids) => ids.iter().filter_map(|id| self.position(*id)).for_each(each),
            None => (0..self.len()).filter(|at| self.holds(*at, number)).for_each(&mut each),
        }
    }

    fn holds(&self, at: usize, number: u32) -> bool {
        self.terms(at).numbers().any(|held| held == number)
    }

    /// Position of the newest turn that holds `term`, among the last `reach`.
    pub fn last_holder(&self, term: u32, reach: usize) -> Option<usize> {
        let first = self.len().saturating_sub(reach);
        let number = self.vocabulary.number(term)?;
        match self.vocabulary.holders(number) {
            Some(ids) => self.position(*ids.last()?).filter(|at| *at >= first),
            None => (first..self.len()).rfind(|at| self.holds(*at, number)),
        }
    }

    /// Rarity of a term among the turns: BM25's idf, ≥ 0.
    pub fn idf(&self, term: u32) -> f32 {
        self.rarity(self.frequency(term))
    }

    /// Rarity of a term that so many turns hold.
    pub fn rarity(&self, frequency: u32) -> f32 {
        let (n, df) = (self.len() as f32, frequency as f32);
        (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
    }

    /// Appends a turn whose text [`TurnLog::check_room`] took; its id is returned. `vector` is unit and of the log's dimension.
    pub fn append(&mut self, turn: NewTurn<'_>, vector: Option<&[f32]>) -> u32 {
        self.next += 1;
        let id = self.next;
        self.keep_vector(vector);
        growth::push_str(&mut self.text, turn.text);
        if self.vocabulary.outgrows(self.len() + 1, turn.terms.len()) {
            self.index_words(true);
        }
        for term in &turn.terms {
            Numbers::push(self.vocabulary.add(*term, id), &mut self.words);
        }
        let place = Place { at: turn.at as u32, text: self.text.len() as u32, words: self.words.len() as u32 };
        growth::push(&mut self.places, place);
        growth::push(&mut self.marks, Mark { id, tokens: turn.tokens });
        growth::push(&mut self.traits, Trait::of(&turn, vector.is_some()));
        self.rare.add(id, turn);
        id
    }

    /// Keeps the vector of a new turn, zeros for none once others have one.
    fn keep_vector(&mut self, vector: Option<&[f32]>) {
        let missing = if self.vectors.is_none() { self.len() } else { 0 };
        let Some(dim) = vector.map(<[f32]>::len).or_else(|| self.vectors.as_ref().map(Vectors::dim)) else { return };
        let vectors = self.vectors.get_or_insert_with(|| Vectors::new(self.form, dim));
        let zeros = if missing > 0 || vector.is_none() { vec![0.0; dim] } else { Vec::new() };
        for _ in 0..missing {
            vectors.push(&zeros);
        }
        vectors.push(vector.unwrap_or(&zeros));
    }

    /// Notes anew which turns hold which words.
    fn index_words(&mut self, long: bool) {
        let mut vocabulary = std::mem::take(&mut self.vocabulary);
        vocabulary.index(long, (0..self.len()).map(|at| (self.marks[at].id, self.words(at))));
        self.vocabulary = vocabulary;
    }

    /// Lets the oldest turns go.
    pub fn evict(&mut self, count: usize) {
        if let Some(newest) = count.checked_sub(1).and_then(|at| self.marks.get(at)) {
            self.evicted = newest.id;
            self.take_out(0, count);
            self.rare.evict(self.evicted);
        }
    }

    /// Erases a turn with its vector and its links (G-72); false when there is none.
    pub fn remove(&mut self, id: u32) -> bool {
        let Some(at) = self.position(id) else { return false };
        self.take_out(at, 1);
        self.rare.references.retain(|_, target| *target != id);
        self.trim();
        true
    }

    /// Gives back room beyond what a log that grows has.
    fn trim(&mut self) {
        self.text.shrink_to_fit();
        growth::trim(&mut self.words);
        growth::trim(&mut self.places);
        growth::trim(&mut self.marks);
        growth::trim(&mut self.traits);
        self.rare.trim();
        if let Some(vectors) = &mut self.vectors {
            vectors.trim();
        }
    }

    fn take_out(&mut self, at: usize, count: usize) {
        let (text, words) = self.begin(at);
        let end = self.places[at + count - 1];
        // The newest first: the lists of a word end with it.
        for gone in (at..at + count).rev() {
            let words = self.begin(gone).1..self.places[gone].words as usize;
            self.vocabulary.remove(self.marks[gone].id, &self.words[words]);
        }
        self.rare.remove(self.marks[at].id..=self.marks[at + count - 1].id);
        self.text.drain(text..end.text as usize);
        self.words.drain(words..end.words as usize);
        for place in &mut self.places[at + count..] {
            place.text -= end.text - text as u32;
            place.words -= end.words - words as u32;
        }
        self.places.drain(at..at + count);
        self.marks.drain(at..at + count);
        self.traits.drain(at..at + count);
        if let Some(vectors) = &mut self.vectors {
            vectors.remove(at, count);
        }
    }

    /// Takes back the turns from `id` on, and their ids.
    pub fn rewind(&mut self, id: u32) {
        let at = self.marks.partition_point(|mark| mark.id < id);
        if at < self.len() {
            self.take_out(at, self.len() - at);
            self.trim();
        }
        self.rare.references.retain(|_, target| *target < id);
        self.next = id.saturating_sub(1);
        self.rare.upper.retain(|(first, _)| *first < id);
    }

    /// True when some turn has a vector.
    pub fn is_embedded(&self) -> bool {
        self.traits.iter().any(|of| of.has(Trait::EMBEDDED))
    }

    /// Bytes held, but for those of the text.
    pub fn bytes(&self) -> usize {
        self.text.capacity() - self.text.len()
            + growth::bytes(&self.words)
            + self.vocabulary.bytes()
            + growth::bytes(&self.places)
            + growth::bytes(&self.marks)
            + growth::bytes(&self.traits)
            + self.rare.bytes()
            + self.vectors.as_ref().map_or(0, Vectors::bytes)
    }

    /// Bytes of text held.
    pub fn text_bytes(&self) -> usize {
        self.text.len()
    }
}

/// Refuses `more` bytes of text beside those `held`.
fn room(more: usize, held: usize) -> Result<()> {
    let most = TurnLog::MOST_TEXT - held;
    if more <= most {
        return Ok(());
    }
    Err(Error::limit(Code::InvalidMessage, "bytes of text beside those of the session's turns", more, most))
}

/// Hashes of the first `most` different content words of a text, in order of first mention.
pub fn content_terms(text: &Text, most: usize) -> Vec<u32> {
    let mut seen = Seen::default();
    let mut terms: Vec<u32> = Vec::new();
    for word in text.words().iter().filter(|word| word.is_content()) {
        if terms.len() < most && !seen.is_among(word.term, &terms) {
            terms.push(word.term);
            seen.note(word.term);
        }
    }
    terms
}

/// Tells most terms that are not among some: a bit of their own says so.
#[derive(Default)]
pub struct Seen([u64; 16]);

impl Seen {
    fn bit(term: u32) -> (usize, u64) {
        (term as usize % 16, 1 << (term >> 26))
    }

    /// One more term.
    pub fn note(&mut self, term: u32) {
        let (at, bit) = Self::bit(term);
        self.0[at] |= bit;
    }

    /// True when a term is among `terms`, all of which were noted.
    pub fn is_among(&self, term: u32, terms: &[u32]) -> bool {
        let (at, bit) = Self::bit(term);
        self.0[at] & bit != 0 && terms.contains(&term)
    }
}

/// Different content words that a turn is found by; a longer one is found by its beginning.
pub const INDEXED_TERMS: usize = 1024;

/// Recency weight of a turn `distance` turns back: 0.5 ^ (distance / half-life) (R028-6).
pub fn turn_recency(distance: u32, half_life: f64) -> f64 {
    0.5f64.powf(f64::from(distance) / half_life)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::EnumerationKind;

    /// A turn with nothing but text, for tests of other modules.
    pub(crate) fn turn(role: Role, text: &str) -> NewTurn<'_> {
        NewTurn {
            role,
            speaker: 0,
            text,
            tokens: 1,
            at: 0,
            thread: 0,
            references: Vec::new(),
            entities: Vec::new(),
            scratch: Vec::new(),
            terms: text.bytes().map(u32::from).take(1).collect(),
            lists: Vec::new(),
            host_id: None,
            question: false,
            request: false,
            refusal: false,
            answers: false,
        }
    }

    #[test]
    fn recency_values_of_the_requirements() {
        for (distance, value) in [
            (0, 1.0),
            (1, 0.890_899),
            (2, 0.793_701),
            (3, std::f64::consts::FRAC_1_SQRT_2),
            (6, 0.5),
            (12, 0.25),
            (18, 0.125),
            (24, 0.0625),
        ] {
            assert!((turn_recency(distance, 6.0) - value).abs() < 1e-6, "{distance}");
        }
    }

    #[test]
    fn a_log_says_when_its_texts_would_not_fit() {
        let log = TurnLog { text: "x".into(), ..TurnLog::default() };
        assert!(log.check_room("y").is_ok());
        assert_eq!(room(1, TurnLog::MOST_TEXT - 1).map_err(|e| e.code), Ok(()));
        assert_eq!(room(1, TurnLog::MOST_TEXT).map_err(|e| e.code), Err(Code::InvalidMessage));
    }

    /// A turn of the naive twin, which owns all that is its own.
    #[derive(Clone, Debug, PartialEq)]
    struct Whole {
        id: u32,
        role: Role,
        text: String,
        at: i64,
        thread: u32,
        references: Vec<u32>,
        entities: Vec<String>,
        terms: Vec<u32>,
        lists: Vec<Enumeration>,
        host_id: Option<String>,
        vector: Option<[f32; 2]>,
    }

    impl Whole {
        /// The turn that a number stands for: all kinds of what a turn may have, some in many and some in few.
        fn of(id: u32, number: u32) -> Self {
            let has = |one_in: u32| (number / 3).is_multiple_of(one_in);
            let text: String =
                "áb c\u{4e2d}".chars().cycle().skip(number as usize % 5).take(number as usize % 7).collect();
            let list = Enumeration { kind: EnumerationKind::Numbered, items: [(0, number % 3)].into(), first: 1 };
            Self {
                id,
                role: if number.is_multiple_of(2) { Role::User } else { Role::Assistant },
                at: (i64::from(number) << 29) * if has(8) { -1 } else { 1 },
                thread: number % 3,
                references: if has(3) && id > 1 { vec![1 + number % (id - 1), id - 1] } else { Vec::new() },
                entities: if has(4) { vec![text.clone(), "Etcd".to_owned()] } else { Vec::new() },
                // Hashes lie evenly; some of these turns share them.
                terms: (0..number % 6).map(|term| ((number % 5 + term) * 7).wrapping_mul(0x9e37_79b9)).collect(),
                lists: if has(5) { vec![list] } else { Vec::new() },
                host_id: has(2).then(|| format!("host {number}")),
                vector: has(7).then_some([number as f32, 1.0]),
                text,
            }
        }

        fn append_to(&self, log: &mut TurnLog) -> u32 {
            let turn = NewTurn {
                at: self.at,
                thread: self.thread,
                references: self.references.clone(),
                entities: self.entities.clone(),
                terms: self.terms.clone(),
                lists: self.lists.clone(),
                host_id: self.host_id.clone(),
                ..turn(self.role, &self.text)
            };
            log.append(turn, self.vector.as_ref().map(<[f32; 2]>::as_slice))
        }

        fn read(log: &TurnLog, at: usize) -> Self {
            let turn = log.turns().at(at);
            let mut vector = [0.0; 2];
            log.add_vector(&mut vector, at, 1.0);
            Self {
                id: turn.id,
                role: turn.role,
                text: turn.text.to_owned(),
                at: turn.at(),
                thread: turn.thread,
                references: turn.references().collect(),
                entities: turn.entities().map(str::to_owned).collect(),
                terms: turn.terms.iter().copied().collect(),
                lists: turn.lists().cloned().collect(),
                host_id: turn.host_id().map(str::to_owned),
                vector: log.traits()[at].has(Trait::EMBEDDED).then_some(vector),
            }
        }
    }

    /// What happens to a log; turns are given by where they are in it.
    #[derive(Clone, Debug)]
    enum Step {
        Append(Vec<u32>),
        Evict(usize),
        Remove(prop::sample::Index),
        Rewind(prop::sample::Index),
        Refile(prop::sample::Index, u32),
        Load,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => prop::collection::vec(0..1000u32, 1..60).prop_map(Step::Append),
            1 => (0..80usize).prop_map(Step::Evict),
            2 => any::<prop::sample::Index>().prop_map(Step::Remove),
            1 => any::<prop::sample::Index>().prop_map(Step::Rewind),
            1 => (any::<prop::sample::Index>(), 0..3u32).prop_map(|(at, thread)| Step::Refile(at, thread)),
            1 => Just(Step::Load),
        ]
    }

    proptest! {
        #[test]
        fn columns_hold_what_turns_of_their_own_would(steps in prop::collection::vec(step(), 1..20)) {
            let (mut log, mut twin, mut evicted) = (TurnLog::default(), Vec::<Whole>::new(), 0);
            for step in steps {
                match step {
                    Step::Append(numbers) => {
                        for number in numbers {
                            let turn = Whole::of(log.next_id(), number);
                            prop_assert_eq!(turn.append_to(&mut log), turn.id);
                            twin.push(turn);
                        }
                    }
                    Step::Evict(count) => {
                        let count = count.min(twin.len());
                        log.evict(count);
                        evicted = twin.drain(..count).next_back().map_or(evicted, |turn| turn.id);
                    }
                    Step::Remove(at) if !twin.is_empty() => {
                        let Whole { id, .. } = twin.remove(at.index(twin.len()));
                        prop_assert!(log.remove(id) && !log.remove(id));
                        for turn in &mut twin {
                            turn.references.retain(|to| *to != id);
                        }
                    }
                    Step::Rewind(at) if !twin.is_empty() => {
                        let at = at.index(twin.len());
                        let first = twin[at].id;
                        twin.truncate(at);
                        for turn in &mut twin {
                            turn.references.retain(|to| *to < first);
                        }
                        log.rewind(first);
                    }
                    Step::Refile(at, thread) if !twin.is_empty() => {
                        let turn = &mut twin[at.index(log.len())];
                        prop_assert_eq!(log.refile(turn.id, thread), Some(turn.thread));
                        turn.thread = thread;
                    }
                    Step::Load => {
                        log = postcard::from_bytes(&postcard::to_stdvec(&log).unwrap()).unwrap();
                        log.loaded(VectorForm::F32);
                    }
                    Step::Remove(_) | Step::Rewind(_) | Step::Refile(..) => {}
                }
                let held: Vec<Whole> = (0..log.len()).map(|at| Whole::read(&log, at)).collect();
                prop_assert_eq!(&held, &twin);
                prop_assert_eq!(log.text_bytes(), twin.iter().map(|turn| turn.text.len()).sum::<usize>());
                for id in 0..=log.next_id() {
                    let at = twin.iter().position(|turn| turn.id == id);
                    prop_assert_eq!(log.position(id), at);
                    prop_assert_eq!(log.was_evicted(id), at.is_none() && (1..=evicted).contains(&id));
                }
                for term in (0..11u32).map(|term| (term * 7).wrapping_mul(0x9e37_79b9)) {
                    let scanned: Vec<usize> = (0..twin.len()).filter(|at| twin[*at].terms.contains(&term)).collect();
                    let mut found = Vec::new();
                    log.holders(term, |at| found.push(at));
                    prop_assert_eq!((log.frequency(term) as usize, &found), (scanned.len(), &scanned));
                    let last = scanned.last().copied().filter(|at| at + 3 >= log.len());
                    prop_assert_eq!(log.last_holder(term, 3), last);
                }
            }
        }
    }

    #[test]
    fn runs_are_neighbouring_positions() {
        let mut log = TurnLog::default();
        for _ in 0..9 {
            log.append(turn(Role::User, "a"), None);
        }
        log.remove(4);
        let runs = |ids: &[u32]| log.runs(ids).collect::<Vec<_>>();
        assert_eq!(runs(&[1, 2, 3, 5, 6, 9]), [0..3, 3..5, 7..8]);
        assert_eq!(runs(&[2, 5, 7, 8, 9]), [1..2, 3..4, 5..8]);
        assert!(runs(&[]).is_empty());
    }

    #[test]
    fn vectors_stay_aligned_with_their_turns() {
        let mut log = TurnLog::default();
        let vector = |log: &TurnLog, at| {
            let mut sum = vec![0.0; 2];
            log.add_vector(&mut sum, at, 1.0);
            sum
        };
        log.append(turn(Role::User, "a"), None);
        log.append(turn(Role::User, "b"), Some(&[1.0, 0.0]));
        log.append(turn(Role::User, "c"), None);
        assert_eq!([0, 1, 2].map(|at| vector(&log, at)).concat(), [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        log.remove(1);
        assert_eq!(vector(&log, 0), [1.0, 0.0]);
    }
}
