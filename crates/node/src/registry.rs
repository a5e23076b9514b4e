//! Engines, sessions and knowledge bases of this thread, by handle. A handle is never given out twice.

use std::cell::RefCell;

use napi::Env;
use napi::bindgen_prelude::{FnArgs, FunctionRef};
use rustc_hash::FxHashMap;
use trihorizon_core::config::{CallOptions, EmbedderOption, Options, TokensOption};
use trihorizon_core::embedding::{EmbeddingSpec, StaticEmbedder};
use trihorizon_core::error::{Code, Error as CoreError, Result};
use trihorizon_core::knowledge::KnowledgeBase;
use trihorizon_core::session::{Call, Session, Workspace};
use trihorizon_core::text::Pack;
use trihorizon_core::tokens::{Counter, TokenCounter};

use crate::failure::Outcome;
use crate::overrides::{Overrides, Preset};

type CustomCounter = FunctionRef<FnArgs<(String,)>, f64>;

/// An engine: options, counter, and the buffers its sessions share.
pub struct Engine {
    pub options: Options,
    counter: Counter,
    custom: Option<CustomCounter>,
    workspace: Workspace,
    pub preset: Preset,
    /// A vector that is on its way out.
    pub vector: Vec<f32>,
}

impl Engine {
    pub fn new(options: Options, custom: Option<CustomCounter>) -> Result<Self> {
        let counter = match &options.tokens {
            TokensOption::O200k => Counter::O200k,
            TokensOption::Cl100k => Counter::Cl100k,
            TokensOption::Estimate | TokensOption::Custom => Counter::Estimate,
            TokensOption::Json(json) => Counter::from_json(json)?,
        };
        let engine = Self {
            options,
            counter,
            custom,
            workspace: Workspace::default(),
            preset: Preset::default(),
            vector: Vec::new(),
        };
        engine.warm_up()?;
        Ok(engine)
    }

    /// Tables are read here, once, rather than in the first turn.
    fn warm_up(&self) -> Result<()> {
        if self.options.embedder == EmbedderOption::Builtin {
            StaticEmbedder::builtin();
        }
        if self.custom.is_none() {
            self.counter.count("warm")?;
        }
        Pack::of(if self.options.locale == "auto" { "en" } else { &self.options.locale });
        Ok(())
    }

    /// Name of the tokenizer.
    pub fn tokenizer(&self) -> &'static str {
        match self.options.tokens {
            TokensOption::O200k => "o200k",
            TokensOption::Cl100k => "cl100k",
            TokensOption::Estimate => "estimate",
            TokensOption::Custom => "custom",
            TokensOption::Json(_) => "json",
        }
    }

    /// The options in force, without the text of a tokenizer.
    pub fn described(&self) -> serde_json::Value {
        let mut options = serde_json::to_value(&self.options).unwrap_or_default();
        options["tokens"] = self.tokenizer().into();
        options
    }

    /// Model id, dimension and calibration of its vectors.
    pub fn embedding(&self) -> Option<&EmbeddingSpec> {
        match &self.options.embedder {
            EmbedderOption::Builtin => Some(StaticEmbedder::builtin().spec()),
            EmbedderOption::Lexical => None,
            EmbedderOption::Host(spec) => Some(spec),
        }
    }

    pub fn counter(&self, env: Env) -> EngineCounter<'_> {
        EngineCounter { counter: &self.counter, custom: self.custom.as_ref(), env }
    }
}

/// The core's counter, or the host's function.
pub struct EngineCounter<'a> {
    counter: &'a Counter,
    custom: Option<&'a CustomCounter>,
    env: Env,
}

impl TokenCounter for EngineCounter<'_> {
    fn count(&self, text: &str) -> Result<u32> {
        let Some(custom) = self.custom else { return self.counter.count(text) };
        let failed =
            |e: napi::Error| CoreError::new(Code::Tokenizer, format!("the token counter failed: {}", e.reason));
        let function = custom.borrow_back(&self.env).map_err(failed)?;
        let count = function.call(FnArgs::from((text.to_owned(),))).map_err(failed)?;
        if count >= 0.0 && count.fract() == 0.0 && count <= f64::from(u32::MAX) {
            Ok(count as u32)
        } else {
            Err(CoreError::limit(Code::Tokenizer, "the token counter's answer", count, "a whole number, 0 or more"))
        }
    }

    fn estimated(&self) -> bool {
        self.custom.is_none() && self.counter.estimated()
    }
}

