use super::super::Grammar;
use super::super::line::progress::{self, ProgressWord};
use super::super::message::Messages;
use crate::knowledge::{self, Phases};
use crate::scan::Literals;

/// One search for everything that words of a line may mean.
pub(super) struct SignSearch {
    literals: Literals,
    /// What each of the literals means.
    meanings: Vec<Meaning>,
    /// Grammars that are asked only where no other is.
    last_resorts: u128,
}

#[derive(Clone, Copy)]
enum Meaning {
    /// The line may be the first of a message of this grammar.
    Message(usize),
    /// It may be the message of this row.
    Row(u16),
    /// It tells the phase: which of the words that do.
    Phase(usize),
    /// It may show progress.
    Progress(ProgressWord),
    /// The line may say of any program that memory ran out or that it was killed.
    Shortage,
    /// It speaks of a device.
    Device,
}

/// What the words of one line mean.
#[derive(Debug, Default)]
pub(super) struct Signs {
    /// Grammars of whose messages it may be the first line, as a set of bits.
    pub messages: u128,
    /// Rows of messages of one line that it may be.
    pub rows: Vec<u16>,
    /// Which of the words that tell a phase; of several the one that ends last, and of these the longest.
    pub phase: Option<usize>,
    /// Where the first word ends by which any program may say that memory ran out.
    pub shortage: Option<usize>,
    /// Whether it speaks of a device.
    pub device: bool,
    /// Whether it has what every bar has.
    pub has_bar: bool,
    has_loss: bool,
    has_step: bool,
}

impl SignSearch {
    /// The search for what `grammars`, `messages`, `phases` and the general `signs` ask for.
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
        let phases = phases.words().enumerate().map(|(index, word)| (word, Meaning::Phase(index)));
        let progress = progress::WORDS.iter().map(|(word, what)| (*word, Meaning::Progress(*what)));
        let shortage = signs.triggers().map(|word| (word, Meaning::Shortage));
        let device = signs.device_marks().map(|word| (word, Meaning::Device));
        let general = shortage.chain(device);
        let (words, meanings): (Vec<&str>, Vec<Meaning>) =
            triggers.chain(rows).chain(phases).chain(progress).chain(general).unzip();
        let last_resorts = grammars.iter().enumerate().filter(|(_, grammar)| grammar.is_last_resort());
        let last_resorts = last_resorts.fold(0, |set, (index, _)| set | 1 << index);
        SignSearch { literals: Literals::new(words), meanings, last_resorts }
    }

    /// What the words of `body` mean.
    pub fn read(&self, body: &str, phases: &Phases) -> Signs {
        let (mut signs, mut phase_ends) = (Signs::default(), 0);
        self.literals.each(body, |literal, end| match self.meanings[literal] {
            Meaning::Message(grammar) => signs.messages |= 1 << grammar,
            Meaning::Row(row) => signs.rows.push(row),
            // Of several that end together the longest comes first.
            Meaning::Phase(word) if end > phase_ends && phases.counts(word, body) => {
                (signs.phase, phase_ends) = (Some(word), end)
            }
            Meaning::Phase(_) => {}
            Meaning::Shortage => signs.shortage = signs.shortage.or(Some(end)),
            Meaning::Device => signs.device = true,
            Meaning::Progress(ProgressWord::Bar) => signs.has_bar = true,
            Meaning::Progress(ProgressWord::Loss) => signs.has_loss = true,
            Meaning::Progress(ProgressWord::Step) => signs.has_step = true,
        });
        if signs.messages & !self.last_resorts != 0 || !signs.rows.is_empty() {
            signs.messages &= !self.last_resorts;
        }
        signs
    }
}

impl Signs {
    /// Whether `body`, which has these signs, shows that training went a step on: a step's loss.
    pub fn is_step(&self, body: &str) -> bool {
        self.has_loss && self.has_step && body.bytes().any(|byte| byte.is_ascii_digit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::Knowledge;
    use crate::parse::GRAMMARS;

    /// A line of a log and a message that is cited are read by different searches.
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
