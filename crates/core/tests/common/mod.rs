//! What the fixtures of several tests are read with.

use serde_json::Value;
use trihorizon_core::session::ToolCall;

/// Tool calls as Chat Completions writes them.
pub fn tool_calls(calls: &[Value]) -> Vec<ToolCall> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    calls
        .iter()
        .map(|call| ToolCall {
            id: text(&call["id"]),
            name: text(&call["function"]["name"]),
            arguments: text(&call["function"]["arguments"]),
        })
        .collect()
}
