//! Conditions in the Common Expression Language (CEL), evaluated on an incident's facts.

use std::convert::Infallible;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use cel::common::ast::operators::{LOGICAL_AND, LOGICAL_OR};
use cel::common::ast::{CallExpr, Expr};
use cel::extractors::{Arguments, This};
use cel::parser::PrattParser;
use cel::{Context, Env, ExecutionError, IdedExpr, Value as CelValue};

use super::cost;
use super::known::{Facts, Value};
use super::pattern;
use super::remembered::Remembered;
use super::variables::Variables;
use super::word_match::tokens;

/// The answer to a condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It holds.
    Yes,
    /// It does not hold.
    No,
    /// A fact that it needs is not known.
    Missing(String),
    /// The condition is wrong, which is a fault of the rule.
    Nonsense(String),
}

/// The language with the functions of conditions: the same for all facts.
static LANGUAGE: LazyLock<Context<'static, 'static>> = LazyLock::new(|| {
    let mut context = Context::with_env(Arc::new(Env::stdlib()));
    add_functions(&mut context);
    context
});

/// The facts as variables of conditions.
pub struct Evaluator<'f> {
    variables: Variables<'f>,
}

impl<'f> Evaluator<'f> {
    /// Facts with dotted names become nested maps: `figures.requested` is the entry `requested` of the map `figures`.
    pub fn new(facts: &'f Facts) -> Evaluator<'f> {
        Evaluator { variables: Variables::of(facts) }
    }

    /// Sets `name`, which has no dots, to `value`.
    pub fn assuming(mut self, name: &str, value: &Value) -> Evaluator<'f> {
        self.variables.assume(name, value);
        self
    }

    /// Whether `condition` is known to hold: [`Answer::Yes`]. Nothing is asked behind the part that decides, while CEL asks on to see whether
    /// another part decides what this one leaves open.
    pub fn holds(&self, condition: &str) -> bool {
        Expression::new(condition).is_ok_and(|expr| self.is_true(&expr.expression))
    }

    fn is_true(&self, expression: &IdedExpr) -> bool {
        match &expression.expr {
            Expr::Call(CallExpr { func_name, target: None, args }) if func_name == LOGICAL_AND => {
                args.iter().all(|part| self.is_true(part))
            }
            Expr::Call(CallExpr { func_name, target: None, args }) if func_name == LOGICAL_OR => {
                args.iter().any(|part| self.is_true(part))
            }
            _ => matches!(self.evaluate(expression), Ok(CelValue::Bool(true))),
        }
    }

    fn evaluate(&self, expression: &IdedExpr) -> Result<CelValue, ExecutionError> {
        let mut context = LANGUAGE.new_inner_scope();
        context.set_variable_resolver(&self.variables);
        CelValue::resolve(expression, &context)
    }

    /// The number that `expression` yields, if all facts in it are known.
    pub fn compute(&self, expression: &str) -> Option<f64> {
        let expr = Expression::new(expression).ok()?;
        match self.evaluate(&expr.expression) {
            Ok(CelValue::Float(number)) if number.is_finite() => Some(number),
            _ => None,
        }
    }

    /// Whether `condition` holds.
    pub fn ask(&self, condition: &str) -> Answer {
        match Expression::new(condition) {
            Ok(expr) => expr.ask(self),
            Err(problem) => Answer::Nonsense(problem),
        }
    }
}

/// `frames.says("cross entropy", "softmax")`: whether a text, or one of a list, contains one of the phrases as whole words in any spelling
/// of names: `CrossEntropyLoss`, `cross_entropy`. Parts of words do not count: `pin` in `/data/pinyin`.
fn says(This(said): This<CelValue>, Arguments(phrases): Arguments) -> Result<bool, ExecutionError> {
    let texts: &[CelValue] = match &said {
        CelValue::List(items) => items,
        other => std::slice::from_ref(other),
    };
    let words: Vec<Rc<str>> = texts.iter().filter_map(|text| Some(plain(as_text(text)?))).collect();
    let is_said = |phrase: &str| {
        let phrase = plain(phrase);
        phrase.len() > 1 && words.iter().any(|words| words.contains(&*phrase))
    };
    Ok(phrases.iter().filter_map(as_text).any(is_said))
}

/// `set.model.fits("(?i)flux[.]1")`: whether a text has what a pattern describes.
fn fits(This(text): This<Arc<String>>, pattern: Arc<String>) -> Result<bool, ExecutionError> {
    pattern::fits(&text, &pattern).map_err(|problem| ExecutionError::function_error("fits", problem))
}

