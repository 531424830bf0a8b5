//! Interprets a script: its assignments in order, and its commands with their fields.

mod assign;
mod call;
mod test_expression;

use std::collections::HashSet;
use std::ops::Range;

use super::expand::{Chunk, Field, Holds, Scope, Source, TestOperand, VariableValue};
use super::launchers::is_option;
use super::words::{Content, Operator, Quote, Token, Word, heredoc, tokens, unescaped};
use assign::assigned;

use crate::knowledge::{Launchers, Programs, is_among};

/// Everything in a script that may contain settings.
#[derive(Debug, Clone, Default)]
pub(super) struct Script {
    pub calls: Vec<Call>,
    pub assignments: Vec<Assignment>,
    pub files: Vec<WrittenFile>,
    pub comments: Vec<Range<usize>>,
    /// Spans that run or not depending on how the script is launched; each begins with the deciding test.
    pub choices: Vec<Range<usize>>,
}

/// A command, or a scheduler's line such as `#SBATCH --mem=64G`, which has options like one.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub fields: Vec<Field>,
    /// From the first assignment in front of the command to its last word.
    pub span: Range<usize>,
    /// The quotes around the script that it belongs to, as in `bash -c "…"`.
    pub within: Option<Quote>,
    pub is_directive: bool,
    /// Whether it does not run when the script is launched without arguments.
    pub is_skipped: bool,
}

/// `NAME=value`
#[derive(Debug, Clone)]
pub(super) struct Assignment {
    pub name: String,
    /// `None` for an array and for `+=`.
    pub value: Option<Vec<Chunk>>,
    /// The bytes of name and value.
    pub span: Range<usize>,
    /// The bytes of the value, including its quotes.
    pub place: Range<usize>,
    pub role: Role,
    /// Whether it certainly runs.
    pub is_sure: bool,
    pub within: Option<Quote>,
}

/// The scope of an assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A variable of the script only.
    Variable,
    /// `export NAME=value`: for every process started from there on.
    Export,
    /// `NAME=value command`: for that command only, the call with this index.
    Prefix(usize),
}

/// A file that the script writes: the body of a here document.
#[derive(Debug, Clone)]
pub(super) struct WrittenFile {
    pub name: String,
    pub body: Range<usize>,
    /// The variables in the body.
    pub references: Vec<Chunk>,
}

/// How many levels of scripts within scripts are read.
const DEEPEST: usize = 3;

fn programs() -> &'static Programs {
    &Launchers::shipped().programs
}

/// Interprets a script.
pub(super) fn read(text: &str) -> Script {
    let mut reader = ScriptReader {
        source: Source(text),
        scope: Scope::default(),
        script: Script::default(),
        exported: HashSet::new(),
        is_pattern: false,
        cases: Vec::new(),
        patterns: Vec::new(),
        within: None,
        depth: 0,
        condition: Condition::default(),
        joined: None,
    };
    reader.run(text, 0);
    reader.handed_on();
    let mut script = reader.script;
    let exported = |assignment: &&mut Assignment| reader.exported.contains(&assignment.name);
    for assignment in script.assignments.iter_mut().filter(exported) {
        if assignment.role == Role::Variable {
            assignment.role = Role::Export;
        }
    }
    script
}

struct ScriptReader<'a> {
    source: Source<'a>,
    scope: Scope,
    script: Script,
    /// Names in `export NAME`, which may come before or after the assignment.
    exported: HashSet<String>,
    /// Whether a pattern of a `case` is expected next.
    is_pattern: bool,
    /// The subject of each open `case`, if it is known.
    cases: Vec<Option<String>>,
    /// The patterns read so far for the next branch of the innermost `case`.
    patterns: Vec<Word>,
    within: Option<Quote>,
    depth: usize,
    /// The combined outcome of the tests since the last `if` or `elif`.
    condition: Condition,
    /// Whether the next command is joined to the previous one by `||` (true) or `&&` (false).
    joined: Option<bool>,
}

/// The commands between `if` and `then`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Condition {
    /// Nothing yet.
    #[default]
    Empty,
    /// Only tests, with their combined outcome.
    Test(Holds),
    /// Anything else.
    Other,
}

/// A simple command whose tokens are being collected.
#[derive(Default)]
struct Pending {
    words: Vec<Word>,
    /// The file that its output is redirected to.
    target: Option<Word>,
    heredocs: Vec<(Range<usize>, bool)>,
    /// Whether the next word is the file of a redirection.
    redirects: bool,
    /// Whether a `[[` is open.
    is_test: bool,
}

