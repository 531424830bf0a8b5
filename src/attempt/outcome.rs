//! What an attempt shows about the changes that the report on the previous one proposed.

use std::collections::BTreeMap;

use super::previous::{PreviousAttempt, Proposal};
use super::progress::is_beyond;
use crate::config::Value;
use crate::history::{Outcome, Peak, PeakChange, now};
use crate::knowledge::{is_end, is_named};
use crate::model::{Change, Kind, Phase, Report, Scalar};
use crate::parse::granted;

/// How an attempt ended.
pub struct AttemptEnd<'a> {
    /// The report on the attempt's log and record.
    pub report: &'a Report,
    /// Its exit status.
    pub status: u8,
    /// Its settings.
    pub settings: &'a BTreeMap<String, String>,
    /// The largest number of each kind of progress line; `None` where there is no log.
    pub reached: Option<&'a BTreeMap<String, f64>>,
    /// The most memory that it used.
    pub peak: Peak,
}

/// The outcomes of those proposed changes of `before` that were made. Changes are left out on which the attempt ended
/// too early to judge.
pub fn judge(before: &PreviousAttempt, ending: &AttemptEnd<'_>) -> Vec<Outcome> {
    let made = before.proposals.iter().filter(|proposal| is_made(proposal, &before.settings, ending.settings));
    let told = |proposal: &Proposal| {
        let worked = went_on(before, proposal, ending)?;
        let peak = PeakChange { before: before.peak, after: ending.peak };
        Some(Outcome { worked, time: now(), peak: Some(peak), ..proposal.outcome.clone() })
    };
    made.filter_map(told).collect()
}

/// Whether the job got past the point at which it had run out of memory; `None` where that cannot be told.
fn went_on(before: &PreviousAttempt, proposal: &Proposal, ending: &AttemptEnd<'_>) -> Option<bool> {
    let (kind, phase) = (proposal.outcome.kind, proposal.outcome.phase);
    let is_the_same = |again: (Kind, Phase)| again == (kind, phase);
    let again = ending.report.incidents.first().filter(|_| ending.report.verdict != Kind::None);
    match again.map(|incident| (incident.kind, incident.phase.name)) {
        Some(again) if is_the_same(again) => Some(false),
        None if ending.status == 0 => Some(true),
        // It ended otherwise: if that was later than before, the change worked.
        _ => is_beyond(ending.reached?, before.reached.as_ref()?).filter(|is_beyond| *is_beyond),
    }
}

