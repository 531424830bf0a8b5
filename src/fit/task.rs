use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::exhibit::Exhibit;
use super::solve::{Answer, Hold, Numbers, Question, solve};
use crate::diagnosis::{NOT_KNOWING, Scene, UNKNOWN, holding, likely};
use crate::knowledge::{Knowledge, Weights, WordRow};
use crate::model::{Phase, PhaseFinding};
use crate::signals::Signals;

/// A signal that fewer origins show is one program's, not a rule.
const FEWEST_ORIGINS: usize = 3;
/// A weight nearer to 0 than this moves nothing.
const LEAST: f64 = 0.03;
/// Of the truth so much is the label itself; the rest is what a fair expert would accept too.
const LABEL: f64 = 0.6;
/// How strongly weights of phases are held where people put them; chosen on left-out repositories.
const HOLD_PHASES: Hold = Hold { bias: 30.0, vote: 30.0, signal: 100.0 };
/// The same of causes: their rules say more than words do.
const HOLD_CAUSES: Hold = Hold { bias: 10.0, vote: 10.0, signal: 100.0 };

/// One kind of question, asked of every exhibit.
pub(super) struct Task {
    questions: Vec<Question>,
    groups: Vec<String>,
    answers: Vec<Arc<str>>,
    votes: Vec<(Arc<str>, f64)>,
    signals: Vec<String>,
    /// What people wrote.
    start: Numbers,
    hold: Hold,
}

/// Numbers for names, in the order in which they come up.
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
    /// Which phase it was.
    pub fn of_phases(exhibits: &[Exhibit], written: &[WordRow]) -> Task {
        let answers: Vec<Arc<str>> = Phase::ALL.iter().map(|phase| Arc::from(phase.as_str())).collect();
        let mut votes: Vec<(Arc<str>, f64)> = Vec::new();
        let mut vote = |name: &str, written: f64| match votes.iter().position(|(known, _)| **known == *name) {
            Some(place) => place,
            None => {
                votes.push((Arc::from(name), written));
                votes.len() - 1
            }
        };
        let mut signals = Names::default();
        let common = common(exhibits);
        let questions = exhibits.iter().map(|exhibit| {
            let truth = |phase: &Phase| truth(&exhibit.phases, phase);
            let mut answers: Vec<Answer> = Phase::ALL
                .iter()
                .enumerate()
                .map(|(answer, phase)| Answer { answer, truth: truth(phase), ..Answer::default() })
                .collect();
            for (name, phase, written) in &exhibit.votes {
                let vote = vote(name, *written);
                let of_phase = Phase::ALL.iter().position(|known| known == phase);
                answers[of_phase.unwrap_or(0)].votes.push((vote, 1.0));
            }
            Question { answers, signals: numbered(&exhibit.signals, &common, &mut signals) }
        });
        let questions = questions.collect();
        let written = Weights::of_phases(written);
        let unknown = answers.iter().position(|answer| **answer == *UNKNOWN);
        let mut task = Task::new(questions, exhibits, answers, votes, signals, &written, HOLD_PHASES);
        unknown.into_iter().for_each(|unknown| task.start.set_bias(unknown, NOT_KNOWING));
        task
    }

    /// Which cause it was, where the phase was each of `phases` with that share.
    pub fn of_causes(exhibits: &[Exhibit], phases: &[Vec<f64>], knowledge: &Knowledge) -> Task {
        let answers: BTreeSet<Arc<str>> = knowledge.causes.iter().map(|rule| rule.cause.clone()).collect();
        let answers: Vec<Arc<str>> = answers.into_iter().collect();
        let (mut votes, mut signals) = (Names::default(), Names::default());
        let common = common(exhibits);
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
            Question { answers: of_answers, signals: shown }
        });
        let questions = questions.collect();
        let votes = votes.in_order().into_iter().map(|name| (Arc::from(name), 0.0)).collect();
        let written = Weights::of_causes(&knowledge.ranking.written);
        Task::new(questions, exhibits, answers, votes, signals, &written, HOLD_CAUSES)
    }

    fn new(
        questions: Vec<Question>,
        exhibits: &[Exhibit],
        answers: Vec<Arc<str>>,
        votes: Vec<(Arc<str>, f64)>,
        mut signals: Names,
        written: &Weights,
        hold: Hold,
    ) -> Task {
        let in_order: BTreeMap<&Arc<str>, _> = written.signal.iter().collect();
        in_order.keys().for_each(|name| {
            signals.number(name);
        });
        let mut start = Numbers::new(answers.len(), votes.len(), signals.numbers.len());
        for (vote, (_, weight)) in votes.iter().enumerate() {
            start.set_vote(vote, *weight);
        }
        for (name, weights) in in_order {
            let signal = signals.number(name);
            for (answer, weight) in weights {
                if let Some(answer) = answers.iter().position(|known| known == answer) {
                    start.set_signal(signal, answer, *weight);
                }
            }
        }
        let groups = exhibits.iter().map(|exhibit| exhibit.group.clone()).collect();
        Task { questions, groups, answers, votes, signals: signals.in_order(), start, hold }
    }

    /// How likely each answer is as people wrote it.
    pub fn written(&self) -> Vec<Vec<f64>> {
        self.questions.iter().map(|question| self.spread(question, &self.start)).collect()
    }

    /// How likely each answer is by what was fitted on all questions of other `folds`.
    pub fn left_out(&self, folds: &[usize]) -> Vec<Vec<f64>> {
        let parts: Vec<usize> = folds.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let next = AtomicUsize::new(0);
        let shares = Mutex::new(vec![Vec::new(); self.questions.len()]);
        let work = || {
            while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                let numbers = self.solved(|place| folds[place] != *part);
                for (place, question) in self.questions.iter().enumerate().filter(|(place, _)| folds[*place] == *part) {
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

    /// The numbers fitted on the questions that are `wanted`; signals that too few of their origins show are left out.
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
            is_labelled.then(|| Question { answers: question.answers.clone(), signals: signals.copied().collect() })
        };
        let questions: Vec<Question> = chosen.iter().filter_map(usable).collect();
        solve(&questions.iter().collect::<Vec<_>>(), &self.start, self.hold)
    }

    /// How likely each answer of all is; those that are not possible not at all.
    fn spread(&self, question: &Question, numbers: &Numbers) -> Vec<f64> {
        let mut spread = vec![0.0; self.answers.len()];
        for (answer, share) in question.answers.iter().zip(numbers.shares(question)) {
            spread[answer.answer] += share;
        }
        spread
    }

    /// The answers of each question by their names, likeliest first; those that are not possible left out.
    pub fn named(&self, shares: &[Vec<f64>]) -> Vec<Vec<(Arc<str>, f64)>> {
        let of_question = |shares: &Vec<f64>| {
            let mut named: Vec<(Arc<str>, f64)> = self.answers.iter().cloned().zip(shares.iter().copied()).collect();
            named.retain(|(_, share)| *share > 0.0);
            named.sort_by(|a, b| b.1.total_cmp(&a.1));
            named
        };
        shares.iter().map(of_question).collect()
    }

    /// The weights fitted on all questions.
    pub fn fit(&self) -> Weights {
        let numbers = self.solved(|_| true);
        let mut weights = Weights::default();
        for (answer, name) in self.answers.iter().enumerate() {
            weights.bias.insert(name.clone(), rounded(numbers.bias(answer)));
        }
        for (vote, (name, written)) in self.votes.iter().enumerate() {
            let weight = numbers.vote(vote);
            if (weight - written).abs() > LEAST || *written != 0.0 {
                weights.vote.insert(name.clone(), rounded(weight));
            }
        }
        for (signal, name) in self.signals.iter().enumerate() {
            let of_answer = |(answer, answer_name): (usize, &Arc<str>)| {
                let weight = numbers.signal(signal, answer);
                (weight.abs() > LEAST).then(|| (answer_name.clone(), rounded(weight)))
            };
            let kept: BTreeMap<Arc<str>, f64> = self.answers.iter().enumerate().filter_map(of_answer).collect();
            if !kept.is_empty() {
                weights.signal.insert(Arc::from(name.as_str()), kept);
            }
        }
        weights
    }
}

