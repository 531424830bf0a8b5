//! The gate's rules, one at a time.

use std::error::Error;
use std::sync::OnceLock;

use super::advice::Advice;
use super::gate::{Change, Refusal, pass};
use super::goal::Goal;
use super::*;
use crate::config::Document;
use crate::facts::Value;
use crate::model::{Job, Kind, Need, PatchNeeds};

type Outcome = Result<(), Box<dyn Error>>;

const KNOB: &str = r#"
id = "offload"
target = "cli"
type = "bool"
spelling = [{ name = "--offload" }]
default = [{ value = "false" }]
lever = [{ name = "more_host_offload", to = "on", phases = ["forward", "backward"] }]
moves = { en = "x", zh = "x" }
cost = { en = "x", zh = "x" }
"#;

/// A knob with `constraints` and `against`, and the facts of an incident as `name=value`.
struct Case<'c> {
    kind: Kind,
    phase: Phase,
    facts: &'c [(&'c str, &'c str)],
    constraints: &'c str,
    against: &'c str,
    from: Option<&'c str>,
    effect: PatchEffect,
    needs: PatchNeeds,
}

const CASE: Case<'static> = Case {
    kind: Kind::GpuOom,
    phase: Phase::Backward,
    facts: &[],
    constraints: "",
    against: "",
    from: None,
    effect: PatchEffect { gpu_bytes: None, host_bytes: None },
    needs: PatchNeeds { gpu: None, host: None },
};

/// The gate's decision; the open notes where it lets the change pass.
fn judged(case: Case<'_>) -> Result<Result<Vec<String>, Refusal>, Box<dyn Error>> {
    let knowledge = Knowledge::shipped()?;
    let launch = JobConfig::new(&knowledge, &Job::default(), Vec::<Document>::new(), Vec::new());
    let mut facts = Facts::default();
    facts.say("kind", Value::Text(case.kind.to_string()));
    case.facts.iter().for_each(|(name, value)| facts.say(name, Value::read(value)));
    let evaluator = Evaluator::new(&facts);
    let bench = Workbench {
        knowledge: &knowledge,
        launch: &launch,
        facts: &facts,
        evaluator: &evaluator,
        decided: OnceLock::new(),
        advice: Advice::of(std::iter::empty(), &knowledge.advice),
        prediction: None,
        kind: case.kind,
        phase: case.phase,
        phase_confidence: 1.0,
        language: Language::En,
    };
    let knob: Knob = toml::from_str(&format!("{KNOB}{}", case.constraints))?;
    let row: PatchRow = toml::from_str("lever = 'more_host_offload'")?;
    let against: Option<NotAdvisedRow> = match case.against {
        "" => None,
        row => Some(toml::from_str(row)?),
    };
    let (turn, goal) = (knob.lever.first().ok_or("no lever")?, Goal::Value("true".to_owned()));
    let then = bench.with(&[(&knob, "true".to_owned())]);
    let effect = || (case.effect, case.needs);
    let change = Change {
        row: &row,
        knob: &knob,
        turn,
        goal: &goal,
        from: case.from,
        partners: &[],
        effect: &effect,
        then: &&then,
    };
    Ok(pass(&bench, &change, &against.iter().collect::<Vec<_>>()).map(|passed| passed.open))
}

#[test]
fn a_remark_is_no_need() -> Outcome {
    let note = "[[note]]\ntext = { en = 'note', zh = 'note' }\n";
    assert_eq!(judged(Case { constraints: note, ..CASE })?, Ok(Vec::new()), "needed is nothing");
    Ok(())
}

fn constraint(condition: &str) -> String {
    format!("[[constraint]]\n{condition}\ntext = {{ en = 'note', zh = 'note' }}\n")
}

#[test]
fn what_nothing_speaks_against_passes() -> Outcome {
    assert_eq!(judged(CASE)?, Ok(Vec::new()));
    assert_eq!(judged(Case { constraints: &constraint(""), ..CASE })?, Ok(vec!["note".to_owned()]));
    Ok(())
}

#[test]
fn what_ran_out_is_not_filled() -> Outcome {
    assert_eq!(judged(Case { kind: Kind::HostOomKernel, ..CASE })?, Err(Refusal::Lever));
    let more = PatchEffect { gpu_bytes: Some(Bytes(1 << 30)), host_bytes: None };
    assert_eq!(judged(Case { effect: more, ..CASE })?, Err(Refusal::FillsWhatRanOut));
    let less = PatchEffect { gpu_bytes: Some(Bytes(-1 << 30)), host_bytes: Some(Bytes(64 << 30)) };
    assert_eq!(judged(Case { effect: less, ..CASE })?, Ok(Vec::new()));
    let small = [("host.memory", "32GiB")];
    assert_eq!(judged(Case { effect: less, facts: &small, ..CASE })?, Err(Refusal::Overfills));
    let onto_host = PatchEffect { gpu_bytes: Some(Bytes(-Bytes::GIB.0)), host_bytes: Some(Bytes::GIB) };
    let need = Need { bytes: Bytes(91 * Bytes::GIB.0), capacity: Some(Bytes(80 * Bytes::GIB.0)) };
    let case = Case { effect: onto_host, needs: PatchNeeds { gpu: None, host: Some(need) }, ..CASE };
    assert_eq!(judged(case)?, Err(Refusal::Overfills), "what it fills does not fit afterwards");
    Ok(())
}

