use std::ops::Bound;

use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, EmptyQuery, Occur, PhraseQuery, Query as Asked, RangeQuery,
    TermQuery, TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{SegmentReader, Term};

use super::exclusion::Exclusion;
use super::fields::Fields;
use super::spelling;
use crate::history::State;
use crate::history::query::{Clause, MISTYPED, Name, Query, What};
use crate::history::record::ALONE;
use crate::history::tokens::{is_ideograph, may_be_mistyped};

/// Translates `query` into a query of the search engine, given the terms in `segments`.
pub(super) fn translate(segments: &[SegmentReader], fields: &Fields, query: &Query) -> tantivy::Result<Box<dyn Asked>> {
    clause(segments, fields, &query.asked)
}

fn clause(segments: &[SegmentReader], fields: &Fields, asked: &Clause) -> tantivy::Result<Box<dyn Asked>> {
    match asked {
        Clause::All(clauses) => all(segments, fields, clauses),
        Clause::Any(clauses) => {
            let any: tantivy::Result<Vec<_>> = clauses.iter().map(|one| clause(segments, fields, one)).collect();
            Ok(Box::new(BooleanQuery::union(any?)))
        }
        Clause::Not(not) => Ok(unscored(except(excluded(segments, fields, not)?))),
        Clause::One(What::Words { words: wanted, as_spelled }) => words(segments, fields, wanted, !as_spelled),
        Clause::One(what) => Ok(unscored(field(segments, fields, what)?)),
    }
}

fn all(segments: &[SegmentReader], fields: &Fields, clauses: &[Clause]) -> tantivy::Result<Box<dyn Asked>> {
    let mut all: Vec<(Occur, Box<dyn Asked>)> = Vec::new();
    for one in clauses {
        all.push(match one {
            Clause::Not(not) => (Occur::MustNot, excluded(segments, fields, not)?),
            one => (Occur::Must, clause(segments, fields, one)?),
        });
    }
    if !all.iter().any(|(occur, _)| *occur == Occur::Must) {
        all.push((Occur::Must, Box::new(AllQuery)));
    }
    match all.as_slice() {
        [(Occur::Must, only)] => Ok(only.box_clone()),
        _ => Ok(Box::new(BooleanQuery::new(all))),
    }
}

/// The matches of `asked`, so that they can be excluded. Those of a single term can as they are.
fn excluded(segments: &[SegmentReader], fields: &Fields, asked: &Clause) -> tantivy::Result<Box<dyn Asked>> {
    let asked_for = clause(segments, fields, asked)?;
    Ok(match asked {
        Clause::One(What::Kind(_) | What::Phase(_)) => asked_for,
        _ => Box::new(Exclusion(asked_for)),
    })
}

fn unscored(asked: Box<dyn Asked>) -> Box<dyn Asked> {
    Box::new(ConstScoreQuery::new(asked, 0.0))
}

fn field(segments: &[SegmentReader], fields: &Fields, what: &What) -> tantivy::Result<Box<dyn Asked>> {
    Ok(match what {
        What::Words { .. } => Box::new(AllQuery),
        What::Kind(kind) => exactly(fields.kind, kind.as_str()),
        What::Phase(phase) => exactly(fields.phase, phase.as_str()),
        What::Name { name, letters, .. } => named(segments, fields, *name, letters)?,
        What::Figure(name, low, high) => {
            let field = fields.figure(*name);
            let bound = |at: f64| Bound::Included(Term::from_field_f64(field, at));
            Box::new(RangeQuery::new(bound(*low), bound(*high)))
        }
        What::Time(from, to) => {
            let bound = |at: &i64| Term::from_field_i64(fields.time, *at);
            Box::new(RangeQuery::new(Bound::Included(bound(from)), Bound::Excluded(bound(to))))
        }
        What::Is(State::Open) => except(exactly(fields.state, State::Resolved.as_str())),
        What::Is(state) => exactly(fields.state, state.as_str()),
        What::Resolved(true) => exactly(fields.worked, "yes"),
        What::Resolved(false) => except(exactly(fields.worked, "yes")),
    })
}

/// Everything but the matches of `asked`.
fn except(asked: Box<dyn Asked>) -> Box<dyn Asked> {
    Box::new(BooleanQuery::new(vec![(Occur::Must, Box::new(AllQuery)), (Occur::MustNot, asked)]))
}

fn named(segments: &[SegmentReader], fields: &Fields, name: Name, letters: &str) -> tantivy::Result<Box<dyn Asked>> {
    let field = match name {
        Name::Id => return Ok(one_of(spelling::beginning(segments, fields.id, letters)?)),
        // What is in no group has this word in place of its name.
        Name::Group if letters == ALONE => return Ok(Box::new(EmptyQuery)),
        Name::Group => return Ok(exactly(fields.group, letters)),
        Name::Cause => fields.cause,
        Name::Framework => fields.framework,
        Name::Model => fields.model,
        Name::Gpu => fields.gpu,
        Name::Host => fields.host,
        Name::Role => fields.role,
        Name::Cluster => fields.cluster,
        Name::Assignee => fields.assignee,
        Name::Job => fields.job,
        Name::Tag => return Ok(one_of(spelling::all(segments, fields.tag, |tag| tag.to_lowercase() == letters)?)),
        Name::File => fields.file,
    };
    Ok(one_of(spelling::all(segments, field, |name| name.to_lowercase().contains(letters))?))
}

fn one_of(terms: Vec<Term>) -> Box<dyn Asked> {
    match terms.len() {
        0 => Box::new(EmptyQuery),
        1 => Box::new(BooleanQuery::new_multiterms_query(terms)),
        _ => Box::new(TermSetQuery::new(terms)),
    }
}

/// Matches `wanted` as a phrase; with `likely`, a single word also matches words that it may be a mistyping of.
fn words(
    segments: &[SegmentReader],
    fields: &Fields,
    wanted: &[String],
    likely: bool,
) -> tantivy::Result<Box<dyn Asked>> {
    let pair = |pair: &[String]| Term::from_field_text(fields.pairs, &format!("{} {}", pair[0], pair[1]));
    match wanted {
        [one] => word(segments, fields, one, likely),
        [_, _] => Ok(scored(pair(wanted))),
        _ => Ok(Box::new(PhraseQuery::new(wanted.windows(2).map(pair).collect()))),
    }
}

fn word(segments: &[SegmentReader], fields: &Fields, wanted: &str, likely: bool) -> tantivy::Result<Box<dyn Asked>> {
    let mut ways: Vec<Box<dyn Asked>> = Vec::new();
    let part = Term::from_field_text(fields.parts, wanted);
    for term in [Term::from_field_text(fields.words, wanted), part] {
        if spelling::is_known(segments, &term)? {
            ways.push(scored(term));
        }
    }
    if likely && may_be_mistyped(wanted) && !wanted.chars().all(is_ideograph) {
        for like in spelling::like(segments, fields.words, wanted)? {
            let term = scored(Term::from_field_text(fields.words, &like));
            ways.push(Box::new(BoostQuery::new(term, MISTYPED as f32)));
        }
    }
    Ok(match ways.len() {
        0 => Box::new(EmptyQuery),
        1 => ways.remove(0),
        _ => Box::new(BooleanQuery::union(ways)),
    })
}

fn scored(term: Term) -> Box<dyn Asked> {
    Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))
}

pub(super) fn exactly(field: Field, word: &str) -> Box<dyn Asked> {
    Box::new(TermQuery::new(Term::from_field_text(field, word), IndexRecordOption::Basic))
}
