use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

/// A release's number, ordered as Python orders it (PEP 440): `2.4` = `2.4.0` < `2.4.0.post1` < `2.10`.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct Version {
    release: Vec<u64>,
    stage: Stage,
    /// The number of the pre- or post-release.
    number: u64,
}

/// The suffix after the release's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Dev,
    Alpha,
    Beta,
    Candidate,
    Final,
    Post,
}

impl FromStr for Version {
    type Err = String;

    /// `0.10.1.post2`, `v2.4`, `2.6.0+cu124`, `0.11.0rc1`, `0.4.0.dev0`. What follows a `+` does not count.
    fn from_str(text: &str) -> Result<Version, String> {
        let wrong = || format!("`{text}` is no version");
        let plain = text.trim().trim_start_matches('v');
        let plain = plain.split_once('+').map_or(plain, |(version, _)| version);
        let digits = plain.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(plain.len());
        let (release, suffix) = plain.split_at(digits);
        let release: Option<Vec<u64>> =
            release.trim_end_matches('.').split('.').map(|part| part.parse::<u64>().ok()).collect();
        let letters = suffix.find(|c: char| c.is_ascii_digit()).unwrap_or(suffix.len());
        let (word, number) = suffix.split_at(letters);
        let stage = match word.trim_matches(['.', '-', '_']) {
            "" => Stage::Final,
            "dev" => Stage::Dev,
            "a" | "alpha" => Stage::Alpha,
            "b" | "beta" => Stage::Beta,
            "rc" | "c" => Stage::Candidate,
            "post" => Stage::Post,
            _ => return Err(wrong()),
        };
        let number = if number.is_empty() { 0 } else { number.parse().map_err(|_| wrong())? };
        Ok(Version { release: release.ok_or_else(wrong)?, stage, number })
    }
}

/// As Python writes it, without what followed a `+`: `0.10.1.post2`.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let release: Vec<String> = self.release.iter().map(u64::to_string).collect();
        let (release, number) = (release.join("."), self.number);
        match self.stage {
            Stage::Dev => write!(f, "{release}.dev{number}"),
            Stage::Alpha => write!(f, "{release}a{number}"),
            Stage::Beta => write!(f, "{release}b{number}"),
            Stage::Candidate => write!(f, "{release}rc{number}"),
            Stage::Final => write!(f, "{release}"),
            Stage::Post => write!(f, "{release}.post{number}"),
        }
    }
}

/// Whether `version` is newer than `other`, where both are versions.
pub fn is_newer(version: &str, other: &str) -> bool {
    let (version, other) = (version.parse::<Version>().ok(), other.parse::<Version>().ok());
    version.zip(other).is_some_and(|(version, other)| version > other)
}

impl TryFrom<String> for Version {
    type Error = String;

    fn try_from(text: String) -> Result<Version, String> {
        text.parse()
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Version) -> Ordering {
        let longest = self.release.len().max(other.release.len());
        let part = |version: &Version, place: usize| version.release.get(place).copied().unwrap_or(0);
        (0..longest)
            .map(|place| part(self, place).cmp(&part(other, place)))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
            .then_with(|| self.stage.cmp(&other.stage))
            .then_with(|| self.number.cmp(&other.number))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Version) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Version) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Version {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_as_python_does() -> Result<(), String> {
        let ascending = [
            "0.4.0.dev0",
            "0.4.0a1",
            "0.4.0b2",
            "0.4.0rc1",
            "v0.4.0",
            "0.4.0.post1",
            "0.4.0.post12",
            "0.4.1",
            "0.10",
            "0.10.1",
            "0.10.1.post2",
            "0.10.2",
            "2.4.1+cu121",
            "2.15.0",
        ];
        for pair in ascending.windows(2) {
            assert!(pair[0].parse::<Version>()? < pair[1].parse::<Version>()?, "{} < {}", pair[0], pair[1]);
        }
        assert_eq!("2.4".parse::<Version>()?, "2.4.0".parse::<Version>()?);
        assert_eq!("2.6.0+cu124".parse::<Version>()?, "v2.6".parse::<Version>()?);
        Ok(())
    }

    #[test]
    fn is_written_as_it_was_read() -> Result<(), String> {
        for text in ["0.4.0.dev0", "0.4.0a1", "0.4.0b2", "0.4.0rc1", "2.8.0.post1", "0.10", "4.52.1"] {
            assert_eq!(text.parse::<Version>()?.to_string(), text);
        }
        Ok(())
    }

    #[test]
    fn says_what_is_no_version() {
        for text in ["", "main", "0.4.x", "1..2", "0.4.0post1post2"] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }
}
