//! A session: the log, the threads and the scratch buffer of one conversation, and the flow of a turn through the steps
//! of SPEC-028.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize, Serializer};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use crate::blend::Tier;
use crate::classify::{self, Classification, Input, Inspection, Query, SimilaritySource};
use crate::config::{CallOptions, EmbedderOption, ModeOption, Options, Profile, Settings};
use crate::coverage::Coverage;
use crate::embedding::{Calibration, EmbeddingSpec, StaticEmbedder};
use crate::envelope::{self, Candidate, ItemKind, Packing};
use crate::error::{Code, Error, Result};
use crate::growth;
use crate::headers::{self, Mode};
use crate::intent::{Intent, Novelty};
use crate::knowledge::{KnowledgeBase, Policy};
use crate::mentions::{Mentions, READ_TERMS};
use crate::references::{Context, Reason, Target, turn_targets};
use crate::render;
use crate::scratch::{Freshness, NewEntry, ScratchBuffer, StalePolicy, Volatility};
use crate::select::{self, Recency, SpecTurns};
use crate::similarity;
use crate::spec::{self, Detected};
use crate::text::{Class, Pack, PhraseKind, Text, entities, enumerations};
use crate::thread_state;
use crate::threads::{self, Decision, Evidence, Odds, Thread, ThreadEvent, ThreadState, Threads, slug};
use crate::tokens::TokenCounter;
use crate::turn_log::{INDEXED_TERMS, NewTurn, Role, TurnLog, content_terms};
use crate::vectors::Search;
use crate::vocabulary::Terms;

/// Role of a message that a host appends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageRole {
    /// Kept apart, never re-ordered.
    System,
    /// As `System`.
    Developer,
    /// A turn.
    User,
    /// A turn, if it says something.
    Assistant,
    /// A scratch entry.
    Tool,
}

/// A tool call of an assistant message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolCall {
    /// The call's id, which its result names.
    pub id: String,
    /// Tool name.
    pub name: String,
    /// Arguments, as sent.
    #[serde(default)]
    pub arguments: String,
}

/// What comes with a message beside its text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Meta {
    /// Host's id.
    pub id: Option<String>,
    /// Speaker or tool name.
    pub name: Option<String>,
    /// Entities the host knows of.
    pub entities: Option<Vec<String>>,
    /// Calls of an assistant message.
    pub tool_calls: Vec<ToolCall>,
    /// The call a tool message answers.
    pub tool_call_id: Option<String>,
    /// How fast a tool result goes stale.
    pub volatility: Option<Volatility>,
    /// Lifetime of a tool result: milliseconds, an ISO 8601 duration or `session`.
    pub ttl: Option<serde_json::Value>,
    /// A tool result is never evicted.
    pub pinned: bool,
    /// What the message is recognised by among the history a client resends, if role and text are not enough (G-71).
    pub hash: Option<String>,
}

/// What a message became.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Appended {
    /// A turn, by id.
    Turn(u32),
    /// A scratch entry, by ordinal.
    Scratch(u32),
    /// Neither: a system message, or an assistant message that only calls tools.
    Neither,
}

/// What an append did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// What the message became.
    pub appended: Appended,
    /// The turn that it showed to be filed in the wrong thread, and moved; not told again to a retry.
    pub refiled: Option<Refiled>,
}

/// What every call needs from its surroundings.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// Options of the engine.
    pub options: &'a Options,
    /// Counts tokens.
    pub counter: &'a dyn TokenCounter,
    /// Milliseconds since the epoch, from the host's clock.
    pub now: i64,
}

/// Buffers reused from turn to turn.
#[derive(Debug, Default)]
pub struct Workspace {
    text: Text,
    mentions: Mentions,
    /// `text` is the reading of the turn at hand. The buffers are shared by the engine's sessions: no step may find what
    /// another turn left.
    is_read: bool,
    vector: Vec<f32>,
    similarities: Vec<f32>,
    calibrated: Vec<f32>,
    search: Search,
    recency: Recency,
    /// The turn as the `spec` profile's phrases are looked for in it.
    folded: Vec<u8>,
    classifying: classify::Buffers,
    filing: threads::Buffers,
    /// The turn whose reading the other buffers hold, if it was only looked at: most are assembled next.
    kept: Kept,
}

/// A classified turn and all that its classification depends on.
#[derive(Debug, Default)]
struct Kept {
    revision: Revision,
    content: String,
    has_vector: bool,
    vector: Vec<f32>,
    options: CallOptions,
    /// None when no turn is kept.
    prepared: Option<Prepared>,
}

/// Tells the states of sessions apart: it changes with every change, and no two share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision(u64);

impl Default for Revision {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Workspace {
    fn read(&mut self, content: &str, pack: &Pack) {
        self.forget();
        self.text.read(content, pack);
        self.is_read = true;
    }

    /// No turn is kept any more.
    fn forget(&mut self) {
        if let Some(prepared) = self.kept.prepared.take() {
            self.classifying.reuse(prepared.classification);
        }
    }

    /// The `spec` profile reads a turn only for what its pseudo-code does not cover.
    fn ensure_read(&mut self, content: &str, pack: &Pack) {
        if !self.is_read {
            self.read(content, pack);
        }
    }
}

/// A system or developer message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemMessage {
    /// `system` or `developer`.
    pub role: MessageRole,
    /// Its text.
    pub content: String,
    /// Its name, if any.
    pub name: Option<String>,
}

/// One conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    id: Box<str>,
    namespace: Box<str>,
    log: TurnLog,
    threads: Threads,
    scratch: ScratchBuffer,
    coverage: Coverage,
    /// Names of those who spoke under one, from speaker 1 on.
    speakers: Vec<String>,
    system: Vec<SystemMessage>,
    /// Hash of every message appended, in order.
    history: Vec<u64>,
    /// Messages with a host id: what they were and what they became.
    #[serde(serialize_with = "sorted")]
    known: FxHashMap<Box<str>, (u64, Appended)>,
    /// Bytes of the ids in `known`.
    id_bytes: usize,
    /// Calls whose results have not come yet.
    calls: Vec<ToolCall>,
    embedding: Option<EmbeddingSpec>,
    /// The newest user turn.
    newest: Option<Box<Newest>>,
    #[serde(skip)]
    revision: Revision,
}

/// What may have to be taken back of the newest user turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Newest {
    id: u32,
    thread: u32,
    /// The pack it was read with.
    locale: u16,
    /// State of the thread before the turn, if the turn was read for it.
    state: Option<ThreadState>,
    /// What else the turn may have done, until its answer is there.
    odds: Option<Odds>,
}

impl Newest {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.state.as_ref().map_or(0, ThreadState::bytes)
    }
}

/// A user turn whose answer showed that it was filed in the wrong thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refiled {
    /// The turn.
    pub turn: u32,
    /// Name of the thread it was filed in; of one that it had opened, the name stands for the other from now on.
    pub from: String,
    /// Name of the thread it is in now.
    pub thread: String,
}

/// A packed item, rendered.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its tier.
    pub tier: Tier,
    /// What it is.
    pub kind: ItemKind,
    /// Turn id, scratch ordinal, thread ordinal, or index of a fact.
    pub id: u32,
    /// Id of a fact; empty otherwise.
    pub name: String,
    /// Spoken by the assistant.
    pub assistant: bool,
    /// In [0, 1] within its tier.
    pub score: f32,
    /// Tokens as rendered, overhead included.
    pub tokens: u32,
    /// Why it is here.
    pub reason: Reason,
    /// Referred to by the turn.
    pub pinned: bool,
    /// Cut to fit.
    pub truncated: bool,
    /// As rendered; `None` when it is all of a turn that the log still has.
    pub text: Option<String>,
}

/// A candidate that was not packed.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// Its tier.
    pub tier: Tier,
    /// What it is.
    pub kind: ItemKind,
    /// As [`Item::id`].
    pub id: u32,
    /// As [`Item::name`].
    pub name: String,
    /// Its score.
    pub score: f32,
    /// Tokens it would have cost.
    pub tokens: u32,
    /// Why it was left out.
    pub reason: Reason,
}

impl LeftOut {
    fn new(candidate: &Candidate, name: String, reason: Reason) -> Self {
        let Candidate { tier, kind, id, score, tokens, .. } = *candidate;
        Self { tier, kind, id, name, score, tokens, reason }
    }
}

/// The envelope of a turn with all that led to it.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// The classification.
    pub classification: Classification,
    /// Id of the turn; `None` for a dry run.
    pub turn: Option<u32>,
    /// The mode in force.
    pub mode: Mode,
    /// Packed items, in rendering order.
    pub items: Vec<Item>,
    /// What was left out of Tiers P and E; [`Session::left_out`] tells of Tier C.
    pub left: Vec<LeftOut>,
    /// Tokens of the budget that were not granted.
    pub free: u32,
    /// Budget, tokens.
    pub budget: u32,
    /// Tokens spent by tier.
    pub spent: [u32; 3],
    /// The counts are estimates.
    pub estimated: bool,
    /// Name of its thread.
    pub thread: String,
    /// Header name index and value.
    pub headers: Vec<(usize, String)>,
    /// Scratch entries to fetch again (G-61).
    pub reinvoke: Vec<u32>,
    /// Candidate sub-queries of a document task (G-69).
    pub subqueries: Vec<String>,
    /// Time in the core, microseconds.
    pub micros: f64,
}

