/// A key of `oomdoc.toml`, and the variable and flag that override it.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its name, including its table: `triage.notify`.
    pub name: &'static str,
    /// The variable that overrides files.
    pub variable: Option<&'static str>,
    /// The flag that overrides both.
    pub flag: Option<&'static str>,
    /// Which files may set it.
    pub setter: Setter,
}

/// Which files may set a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setter {
    /// Every file.
    Anybody,
    /// Only the user's own and one that the user named, as a project's may come from anybody. The text says what a
    /// project's file could do with it.
    User(&'static str),
}

/// All keys, in the order in which they are shown.
pub const KEYS: &[Key] = &[
    Key { name: "language", variable: Some("OOMDOC_LANG"), flag: Some("--lang"), setter: Setter::Anybody },
    Key {
        name: "home",
        variable: Some("OOMDOC_HOME"),
        flag: Some("--home"),
        setter: Setter::User("a repository could have oomdoc write outside of it"),
    },
    Key { name: "color", variable: Some("OOMDOC_COLOR"), flag: Some("--color"), setter: Setter::Anybody },
    Key { name: "rules", variable: None, flag: None, setter: Setter::Anybody },
    Key { name: "never_read", variable: None, flag: None, setter: Setter::Anybody },
    Key { name: "redaction", variable: None, flag: None, setter: Setter::Anybody },
    Key { name: "hosts", variable: None, flag: None, setter: Setter::Anybody },
    Key {
        name: "triage.fail_on",
        variable: Some("OOMDOC_TRIAGE_FAIL_ON"),
        flag: Some("--fail-on"),
        setter: Setter::Anybody,
    },
    Key {
        name: "triage.notify",
        variable: Some("OOMDOC_TRIAGE_NOTIFY"),
        flag: Some("--notify"),
        setter: Setter::User("a repository could have reports sent to whoever wrote it"),
    },
    Key {
        name: "server.url",
        variable: Some("OOMDOC_SERVER"),
        flag: Some("--server"),
        setter: Setter::User("a repository could have incidents sent to whoever wrote it"),
    },
    Key {
        name: "server.token_file",
        variable: Some("OOMDOC_SERVER_TOKEN_FILE"),
        flag: None,
        setter: Setter::User("a repository could have any file sent as a token"),
    },
    Key {
        name: "serve",
        variable: None,
        flag: None,
        setter: Setter::User("a repository could open this machine to others"),
    },
    Key { name: "ignore", variable: None, flag: None, setter: Setter::Anybody },
];

impl Key {
    /// The other ways to set the key, for a message.
    pub(super) fn other_ways(&self) -> String {
        let variable = self.variable.map(|name| format!("${name}"));
        variable.into_iter().chain(self.flag.map(str::to_owned)).map(|way| format!(", {way}")).collect()
    }
}
