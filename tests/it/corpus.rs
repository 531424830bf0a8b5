//! Every case of `corpus/`: what its report must say, a snapshot of the screen, and that neither depends on how the
//! bytes were cut into blocks.

use std::error::Error;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use oomdoc::Language;
use oomdoc::Options;
use oomdoc::internal::report::Length;
use oomdoc::internal::source::Input;
use oomdoc::model::{Figure, FigureName, Incident, Kind, OtherFailureName, Phase, Report};
use serde::Deserialize;

/// A case's `expected.toml`: its label, written by hand.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    /// The verdict.
    kind: Kind,
    /// The root incident's phase; several where the log cannot tell them apart.
    #[serde(default)]
    phase: Vec<Phase>,
    /// The causes that the root incident's first diagnosis may name, where a person can tell.
    #[serde(default)]
    cause: Vec<String>,
    /// Causes that must all be among the first three diagnoses.
    #[serde(default)]
    causes_top3: Vec<String>,
    /// The patches of these diagnoses must turn one of these levers.
    #[serde(default)]
    fix: Vec<String>,
    /// The patches of these diagnoses must set one of these knobs, given by the last step of their key.
    #[serde(default)]
    fix_knob: Vec<String>,
    #[serde(default)]
    recovered: bool,
    #[serde(default)]
    other_failure: Option<OtherFailureName>,
    #[serde(default)]
    victim: ExpectedVictim,
    #[serde(default)]
    figure: Vec<ExpectedFigure>,
    /// One of these lines must be cited.
    #[serde(default)]
    evidence: Vec<ExpectedLine>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedVictim {
    host: Option<String>,
    rank: Option<u32>,
    device: Option<u32>,
    pid: Option<u32>,
    role: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedFigure {
    name: FigureName,
    /// Text that the figure's citation must contain.
    text: String,
    file: String,
    line: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedLine {
    file: String,
    line: u64,
}

/// A block size larger than any case.
const BLOCK: usize = 1 << 24;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The cases' folders sorted by name, without the tools they share.
fn cases() -> Outcome<Vec<PathBuf>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut cases: Vec<PathBuf> = fs::read_dir(corpus)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir() && !path.ends_with("tools"))
        .collect();
    cases.sort();
    Ok(cases)
}

/// The files a user would pass: all but the label, the README and the scripts that made the logs.
fn inputs(case: &Path) -> Outcome<Vec<(String, Vec<u8>)>> {
    let mut inputs = Vec::new();
    for entry in walkdir::WalkDir::new(case).sort_by_file_name() {
        let entry = entry?;
        let name = entry.path().strip_prefix(case)?.to_string_lossy().into_owned();
        let passed = !["expected.toml", "README.md"].contains(&name.as_str()) && !name.starts_with("produce/");
        if entry.file_type().is_file() && passed {
            inputs.push((name, fs::read(entry.path())?));
        }
    }
    Ok(inputs)
}

fn analyze(inputs: &[(String, Vec<u8>)], block: usize) -> Outcome<Report> {
    let open = |(name, bytes): &(String, Vec<u8>)| Input::new(name, Cursor::new(bytes.clone()));
    let options = Options::default().block(block);
    Ok(oomdoc::internal::analyze_inputs(inputs.iter().map(open).collect::<Result<_, _>>()?, Vec::new(), &options)?)
}

