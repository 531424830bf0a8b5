//! The bot's part of `[serve]` in `oomdoc.toml`. A secret is never written there, only where it is to be found.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::secret::SecretSource;

/// The forges that the bot listens to, and the chats that it writes to.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BotConfig {
    /// Webhooks of GitHub.
    pub github: Option<GitHubConfig>,
    /// Webhooks of GitLab.
    pub gitlab: Option<GitLabConfig>,
    /// Chats and mailboxes that are told of failures.
    #[serde(rename = "channel")]
    pub channels: Vec<Channel>,
    /// Also comments on failures other than memory running out.
    pub other_failures: bool,
    /// The name by which it is addressed in comments, without the `@`.
    pub name: Name,
    /// The longest log that is read whole, in MiB.
    #[serde(deserialize_with = "positive")]
    pub longest_log: u64,
}

/// The name by which the bot is addressed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct Name(#[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"))] String);

/// `[serve.github]`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GitHubConfig {
    /// The webhook's secrets; several while one is being replaced by another.
    pub secrets: Vec<SecretSource>,
    /// How the bot logs in.
    pub login: GitHubLogin,
    /// The address of the REST interface.
    #[serde(default = "github_api")]
    pub api: String,
}

/// How the bot logs in to GitHub.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum GitHubLogin {
    /// A personal access token.
    Token(SecretSource),
    /// A GitHub App, which can also write checks.
    App {
        /// The app's number, or its client id.
        id: String,
        /// The app's private key (PEM).
        key: SecretSource,
    },
}

/// `[serve.gitlab]`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GitLabConfig {
    /// The webhook's secret tokens; several while one is being replaced by another.
    pub secrets: Vec<SecretSource>,
    /// The access token by which it reads logs and writes notes: scope `api`.
    pub token: SecretSource,
    /// The address of the REST interface.
    #[serde(default = "gitlab_api")]
    pub api: String,
    /// A file of certificate authorities to trust besides the system's.
    pub authorities: Option<PathBuf>,
}

/// A row of `[[serve.channel]]`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// The channel's name.
    pub name: String,
    /// Where its messages go.
    pub to: Destination,
    /// Hours in which the same trouble is reported only once.
    #[serde(default = "a_day")]
    pub quiet_hours: u32,
    /// Report only failures of these projects (`owner/name`); all by default.
    #[serde(default)]
    pub projects: Vec<String>,
}

/// Where the messages of a channel go.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Destination {
    /// An incoming webhook of Slack.
    Slack {
        /// Its address, which is a secret.
        address: SecretSource,
    },
    /// A custom bot of Feishu or Lark.
    Feishu {
        /// Its address.
        address: SecretSource,
        /// What messages are signed with, where the bot asks for it.
        secret: Option<SecretSource>,
    },
    /// A custom bot of DingTalk.
    Dingtalk {
        /// Its address.
        address: SecretSource,
        /// What messages are signed with, where the bot asks for it.
        secret: Option<SecretSource>,
    },
    /// A group bot of WeCom.
    Wecom {
        /// Its address.
        address: SecretSource,
    },
    /// E-mail.
    Email(Box<Mailbox>),
}

/// Where mail goes, and how.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mailbox {
    /// The mail server.
    pub server: String,
    /// Its port; by default 465, 587 or 25, as `security` says.
    pub port: Option<u16>,
    /// How the connection is encrypted.
    #[serde(default)]
    pub security: MailSecurity,
    /// The user to log in as; absent for no login.
    pub user: Option<String>,
    /// The user's password.
    pub password: Option<SecretSource>,
    /// The sender: `oomdoc <oomdoc@example.com>`.
    pub from: String,
    /// The recipients.
    pub to: Vec<String>,
}

/// How the connection to a mail server is encrypted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MailSecurity {
    /// TLS from the first byte.
    #[default]
    Tls,
    /// STARTTLS, which the server must support.
    Starttls,
    /// Not at all: for a server on this machine.
    None,
}

impl Channel {
    /// For how long the same trouble is reported only once.
    pub fn quiet(&self) -> Duration {
        Duration::from_secs(u64::from(self.quiet_hours) * 3600)
    }

    /// Whether the channel reports failures of `project`.
    pub fn hears_of(&self, project: &str) -> bool {
        self.projects.is_empty() || self.projects.iter().any(|known| known == project)
    }
}

impl Name {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Name {
    fn default() -> Name {
        Name("oomdoc".to_owned())
    }
}

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(word: String) -> Result<Name, String> {
        let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        match word.starts_with(|c: char| c.is_ascii_alphanumeric()) && word.chars().all(is_inner) {
            true => Ok(Name(word)),
            false => Err("a name is letters, digits, `-` and `_`, without the `@`".to_owned()),
        }
    }
}

impl Default for BotConfig {
    fn default() -> BotConfig {
        BotConfig {
            github: None,
            gitlab: None,
            channels: Vec::new(),
            other_failures: false,
            name: Name::default(),
            longest_log: 4096,
        }
    }
}

fn github_api() -> String {
    "https://api.github.com".to_owned()
}

fn gitlab_api() -> String {
    "https://gitlab.com/api/v4".to_owned()
}

fn a_day() -> u32 {
    24
}

fn positive<'d, D: Deserializer<'d>>(deserializer: D) -> Result<u64, D::Error> {
    match u64::deserialize(deserializer)? {
        0 => Err(serde::de::Error::custom("`longest_log` is a number of MiB, at least 1")),
        mebibytes => Ok(mebibytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = r#"
        name = "doctor"
        other_failures = true

        [github]
        secrets = [{ file = "/etc/oomdoc/new" }, { env = "OOMDOC_OLD" }]
        login.app = { id = "1234", key = { file = "/etc/oomdoc/app.pem" } }

        [gitlab]
        secrets = [{ env = "HOOK" }]
        token.file = "/etc/oomdoc/gitlab"
        api = "https://git.example/api/v4"

        [[channel]]
        name = "training"
        to.feishu = { address = { env = "FEISHU" }, secret = { file = "s" } }
        quiet_hours = 6
        projects = ["me/it"]

        [[channel]]
        name = "mail"
        to.email = { server = "mx", from = "oomdoc <o@example.com>", to = ["ops@example.com"], security = "starttls" }
    "#;

    #[test]
    fn what_is_written_is_read_and_what_is_misspelled_is_not() -> Result<(), toml::de::Error> {
        let config: BotConfig = toml::from_str(WRITTEN)?;
        assert_eq!((config.name.as_str(), config.channels.len(), config.longest_log), ("doctor", 2, 4096));
        assert_eq!(config.channels[0].quiet(), Duration::from_secs(6 * 3600));
        assert!(config.channels[0].hears_of("me/it") && !config.channels[0].hears_of("you/it"));
        assert!(config.github.is_some_and(|github| github.api == "https://api.github.com"));
        let wrong = [
            "nmae = \"x\"",
            "name = \"@x\"",
            "longest_log = 0",
            "[gitlab]\nsecrets = [\"literal\"]\ntoken.env = \"T\"",
        ];
        for wrong in wrong {
            assert!(toml::from_str::<BotConfig>(wrong).is_err(), "{wrong}");
        }
        Ok(())
    }
}
