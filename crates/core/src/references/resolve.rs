//! Finding what a candidate points at, or abstaining (SPEC-028 §4.2, R028-14, G-16, G-30 … G-36).

use std::sync::OnceLock;

use super::candidates::{Candidate, Shape, detect_referential_expressions};
use super::features::{CANDIDATE_FEATURES, candidate_features};
use super::ordinal::Selector;
use super::{Item, Reason, Reference, ReferenceType, Target};
use crate::classify::CandidateInspection;
use crate::model::{self, Linear};
use crate::scratch::{ScratchBuffer, ToolKind, rows};
use crate::text::{Class, Enumeration, Tag, Text};
use crate::turn_log::{Role, Turn, TurnLog};

/// How many turns back an antecedent is looked for by description; explicit counts and lists reach further.
const REACH: usize = 24;

/// Content words of the turn that are compared with a candidate's possible targets.
const COMPARED: usize = 32;

/// What a turn is resolved against.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The turn.
    pub source: &'a str,
    /// The turn, read.
    pub text: &'a Text,
    /// Earlier turns; never the turn itself (G-33).
    pub log: &'a TurnLog,
    /// Tool results held.
    pub scratch: &'a ScratchBuffer,
    /// Cosine of the turn to each turn of the log, by position; empty without vectors.
    pub similarities: &'a [f32],
}

/// Where a term was last mentioned.
#[derive(Clone, Copy, Debug)]
pub struct Mention {
    /// Position in the log.
    pub position: usize,
    /// Turns back from the current one; 1 = the turn before.
    pub distance: usize,
    /// Who said it.
    pub role: Role,
}

impl Context<'_> {
    /// The newest turn within reach that holds `term`.
    pub fn last_mention(&self, term: u32) -> Option<Mention> {
        if self.log.frequency(term) == 0 {
            return None;
        }
        let turns = self.log.turns();
        let position = turns.iter().rev().take(REACH * 2).position(|turn| turn.terms.contains(&term))?;
        let at = turns.len() - 1 - position;
        Some(Mention { position: at, distance: position + 1, role: turns[at].role })
    }

    /// Cosine to the turn before; 0 without vectors.
    pub fn similarity_last(&self) -> f32 {
        self.similarities.last().copied().unwrap_or(0.0)
    }

    fn similarity(&self, position: usize) -> f32 {
        self.similarities.get(position).copied().unwrap_or(0.0)
    }
}

/// Scans the turn for referential expressions and resolves each (R028-13, R028-14). Candidates that the model takes for
/// something else are left out; those it takes for references that find nothing are returned without a target (G-16).
pub fn resolve_references(context: &Context<'_>) -> Vec<Reference> {
    let mut resolved: Vec<Reference> = Vec::new();
    for candidate in detect_referential_expressions(context.source, context.text) {
        let probability = points_out(&candidate, context);
        if probability < detection_threshold(candidate.shape) || unheard_of(&candidate, context) && probability < SURE {
            continue;
        }
        let reference = resolve(&candidate, probability, context);
        resolved.push(reference);
    }
    resolved
}

/// Probability above which even a description of something never mentioned counts as a reference.
const SURE: f32 = 0.75;

/// A definite phrase none of whose words the log has: most likely it brings its own subject ("edit the config file").
fn unheard_of(candidate: &Candidate, context: &Context<'_>) -> bool {
    matches!(candidate.shape, Shape::Definite | Shape::DefiniteBare)
        && !candidate.words.clone().map(|at| context.text.words()[at]).any(|w| w.is_content() && context.log.frequency(w.term) > 0)
}

/// Probability that a candidate points out of the turn.
pub(super) fn points_out(candidate: &Candidate, context: &Context<'_>) -> f32 {
    static MODEL: OnceLock<Linear> = OnceLock::new();
    let model = MODEL.get_or_init(|| model::linear("reference", &CANDIDATE_FEATURES));
    model.probability(&candidate_features(candidate, context))
}

fn detection_threshold(shape: Shape) -> f32 {
    static THRESHOLDS: OnceLock<[f32; 2]> = OnceLock::new();
    let [structural, described] = *THRESHOLDS.get_or_init(|| [model::threshold("reference.structural"), model::threshold("reference.described")]);
    if matches!(shape, Shape::Ordinal | Shape::Turn | Shape::Action) { structural } else { described }
}

/// What the models see of every candidate of a turn, for fitting their weights.
pub fn inspect(context: &Context<'_>) -> Vec<CandidateInspection> {
    let turns = context.log.turns();
    let first = turns.len().saturating_sub(REACH);
    detect_referential_expressions(context.source, context.text)
        .into_iter()
        .map(|candidate| CandidateInspection {
            span: span(&candidate, context),
            shape: candidate.shape,
            features: candidate_features(&candidate, context).to_vec(),
            targets: (first..turns.len()).map(|at| (turns[at].id, target_features(&candidate, at, context).to_vec())).collect(),
        })
        .collect()
}

