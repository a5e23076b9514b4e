//! Tier P: persistent knowledge, ranked by relevance, novelty and age (SPEC-024, SPEC-027 §4, SPEC-009).
//!
//! A fact's score is `importance × max(relevance, residual pull) × novelty × recency × (1 − n-gram penalty)` (R024-5). What a
//! conversation has covered comes in as one vector, the weighted mean of what it covered: the coverage of a fact is its
//! inner product with it, whatever the size of the coverage set.

mod lexicon;
mod nearest;
mod ngrams;

use std::sync::OnceLock;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::config::{Options, Profile};
use crate::duration;
use crate::embedding::{EmbeddingSpec, StaticEmbedder};
use crate::error::{Code, Error, Result};
use crate::intent::Novelty;
use crate::render;
use crate::scratch::hex;
use crate::similarity::{self, Rows};
use crate::text::terms;
use crate::tokens::TokenCounter;

use lexicon::Lexicon;
pub(crate) use lexicon::stem;
use nearest::Nearest;
pub use ngrams::NgramGuard;

/// Whether a fact is retrieved (R009-1, R009-2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Status {
    /// Yes.
    #[default]
    Active,
    /// Yes, as if its lifetime were over.
    Stale,
    /// Never.
    Deleted,
    /// Never.
    Quarantined,
}

impl Status {
    const fn name(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Stale => "STALE",
            Self::Deleted => "DELETED",
            Self::Quarantined => "QUARANTINED",
        }
    }

    /// True when a fact of this status may be retrieved.
    pub const fn is_retrievable(self) -> bool {
        matches!(self, Self::Active | Self::Stale)
    }
}

/// A fact as the host gives it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewFact {
    /// Names it in its namespace; a known id replaces the fact.
    pub id: String,
    /// What it says; not blank.
    pub text: String,
    /// Where it comes from.
    #[serde(default)]
    pub source: String,
    /// In [0, 1]; 0.60, that of what users provide, when absent (R009-5).
    #[serde(default)]
    pub importance: Option<f32>,
    /// Lifetime: milliseconds, an ISO 8601 duration or `none`; never ends when absent (R027-5).
    #[serde(default)]
    pub ttl: Option<Value>,
    /// `ACTIVE` when absent.
    #[serde(default)]
    pub status: Status,
    /// Milliseconds since the epoch; the time of the call when absent.
    #[serde(default)]
    pub modified_at: Option<i64>,
}

/// A fact (R009-1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// Names it in its namespace.
    pub id: String,
    /// What it says.
    pub text: String,
    /// Where it comes from; may be empty.
    pub source: String,
    /// In [0, 1].
    pub importance: f32,
    /// Milliseconds until it is too old to trust; `None` for never.
    pub ttl: Option<i64>,
    /// Whether it is retrieved.
    pub status: Status,
    /// Milliseconds since the epoch.
    pub modified_at: i64,
    /// Tokens as rendered, without the overhead of a message.
    pub tokens: u32,
    /// It has a vector.
    pub embedded: bool,
    content_hash: [u8; 32],
}

impl Fact {
    /// `sha256:` and 64 hexadecimal digits of the text.
    pub fn content_hash(&self) -> String {
        format!("sha256:{}", hex(&self.content_hash))
    }

    /// How far its age takes it down, in [0.30, 1] (R027-4, R009-2).
    fn recency(&self, now: i64) -> f32 {
        let by_age = recency_factor(now.saturating_sub(self.modified_at), self.ttl) as f32;
        if self.status == Status::Stale { by_age.min(OUTDATED as f32) } else { by_age }
    }
}

/// Recency of a fact at the end of its lifetime and after (R027-4).
const OUTDATED: f64 = 0.30;

/// 1.0 up to half the lifetime, then down in a straight line to 0.30 at its end, and 0.30 from there on; 1.0 without a
/// lifetime (R027-4). Both in milliseconds; a fact from the future has age 0.
pub fn recency_factor(age: i64, ttl: Option<i64>) -> f64 {
    let Some(ttl) = ttl else { return 1.0 };
    if age >= ttl {
        return OUTDATED;
    }
    let half = ttl as f64 / 2.0;
    1.0 - (1.0 - OUTDATED) * ((age as f64 - half) / half).max(0.0)
}

/// What facts are wanted for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Query<'a> {
    /// Unit vector of what is asked.
    pub vector: Option<&'a [f32]>,
    /// Content words of what is asked, folded.
    pub terms: &'a [String],
}

/// How facts are scored (R024).
pub struct Policy<'a> {
    /// Whether covered facts lose.
    pub novelty: Novelty,
    /// Share of the coverage penalty under [`Novelty::Partial`] (G-7).
    pub partial_factor: f32,
    /// Facts below it are not retrieved (R024-6).
    pub min_relevance: f32,
    /// Weighted mean of the covered unit vectors; `None` when nothing is covered (R024-8).
    pub coverage: Option<&'a [f32]>,
    /// Unit vectors of what is still to be addressed.
    pub residual: &'a [&'a [f32]],
    /// The `spec` profile: cosines as they are, no words.
    pub literal: bool,
    /// Maps a cosine to the scale of `min_relevance`; not used by the `spec` profile.
    pub calibrate: &'a dyn Fn(f32) -> f32,
    /// What was generated so far.
    pub ngrams: &'a NgramGuard,
    /// Most facts returned.
    pub limit: usize,
}

/// A retrieved fact and what its score is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredFact {
    /// Its position, for [`KnowledgeBase::get`]; valid until the next change of the knowledge base.
    pub index: usize,
    /// How well it fits the query.
    pub relevance: f32,
    /// 1 for new, 0.20 for covered (R024-4).
    pub novelty: f32,
    /// 1 for young, 0.30 for outdated (R027-4).
    pub recency: f32,
    /// What the n-gram guard takes off, in [0, 0.80] (R024-10).
    pub ngram_penalty: f32,
    /// The product.
    pub score: f32,
}

/// A fact found by [`KnowledgeBase::search`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactHit<'a> {
    /// Its id.
    pub id: &'a str,
    /// What it says.
    pub text: &'a str,
    /// Where it comes from.
    pub source: &'a str,
    /// Its rank.
    pub score: f32,
    /// How well it fits.
    pub relevance: f32,
}

/// The facts of one namespace. Nothing in it can be reached from another.
#[derive(Debug)]
pub struct KnowledgeBase {
    /// By position; `None` where a fact was taken out.
    facts: Vec<Option<Fact>>,
    positions: FxHashMap<String, u32>,
    /// One row a position, zeros where there is no vector; `None` before the first vector.
    rows: Option<Rows>,
    /// Length of every vector; fixed by the first one when not given.
    dim: Option<usize>,
    lexicon: Lexicon,
    nearest: Option<Nearest>,
    index_above: usize,
    /// Numbers by position, kept for the next selection.
    cosines: Vec<f32>,
    shares: Vec<f32>,
    state: OnceLock<String>,
}

/// Facts taken out, as a share of all positions, beyond which everything is renumbered and the index built anew (R009-3).
const MOST_GONE: f64 = 0.20;

/// A fact that was checked, with its unit vector.
struct Checked {
    fact: Fact,
    vector: Option<Vec<f32>>,
}

