//! Finds the settings of the configurations that belong to a knob or to a dialect's key.

use std::collections::HashMap;
use std::sync::Arc;

use super::leaf::Leaves;
use super::part::{self, Failed, Part};
use crate::config::{Command, Document, Entry, EntryKind, Format};
use crate::knowledge::{Knob, Knobs, Target, Type, is_end, is_named, last_step};

/// A knob as a configuration sets it.
#[derive(Clone, Copy)]
pub struct Setting<'l> {
    /// The document that sets it.
    pub document: &'l Document,
    /// The setting in that document.
    pub entry: &'l Entry,
}

impl Setting<'_> {
    /// Whether it is in one of the user's own files rather than in what the job printed.
    pub fn is_own(&self) -> bool {
        self.document.format() != Format::Log
    }
}

/// The positions of settings, as indices of document and entry, by the last step of their names.
pub(super) struct SettingIndex {
    places: HashMap<String, Vec<(usize, usize)>>,
    /// For each document, the command with the most settings, which is taken to be the job.
    main: Vec<Option<usize>>,
    /// For each document, the part that counts, if it starts several.
    parts: Vec<Option<Part>>,
    /// What generic knobs find under names of the user's own.
    leaves: Leaves,
}

/// A setting's name as a dialect spells it.
#[derive(Clone, Copy)]
struct Key<'k> {
    recipient: Recipient<'k>,
    name: &'k str,
}

