use std::sync::Arc;

use crate::knowledge::{CauseRule, Direction, Knowledge, Must, Origin, Words};
use crate::model::Kind;
use crate::rulebase::names::{is_word, suggestion};

use super::Notes;
use super::condition::Conditions;

/// The largest plausible log-odds: beyond it lies a certainty of one in twenty thousand.
const FAR: f64 = 10.0;

/// Checks the rule of a cause.
pub(super) fn check(rule: &CauseRule, knowledge: &Knowledge, conditions: &Conditions, notes: &mut Notes<'_>) {
    names(rule, knowledge, notes);
    words(rule, conditions, notes);
    asked(rule, conditions, notes);
    weights(rule, notes);
    patches(rule, knowledge, notes);
    not_advised(rule, knowledge, notes);
    examples(rule, notes);
}

fn names(rule: &CauseRule, knowledge: &Knowledge, notes: &mut Notes<'_>) {
    for (key, word) in [("id", &rule.id), ("cause", &rule.cause)] {
        if !is_word(word) {
            let advice = "small letters, digits and _, e.g. fragmentation".to_owned();
            notes.error(&[key], format!("`{word}` is no good name"), advice);
        }
    }
    let mut shipped = knowledge.causes.iter().filter(|known| known.origin == Origin::Shipped).map(|known| &known.cause);
    if rule.origin == Origin::Own && !shipped.clone().any(|cause| *cause == rule.cause) {
        let alike = suggestion(&rule.cause, shipped.by_ref().map(|cause| &**cause));
        let advice = alike.unwrap_or_else(|| "if that is meant, nothing is to be done".to_owned());
        notes.warning(&["cause"], format!("no shipped rule concludes `{}`", rule.cause), advice);
    }
    if rule.kinds.is_empty() {
        notes.error(
            &["kinds"],
            "the rule is asked of no incident".to_owned(),
            "name the kinds that it explains".to_owned(),
        );
    }
    if rule.kinds.contains(&Kind::None) {
        let advice = "leave it out".to_owned();
        notes.error(&["kinds"], "no incident is of the kind `none`".to_owned(), advice);
    }
    if let Some(link) = rule.references.iter().find(|link| !link.starts_with("http")) {
        notes.warning(&["references"], format!("`{link}` is no address"), "give a link: https://…".to_owned());
    }
}

/// Every sentence must exist in both languages, say the same in both, and name existing facts.
fn words(rule: &CauseRule, conditions: &Conditions, notes: &mut Notes<'_>) {
    let (mut untranslated, mut first) = (0, None);
    let mut check = |path: &[&str], words: &Words| {
        if words.en.trim().is_empty() {
            notes.error(path, "the English words are missing".to_owned(), "write them".to_owned());
        }
        if words.zh.trim().is_empty() {
            untranslated += 1;
            first.get_or_insert(path.iter().map(|part| (*part).to_owned()).collect::<Vec<String>>());
        }
        let (en, zh) = (braced(&words.en), braced(&words.zh));
        for name in en.iter().chain(&zh).filter(|name| conditions.facts.type_of(name).is_none()) {
            let advice = suggestion(name, conditions.facts.iter().map(|(known, _)| known));
            let advice = advice.unwrap_or_else(|| "docs/writing-rules.md lists every fact".to_owned());
            notes.error(path, format!("no fact is called `{name}`, so the sentence is never shown"), advice);
        }
        let differs = en.iter().any(|name| !zh.contains(name)) || zh.iter().any(|name| !en.contains(name));
        if differs && !words.is_partial() {
            let advice = "name the same ones, so that both say the same".to_owned();
            notes.warning(path, "the English and the Chinese sentence show other facts".to_owned(), advice);
        }
    };
    check(&["title"], &rule.title);
    for (index, row) in rule.titled.iter().enumerate() {
        check(&["titled", &index.to_string(), "words"], &row.words);
    }
    check(&["explanation"], &rule.explanation);
    check(&["not_concluded"], &rule.not_concluded);
    for (index, row) in rule.evidence.iter().enumerate() {
        check(&["evidence", &index.to_string(), "why"], &row.why);
    }
    for (index, row) in rule.not_advised.iter().enumerate() {
        check(&["not_advised", &index.to_string(), "why"], &row.why);
    }
    for (index, row) in rule.capture.iter().enumerate() {
        check(&["capture", &index.to_string(), "text"], &row.text);
    }
    if let Some(first) = first {
        let path: Vec<&str> = first.iter().map(String::as_str).collect();
        let problem = format!("the Chinese words of {untranslated} sentences are missing, here for the first time");
        notes.expected(&path, problem, "write them as `zh`; until then English stands in".to_owned());
    }
}

