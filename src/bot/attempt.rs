//! One attempt at a piece of work, a step after the other.
//!
//! A step that can be told from what is there to be done already (a comment by its marker, a check by its id, an incident by its own) is
//! made again when nobody knows whether it was. A message cannot: that it is sent is kept before it is, so that it is never sent twice.

use super::Bot;
use super::answer::{Answer, Reader, Says};
use super::config::Channel;
use super::error::{QueueError, Trouble};
use super::github::GitHubHost;
use super::gitlab::GitLabHost;
use super::host::{Check, Host};
use super::messages::{self, Alert, Message};
use super::queue;
use super::quiet::{self, Telling};
use super::reply::Replier;
use super::services::ask;
use super::talk;
use super::work::{CommentTask, ForgeName, JobTask, Request, StepState, Task, Work, digest};
use crate::report;
use crate::store::Change;
use crate::triage;

/// The step in which the log is read.
const READ: &str = "read";
/// The step in which the requests of a job are looked for.
const REQUESTS: &str = "requests";

/// One attempt at a piece of work.
pub(super) struct Attempt<'b> {
    bot: &'b Bot,
    work: Work,
    /// What may go another time: the first of it, and the longest wish for patience.
    passing: Option<(String, Option<i64>)>,
}

impl<'b> Attempt<'b> {
    pub fn new(bot: &'b Bot, work: Work) -> Attempt<'b> {
        Attempt { bot, work, passing: None }
    }

    /// Does what can be done now.
    pub fn run(mut self) -> Result<(), QueueError> {
        match self.steps() {
            Ok(()) => {}
            Err(Trouble::Queue(error)) => return Err(error),
            Err(Trouble::Passing { words, wish }) => self.wait(words, wish),
            Err(Trouble::Lasting(words)) => self.note("answer", StepState::Refused(words)),
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

    fn steps(&mut self) -> Result<(), Trouble> {
        let host = self.host();
        let done = match self.work.task.clone() {
            Task::Job(job) => host.and_then(|host| self.job(&*host, &job)),
            Task::Comment(comment) => host.and_then(|host| self.comment(&*host, &comment)),
        };
        let was_refused = |words: &str| words.ends_with("status 401");
        if let (Err(Trouble::Passing { words, .. }), _) | (_, Some((words, _))) = (&done, &self.passing)
            && was_refused(words)
        {
            self.bot.logins.forget();
        }
        done
    }

    fn host(&self) -> Result<Box<dyn Host>, Trouble> {
        let Bot { config, logins, services, .. } = self.bot;
        let not_set_up = || Trouble::Lasting("its forge is set up no longer".to_owned());
        let project = &self.work.project;
        Ok(match project.forge {
            ForgeName::GitHub => {
                let config = config.github.as_ref().ok_or_else(not_set_up)?;
                Box::new(GitHubHost::of(config, logins, project, services.now())?)
            }
            ForgeName::GitLab => Box::new(GitLabHost::of(config.gitlab.as_ref().ok_or_else(not_set_up)?, project)?),
        })
    }

    fn job(&mut self, host: &dyn Host, job: &JobTask) -> Result<(), Trouble> {
        let Some(answer) = self.answer(host, job)? else { return Ok(()) };
        let work = self.work.clone();
        let is_overtaken = ask(&*self.bot.services, move |store| queue::is_overtaken(store, &work))?;
        match &answer.says {
            Says::Nothing => Ok(()),
            Says::Passed if is_overtaken => Ok(()),
            Says::Passed => self.for_each_request(&answer.requests, |this, request| this.solve(host, &answer, request)),
            Says::Failed { comment, alerts, incidents } => {
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

    /// What there is to say, as it was found out before or is now; `None` where that cannot be.
    fn answer(&mut self, host: &dyn Host, job: &JobTask) -> Result<Option<Answer>, Trouble> {
        if self.work.step(READ) == Some(&StepState::Done) {
            let id = self.work.id();
            return Ok(ask(&*self.bot.services, move |store| queue::reply(store, &id))?);
        }
        let Bot { config, services, .. } = self.bot;
        let attempts = self.work.attempts;
        let reader = Reader { config, services: &**services, host, project: &self.work.project, attempts };
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
        act: impl Fn(&mut Self, &Request) -> Result<Vec<Change>, Trouble>,
    ) -> Result<(), Trouble> {
        requests.iter().try_for_each(|request| {
            self.step(&format!("comment {} {}", request.project, request.number), |this| act(this, request))
        })
    }

    /// Makes a step that may be made twice, where it is not made. What goes wrong with it keeps no other from being made.
    fn step(&mut self, name: &str, act: impl FnOnce(&mut Self) -> Result<Vec<Change>, Trouble>) -> Result<(), Trouble> {
        if matches!(self.work.step(name), Some(StepState::Done | StepState::Refused(_))) {
            return Ok(());
        }
        let beside = match act(self) {
            Ok(beside) => {
                self.note(name, StepState::Done);
                beside
            }
            Err(Trouble::Lasting(why)) => {
                self.note(name, StepState::Refused(why));
                Vec::new()
            }
            Err(Trouble::Passing { words, wish }) => {
                self.wait(format!("{name}: {words}"), wish);
                return Ok(());
            }
            Err(error @ Trouble::Queue(_)) => return Err(error),
        };
        Ok(self.save(beside)?)
    }

    /// Says `text` in the one comment of the job.
    fn say(
        &mut self,
        host: &dyn Host,
        answer: &Answer,
        text: &str,
        incidents: &[String],
        request: &Request,
    ) -> Result<Vec<Change>, Trouble> {
        triage::say(&*host.conversation(request)?, &triage::marker(&answer.name), text)?;
        let forge = self.work.project.forge;
        let (request, name, incidents) = (request.clone(), answer.name.clone(), incidents.to_vec());
        let now = self.bot.services.now();
        let about = move |store: &mut dyn crate::store::Store| {
            talk::about(store, forge, &request, &name, &incidents, now).map(|change| vec![change])
        };
        Ok(ask(&*self.bot.services, about)?)
    }

    /// Marks the comment of the job, if there is one, as solved.
    fn solve(&mut self, host: &dyn Host, answer: &Answer, request: &Request) -> Result<Vec<Change>, Trouble> {
        let Answer { name, page, commit, .. } = answer;
        let (text, summary) = report::solved(page.as_deref(), Some(commit), self.bot.services.language());
        triage::solve(&*host.conversation(request)?, &triage::marker(name), &text, summary)?;
        Ok(Vec::new())
    }

    fn check(&self, host: &dyn Host, answer: &Answer, text: &str, alerts: &[Alert]) -> Result<(), Trouble> {
        let Answer { name, commit, page, .. } = answer;
        let title = alerts.first().map(|alert| alert.title.as_str()).unwrap_or_default();
        let id = digest(&[&self.work.project.name, commit, name]);
        let called = format!("oomdoc: {name}");
        host.check(&Check { name: &called, commit, id: &id, title, summary: text, page: page.as_deref() })
    }

    /// Sends a message, at most once.
    fn message(&mut self, step: &str, channel: &Channel, alert: &Alert) -> Result<(), Trouble> {
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
            let (state, more, change) = match quiet::telling(store, &name, &group, &id, quiet, now)? {
                Telling::Tell(more, change) => (StepState::Begun, Some(more), change),
                Telling::Count(change) => (StepState::Done, None, change),
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
            Err(Trouble::Lasting(why)) => self.note(step, StepState::Refused(why)),
            Err(Trouble::Passing { words, wish }) => {
                self.work.steps.remove(step);
                self.wait(format!("{step}: {words}"), wish);
            }
            Err(error @ Trouble::Queue(_)) => return Err(error),
        }
        Ok(self.save(Vec::new())?)
    }

    /// Answers a comment.
    fn comment(&mut self, host: &dyn Host, comment: &CommentTask) -> Result<(), Trouble> {
        self.step("reply", |this| {
            // Whoever may not write is answered with silence.
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
