//! Per-turn classification in the `default` profile (SPEC-028 §5): detect, resolve, file, then decide (G-16).

use std::ops::Range;
use std::sync::OnceLock;

use crate::blend::Blend;
use crate::config::{Settings, Thresholds};
use crate::intent::{Intent, Novelty};
use crate::mentions::Mentions;
use crate::model::{self, Panel, log_count, sigmoid};
use crate::needs::{self, Needs, REACH};
use crate::references::{self, Context, Reason, Reference, ReferenceType, Shape, Target, resolve_references};
use crate::text::{Class, Gap, Pack, PhraseKind, Tag, Text, Word};
use crate::threads::{self, Decision, Evidence, ThreadEvent, Threads, assign};
use crate::turn_log::{Role, Seen, TurnLog};

/// Where similarities came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SimilaritySource {
    /// Vectors.
    Embedding,
    /// Shared words and letters.
    Lexical,
    /// Nothing to compare.
    #[default]
    None,
}

impl SimilaritySource {
    /// All sources.
    pub const ALL: [Self; 3] = [Self::Embedding, Self::Lexical, Self::None];

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Embedding => "embedding",
            Self::Lexical => "lexical",
            Self::None => "none",
        }
    }
}

/// What a turn asks for once references and ellipsis are filled in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// Turns whose terms and vectors it carries.
    pub turns: Vec<u32>,
    /// Content words: the turn's own, then those it carries.
    pub terms: Vec<u32>,
}

/// What is known of a turn before anything is packed.
#[derive(Clone, Debug, PartialEq)]
pub struct Classification {
    /// What the user wants.
    pub intent: Intent,
    /// In [0, 1].
    pub confidence: f32,
    /// Why.
    pub reason: Reason,
    /// What it points at.
    pub references: Vec<Reference>,
    /// It is incomplete and completed from the log.
    pub ellipsis: bool,
    /// The turn it answers or extends.
    pub carries_over: Option<u32>,
    /// It cannot be understood without the log.
    pub context_dependent: bool,
    /// It asks for a piece of writing.
    pub document_request: bool,
    /// Where it is filed.
    pub thread: Decision,
    /// Tier weights.
    pub blend: Blend,
    /// Tier P's novelty policy.
    pub novelty: Novelty,
    /// Largest calibrated similarity to the active thread's turns.
    pub similarity: f32,
    /// Where similarities came from.
    pub source: SimilaritySource,
    /// Index of the marker pack.
    pub locale: u16,
    /// What to search for.
    pub query: Query,
    /// Content words of the turn itself.
    pub terms: Vec<u32>,
    /// How much it needs each earlier turn, in log-odds, by position in the log, if it is classified for packing.
    pub needs: Vec<f32>,
}

/// What classification reads.
#[derive(Debug)]
pub struct Input<'a> {
    /// References are resolved against this.
    pub context: Context<'a>,
    /// Threads of the session.
    pub threads: &'a Threads,
    /// Calibrated similarity to each turn, by position; empty without.
    pub calibrated: &'a [f32],
    /// Recency weights by distance; beyond its end they are 0.
    pub recency: &'a [f32],
    /// Where similarities came from.
    pub source: SimilaritySource,
    /// The marker pack in use.
    pub pack: &'a Pack,
    /// Speaker of the turn.
    pub speaker: u16,
    /// What the turn means: its vector of the built-in table, empty without.
    pub meaning: &'a [f32],
    /// Turns are selected next: what it needs of all of them is worked out, not only of those it may extend.
    pub packing: bool,
}

/// Names of the numbers intents are decided on.
pub const INTENT_FEATURES: [&str; 61] = [
    "reference.entity",
    "reference.turn",
    "reference.ordinal",
    "reference.action",
    "reference.best",
    "reference.unresolved",
    "reference.pronoun-only",
    "phrase.clarify",
    "phrase.challenge",
    "phrase.continue",
    "phrase.follow-up",
    "phrase.answer",
    "phrase.return",
    "phrase.digress",
    "phrase.said",
    "phrase.clarify-short",
    "phrase.continue-short",
    "question",
    "words",
    "short",
    "long",
    "opens.interjection",
    "opens.request",
    "opens.wh",
    "opens.conjunction",
    "opens.negation",
    "opens.first",
    "verb",
    "sentences",
    "similarity.active",
    "similarity.last-answer",
    "similarity.last-user",
    "overlap.last-user",
    "overlap.last-answer",
    "unseen",
    "answers-question",
    "ellipsis",
    "thread.new",
    "thread.resume",
    "thread.stay",
    "log.first",
    "log.length",
    "names",
    "tool",
    "repeat.last-user",
    "additive",
    "no-content",
    "reference.last-sentence",
    "reference.aside",
    "reference.speech",
    "phrase.repair",
    "phrase.rephrase",
    "answer.refusal",
    "question.negated",
    "question.tag",
    "opens.additive",
    "opens.greeting",
    "last.content",
    "last.question",
    "refusal.repeat",
    "question.reference",
];

