//! Writes the page of all knobs, levers and facts from `rules/`: `cargo run --example knobs_doc > docs/knobs.md`.

use std::collections::HashSet;
use std::error::Error;
use std::fmt::Write;

use oomdoc::internal::knowledge::{DefaultValue, Fact, Knob, Knowledge, Lever, Spelling, To, Turn};

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", render(&Knowledge::shipped()?)?);
    Ok(())
}

/// The page, in Markdown.
pub fn render(knowledge: &Knowledge) -> Result<String, std::fmt::Error> {
    let mut page = String::from(HEAD);
    // A framework's knobs may stand in several files.
    let mut known = HashSet::new();
    let frameworks = knowledge.knobs.iter().map(|knob| &*knob.framework);
    let frameworks: Vec<&str> = frameworks.filter(|framework| known.insert(*framework)).collect();
    let links: Vec<String> = frameworks.iter().map(|name| format!("[{name}](#{name})")).collect();
    writeln!(page, "Frameworks: {}.\n", links.join(" · "))?;
    writeln!(page, "## Levers\n\n| lever | both ways | what it is | not if |\n|---|---|---|---|")?;
    for Lever {
        name,
        both_ways,
        may_fill: _,
        always: _,
        price: _,
        unless,
        by_hand: _,
        not_yet: _,
        cuts: _,
        most_steps: _,
        meaning,
        on_host: _,
        few: _,
    } in &knowledge.levers
    {
        let both_ways = if *both_ways { "yes" } else { "" };
        let unless = unless.as_ref().map(|unless| format!("`{}`", unless.replace('|', "\\|"))).unwrap_or_default();
        writeln!(page, "| `{name}` | {both_ways} | {} | {unless} |", meaning.en)?;
    }
    writeln!(page, "\n## Facts\n\n| fact | type | what it says |\n|---|---|---|")?;
    for fact in &knowledge.facts {
        writeln!(page, "| `{}` | {} | {} |", fact.name, of_type(fact), fact.meaning.en)?;
    }
    for framework in frameworks {
        writeln!(page, "\n## {framework}")?;
        for knob in knowledge.knobs.iter().filter(|knob| &*knob.framework == framework) {
            describe(knob, &mut page)?;
        }
    }
    Ok(page)
}

const HEAD: &str = "\
# Knobs

<!-- Written by `cargo run --example knobs_doc > docs/knobs.md`; edit rules/knobs/ instead. -->

Everything that frameworks let one turn and that moves memory, or that people take for it, from `rules/knobs/`. A rule names
a *lever*; the job's framework says which *knob* turns it, how its version spells it, and how far a first step goes. What a
knob is set to is a *fact*, shared by all frameworks, that rules ask for. A condition under *not if* is asked of the facts
as the change would leave them: where it holds, the framework refuses the change or ignores it. One under *only if* must be
known to hold: what nothing shows is no advice.

";

