//! Finding what a candidate points at, or abstaining (SPEC-028 §4.2, R028-14, G-16, G-30 … G-36).

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::OnceLock;

use super::antecedents::{self, antecedents};
use super::candidates::{Candidate, Shape, detect_referential_expressions};
use super::features::{CANDIDATE_FEATURES, candidate_features, pleonastic};
use super::offers::Offers;
use super::ordinal::Selector;
use super::scene::{MENTIONED, Mention, REACH, Scene};
use super::{Alternatives, Item, Reason, Reference, ReferenceType, Target};
use crate::classify::CandidateInspection;
use crate::embedding::StaticEmbedder;
use crate::mentions::Mentions;
use crate::model::{self, Linear, sigmoid};
use crate::scratch::described::{described, named_rows};
use crate::scratch::{ScratchBuffer, ScratchEntry, ToolKind, latest, rows};
use crate::text::{Class, Enumeration, EnumerationKind, Gap, Tag, Text};
use crate::turn_log::{Role, Trait, Turn, TurnLog};

/// What a turn is resolved against.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The turn.
    pub source: &'a str,
    /// The turn, read.
    pub text: &'a Text,
    /// Earlier turns; never the turn itself (G-33).
    pub log: &'a TurnLog,
    /// Which of them hold which of its words.
    pub mentions: &'a Mentions,
    /// Tool results held.
    pub scratch: &'a ScratchBuffer,
    /// Cosine of the turn to each turn of the log, by position; empty without vectors.
    pub similarities: &'a [f32],
    /// Words have vectors: the session's are those of the built-in table.
    pub has_meanings: bool,
    /// The thread whose lists, tool results, requests and answers come first: the active one, until the turn is filed.
    pub thread: Option<u32>,
}

impl Context<'_> {
    /// The newest turn within reach that holds word `at`.
    pub(super) fn last_mention(&self, at: usize) -> Option<Mention> {
        let first = self.log.len().saturating_sub(MENTIONED);
        let position = match self.mentions.of_word(at) {
            Some(held) => first + self.mentions.since(held, first).checked_ilog2()? as usize,
            None => self.log.last_holder(self.text.words()[at].term, MENTIONED)?,
        };
        Some(Mention { position, distance: self.log.len() - position, role: self.log.traits()[position].role() })
    }

    /// True for the thread whose turns come first.
    fn is_own(&self, thread: u32) -> bool {
        self.thread == Some(thread)
    }

    /// True for a turn of the thread.
    fn is_inside(&self, turn: u32) -> bool {
        self.log.position(turn).is_some_and(|at| self.is_own(self.log.traits()[at].thread))
    }

    /// The first of the turns that is of the thread, else the first.
    fn own_first<'t>(&self, mut turns: impl Iterator<Item = Turn<'t>> + Clone) -> Option<Turn<'t>> {
        turns.clone().find(|turn| self.is_own(turn.thread)).or_else(|| turns.next())
    }

    /// True for a thing that is named and that only turns of other threads have named: "that bike", and not "these types *of eggs*"
    /// where the thread speaks of eggs.
    fn is_foreign(&self, candidate: &Candidate) -> bool {
        const BEHIND: usize = 3;
        let words = self.text.words();
        let Some(head) = candidate.head else { return false };
        let end = candidate.words.end;
        let goes_on = words.get(end).is_some_and(|word| word.class.has(Class::PREPOSITION));
        let behind = if goes_on { end..words.len().min(end + BEHIND) } else { end..end };
        let mut threads = (false, false);
        for at in candidate.words.clone().chain(behind) {
            self.mentions.holders_of_word(at, self.log, |holder| {
                let own = self.is_own(self.log.traits()[holder].thread);
                threads = (threads.0 || own, threads.1 || !own && at == head);
            });
        }
        threads == (false, true)
    }

    /// Tool results: those of other threads, oldest first, then those of this one.
    fn results(&self) -> impl DoubleEndedIterator<Item = &ScratchEntry> + Clone {
        let outside = self.scratch.iter().filter(|entry| !self.is_inside(entry.turn));
        outside.chain(self.scratch.iter().filter(|entry| self.is_inside(entry.turn)))
    }

    /// True when a list within reach has the members selected.
    pub(super) fn some_list_has(&self, selector: &Selector) -> bool {
        let lists = self.log.recent(REACH).iter().filter(|turn| turn.list).flat_map(|turn| turn.lists());
        lists
            .filter(|list| list.kind != EnumerationKind::Inline)
            .any(|list| selector.fits(list.items.len() as u32, u32::from(list.first)))
    }

    /// Cosine to the turn before; 0 without vectors.
    pub fn similarity_last(&self) -> f32 {
        self.similarities.last().copied().unwrap_or(0.0)
    }

    /// True when a tool result holds one of the words as a value.
    pub(super) fn scratch_holds(&self, mut words: Range<usize>) -> bool {
        let held = |at: usize| {
            let word = &self.text.words()[at];
            let tells = word.is_content() && !word.class.has(Class::GENERIC.or(Class::ITEM)) || word.tag == Tag::Number;
            tells && self.scratch.iter().any(|entry| entry.holds(self.text.folded(at)))
        };
        !self.scratch.is_empty() && words.any(held)
    }

    pub(super) fn similarity(&self, position: usize) -> f32 {
        self.similarities.get(position).copied().unwrap_or(0.0)
    }
}