/// The facts in a sentence's braces, as [`crate::facts::Facts::fill`] reads them.
fn braced(sentence: &str) -> Vec<&str> {
    sentence.split('{').skip(1).filter_map(|part| part.split_once('}').map(|(name, _)| name)).collect()
}

fn asked(rule: &CauseRule, conditions: &Conditions, notes: &mut Notes<'_>) {
    let mut check = |path: &[&str], condition: Option<&Arc<str>>| {
        for (problem, advice) in condition.into_iter().flat_map(|when| conditions.faults(when, &rule.kinds)) {
            notes.error(path, problem, advice);
        }
    };
    check(&["when"], rule.when.as_ref());
    for (index, row) in rule.titled.iter().enumerate() {
        check(&["titled", &index.to_string(), "when"], Some(&row.when));
    }
    for (index, row) in rule.evidence.iter().enumerate() {
        check(&["evidence", &index.to_string(), "when"], Some(&row.when));
    }
    for (index, row) in rule.patch.iter().enumerate() {
        check(&["patch", &index.to_string(), "when"], row.when.as_ref());
        check(&["patch", &index.to_string(), "with_first"], row.with_first.as_ref());
    }
    for (index, row) in rule.not_advised.iter().enumerate() {
        check(&["not_advised", &index.to_string(), "when"], row.when.as_ref());
    }
    for (index, row) in rule.capture.iter().enumerate() {
        check(&["capture", &index.to_string(), "when"], row.when.as_ref());
    }
}

fn weights(rule: &CauseRule, notes: &mut Notes<'_>) {
    let mut weight = |path: &[&str], what: &str, value: f64| {
        if !value.is_finite() {
            notes.error(path, format!("{what} is {value}"), "give a number, e.g. 1.5".to_owned());
        } else if value.abs() > FAR {
            let advice = format!("±{FAR} is certain enough to outweigh everything else");
            notes.warning(path, format!("{what} is {value}"), advice);
        }
    };
    weight(&["prior"], "the prior", rule.prior);
    for (index, row) in rule.evidence.iter().enumerate() {
        weight(&["evidence", &index.to_string(), "log_odds"], "the weight", row.log_odds);
    }
    if rule.evidence.is_empty() {
        notes.expected(&["id"], "nothing speaks for or against it".to_owned(), "add an [[evidence]] row".to_owned());
    }
    for (index, row) in rule.evidence.iter().enumerate() {
        let at = index.to_string();
        if row.log_odds == 0.0 {
            let advice = "give it a weight, or leave the row out".to_owned();
            notes.error(&["evidence", &at, "log_odds"], "the row changes nothing".to_owned(), advice);
        }
        if row.group.trim().is_empty() {
            let advice = "rows of one group say the same in several ways; give it a word".to_owned();
            notes.error(&["evidence", &at, "group"], "the group has no name".to_owned(), advice);
        }
        let is_same = |other: &&crate::knowledge::EvidenceRow| other.when == row.when && other.group == row.group;
        if rule.evidence[..index].iter().any(|other| is_same(&other)) {
            let advice = "of one group only the strongest row counts: leave one out".to_owned();
            notes.warning(&["evidence", &at], "a row above asks the same in the same group".to_owned(), advice);
        }
    }
}

