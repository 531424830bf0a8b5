//! The values of expressions that need no run: literals, names and options that are given one once, and arithmetic on numbers.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use tree_sitter::Node as Syntax;

use super::super::Value;
use super::super::tree::{Member, Node, Shape};
use super::super::value::{based_number, number};
use super::named_arguments;
use crate::knowledge::{Launchers, plain_name};

/// How often a name may stand for another name, or a value for a part of another.
const DEEPEST: usize = 16;

/// What names and options are given in the code.
pub(super) struct Definitions<'t> {
    text: &'t str,
    names: HashMap<&'t str, Vec<Syntax<'t>>>,
    /// Defaults of options that the program takes itself, by their names as attributes: `args.batch_size`.
    options: HashMap<String, Vec<Syntax<'t>>>,
    /// How often each name stands in the code.
    uses: HashMap<&'t str, usize>,
    /// What calls give: the function or class, the argument, its value.
    given: HashMap<(&'t str, &'t str), Vec<Syntax<'t>>>,
    /// Functions and classes of the code that have defaults.
    owners: HashSet<&'t str>,
}

/// What an expression is worth.
pub(super) struct Worth {
    /// The value and its place; an expression that only a run can tell reads as its text in back quotes.
    pub node: Node,
    /// Where the value stands, if the expression is only its name.
    pub defined: Option<Range<usize>>,
    /// Whether a new value may be written there: nothing else uses the name.
    pub is_own: bool,
    /// The option of the program that gives the value.
    pub option: Option<String>,
}

impl Worth {
    /// A value that stands where it is used.
    pub fn of(node: Node) -> Worth {
        Worth { node, defined: None, is_own: true, option: None }
    }
}

impl<'t> Definitions<'t> {
    /// Whether the code calls a method of this name more than once.
    pub fn calls_often(&self, method: &str) -> bool {
        self.text.match_indices(&format!(".{method}(")).nth(1).is_some()
    }

