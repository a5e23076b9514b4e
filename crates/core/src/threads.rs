//! Topic threads: clusters of turns about one subject, which may be interrupted and come back (SPEC-028 §3.3, G-17, G-18).

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::config::{ThreadNames, Thresholds};
use crate::growth;
use crate::headers::LONGEST;
use crate::mentions::Mentions;
use crate::model::{self, Linear, log_count};
use crate::references::{Reason, Reference, Target};
use crate::text::{Class, Phrase, PhraseKind, Text};
use crate::turn_log::{Role, TurnLog};

/// How a turn was filed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThreadEvent {
    /// Similar enough to claim the active thread.
    Join,
    /// Nothing says it left the active thread.
    Stay,
    /// Back to a dormant thread.
    Resume,
    /// A thread of its own.
    New,
}

impl ThreadEvent {
    /// All events.
    pub const ALL: [Self; 4] = [Self::Join, Self::Stay, Self::Resume, Self::New];

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Stay => "stay",
            Self::Resume => "resume",
            Self::New => "new",
        }
    }
}

/// State of a thread (SPEC-028 §6.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadState {
    /// Facts settled in the thread.
    pub established: Vec<String>,
    /// Questions not answered yet.
    pub open_questions: Vec<String>,
    /// Constraints the user stated.
    pub user_constraints: Vec<String>,
}

impl ThreadState {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let of = |lines: &Vec<String>| growth::bytes(lines) + lines.iter().map(String::capacity).sum::<usize>();
        of(&self.established) + of(&self.open_questions) + of(&self.user_constraints)
    }
}

/// A topic thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Thread {
    /// Header-safe name, stable for the life of the thread (G-58).
    pub slug: String,
    /// Its speaker; 0 for sessions without names.
    pub speaker: u16,
    /// Ids of its turns.
    pub turns: Vec<u32>,
    /// Its newest turn.
    pub last_active: u32,
    /// What the host set or the extractor read.
    pub state: ThreadState,
    /// The thread that took its only turn: its name stands for that one.
    pub moved: Option<u32>,
}

/// The threads of a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Threads {
    threads: Vec<Thread>,
    /// Active thread of each speaker, by speaker index.
    active: Vec<Option<u32>>,
}

/// Where a turn is filed and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Ordinal of the thread; of a new one, the next.
    pub thread: u32,
    /// What happened.
    pub event: ThreadEvent,
    /// Calibrated similarity to that thread.
    pub similarity: f32,
    /// Why.
    pub reason: Reason,
    /// What else it may have done, when that is in doubt: its answer may tell.
    pub odds: Option<Odds>,
}

/// Log-probabilities of what a turn did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Odds {
    /// The thread that was active before the turn.
    pub active: u32,
    /// It carries that thread on.
    pub stays: f32,
    /// It comes back to the likeliest of the others.
    pub resumes: f32,
    /// It opens a thread.
    pub opens: f32,
}

impl Odds {
    /// What no turn is less likely to have done.
    const LEAST: f32 = -5.0;
    /// A turn this likely to be where it was filed is left there.
    const SURE: f32 = 0.9;

    /// Of the scores of the three; `None` when there is no doubt.
    fn of(active: u32, scores: [f32; 3]) -> Option<Self> {
        let highest = scores.into_iter().fold(f32::MIN, f32::max);
        let sum = highest + scores.map(|score| (score - highest).exp()).iter().sum::<f32>().ln();
        let [stays, resumes, opens] = scores.map(|score| (score - sum).max(Self::LEAST));
        (highest - sum < Self::SURE.ln()).then_some(Self { active, stays, resumes, opens })
    }
}

impl Threads {
    /// True when every thread that is pointed at is there: of threads that were stored, by whomever.
    pub fn is_sound(&self) -> bool {
        let moved = self.threads.iter().filter_map(|thread| thread.moved);
        self.active.iter().flatten().copied().chain(moved).all(|at| (at as usize) < self.threads.len())
    }

    /// All threads, by ordinal.
    pub fn all(&self) -> &[Thread] {
        &self.threads
    }

    /// A thread by ordinal.
    pub fn get(&self, ordinal: u32) -> Option<&Thread> {
        self.threads.get(ordinal as usize)
    }

    /// A thread by ordinal, to change its state.
    pub fn get_mut(&mut self, ordinal: u32) -> Option<&mut Thread> {
        self.threads.get_mut(ordinal as usize)
    }

