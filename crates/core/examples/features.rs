//! Writes what the models see of labelled turns, one JSON line a turn, for `scripts/train/train.py`.
//!
//! Reads conversations on standard input, one JSON line each: `{"id", "messages": [{"role", "content", "tool_calls",
//! "tool_call_id", "name"}], "threads": {turn: thread}, "turns": [message numbers to describe], "own": false}`. Threads are filed as
//! given, so that one wrong decision does not spoil the next; with `own`, as the engine files them, so that a decision can be
//! learned where earlier ones were wrong.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde::Deserialize;
use serde_json::json;
use trihorizon_core::classify::{DEPENDENCE_FEATURES, INTENT_FEATURES};
use trihorizon_core::config::Options;
use trihorizon_core::needs::NEED_FEATURES;
use trihorizon_core::references::{CANDIDATE_FEATURES, TARGET_FEATURES};
use trihorizon_core::session::{Appended, Call, MessageRole, Meta, Session, ToolCall, Workspace};
use trihorizon_core::threads::{CLOSENESS_FEATURES, SUBJECT_FEATURES};
use trihorizon_core::tokens::Counter;
use trihorizon_core::turn_log::Role;

#[derive(Deserialize)]
struct Conversation {
    id: String,
    messages: Vec<Message>,
    #[serde(default)]
    threads: BTreeMap<usize, String>,
    turns: Vec<usize>,
    #[serde(default)]
    own: bool,
}

#[derive(Deserialize)]
struct Message {
    role: MessageRole,
    content: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Call_>>,
    tool_call_id: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Call_ {
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: String,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::parse(r#"{"locale":"en"}"#)?;
    println!(
        "{}",
        json!({ "reference": CANDIDATE_FEATURES.to_vec(), "target": TARGET_FEATURES.to_vec(), "dependence": DEPENDENCE_FEATURES.to_vec(), "need": NEED_FEATURES.to_vec(), "closeness": CLOSENESS_FEATURES.to_vec(), "subject": SUBJECT_FEATURES.to_vec(), "intent": INTENT_FEATURES.to_vec() })
    );
    for line in std::io::stdin().lock().lines() {
        conversation(&serde_json::from_str(&line?)?, &options)?;
    }
    Ok(())
}

fn conversation(of: &Conversation, options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let mut session = Session::new(of.id.as_str(), "", options);
    let mut workspace = Workspace::default();
    let call = Call { options, counter: &Counter::Estimate, now: 0 };
    let mut numbers: BTreeMap<u32, usize> = BTreeMap::new();
    let mut threads: BTreeMap<&str, u32> = BTreeMap::new();
    // Where each user turn was filed.
    let mut filed: BTreeMap<usize, u32> = BTreeMap::new();
    let mut pending: Option<serde_json::Value> = None;
    for (at, message) in of.messages.iter().enumerate() {
        let number = at + 1;
        let content = message.content.clone().unwrap_or_default();
        if message.role == MessageRole::User && of.turns.contains(&number) {
            if let Some(row) = pending.take() {
                println!("{row}");
            }
            let seen = session.inspect(&content, call, &mut workspace)?;
            let candidates: Vec<_> = seen
                .candidates
                .iter()
                .map(|c| {
                    let targets: Vec<_> = c.targets.iter().map(|(turn, features)| json!([numbers.get(turn), features])).collect();
                    json!({ "span": [content[..c.span.start].encode_utf16().count(), content[..c.span.end].encode_utf16().count()], "shape": format!("{:?}", c.shape), "features": c.features, "meaning": c.meaning, "targets": targets })
                })
                .collect();
            let needs: Vec<_> =
                seen.needs.iter().map(|(turn, features)| json!([numbers.get(turn), features])).collect();
            let thread =
                seen.thread.as_ref().map(|t| json!({ "active": t.active, "threads": t.threads, "subject": t.subject }));
            let row = json!({ "id": of.id, "turn": number, "candidates": candidates, "dependence": seen.dependence, "needs": needs, "thread": thread, "filed": filed, "event": seen.event.name(), "intent": seen.intent, "tool": seen.tool, "meaning": seen.meaning });
            pending = Some(row);
        }
        if message.role == MessageRole::Assistant
            && !content.trim().is_empty()
            && let Some(mut row) = pending.take()
        {
            row["answer"] = json!(session.inspect_answer(&content, call, &mut workspace)?);
            println!("{row}");
        }
        let meta = Meta {
            name: if message.role == MessageRole::Tool { message.name.clone() } else { None },
            tool_calls: message
                .tool_calls
                .iter()
                .flatten()
                .map(|c| ToolCall {
                    id: c.id.clone(),
                    name: c.function.name.clone(),
                    arguments: c.function.arguments.clone(),
                })
                .collect(),
            tool_call_id: message.tool_call_id.clone(),
            ..Meta::default()
        };
        if message.role == MessageRole::User && content.trim().is_empty() {
            continue;
        }
        if let Appended::Turn(id) = session.append(message.role, &content, meta, None, call, &mut workspace)?.appended {
            numbers.insert(id, number);
            if let Some(name) = of.threads.get(&number).filter(|_| !of.own) {
                let own = session.log().get(id).map_or(0, |turn| turn.thread);
                let opened = session.threads().get(own).is_some_and(|thread| thread.turns == [id]);
                let next = if opened { own } else { session.threads().all().len() as u32 };
                session.refile(id, *threads.entry(name).or_insert(next), name);
            }
            let user = session.log().last(Role::User).and_then(|turn| Some((*numbers.get(&turn.id)?, turn.thread)));
            filed.extend(user);
        }
    }
    if let Some(row) = pending {
        println!("{row}");
    }
    Ok(())
}
