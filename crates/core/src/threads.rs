//! Topic threads: clusters of turns about one subject, which may be interrupted and come back (SPEC-028 §3.3, G-17, G-18).

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::config::{ThreadNames, Thresholds};
use crate::headers::LONGEST;
use crate::model::{self, Linear};
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
}

impl Threads {
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

    /// Ordinal of the thread with a slug.
    pub fn by_slug(&self, slug: &str) -> Option<u32> {
        self.threads.iter().position(|thread| thread.slug == slug).map(|at| at as u32)
    }

    /// The active thread of a speaker.
    pub fn active(&self, speaker: u16) -> Option<u32> {
        self.active.get(usize::from(speaker)).copied().flatten()
    }

    /// Ordinals of the threads of a speaker.
    pub fn of(&self, speaker: u16) -> impl Iterator<Item = u32> {
        self.threads.iter().enumerate().filter(move |(_, thread)| thread.speaker == speaker).map(|(at, _)| at as u32)
    }

    /// Files turn `id` in `thread` and makes it active; the next thread is opened under a free name made of `wanted`.
    pub fn file(&mut self, id: u32, thread: u32, speaker: u16, wanted: &str) {
        if thread as usize == self.threads.len() {
            self.threads.push(Thread {
                slug: self.free_slug(wanted),
                speaker,
                turns: Vec::new(),
                last_active: id,
                state: ThreadState::default(),
            });
        }
        let filed = &mut self.threads[thread as usize];
        filed.turns.push(id);
        filed.last_active = id;
        let speaker = usize::from(speaker);
        if self.active.len() <= speaker {
            self.active.resize(speaker + 1, None);
        }
        self.active[speaker] = Some(thread);
    }