/// The four intents a model tells apart; tool references are decided by what they resolved to.
pub const MODELLED: [Intent; 4] = [Intent::Explore, Intent::DrillDown, Intent::Clarify, Intent::Continue];

/// What later steps ask about again and again.
#[derive(Clone, Copy, Debug)]
struct Form {
    words: usize,
    /// The word that the turn opens with.
    first: Word,
    /// Classes of any word.
    classes: Class,
    finite: bool,
    answers_question: bool,
    /// The last answer said that it has none.
    refused: bool,
    names: usize,
    /// First word of the last sentence, and its place in the source.
    last_sentence: usize,
    last_from: usize,
    /// Content words of the last sentence.
    last_content: usize,
    /// The last sentence asks for something.
    last_asks: bool,
    /// Largest calibrated similarity to the active thread's turns.
    active_similarity: f32,
    /// Calibrated similarity to the last answer.
    answer_similarity: f32,
    /// Share of the content words that no turn holds.
    unseen: f32,
}

impl Form {
    fn of(input: &Input<'_>) -> Self {
        let Context { text, log, mentions, .. } = input.context;
        let words = text.words();
        let answer = log.turns().last().filter(|turn| turn.role == Role::Assistant);
        let last_sentence = words.last().map_or(0, |last| words.partition_point(|word| word.sentence < last.sentence));
        let last = &words[last_sentence..];
        Self {
            words: text.length(),
            first: words.get(text.opener(0)).copied().unwrap_or_default(),
            classes: words.iter().fold(Class::NONE, |all, word| all.or(word.class)),
            finite: words.iter().any(is_finite),
            answers_question: answer.is_some_and(|turn| turn.question),
            refused: answer.is_some_and(|turn| turn.refusal),
            names: words.iter().filter(|word| word.is_name()).count(),
            last_sentence,
            last_from: last.first().map_or(0, |word| word.start as usize),
            last_content: last.iter().filter(|word| word.is_content()).count(),
            last_asks: text.is_question() || text.requests(last_sentence) || text.asks(last_sentence),
            active_similarity: active_similarity(input),
            answer_similarity: similarity_to(input, Role::Assistant),
            unseen: mentions.unseen(),
        }
    }
}

fn is_finite(word: &Word) -> bool {
    word.tag == Tag::Verb || word.class.has(Class::BE.or(Class::AUXILIARY))
}

/// "isn't it", "don't you".
fn is_negated_question(text: &Text) -> bool {
    let negated = |pair: &[Word]| {
        pair[0].class.has(Class::BE.or(Class::AUXILIARY)) && pair[1].class.has(Class::NEGATION) && pair[0].opens()
    };
    text.is_question() && text.words().windows(2).any(negated)
}

/// ", right?"
fn is_tag_question(text: &Text) -> bool {
    const TAG: Class = Class::EVALUATIVE.or(Class::INTERJECTION);
    let closes = |word: &Word| word.class.has(TAG) && word.gap.has(Gap::PAUSE);
    text.is_question() && text.words().len() > 3 && text.words().last().is_some_and(closes)
}

/// Largest confidence among resolved references whose span satisfies `which`.
fn strongest(references: &[Reference], which: impl Fn(&Reference) -> bool) -> f32 {
    references.iter().filter(|r| r.target.is_some() && which(r)).map(|r| r.confidence).fold(0.0, f32::max)
}

/// Names of the numbers that tell whether a turn is elliptical, and whether it depends on the log.
pub const DEPENDENCE_FEATURES: [&str; 42] = [
    "words",
    "short",
    "finite",
    "question",
    "answers-question",
    "phrase.follow-up",
    "phrase.answer",
    "phrase.continue",
    "phrase.clarify",
    "phrase.action",
    "opens.conjunction",
    "opens.interjection",
    "opens.wh",
    "opens.preposition",
    "opens.request",
    "reference.best",
    "reference.count",
    "no-content",
    "content",
    "unseen",
    "names",
    "similarity.active",
    "similarity.last-answer",
    "additive",
    "other",
    "compare",
    "first-person",
    "log.unanswered",
    "wh-without-noun",
    "sentences",
    "reference.last-sentence",
    "reference.aside",
    "phrase.repair",
    "phrase.rephrase",
    "answer.refusal",
    "opens.greeting",
    "last.content",
    "last.question",
    "last.names",
    "last.unseen",
    "last.finite",
    "thanks",
];

