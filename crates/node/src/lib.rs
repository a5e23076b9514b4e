//! The Node binding: convert, call, convert.
//!
//! Free functions over u32 handles in a thread-local registry; a class receiver alone would cost ten empty calls. Every
//! export catches panics; every failure carries a code. Results come back in one registered `Float64Array` and one string.
#![expect(
    clippy::missing_errors_doc,
    clippy::needless_pass_by_value,
    reason = "exports own what crosses the boundary; the façade documents their errors"
)]

mod classify;
mod columns;
mod embed;
mod failure;
mod overrides;
mod raw;
mod registry;
mod text;

use std::cell::RefCell;

use napi::bindgen_prelude::{Either, Float64Array, FnArgs, Function, Uint8Array, Unknown};
use napi_derive::napi;
use serde::Deserialize;
use serde_json::json;
use trihorizon_core::classify::SimilaritySource;
use trihorizon_core::config::{CallOptions, Options, TokensOption};
use trihorizon_core::error::{Code, Error as CoreError};
use trihorizon_core::headers;
use trihorizon_core::intent::Intent;
use trihorizon_core::knowledge::NewFact;
use trihorizon_core::references::{Reason, ReferenceType};
use trihorizon_core::session::{Added, Appended, MessageRole, Meta, Refiled, Session, identity_hash};
use trihorizon_core::similarity;
use trihorizon_core::text::Pack;
use trihorizon_core::threads::ThreadEvent;

use columns::Columns;
use failure::{Failure, Outcome, Result, js};
use overrides::Overrides;
use registry::{Engine, with_base, with_engine, with_session};
use text::Utf16String;

thread_local! {
    static OUT: RefCell<Out> = RefCell::default();
}

/// The registered result buffer of this thread and the result last made.
#[derive(Default)]
struct Out {
    columns: Columns,
    buffer: Option<Float64Array>,
}

impl Out {
    /// Makes a result with `fill` and writes its numbers to the buffer; true when it has texts.
    fn answer(fill: impl FnOnce(&mut Columns)) -> bool {
        OUT.with_borrow_mut(|out| {
            out.columns.clear();
            fill(&mut out.columns);
            out.columns.finish();
            out.deliver();
            !out.columns.blob.is_empty()
        })
    }

    /// Reads the texts of the last result.
    fn texts<T>(read: impl FnOnce(&str) -> T) -> T {
        OUT.with_borrow(|out| read(&out.columns.blob))
    }

    /// Copies the columns into the registered buffer; only their number when they do not fit.
    fn deliver(&mut self) {
        let Some(buffer) = &mut self.buffer else { return };
        // SAFETY: the buffer is pinned by the reference that `Float64Array` holds, JavaScript does not run meanwhile, and
        // the façade never transfers or detaches it.
        let out = unsafe { buffer.as_mut() };
        let numbers = &self.columns.numbers;
        if numbers.len() <= out.len() {
            out[..numbers.len()].copy_from_slice(numbers);
        } else {
            out[0] = numbers.len() as f64;
        }
    }
}

/// Registers the buffer that results are written to. It must not be detached.
#[napi(catch_unwind)]
pub fn register(buffer: Float64Array) {
    OUT.with_borrow_mut(|out| out.buffer = Some(buffer));
}

/// Writes the last result again, into a larger buffer.
#[napi(catch_unwind)]
pub fn refetch() {
    OUT.with_borrow_mut(Out::deliver);
}

/// Names behind the numbers in the columns, JSON.
#[napi(catch_unwind)]
pub fn tables() -> String {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "intents": Intent::ALL.map(Intent::name),
        "types": ReferenceType::ALL.map(ReferenceType::name),
        "events": ThreadEvent::ALL.map(ThreadEvent::name),
        "sources": SimilaritySource::ALL.map(SimilaritySource::name),
        "reasons": Reason::TEXTS,
        "locales": Pack::locales().collect::<Vec<_>>(),
        "novelty": ["on", "off", "partial"],
        "modes": ["conversation", "document", "hybrid"],
        "tiers": ["P", "C", "E"],
        "kinds": ["turn", "fact", "scratch", "summary"],
        "targets": ["none", "turn", "scratch", "fact"],
        "roles": ["user", "assistant"],
        "headers": headers::NAMES,
        "codes": Code::ALL.map(|code| json!({ "code": code.name(), "crpCode": code.crp() })),
    })
    .to_string()
}

