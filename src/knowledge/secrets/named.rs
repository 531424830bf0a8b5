//! Patterns for the ways in which people, programs and formats write a name and its value.

/// A value: a list, quoted text, or everything up to a blank, a delimiter or a mask.
const VALUE: &str = r#"\[[^\]\r\n]*\]|[rbuf]{0,2}"(?:[^"\\\r\n]|\\.)*"?|[rbuf]{0,2}'(?:[^'\\\r\n]|\\.)*'?|`[^`\r\n]*`?|(?u-i:[^\s"'`,;&<>‹\[][^\s"'`,;&<>‹]*)"#;
/// A value after an option, which may not begin with a hyphen: that is the next option.
const AFTER_OPTION: &str = r#""(?:[^"\\\r\n]|\\.)*"?|'(?:[^'\\\r\n]|\\.)*'?|(?u-i:[^\s"'`,;&<>‹|\-][^\s"'`,;&<>‹]*)"#;
/// A quoted value.
const QUOTED: &str = r#""(?:[^"\\\r\n]|\\.)*"?|'(?:[^'\\\r\n]|\\.)*'?"#;
/// What may precede the words of a name.
const BEFORE: &str = r"[a-z0-9_.\-]*";

/// A regular expression that finds a value after one of `names`.
pub(super) fn pattern(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| spelled(name)).collect();
    let name = format!("{BEFORE}(?:{})", names.join("|"));
    // `name=`, `"name": `, `name => `, `['name'] = `, `name: str = `, YAML's `name: >-` with the value below.
    let annotated = r":[ \t]*(?:optional\[)?(?:str|string|bytes|secretstr)\]?(?:[ \t]*\|[ \t]*none)?[ \t]*=";
    let block = r"(?:[|>][\-+]?[ \t]*\r?\n[+\- ]?[ \t]+)?";
    let assigned =
        format!(r#"["'`)\]]{{0,3}}[ \t]*(?:{annotated}|:=|=>|->|={{1,3}}|:{{1,2}})[ \t]*{block}(?P<secret>{VALUE})"#);
    // `("name", "value")`, `name("value")`.
    let paired = format!(r#"(?:["'][ \t]*,[ \t]*|\([ \t]*)[rbuf]{{0,2}}(?P<secret_paired>{QUOTED})"#);
    // Kubernetes: `- name: NAME` and `value: …` below, or both in JSON.
    let listed = format!(r#"["']?[\s,:{{+\-]*["']?value["']?[ \t]*[:=][ \t]*(?P<secret_listed>{VALUE})"#);
    // `--name value`, a Dockerfile's `ENV NAME value`.
    let option = format!(r"(?:--?|\b(?:env|setenv)[ \t]+){name}[ \t\x0b\\]+(?P<secret_option>{AFTER_OPTION})");
    let tagged = format!(r"<{name}[^<>\r\n]{{0,80}}>(?P<secret_tagged>[^<>\r\n]+)</");
    format!("(?i)(?:{name}(?:{assigned}|{paired}|{listed})|{option}|{tagged})")
}

/// Literals of which one occurs in every match of [`pattern`]: the longest word of each name, which is rarer than `id` or `data`, unless
/// another name's literal is part of it.
pub(super) fn triggers(names: &[String]) -> Vec<String> {
    let mut triggers: Vec<String> = Vec::new();
    for name in names.iter().map(|name| name.to_lowercase()) {
        let is_covered = name.split('_').any(|word| triggers.iter().any(|trigger| word.contains(trigger)));
        if !is_covered {
            triggers.extend(name.split('_').max_by_key(|word| word.len()).map(str::to_owned));
        }
    }
    triggers
}

/// `api_key` as people write it: `apiKey`, `API-KEY`, `api.key`.
fn spelled(name: &str) -> String {
    let words = regex::escape(name).replace('_', r"[_\-. ]?");
    let is_in_capitals = name.chars().any(char::is_uppercase) && !name.chars().any(char::is_lowercase);
    if is_in_capitals { format!("(?-i:{words})") } else { words }
}
