//! Writes a page for each cause, their index, and the page of levers that they link to, from `rules/` and `corpus/`:
//! `cargo run --example causes_doc -- docs`.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use oomdoc::internal::knowledge::{CauseRule, Direction, ExampleRow, Knowledge, Must, Turn};
use serde::Deserialize;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("name a folder")?);
    fs::create_dir_all(folder.join("causes"))?;
    for (name, page) in render(&Knowledge::shipped()?, Path::new("corpus"))? {
        fs::write(folder.join(name), page)?;
    }
    Ok(())
}

/// The pages, in Markdown, by their paths in `docs/`.
pub fn render(knowledge: &Knowledge, corpus: &Path) -> Result<BTreeMap<String, String>, Box<dyn Error>> {
    let incidents = Incident::read_all(corpus)?;
    let mut pages = BTreeMap::new();
    pages.insert("causes/index.md".to_owned(), index(knowledge)?);
    pages.insert("levers.md".to_owned(), levers(knowledge)?);
    for rule in &knowledge.causes {
        let incident = Incident::best_of(&incidents, &rule.cause);
        pages.insert(format!("causes/{}.md", rule.id), page(rule, incident, knowledge)?);
    }
    Ok(pages)
}

fn index(knowledge: &Knowledge) -> Result<String, std::fmt::Error> {
    let mut page = String::from(HEAD);
    for rule in &knowledge.causes {
        writeln!(page, "| [{}]({}.md) | `{}` | {} |", words(&rule.title.en), rule.id, rule.cause, kinds(rule))?;
    }
    Ok(page)
}

const HEAD: &str = "\
# Causes

<!-- Written by `cargo run --example causes_doc -- docs`; edit rules/causes/ instead. -->

Why memory ran out, as oomdoc tells it apart. Each page is the rule itself, from `rules/causes/`: its signs, how much each of them moves the
odds, what helps, and what does not. `oomdoc explain CAUSE` says it in a few lines, `oomdoc rules show ID` as the rule has it.

| cause | in reports | of |
|---|---|---|
";

fn page(rule: &CauseRule, incident: Option<&Incident>, knowledge: &Knowledge) -> Result<String, std::fmt::Error> {
    let mut page = format!("# {}\n\n", words(&rule.title.en));
    writeln!(page, "<!-- Written by `cargo run --example causes_doc -- docs`; edit rules/causes/ instead. -->\n")?;
    writeln!(page, "`{}` in reports, a cause of {}.\n", rule.cause, kinds(rule))?;
    writeln!(page, "{}\n\n**It does not say:** {}", words(&rule.explanation.en), words(&rule.not_concluded.en))?;
    signs("Signs", rule, |log_odds| log_odds > 0.0, &mut page)?;
    signs("What speaks against it", rule, |log_odds| log_odds < 0.0, &mut page)?;
    decides(rule, &mut page)?;
    changes(rule, knowledge, &mut page)?;
    let useless = rule.not_advised.iter().map(|row| {
        let way = row.direction.map(|way| format!(" ({})", way.as_str())).unwrap_or_default();
        format!("`{}`{way}: {}{}", row.knob, words(&row.why.en), only_if(row.when.as_deref()))
    });
    list("What does not help", useless, &mut page)?;
    let capture = rule.capture.iter().map(|row| format!("{}{}", words(&row.text.en), only_if(row.when.as_deref())));
    list("What to record next time", capture, &mut page)?;
    match (incident, rule.example.iter().find(|example| example.must == Must::First)) {
        (Some(incident), _) => incident.tell(&mut page)?,
        (None, Some(example)) => show(example, &mut page)?,
        (None, None) => (),
    }
    list("Read more", rule.references.iter().map(|address| format!("<{address}>")), &mut page)?;
    Ok(page)
}

fn kinds(rule: &CauseRule) -> String {
    let kinds: Vec<String> = rule.kinds.iter().map(|kind| format!("`{kind}`")).collect();
    kinds.join(", ")
}