fn as_text(value: &CelValue) -> Option<&str> {
    match value {
        CelValue::String(text) => Some(text),
        _ => None,
    }
}

/// The words of `text` with a blank around each.
fn plain(text: &str) -> Rc<str> {
    let words = |text: &str| Ok(Rc::from(tokens(text).fold(" ".to_owned(), |words, word| words + &word + " ")));
    let Ok(plain) = PLAIN.with(|plain| plain.of::<Infallible>(text, words));
    plain
}

/// A parsed condition, which can be evaluated for several incidents.
pub struct Expression<'c> {
    condition: &'c str,
    pub(super) expression: Rc<IdedExpr>,
}

thread_local! {
    static PARSED: Remembered<Rc<IdedExpr>> = Remembered::new();
    static PLAIN: Remembered<Rc<str>> = Remembered::new();
}

impl<'c> Expression<'c> {
    /// Parses `condition`; the error says what is wrong, or that evaluating it might take too long.
    ///
    /// The crate's hand-written parser is twenty times as fast as its generated one, which `Program::compile` uses, and there are hundreds
    /// of conditions. A test checks that both parse all shipped ones alike.
    pub fn new(condition: &'c str) -> Result<Expression<'c>, String> {
        let parse = |condition: &str| {
            cost::of_text(condition)?;
            let expression = PrattParser::default().parse(condition).map_err(|error| error.to_string())?;
            cost::of_tree(&expression)?;
            Ok(Rc::new(expression))
        };
        PARSED.with(|parsed| parsed.of(condition, parse)).map(|expression| Expression { condition, expression })
    }

    /// Its value as an expression; `None` if it needs an unknown fact or is wrong.
    pub fn value(&self, evaluator: &Evaluator<'_>) -> Option<Value> {
        of_cel(evaluator.evaluate(&self.expression).ok()?)
    }

    /// Whether it holds for the facts of `evaluator`.
    pub fn ask(&self, evaluator: &Evaluator<'_>) -> Answer {
        match evaluator.evaluate(&self.expression) {
            Ok(CelValue::Bool(true)) => Answer::Yes,
            Ok(CelValue::Bool(false)) => Answer::No,
            Ok(other) => Answer::Nonsense(format!("it is {other:?}, not true or false")),
            Err(ExecutionError::NoSuchKey(name) | ExecutionError::UndeclaredReference(name)) => {
                Answer::Missing(full_name(self.condition, &name))
            }
            Err(error) => Answer::Nonsense(error.to_string()),
        }
    }
}

/// The dotted name in `condition` that contains `part`: CEL's error names only the missing part.
fn full_name(condition: &str, part: &str) -> String {
    let is_meant = |name: &&str| name.split('.').any(|word| word == part);
    names(condition).into_iter().find(is_meant).unwrap_or(part).to_owned()
}

/// The parts of `condition` joined by `||` outside of brackets and quotes.
pub fn alternatives(condition: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0u32, None);
    for (at, c) in condition.char_indices() {
        match (quoted, c) {
            (Some(quote), c) if c == quote => quoted = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quoted = Some(c),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth = depth.saturating_sub(1),
            (None, '|') if depth == 0 && condition[at..].starts_with("||") => {
                parts.push(condition[start..at].trim());
                start = at + 2;
            }
            _ => {}
        }
    }
    parts.push(condition[start..].trim());
    parts
}

/// The dotted names in `condition`.
pub fn names(condition: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut quoted = None;
    let mut start = None;
    for (at, c) in condition.char_indices().chain([(condition.len(), ' ')]) {
        match quoted {
            Some(quote) if c == quote => quoted = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quoted = Some(c),
            None => {
                let is_part = c.is_alphanumeric() || c == '_' || c == '.';
                match start {
                    None if c.is_alphabetic() || c == '_' => start = Some(at),
                    Some(from) if !is_part => {
                        // A name before a bracket is a function's or a method's.
                        let name = &condition[from..at];
                        let name = if c == '(' { name.rsplit_once('.').map_or("", |(object, _)| object) } else { name };
                        if !name.is_empty() {
                            names.push(name);
                        }
                        start = None;
                    }
                    _ => {}
                }
            }
        }
    }
    names
}

