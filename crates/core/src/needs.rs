//! Which earlier turns a turn needs to be answered: what it extends, what it points at, what it is about (G-45).
//!
//! A small logistic model over readable numbers scores each earlier turn. The best of them is what an incomplete turn
//! carries over; all of them order Tier C.
#![expect(
    clippy::inline_always,
    reason = "a function that is not inlined is not compiled for the dispatched instruction set"
)]

use std::cell::RefCell;
use std::ops::Range;
use std::sync::OnceLock;

use crate::mentions::Mentions;
use crate::model::{self, Linear};
use crate::references::{Reference, Target};
use crate::similarity::vectorised;
use crate::text::{PhraseKind, Text};
use crate::turn_log::{Role, TurnLog};

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
    "recent.user",
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
    "recent.long",
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
    /// Its content words, and which turns hold them.
    pub mentions: &'a Mentions,
    /// Thread it is filed in.
    pub thread: u32,
    /// It cannot be understood alone.
    pub dependent: bool,
    /// It is incomplete.
    pub ellipsis: bool,
    /// Recency weights by distance; beyond its end they are 0.
    pub recency: &'a [f32],
}

/// Scores earlier turns for one turn.
#[derive(Debug)]
pub struct Needs<'a> {
    of: Evidence<'a>,
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
        let turns = of.log.traits();
        let newest = |role: Role| turns.iter().rposition(|turn| turn.thread == of.thread && turn.role() == role);
        let resolved = of.references.iter().filter(|r| r.target.is_some());
        Self {
            total: of.mentions.rarity(),
            most_similar: of.similarities.iter().copied().fold(0.0, f32::max),
            last_similarity: of.similarities.last().copied().unwrap_or(0.0),
            last_answer: newest(Role::Assistant),
            last_user: newest(Role::User),
            first: turns.iter().position(|turn| turn.thread == of.thread),
            best_reference: resolved.clone().map(|r| r.confidence).fold(0.0, f32::max),
            short: of.mentions.terms().len() <= 2,
            follow_up: of.text.phrase(PhraseKind::FollowUp).is_some_and(|p| p.words.start <= 2),
            pronoun: resolved.clone().any(|r| r.span.len() <= 5),
            alone: turns.iter().all(|turn| turn.role() == Role::User),
            of,
        }
    }

    /// Share of the turn's content words, by idf, that each earlier turn holds.
    fn overlaps(&self, shared: &mut Vec<f32>) {
        shared.clear();
        shared.resize(self.of.log.len(), 0.0);
        for (term, held) in self.of.mentions.held().iter().enumerate() {
            self.of.mentions.holders(term, self.of.log, |at| shared[at] += held.idf);
        }
        for shared in shared {
            *shared /= self.total;
        }
    }

    #[inline(always)]
    fn similarity(&self, position: usize) -> f32 {
        self.of.similarities.get(position).copied().unwrap_or(0.0)
    }

    /// The other half of an exchange: a question's answer, an answer's question.
    #[inline(always)]
    fn partner(&self, position: usize) -> Option<usize> {
        let turns = self.of.log.traits();
        let role = turns[position].role();
        let at = if role == Role::User { position + 1 } else { position.checked_sub(1)? };
        turns.get(at).filter(|other| other.role() != role).map(|_| at)
    }

    /// How much each earlier turn is needed, in log-odds, oldest first. Cost: about 50 ns a turn, and a look at those that
    /// hold a word.
    pub fn scores(&self) -> Vec<f32> {
        let mut scores = Vec::new();
        self.recent_scores(usize::MAX, &mut Buffers::default(), &mut scores);
        scores
    }

    /// [`Needs::scores`] of the newest `most` turns.
    pub fn recent_scores(&self, most: usize, buffers: &mut Buffers, scores: &mut Vec<f32>) {
        static MODEL: OnceLock<Linear> = OnceLock::new();
        let model = MODEL.get_or_init(|| model::linear("need", &NEED_FEATURES));
        scores.clear();
        with_ages(self.of.log.len(), |ages| {
            vectorised(
                #[inline(always)]
                || {
                    self.each(
                        most,
                        ages,
                        buffers,
                        #[inline(always)]
                        |features, turns| scores.extend_from_slice(&model.scores(features)[..turns]),
                    );
                },
            );
        });
        scores.reverse();
    }

    /// The numbers of each earlier turn, oldest first.
    pub fn features(&self) -> Vec<[f32; NEED_FEATURES.len()]> {
        let mut found = Vec::with_capacity(self.of.log.len());
        with_ages(self.of.log.len(), |ages| {
            self.each(usize::MAX, ages, &mut Buffers::default(), |features, turns| {
                found.extend((0..turns).map(|lane| std::array::from_fn(|feature| features[feature][lane])));
            });
        });
        found.reverse();
        found
    }

    /// Calls `see` with the numbers of the newest `most` turns, newest first, as many at a time as there are lanes, and how many
    /// they are. `ages` by distance.
    #[inline(always)]
    fn each(
        &self,
        most: usize,
        ages: &[f32],
        Buffers { overlaps, links }: &mut Buffers,
        mut see: impl FnMut(&[Lanes; NEED_FEATURES.len()], usize),
    ) {
        self.overlaps(overlaps);
        let most_overlap = overlaps.iter().copied().fold(0.0, f32::max);
        self.links(links);
        let mut inside = 0;
        let mut end = overlaps.len();
        let first = end.saturating_sub(most);
        while end > first {
            let block = end.saturating_sub(LANES).max(first)..end;
            let mut numbers = Numbers::default();
            self.describe(block.clone(), &mut inside, overlaps, links, ages, &mut numbers);
            see(&self.combine(&numbers, most_overlap), block.len());
            end = block.start;
        }
    }

    /// What points at each earlier turn.
    fn links(&self, links: &mut Vec<Links>) {
        let Evidence { log, references, .. } = self.of;
        links.clear();
        links.resize(log.len(), Links::default());
        let position = |target: &Target| if let Target::Turn(id) = target { log.position(*id) } else { None };
        for reference in references {
            if let Some(at) = reference.target.as_ref().and_then(position) {
                links[at].confidence = links[at].confidence.max(reference.confidence);
            }
            reference.alternatives.iter().filter_map(position).for_each(|at| links[at].alternative = true);
        }
        if let Some(last) = log.last(Role::User) {
            last.references().filter_map(|id| log.position(id)).for_each(|at| links[at].referred = true);
        }
    }

    /// The numbers of the turns at `block`, the newest in the first lane; `inside` counts those of the thread from the newest on.
    #[inline(always)]
    fn describe(
        &self,
        block: Range<usize>,
        inside: &mut usize,
        overlaps: &[f32],
        links: &[Links],
        ages: &[f32],
        into: &mut Numbers,
    ) {
        let flag = |holds: bool| f32::from(u8::from(holds));
        let Evidence { log, thread, recency, .. } = self.of;
        let (turns, length) = (log.traits(), log.len());
        for (lane, position) in block.clone().rev().enumerate().take(LANES) {
            let turn = turns[position];
            let (overlap, similarity) = (overlaps[position], self.similarity(position));
            let partner = self.partner(position);
            if turn.thread == thread {
                *inside += 1;
                into.inside[lane] = 1.0;
                into.recency[lane] = recency.get(*inside).copied().unwrap_or(0.0);
            }
            into.age[lane] = ages[length - position];
            into.user[lane] = flag(turn.role() == Role::User);
            into.overlap[lane] = overlap;
            into.similarity[lane] = similarity;
            into.exchange_overlap[lane] = partner.map_or(overlap, |at| overlap.max(overlaps[at]));
            into.exchange_similarity[lane] = partner.map_or(similarity, |at| similarity.max(self.similarity(at)));
            into.exchange_reference[lane] = flag(partner.is_some_and(|at| links[at].confidence > 0.0));
            into.reference[lane] = links[position].confidence;
            into.alternative[lane] = flag(links[position].alternative);
            into.question[lane] = flag(turn.question());
            into.list[lane] = flag(turn.list());
            into.named[lane] = flag(turn.named());
            into.terms[lane] = f32::from(turn.terms.min(40));
            into.referred[lane] = flag(links[position].referred);
        }
        // Single turns, which most blocks do not hold.
        let single = [
            (&mut into.last, length.checked_sub(1)),
            (&mut into.second, length.checked_sub(2)),
            (&mut into.last_answer, self.last_answer),
            (&mut into.last_user, self.last_user),
            (&mut into.first, self.first),
        ];
        for (lanes, position) in single {
            if let Some(position) = position.filter(|position| block.contains(position)) {
                lanes[block.end - 1 - position] = 1.0;
            }
        }
    }

    /// The features of several turns from their numbers.
    #[inline(always)]
    fn combine(&self, of: &Numbers, most_overlap: f32) -> [Lanes; NEED_FEATURES.len()] {
        let flag = |holds: bool| f32::from(u8::from(holds));
        let times = |factor: f32, numbers: &Lanes| numbers.map(|number| factor * number);
        let brief = of.terms.map(|terms| terms.min(8.0) / 8.0);
        let plain = flag(self.best_reference == 0.0);
        let [dependent, short, elliptical, alone, pronoun] =
            [self.of.dependent, self.short, self.of.ellipsis, self.alone, self.pronoun].map(flag);
        [
            of.last,
            of.last_answer,
            of.last_user,
            of.second,
            of.recency,
            of.age,
            of.inside,
            product(&of.user, &of.recency),
            of.overlap,
            of.similarity,
            of.similarity.map(|similarity| similarity - self.last_similarity),
            of.exchange_overlap,
            of.exchange_similarity,
            of.exchange_reference,
            of.reference,
            of.alternative,
            of.question,
            of.list,
            of.named,
            product(&of.terms.map(|terms| terms / 40.0), &of.recency),
            of.referred,
            of.first,
            of.similarity.map(|similarity| flag(similarity > 0.0 && similarity >= self.most_similar)),
            of.overlap.map(|overlap| flag(overlap > 0.0 && overlap >= most_overlap)),
            times(dependent, &of.last_answer),
            times(dependent, &of.last_user),
            product(&of.question, &of.last),
            times(self.best_reference, &of.last_answer),
            times(self.best_reference, &of.last_user),
            times(plain, &of.similarity),
            times(plain, &of.overlap),
            times(short, &of.first),
            times(short, &of.last_answer),
            times(short, &of.last_user),
            times(elliptical, &of.last_answer),
            times(elliptical, &of.last_user),
            times(flag(self.follow_up), &of.last_user),
            times(pronoun, &of.referred),
            times(alone, &of.last),
            times(alone, &of.first),
            times(alone, &of.recency),
            times(alone, &of.referred),
            times(alone, &brief),
            times(alone, &of.similarity),
            times(alone * pronoun, &of.last),
            times(alone * pronoun, &brief),
        ]
    }
}