impl Session {
    /// An empty session of a namespace.
    pub fn new(id: impl Into<Box<str>>, namespace: impl Into<Box<str>>, options: &Options) -> Self {
        let embedding = match &options.embedder {
            EmbedderOption::Builtin => Some(StaticEmbedder::builtin().spec().clone()),
            EmbedderOption::Lexical => None,
            EmbedderOption::Host(spec) => Some(spec.clone()),
        };
        Self {
            id: id.into(),
            namespace: namespace.into(),
            log: TurnLog::new(options.vectors),
            threads: Threads::default(),
            scratch: ScratchBuffer::new(options.scratch.max_entries, options.scratch.summary_tokens),
            coverage: Coverage::default(),
            speakers: Vec::new(),
            system: Vec::new(),
            history: Vec::new(),
            known: FxHashMap::default(),
            id_bytes: 0,
            calls: Vec::new(),
            embedding,
            newest: None,
            revision: Revision::default(),
        }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The namespace whose facts it may retrieve.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Another one after every change.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Its turns.
    pub fn log(&self) -> &TurnLog {
        &self.log
    }

    /// Its threads.
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// An item as rendered.
    pub fn text_of<'a>(&'a self, item: &'a Item) -> &'a str {
        item.text.as_deref().or_else(|| self.log.get(item.id).map(|turn| turn.text)).unwrap_or_default()
    }

    /// Its tool results.
    pub fn scratch(&self) -> &ScratchBuffer {
        &self.scratch
    }

    /// System and developer messages, in order.
    pub fn system(&self) -> &[SystemMessage] {
        &self.system
    }

    /// Model id, dimension and calibration of its vectors.
    pub fn embedding(&self) -> Option<&EmbeddingSpec> {
        self.embedding.as_ref()
    }

    /// False when parts of a session that was stored do not fit each other.
    pub(crate) fn is_sound(&self) -> bool {
        let dim = self.embedding.as_ref().map_or(0, |of| of.dimensions);
        self.threads.is_sound() && self.log.is_sound(self.threads.all().len(), dim)
    }

    /// Makes a session of what was stored, as one that `fresh` is would keep it.
    pub(crate) fn loaded(&mut self, fresh: Self) {
        self.embedding = fresh.embedding;
        self.log.loaded(fresh.log.form());
        self.history.shrink_to_fit();
    }

    /// Bytes asked of the allocator, the text of turns left out. Cost: a look at every thread and tool result.
    pub fn bytes(&self) -> usize {
        let names = self.speakers.iter().map(String::capacity).sum::<usize>();
        let system = self.system.iter().map(|m| m.content.capacity() + m.name.as_ref().map_or(0, String::capacity));
        let calls = self.calls.iter().map(|c| c.id.capacity() + c.name.capacity() + c.arguments.capacity());
        size_of::<Self>()
            + self.id.len()
            + self.namespace.len()
            + self.log.bytes()
            + self.threads.bytes()
            + self.scratch.bytes()
            + self.coverage.bytes()
            + growth::bytes(&self.speakers)
            + names
            + growth::bytes(&self.system)
            + system.sum::<usize>()
            + growth::bytes(&self.history)
            + growth::table_bytes::<(Box<str>, (u64, Appended))>(self.known.capacity())
            + self.id_bytes
            + growth::bytes(&self.calls)
            + calls.sum::<usize>()
            + self.newest.as_ref().map_or(0, |newest| newest.bytes())
    }

    /// How many messages are already here (G-71): the first `same`, and as many of `messages`, the ones after them given as
    /// hashes from [`message_hash`]: all of the history, unless they are fewer.
    ///
    /// # Errors
    /// `ID_CONFLICT` when they depart from the history: an edit or a branch, not new messages.
    pub fn known_prefix(&self, same: usize, messages: &[u64]) -> Result<usize> {
        let history = self.history.get(same..).unwrap_or_default();
        let known = history.iter().zip(messages).take_while(|(known, new)| known == new).count();
        if known < messages.len().min(history.len()) {
            return Err(Error::limit(
                Code::IdConflict,
                "the history departs from the session's",
                format_args!("message {}", same + known + 1),
                "the messages appended so far, then new ones",
            ));
        }
        Ok(same + known)
    }

    /// Messages appended so far.
    pub fn messages(&self) -> usize {
        self.history.len()
    }

    // ---- append ----------------------------------------------------------------------------------------------------

    /// Appends one message; idempotent by its host id.
    ///
    /// # Errors
    /// `INVALID_MESSAGE` for a turn without text, `ID_CONFLICT` when the id came before with other content,
    /// `INVALID_VECTOR`, `SCRATCH_FULL`, and those of the counter. Nothing is changed on an error.
    pub fn append(
        &mut self,
        role: MessageRole,
        content: &str,
        meta: Meta,
        vector: Option<&[f32]>,
        call: Call<'_>,
        workspace: &mut Workspace,
    ) -> Result<Added> {
        self.revision = Revision::default();
        let hash = message_hash(role, content, meta.hash.as_deref());
        if let Some(appended) = self.already(meta.id.as_deref(), hash)? {
            return Ok(Added { appended, refiled: None });
        }
        let host_id = meta.id.clone();
        let mut refiled = None;
        let appended = match role {
            MessageRole::System | MessageRole::Developer => {
                self.system.push(SystemMessage { role, content: content.into(), name: meta.name });
                Appended::Neither
            }
            MessageRole::User => {
                let options = CallOptions { name: meta.name, entities: meta.entities, ..CallOptions::default() };
                let prepared = self.prepare(content, vector, &options, false, call, workspace)?;
                Appended::Turn(self.admit(content, &prepared, &options, host_id.as_deref(), call, workspace)?)
            }
            MessageRole::Assistant => {
                let mut appended = Appended::Neither;
                if !is_blank(content) {
                    let (turn, moved) = self.answer(content, &meta, vector, call, workspace)?;
                    (appended, refiled) = (Appended::Turn(turn), moved);
                }
                self.calls.extend(meta.tool_calls);
                appended
            }
            MessageRole::Tool => Appended::Scratch(self.tool_result(content, meta, call)?),
        };
        self.remember(host_id, hash, appended);
        Ok(Added { appended, refiled })
    }

    fn already(&self, id: Option<&str>, hash: u64) -> Result<Option<Appended>> {
        match id.and_then(|id| self.known.get(id).map(|known| (id, known))) {
            Some((_, (known, appended))) if *known == hash => Ok(Some(*appended)),
            Some((id, _)) => {
                Err(Error::limit(Code::IdConflict, "message id", id, "an id that has not been used for other content"))
            }
            None => Ok(None),
        }
    }

    fn remember(&mut self, id: Option<String>, hash: u64, appended: Appended) {
        growth::push(&mut self.history, hash);
        if let Some(id) = id {
            self.id_bytes += id.len();
            self.known.insert(id.into(), (hash, appended));
        }
    }

    /// An assistant's turn joins the thread of the user's turn it answers (G-18).
    fn answer(
        &mut self,
        content: &str,
        meta: &Meta,
        vector: Option<&[f32]>,
        call: Call<'_>,
        workspace: &mut Workspace,
    ) -> Result<(u32, Option<Refiled>)> {
        self.log.check_room(content)?;
        let tokens = call.counter.count(content)?;
        let pack = pack_for(&call.options.locale, content);
        let unit = self.vector(content, vector, &pack, workspace)?;
        workspace.read(content, &pack);
        let refiled = self.reconsider(content, &pack, unit, call, workspace);
        let user = self.log.last(Role::User).map(|turn| (turn.id, turn.thread, turn.speaker));
        let thread = user
            .map(|(_, thread, _)| thread)
            .or_else(|| self.threads.active(0))
            .unwrap_or(self.threads.all().len() as u32);
        let speaker = user.map_or(0, |(_, _, speaker)| speaker);
        let scratch = self
            .scratch
            .iter()
            .filter(|entry| Some(entry.turn) == user.map(|(id, ..)| id))
            .map(|entry| entry.ordinal)
            .collect();
        let turn = NewTurn {
            scratch,
            thread,
            speaker,
            tokens,
            at: call.now,
            answers: user.is_some(),
            ..read_turn(Role::Assistant, content, &workspace.text, meta.entities.clone(), meta.id.clone())
        };
        let id = self.push(turn, unit.then_some(&workspace.vector[..]), call.options);
        self.threads.file(id, thread, speaker, "");
        if call.options.extract
            && let Some(thread) = self.threads.get_mut(thread)
        {
            thread_state::extract(&mut thread.state, Role::Assistant, content, &workspace.text);
        }
        if let Some((user, ..)) = user {
            self.coverage.add(user, content);
        }
        Ok((id, refiled))
    }

    fn tool_result(&mut self, content: &str, meta: Meta, call: Call<'_>) -> Result<u32> {
        let answered = meta.tool_call_id.as_deref().and_then(|id| self.calls.iter().rposition(|c| c.id == id));
        let made = answered.map(|at| self.calls[at].clone());
        let user = self.log.last(Role::User).map_or(0, |turn| turn.id);
        let entry = NewEntry {
            tool: made.as_ref().map(|c| c.name.clone()).or(meta.name).unwrap_or_default(),
            arguments: made.map(|c| c.arguments).unwrap_or_default(),
            call_id: meta.tool_call_id,
            raw: content.to_owned(),
            volatility: meta.volatility,
            ttl: meta.ttl,
            pinned: meta.pinned,
            turn: user,
        };
        let ordinal = self.scratch.add(entry, call.now, call.counter)?;
        if let Some(at) = answered {
            self.calls.remove(at);
        }
        Ok(ordinal)
    }

    fn push(&mut self, turn: NewTurn<'_>, vector: Option<&[f32]>, options: &Options) -> u32 {
        let leaving = self.leaving(options);
        for gone in self.log.turns().iter().take(leaving) {
            self.threads.remove(gone.id);
            self.coverage.evict(gone.id, gone.answer());
        }
        self.log.evict(leaving);
        self.log.append(turn, vector)
    }

    /// How many turns, the oldest, make room for one that comes in.
    fn leaving(&self, options: &Options) -> usize {
        options.ring().map_or(0, |ring| (self.log.len() + 1).saturating_sub(ring))
    }

    // ---- one turn --------------------------------------------------------------------------------------------------

    /// Classifies a turn without changing anything.
    ///
    /// # Errors
    /// `INVALID_MESSAGE` for a turn without text (G-20), `INVALID_VECTOR`, and those of the options.
    pub fn classify(
        &self,
        content: &str,
        vector: Option<&[f32]>,
        options: &CallOptions,
        call: Call<'_>,
        workspace: &mut Workspace,
    ) -> Result<Classification> {
        self.prepare(content, vector, options, false, call, workspace).map(|prepared| prepared.classification)
    }

    /// As [`Session::classify`] but for what the `spec` profile's pseudo-code does not need to decide the intent: the turn is
    /// not filed, and its similarity only measured when no marker decides. `tell` gets what is said of the turn, and true beside
    /// it when nothing is left out. What the `default` profile finds is kept for a call of [`Session::assemble`] that asks the
    /// same next.
    ///
    /// Nothing is allocated in the `spec` profile, references apart, and nothing moved.
    ///
    /// # Errors
    /// As [`Session::classify`].
    pub fn glance<T>(
        &self,
        content: &str,
        vector: Option<&[f32]>,
        options: &CallOptions,
        call: Call<'_>,
        workspace: &mut Workspace,
        tell: impl FnOnce(&Classification, bool) -> T,
    ) -> Result<T> {
        let settings = call.options.settings(options)?;
        if settings.profile == Profile::Default {
            let prepared = self.prepare(content, vector, options, false, call, workspace)?;
            let kept = &mut workspace.kept;
            kept.revision = self.revision;
            kept.content.clear();
            kept.content.push_str(content);
            kept.has_vector = vector.is_some();
            kept.vector.clear();
            kept.vector.extend_from_slice(vector.unwrap_or_default());
            settings.decisive(options.name.as_deref(), &mut kept.options);
            return Ok(tell(&kept.prepared.insert(prepared).classification, true));
        }
        refuse_blank(content)?;
        workspace.is_read = false;
        workspace.forget();
        let detected = spec::detect(content, &mut workspace.folded);
        let mut source = SimilaritySource::None;
        let decided = spec::classify_intent(
            &detected,
            || {
                let speaker = self.speaker(options.name.as_deref())?;
                let active = self.threads.active(speaker).and_then(|thread| self.threads.get(thread));
                let turns = active.map_or(&[][..], |thread| &thread.turns);
                let similarity;
                (similarity, source) = self.similarity_to(turns, content, vector, workspace)?;
                Ok(similarity)
            },
            settings.thresholds.stay,
        )?;
        if decided.1 != Reason::SpecSimilarity {
            self.check_vector(vector)?;
        }
        let mut of = self.by_pseudo_code(content, &detected, decided, &settings);
        of.source = source;
        Ok(tell(&of, false))
    }

    /// As [`Session::classify`], against the log as it was when turn `next` was the next to come. Cost: a copy of the session
    /// when it has moved on since.
    ///
    /// # Errors
    /// As [`Session::classify`].
    pub fn classify_before(
        &self,
        next: u32,
        content: &str,
        vector: Option<&[f32]>,
        options: &CallOptions,
        call: Call<'_>,
        workspace: &mut Workspace,
    ) -> Result<Classification> {
        self.before_turn(next).classify(content, vector, options, call, workspace)
    }

    /// The session as it was when turn `next` was the next to come.
    fn before_turn(&self, next: u32) -> Cow<'_, Self> {
        if next >= self.log.next_id() {
            return Cow::Borrowed(self);
        }
        let mut before = self.clone();
        before.rewind(next);
        Cow::Owned(before)
    }

