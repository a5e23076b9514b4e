//! What "the query result", "those results" or "the error" asks for (R029-10).

use super::words::{hash, is_generic};
use super::{OutputClass, ScratchEntry};
use crate::knowledge::stem;

/// Hashes of the words of a reference that tell one output from another, each once.
pub(super) struct Asked(pub(super) Vec<u32>);

impl Asked {
    pub(super) fn of(words: &[&str]) -> Self {
        let mut hashes: Vec<u32> = words.iter().filter(|word| !is_generic(word)).map(|word| hash(stem(word))).collect();
        hashes.sort_unstable();
        hashes.dedup();
        Self(hashes)
    }
}

/// What a tool reference asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ToolKind {
    /// "the query result", "that table".
    Table,
    /// "those results", "the matches", "#2".
    Rows,
    /// "that API response".
    Response,
    /// "the calculation", "the total".
    Calculation,
    /// "the error".
    Error,
    /// "the output", "the result", "the flight search".
    #[default]
    Any,
}

/// Whether an entry is what a reference with these words asks for.
pub(super) type Accepts = fn(&ScratchEntry, &Asked) -> bool;

impl ToolKind {
    /// What a reference with this head noun, folded, asks for.
    pub fn of_noun(noun: &str) -> Self {
        match noun {
            "table" | "tables" | "spreadsheet" | "dataframe" | "csv" => Self::Table,
            "results" | "rows" | "records" | "entries" | "matches" | "hits" | "options" | "items" | "findings"
            | "listings" => Self::Rows,
            "response" | "responses" | "payload" | "reply" => Self::Response,
            "calculation" | "calculations" | "computation" | "sum" | "total" => Self::Calculation,
            "error" | "errors" | "exception" | "failure" | "traceback" | "stacktrace" => Self::Error,
            _ => Self::Any,
        }
    }

    /// "Query" before a plain noun asks for a table, "API" for a response.
    pub(super) fn refined(self, words: &[&str]) -> Self {
        let says = |word: &str| words.contains(&word);
        match self {
            Self::Any | Self::Rows if says("query") || says("sql") => Self::Table,
            Self::Any if says("api") => Self::Response,
            _ => self,
        }
    }

    /// What to look for, best first.
    pub(super) fn fallbacks(self) -> &'static [Accepts] {
        const TABLE: Accepts = |entry, _| entry.class == OutputClass::Table;
        const ROWS: Accepts = |entry, _| entry.rows > 1 && entry.class != OutputClass::Error;
        const STRUCTURED: Accepts =
            |entry, _| matches!(entry.class, OutputClass::Object | OutputClass::List | OutputClass::Table);
        const VALUE: Accepts = |entry, asked| {
            entry.class == OutputClass::Scalar
                || entry.shared(COMPUTING) > 0
                || entry.name.is_some() && entry.shared_with(asked) > 0
        };
        const ERROR: Accepts = |entry, _| entry.class == OutputClass::Error;
        const ASKED_FOR: Accepts = |entry, asked| entry.shared_with(asked) > 0;
        match self {
            Self::Table => &[TABLE, ROWS, ASKED_FOR],
            Self::Rows => &[ROWS, TABLE, ASKED_FOR],
            Self::Response => &[STRUCTURED, ASKED_FOR],
            Self::Calculation => &[VALUE, ASKED_FOR],
            Self::Error => &[ERROR],
            Self::Any => &[|_, _| true],
        }
    }
}

/// Words in the names of tools that compute.
const COMPUTING: &[&str] =
    &["calculate", "calculator", "calculation", "compute", "math", "sum", "evaluate", "average", "convert"];
