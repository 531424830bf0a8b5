//! What is answered to commands in a comment.

use super::Bot;
use super::command::{self, ChangeMade, Command, Resolution};
use super::error::{QueueError, Trouble};
use super::services::ask;
use super::talk;
use super::texts::{Words, words};
use super::work::{Project, Request};
use crate::history::{self, HistoryError, Outcome, Record};
use crate::knowledge::Glossary;
use crate::report::escape::{block, code, inline};
use crate::rulebase;
use crate::store::Store;

/// Incidents that are shown as alike.
const ALIKE: usize = 5;
/// A longer explanation is cut, in characters.
const LONGEST: usize = 8000;

/// Who answers in the conversation of `request`.
pub(super) struct Replier<'r> {
    pub bot: &'r Bot,
    pub project: &'r Project,
    pub request: &'r Request,
}

/// Which incident is meant.
enum Meant {
    This(Box<Record>),
    /// None, or several; said to whoever asked.
    Not(String),
}

impl Replier<'_> {
    /// The answers to `lines`, one below the other.
    pub fn reply(&self, lines: &[String]) -> Result<String, Trouble> {
        let answers = lines.iter().map(|line| self.line(line)).collect::<Result<Vec<String>, Trouble>>()?;
        Ok(answers.join("\n\n"))
    }

    fn words(&self) -> &'static Words {
        words(self.bot.services.language())
    }

    fn line(&self, line: &str) -> Result<String, Trouble> {
        let name = self.bot.config.name.as_str();
        match command::read(line) {
            Ok(Command::Help) => Ok((self.words().help)(name)),
            Ok(Command::Explain(asked)) => {
                let answers = asked.iter().map(|word| self.explain(word)).collect::<Result<Vec<String>, Trouble>>()?;
                Ok(answers.join("\n"))
            }
            Ok(Command::Similar(id)) => self.similar(id),
            Ok(Command::Resolve(resolution)) => self.resolve(resolution),
            Err(command::NoCommand) => {
                Ok(format!("{} {}\n\n{}", code(line), self.words().not_understood, (self.words().help)(name)))
            }
        }
    }

    fn explain(&self, word: &str) -> Result<String, Trouble> {
        let (knowledge, language) = (self.bot.services.knowledge(), self.bot.services.language());
        let unfit = |error: &dyn std::fmt::Display| Trouble::Lasting(error.to_string());
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

    fn similar(&self, id: Option<String>) -> Result<String, Trouble> {
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

    fn resolve(&self, resolution: Resolution) -> Result<String, Trouble> {
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

    /// The incident `id`, without one that of the conversation.
    fn meant(&self, id: Option<String>) -> Result<Meant, Trouble> {
        let id = match id {
            Some(id) => id,
            None => match self.only_one()? {
                Ok(id) => id,
                Err(said) => return Ok(Meant::Not(said)),
            },
        };
        match ask(&*self.bot.services, move |store| Ok::<_, Found>(find(store, &id)?)) {
            Ok(record) => Ok(Meant::This(Box::new(record))),
            Err(Found::History(HistoryError::NotFound { .. })) => Ok(Meant::Not(self.words().not_found.to_owned())),
            Err(Found::History(HistoryError::Ambiguous { known, .. })) => {
                let known: Vec<String> = known.iter().map(|id| code(id)).collect();
                Ok(Meant::Not(format!("{} {}", self.words().which, known.join(", "))))
            }
            Err(Found::History(error)) => Err(error.into()),
            Err(Found::Queue(error)) => Err(error.into()),
        }
    }

    /// The only incident of the conversation; what to say where there is not one.
    fn only_one(&self) -> Result<Result<String, String>, Trouble> {
        let (forge, request) = (self.project.forge, self.request.clone());
        let talk = ask(&*self.bot.services, move |store| talk::of(store, forge, &request))?;
        let known: Vec<(&String, &String)> =
            talk.jobs.iter().flat_map(|(job, ids)| ids.iter().map(move |id| (job, id))).collect();
        Ok(match known.as_slice() {
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

/// Why there is no record.
enum Found {
    History(HistoryError),
    Queue(QueueError),
}

impl From<HistoryError> for Found {
    fn from(error: HistoryError) -> Found {
        Found::History(error)
    }
}

impl From<QueueError> for Found {
    fn from(error: QueueError) -> Found {
        Found::Queue(error)
    }
}
