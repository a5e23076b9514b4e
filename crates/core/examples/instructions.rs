//! Work whose instructions are counted: `scripts/instructions.mjs` runs it under callgrind and compares with the budget.
//!
//! `instructions WORK N` does the work N times; the difference of two runs is its cost. `classify` has a vector and a
//! locale, `classify-text` neither; `assemble` packs 8 turns, `assemble-long` 1,000, from the text.

use trihorizon_core::config::{CallOptions, Options};
use trihorizon_core::embedding::StaticEmbedder;
use trihorizon_core::session::{Call, MessageRole, Meta, Session, Workspace};
use trihorizon_core::tokens::{Counter, TokenCounter};

const DIALOGUE: [&str; 8] = [
    "How do I configure an etcd cluster with three members on Debian?",
    "1. Install the package on every node. 2. Write the configuration with the peer addresses. 3. Open ports 2379 and 2380. 4. Start the service.",
    "What does the second step need to contain, and where does the file live?",
    "The file lives in /etc/default/etcd. It names the member, lists its peers, and says whether the cluster is new or existing.",
    "Can I change the peer list later without stopping the cluster?",
    "Yes. Add the member first, then start it with the existing state. The other members learn of it by themselves.",
    "Which backup would you recommend for it?",
    "Take a snapshot with the command line tool every hour, and keep the last day of snapshots on another machine.",
];
const TURN: &str = "Is the second of those steps still needed when I add a member later, or does the new node learn the peer list by itself from the cluster that is already running and has the snapshot restored on it?";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let work = arguments.next().unwrap_or_default();
    let times: usize = arguments.next().unwrap_or_default().parse()?;
    let options = Options::parse(r#"{"locale":"en"}"#)?;
    let counter = Counter::O200k;
    let call = Call { options: &options, counter: &counter, now: 0 };
    let mut workspace = Workspace::default();
    let auto = Options::parse("{}")?;
    let from_text = Call { options: &auto, ..call };
    let turns = if work == "assemble-long" { 1000 } else { DIALOGUE.len() };
    let mut session = Session::new("s", "", &options);
    for (at, text) in DIALOGUE.iter().cycle().take(turns).enumerate() {
        let role = if at % 2 == 0 { MessageRole::User } else { MessageRole::Assistant };
        session.append(role, text, Meta::default(), None, call, &mut workspace)?;
    }
    let mut vector = Vec::new();
    StaticEmbedder::builtin().embed(TURN, &mut vector).ok_or("English")?;
    let dry = CallOptions { dry_run: true, ..CallOptions::default() };
    for _ in 0..times {
        match work.as_str() {
            "classify" => drop(session.classify(TURN, Some(&vector), &dry, call, &mut workspace)?),
            "classify-text" => drop(session.classify(TURN, None, &dry, from_text, &mut workspace)?),
            "assemble-long" => drop(session.assemble(TURN, None, &dry, None, from_text, &mut workspace)?),
            "assemble" => drop(session.assemble(TURN, Some(&vector), &dry, None, call, &mut workspace)?),
            "embed" => drop(StaticEmbedder::builtin().embed(TURN, &mut vector)),
            "count" => drop(counter.count(TURN)?),
            other => return Err(format!("unknown work {other}").into()),
        }
    }
    Ok(())
}
