//! Lifetimes: ISO 8601 durations as milliseconds (R009-1, R027-5, R029-5).

use jiff::{Span, SpanRelativeTo, Unit};
use serde_json::Value;

use crate::error::{Code, Error, Result};

/// Milliseconds of a day. A lifetime counts days of 24 hours, months of 30 days and years of 365 (R027-4).
const DAY: i64 = 24 * 60 * 60 * 1000;

/// A lifetime in milliseconds, or `None` for one that never ends.
///
/// `text` is an ISO 8601 duration (`PT5M`, `P1Y`), the short form of the same (`5m`, `30s`), or `session` or `none` for
/// never. Cost: linear in a text of a few characters.
///
/// # Errors
/// `INVALID_OPTION` for anything else, for a negative duration and for one beyond 292 million years.
pub fn parse(text: &str) -> Result<Option<i64>> {
    let trimmed = text.trim();
    if trimmed.eq_ignore_ascii_case("session") || trimmed.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    let span: Span = trimmed.parse().map_err(|_| invalid(text))?;
    milliseconds(span).filter(|ms| *ms >= 0).map(Some).ok_or_else(|| invalid(text))
}

/// The same for an option that may also be a number of milliseconds, at least 0.
///
/// # Errors
/// `INVALID_OPTION` as [`parse`], and for a value that is neither text nor such a number.
pub fn lifetime(value: &Value) -> Result<Option<i64>> {
    match value {
        Value::String(text) => parse(text),
        Value::Number(number) => {
            let ms = number.as_f64().filter(|ms| (0.0..9e15).contains(ms)).ok_or_else(|| invalid(number))?;
            Ok(Some(ms as i64))
        }
        other => Err(invalid(other)),
    }
}

fn milliseconds(span: Span) -> Option<i64> {
    let long = i64::from(span.get_years()) * 365 + i64::from(span.get_months()) * 30;
    let days = SpanRelativeTo::days_are_24_hours();
    let short = span.years(0).months(0).total((Unit::Millisecond, days)).ok()?;
    (long * DAY).checked_add(short as i64)
}

fn invalid(value: impl std::fmt::Display) -> Error {
    Error::limit(
        Code::InvalidOption,
        "lifetime",
        value,
        "an ISO 8601 duration, milliseconds from 0 on, `session` or `none`",
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn iso_durations_and_their_short_forms() {
        let hour = 60 * 60 * 1000;
        let cases = [
            ("PT30S", 30_000),
            ("PT5M", 300_000),
            ("PT1H", hour),
            ("P1D", DAY),
            ("P2W", 14 * DAY),
            ("P6M", 180 * DAY),
            ("P1Y", 365 * DAY),
            ("P1Y2M3DT4H5M6S", 365 * DAY + 63 * DAY + 4 * hour + 5 * 60_000 + 6_000),
            ("PT0S", 0),
            ("PT0.5S", 500),
            ("5m", 300_000),
            ("30 seconds", 30_000),
        ];
        for (text, ms) in cases {
            assert_eq!(parse(text), Ok(Some(ms)), "{text}");
        }
    }

    #[test]
    fn session_and_none_never_end() {
        for text in ["session", "none", "SESSION", " None "] {
            assert_eq!(parse(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn everything_else_is_an_error() {
        for text in ["", "soon", "P", "-PT5M", "5", "PT", "forever", "P1Y-2M"] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.code, Code::InvalidOption, "{text}");
            assert_eq!(error.value.as_deref(), Some(text));
        }
    }

    #[test]
    fn options_may_be_numbers() {
        assert_eq!(lifetime(&json!(0)), Ok(Some(0)));
        assert_eq!(lifetime(&json!(1500.7)), Ok(Some(1500)));
        assert_eq!(lifetime(&json!("PT5M")), Ok(Some(300_000)));
        for bad in [json!(-1), json!(1e300), json!(null), json!(true), json!([1]), json!({})] {
            assert_eq!(lifetime(&bad).unwrap_err().code, Code::InvalidOption, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = parse(&text);
        }

        #[test]
        fn what_looks_like_a_duration_never_panics(text in "-?P?[0-9YMWDTHS.]{0,30}") {
            let _ = parse(&text);
        }
    }
}
