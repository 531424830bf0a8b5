//! Finds the weights under which labelled answers are most likely.
//!
//! The model is a softmax over the possible answers. An L2 penalty holds its weights near those that people wrote; if
//! several answers are right, a part of the loss leaves open which of them it gives. L-BFGS (Nocedal, "Updating
//! quasi-Newton matrices with limited storage", 1980) finds the optimum next to the written weights. Its operations run
//! in a fixed order, so that the same cases give the same weights to the byte.

use crate::diagnosis::shares;

/// One question: which of its answers is right.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// The possible answers.
    pub answers: Vec<Answer>,
    /// Signals by number, with their strengths.
    pub signals: Vec<(usize, f64)>,
    /// How many questions it counts for.
    pub weight: f64,
}

/// One possible answer.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// The answer's number.
    pub answer: usize,
    /// Its log-odds as people wrote them.
    pub written: f64,
    /// Votes for it by number, with their counts.
    pub votes: Vec<(usize, f64)>,
    /// Its share of the truth. The shares of one question sum to 1, or are all 0 if it is not labelled.
    pub truth: f64,
}

/// The fitted numbers: one per answer, per vote, and per signal and answer.
#[derive(Debug, Clone)]
pub struct Numbers {
    answers: usize,
    votes: usize,
    values: Vec<f64>,
}

/// The strength of the penalty on the distance from the written numbers.
#[derive(Debug, Clone, Copy)]
pub struct Penalty {
    /// For the bias of an answer.
    pub bias: f64,
    /// For the weight of a vote.
    pub vote: f64,
    /// For the weight of a signal.
    pub signal: f64,
    /// How much of the loss, 0–1, asks for the labelled shares of the right answers; the rest asks only that any of
    /// them is given.
    pub label: f64,
}

impl Numbers {
    /// All numbers 0.
    pub fn new(answers: usize, votes: usize, signals: usize) -> Numbers {
        Numbers { answers, votes, values: vec![0.0; answers + votes + signals * answers] }
    }

    fn place(&self, signal: usize, answer: usize) -> usize {
        self.answers + self.votes + signal * self.answers + answer
    }

    /// The bias of `answer`.
    pub fn bias(&self, answer: usize) -> f64 {
        self.values[answer]
    }

    /// The weight of `vote`.
    pub fn vote(&self, vote: usize) -> f64 {
        self.values[self.answers + vote]
    }

    #[cfg(test)]
    fn set_vote(&mut self, vote: usize, weight: f64) {
        self.values[self.answers + vote] = weight;
    }

    /// The weight of `signal` for `answer`.
    pub fn signal(&self, signal: usize, answer: usize) -> f64 {
        self.values[self.place(signal, answer)]
    }

    /// The weights of `signal` for all answers.
    fn of_signal(&self, signal: usize) -> &[f64] {
        let start = self.place(signal, 0);
        &self.values[start..start + self.answers]
    }

    /// Sets the weight of `signal` for `answer`.
    pub fn set_signal(&mut self, signal: usize, answer: usize, weight: f64) {
        let place = self.place(signal, answer);
        self.values[place] = weight;
    }

    /// The probability of each answer of `question`.
    pub fn shares(&self, question: &Question) -> Vec<f64> {
        // The weights of a signal are adjacent, so each signal takes one pass over them.
        let mut all = self.values[..self.answers].to_vec();
        for (signal, strength) in &question.signals {
            add(&mut all, self.of_signal(*signal), *strength);
        }
        let score = |answer: &Answer| {
            let votes: f64 = answer.votes.iter().map(|(vote, count)| self.vote(*vote) * count).sum();
            answer.written + all[answer.answer] + votes
        };
        let scores: Vec<f64> = question.answers.iter().map(score).collect();
        shares(&scores)
    }
}

/// Enough rounds for weights of two digits.
const ROUNDS: usize = 80;
/// The number of steps that L-BFGS remembers.
const MEMORY: usize = 8;
/// The least probability whose logarithm is taken.
const LEAST: f64 = 1e-12;
/// The largest slope that counts as flat.
const FLAT: f64 = 1e-3;