/// Two digits say all that a few hundred incidents can.
fn rounded(weight: f64) -> f64 {
    (weight * 100.0).round() / 100.0
}

/// How much of the truth `answer` is.
fn truth<T: PartialEq>(right: &[T], answer: &T) -> f64 {
    match right {
        [only] => f64::from(u8::from(only == answer)),
        [label, ..] if label == answer => LABEL,
        [_, others @ ..] if others.contains(answer) => (1.0 - LABEL) / others.len() as f64,
        _ => 0.0,
    }
}

/// Signals that incidents of several origins show.
fn common(exhibits: &[Exhibit]) -> BTreeSet<&str> {
    let mut origins: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for exhibit in exhibits {
        for (name, _) in exhibit.signals.iter() {
            origins.entry(name).or_default().insert(&exhibit.group);
        }
    }
    origins.into_iter().filter(|(_, groups)| groups.len() >= FEWEST_ORIGINS).map(|(name, _)| name).collect()
}

fn numbered(signals: &Signals, common: &BTreeSet<&str>, names: &mut Names) -> Vec<(usize, f64)> {
    let known = signals.iter().filter(|(name, _)| common.contains(name));
    known.map(|(name, signal)| (names.number(name), signal.strength)).collect()
}

/// Shares of phases as a finding.
fn finding(shares: &[f64]) -> PhaseFinding {
    let mut ranked: Vec<(Phase, f64)> = Phase::ALL.iter().copied().zip(shares.iter().copied()).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    PhaseFinding::ranked(&ranked)
}