/// A section with a list; nothing where the list is empty.
fn list(heading: &str, rows: impl Iterator<Item = String>, page: &mut String) -> std::fmt::Result {
    let rows: Vec<String> = rows.collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(page, "\n## {heading}\n")?;
    rows.iter().try_for_each(|row| writeln!(page, "- {row}"))
}

/// A list of the signs whose weight satisfies `is_asked`, the heaviest first and each only once.
fn signs(heading: &str, rule: &CauseRule, is_asked: impl Fn(f64) -> bool, page: &mut String) -> std::fmt::Result {
    let mut rows: Vec<_> = rule.evidence.iter().filter(|row| is_asked(row.log_odds)).collect();
    rows.sort_by(|a, b| b.log_odds.abs().total_cmp(&a.log_odds.abs()));
    let mut said = BTreeSet::new();
    list(heading, rows.iter().map(|row| sentence(&row.why.en)).filter(|words| said.insert(words.clone())), page)
}

fn decides(rule: &CauseRule, page: &mut String) -> std::fmt::Result {
    writeln!(page, "\n## What decides it\n")?;
    if let Some(when) = &rule.when {
        writeln!(page, "It is considered only if {}.", code(when))?;
    }
    writeln!(page, "Before any sign its odds are {}.", odds(rule.prior))?;
    if rule.evidence.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "Each sign that holds multiplies them; of the signs in one group only the strongest counts. What was learned from labelled\n\
         incidents moves them further ([accuracy](../accuracy.md#what-is-learned-and-what-is-not)).\n"
    )?;
    writeln!(page, "| group | condition | odds |\n|---|---|---|")?;
    for row in &rule.evidence {
        writeln!(page, "| {} | {} | {} |", row.group, code(&row.when).replace('|', "\\|"), factor(row.log_odds))?;
    }
    Ok(())
}

fn changes(rule: &CauseRule, knowledge: &Knowledge, page: &mut String) -> std::fmt::Result {
    if rule.patch.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "\n## What to change\n\nThe most useful first; the job's framework says which of its settings that is.\n"
    )?;
    for row in &rule.patch {
        let way = row.direction.map(|way| format!(" ({})", way.as_str())).unwrap_or_default();
        let meaning = knowledge.levers.iter().find(|lever| lever.name == row.lever);
        let meaning = meaning.map(|lever| words(&lever.meaning.en)).unwrap_or_default();
        let condition = only_if(row.when.as_deref());
        let knob = row.knob.as_ref().map(|knob| format!(" by `{knob}`")).unwrap_or_default();
        writeln!(page, "1. [{0}](../levers.md#{0}){way}{knob}: {meaning}{condition}", row.lever)?;
    }
    Ok(())
}

const LEVERS: &str = "\
# Levers

<!-- Written by `cargo run --example causes_doc -- docs`; edit rules/levers.toml and rules/knobs/ instead. -->

What a change turns, whatever a framework calls it. [Causes](causes/index.md) name levers; the job's framework says which of its settings
that is, and [knobs](knobs.md) what each of them moves, costs and needs.
";

fn levers(knowledge: &Knowledge) -> Result<String, std::fmt::Error> {
    let mut page = String::from(LEVERS);
    for lever in &knowledge.levers {
        writeln!(page, "\n## {}\n\n{}\n", lever.name, words(&lever.meaning.en))?;
        let is_helped = |rule: &&CauseRule| rule.patch.iter().any(|row| row.lever == lever.name);
        let causes = knowledge.causes.iter().filter(is_helped);
        let causes: Vec<String> = causes.map(|rule| format!("[{}](causes/{}.md)", rule.cause, rule.id)).collect();
        if !causes.is_empty() {
            writeln!(page, "Helps against {}.\n", causes.join(", "))?;
        }
        let mut of_framework: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for knob in &knowledge.knobs {
            let ways: BTreeSet<&str> = knob.lever.iter().filter(|turn| turn.name == lever.name).map(way_of).collect();
            if !ways.is_empty() {
                let name = knob.spelling.last().map_or(&*knob.id, |spelling| &spelling.name);
                let ways = ways.into_iter().collect::<String>();
                of_framework.entry(&knob.framework).or_default().push(format!("`{name}`{ways}"));
            }
        }
        for (framework, names) in of_framework {
            writeln!(page, "- [{framework}](knobs.md#{framework}): {}", names.join(", "))?;
        }
    }
    Ok(page)
}