/// The recipient of a setting.
#[derive(Clone, Copy)]
enum Recipient<'k> {
    /// The job, on its command line or in a file.
    Job,
    /// The command whose typed form contains these words.
    Command(&'k str),
    /// The environment.
    Environment,
    /// The scheduler whose lines begin with this mark.
    Scheduler(&'k str),
}

impl<'k> Key<'k> {
    /// `micro_batch`, `torchrun --nnodes`, `$NNODES`, `#SBATCH nodes`
    fn of(key: &'k str) -> Key<'k> {
        match (key.strip_prefix('$'), key.rsplit_once(' ')) {
            (Some(name), _) => Key { recipient: Recipient::Environment, name },
            (_, Some((mark, name))) if mark.starts_with('#') => Key { recipient: Recipient::Scheduler(mark), name },
            (_, Some((words, name))) => Key { recipient: Recipient::Command(words), name },
            _ => Key { recipient: Recipient::Job, name: key },
        }
    }
}

impl SettingIndex {
    pub fn of(documents: &[Document]) -> SettingIndex {
        let mut places: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
        for (document, entries) in documents.iter().map(Document::entries).enumerate() {
            for (entry, Entry { key, .. }) in entries.iter().enumerate() {
                places.entry(end_of(key)).or_default().push((document, entry));
            }
        }
        let main = documents.iter().map(Document::main_command).collect();
        SettingIndex { places, main, parts: Vec::new(), leaves: Leaves::of(documents) }
    }

    /// Lets the settings of the part count that `failed` describes.
    pub fn enter(&mut self, documents: &[Document], failed: &Failed<'_>) {
        self.parts = documents.iter().map(|document| Part::of(document, failed)).collect();
        for (main, part) in self.main.iter_mut().zip(&self.parts) {
            *main = part.as_ref().and_then(|part| part.command).or(*main);
        }
        self.leaves.enter(documents, failed.frames);
    }

    pub(super) fn leaves(&self) -> &Leaves {
        &self.leaves
    }

    /// For each document, the part that counts, if it starts several.
    pub fn parts(&self) -> &[Option<Part>] {
        &self.parts
    }

    /// Whether the entry at `place` is of another part than the one that failed; of another than the likeliest, if none is known to.
    pub(super) fn is_of_other(&self, place: (usize, usize)) -> (bool, bool) {
        let part = self.parts.get(place.0).and_then(Option::as_ref).filter(|part| part.excludes(place.1));
        (part.is_some_and(|part| part.has_failed), part.is_some())
    }

    /// The setting of `knob` in the first document that sets it: the entry that is effective there.
    pub fn setting<'d>(&self, documents: &'d [Document], knob: &Knob) -> Option<Setting<'d>> {
        if !knob.holds.is_empty() {
            return self.holding(documents, knob);
        }
        let mut settings: Vec<((usize, bool, bool), Setting<'d>)> = Vec::new();
        let mut of_files: Vec<&Entry> = Vec::new();
        let named = |name| {
            let own = option_of(name).or_else(|| file_of(name)).map_or(name, |(_, own)| own);
            let places = self.places.get(&last_step(own));
            places.into_iter().flatten().map(move |place| (name, place))
        };
        for (name, place) in knob.names().flat_map(named) {
            let document = documents.get(place.0)?;
            let entry = document.entries().get(place.1)?;
            let is_part = || document.format() == Format::Yaml && knob.ends_in(&entry.key);
            // A file with a name of its own says whose setting it is.
            let is_of_file = file_of(name).is_some_and(|(_, own)| own == entry.key) && is_named_file(name, document);
            let is_named = match option_of(name) {
                Some((program, option)) => is_given_to(program, entry, document) && is_named(option, &entry.key),
                None => is_of_file || knob.knows(without_file(&entry.key)),
            };
            let (is_of_failed_other, is_of_other) = self.is_of_other(*place);
            let counts = || match is_of_file {
                true => !is_of_failed_other && entry.tells_amount(),
                false => self.may_count(documents, knob, *place, document, entry),
            };
            if (is_named || is_part()) && counts() {
                of_files.extend(is_of_file.then_some(entry));
                settings.push(((place.0, is_of_other, !is_named), Setting { document, entry }));
            }
        }
        // Of several files that are called so, none is known to be meant.
        if of_files.windows(2).any(|pair| pair[0].value != pair[1].value) {
            return None;
        }
        // Whole names take precedence over partial ones, and later entries over earlier ones in the same document.
        let Some(best) = settings.iter().map(|(rank, _)| *rank).min() else {
            return Some(knob).filter(|knob| knob.is_generic()).and_then(|knob| self.leaf(documents, knob));
        };
        settings.retain(|(rank, _)| *rank == best);
        // An expression tells less than a value that stands elsewhere.
        if settings.iter().any(|(_, setting)| !setting.entry.is_open()) {
            settings.retain(|(_, setting)| !setting.entry.is_open());
        }
        // Of several items of a list, each with a value of its own, none is known to be meant.
        let is_listed = knob.names().any(|name| name.contains("[*]"));
        let mut values = settings.iter().map(|(_, setting)| &setting.entry.value);
        if is_listed && values.next().is_some_and(|first| values.any(|other| other != first)) {
            return None;
        }
        let is_one = self.parts.get(best.0).is_none_or(Option::is_none);
        if is_one && differs_by_container(settings.iter().map(|(_, setting)| setting.entry)) {
            return None;
        }
        let (_, Setting { document, entry }) = settings.pop()?;
        let counts = document.get(&entry.key).filter(|counted| is_one && suits(knob, counted, document));
        Some(Setting { document, entry: counts.unwrap_or(entry) })
    }

    /// Whether `entry`, whatever its name, can set `knob` for the part that failed.
    pub(super) fn may_count(
        &self,
        documents: &[Document],
        knob: &Knob,
        place: (usize, usize),
        document: &Document,
        entry: &Entry,
    ) -> bool {
        let is_unread = || knob.is_generic() && is_unnamed_beside_named(documents, document);
        suits(knob, entry, document) && !self.is_of_other(place).0 && !is_unread()
    }

    /// The entries for `keys`, which are spelled as dialects spell them. Keys that are not set are left out.
    pub fn entries<'d>(&self, documents: &'d [Document], keys: &[Arc<str>]) -> impl Iterator<Item = &'d Entry> {
        keys.iter().filter_map(move |key| self.entry(documents, Key::of(key)))
    }

    fn entry<'d>(&self, documents: &'d [Document], key: Key<'_>) -> Option<&'d Entry> {
        let mut best: Option<((usize, bool), &Entry)> = None;
        for (number, at) in self.places.get(&last_step(key.name)).into_iter().flatten() {
            let document = documents.get(*number)?;
            let entry = document.entries().get(*at)?;
            let of_other = entry.command.is_some() && entry.command != self.main.get(*number).copied().flatten();
            let counts = match key.recipient {
                Recipient::Command(words) => {
                    let command = entry.command.and_then(|at| document.commands().get(at));
                    command.is_some_and(|command| command.typed().contains(words))
                }
                Recipient::Environment => entry.kind == EntryKind::Env && !of_other,
                Recipient::Scheduler(mark) => entry.kind == EntryKind::Directive && is_queued_by(document, mark),
                Recipient::Job => {
                    matches!(entry.kind, EntryKind::Setting | EntryKind::Flag | EntryKind::Override) && !of_other
                }
            };
            let is_named = is_named(key.name, without_file(&entry.key));
            let is_part = || document.format() == Format::Yaml && is_end(key.name, &entry.key);
            if !counts || self.is_of_other((*number, *at)).0 || !(is_named || is_part()) {
                continue;
            }
            // The first document that sets the key counts; there, whole names take precedence over partial ones, and
            // the last entry wins.
            let rank = (*number, !is_named);
            if best.as_ref().is_none_or(|(known, _)| rank <= *known) {
                best = Some((rank, entry));
            }
        }
        best.map(|(_, entry)| entry)
    }

    /// The knobs of each framework that stand in a configuration file, since such a file names no program. Keys that are
    /// a single plain word do not count: any framework may use them.
    pub fn frameworks_with_keys<'k>(
        &self,
        documents: &[Document],
        knobs: &'k Knobs,
    ) -> HashMap<Arc<str>, Vec<&'k Knob>> {
        // Asking reads the knobs of all frameworks.
        if !documents.iter().any(|document| matches!(document.format(), Format::Json | Format::Yaml)) {
            return HashMap::new();
        }
        // Any program may keep `gradient_accumulation_steps` in JSON.
        let is_shared = |knob: &Knob| {
            let others = || knobs.iter().filter(|other| other.framework != knob.framework);
            knob.target == Target::Json
                && knob.names().all(|name| !name.contains('.') && others().any(|other| other.knows(name)))
        };
        let is_keyed = |knob: &&Knob| {
            let format = match knob.target {
                Target::Json => Format::Json,
                Target::Yaml => Format::Yaml,
                _ => return false,
            };
            let is_telling = knob.names().all(|name| name.contains(['.', '_']));
            let is_key =
                |setting: Setting<'_>| setting.document.format() == format && setting.entry.kind == EntryKind::Setting;
            is_telling && self.setting(documents, knob).is_some_and(is_key) && !is_shared(knob)
        };
        let mut keys: HashMap<Arc<str>, Vec<&Knob>> = HashMap::new();
        knobs.iter().filter(is_keyed).for_each(|knob| keys.entry(knob.framework.clone()).or_default().push(knob));
        keys
    }
}