/// The numbers behind ellipsis and context dependence.
fn dependence_features(input: &Input<'_>, form: &Form, references: &[Reference]) -> [f32; DEPENDENCE_FEATURES.len()] {
    let flag = |holds: bool| f32::from(u8::from(holds));
    let Context { text, log, mentions, .. } = input.context;
    let terms = mentions.terms();
    let first = form.first.class;
    let phrase = |kind: PhraseKind| flag(text.phrase(kind).is_some());
    let leading = |kind: PhraseKind| flag(text.phrase(kind).is_some_and(|p| p.words.start <= 2));
    let any = |class: Class| flag(form.classes.has(class));
    let last = &text.words()[form.last_sentence..];
    let new = |(at, word): &(usize, &Word)| word.is_content() && mentions.frequency(*at, text, log) == 0;
    [
        log_count(form.words) / 4.0,
        flag(form.words <= 4),
        flag(form.finite),
        flag(text.is_question()),
        flag(form.answers_question),
        leading(PhraseKind::FollowUp),
        leading(PhraseKind::Answer),
        leading(PhraseKind::Continue),
        phrase(PhraseKind::Clarify),
        phrase(PhraseKind::Action),
        flag(first.has(Class::CONJUNCTION)),
        flag(first.has(Class::INTERJECTION)),
        flag(text.asks(0)),
        flag(first.has(Class::PREPOSITION)),
        flag(text.requests(0)),
        strongest(references, |_| true),
        references.len().min(3) as f32 / 3.0,
        flag(terms.is_empty()),
        terms.len().min(8) as f32 / 8.0,
        form.unseen,
        form.names.min(3) as f32 / 3.0,
        form.active_similarity,
        form.answer_similarity,
        any(Class::ADDITIVE),
        any(Class::OTHER),
        any(Class::COMPARE),
        any(Class::FIRST.or(Class::POSSESSIVE_FIRST)),
        flag(log.last_position(Role::Assistant).is_none()),
        flag(text.asks(0) && terms.len() <= 1),
        f32::from(text.sentences().min(4)) / 4.0,
        strongest(references, |r| r.span.start >= form.last_from),
        strongest(references, |r| r.span.start < form.last_from),
        phrase(PhraseKind::Repair),
        phrase(PhraseKind::Rephrase),
        flag(form.refused),
        flag(first.has(Class::GREETING)),
        form.last_content.min(8) as f32 / 8.0,
        flag(form.last_asks),
        last.iter().filter(|word| word.is_name()).count().min(3) as f32 / 3.0,
        (form.last_sentence..).zip(last).filter(new).count() as f32 / form.last_content.max(1) as f32,
        flag(last.iter().any(is_finite)),
        flag(form.classes.has(Class::INTERJECTION) && !text.is_question()),
    ]
}

fn active_similarity(input: &Input<'_>) -> f32 {
    let Some(active) = input.threads.active(input.speaker) else { return 0.0 };
    let turns = input.context.log.traits();
    input
        .calibrated
        .iter()
        .zip(turns)
        .filter(|(_, turn)| turn.thread == active && turn.role() == Role::User)
        .map(|(s, _)| *s)
        .fold(0.0, f32::max)
}

fn similarity_to(input: &Input<'_>, role: Role) -> f32 {
    input.context.log.last_position(role).and_then(|at| input.calibrated.get(at).copied()).unwrap_or(0.0)
}

