use std::str::FromStr;

use tantivy::query_grammar::{Occur, UserInputAst, UserInputLeaf, parse_query};

use super::masked::Masked;
use super::{Clause, Query, QueryError, What};

impl FromStr for Query {
    type Err = QueryError;

    fn from_str(query: &str) -> Result<Query, QueryError> {
        let masked = Masked::new(query)?;
        let asked = parse_query(&masked.text).ok().and_then(|ast| masked.clause(&ast, false));
        // What is masked has nothing that the grammar could stumble over.
        let strange =
            || masked.refuse(0, "this makes no sense", "put in quotation marks what is to be found as it stands");
        asked.map_or_else(strange, |asked| Ok(Query { asked }))
    }
}

impl Masked<'_> {
    /// What the grammar made of it; where that must not hold, words are what they are.
    fn clause(&self, ast: &UserInputAst, is_negated: bool) -> Option<Clause> {
        let clauses = match ast {
            UserInputAst::Clause(clauses) => clauses,
            UserInputAst::Boost(..) => return None,
            UserInputAst::Leaf(leaf) => {
                let UserInputLeaf::Literal(literal) = &**leaf else { return None };
                let mut what = self.leaves.get(literal.phrase.parse::<usize>().ok()?)?.clone();
                if let What::Words { as_spelled, .. } = &mut what {
                    *as_spelled = is_negated;
                }
                return Some(Clause::One(what));
            }
        };
        let mut read = Vec::new();
        for (occur, ast) in clauses {
            read.push(match occur {
                Some(Occur::MustNot) => Clause::Not(Box::new(self.clause(ast, !is_negated)?)),
                _ => self.clause(ast, is_negated)?,
            });
        }
        if let [_] = read.as_slice() {
            return read.pop();
        }
        // Splitting a record's text into words costs most: names and figures go first.
        read.sort_by_cached_key(|clause| clause.leaves().iter().any(|what| matches!(what, What::Words { .. })));
        let is_any = clauses.iter().any(|(occur, _)| *occur == Some(Occur::Should));
        Some(if is_any { Clause::Any(read) } else { Clause::All(read) })
    }
}