    /// Forgets a turn.
    pub fn remove(&mut self, id: u32) {
        for thread in &mut self.threads {
            thread.turns.retain(|turn| *turn != id);
        }
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

    /// Drops threads left without turns from the end and makes the newest turn's thread active, after turns were taken back.
    pub fn settle(&mut self, log: &TurnLog) {
        while self.threads.last().is_some_and(|thread| thread.turns.is_empty()) {
            self.threads.pop();
        }
        self.active.fill(None);
        for turn in log.turns() {
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
        while self.by_slug(&name).is_some() {
            name = format!("{base}-{n}");
            n += 1;
        }
        name
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.threads.iter().map(|t| size_of::<Thread>() + t.slug.len() + t.turns.capacity() * 4).sum()
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
    /// Share of the turn's content words, by idf, that stand in the thread.
    pub overlap: f32,
    /// Share that stands in no other thread.
    pub exclusive: f32,
}

/// What the decision looks at.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// The turn, read.
    pub text: &'a Text,
    /// Earlier turns.
    pub log: &'a TurnLog,
    /// Calibrated similarity to each turn, by position; empty without.
    pub similarities: &'a [f32],
    /// Its references.
    pub references: &'a [Reference],
    /// Content words.
    pub terms: &'a [u32],
    /// The turn cannot be understood alone.
    pub dependent: bool,
    /// Speaker.
    pub speaker: u16,
}

/// Closeness of the turn to every thread of its speaker, by ordinal. Cost: one pass over the log.
pub fn closeness(threads: &Threads, evidence: &Evidence<'_>) -> Vec<Closeness> {
    let mut all = vec![Closeness::default(); threads.all().len()];
    let idf: Vec<f32> = evidence.terms.iter().map(|term| evidence.log.idf(*term)).collect();
    let total: f32 = idf.iter().sum();
    // Per term, the first thread that holds it and whether another does too.
    let mut holders: Vec<Vec<u32>> = vec![Vec::new(); evidence.terms.len()];
    let held: Vec<Vec<u64>> = evidence.terms.chunks(64).map(|terms| evidence.log.holding(terms)).collect();
    for (position, turn) in evidence.log.turns().iter().enumerate() {
        let Some(close) = all.get_mut(turn.thread as usize) else { continue };
        let similarity = evidence.similarities.get(position).copied().unwrap_or(0.0);
        let best = if turn.role == Role::User { &mut close.similarity } else { &mut close.answers };
        *best = best.max(similarity);
        for (chunk, held) in held.iter().enumerate() {
            let mut held = held[position];
            while held != 0 {
                let holders = &mut holders[64 * chunk + held.trailing_zeros() as usize];
                if !holders.contains(&turn.thread) {
                    holders.push(turn.thread);
                }
                held &= held - 1;
            }
        }
    }
    if total > 0.0 {
        for (holders, idf) in holders.iter().zip(&idf) {
            for thread in holders {
                all[*thread as usize].overlap += idf / total;
                if holders.len() == 1 {
                    all[*thread as usize].exclusive += idf / total;
                }
            }
        }
    }
    all
}

/// Names of the numbers that tell whether the turn opens a new subject.
pub const THREAD_FEATURES: [&str; 33] = [
    "active.similarity",
    "active.answers",
    "active.overlap",
    "active.exclusive",
    "other.similarity",
    "other.answers",
    "other.overlap",
    "other.exclusive",
    "other.exists",
    "lead.similarity",
    "lead.answers",
    "lead.exclusive",
    "unseen",
    "reference.active",
    "reference.other",
    "dependent",
    "phrase.return",
    "phrase.digress",
    "phrase.follow-up",
    "phrase.continue",
    "words",
    "opens.request",
    "opens.interjection",
    "names",
    "opens.greeting",
    "reference.none",
    "unseen.count",
    "content",
    "self-contained",
    "active.last-user",
    "active.last-answer",
    "unseen.unlike",
    "wants",
];

/// The numbers for the active thread against one other (the candidate for a resume).
pub fn thread_features(
    active: Closeness,
    other: Option<Closeness>,
    other_thread: Option<u32>,
    active_thread: u32,
    evidence: &Evidence<'_>,
) -> [f32; THREAD_FEATURES.len()] {
    let flag = |holds: bool| f32::from(u8::from(holds));
    let text = evidence.text;
    let phrase = |kind: PhraseKind| flag(text.phrase(kind).is_some_and(|p| p.words.start <= 5));
    let first = text.words().first();
    let points = |thread: u32| {
        let thread_of = |target: Option<Target>| match target {
            Some(Target::Turn(id)) => evidence.log.get(id).map(|turn| turn.thread),
            _ => None,
        };
        evidence
            .references
            .iter()
            .filter(|r| thread_of(r.target) == Some(thread))
            .map(|r| r.confidence)
            .fold(0.0, f32::max)
    };
    let unseen = if evidence.terms.is_empty() {
        0.0
    } else {
        evidence.terms.iter().filter(|term| evidence.log.frequency(**term) == 0).count() as f32
            / evidence.terms.len() as f32
    };
    let rival = other.unwrap_or_default();
    let last_of = |role: Role| {
        evidence
            .log
            .turns()
            .iter()
            .rposition(|turn| turn.role == role && turn.thread == active_thread)
            .and_then(|at| evidence.similarities.get(at).copied())
            .unwrap_or(0.0)
    };
    let names = text.words().iter().filter(|w| w.capital && !w.opens() && w.is_content()).count();
    [
        active.similarity,
        active.answers,
        active.overlap,
        active.exclusive,
        rival.similarity,
        rival.answers,
        rival.overlap,
        rival.exclusive,
        flag(other.is_some()),
        if other.is_some() { rival.similarity - active.similarity } else { 0.0 },
        if other.is_some() { rival.answers - active.answers } else { 0.0 },
        if other.is_some() { rival.exclusive - active.exclusive } else { 0.0 },
        unseen,
        points(active_thread),
        other_thread.map_or(0.0, points),
        flag(evidence.dependent),
        phrase(PhraseKind::Return),
        phrase(PhraseKind::Digress),
        phrase(PhraseKind::FollowUp),
        phrase(PhraseKind::Continue),
        (text.words().len() as f32).ln_1p() / 4.0,
        flag(first.is_some_and(|w| w.class.has(Class::REQUEST))),
        flag(first.is_some_and(|w| w.class.has(Class::INTERJECTION))),
        names.min(3) as f32 / 3.0,
        flag(first.is_some_and(|w| w.class.has(Class::GREETING))),
        flag(evidence.references.is_empty()),
        (unseen * evidence.terms.len() as f32).min(8.0) / 8.0,
        evidence.terms.len().min(8) as f32 / 8.0,
        flag(evidence.references.is_empty() && !evidence.dependent && evidence.terms.len() > 1),
        last_of(Role::User),
        last_of(Role::Assistant),
        unseen * (1.0 - active.similarity.max(active.answers)),
        flag(text.words().iter().take(3).any(|w| w.class.has(Class::FIRST))),
    ]
}

/// The other thread that the turn is closest to.
pub fn rival(all: &[Closeness], threads: &Threads, active: u32, speaker: u16) -> Option<u32> {
    let strength = |at: &u32| {
        let c = all[*at as usize];
        c.similarity.max(c.answers) + c.exclusive + 0.5 * c.overlap
    };
    threads.of(speaker).filter(|at| *at != active).max_by(|a, b| {
        strength(a)
            .total_cmp(&strength(b))
            .then_with(|| threads.all()[*a as usize].last_active.cmp(&threads.all()[*b as usize].last_active))
    })
}

/// The rival thread and the numbers behind the decision; none for a speaker's first turn.
pub fn inspect(threads: &Threads, evidence: &Evidence<'_>) -> Option<(Option<u32>, Vec<f32>)> {
    let active = threads.active(evidence.speaker)?;
    let all = closeness(threads, evidence);
    let other = rival(&all, threads, active, evidence.speaker);
    Some((
        other,
        thread_features(all[active as usize], other.map(|at| all[at as usize]), other, active, evidence).to_vec(),
    ))
}

/// One decision: resume, new, join or stay, by two small models over the evidence. G-17 asks for the join first; labelled
/// data shows that a turn may resemble the thread and still leave it, so the models are heard before the threshold.
pub fn assign(threads: &Threads, evidence: &Evidence<'_>, thresholds: Thresholds) -> Decision {
    static MODELS: OnceLock<[Linear; 2]> = OnceLock::new();
    let [new, resume] = MODELS.get_or_init(|| {
        [model::linear("thread.new", &THREAD_FEATURES), model::linear("thread.resume", &THREAD_FEATURES)]
    });
    let next = threads.all().len() as u32;
    let Some(active) = threads.active(evidence.speaker) else {
        return Decision { thread: next, event: ThreadEvent::New, similarity: 0.0, reason: Reason::FirstTurn };
    };
    let all = closeness(threads, evidence);
    let here = all[active as usize];
    let other = rival(&all, threads, active, evidence.speaker);
    let features = thread_features(here, other.map(|at| all[at as usize]), other, active, evidence);
    let said = |kind: PhraseKind| evidence.text.phrase(kind).is_some_and(|p| p.words.start <= 2);
    // What the turn says of itself outweighs what its words resemble: "back to X" where X is the other thread's alone.
    let returns = |other: u32| said(PhraseKind::Return) && all[other as usize].exclusive > 0.0;
    if let Some(other) = other
        && (returns(other) || resume.probability(&features) > model::threshold("thread.resume"))
    {
        let reason = if said(PhraseKind::Return) { Reason::ReturnPhrase } else { Reason::Resumed };
        return Decision {
            thread: other,
            event: ThreadEvent::Resume,
            similarity: all[other as usize].similarity,
            reason,
        };
    }
    // A turn without a subject of its own carries the thread on.
    let outright = |p: &Phrase| {
        matches!(p.kind, PhraseKind::Continue | PhraseKind::Clarify | PhraseKind::ClarifyAlone)
            && evidence.text.words().len() <= p.words.len() + 2
    };
    if evidence.terms.is_empty() || evidence.text.phrases().iter().any(outright) {
        return Decision {
            thread: active,
            event: ThreadEvent::Stay,
            similarity: here.similarity,
            reason: Reason::DependsOnLog,
        };
    }
    let leaves = said(PhraseKind::Digress)
        && here.overlap == 0.0
        && here.similarity < thresholds.stay
        && !evidence.terms.is_empty();
    if leaves || new.probability(&features) > model::threshold("thread.new") {
        let reason = if said(PhraseKind::Digress) { Reason::DigressPhrase } else { Reason::Unlike };
        return Decision { thread: next, event: ThreadEvent::New, similarity: here.similarity, reason };
    }
    if here.similarity > thresholds.join {
        return Decision {
            thread: active,
            event: ThreadEvent::Join,
            similarity: here.similarity,
            reason: Reason::SimilarThread,
        };
    }
    let reason = if here.similarity >= thresholds.stay {
        Reason::CloseEnough
    } else if evidence.dependent {
        Reason::DependsOnLog
    } else {
        Reason::NothingSays
    };
    Decision { thread: active, event: ThreadEvent::Stay, similarity: here.similarity, reason }
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