impl KnowledgeBase {
    /// An empty knowledge base for vectors of length `dim`, or of whatever length the first one has. Above `index_above`
    /// facts an HNSW index takes the place of exact search.
    pub fn new(dim: Option<usize>, index_above: usize) -> Self {
        Self {
            facts: Vec::new(),
            positions: FxHashMap::default(),
            rows: None,
            dim,
            lexicon: Lexicon::default(),
            nearest: None,
            index_above,
            cosines: Vec::new(),
            shares: Vec::new(),
            state: OnceLock::new(),
        }
    }

    /// Number of facts, those that are never retrieved included.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// True without facts.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// The fact at a position that a selection gave.
    pub fn get(&self, index: usize) -> Option<&Fact> {
        self.facts.get(index)?.as_ref()
    }

    /// A fact by id.
    pub fn by_id(&self, id: &str) -> Option<&Fact> {
        self.positions.get(id).and_then(|at| self.get(*at as usize))
    }

    /// The facts, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Fact> {
        self.facts.iter().flatten()
    }

    /// Bytes held, text included.
    pub fn bytes(&self) -> usize {
        let facts: usize = self.iter().map(|fact| fact.id.len() * 2 + fact.text.len() + fact.source.len()).sum();
        let vectors = self.rows.as_ref().map_or(0, Rows::bytes) + self.nearest.as_ref().map_or(0, Nearest::bytes);
        facts + self.facts.capacity() * size_of::<Option<Fact>>() + vectors + self.lexicon.bytes()
    }

    /// `sha256:` and the digest of the sorted `id:content hash:status` of every retrievable fact, joined by `|` (R009-6).
    /// It changes when such a fact is added, altered, deleted or taken out of use, and not when one is read.
    ///
    /// Cost: a sort and a digest of about a hundred bytes a fact, once after a change.
    pub fn state_hash(&self) -> String {
        self.state.get_or_init(|| self.read_state()).clone()
    }

    fn read_state(&self) -> String {
        let mut facts: Vec<&Fact> = self.iter().filter(|fact| fact.status.is_retrievable()).collect();
        facts.sort_unstable_by_key(|fact| &fact.id);
        let mut digest = Sha256::new();
        for (at, fact) in facts.into_iter().enumerate() {
            let before = if at == 0 { "" } else { "|" };
            digest.update(format!("{before}{}:{}:{}", fact.id, hex(&fact.content_hash), fact.status.name()));
        }
        format!("sha256:{}", hex(&digest.finalize()))
    }

    // ---- changes -----------------------------------------------------------------------------------------------------

    /// Adds facts; one with a known id replaces it. Returns how many were given.
    ///
    /// `vectors` holds one row a fact, in order. Without it the built-in embedder reads the texts if `embedding` is its
    /// own, and facts it does not know the words of are found by their words. The whole batch is checked before anything
    /// changes.
    ///
    /// Cost: a count and a reading of each text; above `index_above` facts also a search of the index for each,
    /// and a new index when a fifth of the facts has changed.
    ///
    /// # Errors
    /// `INVALID_OPTION` for an empty id or text, a text above 2,048 tokens (R009-1), an importance outside [0, 1] or an
    /// unreadable lifetime; `INVALID_VECTOR`
    /// for vectors that do not fit the facts, the model or each other (G-56); those of the counter. They name the fact.
    pub fn add(
        &mut self,
        facts: Vec<NewFact>,
        vectors: Option<&[f32]>,
        embedding: Option<&EmbeddingSpec>,
        counter: &dyn TokenCounter,
        now: i64,
    ) -> Result<usize> {
        let dim = self.dim_of(vectors, facts.len(), embedding)?;
        let given = |at: usize| vectors.zip(dim).map(|(rows, dim)| &rows[at * dim..(at + 1) * dim]);
        let mut checked = Vec::with_capacity(facts.len());
        for (at, fact) in facts.into_iter().enumerate() {
            let id = fact.id.clone();
            let named = |mut error: Error| {
                error.message = format!("fact {at} ({id:?}): {}", error.message);
                error
            };
            checked.push(read(fact, given(at), dim, embedding, counter, now).map_err(named)?);
        }
        let count = checked.len();
        if checked.iter().any(|fact| fact.vector.is_some()) {
            self.dim = dim;
        }
        for fact in checked {
            self.put(fact);
        }
        self.settle();
        Ok(count)
    }

    /// Erases a fact with its vector and its words (G-72); true when there was one.
    pub fn delete(&mut self, id: &str) -> bool {
        let Some(at) = self.positions.get(id).copied() else { return false };
        self.take(at as usize);
        self.settle();
        true
    }

    /// The length of the vectors of a batch, checked against what is here.
    fn dim_of(
        &self,
        vectors: Option<&[f32]>,
        facts: usize,
        embedding: Option<&EmbeddingSpec>,
    ) -> Result<Option<usize>> {
        let known = self.dim.or(embedding.map(|spec| spec.dimensions));
        let Some(vectors) = vectors.filter(|_| facts > 0) else { return Ok(known) };
        let dim = known.unwrap_or(vectors.len() / facts);
        if dim == 0 || vectors.len() != dim * facts {
            let expected = format!("{facts} vectors of {dim} dimensions");
            return Err(Error::limit(
                Code::InvalidVector,
                "vectors of facts",
                format!("{} numbers", vectors.len()),
                expected,
            ));
        }
        Ok(Some(dim))
    }

    fn put(&mut self, new: Checked) {
        if let Some(at) = self.positions.get(&new.fact.id).copied() {
            let at = at as usize;
            if self.is_same_content(at, &new) {
                self.facts[at] = Some(new.fact);
                return;
            }
            self.take(at);
        }
        self.push(new);
    }

    /// True when only what is said about a fact changes, not what it says.
    fn is_same_content(&self, at: usize, new: &Checked) -> bool {
        let vector = self.rows.as_ref().map(|rows| rows.row(at));
        let same_vector = match (&new.vector, vector) {
            (Some(new), Some(old)) => new[..] == *old,
            (None, _) => !self.get(at).is_some_and(|fact| fact.embedded),
            (Some(_), None) => false,
        };
        same_vector && self.get(at).is_some_and(|fact| fact.text == new.fact.text)
    }

    fn push(&mut self, Checked { fact, vector }: Checked) {
        let at = self.facts.len();
        if let (None, Some(vector)) = (&self.rows, &vector) {
            let mut rows = Rows::new(vector.len());
            let nothing = vec![0.0; vector.len()];
            (0..at).for_each(|_| rows.push(&nothing));
            self.rows = Some(rows);
        }
        if let Some(rows) = &mut self.rows {
            let nothing = vec![0.0; rows.dim()];
            rows.push(vector.as_deref().unwrap_or(&nothing));
        }
        if let (Some(nearest), Some(vector)) = (&mut self.nearest, &vector)
            && nearest.add(at, vector).is_none()
        {
            self.nearest = None;
        }
        self.lexicon.add(at as u32, &terms(&fact.text));
        self.positions.insert(fact.id.clone(), at as u32);
        self.facts.push(Some(fact));
    }

    fn take(&mut self, at: usize) {
        let Some(fact) = self.facts[at].take() else { return };
        self.positions.remove(&fact.id);
        self.lexicon.remove(at as u32, &terms(&fact.text));
        if let Some(rows) = &mut self.rows {
            rows.row_mut(at).fill(0.0);
        }
        if fact.embedded && self.nearest.as_mut().is_some_and(|nearest| nearest.remove(at).is_none()) {
            self.nearest = None;
        }
    }

    /// After a change: forgets what was derived, closes the gaps when there are too many, has an index when one is due.
    fn settle(&mut self) {
        self.state = OnceLock::new();
        let gone = self.facts.len() - self.len();
        if gone as f64 > MOST_GONE * self.facts.len() as f64 {
            self.close_gaps();
            self.nearest = None;
        }
        // It stays for a while below the limit, so that a fact that comes and goes there does not build it each time.
        if self.len() <= self.index_above - self.index_above / 5 {
            self.nearest = None;
        } else if self.len() > self.index_above && self.nearest.is_none() {
            let embedded =
                self.facts.iter().enumerate().filter(|(_, fact)| fact.as_ref().is_some_and(|fact| fact.embedded));
            self.nearest = self.rows.as_ref().and_then(|rows| Nearest::of(rows, embedded.map(|(at, _)| at)));
        }
    }

    fn close_gaps(&mut self) {
        let mut moved = Vec::with_capacity(self.facts.len());
        let mut next = 0;
        for fact in &self.facts {
            moved.push(next);
            next += u32::from(fact.is_some());
        }
        if let Some(rows) = &mut self.rows {
            let mut kept = Rows::new(rows.dim());
            let held = self.facts.iter().enumerate().filter(|(_, fact)| fact.is_some());
            held.for_each(|(at, _)| kept.push(rows.row(at)));
            *rows = kept;
        }
        self.lexicon.renumber(&moved);
        self.facts.retain(Option::is_some);
        for at in self.positions.values_mut() {
            *at = moved[*at as usize];
        }
    }

    // ---- selection ---------------------------------------------------------------------------------------------------

    /// The facts for a query, best first: by score, then importance, then the bytes of the id (G-65). Those below
    /// `min_relevance` are left out before anything else is computed (R024-6).
    ///
    /// Relevance is the cosine, calibrated, and raised by the words that the fact shares with the query; without a vector on
    /// either side it is the shared words alone. Cost: exact search reads every vector once; with an index about a hundred
    /// vectors are read. The n-gram guard reads the texts of the facts that pass.
    ///
    /// # Errors
    /// `INVALID_VECTOR` when a vector of the query or the policy is of another length than those of the facts.
    pub fn select(&mut self, query: &Query<'_>, policy: &Policy<'_>, now: i64) -> Result<Vec<ScoredFact>> {
        self.check(query, policy)?;
        let mut found: Vec<ScoredFact> = self
            .relevances(query, policy)
            .into_iter()
            .filter_map(|(at, relevance)| self.scored(at, relevance, policy, now))
            .collect();
        found.sort_unstable_by(|a, b| self.order(a, b));
        found.truncate(policy.limit);
        Ok(found)
    }

    /// The facts nearest to a text, best first, as Tier P ranks them when nothing is covered; none that has nothing to do
    /// with it. `vector` is the text's; without one the built-in embedder reads it if `embedding` is its own.
    ///
    /// # Errors
    /// `INVALID_VECTOR` (G-56).
    pub fn search(
        &mut self,
        text: &str,
        vector: Option<&[f32]>,
        embedding: Option<&EmbeddingSpec>,
        options: &Options,
        limit: usize,
        now: i64,
    ) -> Result<Vec<FactHit<'_>>> {
        let vector = embed(text, vector, embedding)?;
        let terms = terms(text);
        let policy = Policy {
            novelty: Novelty::Off,
            partial_factor: options.facts.partial_factor,
            min_relevance: f32::MIN_POSITIVE,
            coverage: None,
            residual: &[],
            literal: options.profile == Profile::Spec,
            calibrate: &|cosine| embedding.map_or(cosine, |spec| spec.calibration.apply(cosine)),
            ngrams: &NgramGuard::default(),
            limit,
        };
        let found = self.select(&Query { vector: vector.as_deref(), terms: &terms }, &policy, now)?;
        let hit = |scored: &ScoredFact| {
            let Fact { id, text, source, .. } = self.get(scored.index)?;
            Some(FactHit { id, text, source, score: scored.score, relevance: scored.relevance })
        };
        Ok(found.iter().filter_map(hit).collect())
    }

    fn check(&self, query: &Query<'_>, policy: &Policy<'_>) -> Result<()> {
        let Some(rows) = &self.rows else { return Ok(()) };
        let mut vectors = query.vector.iter().chain(&policy.coverage).chain(policy.residual);
        match vectors.find(|vector| vector.len() != rows.dim()) {
            Some(odd) => {
                Err(Error::limit(Code::InvalidVector, "dimensions of a vector for facts", odd.len(), rows.dim()))
            }
            None => Ok(()),
        }
    }

    /// Position and relevance of every retrievable fact that passes.
    fn relevances(&mut self, query: &Query<'_>, policy: &Policy<'_>) -> Vec<(usize, f32)> {
        let positions = self.facts.len();
        self.shares.resize(positions, 0.0);
        self.lexicon.shares(query.terms, self.positions.len(), &mut self.shares);
        let vector = query.vector.zip(self.rows.as_ref());
        let near = vector.and_then(|(vector, rows)| self.near(vector, rows));
        let passes = |at: usize, cosine: Option<f32>| {
            let fact = self.facts[at].as_ref().filter(|fact| fact.status.is_retrievable())?;
            let relevance = relevance(cosine.filter(|_| fact.embedded), self.shares[at], policy);
            (relevance >= policy.min_relevance).then_some((at, relevance))
        };
        match (near, vector) {
            (Some(near), Some((vector, rows))) => {
                near.into_iter().filter_map(|at| passes(at, Some(similarity::dot(vector, rows.row(at))))).collect()
            }
            (None, Some((vector, rows))) => {
                self.cosines.resize(positions, 0.0);
                similarity::dots(vector, rows.as_slice(), &mut self.cosines);
                (0..positions).filter_map(|at| passes(at, Some(self.cosines[at]))).collect()
            }
            _ => (0..positions).filter_map(|at| passes(at, None)).collect(),
        }
    }

    /// Positions worth a look, if there is an index: the nearest by vector, and those that share the most words.
    fn near(&self, vector: &[f32], rows: &Rows) -> Option<Vec<usize>> {
        /// As many as the index looks at (R009-3).
        const MOST: usize = 100;
        debug_assert_eq!(vector.len(), rows.dim());
        let mut near = self.nearest.as_ref()?.find(vector, MOST)?;
        let mut sharing: Vec<usize> = (0..self.shares.len()).filter(|at| self.shares[*at] > 0.0).collect();
        if sharing.len() > MOST {
            sharing.select_nth_unstable_by(MOST, |a, b| self.shares[*b].total_cmp(&self.shares[*a]).then(a.cmp(b)));
            sharing.truncate(MOST);
        }
        let known: FxHashSet<usize> = near.iter().copied().collect();
        near.extend(sharing.into_iter().filter(|at| !known.contains(at)));
        Some(near)
    }

    fn scored(&self, at: usize, relevance: f32, policy: &Policy<'_>, now: i64) -> Option<ScoredFact> {
        let fact = self.get(at)?;
        let row = self.rows.as_ref().filter(|_| fact.embedded).map(|rows| rows.row(at));
        let covered = policy.coverage.filter(|_| policy.novelty != Novelty::Off);
        let cosine = |other: &[f32]| row.map_or(0.0, |row| similarity::dot(row, other));
        // An empty coverage set leaves no residual either (G-41).
        let residual = covered.map_or(0.0, |_| policy.residual.iter().map(|other| cosine(other)).fold(0.0, f32::max));
        let novelty = covered.map_or(1.0, |covered| novelty(cosine(covered), policy));
        let ngram_penalty = if policy.novelty == Novelty::Off { 0.0 } else { policy.ngrams.penalty(&fact.text) };
        let recency = fact.recency(now);
        let score = fact.importance * relevance.max(residual) * novelty * recency * (1.0 - ngram_penalty);
        Some(ScoredFact { index: at, relevance, novelty, recency, ngram_penalty, score })
    }

    fn order(&self, a: &ScoredFact, b: &ScoredFact) -> std::cmp::Ordering {
        let key = |scored: &ScoredFact| self.get(scored.index).map_or((0.0, ""), |fact| (fact.importance, &fact.id));
        let ((importance_a, id_a), (importance_b, id_b)) = (key(a), key(b));
        b.score.total_cmp(&a.score).then(importance_b.total_cmp(&importance_a)).then(id_a.cmp(id_b))
    }
}