    /// Classifies a turn, appends it unless this is a dry run, and packs the envelope for it.
    ///
    /// # Errors
    /// As [`Session::classify`], `ID_CONFLICT`, and those of the counter. Nothing is changed on an error.
    pub fn assemble(
        &mut self,
        content: &str,
        vector: Option<&[f32]>,
        options: &CallOptions,
        base: Option<&mut KnowledgeBase>,
        call: Call<'_>,
        workspace: &mut Workspace,
    ) -> Result<Assembled> {
        let started = Instant::now();
        let hash = message_hash(MessageRole::User, content, None);
        let again = if options.dry_run { None } else { self.already(options.id.as_deref(), hash)? };
        if let Some(Appended::Turn(id)) = again {
            return self.again(id, content, vector, options, base, call, workspace);
        }
        let prepared = match self.kept(content, vector, options, call, workspace) {
            Some(prepared) => prepared,
            None => self.prepare(content, vector, options, true, call, workspace)?,
        };
        let settings = call.options.settings(options)?;
        let envelope = self.pack_envelope(content, &prepared, &settings, base, call, workspace)?;
        let mut turn = None;
        if !options.dry_run {
            self.log.check_room(content)?;
            self.revision = Revision::default();
            let id = self.admit(content, &prepared, options, options.id.as_deref(), call, workspace)?;
            self.remember(options.id.clone(), hash, Appended::Turn(id));
            turn = Some(id);
        }
        let thread = self.thread_slug(content, &prepared, call.options, workspace);
        let classification = prepared.classification;
        let resolved = classification.references.iter().filter(|r| r.target.is_some()).count();
        let Envelope { mode, items, left, free, spent, reinvoke, subqueries } = envelope;
        Ok(Assembled {
            headers: headers::headers(mode, classification.blend, classification.intent, resolved, &thread),
            classification,
            turn,
            mode,
            items,
            left,
            free,
            budget: settings.budget,
            spent,
            estimated: call.counter.estimated(),
            thread,
            reinvoke,
            subqueries,
            micros: started.elapsed().as_secs_f64() * 1e6,
        })
    }

    /// What [`Session::glance`] found, if it was asked the same of the session as it is: the buffers are as it left them.
    fn kept(
        &self,
        content: &str,
        vector: Option<&[f32]>,
        options: &CallOptions,
        call: Call<'_>,
        workspace: &mut Workspace,
    ) -> Option<Prepared> {
        let kept = &mut workspace.kept;
        let prepared = kept.prepared.take()?;
        let given = kept.has_vector.then_some(&kept.vector[..]);
        let same = kept.revision == self.revision && kept.content == content && given == vector;
        let mut decisive = CallOptions::default();
        call.options.settings(options).ok()?.decisive(options.name.as_deref(), &mut decisive);
        (same && kept.options == decisive).then_some(prepared)
    }

    /// A retry of a turn that is already in the log gets the envelope it would have got: the turns after it are set aside.
    #[expect(clippy::too_many_arguments, reason = "those of assemble and the id")]
    fn again(
        &self,
        id: u32,
        content: &str,
        vector: Option<&[f32]>,
        options: &CallOptions,
        base: Option<&mut KnowledgeBase>,
        call: Call<'_>,
        workspace: &mut Workspace,
    ) -> Result<Assembled> {
        let mut before = self.before_turn(id).into_owned();
        let dry = CallOptions { dry_run: true, ..options.clone() };
        let mut assembled = before.assemble(content, vector, &dry, base, call, workspace)?;
        assembled.turn = Some(id);
        Ok(assembled)
    }

    /// Takes back every turn from `id` on.
    fn rewind(&mut self, id: u32) {
        self.revision = Revision::default();
        self.log.rewind(id);
        self.coverage.rewind(id);
        if let Some(Newest { id: newest, thread, state: Some(state), .. }) = self.newest.take().map(|newest| *newest)
            && newest == id
            && let Some(thread) = self.threads.get_mut(thread)
        {
            thread.state = state;
        }
        self.threads.rewind(id, &self.log);
        self.scratch.remove_after(id);
    }

    fn thread_slug(&self, content: &str, prepared: &Prepared, options: &Options, workspace: &mut Workspace) -> String {
        let decision = prepared.classification.thread;
        if let Some(thread) = self.threads.get(decision.thread) {
            return thread.slug.clone();
        }
        workspace.ensure_read(content, &prepared.pack);
        self.threads.free_slug(&slug(&workspace.text, options.thread_names))
    }

