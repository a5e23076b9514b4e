//! The turn log: Tier C's store (SPEC-028 §3).

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::config::VectorForm;
use crate::few::Few;
use crate::postings::Postings;
use crate::text::{Enumeration, Text};
use crate::vectors::Vectors;

/// Who spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The user.
    User,
    /// The assistant.
    Assistant,
}

/// One message of the dialogue (R028-4). Tool output is not a turn; it is a scratch entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Turn {
    /// From 1, monotonic, never reused (G-57); counts user and assistant messages.
    pub id: u32,
    /// Who spoke.
    pub role: Role,
    /// Index of the speaker's name in the session; 0 for no name.
    pub speaker: u16,
    /// What was said, unchanged but for lone surrogates, which became U+FFFD. Shared with the envelopes it is in.
    #[serde(with = "shared")]
    pub text: Arc<str>,
    /// Tokens of `text`, counted once.
    pub tokens: u32,
    /// Milliseconds since the epoch.
    pub at: i64,
    /// Ordinal of its thread.
    pub thread: u32,
    /// Turns it refers to.
    pub references: Few<u32>,
    /// Named entities, by the host or by form.
    pub entities: Few<String>,
    /// Ordinals of the scratch entries produced in its group.
    pub scratch: Few<u32>,
    /// Hashes of its content words, each once, in order of first mention.
    pub terms: Box<[u32]>,
    /// Enumerations in it.
    pub lists: Few<Enumeration>,
    /// Host's id.
    pub host_id: Option<Box<str>>,
    /// It ends as a question.
    pub question: bool,
    /// It asks for something to be done.
    pub request: bool,
    /// An answer that says it has none.
    pub refusal: bool,
    /// It has a vector.
    pub embedded: bool,
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

    fn of(turn: &Turn) -> Self {
        let flag = |holds: bool, bit: u8| if holds { bit } else { 0 };
        let bits = flag(turn.role == Role::User, Self::USER)
            | flag(turn.question, Self::QUESTION)
            | flag(!turn.lists.is_empty(), Self::LIST)
            | flag(!turn.entities.is_empty(), Self::NAMED);
        Self { thread: turn.thread, terms: turn.terms.len().min(usize::from(u8::MAX)) as u8, bits }
    }

    /// Who spoke.
    pub const fn role(self) -> Role {
        if self.bits & Self::USER == 0 { Role::Assistant } else { Role::User }
    }

    /// [`Turn::question`]
    pub const fn question(self) -> bool {
        self.bits & Self::QUESTION != 0
    }

    /// It has [`Turn::lists`].
    pub const fn list(self) -> bool {
        self.bits & Self::LIST != 0
    }

    /// It has [`Turn::entities`].
    pub const fn named(self) -> bool {
        self.bits & Self::NAMED != 0
    }
}

mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
        String::deserialize(deserializer).map(Arc::from)
    }
}

/// The turns of one session with their vectors, contiguous and in order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TurnLog {
    turns: Vec<Turn>,
    /// What packing asks of every turn, close together.
    marks: Vec<Mark>,
    /// What scoring asks of every turn, close together.
    traits: Vec<Trait>,
    form: VectorForm,
    /// None before the first vector.
    vectors: Option<Vectors>,
    next: u32,
    evicted: u32,
    /// In how many turns a term occurs.
    frequency: FxHashMap<u32, u32>,
    /// The turns that hold a term, once there are so many that looking through them costs more; made anew after a load.
    #[serde(skip)]
    postings: Option<Postings>,
}

/// Turns from which on their terms are indexed: a quarter more memory for them, and a search that does not grow.
const INDEXED_TURNS: usize = 128;

impl TurnLog {
    /// An empty log that keeps its vectors in a form.
    pub fn new(form: VectorForm) -> Self {
        Self { form, ..Self::default() }
    }

    /// Keeps the vectors in a form from now on; floats cannot be had back from codes.
    pub fn keep_vectors(&mut self, form: VectorForm) {
        self.form = form;
        self.vectors = self.vectors.take().map(|vectors| vectors.in_form(form));
    }

    /// Number of turns held.
    pub fn len(&self) -> usize {
        self.turns.len()
    }

    /// True when no turn is held.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// The id the next turn gets.
    pub fn next_id(&self) -> u32 {
        self.next + 1
    }

    /// The turns, oldest first.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
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
    pub fn recent(&self, n: usize) -> &[Turn] {
        &self.turns[self.turns.len().saturating_sub(n)..]
    }

    /// Position of a turn.
    pub fn position(&self, id: u32) -> Option<usize> {
        let held = |at: &usize| self.marks.get(*at).is_some_and(|mark| mark.id == id);
        // Where it is as long as no turn before it was erased.
        let at = id.checked_sub(self.marks.first()?.id)? as usize;
        Some(at).filter(held).or_else(|| self.marks.binary_search_by_key(&id, |mark| mark.id).ok())
    }

