//! The tier weights of a turn and the token shares they buy (SPEC-028 §5.3, G-4, G-5, G-6).

use serde::{Deserialize, Serialize};

use crate::error::{Code, Error, Result};
use crate::intent::Intent;

/// A tier of context (SPEC-028 §2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Tier {
    /// Persistent knowledge.
    P,
    /// Conversation.
    C,
    /// Ephemeral tool output.
    E,
}

impl Tier {
    /// The tiers in the order in which ties are broken.
    pub const ALL: [Self; 3] = [Self::P, Self::C, Self::E];
}

/// Weights of the tiers P, C, E; they sum to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case, reason = "the names of the specification")]
pub struct Blend {
    /// Persistent knowledge.
    pub P: f64,
    /// Conversation.
    pub C: f64,
    /// Ephemeral tool output.
    pub E: f64,
}

impl Blend {
    /// The table of SPEC-028 §5.3.
    pub const fn of(intent: Intent) -> Self {
        match intent {
            Intent::Explore => Self { P: 0.70, C: 0.25, E: 0.05 },
            Intent::DrillDown => Self { P: 0.30, C: 0.65, E: 0.05 },
            Intent::Clarify => Self { P: 0.20, C: 0.75, E: 0.05 },
            Intent::Continue => Self { P: 0.50, C: 0.40, E: 0.10 },
            Intent::ToolReference => Self { P: 0.20, C: 0.30, E: 0.50 },
        }
    }

    /// The weights in tier order.
    pub const fn weights(self) -> [f64; 3] {
        [self.P, self.C, self.E]
    }

    /// The blend itself.
    ///
    /// # Errors
    /// `INVALID_BLEND` unless each weight is in [0, 1] and they sum to 1 ± 1e-6 (G-21).
    pub fn checked(self) -> Result<Self> {
        let weights = self.weights();
        let sum: f64 = weights.iter().sum();
        if weights.iter().all(|w| (0.0..=1.0).contains(w)) && (sum - 1.0).abs() <= 1e-6 {
            Ok(self)
        } else {
            Err(Error::limit(
                Code::InvalidBlend,
                "blend",
                format!("P {} C {} E {} (sum {sum})", self.P, self.C, self.E),
                "weights in [0, 1] that sum to 1 ± 1e-6",
            ))
        }
    }

    /// Percentages by largest remainder: integers that sum to 100 (G-6).
    pub fn percent(self) -> [u32; 3] {
        shares(100, self.weights())
    }
}

/// `total` split by `weights` with floor and largest remainder, ties in order; the parts sum to `total` whenever a weight is positive.
pub fn shares<const N: usize>(total: u32, weights: [f64; N]) -> [u32; N] {
    let sum: f64 = weights.iter().sum();
    if sum <= 0.0 {
        return [0; N];
    }
    let exact = weights.map(|w| f64::from(total) * w / sum);
    // The table's percentages are not exact in binary: 0.7 × 100 must not lose a unit to its last bit.
    let mut parts = exact.map(|e| (e + 1e-9) as u32);
    let left = total.saturating_sub(parts.iter().sum()) as usize;
    if left == 0 {
        return parts;
    }
    let mut order: [usize; N] = std::array::from_fn(|i| i);
    order.sort_by(|a, b| {
        (exact[*b] - f64::from(parts[*b])).total_cmp(&(exact[*a] - f64::from(parts[*a]))).then(a.cmp(b))
    });
    for i in order.iter().filter(|i| weights[**i] > 0.0).cycle().take(left) {
        parts[*i] += 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_table_of_the_specification() {
        let table = Intent::ALL.map(|intent| Blend::of(intent).percent());
        assert_eq!(table, [[70, 25, 5], [30, 65, 5], [20, 75, 5], [50, 40, 10], [20, 30, 50]]);
    }

    #[test]
    fn bad_blends_are_refused() {
        for (p, c, e) in [(-1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (0.5, 0.5, 0.5), (f64::NAN, 0.5, 0.5), (1.1, 0.0, -0.1)] {
            assert_eq!(Blend { P: p, C: c, E: e }.checked().unwrap_err().code, Code::InvalidBlend);
        }
        assert!(Blend { P: 0.25, C: 0.25, E: 0.5 }.checked().is_ok());
    }

    proptest! {
        #[test]
        fn shares_sum_to_the_total_and_stay_within_one_of_exact(total in 0u32..1_000_000, a in 0.0f64..1.0, b in 0.0f64..1.0, c in 0.0f64..1.0) {
            prop_assume!(a + b + c > 1e-6);
            let parts = shares(total, [a, b, c]);
            prop_assert_eq!(parts.iter().sum::<u32>(), total);
            for (part, weight) in parts.iter().zip([a, b, c]) {
                prop_assert!((f64::from(*part) - f64::from(total) * weight / (a + b + c)).abs() <= 1.0 + 1e-6);
            }
        }
    }
}
