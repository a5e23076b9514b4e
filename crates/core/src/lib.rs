//! The engine of trihorizon: decides, for every user turn of a chat, what the model should see.
//!
//! Implements CRP-SPEC-028, the multi-horizon context model. A turn flows one way through modules named after the
//! specification's steps: [`text`] → [`similarity`] → [`references`] → [`threads`] → [`classify`] → [`blend`] → [`select`]
//! and [`knowledge`] and [`scratch`] → [`envelope`] → [`headers`]. [`session`] holds the state and runs the flow;
//! [`spec`] is the document's own pseudo-code, to the letter.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod blend;
pub mod classify;
pub mod config;
pub mod coverage;
pub mod duration;
pub mod embedding;
pub mod envelope;
pub mod error;
mod growth;
pub mod headers;
pub mod intent;
pub mod knowledge;
pub mod mentions;
pub mod model;
pub mod needs;
pub mod references;
pub mod render;
pub mod scratch;
pub mod select;
pub mod session;
pub mod similarity;
pub mod snapshot;
mod sparse;
pub mod spec;
pub mod summary;
pub mod text;
pub mod thread_state;
pub mod threads;
pub mod tokens;
pub mod turn_log;
pub mod vectors;
pub mod vocabulary;
mod word_table;
