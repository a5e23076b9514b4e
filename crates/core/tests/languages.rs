//! What a user of each language points at and wants: `fixtures/golden/languages/<language>.json`, written by people who think
//! in it, against `packs/<language>.json`. How to add one: `docs/languages.md`.
//!
//! The development profile builds quickly after a change of a pack. One language, with what was found instead in each case
//! that fails:
//!
//! ```sh
//! TRIHORIZON_LANG=es cargo test -p trihorizon-core --test languages -- --nocapture
//! ```
//!
//! `TRIHORIZON_CASE=7` narrows it to one case and shows how its turn was read.

mod common;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::path::Path;

use common::tool_calls;
use serde::Deserialize;
use serde_json::Value;
use trihorizon_core::config::{CallOptions, Options};
use trihorizon_core::references::{Reference, ReferenceType, Target};
use trihorizon_core::session::{Appended, Assembled, Call, MessageRole, Meta, Session, Workspace};
use trihorizon_core::text::{Pack, Text};
use trihorizon_core::tokens::Counter;

/// Cases of a language that must hold.
const LEAST: usize = 40;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Language {
    locale: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What the turn means in English, and the trap if there is one.
    gloss: String,
    log: Vec<Message>,
    turn: String,
    intent: String,
    /// Each must be found. Empty: nothing may be found that points anywhere. Absent: not looked at.
    references: Option<Vec<Expected>>,
    trap: Option<String>,
    /// Why the engine still gets it wrong; only on cases that it gets wrong.
    open: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    role: MessageRole,
    content: Option<String>,
    #[serde(default)]
    tool_calls: Vec<Value>,
    tool_call_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    /// What the user wrote; the span found must overlap it.
    text: String,
    #[serde(rename = "type")]
    kind: String,
    /// Message of the log, from 1; absent or null: there is nothing that it points at.
    target: Option<usize>,
    /// Stands in the text of an item or row of the target.
    item: Option<String>,
}

fn languages() -> Vec<Language> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden/languages");
    let wanted = std::env::var("TRIHORIZON_LANG").ok();
    Pack::locales()
        .filter(|locale| wanted.as_deref().is_none_or(|wanted| wanted == *locale))
        .filter_map(|locale| std::fs::read_to_string(folder.join(locale).with_extension("json")).ok().zip(Some(locale)))
        .map(|(json, locale)| {
            let language: Language = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{locale}: {error}"));
            assert_eq!(language.locale, locale);
            language
        })
        .filter(|language| !Pack::of(&language.locale).is_stub())
        .collect()
}

#[test]
fn golden_turns() {
    let mut failures = String::new();
    let mut table =
        format!("{:<9}{:>6}{:>6}{:>6}{:>8}{:>12}\n", "language", "cases", "hold", "open", "intent", "references");
    let one: Option<usize> = std::env::var("TRIHORIZON_CASE").ok().and_then(|case| case.parse().ok());
    for Language { locale, cases } in languages() {
        let (mut held, mut open, mut intents, mut references) = (0, 0, 0, 0);
        let mut seen = BTreeSet::new();
        for (at, case) in cases.iter().enumerate().filter(|(at, _)| one.is_none_or(|one| one == at + 1)) {
            let outcome = check(case, &locale);
            intents += usize::from(outcome.intent);
            references += usize::from(outcome.references);
            let holds = outcome.wrong.is_empty();
            held += usize::from(holds);
            open += usize::from(case.open.is_some());
            if holds {
                seen.insert(case.intent.clone());
                seen.extend(case.references.iter().flatten().map(|expected| expected.kind.clone()));
            }
            match (&case.open, holds) {
                (None, false) => describe(&mut failures, &locale, at, case, &outcome.wrong),
                (Some(_), true) => {
                    let _ = writeln!(failures, "{locale} {}: {:?} holds now: remove its \"open\"", at + 1, case.turn);
                }
                _ => {}
            }
            if one.is_some() {
                println!("{}", reading(&case.turn, &locale));
            }
        }
        let _ = writeln!(table, "{locale:<9}{:>6}{held:>6}{open:>6}{intents:>8}{references:>12}", cases.len());
        if one.is_none() {
            let kinds = ReferenceType::ALL.map(ReferenceType::name);
            let wanted = ["EXPLORE", "DRILL_DOWN", "CLARIFY", "CONTINUE", "TOOL_REFERENCE"].into_iter().chain(kinds);
            let missing: Vec<&str> = wanted.filter(|name| !seen.contains(*name)).collect();
            if held < LEAST || !missing.is_empty() {
                let _ = writeln!(failures, "{locale}: {held} cases hold of {LEAST} at least; none with {missing:?}");
            }
        }
    }
    println!("{table}");
    assert!(failures.is_empty(), "\n{failures}");
}

struct Outcome {
    intent: bool,
    references: bool,
    wrong: Vec<String>,
}

