//! `oomdoc run` on Linux: records a command, reports on its end, and runs it again with the proposed change.

use std::fs::{self, File};
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use super::Run;
use crate::Options;
use crate::attempt::{self, AttemptEnd, ChangedJob, Launched, PreviousAttempt};
use crate::cli::error::CliError;
use crate::cli::home::{Home, warn};
use crate::cli::printing::{self, without_ci_commands};
use crate::cli::save;
use crate::history::{self, Outcome, Record};
use crate::jobs::Grouping;
use crate::knowledge::{Knowledge, Language, Progress};
use crate::model::{Bytes, Kind, Report};
use crate::recorder::{Names, Peak, Plan, RecordingEnd, Subject, end_rest, record};
use crate::redact::Redactor;
use crate::report::{self, Length};
use crate::when::Calendar;

/// The files of an attempt.
struct Files {
    log: Option<PathBuf>,
    record: PathBuf,
    /// The command as a script.
    command: PathBuf,
}

impl Files {
    /// The files of the attempt with this number: `job.log`, `job-2.log`.
    fn of(first: &Files, attempt: u32) -> Files {
        let numbered = |path: &PathBuf| match (attempt, path.file_stem()) {
            (2.., Some(stem)) => {
                let end = path.extension().map(|end| format!(".{}", end.to_string_lossy())).unwrap_or_default();
                path.with_file_name(format!("{}-{attempt}{end}", stem.to_string_lossy()))
            }
            _ => path.clone(),
        };
        Files {
            log: first.log.as_ref().map(numbered),
            record: numbered(&first.record),
            command: numbered(&first.command),
        }
    }
}

/// Exit statuses of a command that was told to end by HUP, INT or TERM.
const ENDED_BY_SIGNAL: [u8; 3] = [129, 130, 143];

/// What all attempts share.
struct Attempts<'r> {
    run: &'r Run,
    home: &'r Home,
    redactor: Redactor,
    rank: Option<u32>,
    /// The job's identity, computed on the first attempt.
    job: Option<String>,
}

/// The report on an attempt.
struct Concluded {
    report: Report,
    /// The command's file name in the report.
    script: String,
}

impl Run {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let names = Names::of_this_process();
        let first = self.files(&names);
        let folder = std::env::current_dir()?;
        let mut launched = Launched::of(&self.command, &folder).filter(|_| self.attach.is_none());
        let mut attempts = Attempts { run: &self, home, redactor: home.redactor()?, rank: names.rank, job: None };
        let mut subject = match self.attach {
            Some(pid) => Subject::Process(pid),
            None => Subject::Command(self.command.clone(), first.log.clone().map(|log| (log, size(self.log_size)))),
        };
        let mut attempt = 1;
        loop {
            let files = Files::of(&first, attempt);
            let ended = match attempts.record(subject, &files, names.clone()) {
                Ok(ended) => ended,
                Err(error) => {
                    let status = error.status();
                    CliError::Run(error).report();
                    return Ok(ExitCode::from(status));
                }
            };
            let status = ended.status.unwrap_or(0);
            // Errors from here on are not the command's; its status is returned anyway.
            let concluded = attempts.conclude(&files, &ended, launched.as_ref()).unwrap_or_else(|error| {
                error.report();
                None
            });
            // A user who ended the command does not want it restarted.
            let is_ended = ended.is_told_to_end || ENDED_BY_SIGNAL.contains(&status);
            let is_again = attempt <= self.retry && status != 0 && !is_ended;
            let next = concluded.filter(|_| is_again).zip(launched.as_ref());
            let Some(changed) = next.and_then(|(concluded, launched)| attempts.next(&concluded, launched, attempt + 1))
            else {
                return Ok(ExitCode::from(status));
            };
            if !end_rest(ended.group) {
                warn("processes of the last attempt do not end", "end them, and run the command again");
                return Ok(ExitCode::from(status));
            }
            attempt += 1;
            attempts.say_next(&changed, attempt)?;
            let command = ["sh", "-c", changed.launched.script.as_str()].map(Into::into).to_vec();
            let log = Files::of(&first, attempt).log.map(|log| (log, size(self.log_size)));
            (subject, launched) = (Subject::Command(command, log), Some(changed.launched));
        }
    }

    /// The files of the first attempt.
    fn files(&self, names: &Names) -> Files {
        let default = names.log(Path::new(""));
        let log = (!self.no_log && self.attach.is_none()).then(|| self.log.clone().unwrap_or_else(|| default.clone()));
        let beside = || Names::record_beside(log.as_ref().unwrap_or(&default));
        let record = self.record.clone().unwrap_or_else(beside);
        Files { command: record.with_extension("command"), log, record }
    }
}

