//! YAML's scalars: what a plain word means, and how a value is written so that YAML 1.1 and 1.2 read it alike.
//!
//! Mirrors PyYAML's `resolver.py` (6.0), which reads nearly all files handled here, with two exceptions: `5e8` is the
//! number that its writer meant, and numbers with a leading zero or colons stay text, since readers disagree whether
//! they are octal or decimal.

use super::super::Value;
use super::super::value::{based_number, in_case_of, is_collection, number, number_like, plain};

/// Pairs of words for true and false, each also capitalised and in capitals.
const TRUTH: &[(&str, &str)] = &[("true", "false"), ("yes", "no"), ("on", "off")];

/// The value of a plain scalar.
pub(super) fn resolve(word: &str) -> Value {
    if matches!(word, "" | "~" | "null" | "Null" | "NULL") {
        return Value::Null;
    }
    if let Some((yes, _)) = truth(word) {
        return Value::Bool(yes);
    }
    let digits = word.trim_start_matches(['-', '+']);
    let leading_zero = digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = based_number(word).or_else(|| number(word).filter(|_| !leading_zero));
    number.map_or_else(|| Value::Text(word.to_owned()), Value::Number)
}

/// The boolean that `word` spells, and the pair of words that it belongs to.
fn truth(word: &str) -> Option<(bool, (&'static str, &'static str))> {
    let lower = word.to_ascii_lowercase();
    let pair = TRUTH.iter().find(|(yes, no)| lower == *yes || lower == *no)?;
    (in_case_of(word, &lower) == word).then_some((lower == pair.0, *pair))
}

/// `value` as YAML in the style of the text `old`; `flow` is true inside `{…}` and `[…]`.
pub(super) fn write(value: &Value, old: &str, flow: bool) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(yes) => {
            let (words, case) = truth(old).map_or((TRUTH[0], "true"), |(_, words)| (words, old));
            in_case_of(case, if *yes { words.0 } else { words.1 })
        }
        Value::Number(new) if number(old).is_some() => number_like(old, *new),
        // What a template or a container's environment takes as text stays text.
        Value::Number(new) if is_quoted_number(old) => string(&plain(*new), old.chars().next(), flow),
        Value::Number(new) => for_everybody(&plain(*new)),
        // As JSON writes it, which is YAML in flow style.
        Value::Text(text) if old.is_empty() && is_collection(text) => text.clone(),
        Value::Text(text) => string(text, old.chars().next(), flow),
    }
}

/// Whether `old` is a number in quotes.
fn is_quoted_number(old: &str) -> bool {
    let within = |quote: char| old.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    within('"').or_else(|| within('\'')).is_some_and(|words| number(words).is_some())
}

/// `text` as a plain word or a quoted string; uses `quote` if that is a quote that can represent it.
pub(super) fn string(text: &str, quote: Option<char>, flow: bool) -> String {
    let is_printable = text.chars().all(is_printable);
    match quote {
        Some('"') => double_quoted(text),
        Some('\'') if is_printable => single_quoted(text),
        _ if is_printable && is_plain(text, flow) => text.to_owned(),
        _ if is_printable => single_quoted(text),
        _ => double_quoted(text),
    }
}

/// YAML 1.1 takes `1e-6` for text: it requires a point and a sign.
fn for_everybody(number: &str) -> String {
    let Some((mantissa, power)) = number.split_once('e') else { return number.to_owned() };
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if power.starts_with('-') { "" } else { "+" };
    format!("{mantissa}{point}e{sign}{power}")
}

/// Whether every YAML reader takes `text` without quotes for just that text.
fn is_plain(text: &str, flow: bool) -> bool {
    let begins_well = text.starts_with(|c: char| c.is_alphanumeric() || "_./$(<".contains(c));
    let is_split = text.ends_with([' ', ':'])
        || [": ", " #"].iter().any(|mark| text.contains(mark))
        || (flow && text.contains(['{', '}', '[', ']', ',', ':']));
    // YAML 1.1 gives a meaning to dates, times, octal and binary numbers, `=` and `<<`.
    let is_odd = text.starts_with(|c: char| c.is_ascii_digit() || c == '.') && !text.contains(char::is_alphabetic)
        || ["0b", "0x", "0o", "<<"].iter().any(|word| text.starts_with(word));
    begins_well && !is_split && !is_odd && matches!(resolve(text), Value::Text(_))
}

fn is_printable(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn double_quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            '\n' => "\\n".to_owned(),
            '\t' => "\\t".to_owned(),
            '\r' => "\\r".to_owned(),
            c if is_printable(c) => c.to_string(),
            c => format!("\\u{:04x}", u32::from(c)),
        })
        .collect();
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_what_pyyaml_takes_them_for() {
        for word in ["yes", "Yes", "TRUE", "on"] {
            assert_eq!(resolve(word), Value::Bool(true), "{word}");
        }
        for word in ["y", "yEs", "0777", "1:30", "64Gi", "2001-01-01", ".inf", "no!"] {
            assert_eq!(resolve(word), Value::Text(word.into()), "{word}");
        }
        for (word, number) in [("5e8", 5e8), ("-1_000", -1e3), ("0x1F", 31.0), ("0o17", 15.0), ("0", 0.0), ("0.5", 0.5)]
        {
            assert_eq!(resolve(word), Value::Number(number), "{word}");
        }
        assert_eq!(resolve("~"), Value::Null);
    }

    #[test]
    fn writes_so_that_nobody_misreads() {
        let text = |text: &str| write(&text.into(), "", false);
        for plain in ["cpu", "64Gi", "/data/x y", "a:b", "x#y", "bf16"] {
            assert_eq!(text(plain), plain);
        }
        for quoted in ["no", "5e8", "1:30", "2001-01-01", "0777", "", "- a", "a: b", "a #b", "*x", "null", "a:"] {
            assert_eq!(text(quoted), format!("'{quoted}'"));
        }
        assert_eq!(text("it's"), "it's");
        assert_eq!(text("'"), "''''");
        assert_eq!(text("a\nb"), "\"a\\nb\"");
        assert_eq!(write(&"a,b".into(), "", true), "'a,b'");
        assert_eq!(write(&false.into(), "Yes", false), "No");
        assert_eq!(write(&false.into(), "'yes'", false), "false");
        assert_eq!(write(&Value::Number(1e-6), "auto", false), "1.0e-6");
        assert_eq!(write(&Value::Number(1e-6), "1.0e-05", false), "1.0e-06");
        assert_eq!(write(&"x".into(), "\"y\"", false), "\"x\"");
    }
}
