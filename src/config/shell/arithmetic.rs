//! Evaluates `$((…))`: whole numbers, to the extent of POSIX and bash that launch scripts use.

/// The value of `text`; `value` looks up variables. `None` if a variable is unknown, or if `text` does more than
/// compute: assignments, comparisons and bit operations are left to the shell.
pub(super) fn evaluate(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Option<i64> {
    let mut reader = ExpressionReader { rest: text, value, depth: 0 };
    let result = reader.sum()?;
    reader.skip();
    reader.rest.is_empty().then_some(result)
}

/// The deepest nesting of brackets and signs that is evaluated.
const DEEPEST: usize = 16;

/// Applies an operator; `None` on overflow or division by zero.
type Apply = fn(i64, i64) -> Option<i64>;

struct ExpressionReader<'a> {
    rest: &'a str,
    value: &'a dyn Fn(&str) -> Option<String>,
    depth: usize,
}

impl ExpressionReader<'_> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, sign: &str) -> bool {
        self.skip();
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Option<i64> {
        self.chain(Self::product, &[("+", i64::checked_add), ("-", i64::checked_sub)])
    }

    fn product(&mut self) -> Option<i64> {
        self.chain(Self::power, &[("*", i64::checked_mul), ("/", i64::checked_div), ("%", i64::checked_rem)])
    }

    /// Operands between operators of equal precedence, from left to right.
    fn chain(&mut self, operand: fn(&mut Self) -> Option<i64>, operators: &[(&str, Apply)]) -> Option<i64> {
        let mut left = operand(self)?;
        while let Some((_, apply)) = operators.iter().find(|(sign, _)| self.take(sign)) {
            left = apply(left, operand(self)?)?;
        }
        Some(left)
    }

    fn power(&mut self) -> Option<i64> {
        let base = self.single()?;
        if self.take("**") { base.checked_pow(self.power()?.try_into().ok()?) } else { Some(base) }
    }

    fn single(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let result = if self.take("(") {
            let inner = self.sum()?;
            self.take(")").then_some(inner)
        } else if self.take("-") {
            self.single()?.checked_neg()
        } else if self.take("+") {
            self.single()
        } else {
            self.skip();
            self.number().or_else(|| self.variable())
        };
        self.depth -= 1;
        result
    }

    fn number(&mut self) -> Option<i64> {
        let length = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.rest.split_at(length);
        // `0x10` and `2#101` have other bases, and `010` is octal.
        let is_plain = !rest.starts_with(['x', 'X', '#', '.']) && (length == 1 || !digits.starts_with('0'));
        let number = digits.parse().ok().filter(|_| is_plain)?;
        self.rest = rest;
        Some(number)
    }

    /// `NAME`, `$NAME`, `${NAME}`, `${NAME:-8}`
    fn variable(&mut self) -> Option<i64> {
        let is_reference = self.take("$");
        let inner = match self.rest.strip_prefix('{').filter(|_| is_reference) {
            Some(inner) => {
                let end = inner.find('}')?;
                self.rest = &inner[end + 1..];
                &inner[..end]
            }
            None => {
                let length = super::words::name_length(self.rest);
                let (name, rest) = self.rest.split_at(length);
                self.rest = rest;
                name
            }
        };
        let (name, fallback) = inner.split_at(super::words::name_length(inner));
        let fallback =
            fallback.trim_start_matches(':').strip_prefix(['-', '=']).or(fallback.is_empty().then_some(""))?;
        let text = match (self.value)(name) {
            Some(text) => text,
            None if !name.is_empty() && !fallback.is_empty() => fallback.to_owned(),
            None => return None,
        };
        text.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_as_the_shell_does() {
        let value = |name: &str| match name {
            "PROMPT" => Some("1024".to_owned()),
            "ANSWER" => Some("2048".to_owned()),
            "WORD" => Some("many".to_owned()),
            _ => None,
        };
        for (text, expected) in [
            ("1 + 2 * 3", Some(7)),
            ("(PROMPT + $ANSWER) * 2", Some(6144)),
            (" ${PROMPT} / 3 ", Some(341)),
            ("${UNSET:-8} - 1", Some(7)),
            ("2**10 % 1000", Some(24)),
            ("-2 - -3", Some(1)),
            ("1 / 0", None),
            ("WORD + 1", None),
            ("UNSET", None),
            ("PROMPT > 3", None),
            ("x=3", None),
            ("0x10", None),
            ("9223372036854775807 + 1", None),
            ("", None),
            ("(1", None),
        ] {
            assert_eq!(evaluate(text, &value), expected, "{text}");
        }
        assert_eq!(evaluate(&"(".repeat(100_000), &value), None);
    }
}
