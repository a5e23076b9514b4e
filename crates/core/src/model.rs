//! Logistic models of a few dozen readable weights, as data.
//!
//! The weights are fitted by `scripts/train` on labelled conversations, cross-validated by conversation, and live in
//! `packs/model.json` under the names of the features they multiply.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

/// Feature vectors scored together.
pub const LANES: usize = 8;

/// One linear model: score = bias + Σ weight × feature.
#[derive(Clone, Debug, Default)]
pub struct Linear {
    bias: f32,
    weights: Box<[f32]>,
}

impl Linear {
    /// The raw score of a feature vector in the order of the names the model was bound to.
    pub fn score(&self, features: &[f32]) -> f32 {
        debug_assert_eq!(features.len(), self.weights.len());
        self.bias + self.weights.iter().zip(features).map(|(w, f)| w * f).sum::<f32>()
    }

    /// The raw scores of [`LANES`] feature vectors, given feature by feature: the same bits as one after the other.
    #[expect(clippy::inline_always, reason = "it is compiled for the instruction set of its caller")]
    #[inline(always)]
    pub fn scores<const N: usize>(&self, features: &[[f32; LANES]; N]) -> [f32; LANES] {
        debug_assert_eq!(N, self.weights.len());
        let mut sums = [0.0; LANES];
        for (weight, feature) in self.weights.iter().zip(features) {
            for (sum, number) in sums.iter_mut().zip(feature) {
                *sum += weight * number;
            }
        }
        sums.map(|sum| self.bias + sum)
    }

    /// The score as a probability.
    pub fn probability(&self, features: &[f32]) -> f32 {
        sigmoid(self.score(features))
    }

    fn bind(file: &File, model: &str, names: &[&str]) -> Self {
        let empty = BTreeMap::new();
        let weights = file.models.get(model).unwrap_or(&empty);
        let weight = |name: &str| weights.get(name).copied().unwrap_or(0.0);
        Self { bias: weight("bias"), weights: names.iter().map(|name| weight(name)).collect() }
    }
}

/// The logistic function.
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

#[derive(Deserialize)]
struct File {
    models: BTreeMap<String, BTreeMap<String, f32>>,
    thresholds: BTreeMap<String, f32>,
}

fn file() -> &'static File {
    static FILE: OnceLock<File> = OnceLock::new();
    FILE.get_or_init(|| {
        serde_json::from_str(include_str!("../../../packs/model.json")).expect("the model file is checked by tests")
    })
}

/// The model `name`, its weights in the order of `features`; names the file lacks weigh nothing.
pub fn linear(name: &str, features: &[&str]) -> Linear {
    Linear::bind(file(), name, features)
}

/// A decision threshold of the file.
///
/// # Panics
/// When the file lacks it, which tests check.
pub fn threshold(name: &str) -> f32 {
    *file().thresholds.get(name).unwrap_or_else(|| panic!("packs/model.json has no threshold {name}"))
}

/// Every (model, weight name) of the file.
#[cfg(test)]
fn weight_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    file().models.iter().flat_map(|(model, weights)| weights.keys().map(move |name| (model.as_str(), name.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{DEPENDENCE_FEATURES, INTENT_FEATURES, MODELLED};
    use crate::needs::NEED_FEATURES;
    use crate::references::{CANDIDATE_FEATURES, TARGET_FEATURES};
    use crate::threads::{CLOSENESS_FEATURES, SUBJECT_FEATURES};

    /// A misspelt weight would weigh nothing and nobody would notice.
    #[test]
    fn every_weight_is_the_name_of_a_feature() {
        let features = |model: &str| -> &[&str] {
            match model {
                "reference" => &CANDIDATE_FEATURES,
                "target" => &TARGET_FEATURES,
                "ellipsis" | "context" => &DEPENDENCE_FEATURES,
                "need" => &NEED_FEATURES,
                "thread.active" | "thread.dormant" => &CLOSENESS_FEATURES,
                "thread.resume" | "thread.new" => &SUBJECT_FEATURES,
                intent if MODELLED.iter().any(|known| intent == format!("intent.{}", known.name())) => &INTENT_FEATURES,
                other => panic!("no model is called {other}"),
            }
        };
        let mut count = 0;
        for (model, name) in weight_names() {
            assert!(name == "bias" || features(model).contains(&name), "{model} has no feature {name}");
            count += 1;
        }
        assert!(count > 100, "{count} weights");
    }

    #[test]
    fn every_threshold_is_there_and_a_probability() {
        for name in ["reference.structural", "reference.described", "ellipsis", "context"] {
            assert!((0.0..1.0).contains(&threshold(name)), "{name}");
        }
    }
}