/// Of a fact with this cosine, if it and the query have vectors, that holds this share of the query's words.
fn relevance(cosine: Option<f32>, share: f32, policy: &Policy<'_>) -> f32 {
    /// How far all the words of a query alone can take a fact. The vectors know most words, so that on labelled facts
    /// any value up to 0.8 ranks alike; it is there for names and numbers that they do not know.
    const WORDS: f32 = 0.4;
    match cosine {
        Some(cosine) if policy.literal => cosine,
        Some(cosine) => 1.0 - (1.0 - (policy.calibrate)(cosine).clamp(0.0, 1.0)) * (1.0 - WORDS * share),
        // The fourth root: a tenth of the query, which is one rare word of a sentence, passes the bar of R024-6.
        None => share.sqrt().sqrt(),
    }
}

/// R024-4 and G-7. Only the literal profile lets a fact opposed to what was covered count as more than new.
fn novelty(coverage: f32, policy: &Policy<'_>) -> f32 {
    const MOST_PENALTY: f32 = 0.80;
    const FLOOR: f32 = 0.20;
    let penalty = if policy.literal { coverage.min(MOST_PENALTY) } else { coverage.clamp(0.0, MOST_PENALTY) };
    match policy.novelty {
        Novelty::On => (1.0 - penalty).max(FLOOR),
        Novelty::Partial => 1.0 - policy.partial_factor * penalty,
        Novelty::Off => 1.0,
    }
}

