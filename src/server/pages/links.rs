//! Queries and addresses: adds a clause to a query or removes it, and encodes a query into a link.

use std::fmt::Write;

/// `field:value` as a clause of a query.
pub(super) fn clause(field: &str, value: &str) -> String {
    // A quoted value cannot contain a quotation mark, so search for the longest part without one.
    let value = value.split('"').max_by_key(|part| part.len()).unwrap_or_default();
    match value.contains(char::is_whitespace) || value.is_empty() {
        true => format!("{field}:\"{value}\""),
        false => format!("{field}:{value}"),
    }
}

/// Whether `query` contains the clause.
pub(super) fn contains_clause(query: &str, clause: &str) -> bool {
    place(query, clause).is_some()
}

/// `query` with the clause added, or removed if it was there.
pub(super) fn toggle_clause(query: &str, clause: &str) -> String {
    match place(query, clause) {
        Some(at) => {
            let rest = [query[..at].trim_end(), query[at + clause.len()..].trim_start()];
            rest.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
        }
        None if query.trim().is_empty() => clause.to_owned(),
        None => format!("{} {clause}", query.trim_end()),
    }
}

/// The offset of the clause, if it stands there as a whole word and only a blank joins it to others.
fn place(query: &str, clause: &str) -> Option<usize> {
    let is_blank = |sign: Option<char>| sign.is_none_or(char::is_whitespace);
    let stands_alone = |at: &usize| {
        let (before, after) = (&query[..*at], &query[at + clause.len()..]);
        let count = |sign: char| before.matches(sign).count();
        count('(') == count(')')
            && count('"') % 2 == 0
            && is_blank(before.chars().next_back())
            && is_blank(after.chars().next())
            && !matches!(before.split_whitespace().next_back(), Some("AND" | "OR" | "NOT"))
            && !matches!(after.split_whitespace().next(), Some("AND" | "OR"))
    };
    query.match_indices(clause).map(|(at, _)| at).find(stands_alone)
}

/// `path?name=value&…`; parameters with empty values are left out.
pub(super) fn address(path: &str, parameters: &[(&str, &str)]) -> String {
    let mut address = path.to_owned();
    for (name, value) in parameters.iter().filter(|(_, value)| !value.is_empty()) {
        address.push(if address.contains('?') { '&' } else { '?' });
        let _ = write!(address, "{name}={}", encoded(value));
    }
    address
}

/// `value` percent-encoded for a query string.
pub(super) fn encoded(value: &str) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b':' | b'/' => text.push(byte.into()),
            b' ' => text.push('+'),
            _ => drop(write!(text, "%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clause_is_added_once_and_taken_away_again() {
        let kind = clause("kind", "gpu_oom");
        let model = clause("model", "Qwen 2.5");
        assert_eq!((kind.as_str(), model.as_str()), ("kind:gpu_oom", "model:\"Qwen 2.5\""));
        let both = toggle_clause(&toggle_clause("  ", &kind), &model);
        assert_eq!(both, "kind:gpu_oom model:\"Qwen 2.5\"");
        assert_eq!(toggle_clause(&both, &kind), model);
        assert_eq!(toggle_clause(&both, &model), kind);
        assert!(!contains_clause("-kind:gpu_oom kind:gpu_oom_x", &kind));
    }

    #[test]
    fn a_clause_is_not_torn_out_of_an_alternative() {
        let kind = clause("kind", "gpu_oom");
        for query in [
            "kind:gpu_oom OR kind:none",
            "is:open AND kind:gpu_oom",
            "NOT kind:gpu_oom",
            "(kind:gpu_oom OR job:a)",
            "(NOT kind:gpu_oom is:open) OR phase:setup",
            "-(job:a kind:gpu_oom is:open)",
            "\"job:a kind:gpu_oom b\"",
        ] {
            assert_eq!(toggle_clause(query, &kind), format!("{query} kind:gpu_oom"));
            assert_eq!(toggle_clause(&toggle_clause(query, &kind), &kind), query);
        }
    }

    #[test]
    fn clauses_are_read_as_what_they_name() {
        for value in ["a", "a b", "a\"b", "\"a b\"", "显存 不足", "a:b"] {
            assert!(clause("model", value).parse::<crate::history::Query>().is_ok(), "{value}");
        }
    }

    #[test]
    fn addresses_are_of_safe_signs_only() {
        assert_eq!(address("/", &[("q", "a b&c=\"<显>"), ("order", "")]), "/?q=a+b%26c%3D%22%3C%E6%98%BE%3E");
    }
}
