//! Lines in which a program of any sort announces what it does next: a verb at the beginning, and what it does it to.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use nom::Offset;
use serde::Deserialize;

use super::Mark;
use crate::model::Phase;

/// Words of any spelling that announce a phase.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnnouncementRow {
    /// The line begins with one of these, in small letters here.
    #[serde(default)]
    pub verb: Vec<String>,
    /// Or one of these stands in brackets before the message, alone or with a number: `[eval 3] 120 frames kept`.
    #[serde(default)]
    pub tag: Vec<String>,
    /// A file named behind the verb ends with one of these.
    #[serde(default)]
    pub file: Vec<String>,
    /// One of these follows within a few words; none need if empty.
    #[serde(default)]
    pub object: Vec<String>,
    /// One of these words stands in the line, too.
    #[serde(default)]
    pub within: Vec<String>,
    pub phase: Phase,
    pub site: Arc<str>,
    /// Whether the line says that the phase is over.
    #[serde(default)]
    pub ends: bool,
    #[serde(default = "perhaps")]
    pub confidence: f64,
}

/// Below that of rows which spell what a program prints.
fn perhaps() -> f64 {
    0.6
}

/// What a verb announces with one of its objects.
struct Announcement {
    /// Its words.
    object: Vec<String>,
    within: Arc<[String]>,
    file: Arc<[String]>,
    mark: Mark,
}

/// All announcements, by the verb. A verb is searched for without its first letter, which may be a capital.
#[derive(Default)]
pub(super) struct Announcements {
    of_verb: BTreeMap<String, Vec<Announcement>>,
    /// What tags announce: the mark of a phase that begins and of one that ends.
    of_tag: BTreeMap<String, [Mark; 2]>,
    /// The verbs without their first letters, and the tags behind their brackets.
    tails: BTreeSet<String>,
}

/// This many bytes of a line are read, and a verb is looked for among so many words: what is announced stands at the beginning.
const READ: usize = 400;
const FIRST: usize = 24;

/// This many words may stand between a verb and its object: `Loading the 4bit quantised base model`.
const BETWEEN: usize = 4;

/// Behind these stands no object: `Creating agent with the following parameters`.
const BEHIND: [&str; 12] = ["with", "for", "from", "to", "in", "into", "on", "at", "of", "using", "by", "via"];

/// Words that may precede the verb in the announcement itself, and levels that a logger prints before it.
const OPENING: [&str; 10] =
    ["start", "starting", "started", "begin", "beginning", "now", "currently", "info", "debug", "notice"];

/// What stands behind a tag when its phase is over: `[save] done in 12 s`, `[val] epoch 1 loss 2.1`.
const OVER: [&str; 18] = [
    "done",
    "finished",
    "saved",
    "complete",
    "completed",
    "ok",
    "wrote",
    "written",
    "loss",
    "acc",
    "accuracy",
    "score",
    "f1",
    "bleu",
    "ppl",
    "auc",
    "mse",
    "mae",
];
/// What stands behind a tag that tells of a setting or of nothing done: `[save] checkpoint every 500 steps`.
const NOTHING: [&str; 11] =
    ["every", "interval", "skipped", "skipping", "skip", "no", "none", "disabled", "enabled", "ready", "not"];
/// So many bytes may stand before a tag, so many words behind it are read.
const BEFORE_TAG: usize = 64;
const BEHIND_TAG: usize = 6;

