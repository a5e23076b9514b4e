//! How often a turn asks for memory: a guard that reads no clock.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use trihorizon_core::config::{CallOptions, Options};
use trihorizon_core::session::{Call, MessageRole, Meta, Session, Workspace};
use trihorizon_core::tokens::{Counter, TokenCounter};

thread_local! {
    static ALLOCATIONS: Cell<u32> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as of this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as of this function.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as of this function.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of the second of two equal calls.
fn allocations<T>(mut work: impl FnMut() -> T) -> u32 {
    black_box(work());
    let before = ALLOCATIONS.get();
    black_box(work());
    ALLOCATIONS.get() - before
}

const DIMENSIONS: usize = 64;

fn options(profile: &str) -> Options {
    let json = format!(
        r#"{{"profile":"{profile}","locale":"en","ring":null,"extract":false,"embedder":{{"host":{{"id":"t","dimensions":{DIMENSIONS}}}}}}}"#
    );
    Options::parse(&json).unwrap()
}

fn vector(of: usize) -> Vec<f32> {
    (0..DIMENSIONS).map(|at| ((of * 7 + at * 3) % 11) as f32 + 8.0).collect()
}

fn session(turns: usize, call: Call<'_>, workspace: &mut Workspace) -> Session {
    let mut session = Session::new("s", "", call.options);
    for turn in 0..turns {
        let (role, text) = if turn % 2 == 0 {
            (MessageRole::User, format!("How do we restart node {turn} of the cluster?"))
        } else {
            (MessageRole::Assistant, format!("Drain node {turn}, stop its service, and start it with the same data."))
        };
        session.append(role, &text, Meta::default(), Some(&vector(turn)), call, workspace).unwrap();
    }
    session
}

const PLAIN: &str = "Which port does the service of node seven listen on while the cluster starts?";
const MARKED: &str = "Explain again, please: which port does the service of node seven listen on?";

#[test]
fn classifying_by_the_pseudo_code_allocates_nothing() {
    let options = options("spec");
    let counter = Counter::O200k;
    let call = Call { options: &options, counter: &counter, now: 0 };
    let mut workspace = Workspace::default();
    let plain = CallOptions::default();
    for turns in [0, 8, 500] {
        let session = session(turns, call, &mut workspace);
        for text in [PLAIN, MARKED] {
            let given = vector(3);
            let count = allocations(|| {
                session.glance(text, Some(&given), &plain, call, &mut workspace, |of, _| of.intent).unwrap()
            });
            assert_eq!(count, 0, "{turns} turns, {text}");
        }
    }
}

#[test]
fn assembling_by_the_pseudo_code_allocates_as_the_envelope_grows_not_the_log() {
    /// Columns of the ranking, the envelope and the headers.
    const MOST: u32 = 48;
    let options = options("spec");
    let counter = Counter::O200k;
    let call = Call { options: &options, counter: &counter, now: 0 };
    let mut workspace = Workspace::default();
    let dry = CallOptions { dry_run: true, budget: Some(400.0), ..CallOptions::default() };
    counter.count(PLAIN).unwrap();
    for turns in [100, 1000] {
        let mut session = session(turns, call, &mut workspace);
        let given = vector(3);
        let count = allocations(|| session.assemble(PLAIN, Some(&given), &dry, None, call, &mut workspace).unwrap());
        assert!(count <= MOST, "{turns} turns: {count}");
    }
}

#[test]
fn classifying_by_default_allocates_nothing() {
    let options = options("default");
    let counter = Counter::O200k;
    let call = Call { options: &options, counter: &counter, now: 0 };
    let mut workspace = Workspace::default();
    let plain = CallOptions::default();
    for turns in [8, 500] {
        let session = session(turns, call, &mut workspace);
        for text in [PLAIN, MARKED] {
            let given = vector(3);
            let count = allocations(|| {
                session.glance(text, Some(&given), &plain, call, &mut workspace, |of, _| of.intent).unwrap()
            });
            assert_eq!(count, 0, "{turns} turns, {text}");
        }
    }
}