fn check(case: &Case, locale: &str) -> Outcome {
    let (turn, places) = assemble(case, locale);
    let of = &turn.classification;
    let mut wrong = Vec::new();
    let intent = of.intent.name() == case.intent;
    if !intent {
        wrong.push(format!("{} because {}, not {}", of.intent.name(), of.reason.text(), case.intent));
    }
    let mut missed = Vec::new();
    match case.references.as_deref() {
        Some([]) if of.references.iter().any(|r| r.target.is_some()) => missed.push("no reference".to_owned()),
        Some(expected) => {
            let lacks = expected.iter().filter(|wanted| !of.references.iter().any(|r| fits(r, wanted, case, &places)));
            missed.extend(lacks.map(|e| show(&e.text, &e.kind, e.target.map(|t| t.to_string()), e.item.as_deref())));
        }
        None => {}
    }
    if !missed.is_empty() {
        let found: Vec<String> = of
            .references
            .iter()
            .map(|r| {
                let at = r.target.map(|target| places.get(&target).map_or("?".into(), ToString::to_string));
                let item = r.items.iter().chain(&r.rows).next().map(|item| item.text.as_str());
                format!("{}, {}", show(&case.turn[r.span.clone()], r.kind.name(), at, item), r.reason.text())
            })
            .collect();
        wrong.push(format!("wanted {}", missed.join("\n           ")));
        wrong.push(format!("found  {}", if found.is_empty() { "nothing".into() } else { found.join("\n           ") }));
    }
    Outcome { intent, references: missed.is_empty(), wrong }
}

fn show(text: &str, kind: &str, target: Option<String>, item: Option<&str>) -> String {
    let item = item.map(|item| format!(" {item:?}")).unwrap_or_default();
    format!("{text:?} {kind} -> {}{item}", target.unwrap_or_else(|| "nothing".into()))
}

fn fits(found: &Reference, expected: &Expected, case: &Case, places: &HashMap<Target, usize>) -> bool {
    let overlaps = case
        .turn
        .match_indices(&expected.text)
        .any(|(start, text)| found.span.start < start + text.len() && start < found.span.end);
    let target = found.target.and_then(|target| places.get(&target).copied());
    let item = |wanted: &String| found.items.iter().chain(&found.rows).any(|item| item.text.contains(wanted.as_str()));
    overlaps
        && found.kind.name() == expected.kind
        && target == expected.target
        && expected.item.as_ref().is_none_or(item)
}

/// The turn, and the message of the log that each target is.
fn assemble(case: &Case, locale: &str) -> (Assembled, HashMap<Target, usize>) {
    let options = Options::parse(&serde_json::json!({ "locale": locale }).to_string()).unwrap();
    let call = Call { options: &options, counter: &Counter::O200k, now: 1_000 };
    let mut session = Session::new("golden", "default", &options);
    let mut workspace = Workspace::default();
    let mut places = HashMap::new();
    for (at, message) in case.log.iter().enumerate() {
        let content = message.content.as_deref().unwrap_or("");
        match session.append(message.role, content, message.meta(), None, call, &mut workspace).unwrap().appended {
            Appended::Turn(id) => _ = places.insert(Target::Turn(id), at + 1),
            Appended::Scratch(ordinal) => _ = places.insert(Target::Scratch(ordinal), at + 1),
            Appended::Neither => {}
        }
    }
    let turn = session.assemble(&case.turn, None, &CallOptions::default(), None, call, &mut workspace).unwrap();
    (turn, places)
}

impl Message {
    fn meta(&self) -> Meta {
        Meta { tool_calls: tool_calls(&self.tool_calls), tool_call_id: self.tool_call_id.clone(), ..Meta::default() }
    }
}

fn describe(out: &mut String, locale: &str, at: usize, case: &Case, wrong: &[String]) {
    let trap = case.trap.as_ref().map(|trap| format!(" [{trap}]")).unwrap_or_default();
    let _ = writeln!(out, "{locale} {}: {}\n    {}{trap}\n    {}", at + 1, case.turn, case.gloss, wrong.join("\n    "));
}

/// Words of a turn with what is known of them, and its phrases.
fn reading(turn: &str, locale: &str) -> String {
    let mut text = Text::default();
    text.read(turn, &Pack::of(locale));
    let words = text.words().iter().enumerate().map(|(at, word)| {
        let role = if text.role(at) == text.folded(at) { String::new() } else { format!(" = {}", text.role(at)) };
        format!("{:<16} {:<9} {:?}{role}", text.folded(at), format!("{:?}", word.tag), word.class)
    });
    let phrases = text.phrases().iter().map(|phrase| {
        let words: Vec<&str> = phrase.words.clone().map(|at| text.folded(at)).collect();
        format!("{:?}: {}", phrase.kind, words.join(" "))
    });
    words.chain(phrases).collect::<Vec<_>>().join("\n")
}
