//! Values of settings, and how they are written.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The value of a setting. How it was written is kept in the entry's citation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// `null`, `None`, `~`, or nothing behind a YAML key.
    Null,
    /// `true`, `True`, YAML's `yes`, or a switch without a value.
    Bool(bool),
    /// `128`, `5e8`, `1_000_000`; infinite values and NaN stay text.
    Number(f64),
    /// Anything else, without its quotes.
    Text(String),
}

impl Value {
    /// The number, if it is one.
    pub fn as_number(&self) -> Option<f64> {
        if let Value::Number(number) = self { Some(*number) } else { None }
    }

    /// The value of a word on a command line or printed by Python. Such words carry no type, so their spelling decides.
    pub fn of_word(word: &str) -> Value {
        match word {
            "None" | "null" => Value::Null,
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            _ => number(word).map_or_else(|| Value::Text(word.to_owned()), Value::Number),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(yes) => yes.fmt(f),
            Value::Number(number) => f.write_str(&plain(*number)),
            Value::Text(text) => f.write_str(text),
        }
    }
}

impl From<bool> for Value {
    fn from(yes: bool) -> Value {
        Value::Bool(yes)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Number(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

/// The length of the identifier (letters, digits and `_`) at the beginning of `text`.
pub(super) fn word_length(text: &str) -> usize {
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
}

/// A whole number with an explicit base, `0x10` or `0o17`, and an optional sign.
pub(super) fn based_number(word: &str) -> Option<f64> {
    let digits = word.trim_start_matches(['-', '+']);
    let of = |prefix, base| u64::from_str_radix(digits.strip_prefix(prefix)?, base).ok();
    let size = of("0x", 16).or_else(|| of("0o", 8))? as f64;
    Some(if word.starts_with('-') { -size } else { size })
}

/// A number as Python and YAML read it: `-1.5`, `5e8`, `1_000_000`, `.5`, `5.`; not `1__0`, `_1`, `nan`, `inf`.
pub(super) fn number(word: &str) -> Option<f64> {
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    let starts = digits.strip_prefix('.').unwrap_or(digits).starts_with(|c: char| c.is_ascii_digit());
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-_".contains(&byte));
    if !starts || !plain {
        return None;
    }
    let bytes = digits.as_bytes();
    let between_digits = |at: usize| {
        let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
        digit(at.checked_sub(1)) && digit(at.checked_add(1))
    };
    if digits.match_indices('_').any(|(at, _)| !between_digits(at)) {
        return None;
    }
    word.replace('_', "").parse().ok().filter(|number: &f64| number.is_finite())
}

/// The shortest text that reads back as `number`: whole numbers without a point, tiny and huge ones with an exponent.
pub(super) fn plain(number: f64) -> String {
    let size = number.abs();
    match () {
        () if number == 0.0 => "0".to_owned(),
        () if number.fract() == 0.0 && size < 1e16 => format!("{number:.0}"),
        () if !(1e-4..1e16).contains(&size) => format!("{number:e}"),
        () => number.to_string(),
    }
}

/// `number` in the style of `old`: with an exponent, grouped by `_`, or with a point.
pub(super) fn number_like(old: &str, number: f64) -> String {
    let written = match old.find(['e', 'E']) {
        Some(at) => with_exponent(old, at, number),
        None if old.contains('_') && number.fract() == 0.0 => grouped(&plain(number)),
        None if old.contains('.') && number.fract() == 0.0 && number.abs() < 1e16 => format!("{number:.1}"),
        None => plain(number),
    };
    let is_same = self::number(&written) == Some(number);
    if is_same { written } else { plain(number) }
}

/// Writes the exponent in the style of `old`: `2e8` like `5e8`, `2.0e-06` like `1.0e-05`, `2e+8` like `1e+9`.
fn with_exponent(old: &str, at: usize, number: f64) -> String {
    let (old_mantissa, letter, old_power) = (&old[..at], &old[at..=at], &old[at + 1..]);
    let written = format!("{number:e}");
    let Some((mantissa, power)) = written.split_once('e') else { return written };
    let point = if old_mantissa.contains('.') && !mantissa.contains('.') { ".0" } else { "" };
    let (sign, power) = match power.strip_prefix('-') {
        Some(power) => ("-", power),
        None if old_power.starts_with('+') => ("+", power),
        None => ("", power),
    };
    let old_power = old_power.trim_start_matches(['+', '-']);
    let width = if old_power.starts_with('0') { old_power.len() } else { 0 };
    format!("{mantissa}{point}{letter}{sign}{power:0>width$}")
}

fn grouped(whole: &str) -> String {
    let (sign, digits) = whole.split_at(whole.len() - whole.trim_start_matches('-').len());
    let first = digits.len() % 3;
    let groups: Vec<&str> = std::iter::once(&digits[..first])
        .filter(|group| !group.is_empty())
        .chain((first..digits.len()).step_by(3).map(|at| &digits[at..(at + 3).min(digits.len())]))
        .collect();
    format!("{sign}{}", groups.join("_"))
}

/// `word` in the letter case of `old`: `True` for `False`, `TRUE` for `FALSE`.
pub(super) fn in_case_of(old: &str, word: &str) -> String {
    let mut letters = old.chars();
    match (letters.next().is_some_and(char::is_uppercase), letters.next().is_some_and(char::is_uppercase)) {
        (true, true) => word.to_uppercase(),
        (true, false) => word[..1].to_uppercase() + &word[1..],
        _ => word.to_owned(),
    }
}

/// The dictionary of Python for what a command line writes as JSON (`{"image": 1}`) or as pairs (`image=1,video=0`).
pub(crate) fn python_dictionary(text: &str) -> Option<String> {
    if text.starts_with('{') && !["true", "false", "null"].iter().any(|word| text.contains(word)) {
        return Some(text.to_owned());
    }
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
    };
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        (is_name(name) && number(value).is_some()).then(|| format!("\"{name}\": {value}"))
    };
    let pairs: Option<Vec<String>> = text.split(',').map(pair).collect();
    Some(format!("{{{}}}", pairs?.join(", ")))
}

/// Whether `text` is code of Python, whatever it is a value of: a function without a name, a number of the environment, what a module
/// has, or a dictionary with one of these.
pub fn is_function(text: &str) -> bool {
    text.starts_with("lambda ") || module_of(text).is_some() || only_entry(text).is_some()
}

/// The module that `text`, a number of the environment or what a module has, takes to be imported: `int(os.environ["LOCAL_RANK"])`,
/// `torch.float16`.
pub(super) fn module_of(text: &str) -> Option<&'static str> {
    if text.strip_prefix("int(os.environ[").is_some_and(|rest| rest.ends_with("])")) {
        return Some("os");
    }
    if let Some(module) = OBJECTS.iter().find(|module| makes_object_of(text, module)) {
        return Some(module);
    }
    let is_code = |byte: u8| byte.is_ascii_alphanumeric() || b"_.(), =".contains(&byte);
    text.strip_prefix("torch.").filter(|rest| !rest.is_empty() && rest.bytes().all(is_code)).map(|_| "torch")
}