/// The direction of a turn, where its lever can go both ways.
fn way_of(turn: &Turn) -> &'static str {
    match turn.direction {
        Some(Direction::Raise) => " (raise)",
        Some(Direction::Lower) => " (lower)",
        None => "",
    }
}

/// An example of the rule's own.
fn show(example: &ExampleRow, page: &mut String) -> std::fmt::Result {
    writeln!(page, "\n## An example\n\n{}:\n\n````text\n{}\n````", capital(&example.name), example.log.trim())
}

fn only_if(condition: Option<&str>) -> String {
    condition.map(|condition| format!(" Only if {}.", code(condition))).unwrap_or_default()
}

fn code(condition: &str) -> String {
    format!("`{}`", condition.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// `3.2` as a factor of odds: `× 25`.
fn factor(log_odds: f64) -> String {
    let sign = if log_odds < 0.0 { '÷' } else { '×' };
    format!("{sign} {}", figure(log_odds.abs().exp()))
}

fn odds(log_odds: f64) -> String {
    match log_odds < 0.0 {
        true => format!("1 to {}", figure((-log_odds).exp())),
        false => format!("{} to 1", figure(log_odds.exp())),
    }
}

fn figure(number: f64) -> String {
    if number < 9.95 { format!("{number:.1}") } else { format!("{number:.0}") }
}

/// Text of a rule in Markdown. Facts in braces, which a report fills in, become code.
fn words(text: &str) -> String {
    let mut shown = String::new();
    for (place, part) in text.split('`').enumerate() {
        match place % 2 {
            0 => shown
                .push_str(&part.replace(['{', '}'], "`").replace('<', "\\<").replace('[', "\\[").replace('*', "\\*")),
            _ => write!(shown, "`{part}`").unwrap_or_default(),
        }
    }
    shown
}

/// Evidence against a cause is quoted within a sentence and so begins with a small letter; here it stands alone.
fn sentence(text: &str) -> String {
    capital(&words(text))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// A case of `corpus/`.
struct Incident {
    name: String,
    /// Heading and first paragraph of its README.
    heading: String,
    story: String,
    causes: Vec<String>,
}

/// The part of a case's label that is needed here.
#[derive(Deserialize)]
struct Label {
    #[serde(default)]
    cause: Vec<String>,
}

impl Incident {
    fn read_all(corpus: &Path) -> Result<Vec<Incident>, Box<dyn Error>> {
        let mut folders: Vec<PathBuf> =
            fs::read_dir(corpus)?.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
        folders.sort();
        let mut incidents = Vec::new();
        for folder in folders.iter().filter(|folder| folder.join("expected.toml").exists()) {
            let label: Label = toml::from_str(&fs::read_to_string(folder.join("expected.toml"))?)?;
            let story = fs::read_to_string(folder.join("README.md"))?;
            let (heading, story) = story.split_once("\n\n").ok_or("a README without a story")?;
            incidents.push(Incident {
                name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                heading: heading.trim_start_matches("# ").to_owned(),
                story: story.split("\n\n").next().unwrap_or_default().trim().to_owned(),
                causes: label.cause,
            });
        }
        Ok(incidents)
    }

    /// The case that shows a cause most clearly: the only cause of its label, else the first of several, else any.
    fn best_of<'i>(incidents: &'i [Incident], cause: &str) -> Option<&'i Incident> {
        let place = |incident: &Incident| incident.causes.iter().position(|name| name == cause);
        let shown = incidents.iter().filter_map(|incident| Some((place(incident)?, incident.causes.len(), incident)));
        shown.min_by_key(|(place, count, _)| (*place, *count)).map(|(.., incident)| incident)
    }

    fn tell(&self, page: &mut String) -> std::fmt::Result {
        let Incident { name, heading, story, .. } = self;
        writeln!(page, "\n## An incident\n\n**{heading}.** {story}\n\n```sh\noomdoc analyze corpus/{name}\n```")
    }
}