/// The numbers behind the intent.
fn intent_features(
    input: &Input<'_>,
    form: &Form,
    references: &[Reference],
    ellipsis: f32,
    thread: Decision,
) -> [f32; INTENT_FEATURES.len()] {
    let flag = |holds: bool| f32::from(u8::from(holds));
    let Context { text, log, mentions, .. } = input.context;
    let words = text.words();
    let terms = mentions.terms();
    let first = form.first.class;
    let phrase = |kind: PhraseKind| flag(text.phrase(kind).is_some());
    let resolved = |kind: ReferenceType| strongest(references, |r| r.kind == kind);
    let overlap = |role: Role| log.last_position(role).map_or(0.0, |at| mentions.overlap(at, log));
    let overlap_user = overlap(Role::User);
    let short = form.words <= 6;
    let in_last = strongest(references, |r| r.span.start >= form.last_from);
    let speech = |end: usize| words.iter().any(|w| w.end as usize == end && w.class.has(Class::SPEECH));
    let pronoun_only =
        !references.is_empty() && references.iter().all(|r| input.context.source[r.span.clone()].chars().count() <= 5);
    [
        resolved(ReferenceType::Entity),
        resolved(ReferenceType::Turn),
        resolved(ReferenceType::Ordinal),
        resolved(ReferenceType::Action),
        strongest(references, |_| true),
        flag(references.iter().any(|r| r.target.is_none())),
        flag(pronoun_only),
        phrase(PhraseKind::Clarify),
        phrase(PhraseKind::Challenge),
        phrase(PhraseKind::Continue),
        phrase(PhraseKind::FollowUp),
        phrase(PhraseKind::Answer),
        phrase(PhraseKind::Return),
        phrase(PhraseKind::Digress),
        phrase(PhraseKind::Said),
        phrase(PhraseKind::Clarify) * flag(form.words <= 12),
        phrase(PhraseKind::Continue) * flag(short),
        flag(text.is_question()),
        log_count(form.words) / 4.0,
        flag(form.words <= 4),
        flag(form.words > 25),
        flag(first.has(Class::INTERJECTION)),
        flag(text.requests(0)),
        flag(text.asks(0)),
        flag(first.has(Class::CONJUNCTION)),
        flag(words.iter().take(3).any(|w| w.class.has(Class::NEGATION)) || !words.is_empty() && text.role(0) == "no"),
        flag(first.has(Class::FIRST)),
        flag(form.finite),
        f32::from(text.sentences().min(4)) / 4.0,
        form.active_similarity,
        form.answer_similarity,
        similarity_to(input, Role::User),
        overlap_user,
        overlap(Role::Assistant),
        form.unseen,
        flag(form.answers_question),
        ellipsis,
        flag(thread.event == ThreadEvent::New),
        flag(thread.event == ThreadEvent::Resume),
        flag(matches!(thread.event, ThreadEvent::Stay | ThreadEvent::Join)),
        flag(log.is_empty()),
        log_count(log.len()) / 5.0,
        form.names.min(3) as f32 / 3.0,
        resolved(ReferenceType::Tool),
        flag(overlap_user > 0.6 && terms.len() >= 2),
        flag(form.classes.has(Class::ADDITIVE)),
        flag(terms.is_empty()),
        in_last,
        strongest(references, |r| r.span.start < form.last_from),
        strongest(references, |r| speech(r.span.end)),
        phrase(PhraseKind::Repair),
        phrase(PhraseKind::Rephrase),
        flag(form.refused),
        flag(is_negated_question(text)),
        flag(is_tag_question(text)),
        flag(first.has(Class::ADDITIVE)),
        flag(first.has(Class::GREETING)),
        form.last_content.min(8) as f32 / 8.0,
        flag(form.last_asks),
        flag(form.refused) * overlap_user,
        flag(text.is_question()) * in_last,
    ]
}

struct Models {
    /// Ellipsis and context dependence.
    dependence: Panel<2>,
    /// Probabilities from which on a turn is elliptical, and depends on the log.
    ellipsis: f32,
    context: f32,
    intents: Panel<4>,
}

fn models() -> &'static Models {
    static MODELS: OnceLock<Models> = OnceLock::new();
    MODELS.get_or_init(|| Models {
        dependence: Panel::new(["ellipsis", "context"], &DEPENDENCE_FEATURES),
        ellipsis: model::threshold("ellipsis"),
        context: model::threshold("context"),
        intents: Panel::new(
            MODELLED.map(|intent| format!("intent.{}", intent.name())).each_ref().map(String::as_str),
            &INTENT_FEATURES,
        ),
    })
}

/// How likely the turn is incomplete, and whether it cannot be understood without the log.
fn dependence(input: &Input<'_>, form: &Form, references: &[Reference]) -> (f32, bool) {
    if input.context.log.is_empty() {
        return (0.0, false);
    }
    let features = dependence_features(input, form, references);
    let [ellipsis, context] = models().dependence.read(&features, input.meaning).map(sigmoid);
    (ellipsis, context > models().context)
}

/// Lists that classification works with and fills, reused from turn to turn.
#[derive(Debug, Default)]
pub struct Buffers {
    resolving: references::Buffers,
    threads: threads::Buffers,
    needing: needs::Buffers,
    recent: Vec<f32>,
    references: Vec<Reference>,
    query: Query,
    terms: Vec<u32>,
    needs: Vec<f32>,
}