/// Probability above which a candidate counts although its form speaks against it.
const SURE: f32 = 0.75;

/// A definite phrase none of whose words the log has: most likely it brings its own subject ("edit the config file").
fn unheard_of(candidate: &Candidate, scene: &Scene<'_>) -> bool {
    matches!(candidate.shape, Shape::Definite | Shape::DefiniteBare)
        && scene.context.scratch.is_empty()
        && !candidate.words.clone().any(|at| scene.context.text.words()[at].is_content() && scene.knows(at))
}

/// Probability that is enough when the expression is by its noun about tool output and there is some.
const NAMED: f32 = 0.1;

/// "the query result", "that output" while a tool's output is held (R029-10).
fn names_output(candidate: &Candidate, context: &Context<'_>) -> bool {
    matches!(candidate.shape, Shape::Definite | Shape::DemonstrativeNoun)
        && !context.scratch.is_empty()
        && candidate.head.is_some_and(|at| context.text.words()[at].class.has(Class::TOOL))
}

/// A noun for output without an article while no output is held: it only names a kind of thing.
fn bare(candidate: &Candidate, context: &Context<'_>) -> bool {
    let first = context.text.words()[candidate.words.start];
    candidate.shape == Shape::Definite
        && context.scratch.is_empty()
        && first.class.has(Class::TOOL)
        && !first.class.has(Class::DEFINITE)
}

/// Lists reused from turn to turn.
#[derive(Debug, Default)]
pub struct Buffers {
    candidates: Vec<Candidate>,
    /// Candidates that are references, and how likely they are.
    accepted: Vec<(usize, f32)>,
    meaning: Vec<f32>,
    offers: Offers,
}

/// Scans the turn for referential expressions and resolves each into `resolved` (R028-13, R028-14). Candidates that the model
/// takes for something else are left out; those it takes for references that find nothing have no target (G-16).
pub fn resolve_references(context: &Context<'_>, buffers: &mut Buffers, resolved: &mut Vec<Reference>) {
    let Buffers { candidates, accepted, meaning, offers } = buffers;
    resolved.clear();
    accepted.clear();
    detect_referential_expressions(context.source, context.text, candidates);
    let Some(last) = candidates.last() else { return };
    offers.read(context.text, last.words.start);
    let scene = Scene::new(context, offers);
    let mut scores = [0.0; TOGETHER];
    for (at, candidate) in candidates.iter().enumerate() {
        if at % TOGETHER == 0 {
            scores = score(candidates, at, &scene);
        }
        if bare(candidate, context)
            || accepted.iter().any(|(other, _)| repeats(&candidates[*other], candidate, context.text))
        {
            continue;
        }
        meaning_of(candidate, context, meaning);
        let probability = sigmoid(scores[at % TOGETHER] + model().meaning(meaning));
        let doubtful = unheard_of(candidate, &scene)
            || context.text.grammar().generic_article
                && matches!(candidate.shape, Shape::Definite | Shape::DefiniteBare)
                && !names_output(candidate, context)
            || candidate.shape == Shape::It && pleonastic(context.text, candidate.words.start);
        let threshold = if names_output(candidate, context) { NAMED } else { detection_threshold(candidate.shape) };
        if probability < threshold || doubtful && probability < SURE {
            continue;
        }
        accepted.push((at, probability));
        resolved.push(resolve(candidate, probability, &scene));
    }
}

/// What references mean once the turn is filed in `context.thread`; `buffers` and `resolved` are those of [`resolve_references`].
/// Where a target is of another thread, an expression that could mean several turns means the best alternative of this one. If the
/// turn `returns` to it from the active one, lists, tool results, requests and answers are looked for again, and what it names
/// is left where only others have named it.
pub fn settle(context: &Context<'_>, returns: bool, buffers: &Buffers, resolved: &mut [Reference]) {
    let Buffers { candidates, accepted, offers, .. } = buffers;
    let scene = OnceCell::new();
    let inside = |target: &Target| match target {
        Target::Turn(id) => context.is_inside(*id),
        Target::Scratch(ordinal) => context.scratch.get(*ordinal).is_some_and(|entry| context.is_inside(entry.turn)),
    };
    for ((at, probability), reference) in accepted.iter().zip(resolved) {
        let candidate = &candidates[*at];
        // "Those three" may have found no list of three so far.
        let listless = candidate.selector.is_some() && reference.items.is_empty();
        if reference.target.as_ref().is_some_and(inside) && !listless {
            continue;
        }
        if reference.kind == ReferenceType::Entity && candidate.selector.is_none() {
            if !(returns && context.is_foreign(candidate))
                && let Some(first) = &mut reference.target
                && let Some(other) = reference.alternatives.iter_mut().find(|target| inside(target))
            {
                std::mem::swap(first, other);
            }
        } else if returns {
            let scene = scene.get_or_init(|| Scene::new(context, offers));
            *reference = resolve(candidate, *probability, scene);
        }
    }
}

