//! Logistic models of a few dozen readable weights, as data.
//!
//! The weights are fitted by `scripts/train` on labelled conversations, cross-validated by conversation, and live in
//! `packs/model.json` under the names of the features they multiply.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::similarity::vectorised;

/// Feature vectors that are scored together where there are many.
pub const LANES: usize = 8;

/// One linear model: score = bias + Σ weight × feature; some also read what a turn means, its vector of the built-in table.
#[derive(Clone, Debug, Default)]
pub struct Linear {
    bias: f32,
    weights: Box<[f32]>,
    /// Weights of the dimensions of a turn's vector; none in a model of features alone.
    meaning: Box<[f32]>,
}

impl Linear {
    /// The raw score of a feature vector in the order of the names the model was bound to.
    pub fn score(&self, features: &[f32]) -> f32 {
        debug_assert_eq!(features.len(), self.weights.len());
        self.bias + self.weights.iter().zip(features).map(|(w, f)| w * f).sum::<f32>()
    }

    /// The raw scores of several feature vectors, given feature by feature: the same bits as one after the other.
    #[expect(clippy::inline_always, reason = "it is compiled for the instruction set of its caller")]
    #[inline(always)]
    pub fn scores<const N: usize, const L: usize>(&self, features: &[[f32; L]; N]) -> [f32; L] {
        debug_assert_eq!(N, self.weights.len());
        let mut sums = [0.0; L];
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

    /// The score of a turn's features and of its meaning: the vector of the built-in table, empty where there is none.
    pub fn read(&self, features: &[f32], meaning: &[f32]) -> f32 {
        self.score(features) + self.meaning(meaning)
    }

    /// What a turn's meaning adds to the score.
    pub fn meaning(&self, meaning: &[f32]) -> f32 {
        if meaning.is_empty() {
            return 0.0;
        }
        let (weights, _) = self.meaning.as_chunks::<LANES>();
        let (numbers, _) = meaning.as_chunks::<LANES>();
        let sums = vectorised(
            #[inline(always)]
            || {
                let mut sums = [0.0; LANES];
                for (weights, numbers) in weights.iter().zip(numbers) {
                    for at in 0..LANES {
                        sums[at] += weights[at] * numbers[at];
                    }
                }
                sums
            },
        );
        sums.iter().sum()
    }

    fn bind(file: &File, model: &str, names: &[&str]) -> Self {
        let empty = BTreeMap::new();
        let weights = file.models.get(model).unwrap_or(&empty);
        let weight = |name: &str| weights.get(name).copied().unwrap_or(0.0);
        let meaning = file.meanings.get(model).map_or(&[][..], Vec::as_slice);
        Self { bias: weight("bias"), weights: names.iter().map(|name| weight(name)).collect(), meaning: meaning.into() }
    }
}

/// Several models that read the same numbers.
#[derive(Clone, Debug)]
pub struct Panel<const N: usize> {
    models: [Linear; N],
    /// By feature: its weight in each model.
    weights: Box<[[f32; N]]>,
}

impl<const N: usize> Panel<N> {
    /// The models `names`, bound to the same features.
    pub fn new(names: [&str; N], features: &[&str]) -> Self {
        let models = names.map(|name| linear(name, features));
        let weights = (0..features.len()).map(|at| models.each_ref().map(|model| model.weights[at])).collect();
        Self { models, weights }
    }

    /// [`Linear::read`] of each: the same bits.
    pub fn read(&self, features: &[f32], meaning: &[f32]) -> [f32; N] {
        debug_assert_eq!(features.len(), self.weights.len());
        let mut sums = [-0.0; N];
        for (weights, feature) in self.weights.iter().zip(features) {
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum += weight * feature;
            }
        }
        std::array::from_fn(|at| self.models[at].bias + sums[at] + self.models[at].meaning(meaning))
    }
}

/// ln(1 + n) of a count, as models see it; of most counts worked out once.
pub fn log_count(n: usize) -> f32 {
    static LOGARITHMS: OnceLock<[f32; 256]> = OnceLock::new();
    let known = LOGARITHMS.get_or_init(|| std::array::from_fn(|n| (n as f32).ln_1p()));
    known.get(n).copied().unwrap_or_else(|| (n as f32).ln_1p())
}

/// The logistic function.
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

#[derive(Deserialize)]
struct File {
    models: BTreeMap<String, BTreeMap<String, f32>>,
    #[serde(default)]
    meanings: BTreeMap<String, Vec<f32>>,
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
    use crate::threads::{CLOSENESS_FEATURES, ODDS_FEATURES, OPENING_FEATURES, SUBJECT_FEATURES};

    /// A misspelt weight would weigh nothing and nobody would notice.
    #[test]
    fn every_weight_is_the_name_of_a_feature() {
        let features = |model: &str| -> &[&str] {
            match model {
                "reference" => &CANDIDATE_FEATURES,
                "target" => &TARGET_FEATURES,
                "ellipsis" | "context" => &DEPENDENCE_FEATURES,
                "need" => &NEED_FEATURES,
                "thread.active" | "thread.dormant" | "answer.active" | "answer.dormant" => &CLOSENESS_FEATURES,
                "answer.odds" => &ODDS_FEATURES,
                "answer.new" => &OPENING_FEATURES,
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
    fn every_meaning_belongs_to_a_model_and_has_the_dimensions_of_the_table() {
        let dimensions = crate::embedding::StaticEmbedder::builtin().spec().dimensions;
        for (model, weights) in &file().meanings {
            assert!(file().models.contains_key(model), "no model is called {model}");
            assert_eq!(weights.len(), dimensions, "{model}");
        }
    }

    #[test]
    fn what_a_turn_means_counts_where_it_is_known() {
        let model = Linear { bias: 0.5, weights: [2.0].into(), meaning: [1.0; 16].into() };
        assert_eq!(model.read(&[1.0], &[]).to_bits(), 2.5f32.to_bits());
        assert_eq!(model.read(&[1.0], &[0.25; 16]).to_bits(), 6.5f32.to_bits());
    }

    #[test]
    fn models_that_read_together_score_as_they_do_alone() {
        let names = ["intent.EXPLORE", "intent.CLARIFY"];
        let features: Vec<f32> = (0..INTENT_FEATURES.len()).map(|at| (at % 7) as f32 / 3.0).collect();
        let meaning: Vec<f32> = (0..256).map(|at| (at % 5) as f32 / 9.0).collect();
        let alone = names.map(|name| linear(name, &INTENT_FEATURES).read(&features, &meaning).to_bits());
        assert_eq!(Panel::new(names, &INTENT_FEATURES).read(&features, &meaning).map(f32::to_bits), alone);
    }

    #[test]
    fn every_threshold_is_there_and_a_probability() {
        for name in ["reference.structural", "reference.described", "ellipsis", "context"] {
            assert!((0.0..1.0).contains(&threshold(name)), "{name}");
        }
    }
}
