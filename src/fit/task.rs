use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::exhibit::Exhibit;
use super::solve::{Answer, Numbers, Penalty, Question, solve};
use crate::diagnosis::{NOT_KNOWING, Scene, holding, likely};
use crate::knowledge::{Knowledge, Learned, Weights, WordRow};
use crate::model::{Phase, PhaseFinding};
use crate::signals::Signals;

/// The fewest origins that must show a signal: otherwise it characterises a program, not a cause.
const FEWEST_ORIGINS: usize = 4;
/// Signals that are not weighed for phases. Words far from the message say little and are many; signs already vote,
/// which weighs them; names that are the user's own keep their written weights, since they mean different things in
/// different programs.
const NOT_OF_PHASES: &[&str] = &["around:", "sign:", "seen:", "own:"];
/// Signals that are weighed for causes. Words did not improve the score on left-out repositories.
const OF_CAUSES: &[&str] = &["level:", "fact:", "phase:", "stack:", "role:"];
/// The share of the truth that the label itself gets; other acceptable answers share the rest.
const LABEL: f64 = 0.6;
/// The penalty for phases, chosen on left-out repositories that no rule had been written for, then doubled, because
/// excerpts teach patterns that only reflect their shortness.
const PENALTY_PHASES: Penalty = Penalty { bias: 20.0, vote: 200.0, signal: 22.0, label: 1.0 };
/// The penalty for causes, whose rules say more than words do.
const PENALTY_CAUSES: Penalty = Penalty { bias: 10.0, vote: 30.0, signal: 30.0, label: 0.25 };

/// One kind of question, asked of every exhibit.
pub(super) struct Task {
    questions: Vec<Question>,
    groups: Vec<String>,
    answers: Vec<Arc<str>>,
    votes: Vec<Arc<str>>,
    signals: Vec<String>,
    /// The weights that people wrote.
    start: Numbers,
    penalty: Penalty,
}

/// Numbers names in the order of their first use.
#[derive(Default)]
struct Names {
    numbers: BTreeMap<String, usize>,
}

impl Names {
    fn number(&mut self, name: &str) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(name.to_owned()).or_insert(next)
    }

    fn in_order(self) -> Vec<String> {
        let mut names: Vec<(String, usize)> = self.numbers.into_iter().collect();
        names.sort_by_key(|(_, number)| *number);
        names.into_iter().map(|(name, _)| name).collect()
    }
}

impl Task {
    /// The question which phase it was.
    pub fn of_phases(exhibits: &[Exhibit], written: &[WordRow]) -> Task {
        let answers: Vec<Arc<str>> = Phase::ALL.iter().map(|phase| Arc::from(phase.as_str())).collect();
        let (mut votes, mut signals) = (Names::default(), Names::default());
        let common = common(exhibits, |name| !begins(name, NOT_OF_PHASES));
        let questions = exhibits.iter().map(|exhibit| {
            let truth = |phase: &Phase| truth(&exhibit.phases, phase);
            let mut answers: Vec<Answer> = Phase::ALL
                .iter()
                .enumerate()
                .map(|(answer, phase)| {
                    let written = if *phase == Phase::Unknown { NOT_KNOWING } else { 0.0 };
                    Answer { answer, truth: truth(phase), written, ..Answer::default() }
                })
                .collect();
            for (name, phase, written) in &exhibit.votes {
                let of_phase = Phase::ALL.iter().position(|known| known == phase).unwrap_or(0);
                answers[of_phase].written += written;
                answers[of_phase].votes.push((votes.number(name), 1.0));
            }
            let signals = numbered(&exhibit.signals, &common, &mut signals);
            Question { answers, signals, weight: exhibit.weight }
        });
        let questions = questions.collect();
        let written = Weights::of_phases(written);
        Task::new(questions, exhibits, answers, votes, signals, &written, PENALTY_PHASES)
    }

