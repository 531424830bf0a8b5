//! Every case of `corpus/`: what the report must say of it, the screen a person sees, and that neither depends on how the
//! bytes were cut into blocks.

use std::error::Error;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use oomdoc::Options;
use oomdoc::knowledge::Language;
use oomdoc::model::{FigureName, Incident, Kind, OtherFailureName, Phase, Report};
use oomdoc::source::Input;
use serde::Deserialize;

/// `expected.toml` of a case: the label, written by hand.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    /// The verdict.
    kind: Kind,
    /// The root incident's phase; several where the log cannot tell them apart.
    #[serde(default)]
    phase: Vec<Phase>,
    #[serde(default)]
    recovered: bool,
    #[serde(default)]
    other_failure: Option<OtherFailureName>,
    #[serde(default)]
    victim: ExpectedVictim,
    #[serde(default)]
    figure: Vec<ExpectedFigure>,
    /// Lines of which one must be cited.
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

/// Larger than any case.
const BLOCK: usize = 1 << 24;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The cases' folders, by name.
fn cases() -> Outcome<Vec<PathBuf>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut cases: Vec<PathBuf> =
        fs::read_dir(corpus)?.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect();
    cases.sort();
    Ok(cases)
}

/// What a user would pass: everything but the label and the story.
fn inputs(case: &Path) -> Outcome<Vec<(String, Vec<u8>)>> {
    let mut inputs = Vec::new();
    for entry in walkdir::WalkDir::new(case).sort_by_file_name() {
        let entry = entry?;
        let name = entry.path().strip_prefix(case)?.to_string_lossy().into_owned();
        if entry.file_type().is_file() && !["expected.toml", "README.md"].contains(&name.as_str()) {
            inputs.push((name, fs::read(entry.path())?));
        }
    }
    Ok(inputs)
}

fn analyze(inputs: &[(String, Vec<u8>)], block: usize) -> Outcome<Report> {
    let open = |(name, bytes): &(String, Vec<u8>)| Input::new(name, Cursor::new(bytes.clone()));
    let options = Options { block, ..Options::default() };
    Ok(oomdoc::analyze_inputs(inputs.iter().map(open).collect::<Result<_, _>>()?, Vec::new(), &options)?)
}

fn each_case(test: impl Fn(&str, &Path) -> Outcome<()>) -> Outcome<()> {
    for case in cases()? {
        let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
        test(&name, &case).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

#[test]
fn reports_say_what_the_labels_say() -> Outcome<()> {
    each_case(|name, case| {
        let expected: Expected = toml::from_str(&fs::read_to_string(case.join("expected.toml"))?)?;
        let report = analyze(&inputs(case)?, BLOCK)?;
        assert_eq!(report.verdict, expected.kind, "{name}: kind");
        assert_eq!(
            report.other_failure.as_ref().map(|failure| failure.name),
            expected.other_failure,
            "{name}: other failure"
        );
        let Some(root) = report.incidents.first() else {
            assert_eq!(expected.kind, Kind::None, "{name}: no incident");
            return Ok(());
        };
        assert_eq!(root.recovered, expected.recovered, "{name}: recovered");
        assert!(
            expected.phase.is_empty() || expected.phase.contains(&root.phase.name),
            "{name}: phase {}",
            root.phase.name
        );
        check_victim(name, &expected.victim, root);
        for figure in &expected.figure {
            let found = root.figures.iter().any(|known| {
                let at = &known.source;
                known.name == figure.name
                    && known.text == figure.text
                    && at.path.as_ref() == figure.file
                    && at.line.0 == figure.line
            });
            assert!(found, "{name}: no {figure:?} in {:#?}", root.figures);
        }
        let cited = |line: &ExpectedLine| {
            root.evidence
                .iter()
                .chain(&root.phase.evidence)
                .any(|cite| cite.location.path.as_ref() == line.file && cite.location.line.0 == line.line)
        };
        assert!(
            expected.evidence.is_empty() || expected.evidence.iter().any(cited),
            "{name}: evidence {:#?}",
            root.evidence
        );
        Ok(())
    })
}

fn check_victim(name: &str, expected: &ExpectedVictim, root: &Incident) {
    let victim = &root.victim;
    assert!(expected.host.is_none() || expected.host.as_deref() == victim.host.as_deref(), "{name}: {victim:?}");
    assert!(expected.role.is_none() || expected.role.as_deref() == victim.role.as_deref(), "{name}: {victim:?}");
    assert!(expected.rank.is_none() || expected.rank == victim.rank, "{name}: {victim:?}");
    assert!(expected.device.is_none() || expected.device == victim.device, "{name}: {victim:?}");
    assert!(expected.pid.is_none() || expected.pid == victim.pid, "{name}: {victim:?}");
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
        for block in [64, 101, 1000, 4096, 65_536] {
            assert_eq!(serde_json::to_string(&analyze(&inputs, block)?)?, whole, "{name} in blocks of {block}");
        }
        Ok(())
    })
}

#[test]
fn screens() -> Outcome<()> {
    each_case(|name, case| {
        let screen = oomdoc::report::text(&analyze(&inputs(case)?, BLOCK)?, Language::En);
        insta::assert_snapshot!(name, anstream::adapter::strip_str(&screen).to_string());
        Ok(())
    })
}
