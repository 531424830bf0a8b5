//! Replies to the commands in a comment.

use super::Bot;
use super::command::{self, ChangeMade, Command, Resolution};
use super::conversation;
use super::error::{QueueError, StepError};
use super::services::ask;
use super::texts::{Words, words};
use super::work::{Project, Request};
use crate::history::{self, HistoryError, Outcome, Record};
use crate::knowledge::Glossary;
use crate::report::escape::{block, code, inline};
use crate::rulebase;
use crate::store::Store;

/// At most this many similar incidents are listed.
const ALIKE: usize = 5;
/// The longest explanation in characters.
const LONGEST: usize = 8000;

/// Replies in the conversation of `request`.
pub(super) struct Replier<'r> {
    pub bot: &'r Bot,
    pub project: &'r Project,
    pub request: &'r Request,
}

/// The incident that a command refers to.
enum Meant {
    This(Box<Record>),
    /// None or several; the reply that says so.
    Not(String),
}

impl Replier<'_> {
    /// The replies to `lines`, one below the other.
    pub fn reply(&self, lines: &[String]) -> Result<String, StepError> {
        let answers = lines.iter().map(|line| self.line(line)).collect::<Result<Vec<String>, StepError>>()?;
        Ok(answers.join("\n\n"))
    }

    fn words(&self) -> &'static Words {
        words(self.bot.services.language())
    }

    fn line(&self, line: &str) -> Result<String, StepError> {
        let name = self.bot.config.name.as_str();
        match command::read(line) {
            Ok(Command::Help) => Ok((self.words().help)(name)),
            Ok(Command::Explain(asked)) => {
                let answers =
                    asked.iter().map(|word| self.explain(word)).collect::<Result<Vec<String>, StepError>>()?;
                Ok(answers.join("\n"))
            }
            Ok(Command::Similar(id)) => self.similar(id),
            Ok(Command::Resolve(resolution)) => self.resolve(resolution),
            Err(command::NoCommand) => {
                Ok(format!("{} {}\n\n{}", code(line), self.words().not_understood, (self.words().help)(name)))
            }
        }
    }

    fn explain(&self, word: &str) -> Result<String, StepError> {
        let (knowledge, language) = (self.bot.services.knowledge(), self.bot.services.language());
        let unfit = |error: &dyn std::fmt::Display| StepError::Permanent(error.to_string());
        knowledge.complete().map_err(|error| unfit(&error))?;
        let glossary = Glossary::shipped().map_err(|error| unfit(&error))?;
        match rulebase::explain(word, knowledge, &glossary, language) {
            Ok(text) => {
                let plain = anstream::adapter::strip_str(&text).to_string();
                let plain: String = plain.chars().take(LONGEST).collect();
                Ok(block(&plain, "text", ""))
            }
            Err(unknown) => {
                let nearest: Vec<String> = unknown.nearest.iter().map(|word| code(word)).collect();
                Ok((self.words().unknown)(&code(word), &nearest))
            }
        }
    }

    fn similar(&self, id: Option<String>) -> Result<String, StepError> {
        let record = match self.meant(id)? {
            Meant::This(record) => record,
            Meant::Not(said) => return Ok(said),
        };
        let found = self.bot.services.similar(&record, ALIKE)?;
        if found.is_empty() {
            return Ok(self.words().none_alike.to_owned());
        }
        let lines = found.into_iter().map(|other| {
            let (incident, day) = (other.incident, |time: &str| time.chars().take(10).collect::<String>());
            let helped = incident.change.filter(|_| incident.worked == Some(true));
            let helped = helped.map(|change| format!("; {}", (self.words().helped)(&code(&change))));
            let alike = inline(&other.alike.join(", "));
            let share = (other.score * 100.0).clamp(0.0, 100.0) as u8;
            let (id, day, title) = (code(&incident.id), day(&incident.time), inline(&incident.title));
            format!("- {id} {day} {title} ({share}%: {alike}){}", helped.unwrap_or_default())
        });
        Ok(format!("{}\n\n{}", self.words().alike, lines.collect::<Vec<_>>().join("\n")))
    }

    fn resolve(&self, resolution: Resolution) -> Result<String, StepError> {
        let Resolution { incident, change, worked, note } = resolution;
        let record = match self.meant(incident)? {
            Meant::This(record) => record,
            Meant::Not(said) => return Ok(said),
        };
        let outcome = match change {
            ChangeMade::Patch(number) => match Outcome::of_patch(&record, number, worked) {
                Ok(outcome) => outcome,
                Err(_) => return Ok(self.words().no_patch.to_owned()),
            },
            ChangeMade::Knob(knob) => Outcome::of_knob(&record, &knob, worked),
            ChangeMade::Did(did) => Outcome::of_words(&record, &did, worked),
        };
        let mut outcome = Outcome { note, ..outcome };
        self.bot.services.redactor().mask(&mut outcome);
        let said = (self.words().noted)(&code(&outcome.incident), &code(&outcome.change), worked);
        self.bot.services.resolve(outcome)?;
        Ok(said)
    }

    /// The incident `id`, or the only one of the conversation.
    fn meant(&self, id: Option<String>) -> Result<Meant, StepError> {
        let id = match id {
            Some(id) => id,
            None => match self.only_one()? {
                Ok(id) => id,
                Err(said) => return Ok(Meant::Not(said)),
            },
        };
        match ask(&*self.bot.services, move |store| Ok::<_, LookupError>(find(store, &id)?)) {
            Ok(record) => Ok(Meant::This(Box::new(record))),
            Err(LookupError::History(HistoryError::NotFound { .. })) => {
                Ok(Meant::Not(self.words().not_found.to_owned()))
            }
            Err(LookupError::History(HistoryError::Ambiguous { known, .. })) => {
                let known: Vec<String> = known.iter().map(|id| code(id)).collect();
                Ok(Meant::Not(format!("{} {}", self.words().which, known.join(", "))))
            }
            Err(LookupError::History(error)) => Err(error.into()),
            Err(LookupError::Queue(error)) => Err(error.into()),
        }
    }

    /// The id of the conversation's only incident, or the reply where there are none or several.
    fn only_one(&self) -> Result<Result<String, String>, StepError> {
        let (forge, request) = (self.project.forge, self.request.clone());
        let known = ask(&*self.bot.services, move |store| conversation::of(store, forge, &request))?;
        let incidents: Vec<(&String, &String)> =
            known.jobs.iter().flat_map(|(job, ids)| ids.iter().map(move |id| (job, id))).collect();
        Ok(match incidents.as_slice() {
            [] => Err(self.words().no_incident.to_owned()),
            [(_, id)] => Ok((*id).clone()),
            several => {
                let listed = several.iter().map(|(job, id)| format!("- {} {}", code(id), inline(job)));
                Err(format!("{}\n\n{}", self.words().which, listed.collect::<Vec<_>>().join("\n")))
            }
        })
    }
}

fn find(store: &mut dyn Store, id: &str) -> Result<Record, HistoryError> {
    history::find(&*store, id)
}

/// Why a record could not be looked up.
enum LookupError {
    History(HistoryError),
    Queue(QueueError),
}

impl From<HistoryError> for LookupError {
    fn from(error: HistoryError) -> LookupError {
        LookupError::History(error)
    }
}

impl From<QueueError> for LookupError {
    fn from(error: QueueError) -> LookupError {
        LookupError::Queue(error)
    }
}
