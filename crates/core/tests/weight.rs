//! What a session says that it weighs is what it asked the allocator for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write;

use proptest::prelude::*;
use trihorizon_core::config::{CallOptions, Options};
use trihorizon_core::knowledge::{KnowledgeBase, NewFact};
use trihorizon_core::session::{Call, MessageRole, Meta, Session, Workspace};
use trihorizon_core::tokens::Counter;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on to the system's allocator as it came; `realloc` is the trait's, made of these two.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.set(HELD.get() + layout.size() as isize);
        // SAFETY: as of this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.set(HELD.get() - layout.size() as isize);
        // SAFETY: as of this function.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `make` left allocated, and its session.
fn measured(mut make: impl FnMut() -> Box<Session>) -> (usize, Box<Session>) {
    // Buffers and tables that are used again belong to nobody.
    drop(make());
    let before = HELD.get();
    let session = make();
    (usize::try_from(HELD.get() - before).unwrap(), session)
}

fn options(vectors: &str) -> Options {
    let embedder = r#"{"host":{"id":"t","dimensions":384}}"#;
    Options::parse(&format!(r#"{{"locale":"en","vectors":"{vectors}","embedder":{embedder}}}"#)).unwrap()
}

const ASKED: &str = "How do we restart a member of the Helsinki cluster, and which port does it need?";
const ANSWERED: &str = "Drain the member first. Its service is then started with the data that it had, on port 2379.";

/// Fifty turns, of a few words each that no other turn has.
fn dialogue(session: &mut Session, call: Call<'_>, workspace: &mut Workspace, meta: impl Fn(usize) -> Meta) {
    for turn in 0..50 {
        let vector: Vec<f32> = (0..384).map(|at| ((turn * 7 + at * 3) % 11) as f32 + 8.0).collect();
        let (role, said) = if turn % 2 == 0 { (MessageRole::User, ASKED) } else { (MessageRole::Assistant, ANSWERED) };
        let letter = |of: usize| char::from(b'a' + of as u8);
        let mut content = said.to_owned();
        for word in 0..4 {
            write!(content, " {}{}rk{}st", letter(turn % 25), letter(turn / 25), letter(word)).unwrap();
        }
        session.append(role, &content, meta(turn), Some(&vector), call, workspace).unwrap();
    }
}

#[test]
fn a_session_of_fifty_turns_weighs_little_more_than_its_vectors() {
    for (vectors, most) in [("f32", 85 << 10), ("i8", 29 << 10)] {
        let options = options(vectors);
        let call = Call { options: &options, counter: &Counter::Estimate, now: 0 };
        let mut workspace = Workspace::default();
        let (held, session) = measured(|| {
            let mut session = Box::new(Session::new("s", "", &options));
            dialogue(&mut session, call, &mut workspace, |_| Meta::default());
            session
        });
        assert_eq!(held, session.bytes() + session.log().text_bytes());
        assert!(session.bytes() < most, "{vectors}: {}", session.bytes());
    }
}

#[test]
fn what_few_sessions_have_is_counted() {
    let options = options("f32");
    let call = Call { options: &options, counter: &Counter::Estimate, now: 0 };
    let mut workspace = Workspace::default();
    let mut base = KnowledgeBase::new(Some(384), 10_000);
    let fact = NewFact { id: "port".into(), text: "The port is 2379".into(), ..NewFact::default() };
    base.add(vec![fact], None, None, call.counter, 0).unwrap();
    let (held, session) = measured(|| {
        let mut session = Box::new(Session::new("s", "team", &options));
        session.append(MessageRole::System, "Be brief.", Meta::default(), None, call, &mut workspace).unwrap();
        dialogue(&mut session, call, &mut workspace, |turn| Meta {
            id: Some(format!("message {turn}")),
            name: (turn % 2 == 0).then(|| format!("Speaker {}", turn % 3)),
            ..Meta::default()
        });
        let rows = r#"[{"city":"Helsinki","port":2379},{"city":"Turku","port":2380}]"#;
        session.append(MessageRole::Tool, rows, Meta::default(), None, call, &mut workspace).unwrap();
        let dry = CallOptions { dry_run: true, ..CallOptions::default() };
        session.assemble("And the port of Turku?", None, &dry, Some(&mut base), call, &mut workspace).unwrap();
        session
    });
    let counted = session.bytes() + session.log().text_bytes();
    assert!(held.abs_diff(counted) < held / 100, "held {held}, counted {counted}");
}

#[test]
fn an_erased_turn_gives_back_what_it_held() {
    let options = options("f32");
    let call = Call { options: &options, counter: &Counter::Estimate, now: 0 };
    let mut workspace = Workspace::default();
    let mut whole = 0;
    let (held, session) = measured(|| {
        let mut session = Box::new(Session::new("s", "", &options));
        dialogue(&mut session, call, &mut workspace, |_| Meta::default());
        whole = session.bytes();
        for turn in 1..=40 {
            assert!(session.delete_turn(turn, &mut workspace));
        }
        session
    });
    assert_eq!(held, session.bytes() + session.log().text_bytes());
    assert!(session.bytes() < whole / 4, "{} of {whole}", session.bytes());
}

fn said(subject: usize, at: usize) -> String {
    format!("1. {ASKED} 2. Is subject{subject} part of it? {at}")
}

fn vector(subject: usize) -> Vec<f32> {
    (0..16).map(|at| ((subject * 7 + at * 3) % 11) as f32 + 1.0).collect()
}

/// What a host does with a session.
#[derive(Clone, Debug)]
enum Step {
    Ask(usize, Option<u8>),
    Answer(usize),
    Tool(usize),
    Retry,
    Erase(u32),
    Load,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..40usize, prop::option::of(0..3u8)).prop_map(|(said, name)| Step::Ask(said, name)),
        6 => (0..40usize).prop_map(Step::Answer),
        1 => (0..40usize).prop_map(Step::Tool),
        1 => Just(Step::Retry),
        2 => (1..60u32).prop_map(Step::Erase),
        1 => Just(Step::Load),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_session_went_through_is_counted(
        steps in prop::collection::vec(step(), 1..160),
        ring in prop::sample::select(vec!["null", "20"]),
    ) {
        let options = format!(r#"{{"locale":"en","ring":{ring},"embedder":{{"host":{{"id":"t","dimensions":16}}}}}}"#);
        let options = Options::parse(&options).unwrap();
        let call = Call { options: &options, counter: &Counter::Estimate, now: 0 };
        let mut workspace = Workspace::default();
        let (held, session) = measured(|| {
            let mut session = Box::new(Session::new("s", "", &options));
            let mut asked = None;
            for (at, step) in steps.iter().enumerate() {
                let meta = Meta::default();
                match *step {
                    Step::Ask(subject, name) => {
                        let name = name.map(|name| format!("Speaker {name}"));
                        let of = CallOptions { id: Some(format!("question {at}")), name, ..CallOptions::default() };
                        asked = Some((said(subject, at), vector(subject), of));
                    }
                    Step::Answer(subject) => {
                        let (said, vector) = (said(subject, at), vector(subject));
                        session.append(MessageRole::Assistant, &said, meta, Some(&vector), call, &mut workspace).unwrap();
                    }
                    Step::Tool(subject) => {
                        let said = said(subject, at);
                        session.append(MessageRole::Tool, &said, meta, None, call, &mut workspace).unwrap();
                    }
                    Step::Retry => {}
                    Step::Erase(turn) => drop(session.delete_turn(turn, &mut workspace)),
                    Step::Load => *session = Session::restore(&session.snapshot(), "s", "", &options).unwrap(),
                }
                // A question is asked, or asked again; one that was erased or has left the log is refused then.
                if let (Step::Ask(..) | Step::Retry, Some((said, vector, of))) = (step, &asked) {
                    drop(session.assemble(said, Some(vector), of, None, call, &mut workspace));
                }
            }
            session
        });
        let counted = session.bytes() + session.log().text_bytes();
        prop_assert!(held.abs_diff(counted) <= counted / 50, "held {held}, counted {counted}");
    }
}
