//! Results as columns: numbers in one registered `Float64Array`, texts in one string that the columns point into.
//!
//! `src/columns.ts`, `src/classification.ts` and `src/turn.ts` read them; the layout is described in ARCHITECTURE.md.

use trihorizon_core::blend::Tier;
use trihorizon_core::classify::Classification;
use trihorizon_core::envelope::ItemKind;
use trihorizon_core::headers::Mode;
use trihorizon_core::intent::{Intent, Novelty};
use trihorizon_core::references::{Item, Reference, Target};
use trihorizon_core::session::{Assembled, LeftOut, Session};
use trihorizon_core::text::Utf16;
use trihorizon_core::threads::ThreadEvent;

/// Columns and blob under construction.
#[derive(Default)]
pub struct Columns {
    pub numbers: Vec<f64>,
    pub blob: String,
    units: usize,
}

impl Columns {
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.blob.clear();
        self.units = 0;
    }

    fn push(&mut self, number: impl Into<f64>) {
        self.numbers.push(number.into());
    }

    fn flag(&mut self, flags: &[bool]) {
        self.push(bits(flags));
    }

    /// Offset and length of `text` in the blob, UTF-16 units.
    fn text(&mut self, text: &str) {
        let units = if text.is_ascii() { text.len() } else { text.encode_utf16().count() };
        self.push(self.units as u32);
        self.push(units as u32);
        self.units += units;
        self.blob.push_str(text);
    }

    /// Closes the columns: the first holds their number.
    pub fn finish(&mut self) {
        self.numbers[0] = self.numbers.len() as f64;
    }

    /// The columns of every result; the event of a turn that was not filed is one that no table knows.
    pub fn classification(&mut self, of: &Classification, source: &str, session: &Session, filed: bool) {
        let flags = [of.ellipsis, of.context_dependent, of.document_request];
        let hash = if of.context_dependent { session.context_hash(of) } else { 0 };
        let [p, c, e] = of.blend.weights();
        self.numbers.extend_from_slice(&[
            0.0,
            f64::from(position(&Intent::ALL, of.intent)),
            f64::from(of.confidence),
            f64::from(of.reason as u8),
            f64::from(bits(&flags)),
            f64::from(of.carries_over.unwrap_or(0)),
            f64::from(of.thread.thread),
            if filed { f64::from(of.thread.event as u8) } else { ThreadEvent::ALL.len() as f64 },
            f64::from(of.thread.similarity),
            f64::from(of.similarity),
            f64::from(of.source as u8),
            p,
            c,
            e,
            f64::from(novelty(of.novelty)),
            f64::from(of.locale),
            f64::from((hash >> 32) as u32),
            f64::from(hash as u32),
            of.references.len() as f64,
            of.query.turns.len() as f64,
            0.0,
            f64::from(session.log().next_id()),
        ]);
        if of.references.is_empty() && of.query.turns.is_empty() {
            return;
        }
        let utf16 = Utf16::new(source);
        for reference in &of.references {
            self.reference(reference, utf16);
        }
        for turn in &of.query.turns {
            self.push(*turn);
        }
    }

    fn reference(&mut self, reference: &Reference, utf16: Utf16<'_>) {
        self.push(utf16.offset(reference.span.start) as u32);
        self.push(utf16.offset(reference.span.end) as u32);
        self.push(reference.kind as u8);
        self.target(reference.target);
        self.push(reference.confidence);
        self.push(reference.reason as u8);
        self.items(&reference.items);
        self.items(&reference.rows);
        self.push(reference.alternatives.len() as u32);
        for target in &reference.alternatives {
            self.target(Some(*target));
        }
    }

    fn target(&mut self, target: Option<Target>) {
        let (kind, id) = match target {
            None => (0, 0),
            Some(Target::Turn(id)) => (1, id),
            Some(Target::Scratch(ordinal)) => (2, ordinal),
        };
        self.push(kind);
        self.push(id);
        // Facts are named by a text; turns and scratch entries are not.
        self.push(0);
        self.push(0);
    }

    fn items(&mut self, items: &[Item]) {
        self.push(items.len() as u32);
        for item in items {
            self.push(item.number);
            self.text(&item.text);
        }
    }

    pub fn left_out(&mut self, left: &[LeftOut]) {
        self.push(left.len() as u32);
        for left in left {
            self.push(tier(left.tier));
            self.push(kind(left.kind));
            self.push(left.id);
            self.text(&left.name);
            self.push(left.score);
            self.push(left.tokens);
            self.push(left.reason as u8);
        }
    }

    pub fn assembled(&mut self, of: &Assembled, session: &Session) {
        self.numbers[20] = self.numbers.len() as f64;
        if let Some(turn) = of.turn {
            self.numbers[21] = f64::from(turn);
        }
        self.push(of.turn.unwrap_or(0));
        self.push(mode(of.mode));
        self.push(of.micros);
        self.push(of.budget);
        self.push(of.spent.iter().sum::<u32>());
        for spent in of.spent {
            self.push(spent);
        }
        self.flag(&[of.estimated]);
        self.push(of.free);
        self.text(&of.thread);
        self.push(of.headers.len() as u32);
        for (name, value) in &of.headers {
            self.push(*name as u32);
            self.text(value);
        }
        self.push(of.items.len() as u32);
        for item in &of.items {
            // The façade has the texts of turns, or asks for them once: they need not cross in every envelope.
            let flags = bits(&[item.pinned, item.truncated, item.assistant, item.text.is_some()]);
            self.push(flags | u32::from(tier(item.tier)) << 4 | u32::from(kind(item.kind)) << 6);
            self.push(item.id);
            self.push(item.score);
            self.push(item.tokens);
            self.push(item.reason as u8);
            if let Some(text) = &item.text {
                self.text(&item.name);
                self.text(text);
            }
        }
        self.left_out(&of.left);
        self.push(of.reinvoke.len() as u32);
        for ordinal in &of.reinvoke {
            self.push(*ordinal);
            let (tool, arguments) =
                session.scratch().get(*ordinal).map_or(("", ""), |entry| (&entry.tool, &entry.arguments));
            self.text(tool);
            self.text(arguments);
        }
        self.push(of.subqueries.len() as u32);
        for subquery in &of.subqueries {
            self.text(subquery);
        }
    }
}

fn bits(flags: &[bool]) -> u32 {
    flags.iter().enumerate().map(|(bit, on)| u32::from(*on) << bit).sum()
}

fn position<T: PartialEq>(all: &[T], of: T) -> u32 {
    all.iter().position(|one| *one == of).unwrap_or(0) as u32
}

const fn novelty(novelty: Novelty) -> u8 {
    match novelty {
        Novelty::On => 0,
        Novelty::Off => 1,
        Novelty::Partial => 2,
    }
}

const fn mode(mode: Mode) -> u8 {
    match mode {
        Mode::Conversation => 0,
        Mode::Document => 1,
        Mode::Hybrid => 2,
    }
}

const fn tier(tier: Tier) -> u8 {
    tier as u8
}

const fn kind(kind: ItemKind) -> u8 {
    match kind {
        ItemKind::Turn => 0,
        ItemKind::Fact => 1,
        ItemKind::Scratch => 2,
        ItemKind::Summary => 3,
    }
}
