//! Finding what a candidate points at, or abstaining (SPEC-028 §4.2, R028-14, G-16, G-30 … G-36).

use std::ops::Range;
use std::sync::OnceLock;

use super::candidates::{Candidate, Shape, detect_referential_expressions};
use super::features::{CANDIDATE_FEATURES, candidate_features, pleonastic};
use super::ordinal::Selector;
use super::scene::{Mention, REACH, Scene};
use super::{Item, Reason, Reference, ReferenceType, Target};
use crate::classify::CandidateInspection;
use crate::embedding::StaticEmbedder;
use crate::model::{self, Linear, sigmoid};
use crate::scratch::described::{described, named_rows};
use crate::scratch::{ScratchBuffer, ToolKind, rows};
use crate::text::{Class, Enumeration, EnumerationKind, Gap, Tag, Text, Word};
use crate::turn_log::{Role, Turn, TurnLog};

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
    /// Words have vectors: the session's are those of the built-in table.
    pub has_meanings: bool,
}

impl Context<'_> {
    /// The newest turn within reach that holds `term`.
    pub fn last_mention(&self, term: u32) -> Option<Mention> {
        let turns = self.log.turns();
        let at = self.log.last_holder(term, REACH * 2)?;
        Some(Mention { position: at, distance: turns.len() - at, role: turns.at(at).role })
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

    /// True when a tool result holds the word as a value.
    pub(super) fn scratch_holds(&self, at: usize) -> bool {
        let word = self.text.words()[at];
        let tells = word.is_content() && !word.class.has(Class::GENERIC.or(Class::ITEM)) || word.tag == Tag::Number;
        tells && !self.scratch.is_empty() && self.scratch.iter().any(|entry| entry.holds(self.text.folded(at)))
    }

    fn similarity(&self, position: usize) -> f32 {
        self.similarities.get(position).copied().unwrap_or(0.0)
    }
}

/// Probability above which a candidate counts although its form speaks against it.
const SURE: f32 = 0.75;

