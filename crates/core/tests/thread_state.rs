//! What the extractor keeps of sentences people write (G-70): `fixtures/golden/thread-state.json`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use trihorizon_core::text::{Pack, Text};
use trihorizon_core::thread_state::extract;
use trihorizon_core::threads::ThreadState;
use trihorizon_core::turn_log::Role;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Golden {
    constraints: Vec<String>,
    /// Neither a demand nor a preference that outlives the turn.
    none: Vec<String>,
    /// Kept although they should not be, and why.
    taken: BTreeMap<String, String>,
    established: Vec<String>,
    not_established: Vec<String>,
    open: Vec<Open>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Open {
    turns: Vec<(String, String)>,
    questions: Vec<String>,
}

fn golden() -> Golden {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden/thread-state.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn state<'a>(turns: impl IntoIterator<Item = (Role, &'a str)>) -> ThreadState {
    let (mut state, mut text) = (ThreadState::default(), Text::default());
    for (role, source) in turns {
        text.read(source, &Pack::of("en"));
        extract(&mut state, role, source, &text);
    }
    state
}

/// Sentences of which the extractor keeps something else than it should.
fn wrong(sentences: &[String], kept: impl Fn(&ThreadState) -> &[String], wanted: bool) -> Vec<&String> {
    sentences.iter().filter(|s| (kept(&state([(Role::User, s.as_str())])) == [s.as_str()]) != wanted).collect()
}

#[test]
fn standing_demands_are_kept_and_nothing_else() {
    let Golden { constraints, none, .. } = golden();
    assert!(constraints.len() + none.len() >= 60);
    let missed = wrong(&constraints, |state| &state.user_constraints, true);
    let spurious = wrong(&none, |state| &state.user_constraints, false);
    assert!(missed.is_empty() && spurious.is_empty(), "missed {missed:#?}\nspurious {spurious:#?}");
}

#[test]
fn known_failures_are_failures_still() {
    let taken: Vec<String> = golden().taken.into_keys().collect();
    assert_eq!(wrong(&taken, |state| &state.user_constraints, true), [""; 0], "move them to `none`");
}

#[test]
fn what_the_user_states_of_themselves_with_a_value_is_established() {
    let Golden { established, not_established, .. } = golden();
    assert_eq!(wrong(&established, |state| &state.established, true), [""; 0]);
    assert_eq!(wrong(&not_established, |state| &state.established, false), [""; 0]);
}

#[test]
fn questions_are_open_until_they_are_answered() {
    for Open { turns, questions } in golden().open {
        let role = |name: &str| if name == "user" { Role::User } else { Role::Assistant };
        let found = state(turns.iter().map(|(name, text)| (role(name), text.as_str())));
        assert_eq!(found.open_questions, questions, "{turns:?}");
    }
}
