//! The words of names: of tools, keys and columns.

/// Words that fit any output.
pub(super) fn is_generic(word: &str) -> bool {
    matches!(
        word,
        "result"
            | "results"
            | "output"
            | "outputs"
            | "response"
            | "data"
            | "query"
            | "api"
            | "tool"
            | "call"
            | "list"
            | "table"
            | "rows"
            | "row"
            | "value"
            | "answer"
            | "info"
            | "information"
            | "one"
            | "get"
            | "error"
    )
}

/// Lower-case words of a name or text: split at everything but letters and digits, and where capitals begin.
pub(super) fn words_of(text: &str) -> impl Iterator<Item = String> + '_ {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        let mut before: Option<char> = None;
        let end = rest.char_indices().find(|(_, c)| {
            let hump = c.is_uppercase() && before.is_some_and(char::is_lowercase);
            before = Some(*c);
            hump || !c.is_alphanumeric()
        });
        let (word, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        rest = after;
        (!word.is_empty()).then(|| word.to_lowercase())
    })
}

/// FNV-1a: small, and the same in every version, since entries are stored with it.
pub(super) fn hash(word: &str) -> u32 {
    word.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_names() {
        let words = |text| words_of(text).collect::<Vec<_>>();
        assert_eq!(words("get_reservation-details"), ["get", "reservation", "details"]);
        assert_eq!(words("searchDirectFlights2"), ["search", "direct", "flights2"]);
        assert_eq!(words("__"), Vec::<String>::new());
    }
}