/// The numbers near `written` under which the truth of `questions` is most likely.
pub fn solve(questions: &[&Question], written: &Numbers, penalty: Penalty) -> Numbers {
    let problem = Problem { questions, written, penalty };
    let mut numbers = written.clone();
    let (mut loss, mut slope) = problem.loss(&numbers);
    let mut steps: Vec<(Vec<f64>, Vec<f64>, f64)> = Vec::new();
    for _ in 0..ROUNDS {
        if slope.iter().fold(0.0_f64, |most, part| most.max(part.abs())) < FLAT {
            break;
        }
        let direction = downhill(&slope, &steps);
        let along = dot(&direction, &slope);
        let Some((next, next_loss, next_slope)) = problem.step(&numbers, &direction, loss, along) else { break };
        let moved: Vec<f64> = next.values.iter().zip(&numbers.values).map(|(a, b)| a - b).collect();
        let turned: Vec<f64> = next_slope.iter().zip(&slope).map(|(a, b)| a - b).collect();
        let curvature = dot(&moved, &turned);
        if curvature > 1e-12 {
            if steps.len() == MEMORY {
                steps.remove(0);
            }
            steps.push((moved, turned, 1.0 / curvature));
        }
        (numbers, loss, slope) = (next, next_loss, next_slope);
    }
    numbers
}

/// The direction of descent, using the curvature of the last steps.
fn downhill(slope: &[f64], steps: &[(Vec<f64>, Vec<f64>, f64)]) -> Vec<f64> {
    let mut direction: Vec<f64> = slope.iter().map(|part| -part).collect();
    let mut shares = Vec::with_capacity(steps.len());
    for (moved, turned, inverse) in steps.iter().rev() {
        let share = inverse * dot(moved, &direction);
        add(&mut direction, turned, -share);
        shares.push(share);
    }
    if let Some((_, turned, inverse)) = steps.last() {
        let scale = 1.0 / (inverse * dot(turned, turned));
        direction.iter_mut().for_each(|part| *part *= scale);
    }
    for ((moved, turned, inverse), share) in steps.iter().zip(shares.into_iter().rev()) {
        let back = inverse * dot(turned, &direction);
        add(&mut direction, moved, share - back);
    }
    direction
}

struct Problem<'p> {
    questions: &'p [&'p Question],
    written: &'p Numbers,
    penalty: Penalty,
}