    /// Index of the one who speaks under a name, or would.
    fn speaker(&self, name: Option<&str>) -> Result<u16> {
        let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(0) };
        let before = self.speakers.iter().position(|known| known == name).unwrap_or(self.speakers.len());
        u16::try_from(before + 1)
            .map_err(|_| Error::limit(Code::InvalidOption, "different names in a session", before + 1, u16::MAX))
    }

    /// Reads the turn, compares it and classifies it, also for `packing` if that is next. `workspace.vector` holds the unit
    /// vector afterwards.
    fn prepare(
        &self,
        content: &str,
        vector: Option<&[f32]>,
        options: &CallOptions,
        packing: bool,
        call: Call<'_>,
        workspace: &mut Workspace,
    ) -> Result<Prepared> {
        refuse_blank(content)?;
        let settings = call.options.settings(options)?;
        if settings.profile == Profile::Spec {
            return self.prepare_spec(content, vector, options, &settings, workspace);
        }
        let pack = pack_for(settings.locale, content);
        workspace.read(content, &pack);
        workspace.mentions.read(&workspace.text, &self.log);
        let embedded = self.vector(content, vector, &pack, workspace)?;
        let source = self.compare(content, &pack, embedded, workspace);
        let speaker = self.speaker(options.name.as_deref())?;
        workspace.recency.over(&self.log, settings.half_life);
        let mut buffers = std::mem::take(&mut workspace.classifying);
        let input = Input { packing, ..self.input(content, &pack, embedded, source, speaker, workspace) };
        let classification = classify::classify(&input, &settings, &mut buffers);
        workspace.classifying = buffers;
        Ok(Prepared { classification, embedded, pack, speaker })
    }

    fn input<'a>(
        &'a self,
        content: &'a str,
        pack: &'a Pack,
        embedded: bool,
        source: SimilaritySource,
        speaker: u16,
        workspace: &'a Workspace,
    ) -> Input<'a> {
        Input {
            context: Context {
                source: content,
                text: &workspace.text,
                log: &self.log,
                mentions: &workspace.mentions,
                scratch: &self.scratch,
                similarities: &workspace.similarities,
                has_meanings: embedded && self.has_builtin_vectors(),
                thread: self.threads.active(speaker),
            },
            threads: &self.threads,
            calibrated: &workspace.calibrated,
            recency: workspace.recency.weights(),
            source,
            pack,
            speaker,
            meaning: if embedded && self.has_builtin_vectors() { &workspace.vector } else { &[] },
            packing: false,
        }
    }

    /// Everything the models see of a turn, for fitting their weights: nothing is changed.
    ///
    /// # Errors
    /// As [`Session::classify`].
    pub fn inspect(&self, content: &str, call: Call<'_>, workspace: &mut Workspace) -> Result<Inspection> {
        let pack = pack_for(&call.options.locale, content);
        workspace.read(content, &pack);
        workspace.mentions.read(&workspace.text, &self.log);
        let embedded = self.vector(content, None, &pack, workspace)?;
        let source = self.compare(content, &pack, embedded, workspace);
        workspace.recency.over(&self.log, call.options.half_life);
        let input = self.input(content, &pack, embedded, source, 0, workspace);
        Ok(classify::inspect(&input, call.options.thresholds))
    }

    /// What an answer shares with the threads of the turns before the newest, which it answers, for fitting weights.
    ///
    /// # Errors
    /// As [`Session::append`].
    pub fn inspect_answer(
        &self,
        content: &str,
        call: Call<'_>,
        workspace: &mut Workspace,
    ) -> Result<Vec<(u32, Vec<f32>)>> {
        let pack = pack_for(&call.options.locale, content);
        workspace.read(content, &pack);
        let embedded = self.vector(content, None, &pack, workspace)?;
        let mut buffers = threads::Buffers::default();
        let answer = self.evidence_of_answer(content, &pack, embedded, 0, workspace);
        let all = threads::closeness(&self.threads, &answer, self.log.len().saturating_sub(1), &mut buffers);
        let held = (0..).zip(all).filter(|(_, close)| close.turns > 0);
        Ok(held.map(|(thread, close)| (thread, close.features().to_vec())).collect())
    }

    /// An answer, read into the workspace, as [`threads::reconsider`] takes it.
    fn evidence_of_answer<'a>(
        &'a self,
        content: &'a str,
        pack: &'a Pack,
        embedded: bool,
        speaker: u16,
        workspace: &'a mut Workspace,
    ) -> Evidence<'a> {
        let source = self.compare(content, pack, embedded, workspace);
        workspace.mentions.read(&workspace.text, &self.log);
        classify::evidence_of(&self.input(content, pack, embedded, source, speaker, workspace), &[], false)
    }

    /// Files the newest turn again if its filing was in doubt and the answer to it, read into the workspace, says otherwise.
    fn reconsider(
        &mut self,
        answer: &str,
        pack: &Pack,
        embedded: bool,
        call: Call<'_>,
        workspace: &mut Workspace,
    ) -> Option<Refiled> {
        let Newest { id, thread: from, locale, ref mut odds, .. } = **self.newest.as_mut()?;
        let odds = odds.take()?;
        let position = self.log.len().checked_sub(1)?;
        let turn = self.log.turns().last().filter(|turn| turn.id == id)?;
        let speaker = turn.speaker;
        let mut buffers = std::mem::take(&mut workspace.filing);
        let evidence = self.evidence_of_answer(answer, pack, embedded, speaker, workspace);
        let says_something = !evidence.mentions.terms().is_empty();
        let belongs =
            says_something.then(|| threads::reconsider(&self.threads, &evidence, position, odds, &mut buffers));
        workspace.filing = buffers;
        let belongs = belongs?;
        let thread = belongs.unwrap_or(self.threads.all().len() as u32);
        // A turn without words of its own opens nothing.
        let opens = belongs.is_none() && !self.log.terms(position).is_empty();
        let opened = self.threads.get(from).is_some_and(|thread| thread.turns == [id]);
        if thread == from || belongs.is_none() && (opened || !opens) {
            return None;
        }
        let state = self.newest.take().and_then(|newest| newest.state);
        if let Some((left, state)) = self.threads.get_mut(from).zip(state) {
            left.state = state;
        }
        let content = self.log.get(id)?.text.to_owned();
        let mut text = Text::default();
        text.read(&content, &Pack::at(locale));
        self.refile(id, thread, &slug(&text, call.options.thread_names));
        self.extract(id, thread, locale, None, &content, &text, call.options);
        Some(Refiled { turn: id, from: self.slug(from)?.to_owned(), thread: self.slug(thread)?.to_owned() })
    }

    /// Files the newest turn in another thread.
    pub fn refile(&mut self, id: u32, thread: u32, slug: &str) {
        self.revision = Revision::default();
        self.newest = None;
        if let Some(from) = self.log.refile(id, thread) {
            self.threads.refile(id, from, thread, slug);
        }
    }

    /// Reads the newest user turn for the state of its thread, unless the host keeps that itself, and notes what was before.
    #[expect(clippy::too_many_arguments, reason = "all of a turn's filing")]
    fn extract(
        &mut self,
        id: u32,
        thread: u32,
        locale: u16,
        odds: Option<Odds>,
        content: &str,
        text: &Text,
        options: &Options,
    ) {
        let of = self.threads.get_mut(thread).filter(|_| options.extract);
        let state = of.map(|thread| {
            let before = thread.state.clone();
            thread_state::extract(&mut thread.state, Role::User, content, text);
            before
        });
        self.newest = Some(Box::new(Newest { id, thread, locale, state, odds }));
    }

    /// What the pseudo-code's `classify_intent` decided, with its `resolve_references`. The turn is not filed: `thread` stands for
    /// a new one.
    #[inline]
    fn by_pseudo_code(
        &self,
        content: &str,
        detected: &Detected,
        (intent, reason, similarity): (Intent, Reason, f32),
        settings: &Settings<'_>,
    ) -> Classification {
        let references = if detected.points_back() {
            spec::resolve_references(content, detected, &self.log, &self.scratch)
        } else {
            Vec::new()
        };
        Classification {
            intent,
            confidence: 1.0,
            reason,
            ellipsis: false,
            carries_over: None,
            context_dependent: references.iter().any(|r| r.target.is_some()),
            document_request: false,
            thread: Decision {
                thread: self.threads.all().len() as u32,
                event: ThreadEvent::New,
                similarity: 0.0,
                reason: Reason::FirstTurn,
                odds: None,
            },
            blend: settings.blend(intent),
            novelty: intent.novelty(),
            similarity,
            source: SimilaritySource::None,
            locale: spec::locale(),
            query: Query { turns: turn_targets(&references).collect(), terms: Vec::new() },
            terms: Vec::new(),
            needs: Vec::new(),
            references,
        }
    }

    /// The pseudo-code's decision, and the turn filed by §3.3.
    fn prepare_spec(
        &self,
        content: &str,
        vector: Option<&[f32]>,
        options: &CallOptions,
        settings: &Settings<'_>,
        workspace: &mut Workspace,
    ) -> Result<Prepared> {
        workspace.is_read = false;
        let speaker = self.speaker(options.name.as_deref())?;
        let pack = Pack::at(spec::locale());
        let embedded = self.vector(content, vector, &pack, workspace)?;
        let active = self.threads.active(speaker);
        let turns = active.and_then(|thread| self.threads.get(thread)).map_or(&[][..], |thread| &thread.turns);
        let (similarity, best, source);
        if let Some(vectors) = self.log.vectors().filter(|_| embedded && self.log.is_embedded()) {
            let Workspace { vector, search, .. } = &mut *workspace;
            let all = || std::iter::once(0..vectors.len());
            vectors.bound(vector, all(), search);
            similarity = vectors.largest(vector, self.log.runs(turns), search).max(0.0);
            best = self.nearest_thread(speaker, |visit| vectors.nearest(vector, all(), search, visit));
            source = SimilaritySource::Embedding;
        } else {
            source = self.compare(content, &pack, false, workspace);
            let similarities = &workspace.calibrated;
            similarity = self.log.runs(turns).flat_map(|run| &similarities[run]).copied().fold(0.0, f32::max);
            best = self.nearest_thread(speaker, |visit| {
                for (at, similarity) in similarities.iter().enumerate() {
                    visit(at, *similarity);
                }
            });
        }
        let detected = spec::detect(content, &mut workspace.folded);
        let decided = spec::classify_intent(&detected, || Ok(similarity), settings.thresholds.stay)?;
        let of = self.by_pseudo_code(content, &detected, decided, settings);
        let thread = match best {
            Some((similarity, thread)) if similarity > settings.thresholds.join => {
                let event = if Some(thread) == active { ThreadEvent::Join } else { ThreadEvent::Resume };
                Decision { thread, event, similarity, reason: Reason::SimilarThread, odds: None }
            }
            Some((similarity, _)) => Decision { similarity, reason: Reason::Unlike, ..of.thread },
            None => of.thread,
        };
        Ok(Prepared { classification: Classification { thread, similarity, source, ..of }, embedded, pack, speaker })
    }

    /// The thread of a speaker that holds the most similar of the turns that `each` visits by position, with that similarity, 0
    /// or more; of equals the one active last. `each` is told below which similarity no turn is of use any more.
    fn nearest_thread(&self, speaker: u16, each: impl FnOnce(&mut dyn FnMut(usize, f32) -> f32)) -> Option<(f32, u32)> {
        let threads = self.threads.all();
        let unlike = |thread: u32| (0.0, threads[thread as usize].last_active, thread);
        let mut best = self.threads.of(speaker).map(unlike).max_by_key(|(_, active, _)| *active)?;
        each(&mut |at, similarity| {
            let thread = self.log.traits()[at].thread;
            let of = threads.get(thread as usize).filter(|of| of.speaker == speaker);
            if let Some(of) = of.filter(|of| (similarity, of.last_active) > (best.0, best.1)) {
                best = (similarity, of.last_active, thread);
            }
            best.0
        });
        Some((best.0, best.2))
    }

    /// Largest raw similarity of a text to `turns`, ascending ids; 0 for none.
    fn similarity_to(
        &self,
        turns: &[u32],
        content: &str,
        vector: Option<&[f32]>,
        workspace: &mut Workspace,
    ) -> Result<(f32, SimilaritySource)> {
        if self.log.is_empty() {
            self.check_vector(vector)?;
            return Ok((0.0, SimilaritySource::None));
        }
        let pack = Pack::at(spec::locale());
        let embedded = self.vector(content, vector, &pack, workspace)? && self.log.is_embedded();
        let Some(vectors) = self.log.vectors().filter(|_| embedded) else {
            let source = self.compare(content, &pack, false, workspace);
            let similarities = self.log.runs(turns).flat_map(|run| &workspace.calibrated[run]);
            return Ok((similarities.copied().fold(0.0, f32::max), source));
        };
        let Workspace { vector, search, .. } = workspace;
        vectors.bound(vector, self.log.runs(turns), search);
        let similarity = vectors.largest(vector, self.log.runs(turns), search).max(0.0);
        Ok((similarity, SimilaritySource::Embedding))
    }

    /// Refuses a vector that the session could not take.
    fn check_vector(&self, vector: Option<&[f32]>) -> Result<()> {
        match (&self.embedding, vector) {
            (_, None) => Ok(()),
            (Some(spec), Some(vector)) => spec.check(vector),
            (None, Some(vector)) => Err(lexical_session(vector)),
        }
    }

    /// The unit vector of a text into the workspace: the host's, else the built-in embedder's; false when there is none.
    /// The built-in table is of English words: of another language's it knows fragments, whose vectors say "similar" of
    /// any two texts. Those are compared by their words.
    fn vector(&self, content: &str, vector: Option<&[f32]>, pack: &Pack, workspace: &mut Workspace) -> Result<bool> {
        workspace.forget();
        match (&self.embedding, vector) {
            (Some(spec), Some(vector)) => {
                spec.unit_into(vector, &mut workspace.vector)?;
                Ok(true)
            }
            (None, Some(vector)) => Err(lexical_session(vector)),
            (Some(_), None) if self.has_builtin_vectors() => {
                let known = pack.locale() == StaticEmbedder::LANGUAGE;
                Ok(known && StaticEmbedder::builtin().embed(content, &mut workspace.vector).is_some())
            }
            _ => Ok(false),
        }
    }

    /// Similarity of the turn to every turn of the log, raw and calibrated, into the workspace.
    fn compare(&self, content: &str, pack: &Pack, embedded: bool, workspace: &mut Workspace) -> SimilaritySource {
        workspace.forget();
        workspace.similarities.clear();
        workspace.calibrated.clear();
        if self.log.is_empty() {
            return SimilaritySource::None;
        }
        let Workspace { vector, similarities, calibrated, search, .. } = &mut *workspace;
        if let Some(vectors) = self.log.vectors().filter(|_| embedded && self.log.is_embedded()) {
            similarities.resize(self.log.len(), 0.0);
            vectors.similarities(vector, search, similarities);
            let identity = Calibration::default();
            let calibration = self.embedding.as_ref().map_or(&identity, |spec| &spec.calibration);
            calibrated.extend(similarities.iter().map(|cosine| calibration.apply(*cosine)));
            return SimilaritySource::Embedding;
        }
        workspace.ensure_read(content, pack);
        let Workspace { text, similarities, calibrated, .. } = workspace;
        let terms = content_terms(text, READ_TERMS);
        let known: Vec<u32> = terms.iter().filter_map(|term| self.log.vocabulary().number(*term)).collect();
        similarities.extend(self.log.turns().iter().map(|turn| lexical(terms.len(), &known, turn.terms)));
        calibrated.extend(similarities.iter().map(|s| lexical_scale(*s)));
        SimilaritySource::Lexical
    }

    fn has_builtin_vectors(&self) -> bool {
        self.embedding.as_ref().is_some_and(|spec| spec.id == StaticEmbedder::builtin().spec().id)
    }

    /// Appends a classified user turn.
    fn admit(
        &mut self,
        content: &str,
        prepared: &Prepared,
        options: &CallOptions,
        host_id: Option<&str>,
        call: Call<'_>,
        workspace: &mut Workspace,
    ) -> Result<u32> {
        self.log.check_room(content)?;
        let tokens = call.counter.count(content)?;
        workspace.ensure_read(content, &prepared.pack);
        let of = &prepared.classification;
        if let Some(speaker) = options.name.as_deref().filter(|_| usize::from(prepared.speaker) > self.speakers.len()) {
            self.speakers.push(speaker.to_owned());
        }
        let references = turn_targets(&of.references).collect();
        let turn = NewTurn {
            speaker: prepared.speaker,
            tokens,
            at: call.now,
            thread: of.thread.thread,
            references,
            ..read_turn(Role::User, content, &workspace.text, options.entities.clone(), host_id.map(str::to_owned))
        };
        let id = self.push(turn, prepared.embedded.then_some(&workspace.vector[..]), call.options);
        let wanted = if of.thread.event == ThreadEvent::New {
            slug(&workspace.text, call.options.thread_names)
        } else {
            String::new()
        };
        self.threads.file(id, of.thread.thread, prepared.speaker, &wanted);
        self.extract(id, of.thread.thread, of.locale, of.thread.odds, content, &workspace.text, call.options);
        for reference in &of.references {
            if let Some(Target::Scratch(ordinal)) = reference.target {
                self.scratch.refer(ordinal, id);
            }
        }
        Ok(id)
    }

    // ---- packing ---------------------------------------------------------------------------------------------------

    fn pack_envelope(
        &self,
        content: &str,
        prepared: &Prepared,
        settings: &Settings<'_>,
        base: Option<&mut KnowledgeBase>,
        call: Call<'_>,
        workspace: &mut Workspace,
    ) -> Result<Envelope> {
        let of = &prepared.classification;
        let mode = mode(settings.mode, of, &self.log);
        let overhead = call.options.message_overhead;
        let (mut candidates, summary) = self.conversation(prepared, settings, overhead, call, workspace)?;
        let (knowledge, base) = self.knowledge(content, prepared, settings, mode, base, call, workspace)?;
        candidates.extend(knowledge);
        let mut reinvoke = Vec::new();
        let mut excluded = Vec::new();
        let tools = self.tools(of, settings, call, overhead, &mut reinvoke, &mut excluded)?;
        let mut tool_texts = FxHashMap::default();
        for (candidate, text) in tools {
            tool_texts.insert(candidate.id, text);
            candidates.push(candidate);
        }
        let turns = self.spec_turns(of, settings, overhead, &mut workspace.recency);
        let packing = envelope::pack(candidates, turns, settings.budget, of.blend);

        let packed: Vec<&Candidate> = packing.packed.iter().map(|p| &packing.candidates[p.candidate]).collect();
        let order = if settings.profile == Profile::Spec { order_literal(&packed, of) } else { order(&packed, of) };
        let mut items = Vec::with_capacity(order.len());
        let mut spent = [0; 3];
        let leaving = self.leaving(call.options);
        for at in order {
            let (candidate, granted) = (packed[at], &packing.packed[at]);
            // Most are whole turns. They go without their texts, and they are made where they will be, which `push` does not do.
            if let Some(role) = self.whole_turn(candidate, granted, leaving) {
                spent[candidate.tier as usize] += candidate.tokens;
                items.extend(std::iter::once_with(|| Item {
                    tier: candidate.tier,
                    kind: candidate.kind,
                    id: candidate.id,
                    name: String::new(),
                    assistant: role == Role::Assistant,
                    score: candidate.score,
                    tokens: candidate.tokens,
                    reason: candidate.reason,
                    pinned: candidate.pinned,
                    truncated: false,
                    text: None,
                }));
            } else if let Some(item) =
                self.render(candidate, granted, base.as_deref(), &tool_texts, summary.as_deref(), call)?
            {
                spent[item.tier as usize] += item.tokens;
                items.push(item);
            }
        }
        let name = |candidate: &Candidate| {
            base.as_deref()
                .filter(|_| candidate.kind == ItemKind::Fact)
                .and_then(|b| b.get(candidate.id as usize))
                .map(|f| f.id.clone())
                .unwrap_or_default()
        };
        let left = packing.candidates.iter().zip(&packing.taken).filter(|(c, taken)| c.tier != Tier::C && !**taken);
        let mut left: Vec<LeftOut> = left
            .map(|(c, _)| LeftOut::new(c, name(c), Packing::why_left(c, packing.free, packing.shares[c.tier as usize])))
            .collect();
        left.extend(excluded);
        let subqueries = if mode == Mode::Conversation { Vec::new() } else { self.subqueries(of) };
        Ok(Envelope { mode, items, left, free: packing.free, spent, reinvoke, subqueries })
    }

    /// The candidates of Tier C that an envelope left out, by the session as it was when turn `next` was the next to come:
    /// worked out when somebody asks, since few do. `packed` are its turns and whether it has the summary, `free` what it
    /// left of the budget. Cost: as [`Session::assemble`], and a copy of the session when it has moved on since.
    ///
    /// # Errors
    /// As [`Session::assemble`].
    #[expect(clippy::too_many_arguments, reason = "those of assemble, and what it left")]
    pub fn left_out(
        &self,
        next: u32,
        content: &str,
        vector: Option<&[f32]>,
        options: &CallOptions,
        (packed, summary): (&[u32], bool),
        free: u32,
        call: Call<'_>,
        workspace: &mut Workspace,
    ) -> Result<Vec<LeftOut>> {
        let before = self.before_turn(next);
        let settings = call.options.settings(options)?;
        let prepared = before.prepare(content, vector, options, true, call, workspace)?;
        let overhead = call.options.message_overhead;
        let (mut candidates, _) = before.conversation(&prepared, &settings, overhead, call, workspace)?;
        if let Some(turns) = before.spec_turns(&prepared.classification, &settings, overhead, &mut workspace.recency) {
            candidates.extend(turns);
        }
        candidates.sort_by_key(|c| (c.kind == ItemKind::Summary, c.id));
        let share = crate::blend::shares(settings.budget, prepared.classification.blend.weights())[Tier::C as usize];
        let packed: FxHashSet<u32> = packed.iter().copied().collect();
        let left = candidates.iter().filter(|c| match c.kind {
            ItemKind::Summary => !summary,
            _ => !packed.contains(&c.id),
        });
        Ok(left.map(|c| LeftOut::new(c, String::new(), Packing::why_left(c, free, share))).collect())
    }

    /// The turns of the `spec` profile that were not referred to, ranked.
    fn spec_turns<'a>(
        &'a self,
        of: &Classification,
        settings: &Settings<'_>,
        overhead: u32,
        recency: &'a mut Recency,
    ) -> Option<SpecTurns<'a>> {
        (settings.profile == Profile::Spec).then(|| {
            let thread = self.threads.get(of.thread.thread).map_or(&[][..], |thread| &thread.turns);
            SpecTurns::new(&self.log, thread, &of.query.turns, overhead, settings.half_life, recency)
        })
    }

    /// Tier C: turns, and the Active Thread Summary when the thread has a state worth telling (R028-10, R028-12), with its text. Of
    /// the `spec` profile only the turns that were referred to: `spec_turns` has the others.
    fn conversation(
        &self,
        prepared: &Prepared,
        settings: &Settings<'_>,
        overhead: u32,
        call: Call<'_>,
        workspace: &mut Workspace,
    ) -> Result<(Vec<Candidate>, Option<String>)> {
        let of = &prepared.classification;
        let mut candidates = if settings.profile == Profile::Spec {
            select::spec_pinned(&self.log, &of.query.turns, overhead)
        } else {
            let Workspace { text, mentions, calibrated, recency, .. } = workspace;
            let recency = recency.over(&self.log, settings.half_life);
            let needs = if of.needs.len() == self.log.len() {
                Cow::Borrowed(&of.needs)
            } else {
                Cow::Owned(classify::needs(&self.log, text, mentions, calibrated, recency, of).scores())
            };
            select::turns(&self.log, of, &needs, overhead)
        };
        /// What a thread's state may take of the tier's share: the turns themselves say more.
        const PART: u32 = 8;
        let share = crate::blend::shares(settings.budget, of.blend.weights())[Tier::C as usize];
        let Some(thread) = self.threads.get(of.thread.thread).filter(|thread| thread.state != ThreadState::default())
        else {
            return Ok((candidates, None));
        };
        let thread_tokens = || {
            let turns = thread.turns.iter().filter_map(|id| self.log.get(*id));
            turns.map(|turn| turn.tokens.saturating_add(overhead)).fold(0, u32::saturating_add)
        };
        if of.thread.event != ThreadEvent::Resume && thread_tokens() <= share {
            return Ok((candidates, None));
        }
        let summary = Self::summary_text(thread, call.options.summary_tokens.min(share / PART), call)?;
        if let Some(text) = &summary {
            let tokens = call.counter.count(text)? + overhead;
            if tokens <= share {
                candidates.push(Candidate {
                    tier: Tier::C,
                    kind: ItemKind::Summary,
                    id: of.thread.thread,
                    score: 0.95,
                    tokens,
                    pinned: false,
                    reason: Reason::ThreadSummary,
                });
            }
        }
        Ok((candidates, summary))
    }

    fn summary_text(thread: &Thread, cap: u32, call: Call<'_>) -> Result<Option<String>> {
        let mut lines = thread_state::summary(thread);
        while !lines.is_empty() {
            let text = render::thread(&thread.slug, &lines.join("\n"));
            let Some(at) = call.counter.overflow(&text, cap)? else { return Ok(Some(text)) };
            // The opening tag is the first line: as many lines as end before that place may fit.
            let whole = text[..at].matches('\n').count().saturating_sub(1);
            lines.truncate(whole.min(lines.len() - 1));
        }
        Ok(None)
    }

    /// Tier P: facts by CDR under the turn's novelty policy (R024, G-7, G-8).
    #[expect(clippy::too_many_arguments, reason = "those of a call and what was prepared for it")]
    fn knowledge<'b>(
        &self,
        content: &str,
        prepared: &Prepared,
        settings: &Settings<'_>,
        mode: Mode,
        base: Option<&'b mut KnowledgeBase>,
        call: Call<'_>,
        workspace: &mut Workspace,
    ) -> Result<(Vec<Candidate>, Option<&'b mut KnowledgeBase>)> {
        const MOST: usize = 50;
        let of = &prepared.classification;
        let Some(base) = base.filter(|base| !base.is_empty()) else { return Ok((Vec::new(), None)) };
        workspace.ensure_read(content, &prepared.pack);
        let identity = Calibration::default();
        let calibration = self
            .embedding
            .as_ref()
            .filter(|_| settings.profile == Profile::Default)
            .map_or(&identity, |spec| &spec.calibration);
        let novelty = if mode == Mode::Conversation { of.novelty } else { Novelty::On };
        let coverage = self.coverage.mean(&self.log);
        let terms = self.query_terms(&workspace.text, &of.query.turns, &prepared.pack);
        let mut query_vector = workspace.vector.clone();
        if prepared.embedded {
            self.lend(&of.query.turns, &mut query_vector);
        }
        let query = crate::knowledge::Query { vector: prepared.embedded.then_some(&query_vector[..]), terms: &terms };
        let policy = Policy {
            novelty,
            partial_factor: call.options.facts.partial_factor,
            min_relevance: settings.thresholds.min_relevance,
            coverage: coverage.as_deref(),
            residual: &[],
            literal: settings.profile == Profile::Spec,
            calibrate: &|cosine| calibration.apply(cosine),
            ngrams: self.coverage.ngrams(&self.log),
            limit: MOST,
        };
        let scored = base.select(&query, &policy, call.now)?;
        let top = scored.iter().map(|s| s.score).fold(0.0f32, f32::max);
        let overhead = call.options.message_overhead;
        let candidates = scored
            .iter()
            .map(|fact| Candidate {
                tier: Tier::P,
                kind: ItemKind::Fact,
                id: fact.index as u32,
                score: if top > 0.0 { fact.score / top } else { 0.0 },
                tokens: base.get(fact.index).map_or(0, |f| f.tokens).saturating_add(overhead),
                pinned: false,
                reason: Reason::FactRelevant,
            })
            .collect();
        Ok((candidates, Some(base)))
    }

    /// Adds what the antecedents mean to the query's vector, and brings it back to unit length.
    fn lend(&self, turns: &[u32], vector: &mut [f32]) {
        const LENT: f32 = 0.5;
        for position in turns.iter().filter_map(|id| self.log.position(*id)) {
            self.log.add_vector(vector, position, LENT);
        }
        let _ = similarity::normalise(vector);
    }

    /// Content words of the query: the turn's own, then its antecedents'.
    fn query_terms(&self, text: &Text, turns: &[u32], pack: &Pack) -> Vec<String> {
        /// An antecedent lends its first words, not its whole text.
        const LENT: usize = 16;
        let mut terms: Vec<String> = Vec::new();
        let add = |text: &Text, terms: &mut Vec<String>, most: usize| {
            let mut added = 0;
            for word in text.words().iter().filter(|word| word.is_content()) {
                let stem = text.stem(word);
                if added < most && !terms.iter().any(|known| known == stem) {
                    terms.push(stem.to_owned());
                    added += 1;
                }
            }
        };
        add(text, &mut terms, usize::MAX);
        let mut antecedent = Text::default();
        for turn in turns.iter().filter_map(|id| self.log.get(*id)) {
            antecedent.read(turn.text, pack);
            add(&antecedent, &mut terms, LENT);
        }
        terms
    }

    /// Tier E: referenced entries first, then fresh ones of the turn's own thread (R029-2, R029-6, G-61).
    fn tools(
        &self,
        of: &Classification,
        settings: &Settings<'_>,
        call: Call<'_>,
        overhead: u32,
        reinvoke: &mut Vec<u32>,
        excluded: &mut Vec<LeftOut>,
    ) -> Result<Vec<(Candidate, String)>> {
        let share = crate::blend::shares(settings.budget, of.blend.weights())[Tier::E as usize];
        let referenced = |ordinal: u32| of.references.iter().find(|r| r.target == Some(Target::Scratch(ordinal)));
        let mut found = Vec::new();
        for (back, entry) in self.scratch.iter().rev().enumerate() {
            let reference = referenced(entry.ordinal);
            let freshness = self.scratch.freshness(entry, call.now);
            let stale = matches!(freshness, Freshness::Stale { .. }) && !entry.pinned;
            let policy = call.options.scratch.stale.unwrap_or_else(|| entry.volatility.stale_policy());
            let leave = |reason| LeftOut {
                tier: Tier::E,
                kind: ItemKind::Scratch,
                id: entry.ordinal,
                name: String::new(),
                score: 0.0,
                tokens: entry.summary_tokens,
                reason,
            };
            if stale && policy == StalePolicy::Reinvoke {
                if reference.is_some() {
                    reinvoke.push(entry.ordinal);
                }
                excluded.push(leave(Reason::StaleReinvoke));
                continue;
            }
            if stale && policy == StalePolicy::Exclude {
                excluded.push(leave(Reason::StaleExcluded));
                continue;
            }
            let raw = reference.is_some() && !stale && entry.raw_tokens <= share.saturating_sub(overhead + 24);
            let mut body = self.scratch.rendered(entry, call.now, raw);
            for row in reference.filter(|_| !raw).map_or(&[][..], |r| &r.rows) {
                body.push('\n');
                body.push_str(&row.text);
            }
            let state = if entry.pinned {
                "pinned"
            } else if stale {
                "stale"
            } else {
                "fresh"
            };
            let text = render::tool_output(&entry.id, &entry.tool, state, &body);
            let score = if reference.is_some() { 1.0 } else { 0.8 * 0.7f32.powi(back as i32) };
            let reason = if entry.pinned {
                Reason::ScratchPinned
            } else if stale {
                Reason::ScratchStale
            } else {
                Reason::ScratchFresh
            };
            let reason = if reference.is_some() { Reason::Pinned } else { reason };
            let tokens = call.counter.count(&text)?.saturating_add(overhead);
            found.push((
                Candidate {
                    tier: Tier::E,
                    kind: ItemKind::Scratch,
                    id: entry.ordinal,
                    score,
                    tokens,
                    pinned: reference.is_some(),
                    reason,
                },
                text,
            ));
        }
        Ok(found)
    }

    /// Who spoke, if it is all of a turn that the log will still have without its `leaving` oldest.
    #[inline]
    fn whole_turn(&self, candidate: &Candidate, packed: &envelope::Packed, leaving: usize) -> Option<Role> {
        if candidate.kind != ItemKind::Turn || packed.cut {
            return None;
        }
        let at = self.log.position(candidate.id).filter(|at| *at >= leaving)?;
        Some(self.log.traits()[at].role())
    }

    fn render(
        &self,
        candidate: &Candidate,
        packed: &envelope::Packed,
        base: Option<&KnowledgeBase>,
        tools: &FxHashMap<u32, String>,
        summary: Option<&str>,
        call: Call<'_>,
    ) -> Result<Option<Item>> {
        let overhead = call.options.message_overhead;
        let mut name = String::new();
        let mut assistant = false;
        let text: Cow<'_, str> = match candidate.kind {
            ItemKind::Turn => {
                let Some(turn) = self.log.get(candidate.id) else { return Ok(None) };
                assistant = turn.role == Role::Assistant;
                turn.text.into()
            }
            ItemKind::Fact => {
                let Some(fact) = base.and_then(|base| base.get(candidate.id as usize)) else { return Ok(None) };
                name.clone_from(&fact.id);
                render::fact(&fact.id, &fact.source, &fact.text).into()
            }
            ItemKind::Scratch => tools.get(&candidate.id).map(String::as_str).unwrap_or_default().into(),
            ItemKind::Summary => summary.unwrap_or_default().into(),
        };
        let (text, tokens) = if packed.cut {
            let text = render::cut(&text, packed.tokens.saturating_sub(overhead), call.counter)?;
            let tokens = call.counter.count(&text)?.saturating_add(overhead);
            (Cow::Owned(text), tokens)
        } else {
            (text, candidate.tokens)
        };
        if text.is_empty() {
            return Ok(None);
        }
        Ok(Some(Item {
            tier: candidate.tier,
            kind: candidate.kind,
            id: candidate.id,
            name,
            assistant,
            score: candidate.score,
            tokens,
            reason: candidate.reason,
            pinned: candidate.pinned,
            truncated: packed.cut,
            text: Some(text.into_owned()),
        }))
    }

    /// What the conversation asks a document to cover: the subjects of the thread's user turns (G-69).
    fn subqueries(&self, of: &Classification) -> Vec<String> {
        const MOST: usize = 8;
        let thread = self.threads.get(of.thread.thread).map_or(&[][..], |thread| &thread.turns);
        thread
            .iter()
            .rev()
            .filter_map(|id| self.log.get(*id))
            .filter(|turn| turn.role == Role::User)
            .take(MOST)
            .map(|turn| turn.text.to_string())
            .collect()
    }

    // ---- state -----------------------------------------------------------------------------------------------------

    /// State of a thread: by slug, or of the active one.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub fn thread_state(&self, slug: Option<&str>) -> Result<(&str, &ThreadState, u32)> {
        let ordinal = self.thread_ordinal(slug)?;
        let thread = &self.threads.all()[ordinal as usize];
        Ok((&thread.slug, &thread.state, thread.last_active))
    }

    fn thread_ordinal(&self, slug: Option<&str>) -> Result<u32> {
        let missing = || Error::limit(Code::NotFound, "thread", slug.unwrap_or("(active)"), "a thread of this session");
        match slug {
            Some(slug) => self.threads.by_slug(slug).ok_or_else(missing),
            None => self
                .threads
                .active(0)
                .or_else(|| (1..=self.speakers.len() as u16).find_map(|s| self.threads.active(s)))
                .ok_or_else(missing),
        }
    }

    /// Replaces parts of a thread's state: the host's word is authoritative (G-70).
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub fn update_thread(
        &mut self,
        slug: Option<&str>,
        established: Option<Vec<String>>,
        open_questions: Option<Vec<String>>,
        user_constraints: Option<Vec<String>>,
    ) -> Result<()> {
        let ordinal = self.thread_ordinal(slug)?;
        self.revision = Revision::default();
        let Some(thread) = self.threads.get_mut(ordinal) else { return Ok(()) };
        // A turn that the host took for the thread's stays there.
        if let Some(newest) = self.newest.as_mut().filter(|newest| newest.thread == ordinal) {
            newest.odds = None;
        }
        let state = &mut thread.state;
        if let Some(lines) = established {
            state.established = lines;
        }
        if let Some(lines) = open_questions {
            state.open_questions = lines;
        }
        if let Some(lines) = user_constraints {
            state.user_constraints = lines;
        }
        Ok(())
    }

    /// Erases a turn with its vector, its coverage, its tool results and its links (G-72); false when there is no such
    /// turn.
    pub fn delete_turn(&mut self, id: u32, workspace: &mut Workspace) -> bool {
        let Some(turn) = self.log.get(id) else { return false };
        // The buffers hold what was read last, and words that no pack knows.
        *workspace = Workspace::default();
        self.revision = Revision::default();
        // A thread is named after its first turn: the name goes with it.
        for thread in self.threads.named_after(id) {
            let opaque = format!("thread-{}", thread + 1);
            if self.slug(thread) != Some(&opaque) {
                self.threads.rename(thread, self.threads.free_slug(&opaque));
            }
        }
        self.threads.remove(id);
        self.threads.forget_lines(turn.thread, turn.text);
        self.coverage.remove(id);
        self.log.remove(id);
        self.scratch.remove_turn(id);
        self.known.retain(|_, (_, appended)| *appended != Appended::Turn(id));
        self.id_bytes = self.known.keys().map(|id| id.len()).sum();
        self.newest = None;
        true
    }

    /// What a turn asks for once it carries over `turns`: its text with their content words, and all content words
    /// (`turn.query`).
    pub fn query(&self, content: &str, pack: &Pack, turns: &[u32]) -> (String, Vec<String>) {
        let mut text = Text::default();
        text.read(content, pack);
        let own = self.query_terms(&text, &[], pack).len();
        let terms = self.query_terms(&text, turns, pack);
        let carried = terms[own..].join(" ");
        (if carried.is_empty() { content.to_owned() } else { format!("{content} {carried}") }, terms)
    }

    /// Hash of what a turn depends on: the turns it carries over, or the whole thread when none is named. Key a cache on it
    /// together with the text.
    pub fn context_hash(&self, of: &Classification) -> u64 {
        let mut hasher = Xxh3Default::new();
        let depends: Vec<u32> = if of.query.turns.is_empty() {
            self.log.recent(4).iter().map(|turn| turn.id).collect()
        } else {
            of.query.turns.clone()
        };
        for turn in depends.iter().filter_map(|id| self.log.get(*id)) {
            hasher.update(turn.text.as_bytes());
            hasher.update(&[0]);
        }
        hasher.digest()
    }

    /// Header-safe name of a thread, by ordinal.
    pub fn slug(&self, thread: u32) -> Option<&str> {
        self.threads.get(thread).map(|thread| thread.slug.as_str())
    }

    /// The name a new thread opened by `content` would have got when turn `next` was the next to come.
    pub fn slug_for(&self, content: &str, next: u32, options: &Options) -> String {
        let mut text = Text::default();
        text.read(content, &pack_for(&options.locale, content));
        self.before_turn(next).threads.free_slug(&slug(&text, options.thread_names))
    }
}