/// True when the reference number `at` names a thing that only turns of other threads have named.
pub fn is_foreign(context: &Context<'_>, buffers: &Buffers, at: usize) -> bool {
    context.is_foreign(&buffers.candidates[buffers.accepted[at].0])
}

/// The same words once more are the same reference (G-34).
fn repeats(one: &Candidate, other: &Candidate, text: &Text) -> bool {
    one.shape == other.shape
        && one.words.len() == other.words.len()
        && one.words.clone().zip(other.words.clone()).all(|(a, b)| text.folded(a) == text.folded(b))
}

/// What the noun of a phrase means, "my sister" or "the second paragraph": its vector; empty for a word by itself.
fn meaning_of(candidate: &Candidate, context: &Context<'_>, meaning: &mut Vec<f32>) {
    let head = candidate.head.unwrap_or(candidate.words.end - 1);
    let head = context.text.words()[head];
    let known = context.has_meanings
        && candidate.words.len() > 1
        && StaticEmbedder::builtin().embed(&context.source[head.start as usize..head.end as usize], meaning).is_some();
    if !known {
        meaning.clear();
    }
}

/// Tells which candidates point out of the turn.
fn model() -> &'static Linear {
    static MODEL: OnceLock<Linear> = OnceLock::new();
    MODEL.get_or_init(|| model::linear("reference", &CANDIDATE_FEATURES))
}

/// Candidates that are scored together: few turns have more.
const TOGETHER: usize = 4;

/// What their features say for the pointing out of the turn of candidates from `at` on.
fn score(candidates: &[Candidate], at: usize, scene: &Scene<'_>) -> [f32; TOGETHER] {
    let mut features = [[0.0; TOGETHER]; CANDIDATE_FEATURES.len()];
    for (lane, candidate) in candidates[at..].iter().enumerate().take(TOGETHER) {
        let numbers = candidate_features(candidate, &candidates[..at + lane], scene);
        for (lanes, number) in features.iter_mut().zip(numbers) {
            lanes[lane] = number;
        }
    }
    model().scores(&features)
}

fn detection_threshold(shape: Shape) -> f32 {
    static THRESHOLDS: OnceLock<[f32; 2]> = OnceLock::new();
    let [structural, described] =
        *THRESHOLDS.get_or_init(|| [model::threshold("reference.structural"), model::threshold("reference.described")]);
    if matches!(shape, Shape::Ordinal | Shape::Turn | Shape::Action) { structural } else { described }
}

/// What the models see of every candidate of a turn, for fitting their weights.
pub fn inspect(context: &Context<'_>) -> Vec<CandidateInspection> {
    let mut candidates = Vec::new();
    detect_referential_expressions(context.source, context.text, &mut candidates);
    let mut offers = Offers::default();
    if let Some(last) = candidates.last() {
        offers.read(context.text, last.words.start);
    }
    let scene = Scene::new(context, &offers);
    let turns = context.log.marks()[scene.first()..].iter();
    candidates
        .iter()
        .enumerate()
        .map(|(at, candidate)| CandidateInspection {
            span: span(candidate, context),
            shape: candidate.shape,
            features: candidate_features(candidate, &candidates[..at], &scene).to_vec(),
            meaning: {
                let mut meaning = Vec::new();
                meaning_of(candidate, context, &mut meaning);
                meaning
            },
            targets: turns.clone().map(|turn| turn.id).zip(antecedents::inspect(candidate, &scene)).collect(),
        })
        .collect()
}

fn span(candidate: &Candidate, context: &Context<'_>) -> Range<usize> {
    let words = context.text.words();
    words[candidate.words.start].start as usize..words[candidate.words.end - 1].end as usize
}

fn resolve(candidate: &Candidate, probability: f32, scene: &Scene<'_>) -> Reference {
    let context = scene.context;
    let found = if context.log.is_empty() && context.scratch.is_empty() {
        Found::nothing(kind_of(candidate.shape), Reason::EmptyLog)
    } else {
        match candidate.shape {
            Shape::Ordinal => ordinal(candidate, scene)
                .or_else(|| tool(candidate, context))
                .unwrap_or_else(|| without_list(candidate, scene)),
            Shape::Turn => turn(candidate, scene),
            Shape::Action => action(candidate, scene),
            _ => tool(candidate, context)
                .or_else(|| all_of(candidate, context))
                .unwrap_or_else(|| entity(candidate, scene)),
        }
    };
    Reference {
        span: span(candidate, context),
        kind: found.kind,
        target: found.target,
        alternatives: found.alternatives,
        items: found.items,
        rows: found.rows,
        confidence: probability * found.certainty,
        reason: found.reason,
    }
}

const fn kind_of(shape: Shape) -> ReferenceType {
    match shape {
        Shape::Ordinal => ReferenceType::Ordinal,
        Shape::Turn => ReferenceType::Turn,
        Shape::Action => ReferenceType::Action,
        _ => ReferenceType::Entity,
    }
}

struct Found {
    kind: ReferenceType,
    target: Option<Target>,
    alternatives: Alternatives,
    items: Vec<Item>,
    rows: Vec<Item>,
    certainty: f32,
    reason: Reason,
}

