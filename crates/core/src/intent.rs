//! The five conversational intents and what each does with novelty (SPEC-028 §5.1).

use serde::{Deserialize, Serialize};

/// What the user wants of this turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Intent {
    /// A new subject, no references.
    #[default]
    Explore,
    /// A reference to prior content, going deeper or acting on it.
    DrillDown,
    /// What was said is to be made clear.
    Clarify,
    /// The thread carried on.
    Continue,
    /// Something a tool returned.
    ToolReference,
}

impl Intent {
    /// All intents, in the order of the specification's table.
    pub const ALL: [Self; 5] = [Self::Explore, Self::DrillDown, Self::Clarify, Self::Continue, Self::ToolReference];

    /// The name in headers and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Explore => "EXPLORE",
            Self::DrillDown => "DRILL_DOWN",
            Self::Clarify => "CLARIFY",
            Self::Continue => "CONTINUE",
            Self::ToolReference => "TOOL_REFERENCE",
        }
    }

    /// What Tier P does with novelty (R028-16, SPEC-028 §5.3).
    pub const fn novelty(self) -> Novelty {
        match self {
            Self::Explore => Novelty::On,
            Self::Continue => Novelty::Partial,
            Self::DrillDown | Self::Clarify | Self::ToolReference => Novelty::Off,
        }
    }
}

/// How coverage lowers the score of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Novelty {
    /// Novel facts help: 1 − min(coverage, 0.80).
    On,
    /// Revisiting is the point: 1, and no n-gram guard (G-7).
    Off,
    /// Extend, not repeat: 1 − factor × min(coverage, 0.80) (G-7).
    Partial,
}