/// The marker pack of a text: of the locale named, or of the language it seems to be in.
fn pack_for(locale: &str, content: &str) -> Arc<Pack> {
    if locale == "auto" { Pack::detect(content) } else { Pack::of(locale) }
}

/// What a message is recognised by when a client resends it (G-71): the identity the host gave, else its role's number as
/// a character and its text.
pub fn message_hash(role: MessageRole, content: &str, identity: Option<&str>) -> u64 {
    if let Some(identity) = identity {
        return identity_hash(identity);
    }
    let mut hasher = Xxh3Default::new();
    hasher.update(&[role as u8]);
    hasher.update(content.as_bytes());
    hasher.digest()
}

/// Hash of a message's identity; see [`message_hash`].
pub fn identity_hash(identity: &str) -> u64 {
    xxh3_64(identity.as_bytes())
}

fn lexical_session(vector: &[f32]) -> Error {
    Error::limit(
        Code::InvalidVector,
        "vector",
        format!("{} numbers", vector.len()),
        "no vector: the session is lexical",
    )
}

/// What `pack_envelope` made; as in [`Assembled`].
struct Envelope {
    mode: Mode,
    items: Vec<Item>,
    left: Vec<LeftOut>,
    free: u32,
    spent: [u32; 3],
    reinvoke: Vec<u32>,
    subqueries: Vec<String>,
}