/// A definite phrase none of whose words the log has: most likely it brings its own subject ("edit the config file").
fn unheard_of(candidate: &Candidate, context: &Context<'_>) -> bool {
    matches!(candidate.shape, Shape::Definite | Shape::DefiniteBare)
        && context.scratch.is_empty()
        && !candidate
            .words
            .clone()
            .map(|at| context.text.words()[at])
            .any(|w| w.is_content() && context.log.frequency(w.term) > 0)
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

/// Scans the turn for referential expressions and resolves each (R028-13, R028-14). Candidates that the model takes for
/// something else are left out; those it takes for references that find nothing are returned without a target (G-16).
pub fn resolve_references(context: &Context<'_>) -> Vec<Reference> {
    let mut resolved: Vec<Reference> = Vec::new();
    let candidates = detect_referential_expressions(context.source, context.text);
    let scene = Scene::new(context);
    let mut accepted: Vec<usize> = Vec::new();
    let mut meaning = Vec::new();
    for (at, candidate) in candidates.iter().enumerate() {
        meaning_of(candidate, context, &mut meaning);
        let probability = points_out(candidate, &candidates[..at], &meaning, &scene);
        let doubtful = unheard_of(candidate, context)
            || context.text.grammar().generic_article
                && matches!(candidate.shape, Shape::Definite | Shape::DefiniteBare)
                && !names_output(candidate, context)
            || candidate.shape == Shape::It && pleonastic(context.text, candidate.words.start);
        let threshold = if names_output(candidate, context) { NAMED } else { detection_threshold(candidate.shape) };
        if probability < threshold
            || bare(candidate, context)
            || doubtful && probability < SURE
            || accepted.iter().any(|other| repeats(&candidates[*other], candidate, context.text))
        {
            continue;
        }
        accepted.push(at);
        resolved.push(resolve(candidate, probability, &scene));
    }
    resolved
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

/// Probability that a candidate points out of the turn.
pub(super) fn points_out(candidate: &Candidate, earlier: &[Candidate], meaning: &[f32], scene: &Scene<'_>) -> f32 {
    static MODEL: OnceLock<Linear> = OnceLock::new();
    let model = MODEL.get_or_init(|| model::linear("reference", &CANDIDATE_FEATURES));
    sigmoid(model.read(&candidate_features(candidate, earlier, scene), meaning))
}

fn detection_threshold(shape: Shape) -> f32 {
    static THRESHOLDS: OnceLock<[f32; 2]> = OnceLock::new();
    let [structural, described] =
        *THRESHOLDS.get_or_init(|| [model::threshold("reference.structural"), model::threshold("reference.described")]);
    if matches!(shape, Shape::Ordinal | Shape::Turn | Shape::Action) { structural } else { described }
}

/// What the models see of every candidate of a turn, for fitting their weights.
pub fn inspect(context: &Context<'_>) -> Vec<CandidateInspection> {
    let turns = context.log.turns();
    let scene = Scene::new(context);
    let candidates = detect_referential_expressions(context.source, context.text);
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
            targets: (scene.first()..turns.len())
                .map(|turn| (turns.at(turn).id, Sought::new(candidate, &scene).features(turn, &scene).to_vec()))
                .collect(),
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
    alternatives: Vec<Target>,
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
            alternatives: Vec::new(),
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
    let list = newest_list(candidate, selector, scene);
    let tool = newest_rows(candidate, selector, context);
    let tool_is_newer = match (&list, &tool) {
        (Some((turn, list, _)), Some((ordinal, ..))) => {
            tool_after(context, *ordinal, turn.id)
                || list.kind == EnumerationKind::Inline && tool_after(context, *ordinal, turn.id.saturating_sub(1))
        }
        (None, Some(_)) => true,
        _ => false,
    };
    if let Some((ordinal, rows)) = tool.filter(|_| tool_is_newer) {
        return Some(Found { rows, ..Found::at(ReferenceType::Ordinal, Target::Scratch(ordinal), Reason::ToolRow) });
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
    if let Some(mention) = named.and_then(|at| scene.context.last_mention(words[at].term)) {
        let turn = scene.context.log.turns().at(mention.position).id;
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
    let (ordinal, spans) = named_rows(context.scratch.iter(), &[context.text.folded(head)], fits)?;
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
/// with the last answers.
fn all_of(candidate: &Candidate, context: &Context<'_>) -> Option<Found> {
    const REACH: usize = 6;
    let Some(Selector::All(n)) = candidate.selector else { return None };
    if context.text.words()[candidate.words.clone()].iter().any(|word| word.class.has(Class::OTHER)) {
        return None;
    }
    let listed = |turn: &Turn<'_>| {
        turn.lists().any(|list| list.items.len() == n as usize && list.kind != EnumerationKind::Inline)
    };
    let turn = context.log.turns().iter().rev().take(REACH).find(listed);
    let entry = context.scratch.iter().rev().find(|entry| entry.rows == n);
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

/// Lists are weighed: newer is better, written out is better than commas in prose, an answer is better than a question, and
/// what the turn says of the list should stand in it or in the question it answers.
fn newest_list<'a>(
    candidate: &Candidate,
    selector: &Selector,
    scene: &Scene<'a>,
) -> Option<(Turn<'a>, &'a Enumeration, Vec<u32>)> {
    let context = scene.context;
    let head = candidate.head.map(|at| context.text.words()[at]).filter(|w| !w.class.has(Class::ONE));
    let near = Topic::after(candidate, scene);
    let whole = Topic::of(0..context.text.words().len(), scene);
    let written = matches!(selector, Selector::Label(_))
        || candidate.head.is_none() && context.text.words()[candidate.words.start].tag == Tag::Number;
    let turns = context.log.turns();
    let mut best: Option<(f32, Turn<'_>, &Enumeration, Vec<u32>)> = None;
    for (position, turn) in turns.iter().enumerate().rev().take(REACH * 2) {
        let question =
            position.checked_sub(1).map(|before| turns.at(before)).filter(|before| before.role == Role::User);
        let distance = turns.len() - 1 - position;
        for list in turn.lists() {
            let Some(positions) = positions(selector, list) else { continue };
            let named = head.is_some_and(|w| turn.terms.contains(&w.term));
            let prose = f32::from(u8::from(written && list.kind == EnumerationKind::Inline));
            let score = list_weight(list) - 0.5 * prose + f32::from(u8::from(turn.role == Role::Assistant)) * 0.3
                - (distance as f32 * 0.12).min(0.9)
                + near.share(&turn, question.as_ref()) * 1.5
                + whole.share(&turn, question.as_ref()) * 0.6
                + 0.5 * context.similarity(position)
                + f32::from(u8::from(named)) * 0.25;
            if best.as_ref().is_none_or(|(top, ..)| score > *top) {
                best = Some((score, turn, list, positions));
            }
        }
    }
    best.map(|(_, turn, list, positions)| (turn, list, positions))
}

/// Content words with their rarity in the log, to look up in turns.
struct Topic {
    terms: Vec<(u32, f32)>,
    total: f32,
}

impl Topic {
    fn of(words: Range<usize>, scene: &Scene<'_>) -> Self {
        const ASIDE: Class = Class::SAID.or(Class::SPEECH).or(Class::ORDINAL).or(Class::LAST).or(Class::EARLIER);
        let all = scene.context.text.words();
        let content = words.filter(|at| all[*at].is_content() && !all[*at].class.has(ASIDE));
        let (mut terms, mut total) = (Vec::new(), 0.0);
        for at in content {
            total += scene.idf(at);
            if scene.knows(at) {
                terms.push((all[at].term, scene.idf(at)));
            }
        }
        Self { terms, total }
    }

    /// What the phrase behind an expression says: "the second tip *for the garden*", "what you said *about rent*".
    fn after(candidate: &Candidate, scene: &Scene<'_>) -> Self {
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

    /// Share of the topic that a turn or the question it answers holds.
    fn share(&self, turn: &Turn<'_>, question: Option<&Turn<'_>>) -> f32 {
        let holds =
            |term: &u32| turn.terms.contains(term) || question.is_some_and(|question| question.terms.contains(term));
        if self.total > 0.0 {
            self.terms.iter().filter(|(term, _)| holds(term)).map(|(_, idf)| idf).sum::<f32>() / self.total
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

fn newest_rows(candidate: &Candidate, selector: &Selector, context: &Context<'_>) -> Option<(u32, Vec<Item>)> {
    if matches!(selector, Selector::Label(_)) && context.text.words()[candidate.words.start].tag != Tag::Number {
        return None;
    }
    let words = head_words(candidate, context);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ordinal = context.scratch.latest(ToolKind::Rows, &words)?;
    let entry = context.scratch.get(ordinal)?;
    let spans = rows(&entry.raw);
    let positions = selector.positions(spans.len() as u32)?;
    let items = positions
        .iter()
        .map(|n| Item { number: n - 1, text: entry.raw[spans[*n as usize - 1].clone()].to_owned() })
        .collect();
    Some((ordinal, items))
}

/// True when a tool result came after a turn: it was produced in the group of that turn's user message or a later one,
/// and the answer that followed it did not list anything itself.
fn tool_after(context: &Context<'_>, ordinal: u32, turn: u32) -> bool {
    context.scratch.get(ordinal).is_some_and(|entry| entry.turn >= turn)
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
    let spoken: Vec<Turn<'_>> = log.turns().iter().filter(|turn| turn.role == role).collect();
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
fn best_about(topic: &Topic, role: Role, context: &Context<'_>) -> Option<u32> {
    let turns = context.log.turns();
    let mut best: Option<(f32, u32)> = None;
    for (position, turn) in turns.iter().enumerate().filter(|(_, turn)| turn.role == role) {
        let question = position.checked_sub(1).map(|before| turns.at(before)).filter(|before| before.role != role);
        let share = 0.7 * topic.share(&turn, None) + 0.3 * topic.share(&turn, question.as_ref());
        let score = share + 0.3 * context.similarity(position);
        if share >= 0.3 && best.is_none_or(|(top, _)| score >= top) {
            best = Some((score, turn.id));
        }
    }
    best.map(|(_, id)| id)
}

// ---- action --------------------------------------------------------------------------------------------------------

/// The last thing that was asked for, and the turn that answered it (G-30); the one about the subject named, if one is
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
    if let Some(answer) = context.log.last(Role::Assistant).filter(|_| told) {
        return Found::at(ReferenceType::Action, Target::Turn(answer.id), Reason::LastAction);
    }
    let asked = turns
        .iter()
        .rev()
        .find(|turn| turn.role == Role::User && (turn.request || turn.question))
        .or_else(|| context.log.last(Role::User));
    let Some(asked) = asked else { return Found::nothing(ReferenceType::Action, Reason::NoAntecedent) };
    let answer = turns.iter().find(|turn| turn.id > asked.id && turn.role == Role::Assistant);
    match answer {
        Some(answer) => Found {
            alternatives: vec![Target::Turn(asked.id)],
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
        let ordinal = context.scratch.latest(ToolKind::of_noun(context.text.role(head)), &words)?;
        return Some(Found::at(ReferenceType::Tool, Target::Scratch(ordinal), Reason::ToolOutput));
    }
    let entry = context.scratch.iter().rev().find(|entry| entry.knows(folded))?;
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
    let found = described(&context.scratch.iter(), &words, wanted).filter(|found| found.score >= LEAST)?;
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

/// A candidate as its antecedents see it: what does not depend on the turn looked at.
struct Sought<'c> {
    candidate: &'c Candidate,
    /// Bit n: the n-th turn within reach holds the head.
    heads: u32,
    newest: Option<usize>,
    modifiers: usize,
    pronoun: f32,
    definite: f32,
    described: f32,
    near: f32,
    far: f32,
    mine: bool,
}

impl<'c> Sought<'c> {
    fn new(candidate: &'c Candidate, scene: &Scene<'_>) -> Self {
        let flag = |holds: bool| f32::from(u8::from(holds));
        let words = scene.context.text.words();
        let head = candidate.head.map(|at| words[at]).filter(Word::is_content);
        let known = candidate.head.is_some_and(|at| scene.knows(at));
        let reach = scene.context.log.turns().since(scene.first());
        let heads = head.filter(|_| known).map_or(0, |head| {
            let holders = reach.iter().enumerate().filter(|(_, turn)| turn.terms.contains(&head.term));
            holders.fold(0u32, |bits, (at, _)| bits | 1 << at)
        });
        let first = words[candidate.words.start];
        Self {
            candidate,
            heads,
            newest: (heads != 0).then(|| scene.first() + 31 - heads.leading_zeros() as usize),
            modifiers: modifiers(candidate, words).count(),
            pronoun: flag(head.is_none()),
            definite: flag(matches!(candidate.shape, Shape::Definite | Shape::DemonstrativeNoun | Shape::Such)),
            described: flag(head.is_some() && candidate.shape != Shape::Possessive),
            near: flag(first.class.has(Class::NEAR)),
            far: flag(first.class.has(Class::FAR)),
            mine: words[candidate.words.clone()].iter().skip(1).any(|w| w.class.has(Class::FIRST)),
        }
    }

    /// The numbers of the turn at `position` as antecedent.
    fn features(&self, position: usize, scene: &Scene<'_>) -> [f32; TARGET_FEATURES.len()] {
        let flag = |holds: bool| f32::from(u8::from(holds));
        let context = scene.context;
        let Self { candidate, pronoun, definite, described, .. } = *self;
        let words = context.text.words();
        let turns = context.log.turns();
        let turn = turns.at(position);
        let distance = turns.len() - position;
        let bit = 1u32 << (position - scene.first());
        let head_here = self.heads & bit != 0;
        let oldest = head_here && self.heads & (bit - 1) == 0;
        let newest = self.newest == Some(position);
        let held =
            modifiers(candidate, words).filter(|at| scene.knows(*at) && turn.terms.contains(&words[*at].term)).count();
        let overlap = scene.overlap(candidate, position);
        let last_answer = flag(turn.role == Role::Assistant && distance <= 2);
        let last_user = flag(turn.role == Role::User && distance <= 2);
        let similarity = context.similarity(position);
        let partner = if turn.role == Role::User { position + 1 } else { position.wrapping_sub(1) };
        let exchange = if turns.get(partner).is_some_and(|other| other.role != turn.role) {
            overlap.max(scene.overlap(candidate, partner))
        } else {
            overlap
        };
        let referred = context.log.last(Role::User).is_some_and(|last| last.references().any(|id| id == turn.id));
        let most_similar = similarity > 0.0 && similarity >= scene.most_similar;
        let alone = flag(!scene.answered);
        [
            0.5f32.powf(distance as f32 / 3.0),
            flag(distance == 1),
            last_answer,
            last_user,
            flag(turn.role == Role::User),
            flag(head_here),
            flag(newest),
            flag(oldest),
            held as f32 / self.modifiers.max(1) as f32,
            overlap,
            similarity,
            flag(turn.question),
            flag(turn.list),
            pronoun * last_answer,
            pronoun * last_user,
            pronoun * overlap,
            definite * flag(head_here),
            flag(turn.terms.len() < 8),
            flag(turn.named),
            turn.terms.len().min(40) as f32 / 40.0,
            last_answer * turn.terms.len().min(40) as f32 / 40.0,
            similarity - context.similarity_last(),
            exchange,
            pronoun * flag(referred),
            pronoun * similarity,
            described * similarity,
            described * flag(most_similar),
            self.near * last_answer,
            self.far * last_answer,
            definite * flag(oldest),
            definite * flag(turn.role == Role::User),
            flag(self.mine && turn.role == Role::User),
            alone * flag(distance == 1),
            alone * flag(position == 0),
            alone * flag(turn.terms.len() < 3),
            alone * similarity,
            alone * flag(referred),
            flag(turns.last().is_some_and(|last| last.thread == turn.thread)),
        ]
    }
}

/// The content words of an expression beside its head.
fn modifiers<'w>(candidate: &'w Candidate, words: &'w [Word]) -> impl Iterator<Item = usize> + 'w {
    candidate.words.clone().filter(|at| Some(*at) != candidate.head && words[*at].is_content())
}

/// The turn within reach that fits best; the most recent mention when the expression names something (R028-14).
fn entity(candidate: &Candidate, scene: &Scene<'_>) -> Found {
    let context = scene.context;
    static MODEL: OnceLock<Linear> = OnceLock::new();
    let model = MODEL.get_or_init(|| model::linear("target", &TARGET_FEATURES));
    let turns = context.log.turns();
    // "those results" when no tool has given any and nobody spoke of results (G-16).
    let missing = candidate.head.is_some_and(|at| context.text.words()[at].class.has(Class::TOOL) && !scene.knows(at));
    if missing && context.scratch.is_empty() {
        return Found::nothing(ReferenceType::Tool, Reason::NoTool);
    }
    let sought = Sought::new(candidate, scene);
    let score = |at| model.score(&sought.features(at, scene));
    // The best and the two next to it, the newer first among equals.
    let mut top: [(f32, usize); 3] = [(f32::MIN, usize::MAX); 3];
    for at in (scene.first()..turns.len()).rev() {
        let mut entry = (score(at), at);
        for kept in &mut top {
            if entry.0 > kept.0 {
                std::mem::swap(kept, &mut entry);
            }
        }
    }
    let best = top[0].1;
    if best == usize::MAX {
        return Found::nothing(ReferenceType::Entity, Reason::NoAntecedent);
    }
    let named = candidate.head.is_some_and(|at| turns.at(best).terms.contains(&context.text.words()[at].term));
    let alternatives =
        top[1..].iter().filter(|(_, at)| *at != usize::MAX).map(|(_, at)| Target::Turn(turns.at(*at).id)).collect();
    Found {
        alternatives,
        ..Found::at(
            ReferenceType::Entity,
            Target::Turn(turns.at(best).id),
            if named { Reason::RecentMention } else { Reason::BestMention },
        )
    }
}