    /// Ordinal of the thread that a slug stands for.
    pub fn by_slug(&self, slug: &str) -> Option<u32> {
        let mut at = self.threads.iter().position(|thread| thread.slug == slug)? as u32;
        while let Some(moved) = self.threads[at as usize].moved {
            at = moved;
        }
        Some(at)
    }

    /// The active thread of a speaker.
    pub fn active(&self, speaker: u16) -> Option<u32> {
        self.active.get(usize::from(speaker)).copied().flatten()
    }

    /// Ordinals of the threads in which turns of a speaker are filed.
    pub fn of(&self, speaker: u16) -> impl Iterator<Item = u32> {
        let spoken = move |thread: &Thread| thread.speaker == speaker && !thread.turns.is_empty();
        (0..).zip(&self.threads).filter(move |(_, thread)| spoken(thread)).map(|(at, _)| at)
    }

    /// Files turn `id` in `thread` and makes it active; the next thread is opened under a free name made of `wanted`.
    pub fn file(&mut self, id: u32, thread: u32, speaker: u16, wanted: &str) {
        if thread as usize == self.threads.len() {
            let slug = self.free_slug(wanted);
            let (turns, state) = (Vec::new(), ThreadState::default());
            growth::push(&mut self.threads, Thread { slug, speaker, turns, last_active: id, state, moved: None });
        }
        let filed = &mut self.threads[thread as usize];
        growth::push(&mut filed.turns, id);
        filed.last_active = id;
        let speaker = usize::from(speaker);
        while self.active.len() <= speaker {
            growth::push(&mut self.active, None);
        }
        self.active[speaker] = Some(thread);
    }

    /// Files the newest turn in another thread, as [`Threads::file`] does. The name of a thread that it leaves empty stands for
    /// the other from now on.
    pub fn refile(&mut self, id: u32, from: u32, thread: u32, wanted: &str) {
        let Some(left) = self.get(from).filter(|_| from != thread) else { return };
        let (speaker, emptied) = (left.speaker, left.turns == [id]);
        self.remove(id);
        self.file(id, thread, speaker, wanted);
        if let Some(left) = self.get_mut(from) {
            left.moved = emptied.then_some(thread);
            left.last_active = left.turns.last().copied().unwrap_or(id);
        }
    }

    /// Forgets a turn.
    pub fn remove(&mut self, id: u32) {
        for thread in &mut self.threads {
            thread.turns.retain(|turn| *turn != id);
        }
    }

    /// Threads whose name was made of a turn: those it was the first of, there or before it was moved.
    pub fn named_after(&self, id: u32) -> Vec<u32> {
        let first = |thread: &Thread| match thread.moved {
            Some(_) => thread.last_active == id,
            None => thread.turns.first() == Some(&id),
        };
        (0..).zip(&self.threads).filter(|(_, thread)| first(thread)).map(|(at, _)| at).collect()
    }

    /// Gives a thread another name.
    pub fn rename(&mut self, thread: u32, slug: String) {
        if let Some(thread) = self.get_mut(thread) {
            thread.slug = slug;
        }
    }

    /// Drops lines of a thread's state that came from an erased turn (G-72).
    pub fn forget_lines(&mut self, thread: u32, text: &str) {
        if let Some(thread) = self.get_mut(thread) {
            let state = &mut thread.state;
            for lines in [&mut state.established, &mut state.open_questions, &mut state.user_constraints] {
                lines.retain(|line| !text.contains(line.as_str()));
            }
        }
    }

    /// Forgets the turns from `id` on, which the log has taken back, and the threads that they opened; the newest turn's thread is
    /// active.
    pub fn rewind(&mut self, id: u32, log: &TurnLog) {
        for thread in &mut self.threads {
            thread.turns.retain(|turn| *turn < id);
        }
        while self.threads.last().is_some_and(|thread| thread.turns.is_empty() && thread.last_active >= id) {
            self.threads.pop();
        }
        self.active.fill(None);
        for turn in log.turns().iter() {
            if let Some(active) = self.active.get_mut(usize::from(turn.speaker)) {
                *active = Some(turn.thread);
            }
        }
    }

    /// A name no thread has yet: `wanted`, or `wanted-2`, …; `thread-N` when nothing is wanted.
    pub fn free_slug(&self, wanted: &str) -> String {
        let base = if wanted.is_empty() { format!("thread-{}", self.threads.len() + 1) } else { wanted.to_owned() };
        let mut name = base.clone();
        let mut n = 2;
        while self.threads.iter().any(|thread| thread.slug == name) {
            name = format!("{base}-{n}");
            n += 1;
        }
        name
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let of = |thread: &Thread| thread.slug.capacity() + growth::bytes(&thread.turns) + thread.state.bytes();
        growth::bytes(&self.threads) + growth::bytes(&self.active) + self.threads.iter().map(of).sum::<usize>()
    }
}

