//! A template for a new rule: commented, complete, and already passing its checks.

use thiserror::Error;

use super::names::is_word;

const CAUSE: &str = include_str!("skeleton/cause.toml");
const MESSAGE: &str = include_str!("skeleton/message.toml");
/// The placeholder for the rule's name in both templates.
const PLACEHOLDER: &str = "NAME";

/// A name that no rule can have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no good name")]
pub struct BadName(pub String);

/// The files of a new rule, by their paths below a folder of rules: the rule of a cause, and the message of the user's
/// own program that reveals it.
pub fn skeleton(name: &str) -> Result<[(String, String); 2], BadName> {
    if !is_word(name) {
        return Err(BadName(name.to_owned()));
    }
    let file = |folder: &str, text: &str| (format!("{folder}/{name}.toml"), text.replace(PLACEHOLDER, name));
    Ok([file("causes", CAUSE), file("messages", MESSAGE)])
}
