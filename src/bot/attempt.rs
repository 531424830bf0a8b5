//! One attempt at a piece of work, step by step.
//!
//! A step whose effect can be found again (a comment by its marker, a check by its id, an incident by its own) is
//! simply repeated after a crash. A chat message cannot be found again, so its step is recorded before it is sent, and
//! it is never sent twice.

use super::Bot;
use super::answer::{Answer, JobReader, JobVerdict};
use super::config::Channel;
use super::conversation;
use super::error::{QueueError, StepError};
use super::github::GitHubHost;
use super::gitlab::GitLabHost;
use super::host::{Check, Host};
use super::messages::{self, Alert, Message};
use super::queue;
use super::quiet::{self, Decision};
use super::reply::Replier;
use super::services::ask;
use super::work::{CommentTask, ForgeName, JobTask, Request, StepState, Task, Work, digest};
use crate::report;
use crate::store::Change;
use crate::triage;

/// The step that reads the log.
const READ: &str = "read";
/// The step that determines the requests of a job.
const REQUESTS: &str = "requests";

/// One attempt at a piece of work.
pub(super) struct Attempt<'b> {
    bot: &'b Bot,
    work: Work,
    /// The first temporary failure of this attempt, and the longest wait that a server asked for, in milliseconds.
    passing: Option<(String, Option<i64>)>,
}