    /// A turn by id.
    pub fn get(&self, id: u32) -> Option<&Turn> {
        self.position(id).map(|at| &self.turns[at])
    }

    /// Files a turn in another thread; the one it was in, unless there is no such turn.
    pub fn refile(&mut self, id: u32, thread: u32) -> Option<u32> {
        let at = self.position(id)?;
        self.traits[at].thread = thread;
        Some(std::mem::replace(&mut self.turns[at].thread, thread))
    }

    /// The newest turn of a role.
    pub fn last(&self, role: Role) -> Option<&Turn> {
        self.last_position(role).map(|at| &self.turns[at])
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
        self.frequency.get(&term).copied().unwrap_or(0)
    }

    /// Calls `each` with the position of every turn that holds `term`, oldest first. Cost: the turns that do, in a long log;
    /// all turns in a short one.
    pub fn holders(&self, term: u32, mut each: impl FnMut(usize)) {
        match &self.postings {
            _ if self.frequency(term) == 0 => {}
            Some(postings) => postings.of(term).iter().filter_map(|id| self.position(*id)).for_each(each),
            None => (0..self.turns.len()).filter(|at| self.turns[*at].terms.contains(&term)).for_each(&mut each),
        }
    }

    /// Position of the newest turn that holds `term`, among the last `reach`.
    pub fn last_holder(&self, term: u32, reach: usize) -> Option<usize> {
        let first = self.turns.len().saturating_sub(reach);
        match &self.postings {
            _ if self.frequency(term) == 0 => None,
            Some(postings) => self.position(*postings.of(term).last()?).filter(|at| *at >= first),
            None => (first..self.turns.len()).rfind(|at| self.turns[*at].terms.contains(&term)),
        }
    }

    /// Rarity of a term among the turns: BM25's idf, ≥ 0.
    pub fn idf(&self, term: u32) -> f32 {
        self.rarity(self.frequency(term))
    }