/// Options with defaults filled in, JSON.
#[napi(catch_unwind)]
pub fn check_options(options: Utf16String) -> Result<String> {
    js(|| {
        let options = Options::parse(&options.0)?;
        Ok(serde_json::to_string(&options).unwrap_or_default())
    })
}

/// Opens an engine.
#[napi(catch_unwind)]
pub fn engine_open(options: Utf16String, counter: Option<Function<'_, FnArgs<(String,)>, f64>>) -> Result<u32> {
    js(|| {
        let options = Options::parse(&options.0)?;
        let custom = match (&options.tokens, counter) {
            (TokensOption::Custom, Some(counter)) => Some(counter.create_ref().map_err(Failure::host)?),
            (TokensOption::Custom, None) => {
                return Err(CoreError::new(Code::InvalidOption, "tokens: custom needs a function").into());
            }
            _ => None,
        };
        registry::open(Engine::new(options, custom)?)
    })
}

/// What the engine is made of, JSON.
#[napi(catch_unwind)]
pub fn engine_info(engine: u32) -> Result<String> {
    js(|| {
        let (sessions, bytes) = registry::usage(engine)?;
        with_engine(engine, |engine| {
            Ok(json!({
                "version": env!("CARGO_PKG_VERSION"),
                "kernel": similarity::kernel(),
                "embedding": engine.embedding().map(|spec| json!({ "id": spec.id, "dimensions": spec.dimensions })),
                "tokenizer": engine.tokenizer(),
                "locales": Pack::locales().collect::<Vec<_>>(),
                "sessions": sessions,
                "bytes": bytes,
                "options": engine.described(),
            })
            .to_string())
        })
    })
}

/// Closes an engine and all that belongs to it; idempotent.
#[napi(catch_unwind)]
pub fn engine_close(env: &napi::Env, engine: u32) -> Result<()> {
    js(|| registry::close(*env, engine))
}

/// Opens an empty session.
#[napi(catch_unwind)]
pub fn session_open(engine: u32, id: Utf16String, namespace: Utf16String) -> Result<u32> {
    js(|| {
        let session = with_engine(engine, |engine| Ok(Session::new(id.0, namespace.0, &engine.options)))?;
        registry::open_session(engine, session)
    })
}

/// Opens a session from a snapshot.
#[napi(catch_unwind)]
pub fn session_restore(engine: u32, id: Utf16String, namespace: Utf16String, bytes: Uint8Array) -> Result<u32> {
    js(|| {
        let session =
            with_engine(engine, |engine| Ok(Session::restore(&bytes, &id.0, &namespace.0, &engine.options)?))?;
        registry::open_session(engine, session)
    })
}

/// The session as bytes: versioned and checksummed.
#[napi(catch_unwind)]
pub fn session_snapshot(session: u32) -> Result<Uint8Array> {
    js(|| with_session(session, |cx| Ok(Uint8Array::from(cx.session.snapshot()))))
}

/// Closes a session; idempotent.
#[napi(catch_unwind)]
pub fn session_close(env: &napi::Env, session: u32) -> Result<()> {
    js(|| registry::close_session(*env, session))
}

/// Appends a message: a positive turn id, a negative scratch ordinal, or 0; of an answer that moved the turn it answers JSON of its
/// turn id and the move.
#[napi(catch_unwind)]
pub fn append(
    env: &napi::Env,
    session: u32,
    role: u32,
    content: Utf16String,
    meta: Option<Utf16String>,
    vector: Option<&[f32]>,
    now: f64,
) -> Result<Either<f64, String>> {
    js(|| {
        let role = role_of(role)?;
        let meta: Meta = meta.map_or(Ok(Meta::default()), |meta| parse(&meta.0, Code::InvalidMessage))?;
        with_session(session, |cx| {
            let Added { appended, refiled } =
                cx.call(*env, now, &Overrides::None, |session, _, call, workspace, _| {
                    session.append(role, &content.0, meta, vector, call, workspace)
                })?;
            let number = match appended {
                Appended::Turn(id) => f64::from(id),
                Appended::Scratch(ordinal) => -f64::from(ordinal),
                Appended::Neither => 0.0,
            };
            Ok(refiled.map_or(Either::A(number), |Refiled { turn, from, thread }| {
                let refiled = json!({ "turnId": turn, "from": from, "thread": thread });
                Either::B(json!({ "turnId": number as u32, "refiled": refiled }).to_string())
            }))
        })
    })
}