impl Found {
    fn nothing(kind: ReferenceType, reason: Reason) -> Self {
        Self {
            kind,
            target: None,
            alternatives: Alternatives::default(),
            items: Vec::new(),
            rows: Vec::new(),
            certainty: 0.5,
            reason,
        }
    }

    fn at(kind: ReferenceType, target: Target, reason: Reason) -> Self {
        Self { target: Some(target), certainty: 1.0, ..Self::nothing(kind, reason) }
    }
}

// ---- ordinal -------------------------------------------------------------------------------------------------------

/// The newest list that has the position: an answer's before a user's, rows of a newer tool result before both (G-32).
fn ordinal(candidate: &Candidate, scene: &Scene<'_>) -> Option<Found> {
    let context = scene.context;
    let selector = candidate.selector.as_ref()?;
    if told(candidate, context)
        && candidate.head.is_some_and(|head| {
            context.text.words()[head].class.has(Class::DOCUMENT.or(Class::SPEECH))
                || context.text.role(head) == "version"
        })
    {
        return Some(turn(candidate, scene));
    }
    if let Some(found) = rows_of_kind(candidate, selector, context) {
        return Some(found);
    }
    // "Would that bike carry the second tent?": the lists of tents are another thread's.
    let foreign = context.is_foreign(candidate);
    let list = newest_list(candidate, selector, foreign, scene);
    let tool = newest_rows(candidate, selector, context);
    let tool_is_newer = match (&list, &tool) {
        (Some((turn, list, _)), Some((entry, _))) => {
            let inline = u32::from(list.kind == EnumerationKind::Inline);
            // The thread's come first, then the newer: what came with a turn came after it, unless that listed something itself.
            let weigh = |turn: u32, of: u32| (!foreign && context.is_inside(turn), of);
            weigh(entry.turn, entry.turn) >= weigh(turn.id, turn.id.saturating_sub(inline))
        }
        (None, Some(_)) => true,
        _ => false,
    };
    if let Some((entry, rows)) = tool.filter(|_| tool_is_newer) {
        let target = Target::Scratch(entry.ordinal);
        return Some(Found { rows, ..Found::at(ReferenceType::Ordinal, target, Reason::ToolRow) });
    }
    let (turn, list, positions) = list?;
    let items =
        positions.iter().map(|number| Item { number: *number, text: item_text(&turn, list, *number) }).collect();
    let reason = if matches!(selector, Selector::Label(_)) { Reason::ListLabel } else { Reason::ListItem };
    Some(Found { items, ..Found::at(ReferenceType::Ordinal, Target::Turn(turn.id), reason) })
}

/// A position that no list has: of a thing that was spoken of, the thing; of "options" or of nothing named, an abstention
/// (G-32).
fn without_list(candidate: &Candidate, scene: &Scene<'_>) -> Found {
    const MEMBER: Class = Class::ITEM.or(Class::ONE);
    // "The former …, the latter …" said about names that no list holds.
    let words = scene.context.text.words();
    let named = candidate.words.clone().find(|at| words[*at].class.has(Class::LATTER));
    if let Some(mention) = named.and_then(|at| scene.context.last_mention(at)) {
        let turn = scene.context.log.marks()[mention.position].id;
        return Found::at(ReferenceType::Ordinal, Target::Turn(turn), Reason::RecentMention);
    }
    let spoken_of =
        candidate.head.is_some_and(|at| !scene.context.text.words()[at].class.has(MEMBER) && scene.knows(at));
    if spoken_of { entity(candidate, scene) } else { Found::nothing(ReferenceType::Ordinal, Reason::NoList) }
}

/// "the third reservation", counted among the reservations of a tool result.
fn rows_of_kind(candidate: &Candidate, selector: &Selector, context: &Context<'_>) -> Option<Found> {
    let head = candidate.head.filter(|_| !context.scratch.is_empty())?;
    let fits = |n: usize| selector.fits(n as u32, 1);
    let (ordinal, spans) = named_rows(context.results(), &[context.text.folded(head)], fits)?;
    let entry = context.scratch.get(ordinal)?;
    let items: Vec<Item> = selector
        .positions(spans.len() as u32)?
        .iter()
        .map(|n| Item { number: *n, text: entry.raw[spans[*n as usize - 1].clone()].to_owned() })
        .collect();
    let rows = items.iter().map(|item| Item { number: item.number - 1, text: item.text.clone() }).collect();
    Some(Found { items, rows, ..Found::at(ReferenceType::Ordinal, Target::Scratch(ordinal), Reason::ToolRow) })
}

/// "… you wrote", "… I asked": the expression says who said it.
fn told(candidate: &Candidate, context: &Context<'_>) -> bool {
    context.text.words()[candidate.words.start + 1..candidate.words.end]
        .iter()
        .any(|word| word.class.has(Class::FIRST.or(Class::SECOND)))
}