/// A header-safe slug of the user's turn: its first content words, ASCII, at most 40 characters; empty when it has none
/// (G-58).
pub fn slug(text: &Text, names: ThreadNames) -> String {
    const WORDS: usize = 3;
    const CHARACTERS: usize = 40;
    if names == ThreadNames::Opaque {
        return String::new();
    }
    let mut slug = String::new();
    let subject = text
        .words()
        .iter()
        .filter(|w| w.is_content() && !w.class.has(Class::REQUEST.or(Class::SAYING).or(Class::EMPTY_IT)));
    for word in subject.map(|w| text.stem(w)).filter(|w| w.bytes().all(|b| b.is_ascii_alphanumeric())).take(WORDS) {
        if slug.len() + word.len() + 1 > CHARACTERS.min(LONGEST) {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(word);
    }
    slug
}

/// How close the turn is to one thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Closeness {
    /// Largest calibrated similarity to a user turn of the thread (G-18).
    pub similarity: f32,
    /// Largest calibrated similarity to an answer of the thread.
    pub answers: f32,
    /// Calibrated similarity to the newest user turn of the thread.
    pub last_user: f32,
    /// Calibrated similarity to its newest answer.
    pub last_answer: f32,
    /// Largest cosines to turns of the thread, descending.
    pub cosines: [f32; 3],
    /// Share of the turn's content words, by idf, that stand in the thread.
    pub overlap: f32,
    /// Share that stands in no other thread.
    pub exclusive: f32,
    /// Summed idf of the words that stand in no other thread.
    pub own: f32,
    /// Largest confidence of a reference into the thread.
    pub reference: f32,
    /// Turns since the thread's newest; 1 = the turn before.
    pub age: u32,
    /// Turns in the thread.
    pub turns: u32,
}

/// Names of the numbers in [`Closeness::features`].
pub const CLOSENESS_FEATURES: [&str; 12] = [
    "similarity",
    "answers",
    "last-user",
    "last-answer",
    "cosine",
    "cosine.mean",
    "overlap",
    "exclusive",
    "own",
    "reference",
    "age",
    "turns",
];

impl Closeness {
    /// The numbers that tell whether the turn belongs to the thread.
    pub fn features(&self) -> [f32; CLOSENESS_FEATURES.len()] {
        let compared = self.turns.clamp(1, 3);
        [
            self.similarity,
            self.answers,
            self.last_user,
            self.last_answer,
            self.cosines[0],
            self.cosines[..compared as usize].iter().sum::<f32>() / compared as f32,
            self.overlap,
            self.exclusive,
            self.own / 6.0,
            self.reference,
            log_count(self.age as usize) / 3.0,
            log_count(self.turns as usize) / 3.0,
        ]
    }
}

/// Name of the number that an answer's choice has from the turn's own.
pub const ODDS_FEATURES: [&str; 1] = ["odds"];

/// Names of the numbers that tell whether an answer belongs to no thread there was: the largest of all threads'.
pub const OPENING_FEATURES: [&str; 3] = ["similarity", "answers", "overlap"];

/// What the decision looks at.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// The turn, read.
    pub text: &'a Text,
    /// Earlier turns.
    pub log: &'a TurnLog,
    /// Cosine to each turn, by position; empty without vectors.
    pub cosines: &'a [f32],
    /// Calibrated similarity to each turn, by position; empty without.
    pub similarities: &'a [f32],
    /// Its references.
    pub references: &'a [Reference],
    /// Its content words, and which turns hold them.
    pub mentions: &'a Mentions,
    /// What the turn means: its vector of the built-in table, empty without.
    pub meaning: &'a [f32],
    /// The turn cannot be understood alone.
    pub dependent: bool,
    /// Speaker.
    pub speaker: u16,
}

/// Lists reused from turn to turn.
#[derive(Debug, Default)]
pub struct Buffers {
    all: Vec<Closeness>,
    /// Threads that hold a term.
    holders: Vec<u32>,
}

