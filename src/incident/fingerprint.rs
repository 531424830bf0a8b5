use super::digest;
use crate::model::{Fingerprint, Frame, Kind, PhaseFinding, Victim};

/// How many of the innermost frames are part of the fingerprint.
const INNERMOST: usize = 3;

/// The fingerprint that groups occurrences of the same trouble: kind, phase, the victim's role, the innermost frames and the likeliest
/// cause, without line numbers, paths, pids and hosts. Never change this recipe, because stored fingerprints name its version: add a new
/// version.
pub fn fingerprint(
    kind: Kind,
    phase: &PhaseFinding,
    victim: &Victim,
    frames: &[Frame],
    cause: Option<&str>,
) -> Fingerprint {
    let mut parts = vec![kind.to_string(), phase.name.to_string()];
    parts.extend(victim.role.as_deref().map(|role| role.split(['.', ' ']).next().unwrap_or(role).to_owned()));
    parts.extend(frames.iter().rev().take(INNERMOST).map(|frame| {
        let file = frame.file.rsplit(['/', '\\']).next().unwrap_or(&frame.file);
        format!("{file}:{}", frame.function)
    }));
    parts.extend(cause.map(str::to_owned));
    let words: Vec<&str> = parts.iter().map(String::as_str).collect();
    Fingerprint { version: 1, key: digest(&words), parts }
}