#[test]
fn what_frees_memory_at_other_moments_is_no_advice() -> Outcome {
    assert_eq!(judged(Case { phase: Phase::CheckpointSave, ..CASE })?, Err(Refusal::Elsewhere));
    assert_eq!(judged(Case { phase: Phase::Unknown, ..CASE })?, Ok(Vec::new()));
    Ok(())
}

#[test]
fn a_note_refuses_where_it_holds_and_is_said_where_nobody_knows() -> Outcome {
    let unless = constraint("unless = 'config.zero_stage < 1.0'");
    let refused = || Err(Refusal::Note("note".to_owned()));
    assert_eq!(judged(Case { constraints: &unless, facts: &[("config.zero_stage", "0")], ..CASE })?, refused());
    assert_eq!(judged(Case { constraints: &unless, facts: &[("config.zero_stage", "2")], ..CASE })?, Ok(Vec::new()));
    assert_eq!(judged(Case { constraints: &unless, ..CASE })?, Ok(vec!["note".to_owned()]));
    // A knob of certain jobs only is refused where nothing shows that this is such a job.
    let only = constraint("only = 'job.slurm'");
    assert_eq!(judged(Case { constraints: &only, ..CASE })?, refused());
    assert_eq!(judged(Case { constraints: &only, facts: &[("job.slurm", "true")], ..CASE })?, Ok(Vec::new()));
    Ok(())
}

#[test]
fn what_is_so_already_is_no_change() -> Outcome {
    assert_eq!(judged(Case { from: Some("True"), ..CASE })?, Err(Refusal::AlreadySo));
    assert_eq!(judged(Case { from: Some("false"), ..CASE })?, Ok(Vec::new()));
    Ok(())
}

#[test]
fn what_does_not_help_is_not_advised_in_the_same_breath() -> Outcome {
    let row = |knob: &str, more: &str| format!("knob = '{knob}'\n{more}why = {{ en = 'x', zh = 'x' }}");
    assert_eq!(judged(Case { against: &row("offload", ""), ..CASE })?, Err(Refusal::NotAdvised));
    assert_eq!(judged(Case { against: &row("more_host_offload", ""), ..CASE })?, Err(Refusal::NotAdvised));
    assert_eq!(judged(Case { against: &row("other", ""), ..CASE })?, Ok(Vec::new()));
    Ok(())
}

/// Where files set a plain knob of `framework`, no knob whose name is words for people is added to them as a key.
#[test]
fn no_words_for_people_are_added_to_a_file() -> Outcome {
    let knowledge = Knowledge::shipped()?;
    let is_plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    let (mut asked, mut added) = (0, Vec::new());
    for knob in knowledge.knobs.iter().filter(|knob| knob.target != Target::Python) {
        for name in knob.names().filter(|name| name.contains([' ', '('])) {
            let own = || knowledge.knobs.of(&knob.framework);
            let plain = |target: Target| own().filter(move |own| own.target == target).flat_map(Knob::names);
            let set = |target, write: fn(&str) -> String| -> String {
                plain(target).filter(|name| is_plain(name)).take(4).map(write).collect()
            };
            let options = set(Target::Cli, |name| format!(" --{} 1", name.trim_start_matches('-')));
            let files = [
                ("a.json", "{\"zero_optimization\": {\"stage\": 3}, \"train_batch_size\": 8}\n".to_owned()),
                ("a.yaml", set(Target::Yaml, |name| format!("{name}: 1\n"))),
                ("a.sh", format!("python train.py{options}\n")),
                ("a.yml", format!("services:\n  a:\n    command: python train.py{options}\n")),
            ];
            for (path, text) in files {
                let Ok(document) = Document::read(path, &text) else { continue };
                let job = Job { framework: Some(knob.framework.to_string()), ..Job::default() };
                let launch = JobConfig::new(&knowledge, &job, vec![document], Vec::new());
                let made = edit::edit(&launch, knob, name, None, &crate::model::Scalar::Flag(true), [None, None]);
                asked += 1;
                added.extend(made.map(|edit| (path, edit.key)).filter(|(_, key)| key.contains([' ', '('])));
            }
        }
    }
    assert!(asked > 50, "{asked}");
    assert_eq!(added, []);
    Ok(())
}