fn span(candidate: &Candidate, context: &Context<'_>) -> std::ops::Range<usize> {
    let words = context.text.words();
    words[candidate.words.start].start as usize..words[candidate.words.end - 1].end as usize
}

fn resolve(candidate: &Candidate, probability: f32, context: &Context<'_>) -> Reference {
    let found = if context.log.is_empty() && context.scratch.is_empty() {
        Found::nothing(kind_of(candidate.shape), Reason::EmptyLog)
    } else {
        match candidate.shape {
            Shape::Ordinal => ordinal(candidate, context),
            Shape::Turn => turn(candidate, context),
            Shape::Action => action(context),
            _ => tool(candidate, context).unwrap_or_else(|| entity(candidate, context)),
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
    alternatives: Vec<Target>,
    items: Vec<Item>,
    rows: Vec<Item>,
    certainty: f32,
    reason: Reason,
}

impl Found {
    fn nothing(kind: ReferenceType, reason: Reason) -> Self {
        Self { kind, target: None, alternatives: Vec::new(), items: Vec::new(), rows: Vec::new(), certainty: 0.5, reason }
    }

    fn at(kind: ReferenceType, target: Target, reason: Reason) -> Self {
        Self { target: Some(target), certainty: 1.0, ..Self::nothing(kind, reason) }
    }
}

// ---- ordinal -------------------------------------------------------------------------------------------------------

/// The newest list that has the position: an answer's before a user's, rows of a newer tool result before both (G-32).
fn ordinal(candidate: &Candidate, context: &Context<'_>) -> Found {
    let Some(selector) = &candidate.selector else { return Found::nothing(ReferenceType::Ordinal, Reason::NoList) };
    let list = newest_list(candidate, selector, context);
    let tool = newest_rows(candidate, selector, context);
    let tool_is_newer = match (&list, &tool) {
        (Some((turn, ..)), Some((ordinal, ..))) => tool_after(context, *ordinal, turn.id),
        (None, Some(_)) => true,
        _ => false,
    };
    if let Some((ordinal, rows)) = tool.filter(|_| tool_is_newer) {
        return Found { rows, ..Found::at(ReferenceType::Ordinal, Target::Scratch(ordinal), Reason::ToolRow) };
    }
    let Some((turn, list, positions)) = list else { return Found::nothing(ReferenceType::Ordinal, Reason::NoList) };
    let items = positions.iter().map(|number| Item { number: *number, text: item_text(turn, list, *number) }).collect();
    let reason = if matches!(selector, Selector::Label(_)) { Reason::ListLabel } else { Reason::ListItem };
    Found { items, ..Found::at(ReferenceType::Ordinal, Target::Turn(turn.id), reason) }
}

fn item_text(turn: &Turn, list: &Enumeration, number: u32) -> String {
    let (from, to) = list.items[number as usize - 1];
    turn.text.get(from as usize..to as usize).unwrap_or_default().to_owned()
}

/// Lists are weighed: newer is better, written out is better than commas in prose, an answer is better than a question,
/// and the noun of the expression should stand near the list.
fn newest_list<'a>(candidate: &Candidate, selector: &Selector, context: &Context<'a>) -> Option<(&'a Turn, &'a Enumeration, Vec<u32>)> {
    let head = candidate.head.map(|at| context.text.words()[at]).filter(|w| !w.class.has(Class::ONE));
    let others: Vec<u32> = context.text.words().iter().filter(|w| w.is_content()).map(|w| w.term).take(COMPARED).collect();
    let mut best: Option<(f32, &Turn, &Enumeration, Vec<u32>)> = None;
    for (distance, turn) in context.log.turns().iter().rev().enumerate().take(REACH * 2) {
        for list in &turn.lists {
            let Some(positions) = positions(selector, list) else { continue };
            let mentions = others.iter().filter(|term| turn.terms.contains(term)).count() as f32 / others.len().max(1) as f32;
            let named = head.is_some_and(|w| turn.terms.contains(&w.term));
            let score = list_weight(list) + f32::from(u8::from(turn.role == Role::Assistant)) * 0.3 - distance as f32 * 0.12 + mentions * 0.8 + f32::from(u8::from(named)) * 0.25;
            if best.as_ref().is_none_or(|(top, ..)| score > *top) {
                best = Some((score, turn, list, positions));
            }
        }
    }
    best.map(|(_, turn, list, positions)| (turn, list, positions))
}

fn list_weight(list: &Enumeration) -> f32 {
    use crate::text::EnumerationKind::{Bulleted, Headings, Inline, Lettered, Numbered, Prose, Table};
    match list.kind {
        Numbered | Lettered => 1.0,
        Bulleted | Table | Headings => 0.9,
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

fn newest_rows(candidate: &Candidate, selector: &Selector, context: &Context<'_>) -> Option<(u32, Vec<Item>)> {
    let words = head_words(candidate, context);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ordinal = context.scratch.latest(ToolKind::Rows, &words)?;
    let entry = context.scratch.get(ordinal)?;
    let spans = rows(&entry.raw);
    let positions = selector.positions(spans.len() as u32)?;
    let items = positions.iter().map(|n| Item { number: n - 1, text: entry.raw[spans[*n as usize - 1].clone()].to_owned() }).collect();
    Some((ordinal, items))
}

/// True when a tool result came after a turn: it was produced in the group of that turn's user message or a later one,
/// and the answer that followed it did not list anything itself.
fn tool_after(context: &Context<'_>, ordinal: u32, turn: u32) -> bool {
    context.scratch.get(ordinal).is_some_and(|entry| entry.turn >= turn)
}

// ---- turn ----------------------------------------------------------------------------------------------------------

/// An explicit count, else the best turn about the subject named, else the last answer (G-31).
fn turn(candidate: &Candidate, context: &Context<'_>) -> Found {
    let words = context.text.words();
    let first = words[candidate.words.start];
    let own = first.class.has(Class::POSSESSIVE_FIRST) || words[candidate.words.clone()].iter().any(|w| w.class.has(Class::FIRST));
    let question = candidate.head.is_some_and(|head| context.text.folded(head).starts_with("question"));
    let role = if own || question && first.class.has(Class::DEFINITE) { Role::User } else { Role::Assistant };
    let log = context.log;
    let spoken: Vec<&Turn> = log.turns().iter().filter(|turn| turn.role == role).collect();
    let counted = match &candidate.selector {
        Some(Selector::At(positions)) => positions.first().and_then(|n| spoken.get(*n as usize - 1).copied()),
        Some(Selector::FromEnd(k)) => spoken.len().checked_sub(*k as usize).map(|at| spoken[at]),
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
    let topic: Vec<u32> = words.iter().enumerate().filter(|(at, w)| !candidate.words.contains(at) && w.is_content() && !w.class.has(Class::SAID.or(Class::SPEECH))).map(|(_, w)| w.term).take(COMPARED).collect();
    let about = best_about(&topic, role, context);
    let last = spoken.last().map(|turn| turn.id);
    match (about, last) {
        (Some(id), last) => Found { alternatives: last.filter(|l| *l != id).map(Target::Turn).into_iter().collect(), ..Found::at(ReferenceType::Turn, Target::Turn(id), Reason::TopicTurn) },
        (None, Some(id)) => Found::at(ReferenceType::Turn, Target::Turn(id), if role == Role::Assistant { Reason::LastAnswer } else { Reason::LastTurn }),
        (None, None) => Found::nothing(ReferenceType::Turn, Reason::NoAntecedent),
    }
}

/// The turn of `role` that shares most of the topic, by idf; newest first on ties. `None` when none shares a third of it.
fn best_about(topic: &[u32], role: Role, context: &Context<'_>) -> Option<u32> {
    let total: f32 = topic.iter().map(|term| context.log.idf(*term)).sum();
    let mut best: Option<(f32, u32)> = None;
    for (position, turn) in context.log.turns().iter().enumerate().filter(|(_, turn)| turn.role == role) {
        let shared: f32 = topic.iter().filter(|term| turn.terms.contains(term)).map(|term| context.log.idf(*term)).sum();
        let share = if total > 0.0 { shared / total } else { 0.0 };
        let score = share + 0.3 * context.similarity(position);
        if share >= 0.3 && best.is_none_or(|(top, _)| score >= top) {
            best = Some((score, turn.id));
        }
    }
    best.map(|(_, id)| id)
}

// ---- action --------------------------------------------------------------------------------------------------------

/// The last thing that was asked for, and the turn that answered it (G-30).
fn action(context: &Context<'_>) -> Found {
    let turns = context.log.turns();
    let asked = turns.iter().rev().find(|turn| turn.role == Role::User && turn.request).or_else(|| context.log.last(Role::User));
    let Some(asked) = asked else { return Found::nothing(ReferenceType::Action, Reason::NoAntecedent) };
    let answer = turns.iter().find(|turn| turn.id > asked.id && turn.role == Role::Assistant);
    match answer {
        Some(answer) => Found { alternatives: vec![Target::Turn(asked.id)], ..Found::at(ReferenceType::Action, Target::Turn(answer.id), Reason::LastAction) },
        None => Found::at(ReferenceType::Action, Target::Turn(asked.id), Reason::LastAction),
    }
}

// ---- tool ----------------------------------------------------------------------------------------------------------

/// "the query result", "that output", "the error" when a result of that kind is held (G-16, R029-10).
fn tool(candidate: &Candidate, context: &Context<'_>) -> Option<Found> {
    let head = candidate.head?;
    let word = context.text.words()[head];
    if context.scratch.is_empty() || !word.class.has(Class::TOOL.or(Class::OUTPUT_KIND)) {
        return None;
    }
    let kind = ToolKind::of_noun(context.text.folded(head));
    let words = head_words(candidate, context);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ordinal = context.scratch.latest(kind, &words)?;
    Some(Found::at(ReferenceType::Tool, Target::Scratch(ordinal), Reason::ToolOutput))
}

fn head_words(candidate: &Candidate, context: &Context<'_>) -> Vec<String> {
    candidate.words.clone().filter(|at| context.text.words()[*at].is_content() && context.text.words()[*at].tag != Tag::Number).map(|at| context.text.folded(at).to_owned()).collect()
}

// ---- entity --------------------------------------------------------------------------------------------------------

/// Names of the numbers that describe a turn as the antecedent of a candidate.
pub const TARGET_FEATURES: [&str; 20] = [
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
    "definite.last-answer",
    "plural.list",
    "named",
];

/// The numbers of the turn at `position` as antecedent of `candidate`.
pub fn target_features(candidate: &Candidate, position: usize, context: &Context<'_>) -> [f32; TARGET_FEATURES.len()] {
    let flag = |holds: bool| f32::from(u8::from(holds));
    let words = context.text.words();
    let turns = context.log.turns();
    let turn = &turns[position];
    let distance = turns.len() - position;
    let head = candidate.head.map(|at| words[at]).filter(|w| w.is_content());
    let holds = |term: u32| turn.terms.contains(&term);
    let head_here = head.is_some_and(|w| holds(w.term));
    let newest = head.and_then(|w| context.last_mention(w.term)).is_some_and(|m| m.position == position);
    let oldest = head_here && !turns[..position].iter().rev().take(REACH).any(|t| head.is_some_and(|w| t.terms.contains(&w.term)));
    let modifiers: Vec<u32> = candidate.words.clone().filter(|at| Some(*at) != candidate.head && words[*at].is_content()).map(|at| words[at].term).collect();
    let others = words.iter().enumerate().filter(|(at, w)| !candidate.words.contains(at) && w.is_content()).map(|(_, w)| w.term).take(COMPARED);
    let (mut shared, mut total) = (0.0, 0.0);
    for term in others {
        let idf = context.log.idf(term);
        total += idf;
        shared += if holds(term) { idf } else { 0.0 };
    }
    let overlap = if total > 0.0 { shared / total } else { 0.0 };
    let last_answer = flag(turn.role == Role::Assistant && distance <= 2);
    let last_user = flag(turn.role == Role::User && distance <= 2);
    let pronoun = flag(head.is_none());
    let definite = flag(matches!(candidate.shape, Shape::Definite | Shape::DemonstrativeNoun | Shape::Such));
    let plural = flag(candidate.shape == Shape::They || matches!(context.text.folded(candidate.words.start), "these" | "those"));
    [
        0.5f32.powf(distance as f32 / 3.0),
        flag(distance == 1),
        last_answer,
        last_user,
        flag(turn.role == Role::User),
        flag(head_here),
        flag(newest),
        flag(oldest),
        if modifiers.is_empty() { 0.0 } else { modifiers.iter().filter(|t| holds(**t)).count() as f32 / modifiers.len() as f32 },
        overlap,
        context.similarity(position),
        flag(turn.question),
        flag(!turn.lists.is_empty()),
        pronoun * last_answer,
        pronoun * last_user,
        pronoun * overlap,
        definite * flag(head_here),
        definite * last_answer,
        plural * flag(!turn.lists.is_empty()),
        flag(!turn.entities.is_empty()),
    ]
}

/// The turn within reach that fits best; the most recent mention when the expression names something (R028-14).
fn entity(candidate: &Candidate, context: &Context<'_>) -> Found {
    static MODEL: OnceLock<Linear> = OnceLock::new();
    let model = MODEL.get_or_init(|| model::linear("target", &TARGET_FEATURES));
    let turns = context.log.turns();
    let first = turns.len().saturating_sub(REACH);
    let mut scored: Vec<(f32, usize)> = (first..turns.len()).map(|at| (model.score(&target_features(candidate, at, context)), at)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    let Some((_, best)) = scored.first().copied() else { return Found::nothing(ReferenceType::Entity, Reason::NoAntecedent) };
    let named = candidate.head.is_some_and(|at| turns[best].terms.contains(&context.text.words()[at].term));
    let alternatives = scored.iter().skip(1).take(2).map(|(_, at)| Target::Turn(turns[*at].id)).collect();
    Found { alternatives, ..Found::at(ReferenceType::Entity, Target::Turn(turns[best].id), if named { Reason::RecentMention } else { Reason::BestMention }) }
}