/// "those two", "the three tents": all rows of a tool result or items of a written list that has as many, when it came
/// with the last answers, of the thread if there is one.
fn all_of(candidate: &Candidate, context: &Context<'_>) -> Option<Found> {
    const REACH: usize = 6;
    let Some(Selector::All(n)) = candidate.selector else { return None };
    if context.text.words()[candidate.words.clone()].iter().any(|word| word.class.has(Class::OTHER)) {
        return None;
    }
    let listed = |turn: &Turn<'_>| {
        turn.lists().any(|list| list.items.len() == n as usize && list.kind != EnumerationKind::Inline)
    };
    let turns = || context.log.turns().iter().rev();
    let own = turns().filter(|turn| context.is_own(turn.thread)).take(REACH).find(listed);
    let turn = own.or_else(|| turns().take(REACH).find(listed));
    let entry = context.results().rev().find(|entry| entry.rows == n);
    if let Some(entry) = entry.filter(|entry| candidate.head.is_none() && turn.is_none_or(|turn| turn.id < entry.turn))
    {
        let rows = rows(&entry.raw)
            .into_iter()
            .enumerate()
            .map(|(at, row)| Item { number: at as u32, text: entry.raw[row].to_owned() })
            .collect();
        return Some(Found { rows, ..Found::at(ReferenceType::Tool, Target::Scratch(entry.ordinal), Reason::ToolRow) });
    }
    let turn = turn?;
    let list = turn.lists().find(|list| list.items.len() == n as usize && list.kind != EnumerationKind::Inline)?;
    let items = (1..=n).map(|number| Item { number, text: item_text(&turn, list, number) }).collect();
    Some(Found { items, ..Found::at(ReferenceType::Entity, Target::Turn(turn.id), Reason::ListItem) })
}

fn item_text(turn: &Turn<'_>, list: &Enumeration, number: u32) -> String {
    let (from, to) = list.items[number as usize - 1];
    turn.text.get(from as usize..to as usize).unwrap_or_default().to_owned()
}

/// Turns whose lists are looked at.
const LISTED: usize = 2 * REACH;

/// Lists are weighed: one of the turn's thread is better, however old, newer is better, written out is better than commas in prose,
/// an answer is better than a question, and what the turn says of the list should stand in it or in the question it answers. The
/// thread is no better for a `foreign` thing.
fn newest_list<'a>(
    candidate: &Candidate,
    selector: &Selector,
    foreign: bool,
    scene: &Scene<'a>,
) -> Option<(Turn<'a>, &'a Enumeration, Vec<u32>)> {
    let context = scene.context;
    let head = candidate.head.filter(|at| !context.text.words()[*at].class.has(Class::ONE));
    let near = Topic::after(candidate, scene);
    let whole = Topic::of(0..context.text.words().len(), scene);
    let written = matches!(selector, Selector::Label(_))
        || candidate.head.is_none() && context.text.words()[candidate.words.start].tag == Tag::Number;
    let turns = context.log.turns();
    let inside = |of: &Trait| context.is_own(of.thread);
    // Of the thread as many turns are looked at as of the log, however long ago they were said.
    let (length, mut own) = (turns.len(), 0);
    let reached = move |(at, of): &(usize, &Trait)| {
        own += usize::from(inside(of));
        of.list() && (length - at <= LISTED || inside(of) && own <= LISTED)
    };
    let lists = context.log.traits().iter().enumerate().rev().filter(reached);
    let question = |at: usize| at.checked_sub(1).filter(|before| turns.at(*before).role == Role::User);
    let about = |at: usize| whole.share(at, question(at));
    let named = |at: usize| head.is_some_and(|word| scene.holds(word, at));
    let elsewhere = lists.clone().filter(|(_, of)| !inside(of)).map(|(at, _)| about(at)).fold(0.0, f32::max);
    let mut best: Option<(f32, Turn<'_>, &Enumeration, Vec<u32>)> = None;
    for (position, of) in lists {
        let (turn, question) = (turns.at(position), question(position));
        let distance = length - 1 - position;
        for list in turn.lists() {
            let Some(positions) = positions(selector, list) else { continue };
            let about = about(position);
            // Unless the turn says that it means another: "and of the tents, the second one?"
            let inside = inside(of) && !foreign && about + 0.5 > elsewhere;
            let prose = f32::from(u8::from(written && list.kind == EnumerationKind::Inline));
            let score = list_weight(list) - 0.5 * prose + f32::from(u8::from(turn.role == Role::Assistant)) * 0.3
                - (distance as f32 * 0.12).min(0.9)
                + f32::from(u8::from(inside))
                + near.share(position, question) * 1.5
                + about * 0.6
                + 0.5 * context.similarity(position)
                + f32::from(u8::from(named(position))) * 0.25;
            if best.as_ref().is_none_or(|(top, ..)| score > *top) {
                best = Some((score, turn, list, positions));
            }
        }
    }
    best.map(|(_, turn, list, positions)| (turn, list, positions))
}

/// Content words with their rarity in the log, to look up in turns.
struct Topic<'s> {
    scene: &'s Scene<'s>,
    words: Vec<(usize, f32)>,
    total: f32,
}

impl<'s> Topic<'s> {
    fn of(words: Range<usize>, scene: &'s Scene<'s>) -> Self {
        const ASIDE: Class = Class::SAID.or(Class::SPEECH).or(Class::ORDINAL).or(Class::LAST).or(Class::EARLIER);
        let all = scene.context.text.words();
        let content = words.filter(|at| all[*at].is_content() && !all[*at].class.has(ASIDE));
        let (mut words, mut total) = (Vec::new(), 0.0);
        for at in content {
            total += scene.idf(at);
            if scene.knows(at) {
                words.push((at, scene.idf(at)));
            }
        }
        Self { scene, words, total }
    }