fn of_type(fact: &Fact) -> String {
    let values: Vec<String> = fact.values.iter().map(|value| format!("`{value}`")).collect();
    match (&fact.unit, values.is_empty()) {
        (Some(unit), _) => format!("{} of {unit}", fact.r#type.as_str()),
        (None, false) => values.join(", "),
        (None, true) => fact.r#type.as_str().to_owned(),
    }
}

fn describe(knob: &Knob, page: &mut String) -> std::fmt::Result {
    write!(page, "\n### {}\n\n", knob.id)?;
    let names: Vec<String> = knob.spelling.iter().map(spelled).collect();
    write!(page, "{} · {} {}", names.join(", "), knob.target.as_str(), knob.r#type.as_str())?;
    if !knob.default.is_empty() {
        let values: Vec<String> = knob.default.iter().map(default).collect();
        write!(page, " · default {}", values.join(", "))?;
    }
    if let Some(fact) = &knob.fact {
        write!(page, " · `{fact}`")?;
    }
    writeln!(page)?;
    for turn in &knob.lever {
        writeln!(page, "- turns {}", turned(turn))?;
    }
    writeln!(page, "- moves: {}\n- cost: {}", knob.moves.en, knob.cost.en)?;
    if let Some(cost) = &knob.inference_cost {
        writeln!(page, "- cost where nothing is trained: {}", cost.en)?;
    }
    if knob.changes_training {
        writeln!(page, "- it changes what is learned: others that turn the lever go before it")?;
    }
    for constraint in &knob.constraint {
        match (&constraint.unless, &constraint.only) {
            (Some(condition), _) => writeln!(page, "- not if `{condition}`: {}", constraint.text.en)?,
            (None, Some(condition)) => writeln!(page, "- only if `{condition}`: {}", constraint.text.en)?,
            (None, None) => writeln!(page, "- needs: {}", constraint.text.en)?,
        }
    }
    for note in &knob.note {
        writeln!(page, "- note: {}", note.text.en)?;
    }
    Ok(())
}

fn spelled(spelling: &Spelling) -> String {
    let also: Vec<String> = spelling.also.iter().map(|name| format!("`{name}`")).collect();
    let also = if also.is_empty() { String::new() } else { format!(" or {}", also.join(", ")) };
    let versions = match (&spelling.since, &spelling.until) {
        (Some(since), Some(until)) => format!(" ({since}–{until})"),
        (Some(since), None) => format!(" (≥{since})"),
        (None, Some(until)) => format!(" (≤{until})"),
        (None, None) => String::new(),
    };
    format!("`{}`{also}{versions}", spelling.name)
}

fn default(DefaultValue { value, since }: &DefaultValue) -> String {
    match since {
        Some(since) => format!("{value} (≥{since})"),
        None => value.clone(),
    }
}

fn turned(Turn { name, direction, to, limit, limit_by, phases, cost, with, unset, open, instead }: &Turn) -> String {
    let way = direction.map(|direction| format!(" {}", direction.as_str())).unwrap_or_default();
    let step = match to {
        To::On => "on".to_owned(),
        To::Off => "off".to_owned(),
        To::Scale(factor) => format!("× {factor}"),
        To::Add(amount) if *amount < 0.0 => format!("− {}", -amount),
        To::Add(amount) => format!("+ {amount}"),
        To::Value(value) => format!("to `{value}`"),
        To::Sibling(names) => {
            let pairs: Vec<String> = names.iter().map(|(from, to)| format!("`{from}` to `{to}`")).collect();
            pairs.join(", ")
        }
        To::Moved(folder) => format!("to the same path in {folder}"),
        To::Need => "to what is needed".to_owned(),
    };
    let step = step + &unset.as_ref().map(|value| format!(", to `{value}` where it is not set")).unwrap_or_default();
    let step = step + &open.as_ref().map(|value| format!(", to `{value}` where it is null")).unwrap_or_default();
    let other = instead.iter().map(|other| format!(", to `{}` if `{}`", other.to, other.when));
    let step = step + &other.collect::<String>();
    let number = limit.map(|limit| limit.to_string());
    let limits: Vec<String> = number.into_iter().chain(limit_by.as_ref().map(|facts| format!("`{facts}`"))).collect();
    let limit = if limits.is_empty() { String::new() } else { format!(", not beyond {}", limits.join(" or ")) };
    let phases: Vec<&str> = phases.iter().map(|phase| phase.as_str()).collect();
    let phases = if phases.is_empty() { String::new() } else { format!(" in {}", phases.join(", ")) };
    let cost = cost.as_ref().map(|cost| format!("; costs: {}", cost.en)).unwrap_or_default();
    let named = with.iter().map(|with| format!("{}`{}`", if with.remove { "no " } else { "" }, with.knob));
    let with: Vec<String> = named.collect();
    let with = if with.is_empty() { String::new() } else { format!(", with {}", with.join(" and ")) };
    format!("{name}{way}: {step}{limit}{with}{phases}{cost}")
}