    /// Rarity of a term that so many turns hold.
    pub fn rarity(&self, frequency: u32) -> f32 {
        let (n, df) = (self.turns.len() as f32, frequency as f32);
        (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
    }

    /// Appends a turn; its id is set here. `vector` is unit and of the log's dimension. Evicts the oldest beyond `ring`.
    /// Returns the turns that left.
    pub fn append(&mut self, mut turn: Turn, vector: Option<&[f32]>, ring: Option<usize>) -> Vec<Turn> {
        self.next += 1;
        turn.id = self.next;
        turn.embedded = vector.is_some();
        if let Some(vector) = vector
            && self.vectors.is_none()
        {
            let mut vectors = Vectors::new(self.form, vector.len());
            let zeros = vec![0.0; vector.len()];
            for _ in &self.turns {
                vectors.push(&zeros);
            }
            self.vectors = Some(vectors);
        }
        if let Some(vectors) = &mut self.vectors {
            match vector {
                Some(vector) => vectors.push(vector),
                None => vectors.push(&vec![0.0; vectors.dim()]),
            }
        }
        for term in &turn.terms {
            *self.frequency.entry(*term).or_default() += 1;
        }
        self.marks.push(Mark { id: turn.id, tokens: turn.tokens });
        self.traits.push(Trait::of(&turn));
        match &mut self.postings {
            Some(postings) => postings.add(turn.id, &turn.terms),
            None if self.turns.len() >= INDEXED_TURNS => {
                let mut postings = Postings::default();
                self.turns.iter().chain([&turn]).for_each(|turn| postings.add(turn.id, &turn.terms));
                self.postings = Some(postings);
            }
            None => {}
        }
        self.turns.push(turn);
        let excess = self.turns.len().saturating_sub(ring.unwrap_or(usize::MAX));
        let gone: Vec<Turn> = self.turns.drain(..excess).collect();
        self.marks.drain(..excess);
        self.traits.drain(..excess);
        if let Some(vectors) = self.vectors.as_mut().filter(|_| excess > 0) {
            vectors.remove(0, excess);
        }
        for turn in &gone {
            self.forget(turn);
            self.evicted = turn.id;
        }
        gone
    }

    /// Erases a turn with its vector and its links (G-72).
    pub fn remove(&mut self, id: u32) -> Option<Turn> {
        let at = self.position(id)?;
        let turn = self.turns.remove(at);
        self.marks.remove(at);
        self.traits.remove(at);
        if let Some(vectors) = &mut self.vectors {
            vectors.remove(at, 1);
        }
        self.forget(&turn);
        for other in &mut self.turns {
            other.references.retain(|target| *target != id);
        }
        Some(turn)
    }

    /// Takes back the ids from `id` on, after their turns were removed from a copy of the log.
    pub fn rewind(&mut self, id: u32) {
        self.next = id.saturating_sub(1);
    }

    /// True when some turn has a vector.
    pub fn is_embedded(&self) -> bool {
        self.turns.iter().any(|turn| turn.embedded)
    }

    fn forget(&mut self, turn: &Turn) {
        if let Some(postings) = &mut self.postings {
            postings.remove(turn.id, &turn.terms);
        }
        for term in &turn.terms {
            if let Some(count) = self.frequency.get_mut(term) {
                *count -= 1;
                if *count == 0 {
                    self.frequency.remove(term);
                }
            }
        }
    }

    /// Bytes held, text left out.
    pub fn bytes(&self) -> usize {
        let of = |turn: &Turn| {
            size_of::<(Turn, Mark, Trait)>()
                + turn.terms.len() * 4
                + turn.references.bytes()
                + turn.scratch.bytes()
                + turn.entities.bytes()
                + turn.entities.iter().map(String::len).sum::<usize>()
                + turn.lists.bytes()
                + turn.lists.iter().map(|list| list.items.len() * 8).sum::<usize>()
                + turn.host_id.as_ref().map_or(0, |id| id.len())
        };
        let turns: usize = self.turns.iter().map(of).sum();
        turns
            + self.vectors.as_ref().map_or(0, Vectors::bytes)
            + self.frequency.capacity() * 9
            + self.postings.as_ref().map_or(0, Postings::bytes)
    }

    /// Bytes of text held.
    pub fn text_bytes(&self) -> usize {
        self.turns.iter().map(|turn| turn.text.len()).sum()
    }
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
    use super::*;

    /// A turn with nothing but text, for tests of other modules.
    pub(crate) fn turn(role: Role, text: &str) -> Turn {
        Turn {
            id: 0,
            role,
            speaker: 0,
            text: text.into(),
            tokens: 1,
            at: 0,
            thread: 0,
            references: Few::default(),
            entities: Few::default(),
            scratch: Few::default(),
            terms: text.bytes().map(u32::from).take(1).collect(),
            lists: Few::default(),
            host_id: None,
            question: false,
            request: false,
            refusal: false,
            embedded: false,
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
    fn a_ring_of_two_keeps_the_newest_and_never_reuses_ids() {
        let mut log = TurnLog::default();
        for text in ["a", "b", "c"] {
            log.append(turn(Role::User, text), None, Some(2));
        }
        assert_eq!(log.turns().iter().map(|t| (t.id, &*t.text)).collect::<Vec<_>>(), [(2, "b"), (3, "c")]);
        assert!(log.was_evicted(1) && !log.was_evicted(2) && !log.was_evicted(9));
        assert_eq!(log.frequency(u32::from(b'a')), 0);
        log.remove(3);
        log.append(turn(Role::User, "d"), None, Some(2));
        assert_eq!(log.turns().last().unwrap().id, 4);
        assert!(log.recent(0).is_empty());
    }

    #[test]
    fn a_long_log_finds_the_holders_of_a_term_that_a_scan_finds() {
        let mut log = TurnLog::default();
        for at in 0..3 * INDEXED_TURNS {
            let letter = char::from(b'a' + (at * at % 7) as u8);
            log.append(turn(Role::User, &letter.to_string()), None, (at > INDEXED_TURNS).then_some(2 * INDEXED_TURNS));
            if at % 5 == 4 {
                log.remove(log.turns()[at % log.len()].id);
            }
            for term in (b'a'..=b'h').map(u32::from) {
                let scanned: Vec<usize> = (0..log.len()).filter(|at| log.turns()[*at].terms.contains(&term)).collect();
                let mut found = Vec::new();
                log.holders(term, |at| found.push(at));
                assert_eq!(found, scanned);
                let last = scanned.last().copied().filter(|at| at + 3 >= log.len());
                assert_eq!(log.last_holder(term, 3), last);
            }
        }
        assert!(log.postings.is_some());
    }

    #[test]
    fn runs_are_neighbouring_positions() {
        let mut log = TurnLog::default();
        for _ in 0..9 {
            log.append(turn(Role::User, "a"), None, None);
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
        log.append(turn(Role::User, "a"), None, None);
        log.append(turn(Role::User, "b"), Some(&[1.0, 0.0]), None);
        log.append(turn(Role::User, "c"), None, None);
        assert_eq!([0, 1, 2].map(|at| vector(&log, at)).concat(), [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        log.remove(1);
        assert_eq!(vector(&log, 0), [1.0, 0.0]);
    }
}