impl Buffers {
    /// Takes the lists of a classification that is no longer wanted, to be filled again.
    pub fn reuse(&mut self, of: Classification) {
        let Classification { references, query, terms, needs, .. } = of;
        *self = Self { references, query, terms, needs, ..std::mem::take(self) };
    }
}

/// Classifies a turn: references, ellipsis, thread, intent, blend and query, in this order.
pub fn classify(input: &Input<'_>, settings: &Settings<'_>, buffers: &mut Buffers) -> Classification {
    let Context { text, log, mentions, .. } = input.context;
    let terms = mentions.terms();
    let mut references = std::mem::take(&mut buffers.references);
    resolve_references(&input.context, &mut buffers.resolving, &mut references);
    let form = Form::of(input);
    let (ellipsis, context_dependent) = dependence(input, &form, &references);
    let empty = log.is_empty();
    let evidence = evidence_of(input, &references, context_dependent);
    let thread = assign(input.threads, &evidence, settings.thresholds, &mut buffers.threads);
    settle(&mut references, input, thread, context_dependent, buffers);
    let (intent, confidence, reason) = decide(input, &form, &references, ellipsis, thread);
    // Whatever goes back to what was said depends on it, however self-contained it looks.
    let context_dependent =
        context_dependent || !empty && matches!(intent, Intent::DrillDown | Intent::Clarify | Intent::ToolReference);
    let ellipsis = ellipsis > models().ellipsis;
    let needed = || needs_of(input, &references, thread, context_dependent, ellipsis);
    let mut needs = std::mem::take(&mut buffers.needs);
    needs.clear();
    if input.packing {
        needed().recent_scores(usize::MAX, &mut buffers.needing, &mut needs);
    }
    let mut carries_over = None;
    if ellipsis || context_dependent {
        let reach = reach(input, thread.thread);
        let mut recent = &needs;
        if needs.is_empty() {
            needed().recent_scores(reach, &mut buffers.needing, &mut buffers.recent);
            recent = &buffers.recent;
        }
        carries_over = carried(&recent[recent.len().saturating_sub(reach)..], log, thread.thread);
    }
    let query = query(&references, carries_over, terms, log, std::mem::take(&mut buffers.query));
    let mut own = std::mem::take(&mut buffers.terms);
    own.clear();
    own.extend_from_slice(terms);
    Classification {
        intent,
        confidence,
        reason,
        ellipsis,
        carries_over,
        context_dependent,
        document_request: form.classes.has(Class::DOCUMENT) && document_request(text),
        thread,
        blend: settings.blend(intent),
        novelty: intent.novelty(),
        similarity: form.active_similarity,
        source: input.source,
        locale: input.pack.index(),
        query,
        references,
        terms: own,
        needs,
    }
}

/// What a classified turn needs of the log it was classified against; the rest as in [`Input`].
pub fn needs<'a>(
    log: &'a TurnLog,
    text: &'a Text,
    mentions: &'a Mentions,
    calibrated: &'a [f32],
    recency: &'a [f32],
    of: &'a Classification,
) -> Needs<'a> {
    Needs::new(needs::Evidence {
        text,
        log,
        similarities: calibrated,
        references: &of.references,
        mentions,
        thread: of.thread.thread,
        dependent: of.context_dependent,
        ellipsis: of.ellipsis,
        recency,
    })
}

/// What a turn's thread is decided on.
pub(crate) fn evidence_of<'a>(input: &Input<'a>, references: &'a [Reference], dependent: bool) -> Evidence<'a> {
    Evidence {
        text: input.context.text,
        log: input.context.log,
        cosines: input.context.similarities,
        similarities: input.calibrated,
        references,
        mentions: input.context.mentions,
        meaning: input.meaning,
        dependent,
        speaker: input.speaker,
    }
}

/// What references mean once the thread is known.
fn settle(references: &mut [Reference], input: &Input<'_>, thread: Decision, dependent: bool, buffers: &mut Buffers) {
    let returns = thread.event == ThreadEvent::Resume;
    let context = Context { thread: Some(thread.thread), ..input.context };
    references::settle(&context, returns, &buffers.resolving, references);
    if returns {
        bring_home(references, &context, input, thread, dependent, buffers);
    }
}

