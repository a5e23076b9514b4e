//! Every option, its default, its range and its validation: the one place for all of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::blend::Blend;
use crate::embedding::EmbeddingSpec;
use crate::error::{Code, Error, Result};
use crate::intent::Intent;
use crate::scratch::StalePolicy;
use crate::similarity::codes::MOST_DIMENSIONS;

/// Which behaviour: measured best, or the specification's pseudo-code to the letter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// What labelled data shows is better.
    #[default]
    Default,
    /// SPEC-028 to the letter.
    Spec,
}

/// How the mode of a turn is chosen (G-51).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModeOption {
    /// Always conversation.
    #[default]
    Conversation,
    /// Always document.
    Document,
    /// Always hybrid.
    Hybrid,
    /// Hybrid when the turn asks for a piece of writing and history is used, else conversation.
    Auto,
}

/// Thresholds on the calibrated similarity scale.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Thresholds {
    /// Above it a turn joins a thread (SPEC-028 §3.3).
    pub join: f32,
    /// At or above it a turn stays in the active thread (SPEC-028 §5.2).
    pub stay: f32,
    /// Below it a fact is not retrieved (R024-6).
    pub min_relevance: f32,
}

impl Thresholds {
    /// These, but for what a call gives.
    fn with(self, over: &PartialThresholds) -> Result<Self> {
        let all = Self {
            join: over.join.unwrap_or(self.join),
            stay: over.stay.unwrap_or(self.stay),
            min_relevance: over.min_relevance.unwrap_or(self.min_relevance),
        };
        thresholds(all)?;
        Ok(all)
    }
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { join: 0.70, stay: 0.50, min_relevance: 0.55 }
    }
}

/// One blend for every intent, or one for each intent named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum BlendOption {
    /// The same whatever the intent.
    All(Blend),
    /// By intent; the table of SPEC-028 for the rest.
    ByIntent(BTreeMap<IntentKey, Blend>),
}

/// An intent as a map key.
pub type IntentKey = String;

/// Which tokenizer counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokensOption {
    /// `o200k_base`.
    #[default]
    O200k,
    /// `cl100k_base`.
    Cl100k,
    /// A script-aware estimate that errs to the high side for written text.
    Estimate,
    /// The host's function, passed beside the options.
    Custom,
    /// A Hugging Face `tokenizer.json`, as text.
    Json(String),
}

/// Which embedder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EmbedderOption {
    /// The static table in the core.
    #[default]
    Builtin,
    /// None: lexical similarity.
    Lexical,
    /// The host's vectors.
    Host(EmbeddingSpec),
}

/// How a session keeps the vectors of its turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VectorForm {
    /// Four bytes an element.
    #[default]
    F32,
    /// One byte an element: similarities are off by at most the largest element of a vector × √dimensions ÷ 254, and
    /// commonly by a twentieth of that.
    I8,
}

/// Tier E options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ScratchOptions {
    /// Entries kept.
    pub max_entries: usize,
    /// Hard cap of a summary, tokens (R029-4).
    pub summary_tokens: u32,
    /// What happens to stale output; by class when absent (R029-6).
    pub stale: Option<StalePolicy>,
}

impl Default for ScratchOptions {
    fn default() -> Self {
        Self { max_entries: 256, summary_tokens: 256, stale: None }
    }
}

/// Tier P options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct FactsOptions {
    /// Facts in a namespace above which an HNSW index replaces exact search.
    pub index_above: usize,
    /// Factor of the partial novelty (G-7).
    pub partial_factor: f32,
}

impl Default for FactsOptions {
    fn default() -> Self {
        Self { index_above: 10_000, partial_factor: 0.5 }
    }
}

/// How threads are named (G-58).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThreadNames {
    /// From the words of the user's turn.
    #[default]
    Slug,
    /// `thread-N`.
    Opaque,
}