    /// What the phrase behind an expression says: "the second tip *for the garden*", "what you said *about rent*".
    fn after(candidate: &Candidate, scene: &'s Scene<'s>) -> Self {
        const LONGEST: usize = 7;
        let words = scene.context.text.words();
        let end = candidate.words.end;
        let opens =
            words.get(end).is_some_and(|w| !w.gap.has(Gap::STOP.or(Gap::PAUSE)) && w.class.has(Class::PREPOSITION));
        let stop = (end..words.len().min(end + LONGEST)).find(|at| {
            words[*at].gap.has(Gap::STOP.or(Gap::PAUSE))
                || *at > end && words[*at].class.has(Class::BE.or(Class::AUXILIARY))
        });
        let stop = if opens { stop.unwrap_or(words.len().min(end + LONGEST)) } else { end };
        Self::of(end..stop, scene)
    }

    /// Share of the topic that a turn or the question it answers holds, both given by position.
    fn share(&self, turn: usize, question: Option<usize>) -> f32 {
        let holds =
            |at: usize| self.scene.holds(at, turn) || question.is_some_and(|question| self.scene.holds(at, question));
        if self.total > 0.0 {
            self.words.iter().filter(|(at, _)| holds(*at)).map(|(_, idf)| idf).sum::<f32>() / self.total
        } else {
            0.0
        }
    }
}

fn list_weight(list: &Enumeration) -> f32 {
    use EnumerationKind::{Bulleted, Inline, Lettered, Numbered, Prose, Table};
    match list.kind {
        Numbered | Lettered => 1.0,
        Bulleted | Table => 0.9,
        Prose => 0.7,
        Inline => 0.35,
    }
}

fn positions(selector: &Selector, list: &Enumeration) -> Option<Vec<u32>> {
    match selector {
        Selector::Label(label) => list.labelled(*label as i16).map(|at| vec![at as u32 + 1]),
        selector => selector.positions(list.items.len() as u32),
    }
}

fn newest_rows<'a>(
    candidate: &Candidate,
    selector: &Selector,
    context: &'a Context<'_>,
) -> Option<(&'a ScratchEntry, Vec<Item>)> {
    if matches!(selector, Selector::Label(_)) && context.text.words()[candidate.words.start].tag != Tag::Number {
        return None;
    }
    let words = head_words(candidate, context);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let entry = latest(&context.results(), ToolKind::Rows, &words)?;
    let spans = rows(&entry.raw);
    let positions = selector.positions(spans.len() as u32)?;
    let items = positions
        .iter()
        .map(|n| Item { number: n - 1, text: entry.raw[spans[*n as usize - 1].clone()].to_owned() })
        .collect();
    Some((entry, items))
}

// ---- turn ----------------------------------------------------------------------------------------------------------

/// An explicit count, else the best turn about the subject named, else the last answer (G-31).
fn turn(candidate: &Candidate, scene: &Scene<'_>) -> Found {
    let context = scene.context;
    let words = context.text.words();
    let first = words[candidate.words.start];
    let said = &words[candidate.words.clone()];
    // "lo que me dijiste": the verb says who spoke.
    let addressed = said.iter().any(|w| w.class.has(Class::SAID) && w.class.has(Class::SECOND));
    let behind = words.get(candidate.words.start + 1).filter(|owner| owner.gap == Gap::JOINED);
    let own = first.class.has(Class::POSSESSIVE_FIRST)
        || behind.is_some_and(|owner| owner.class.has(Class::POSSESSIVE_FIRST))
        || !addressed && said.iter().any(|w| w.class.has(Class::FIRST));
    let question = candidate.head.is_some_and(|head| context.text.role(head).starts_with("question"));
    let asked = first.class.has(Class::DEFINITE) || context.text.grammar().no_article;
    let role = if own || question && asked { Role::User } else { Role::Assistant };
    let log = context.log;
    let mut spoken: Vec<Turn<'_>> = log.turns().iter().filter(|turn| turn.role == role).collect();
    // "Your last answer" is one of the thread, "my first question" the first of all.
    let from_end = !matches!(candidate.selector, Some(Selector::At(_) | Selector::TurnsAgo(_)));
    if from_end && spoken.iter().any(|turn| context.is_inside(turn.id)) {
        spoken.retain(|turn| context.is_inside(turn.id));
    }
    let counted = match &candidate.selector {
        Some(Selector::At(positions)) => positions.first().and_then(|n| spoken.get(*n as usize - 1).copied()),
        Some(Selector::FromEnd(k)) => spoken.len().checked_sub(*k as usize).map(|at| spoken[at]),
        Some(Selector::TurnsAgo(n))
            if first.class.has(Class::POSSESSIVE_SECOND) || speaks(candidate, Class::SECOND, context) =>
        {
            spoken.len().checked_sub(*n as usize).map(|at| spoken[at])
        }
        Some(Selector::TurnsAgo(n)) => (log.next_id().checked_sub(*n)).and_then(|id| log.get(id)),
        Some(Selector::Previous) => spoken.last().copied(),
        _ => None,
    };
    if let Some(turn) = counted {
        return Found::at(ReferenceType::Turn, Target::Turn(turn.id), Reason::CountedTurn);
    }
    if let Some(Selector::TurnsAgo(n)) = candidate.selector {
        let gone = log.next_id().checked_sub(n).is_some_and(|id| log.was_evicted(id));
        return Found::nothing(ReferenceType::Turn, if gone { Reason::Evicted } else { Reason::NoAntecedent });
    }
    let near = if context.text.grammar().clauses_before {
        Topic::of(candidate.words.clone(), scene)
    } else {
        Topic::after(candidate, scene)
    };
    let about = if near.total > 0.0 { best_about(&near, role, context) } else { None };
    let about = about.or_else(|| best_about(&Topic::of(0..words.len(), scene), role, context));
    let last = spoken.last().map(|turn| turn.id);
    match (about, last) {
        (Some(id), last) => Found {
            alternatives: last.filter(|l| *l != id).map(Target::Turn).into_iter().collect(),
            ..Found::at(ReferenceType::Turn, Target::Turn(id), Reason::TopicTurn)
        },
        (None, Some(id)) => Found::at(
            ReferenceType::Turn,
            Target::Turn(id),
            if role == Role::Assistant { Reason::LastAnswer } else { Reason::LastTurn },
        ),
        (None, None) => Found::nothing(ReferenceType::Turn, Reason::NoAntecedent),
    }
}