fn patches(rule: &CauseRule, knowledge: &Knowledge, notes: &mut Notes<'_>) {
    for (index, row) in rule.patch.iter().enumerate() {
        let at = index.to_string();
        let Some(lever) = knowledge.lever(&row.lever) else {
            let advice = suggestion(&row.lever, knowledge.levers.iter().map(|lever| &*lever.name));
            let advice = advice.unwrap_or_else(|| "docs/knobs.md lists the levers".to_owned());
            notes.error(&["patch", &at, "lever"], format!("no lever is called `{}`", row.lever), advice);
            continue;
        };
        if lever.both_ways && row.direction.is_none() {
            let problem = format!("{} helps both ways", lever.name);
            notes.error(&["patch", &at, "lever"], problem, "give the `direction`: raise or lower".to_owned());
        }
        match &row.knob {
            None => {
                let mut meant = knowledge.knobs.iter().filter(|knob| row.is_of_fact(knob));
                if !meant.any(|knob| knob.turns(&row.lever, row.direction).is_some()) {
                    let way =
                        row.direction.map_or("turns", |way| if way == Direction::Raise { "raises" } else { "lowers" });
                    let problem = format!("no knob of any framework {way} {}", row.lever);
                    notes.error(
                        &["patch", &at, "lever"],
                        problem,
                        "name another lever, or add a knob to rules/knobs/".to_owned(),
                    );
                }
            }
            Some(name) => knob(name, &row.lever, row.direction, knowledge, &at, notes),
        }
    }
}

/// Checks the knob `framework.id` of a patch.
fn knob(name: &str, lever: &str, way: Option<Direction>, knowledge: &Knowledge, at: &str, notes: &mut Notes<'_>) {
    let full: Vec<String> = knowledge.knobs.iter().map(|knob| format!("{}.{}", knob.framework, knob.id)).collect();
    match knowledge.knobs.iter().zip(&full).find(|(_, full)| *full == name) {
        None => {
            let advice = suggestion(name, full.iter().map(String::as_str));
            let advice = advice.unwrap_or_else(|| "write it as framework.knob; docs/knobs.md lists them".to_owned());
            notes.error(&["patch", at, "knob"], format!("no knob is called `{name}`"), advice);
        }
        Some((knob, _)) if knob.turns(lever, way).is_none() => {
            let problem = format!("`{name}` does not turn {lever}");
            notes.error(&["patch", at, "knob"], problem, format!("`oomdoc explain {name}` says what it turns"));
        }
        Some(_) => {}
    }
}

fn not_advised(rule: &CauseRule, knowledge: &Knowledge, notes: &mut Notes<'_>) {
    for (index, row) in rule.not_advised.iter().enumerate() {
        let is_lever = knowledge.levers.iter().any(|lever| lever.name == row.knob);
        let ends = |name: &str| name.trim_start_matches('-').ends_with(&*row.knob);
        let mut knobs = knowledge.knobs.iter();
        if is_lever || knobs.any(|knob| knob.id == row.knob || knob.names().any(ends)) {
            continue;
        }
        let known =
            knowledge.knobs.iter().map(|knob| &*knob.id).chain(knowledge.levers.iter().map(|lever| &*lever.name));
        let advice = suggestion(&row.knob, known).unwrap_or_else(|| "docs/knobs.md lists knobs and levers".to_owned());
        let problem = format!("no knob or lever is called `{}`", row.knob);
        notes.error(&["not_advised", &index.to_string(), "knob"], problem, advice);
    }
}

/// A rule needs an example that it explains, and one that it must leave alone.
fn examples(rule: &CauseRule, notes: &mut Notes<'_>) {
    let has = |wanted: &[Must]| rule.example.iter().any(|example| wanted.contains(&example.must));
    if !has(&[Must::First, Must::TopThree]) {
        let advice = "add an [[example]] with must = \"first\" or \"top_three\"".to_owned();
        notes.expected(&["id"], "no example shows what it explains".to_owned(), advice);
    }
    if !has(&[Must::NotFirst, Must::Absent]) {
        let advice = "add an [[example]] with must = \"not_first\" or \"absent\"".to_owned();
        notes.expected(&["id"], "no example shows what it must leave alone".to_owned(), advice);
    }
}
