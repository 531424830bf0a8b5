/// How a configuration is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// JSON with what hjson allows beside it.
    Json,
    /// YAML.
    Yaml,
}

impl Format {
    /// The format of `text`, by its first words: nobody names a configuration as we would.
    pub fn of(text: &str) -> Format {
        let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
        let comment = |line: &&str| line.is_empty() || line.starts_with('#') || line.starts_with("//");
        match lines.find(|line| !comment(line)) {
            Some(line) if line.starts_with(['{', '[']) || line.starts_with("/*") => Format::Json,
            _ => Format::Yaml,
        }
    }
}
