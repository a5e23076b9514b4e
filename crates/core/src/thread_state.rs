//! What a thread has settled, asked and been told (SPEC-028 §6, G-70): a deterministic extractor, and the Active Thread
//! Summary that carries it.

use crate::growth;
use crate::text::{Class, PhraseKind, Text};
use crate::threads::{Thread, ThreadState};
use crate::turn_log::Role;

/// Lines kept in each list of a state; the oldest go first.
const MOST: usize = 12;
/// Sentences read of a turn.
const READ: usize = 64;
/// Longest line, characters.
const LONGEST: usize = 160;

/// Adds to `state` what a user's or assistant's turn settles, asks or demands: unanswered questions are open, standing
/// demands are constraints, first-person statements with a value are established.
pub fn extract(state: &mut ThreadState, role: Role, source: &str, text: &Text) {
    let sentences = sentences(source, text);
    match role {
        Role::User => {
            for sentence in &sentences {
                if sentence.constraint {
                    push(&mut state.user_constraints, sentence.text);
                } else if sentence.statement {
                    push(&mut state.established, sentence.text);
                }
            }
            state.open_questions.clear();
            for sentence in sentences.iter().filter(|s| s.question) {
                push(&mut state.open_questions, sentence.text);
            }
        }
        Role::Assistant => {
            // An answer closes the user's questions; its own last question is open.
            state.open_questions.clear();
            if let Some(last) = sentences.last().filter(|s| s.question) {
                push(&mut state.open_questions, last.text);
            }
        }
    }
}

struct Sentence<'a> {
    text: &'a str,
    question: bool,
    constraint: bool,
    statement: bool,
}

fn sentences<'a>(source: &'a str, text: &Text) -> Vec<Sentence<'a>> {
    let words = text.words();
    let mut found = Vec::new();
    let mut start = 0;
    while start < words.len() && found.len() < READ {
        let end =
            words[start..].iter().position(|w| w.sentence != words[start].sentence).map_or(words.len(), |n| start + n);
        let from = words[start].start as usize;
        let to = words.get(end).map_or(source.len(), |next| next.start as usize);
        let written = source[from..to].trim();
        let range = &words[start..end];
        let any = |class: Class| range.iter().any(|w| w.class.has(class));
        let question = written.contains(['?', '？', '؟']);
        let said = |at: usize, kind| text.phrase_at(at, kind).is_some_and(|p| p.words.end <= end);
        let anywhere = |kind| (start..end.min(start + READ)).any(|at| said(at, kind));
        let mine = Class::FIRST.or(Class::POSSESSIVE_FIRST);
        let first = any(mine);
        // "I never …", not "you never told me".
        let rule = range.iter().position(|w| w.class.has(Class::STANDING));
        let own_rule = rule.is_some_and(|at| range[..at].iter().any(|w| w.class.has(mine)));
        let value = range.iter().any(|w| w.value != 0 || w.capital && !w.opens() && w.is_content());
        found.push(Sentence {
            text: written,
            question,
            constraint: anywhere(PhraseKind::Limit)
                || !question && (anywhere(PhraseKind::Standing) || said(start, PhraseKind::Forbid) || own_rule),
            statement: !question && first && value && range.len() >= 4,
        });
        start = end;
    }
    found
}

fn push(list: &mut Vec<String>, line: &str) {
    let end = line.char_indices().nth(LONGEST).map_or(line.len(), |(at, _)| at);
    let short = &line[..end];
    if list.iter().any(|known| known == short) {
        return;
    }
    if list.len() == MOST {
        list.remove(0);
    }
    growth::push(list, short.to_owned());
}

/// The lines of the Active Thread Summary; empty when there is nothing to say (R028-12).
pub fn summary(thread: &Thread) -> Vec<String> {
    let state = &thread.state;
    let mut lines = Vec::new();
    for (label, list) in
        [("Constraint", &state.user_constraints), ("Established", &state.established), ("Open", &state.open_questions)]
    {
        lines.extend(list.iter().map(|line| format!("{label}: {line}")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Pack;

    fn state(turns: &[(Role, &str)]) -> ThreadState {
        let mut state = ThreadState::default();
        let mut text = Text::default();
        for (role, source) in turns {
            text.read(source, &Pack::of("en"));
            extract(&mut state, *role, source, &text);
        }
        state
    }

    #[test]
    fn constraints_facts_and_questions() {
        let state = state(&[
            (Role::User, "I'm vegetarian. I run version 3.5 on 3 nodes. What should I cook?"),
            (Role::Assistant, "A curry. Do you like spice?"),
        ]);
        assert_eq!(state.user_constraints, ["I'm vegetarian."]);
        assert_eq!(state.established, ["I run version 3.5 on 3 nodes."]);
        assert_eq!(state.open_questions, ["Do you like spice?"]);
    }

    #[test]
    fn a_question_is_no_constraint() {
        assert!(state(&[(Role::User, "Must I never mix them?")]).user_constraints.is_empty());
    }
}