/// In a turn that returns to a thread, an expression for which nothing of that thread was in reach means the turn of it that is
/// needed most, unless it names what only others have named.
fn bring_home(
    references: &mut [Reference],
    context: &Context<'_>,
    input: &Input<'_>,
    thread: Decision,
    dependent: bool,
    Buffers { needing, recent, resolving, .. }: &mut Buffers,
) {
    let log = input.context.log;
    let inside = |id: u32| log.get(id).is_some_and(|turn| turn.thread == thread.thread);
    let abroad = |target: &Target| matches!(target, Target::Turn(id) if !inside(*id));
    let mut astray = Vec::new();
    for (at, reference) in references.iter_mut().enumerate() {
        let moves = reference.kind == ReferenceType::Entity
            && reference.items.is_empty()
            && reference.target.as_ref().is_some_and(abroad)
            && !references::is_foreign(context, resolving, at);
        astray.extend(reference.target.take_if(|_| moves).map(|target| (at, target)));
    }
    if astray.is_empty() {
        return;
    }
    needs_of(input, references, thread, dependent, false).recent_scores(reach(input, thread.thread), needing, recent);
    let home = carried(recent, log, thread.thread).filter(|id| inside(*id)).map(Target::Turn);
    for (at, target) in astray {
        let others = home.is_some().then_some(target).into_iter().chain(references[at].alternatives.iter().copied());
        references[at].alternatives = others.collect();
        references[at].reason = home.map_or(references[at].reason, |_| Reason::ResumedThread);
        references[at].target = home.or(Some(target));
    }
}

/// The intent, its probability and the reason (G-10 … G-13, G-16, G-17, G-22).
fn decide(
    input: &Input<'_>,
    form: &Form,
    references: &[Reference],
    ellipsis: f32,
    thread: Decision,
) -> (Intent, f32, Reason) {
    if references.iter().any(|r| matches!(r.target, Some(Target::Scratch(_)))) {
        return (Intent::ToolReference, references.iter().map(|r| r.confidence).fold(0.0, f32::max), Reason::ToolNamed);
    }
    if input.context.log.is_empty() {
        return (Intent::Explore, 1.0, Reason::FirstTurn);
    }
    if let Some((intent, reason)) = said_outright(input.context.text) {
        return (intent, 1.0, reason);
    }
    if let Some(reference) = bare(references, input.context.text) {
        return (Intent::DrillDown, reference.confidence, Reason::ReferenceResolved);
    }
    let features = intent_features(input, form, references, ellipsis, thread);
    let (best, probability) = softmax_best(models().intents.read(&features, input.meaning));
    let intent = MODELLED[best];
    (intent, probability, why(intent, input, form, thread, ellipsis))
}

/// The reference that is all a turn says: "that", "the second option?" (G-36).
fn bare<'a>(references: &'a [Reference], text: &Text) -> Option<&'a Reference> {
    let (first, last) = (text.words().first()?, text.words().last()?);
    let whole = |r: &&Reference| r.span.start <= first.start as usize && last.end as usize <= r.span.end;
    references.iter().filter(|r| r.target.is_some()).find(whole)
}

/// Short turns that are a marker and little else need no model: "what do you mean", "explain that again", "go on"
/// (G-10, G-11, G-13, G-22).
fn said_outright(text: &Text) -> Option<(Intent, Reason)> {
    /// Words a turn may have around its marker.
    const AROUND: usize = 5;
    let words = text.words();
    // The marker may close the turn, before a last particle where question words stay in place: "lsof是什么意思".
    let closing = usize::from(text.grammar().wh_in_place);
    let placed = |at: &Range<usize>| at.start <= 3 || at.end + closing >= words.len();
    let near = |kind: PhraseKind, around: usize| {
        text.phrases().iter().any(|p| p.kind == kind && placed(&p.words) && text.length() <= p.words.len() + around)
    };
    if near(PhraseKind::Clarify, AROUND) || near(PhraseKind::Rephrase, 2) || near(PhraseKind::ClarifyAlone, 0) {
        Some((Intent::Clarify, Reason::ClarifyAsked))
    } else if near(PhraseKind::Continue, 0) {
        Some((Intent::Continue, Reason::ContinueAsked))
    } else {
        None
    }
}

fn softmax_best(scores: [f32; 4]) -> (usize, f32) {
    let top = scores.iter().copied().fold(f32::MIN, f32::max);
    let sum: f32 = scores.iter().map(|s| (s - top).exp()).sum();
    let best = scores.iter().position(|s| *s >= top).unwrap_or(0);
    (best, 1.0 / sum)
}