/// Whether a setting was changed in the direction that `proposal` says, no matter how far.
fn is_made(proposal: &Proposal, before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> bool {
    let knob = proposal.outcome.knob.as_str();
    let value = |settings: &BTreeMap<String, String>| {
        let own = settings.iter().find(|(key, _)| is_named(knob, key) || is_end(knob, key));
        own.map(|(_, value)| value.clone())
    };
    let (old, new) = (value(before), value(now));
    if old == new {
        return false;
    }
    let number = |text: &Option<String>| text.as_deref().and_then(amount);
    let turned = match (number(&old), number(&new)) {
        (Some(old), Some(new)) => Some(new - old),
        _ => None,
    };
    match (&proposal.to, &proposal.change) {
        (Some(Scalar::Flag(false)), _) if new.is_none() => true,
        (Some(to), _) => {
            let is_it = new.as_deref().map(Value::of_word) == Some(Value::of_word(&to.to_string()));
            let towards = amount(&to.to_string()).zip(number(&old)).map(|(to, old)| to - old);
            is_it || towards.zip(turned).is_some_and(|(towards, turned)| towards * turned > 0.0)
        }
        (None, Some(Change::Times(factor))) => turned.is_some_and(|turned| (factor - 1.0) * turned > 0.0),
        (None, Some(Change::Add(amount))) => turned.is_some_and(|turned| amount * turned > 0.0),
        (None, Some(Change::AtLeast(least))) => {
            let is_enough = amount(&least.to_string()).zip(number(&new)).is_some_and(|(least, new)| new >= least);
            is_enough || turned.is_some_and(|turned| turned > 0.0)
        }
        (None, None) => false,
    }
}

/// A number, or an amount of memory in bytes.
fn amount(text: &str) -> Option<f64> {
    Value::of_word(text).as_number().or_else(|| granted(text).map(|bytes| bytes.0 as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Record;
    use crate::redact::Redactor;
    use crate::{Options, analyze};

    type Told = Result<(), Box<dyn std::error::Error>>;

    fn settings(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        all.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn reached(step: f64) -> BTreeMap<String, f64> {
        BTreeMap::from([("step".to_owned(), step)])
    }

    #[test]
    fn a_change_worked_if_the_job_got_past_its_end() -> Told {
        let died = analyze(&["corpus/llama3-8b-optimizer-step"], &Options::default())?;
        let record = Record::of(&died, &Redactor::new(&[])?)?.ok_or("no incident")?;
        let offload = report_change(&died).ok_or("no patch")?;
        let before = PreviousAttempt::of(&record, settings(&[]), Some(reached(4.0)), Peak::default());
        let well = analyze(&["corpus/deepspeed-healthy"], &Options::default())?;
        let changed = settings(&[(offload.trim_start_matches('-'), "true")]);
        let judged = |report: &Report, status, settings: &BTreeMap<String, String>, step| {
            let ending = AttemptEnd { report, status, settings, reached: Some(&reached(step)), peak: Peak::default() };
            judge(&before, &ending).into_iter().map(|outcome| outcome.worked).collect::<Vec<bool>>()
        };
        assert_eq!(judged(&well, 0, &changed, 9.0), [true]);
        assert_eq!(judged(&died, 1, &changed, 9.0), [false], "it died of the same");
        assert_eq!(judged(&well, 1, &changed, 9.0), [true], "it failed of something else, later");
        assert_eq!(judged(&well, 1, &changed, 4.0), [] as [bool; 0], "it failed before it could tell");
        assert_eq!(judged(&well, 0, &settings(&[]), 9.0), [] as [bool; 0], "nothing was changed");
        Ok(())
    }

    fn report_change(report: &Report) -> Option<String> {
        Some(report.incidents.first()?.diagnoses.first()?.patches.first()?.knob.clone())
    }

    #[test]
    fn a_setting_counts_if_it_was_turned_as_advised() -> Told {
        let died = analyze(&["corpus/llama3-8b-optimizer-step"], &Options::default())?;
        let record = Record::of(&died, &Redactor::new(&[])?)?.ok_or("no incident")?;
        let outcome = Outcome::of_knob(&record, "--micro_train_batch_size", false);
        let advised = |to: Option<Scalar>, change| Proposal { outcome: outcome.clone(), to, change };
        let made = |proposal: &Proposal, old: &str, new: &str| {
            is_made(
                proposal,
                &settings(&[("micro_train_batch_size", old)]),
                &settings(&[("micro_train_batch_size", new)]),
            )
        };
        let to_two = advised(Some(Scalar::Integer(2)), None);
        assert!(made(&to_two, "8", "2") && made(&to_two, "8", "4") && !made(&to_two, "8", "16"));
        let half = advised(None, Some(Change::Times(0.5)));
        assert!(made(&half, "8", "4") && !made(&half, "8", "9") && !made(&half, "8", "8"));
        let larger = advised(None, Some(Change::AtLeast(Scalar::Text("16g".into()))));
        assert!(made(&larger, "8g", "16g") && made(&larger, "8g", "12g") && !made(&larger, "16g", "8g"));
        assert!(!is_made(&larger, &settings(&[("micro_train_batch_size", "8g")]), &settings(&[])));
        let mode = advised(Some(Scalar::Text("cpu".into())), None);
        assert!(made(&mode, "none", "cpu") && !made(&mode, "none", "nvme"));
        Ok(())
    }
}
