//! Results as they leave the machine: short, with secrets masked and invisible characters made visible.

use serde::Serialize;

use super::Problem;
use crate::redact::Redactor;

/// The most bytes of JSON in a result: an assistant pays for each word.
pub(super) const MOST: usize = 6 << 10;

/// A result as JSON, its fields in reading order.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    json: String,
}

impl Answer {
    /// `result`, whatever its length.
    pub fn of(result: &impl Serialize) -> Result<Answer, Problem> {
        Ok(Answer { json: serde_json::to_string(result)? })
    }

    /// The longest result that fits: `shown` is called with 0, 1, … and leaves out more each time; if none fits, the
    /// last.
    pub fn fitting<R: Serialize>(steps: usize, shown: impl Fn(usize) -> Result<R, Problem>) -> Result<Answer, Problem> {
        let mut answer = Answer::of(&shown(0)?)?;
        for step in 1..steps {
            if answer.json.len() <= MOST {
                break;
            }
            answer = Answer::of(&shown(step)?)?;
        }
        Ok(answer)
    }

    /// The result with secrets masked and invisible characters escaped.
    pub fn masked(&self, redactor: &Redactor) -> Result<String, Problem> {
        let mask = |words: &str| visible(&redactor.text(words));
        with_strings(&self.json, mask)
    }
}

/// Applies `change` to every string of `json`.
fn with_strings(json: &str, change: impl Fn(&str) -> String) -> Result<String, Problem> {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(start) = rest.find('"') {
        let (before, string) = rest.split_at(start);
        let end = end_of_string(string).ok_or_else(|| Problem::bug("a result is cut"))?;
        let words: String = serde_json::from_str(&string[..end])?;
        out.push_str(before);
        out.push_str(&serde_json::to_string(&change(&words))?);
        rest = &string[end..];
    }
    out.push_str(rest);
    Ok(out)
}

/// The offset behind the string that `json` begins with.
fn end_of_string(json: &str) -> Option<usize> {
    let mut is_escaped = false;
    let closes = |(_, byte): &(usize, u8)| {
        let closes = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        closes
    };
    json.bytes().enumerate().skip(1).find(closes).map(|(place, _)| place + 1)
}

/// Escapes invisible characters, so that people who look at a result see all that the assistant reads.
pub(super) fn visible(words: &str) -> String {
    let shown = |c: char| match is_hidden(c) {
        true => c.escape_unicode().to_string(),
        false => c.to_string(),
    };
    words.chars().map(shown).collect()
}

/// Control characters, changes of writing direction, zero-width characters, tags and variation selectors.
fn is_hidden(c: char) -> bool {
    let is_control = c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    is_control
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(c, '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_string_is_changed_and_nothing_else() -> Result<(), Problem> {
        let json = r#"{"a\"b":["x",1,null,"\\",""],"c":true}"#;
        assert_eq!(
            with_strings(json, |words| format!("<{words}>"))?,
            r#"{"<a\"b>":["<x>",1,null,"<\\>","<>"],"<c>":true}"#
        );
        assert!(with_strings("{\"a", str::to_owned).is_err());
        Ok(())
    }

    #[test]
    fn what_nobody_sees_gets_a_name() {
        assert_eq!(visible("显存\ta\r\nb\u{1b}[2J\u{202e}\u{e0041}c"), "显存\ta\r\nb\\u{1b}[2J\\u{202e}\\u{e0041}c");
    }

    #[test]
    fn a_result_loses_what_is_least_needed() -> Result<(), Problem> {
        let answer = Answer::fitting(3, |step| Ok("x".repeat(MOST * (2 - step) / 2 + 10)))?;
        assert_eq!(answer.json.len(), MOST / 2 + 12);
        Ok(())
    }
}
