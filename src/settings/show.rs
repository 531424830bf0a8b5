//! The effective settings for display.

use serde_json::{Value as Json, json};

use super::host::HostFacts;
use super::ignore::Ignore;
use super::merge::Settings;
use super::origin::{Origin, Setting};
use super::serve::ServeTable;
use crate::facts::{Facts, Value};

/// A value for display, with its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownSetting {
    /// Its key.
    pub key: &'static str,
    /// For people.
    pub words: String,
    /// For programs.
    pub value: Json,
    /// Where it was set.
    pub origin: Origin,
}

impl Settings {
    /// All settings in the order of the keys, one entry per row of a list. `home` is the default folder. Addresses are
    /// shortened to their server, because the rest allows writing there.
    pub fn shown(&self, home: Option<String>) -> Vec<ShownSetting> {
        let mut all = vec![word("language", &self.language, self.language.value.to_string())];
        match &self.home {
            Some(home) => all.push(word("home", home, home.value.to_string_lossy().into_owned())),
            None => all.push(word("home", &Setting::default_of(()), home.unwrap_or_default())),
        }
        all.push(word("color", &self.color, self.color.value.as_str().to_owned()));
        let mut row = |key, words: String, value: Json, place: &super::FileLine| {
            all.push(ShownSetting { key, words, value, origin: Origin::File(place.clone()) });
        };
        for path in &self.rules {
            let words = path.value.to_string_lossy().into_owned();
            row("rules", words.clone(), json!(words), &path.place);
        }
        for pattern in &self.never_read {
            row("never_read", pattern.value.written.clone(), json!(pattern.value.written), &pattern.place);
        }
        for secret in &self.redaction {
            row("redaction", format!("‹{}›", secret.value.name), json!({ "name": secret.value.name }), &secret.place);
        }
        for host in &self.hosts {
            row("hosts", host_words(&host.value), host_json(&host.value), &host.place);
        }
        let policy: Vec<&str> = self.fail_on.value.iter().map(|fail_on| fail_on.as_str()).collect();
        let fail_on = ShownSetting { value: json!(policy), ..word("triage.fail_on", &self.fail_on, policy.join(", ")) };
        let notify = self.notify.as_ref().map(|address| word("triage.notify", address, server(&address.value)));
        let server = self.server.as_ref().map(|url| word("server.url", url, server(&url.value)));
        let path = |path: &Setting<std::path::PathBuf>| path.value.to_string_lossy().into_owned();
        let token = self.server_token.as_ref().map(|token| word("server.token_file", token, path(token)));
        let listen =
            |serve: &Setting<ServeTable>| serve.value.listen.map_or("set".to_owned(), |listen| listen.to_string());
        let serve = self.serve.as_ref().map(|serve| word("serve", serve, listen(serve)));
        all.extend([Some(fail_on), notify, server, token, serve].into_iter().flatten());
        for ignore in &self.ignore {
            let (words, value) = (ignore_words(&ignore.value), ignore_json(&ignore.value));
            all.push(ShownSetting { key: "ignore", words, value, origin: Origin::File(ignore.place.clone()) });
        }
        all
    }
}

fn word<T>(key: &'static str, held: &Setting<T>, words: String) -> ShownSetting {
    ShownSetting { key, value: json!(words), words, origin: held.origin.clone() }
}

/// `https://hooks.example.org/…`
fn server(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return "…".to_owned() };
    let (server, path) = rest.split_once('/').unwrap_or((rest, ""));
    // The part before `@` may contain a password.
    let server = server.rsplit('@').next().unwrap_or(server);
    format!("{scheme}://{server}{}", if path.is_empty() { "" } else { "/…" })
}

fn host_words(host: &HostFacts) -> String {
    let mut facts = Facts::default();
    host.facts.iter().for_each(|(name, value)| facts.say(name, value.clone()));
    let facts: Vec<String> = facts.iter().map(|(name, known)| format!("{name}={}", known.shown)).collect();
    format!("{}: {}", host.name, facts.join(", "))
}

fn host_json(host: &HostFacts) -> Json {
    let facts: serde_json::Map<String, Json> =
        host.facts.iter().map(|(name, value)| (name.clone(), fact_json(value))).collect();
    json!({ "name": host.name, "facts": facts })
}

fn fact_json(value: &Value) -> Json {
    match value {
        Value::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => json!(*number as i64),
        Value::Number(number) => json!(number),
        Value::Text(words) => json!(words),
        Value::Flag(flag) => json!(flag),
        Value::List(items) => items.iter().map(fact_json).collect(),
    }
}

fn ignore_words(ignore: &Ignore) -> String {
    let until = ignore.until.map(|until| format!(" until {until}")).unwrap_or_default();
    format!("{}{until}: {}", ignore.conditions(), ignore.reason)
}

fn ignore_json(ignore: &Ignore) -> Json {
    json!({
        "fingerprint": ignore.fingerprint,
        "cause": ignore.cause,
        "kind": ignore.kind,
        "path": ignore.path.as_ref().map(|path| &path.written),
        "until": ignore.until.map(|until| until.to_string()),
        "reason": ignore.reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_can_write_where_messages_go() {
        for (address, shown) in [
            ("https://hooks.slack.com/services/T0/B0/secret", "https://hooks.slack.com/…"),
            ("https://user:secret@example.org", "https://example.org"),
            ("http://10.0.0.1:8080/", "http://10.0.0.1:8080"),
            ("secret", "…"),
        ] {
            assert_eq!(server(address), shown);
        }
    }
}
