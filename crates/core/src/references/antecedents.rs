//! The turn that an expression means, of those within reach (SPEC-028 §4.2, R028-14): each is described in readable numbers,
//! and a small linear model chooses.

use std::ops::Range;
use std::sync::OnceLock;

use super::candidates::{Candidate, Shape};
use super::scene::{REACH, Scene};
use crate::mentions::bits;
use crate::model::{self, LANES, Linear};
use crate::text::{Class, Word};
use crate::turn_log::Role;

/// Names of the numbers that describe a turn as the antecedent of a candidate.
pub const TARGET_FEATURES: [&str; 38] = [
    "recency",
    "last-turn",
    "last-answer",
    "last-user",
    "user",
    "head",
    "head-newest",
    "head-oldest",
    "modifiers",
    "overlap",
    "similarity",
    "question",
    "list",
    "pronoun.last-answer",
    "pronoun.last-user",
    "pronoun.overlap",
    "definite.head",
    "thin",
    "named",
    "long",
    "last-answer.long",
    "similarity-gain",
    "exchange-overlap",
    "pronoun.referred",
    "pronoun.similarity",
    "described.similarity",
    "described.most-similar",
    "near.last-answer",
    "far.last-answer",
    "definite.oldest",
    "definite.user",
    "told.user",
    "alone.last",
    "alone.first",
    "alone.thin",
    "alone.similarity",
    "alone.referred",
    "thread",
];

/// One number of several turns.
type Lanes = [f32; LANES];

/// Groups of turns whose numbers are worked out together.
const GROUPS: usize = REACH / LANES;

/// How much a turn counts that is so far back.
fn recency(distance: usize) -> f32 {
    static BY_DISTANCE: OnceLock<[f32; REACH + 1]> = OnceLock::new();
    BY_DISTANCE.get_or_init(|| std::array::from_fn(|distance| 0.5f32.powf(distance as f32 / 3.0)))[distance]
}

/// What is known of the turns within reach whatever is looked for.
#[derive(Default)]
pub(super) struct Earlier([Known; GROUPS]);

/// Numbers of one group of turns.
#[derive(Clone, Copy, Default)]
struct Known {
    recency: Lanes,
    last: Lanes,
    last_answer: Lanes,
    last_user: Lanes,
    user: Lanes,
    similarity: Lanes,
    gain: Lanes,
    question: Lanes,
    list: Lanes,
    named: Lanes,
    /// Number of different content words.
    terms: Lanes,
    referred: Lanes,
    most_similar: Lanes,
    first: Lanes,
    thread: Lanes,
    /// The bit of the other half of the exchange, among the turns within reach; 0 for none.
    partner: [u32; LANES],
}

impl Earlier {
    /// Cost: a look at the turns within reach.
    pub(super) fn read(scene: &Scene<'_>) -> Self {
        let flag = |holds: bool| f32::from(u8::from(holds));
        let context = scene.context;
        let (turns, marks) = (context.log.traits(), context.log.marks());
        let referred = context.log.last(Role::User).map(|last| last.references());
        let thread = turns.last().map(|last| last.thread);
        let mut all = Self::default();
        for (n, position) in (scene.first()..turns.len()).enumerate() {
            let (known, lane) = (&mut all.0[n / LANES], n % LANES);
            let (turn, id, role) = (turns[position], marks[position].id, turns[position].role());
            let distance = turns.len() - position;
            let similarity = context.similarity(position);
            let partner = if role == Role::User { position + 1 } else { position.wrapping_sub(1) };
            let partner = turns.get(partner).filter(|other| other.role() != role).map(|_| partner);
            known.recency[lane] = recency(distance);
            known.last[lane] = flag(distance == 1);
            known.last_answer[lane] = flag(role == Role::Assistant && distance <= 2);
            known.last_user[lane] = flag(role == Role::User && distance <= 2);
            known.user[lane] = flag(role == Role::User);
            known.similarity[lane] = similarity;
            known.gain[lane] = similarity - context.similarity_last();
            known.question[lane] = flag(turn.question());
            known.list[lane] = flag(turn.list());
            known.named[lane] = flag(turn.named());
            known.terms[lane] = f32::from(turn.terms.min(40));
            known.referred[lane] = flag(referred.clone().is_some_and(|mut ids| ids.any(|of| of == id)));
            known.most_similar[lane] = flag(similarity > 0.0 && similarity >= scene.most_similar);
            known.first[lane] = flag(position == 0);
            known.thread[lane] = flag(thread == Some(turn.thread));
            known.partner[lane] = partner.and_then(|at| at.checked_sub(scene.first())).map_or(0, |n| 1 << n);
        }
        all
    }
}

/// A candidate as its antecedents see it.
struct Sought {
    /// Bit n: the n-th turn within reach holds the head.
    heads: u64,
    /// By turn within reach: how many of its other content words the turn holds.
    modifiers_held: [f32; REACH],
    modifiers: f32,
    /// By turn within reach: share of the rest of the turn that it holds.
    overlap: [f32; REACH],
    pronoun: f32,
    definite: f32,
    described: f32,
    near: f32,
    far: f32,
    mine: f32,
    /// The log has the user's turns only.
    alone: f32,
}

