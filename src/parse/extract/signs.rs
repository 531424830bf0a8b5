use super::super::Grammar;
use super::super::line::progress::{self, ProgressWord};
use super::super::message::Messages;
use crate::knowledge::{self, Phases};
use crate::scan::Literals;

/// The one search for all literals that give a line a meaning.
pub(super) struct SignSearch {
    literals: Literals,
    /// The meaning of each literal.
    meanings: Vec<Meaning>,
    /// The set of grammars for which [`Grammar::is_last_resort`] holds.
    pub last_resorts: u128,
}

#[derive(Clone, Copy)]
enum Meaning {
    /// The line may begin a message of this grammar.
    Message(usize),
    /// The line may be the message of this row.
    Row(u16),
    /// The line tells the phase, by the word of this index.
    Phase(usize),
    /// The line may announce a phase.
    Announcement,
    /// The line may show progress.
    Progress(ProgressWord),
    /// The line may say in general words that memory ran out or that a process was killed.
    Shortage,
    /// The line mentions a device.
    Device,
}

/// What the literals in one line mean.
#[derive(Debug, Default)]
pub(super) struct Signs {
    /// The set of grammars of which it may begin a message, as bits.
    pub messages: u128,
    /// The rows of one-line messages that it may be.
    pub rows: Vec<u16>,
    /// The word that tells the phase: of several the one that ends last, and of these the longest.
    pub phase: Option<usize>,
    /// Whether it may announce a phase in words of its own.
    pub announces: bool,
    /// Where the first general word of a shortage ends.
    pub shortage: Option<usize>,
    /// Whether it mentions a device.
    pub device: bool,
    /// Whether it may contain a progress bar.
    pub has_bar: bool,
    has_loss: bool,
    has_step: bool,
    has_metric: bool,
}

impl SignSearch {
    /// Builds the search for the words of `grammars`, `messages`, `phases` and the general `signs`.
    pub fn new(
        grammars: &[&dyn Grammar],
        messages: &Messages,
        phases: &Phases,
        signs: &knowledge::Signs,
    ) -> SignSearch {
        debug_assert!(grammars.len() <= 128, "a set of grammars is 128 bits");
        let triggers = grammars
            .iter()
            .enumerate()
            .flat_map(|(index, grammar)| grammar.triggers().iter().map(move |word| (*word, Meaning::Message(index))));
        let rows = messages.triggers().map(|(word, row)| (word, Meaning::Row(row)));
        let announcing = phases.announcing().map(|word| (word, Meaning::Announcement));
        let phases = phases.words().enumerate().map(|(index, word)| (word, Meaning::Phase(index)));
        let progress = progress::WORDS.iter().map(|(word, what)| (*word, Meaning::Progress(*what)));
        let shortage = signs.triggers().map(|word| (word, Meaning::Shortage));
        let device = signs.device_marks().map(|word| (word, Meaning::Device));
        let general = shortage.chain(device);
        let (words, meanings): (Vec<&str>, Vec<Meaning>) =
            triggers.chain(rows).chain(phases).chain(announcing).chain(progress).chain(general).unzip();
        let last_resorts = grammars.iter().enumerate().filter(|(_, grammar)| grammar.is_last_resort());
        let last_resorts = last_resorts.fold(0, |set, (index, _)| set | 1 << index);
        SignSearch { literals: Literals::new(words), meanings, last_resorts }
    }

    /// Finds all signs in `body`.
    pub fn read(&self, body: &str, phases: &Phases) -> Signs {
        let (mut signs, mut phase_ends) = (Signs::default(), 0);
        self.literals.each(body, |literal, end| match self.meanings[literal] {
            Meaning::Message(grammar) => signs.messages |= 1 << grammar,
            Meaning::Row(row) => signs.rows.push(row),
            // If several words end together, the longest is reported first.
            Meaning::Phase(word) if end > phase_ends && phases.counts(word, body) => {
                (signs.phase, phase_ends) = (Some(word), end)
            }
            Meaning::Phase(_) => {}
            Meaning::Announcement => signs.announces = true,
            Meaning::Shortage => signs.shortage = signs.shortage.or(Some(end)),
            Meaning::Device => signs.device = true,
            Meaning::Progress(ProgressWord::Bar) => signs.has_bar = true,
            Meaning::Progress(ProgressWord::Loss) => {
                signs.has_loss = true;
                signs.has_metric |= is_valued(body, end, "loss".len());
            }
            Meaning::Progress(ProgressWord::Step) => signs.has_step = true,
            Meaning::Progress(ProgressWord::Metric(length)) => signs.has_metric |= is_valued(body, end, length),
        });
        if signs.messages & !self.last_resorts != 0 {
            signs.messages &= !self.last_resorts;
        }
        signs
    }
}

impl Signs {
    /// Whether `body`, whose signs these are, reports the loss of a training step.
    pub fn is_step(&self, body: &str) -> bool {
        self.has_loss && self.has_step && body.bytes().any(|byte| byte.is_ascii_digit())
    }

    /// Whether `body` has a figure that training loops report, in whatever words: `t 120 | nll 2.1`.
    pub fn may_be_step(&self) -> bool {
        self.has_metric
    }
}

/// Whether the `length` bytes before `end` name a number behind them and are no part of a longer word: `ppl: 12.1`, but not `Applying` or
/// `loss_utils.py`.
fn is_valued(body: &str, end: usize, length: usize) -> bool {
    /// So many marks may stand between a name and its number.
    const MARKS: usize = 4;
    let bytes = body.as_bytes();
    let is_letter = |before: usize| bytes.get(before).is_some_and(u8::is_ascii_alphanumeric);
    let mut behind = bytes.iter().skip(end).take(MARKS + 1).skip_while(|byte| b" :='\"|-+".contains(byte));
    let is_number = behind.next().is_some_and(u8::is_ascii_digit);
    is_number
        && bytes.get(end).is_some_and(|next| !next.is_ascii_alphanumeric())
        && !end.checked_sub(length + 1).is_some_and(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::Knowledge;
    use crate::parse::GRAMMARS;

    /// The lines of a log and cited messages are read by different searches.
    #[test]
    fn a_line_tells_the_phase_that_its_words_tell() -> Result<(), Box<dyn std::error::Error>> {
        let Knowledge { phases, signs, messages, .. } = Knowledge::shipped()?;
        let search = SignSearch::new(GRAMMARS, &Messages::new(&messages), &phases, &signs);
        let is_within = |(index, word): (usize, &'_ str)| phases.counts(index, &format!("x {word}"));
        let words: Vec<&str> = phases.words().enumerate().filter(|row| is_within(*row)).map(|(_, word)| word).collect();
        for (first, second) in words.iter().zip(words.iter().cycle().skip(7)) {
            for line in [format!("x {first}"), format!("{first} and {second}"), format!("{second}{first}.")] {
                let told = search.read(&line, &phases).phase.map(|word| phases.mark(word));
                assert!(told.is_some() && told == phases.line(&line), "{line}: {told:?}");
            }
        }
        Ok(())
    }
}