/// The word behind an expression is of a class: "two messages ago *you* …".
fn speaks(candidate: &Candidate, class: Class, context: &Context<'_>) -> bool {
    context.text.words().get(candidate.words.end).is_some_and(|word| word.class.has(class))
}

/// The turn of `role` that shares most of the topic, by idf, its question counted; newest first on ties. `None` when none
/// shares a third of it.
fn best_about(topic: &Topic<'_>, role: Role, context: &Context<'_>) -> Option<u32> {
    let turns = context.log.turns();
    let mut best: Option<(f32, u32)> = None;
    for (position, turn) in turns.iter().enumerate().filter(|(_, turn)| turn.role == role) {
        let question = position.checked_sub(1).filter(|before| turns.at(*before).role != role);
        let share = 0.7 * topic.share(position, None) + 0.3 * topic.share(position, question);
        let score = share + 0.3 * context.similarity(position);
        if share >= 0.3 && best.is_none_or(|(top, _)| score >= top) {
            best = Some((score, turn.id));
        }
    }
    best.map(|(_, id)| id)
}

// ---- action --------------------------------------------------------------------------------------------------------

/// The last thing that was asked for in the thread, and the turn that answered it (G-30); the one about the subject named, if one is
/// ("the way you did for the roses").
fn action(candidate: &Candidate, scene: &Scene<'_>) -> Found {
    let context = scene.context;
    let turns = context.log.turns();
    let told = told(candidate, context);
    if let Some(about) = Some(Topic::after(candidate, scene))
        .filter(|topic| told && topic.total > 0.0)
        .and_then(|topic| best_about(&topic, Role::Assistant, context))
    {
        return Found::at(ReferenceType::Action, Target::Turn(about), Reason::TopicTurn);
    }
    let answers = turns.iter().rev().filter(|turn| turn.role == Role::Assistant);
    if told && let Some(answer) = context.own_first(answers) {
        return Found::at(ReferenceType::Action, Target::Turn(answer.id), Reason::LastAction);
    }
    let requests = turns.iter().rev().filter(|turn| turn.role == Role::User && turn.request);
    let asked = context.own_first(requests).or_else(|| context.log.last(Role::User));
    let Some(asked) = asked else { return Found::nothing(ReferenceType::Action, Reason::NoAntecedent) };
    let answers_it =
        |turn: &Turn<'_>| turn.id > asked.id && turn.role == Role::Assistant && turn.thread == asked.thread;
    match turns.iter().find(answers_it) {
        Some(answer) => Found {
            alternatives: [Target::Turn(asked.id)].into_iter().collect(),
            ..Found::at(ReferenceType::Action, Target::Turn(answer.id), Reason::LastAction)
        },
        None => Found::at(ReferenceType::Action, Target::Turn(asked.id), Reason::LastAction),
    }
}

// ---- tool ----------------------------------------------------------------------------------------------------------

/// A row that the expression describes ("the 500 one"), or "the query result", "that output", "the error" when a result of
/// that kind is held (G-16, R029-10), or a noun that only a tool result has mentioned.
fn tool(candidate: &Candidate, context: &Context<'_>) -> Option<Found> {
    if context.scratch.is_empty()
        || matches!(candidate.shape, Shape::It | Shape::They | Shape::Person | Shape::Possessive | Shape::PlaceTime)
    {
        return None;
    }
    if let Some(found) = described_rows(candidate, context) {
        return Some(found);
    }
    let head = candidate.head?;
    let word = context.text.words()[head];
    let folded = context.text.folded(head);
    if word.class.has(Class::TOOL.or(Class::OUTPUT_KIND)) {
        let words = head_words(candidate, context);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let entry = latest(&context.results(), ToolKind::of_noun(context.text.role(head)), &words)?;
        return Some(Found::at(ReferenceType::Tool, Target::Scratch(entry.ordinal), Reason::ToolOutput));
    }
    let entry = context.results().rev().find(|entry| entry.knows(folded))?;
    let retold = context
        .log
        .turns()
        .iter()
        .rev()
        .take_while(|turn| turn.id > entry.turn)
        .any(|turn| turn.role == Role::Assistant && turn.terms.contains(&word.term));
    (!retold).then(|| Found::at(ReferenceType::Tool, Target::Scratch(entry.ordinal), Reason::ToolMention))
}

