//! Puts a launcher in the place of the program that starts a script.

use super::{Body, Document};

impl Document {
    /// The text with `launcher` in the place of the program of `command`, if the script that this starts stands right behind it.
    pub fn relaunched(&self, command: usize, launcher: &str) -> Option<String> {
        let Body::Shell(_) = &self.body else { return None };
        let (command, number) = (self.commands.get(command)?, command);
        let script = command.target.as_deref()?;
        let first = usize::try_from(command.at.line.0.checked_sub(1)?).ok()?;
        let start: usize = self.text.split_inclusive('\n').take(first).map(str::len).sum();
        let line = self.text.get(start..)?.lines().next()?;
        let (mut at, mut places) = (0, Vec::new());
        for word in line.split(' ') {
            places.push((at, word));
            at += word.len() + 1;
        }
        let is_program = |word: &str| word.rsplit('/').next() == Some(command.program.as_str());
        let is_it = |pair: &&[(usize, &str)]| matches!(pair, [(_, program), (_, next)] if is_program(program) && *next == script);
        let (at, program) = places.windows(2).find(is_it)?.first().copied()?;
        let text = format!("{}{launcher}{}", &self.text[..start + at], &self.text[start + at + program.len()..]);
        // Reading the result back catches what was no command.
        let written = Document::read_as(self.format, self.path.clone(), &text).ok()?;
        let starts = |command: &super::Command| command.words().any(|word| word == script);
        let own = |document: &Document, of: &dyn Fn(usize) -> bool| {
            document.entries.iter().filter(|entry| entry.command.is_some_and(of)).count()
        };
        let is_script = |at: usize| written.commands.get(at).is_some_and(starts);
        let is_whole = own(&written, &is_script) >= own(self, &|at| at == number);
        (is_whole && written.commands.iter().any(starts)).then_some(text)
    }
}