/// A name that is an option of one program only, divided: `gunicorn --workers`.
fn option_of(name: &str) -> Option<(&str, &str)> {
    name.rsplit_once(' ').filter(|(_, option)| option.starts_with('-'))
}

/// A name that is a setting of one file only, divided: `gunicorn.conf.py:workers`.
pub(crate) fn file_of(name: &str) -> Option<(&str, &str)> {
    name.split_once(':').filter(|(file, _)| file.contains('.') && !file.contains(' '))
}

/// Whether `document` is called like the file of `name`.
fn is_named_file(name: &str, document: &Document) -> bool {
    file_of(name).is_some_and(|(file, _)| part::name(document.path()) == Some(file))
}

/// Whether `entry` is an option of a command that is typed with the words `program`.
fn is_given_to(program: &str, entry: &Entry, document: &Document) -> bool {
    let command = entry.command.and_then(|at| document.commands().get(at));
    entry.kind == EntryKind::Flag
        && command.is_some_and(|command| command.words().any(|word| part::name(word) == Some(program)))
}

/// The last step of an entry's name, without the file and without Hydra's `+` before a new key.
fn end_of(key: &str) -> String {
    last_step(without_file(key).trim_start_matches('+'))
}

/// A key without the name of the file that a script writes: `ds_config.json:zero_optimization.stage`.
pub(crate) fn without_file(key: &str) -> &str {
    key.split_once(':').map_or(key, |(_, key)| key)
}

/// Whether several containers or services set it, each to a value of its own: which of them counts is not known then.
fn differs_by_container<'e>(mut settings: impl Iterator<Item = &'e Entry>) -> bool {
    let Some(first) = settings.next() else { return false };
    let path = part::path(&first.key);
    let is_other = |entry: &Entry| part::path(&entry.key) != path && entry.value != first.value;
    path.is_some() && first.kind == EntryKind::Setting && settings.any(is_other)
}