/// Lists reused from turn to turn, by position in the log.
#[derive(Debug, Default)]
pub struct Buffers {
    overlaps: Vec<f32>,
    links: Vec<Links>,
}

/// What points at a turn.
#[derive(Clone, Copy, Debug, Default)]
struct Links {
    /// Largest confidence of a reference of the turn.
    confidence: f32,
    /// A reference of the turn may mean it.
    alternative: bool,
    /// The last turn of the user points at it.
    referred: bool,
}

/// Turns whose numbers are worked out together.
const LANES: usize = model::LANES;

/// One number of several turns.
type Lanes = [f32; LANES];

/// What is looked up of several turns; the features are made of it.
#[derive(Default)]
struct Numbers {
    last: Lanes,
    last_answer: Lanes,
    last_user: Lanes,
    second: Lanes,
    first: Lanes,
    inside: Lanes,
    recency: Lanes,
    age: Lanes,
    user: Lanes,
    overlap: Lanes,
    similarity: Lanes,
    exchange_overlap: Lanes,
    exchange_similarity: Lanes,
    exchange_reference: Lanes,
    reference: Lanes,
    alternative: Lanes,
    question: Lanes,
    list: Lanes,
    named: Lanes,
    /// Different content words, 40 at most.
    terms: Lanes,
    referred: Lanes,
}

