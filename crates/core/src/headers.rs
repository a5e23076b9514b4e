//! The five headers of SPEC-028 §7, ASCII by construction; no user, model or tool text gets into them but a slug (G-58).

use serde::{Deserialize, Serialize};

use crate::blend::Blend;
use crate::intent::Intent;

/// `CRP-Context-Mode` (SPEC-028 §7.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Dialogue: the multi-horizon blend.
    #[default]
    Conversation,
    /// A finite task: CDR as in SPEC-024.
    Document,
    /// A document task within a conversation.
    Hybrid,
}

impl Mode {
    /// The header value.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Document => "document",
            Self::Hybrid => "hybrid",
        }
    }
}

/// Names of the headers, in the order of [`headers`].
pub const NAMES: [&str; 5] = [
    "CRP-Context-Mode",
    "CRP-Context-Tier-Blend",
    "CRP-Context-Turn-Intent",
    "CRP-Context-References-Resolved",
    "CRP-Context-Active-Thread",
];

/// Header values as (index into [`NAMES`], value). In document mode only the mode is computed (G-59).
pub fn headers(mode: Mode, blend: Blend, intent: Intent, resolved: usize, thread: &str) -> Vec<(usize, String)> {
    let mut values = Vec::with_capacity(NAMES.len());
    values.push((0, mode.name().to_owned()));
    if mode != Mode::Document {
        let [p, c, e] = blend.percent();
        values.push((1, format!("{p}/{c}/{e}")));
        values.push((2, intent.name().to_owned()));
        values.push((3, resolved.to_string()));
        values.push((4, token(thread)));
    }
    values
}

/// Longest thread id in a header (G-58).
pub const LONGEST: usize = 64;

/// `text` as a crp-token (R002-1): letters, digits, `-`, `_`, `.`, at most 64; a last line of defence, slugs are tokens already.
fn token(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strings_of_the_specification() {
        let values = headers(Mode::Conversation, Blend::of(Intent::DrillDown), Intent::DrillDown, 2, "etcd-config");
        let lines: Vec<String> = values.iter().map(|(name, value)| format!("{}: {value}", NAMES[*name])).collect();
        assert_eq!(
            lines,
            [
                "CRP-Context-Mode: conversation",
                "CRP-Context-Tier-Blend: 30/65/5",
                "CRP-Context-Turn-Intent: DRILL_DOWN",
                "CRP-Context-References-Resolved: 2",
                "CRP-Context-Active-Thread: etcd-config",
            ]
        );
        assert_eq!(headers(Mode::Document, Blend::of(Intent::Explore), Intent::Explore, 0, "x").len(), 1);
    }

    #[test]
    fn nothing_but_a_token_reaches_a_header() {
        let values = headers(Mode::Hybrid, Blend::of(Intent::Explore), Intent::Explore, 0, "a\r\nX-Evil: 1 é😀");
        assert_eq!(values[4].1, "aX-Evil1");
    }
}
