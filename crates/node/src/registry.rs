//! Engines, sessions and knowledge bases of this thread, by handle. A handle is never given out twice.

use std::cell::RefCell;

use napi::Env;
use napi::bindgen_prelude::{FnArgs, FunctionRef};
use rustc_hash::FxHashMap;
use trihorizon_core::config::{EmbedderOption, Options, TokensOption};
use trihorizon_core::embedding::{EmbeddingSpec, StaticEmbedder};
use trihorizon_core::error::{Code, Error as CoreError, Result};
use trihorizon_core::knowledge::KnowledgeBase;
use trihorizon_core::session::{Call, Session, Workspace};
use trihorizon_core::tokens::{Counter, TokenCounter};

use crate::failure::Outcome;

type CustomCounter = FunctionRef<FnArgs<(String,)>, f64>;

/// An engine: options, counter, and the buffers its sessions share.
pub struct Engine {
    pub handle: u32,
    pub options: Options,
    counter: Counter,
    custom: Option<CustomCounter>,
    host: Option<EmbeddingSpec>,
    workspace: Workspace,
}

impl Engine {
    pub fn new(options: Options, custom: Option<CustomCounter>) -> Result<Self> {
        let counter = match &options.tokens {
            TokensOption::O200k => Counter::O200k,
            TokensOption::Cl100k => Counter::Cl100k,
            TokensOption::Estimate | TokensOption::Custom => Counter::Estimate,
            TokensOption::Json(json) => Counter::from_json(json)?,
        };
        let host = match &options.embedder {
            EmbedderOption::Host { id, dimensions, calibration } => Some(EmbeddingSpec { id: id.clone(), dimensions: *dimensions, calibration: calibration.clone() }),
            _ => None,
        };
        Ok(Self { handle: 0, options, counter, custom, host, workspace: Workspace::default() })
    }

    /// Model id, dimension and calibration of its vectors.
    pub fn embedding(&self) -> Option<&EmbeddingSpec> {
        match self.options.embedder {
            EmbedderOption::Builtin => Some(StaticEmbedder::builtin().spec()),
            EmbedderOption::Lexical => None,
            EmbedderOption::Host { .. } => self.host.as_ref(),
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
        let failed = |e: napi::Error| CoreError::new(Code::Tokenizer, format!("the token counter failed: {}", e.reason));
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
    namespace: String,
    session: Session,
}

struct Base {
    engine: u32,
    namespace: String,
    base: KnowledgeBase,
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
        Err(_) => Err(CoreError::new(Code::Reentrant, "the engine was called from inside one of its own callbacks").into()),
    })
}

pub fn open(mut engine: Engine) -> Outcome<u32> {
    with(|registry| {
        let handle = registry.next()?;
        engine.handle = handle;
        registry.engines.insert(handle, engine);
        Ok(handle)
    })
}

pub fn close(engine: u32) {
    let _ = with(|registry| {
        registry.engines.remove(&engine);
        registry.sessions.retain(|_, held| held.engine != engine);
        registry.bases.retain(|_, base| base.engine != engine);
        Ok(())
    });
}

pub fn open_session(engine: u32, session: Session, namespace: String) -> Outcome<u32> {
    with(|registry| {
        registry.engine(engine)?;
        let handle = registry.next()?;
        registry.sessions.insert(handle, Held { engine, namespace, session });
        Ok(handle)
    })
}

pub fn close_session(session: u32) {
    let _ = with(|registry| {
        registry.sessions.remove(&session);
        Ok(())
    });
}

/// The knowledge base of a namespace, made on first use: one handle a namespace and engine.
pub fn open_base(engine: u32, namespace: String) -> Outcome<u32> {
    with(|registry| {
        let opened = registry.engine(engine)?;
        let dimensions = opened.embedding().map(|spec| spec.dimensions);
        let index_above = opened.options.facts.index_above;
        if let Some((handle, _)) = registry.bases.iter().find(|(_, base)| base.engine == engine && base.namespace == namespace) {
            return Ok(*handle);
        }
        let handle = registry.next()?;
        registry.bases.insert(handle, Base { engine, namespace, base: KnowledgeBase::new(dimensions, index_above) });
        Ok(handle)
    })
}

pub fn with_engine<T>(engine: u32, act: impl FnOnce(&mut Engine) -> Outcome<T>) -> Outcome<T> {
    // The engine leaves the registry for the call, so that usage can be asked for inside.
    let mut taken = with(|registry| {
        registry.engine(engine)?;
        Ok(registry.engines.remove(&engine))
    })?;
    let result = taken.as_mut().map(act);
    let _ = with(|registry| {
        registry.engines.extend(taken.map(|e| (engine, e)));
        Ok(())
    });
    result.unwrap_or_else(|| Err(unknown("engine", engine, engine).into()))
}

pub fn with_base<T>(handle: u32, act: impl FnOnce(&mut Engine, &mut KnowledgeBase) -> Outcome<T>) -> Outcome<T> {
    with(|registry| {
        let Registry { last, engines, bases, .. } = registry;
        let base = bases.get_mut(&handle).ok_or_else(|| unknown("facts", handle, *last))?;
        let engine = engines.get_mut(&base.engine).ok_or_else(|| unknown("engine", base.engine, *last))?;
        act(engine, &mut base.base)
    })
}

/// A session with its surroundings.
pub struct InSession<'a> {
    pub session: &'a mut Session,
    pub engine: &'a mut Engine,
    base: Option<&'a mut KnowledgeBase>,
}

impl InSession<'_> {
    pub fn call<T>(&mut self, env: Env, now: f64, act: impl FnOnce(&mut Session, Call<'_>, &mut Workspace, Option<&mut KnowledgeBase>) -> Result<T>) -> Outcome<T> {
        let Engine { options, counter, custom, workspace, .. } = &mut *self.engine;
        let counter = EngineCounter { counter, custom: custom.as_ref(), env };
        let call = Call { options, counter: &counter, now: now as i64 };
        Ok(act(self.session, call, workspace, self.base.as_deref_mut())?)
    }
}

pub fn with_session<T>(handle: u32, act: impl FnOnce(&mut InSession<'_>) -> Outcome<T>) -> Outcome<T> {
    with(|registry| {
        let Registry { last, engines, sessions, bases } = registry;
        let held = sessions.get_mut(&handle).ok_or_else(|| unknown("session", handle, *last))?;
        let engine = engines.get_mut(&held.engine).ok_or_else(|| unknown("engine", held.engine, *last))?;
        let base = bases.values_mut().find(|base| base.engine == held.engine && base.namespace == held.namespace).map(|base| &mut base.base);
        act(&mut InSession { session: &mut held.session, engine, base })
    })
}

/// Sessions of an engine and the bytes they hold.
pub fn usage(engine: u32) -> (usize, usize) {
    with(|registry| {
        let held = registry.sessions.values().filter(|held| held.engine == engine);
        Ok(held.fold((0, 0), |(n, bytes), held| (n + 1, bytes + held.session.bytes() + held.session.log().text_bytes())))
    })
    .unwrap_or_default()
}