#[inline(always)]
fn product(a: &Lanes, b: &Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane] * b[lane])
}

/// Calls `see` with how far back each distance up to `most` is, on a scale that shrinks what is long ago; worked out once.
fn with_ages(most: usize, see: impl FnOnce(&[f32])) {
    thread_local! {
        static AGES: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
    }
    AGES.with_borrow_mut(|ages| {
        ages.extend((ages.len()..=most).map(|distance| (distance as f32).ln_1p() / 3.0));
        see(ages);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Pack;
    use crate::turn_log::{NewTurn, content_terms, tests::turn};

    /// A log of alternating turns, each with its thread.
    fn log(said: &[(&str, u32)]) -> TurnLog {
        let mut log = TurnLog::default();
        for (at, (said, thread)) in said.iter().enumerate() {
            let mut text = Text::default();
            text.read(said, &Pack::of("en"));
            let role = if at % 2 == 0 { Role::User } else { Role::Assistant };
            let terms = content_terms(&text, 64);
            log.append(NewTurn { thread: *thread, terms, question: text.is_question(), ..turn(role, said) }, None);
        }
        log
    }

    /// How much `said`, of `thread`, needs each turn.
    fn needed(said: &str, log: &TurnLog, thread: u32) -> Vec<f32> {
        let mut text = Text::default();
        text.read(said, &Pack::of("en"));
        let mut mentions = Mentions::default();
        mentions.read(&text, log);
        Needs::new(Evidence {
            text: &text,
            log,
            similarities: &[],
            references: &[],
            mentions: &mentions,
            thread,
            dependent: true,
            ellipsis: true,
            recency: crate::select::Recency::default().over(log, 6.0),
        })
        .scores()
    }

    #[test]
    fn an_answer_needs_its_question_and_a_turn_the_ones_that_share_its_subject() {
        let log = log(&[
            ("Which dog breeds are calm?", 0),
            ("Basset hounds and greyhounds are calm.", 0),
            ("How long do they live?", 0),
            ("About twelve years. Do you have a garden?", 0),
        ]);
        let answer = needed("Yes, a small one", &log, 0);
        assert!(answer[..3].iter().all(|other| *other < answer[3]), "{answer:?}");
        assert!(needed("And greyhounds?", &log, 0)[1] > needed("And poodles?", &log, 0)[1]);
        assert!(needed("And greyhounds?", &log, 0)[1] > needed("And greyhounds?", &log, 1)[1]);
        assert!(needed("Yes", &TurnLog::default(), 0).is_empty());
    }

    #[test]
    fn turns_scored_together_get_the_scores_of_single_ones() {
        let said: Vec<(&str, u32)> = (0..4 * LANES as u32 + 3)
            .map(|at| {
                (["Which dog is calm?", "1. The basset hound. 2. The greyhound.", "Why?"][at as usize % 3], at / 5 % 2)
            })
            .collect();
        let log = log(&said);
        let mut text = Text::default();
        text.read("And is the greyhound calm?", &Pack::of("en"));
        let mut mentions = Mentions::default();
        mentions.read(&text, &log);
        let similarities: Vec<f32> = (0..log.len()).map(|at| at as f32 % 7.0 / 7.0).collect();
        let mut recency = crate::select::Recency::default();
        let needs = Needs::new(Evidence {
            text: &text,
            log: &log,
            similarities: &similarities,
            references: &[],
            mentions: &mentions,
            thread: 1,
            dependent: true,
            ellipsis: false,
            recency: recency.over(&log, 6.0),
        });
        let model = model::linear("need", &NEED_FEATURES);
        let single: Vec<f32> = needs.features().iter().map(|features| model.score(features)).collect();
        assert_eq!(needs.scores(), single);
        let mut recent = Vec::new();
        needs.recent_scores(11, &mut Buffers::default(), &mut recent);
        assert_eq!(recent, single[single.len() - 11..]);
    }
}
