//! Which earlier turns a turn needs to be answered: what it extends, what it points at, what it is about (G-45).
//!
//! A small logistic model over readable numbers scores each earlier turn. The best of them is what an incomplete turn
//! carries over; all of them order Tier C.

use std::sync::OnceLock;

use crate::model::{self, Linear};
use crate::references::{Reference, Target};
use crate::text::{PhraseKind, Text};
use crate::turn_log::{Role, TurnLog, turn_recency};

/// How many turns back an incomplete turn looks for what it carries over.
pub const REACH: usize = 24;

/// Names of the numbers that describe an earlier turn as one that is needed.
pub const NEED_FEATURES: [&str; 46] = [
    "last",
    "last-answer",
    "last-user",
    "second",
    "recency",
    "age",
    "thread",
    "user",
    "overlap",
    "similarity",
    "similarity.gain",
    "exchange.overlap",
    "exchange.similarity",
    "exchange.reference",
    "reference",
    "alternative",
    "question",
    "list",
    "named",
    "long",
    "referred",
    "first",
    "most-similar",
    "most-overlap",
    "dependent.last-answer",
    "dependent.last-user",
    "asked.last",
    "referring.last-answer",
    "referring.last-user",
    "plain.similarity",
    "plain.overlap",
    "short.first",
    "short.last-answer",
    "short.last-user",
    "elliptical.last-answer",
    "elliptical.last-user",
    "follow-up.last-user",
    "pronoun.referred",
    "alone.last",
    "alone.first",
    "alone.recency",
    "alone.referred",
    "alone.long",
    "alone.similarity",
    "alone.pronoun.last",
    "alone.pronoun.long",
];

/// What the scores are worked out from.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The turn, read.
    pub text: &'a Text,
    /// Earlier turns.
    pub log: &'a TurnLog,
    /// Calibrated similarity to each turn, by position; empty without.
    pub similarities: &'a [f32],
    /// Its references.
    pub references: &'a [Reference],
    /// Its content words.
    pub terms: &'a [u32],
    /// Thread it is filed in.
    pub thread: u32,
    /// It cannot be understood alone.
    pub dependent: bool,
    /// It is incomplete.
    pub ellipsis: bool,
    /// Turns until the recency weight halves.
    pub half_life: f64,
}

/// Scores earlier turns for one turn.
#[derive(Debug)]
pub struct Needs<'a> {
    of: Evidence<'a>,
    idf: Vec<f32>,
    total: f32,
    most_similar: f32,
    last_similarity: f32,
    last_answer: Option<usize>,
    last_user: Option<usize>,
    first: Option<usize>,
    best_reference: f32,
    short: bool,
    follow_up: bool,
    pronoun: bool,
    /// Nobody answered yet: the log has the user's turns only.
    alone: bool,
}

impl<'a> Needs<'a> {
    /// Cost: one pass over the roles and similarities of the log.
    pub fn new(of: Evidence<'a>) -> Self {
        let turns = of.log.turns();
        let newest = |role: Role| turns.iter().rposition(|turn| turn.role == role && turn.thread == of.thread);
        let idf: Vec<f32> = of.terms.iter().map(|term| of.log.idf(*term)).collect();
        let resolved = of.references.iter().filter(|r| r.target.is_some());
        Self {
            total: idf.iter().sum::<f32>().max(f32::MIN_POSITIVE),
            idf,
            most_similar: of.similarities.iter().copied().fold(0.0, f32::max),
            last_similarity: of.similarities.last().copied().unwrap_or(0.0),
            last_answer: newest(Role::Assistant),
            last_user: newest(Role::User),
            first: turns.iter().position(|turn| turn.thread == of.thread),
            best_reference: resolved.clone().map(|r| r.confidence).fold(0.0, f32::max),
            short: of.terms.len() <= 2,
            follow_up: of.text.phrase(PhraseKind::FollowUp).is_some_and(|p| p.words.start <= 2),
            pronoun: resolved.clone().any(|r| r.span.len() <= 5),
            alone: turns.iter().all(|turn| turn.role == Role::User),
            of,
        }
    }

    /// Share of the turn's content words, by idf, that the turn at `position` holds.
    fn overlap(&self, position: usize) -> f32 {
        let held = &self.of.log.turns()[position].terms;
        let shared: f32 =
            self.of.terms.iter().zip(&self.idf).filter(|(t, _)| held.contains(t)).map(|(_, idf)| idf).sum();
        shared / self.total
    }

    fn similarity(&self, position: usize) -> f32 {
        self.of.similarities.get(position).copied().unwrap_or(0.0)
    }