impl Announcements {
    pub fn add(&mut self, row: AnnouncementRow, mark: Mark) -> Result<(), String> {
        let (within, file): (Arc<[String]>, Arc<[String]>) = (row.within.into(), row.file.into());
        for tag in row.tag {
            let (first, rest) = tag.split_at(tag.len().min(1));
            self.tails.extend([
                format!("[{tag}"),
                format!("[{}{rest}", first.to_uppercase()),
                format!("[{}", tag.to_uppercase()),
            ]);
            let over = Mark { ends: true, ..mark.clone() };
            self.of_tag.insert(tag, [mark.clone(), over]);
        }
        for verb in row.verb {
            if verb.len() < 4 || verb.bytes().any(|byte| !byte.is_ascii_lowercase() && byte != b' ') {
                return Err(format!(
                    "the verb `{verb}` of {} is not of small letters, or shorter than four",
                    mark.site
                ));
            }
            self.tails.insert(verb[1..].to_owned());
            let known = self.of_verb.entry(verb).or_default();
            let objects = row.object.iter().map(|object| words(object).map(|(_, word)| word).collect());
            let none = row.object.is_empty().then(Vec::new);
            known.extend(objects.chain(none).map(|object| Announcement {
                object,
                within: within.clone(),
                file: file.clone(),
                mark: mark.clone(),
            }));
        }
        Ok(())
    }

    /// What a line contains in which something may be announced.
    pub fn tails(&self) -> impl Iterator<Item = &str> {
        self.tails.iter().map(String::as_str)
    }

    /// The verb with which `words` begin, the longer one of two: the number of its words, and what it announces.
    fn verb_at(&self, words: &[(usize, String)]) -> Option<(usize, &[Announcement])> {
        let (_, word) = words.first()?;
        let next = words.get(1).map(|(_, next)| next.as_str());
        let begun = self
            .of_verb
            .range::<str, _>((Bound::Included(word.as_str()), Bound::Unbounded))
            .take_while(|(verb, _)| verb.starts_with(word.as_str()));
        let known = begun.filter_map(|(verb, known)| match &verb[word.len()..] {
            "" => Some((1, known.as_slice())),
            rest => (rest.strip_prefix(' ') == next && next.is_some()).then_some((2, known.as_slice())),
        });
        known.max_by_key(|(length, _)| *length)
    }

    /// What `line` announces.
    pub fn read(&self, line: &str) -> Option<&Mark> {
        let line = &line[..line.floor_char_boundary(READ)];
        self.by_verb(line).or_else(|| self.tagged(line))
    }

    /// What the tag before the message of `line` announces. A tag alone is a section of a printed configuration.
    fn tagged(&self, line: &str) -> Option<&Mark> {
        let (before, tag) = line.split_once('[').filter(|(before, _)| before.len() < BEFORE_TAG)?;
        let is_apart = before.is_empty() || before.ends_with([' ', '\t', ']']);
        let (tag, behind) = tag.split_once(']')?;
        let word = tag.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches([' ', '#', '-', '_', ':']);
        let Some([begins, over]) = self.of_tag.get(&word.to_lowercase()).filter(|_| is_apart) else {
            // A rank or a level may stand in brackets of its own.
            return if before.trim().is_empty() { self.tagged(behind) } else { None };
        };
        let behind: Vec<String> = words(behind).map(|(_, word)| word).take(BEHIND_TAG).collect();
        let says = |known: &[&str]| behind.iter().any(|word| known.contains(&word.as_str()));
        match says(&OVER) {
            true => Some(over),
            false => (!behind.is_empty() && !says(&NOTHING)).then_some(begins),
        }
    }