/// The name and the value of a dictionary of one entry whose value is code: `{"": int(os.environ["LOCAL_RANK"])}`.
pub(super) fn only_entry(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.strip_prefix("{\"")?.strip_suffix('}')?.split_once("\": ")?;
    (!name.contains('"') && module_of(value).is_some()).then_some((name, value))
}

/// Modules of which an argument may be an object that the code makes on the spot.
const OBJECTS: [&str; 2] = ["diffusers.quantizers", "peft"];

/// Whether `text` calls a class of `module`: `diffusers.quantizers.PipelineQuantizationConfig(…)`.
fn makes_object_of(text: &str, module: &str) -> bool {
    let class = text.strip_prefix(module).and_then(|rest| rest.strip_prefix('.')).and_then(|rest| rest.split_once('('));
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    class.is_some_and(|(name, rest)| is_name(name) && rest.ends_with(')') && !rest.contains('\n'))
}

/// Whether `words` are a list or an object of JSON.
pub(crate) fn is_collection(words: &str) -> bool {
    words.starts_with(['{', '[']) && serde_json::from_str::<serde_json::Value>(words).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_module_has_is_code_and_a_name_like_it_is_none() {
        assert_eq!(module_of("torch.float16"), Some("torch"));
        assert_eq!(module_of("int(os.environ[\"LOCAL_RANK\"])"), Some("os"));
        let object = "diffusers.quantizers.PipelineQuantizationConfig(quant_kwargs={\"load_in_4bit\": True})";
        assert_eq!(module_of(object), Some("diffusers.quantizers"));
        assert_eq!(module_of("diffusers.quantizers"), None);
        for text in ["float16", "torch.", "torchrun", "pytorch.bin", "torch.save('a')"] {
            assert_eq!(module_of(text), None, "{text}");
        }
    }

    #[test]
    fn pairs_of_a_command_line_are_a_dictionary_in_python() {
        assert_eq!(python_dictionary("image=1,video=0").as_deref(), Some("{\"image\": 1, \"video\": 0}"));
        assert_eq!(python_dictionary("{\"max_pixels\": 1003520}").as_deref(), Some("{\"max_pixels\": 1003520}"));
        for text in ["fp8", "a=b", "model/x=1", "{\"enabled\": true}", ""] {
            assert_eq!(python_dictionary(text), None, "{text}");
        }
    }

    #[test]
    fn reads_numbers_as_people_write_them() {
        for (word, expected) in
            [("5e8", 5e8), ("1_000_000", 1e6), ("-3", -3.0), (".5", 0.5), ("5.", 5.0), ("1.0e-05", 1e-5), ("+4", 4.0)]
        {
            assert_eq!(number(word), Some(expected), "{word}");
        }
        for word in ["", "-", "_1", "1_", "1__0", "nan", "inf", "1e999", "e5", "1-2", "64G", "0x10", "1.2.3", "1e"] {
            assert_eq!(number(word), None, "{word}");
        }
    }

    #[test]
    fn writes_numbers_in_the_style_of_the_old_one() {
        for (old, new, expected) in [
            ("5e8", 2e8, "2e8"),
            ("5e8", 2.5e8, "2.5e8"),
            ("1.0e-05", 2e-6, "2.0e-06"),
            ("1E+9", 5e8, "5E+8"),
            ("1e-6", 0.5, "5e-1"),
            ("1_000_000", 50_000.0, "50_000"),
            ("1_000_000", -1234.0, "-1_234"),
            ("1_000", 7.0, "7"),
            ("1.0", 2.0, "2.0"),
            ("0.95", 0.9, "0.9"),
            ("128", 64.0, "64"),
            ("128", 0.5, "0.5"),
            ("auto", 5e8, "500000000"),
            ("auto", 1e-6, "1e-6"),
            ("auto", 1e300, "1e300"),
        ] {
            assert_eq!(number_like(old, new), expected, "{old} -> {new}");
        }
    }

    #[test]
    fn keeps_the_case_of_truth() {
        assert_eq!(in_case_of("True", "false"), "False");
        assert_eq!(in_case_of("FALSE", "true"), "TRUE");
        assert_eq!(in_case_of("no", "yes"), "yes");
    }
}