/// What `prepare` found.
#[derive(Debug)]
struct Prepared {
    classification: Classification,
    embedded: bool,
    pack: Arc<Pack>,
    speaker: u16,
}

/// G-20.
fn refuse_blank(content: &str) -> Result<()> {
    if is_blank(content) {
        let wanted = "at least one character that is not white space";
        return Err(Error::limit(Code::InvalidMessage, "turn", "no text", wanted));
    }
    Ok(())
}

fn is_blank(content: &str) -> bool {
    content.chars().all(|c| c.is_whitespace() || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2060}' | '\u{FEFF}'))
}

fn read_turn<'a>(
    role: Role,
    content: &'a str,
    text: &Text,
    named: Option<Vec<String>>,
    host_id: Option<String>,
) -> NewTurn<'a> {
    NewTurn {
        role,
        speaker: 0,
        text: content,
        tokens: 0,
        at: 0,
        thread: 0,
        references: Vec::new(),
        entities: named.unwrap_or_else(|| entities(content, text)),
        scratch: Vec::new(),
        terms: content_terms(text, INDEXED_TERMS),
        lists: enumerations(content, text),
        host_id,
        question: text.is_question(),
        request: text.requests(0) || text.is_question() || !courteous(text),
        refusal: role == Role::Assistant && text.phrase(PhraseKind::Refusal).is_some_and(|p| p.words.start < 12),
        answers: false,
    }
}

/// Same messages, same bytes, whatever order a table has them in.
fn sorted<S: Serializer>(
    known: &FxHashMap<Box<str>, (u64, Appended)>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(known.iter().collect::<BTreeMap<_, _>>())
}

/// Thanks, a greeting or assent.
fn courteous(text: &Text) -> bool {
    text.words().first().is_some_and(|word| word.class.has(Class::INTERJECTION.or(Class::GREETING)))
}

/// Cosine of two sets of terms: one of so many, of which the log has these, by number, and those of a turn of the log.
fn lexical(terms: usize, known: &[u32], of: Terms<'_>) -> f32 {
    let shared = of.numbers().filter(|number| known.contains(number)).count();
    if shared == 0 { 0.0 } else { shared as f32 / ((terms * of.len()) as f32).sqrt() }
}

