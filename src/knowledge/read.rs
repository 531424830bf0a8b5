//! Reads each part of [`Knowledge`](super::Knowledge) from the files of its folder.

use super::causes::CauseRule;
use super::code::CodeWords;
use super::defects::{Defect, DefectFile};
use super::dialects::Dialect;
use super::file::File;
use super::frameworks::FrameworkFile;
use super::knobs::{Knob, KnobFile};
use super::levers::{AdviceWords, Lever, LeverFile};
use super::messages::MessageFile;
use super::phases::{Builder, Phases};
use super::ranking::{Learned, Ranking, RankingWords, Weights};
use super::secrets::{Secret, SecretFile};
use super::signs::{SignFile, Signs};
use super::{
    Calibration, Fact, Inputs, KnowledgeError, Launchers, Models, Origin, Prices, Progress, SnapshotRules, facts,
};

type Outcome<T> = Result<T, KnowledgeError>;

/// The shipped files outside any folder.
const FILES: [&str; 9] = [
    "calibration.toml",
    "frameworks.toml",
    "inputs.toml",
    "launchers.toml",
    "levers.toml",
    "prices.toml",
    "progress.toml",
    "python.toml",
    "snapshot.toml",
];

/// Whether something is read from `file`.
pub(super) fn is_known(file: &File<'_>) -> bool {
    match (file.folder(), file.origin) {
        ("phases" | "messages" | "signs" | "causes" | "defects" | "knobs" | "models" | "redaction" | "ranking", _)
        | ("glossary" | "dialects" | "facts", Origin::Shipped) => true,
        ("", Origin::Shipped) => FILES.contains(&file.path),
        _ => false,
    }
}