fn name_of(case: &Path) -> String {
    case.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn each_case(test: impl Fn(&str, &Path) -> Outcome<()>) -> Outcome<()> {
    for case in cases()? {
        let name = name_of(&case);
        test(&name, &case).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

#[test]
fn reports_say_what_the_labels_say() -> Outcome<()> {
    let mut differences = Vec::new();
    for case in cases()? {
        let name = name_of(&case);
        let label =
            fs::read_to_string(case.join("expected.toml")).map_err(|error| format!("{name}: label: {error}"))?;
        let expected: Expected = toml::from_str(&label).map_err(|error| format!("{name}: label: {error}"))?;
        let found = expected.differences(&analyze(&inputs(&case)?, BLOCK)?);
        differences.extend(found.into_iter().map(|difference| format!("{name}: {difference}")));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    Ok(())
}

impl Expected {
    /// Where `report` differs from the label, in words.
    fn differences(&self, report: &Report) -> Vec<String> {
        let mut found = Vec::new();
        let mut check = |holds: bool, what: String| {
            if !holds {
                found.push(what);
            }
        };
        check(report.verdict == self.kind, format!("the verdict is {}", report.verdict));
        let other_failure = report.other_failure.as_ref().map(|failure| failure.name);
        check(other_failure == self.other_failure, format!("the other failure is {other_failure:?}"));
        let Some(root) = report.incidents.first() else {
            check(self.kind == Kind::None && !self.recovered, "there is no incident".to_owned());
            return found;
        };
        check(root.recovered == self.recovered, format!("recovered is {}", root.recovered));
        let phase = root.phase.name;
        check(self.phase.is_empty() || self.phase.contains(&phase), format!("the phase is {phase}"));
        let cause = root.diagnoses.first().map_or("none", |diagnosis| &diagnosis.cause);
        check(self.cause.is_empty() || self.cause.iter().any(|named| named == cause), format!("the cause is {cause}"));
        let first = &root.diagnoses[..root.diagnoses.len().min(3)];
        let causes: Vec<&str> = first.iter().map(|diagnosis| &*diagnosis.cause).collect();
        for wanted in &self.causes_top3 {
            check(causes.contains(&wanted.as_str()), format!("{wanted} is not in {causes:?}"));
        }
        let patches = || first.iter().flat_map(|diagnosis| &diagnosis.patches);
        let levers: Vec<&str> = patches().map(|patch| &*patch.lever).collect();
        let is_turned = |lever: &String| levers.contains(&lever.as_str());
        check(self.fix.is_empty() || self.fix.iter().any(is_turned), format!("the levers are {levers:?}"));
        let knobs: Vec<&str> = patches().map(|patch| patch.knob.as_str()).collect();
        let is_turned = |wanted: &String| knobs.iter().any(|knob| knob.rsplit('.').next() == Some(wanted));
        check(self.fix_knob.is_empty() || self.fix_knob.iter().any(is_turned), format!("the knobs are {knobs:?}"));
        check(self.victim.agrees(root), format!("the victim is {:?}", root.victim));
        for figure in &self.figure {
            check(figure.stands_in(root), format!("no {figure:?} in {:?}", words(&root.figures)));
        }
        let cited = |line: &ExpectedLine| {
            let cites = root.evidence.iter().chain(&root.phase.evidence);
            cites.map(|cite| &cite.location).any(|at| at.path.as_ref() == line.file && at.line.0 == line.line)
        };
        let places = root.evidence.iter().map(|cite| &cite.location).map(|at| format!("{}:{}", at.path, at.line.0));
        let proven = self.evidence.is_empty() || self.evidence.iter().any(cited);
        check(proven, format!("the evidence is at {}", places.collect::<Vec<_>>().join(", ")));
        found
    }
}

/// Figures in short form, for the message about a missing one.
fn words(figures: &[Figure]) -> Vec<String> {
    figures.iter().map(|figure| format!("{:?} {} {}", figure.name, figure.text, figure.source.line.0)).collect()
}

impl ExpectedVictim {
    fn agrees(&self, root: &Incident) -> bool {
        let victim = &root.victim;
        (self.host.is_none() || self.host.as_deref() == victim.host.as_deref())
            && (self.role.is_none() || self.role.as_deref() == victim.role.as_deref())
            && (self.rank.is_none() || self.rank == victim.rank)
            && (self.device.is_none() || self.device == victim.device)
            && (self.pid.is_none() || self.pid == victim.pid)
    }
}

impl ExpectedFigure {
    fn stands_in(&self, root: &Incident) -> bool {
        root.figures.iter().any(|known| {
            let at = &known.source;
            known.name == self.name
                && known.text.contains(&self.text)
                && at.path.as_ref() == self.file
                && at.line.0 == self.line
        })
    }
}

#[test]
fn whatever_is_cited_stands_there() -> Outcome<()> {
    each_case(|name, case| {
        let inputs = inputs(case)?;
        let report = serde_json::to_value(analyze(&inputs, BLOCK)?)?;
        let mut cited = 0;
        visit(&report, &mut |object| {
            let source = object.get("source").unwrap_or(object);
            let words = [source.get("path"), source.get("line"), object.get("text")];
            if let [Some(path), Some(line), Some(text)] = words {
                let (path, text) = (path.as_str().unwrap_or_default(), text.as_str().unwrap_or_default());
                let file =
                    inputs.iter().find(|(name, _)| name == path).map(|(_, bytes)| String::from_utf8_lossy(bytes));
                let stands = file
                    .as_deref()
                    .and_then(|file| file.split('\n').nth(line.as_u64()? as usize - 1))
                    .is_some_and(|line| line.contains(text));
                assert!(stands, "{name}: {path}:{line} does not say {text:?}");
                cited += 1;
            }
        });
        assert!(cited > 0 || report["verdict"] == "none", "{name} cites nothing");
        Ok(())
    })
}

fn visit(value: &serde_json::Value, object: &mut impl FnMut(&serde_json::Value)) {
    match value {
        serde_json::Value::Object(fields) => {
            object(value);
            fields.values().for_each(|field| visit(field, object));
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| visit(item, object)),
        _ => {}
    }
}

#[test]
fn the_report_does_not_depend_on_the_blocks() -> Outcome<()> {
    each_case(|name, case| {
        let inputs = inputs(case)?;
        let whole = serde_json::to_string(&analyze(&inputs, BLOCK)?)?;
        for block in [64, 1000, 65_536] {
            assert_eq!(serde_json::to_string(&analyze(&inputs, block)?)?, whole, "{name} in blocks of {block}");
        }
        Ok(())
    })
}

#[test]
fn screens() -> Outcome<()> {
    each_case(|name, case| {
        let screen =
            oomdoc::internal::report::text(&analyze(&inputs(case)?, BLOCK)?, Language::En, Length::Screen, Some(100));
        insta::assert_snapshot!(name, anstream::adapter::strip_str(&screen).to_string());
        Ok(())
    })
}