/// Lexical similarity on the scale of 0.70 / 0.50: a third of the words shared joins, a fifth stays; none says little.
fn lexical_scale(similarity: f32) -> f32 {
    const X: [f32; 5] = [0.0, 0.08, 0.18, 0.33, 1.0];
    const Y: [f32; 5] = [0.1, 0.35, 0.50, 0.70, 1.0];
    let at = X.partition_point(|x| *x <= similarity).clamp(1, X.len() - 1);
    Y[at - 1] + (Y[at] - Y[at - 1]) * (similarity - X[at - 1]) / (X[at] - X[at - 1])
}

fn mode(option: ModeOption, of: &Classification, log: &TurnLog) -> Mode {
    match option {
        ModeOption::Document => Mode::Document,
        ModeOption::Hybrid => Mode::Hybrid,
        ModeOption::Auto if of.document_request && !log.is_empty() => Mode::Hybrid,
        ModeOption::Auto | ModeOption::Conversation => Mode::Conversation,
    }
}

/// Units in sandwich order (G-44): the summary, the turns as one chronological block, each fact, each tool result. Positions
/// among those packed.
fn order(packed: &[&Candidate], of: &Classification) -> Vec<usize> {
    let weight = tier_weights(of);
    let is_turn = |at: &usize| packed[*at].kind == ItemKind::Turn;
    let (mut block, others): (Vec<usize>, Vec<usize>) = (0..packed.len()).partition(is_turn);
    block.sort_unstable_by_key(|at| packed[*at].id);
    let best = block.iter().map(|at| packed[*at].score).fold(0.0, f32::max) * weight[Tier::C as usize];
    let mut scores: Vec<f32> = Vec::with_capacity(others.len() + 1);
    scores.extend((!block.is_empty()).then_some(best));
    scores.extend(others.iter().map(|at| packed[*at].score * weight[packed[*at].tier as usize]));
    let blocks = usize::from(!block.is_empty());
    let mut order = Vec::with_capacity(packed.len());
    for unit in envelope::sandwich(&scores) {
        match unit.checked_sub(blocks) {
            Some(other) => order.push(others[other]),
            None => order.append(&mut block),
        }
    }
    order
}

/// Single items in SPEC-003's literal sandwich; as [`order`].
fn order_literal(packed: &[&Candidate], of: &Classification) -> Vec<usize> {
    let weight = tier_weights(of);
    let scores: Vec<f32> = packed.iter().map(|item| item.score * weight[item.tier as usize]).collect();
    envelope::sandwich_literal(&scores)
}