fn why(intent: Intent, input: &Input<'_>, form: &Form, thread: Decision, ellipsis: f32) -> Reason {
    let text = input.context.text;
    match intent {
        Intent::Explore => Reason::NewSubject,
        Intent::DrillDown => Reason::ReferenceResolved,
        Intent::Clarify if text.phrase(PhraseKind::Challenge).is_some() => Reason::Challenged,
        Intent::Clarify => Reason::ClarifyAsked,
        Intent::ToolReference => Reason::ToolNamed,
        Intent::Continue if text.phrase(PhraseKind::Continue).is_some() => Reason::ContinueAsked,
        Intent::Continue if thread.event == ThreadEvent::Resume => Reason::Resumed,
        Intent::Continue if form.answers_question => Reason::AnswersQuestion,
        Intent::Continue if ellipsis > 0.5 => Reason::Elliptical,
        Intent::Continue => Reason::SameSubject,
    }
}

/// What [`Needs`] is worked out from.
fn needs_of<'a>(
    input: &Input<'a>,
    references: &'a [Reference],
    thread: Decision,
    dependent: bool,
    ellipsis: bool,
) -> Needs<'a> {
    Needs::new(needs::Evidence {
        text: input.context.text,
        log: input.context.log,
        similarities: input.calibrated,
        references,
        mentions: input.context.mentions,
        thread: thread.thread,
        dependent,
        ellipsis,
        recency: input.recency,
    })
}

/// How many turns back lies what a turn of `thread` may extend: further than usual where the thread was left long ago.
fn reach(input: &Input<'_>, thread: u32) -> usize {
    let log = input.context.log;
    let turns = input.threads.get(thread).map_or(&[][..], |thread| &thread.turns);
    let back = |id: &u32| log.position(*id).map(|at| log.len() - at);
    match turns.last().and_then(back) {
        Some(distance) if distance > REACH => {
            turns[turns.len().saturating_sub(REACH)..].iter().find_map(back).unwrap_or(distance)
        }
        _ => REACH,
    }
}

/// The turn an incomplete one answers or extends: of the newest, whose `needs` are given, one of its own thread where there is
/// any, the one it needs most; the newer of equals.
fn carried(needs: &[f32], log: &TurnLog, thread: u32) -> Option<u32> {
    let first = log.len() - needs.len();
    let inside = |at: usize| log.traits()[first + at].thread == thread;
    let best = (0..needs.len()).max_by(|a, b| inside(*a).cmp(&inside(*b)).then(needs[*a].total_cmp(&needs[*b])));
    best.map(|at| log.marks()[first + at].id)
}

/// "write me a guide about …", a verb of writing whose object is a piece of writing, or "turn it into a blog post" (G-51).
fn document_request(text: &Text) -> bool {
    let words = text.words();
    let piece = |word: &Word| word.class.has(Class::DOCUMENT) && !word.class.has(Class::POSSESSIVE_SECOND);
    let written = words.iter().position(|w| w.class.has(Class::WRITE) && w.tag != Tag::Function).is_some_and(|verb| {
        let near = if text.grammar().verb_final { &words[verb.saturating_sub(8)..verb] } else { &words[verb + 1..] };
        near.iter().take(8).any(|word| word.sentence == words[verb].sentence && piece(word))
    });
    written
        || (0..words.len()).filter(|at| matches!(text.role(*at), "into" | "as" | "like" | "form")).any(|at| {
            let from = words.partition_point(|word| word.sentence < words[at].sentence);
            let near = words[at + 1..].iter().take(8).take_while(|word| word.sentence == words[at].sentence);
            words[from..at].iter().any(|word| word.class.has(Class::REQUEST))
                && near.skip_while(|word| !word.class.has(Class::INDEFINITE)).any(piece)
        })
}

