use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use thiserror::Error as ThisError;

use super::language::spoken;
use super::messages::told;
use super::screen::said;
use crate::Error;
use crate::digest::DigestError;
use crate::estimate::EstimateError;
use crate::fit::{FitError, LabelError};
use crate::fix::FixError;
use crate::history::HistoryError;
use crate::knowledge::KnowledgeError;
use crate::redact::RedactError;
use crate::rulebase::{BadName, SourcesError};
use crate::settings::SettingsError;
use crate::source::SourceError;
use crate::source::address::is_address;
use crate::store::{HomeUnknown, StoreError};

/// Why a command did not do what it was asked for.
#[derive(Debug, ThisError)]
pub(super) enum CliError {
    /// There is no report.
    #[error(transparent)]
    Analysis(#[from] Error),
    /// A path stands where a command should.
    #[error("`{path}` is not a command")]
    NoCommand {
        /// The path.
        path: String,
    },
    /// There are inputs, and none of them is a log.
    #[error("nothing could be read as a log")]
    NoLog(Vec<String>),
    /// Not one digest could be read.
    #[error("no digest could be read")]
    NoDigest(Vec<(String, DigestError)>),
    /// A digest is nothing to look at.
    #[error("a digest is no text for a terminal")]
    DigestOnTerminal,
    /// The node has no name.
    #[error("this node has no name")]
    NoNode,
    /// A rank or node that is asked for is not known.
    #[error("the logs name no {asked}")]
    NoRank {
        /// Which.
        asked: String,
        /// How many ranks are known.
        count: usize,
        /// The nodes that are known.
        nodes: Vec<String>,
    },
    /// A digest could not be written.
    #[error("the digest could not be written: {0}")]
    Digest(#[from] DigestError),
    /// The command was not run, or not recorded.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Run(#[from] crate::recorder::StartError),
    /// The command is not run again.
    #[cfg(target_os = "linux")]
    #[error("it is not run again: {0}")]
    Retry(#[from] crate::attempt::RetryError),
    /// There is nothing to record with.
    #[cfg(not(target_os = "linux"))]
    #[error("`oomdoc run` records on Linux only")]
    NoRecorder,
    /// Nothing was mended.
    #[error(transparent)]
    Fix(#[from] FixError),
    /// There is no estimate.
    #[error(transparent)]
    Estimate(#[from] EstimateError),
    /// Nothing could be fitted.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A file could not be written.
    #[error("cannot write {}: {error}", .path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: io::Error,
    },
    /// What should leave the process cannot be freed of secrets, so it does not leave.
    #[error("nothing was sent because secrets could not be masked: {0}")]
    Redact(#[from] RedactError),
    /// A folder that should be read is none.
    #[cfg(feature = "mcp")]
    #[error("cannot read {}: {error}", .path.display())]
    Root {
        /// Which.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: io::Error,
    },
    /// The report could not be written as JSON.
    #[error("the report could not be written: {0}")]
    Json(#[from] serde_json::Error),
    /// No rules could be read.
    #[error(transparent)]
    Sources(#[from] SourcesError),
    /// The store could not be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The history.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// A log without an incident is like none.
    #[error("{path} holds no incident")]
    NothingAlike {
        /// The log.
        path: String,
    },
    /// The server does not serve.
    #[cfg(feature = "server")]
    #[error(transparent)]
    Server(#[from] crate::server::ServerError),
    /// A token was not made, listed or taken back.
    #[cfg(feature = "server")]
    #[error(transparent)]
    Token(#[from] crate::server::TokenError),
    /// The team's server.
    #[error(transparent)]
    Remote(#[from] crate::remote::RemoteError),
    /// What should hold cannot.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// There is no place for the store.
    #[error(transparent)]
    Home(#[from] HomeUnknown),
    /// Nothing asks for a fact that the user told.
    #[error("no fact is called `{name}`")]
    NoFact {
        /// What was told.
        name: String,
        /// What is spelled most like it.
        nearest: Vec<String>,
    },
    /// A rule cannot be called so.
    #[error(transparent)]
    Name(#[from] BadName),
    /// A new file would take the place of another.
    #[error("{} is there already", .path.display())]
    IsThere {
        /// Which.
        path: PathBuf,
    },
    /// Rules were refused.
    #[error("{path} was not imported")]
    NotImported {
        /// The file or folder.
        path: String,
    },
    /// A rule that should be removed is not the user's.
    #[error("there is no imported rule `{id}`")]
    NotYours {
        /// What was asked for.
        id: String,
        /// What is spelled most like it.
        nearest: Vec<String>,
    },
    /// Nothing is called so.
    #[error("nothing is called `{word}`")]
    Unexplained {
        /// What was asked for.
        word: String,
        /// What is spelled most like it.
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
    /// Says what went wrong and what to do about it, on standard error; the exit status to end with.
    pub fn report(&self) -> ExitCode {
        const ERROR: Style = AnsiColor::Red.on_default().bold();
        const HINT: Style = AnsiColor::Cyan.on_default();
        // Whoever reads through `head` has what they wanted.
        if matches!(self, CliError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe) {
            return ExitCode::SUCCESS;
        }
        let language = spoken();
        let told = |words: &str| said(&told(words, language));
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

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let fixed = match self {
            CliError::NoCommand { path } => return Some(format!("`oomdoc analyze {path}` says what happened there")),
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

/// Which ranks can be asked for.
fn known_ranks(count: usize, nodes: &[String]) -> String {
    const NAMED: usize = 8;
    match nodes {
        [] => format!("{count} ranks are known, and none of their nodes"),
        nodes => format!("{count} ranks are known, on {}", nodes[..nodes.len().min(NAMED)].join(", ")),
    }
}

/// What to do where a patch edits no file: what to type, what else to pick, what to give.
fn instead(lines: &[String], others: &[String]) -> String {
    let typed = lines.iter().map(|line| format!("set it yourself:\n  {}", line.replace('\n', "\n  ")));
    let picked =
        (!others.is_empty()).then(|| format!("or pick one that edits a file: `--pick {}`", others.join("`, `--pick ")));
    let given = "or name the launch script or configuration that sets it, next to the log".to_owned();
    let ways: Vec<String> = typed.chain(picked).chain([given]).collect();
    ways.join("\n").trim_start_matches("or ").to_owned()
}

/// Whether it is about an address that was asked for.
fn is_elsewhere(error: &SourceError) -> bool {
    is_address(error.path()) && !matches!(error, SourceError::Address { .. })
}