    pub fn new(text: &'t str) -> Definitions<'t> {
        Definitions {
            text,
            names: HashMap::new(),
            options: HashMap::new(),
            uses: HashMap::new(),
            given: HashMap::new(),
            owners: HashSet::new(),
        }
    }

    pub fn words(&self, node: Syntax<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    pub fn define(&mut self, name: &'t str, value: Syntax<'t>) {
        self.names.entry(name).or_default().push(value);
    }

    /// Notes what a call of `function` gives its `argument`.
    pub fn give(&mut self, function: &'t str, argument: &'t str, value: Syntax<'t>) {
        self.given.entry((function, argument)).or_default().push(value);
    }

    /// Defines `name` by the default that `owner` has for it, or by what its calls give instead. It takes all calls to be noted already.
    pub fn define_default(&mut self, owner: &'t str, name: &'t str, default: Syntax<'t>) {
        self.owners.insert(owner);
        let given = self.given.get(&(owner, name)).cloned().unwrap_or_else(|| vec![default]);
        self.names.entry(name).or_default().extend(given);
    }

    /// Whether a call of `function` gives its `argument`.
    pub fn is_given(&self, function: &str, argument: &str) -> bool {
        self.given.contains_key(&(function, argument))
    }

    /// Whether `name` is a function or class of the code that has defaults.
    pub fn has_defaults(&self, name: &str) -> bool {
        self.owners.contains(name)
    }

    pub fn define_option(&mut self, flag: &str, default: Syntax<'t>) {
        self.options.entry(plain_name(flag)).or_default().push(default);
    }

    pub fn count(&mut self, name: &'t str) {
        *self.uses.entry(name).or_default() += 1;
    }

    /// What `expression` is worth.
    pub fn worth(&self, expression: Syntax<'t>) -> Worth {
        let span = expression.byte_range();
        if let Some(node) = self.value(expression, 0) {
            return Worth::of(node);
        }
        let (definition, option) = match expression.kind() {
            "identifier" => (self.only(self.words(expression)), None),
            "attribute" => self.of_attribute(expression),
            _ => (None, None),
        };
        let found = definition.and_then(|definition| Some((definition.byte_range(), self.value(definition, 1)?)));
        match found {
            Some((defined, node)) => {
                let is_own = option.is_some() || self.uses.get(self.words(expression)).is_none_or(|uses| *uses <= 2);
                // What stands within a dictionary keeps its own place.
                let node = match node.shape {
                    Shape::Scalar(_) => Node::new(span, node.shape),
                    _ => node,
                };
                Worth { node, defined: Some(defined), is_own, option }
            }
            None => Worth::of(self.open(expression)),
        }
    }

    /// What the only assignment gives the name.
    pub fn only(&self, name: &str) -> Option<Syntax<'t>> {
        match self.names.get(name)?.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// What `args.batch_size` is if nobody gives the option, or the default of the only field that is called so.
    fn of_attribute(&self, attribute: Syntax<'t>) -> (Option<Syntax<'t>>, Option<String>) {
        let Some(name) = attribute.child_by_field_name("attribute").map(|name| self.words(name)) else {
            return (None, None);
        };
        match self.options.get(name).map(Vec::as_slice) {
            Some([only]) => (Some(*only), Some(name.to_owned())),
            Some(_) => (None, None),
            None => (self.only(name), None),
        }
    }

    /// The value of an expression that holds its own value.
    pub fn value(&self, expression: Syntax<'t>, depth: usize) -> Option<Node> {
        if depth > DEEPEST {
            return None;
        }
        let span = expression.byte_range();
        let scalar = |value| Some(Node::new(span.clone(), Shape::Scalar(value)));
        match expression.kind() {
            "none" => scalar(Value::Null),
            "true" => scalar(Value::Bool(true)),
            "false" => scalar(Value::Bool(false)),
            "integer" | "float" | "unary_operator" | "binary_operator" => {
                scalar(Value::Number(self.number(expression, depth)?))
            }
            "string" | "concatenated_string" => scalar(Value::Text(self.string(expression)?)),
            // `torch.bfloat16`, `ShardingStrategy.FULL_SHARD`
            "attribute" => {
                let of = expression.child_by_field_name("object").map(|of| self.words(of))?;
                let name = expression.child_by_field_name("attribute").map(|name| self.words(name))?;
                let is_value = matches!(of, "torch" | "jnp" | "np") || is_member(of, name);
                is_value.then(|| scalar(Value::Text(name.to_owned())))?
            }
            "parenthesized_expression" => self.value(expression.named_child(0)?, depth + 1),
            "list" | "tuple" => {
                let mut cursor = expression.walk();
                let items = expression.named_children(&mut cursor);
                let items = items.map(|item| Some(Arc::new(self.part(item, depth)?))).collect::<Option<Vec<_>>>()?;
                Some(Node::new(span, Shape::List(items)))
            }
            "dictionary" => {
                let mut cursor = expression.walk();
                let pairs = expression.named_children(&mut cursor).filter(|pair| pair.kind() == "pair");
                let members = pairs.filter_map(|pair| {
                    let (key, value) = (pair.child_by_field_name("key")?, pair.child_by_field_name("value")?);
                    let name = self.string(key)?;
                    Some(Member { key: name, at: key.byte_range(), value: Arc::new(self.part(value, depth)?) })
                });
                Some(Node::new(span, Shape::Map(members.collect())))
            }
            // `dict(a=1)`
            "call" if self.words(expression.child_by_field_name("function")?) == "dict" => {
                let members = named_arguments(expression).into_iter().filter_map(|(name, value)| {
                    let value = Arc::new(self.part(value, depth)?);
                    Some(Member { key: self.words(name).to_owned(), at: name.byte_range(), value })
                });
                Some(Node::new(span, Shape::Map(members.collect())))
            }
            _ => None,
        }
    }

    /// A value within another: one that only a run can tell stays as its text.
    fn part(&self, expression: Syntax<'t>, depth: usize) -> Option<Node> {
        if depth > DEEPEST {
            return None;
        }
        Some(self.value(expression, depth + 1).unwrap_or_else(|| self.worth_of_name(expression, depth + 1)))
    }

    fn worth_of_name(&self, expression: Syntax<'t>, depth: usize) -> Node {
        let is_name = expression.kind() == "identifier";
        let of_name = is_name.then(|| self.value(self.only(self.words(expression))?, depth)).flatten();
        match of_name.map(|node| node.shape) {
            Some(shape @ Shape::Scalar(_)) => Node::new(expression.byte_range(), shape),
            _ => self.open(expression),
        }
    }

    /// An expression that counts the machine's cores, whose value only a run can tell.
    pub fn of_cores(&self, expression: Syntax<'t>) -> Option<Node> {
        const OF_NUMBERS: [&str; 4] = ["int", "min", "max", "len"];
        let counts = |of: Syntax<'t>| Launchers::shipped().programs.counts_cores(self.words(of));
        // A call that is given such a number makes something else of it.
        let is_amount = match (expression.kind(), expression.child_by_field_name("function")) {
            ("call", Some(function)) => OF_NUMBERS.contains(&self.words(function)) || counts(function),
            (kind, _) => matches!(kind, "binary_operator" | "boolean_operator"),
        };
        (is_amount && counts(expression)).then(|| self.open(expression))
    }

    /// An expression that only a run can tell.
    fn open(&self, expression: Syntax<'t>) -> Node {
        let text = format!("`{}`", self.words(expression));
        Node::new(expression.byte_range(), Shape::Scalar(Value::Text(text)))
    }

    fn number(&self, expression: Syntax<'t>, depth: usize) -> Option<f64> {
        if depth > DEEPEST {
            return None;
        }
        let words = self.words(expression);
        let number = match expression.kind() {
            "integer" | "float" => number(words).or_else(|| based_number(words))?,
            "parenthesized_expression" => self.number(expression.named_child(0)?, depth + 1)?,
            "identifier" => self.number(self.only(words)?, depth + 1)?,
            "unary_operator" if words.starts_with('-') => {
                -self.number(expression.child_by_field_name("argument")?, depth + 1)?
            }
            "binary_operator" => {
                let side = |name| self.number(expression.child_by_field_name(name)?, depth + 1);
                let (left, right) = (side("left")?, side("right")?);
                match self.words(expression.child_by_field_name("operator")?) {
                    "+" => left + right,
                    "-" => left - right,
                    "*" => left * right,
                    "**" => left.powf(right),
                    "/" => left / right,
                    "//" => (left / right).floor(),
                    "<<" if (0.0..64.0).contains(&right) => left * right.exp2(),
                    _ => return None,
                }
            }
            _ => return None,
        };
        number.is_finite().then_some(number)
    }

    /// A string without anything to be filled in; adjacent ones are one.
    pub fn string(&self, expression: Syntax<'t>) -> Option<String> {
        let mut cursor = expression.walk();
        let mut parts = expression.named_children(&mut cursor);
        match expression.kind() {
            "concatenated_string" => parts.map(|part| self.string(part)).collect(),
            "string" => {
                let mut text = String::new();
                parts.all(|part| part.kind() != "interpolation").then_some(())?;
                let mut cursor = expression.walk();
                for part in expression.named_children(&mut cursor).filter(|part| part.kind() == "string_content") {
                    text.push_str(self.words(part));
                }
                Some(text)
            }
            _ => None,
        }
    }
}

/// Whether `name` is a member of the enumeration `of`, as both are written by custom: `ShardingStrategy`, `FULL_SHARD`.
pub(super) fn is_member(of: &str, name: &str) -> bool {
    // A class that is called otherwise may as well hold the script's own constants: `Config.BATCH_SIZE`.
    const ENUMERATIONS: [&str; 6] = ["Strategy", "Type", "Prefetch", "Mode", "Policy", "Kind"];
    let is_class = of.starts_with(|c: char| c.is_ascii_uppercase()) && ENUMERATIONS.iter().any(|end| of.ends_with(end));
    let is_constant = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    is_class
        && of.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && name.bytes().any(|byte| byte.is_ascii_uppercase())
        && name.bytes().all(is_constant)
}
