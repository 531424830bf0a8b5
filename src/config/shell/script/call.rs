//! Interprets commands, and the scripts that some of them are given: `bash -c "…"`, `eval …`.

use std::ops::Range;

use super::super::expand::Field;
use super::super::launchers::{is_option, is_program, is_shell};
use super::super::words::{Quote, Word, name_length};
use super::{Call, Role, ScriptReader, programs};
use crate::knowledge::is_among;

impl ScriptReader<'_> {
    pub(super) fn call(&mut self, prefixes: &[Word], words: &[Word]) {
        let (Some(first), Some(last)) = (prefixes.first().or(words.first()), words.last()) else { return };
        let span = first.span.start..last.span.end;
        let is_skipped = self.scope.is_skipped();
        let call = |fields, within| Call { fields, span: span.clone(), within, is_directive: false, is_skipped };
        let number = self.script.calls.len();
        self.script.calls.push(call(Vec::new(), self.within));
        self.assign(prefixes, Role::Prefix(number), true);
        let evals = words.first().and_then(Word::bare) == Some("eval");
        let (mut fields, mut script) = (Vec::new(), Vec::new());
        let mut shell = if evals { ShellInvocation::Script(0) } else { ShellInvocation::No };
        for word in words.iter().skip(usize::from(evals)) {
            let ShellInvocation::Script(at) = shell else {
                let before = fields.last().map(Field::text);
                if let Some((quote, inner)) = self.command_line(words, word, before.as_deref()) {
                    shell = ShellInvocation::No;
                    self.nested(inner, quote, quote == Quote::Double);
                    continue;
                }
                let more = self.scope.fields(word, &self.source);
                shell = shell.after(&more, fields.len());
                fields.extend(more);
                continue;
            };
            // The script that a shell is given is not an argument of the command that starts the shell.
            fields.truncate(at);
            match whole_quote(word) {
                Some((quote, inner)) => self.nested(inner, quote, quote == Quote::Double),
                // An unquoted script arrives as one field, which the inner shell splits into words.
                None => script.extend(self.scope.fields(word, &self.source).into_iter().flat_map(Field::split)),
            }
            if !evals {
                break;
            }
        }
        if let Some(call) = self.script.calls.get_mut(number) {
            call.fields = fields;
        }
        let within = self.within;
        self.script.calls.extend(simple(script).into_iter().map(|fields| call(fields, within)));
    }

    /// The command line that an argument in quotes holds, for another host or for later: `pdsh -w n[0-3] "torchrun train.py --lr 1"`,
    /// `python xpk.py workload create --command="python train.py --lr 1"`. `before` is the field before it.
    fn command_line(&self, call: &[Word], word: &Word, before: Option<&str>) -> Option<(Quote, Range<usize>)> {
        let program = call.first().and_then(Word::bare).unwrap_or_default();
        let is_remote = is_among(&programs().remote, program.rsplit('/').next().unwrap_or(program));
        let is_command = |option: &str| is_among(&programs().command_options, option);
        let (quote, inner) = match whole_quote(word) {
            Some(whole) if is_remote || before.is_some_and(is_command) => whole,
            Some(_) => return None,
            None => {
                let (option, quote, inner) = quoted_value(word, self.source.0)?;
                is_command(option).then_some((quote, inner))?
            }
        };
        let text = self.source.0.get(inner.clone())?;
        text.split(['\n', ';', '&']).any(runs_with_options).then_some((quote, inner))
    }
}

/// Whether `command` names a program and gives it options: more than a sentence that begins like a command.
fn runs_with_options(command: &str) -> bool {
    let is_assigned = |word: &&str| name_length(word) > 0 && word[name_length(word)..].starts_with('=');
    let mut words = command.split_whitespace().skip_while(is_assigned);
    let is_given = |word: &str| is_option(word) || word.ends_with(".py") || name_length(word) > 0 && word.contains('=');
    words.next().is_some_and(is_program) && words.any(is_given)
}

/// The option, and the quotes around its value in `--option="value"`, with the span inside of them.
fn quoted_value<'t>(word: &Word, text: &'t str) -> Option<(&'t str, Quote, Range<usize>)> {
    let [name, value @ ..] = word.parts.as_slice() else { return None };
    let option = text.get(name.span.clone())?.strip_suffix('=')?;
    let rest = Word { span: name.span.end..word.span.end, parts: value.to_vec(), elements: None };
    let (quote, inner) = whole_quote(&rest).filter(|_| name.quote == Quote::Bare && is_option(option))?;
    Some((option, quote, inner))
}

/// How far the fields of a command match `bash -c SCRIPT`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShellInvocation {
    No,
    /// `bash`, at this index of the fields.
    Name(usize),
    /// `-c`: the next field is a script; the shell stands at this index.
    Script(usize),
}

impl ShellInvocation {
    /// The state after `fields`, the first of which has this index.
    fn after(self, fields: &[Field], number: usize) -> ShellInvocation {
        let [field] = fields else { return ShellInvocation::No };
        let text = field.text();
        match self {
            _ if is_shell(&text) => ShellInvocation::Name(number),
            ShellInvocation::Name(at) if text.starts_with('-') && text.ends_with('c') => ShellInvocation::Script(at),
            ShellInvocation::Name(at) if text.starts_with('-') => ShellInvocation::Name(at),
            _ => ShellInvocation::No,
        }
    }
}

/// The simple commands in fields that a shell reads again: the fields between `&&`, `;` and `|`, without redirections.
fn simple(fields: Vec<Field>) -> Vec<Vec<Field>> {
    let (mut commands, mut redirected) = (vec![Vec::new()], false);
    for mut field in fields {
        let text = if field.chunks.iter().all(|chunk| chunk.depth() > 0) { field.text() } else { String::new() };
        let ends = matches!(text.as_str(), "&&" | "||" | ";" | "|" | "&");
        // `cd /work; python3 …`
        let is_last = !ends && text.ends_with(';') && field.shorten();
        redirected |= text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&').starts_with(['>', '<']);
        if let Some(command) = commands.last_mut().filter(|_| !ends && !redirected) {
            command.push(field);
        }
        if ends || is_last {
            commands.push(Vec::new());
            redirected = false;
        }
    }
    let is_utility =
        |fields: &Vec<Field>| fields.first().is_some_and(|name| is_among(&programs().utilities, &name.text()));
    commands.retain(|fields| !is_utility(fields));
    commands
}

/// The quotes around a whole word, and the span inside of them.
fn whole_quote(word: &Word) -> Option<(Quote, Range<usize>)> {
    let first = word.parts.first()?;
    let inner = word.span.start + 1..word.span.end.checked_sub(1)?;
    let is_whole = matches!(first.quote, Quote::Single | Quote::Double)
        && word.parts.iter().all(|part| part.quote == first.quote && part.span.end <= inner.end)
        && first.span.start == inner.start
        && (first.quote == Quote::Double || word.parts.len() == 1);
    is_whole.then_some((first.quote, inner))
}