impl Pending {
    fn push(&mut self, word: Word) {
        match word.bare() {
            Some("[[") => self.is_test = true,
            Some("]]") => self.is_test = false,
            _ => {}
        }
        self.words.push(word);
    }
}

impl ScriptReader<'_> {
    /// Interprets `text`, which begins at offset `base` of the script.
    fn run(&mut self, text: &str, base: usize) {
        let mut pending = Pending::default();
        // For each open parenthesis, whether it opened a subshell.
        let (mut sure, mut skips, mut parentheses) = (true, false, Vec::new());
        // The start of the test that decides whether the next command runs.
        let mut tested = None;
        for token in tokens(text, base) {
            match token {
                Token::Comment(span) => {
                    self.directive(&span);
                    self.script.comments.push(span);
                }
                Token::Word(word) if self.is_pattern => {
                    if word.bare() == Some("esac") {
                        self.is_pattern = false;
                        pending.words.push(word);
                    } else {
                        self.patterns.push(word);
                    }
                }
                Token::Word(word) if std::mem::take(&mut pending.redirects) => pending.target = Some(word),
                Token::Word(word) => pending.push(word),
                Token::Heredoc { body, expands } => pending.heredocs.push((body, expands)),
                // Inside of `[[ … ]]`, these are not operators of the shell.
                Token::Redirect | Token::Operator(Operator::And | Operator::Or | Operator::Open | Operator::Close)
                    if pending.is_test => {}
                Token::Operator(operator) if self.is_pattern => {
                    self.is_pattern = operator != Operator::Close;
                    if !self.is_pattern {
                        self.branch();
                    }
                }
                Token::Redirect => pending.redirects = true,
                Token::Operator(Operator::Open) => {
                    let is_subshell = pending.words.is_empty();
                    if is_subshell {
                        self.scope.open();
                    }
                    parentheses.push(is_subshell);
                }
                Token::Operator(Operator::Close) => {
                    let mut command = std::mem::take(&mut pending);
                    match parentheses.pop() {
                        Some(true) => {
                            self.command(command, sure);
                            self.scope.close();
                        }
                        // The `)` of a function's `name ()`, or behind the first pattern of a `case`.
                        _ => {
                            self.reserved(&mut command.words);
                            self.branch();
                        }
                    }
                    (sure, self.is_pattern) = (true, false);
                }
                Token::Operator(operator) => {
                    let command = std::mem::take(&mut pending);
                    let is_test = command.words.first().and_then(Word::bare);
                    let is_test = is_test.is_some_and(|word| matches!(word, "[" | "[[" | "test"));
                    let holds = if is_test { self.test(&command.words).usually() } else { None };
                    let place = command.words.first().zip(command.words.last());
                    let (begin, end) = place.map_or((0, 0), |(first, last)| (first.span.start, last.span.end));
                    if skips {
                        self.scope.open();
                        self.scope.decide(Holds::Usually(false));
                    }
                    self.command(command, sure);
                    if skips {
                        self.scope.close();
                    }
                    let joins = matches!(operator, Operator::And | Operator::Or);
                    tested = match tested {
                        _ if is_test && joins => tested.or(Some(begin)),
                        Some(test) => {
                            self.script.choices.push(test..end);
                            None
                        }
                        None => None,
                    };
                    skips = matches!((operator, holds), (Operator::And, Some(false)) | (Operator::Or, Some(true)));
                    // A command that runs only if a test holds, or if another command failed, may not run.
                    sure = match operator {
                        Operator::Or => sure && holds == Some(false),
                        Operator::And => sure && (!is_test || holds == Some(true)),
                        _ => true,
                    };
                    self.is_pattern |= operator == Operator::Case;
                    self.joined = match operator {
                        Operator::Or => Some(true),
                        Operator::And => Some(false),
                        _ => None,
                    };
                }
            }
        }
        self.command(pending, sure);
    }

    /// Collects the options in arrays if no command of the script is given any: the arrays are meant for a script that
    /// sources this one.
    fn handed_on(&mut self) {
        let has_options = |fields: &[Field]| fields.iter().any(|field| is_option(&field.text()));
        let is_given = self.script.calls.iter().any(|call| call.is_directive || has_options(&call.fields));
        if is_given || self.script.assignments.iter().any(|assignment| matches!(assignment.role, Role::Prefix(_))) {
            return;
        }
        let mut lists: Vec<Vec<Field>> = self.scope.lists().filter(|fields| has_options(fields)).cloned().collect();
        let begin = |fields: &Vec<Field>| fields.first().and_then(|field| Some(field.chunks.first()?.span.start));
        lists.sort_by_key(begin);
        let fields: Vec<Field> = lists.into_iter().flatten().collect();
        let spans = fields.iter().flat_map(|field| &field.chunks).map(|chunk| chunk.span.clone());
        let Some(span) = spans.reduce(|all, span| all.start.min(span.start)..all.end.max(span.end)) else { return };
        self.script.calls = vec![Call { fields, span, within: None, is_directive: false, is_skipped: false }];
    }

    /// `#SBATCH --mem=64G  # comment`
    fn directive(&mut self, span: &Range<usize>) {
        let text = self.source.0.get(span.clone()).unwrap_or_default();
        let begins_line = self.source.0[..span.start].ends_with('\n') || span.start == 0;
        let is_script = matches!(self.within, None | Some(Quote::Here));
        let Some(scheduler) = Launchers::shipped().scheduler(text).filter(|_| begins_line && is_script) else { return };
        let mark = scheduler.mark.len();
        let mut fields = self.scope.fields(&word_at(text, span.start..span.start + mark), &self.source);
        let mut end = span.start + mark;
        for token in tokens(&text[mark..], span.start + mark) {
            if let Token::Word(word) = token {
                end = word.span.end;
                fields.extend(self.scope.fields(&word, &self.source));
            }
        }
        self.granted(&fields);
        self.script.calls.push(Call {
            fields,
            span: span.start..end,
            within: self.within,
            is_directive: true,
            is_skipped: false,
        });
    }

    /// Binds the variables that Slurm sets for the options of a directive.
    fn granted(&mut self, fields: &[Field]) {
        for (place, field) in fields.iter().enumerate() {
            let text = field.text();
            let (option, joined) = text.split_once('=').map_or((&*text, None), |(option, value)| (option, Some(value)));
            let (option, launchers) = (option.trim_start_matches('-'), Launchers::shipped());
            let whole = launchers.granted.get(option).map(|names| (names, false));
            let counted = launchers.counted.get(option).map(|names| (names, true));
            for (names, is_counted) in whole.into_iter().chain(counted) {
                let stated = |field: &Field, value: &str| {
                    // `gpu:a100:4(S:0-1),nvme:1`: of several resources the GPUs.
                    let is_of_gpu = |part: &&str| part.starts_with("gpu") || option.contains("gpu");
                    let part = value.split(',').find(is_of_gpu).and_then(|part| part.split('(').next());
                    let number = part.and_then(|part| part.rsplit(':').next());
                    let number = number.filter(|number| number.parse::<u32>().is_ok());
                    self.source.stated(field, if is_counted { number? } else { value })
                };
                let value = match joined {
                    Some(value) => stated(field, value),
                    None => fields.get(place + 1).and_then(|field| stated(field, &field.text())),
                };
                let Some(value) = value else { continue };
                names.iter().for_each(|name| self.scope.bind(name, VariableValue::Scalar(vec![value.clone()]), true));
            }
        }
    }

    fn command(&mut self, mut pending: Pending, sure: bool) {
        self.reserved(&mut pending.words);
        // A prompt that was pasted with the command.
        if pending.words.first().and_then(Word::bare).is_some_and(|word| word == "$" || word == ">") {
            pending.words.remove(0);
        }
        let count = pending.words.iter().take_while(|word| assigned(word).is_some()).count();
        let rest = pending.words.split_off(count);
        let prefixes = pending.words;
        let name = rest.first().and_then(Word::bare).unwrap_or_default().to_owned();
        if !(prefixes.is_empty() && rest.is_empty()) {
            let is_test = matches!(name.as_str(), "[" | "[[" | "test");
            self.condition = match self.condition {
                Condition::Empty if is_test => Condition::Test(self.test(&rest)),
                Condition::Test(before) if is_test && self.joined.is_some() => {
                    let holds = self.test(&rest);
                    let either = self.joined == Some(true);
                    Condition::Test(if either { before.or(holds) } else { before.not().or(holds.not()).not() })
                }
                _ => Condition::Other,
            };
        }
        match name.as_str() {
            "" if rest.is_empty() => self.assign(&prefixes, Role::Variable, sure),
            "export" | "declare" | "typeset" | "readonly" | "local" => self.declare(&name, &rest[1..], sure),
            "unset" => rest[1..].iter().filter_map(Word::bare).for_each(|name| self.scope.unbind(name)),
            "read" | "mapfile" | "readarray" => self.input(&rest[1..], pending.heredocs.last(), sure),
            // Its words may contain assigning fallbacks.
            ":" => rest.iter().for_each(|word| drop(self.scope.fields(word, &self.source))),
            _ => {
                let target = if name == "tee" { rest.last() } else { pending.target.as_ref() };
                self.files(&name, target, &pending.heredocs);
                if !is_among(&programs().utilities, &name) && !self.scope.is_dead() {
                    self.call(&prefixes, &rest);
                }
            }
        }
    }

    /// Removes the reserved words that only control when and how often a command runs.
    fn reserved(&mut self, words: &mut Vec<Word>) {
        let mut gone = 0;
        while let Some(word) = words.get(gone).and_then(Word::bare) {
            gone += match word {
                "if" => {
                    self.scope.open_choice(words.get(gone).map_or(0, |word| word.span.start));
                    self.condition = Condition::Empty;
                    1
                }
                "while" | "until" | "{" => {
                    self.scope.open();
                    self.condition = Condition::Other;
                    1
                }
                "then" => {
                    let holds = if let Condition::Test(holds) = self.condition { holds } else { Holds::Unknown };
                    self.scope.decide(holds);
                    1
                }
                "for" | "select" => {
                    self.scope.open();
                    if let Some(name) = words.get(gone + 1).and_then(Word::bare) {
                        self.scope.unbind(name);
                    }
                    words.len()
                }
                "case" => {
                    let asked = words.get(gone + 1).map(|word| self.scope.tested(word, &self.source));
                    self.cases.push(if let Some(TestOperand::Text(text)) = asked { Some(text) } else { None });
                    self.patterns = words.get(gone + 3..).unwrap_or_default().to_vec();
                    self.scope.open_choice(words.get(gone).map_or(0, |word| word.span.start));
                    self.is_pattern = true;
                    words.len()
                }
                "function" => 2,
                "!" => {
                    self.condition = Condition::Other;
                    1
                }
                "do" | "time" | "coproc" => 1,
                "else" | "elif" => {
                    self.scope.turn(word == "else");
                    self.condition = Condition::Empty;
                    1
                }
                "fi" | "done" | "esac" | "}" => {
                    if word == "esac" {
                        self.cases.pop();
                    }
                    let end = words.get(gone).map_or(0, |word| word.span.end);
                    self.script.choices.extend(self.scope.close().map(|begin| begin..end));
                    words.len()
                }
                _ => break,
            };
        }
        words.drain(..gone.min(words.len()));
    }

    /// Interprets here documents: files that are written, and scripts that are run at once.
    fn files(&mut self, command: &str, target: Option<&Word>, heredocs: &[(Range<usize>, bool)]) {
        for (body, expands) in heredocs {
            let parts = heredoc(self.source.0, body.clone(), 0, *expands);
            if is_among(&programs().run_input, command.rsplit('/').next().unwrap_or(command)) {
                self.nested(body.clone(), Quote::Here, false);
            } else if let Some(target) = target {
                let fields = self.scope.fields(target, &self.source);
                let name = fields.first().map(Field::text).unwrap_or_default();
                let text = self.source.0.get(body.clone()).unwrap_or_default();
                if text.starts_with("#!") || programs().written_scripts.iter().any(|end| name.ends_with(end)) {
                    // A later command runs it.
                    self.nested(body.clone(), Quote::Here, false);
                    continue;
                }
                let references = self.scope.value(&parts, &self.source);
                let references = references.into_iter().filter(|chunk| chunk.depth() > 0 || !chunk.is_known).collect();
                self.script.files.push(WrittenFile { name, body: body.clone(), references });
            }
        }
    }

    /// Interprets a script within this one.
    fn nested(&mut self, span: Range<usize>, quote: Quote, escaped: bool) {
        let Some(text) = self.source.0.get(span.clone()).filter(|_| self.depth < DEEPEST) else { return };
        let outer = (self.within.replace(quote), self.depth);
        self.depth += 1;
        let text = if escaped { unescaped(text) } else { text.to_owned() };
        self.run(&text, span.start);
        (self.within, self.depth) = outer;
    }
}

/// A bare word for text that is not lexed.
fn word_at(text: &str, span: Range<usize>) -> Word {
    let literal = Content::Literal(text[..span.len()].to_owned());
    let part = super::words::Part { span: span.clone(), quote: Quote::Bare, content: literal };
    Word { span, parts: vec![part], elements: None }
}