impl Problem<'_> {
    /// The loss and its gradient.
    fn loss(&self, numbers: &Numbers) -> (f64, Vec<f64>) {
        let mut loss = 0.0;
        let mut slope = vec![0.0; numbers.values.len()];
        for question in self.questions {
            let shares = numbers.shares(question);
            let mut misses = vec![0.0; numbers.answers];
            let (label, weight) = (self.penalty.label, question.weight);
            let right = question.answers.iter().zip(&shares).filter(|(answer, _)| answer.truth > 0.0);
            let of_right = right.map(|(_, share)| share).sum::<f64>().max(LEAST);
            if question.answers.iter().any(|answer| answer.truth > 0.0) {
                loss -= weight * (1.0 - label) * of_right.ln();
            }
            for (answer, share) in question.answers.iter().zip(shares) {
                let mut truth = 0.0;
                if answer.truth > 0.0 {
                    loss -= weight * label * answer.truth * share.max(LEAST).ln();
                    truth = label * answer.truth + (1.0 - label) * share / of_right;
                }
                let miss = weight * (share - truth);
                misses[answer.answer] += miss;
                for (vote, count) in &answer.votes {
                    slope[numbers.answers + vote] += miss * count;
                }
            }
            add(&mut slope[..numbers.answers], &misses, 1.0);
            for (signal, strength) in &question.signals {
                let start = numbers.place(*signal, 0);
                add(&mut slope[start..start + numbers.answers], &misses, *strength);
            }
        }
        let signals_from = numbers.answers + numbers.votes;
        for (place, (value, start)) in numbers.values.iter().zip(&self.written.values).enumerate() {
            let penalty = match place {
                place if place < numbers.answers => self.penalty.bias,
                place if place < signals_from => self.penalty.vote,
                _ => self.penalty.signal,
            };
            let distance = value - start;
            loss += 0.5 * penalty * distance * distance;
            slope[place] += penalty * distance;
        }
        (loss, slope)
    }

    /// The longest step along `direction` for which the loss falls in proportion (Armijo).
    fn step(&self, numbers: &Numbers, direction: &[f64], loss: f64, along: f64) -> Option<(Numbers, f64, Vec<f64>)> {
        const PROPORTION: f64 = 1e-4;
        const SHORTEST: f64 = 1e-8;
        let mut length = 1.0;
        while length > SHORTEST {
            let mut next = numbers.clone();
            add(&mut next.values, direction, length);
            let (next_loss, next_slope) = self.loss(&next);
            if next_loss <= loss + PROPORTION * length * along {
                return Some((next, next_loss, next_slope));
            }
            length *= 0.5;
        }
        None
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(to: &mut [f64], what: &[f64], times: f64) {
    to.iter_mut().zip(what).for_each(|(to, what)| *to += what * times);
}

#[cfg(test)]
mod tests {
    use super::*;

    const PENALTY: Penalty = Penalty { bias: 0.1, vote: 0.1, signal: 0.1, label: 1.0 };

    fn question(right: usize, signals: &[usize]) -> Question {
        let answers =
            (0..2).map(|answer| Answer { answer, truth: f64::from(u8::from(answer == right)), ..Answer::default() });
        let signals = signals.iter().map(|signal| (*signal, 1.0)).collect();
        Question { answers: answers.collect(), signals, weight: 1.0 }
    }

    #[test]
    fn a_signal_that_tells_answers_apart_gets_weight_and_one_that_does_not_gets_none() {
        let known: Vec<Question> = (0..40).map(|place| question(place % 2, &[place % 2, 2])).collect();
        let numbers = solve(&known.iter().collect::<Vec<_>>(), &Numbers::new(2, 0, 3), PENALTY);
        assert!(numbers.signal(0, 0) > 0.8 && numbers.signal(1, 1) > 0.8, "{numbers:?}");
        assert!(numbers.signal(2, 0).abs() < 0.01 && numbers.signal(2, 1).abs() < 0.01, "{numbers:?}");
        assert!(numbers.shares(&question(0, &[0, 2]))[0] > 0.9);
    }

    #[test]
    fn what_nothing_speaks_against_stays_as_written() {
        let mut written = Numbers::new(2, 1, 1);
        written.set_signal(0, 1, 1.5);
        written.set_vote(0, 2.0);
        let numbers = solve(&[], &written, PENALTY);
        assert_eq!((numbers.signal(0, 1), numbers.vote(0)), (1.5, 2.0));
    }

    #[test]
    fn a_vote_that_is_always_wrong_loses_its_weight() {
        let mut written = Numbers::new(2, 1, 0);
        written.set_vote(0, 3.0);
        let mut known = vec![question(0, &[]); 30];
        known.iter_mut().for_each(|question| question.answers[1].votes.push((0, 1.0)));
        let numbers = solve(&known.iter().collect::<Vec<_>>(), &written, PENALTY);
        assert!(numbers.vote(0) < 0.5, "{numbers:?}");
    }

    #[test]
    fn where_two_answers_are_right_either_will_do() {
        let mut both = question(0, &[0]);
        both.answers[1].truth = 0.4;
        both.answers[0].truth = 0.6;
        let known: Vec<Question> = vec![both; 30];
        let known: Vec<&Question> = known.iter().collect();
        let mut written = Numbers::new(2, 0, 1);
        written.set_signal(0, 1, 2.0);
        let strict = solve(&known, &written, PENALTY);
        let free = solve(&known, &written, Penalty { label: 0.0, ..PENALTY });
        assert!(strict.shares(known[0])[0] > 0.5, "{strict:?}");
        assert!((free.shares(known[0])[1] - written.shares(known[0])[1]).abs() < 1e-6, "{free:?}");
    }

    #[test]
    fn the_same_cases_give_the_same_numbers() {
        let known: Vec<Question> = (0..9).map(|place| question(place % 2, &[place % 3])).collect();
        let known: Vec<&Question> = known.iter().collect();
        let once = solve(&known, &Numbers::new(2, 0, 3), PENALTY);
        assert_eq!(once.values, solve(&known, &Numbers::new(2, 0, 3), PENALTY).values);
    }
}
