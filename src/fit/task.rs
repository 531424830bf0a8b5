use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::exhibit::Exhibit;
use super::solve::{Answer, Hold, Numbers, Question, solve};
use crate::diagnosis::{NOT_KNOWING, Scene, holding, likely};
use crate::knowledge::{Knowledge, Learned, Weights, WordRow};
use crate::model::{Phase, PhaseFinding};
use crate::signals::Signals;

/// A signal that fewer origins show is one program's, not a rule.
const FEWEST_ORIGINS: usize = 4;
/// What is not weighed for phases: words so far away from the message say little, and are many; signs vote, so that their routes
/// are weighed. The user's own names are weighed as they are written: what some programs call theirs, others do not.
const NOT_OF_PHASES: &[&str] = &["around:", "sign:", "seen:", "own:"];
/// What is weighed for causes. Words teach nothing more of them, on repositories left out.
const OF_CAUSES: &[&str] = &["level:", "fact:", "phase:", "stack:", "role:"];
/// Of the truth so much is the label itself; the rest is what a fair expert would accept too.
const LABEL: f64 = 0.6;
/// How strongly weights of phases are held where people put them; chosen on left-out repositories whose logs no rule had been
/// written for, and then twice as strongly, as excerpts teach too much of what only their shortness shows.
const HOLD_PHASES: Hold = Hold { bias: 20.0, vote: 200.0, signal: 22.0, label: 1.0 };
/// The same of causes: their rules say more than words do.
const HOLD_CAUSES: Hold = Hold { bias: 10.0, vote: 30.0, signal: 30.0, label: 0.25 };

/// One kind of question, asked of every exhibit.
pub(super) struct Task {
    questions: Vec<Question>,
    groups: Vec<String>,
    answers: Vec<Arc<str>>,
    votes: Vec<Arc<str>>,
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
        Task::new(questions, exhibits, answers, votes, signals, &written, HOLD_PHASES)
    }

    /// Which cause it was, where the phase was each of `phases` with that share.
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
        Task::new(questions, exhibits, answers, votes, signals, &written, HOLD_CAUSES)
    }

    fn new(
        questions: Vec<Question>,
        exhibits: &[Exhibit],
        answers: Vec<Arc<str>>,
        votes: Names,
        mut signals: Names,
        written: &Weights,
        hold: Hold,
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
        Task { questions, groups, answers, votes, signals: signals.in_order(), start, hold }
    }

    /// How likely each answer is as people wrote it.
    pub fn written(&self) -> Vec<Vec<f64>> {
        self.questions.iter().map(|question| self.spread(question, &self.start)).collect()
    }

    /// How likely each answer is by what was fitted on all questions of other `folds`, and on those behind them that have none.
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
            is_labelled.then(|| Question {
                answers: question.answers.clone(),
                signals: signals.copied().collect(),
                weight: question.weight,
            })
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

    /// What the questions teach beside what people wrote.
    pub fn fit(&self) -> Learned {
        let numbers = self.solved(|_| true);
        let bias = |(answer, name): (usize, &Arc<str>)| (name.clone(), rounded(numbers.bias(answer)));
        let vote = |(vote, name): (usize, &Arc<str>)| (name.clone(), rounded(numbers.vote(vote)));
        let signal = |(signal, name): (usize, &String)| {
            let answers = 0..self.answers.len();
            let learned = answers.map(|answer| numbers.signal(signal, answer) - self.start.signal(signal, answer));
            let row: Vec<i16> = learned.map(hundredths).collect();
            row.iter().any(|weight| *weight != 0).then(|| (name.clone(), row))
        };
        Learned {
            answers: self.answers.clone(),
            bias: self.answers.iter().enumerate().map(bias).filter(|(_, weight)| *weight != 0.0).collect(),
            vote: self.votes.iter().enumerate().map(vote).filter(|(_, weight)| *weight != 0.0).collect(),
            signal: self.signals.iter().enumerate().filter_map(signal).collect(),
        }
    }
}

/// Two digits say all that a few hundred incidents can.
fn hundredths(weight: f64) -> i16 {
    (weight * 100.0).round() as i16
}

fn rounded(weight: f64) -> f64 {
    f64::from(hundredths(weight)) / 100.0
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

fn begins(name: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| name.starts_with(beginning))
}

/// Signals that are `weighed` and that incidents of several origins show.
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

/// Shares of phases as a finding.
fn finding(shares: &[f64]) -> PhaseFinding {
    let mut ranked: Vec<(Phase, f64)> = Phase::ALL.iter().copied().zip(shares.iter().copied()).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    PhaseFinding::ranked(&ranked)
}