fn of_cel(value: CelValue) -> Option<Value> {
    Some(match value {
        CelValue::Float(number) => Value::Number(number),
        CelValue::Int(number) => Value::Number(number as f64),
        CelValue::UInt(number) => Value::Number(number as f64),
        CelValue::String(text) => Value::Text(text.to_string()),
        CelValue::Bool(flag) => Value::Flag(flag),
        _ => return None,
    })
    .filter(|value| !matches!(value, Value::Number(number) if !number.is_finite()))
}

fn items(list: &CelValue) -> f64 {
    let items = as_text(list).map_or(1, |list| list.split(',').filter(|item| !item.trim().is_empty()).count());
    items as f64
}

fn last_number(value: &CelValue) -> f64 {
    match value {
        CelValue::Float(number) => *number,
        CelValue::Int(number) => *number as f64,
        CelValue::String(text) => {
            let mut words = text.rsplit(|c: char| !c.is_ascii_alphanumeric());
            words.find_map(|word| word.parse().ok()).unwrap_or(0.0)
        }
        _ => 0.0,
    }
}

/// Adds the functions of conditions and of the expressions of dialects.
fn add_functions(context: &mut Context<'_, '_>) {
    let added = [
        context.add_function("says", says),
        context.add_function("fits", fits),
        context.add_function("larger", |a: f64, b: f64| a.max(b)),
        context.add_function("smaller", |a: f64, b: f64| a.min(b)),
        context.add_function("floor", |a: f64| a.floor()),
        context.add_function("sqrt", |a: f64| a.sqrt()),
        context.add_function("ceil", |a: f64| a.ceil()),
        // 3 for `0,1,2`.
        context.add_function("items", |This(list): This<CelValue>| items(&list)),
        // 8 for `gpu:a100:8`, 0 for text without a number.
        context.add_function("number", |This(value): This<CelValue>| last_number(&value)),
    ];
    debug_assert!(added.iter().all(Result::is_ok), "they are names");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        let mut facts = Facts::default();
        facts.say("kind", Value::Text("gpu_oom".into()));
        facts.say("figures.requested", Value::Number(5.0));
        facts.say("config.stage", Value::Number(3.0));
        facts.say("frames", Value::List(vec![Value::Text("a/engine.py:step".into())]));
        facts
    }

    #[test]
    fn answers_or_names_what_is_missing() {
        let facts = facts();
        let evaluator = Evaluator::new(&facts);
        assert_eq!(evaluator.ask("kind == 'gpu_oom' && config.stage == 3"), Answer::Yes);
        assert_eq!(evaluator.ask("frames.exists(f, f.endsWith(':step'))"), Answer::Yes);
        assert_eq!(evaluator.ask("figures.requested > 6.0"), Answer::No);
        assert_eq!(evaluator.ask("figures.gpu_total > 6.0"), Answer::Missing("figures.gpu_total".into()));
        assert_eq!(evaluator.ask("trend.host.slope > 6.0"), Answer::Missing("trend.host.slope".into()));
        // A known fact may decide although another one is missing.
        assert_eq!(evaluator.ask("kind == 'none' && figures.gpu_total > 6.0"), Answer::No);
        assert_eq!(evaluator.ask("figures.gpu_total > 6.0 || config.stage == 3.0"), Answer::Yes);
        assert_eq!(evaluator.ask("config.stage == 3.0 || figures.gpu_total > 6.0"), Answer::Yes);
        assert_eq!(evaluator.ask("figures.gpu_total > 6.0 && config.stage == 2.0"), Answer::No);
        for (condition, holds) in [
            ("figures.gpu_total > 6.0 || config.stage == 3.0", true),
            ("config.stage == 3.0 && (figures.requested > 4.0 || figures.gpu_total > 6.0)", true),
            ("config.stage == 3.0 && figures.gpu_total > 6.0", false),
            ("config.stage == 3.0 && !(figures.gpu_total > 6.0)", false),
            ("config.stage == 3.0 && figures.requested", false),
            ("config.stage ==", false),
        ] {
            assert_eq!(evaluator.holds(condition), holds, "{condition}");
            assert_eq!(evaluator.ask(condition) == Answer::Yes, holds, "{condition}");
        }
        assert!(matches!(evaluator.ask("figures.requested"), Answer::Nonsense(_)));
        assert!(matches!(evaluator.ask("kind =="), Answer::Nonsense(_)));
    }

    #[test]
    fn words_are_said_however_they_are_written_and_parts_of_words_are_not() {
        let mut facts = Facts::default();
        let frames = ["/data/pinyin-7b/classification_head.py:forward", "nn/modules/loss.py:CrossEntropyLoss"];
        facts.say("frames", Value::List(frames.map(|frame| Value::Text(frame.into())).into()));
        facts.say("message", Value::Text("Unable to allocate pinned memory: cudaHostAlloc failed".into()));
        let evaluator = Evaluator::new(&facts);
        for said in ["frames.says('cross entropy')", "frames.says('x', 'loss py')", "message.says('cuda host alloc')"] {
            assert_eq!(evaluator.ask(said), Answer::Yes, "{said}");
        }
        for not in ["frames.says('pin', 'cat')", "frames.says('')", "message.says('pin memory')", "frames.says()"] {
            assert_eq!(evaluator.ask(not), Answer::No, "{not}");
        }
        assert_eq!(evaluator.ask("trend.words.says('x')"), Answer::Missing("trend.words".into()));
    }

    #[test]
    fn no_shipped_condition_looks_for_a_part_of_a_word() -> Result<(), Box<dyn std::error::Error>> {
        for condition in shipped()? {
            assert!(!condition.contains(".contains(") && !condition.contains(".matches("), "{condition}");
            assert!(!condition.contains(".fits("), "{condition}");
        }
        Ok(())
    }

    /// The conditions of the shipped causes and knobs.
    fn shipped() -> Result<Vec<Arc<str>>, Box<dyn std::error::Error>> {
        let knowledge = crate::knowledge::Knowledge::shipped()?;
        let rows = |rule: &'_ crate::knowledge::CauseRule| -> Vec<Arc<str>> {
            let evidence = rule.evidence.iter().map(|row| row.when.clone());
            let others = rule.patch.iter().filter_map(|row| row.when.clone());
            evidence.chain(others).chain(rule.when.clone()).collect()
        };
        let of_knobs = knowledge
            .knobs
            .iter()
            .flat_map(|knob| &knob.constraint)
            .filter_map(|row| row.unless.clone().or(row.only.clone()));
        Ok(knowledge.causes.iter().flat_map(rows).chain(of_knobs).collect())
    }

    /// A syntax tree without the numbers of its nodes.
    fn shape(expression: &IdedExpr) -> String {
        let shown = format!("{expression:?}");
        let mut parts = shown.split("id: ");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |shape, part| shape + part.trim_start_matches(|c: char| c.is_ascii_digit()))
    }

    #[test]
    fn both_parsers_read_the_shipped_conditions_alike() -> Result<(), Box<dyn std::error::Error>> {
        let all = shipped()?;
        assert!(all.len() > 200, "{}", all.len());
        for condition in &all {
            let (ours, generated) = (Expression::new(condition)?, cel::Program::compile(condition)?);
            assert_eq!(shape(&ours.expression), shape(generated.expression()), "{condition}");
        }
        Ok(())
    }

    #[test]
    fn tells_alternatives_apart() {
        assert_eq!(alternatives("a == '||' || (b || c) && d"), ["a == '||'", "(b || c) && d"]);
        assert_eq!(alternatives("f.exists(x, x || y)"), ["f.exists(x, x || y)"]);
    }

    #[test]
    fn finds_the_names_in_a_condition() {
        assert_eq!(
            names("kind == 'a.b' && frames.exists(f, f.contains(\"x\")) && config.stage > 1.0"),
            ["kind", "frames", "f", "f", "config.stage"]
        );
    }

    /// Eight nested `exists` kept `rules check` and `import` busy for ever.
    #[test]
    fn what_might_never_end_is_refused() {
        let nested = |macros: usize| {
            let open: String = (0..macros).map(|level| format!("frames.exists(f{level}, ")).collect();
            format!("{open}f0 == 'x'{}", ")".repeat(macros))
        };
        let list = |length: usize| vec!["1"; length].join(",");
        for condition in [nested(1), nested(2), format!("[{}].exists(x, x > 2)", list(2000))] {
            assert!(Expression::new(&condition).is_ok(), "{condition}");
        }
        for condition in [
            nested(3),
            nested(8),
            format!("[{0}].exists(x, [{0}].exists(y, x + y > 5))", list(2000)),
            format!("{}true{}", "(".repeat(4000), ")".repeat(4000)),
            format!("{}true", "!".repeat(4000)),
            vec!["true"; 4000].join(" || "),
        ] {
            assert!(Expression::new(&condition).is_err_and(|problem| problem.starts_with("it")), "{condition:.80}");
        }
    }
}