    /// The question which cause it was, given the shares of all phases.
    pub fn of_causes(exhibits: &[Exhibit], phases: &[Vec<f64>], knowledge: &Knowledge) -> Task {
        let answers: BTreeSet<Arc<str>> = knowledge.causes.iter().map(|rule| rule.cause.clone()).collect();
        let answers: Vec<Arc<str>> = answers.into_iter().collect();
        let (mut votes, mut signals) = (Names::default(), Names::default());
        let common = common(exhibits, |name| begins(name, OF_CAUSES));
        let (nothing, unweighed) = (Signals::default(), Weights::default());
        let questions = exhibits.iter().zip(phases).map(|(exhibit, shares)| {
            let finding = finding(shares);
            let scene = Scene::new(&exhibit.facts, &likely(&finding), &nothing, &unweighed);
            let held = holding(&knowledge.causes, exhibit.kind, &scene, &mut Vec::new());
            let possible: Vec<String> = held.iter().map(|(rule, _)| rule.cause.to_string()).collect();
            let right: Vec<String> = exhibit.causes.iter().filter(|cause| possible.contains(cause)).cloned().collect();
            let of_answers = held.into_iter().map(|(rule, rows)| {
                let as_many = possible.iter().filter(|cause| **cause == *rule.cause).count().max(1);
                Answer {
                    answer: answers.iter().position(|cause| *cause == rule.cause).unwrap_or(0),
                    written: rule.prior + rows.iter().map(|(row, _, share)| row.log_odds * share).sum::<f64>(),
                    votes: rows.iter().map(|(_, name, share)| (votes.number(name), *share)).collect(),
                    truth: truth(&right, &rule.cause.to_string()) / as_many as f64,
                }
            });
            let of_answers = of_answers.collect();
            let mut shown = numbered(&exhibit.signals, &common, &mut signals);
            for (phase, share) in likely(&finding) {
                shown.push((signals.number(&format!("phase:{phase}")), share));
            }
            Question { answers: of_answers, signals: shown, weight: exhibit.weight }
        });
        let questions = questions.collect();
        let written = Weights::of_causes(&knowledge.ranking.written);
        Task::new(questions, exhibits, answers, votes, signals, &written, PENALTY_CAUSES)
    }

    fn new(
        questions: Vec<Question>,
        exhibits: &[Exhibit],
        answers: Vec<Arc<str>>,
        votes: Names,
        mut signals: Names,
        written: &Weights,
        penalty: Penalty,
    ) -> Task {
        let of_people = written.of_people();
        of_people.keys().for_each(|name| {
            signals.number(name);
        });
        let votes: Vec<Arc<str>> = votes.in_order().into_iter().map(Arc::from).collect();
        let mut start = Numbers::new(answers.len(), votes.len(), signals.numbers.len());
        for (name, weights) in of_people {
            let signal = signals.number(name);
            for (answer, weight) in weights {
                if let Some(answer) = answers.iter().position(|known| known == answer) {
                    start.set_signal(signal, answer, *weight);
                }
            }
        }
        let groups = exhibits.iter().map(|exhibit| exhibit.group.clone()).collect();
        Task { questions, groups, answers, votes, signals: signals.in_order(), start, penalty }
    }

    /// The probability of each answer by the written weights.
    pub fn written(&self) -> Vec<Vec<f64>> {
        self.questions.iter().map(|question| self.spread(question, &self.start)).collect()
    }