impl Sought {
    fn new(candidate: &Candidate, scene: &Scene<'_>) -> Self {
        let flag = |holds: bool| f32::from(u8::from(holds));
        let words = scene.context.text.words();
        let head = candidate.head.filter(|at| words[*at].is_content());
        let first = words[candidate.words.start];
        let mut modifiers_held = [0.0; REACH];
        for at in modifiers(candidate, words) {
            bits(scene.holders(at)).for_each(|turn| modifiers_held[turn] += 1.0);
        }
        Self {
            heads: head.map_or(0, |at| scene.holders(at)),
            modifiers_held,
            modifiers: modifiers(candidate, words).count().max(1) as f32,
            overlap: scene.overlap(candidate),
            pronoun: flag(head.is_none()),
            definite: flag(matches!(candidate.shape, Shape::Definite | Shape::DemonstrativeNoun | Shape::Such)),
            described: flag(head.is_some() && candidate.shape != Shape::Possessive),
            near: flag(first.class.has(Class::NEAR)),
            far: flag(first.class.has(Class::FAR)),
            mine: flag(words[candidate.words.clone()].iter().skip(1).any(|w| w.class.has(Class::FIRST))),
            alone: flag(scene.context.log.last(Role::Assistant).is_none()),
        }
    }

    /// The numbers of a group of turns as antecedents.
    fn features(&self, group: usize, of: &Known) -> [Lanes; TARGET_FEATURES.len()] {
        let flag = |holds: bool| f32::from(u8::from(holds));
        let each = |number: &dyn Fn(usize) -> f32| -> Lanes { std::array::from_fn(number) };
        let times = |factor: f32, numbers: &Lanes| numbers.map(|number| factor * number);
        let from = group * LANES;
        let bit = |turns: u64| -> Lanes { std::array::from_fn(|lane| f32::from((turns >> (from + lane)) as u8 & 1)) };
        let newest = (1 << 63) >> self.heads.leading_zeros().min(63);
        let head = bit(self.heads);
        let oldest = bit(self.heads & self.heads.wrapping_neg());
        let held = each(&|lane| self.modifiers_held[from + lane] / self.modifiers);
        let overlap = each(&|lane| self.overlap[from + lane]);
        let exchange = each(&|lane| match of.partner[lane] {
            0 => overlap[lane],
            partner => overlap[lane].max(self.overlap[partner.trailing_zeros() as usize]),
        });
        let long = of.terms.map(|terms| terms / 40.0);
        let thin = of.terms.map(|terms| flag(terms < 3.0));
        [
            of.recency,
            of.last,
            of.last_answer,
            of.last_user,
            of.user,
            head,
            bit(self.heads & newest),
            oldest,
            held,
            overlap,
            of.similarity,
            of.question,
            of.list,
            times(self.pronoun, &of.last_answer),
            times(self.pronoun, &of.last_user),
            times(self.pronoun, &overlap),
            times(self.definite, &head),
            of.terms.map(|terms| flag(terms < 8.0)),
            of.named,
            long,
            each(&|lane| of.last_answer[lane] * long[lane]),
            of.gain,
            exchange,
            times(self.pronoun, &of.referred),
            times(self.pronoun, &of.similarity),
            times(self.described, &of.similarity),
            times(self.described, &of.most_similar),
            times(self.near, &of.last_answer),
            times(self.far, &of.last_answer),
            times(self.definite, &oldest),
            times(self.definite, &of.user),
            times(self.mine, &of.user),
            times(self.alone, &of.last),
            times(self.alone, &of.first),
            times(self.alone, &thin),
            times(self.alone, &of.similarity),
            times(self.alone, &of.referred),
            of.thread,
        ]
    }

    /// Calls `see` with the numbers of the turns within reach, a group at a time, and which of them they are.
    fn each(&self, scene: &Scene<'_>, mut see: impl FnMut(&[Lanes; TARGET_FEATURES.len()], Range<usize>)) {
        let turns = scene.context.log.len() - scene.first();
        for (group, known) in scene.earlier().0.iter().enumerate().take(turns.div_ceil(LANES)) {
            see(&self.features(group, known), group * LANES..turns.min((group + 1) * LANES));
        }
    }
}

/// The content words of an expression beside its head.
fn modifiers<'w>(candidate: &'w Candidate, words: &'w [Word]) -> impl Iterator<Item = usize> + 'w {
    candidate.words.clone().filter(|at| Some(*at) != candidate.head && words[*at].is_content())
}

/// Positions of the turns that fit a candidate best, at most three, the best first and the newer first among equals.
pub(super) fn antecedents(candidate: &Candidate, scene: &Scene<'_>) -> impl Iterator<Item = usize> + use<> {
    static MODEL: OnceLock<Linear> = OnceLock::new();
    let model = MODEL.get_or_init(|| model::linear("target", &TARGET_FEATURES));
    let mut scores = [f32::MIN; REACH];
    Sought::new(candidate, scene).each(scene, |features, turns| {
        let count = turns.len();
        scores[turns].copy_from_slice(&model.scores(features)[..count]);
    });
    let mut top: [(f32, usize); 3] = [(f32::MIN, usize::MAX); 3];
    for at in (scene.first()..scene.context.log.len()).rev() {
        let mut entry = (scores[at - scene.first()], at);
        for kept in &mut top {
            if entry.0 > kept.0 {
                std::mem::swap(kept, &mut entry);
            }
        }
    }
    top.into_iter().map(|(_, at)| at).take_while(|at| *at != usize::MAX)
}

/// The numbers of every turn within reach as antecedent of a candidate, oldest first.
pub(super) fn inspect(candidate: &Candidate, scene: &Scene<'_>) -> Vec<Vec<f32>> {
    let mut found = Vec::new();
    Sought::new(candidate, scene).each(scene, |features, turns| {
        found.extend((0..turns.len()).map(|lane| features.iter().map(|lanes| lanes[lane]).collect()));
    });
    found
}
