//! Bounds the cost of evaluating a condition by its syntax tree, so that no rule can make an analysis hang.

use cel::IdedExpr;
use cel::common::ast::operators::{ADD, CONDITIONAL};
use cel::common::ast::{EntryExpr, Expr, LiteralValue};

/// Most steps that a condition may take, which are some milliseconds.
const MOST: u64 = 1_000_000;
/// Most bytes and deepest nesting of a condition; parsers recurse for each bracket.
const LONGEST: usize = 8192;
const DEEPEST: usize = 64;
/// The assumed number of elements of a list of facts.
const LIST: u64 = 256;

/// Refuses a condition that is too long or too deep to be parsed.
pub(super) fn of_text(condition: &str) -> Result<(), String> {
    let (mut depth, mut deepest, mut signs) = (0usize, 0, 0);
    for byte in condition.bytes() {
        // A run of unary signs nests like brackets.
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

/// Refuses a condition that may take too long; a list of facts is assumed to have [`LIST`] elements.
pub(super) fn of_tree(expression: &IdedExpr) -> Result<(), String> {
    match cost(expression).steps {
        steps if steps > MOST => Err(format!("it may take more than {MOST} steps: nest fewer `exists`, `all`, `map`")),
        _ => Ok(()),
    }
}

/// The steps of an expression, and the number of elements of its value.
#[derive(Clone, Copy)]
struct Cost {
    steps: u64,
    size: u64,
}

/// The cost of evaluating `parts` one after the other; `size` maps the sum of their sizes to that of the value.
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
                // The result has the size of both operands, and so many steps build it.
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