/// Options of an engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Options {
    /// Behaviour.
    pub profile: Profile,
    /// BCP 47 language or `auto`.
    pub locale: String,
    /// Mode or `auto`.
    pub mode: ModeOption,
    /// Tokens of the rendered envelope (G-46).
    pub budget: f64,
    /// Turns until the recency weight halves (SPEC-028 §3.2).
    pub half_life: f64,
    /// Similarity thresholds.
    pub thresholds: Thresholds,
    /// Replaces rows of the blend table.
    pub blend: Option<BlendOption>,
    /// Tokenizer.
    pub tokens: TokensOption,
    /// Tokens each rendered message costs beside its text.
    pub message_overhead: u32,
    /// Embedder.
    pub embedder: EmbedderOption,
    /// Vectors of the turns; those of facts are floats.
    pub vectors: VectorForm,
    /// Live sessions kept by the façade.
    pub max_sessions: usize,
    /// Turns kept in the log; null keeps all. When absent: all, or 50 in the `spec` profile (G-57).
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub ring: Option<Option<usize>>,
    /// Hard cap of the Active Thread Summary, tokens; it never takes more than an eighth of Tier C's share (G-70).
    pub summary_tokens: u32,
    /// Thread ids.
    pub thread_names: ThreadNames,
    /// Read constraints, established facts and open questions from the turns (G-70).
    pub extract: bool,
    /// Tier E.
    pub scratch: ScratchOptions,
    /// Tier P.
    pub facts: FactsOptions,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            profile: Profile::Default,
            locale: "auto".into(),
            mode: ModeOption::Conversation,
            budget: 4000.0,
            half_life: 6.0,
            thresholds: Thresholds::default(),
            blend: None,
            tokens: TokensOption::O200k,
            message_overhead: 4,
            embedder: EmbedderOption::Builtin,
            vectors: VectorForm::F32,
            max_sessions: 10_000,
            ring: None,
            summary_tokens: 256,
            thread_names: ThreadNames::Slug,
            extract: true,
            scratch: ScratchOptions::default(),
            facts: FactsOptions::default(),
        }
    }
}

/// Options of one call; what is absent comes from the engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct CallOptions {
    /// Behaviour.
    pub profile: Option<Profile>,
    /// Language.
    pub locale: Option<String>,
    /// Mode.
    pub mode: Option<ModeOption>,
    /// Budget, tokens.
    pub budget: Option<f64>,
    /// Half-life, turns.
    pub half_life: Option<f64>,
    /// Thresholds.
    pub thresholds: Option<PartialThresholds>,
    /// Blend.
    pub blend: Option<BlendOption>,
    /// Host's id of the turn.
    pub id: Option<String>,
    /// Speaker.
    pub name: Option<String>,
    /// Entities the host knows of.
    pub entities: Option<Vec<String>>,
    /// Change nothing.
    pub dry_run: bool,
}

/// Thresholds of one call; what is absent comes from the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct PartialThresholds {
    /// As [`Thresholds::join`].
    pub join: Option<f32>,
    /// As [`Thresholds::stay`].
    pub stay: Option<f32>,
    /// As [`Thresholds::min_relevance`].
    pub min_relevance: Option<f32>,
}

/// What is in force for one call.
#[derive(Clone, Debug)]
pub struct Settings<'a> {
    /// Behaviour.
    pub profile: Profile,
    /// Language or `auto`.
    pub locale: &'a str,
    /// Mode or `auto`.
    pub mode: ModeOption,
    /// Budget, tokens.
    pub budget: u32,
    /// Half-life, turns.
    pub half_life: f64,
    /// Thresholds.
    pub thresholds: Thresholds,
    blend: Option<&'a BlendOption>,
}

impl Settings<'_> {
    /// The blend of an intent: the override if there is one, else the table.
    pub fn blend(&self, intent: Intent) -> Blend {
        match self.blend {
            Some(BlendOption::All(blend)) => *blend,
            Some(BlendOption::ByIntent(rows)) => rows.get(intent.name()).copied().unwrap_or_else(|| Blend::of(intent)),
            None => Blend::of(intent),
        }
    }

    /// What classification reads of them, `name` being who speaks, filled into `of`: equal ones classify alike.
    pub fn decisive(&self, name: Option<&str>, of: &mut CallOptions) {
        let Thresholds { join, stay, min_relevance } = self.thresholds;
        of.profile = Some(self.profile);
        let locale = of.locale.get_or_insert_default();
        locale.clear();
        locale.push_str(self.locale);
        of.half_life = Some(self.half_life);
        of.thresholds =
            Some(PartialThresholds { join: Some(join), stay: Some(stay), min_relevance: Some(min_relevance) });
        of.blend = self.blend.cloned();
        of.name = name.map(str::to_owned);
    }
}