/// Rows known by their content.
fn described_rows(candidate: &Candidate, context: &Context<'_>) -> Option<Found> {
    const LEAST: f32 = 0.3;
    let wanted = match candidate.selector {
        Some(Selector::All(n)) => n as usize,
        Some(Selector::Pair) => 2,
        _ => 1,
    };
    let words = description(candidate, context);
    if words.is_empty() {
        return None;
    }
    let found = described(&context.results(), &words, wanted).filter(|found| found.score >= LEAST)?;
    let entry = context.scratch.get(found.ordinal)?;
    let rows = found
        .rows
        .iter()
        .map(|(number, row)| Item { number: *number, text: entry.raw[row.clone()].to_owned() })
        .collect();
    Some(Found { rows, ..Found::at(ReferenceType::Tool, Target::Scratch(found.ordinal), Reason::ToolRow) })
}

/// The words that describe what an expression means: its own and those of the phrase that follows it ("… ending in 4242").
/// Numbers are written in digits; digits in words are joined.
fn description(candidate: &Candidate, context: &Context<'_>) -> Vec<String> {
    const AFTER: usize = 7;
    const CLOSED: Class =
        Class::BE.or(Class::AUXILIARY).or(Class::FIRST).or(Class::SECOND).or(Class::CONJUNCTION).or(Class::WH);
    let text = context.text;
    let words = text.words();
    let end = candidate.words.end;
    let describes = |at: usize| {
        let word = words[at];
        !word.gap.has(Gap::STOP.or(Gap::PAUSE))
            && !word.class.has(CLOSED)
            && (!matches!(word.tag, Tag::Verb | Tag::Past) || at == end)
    };
    let opens = words
        .get(end)
        .is_some_and(|word| word.class.has(Class::PREPOSITION) || matches!(word.tag, Tag::Gerund | Tag::Past));
    let after = if opens { (end..words.len().min(end + AFTER)).take_while(|at| describes(*at)).count() } else { 0 };
    let mut found: Vec<String> = Vec::new();
    let mut digits = false;
    for at in candidate.words.start..end + after {
        let word = words[at];
        let digit = word.class.has(Class::CARDINAL)
            && (1..10).contains(&word.value)
            && !(word.class.has(Class::ONE) && at + 1 == end);
        if digit || word.value > 0 {
            let number = if word.class.is_empty() { text.folded(at).to_owned() } else { word.value.to_string() };
            match found.last_mut().filter(|_| digits && digit) {
                Some(last) => last.push_str(&number),
                None => found.push(number),
            }
            digits = digit;
        } else {
            digits = false;
            if word.is_content() && !word.class.has(Class::GENERIC.or(Class::ITEM)) || word.class.has(Class::COMPARE) {
                found.push(text.folded(at).to_owned());
            }
        }
    }
    // A count is not a description: "those two", "the three flights".
    if let Some(Selector::All(n)) = candidate.selector {
        found.retain(|word| *word != n.to_string());
    }
    if candidate.shape == Shape::Ordinal {
        found.retain(|word| !word.bytes().all(|b| b.is_ascii_digit()));
    }
    found
}

fn head_words(candidate: &Candidate, context: &Context<'_>) -> Vec<String> {
    candidate
        .words
        .clone()
        .filter(|at| context.text.words()[*at].is_content() && context.text.words()[*at].tag != Tag::Number)
        .map(|at| context.text.folded(at).to_owned())
        .collect()
}

// ---- entity --------------------------------------------------------------------------------------------------------

/// The turn within reach that fits best; the most recent mention when the expression names something (R028-14).
fn entity(candidate: &Candidate, scene: &Scene<'_>) -> Found {
    let context = scene.context;
    let turns = context.log.marks();
    // "those results" when no tool has given any and nobody spoke of results (G-16).
    let missing = candidate.head.is_some_and(|at| context.text.words()[at].class.has(Class::TOOL) && !scene.knows(at));
    if missing && context.scratch.is_empty() {
        return Found::nothing(ReferenceType::Tool, Reason::NoTool);
    }
    let mut best = antecedents(candidate, scene);
    let Some(first) = best.next() else { return Found::nothing(ReferenceType::Entity, Reason::NoAntecedent) };
    let named = candidate.head.is_some_and(|at| scene.holds(at, first));
    Found {
        alternatives: best.map(|at| Target::Turn(turns[at].id)).collect(),
        ..Found::at(
            ReferenceType::Entity,
            Target::Turn(turns[first].id),
            if named { Reason::RecentMention } else { Reason::BestMention },
        )
    }
}
