//! Options within a library's variable: `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,roundup_power2_divisions:[256:1,>:8]`,
//! `THEANO_FLAGS=device=gpu,lib.cnmem=0.8`.

use std::ops::Range;

use crate::knowledge::{Launchers, is_among};

/// What stands between an option and its value in the variable `name`; `None` if that holds one value rather than options.
pub(super) fn separator(name: &str) -> Option<char> {
    match is_among(&Launchers::shipped().programs.setting_variables, name) {
        true => Some('='),
        false => name.ends_with("_ALLOC_CONF").then_some(':'),
    }
}

/// One option, with spans in the variable's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AllocatorOption<'a> {
    pub name: &'a str,
    pub value: Range<usize>,
    /// The bytes of name and value.
    pub all: Range<usize>,
}

/// The options in `value`, with `separator` before the value of each. Commas inside brackets do not separate options.
pub(super) fn options(value: &str, separator: char) -> Vec<AllocatorOption<'_>> {
    let (mut options, mut start, mut depth) = (Vec::new(), 0, 0usize);
    for (at, byte) in value.bytes().chain([b',']).enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 || at == value.len() => {
                let option = &value[start..at];
                if let Some(at_value) = option.find(separator) {
                    let name = option[..at_value].trim();
                    options.push(AllocatorOption { name, value: start + at_value + 1..at, all: start..at });
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_brackets_separate_nothing() {
        let value = "expandable_segments:True,roundup_power2_divisions:[256:1,>:8],x";
        let read: Vec<_> = options(value, ':').into_iter().map(|option| (option.name, &value[option.value])).collect();
        assert_eq!(read, [("expandable_segments", "True"), ("roundup_power2_divisions", "[256:1,>:8]")]);
        assert_eq!(options("", ':'), []);
    }
}