fn read(
    new: NewFact,
    vector: Option<&[f32]>,
    dim: Option<usize>,
    embedding: Option<&EmbeddingSpec>,
    counter: &dyn TokenCounter,
    now: i64,
) -> Result<Checked> {
    /// R009-5: what users provide.
    const IMPORTANCE: f32 = 0.60;
    /// R009-1.
    const MOST_TOKENS: u32 = 2048;
    if new.id.is_empty() {
        return Err(Error::limit(Code::InvalidOption, "id", "nothing", "a name"));
    }
    if new.text.trim().is_empty() {
        return Err(Error::limit(Code::InvalidOption, "text", "nothing", "what the fact says"));
    }
    let importance = new.importance.unwrap_or(IMPORTANCE);
    if !(0.0..=1.0).contains(&importance) {
        return Err(Error::limit(Code::InvalidOption, "importance", importance, "a number in [0, 1]"));
    }
    let vector = embed(&new.text, vector, embedding)?;
    if let (Some(vector), Some(dim)) = (&vector, dim)
        && vector.len() != dim
    {
        return Err(Error::limit(Code::InvalidVector, "vector", format!("{} dimensions", vector.len()), dim));
    }
    let tokens = counter.count(&render::fact(&new.id, &new.source, &new.text))?;
    if tokens > MOST_TOKENS {
        let content = counter.count(&new.text)?;
        if content > MOST_TOKENS {
            return Err(Error::limit(
                Code::InvalidOption,
                "text, to be split into several facts",
                content,
                MOST_TOKENS,
            ));
        }
    }
    let fact = Fact {
        tokens,
        content_hash: Sha256::digest(new.text.as_bytes()).into(),
        importance,
        ttl: new.ttl.as_ref().map_or(Ok(None), duration::lifetime)?,
        status: new.status,
        modified_at: new.modified_at.unwrap_or(now),
        embedded: vector.is_some(),
        id: new.id,
        text: new.text,
        source: new.source,
    };
    Ok(Checked { fact, vector })
}

/// The unit vector of a text: the one given, else the built-in embedder's if it is the one in use and knows the words.
fn embed(text: &str, given: Option<&[f32]>, embedding: Option<&EmbeddingSpec>) -> Result<Option<Vec<f32>>> {
    if let (Some(given), Some(spec)) = (given, embedding) {
        return spec.unit(given).map(Some);
    }
    if let Some(given) = given {
        let mut unit = given.to_vec();
        return similarity::normalise(&mut unit).map(|()| Some(unit));
    }
    let builtin = StaticEmbedder::builtin();
    let mut unit = Vec::new();
    let own = embedding.is_some_and(|spec| spec.id == builtin.spec().id);
    Ok(own.then(|| builtin.embed(text, &mut unit)).flatten().map(|()| unit))
}

// ---- snapshots -------------------------------------------------------------------------------------------------------

/// What a knowledge base is made from again; words and index are not stored.
#[derive(Serialize, Deserialize)]
struct Snapshot<F, R> {
    facts: F,
    /// One row a fact.
    rows: Option<R>,
    dim: Option<usize>,
    index_above: usize,
}