    /// The other half of an exchange: a question's answer, an answer's question.
    fn partner(&self, position: usize) -> Option<usize> {
        let turns = self.of.log.turns();
        let at = if turns[position].role == Role::User { position + 1 } else { position.checked_sub(1)? };
        turns.get(at).filter(|other| other.role != turns[position].role).map(|_| at)
    }

    /// How much each earlier turn is needed, in log-odds, oldest first. Cost: one look-up a word and turn.
    pub fn scores(&self) -> Vec<f32> {
        static MODEL: OnceLock<Linear> = OnceLock::new();
        let model = MODEL.get_or_init(|| model::linear("need", &NEED_FEATURES));
        self.each(|features| model.score(&features))
    }

    /// The numbers of each earlier turn, oldest first.
    pub fn features(&self) -> Vec<[f32; NEED_FEATURES.len()]> {
        self.each(|features| features)
    }

    fn each<T>(&self, mut see: impl FnMut([f32; NEED_FEATURES.len()]) -> T) -> Vec<T> {
        let turns = self.of.log.turns();
        let overlaps: Vec<f32> = (0..turns.len()).map(|at| self.overlap(at)).collect();
        let most = overlaps.iter().copied().fold(0.0, f32::max);
        let mut inside = 0;
        let mut found: Vec<T> = (0..turns.len())
            .rev()
            .map(|at| {
                inside += u32::from(turns[at].thread == self.of.thread);
                let partner = self.partner(at).map(|other| (other, overlaps[other]));
                see(self.describe(at, inside, overlaps[at], partner, most))
            })
            .collect();
        found.reverse();
        found
    }

    /// The numbers of the turn at `position`, the `inside`-th newest of its thread.
    fn describe(
        &self,
        position: usize,
        inside: u32,
        overlap: f32,
        partner: Option<(usize, f32)>,
        most_overlap: f32,
    ) -> [f32; NEED_FEATURES.len()] {
        let flag = |holds: bool| f32::from(u8::from(holds));
        let Evidence { log, references, thread, .. } = self.of;
        let turn = &log.turns()[position];
        let distance = (log.len() - position) as u32;
        let similarity = self.similarity(position);
        let targets = |id: u32| {
            references.iter().filter(|r| r.target == Some(Target::Turn(id))).map(|r| r.confidence).fold(0.0, f32::max)
        };
        let alternative = references.iter().any(|r| r.alternatives.contains(&Target::Turn(turn.id)));
        let last = flag(distance == 1);
        let last_answer = flag(self.last_answer == Some(position));
        let last_user = flag(self.last_user == Some(position));
        let first = flag(self.first == Some(position));
        let referred = flag(log.last(Role::User).is_some_and(|last| last.references.contains(&turn.id)));
        let long = turn.terms.len().min(40) as f32 / 40.0;
        let inside_thread = turn.thread == thread;
        let recency = if inside_thread { turn_recency(inside, self.of.half_life) as f32 } else { 0.0 };
        let plain = flag(self.best_reference == 0.0);
        let [dependent, short, elliptical, alone, pronoun] =
            [self.of.dependent, self.short, self.of.ellipsis, self.alone, self.pronoun].map(flag);
        [
            last,
            last_answer,
            last_user,
            flag(distance == 2),
            recency,
            (distance as f32).ln_1p() / 3.0,
            flag(inside_thread),
            flag(turn.role == Role::User),
            overlap,
            similarity,
            similarity - self.last_similarity,
            partner.map_or(overlap, |(_, other)| overlap.max(other)),
            partner.map_or(similarity, |(at, _)| similarity.max(self.similarity(at))),
            flag(partner.is_some_and(|(at, _)| targets(log.turns()[at].id) > 0.0)),
            targets(turn.id),
            flag(alternative),
            flag(turn.question),
            flag(!turn.lists.is_empty()),
            flag(!turn.entities.is_empty()),
            long,
            referred,
            first,
            flag(similarity > 0.0 && similarity >= self.most_similar),
            flag(overlap > 0.0 && overlap >= most_overlap),
            dependent * last_answer,
            dependent * last_user,
            flag(turn.question) * last,
            self.best_reference * last_answer,
            self.best_reference * last_user,
            plain * similarity,
            plain * overlap,
            short * first,
            short * last_answer,
            short * last_user,
            elliptical * last_answer,
            elliptical * last_user,
            flag(self.follow_up) * last_user,
            pronoun * referred,
            alone * last,
            alone * first,
            alone * recency,
            alone * referred,
            alone * (turn.terms.len().min(8) as f32 / 8.0),
            alone * similarity,
            alone * pronoun * last,
            alone * pronoun * (turn.terms.len().min(8) as f32 / 8.0),
        ]
    }
}