/// How many messages the session already has from its beginning: the first `same`, and of those after them, given by their
/// identities, as many as it has.
#[napi(catch_unwind)]
pub fn sync_prefix(session: u32, same: u32, identities: Vec<String>) -> Result<u32> {
    js(|| {
        let hashes: Vec<u64> = identities.iter().map(|identity| identity_hash(identity)).collect();
        with_session(session, |cx| Ok(cx.session.known_prefix(same as usize, &hashes)? as u32))
    })
}

/// Messages appended so far.
#[napi(catch_unwind)]
pub fn message_count(session: u32) -> Result<u32> {
    js(|| with_session(session, |cx| Ok(cx.session.messages() as u32)))
}

/// The function that classifies a turn: it returns the texts of the result, if any; the numbers are in the registered buffer.
/// In the `spec` profile the turn is not filed in a thread: [`classify_before`] tells the rest.
#[napi(
    catch_unwind,
    ts_return_type = "(session: number, content: string, overrides?: number | string | undefined, vector?: Float32Array | undefined) => string | undefined"
)]
pub fn classifier(env: &napi::Env) -> napi::Result<Unknown<'_>> {
    classify::function(env)
}

/// Classifies a turn wholly, as when turn `next` was the next to come; returns as the classifier does.
#[napi(catch_unwind)]
pub fn classify_before(
    env: &napi::Env,
    session: u32,
    content: Utf16String,
    #[napi(ts_arg_type = "number | string | undefined")] overrides: Overrides,
    vector: Option<&[f32]>,
    next: u32,
) -> Result<String> {
    js(|| {
        with_session(session, |cx| {
            let of = cx.call(*env, 0.0, &overrides, |session, options, call, workspace, _| {
                session.classify_before(next, &content.0, vector, options, call, workspace)
            })?;
            Out::answer(|columns| columns.classification(&of, &content.0, cx.session, true));
            Ok(Out::texts(str::to_owned))
        })
    })
}

/// Keeps call options, JSON, under a number that stands for them until the next ones are kept.
#[napi(catch_unwind)]
pub fn preset(engine: u32, options: Utf16String) -> Result<u32> {
    js(|| with_engine(engine, |engine| Ok(engine.preset.keep(CallOptions::parse(&options.0)?))))
}

/// Assembles the envelope of a turn; returns as the classifier does.
#[napi(catch_unwind)]
pub fn assemble(
    env: &napi::Env,
    session: u32,
    content: Utf16String,
    #[napi(ts_arg_type = "number | string | undefined")] overrides: Overrides,
    vector: Option<&[f32]>,
    now: f64,
) -> Result<String> {
    js(|| {
        with_session(session, |cx| {
            let of = cx.call(*env, now, &overrides, |session, options, call, workspace, base| {
                session.assemble(&content.0, vector, options, base, call, workspace)
            })?;
            Out::answer(|columns| {
                columns.classification(&of.classification, &content.0, cx.session, true);
                columns.assembled(&of, cx.session);
            });
            Ok(Out::texts(str::to_owned))
        })
    })
}

/// What of Tier C an envelope left out, as the session was when turn `next` was the next to come: its number of columns, then
/// the list. `packed` are the turns the envelope has, `free` the tokens it left.
#[napi(catch_unwind)]
#[allow(clippy::too_many_arguments, reason = "those of assemble, and what it left")]
pub fn left_out(
    env: &napi::Env,
    session: u32,
    content: Utf16String,
    #[napi(ts_arg_type = "number | string | undefined")] overrides: Overrides,
    vector: Option<&[f32]>,
    next: u32,
    packed: Vec<u32>,
    summary: bool,
    free: u32,
) -> Result<()> {
    js(|| {
        with_session(session, |cx| {
            let left = cx.call(*env, 0.0, &overrides, |session, options, call, workspace, _| {
                session.left_out(next, &content.0, vector, options, (&packed, summary), free, call, workspace)
            })?;
            Out::answer(|columns| {
                columns.numbers.push(0.0);
                columns.left_out(&left);
            });
            Ok(())
        })
    })
}

/// What a turn asks for with the turns it carries over, JSON `{text, terms}`: asked for only when it is read.
#[napi(catch_unwind)]
pub fn query(session: u32, content: Utf16String, locale: u32, turns: Vec<u32>) -> Result<String> {
    js(|| {
        with_session(session, |cx| {
            let (text, terms) = cx.session.query(&content.0, &Pack::at(locale as u16), &turns);
            Ok(json!({ "text": text, "terms": terms }).to_string())
        })
    })
}

