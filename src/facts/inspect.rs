//! Inspects a condition without evaluating it: the facts that it names, and the literals with which it compares them.

use cel::IdedExpr;
use cel::common::ast::operators::{EQUALS, GREATER, GREATER_EQUALS, IN, LESS, LESS_EQUALS, NOT_EQUALS};
use cel::common::ast::{CallExpr, Expr, LiteralValue};

use super::condition::Expression;

/// A fact and the literal that it is compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The fact's name.
    pub name: String,
    /// The literal.
    pub with: Literal,
}

/// A literal in a condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// A number; `true` if it is written with a decimal point.
    Number(bool),
    /// Words.
    Text(String),
    /// `true` or `false`.
    Flag,
}

impl Expression<'_> {
    /// The facts that it names, each once, in order.
    pub fn names(&self) -> Vec<String> {
        let mut walk = Walk::default();
        walk.expression(&self.expression);
        walk.names
    }

    /// The comparisons of a fact with a literal, `in [..]` included.
    pub fn comparisons(&self) -> Vec<Comparison> {
        let mut walk = Walk::default();
        walk.expression(&self.expression);
        walk.comparisons
    }
}

/// A walk through the syntax tree.
#[derive(Default)]
struct Walk {
    names: Vec<String>,
    comparisons: Vec<Comparison>,
    /// Variables bound by `exists` and the like.
    bound: Vec<String>,
}

impl Walk {
    fn expression(&mut self, IdedExpr { expr, .. }: &IdedExpr) {
        if let Some(name) = full_name(expr) {
            let first = name.split('.').next().unwrap_or_default();
            // `@result` and the like are internal to CEL.
            let is_fact = !first.starts_with('@') && !self.bound.iter().any(|bound| bound == first);
            if is_fact && !self.names.contains(&name) {
                self.names.push(name);
            }
            return;
        }
        match expr {
            Expr::Call(call) => {
                self.compare(call);
                call.target.iter().for_each(|target| self.expression(target));
                call.args.iter().for_each(|argument| self.expression(argument));
            }
            Expr::Comprehension(comprehension) => {
                self.expression(&comprehension.iter_range);
                let bound = self.bound.len();
                self.bound.extend([comprehension.iter_var.clone(), comprehension.accu_var.clone()]);
                self.bound.extend(comprehension.iter_var2.clone());
                let parts = [
                    &comprehension.accu_init,
                    &comprehension.loop_cond,
                    &comprehension.loop_step,
                    &comprehension.result,
                ];
                parts.into_iter().for_each(|part| self.expression(part));
                self.bound.truncate(bound);
            }
            Expr::List(list) => list.elements.iter().for_each(|element| self.expression(element)),
            Expr::Select(select) => self.expression(&select.operand),
            Expr::Ident(_) | Expr::Literal(_) | Expr::Map(_) | Expr::Struct(_) | Expr::Unspecified => {}
        }
    }

    fn compare(&mut self, CallExpr { func_name, args, .. }: &CallExpr) {
        let [left, right] = args.as_slice() else { return };
        let is_comparison =
            [EQUALS, NOT_EQUALS, LESS, LESS_EQUALS, GREATER, GREATER_EQUALS, IN].contains(&func_name.as_str());
        let sides = [(&left.expr, &right.expr), (&right.expr, &left.expr)];
        for (name, other) in sides.into_iter().filter(|_| is_comparison) {
            let Some(name) = full_name(name) else { continue };
            let values = match other {
                Expr::List(list) => list.elements.iter().filter_map(|element| literal(&element.expr)).collect(),
                other => literal(other).into_iter().collect::<Vec<_>>(),
            };
            self.comparisons.extend(values.into_iter().map(|with| Comparison { name: name.clone(), with }));
        }
    }
}

/// `a.b.c`, if the whole expression is such a name.
fn full_name(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) if !select.test => Some(format!("{}.{}", full_name(&select.operand.expr)?, select.field)),
        _ => None,
    }
}

fn literal(expression: &Expr) -> Option<Literal> {
    match expression {
        Expr::Literal(LiteralValue::Double(_)) => Some(Literal::Number(true)),
        Expr::Literal(LiteralValue::Int(_) | LiteralValue::UInt(_)) => Some(Literal::Number(false)),
        Expr::Literal(LiteralValue::String(words)) => Some(Literal::Text(words.inner().to_owned())),
        Expr::Literal(LiteralValue::Boolean(_)) => Some(Literal::Flag),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(condition: &str) -> Result<Expression<'_>, String> {
        Expression::new(condition)
    }

    #[test]
    fn names_are_those_of_facts() -> Result<(), String> {
        let names = question(
            "kind == 'x.y' && frames.exists(f, f.contains('g') && gpu.unused > 0.1 * figures.gpu_total) && !inputs.kernel",
        )?
        .names();
        assert_eq!(names, ["kind", "frames", "gpu.unused", "figures.gpu_total", "inputs.kernel"]);
        Ok(())
    }

    #[test]
    fn comparisons_are_found_on_either_side_and_in_lists() -> Result<(), String> {
        let found = question("phase in ['forward', 'backward'] || 'x' == kind || config.zero_stage < 3.0 || a.b == 1")?
            .comparisons();
        let text = |name: &str, words: &str| Comparison { name: name.into(), with: Literal::Text(words.into()) };
        let number = |name: &str, point| Comparison { name: name.into(), with: Literal::Number(point) };
        assert_eq!(
            found,
            [
                text("phase", "forward"),
                text("phase", "backward"),
                text("kind", "x"),
                number("config.zero_stage", true),
                number("a.b", false)
            ]
        );
        Ok(())
    }
}
