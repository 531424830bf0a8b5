use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use super::file::File;
use super::language::{Language, Words};
use super::read;
use crate::model::Phase;

/// `rules/snapshot.toml`: the purpose of memory, by the stack that allocated it. Users cannot change it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotRules {
    /// The purposes of memory.
    pub category: Vec<Category>,
    /// Calls that tell the purpose, the most telling first.
    frame: Vec<CategoryFrame>,
    /// The category of a phase, used if no call tells one.
    phase: BTreeMap<Phase, Arc<str>>,
    /// The words for memory that no row knows.
    unknown: Words,
    /// Stacks and their categories, innermost call first.
    #[serde(default)]
    pub example: Vec<StackExample>,
    /// Stacks and categories that they must not have.
    #[serde(default)]
    pub near_miss: Vec<StackExample>,
}

/// A purpose of memory.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Category {
    /// Its name in reports and facts.
    pub name: Arc<str>,
    /// In words.
    pub words: Words,
}

/// A call that tells the purpose of memory allocated beneath it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CategoryFrame {
    category: Arc<str>,
    /// Parts of the source file's path, beginning at a folder's border, one of which must match; absent: any file.
    #[serde(default)]
    file: Vec<String>,
    /// Functions, one of which must match; absent: any function of the file.
    #[serde(default)]
    functions: Vec<String>,
    /// Parts of the name of a C++ function, one of which must match.
    #[serde(default)]
    symbols: Vec<String>,
}

/// A stack and a category.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackExample {
    /// The category that it has, or must not have.
    pub category: Arc<str>,
    /// `file:function`, innermost first.
    pub stack: Vec<String>,
}

impl StackExample {
    /// The name of the category that `rules` find in it.
    pub fn found(&self, rules: &SnapshotRules) -> Arc<str> {
        let calls = self.stack.iter().filter_map(|call| call.split_once(':'));
        let row = calls.filter_map(|(file, function)| rules.row(file, function)).min();
        rules.name(row.map_or(rules.unknown(), |row| rules.category_of_row(row)))
    }
}

static SHIPPED: LazyLock<SnapshotRules> = LazyLock::new(|| read::snapshot(&File::shipped()).unwrap_or_default());

impl SnapshotRules {
    /// The name of the category of memory that no row knows.
    pub const UNKNOWN: &str = "unknown";

    /// The rules in the binary.
    pub fn shipped() -> &'static SnapshotRules {
        &SHIPPED
    }

    /// Checks that every category exists and that no row matches every call.
    pub(super) fn checked(self) -> Result<SnapshotRules, String> {
        let is_known = |name: &Arc<str>| self.category.iter().any(|category| category.name == *name);
        let named = self.frame.iter().map(|row| &row.category).chain(self.phase.values());
        if let Some(name) = named.into_iter().find(|name| !is_known(name)) {
            return Err(format!("no [[category]] is called `{name}`"));
        }
        let asks = |row: &CategoryFrame| !(row.file.is_empty() && row.functions.is_empty() && row.symbols.is_empty());
        match self.frame.iter().find(|row| !asks(row)) {
            Some(row) => {
                Err(format!("a frame of `{}` fits every call; give it `file`, `functions` or `symbols`", row.category))
            }
            None => Ok(self),
        }
    }

    /// The first row that a call fits.
    pub fn row(&self, file: &str, function: &str) -> Option<usize> {
        self.frame.iter().position(|row| row.fits(file, function))
    }

    /// Index of a row's category.
    pub fn category_of_row(&self, row: usize) -> usize {
        self.frame.get(row).map_or(self.unknown(), |row| self.number(&row.category))
    }

    /// Index of a phase's category.
    pub fn category_of_phase(&self, phase: Phase) -> usize {
        self.phase.get(&phase).map_or(self.unknown(), |name| self.number(name))
    }

    /// Index that stands for memory that no row knows.
    pub fn unknown(&self) -> usize {
        self.category.len()
    }

    fn number(&self, name: &str) -> usize {
        self.category.iter().position(|category| &*category.name == name).unwrap_or(self.unknown())
    }

    /// Name of the category with this index.
    pub fn name(&self, number: usize) -> Arc<str> {
        self.category.get(number).map_or_else(|| SnapshotRules::UNKNOWN.into(), |category| Arc::clone(&category.name))
    }

    /// The words of `language` for the category called `name`; `name` itself if it is unknown, as from another version.
    pub fn words<'n>(&'n self, name: &'n str, language: Language) -> &'n str {
        let category = self.category.iter().find(|category| &*category.name == name).map(|category| &category.words);
        let words = category.or((name == SnapshotRules::UNKNOWN).then_some(&self.unknown));
        words.map_or(name, |words| words.in_language(language))
    }
}

impl CategoryFrame {
    fn fits(&self, file: &str, function: &str) -> bool {
        let at_border = |part: &String| {
            file.match_indices(part.as_str()).any(|(start, _)| start == 0 || file.as_bytes()[start - 1] == b'/')
        };
        let plain = function.rsplit('.').next().unwrap_or(function);
        (self.file.is_empty() || self.file.iter().any(at_border))
            && (self.functions.is_empty() || self.functions.iter().any(|name| name == plain))
            && (self.symbols.is_empty()
                || !file.ends_with(".py") && self.symbols.iter().any(|symbol| function.contains(symbol.as_str())))
    }
}