struct Held {
    engine: u32,
    /// The facts of its namespace, once there are any.
    base: Option<u32>,
    /// Behind a pointer, since a table has room for more than it holds.
    session: Box<Session>,
    /// Bytes reported to the JavaScript engine.
    reported: i64,
}

struct Base {
    engine: u32,
    namespace: String,
    facts: KnowledgeBase,
}

#[derive(Default)]
struct Registry {
    last: u32,
    engines: FxHashMap<u32, Engine>,
    sessions: FxHashMap<u32, Held>,
    bases: FxHashMap<u32, Base>,
}

thread_local! {
    static REGISTRY: RefCell<Registry> = RefCell::default();
}

impl Registry {
    fn next(&mut self) -> Outcome<u32> {
        let exhausted = || CoreError::new(Code::Internal, "all handles of this thread were given out");
        self.last = self.last.checked_add(1).ok_or_else(exhausted)?;
        Ok(self.last)
    }

    fn base_of(&self, engine: u32, namespace: &str) -> Option<u32> {
        self.bases
            .iter()
            .find(|(_, base)| base.engine == engine && base.namespace == namespace)
            .map(|(handle, _)| *handle)
    }

    fn engine(&mut self, handle: u32) -> Outcome<&mut Engine> {
        Ok(self.engines.get_mut(&handle).ok_or_else(|| unknown("engine", handle, self.last))?)
    }
}

fn unknown(kind: &str, handle: u32, last: u32) -> CoreError {
    let code = if handle > 0 && handle <= last { Code::Closed } else { Code::UnknownHandle };
    CoreError::limit(code, format_args!("{kind} handle"), handle, "an open one of this thread")
}

fn with<T>(act: impl FnOnce(&mut Registry) -> Outcome<T>) -> Outcome<T> {
    REGISTRY.with(|registry| match registry.try_borrow_mut() {
        Ok(mut registry) => act(&mut registry),
        Err(_) => {
            Err(CoreError::new(Code::Reentrant, "the engine was called from inside one of its own callbacks").into())
        }
    })
}

pub fn open(engine: Engine) -> Outcome<u32> {
    with(|registry| {
        let handle = registry.next()?;
        registry.engines.insert(handle, engine);
        Ok(handle)
    })
}

pub fn close(env: Env, engine: u32) -> Outcome<()> {
    with(|registry| {
        registry.engines.remove(&engine);
        registry.bases.retain(|_, base| base.engine != engine);
        let closed = registry.sessions.extract_if(|_, held| held.engine == engine);
        let freed: i64 = closed.map(|(_, held)| held.reported).sum();
        account(env, -freed);
        trim();
        Ok(())
    })
}

/// Gives freed memory back to the system: the C library keeps what lies between pieces still in use, which of an engine with
/// many sessions is most. Cost: milliseconds.
fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> std::ffi::c_int;
        }
        // SAFETY: it may be called at any time and from any thread; what it returns says whether anything was given back.
        unsafe { malloc_trim(0) };
    }
}

pub fn open_session(engine: u32, session: Session) -> Outcome<u32> {
    with(|registry| {
        registry.engine(engine)?;
        let base = registry.base_of(engine, session.namespace());
        let handle = registry.next()?;
        registry.sessions.insert(handle, Held { engine, base, session: Box::new(session), reported: 0 });
        Ok(handle)
    })
}

pub fn close_session(env: Env, session: u32) -> Outcome<()> {
    with(|registry| {
        if let Some(held) = registry.sessions.remove(&session) {
            account(env, -held.reported);
        }
        Ok(())
    })
}

/// Tells the JavaScript engine of native memory, so that its collector knows what a session weighs.
fn account(env: Env, delta: i64) {
    if delta != 0 {
        // A refusal leaves the collector less informed, nothing more.
        let _ = env.adjust_external_memory(delta);
    }
}