/// Weights of the tiers, of the heaviest.
fn tier_weights(of: &Classification) -> [f32; 3] {
    let weights = of.blend.weights();
    let heaviest = weights.iter().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    weights.map(|weight| (weight / heaviest) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::references::ReferenceType;
    use crate::tokens::Counter;

    const TURN: &str = "Which of them runs on port 2379?";

    fn chat(call: Call<'_>, workspace: &mut Workspace) -> Session {
        let mut session = Session::new("s", "", call.options);
        let said = [
            (MessageRole::User, "Which programs does an etcd member run?"),
            (MessageRole::Assistant, "1. The server. 2. The gateway. 3. The client of the command line."),
        ];
        for (role, content) in said {
            session.append(role, content, Meta::default(), None, call, workspace).unwrap();
        }
        session
    }

    #[test]
    fn one_speaker_too_many_is_refused() {
        let options = Options::default();
        let call = Call { options: &options, counter: &Counter::Estimate, now: 0 };
        let workspace = &mut Workspace::default();
        let mut session = chat(call, workspace);
        session.speakers = (1..=u16::MAX).map(|name| name.to_string()).collect();
        let mut say = |name: &str| {
            let meta = Meta { name: Some(name.to_owned()), ..Meta::default() };
            session.append(MessageRole::User, TURN, meta, None, call, workspace).map_err(|e| e.code)?;
            Ok(session.log.turns().last().map(|turn| turn.speaker))
        };
        assert_eq!([say("65535"), say("another")], [Ok(Some(u16::MAX)), Err(Code::InvalidOption)]);
    }

    #[test]
    fn a_turn_that_was_looked_at_is_not_read_again_unless_something_changed() {
        let options = Options::default();
        let call = Call { options: &options, counter: &Counter::Estimate, now: 0 };
        let plain = CallOptions { dry_run: true, ..CallOptions::default() };
        let strict = CallOptions { half_life: Some(2.0), ..plain.clone() };
        let budget = CallOptions { budget: Some(100.0), id: Some("m".into()), ..plain.clone() };
        let workspace = &mut Workspace::default();
        let mut session = chat(call, workspace);
        let other = chat(call, workspace);
        let look = |session: &Session, workspace: &mut Workspace| {
            session.glance(TURN, None, &plain, call, workspace, |_, _| ()).unwrap();
        };
        let kept = |session: &Session, content: &str, options: &CallOptions, workspace: &mut Workspace| {
            session.kept(content, None, options, call, workspace).is_some()
        };
        for (content, options, same) in
            [(TURN, &plain, true), (TURN, &budget, true), (TURN, &strict, false), ("And which?", &plain, false)]
        {
            look(&session, workspace);
            assert_eq!(kept(&session, content, options, workspace), same, "{content} {options:?}");
        }
        look(&session, workspace);
        assert!(!kept(&other, TURN, &plain, workspace));
        look(&session, workspace);
        other.classify(TURN, None, &plain, call, workspace).unwrap();
        assert!(!kept(&session, TURN, &plain, workspace));
        look(&session, workspace);
        session.update_thread(None, None, None, Some(vec!["in German".into()])).unwrap();
        assert!(!kept(&session, TURN, &plain, workspace));
        look(&session, workspace);
        session.delete_turn(1, workspace);
        assert!(!kept(&session, TURN, &plain, workspace));
    }

    /// A novel, and a question that seems to leave it; returns what the answer moved.
    fn nobel(session: &mut Session, answer: &str, call: Call<'_>, workspace: &mut Workspace) -> Option<Refiled> {
        let said = [
            (MessageRole::User, "Recommend me a novel set in Lisbon."),
            (MessageRole::Assistant, "Try The Year of the Death of Ricardo Reis, by Saramago."),
            (MessageRole::User, "Does it rain there in winter?"),
            (MessageRole::Assistant, "The novel is set in winter, and it rains in Lisbon on every page."),
            (MessageRole::User, "Who won the Nobel Prize in 1998? I only read English."),
            (MessageRole::Assistant, answer),
        ];
        let append = |(role, content)| session.append(role, content, Meta::default(), None, call, workspace).unwrap();
        said.map(append).into_iter().next_back()?.refiled
    }

    const SAME: &str = "Saramago, the author of The Year of the Death of Ricardo Reis, the novel set in Lisbon.";
    const OTHER: &str = "In physics Laughlin, Störmer and Tsui, for the fractional quantum Hall effect of electrons.";

    #[test]
    fn an_answer_tells_where_its_turn_belongs() {
        let options = Options::default();
        let call = Call { options: &options, counter: &Counter::Estimate, now: 0 };
        let workspace = &mut Workspace::default();
        let threads = |session: &Session| -> Vec<String> {
            session.log().turns().iter().map(|turn| session.slug(turn.thread).unwrap().to_owned()).collect()
        };

        let mut session = Session::new("s", "", &options);
        let moved = nobel(&mut session, SAME, call, workspace).unwrap();
        assert_eq!((moved.turn, &*moved.from, &*moved.thread), (5, "won-nobel-prize", "novel-lisbon"));
        assert_eq!(threads(&session), ["novel-lisbon"; 6]);
        let state = &session.threads().all()[0].state;
        assert!(state.user_constraints.iter().any(|line| line.contains("English")), "{state:?}");
        assert_eq!(session.threads().active(0), Some(0));

        let mut other = Session::new("s", "", &options);
        assert_eq!(nobel(&mut other, OTHER, call, workspace), None);
        assert_eq!(threads(&other)[3..], ["novel-lisbon", "won-nobel-prize", "won-nobel-prize"]);
        assert!(!other.threads().all()[0].state.user_constraints.iter().any(|line| line.contains("English")));
    }

    #[test]
    fn the_name_of_a_thread_that_was_taken_back_stands_for_the_other() {
        let options = Options::default();
        let call = Call { options: &options, counter: &Counter::Estimate, now: 0 };
        let workspace = &mut Workspace::default();
        let mut session = Session::new("s", "", &options);
        let moved = nobel(&mut session, SAME, call, workspace).unwrap();
        assert_eq!(session.thread_state(Some(&moved.from)).unwrap().0, moved.thread);
        assert_eq!(session.threads().free_slug(&moved.from), format!("{}-2", moved.from));
        // Seen from before the turn, the name is free again.
        assert_eq!(session.slug_for("Who won the Nobel Prize in 1998?", 5, &options), moved.from);
        // It was made of the turn's words, and goes with them (G-72).
        assert!(session.delete_turn(moved.turn, workspace));
        assert!(session.thread_state(Some(&moved.from)).is_err());
        assert!(!session.threads().all().iter().any(|thread| thread.slug.contains("nobel")));
    }

    #[test]
    fn a_retry_of_a_moved_turn_gets_what_it_got() {
        let options = Options::default();
        let call = Call { options: &options, counter: &Counter::Estimate, now: 0 };
        let workspace = &mut Workspace::default();
        let mut session = Session::new("s", "", &options);
        let question = "Who won the Nobel Prize in 1998? I only read English.";
        let asked = CallOptions { id: Some("m5".into()), ..CallOptions::default() };
        for (role, content) in [
            (MessageRole::User, "Recommend me a novel set in Lisbon."),
            (MessageRole::Assistant, "Try The Year of the Death of Ricardo Reis, by Saramago."),
        ] {
            session.append(role, content, Meta::default(), None, call, workspace).unwrap();
        }
        let ask = |session: &mut Session, workspace: &mut Workspace| {
            let of = session.assemble(question, None, &asked, None, call, workspace).unwrap();
            format!("{:?}", Assembled { micros: 0.0, ..of })
        };
        let first = ask(&mut session, workspace);
        // What is in doubt survives a restart.
        let mut restored = Session::restore(&session.snapshot(), "s", "", &options).unwrap();
        for session in [&mut session, &mut restored] {
            let told = session.append(MessageRole::Assistant, SAME, Meta::default(), None, call, workspace).unwrap();
            assert!(told.refiled.is_some());
            assert_eq!(ask(session, workspace), first);
        }
        assert_eq!(session.snapshot(), restored.snapshot());
        // The next answer moves nothing.
        let told = session.append(MessageRole::Assistant, OTHER, Meta::default(), None, call, workspace).unwrap();
        assert_eq!(told.refiled, None);
    }

    /// A session of questions and answers, each filed in the thread given.
    fn filed(
        exchanges: &[(u32, impl AsRef<str>, impl AsRef<str>)],
        call: Call<'_>,
        workspace: &mut Workspace,
    ) -> Session {
        let mut session = Session::new("s", "", call.options);
        for (thread, asked, told) in exchanges {
            for (role, content) in [(MessageRole::User, asked.as_ref()), (MessageRole::Assistant, told.as_ref())] {
                let told = session.append(role, content, Meta::default(), None, call, workspace).unwrap();
                if let Appended::Turn(id) = told.appended {
                    session.refile(id, *thread, &format!("thread-{thread}"));
                }
            }
        }
        session
    }

    #[test]
    fn a_turn_that_returns_from_far_away_points_at_its_own_thread() {
        let options = Options::default();
        let call = Call { options: &options, counter: &Counter::Estimate, now: 0 };
        let workspace = &mut Workspace::default();
        let starter = "Feed the sourdough starter with flour and water once a day, and leave it on the counter.";
        let mut exchanges = vec![(0, "How do I keep a sourdough starter alive?".to_owned(), starter.to_owned())];
        exchanges.extend((1..=20).map(|day| {
            let asked = format!("What is there to see in Lisbon on day {day} of our trip?");
            (1, asked, format!("On day {day} take tram {day} to a museum in Lisbon."))
        }));
        let mut session = filed(&exchanges, call, workspace);
        for text in
            ["Back to the sourdough starter: does it survive in the fridge?", "And the sourdough starter in summer?"]
        {
            let turn = session
                .assemble(text, None, &CallOptions { dry_run: true, ..CallOptions::default() }, None, call, workspace)
                .unwrap();
            let of = turn.classification;
            assert_eq!((of.thread.thread, of.thread.event), (0, ThreadEvent::Resume), "{text}");
            assert!(turn_targets(&of.references).chain(of.carries_over).all(|id| id <= 2), "{text} {of:?}");
            assert!(of.carries_over.is_some(), "{text}");
        }
    }

    #[test]
    fn a_turn_that_says_it_returns_goes_where_it_says() {
        let options = Options::default();
        let call = Call { options: &options, counter: &Counter::Estimate, now: 0 };
        let workspace = &mut Workspace::default();
        let exchanges = [
            (0, "How do I set up etcd for TLS?", "Create certificates and name them in etcd.conf."),
            (0, "How long are the certificates valid?", "For one year."),
            (1, "What shall I cook for six vegetarian guests?", "A lasagne or a mushroom risotto."),
            (1, "How long does the lasagne take?", "Ninety minutes."),
            (2, "My cat sneezes all day. Should I worry?", "See a vet if it lasts."),
        ];
        let mut session = filed(&exchanges, call, workspace);
        let mut goes_to = |locale: &str, text: &str| {
            let options = Options { locale: locale.into(), ..Options::default() };
            let (call, dry) =
                (Call { options: &options, ..call }, CallOptions { dry_run: true, ..CallOptions::default() });
            session.assemble(text, None, &dry, None, call, workspace).unwrap().classification.thread.thread
        };
        for (text, ordinal) in [
            ("Where were we with etcd?", 0),
            ("Anyway, back to the certificates: how long does it take to make them?", 0),
            ("Back to the lasagne", 1),
            ("Back to the cat: is it contagious?", 2),
        ] {
            assert_eq!(goes_to("en", text), ordinal, "{text}");
        }
        // Where no word tells the threads apart, the one that was left last is meant.
        for (locale, text) in [
            ("en", "Let's go back."),
            ("en", "OK, back to what we were doing."),
            ("es", "Volvamos a lo de antes."),
            ("fr", "Revenons à nos moutons."),
            ("de", "Gehen wir zurück."),
            ("it", "Torniamo a quello che stavamo facendo."),
            ("pt", "Vamos voltar."),
            ("nl", "Terug naar waar we mee bezig waren."),
            ("zh", "我们回到刚才的话题吧。"),
            ("ja", "話を戻しましょう。"),
            ("ko", "아까 하던 얘기로 돌아가죠."),
            ("hi", "पहले वाली बात पर लौटते हैं।"),
            ("ar", "لنعد إلى موضوعنا."),
            ("ru", "Давай вернёмся назад."),
            ("tr", "Önceki konuya dönelim."),
        ] {
            assert_eq!(goes_to(locale, text), 1, "{text}");
        }
        // A word that both subjects have by chance does not hold back one that says it leaves.
        assert_eq!(goes_to("en", "Different question: how long do eggs keep in the fridge?"), 3);
        // A word of introduction is no return.
        for text in ["As for the weather?", "At the beginning of a race, what does the umpire say?"] {
            assert_ne!(goes_to("en", text), 1, "{text}");
        }
    }

    #[test]
    fn positions_are_counted_in_the_lists_of_the_thread() {
        let options = Options::default();
        let call = Call { options: &options, counter: &Counter::Estimate, now: 0 };
        let workspace = &mut Workspace::default();
        let mut session = Session::new("s", "", &options);
        let mut say = |role, content: &str| {
            session.append(role, content, Meta::default(), None, call, workspace).unwrap();
        };
        say(MessageRole::User, "Recommend me three tents for winter camping.");
        say(MessageRole::Assistant, "1. Hilleberg Nallo: light.\n2. Exped Venus: roomy.\n3. MSR Access: cheap.");
        say(MessageRole::User, "Different question: which road bikes are good for commuting?");
        say(MessageRole::Assistant, "1. Trek Domane\n2. Giant Contend\n3. Canyon Endurace");
        // Further back than a list of another thread is looked for.
        for width in 20..50 {
            say(MessageRole::User, &format!("Does the second one take road bike tyres of {width} mm?"));
            say(MessageRole::Assistant, &format!("The Giant Contend takes road bike tyres of {width} mm."));
        }
        for (said, item) in [
            ("Back to the tents: how much does the second one cost?", "Exped Venus: roomy."),
            ("And the third one?", "MSR Access: cheap."),
        ] {
            let turn = session.assemble(said, None, &CallOptions::default(), None, call, workspace).unwrap();
            let of = turn.classification;
            let counted = of.references.iter().flat_map(|r| &r.items).map(|item| &*item.text);
            assert_eq!((of.thread.thread, counted.collect()), (0, vec![item]), "{said}");
        }
    }

    #[test]
    fn what_a_returning_turn_names_is_where_it_was_named() {
        let options = Options::default();
        let call = Call { options: &options, counter: &Counter::Estimate, now: 0 };
        let workspace = &mut Workspace::default();
        let tents = "1. Hilleberg Nallo: light.\n2. Exped Venus: roomy.\n3. MSR Access: cheap.";
        let bikes = "1. Trek Domane\n2. Giant Contend\n3. Canyon Endurace";
        let mut exchanges = vec![
            (0, "Recommend me three tents for winter camping.", tents),
            (1, "Which three road bikes are good for commuting?", bikes),
        ];
        exchanges.extend([(1, "How heavy is that bike?", "The bike weighs ten kilograms."); 4]);
        let mut session = filed(&exchanges, call, workspace);
        let dry = CallOptions { dry_run: true, ..CallOptions::default() };
        let mut ask = |text: &str| session.assemble(text, None, &dry, None, call, workspace).unwrap().classification;
        let items = |of: &Classification| {
            of.references.iter().flat_map(|r| &r.items).map(|i| i.text.clone()).collect::<Vec<_>>()
        };
        // All of a list: its items are those of the turn that is pointed at.
        let of = ask("Back to the tents: compare those three.");
        let all = of.references.iter().find(|r| !r.items.is_empty()).unwrap_or_else(|| panic!("{of:?}"));
        assert_eq!((all.target, items(&of).len()), (Some(Target::Turn(2)), 3), "{of:?}");
        assert!(all.items[0].text.starts_with("Hilleberg"));
        // What only the other thread has named is there, in a turn that returns.
        let of = ask("Back to camping tents: is the Nallo lighter than that bike?");
        assert_eq!(of.thread.thread, 0);
        assert!(turn_targets(&of.references).any(|id| id > 4), "{of:?}");
        // And the other way round: its lists, in one that stays.
        assert_eq!(items(&ask("Would that bike carry the second tent?")), ["Exped Venus: roomy."]);
    }

    #[test]
    fn an_action_is_answered_in_its_thread() {
        let options = Options::default();
        let call = Call { options: &options, counter: &Counter::Estimate, now: 0 };
        let workspace = &mut Workspace::default();
        let exchanges = [
            (0, "Write me a packing list for winter camping with tents.", "Tent, stove, sleeping bag."),
            (1, "Different question: recommend a road bike for commuting.", "The Giant Contend."),
        ];
        let mut session = filed(&exchanges, call, workspace);
        let dry = CallOptions { dry_run: true, ..CallOptions::default() };
        let mut action = |session: &mut Session, text: &str| {
            let of = session.assemble(text, None, &dry, None, call, workspace).unwrap().classification;
            of.references.into_iter().find(|r| r.kind == ReferenceType::Action).unwrap().target
        };
        let told = "Back to camping with tents: do the same as you did for summer.";
        assert_eq!(action(&mut session, told), Some(Target::Turn(2)));
        // An answer that was erased is not another thread's.
        session.delete_turn(2, &mut Workspace::default());
        let again = "Back to camping with tents: do the same for summer.";
        assert_eq!(action(&mut session, again), Some(Target::Turn(1)));
    }

    #[test]
    fn an_erased_word_is_nowhere() {
        const SECRET: &str = "zorblaxina";
        let options = Options::default();
        let call = Call { options: &options, counter: &Counter::Estimate, now: 0 };
        let workspace = &mut Workspace::default();
        let mut session = Session::new("s", "", &options);
        for content in ["My patient is Zorblaxina Quimby.", "Which port does etcd use?"] {
            session.append(MessageRole::User, content, Meta::default(), None, call, workspace).unwrap();
        }
        let mut text = Text::default();
        text.read(SECRET, &Pack::of("en"));
        let hash = postcard::to_stdvec(&text.words()[0].term).unwrap();
        let held = |session: &Session| session.snapshot().windows(hash.len()).any(|bytes| bytes == hash);
        let key = format!("{:?}", crate::word_table::key(SECRET.as_bytes()).unwrap());
        let read = |workspace: &Workspace| format!("{workspace:?}").contains(&key);
        assert!(held(&session) && read(workspace));
        assert!(session.delete_turn(1, workspace));
        assert!(!held(&session) && !read(workspace));
    }

    #[test]
    fn what_is_done_again_was_asked_for_in_the_thread() {
        let options = Options::default();
        let call = Call { options: &options, counter: &Counter::Estimate, now: 0 };
        let workspace = &mut Workspace::default();
        let mut session = Session::new("s", "", &options);
        for (role, content) in [
            (MessageRole::User, "Write me a packing list for winter camping with tents."),
            (MessageRole::Assistant, "Tent, stove, sleeping bag."),
            (MessageRole::User, "Different question: recommend a road bike for commuting."),
            (MessageRole::Assistant, "The Giant Contend."),
            (MessageRole::User, "Compare it with the Trek Domane bike."),
            (MessageRole::Assistant, "The Trek Domane is heavier."),
        ] {
            session.append(role, content, Meta::default(), None, call, workspace).unwrap();
        }
        let plain = CallOptions { dry_run: true, ..CallOptions::default() };
        for (said, answer) in
            [("Back to camping with tents: do the same for summer.", 2), ("Do the same for the Canyon Endurace.", 6)]
        {
            let of = session.assemble(said, None, &plain, None, call, workspace).unwrap().classification;
            let action = of.references.iter().find(|r| r.kind == ReferenceType::Action).unwrap();
            assert_eq!(action.target, Some(Target::Turn(answer)), "{said}");
        }
    }

    #[test]
    fn looking_at_a_turn_changes_nothing_of_its_envelope() {
        let options = Options::default();
        let call = Call { options: &options, counter: &Counter::Estimate, now: 0 };
        let workspace = &mut Workspace::default();
        let [mut looked, mut straight] = [(); 2].map(|()| chat(call, workspace));
        for text in [TURN, "Explain the second one", "Thanks. How do I bake bread?"] {
            looked.glance(text, None, &CallOptions::default(), call, workspace, |_, _| ()).unwrap();
            let [a, b] = [&mut looked, &mut straight].map(|session| {
                let mut of = session.assemble(text, None, &CallOptions::default(), None, call, workspace).unwrap();
                of.classification.needs.clear();
                format!("{:?}", Assembled { micros: 0.0, ..of })
            });
            assert_eq!(a, b);
        }
        assert_eq!(looked.snapshot(), straight.snapshot());
    }
}