fn size(size: Bytes) -> u64 {
    u64::try_from(size.0).unwrap_or_default()
}

impl Attempts<'_> {
    fn say_next(&self, changed: &ChangedJob, attempt: u32) -> Result<(), CliError> {
        let (changes, all) = (changed.changes.join("; "), self.run.retry + 1);
        let said = match self.run.lang.language {
            Language::En => format!("attempt {attempt} of {all}, with {changes}"),
            Language::Zh => format!("第 {attempt} 次运行（共 {all} 次），修改：{changes}"),
        };
        let said = format!("\n{said}\n{}\n", changed.diff);
        Ok(anstream::stderr().write_all(without_ci_commands(&self.redactor.text(&said)).as_bytes())?)
    }

    fn record(
        &self,
        subject: Subject,
        files: &Files,
        names: Names,
    ) -> Result<RecordingEnd, crate::recorder::StartError> {
        let mask = |text: &str| self.redactor.text(text).into_owned();
        let interval = Duration::from_secs_f64(self.run.interval);
        let record_to = (files.record.clone(), size(self.run.record_size));
        let ended = record(Plan { subject, record: record_to, interval, names, mask: &mask })?;
        ended.problems.iter().for_each(|problem| warn(problem, "the command was not disturbed"));
        Ok(ended)
    }

    /// Reports on the log and the record, on standard error: standard output belongs to the command.
    fn conclude(
        &mut self,
        files: &Files,
        ended: &RecordingEnd,
        launched: Option<&Launched>,
    ) -> Result<Option<Concluded>, CliError> {
        let Attempts { run, home, redactor, .. } = &*self;
        let (knowledge, experience) = home.knowledge_and_experience()?;
        run.told.check(&knowledge)?;
        let options = Options {
            language: run.lang.language,
            facts: run.told.fact.clone(),
            knowledge: Some(Arc::clone(&knowledge)),
            calendar: Calendar { told: None, clocks: true },
            experience,
            site: home.site(&knowledge)?,
            ..Options::default()
        };
        let status = ended.status.unwrap_or(0);
        let is_written = launched
            .is_some_and(|launched| fs::write(&files.command, redactor.text(&launched.script).as_bytes()).is_ok());
        let own = files.log.iter().chain([&files.record]).chain(Some(&files.command).filter(|_| is_written));
        let named = launched.iter().flat_map(|launched| launched.files.keys().cloned());
        let inputs: Vec<String> = own.map(|path| path.display().to_string()).chain(named).collect();
        let reports = crate::analyze_jobs(&inputs, &options, Grouping::Together)?;
        if is_written && reports.iter().all(|report| report.incidents.is_empty()) {
            // The script is only kept for an incident.
            let _ = fs::remove_file(&files.command);
        }
        let went_well = |report: &Report| report.verdict == Kind::None && status == 0;
        let is_quiet = run.quiet_success && reports.iter().all(went_well);
        if !is_quiet {
            let text = report::text_of_jobs(&reports, run.lang.language, Length::Screen, printing::width());
            anstream::stderr().write_all(without_ci_commands(&text).as_bytes())?;
        }
        let Some(report) = reports.into_iter().next() else { return Ok(None) };
        if !run.no_save {
            save::save(&report::outgoing(&report, redactor).0, Default::default(), redactor, home);
            if let Some(launched) = launched {
                self.learn(launched, &report, files, ended, &knowledge, is_quiet)?;
            }
        }
        let script = files.command.display().to_string();
        Ok(Some(Concluded { report, script }))
    }

    /// Judges the change made since the previous attempt, and keeps this attempt for the next one to judge.
    fn learn(
        &mut self,
        launched: &Launched,
        report: &Report,
        files: &Files,
        ended: &RecordingEnd,
        knowledge: &Knowledge,
        is_quiet: bool,
    ) -> Result<(), CliError> {
        // Computed once: copies of the job's files must not change its identity.
        let job = self.job.get_or_insert_with(|| launched.job(&knowledge.knobs)).clone();
        let Attempts { home, redactor, rank, .. } = &*self;
        let (path, rank) = (home.path()?, *rank);
        let before = PreviousAttempt::find(&path, &job, rank);
        if before.is_none() && report.verdict == Kind::None {
            // There is no change to judge and no incident to keep.
            return Ok(());
        }
        let log = files.log.as_ref().and_then(|log| File::open(log).ok());
        let reached = log.map(|log| attempt::reached(BufReader::new(log), Progress::shipped())).transpose()?;
        let mut settings = launched.settings(&knowledge.knobs);
        settings.values_mut().for_each(|value| *value = redactor.text(value).into_owned());
        let peak = seen(ended.peak);
        let mut outcomes = Vec::new();
        if let Some(before) = &before {
            let status = ended.status.unwrap_or(0);
            let ending = AttemptEnd { report, status, settings: &settings, reached: reached.as_ref(), peak };
            outcomes = attempt::judge(before, &ending);
        }
        for outcome in &mut outcomes {
            redactor.mask(outcome);
            history::put_outcome(&path, outcome)?;
        }
        if !outcomes.is_empty() {
            save::drain(&path, &home.settings);
        }
        if !is_quiet {
            self.tell(&outcomes)?;
        }
        let is_over = ended.status == Some(0) || !outcomes.is_empty();
        // A kill by an unknown process says nothing about the change, so the previous attempt stays.
        let is_open = report.verdict == Kind::SigkillUnattributed && before.is_some();
        match Record::of(report, redactor)?.filter(|_| report.verdict != Kind::None && !is_open) {
            Some(record) => PreviousAttempt::of(&record, settings, reached, peak).keep(&path, &job, rank)?,
            None if is_over => PreviousAttempt::forget(&path, &job, rank),
            None => {}
        }
        Ok(())
    }

    fn tell(&self, outcomes: &[Outcome]) -> Result<(), CliError> {
        for Outcome { change, worked, incident, peak, .. } in outcomes {
            let memory = peak.iter().flat_map(|peak| peak.descriptions()).collect::<Vec<String>>().join(", ");
            let memory = if memory.is_empty() { memory } else { format!(" ({memory})") };
            let said = match (self.run.lang.language, worked) {
                (Language::En, true) => format!("{change} worked{memory}; kept with incident {incident}"),
                (Language::En, false) => format!("{change} failed{memory}; kept with incident {incident}"),
                (Language::Zh, true) => format!("{change} 有效{memory}；已记入事故 {incident}"),
                (Language::Zh, false) => format!("{change} 无效{memory}；已记入事故 {incident}"),
            };
            anstream::stderr().write_all(without_ci_commands(&format!("\n{said}\n")).as_bytes())?;
        }
        Ok(())
    }

    /// The job with the proposed change; if there is none, prints why.
    fn next(&self, concluded: &Concluded, launched: &Launched, attempt: u32) -> Option<ChangedJob> {
        let Concluded { report, script } = concluded;
        if report.verdict == Kind::None {
            return None;
        }
        match attempt::change(launched, script, report, attempt) {
            Ok(changed) => Some(changed),
            Err(error) => {
                CliError::Retry(error).report();
                None
            }
        }
    }
}

fn seen(Peak { host, gpu }: Peak) -> history::Peak {
    let bytes = |bytes: u64| Some(Bytes(bytes.into())).filter(|bytes| bytes.0 > 0);
    history::Peak { gpu: gpu.and_then(bytes), host: bytes(host) }
}