    /// What the verb with which the message of `line` begins announces.
    fn by_verb(&self, line: &str) -> Option<&Mark> {
        let words: Vec<(usize, String)> = words(line).collect();
        let verb = (0..words.len().min(FIRST)).find_map(|at| {
            // Few words begin a message, and asking for that is cheaper than looking them up.
            let (length, known) = begins(line, &words[..at], words[at].0).then(|| self.verb_at(&words[at..]))??;
            Some((at + length, known))
        });
        let (behind, known) = verb?;
        let behind = &words[behind..];
        let end = behind
            .iter()
            .position(|(at, word)| BEHIND.contains(&word.as_str()) || line[..*at].ends_with(['/', '\\', '.']));
        let behind = &behind[..end.unwrap_or(behind.len())];
        let has = |wanted: &String| words.iter().any(|(_, word)| word == wanted);
        let of_file =
            |row: &Announcement| words.iter().any(|(at, word)| line[..*at].ends_with('.') && row.file.contains(word));
        let fits = |row: &&Announcement| {
            (row.within.is_empty() || row.within.iter().any(has)) && (row.file.is_empty() || of_file(row))
        };
        let place = |row: &Announcement| {
            let spans = |at: usize| {
                let mut own = behind[at..].iter().map(|(_, word)| word);
                row.object.iter().all(|word| own.next() == Some(word))
            };
            (0..=BETWEEN.min(behind.len())).find(|at| spans(*at))
        };
        let found = known.iter().filter(fits).filter_map(|row| Some((place(row)?, row)));
        // A verb alone says least; else the nearest object counts, and of several there the longest.
        let found = found
            .min_by_key(|(at, row)| (row.object.is_empty(), *at, usize::MAX - row.object.len(), row.within.is_empty()))
            .map(|(_, row)| row);
        let names_model =
            |(at, _): &(usize, String)| is_model(&line[*at..]) && !words.iter().any(|(_, word)| is_no_model(word));
        let model = || known.iter().filter(fits).find(|row| row.object == ["model"]);
        let named = || behind.first().filter(|word| names_model(word)).and_then(|_| model());
        found.filter(|row| !row.object.is_empty()).or_else(named).or(found).map(|row| &row.mark)
    }
}

/// Whether `text` begins with a model's name: one that ends with the number of its parameters, `finch-6b`, or a file of weights.
fn is_model(text: &str) -> bool {
    let name = text.split(|c: char| c.is_whitespace() || "'\",:;)]".contains(c)).next().unwrap_or_default();
    let name = name.trim_end_matches('.').to_lowercase();
    let is_size = |part: &str| {
        let number = part.strip_suffix('b').unwrap_or_default();
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number(whole) && whole.len() < 4 && is_number(fraction)
    };
    let is_sized = name.contains(['-', '_']) && name.split(['-', '_', '/', ':']).skip(1).any(is_size);
    is_sized || [".safetensors", ".gguf"].iter().any(|end| name.ends_with(end) && name.len() > end.len())
}

/// Words beside which such a name is not that of a model which is read.
fn is_no_model(word: &str) -> bool {
    const DATA: [&str; 13] = [
        "tokenizer",
        "tokens",
        "dataset",
        "datasets",
        "data",
        "config",
        "corpus",
        "configuration",
        "vocabulary",
        "eval",
        "test",
        "bench",
        "samples",
    ];
    DATA.contains(&word)
}

/// Whether what stands at `at` in `line` begins a message: the line, or what follows a label or a bracket.
fn begins(line: &str, before: &[(usize, String)], at: usize) -> bool {
    let text = line[..at].trim_end();
    let follows = |text: &str| text.ends_with([':', ']', '>', '*', '|', '-', '#', '=', '}', ')', '•', '…', '✓']);
    let opens = |(_, word): &(usize, String)| OPENING.contains(&word.as_str());
    let is_key = line[at..].trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').starts_with('=');
    !is_key && !is_joined(line, at) && (text.is_empty() || follows(text) || before.last().is_some_and(opens))
}

/// Whether the word at `at` is part of a path, an option or a name: `/data/loading`, `--saving`, `model.loading`.
fn is_joined(line: &str, at: usize) -> bool {
    line[..at].ends_with(['/', '\\', '-', '.', '=', '_', '"', '\'', '(', '@', '$'])
}

