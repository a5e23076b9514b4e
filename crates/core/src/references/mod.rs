//! References: what a turn points at (SPEC-028 §4).
//!
//! [`detect_referential_expressions`] finds candidate expressions by structure, [`features`] describes each in readable
//! numbers, a small logistic model decides which of them point out of the turn, and [`resolve_references`] finds what they
//! point at, or abstains.

mod antecedents;
mod candidates;
mod features;
mod offers;
mod ordinal;
mod resolve;
mod scene;

pub use antecedents::TARGET_FEATURES;
pub use candidates::{Candidate, Shape, detect_referential_expressions};
pub use features::CANDIDATE_FEATURES;
pub use ordinal::Selector;
pub use resolve::{Buffers, Context, inspect, is_foreign, resolve_references, settle};

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The five classes of referential expression (R028-13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReferenceType {
    /// "that bug", "it", "the movie".
    Entity,
    /// "what you said earlier", "your last answer".
    Turn,
    /// "the second option".
    Ordinal,
    /// "do it again but faster".
    Action,
    /// "the query result".
    Tool,
}

impl ReferenceType {
    /// All classes, in the order of SPEC-028 §4.1.
    pub const ALL: [Self; 5] = [Self::Entity, Self::Turn, Self::Ordinal, Self::Action, Self::Tool];

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Entity => "entity",
            Self::Turn => "turn",
            Self::Ordinal => "ordinal",
            Self::Action => "action",
            Self::Tool => "tool",
        }
    }
}

/// What a reference points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Target {
    /// A turn of the log.
    Turn(u32),
    /// A scratch entry, by ordinal.
    Scratch(u32),
}

/// Targets that come next to the best: two at most.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Alternatives {
    targets: [Option<Target>; 2],
}

impl Alternatives {
    /// Number of targets.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.targets[0].is_none()
    }

    /// The targets, best first.
    pub fn iter(&self) -> impl Iterator<Item = &Target> {
        self.targets.iter().flatten()
    }

    /// The targets, best first, to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Target> {
        self.targets.iter_mut().flatten()
    }
}

impl std::fmt::Debug for Alternatives {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl FromIterator<Target> for Alternatives {
    fn from_iter<I: IntoIterator<Item = Target>>(targets: I) -> Self {
        let mut targets = targets.into_iter();
        Self { targets: [targets.next(), targets.next()] }
    }
}

impl<'a> IntoIterator for &'a Alternatives {
    type Item = &'a Target;
    type IntoIter = std::iter::Flatten<std::slice::Iter<'a, Option<Target>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.targets.iter().flatten()
    }
}

/// One item of an enumeration: its 1-based position and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// 1-based.
    pub number: u32,
    /// As written in the target.
    pub text: String,
}

/// A referential expression and what it points at.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Byte range in the turn.
    pub span: Range<usize>,
    /// Its class.
    pub kind: ReferenceType,
    /// `None`: an abstention.
    pub target: Option<Target>,
    /// Further targets, best first.
    pub alternatives: Alternatives,
    /// Items of the target's enumeration.
    pub items: Vec<Item>,
    /// Rows of a tool result: 0-based index and exact text.
    pub rows: Vec<Item>,
    /// In [0, 1].
    pub confidence: f32,
    /// Why.
    pub reason: Reason,
}

/// The turns that references point at.
pub fn turn_targets(references: &[Reference]) -> impl Iterator<Item = u32> {
    references.iter().filter_map(|r| if let Some(Target::Turn(id)) = r.target { Some(id) } else { None })
}

/// Why something was decided as it was; the texts are for people and the same in both languages.
macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// Why something was decided as it was.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum Reason {
            $(#[doc = $text] $name,)*
            /// No reason given.
            #[default]
            None,
        }

        impl Reason {
            /// The texts, by discriminant.
            pub const TEXTS: &[&str] = &[$($text,)* ""];
        }
    };
}

reasons! {
    RecentMention = "the most recent turn that mentions it",
    BestMention = "the earlier turn that fits it best",
    LastAnswer = "the last answer",
    LastTurn = "the turn before",
    CountedTurn = "the turn that was counted to",
    TopicTurn = "the turn about the subject named",
    ListItem = "a position in the newest list that has it",
    ListLabel = "a label of the newest list that has it",
    ToolRow = "a position among the rows of a tool result",
    ToolOutput = "the newest tool result of that kind",
    ToolMention = "the tool result that mentions it",
    LastAction = "the last thing that was asked for",
    EmptyLog = "there is nothing earlier",
    NoAntecedent = "nothing earlier fits it",
    Evicted = "what it points at has left the log",
    NoList = "no earlier list has that position",
    NoTool = "no tool result is held",
    ToolNamed = "it points at a tool result",
    ClarifyAsked = "it asks to make clear what was said",
    Challenged = "it doubts or corrects what was said",
    ReferenceResolved = "it points at something earlier and goes on from there",
    ContinueAsked = "it asks to go on",
    AnswersQuestion = "it answers the question before",
    Elliptical = "it is incomplete and completed by what came before",
    SameSubject = "it stays on the thread's subject",
    NewSubject = "it is about something else than the thread",
    FirstTurn = "it is the first turn",
    Resumed = "it returns to an earlier thread",
    ReturnPhrase = "it says that it returns",
    DigressPhrase = "it says that it leaves the subject",
    SimilarThread = "it is similar enough to join the thread",
    CloseEnough = "it is close enough to stay",
    DependsOnLog = "it cannot be understood without the thread",
    NothingSays = "nothing says it left the thread",
    Unlike = "it is unlike every thread",
    Pinned = "referred to by the turn",
    CarriedOver = "the turn answers or extends it",
    Recent = "recent in the thread",
    RecentOther = "recent, of another thread",
    Relevant = "it shares the turn's subject",
    ThreadSummary = "the state of the thread",
    ResumedThread = "a turn of the resumed thread",
    FactRelevant = "relevant to the turn",
    ScratchFresh = "a fresh tool result",
    ScratchStale = "a stale tool result, marked as such",
    ScratchPinned = "a pinned tool result",
    OverShare = "it did not fit the tier's share",
    OverBudget = "it did not fit the budget",
    StaleExcluded = "stale output is excluded",
    StaleReinvoke = "stale output is to be fetched again",
    SpecMarker = "a marker of the specification's list",
    SpecSimilarity = "the similarity to the active thread",
}

impl Reason {
    /// The text for people.
    pub const fn text(self) -> &'static str {
        Self::TEXTS[self as usize]
    }
}