/// Closeness of the turn to every thread, by ordinal, of the turns at positions before `end`. Cost: a look at each of them, and
/// one at those that hold a term.
pub fn closeness<'b>(
    threads: &Threads,
    evidence: &Evidence<'_>,
    end: usize,
    buffers: &'b mut Buffers,
) -> &'b [Closeness] {
    let Evidence { log, mentions, .. } = *evidence;
    let Buffers { all, holders } = buffers;
    all.clear();
    all.resize(threads.all().len(), Closeness::default());
    for (position, turn) in log.traits()[..end].iter().enumerate() {
        let Some(close) = all.get_mut(turn.thread as usize) else { continue };
        let similarity = evidence.similarities.get(position).copied().unwrap_or(0.0);
        let (best, last) = match turn.role() {
            Role::User => (&mut close.similarity, &mut close.last_user),
            Role::Assistant => (&mut close.answers, &mut close.last_answer),
        };
        *best = best.max(similarity);
        *last = similarity;
        let mut cosine = evidence.cosines.get(position).copied().unwrap_or(0.0);
        for kept in &mut close.cosines {
            if cosine > *kept {
                std::mem::swap(kept, &mut cosine);
            }
        }
        close.age = (end - position) as u32;
        close.turns += 1;
    }
    let total = mentions.rarity();
    for (term, idf) in mentions.held().iter().map(|held| held.idf).enumerate() {
        holders.clear();
        mentions.holders(term, log, |at| {
            if at >= end {
                return;
            }
            let thread = log.traits()[at].thread;
            if (thread as usize) < all.len() && holders.last() != Some(&thread) && !holders.contains(&thread) {
                holders.push(thread);
            }
        });
        for thread in holders.iter() {
            let close = &mut all[*thread as usize];
            close.overlap += idf / total;
            if holders.len() == 1 {
                close.exclusive += idf / total;
                close.own += idf;
            }
        }
    }
    for reference in evidence.references {
        if let Some(Target::Turn(id)) = reference.target
            && let Some(close) = log.get(id).and_then(|turn| all.get_mut(turn.thread as usize))
        {
            close.reference = close.reference.max(reference.confidence);
        }
    }
    all
}

/// Names of the numbers in [`subject_features`].
pub const SUBJECT_FEATURES: [&str; 24] = [
    "dependent",
    "phrase.return",
    "phrase.digress",
    "phrase.follow-up",
    "phrase.continue",
    "words",
    "opens.request",
    "opens.interjection",
    "opens.greeting",
    "names",
    "wants",
    "unseen",
    "unseen.count",
    "content",
    "no-content",
    "reference.none",
    "reference.best",
    "self-contained",
    "question",
    "answers-question",
    "closest",
    "overlap",
    "unseen.unlike",
    "threads",
];

/// The numbers of the turn itself that tell whether it leaves the active thread.
pub fn subject_features(evidence: &Evidence<'_>, all: &[Closeness]) -> [f32; SUBJECT_FEATURES.len()] {
    let flag = |holds: bool| f32::from(u8::from(holds));
    let Evidence { text, log, mentions, references, dependent, .. } = *evidence;
    let terms = mentions.terms();
    let words = text.words();
    let phrase = |kind: PhraseKind| flag(text.phrase(kind).is_some_and(|p| p.words.start <= 5));
    let opens = |class: Class| flag(words.first().is_some_and(|w| w.class.has(class)));
    let names = words.iter().filter(|word| word.is_name()).count();
    let unseen_count = mentions.held().iter().filter(|held| held.frequency == 0).count() as f32;
    let unseen = unseen_count / terms.len().max(1) as f32;
    let closest = all.iter().map(|close| close.similarity.max(close.answers)).fold(0.0, f32::max);
    let resolved = references.iter().filter(|r| r.target.is_some()).map(|r| r.confidence).fold(0.0, f32::max);
    [
        flag(dependent),
        phrase(PhraseKind::Return),
        phrase(PhraseKind::Digress),
        phrase(PhraseKind::FollowUp),
        phrase(PhraseKind::Continue),
        log_count(text.length()) / 4.0,
        flag(text.requests(0)),
        opens(Class::INTERJECTION),
        opens(Class::GREETING),
        names.min(3) as f32 / 3.0,
        flag(words.iter().take(3).any(|w| w.class.has(Class::FIRST))),
        unseen,
        unseen_count.min(8.0) / 8.0,
        terms.len().min(8) as f32 / 8.0,
        flag(terms.is_empty()),
        flag(references.is_empty()),
        resolved,
        flag(references.is_empty() && !dependent && terms.len() > 1),
        flag(text.is_question()),
        flag(log.turns().last().is_some_and(|turn| turn.question)),
        closest,
        all.iter().map(|close| close.overlap).fold(0.0, f32::max),
        unseen * (1.0 - closest),
        log_count(all.iter().filter(|close| close.turns > 0).count()) / 2.0,
    ]
}