impl<'b> Attempt<'b> {
    pub fn new(bot: &'b Bot, work: Work) -> Attempt<'b> {
        Attempt { bot, work, passing: None }
    }

    /// Does every step that is not done yet, then finishes the work, puts it off or gives it up.
    pub fn run(mut self) -> Result<(), QueueError> {
        match self.steps() {
            Ok(()) => {}
            Err(StepError::Queue(error)) => return Err(error),
            Err(StepError::Temporary { words, wish }) => self.wait(words, wish),
            Err(StepError::Permanent(words)) => self.note("answer", StepState::Refused(words)),
        }
        let Attempt { bot, mut work, passing } = self;
        let now = bot.services.now();
        let refused: Vec<String> = work.refused().collect();
        if let Some((words, wish)) = passing {
            tracing::warn!(work = work.id(), attempts = work.attempts, error = words, "put off");
            return ask(&*bot.services, move |store| queue::put_off(store, work, &words, wish, now, Vec::new()));
        }
        if !refused.is_empty() {
            tracing::warn!(work = work.id(), error = refused.join("; "), "given up");
            work.error = Some(refused.join("; "));
            return ask(&*bot.services, move |store| queue::bury(store, work, Vec::new()));
        }
        ask(&*bot.services, move |store| queue::finish(store, &work, now))
    }

    fn steps(&mut self) -> Result<(), StepError> {
        let host = self.host();
        let done = match self.work.task.clone() {
            Task::Job(job) => host.and_then(|host| self.job(&*host, &job)),
            Task::Comment(comment) => host.and_then(|host| self.comment(&*host, &comment)),
        };
        let was_refused = |words: &str| words.ends_with("status 401");
        if let (Err(StepError::Temporary { words, .. }), _) | (_, Some((words, _))) = (&done, &self.passing)
            && was_refused(words)
        {
            self.bot.logins.forget();
        }
        done
    }

    fn host(&self) -> Result<Box<dyn Host>, StepError> {
        let Bot { config, logins, services, .. } = self.bot;
        let not_set_up = || StepError::Permanent("its forge is set up no longer".to_owned());
        let project = &self.work.project;
        Ok(match project.forge {
            ForgeName::GitHub => {
                let config = config.github.as_ref().ok_or_else(not_set_up)?;
                Box::new(GitHubHost::of(config, logins, project, services.now())?)
            }
            ForgeName::GitLab => Box::new(GitLabHost::of(config.gitlab.as_ref().ok_or_else(not_set_up)?, project)?),
        })
    }

    fn job(&mut self, host: &dyn Host, job: &JobTask) -> Result<(), StepError> {
        let Some(answer) = self.answer(host, job)? else { return Ok(()) };
        let work = self.work.clone();
        let is_overtaken = ask(&*self.bot.services, move |store| queue::is_overtaken(store, &work))?;
        match &answer.says {
            JobVerdict::Nothing => Ok(()),
            JobVerdict::Passed if is_overtaken => Ok(()),
            JobVerdict::Passed => {
                self.for_each_request(&answer.requests, |this, request| this.solve(host, &answer, request))
            }
            JobVerdict::Failed { comment, alerts, incidents } => {
                if !is_overtaken {
                    self.for_each_request(&answer.requests, |this, request| {
                        this.say(host, &answer, comment, incidents, request)
                    })?;
                    self.step("check", |this| {
                        this.check(host, &answer, comment, alerts)?;
                        Ok(Vec::new())
                    })?;
                }
                for channel in &self.bot.config.channels {
                    if channel.hears_of(&self.work.project.title) {
                        for (number, alert) in alerts.iter().enumerate() {
                            self.message(&format!("message {} {number}", channel.name), channel, alert)?;
                        }
                    }
                }
                Ok(())
            }
        }
    }

    /// What to say about the job: as an earlier attempt found out, or by reading the log now. `None` where the earlier
    /// answer is gone from the store.
    fn answer(&mut self, host: &dyn Host, job: &JobTask) -> Result<Option<Answer>, StepError> {
        if self.work.step(READ) == Some(&StepState::Done) {
            let id = self.work.id();
            return Ok(ask(&*self.bot.services, move |store| queue::reply(store, &id))?);
        }
        let Bot { config, services, .. } = self.bot;
        let attempts = self.work.attempts;
        let reader = JobReader { config, services: &**services, host, project: &self.work.project, attempts };
        let answer = reader.read(job)?;
        self.note(READ, StepState::Done);
        if let Some(why) = &answer.untold {
            self.note(REQUESTS, StepState::Refused(why.clone()));
        }
        let (work, kept) = (self.work.clone(), answer.clone());
        ask(&*self.bot.services, move |store| queue::progress(store, &work, Some(&kept), Vec::new()))?;
        Ok(Some(answer))
    }

    fn for_each_request(
        &mut self,
        requests: &[Request],
        act: impl Fn(&mut Self, &Request) -> Result<Vec<Change>, StepError>,
    ) -> Result<(), StepError> {
        requests.iter().try_for_each(|request| {
            self.step(&format!("comment {} {}", request.project, request.number), |this| act(this, request))
        })
    }

    /// Does the repeatable step `name` unless it is done or was refused. Its failure is recorded and does not keep
    /// later steps from being done.
    fn step(
        &mut self,
        name: &str,
        act: impl FnOnce(&mut Self) -> Result<Vec<Change>, StepError>,
    ) -> Result<(), StepError> {
        if matches!(self.work.step(name), Some(StepState::Done | StepState::Refused(_))) {
            return Ok(());
        }
        let beside = match act(self) {
            Ok(beside) => {
                self.note(name, StepState::Done);
                beside
            }
            Err(StepError::Permanent(why)) => {
                self.note(name, StepState::Refused(why));
                Vec::new()
            }
            Err(StepError::Temporary { words, wish }) => {
                self.wait(format!("{name}: {words}"), wish);
                return Ok(());
            }
            Err(error @ StepError::Queue(_)) => return Err(error),
        };
        Ok(self.save(beside)?)
    }

    /// Writes `text` into the job's comment on `request`.
    fn say(
        &mut self,
        host: &dyn Host,
        answer: &Answer,
        text: &str,
        incidents: &[String],
        request: &Request,
    ) -> Result<Vec<Change>, StepError> {
        triage::say(&*host.conversation(request)?, &triage::marker(&answer.name), text)?;
        let forge = self.work.project.forge;
        let (request, name, incidents) = (request.clone(), answer.name.clone(), incidents.to_vec());
        let now = self.bot.services.now();
        let about = move |store: &mut dyn crate::store::Store| {
            conversation::set_incidents(store, forge, &request, &name, &incidents, now).map(|change| vec![change])
        };
        Ok(ask(&*self.bot.services, about)?)
    }

    /// Marks the job's comment on `request` as solved, if there is one.
    fn solve(&mut self, host: &dyn Host, answer: &Answer, request: &Request) -> Result<Vec<Change>, StepError> {
        let Answer { name, page, commit, .. } = answer;
        let (text, summary) = report::solved(page.as_deref(), Some(commit), self.bot.services.language());
        triage::solve(&*host.conversation(request)?, &triage::marker(name), &text, summary)?;
        Ok(Vec::new())
    }

    fn check(&self, host: &dyn Host, answer: &Answer, text: &str, alerts: &[Alert]) -> Result<(), StepError> {
        let Answer { name, commit, page, .. } = answer;
        let title = alerts.first().map(|alert| alert.title.as_str()).unwrap_or_default();
        let id = digest(&[&self.work.project.name, commit, name]);
        let called = format!("oomdoc: {name}");
        host.check(&Check { name: &called, commit, id: &id, title, summary: text, page: page.as_deref() })
    }

    /// Sends an alert to a channel, at most once.
    fn message(&mut self, step: &str, channel: &Channel, alert: &Alert) -> Result<(), StepError> {
        match self.work.step(step) {
            Some(StepState::Done | StepState::Refused(_)) => return Ok(()),
            Some(StepState::Begun) => {
                tracing::warn!(work = self.work.id(), step, "whether this message was sent is not known");
                self.note(step, StepState::Done);
                return Ok(self.save(Vec::new())?);
            }
            None => {}
        }
        let (now, quiet) = (self.bot.services.now(), channel.quiet().as_millis() as i64);
        let (name, group, id) = (channel.name.clone(), alert.group.clone(), self.work.id());
        let (mut work, key) = (self.work.clone(), step.to_owned());
        let more = ask(&*self.bot.services, move |store| {
            let (state, more, change) = match quiet::decide(store, &name, &group, &id, quiet, now)? {
                Decision::Tell(more, change) => (StepState::Begun, Some(more), change),
                Decision::Count(change) => (StepState::Done, None, change),
            };
            work.steps.insert(key, state);
            queue::progress(store, &work, None::<&()>, vec![change])?;
            Ok::<_, QueueError>(more)
        })?;
        let Some(more) = more else {
            self.note(step, StepState::Done);
            return Ok(());
        };
        let message = Message { alert, more, language: self.bot.services.language() };
        match messages::send(channel, &message, now) {
            Ok(()) => self.note(step, StepState::Done),
            Err(StepError::Permanent(why)) => self.note(step, StepState::Refused(why)),
            Err(StepError::Temporary { words, wish }) => {
                self.work.steps.remove(step);
                self.wait(format!("{step}: {words}"), wish);
            }
            Err(error @ StepError::Queue(_)) => return Err(error),
        }
        Ok(self.save(Vec::new())?)
    }

    /// Replies to a comment.
    fn comment(&mut self, host: &dyn Host, comment: &CommentTask) -> Result<(), StepError> {
        self.step("reply", |this| {
            // An author without write access gets no reply at all.
            if !host.may_write(&comment.author)? {
                return Ok(Vec::new());
            }
            let replier = Replier { bot: this.bot, project: &this.work.project, request: &comment.request };
            let text = replier.reply(&comment.lines)?;
            let marker = triage::marker(&format!("reply {} {}", comment.sort, comment.number));
            triage::say(&*host.conversation(&comment.request)?, &marker, &text)?;
            Ok(Vec::new())
        })
    }

    fn note(&mut self, step: &str, state: StepState) {
        self.work.steps.insert(step.to_owned(), state);
    }

    fn wait(&mut self, words: String, wish: Option<i64>) {
        self.passing = Some(match self.passing.take() {
            Some((first, before)) => (first, before.max(wish)),
            None => (words, wish),
        });
    }

    fn save(&self, beside: Vec<Change>) -> Result<(), QueueError> {
        let work = self.work.clone();
        ask(&*self.bot.services, move |store| queue::progress(store, &work, None::<&()>, beside))
    }
}
