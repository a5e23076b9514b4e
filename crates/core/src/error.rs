//! One error type with a code from a closed set, the offending value and the limit it broke (G-67).

use std::fmt;
use std::ops::{Deref, DerefMut};

/// What went wrong; the names are the codes seen in JavaScript, so they never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// An option, override or argument is of the wrong type, out of range or unknown.
    InvalidOption,
    /// A turn without text (G-20), or a message that cannot be read.
    InvalidMessage,
    /// A vector of another dimension or model, with a NaN or infinity, or of length zero (G-56).
    InvalidVector,
    /// The budget is not a positive whole number (G-66).
    InvalidBudget,
    /// A blend with a weight outside [0, 1] or a sum other than 1 (G-21).
    InvalidBlend,
    /// The same message id came again with other content.
    IdConflict,
    /// No such turn, thread, fact or scratch entry.
    NotFound,
    /// The handle was closed.
    Closed,
    /// The handle is of another kind, or was never given out.
    UnknownHandle,
    /// The engine was called from inside one of its own callbacks.
    Reentrant,
    /// A snapshot is truncated, altered or of an unknown version.
    InvalidSnapshot,
    /// The token counter or tokenizer failed.
    Tokenizer,
    /// The embedder failed, or is asynchronous where a synchronous answer is needed.
    Embedder,
    /// The store failed.
    Store,
    /// Every scratch entry is pinned and the buffer is full (R029-9).
    ScratchFull,
    /// A defect of the engine: please report it.
    Internal,
}

impl Code {
    /// All codes, in declaration order.
    pub const ALL: [Self; 16] = [
        Self::InvalidOption,
        Self::InvalidMessage,
        Self::InvalidVector,
        Self::InvalidBudget,
        Self::InvalidBlend,
        Self::IdConflict,
        Self::NotFound,
        Self::Closed,
        Self::UnknownHandle,
        Self::Reentrant,
        Self::InvalidSnapshot,
        Self::Tokenizer,
        Self::Embedder,
        Self::Store,
        Self::ScratchFull,
        Self::Internal,
    ];

    /// The code as JavaScript sees it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidOption => "INVALID_OPTION",
            Self::InvalidMessage => "INVALID_MESSAGE",
            Self::InvalidVector => "INVALID_VECTOR",
            Self::InvalidBudget => "INVALID_BUDGET",
            Self::InvalidBlend => "INVALID_BLEND",
            Self::IdConflict => "ID_CONFLICT",
            Self::NotFound => "NOT_FOUND",
            Self::Closed => "CLOSED",
            Self::UnknownHandle => "UNKNOWN_HANDLE",
            Self::Reentrant => "REENTRANT",
            Self::InvalidSnapshot => "INVALID_SNAPSHOT",
            Self::Tokenizer => "TOKENIZER",
            Self::Embedder => "EMBEDDER",
            Self::Store => "STORE",
            Self::ScratchFull => "SCRATCH_FULL",
            Self::Internal => "INTERNAL",
        }
    }

    /// The numeric code of the specification family that this one maps to (G-67).
    pub const fn crp(self) -> u16 {
        match self {
            Self::InvalidBudget => 1001,
            Self::NotFound => 1003,
            Self::Closed | Self::UnknownHandle => 1005,
            Self::InvalidSnapshot => 1030,
            Self::Reentrant | Self::ScratchFull | Self::Store | Self::Internal => 1011,
            _ => 1010,
        }
    }
}

/// A failure: what, on which value, against which limit. One pointer, so that results are not larger for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Error(Box<Details>);

/// What is known of a failure.
#[derive(Clone, Debug, PartialEq)]
pub struct Details {
    /// The kind of failure.
    pub code: Code,
    /// One sentence for people; it repeats the value and the limit.
    pub message: String,
    /// The offending value, as text.
    pub value: Option<String>,
    /// The limit it broke, as text.
    pub limit: Option<String>,
}

impl Error {
    /// An error with a message only.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Details { code, message: message.into(), value: None, limit: None }))
    }

    /// An error about `value`, which broke `limit`; both are appended to the message.
    pub fn limit(code: Code, message: impl fmt::Display, value: impl fmt::Display, limit: impl fmt::Display) -> Self {
        let (value, limit) = (value.to_string(), limit.to_string());
        let message = format!("{message}: got {value}, expected {limit}");
        Self(Box::new(Details { code, message, value: Some(value), limit: Some(limit) }))
    }
}

impl Deref for Error {
    type Target = Details;

    fn deref(&self) -> &Details {
        &self.0
    }
}

impl DerefMut for Error {
    fn deref_mut(&mut self) -> &mut Details {
        &mut self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}

impl std::error::Error for Error {}

/// The result of everything that can fail here.
pub type Result<T> = std::result::Result<T, Error>;