/// The numbers behind the decision; none for a speaker's first turn.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// The active thread.
    pub active: u32,
    /// The speaker's threads and the numbers of [`CLOSENESS_FEATURES`] of each.
    pub threads: Vec<(u32, Vec<f32>)>,
    /// Numbers of [`SUBJECT_FEATURES`].
    pub subject: Vec<f32>,
}

/// What [`assign`] looks at, for fitting its weights.
pub fn inspect(threads: &Threads, evidence: &Evidence<'_>) -> Option<Inspection> {
    let active = threads.active(evidence.speaker)?;
    let mut buffers = Buffers::default();
    let all = closeness(threads, evidence, evidence.log.len(), &mut buffers);
    let of = threads.of(evidence.speaker).map(|at| (at, all[at as usize].features().to_vec())).collect();
    Some(Inspection { active, threads: of, subject: subject_features(evidence, all).to_vec() })
}

/// One choice among the active thread, the dormant ones and a new one: each has a score from what the turn shares with it,
/// leaving the active thread also one from the turn itself, and the highest wins.
struct Models {
    active: Linear,
    dormant: Linear,
    leaves: Linear,
    opens: Linear,
    answer: AnswerModels,
}

/// The choice made again with the answer: what it shares with each thread, beside what the turn itself said.
struct AnswerModels {
    odds: Linear,
    active: Linear,
    dormant: Linear,
    opens: Linear,
}

fn models() -> &'static Models {
    static MODELS: OnceLock<Models> = OnceLock::new();
    MODELS.get_or_init(|| Models {
        active: model::linear("thread.active", &CLOSENESS_FEATURES),
        dormant: model::linear("thread.dormant", &CLOSENESS_FEATURES),
        leaves: model::linear("thread.resume", &SUBJECT_FEATURES),
        opens: model::linear("thread.new", &SUBJECT_FEATURES),
        answer: AnswerModels {
            odds: model::linear("answer.odds", &ODDS_FEATURES),
            active: model::linear("answer.active", &CLOSENESS_FEATURES),
            dormant: model::linear("answer.dormant", &CLOSENESS_FEATURES),
            opens: model::linear("answer.new", &OPENING_FEATURES),
        },
    })
}