/// The words of `text` in small letters, with where they begin.
fn words(text: &str) -> impl Iterator<Item = (usize, String)> {
    let parts = text.split(|c: char| !c.is_alphanumeric());
    let parts = parts.map(move |part| (text.offset(part), part));
    parts.filter(|(_, part)| !part.is_empty()).map(|(at, part)| (at, part.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use crate::knowledge::Knowledge;
    use crate::model::Phase::{self, *};

    #[test]
    fn programs_announce_what_they_do_in_their_own_words() -> Result<(), Box<dyn std::error::Error>> {
        let phases = Knowledge::shipped()?.phases;
        let cases: [(&str, Option<(Phase, bool)>); 52] = [
            ("Saving full state dict to /ckpt/step2000", Some((CheckpointSave, false))),
            ("[rank0] trainer: gathering state_dict on rank 0", Some((CheckpointSave, false))),
            (">> Dumping weights to disk", Some((CheckpointSave, false))),
            ("Start loading the pretrained 4bit base model", Some((ModelLoad, false))),
            ("Moving model to GPU", Some((ModelLoad, false))),
            // A model by its own name, and data whose name looks alike.
            ("Loading wren-13b...", Some((ModelLoad, false))),
            ("INFO     Loading 'acme/wren-2.7b-chat' to memory", Some((ModelLoad, false))),
            ("Loading wren.safetensors", Some((ModelLoad, false))),
            ("Loading wiki-300b tokens", None),
            ("Loading tokenizer wren-13b", None),
            ("Loading stage-2", None),
            ("info: reading wren-13b", Some((ModelLoad, false))),
            ("Preprocessing training data", Some((DataLoading, false))),
            ("Restoring training state", Some((CheckpointResume, false))),
            ("Computing reference log probabilities", Some((Experience, false))),
            ("Broadcasting weights to vLLM workers", Some((WeightSync, false))),
            ("Broadcasting weights", None),
            ("Warming up the engine", Some((EngineInit, false))),
            ("Creating optimizer", Some((Setup, false))),
            ("running backward", Some((Backward, false))),
            ("Loaded model in 12.1 s", Some((ModelLoad, true))),
            ("INFO eval.py - Evaluating", Some((Evaluation, false))),
            ("[eval] ep 12 frames kept 40,000", Some((Evaluation, false))),
            ("[rollouts 3] obs put", Some((Rollout, false))),
            ("[Val 07] 120/400", Some((Evaluation, false))),
            ("buffering documents 2.5M", Some((DataLoading, false))),
            ("reading feat.npy  shape (9000, 128)", Some((DataLoading, false))),
            ("eval every 3: computing AP over all pairs", Some((Evaluation, false))),
            ("reading notes.pt", None),
            ("[evaluator_config] 3", None),
            ("[values] 3 eval", None),
            ("[plan] sharding=FULL_SHARD save_every=400", None),
            ("[save] block 11/60 rss 26.3 GiB", Some((CheckpointSave, false))),
            ("[INFO] [Eval] batch 12/80", Some((Evaluation, false))),
            // A section of a printed configuration is no tag.
            ("[eval]", None),
            ("[save] done in 12 s", Some((CheckpointSave, true))),
            ("[saved] x", None),
            ("[val] epoch 1 loss 2.1 acc 0.8", Some((Evaluation, true))),
            ("[save] checkpoint every 500 steps", None),
            ("[restore] skipped: no checkpoint", None),
            ("metrics[val] 3", None),
            // A path, a sentence, an option and a name announce nothing.
            ("/data/loading model/x", None),
            ("It is slow while loading model weights", None),
            ("--saving checkpoint", None),
            ("Creating agent with the following parameters:", None),
            ("rootdir: /work/data-processing-data, testpaths: test", None),
            ("Loading", None),
            ("Saving images to out/", None),
            ("model.loading_weights", None),
            ("disabled saving checkpoints", None),
            ("Setting batch size to 8", None),
            ("", None),
        ];
        for (line, expected) in cases {
            assert_eq!(phases.announced(line).map(|mark| (mark.phase, mark.ends)), expected, "{line}");
        }
        Ok(())
    }
}