impl Options {
    /// Reads and checks options; unknown keys are errors that name the key.
    ///
    /// # Errors
    /// `INVALID_OPTION`, `INVALID_BLEND` or `INVALID_BUDGET` with the value and the limit.
    pub fn parse(json: &str) -> Result<Self> {
        let options: Self = serde_json::from_str(json).map_err(|e| option(&e))?;
        budget(options.budget)?;
        half_life(options.half_life)?;
        thresholds(options.thresholds)?;
        options.blend.as_ref().map_or(Ok(()), blend)?;
        locale(&options.locale)?;
        at_least("ring", options.ring.flatten().unwrap_or(1), 1)?;
        at_least("maxSessions", options.max_sessions, 1)?;
        at_least("scratch.maxEntries", options.scratch.max_entries, 1)?;
        at_least("scratch.summaryTokens", options.scratch.summary_tokens as usize, 16)?;
        at_least("summaryTokens", options.summary_tokens as usize, 16)?;
        unit("facts.partialFactor", options.facts.partial_factor)?;
        if let EmbedderOption::Host(spec) = &options.embedder {
            at_least("embedder.dimensions", spec.dimensions, 1)?;
            let most = MOST_DIMENSIONS;
            check(spec.dimensions <= most, "embedder.dimensions", spec.dimensions, format_args!("at most {most}"))?;
            at_least("embedder.id length", spec.id.len(), 1)?;
            spec.calibration.check()?;
        }
        Ok(options)
    }

    /// What is in force for a call with `call`.
    ///
    /// # Errors
    /// As [`Options::parse`].
    #[inline]
    pub fn settings<'a>(&'a self, call: &'a CallOptions) -> Result<Settings<'a>> {
        // The engine's own were checked when they were read.
        call.half_life.map_or(Ok(()), half_life)?;
        call.blend.as_ref().map_or(Ok(()), blend)?;
        call.locale.as_deref().map_or(Ok(()), locale)?;
        Ok(Settings {
            profile: call.profile.unwrap_or(self.profile),
            locale: call.locale.as_deref().unwrap_or(&self.locale),
            mode: call.mode.unwrap_or(self.mode),
            budget: call.budget.map_or(Ok(self.budget as u32), budget)?,
            half_life: call.half_life.unwrap_or(self.half_life),
            thresholds: match &call.thresholds {
                Some(over) => self.thresholds.with(over)?,
                None => self.thresholds,
            },
            blend: call.blend.as_ref().or(self.blend.as_ref()),
        })
    }

    /// Turns kept in the log: the ring, 50 in the `spec` profile (G-57), else all.
    pub fn ring(&self) -> Option<usize> {
        /// `rolling_log_size` of R037-1.
        const SPEC_RING: usize = 50;
        self.ring.unwrap_or((self.profile == Profile::Spec).then_some(SPEC_RING))
    }
}

impl CallOptions {
    /// Reads the options of one call.
    ///
    /// # Errors
    /// `INVALID_OPTION` that names the unknown key or the value of the wrong type.
    pub fn parse(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|e| option(&e))
    }
}

/// Tells `null` from absent.
fn given<'de, D: serde::Deserializer<'de>>(value: D) -> std::result::Result<Option<Option<usize>>, D::Error> {
    Option::deserialize(value).map(Some)
}

fn option(error: &serde_json::Error) -> Error {
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text);
    Error::new(Code::InvalidOption, message)
}

fn budget(value: f64) -> Result<u32> {
    if value >= 1.0 && value <= f64::from(u32::MAX) && value.fract() == 0.0 {
        Ok(value as u32)
    } else {
        Err(Error::limit(Code::InvalidBudget, "budget", value, "a whole number of tokens, 1 to 4294967295"))
    }
}

fn half_life(value: f64) -> Result<()> {
    check(value.is_finite() && value > 0.0, "halfLife", value, "a number of turns above 0")
}