/// One decision: resume, new, join or stay. G-17 asks for the join first; labelled data shows that a turn may resemble the
/// thread and still leave it, so all threads are heard before the threshold.
pub fn assign(threads: &Threads, evidence: &Evidence<'_>, thresholds: Thresholds, buffers: &mut Buffers) -> Decision {
    let next = threads.all().len() as u32;
    let Some(active) = threads.active(evidence.speaker) else {
        return Decision {
            thread: next,
            event: ThreadEvent::New,
            similarity: 0.0,
            reason: Reason::FirstTurn,
            odds: None,
        };
    };
    let all = closeness(threads, evidence, evidence.log.len(), buffers);
    let here = all[active as usize];
    let decided = |thread: u32, event, reason, odds| {
        let similarity = all.get(thread as usize).map_or(here.similarity, |close| close.similarity);
        Decision { thread, event, similarity, reason, odds }
    };
    let said = |kind: PhraseKind| evidence.text.phrase(kind).filter(|p| p.words.start <= 2);
    // A turn without a subject of its own carries the thread on.
    let words = evidence.text.words();
    let outright = |p: &Phrase| {
        matches!(p.kind, PhraseKind::Continue | PhraseKind::Clarify | PhraseKind::ClarifyAlone)
            && words.len() <= p.words.len() + 2
    };
    if evidence.text.phrases().iter().any(outright) {
        return decided(active, ThreadEvent::Stay, Reason::DependsOnLog, None);
    }
    let models = models();
    let dormant = || {
        let others = threads.of(evidence.speaker).filter(|at| *at != active && all[*at as usize].turns > 0);
        others.map(|at| (models.dormant.score(&all[at as usize].features()), at))
    };
    let likest = |a: &(f32, u32), b: &(f32, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if let Some(phrase) = said(PhraseKind::Return) {
        // What the turn says of itself outweighs what its words resemble: "back to X" where X is the other thread's alone,
        // and "let's go back", "back to what we were doing", where no word tells the threads apart.
        let named = || dormant().filter(|(_, at)| all[*at as usize].exclusive > here.overlap).max_by(likest);
        let left_last = || dormant().max_by_key(|(_, at)| threads.all()[*at as usize].last_active);
        let rest = (0..words.len()).filter(|at| !phrase.words.contains(at) && words[*at].is_content());
        let known = |at| evidence.mentions.of_word(at).is_some_and(|held| held.frequency > 0);
        let goes_back = words.len() <= phrase.words.len() + 5
            && !rest.clone().any(known)
            && rest.count() <= usize::from(!evidence.text.is_question());
        if let Some((_, back)) = if goes_back { left_last() } else { named() } {
            return decided(back, ThreadEvent::Resume, Reason::ReturnPhrase, None);
        }
    }
    let subject = subject_features(evidence, all);
    let stays = models.active.score(&here.features());
    let dormant = dormant().max_by(likest);
    let opens = models.opens.read(&subject, evidence.meaning);
    let leaves = dormant.map(|(score, at)| (score + models.leaves.read(&subject, evidence.meaning), at));
    let odds = Odds::of(active, [stays, leaves.map_or(f32::NEG_INFINITY, |(score, _)| score), opens]);
    if let Some((_, other)) = leaves.filter(|(score, _)| *score > stays.max(opens)) {
        let reason = if said(PhraseKind::Return).is_some() { Reason::ReturnPhrase } else { Reason::Resumed };
        return decided(other, ThreadEvent::Resume, reason, odds);
    }
    // Words that both subjects share by chance: "different question: which *three* bikes …".
    const LITTLE: f32 = 0.25;
    let digresses = said(PhraseKind::Digress).is_some()
        && here.overlap < LITTLE
        && here.similarity < thresholds.stay
        && !evidence.mentions.terms().is_empty();
    if digresses || opens > stays && !evidence.mentions.terms().is_empty() {
        let reason = if said(PhraseKind::Digress).is_some() { Reason::DigressPhrase } else { Reason::Unlike };
        return decided(next, ThreadEvent::New, reason, odds.filter(|_| !digresses));
    }
    if here.similarity > thresholds.join {
        return decided(active, ThreadEvent::Join, Reason::SimilarThread, odds);
    }
    let reason = if here.similarity >= thresholds.stay {
        Reason::CloseEnough
    } else if evidence.dependent {
        Reason::DependsOnLog
    } else {
        Reason::NothingSays
    };
    decided(active, ThreadEvent::Stay, reason, odds)
}

/// Where a turn belongs now that its answer is known: in one of the threads there were before it, or in one of its own (`None`).
/// `answer` is the evidence of the answer, `turn` the position of the turn it answers.
pub fn reconsider(
    threads: &Threads,
    answer: &Evidence<'_>,
    turn: usize,
    odds: Odds,
    buffers: &mut Buffers,
) -> Option<u32> {
    let models = &models().answer;
    let all = closeness(threads, answer, turn, buffers);
    let most = |of: fn(&Closeness) -> f32| all.iter().map(of).fold(0.0, f32::max);
    let opens = models.odds.score(&[odds.opens])
        + models.opens.score(&[
            most(|close| close.similarity),
            most(|close| close.answers),
            most(|close| close.overlap),
        ]);
    let belongs = threads.of(answer.speaker).filter(|at| all[*at as usize].turns > 0).map(|at| {
        let (model, odds) =
            if at == odds.active { (&models.active, odds.stays) } else { (&models.dormant, odds.resumes) };
        (models.odds.score(&[odds]) + model.score(&all[at as usize].features()), at)
    });
    let best = belongs.max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))?;
    (best.0 >= opens).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Pack;

    fn named(source: &str) -> String {
        let mut text = Text::default();
        text.read(source, &Pack::of("en"));
        slug(&text, ThreadNames::Slug)
    }

    #[test]
    fn slugs_are_tokens_made_of_user_text() {
        assert_eq!(named("How do I configure etcd?"), "configure-etcd");
        assert_eq!(named("\r\nX-Evil: 1\r\n"), "x-evil-1");
        assert_eq!(named("как дела"), "");
        assert!(named(&"supercalifragilistic ".repeat(9)).len() <= LONGEST);
    }

    #[test]
    fn slugs_are_unique_and_opaque_on_request() {
        let mut threads = Threads::default();
        threads.file(1, 0, 0, "etcd");
        assert_eq!(threads.free_slug("etcd"), "etcd-2");
        assert_eq!(threads.free_slug(""), "thread-2");
    }
}
