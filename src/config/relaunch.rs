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
        let starts_script = |from: &usize| {
            let behind = places.get(from + 1..)?;
            let own = own_switches(behind.iter().map(|(_, word)| *word));
            behind.get(own).filter(|(_, word)| *word == script).map(|(to, _)| (places[*from].0, *to))
        };
        let programs = (0..places.len()).filter(|place| is_program(places[*place].1));
        let (from, to) = programs.into_iter().find_map(|place| starts_script(&place))?;
        let text = format!("{}{launcher} {}", &self.text[..start + from], &self.text[start + to..]);
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

/// How many of `words` are switches of Python itself, which its launchers set as they need them: `-u`, `-W ignore`.
fn own_switches<'a>(words: impl Iterator<Item = &'a str>) -> usize {
    let mut is_value = false;
    let is_own = |word: &&str| {
        let letters = word.strip_prefix('-').unwrap_or_default();
        let is_switch =
            word.is_empty() || !letters.is_empty() && letters.chars().all(|letter| "bBdEiIOPqsSuvxWX".contains(letter));
        let is_own = is_value || is_switch;
        is_value = !is_value && letters.ends_with(['W', 'X']);
        is_own
    };
    words.take_while(is_own).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Format;

    type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

    fn relaunched(text: &str) -> Outcome<Option<String>> {
        let document = Document::read_as(Format::Shell, "run.sh", text)?;
        let command = document.commands().iter().position(|command| command.starts_python()).ok_or("no Python")?;
        Ok(document.relaunched(command, "torchrun --nproc_per_node 8"))
    }

    #[test]
    fn a_launcher_takes_the_place_of_python_and_its_switches() -> Outcome {
        for (before, after) in [
            ("python train.py --lr 1e-4\n", "torchrun --nproc_per_node 8 train.py --lr 1e-4\n"),
            ("python -u train.py --lr 1e-4\n", "torchrun --nproc_per_node 8 train.py --lr 1e-4\n"),
            ("python3  -W ignore -u train.py\n", "torchrun --nproc_per_node 8 train.py\n"),
            (
                "nohup /usr/bin/python3 -u train.py > x.log 2>&1 &\n",
                "nohup torchrun --nproc_per_node 8 train.py > x.log 2>&1 &\n",
            ),
        ] {
            assert_eq!(relaunched(before)?.as_deref(), Some(after), "{before}");
        }
        Ok(())
    }

    #[test]
    fn a_module_is_left_to_its_user() -> Outcome {
        assert_eq!(relaunched("python -m package.train --lr 1e-4\n")?, None);
        Ok(())
    }
}