/// Whether the scheduler reads the script's options whose lines begin with `mark`.
fn is_queued_by(document: &Document, mark: &str) -> bool {
    document.scheduler().is_some_and(|scheduler| scheduler.mark == mark)
}

/// Whether an entry of `document` may be the option of a program that nobody knows: a number (a switch, if `of` is one) that is given to a script of Python or stands in a
/// configuration, and is not about evaluation. A file that describes a model says what its weights are.
fn may_be_a_strangers(of: Type, entry: &Entry, document: &Document) -> bool {
    let is_of_script = |command: usize| document.commands().get(command).is_some_and(runs_python);
    let of_command = match entry.kind {
        EntryKind::Flag => entry.command.is_some_and(is_of_script) || document.format() == Format::Log,
        EntryKind::Override => entry.command.is_none_or(is_of_script),
        EntryKind::Setting => true,
        EntryKind::Variable => document.format() == Format::Python,
        EntryKind::Env | EntryKind::Directive => false,
    };
    let above = entry.key.rsplit_once('.').map_or("", |(above, _)| above);
    let file = part::name(document.path()).unwrap_or_default();
    let is_model = || {
        let mut keys = document.entries().iter().map(|entry| &*entry.key);
        document.format() == Format::Json && keys.any(|key| matches!(key, "model_type" | "architectures"))
            || matches!(file, "generation_config.json" | "tokenizer_config.json")
    };
    let words = entry.value.to_string();
    let is_meant = match of {
        Type::Bool | Type::Flag => words.eq_ignore_ascii_case("true") || words.eq_ignore_ascii_case("false"),
        Type::Integer if entry.counts_cores() => true,
        _ => matches!(words.parse::<f64>(), Ok(number) if number.is_finite()),
    };
    let is_file = !matches!(document.format(), Format::Log | Format::Python);
    let is_of_evaluation = part::is_of_evaluation(above) || is_file && part::is_of_evaluation(file);
    of_command && is_meant && !is_of_evaluation && !is_model()
}

/// Whether the commands of the job name other files of its format, but not `document`: `--config exp.yaml` beside `base.yaml`.
fn is_unnamed_beside_named(documents: &[Document], document: &Document) -> bool {
    let is_file = |other: &&Document| other.format() == document.format();
    if matches!(document.format(), Format::Shell | Format::Log | Format::Python)
        || documents.iter().filter(is_file).count() < 2
    {
        return false;
    }
    let scripts = || documents.iter().filter(|other| other.format() == Format::Shell);
    let values = scripts().flat_map(Document::entries).map(|entry| entry.value.to_string());
    let operands = scripts().flat_map(Document::commands).flat_map(|command| command.operands.iter().cloned());
    let words: Vec<String> = values.chain(operands).collect();
    let is_named = |other: &Document| words.iter().any(|word| part::name(word) == part::name(other.path()));
    !is_named(document) && documents.iter().filter(is_file).any(is_named)
}

/// Whether a command runs Python, itself or as a launcher.
fn runs_python(command: &Command) -> bool {
    let program = part::name(&command.program).unwrap_or_default();
    let runs = ["python", "torchrun", "accelerate", "deepspeed", "colossalai", "mpirun", "horovodrun"];
    part::script(command).is_some() || runs.iter().any(|runner| program.starts_with(runner))
}

/// Whether an entry of this kind in `document` can set a knob with this target. A script's variable does not reach the processes that it
/// starts, and each scheduler has options of its own.
fn suits(knob: &Knob, entry: &Entry, document: &Document) -> bool {
    let target = knob.target;
    if knob.is_generic() && target == Target::Cli && !may_be_a_strangers(knob.r#type, entry, document) {
        return false;
    }
    match entry.kind {
        EntryKind::Variable => knob.is_generic() && document.format() == Format::Python,
        // Some programs take their options from variables as well: `MAX_BATCH_PREFILL_TOKENS`.
        EntryKind::Env => {
            target == Target::Env || target == Target::Cli && knob.names().any(|name| *name == *entry.key)
        }
        EntryKind::Directive => {
            let mark =
                knob.line.as_deref().and_then(|line| line.split(' ').next()).filter(|word| word.starts_with('#'));
            target != Target::Env && mark.is_none_or(|mark| is_queued_by(document, mark))
        }
        EntryKind::Setting | EntryKind::Flag | EntryKind::Override => target != Target::Env,
    }
}
