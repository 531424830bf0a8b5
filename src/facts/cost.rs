//! What it may cost to ask a condition: told from its syntax tree, so that no rule can make anybody wait.

use cel::IdedExpr;
use cel::common::ast::operators::{ADD, CONDITIONAL};
use cel::common::ast::{EntryExpr, Expr, LiteralValue};

/// A condition that may take more steps than this is refused: some milliseconds.
const MOST: u64 = 1_000_000;
/// Nobody writes longer ones, nor brackets so deep; readers of the language call themselves for each.
const LONGEST: usize = 8192;
const DEEPEST: usize = 64;
/// No list of facts is taken to have more elements than this.
const LIST: u64 = 256;

/// Refuses what is too long or too deep to be read.
pub(super) fn of_text(condition: &str) -> Result<(), String> {
    let (mut depth, mut deepest, mut signs) = (0usize, 0, 0);
    for byte in condition.bytes() {
        // A row of signs nests as brackets do.
        signs = if matches!(byte, b'!' | b'-') { signs + 1 } else { 0 };
        match byte {
            b'(' | b'[' | b'{' | b'?' => depth += 1,
            b')' | b']' | b'}' | b':' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth + signs);
    }
    match (condition.len() > LONGEST, deepest > DEEPEST) {
        (true, _) => Err(format!("it has {} bytes, more than {LONGEST}", condition.len())),
        (_, true) => Err(format!("its brackets are nested more than {DEEPEST} deep")),
        _ => Ok(()),
    }
}

/// Refuses what may take too long to answer; a list that it names is taken to be as long as facts are.
pub(super) fn of_tree(expression: &IdedExpr) -> Result<(), String> {
    match cost(expression).steps {
        steps if steps > MOST => Err(format!("it may take more than {MOST} steps: nest fewer `exists`, `all`, `map`")),
        _ => Ok(()),
    }
}

/// Steps, and how many elements there are in what comes out.
#[derive(Clone, Copy)]
struct Cost {
    steps: u64,
    size: u64,
}

/// `parts`, one after the other, that make a value of so many elements.
fn all<'e>(parts: impl IntoIterator<Item = &'e IdedExpr>, size: impl Fn(u64) -> u64) -> Cost {
    let start = Cost { steps: 1, size: 0 };
    let sum = parts.into_iter().map(cost).fold(start, |sum, part| Cost {
        steps: sum.steps.saturating_add(part.steps),
        size: sum.size.saturating_add(part.size),
    });
    Cost { size: size(sum.size), ..sum }
}

fn cost(IdedExpr { expr, .. }: &IdedExpr) -> Cost {
    match expr {
        Expr::Call(call) => {
            let parts = || call.target.iter().map(|target| &**target).chain(&call.args);
            match call.func_name.as_str() {
                // As long as both together, and as long to make.
                ADD => {
                    let joined = all(parts(), |size| size);
                    Cost { steps: joined.steps.saturating_add(joined.size), ..joined }
                }
                CONDITIONAL => all(parts(), |size| size),
                _ => all(parts(), |_| LIST),
            }
        }
        Expr::Comprehension(comprehension) => {
            let range = cost(&comprehension.iter_range);
            let each = all([&comprehension.loop_cond, &comprehension.loop_step], |_| 1);
            let before = all([&comprehension.accu_init, &comprehension.result], |_| 1);
            let steps = range.size.max(1).saturating_mul(each.steps).saturating_add(range.steps);
            Cost { steps: steps.saturating_add(before.steps), size: range.size }
        }
        Expr::List(list) => all(&list.elements, |_| list.elements.len() as u64),
        Expr::Map(map) => map.entries.iter().fold(Cost { steps: 1, size: map.entries.len() as u64 }, |sum, entry| {
            let steps = match &entry.expr {
                EntryExpr::MapEntry(entry) => cost(&entry.key).steps.saturating_add(cost(&entry.value).steps),
                EntryExpr::StructField(field) => cost(&field.value).steps,
            };
            Cost { steps: sum.steps.saturating_add(steps), ..sum }
        }),
        Expr::Select(select) => Cost { steps: cost(&select.operand).steps.saturating_add(1), size: LIST },
        Expr::Literal(LiteralValue::String(words)) => Cost { steps: 1, size: words.inner().len() as u64 / 16 },
        Expr::Literal(_) => Cost { steps: 1, size: 1 },
        Expr::Ident(_) | Expr::Struct(_) | Expr::Unspecified => Cost { steps: 1, size: LIST },
    }
}