/// Name of a thread.
#[napi(catch_unwind)]
pub fn thread_slug(session: u32, ordinal: u32) -> Result<String> {
    js(|| with_session(session, |cx| Ok(cx.session.slug(ordinal).unwrap_or_default().to_owned())))
}

/// Id of a scratch entry.
#[napi(catch_unwind)]
pub fn scratch_id(session: u32, ordinal: u32) -> Result<String> {
    js(|| {
        with_session(session, |cx| {
            Ok(cx.session.scratch().get(ordinal).map(|entry| entry.id.clone()).unwrap_or_default())
        })
    })
}

/// Name that a new thread opened by a turn would have got when turn `next` was the next to come.
#[napi(catch_unwind)]
pub fn slug_for(session: u32, content: Utf16String, next: u32) -> Result<String> {
    js(|| with_session(session, |cx| Ok(cx.session.slug_for(&content.0, next, &cx.engine.options))))
}

/// System and developer messages, JSON.
#[napi(catch_unwind)]
pub fn system_messages(session: u32) -> Result<String> {
    js(|| with_session(session, |cx| Ok(serde_json::to_string(cx.session.system()).unwrap_or_default())))
}

/// State of a thread, JSON; of the active one for an empty id.
#[napi(catch_unwind)]
pub fn thread_state(session: u32, thread: Utf16String) -> Result<String> {
    js(|| {
        with_session(session, |cx| {
            let slug = Some(thread.0.as_str()).filter(|slug| !slug.is_empty());
            let (slug, state, last) = cx.session.thread_state(slug)?;
            Ok(json!({
                "threadId": slug,
                "established": state.established,
                "openQuestions": state.open_questions,
                "userConstraints": state.user_constraints,
                "lastActiveTurn": last,
            })
            .to_string())
        })
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ThreadUpdate {
    thread_id: Option<String>,
    established: Option<Vec<String>>,
    open_questions: Option<Vec<String>>,
    user_constraints: Option<Vec<String>>,
}

/// Replaces parts of a thread's state.
#[napi(catch_unwind)]
pub fn update_thread(session: u32, update: Utf16String) -> Result<()> {
    js(|| {
        let update: ThreadUpdate = parse(&update.0, Code::InvalidOption)?;
        with_session(session, |cx| {
            Ok(cx.session.update_thread(
                update.thread_id.as_deref(),
                update.established,
                update.open_questions,
                update.user_constraints,
            )?)
        })
    })
}

/// Erases a turn; false when there is none.
#[napi(catch_unwind)]
pub fn delete_turn(env: &napi::Env, session: u32, id: u32) -> Result<bool> {
    js(|| {
        with_session(session, |cx| {
            let held = cx.delete_turn(id);
            cx.report(*env);
            Ok(held)
        })
    })
}

/// The turns, JSON.
#[napi(catch_unwind)]
pub fn turns(session: u32) -> Result<String> {
    js(|| {
        with_session(session, |cx| {
            let turns: Vec<_> = cx
                .session
                .log()
                .turns()
                .iter()
                .map(|turn| {
                    json!({
                        "turnId": turn.id,
                        "role": if turn.role == trihorizon_core::turn_log::Role::User { "user" } else { "assistant" },
                        "content": turn.text,
                        "tokens": turn.tokens,
                        "timestamp": turn.at(),
                        "thread": cx.session.slug(turn.thread),
                        "references": turn.references().collect::<Vec<_>>(),
                        "entities": turn.entities().collect::<Vec<_>>(),
                        "toolCalls": turn.scratch().filter_map(|ordinal| cx.session.scratch().get(ordinal)).map(|entry| entry.id.clone()).collect::<Vec<_>>(),
                        "id": turn.host_id(),
                    })
                })
                .collect();
            Ok(serde_json::Value::from(turns).to_string())
        })
    })
}

/// Text of a turn; empty when it is not held.
#[napi(catch_unwind)]
pub fn turn_text(session: u32, id: u32) -> Result<String> {
    js(|| {
        with_session(session, |cx| Ok(cx.session.log().get(id).map(|turn| turn.text.to_string()).unwrap_or_default()))
    })
}

/// Raw output of a scratch entry.
#[napi(catch_unwind)]
pub fn scratch_raw(session: u32, id: Utf16String) -> Result<String> {
    js(|| {
        with_session(session, |cx| {
            let missing = || CoreError::limit(Code::NotFound, "scratch entry", &id.0, "one that is held");
            Ok(cx.session.scratch().by_id(&id.0).map(|entry| entry.raw.clone()).ok_or_else(missing)?)
        })
    })
}

/// The facts of a namespace.
#[napi(catch_unwind)]
pub fn facts_open(engine: u32, namespace: Utf16String) -> Result<u32> {
    js(|| registry::open_base(engine, namespace.0))
}

/// Adds or replaces facts, JSON, with their vectors as rows; returns how many.
#[napi(catch_unwind)]
pub fn facts_add(env: &napi::Env, facts: u32, json: Utf16String, vectors: Option<&[f32]>, now: f64) -> Result<u32> {
    js(|| {
        let facts_in: Vec<NewFact> = parse(&json.0, Code::InvalidOption)?;
        with_base(facts, |engine, base| {
            let counter = engine.counter(*env);
            Ok(base.add(facts_in, vectors, engine.embedding(), &counter, now as i64)? as u32)
        })
    })
}

/// Erases facts; returns how many there were.
#[napi(catch_unwind)]
pub fn facts_delete(facts: u32, ids: Vec<String>) -> Result<u32> {
    js(|| with_base(facts, |_, base| Ok(ids.iter().filter(|id| base.delete(id)).count() as u32)))
}

/// The facts nearest to a text, JSON.
#[napi(catch_unwind)]
pub fn facts_search(facts: u32, content: Utf16String, k: u32, vector: Option<&[f32]>, now: f64) -> Result<String> {
    js(|| {
        with_base(facts, |engine, base| {
            let hits = base.search(&content.0, vector, engine.embedding(), &engine.options, k as usize, now as i64)?;
            Ok(serde_json::to_string(&hits).unwrap_or_default())
        })
    })
}

/// Number of facts.
#[napi(catch_unwind)]
pub fn facts_size(facts: u32) -> Result<u32> {
    js(|| with_base(facts, |_, base| Ok(base.len() as u32)))
}

/// Hash of the facts' state (R009-6).
#[napi(catch_unwind)]
pub fn facts_state(facts: u32) -> Result<String> {
    js(|| with_base(facts, |_, base| Ok(base.state_hash())))
}

/// Tokens of a text by the engine's counter.
#[napi(catch_unwind)]
pub fn count_tokens(env: &napi::Env, engine: u32, content: Utf16String) -> Result<u32> {
    js(|| {
        with_engine(engine, |engine| {
            use trihorizon_core::tokens::TokenCounter;
            Ok(engine.counter(*env).count(&content.0)?)
        })
    })
}

/// The function that writes the built-in embedder's unit vector of a text into a vector, if that has room, and returns the
/// dimension, or 0 when the embedder does not know the text's words. (JavaScript makes a typed array faster than the boundary.)
#[napi(catch_unwind, ts_return_type = "(engine: number, content: string, out: Float32Array) => number")]
pub fn embedder(env: &napi::Env) -> napi::Result<Unknown<'_>> {
    embed::function(env)
}

/// Bytes outside its heap that the JavaScript engine was told of, by all addons: `process.memoryUsage()` does not show them.
#[napi(catch_unwind)]
pub fn external_memory(env: &napi::Env) -> napi::Result<i64> {
    env.adjust_external_memory(0)
}

/// An empty call, to measure the boundary with.
#[napi]
pub fn nothing() {}

/// Panics, to show that a panic is an error.
///
/// # Panics
/// Always.
#[napi(catch_unwind)]
pub fn panic_for_test() -> Result<()> {
    js(|| {
        panic!("asked to panic");
    })
}

fn parse<'a, T: Deserialize<'a>>(json: &'a str, code: Code) -> Outcome<T> {
    serde_json::from_str(json).map_err(|e| CoreError::new(code, e.to_string()).into())
}

fn role_of(role: u32) -> Outcome<MessageRole> {
    Ok(match role {
        0 => MessageRole::System,
        1 => MessageRole::Developer,
        2 => MessageRole::User,
        3 => MessageRole::Assistant,
        4 => MessageRole::Tool,
        other => return Err(CoreError::limit(Code::InvalidMessage, "role", other, "0 to 4").into()),
    })
}
