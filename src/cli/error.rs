use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use thiserror::Error as ThisError;

use super::language::spoken;
use super::messages::translate;
use super::printing::printable;
use crate::Error;
use crate::digest::DigestError;
use crate::estimate::EstimateError;
use crate::fit::{FitError, LabelError};
use crate::fix::FixError;
use crate::history::HistoryError;
use crate::knowledge::{KnowledgeError, Language};
use crate::redact::RedactError;
use crate::report::next_step;
use crate::rulebase::{BadName, SourcesError};
use crate::settings::SettingsError;
use crate::source::SourceError;
use crate::source::address::is_address;
use crate::store::{HomeUnknown, StoreError};

/// Why a command failed.
#[derive(Debug, ThisError)]
pub(super) enum CliError {
    /// The analysis failed.
    #[error(transparent)]
    Analysis(#[from] Error),
    /// A path stands where a command should.
    #[error("`{path}` is not a command")]
    NoCommand {
        /// The path.
        path: String,
    },
    /// This build was made without the server.
    #[error("this build has no server")]
    NoServer,
    /// There are inputs, but none of them is a log.
    #[error("nothing could be read as a log")]
    NoLog(Vec<String>),
    /// None of the digests could be read.
    #[error("no digest could be read")]
    NoDigest(Vec<(String, DigestError)>),
    /// A digest would be printed on a terminal.
    #[error("a digest is no text for a terminal")]
    DigestOnTerminal,
    /// The node has no host name.
    #[error("this node has no name")]
    NoNode,
    /// A requested rank or node does not occur in the logs.
    #[error("the logs name no {asked}")]
    NoRank {
        /// The rank or node.
        asked: String,
        /// How many ranks are known.
        count: usize,
        /// The nodes that are known.
        nodes: Vec<String>,
    },
    /// A digest could not be written.
    #[error("the digest could not be written: {0}")]
    Digest(#[from] DigestError),
    /// The command could not be started or recorded.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Run(#[from] crate::recorder::StartError),
    /// The command could not be run again with a change.
    #[cfg(target_os = "linux")]
    #[error("it is not run again: {0}")]
    Retry(#[from] crate::attempt::RetryError),
    /// The recorder works on Linux only.
    #[cfg(not(target_os = "linux"))]
    #[error("`oomdoc run` records on Linux only")]
    NoRecorder,
    /// No fix could be made.
    #[error(transparent)]
    Fix(#[from] FixError),
    /// The estimate failed.
    #[error(transparent)]
    Estimate(#[from] EstimateError),
    /// The fit failed.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A file could not be written.
    #[error("cannot write {}: {error}", .path.display())]
    Write {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// Secrets could not be masked, so nothing was sent.
    #[error("nothing was sent because secrets could not be masked: {0}")]
    Redact(#[from] RedactError),
    /// A folder given with `--root` cannot be read.
    #[cfg(feature = "mcp")]
    #[error("cannot read {}: {error}", .path.display())]
    Root {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// The report could not be written as JSON.
    #[error("the report could not be written: {0}")]
    Json(#[from] serde_json::Error),
    /// The rules could not be read.
    #[error(transparent)]
    Sources(#[from] SourcesError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The history failed.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// A log to compare with has no incident.
    #[error("{path} holds no incident")]
    NothingAlike {
        /// The log.
        path: String,
    },
    /// The server could not be started.
    #[cfg(feature = "server")]
    #[error(transparent)]
    Server(#[from] crate::server::ServerError),
    /// A token could not be created, listed or revoked.
    #[cfg(feature = "server")]
    #[error(transparent)]
    Token(#[from] crate::server::TokenError),
    /// The team's server failed.
    #[error(transparent)]
    Remote(#[from] crate::remote::RemoteError),
    /// The settings are invalid.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The home folder cannot be determined.
    #[error(transparent)]
    Home(#[from] HomeUnknown),
    /// A fact that was given is unknown.
    #[error("no fact is called `{name}`")]
    NoFact {
        /// Its name.
        name: String,
        /// Known names with a similar spelling.
        nearest: Vec<String>,
    },
    /// The name is not valid for a rule.
    #[error(transparent)]
    Name(#[from] BadName),
    /// A new file would overwrite another.
    #[error("{} is there already", .path.display())]
    IsThere {
        /// Its path.
        path: PathBuf,
    },
    /// The rules were refused.
    #[error("{path} was not imported")]
    NotImported {
        /// The file or folder.
        path: String,
    },
    /// There is no imported rule with this id.
    #[error("there is no imported rule `{id}`")]
    NotYours {
        /// The id.
        id: String,
        /// Known ids with a similar spelling.
        nearest: Vec<String>,
    },
    /// The word to explain is unknown.
    #[error("nothing is called `{word}`")]
    Unexplained {
        /// The word.
        word: String,
        /// Known words with a similar spelling.
        nearest: Vec<String>,
    },
    /// Standard output could not be written.
    #[error("the report could not be printed: {0}")]
    Output(#[from] io::Error),
}

impl From<KnowledgeError> for CliError {
    fn from(error: KnowledgeError) -> CliError {
        CliError::Analysis(error.into())
    }
}

impl CliError {
    /// Prints the error and a hint on standard error and returns the exit status.
    pub fn report(&self) -> ExitCode {
        const ERROR: Style = AnsiColor::Red.on_default().bold();
        const HINT: Style = AnsiColor::Cyan.on_default();
        // The reader of a pipe, such as `head`, may close it early.
        if matches!(self, CliError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe) {
            return ExitCode::SUCCESS;
        }
        let language = spoken();
        let told = |words: &str| printable(&translate(words, language));
        anstream::eprintln!("{ERROR}{}{ERROR:#}: {}", told("error"), told(&self.to_string()));
        if let CliError::Analysis(Error::NothingRead(errors))
        | CliError::Estimate(EstimateError::Analysis(Error::NothingRead(errors)))
        | CliError::Fix(FixError::Analysis(Error::NothingRead(errors))) = self
        {
            errors.iter().for_each(|error| anstream::eprintln!("  {}", told(&error.to_string())));
        }
        if let CliError::NoLog(inputs) = self {
            inputs.iter().for_each(|input| anstream::eprintln!("  {}", told(input)));
        }
        if let CliError::NoDigest(inputs) = self {
            inputs.iter().for_each(|(path, error)| anstream::eprintln!("  {path}: {}", told(&error.to_string())));
        }
        if let Some(hint) = self.hint() {
            anstream::eprintln!("{HINT}{}{HINT:#}: {}", told("hint"), told(&hint));
        }
        ExitCode::from(2)
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        let fixed = match self {
            CliError::NoCommand { path } => return Some(format!("`oomdoc analyze {path}` says what happened there")),
            CliError::NoServer => {
                Some("the container image, the Debian package and the release's archive have it: docs/install.md")
            }
            CliError::NoDigest(_) => Some("`oomdoc digest PATH… -o node.digest` on each node writes one"),
            CliError::DigestOnTerminal => Some("write it to a file with -o, or into a pipe to `oomdoc merge -`"),
            CliError::NoNode => Some("name it with --node"),
            CliError::NoRank { count: 0, .. } => {
                Some("a job of eight ranks or more has rows; leave --rank and --node out")
            }
            CliError::NoRank { count, nodes, .. } => return Some(known_ranks(*count, nodes)),
            CliError::Digest(_) => Some("check that there is room, and the paths"),
            CliError::Analysis(Error::NothingRead(errors)) if errors.iter().all(is_elsewhere) => {
                Some("check the addresses, and what the environment says of stores: docs/addresses.md")
            }
            CliError::NoLog(_)
            | CliError::Analysis(Error::NothingRead(_))
            | CliError::Fix(FixError::Analysis(Error::NothingRead(_))) => {
                Some("name a log file, a folder of logs, or `-` for standard input: `oomdoc analyze job.log dmesg.log`")
            }
            CliError::Analysis(Error::Knowledge(_) | Error::Search(_))
            | CliError::Fix(FixError::Analysis(Error::Knowledge(_) | Error::Search(_))) => {
                Some("this is a bug in oomdoc: please report it")
            }
            CliError::Estimate(EstimateError::Analysis(Error::NothingRead(_))) => {
                Some("name the job's launch script or configuration: `oomdoc estimate --from launch.sh`")
            }
            CliError::Estimate(EstimateError::Analysis(_)) => Some("this is a bug in oomdoc: please report it"),
            CliError::Estimate(EstimateError::NoModel | EstimateError::UnknownModel(_)) => {
                Some("name a size, a model or its config.json: `oomdoc estimate --model 8b --gpus 8 --zero 3`")
            }
            CliError::Estimate(EstimateError::UnsizedModel(_)) => {
                Some("give `--parameters 8.03b`, or `--model config.json` with the file next to its weights")
            }
            CliError::Estimate(EstimateError::NotGiven(_)) => {
                Some("give it too: `--from launch.sh --from ds_config.json`, or set --zero")
            }
            CliError::Estimate(EstimateError::Unbounded) => Some("give an adapter's rank with --lora"),
            CliError::Estimate(EstimateError::File { .. } | EstimateError::Config { .. }) => {
                Some("give the config.json next to the model's weights")
            }
            #[cfg(target_os = "linux")]
            CliError::Run(_) => Some("check the command, or the number of the process"),
            #[cfg(target_os = "linux")]
            CliError::Retry(_) => Some("make a change by hand and run it again: the report says what there is"),
            #[cfg(not(target_os = "linux"))]
            CliError::NoRecorder => Some("run the command by itself, and give its log to `oomdoc analyze`"),
            CliError::Fix(FixError::NothingToFix(_)) => Some("`oomdoc analyze` with the same paths says what happened"),
            CliError::Fix(FixError::NotMemory { failure, .. }) => match next_step(*failure, Language::En) {
                Some(place) => return Some(format!("look at {place}")),
                None => Some("`oomdoc analyze` with the same paths shows the lines that say so"),
            },
            CliError::Fix(FixError::SeveralJobs { .. }) => Some("name the log and the configuration of one of them"),
            CliError::Fix(FixError::NoFile { lines, others, .. }) => return Some(instead(lines, others)),
            CliError::Fix(FixError::Apart { .. }) => {
                Some("write one of them with --pick, and make the other change by hand")
            }
            CliError::Fix(FixError::NoSuchPatch { .. }) => Some("`oomdoc analyze` numbers them"),
            CliError::Fix(FixError::Changed { .. }) => {
                Some("copy your own change over by hand, remove the backup and run it again")
            }
            CliError::Fix(FixError::File { .. }) => Some("nothing was changed"),
            CliError::Fix(FixError::Refused { .. }) => {
                Some("nothing was changed; `oomdoc fix … --diff` shows the edit for you to make")
            }
            CliError::Sources(SourcesError::Faulty { .. }) => Some("`oomdoc rules check` says more, and what to do"),
            CliError::Name(_) => Some("small letters, digits and _, e.g. arena_full"),
            CliError::IsThere { .. } => Some("choose another name, or another folder with --in"),
            CliError::Sources(_) => {
                Some("name a .toml file or a folder of them; docs/writing-rules.md shows how to write one")
            }
            CliError::Store(error) => Some(error.advice()),
            CliError::History(error) => return Some(error.advice()),
            CliError::Settings(error) => return Some(error.advice()),
            CliError::Remote(error) => return Some(error.advice()),
            #[cfg(feature = "server")]
            CliError::Server(error) => return Some(error.advice()),
            #[cfg(feature = "server")]
            CliError::Token(error) => Some(error.advice()),
            CliError::NothingAlike { .. } => Some("name a log that ended with an out-of-memory failure"),
            CliError::Home(_) => Some("name a folder with --home or $OOMDOC_HOME"),
            CliError::NotImported { .. } => Some("fix the errors above; `oomdoc rules check` shows them again"),
            CliError::NotYours { nearest, .. }
            | CliError::Unexplained { nearest, .. }
            | CliError::NoFact { nearest, .. }
                if !nearest.is_empty() =>
            {
                return Some(format!("did you mean {}?", nearest.join(", ")));
            }
            CliError::NoFact { .. } => Some("docs/writing-rules.md lists every fact: model, gpu, host.memory …"),
            CliError::NotYours { .. } | CliError::Unexplained { .. } => Some("`oomdoc rules list` lists the rules"),
            CliError::Fit(FitError::Labels(LabelError::NoCases { .. })) => {
                Some("DIR holds one folder a case, each with its logs and a label: docs/accuracy.md shows both")
            }
            CliError::Fit(FitError::NothingLabelled(_)) => {
                Some("a label says `kind` and `cause`: docs/accuracy.md shows how")
            }
            CliError::Fit(_) => None,
            #[cfg(feature = "mcp")]
            CliError::Root { .. } => Some("name a folder that is there with --root"),
            CliError::Write { .. } => Some("name a place that you can write to"),
            CliError::Json(_) | CliError::Redact(_) | CliError::Output(_) => None,
        };
        fixed.map(str::to_owned)
    }
}

/// Which ranks the logs contain.
fn known_ranks(count: usize, nodes: &[String]) -> String {
    const NAMED: usize = 8;
    match nodes {
        [] => format!("{count} ranks are known, and none of their nodes"),
        nodes => format!("{count} ranks are known, on {}", nodes[..nodes.len().min(NAMED)].join(", ")),
    }
}

/// The alternatives where a patch edits no file: a line to type, another patch, or another input.
fn instead(lines: &[String], others: &[String]) -> String {
    let typed = lines.iter().map(|line| format!("set it yourself:\n  {}", line.replace('\n', "\n  ")));
    let picked =
        (!others.is_empty()).then(|| format!("or pick one that edits a file: `--pick {}`", others.join("`, `--pick ")));
    // No file tells what only the user knows: `<a free GPU>`.
    let is_open = !lines.is_empty() && lines.iter().all(|line| line.contains('<') && line.contains('>'));
    let given =
        (!is_open).then(|| "or name the launch script or configuration that sets it, next to the log".to_owned());
    let ways: Vec<String> = typed.chain(picked).chain(given).collect();
    ways.join("\n").trim_start_matches("or ").to_owned()
}

/// Whether the error concerns an address that was opened.
fn is_elsewhere(error: &SourceError) -> bool {
    is_address(error.path()) && !matches!(error, SourceError::Address { .. })
}