/// The turn's own words, then those of what it points at or extends; the lists are those of `of`.
fn query(references: &[Reference], carries_over: Option<u32>, terms: &[u32], log: &TurnLog, of: Query) -> Query {
    /// An antecedent lends its rarest words, not its whole text.
    const LENT: usize = 12;
    let Query { mut turns, terms: mut all } = of;
    turns.clear();
    let targets = references.iter().filter_map(|r| match r.target {
        Some(Target::Turn(id)) => Some(id),
        _ => None,
    });
    for id in targets.chain(carries_over) {
        if !turns.contains(&id) {
            turns.push(id);
        }
    }
    all.clear();
    all.extend_from_slice(terms);
    let mut seen = Seen::default();
    let mut noted = 0;
    for turn in turns.iter().filter_map(|id| log.get(*id)) {
        all[noted..].iter().for_each(|term| seen.note(*term));
        noted = all.len();
        let answers = turn.role == Role::Assistant;
        // Terms of an answer come in by how many turns hold them, and lie behind those that as many hold.
        let mut lent = [(0, 0); LENT];
        let mut count = 0;
        for term in turn.terms.iter().filter(|term| !seen.is_among(**term, &all)) {
            let frequency = if answers { log.frequency(*term) } else { 0 };
            if count == LENT && lent[LENT - 1].0 >= frequency {
                if answers {
                    continue;
                }
                break;
            }
            let kept = count.min(LENT - 1);
            let place = lent[..kept].iter().rposition(|(other, _)| *other >= frequency).map_or(0, |at| at + 1);
            lent.copy_within(place..kept, place + 1);
            lent[place] = (frequency, *term);
            count = kept + 1;
        }
        all.extend(lent[..count].iter().map(|(_, term)| term));
    }
    Query { turns, terms: all }
}

/// What the models see of one candidate expression.
#[derive(Clone, Debug)]
pub struct CandidateInspection {
    /// Byte range in the turn.
    pub span: Range<usize>,
    /// What it looks like.
    pub shape: Shape,
    /// Numbers of [`crate::references::CANDIDATE_FEATURES`].
    pub features: Vec<f32>,
    /// The vector of its noun, empty without.
    pub meaning: Vec<f32>,
    /// Turn id and numbers of [`crate::references::TARGET_FEATURES`] of each turn within reach.
    pub targets: Vec<(u32, Vec<f32>)>,
}

/// What the models see of one turn.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// Candidate expressions.
    pub candidates: Vec<CandidateInspection>,
    /// Numbers of [`DEPENDENCE_FEATURES`].
    pub dependence: Vec<f32>,
    /// What the thread is decided on; none for a speaker's first turn.
    pub thread: Option<threads::Inspection>,
    /// What was decided.
    pub event: ThreadEvent,
    /// Turn id and numbers of [`crate::needs::NEED_FEATURES`] of each earlier turn.
    pub needs: Vec<(u32, Vec<f32>)>,
    /// Numbers of [`INTENT_FEATURES`].
    pub intent: Vec<f32>,
    /// Some reference resolved to a tool result.
    pub tool: bool,
    /// Its vector of the built-in table, empty without.
    pub meaning: Vec<f32>,
}

/// Everything the models see of a turn, for fitting their weights.
pub fn inspect(input: &Input<'_>, thresholds: Thresholds) -> Inspection {
    let (mut references, mut buffers) = (Vec::new(), Buffers::default());
    resolve_references(&input.context, &mut buffers.resolving, &mut references);
    let form = Form::of(input);
    let features = dependence_features(input, &form, &references);
    let [ellipsis, context] = models().dependence.read(&features, input.meaning).map(sigmoid);
    let dependent = context > models().context;
    let evidence = evidence_of(input, &references, dependent);
    let (inspected, thread) = (
        threads::inspect(input.threads, &evidence),
        assign(input.threads, &evidence, thresholds, &mut buffers.threads),
    );
    settle(&mut references, input, thread, dependent, &mut buffers);
    Inspection {
        candidates: references::inspect(&input.context),
        dependence: features.to_vec(),
        needs: {
            let elliptical = ellipsis > models().ellipsis;
            let needs = needs_of(input, &references, thread, dependent, elliptical);
            let turns = input.context.log.turns().iter();
            turns.zip(needs.features()).map(|(turn, features)| (turn.id, features.to_vec())).collect()
        },
        thread: inspected,
        event: thread.event,
        intent: intent_features(input, &form, &references, ellipsis, thread).to_vec(),
        tool: references.iter().any(|r| matches!(r.target, Some(Target::Scratch(_)))),
        meaning: input.meaning.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Pack;

    #[test]
    fn a_document_is_asked_for_by_a_verb_of_writing_or_as_a_form() {
        let asked = |source: &str| {
            let mut text = Text::default();
            text.read(source, &Pack::of("en"));
            document_request(&text)
        };
        for yes in [
            "Write me a guide about what we just discussed.",
            "Thanks. Could you now turn this into a series of tweets?",
            "Give it to me as a checklist",
            "Can you provide that in the form of an FAQ?",
        ] {
            assert!(asked(yes), "{yes}");
        }
        for no in ["What do you think of your last report?", "Tell me what is in the email.", "I see it as a plan."] {
            assert!(!asked(no), "{no}");
        }
    }
}
