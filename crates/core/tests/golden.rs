//! The golden fixtures, which the TypeScript tests read too: the worked examples of SPEC-028 and the behaviours to pin.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::tool_calls;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use trihorizon_core::blend::Blend;
use trihorizon_core::config::{CallOptions, Options};
use trihorizon_core::envelope::{self, ItemKind};
use trihorizon_core::headers;
use trihorizon_core::intent::{Intent, Novelty};
use trihorizon_core::knowledge::{KnowledgeBase, NewFact};
use trihorizon_core::references::{Reference, Target};
use trihorizon_core::session::{Assembled, Call, Item, MessageRole, Meta, Session, Workspace};
use trihorizon_core::tokens::Counter;
use trihorizon_core::turn_log::turn_recency;

const NOW: i64 = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Golden {
    logs: BTreeMap<String, Vec<Message>>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    requirement: String,
    profile: Option<String>,
    dimensions: Option<usize>,
    #[serde(default)]
    options: serde_json::Map<String, Value>,
    log: Log,
    #[serde(default)]
    facts: Vec<Fact>,
    turns: Vec<String>,
    vector: Option<Vec<f32>>,
    call: Option<Value>,
    expect: Expected,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Log {
    Named(String),
    Own(Vec<Message>),
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    role: MessageRole,
    content: Option<String>,
    vector: Option<Vec<f32>>,
    #[serde(default)]
    tool_calls: Vec<Value>,
    tool_call_id: Option<String>,
    name: Option<String>,
    ttl: Option<Value>,
    #[serde(default)]
    pinned: bool,
}

#[derive(Deserialize)]
struct Fact {
    id: String,
    text: String,
    vector: Vec<f32>,
    #[serde(default = "once")]
    repeat: usize,
}

const fn once() -> usize {
    1
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOf<T> {
    Several(Vec<T>),
    One(T),
}

impl<T: PartialEq> OneOf<T> {
    fn has(&self, value: &T) -> bool {
        match self {
            Self::One(one) => one == value,
            Self::Several(several) => several.contains(value),
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Expected {
    error: Option<OneOf<String>>,
    intent: Option<OneOf<String>>,
    intent_not: Vec<String>,
    reason_not: Vec<String>,
    event: Option<String>,
    event_not: Vec<String>,
    threads: Option<Vec<Vec<u32>>>,
    references: Vec<ExpectedReference>,
    reference_not: Vec<String>,
    resolved: Option<usize>,
    points_at: Option<u32>,
    blend: Option<String>,
    novelty: Option<Novelty>,
    headers: BTreeMap<String, String>,
    only_headers: Option<BTreeMap<String, String>>,
    token_headers: bool,
    ids: Option<Vec<u32>>,
    turn_id: Option<u32>,
    packed: Option<Vec<Value>>,
    packs: Vec<Value>,
    packs_not: Vec<Value>,
    pinned: Vec<Value>,
    scores: BTreeMap<String, f32>,
    has: BTreeMap<String, Vec<String>>,
    has_not: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ExpectedReference {
    text: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    target: Option<OneOf<Value>>,
    items: Option<Vec<u32>>,
    item_texts: Option<Vec<String>>,
}

fn golden<T: DeserializeOwned>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden").join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn turns() {
    let Golden { logs, cases } = golden("turns.json");
    let mut failures = Vec::new();
    for case in &cases {
        let log = match &case.log {
            Log::Named(name) => &logs[name],
            Log::Own(messages) => messages,
        };
        for turn in &case.turns {
            let wrong = check(case, log, turn);
            if !wrong.is_empty() {
                failures.push(format!("{} {}: {turn:?}\n    {}", case.requirement, case.name, wrong.join("\n    ")));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn recency() {
    let golden: Value = golden("recency.json");
    for value in golden["values"].as_array().unwrap() {
        let distance = value[0].as_u64().unwrap() as u32;
        let weight = turn_recency(distance, golden["halfLife"].as_f64().unwrap());
        assert!((weight - value[1].as_f64().unwrap()).abs() < 1e-6, "{value}: {weight}");
    }
}

#[test]
fn the_most_recent_none_are_none() {
    let options = Options::default();
    let call = Call { options: &options, counter: &Counter::O200k, now: NOW };
    let mut session = Session::new("golden", "default", &options);
    session.append(MessageRole::User, "one", Meta::default(), None, call, &mut Workspace::default()).unwrap();
    assert!(session.log().recent(0).is_empty());
    assert_eq!(session.log().recent(5).len(), 1);
}

#[test]
fn blends() {
    #[derive(Deserialize)]
    #[allow(non_snake_case, reason = "the names of the specification")]
    struct Row {
        intent: String,
        P: f64,
        C: f64,
        E: f64,
        novelty: Novelty,
        header: String,
    }
    #[derive(Deserialize)]
    struct Rounded {
        blend: Blend,
        header: String,
    }
    #[derive(Deserialize)]
    struct Table {
        rows: Vec<Row>,
        rounded: Vec<Rounded>,
    }
    let Table { rows, rounded } = golden("blends.json");
    let header =
        |blend: Blend| headers::headers(headers::Mode::Conversation, blend, Intent::Explore, 0, "x")[1].1.clone();
    assert_eq!(rows.len(), Intent::ALL.len());
    for row in rows {
        let intent = Intent::ALL.into_iter().find(|intent| intent.name() == row.intent).unwrap();
        assert_eq!(Blend::of(intent), Blend { P: row.P, C: row.C, E: row.E }, "{}", row.intent);
        assert_eq!(intent.novelty(), row.novelty, "{}", row.intent);
        assert_eq!(header(Blend::of(intent)), row.header);
    }
    for row in rounded {
        assert_eq!(header(row.blend.checked().unwrap()), row.header);
    }
}

#[test]
fn sandwich() {
    #[derive(Deserialize)]
    struct Row {
        scores: Vec<f32>,
        mended: Vec<usize>,
        literal: Vec<usize>,
    }
    let rows: Vec<Row> = serde_json::from_value(golden::<Value>("sandwich.json")["cases"].clone()).unwrap();
    for Row { scores, mended, literal } in rows {
        assert_eq!(envelope::sandwich(&scores), mended, "{scores:?}");
        assert_eq!(envelope::sandwich_literal(&scores), literal, "{scores:?}");
    }
}

/// What is wrong with a case; nothing when it holds.
fn check(case: &Case, log: &[Message], text: &str) -> Vec<String> {
    let mut wrong = Wrong::default();
    let options = options(case);
    let call = Call { options: &options, counter: &Counter::O200k, now: NOW };
    let mut session = Session::new("golden", "default", &options);
    let mut workspace = Workspace::default();
    for message in log {
        let (content, vector) = (message.content.as_deref().unwrap_or(""), message.vector.as_deref());
        session.append(message.role, content, message.meta(), vector, call, &mut workspace).unwrap();
    }
    let mut base = base(&case.facts, &session, call);
    let ids: Vec<u32> = session.log().turns().iter().map(|turn| turn.id).collect();
    let overrides = case.call.as_ref().map_or_else(|| "{}".into(), Value::to_string);
    let assembled = CallOptions::parse(&overrides).and_then(|overrides| {
        session.assemble(text, case.vector.as_deref(), &overrides, base.as_mut(), call, &mut workspace)
    });
    let expected = &case.expect;
    if let Some(codes) = &expected.error {
        let code = assembled.map_or_else(|error| error.code.name(), |_| "no error").to_owned();
        wrong.unless(codes.has(&code), "error", code);
        return wrong.0;
    }
    let turn = assembled.unwrap();
    wrong.unless(expected.ids.as_ref().is_none_or(|wanted| *wanted == ids), "ids", &ids);
    decision(&turn, expected, &mut wrong);
    references(&turn, text, expected, &mut wrong);
    packed(&turn, &session, expected, &mut wrong);
    if let Some(wanted) = &expected.threads {
        let threads = partition(&session);
        wrong.unless(*wanted == threads, "threads", threads);
    }
    wrong.0
}

#[derive(Default)]
struct Wrong(Vec<String>);

impl Wrong {
    fn unless(&mut self, holds: bool, what: &str, got: impl std::fmt::Debug) {
        if !holds {
            self.0.push(format!("{what}: got {got:?}"));
        }
    }
}

impl Message {
    fn meta(&self) -> Meta {
        Meta {
            tool_calls: tool_calls(&self.tool_calls),
            tool_call_id: self.tool_call_id.clone(),
            name: self.name.clone(),
            ttl: self.ttl.clone(),
            pinned: self.pinned,
            ..Meta::default()
        }
    }
}

fn options(case: &Case) -> Options {
    let mut options = case.options.clone();
    options.insert("profile".into(), json!(case.profile.as_deref().unwrap_or("default")));
    if let Some(dimensions) = case.dimensions {
        options.insert("embedder".into(), json!({ "host": { "id": "golden", "dimensions": dimensions } }));
    }
    Options::parse(&Value::from(options).to_string()).unwrap()
}

fn base(facts: &[Fact], session: &Session, call: Call<'_>) -> Option<KnowledgeBase> {
    if facts.is_empty() {
        return None;
    }
    let spec = session.embedding();
    let mut base = KnowledgeBase::new(spec.map(|spec| spec.dimensions), call.options.facts.index_above);
    let vectors: Vec<f32> = facts.iter().flat_map(|fact| fact.vector.iter().copied()).collect();
    let new = |fact: &Fact| -> NewFact {
        let text = vec![fact.text.as_str(); fact.repeat].join(" ");
        serde_json::from_value(json!({ "id": fact.id, "text": text })).unwrap()
    };
    let new = facts.iter().map(new).collect();
    base.add(new, Some(&vectors), spec, call.counter, call.now).unwrap();
    Some(base)
}

fn decision(turn: &Assembled, expected: &Expected, wrong: &mut Wrong) {
    let of = &turn.classification;
    let (intent, event, reason) = (of.intent.name().to_owned(), of.thread.event.name(), of.reason.text());
    let fits = expected.intent.as_ref().is_none_or(|wanted| wanted.has(&intent));
    wrong.unless(fits && !expected.intent_not.contains(&intent), "intent", (&intent, reason));
    wrong.unless(!expected.reason_not.iter().any(|not| not == reason), "reason", reason);
    let fits = expected.event.as_ref().is_none_or(|wanted| wanted == event);
    wrong.unless(fits && !expected.event_not.iter().any(|not| not == event), "event", event);
    wrong.unless(expected.novelty.is_none_or(|wanted| wanted == of.novelty), "novelty", of.novelty);
    wrong.unless(expected.turn_id.is_none_or(|wanted| turn.turn == Some(wanted)), "turn id", turn.turn);
    let name = |name: usize| headers::NAMES[name].to_owned();
    let found: BTreeMap<String, String> = turn.headers.iter().map(|(at, value)| (name(*at), value.clone())).collect();
    let mut wanted = expected.headers.clone();
    wanted.extend(expected.blend.iter().map(|blend| (name(1), blend.clone())));
    wrong.unless(wanted.iter().all(|(name, value)| found.get(name) == Some(value)), "headers", &found);
    wrong.unless(expected.only_headers.as_ref().is_none_or(|wanted| *wanted == found), "headers", &found);
    wrong.unless(!expected.token_headers || found.values().all(|value| is_token(value)), "headers", &found);
}

fn is_token(value: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
    !value.is_empty() && value.len() <= headers::LONGEST && value.bytes().all(fits)
}

fn references(turn: &Assembled, text: &str, expected: &Expected, wrong: &mut Wrong) {
    let all = &turn.classification.references;
    let shown: Vec<_> = all.iter().map(|r| (&text[r.span.clone()], r.kind.name(), r.target)).collect();
    let targets: Vec<Value> = all.iter().filter_map(|r| r.target.map(target)).collect();
    wrong.unless(expected.resolved.is_none_or(|wanted| wanted == targets.len()), "resolved", &shown);
    let refused = |text: &str| expected.reference_not.iter().any(|not| not == text);
    wrong.unless(!shown.iter().any(|(text, ..)| refused(text)), "references", &shown);
    let points = |id: u32| targets.contains(&id.into()) || turn.classification.carries_over == Some(id);
    wrong.unless(expected.points_at.is_none_or(points), "points at", (&shown, turn.classification.carries_over));
    for wanted in &expected.references {
        wrong.unless(all.iter().any(|found| matches(found, wanted, text)), "references", &shown);
    }
}

fn matches(found: &Reference, wanted: &ExpectedReference, text: &str) -> bool {
    let Some(id) = found.target.map(target) else { return false };
    let numbers: Vec<u32> = found.items.iter().map(|item| item.number).collect();
    let texts: Vec<&str> = found.items.iter().map(|item| &*item.text).collect();
    wanted.text.as_ref().is_none_or(|wanted| *wanted == text[found.span.clone()])
        && wanted.kind.as_ref().is_none_or(|kind| kind == found.kind.name())
        && wanted.target.as_ref().is_none_or(|wanted| wanted.has(&"any".into()) || wanted.has(&id))
        && wanted.items.as_ref().is_none_or(|wanted| *wanted == numbers)
        && wanted.item_texts.as_ref().is_none_or(|wanted| *wanted == texts)
}

fn target(target: Target) -> Value {
    match target {
        Target::Turn(id) => id.into(),
        Target::Scratch(ordinal) => format!("scratch:{ordinal}").into(),
    }
}

fn packed(turn: &Assembled, session: &Session, expected: &Expected, wrong: &mut Wrong) {
    let id = |item: &Item| match item.kind {
        ItemKind::Turn => Value::from(item.id),
        ItemKind::Scratch => format!("scratch:{}", item.id).into(),
        ItemKind::Fact => item.name.clone().into(),
        ItemKind::Summary => session.slug(item.id).into(),
    };
    let ids: Vec<Value> = turn.items.iter().map(id).collect();
    let item = |wanted: &Value| turn.items.iter().zip(&ids).find(|(_, id)| *id == wanted).map(|(item, _)| item);
    // Keys of objects are texts: a number there is a turn.
    let keyed = |key: &String| item(&key.parse::<u32>().map_or_else(|_| Value::from(key.as_str()), Value::from));
    wrong.unless(expected.packed.as_ref().is_none_or(|wanted| *wanted == ids), "packed", &ids);
    wrong.unless(expected.packs.iter().all(|wanted| ids.contains(wanted)), "packed", &ids);
    wrong.unless(!expected.packs_not.iter().any(|not| ids.contains(not)), "packed", &ids);
    wrong.unless(expected.pinned.iter().all(|wanted| item(wanted).is_some_and(|item| item.pinned)), "pinned", &ids);
    for (key, score) in &expected.scores {
        let found = keyed(key).map(|item| item.score);
        wrong.unless(found.is_some_and(|found| (found - score).abs() < 1e-6), "score", (key, found));
    }
    for (key, texts) in &expected.has {
        let found = keyed(key).map(|item| session.text_of(item));
        wrong.unless(found.is_some_and(|found| texts.iter().all(|text| found.contains(text))), "text", (key, found));
    }
    for (key, texts) in &expected.has_not {
        let found = keyed(key).map(|item| session.text_of(item));
        wrong.unless(found.is_some_and(|found| !texts.iter().any(|text| found.contains(text))), "text", (key, found));
    }
}

fn partition(session: &Session) -> Vec<Vec<u32>> {
    let mut threads: Vec<(u32, Vec<u32>)> = Vec::new();
    for turn in session.log().turns().iter() {
        match threads.iter_mut().find(|(thread, _)| *thread == turn.thread) {
            Some((_, turns)) => turns.push(turn.id),
            None => threads.push((turn.thread, vec![turn.id])),
        }
    }
    threads.into_iter().map(|(_, turns)| turns).collect()
}