/// The knowledge base of a namespace, made on first use: one handle a namespace and engine.
pub fn open_base(engine: u32, namespace: String) -> Outcome<u32> {
    with(|registry| {
        let opened = registry.engine(engine)?;
        let dimensions = opened.embedding().map(|spec| spec.dimensions);
        let index_above = opened.options.facts.index_above;
        if let Some(handle) = registry.base_of(engine, &namespace) {
            return Ok(handle);
        }
        let handle = registry.next()?;
        for held in
            registry.sessions.values_mut().filter(|held| held.engine == engine && held.session.namespace() == namespace)
        {
            held.base = Some(handle);
        }
        registry.bases.insert(handle, Base { engine, namespace, facts: KnowledgeBase::new(dimensions, index_above) });
        Ok(handle)
    })
}

pub fn with_engine<T>(engine: u32, act: impl FnOnce(&mut Engine) -> Outcome<T>) -> Outcome<T> {
    with(|registry| act(registry.engine(engine)?))
}

pub fn with_base<T>(handle: u32, act: impl FnOnce(&mut Engine, &mut KnowledgeBase) -> Outcome<T>) -> Outcome<T> {
    with(|registry| {
        let Registry { last, engines, bases, .. } = registry;
        let base = bases.get_mut(&handle).ok_or_else(|| unknown("facts", handle, *last))?;
        let engine = engines.get_mut(&base.engine).ok_or_else(|| unknown("engine", base.engine, *last))?;
        act(engine, &mut base.facts)
    })
}

/// A session with its surroundings.
pub struct InSession<'a> {
    pub session: &'a mut Session,
    pub engine: &'a mut Engine,
    base: Option<&'a mut KnowledgeBase>,
    reported: &'a mut i64,
}

impl InSession<'_> {
    pub fn call<T>(
        &mut self,
        env: Env,
        now: f64,
        overrides: &Overrides,
        act: impl FnOnce(&mut Session, &CallOptions, Call<'_>, &mut Workspace, Option<&mut KnowledgeBase>) -> Result<T>,
    ) -> Outcome<T> {
        let Engine { options, counter, custom, workspace, preset, .. } = &mut *self.engine;
        let mut read = None;
        let overrides = preset.options(overrides, &mut read)?;
        let counter = EngineCounter { counter, custom: custom.as_ref(), env };
        let call = Call { options, counter: &counter, now: now as i64 };
        let before = self.session.revision();
        let result = act(self.session, overrides, call, workspace, self.base.as_deref_mut())?;
        if self.session.revision() != before {
            self.report(env);
        }
        Ok(result)
    }

    pub fn delete_turn(&mut self, id: u32) -> bool {
        self.session.delete_turn(id, &mut self.engine.workspace)
    }

    /// Reports what the session weighs in steps, since telling costs more than most turns add.
    pub fn report(&mut self, env: Env) {
        const STEP: i64 = 1 << 13;
        let weight = weight(self.session) as i64;
        if (weight - *self.reported).abs() >= STEP {
            account(env, weight - *self.reported);
            *self.reported = weight;
        }
    }
}

pub fn with_session<T>(handle: u32, act: impl FnOnce(&mut InSession<'_>) -> Outcome<T>) -> Outcome<T> {
    with(|registry| {
        let Registry { last, engines, sessions, bases } = registry;
        let held = sessions.get_mut(&handle).ok_or_else(|| unknown("session", handle, *last))?;
        let engine = engines.get_mut(&held.engine).ok_or_else(|| unknown("engine", held.engine, *last))?;
        let base = held.base.and_then(|base| bases.get_mut(&base)).map(|base| &mut base.facts);
        act(&mut InSession { session: &mut held.session, engine, base, reported: &mut held.reported })
    })
}

/// Sessions of an engine and the bytes they hold.
pub fn usage(engine: u32) -> Outcome<(usize, usize)> {
    with(|registry| {
        let held = registry.sessions.values().filter(|held| held.engine == engine);
        Ok(held.fold((0, 0), |(n, bytes), held| (n + 1, bytes + weight(&held.session))))
    })
}

/// Bytes of a session, text included.
fn weight(session: &Session) -> usize {
    session.bytes() + session.log().text_bytes()
}