fn thresholds(value: Thresholds) -> Result<()> {
    for (name, threshold) in [
        ("thresholds.join", value.join),
        ("thresholds.stay", value.stay),
        ("thresholds.minRelevance", value.min_relevance),
    ] {
        unit(name, threshold)?;
    }
    check(
        value.stay <= value.join,
        "thresholds.stay",
        value.stay,
        format_args!("at most thresholds.join ({})", value.join),
    )
}

fn blend(value: &BlendOption) -> Result<()> {
    match value {
        BlendOption::All(blend) => blend.checked().map(drop),
        BlendOption::ByIntent(rows) => rows.iter().try_for_each(|(intent, blend)| {
            check(
                Intent::ALL.iter().any(|known| known.name() == intent),
                "blend",
                intent,
                "keys P, C and E, or the five intents",
            )?;
            blend.checked().map(drop)
        }),
    }
}

fn locale(value: &str) -> Result<()> {
    let fits = !value.is_empty()
        && value.len() <= 35
        && value
            .split('-')
            .all(|part| !part.is_empty() && part.len() <= 8 && part.bytes().all(|b| b.is_ascii_alphanumeric()));
    check(fits, "locale", value, "a BCP 47 tag or \"auto\"")
}

fn unit(name: &str, value: f32) -> Result<()> {
    check((0.0..=1.0).contains(&value), name, value, "a number from 0 to 1")
}

fn at_least(name: &str, value: usize, least: usize) -> Result<()> {
    check(value >= least, name, value, format_args!("at least {least}"))
}

fn check(holds: bool, name: &str, value: impl std::fmt::Display, limit: impl std::fmt::Display) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::limit(Code::InvalidOption, name, value, limit)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(json: &str) -> Code {
        Options::parse(json).unwrap_err().code
    }

    #[test]
    fn defaults_are_valid_and_round_trip() {
        let options = Options::default();
        assert_eq!(Options::parse(&serde_json::to_string(&options).unwrap()).unwrap(), options);
        assert_eq!(Options::parse("{}").unwrap(), options);
    }

    #[test]
    fn unknown_keys_and_bad_values_are_refused_by_name() {
        assert!(Options::parse(r#"{"halflife":6}"#).unwrap_err().message.contains("halflife"));
        assert!(Options::parse(r#"{"scratch":{"max":6}}"#).unwrap_err().message.contains("max"));
        for json in [
            r#"{"halfLife":0}"#,
            r#"{"ring":0}"#,
            r#"{"locale":"english please"}"#,
            r#"{"thresholds":{"join":0.4}}"#,
            r#"{"profile":"strict"}"#,
            r#"{"halfLife":null}"#,
        ] {
            assert_eq!(code(json), Code::InvalidOption, "{json}");
        }
        assert_eq!(code(r#"{"budget":0}"#), Code::InvalidBudget);
        assert_eq!(code(r#"{"blend":{"P":-1,"C":1,"E":1}}"#), Code::InvalidBlend);
        assert_eq!(code(r#"{"blend":{"CHAT":{"P":0,"C":1,"E":0}}}"#), Code::InvalidOption);
    }

    #[test]
    fn a_call_overrides_the_engine() {
        let options = Options::default();
        let call =
            CallOptions::parse(r#"{"budget":100,"thresholds":{"stay":0.4},"blend":{"CLARIFY":{"P":0,"C":1,"E":0}}}"#)
                .unwrap();
        let settings = options.settings(&call).unwrap();
        assert_eq!((settings.budget, settings.thresholds.stay, settings.thresholds.join), (100, 0.4, 0.70));
        assert_eq!(settings.blend(Intent::Clarify).percent(), [0, 100, 0]);
        assert_eq!(settings.blend(Intent::Explore).percent(), [70, 25, 5]);
    }

    #[test]
    fn the_spec_profile_rings_at_fifty() {
        assert_eq!(Options::parse(r#"{"profile":"spec"}"#).unwrap().ring(), Some(50));
        assert_eq!(Options::parse(r#"{"profile":"spec","ring":null}"#).unwrap().ring(), None);
        assert_eq!(Options::default().ring(), None);
    }
}