    /// The probability of each answer by weights fitted on all other `folds` and on the questions that have no fold.
    pub fn left_out(&self, folds: &[usize]) -> Vec<Vec<f64>> {
        let parts: Vec<usize> = folds.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let next = AtomicUsize::new(0);
        let shares = Mutex::new(vec![Vec::new(); folds.len()]);
        let work = || {
            while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                let numbers = self.solved(|place| folds.get(place) != Some(part));
                for (place, question) in folds
                    .iter()
                    .zip(&self.questions)
                    .enumerate()
                    .filter_map(|(place, (fold, question))| (fold == part).then_some((place, question)))
                {
                    let spread = self.spread(question, &numbers);
                    shares.lock().unwrap_or_else(PoisonError::into_inner)[place] = spread;
                }
            }
        };
        thread::scope(|scope| {
            let others = thread::available_parallelism().map_or(0, |cores| cores.get() - 1);
            (0..others.min(parts.len())).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        shares.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers fitted on the `wanted` questions, without signals that too few of their origins show.
    fn solved(&self, wanted: impl Fn(usize) -> bool) -> Numbers {
        let chosen: Vec<usize> = (0..self.questions.len()).filter(|place| wanted(*place)).collect();
        let mut origins: Vec<BTreeSet<&str>> = vec![BTreeSet::new(); self.signals.len()];
        for place in &chosen {
            for (signal, _) in &self.questions[*place].signals {
                origins[*signal].insert(&self.groups[*place]);
            }
        }
        let usable = |place: &usize| {
            let question = &self.questions[*place];
            let is_labelled = question.answers.iter().any(|answer| answer.truth > 0.0);
            let signals = question.signals.iter().filter(|(signal, _)| origins[*signal].len() >= FEWEST_ORIGINS);
            is_labelled.then(|| Question {
                answers: question.answers.clone(),
                signals: signals.copied().collect(),
                weight: question.weight,
            })
        };
        let questions: Vec<Question> = chosen.iter().filter_map(usable).collect();
        solve(&questions.iter().collect::<Vec<_>>(), &self.start, self.penalty)
    }

    /// The probability of every answer; 0 for impossible ones.
    fn spread(&self, question: &Question, numbers: &Numbers) -> Vec<f64> {
        let mut spread = vec![0.0; self.answers.len()];
        for (answer, share) in question.answers.iter().zip(numbers.shares(question)) {
            spread[answer.answer] += share;
        }
        spread
    }

    /// The possible answers of each question by name, likeliest first.
    pub fn named(&self, shares: &[Vec<f64>]) -> Vec<Vec<(Arc<str>, f64)>> {
        let of_question = |shares: &Vec<f64>| {
            let mut named: Vec<(Arc<str>, f64)> = self.answers.iter().cloned().zip(shares.iter().copied()).collect();
            named.retain(|(_, share)| *share > 0.0);
            named.sort_by(|a, b| b.1.total_cmp(&a.1));
            named
        };
        shares.iter().map(of_question).collect()
    }

    /// What the questions teach beyond the written weights.
    pub fn fit(&self) -> Learned {
        let numbers = self.solved(|_| true);
        let bias = |(answer, name): (usize, &Arc<str>)| (name.clone(), rounded(numbers.bias(answer)));
        let vote = |(vote, name): (usize, &Arc<str>)| (name.clone(), rounded(numbers.vote(vote)));
        let signal = |(signal, name): (usize, &String)| {
            let answers = 0..self.answers.len();
            let learned = answers.map(|answer| numbers.signal(signal, answer) - self.start.signal(signal, answer));
            let row: Vec<i16> = learned.map(hundredths).collect();
            row.iter().any(|weight| weight.abs() >= LEAST).then(|| (name.clone(), row))
        };
        Learned {
            answers: self.answers.clone(),
            bias: self.answers.iter().enumerate().map(bias).filter(|(_, weight)| *weight != 0.0).collect(),
            vote: self.votes.iter().enumerate().map(vote).filter(|(_, weight)| *weight != 0.0).collect(),
            signal: self.signals.iter().enumerate().filter_map(signal).collect(),
        }
    }
}

/// Hundredths of log-odds from which on a signal is kept: what moves every answer by less decides nothing.
const LEAST: i16 = 3;

/// Two digits are all that a few hundred incidents can support.
fn hundredths(weight: f64) -> i16 {
    (weight * 100.0).round() as i16
}

fn rounded(weight: f64) -> f64 {
    f64::from(hundredths(weight)) / 100.0
}

/// The share of the truth that `answer` gets.
fn truth<T: PartialEq>(right: &[T], answer: &T) -> f64 {
    match right {
        [only] => f64::from(u8::from(only == answer)),
        [label, ..] if label == answer => LABEL,
        [_, others @ ..] if others.contains(answer) => (1.0 - LABEL) / others.len() as f64,
        _ => 0.0,
    }
}

fn begins(name: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| name.starts_with(beginning))
}

/// The `weighed` signals that incidents of enough origins show.
fn common(exhibits: &[Exhibit], weighed: impl Fn(&str) -> bool) -> BTreeSet<&str> {
    let mut origins: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for exhibit in exhibits {
        for (name, _) in exhibit.signals.iter().filter(|(name, _)| weighed(name)) {
            origins.entry(name).or_default().insert(&exhibit.group);
        }
    }
    origins.into_iter().filter(|(_, groups)| groups.len() >= FEWEST_ORIGINS).map(|(name, _)| name).collect()
}

fn numbered(signals: &Signals, common: &BTreeSet<&str>, names: &mut Names) -> Vec<(usize, f64)> {
    let known = signals.iter().filter(|(name, _)| common.contains(name));
    known.map(|(name, signal)| (names.number(name), signal.strength)).collect()
}

/// Converts shares of phases to a finding.
fn finding(shares: &[f64]) -> PhaseFinding {
    let mut ranked: Vec<(Phase, f64)> = Phase::ALL.iter().copied().zip(shares.iter().copied()).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    PhaseFinding::ranked(&ranked)
}
