//! What a tool output is, by its form (R029-3).

use serde::{Deserialize, Serialize};

use super::structure::{Json, Kind, Shape};

/// What an output is, by its form (R029-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputClass {
    /// Objects with shared keys, or a table in Markdown, CSV or TSV.
    Table,
    /// One object.
    Object,
    /// An array, or a numbered, bulleted or plain list.
    List,
    /// One value.
    Scalar,
    /// Anything else.
    Text,
    /// The tool failed.
    Error,
}

impl OutputClass {
    /// The name in scratch ids and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Object => "object",
            Self::List => "list",
            Self::Scalar => "scalar",
            Self::Text => "text",
            Self::Error => "error",
        }
    }
}

/// What `raw` is, by its form.
pub fn classify(raw: &str) -> OutputClass {
    of(raw, &Shape::of(raw))
}

pub(super) fn of(raw: &str, shape: &Shape<'_>) -> OutputClass {
    match shape {
        Shape::Json(json) => of_json(json),
        _ if is_failure(raw) => OutputClass::Error,
        Shape::Table(_) => OutputClass::Table,
        Shape::List(_) => OutputClass::List,
        Shape::Prose if is_one_word(raw) => OutputClass::Scalar,
        Shape::Prose => OutputClass::Text,
    }
}

fn of_json(json: &Json<'_>) -> OutputClass {
    let root = json.root();
    match json.kind(root) {
        Kind::Object if reports_failure(json) => OutputClass::Error,
        Kind::Object | Kind::Array if json.table().is_some() => OutputClass::Table,
        Kind::Object => OutputClass::Object,
        Kind::Array => OutputClass::List,
        Kind::String if is_failure(&json.scalar(root)) => OutputClass::Error,
        Kind::String if !is_one_word(&json.scalar(root)) => OutputClass::Text,
        _ => OutputClass::Scalar,
    }
}

/// True for one token without blanks: a number, a date, an id, "OK".
fn is_one_word(raw: &str) -> bool {
    const LONGEST: usize = 64;
    let word = raw.trim();
    !word.is_empty() && word.len() <= LONGEST && !word.contains(char::is_whitespace)
}

/// True for `{"error": …}`, `{"success": false}` and the like.
fn reports_failure(json: &Json<'_>) -> bool {
    let says_nothing = |at: usize| match json.kind(at) {
        Kind::Object | Kind::Array => json.len(at) == 0,
        _ => matches!(json.scalar(at).as_ref(), "" | "null" | "None" | "false" | "False" | "0"),
    };
    json.children(json.root()).any(|member| {
        let (key, is) =
            (json.key(member), |values: &[&str]| values.contains(&json.scalar(member).to_ascii_lowercase().as_str()));
        match key.to_ascii_lowercase().as_str() {
            "error" | "errors" | "exception" | "iserror" | "is_error" | "error_message" | "errormessage" => {
                !says_nothing(member)
            }
            "success" | "ok" => json.is_scalar(member) && is(&["false"]),
            "status" | "type" => json.is_scalar(member) && is(&["error", "failed", "failure"]),
            _ => false,
        }
    })
}

/// True when the first line announces a failure: "Error: …", "fatal: …", "Traceback (most recent call last)".
fn is_failure(raw: &str) -> bool {
    const LONGEST: usize = 200;
    let line = raw.trim_start().lines().next().unwrap_or("");
    let line: String = line.chars().take(LONGEST).collect::<String>().to_ascii_lowercase();
    let line = line.trim_start_matches(['[', '<', '*', '#', ' ', '❌', '⚠']);
    if line.starts_with("traceback (most recent") {
        return true;
    }
    // "TypeError: …", "java.lang.NullPointerException: …", "fatal: …"
    let head = line.split([':', ' ']).next().unwrap_or("");
    let announced = line[head.len()..].starts_with(':');
    if announced
        && (head.ends_with("error")
            || head.ends_with("exception")
            || matches!(head, "fatal" | "panic" | "failure" | "failed"))
    {
        return true;
    }
    let rest = line.strip_prefix("an ").unwrap_or(line).strip_prefix("error");
    rest.is_some_and(|rest| {
        const AFTER: [&str; 13] = [
            "]",
            ">",
            "!",
            " -",
            " –",
            " (",
            " occurred",
            " while",
            " executing",
            " calling",
            " code",
            " in ",
            " message",
        ];
        let number = rest.strip_prefix(' ').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        rest.trim().is_empty() || number || AFTER.iter().any(|after| rest.starts_with(after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        use OutputClass::*;
        let cases = [
            ("Error: class not found", Error),
            ("hello, world\n", Text),
            ("12.0", Scalar),
            ("\"done\"", Scalar),
            ("true", Scalar),
            ("2024-05-16", Scalar),
            ("", Text),
            ("Transfer successful", Text),
            (r#"[{"id":1}]"#, Table),
            (r#"[{"id":1},{"name":2}]"#, List),
            (r#"{"events":[{"id":1}],"total":1}"#, Table),
            (r#"{"events":[{"id":1}],"people":["x"]}"#, Object),
            (r#"{"a":1}"#, Object),
            ("{}", Object),
            ("[]", List),
            ("[1,2]", List),
            ("1. a\n2. b", List),
            ("id,name\n1,x\n2,y\n", Table),
            ("| a | b |\n|---|---|\n| 1 | 2 |", Table),
            (r#"{"error":"no such file"}"#, Error),
            (r#"{"error":null,"data":1}"#, Object),
            (r#"{"errors":[]}"#, Object),
            (r#"{"success":false,"message":"denied"}"#, Error),
            (r#"{"success":true}"#, Object),
            ("\"Error: not enough seats\"", Error),
            ("TypeError: x is not a function\n  at f", Error),
            ("Traceback (most recent call last):\n  File", Error),
            ("java.lang.NullPointerException: null", Error),
            ("[ERROR] disk full", Error),
            ("Error 404", Error),
            ("An error occurred while searching.", Error),
            ("Error rates fell in May. Nobody knows why.", Text),
            ("errors.txt is empty now, as asked", Text),
            ("The failed test: none", Text),
        ];
        for (raw, class) in cases {
            assert_eq!(classify(raw), class, "{raw}");
        }
    }
}