pub(super) fn phases(files: &[File<'_>]) -> Outcome<Phases> {
    let is_prepared = files.iter().any(File::is_prepared);
    let mut phases = if is_prepared { Builder::with_prepared_frames() } else { Builder::of_written() };
    for file in of("phases", files) {
        phases.add(file.path, file.read()?)?;
    }
    Ok(phases.finish())
}

pub(super) fn signs(files: &[File<'_>]) -> Outcome<Signs> {
    let mut signs = Signs::default();
    for file in of("signs", files) {
        signs.add(file.path, file.read::<SignFile>()?)?;
    }
    Ok(signs)
}

/// The messages by file.
pub(super) fn messages<'f, 'a>(files: &'f [File<'a>]) -> Outcome<Vec<(&'f File<'a>, MessageFile)>> {
    of("messages", files).map(|file| Ok((file, file.read()?))).collect()
}

/// A user's rule replaces the shipped one of the same id; two of the same origin are an error.
pub(super) fn causes(files: &[File<'_>]) -> Outcome<Vec<CauseRule>> {
    let mut causes: Vec<CauseRule> = Vec::new();
    for file in of("causes", files) {
        let rule = CauseRule { origin: file.origin, ..file.read()? };
        if let Some(twice) = add(&mut causes, rule, |rule| (&rule.id, rule.origin)) {
            let problem = format!("another file has a rule `{}`; give this one a name of its own", twice.id);
            return Err(file.wrong(problem));
        }
    }
    Ok(causes)
}

/// A user's defect replaces the shipped one of the same name.
pub(super) fn defects(files: &[File<'_>]) -> Outcome<Vec<Defect>> {
    let mut defects: Vec<(Origin, Defect)> = Vec::new();
    for file in of("defects", files) {
        for defect in file.read::<DefectFile>()?.defect {
            if let Some(problem) = defect.problem() {
                return Err(file.wrong(problem));
            }
            let new = (file.origin, defect.completed());
            if let Some((_, twice)) = add(&mut defects, new, |(origin, defect)| (&defect.name, *origin)) {
                return Err(file.wrong(format!("there are two defects `{}`", twice.name)));
            }
        }
    }
    Ok(defects.into_iter().map(|(_, defect)| defect).collect())
}

/// The knobs by file. A user's knob replaces the shipped one of the same id.
pub(super) fn knobs<'f, 'a>(files: &'f [File<'a>]) -> Outcome<Vec<(&'f File<'a>, Vec<Knob>)>> {
    let mut knobs: Vec<(&File<'_>, Vec<Knob>)> = Vec::new();
    for file in of("knobs", files) {
        let of_file = knobs_of_file(file)?;
        if file.origin == Origin::Own {
            let is_replaced =
                |knob: &Knob| of_file.iter().any(|own| (&own.framework, &own.id) == (&knob.framework, &knob.id));
            knobs.iter_mut().for_each(|(_, known)| known.retain(|knob| !is_replaced(knob)));
        }
        knobs.push((file, of_file));
    }
    Ok(knobs)
}

pub(super) fn knobs_of_file(file: &File<'_>) -> Outcome<Vec<Knob>> {
    let KnobFile { framework, constraint, knob, .. } = file.read()?;
    let completed = |mut knob: Knob| {
        knob.constraint.extend_from_slice(&constraint);
        Knob { framework: framework.clone(), ..knob }
    };
    Ok(knob.into_iter().map(completed).collect())
}

pub(super) fn models(files: &[File<'_>]) -> Outcome<Models> {
    let mut models = Models::default();
    for file in of("models", files) {
        models.add(file.path, file.read()?)?;
    }
    Ok(models)
}

pub(super) fn levers(files: &[File<'_>]) -> Outcome<Vec<Lever>> {
    named("levers.toml", files).map_or(Ok(Vec::new()), |file| Ok(file.read::<LeverFile>()?.lever))
}

pub(super) fn advice(files: &[File<'_>]) -> Outcome<AdviceWords> {
    named("levers.toml", files).map_or(Ok(AdviceWords::default()), |file| Ok(file.read::<LeverFile>()?.advice))
}

pub(super) fn facts(files: &[File<'_>]) -> Outcome<Vec<Fact>> {
    let read: Vec<Vec<Fact>> =
        of("facts", files).map(|file| Ok(file.read::<facts::FactFile>()?.fact)).collect::<Outcome<_>>()?;
    Ok(read.concat())
}

pub(super) fn dialects(files: &[File<'_>]) -> Outcome<Vec<Dialect>> {
    of("dialects", files).map(File::read).collect()
}

/// How frameworks are told, and whose words tell of a version.
pub(super) fn frameworks(files: &[File<'_>]) -> Outcome<FrameworkFile> {
    named("frameworks.toml", files).map_or(Ok(FrameworkFile::default()), File::read)
}

pub(super) fn inputs(files: &[File<'_>]) -> Outcome<Inputs> {
    named("inputs.toml", files).map_or(Ok(Inputs::default()), File::read)
}

pub(super) fn launchers(files: &[File<'_>]) -> Outcome<Launchers> {
    named("launchers.toml", files).map_or(Ok(Launchers::default()), File::read)
}

pub(super) fn code(files: &[File<'_>]) -> Outcome<CodeWords> {
    named("python.toml", files).map_or(Ok(CodeWords::default()), File::read)
}

pub(super) fn snapshot(files: &[File<'_>]) -> Outcome<SnapshotRules> {
    let Some(file) = named("snapshot.toml", files) else { return Ok(SnapshotRules::default()) };
    file.read::<SnapshotRules>()?.checked().map_err(|problem| file.wrong(problem))
}

pub(super) fn prices(files: &[File<'_>]) -> Outcome<Prices> {
    named("prices.toml", files).map_or(Ok(Prices::default()), File::read)
}

pub(super) fn progress(files: &[File<'_>]) -> Outcome<Progress> {
    named("progress.toml", files).map_or(Ok(Progress::default()), Progress::of)
}

pub(super) fn calibration(files: &[File<'_>]) -> Outcome<Calibration> {
    let Some(file) = named("calibration.toml", files) else { return Ok(Calibration::default()) };
    let calibration: Calibration = file.read()?;
    match calibration.problem() {
        Some(problem) => Err(file.wrong(problem)),
        None => Ok(calibration),
    }
}

/// Learned weights add to written ones; weights learned from a user's incidents replace the shipped learned ones.
pub(super) fn ranking(files: &[File<'_>]) -> Outcome<Ranking> {
    let mut ranking = Ranking::default();
    let (mut phases, mut causes) = (Learned::default(), Learned::default());
    for file in of("ranking", files) {
        match file.path.rsplit('/').next() {
            Some("phases.toml") => phases = file.read()?,
            Some("causes.toml") => causes = file.read()?,
            _ => {
                let RankingWords { library, words } = file.read()?;
                ranking.libraries.extend(library);
                ranking.written.extend(words);
            }
        }
    }
    ranking.phases = Weights::of_phases(&ranking.written).with(phases);
    ranking.causes = Weights::of_causes(&ranking.written).with(causes);
    Ok(ranking)
}

pub(super) fn secrets(files: &[File<'_>]) -> Outcome<Vec<Secret>> {
    let mut secrets = Vec::new();
    for file in of("redaction", files) {
        file.read::<SecretFile>()?.read(file.path, file.origin, &mut secrets)?;
    }
    Ok(secrets)
}

/// Adds `new` to `known`, in the place of one of the same name and another origin; returns it if the origin is the same.
fn add<T>(known: &mut Vec<T>, new: T, named: fn(&T) -> (&str, Origin)) -> Option<T> {
    let (name, origin) = named(&new);
    match known.iter_mut().find(|other| named(other).0 == name) {
        Some(other) if named(other).1 != origin => *other = new,
        Some(_) => return Some(new),
        None => known.push(new),
    }
    None
}

fn of<'f, 'a>(folder: &str, files: &'f [File<'a>]) -> impl Iterator<Item = &'f File<'a>> {
    files.iter().filter(move |file| file.folder() == folder)
}

fn named<'f, 'a>(path: &str, files: &'f [File<'a>]) -> Option<&'f File<'a>> {
    files.iter().find(|file| file.path == path)
}