impl Serialize for KnowledgeBase {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        // Rows without a vector among them are not worth keeping, nor remembered by the copy.
        let rows = self.rows.as_ref().filter(|_| self.iter().any(|fact| fact.embedded)).map(|rows| {
            let mut kept = Rows::new(rows.dim());
            let held = self.facts.iter().enumerate().filter(|(_, fact)| fact.is_some());
            held.for_each(|(at, _)| kept.push(rows.row(at)));
            kept
        });
        let facts: Vec<&Fact> = self.iter().collect();
        Snapshot { facts, rows, dim: self.dim, index_above: self.index_above }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for KnowledgeBase {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let snapshot = Snapshot::<Vec<Fact>, Rows>::deserialize(deserializer)?;
        let Snapshot { facts, rows, dim, index_above } = snapshot;
        let fits = rows.as_ref().is_none_or(|rows| rows.len() == facts.len() && Some(rows.dim()) == dim);
        if !fits || rows.is_none() && facts.iter().any(|fact| fact.embedded) {
            return Err(serde::de::Error::custom("facts and their vectors do not fit"));
        }
        let mut base = Self::new(dim, index_above);
        for (at, fact) in facts.into_iter().enumerate() {
            let vector = rows.as_ref().filter(|_| fact.embedded).map(|rows| rows.row(at).to_vec());
            if base.positions.contains_key(&fact.id) {
                return Err(serde::de::Error::custom("two facts with one id"));
            }
            base.push(Checked { fact, vector });
        }
        base.settle();
        Ok(base)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::float_cmp, reason = "exact values are meant")]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// A token a byte.
    struct Bytes;

    impl TokenCounter for Bytes {
        fn count(&self, text: &str) -> Result<u32> {
            Ok(text.len() as u32)
        }
    }

    const NOW: i64 = 1_700_000_000_000;
    const DAY: i64 = 86_400_000;
    const NO_TERMS: &[String] = &[];

    fn fact(id: &str, text: &str) -> NewFact {
        NewFact { id: id.into(), text: text.into(), importance: Some(1.0), ..NewFact::default() }
    }

    fn base(facts: Vec<NewFact>, vectors: &[f32]) -> KnowledgeBase {
        let mut base = KnowledgeBase::new(None, 1000);
        base.add(facts, Some(vectors).filter(|v| !v.is_empty()), None, &Bytes, NOW).unwrap();
        base
    }

    fn identity(cosine: f32) -> f32 {
        cosine
    }

    /// The specification's own formula over a coverage set that may be empty.
    fn literal<'a>(ngrams: &'a NgramGuard, coverage: Option<&'a [f32]>) -> Policy<'a> {
        Policy {
            novelty: Novelty::On,
            partial_factor: 0.5,
            min_relevance: 0.55,
            coverage,
            residual: &[],
            literal: true,
            calibrate: &identity,
            ngrams,
            limit: 50,
        }
    }

    fn ids<'a>(base: &'a KnowledgeBase, found: &[ScoredFact]) -> Vec<&'a str> {
        found.iter().map(|scored| base.get(scored.index).unwrap().id.as_str()).collect()
    }

    fn close(a: f32, b: f32) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn recency_values_of_the_requirements() {
        let ttl = Some(365 * DAY);
        for (days, value) in [
            (182.5, 1.0),
            (200.0, 0.932_877),
            (273.75, 0.65),
            (364.0, 0.303_836),
            (365.0, 0.30),
            (9999.0, 0.30),
            (-5.0, 1.0),
        ] {
            assert!((recency_factor((days * DAY as f64) as i64, ttl) - value).abs() < 1e-6, "{days}");
        }
        assert_eq!(recency_factor(i64::MAX, None), 1.0);
        assert_eq!(recency_factor(0, Some(0)), OUTDATED);
    }

    #[test]
    fn without_coverage_the_score_is_importance_times_relevance() {
        let mut base = base(vec![NewFact { importance: Some(0.5), ..fact("a", "x") }], &[3.0, 4.0]);
        let found = base
            .select(&Query { vector: Some(&[0.0, 1.0]), terms: NO_TERMS }, &literal(&NgramGuard::default(), None), NOW)
            .unwrap();
        assert!(close(found[0].score, 0.4) && close(found[0].relevance, 0.8) && found[0].novelty == 1.0, "{found:?}");
    }

    #[test]
    fn below_the_bar_is_out_and_on_it_is_in() {
        let mut base = base(vec![fact("low", "x"), fact("on", "y")], &[0.6, 0.8, 0.8, 0.6]);
        let guard = NgramGuard::default();
        let on = similarity::dot(base.rows.as_ref().unwrap().row(1), &[1.0, 0.0]);
        let policy = Policy { min_relevance: on, ..literal(&guard, None) };
        let found = base.select(&Query { vector: Some(&[1.0, 0.0]), terms: NO_TERMS }, &policy, NOW).unwrap();
        assert_eq!(ids(&base, &found), ["on"]);
    }

    #[test]
    fn what_is_covered_loses_but_never_all() {
        let guard = NgramGuard::default();
        let covered = [1.0, 0.0];
        let novelty_of = |novelty| {
            let mut base = base(vec![fact("a", "x")], &[1.0, 0.0]);
            let policy = Policy { novelty, ..literal(&guard, Some(&covered)) };
            base.select(&Query { vector: Some(&[1.0, 0.0]), terms: NO_TERMS }, &policy, NOW).unwrap()[0].novelty
        };
        assert!(close(novelty_of(Novelty::On), 0.20));
        assert!(close(novelty_of(Novelty::Partial), 0.60));
        assert_eq!(novelty_of(Novelty::Off), 1.0);
    }

    #[test]
    fn what_is_still_to_be_addressed_pulls_only_once_something_is_covered() {
        let mut base = base(vec![fact("a", "x")], &[0.6, 0.8]);
        let (guard, pull) = (NgramGuard::default(), [0.0, 1.0]);
        let residual: &[&[f32]] = &[&pull];
        let query = Query { vector: Some(&[1.0, 0.0]), terms: NO_TERMS };
        let mut score = |coverage, novelty| {
            let policy = Policy { residual, novelty, min_relevance: 0.5, ..literal(&guard, coverage) };
            base.select(&query, &policy, NOW).unwrap()[0].score
        };
        assert!(close(score(None, Novelty::On), 0.6));
        assert!(close(score(Some(&[0.0, 0.0]), Novelty::On), 0.8));
        assert!(close(score(Some(&[0.0, 0.0]), Novelty::Off), 0.6));
    }

    #[test]
    fn repeated_text_loses_unless_revisiting_is_the_point() {
        let text = "the client port of etcd is 2379 by default";
        let mut base = base(vec![fact("a", text)], &[1.0]);
        let mut guard = NgramGuard::default();
        guard.add(text);
        let query = Query { vector: Some(&[1.0]), terms: NO_TERMS };
        let mut score =
            |novelty| base.select(&query, &Policy { novelty, ..literal(&guard, None) }, NOW).unwrap()[0].score;
        assert!(close(score(Novelty::On), 0.4));
        assert!(close(score(Novelty::Partial), 0.4));
        assert!(close(score(Novelty::Off), 1.0));
    }

    #[test]
    fn only_active_and_stale_facts_are_retrieved() {
        let statuses = [Status::Active, Status::Stale, Status::Deleted, Status::Quarantined];
        let facts = statuses.iter().map(|status| NewFact { status: *status, ..fact(status.name(), "x") }).collect();
        let mut base = base(facts, &[1.0; 4]);
        let found = base
            .select(&Query { vector: Some(&[1.0]), terms: NO_TERMS }, &literal(&NgramGuard::default(), None), NOW)
            .unwrap();
        assert_eq!(ids(&base, &found), ["ACTIVE", "STALE"]);
        assert!(close(found[1].score, 0.30));
    }

    #[test]
    fn ties_go_to_importance_then_to_the_id() {
        let facts = vec![
            fact("b", "x"),
            fact("a", "x"),
            NewFact { ttl: Some(json!(0)), ..fact("c", "x") },
            NewFact { importance: Some(0.3), ..fact("d", "x") },
        ];
        let mut base = base(facts, &[1.0; 4]);
        let found = base
            .select(&Query { vector: Some(&[1.0]), terms: NO_TERMS }, &literal(&NgramGuard::default(), None), NOW)
            .unwrap();
        assert_eq!(ids(&base, &found), ["a", "b", "c", "d"]);
    }

    #[test]
    fn facts_without_vectors_are_found_by_their_words() {
        let mut base = base(
            vec![
                fact("port", "etcd listens on port 2379"),
                fact("cat", "the cat sleeps"),
                fact("other", "etcd is a store"),
            ],
            &[],
        );
        let asked = ["etcd", "ports", "2379"].map(String::from);
        let guard = NgramGuard::default();
        let policy = Policy { literal: false, ..literal(&guard, None) };
        let found = base.select(&Query { vector: None, terms: &asked }, &policy, NOW).unwrap();
        assert_eq!(ids(&base, &found), ["port", "other"]);
        assert!(close(found[0].relevance, 1.0));
    }

    #[test]
    fn shared_words_raise_a_fact_that_its_vector_finds_too() {
        let mut base = base(
            vec![fact("a", "flight HAT169 to Denver"), fact("b", "flight HAT170 to Denver")],
            &[0.8, 0.6, 0.8, 0.6],
        );
        let asked = ["hat170".to_owned()];
        let guard = NgramGuard::default();
        let query = Query { vector: Some(&[1.0, 0.0]), terms: &asked };
        let found = base.select(&query, &Policy { literal: false, ..literal(&guard, None) }, NOW).unwrap();
        assert_eq!(ids(&base, &found), ["b", "a"]);
        assert!(close(found[0].relevance, 1.0 - 0.2 * 0.6) && close(found[1].relevance, 0.8), "{found:?}");
        let found = base.select(&query, &literal(&guard, None), NOW).unwrap();
        assert_eq!(ids(&base, &found), ["a", "b"], "the literal profile reads no words");
    }

    #[test]
    fn a_known_id_replaces_the_fact() {
        let mut base = base(vec![fact("a", "old words"), fact("b", "x")], &[1.0, 0.0, 0.0, 1.0]);
        base.add(vec![fact("a", "new words")], Some(&[0.0, 2.0]), None, &Bytes, NOW).unwrap();
        assert_eq!((base.len(), base.by_id("a").unwrap().text.as_str()), (2, "new words"));
        let found = base
            .select(&Query { vector: Some(&[0.0, 1.0]), terms: NO_TERMS }, &literal(&NgramGuard::default(), None), NOW)
            .unwrap();
        assert_eq!(ids(&base, &found), ["a", "b"]);
        assert!(base.delete("a") && !base.delete("a"));
        assert_eq!(base.iter().map(|fact| fact.id.as_str()).collect::<Vec<_>>(), ["b"]);
        assert!(!format!("{base:?}").contains("new words"), "nothing of an erased fact stays");
    }

    #[test]
    fn a_batch_with_one_bad_fact_changes_nothing() {
        let good = fact("good", "x");
        let cases: Vec<(Vec<NewFact>, Vec<f32>, Code)> = vec![
            (vec![good.clone(), fact("", "x")], vec![], Code::InvalidOption),
            (vec![good.clone(), fact("a", "  ")], vec![], Code::InvalidOption),
            (vec![good.clone(), fact("a", &"x".repeat(2049))], vec![], Code::InvalidOption),
            (vec![good.clone(), NewFact { importance: Some(1.1), ..fact("a", "x") }], vec![], Code::InvalidOption),
            (vec![good.clone(), NewFact { importance: Some(f32::NAN), ..fact("a", "x") }], vec![], Code::InvalidOption),
            (vec![good.clone(), NewFact { ttl: Some(json!("soon")), ..fact("a", "x") }], vec![], Code::InvalidOption),
            (vec![good.clone(), fact("a", "x")], vec![1.0, 0.0, 0.0, 0.0], Code::InvalidVector),
            (vec![good.clone(), fact("a", "x")], vec![1.0, 0.0, f32::NAN, 0.0], Code::InvalidVector),
            (vec![good.clone(), fact("a", "x")], vec![1.0, 0.0, 1.0], Code::InvalidVector),
            (vec![good], vec![1.0, 0.0, 1.0], Code::InvalidVector),
        ];
        for (facts, vectors, code) in cases {
            let mut base = base(vec![fact("first", "x")], &[1.0, 1.0]);
            let before = (base.state_hash(), postcard::to_stdvec(&base).unwrap());
            let vectors = Some(&vectors[..]).filter(|v| !v.is_empty());
            assert_eq!(base.add(facts, vectors, None, &Bytes, NOW).unwrap_err().code, code);
            assert_eq!((base.state_hash(), postcard::to_stdvec(&base).unwrap()), before);
        }
    }

    #[test]
    fn an_error_names_the_fact() {
        let error =
            KnowledgeBase::new(None, 9).add(vec![fact("a", "x"), fact("b", "")], None, None, &Bytes, NOW).unwrap_err();
        assert_eq!(error.message, "fact 1 (\"b\"): text: got nothing, expected what the fact says");
    }

    #[test]
    fn vectors_of_another_length_are_a_typed_error() {
        let mut base = base(vec![fact("a", "x")], &[1.0, 0.0]);
        let guard = NgramGuard::default();
        let odd: &[f32] = &[1.0];
        let fine: &[f32] = &[1.0, 0.0];
        for (vector, coverage, residual) in [(odd, None, fine), (fine, Some(odd), fine), (fine, None, odd)] {
            let policy = Policy { residual: &[residual], ..literal(&guard, coverage) };
            let error = base.select(&Query { vector: Some(vector), terms: NO_TERMS }, &policy, NOW).unwrap_err();
            assert_eq!(error.code, Code::InvalidVector);
        }
    }

    #[test]
    fn the_state_hash_is_that_of_the_definition() {
        let mut base = base(
            vec![fact("b", "two"), fact("a", "one"), NewFact { status: Status::Quarantined, ..fact("q", "x") }],
            &[],
        );
        let text = format!("a:{}:ACTIVE|b:{}:ACTIVE", hex(&Sha256::digest("one")), hex(&Sha256::digest("two")));
        assert_eq!(base.state_hash(), format!("sha256:{}", hex(&Sha256::digest(text))));
        let first = base.state_hash();
        base.select(&Query::default(), &literal(&NgramGuard::default(), None), NOW).unwrap();
        assert_eq!(base.state_hash(), first, "reading changes nothing");
        base.add(vec![NewFact { status: Status::Stale, ..fact("a", "one") }], None, None, &Bytes, NOW).unwrap();
        let second = base.state_hash();
        base.add(vec![fact("a", "one")], None, None, &Bytes, NOW).unwrap();
        assert!(second != first && base.state_hash() == first);
        base.delete("a");
        assert_ne!(base.state_hash(), first);
        assert_eq!(KnowledgeBase::new(None, 9).state_hash(), format!("sha256:{}", hex(&Sha256::digest(""))));
    }

    #[test]
    fn the_built_in_embedder_reads_facts_that_come_without_vectors() {
        let spec = StaticEmbedder::builtin().spec();
        let mut base = KnowledgeBase::new(Some(spec.dimensions), 1000);
        base.add(
            vec![
                fact("dog", "My dog is called Rex."),
                fact("tax", "The tax office is closed on Mondays."),
                fact("ru", "Мой кот любит рыбу"),
            ],
            None,
            Some(spec),
            &Bytes,
            NOW,
        )
        .unwrap();
        assert!(base.by_id("dog").unwrap().embedded && !base.by_id("ru").unwrap().embedded);
        let found = base.search("what is the name of my puppy", None, Some(spec), &Options::default(), 9, NOW).unwrap();
        assert_eq!(found[0].id, "dog");
        let found = base.search("кот", None, Some(spec), &Options::default(), 9, NOW).unwrap();
        assert_eq!(found.iter().map(|hit| hit.id).collect::<Vec<_>>(), ["ru"]);
    }

    #[test]
    fn a_broken_snapshot_is_refused() {
        let good = base(vec![fact("a", "x"), fact("b", "y")], &[1.0, 0.0, 0.0, 1.0]);
        let facts: Vec<&Fact> = good.iter().collect();
        let rows = good.rows.clone();
        let mut short = Rows::new(2);
        short.push(&[1.0, 0.0]);
        let broken = [
            postcard::to_stdvec(&Snapshot { facts: facts.clone(), rows: None::<Rows>, dim: Some(2), index_above: 9 }),
            postcard::to_stdvec(&Snapshot { facts: facts.clone(), rows: Some(short), dim: Some(2), index_above: 9 }),
            postcard::to_stdvec(&Snapshot { facts: facts.clone(), rows: rows.clone(), dim: Some(3), index_above: 9 }),
            postcard::to_stdvec(&Snapshot { facts: vec![facts[0], facts[0]], rows, dim: Some(2), index_above: 9 }),
        ];
        for bytes in broken {
            assert!(postcard::from_bytes::<KnowledgeBase>(&bytes.unwrap()).is_err());
        }
    }

    /// Reproducible numbers in [-1, 1).
    fn numbers(seed: u64) -> impl Iterator<Item = f32> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        std::iter::repeat_with(move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        })
    }

    #[test]
    fn the_index_finds_what_exact_search_finds() {
        const DIM: usize = 32;
        const FACTS: usize = 2_000;
        let mut noise = numbers(7);
        let centres: Vec<f32> = noise.by_ref().take(40 * DIM).collect();
        let vectors: Vec<f32> = (0..FACTS * DIM)
            .map(|at| centres[(at / DIM % 40) * DIM + at % DIM] + 0.4 * noise.next().unwrap())
            .collect();
        let mut exact = KnowledgeBase::new(None, usize::MAX);
        let mut indexed = KnowledgeBase::new(None, 500);
        let facts: Vec<NewFact> = (0..FACTS).map(|at| fact(&format!("f{at}"), &format!("fact {at}"))).collect();
        for base in [&mut exact, &mut indexed] {
            // In two parts: the second is added to an index that exists.
            base.add(facts[..1000].to_vec(), Some(&vectors[..1000 * DIM]), None, &Bytes, NOW).unwrap();
            base.add(facts[1000..].to_vec(), Some(&vectors[1000 * DIM..]), None, &Bytes, NOW).unwrap();
            for at in (0..FACTS).step_by(7) {
                base.delete(&format!("f{at}"));
            }
        }
        assert!(exact.nearest.is_none() && indexed.nearest.is_some());
        let guard = NgramGuard::default();
        let policy = Policy { min_relevance: -1.0, limit: 10, ..literal(&guard, None) };
        let mut found = 0;
        for query in 0..50 {
            let mut vector: Vec<f32> =
                (0..DIM).map(|at| centres[query % 40 * DIM + at] + 0.4 * noise.next().unwrap()).collect();
            similarity::normalise(&mut vector).unwrap();
            let query = Query { vector: Some(&vector), terms: NO_TERMS };
            let wanted = exact.select(&query, &policy, NOW).unwrap();
            let got = indexed.select(&query, &policy, NOW).unwrap();
            let wanted: FxHashSet<&str> = ids(&exact, &wanted).into_iter().collect();
            found += ids(&indexed, &got).iter().filter(|id| wanted.contains(*id)).count();
        }
        assert!(found >= 490, "recall {found} of 500");
        for at in 0..FACTS / 2 {
            indexed.delete(&format!("f{at}"));
        }
        assert_eq!(indexed.facts.iter().flatten().count(), indexed.len());
        assert!(indexed.facts.len() as f64 <= indexed.len() as f64 / (1.0 - MOST_GONE) + 1.0);
        for at in FACTS / 2..FACTS {
            indexed.delete(&format!("f{at}"));
        }
        assert!(indexed.is_empty() && indexed.nearest.is_none());
    }

    // ---- the naive twin ----------------------------------------------------------------------------------------------

    const DIM: usize = 5;

    #[derive(Clone, Debug)]
    struct Given {
        id: u8,
        words: Vec<u8>,
        vector: Option<u64>,
        importance: f32,
        ttl: Option<i64>,
        age: i64,
        status: Status,
    }

    impl Given {
        fn unit(&self) -> Option<Vec<f32>> {
            self.vector.map(|seed| {
                let mut unit: Vec<f32> = numbers(seed).take(DIM).collect();
                similarity::normalise(&mut unit).unwrap();
                unit
            })
        }

        fn words(&self) -> Vec<String> {
            self.words.iter().map(|word| format!("w{word}")).collect()
        }

        fn new_fact(&self) -> NewFact {
            NewFact {
                id: format!("f{}", self.id),
                text: self.words().join(" "),
                source: String::new(),
                importance: Some(self.importance),
                ttl: self.ttl.map(|ttl| json!(ttl)),
                status: self.status,
                modified_at: Some(NOW - self.age),
            }
        }
    }

    fn given() -> impl Strategy<Value = Given> {
        let status = prop_oneof![6 => Just(Status::Active), 1 => Just(Status::Stale), 1 => Just(Status::Deleted), 1 => Just(Status::Quarantined)];
        let words = prop::collection::vec(0..12u8, 1..10);
        let importance = prop_oneof![Just(0.5f32), 0.0f32..=1.0];
        (
            0..12u8,
            words,
            prop::option::weighted(0.8, any::<u64>()),
            importance,
            prop::option::of(0..100i64),
            0..120i64,
            status,
        )
            .prop_map(|(id, words, vector, importance, ttl, age, status)| Given {
                id,
                words,
                vector,
                importance,
                ttl,
                age,
                status,
            })
    }

    #[derive(Clone, Debug)]
    enum Step {
        Put(Given),
        Delete(u8),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![3 => given().prop_map(Step::Put), 1 => (0..12u8).prop_map(Step::Delete)];
        prop::collection::vec(step, 0..40)
    }

    #[derive(Clone, Debug)]
    struct Asked {
        vector: Option<u64>,
        terms: Vec<u8>,
        novelty: Novelty,
        coverage: Vec<(u64, f32)>,
        residual: Vec<u64>,
        literal: bool,
        min_relevance: f32,
        limit: usize,
        output: Vec<u8>,
    }

    fn asked() -> impl Strategy<Value = Asked> {
        let novelty = prop_oneof![Just(Novelty::On), Just(Novelty::Off), Just(Novelty::Partial)];
        (
            prop::option::weighted(0.8, any::<u64>()),
            prop::collection::vec(0..14u8, 0..5),
            novelty,
            prop::collection::vec((any::<u64>(), 0.1f32..1.0), 0..4),
            prop::collection::vec(any::<u64>(), 0..3),
            any::<bool>(),
            prop_oneof![Just(-1.0f32), Just(0.0), Just(0.3)],
            1..15usize,
            prop::collection::vec(0..12u8, 0..30),
        )
            .prop_map(|(vector, terms, novelty, coverage, residual, literal, min_relevance, limit, output)| {
                Asked { vector, terms, novelty, coverage, residual, literal, min_relevance, limit, output }
            })
    }

    fn unit(seed: u64) -> Vec<f32> {
        let mut unit: Vec<f32> = numbers(seed).take(DIM).collect();
        similarity::normalise(&mut unit).unwrap();
        unit
    }

    fn mean(entries: &[(u64, f32)]) -> Option<Vec<f32>> {
        let total: f32 = entries.iter().map(|(_, weight)| weight).sum();
        let sum = |at: usize| entries.iter().map(|(seed, weight)| weight * unit(*seed)[at]).sum::<f32>();
        (!entries.is_empty()).then(|| (0..DIM).map(|at| sum(at) / total).collect())
    }

    /// Id and score of what [`KnowledgeBase::select`] should return, from the definitions, in `f64`.
    fn twin(facts: &[Given], asked: &Asked) -> Vec<(String, f64)> {
        let cosine = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
        let holders = |word: u8| facts.iter().filter(|fact| fact.words.contains(&word)).count() as f64;
        let weight = |word: u8| (1.0 + (facts.len() as f64 - holders(word) + 0.5) / (holders(word) + 0.5)).ln();
        let mut terms = asked.terms.clone();
        terms.sort_unstable();
        terms.dedup();
        let all: f64 = terms.iter().map(|word| weight(*word)).sum();
        let windows: Vec<&[u8]> = asked.output.windows(6).collect();
        let mut found: Vec<(String, f64, f32)> = Vec::new();
        for fact in facts.iter().filter(|fact| fact.status.is_retrievable()) {
            let held: f64 = terms.iter().filter(|word| fact.words.contains(word)).map(|word| weight(*word)).sum();
            let share = if all > 0.0 { held / all } else { 0.0 };
            let relevance = match (asked.vector, fact.unit()) {
                (Some(query), Some(row)) if asked.literal => cosine(&unit(query), &row),
                (Some(query), Some(row)) => {
                    1.0 - (1.0 - cosine(&unit(query), &row).clamp(0.0, 1.0)) * (1.0 - 0.4 * share)
                }
                _ => share.powf(0.25),
            };
            // On the bar is in (R024-6), and the bar is an `f32`.
            if (relevance as f32) < asked.min_relevance {
                continue;
            }
            let on = asked.novelty != Novelty::Off;
            let covers = |seed: u64| fact.unit().map_or(0.0, |row| cosine(&row, &unit(seed)));
            let weights: f64 = asked.coverage.iter().map(|(_, weight)| f64::from(*weight)).sum();
            let coverage = asked.coverage.iter().map(|(seed, weight)| f64::from(*weight) * covers(*seed)).sum::<f64>()
                / weights.max(1e-9);
            let penalty = if asked.literal { coverage.min(0.8) } else { coverage.clamp(0.0, 0.8) };
            let novelty = match asked.novelty {
                Novelty::On => (1.0 - penalty).max(0.2),
                Novelty::Partial => 1.0 - 0.5 * penalty,
                Novelty::Off => 1.0,
            };
            let active = on && !asked.coverage.is_empty();
            let novelty = if active { novelty } else { 1.0 };
            let residual =
                if active { asked.residual.iter().map(|seed| covers(*seed)).fold(0.0, f64::max) } else { 0.0 };
            let repeated = if on { fact.words.windows(6).filter(|window| windows.contains(window)).count() } else { 0 };
            let recency = recency_factor(fact.age, fact.ttl);
            let recency = if fact.status == Status::Stale { recency.min(0.3) } else { recency };
            let score = f64::from(fact.importance)
                * relevance.max(residual)
                * novelty
                * recency
                * (1.0 - (0.15 * repeated as f64).min(0.8));
            found.push((format!("f{}", fact.id), score, fact.importance));
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.2.total_cmp(&a.2)).then(a.0.cmp(&b.0)));
        found.into_iter().take(asked.limit).map(|(id, score, _)| (id, score)).collect()
    }

    fn ask(base: &mut KnowledgeBase, asked: &Asked) -> Vec<(String, ScoredFact)> {
        let terms: Vec<String> = asked.terms.iter().map(|word| format!("w{word}")).collect();
        let (vector, coverage) = (asked.vector.map(unit), mean(&asked.coverage));
        let residual: Vec<Vec<f32>> = asked.residual.iter().map(|seed| unit(*seed)).collect();
        let residual: Vec<&[f32]> = residual.iter().map(Vec::as_slice).collect();
        let mut ngrams = NgramGuard::default();
        ngrams.add(&asked.output.iter().map(|word| format!("w{word}")).collect::<Vec<_>>().join(" "));
        let policy = Policy {
            novelty: asked.novelty,
            min_relevance: asked.min_relevance,
            coverage: coverage.as_deref(),
            residual: &residual,
            literal: asked.literal,
            limit: asked.limit,
            ..literal(&ngrams, None)
        };
        let found = base.select(&Query { vector: vector.as_deref(), terms: &terms }, &policy, NOW).unwrap();
        found.into_iter().map(|scored| (base.get(scored.index).unwrap().id.clone(), scored)).collect()
    }

    fn built(steps: &[Step]) -> (KnowledgeBase, Vec<Given>) {
        let mut base = KnowledgeBase::new(Some(DIM), 1000);
        let mut twin: Vec<Given> = Vec::new();
        for step in steps {
            match step {
                Step::Put(given) => {
                    let vector = given.unit();
                    base.add(vec![given.new_fact()], vector.as_deref(), None, &Bytes, NOW).unwrap();
                    twin.retain(|known| known.id != given.id);
                    twin.push(given.clone());
                }
                Step::Delete(id) => {
                    let known = twin.iter().any(|given| given.id == *id);
                    twin.retain(|given| given.id != *id);
                    assert_eq!(base.delete(&format!("f{id}")), known);
                }
            }
        }
        (base, twin)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn selection_is_that_of_the_definitions(steps in steps(), asked in asked()) {
            let (mut base, facts) = built(&steps);
            let found = ask(&mut base, &asked);
            let wanted = twin(&facts, &Asked { limit: usize::MAX, ..asked.clone() });
            prop_assert_eq!(found.len(), wanted.len().min(asked.limit));
            for ((id, scored), (_, score)) in found.iter().zip(&wanted) {
                prop_assert!((f64::from(scored.score) - score).abs() < 1e-5, "{:?} {:?}", found, wanted);
                let own = wanted.iter().find(|(other, _)| other == id).unwrap().1;
                prop_assert!((f64::from(scored.score) - own).abs() < 1e-5, "{id}");
            }
        }

        #[test]
        fn every_factor_keeps_its_bounds(steps in steps(), asked in asked()) {
            let (mut base, _) = built(&steps);
            for (_, scored) in ask(&mut base, &asked) {
                let most = if asked.literal { 2.0 } else { 1.0 };
                prop_assert!((0.2..=most).contains(&scored.novelty));
                prop_assert!(asked.novelty != Novelty::Partial || scored.novelty >= 0.6 - 1e-6);
                prop_assert!((0.3..=1.0).contains(&scored.recency) && (0.0..=0.8).contains(&scored.ngram_penalty));
                prop_assert!(scored.relevance >= asked.min_relevance && scored.relevance <= 1.0 + 1e-6);
            }
        }

        #[test]
        fn a_base_and_its_snapshot_answer_alike(steps in steps(), asked in asked()) {
            let (mut base, _) = built(&steps);
            let bytes = postcard::to_stdvec(&base).unwrap();
            let mut copy: KnowledgeBase = postcard::from_bytes(&bytes).unwrap();
            prop_assert_eq!(postcard::to_stdvec(&copy).unwrap(), bytes);
            prop_assert_eq!(copy.state_hash(), base.state_hash());
            let (mine, theirs) = (ask(&mut base, &asked), ask(&mut copy, &asked));
            prop_assert_eq!(mine.len(), theirs.len());
            for ((id, scored), (other_id, other)) in mine.into_iter().zip(theirs) {
                prop_assert_eq!(id, other_id);
                prop_assert_eq!(scored.score.to_bits(), other.score.to_bits());
            }
        }

        #[test]
        fn coverage_is_linear_in_the_fact(seed in any::<u64>(), entries in prop::collection::vec((any::<u64>(), 0.1f32..1.0), 1..20)) {
            let row = unit(seed);
            let total: f32 = entries.iter().map(|(_, weight)| weight).sum();
            let of_each: f32 = entries.iter().map(|(seed, weight)| weight * similarity::dot(&row, &unit(*seed))).sum::<f32>() / total;
            prop_assert!((similarity::dot(&row, &mean(&entries).unwrap()) - of_each).abs() < 1e-5);
        }
    }
}
