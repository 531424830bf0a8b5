//! Wording that several renderers share below the lead, and the sanitising of reports for a screen.

use super::phrases::describe;
use super::wording::{self, Labels};
use crate::knowledge::{Language, in_installation};
use crate::model::{
    Bytes, Call, Consumer, Diagnosis, End, InputSummary, Job, Patch, Report, Text, Texts, Victim, one_line,
};

/// The most characters of a cited line.
const WIDTH: usize = 150;

/// The job in a line: `openrlhf 0.10.1.post2 or older, Qwen2.5-72B, 8 ranks`.
pub(super) fn describe_job(job: &Job, labels: &Labels) -> Option<String> {
    let framework = job.framework.as_deref().map(|name| {
        let version = job.framework_version.as_deref().map(|version| format!(" {version}"));
        let at_most = job.framework_version_at_most.as_deref().map(labels.up_to);
        format!("{name}{}", version.or(at_most).unwrap_or_default())
    });
    let model = job.model.as_deref().map(shorten);
    let ranks = job.world_size.map(labels.ranks);
    let parts: Vec<String> = [framework, model, ranks, job.gpu.clone()].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(labels.comma))
}

/// The cost of a patch, its requirements, and further remarks, each with its label.
pub(super) fn remarks<'p>(patch: &'p Patch, labels: &Labels) -> impl Iterator<Item = (&'static str, &'p str)> {
    let remarks =
        [(labels.cost, patch.cost.as_deref()), (labels.needs, patch.condition()), (labels.note, patch.note.as_deref())];
    remarks.into_iter().filter_map(|(label, words)| Some((label, words?)))
}

/// The confidence in a diagnosis: `97%`.
pub(super) fn percent(diagnosis: &Diagnosis) -> String {
    format!("{:.0}%", diagnosis.confidence * 100.0)
}

/// The consumers grouped by role, the group with the largest consumer first.
pub(super) fn consumers_by_role<'c>(consumers: impl Iterator<Item = &'c Consumer>) -> Vec<Vec<&'c Consumer>> {
    let mut groups: Vec<Vec<&Consumer>> = Vec::new();
    for consumer in consumers {
        match groups.iter_mut().find(|group| consumer.role.is_some() && group[0].role == consumer.role) {
            Some(group) => group.push(consumer),
            None => groups.push(vec![consumer]),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.iter().map(|consumer| consumer.bytes).max()));
    groups
}

/// The memory of one role: `451.27 GiB  2 × ray::WorkerDict  largest 260.26 GiB (pid 12)`.
pub(super) fn role_in_words(group: &[&Consumer], labels: &Labels) -> String {
    let sum = Bytes(group.iter().map(|consumer| consumer.bytes.0).sum()).to_string();
    let Some(largest) = group.first() else { return sum };
    let role = shorten(largest.role.as_deref().unwrap_or_default());
    let pid = largest.pid.map(|pid| format!("pid {pid}")).unwrap_or_default();
    match group.len() {
        1 => format!("{sum:>12}  {pid:<12} {role}"),
        several => format!("{sum:>12}  {several} × {role}  {} {} ({pid})", labels.largest, largest.bytes),
    }
}

/// The place of a call: `train.py:42`. Paths of packages are relative to the folder in which packages are installed.
pub(super) fn place_of(call: &Call) -> String {
    let file = in_installation(&call.file).unwrap_or(&call.file);
    call.file_line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"))
}

/// Which processes ended, how, and when: `ranks 0–4, 6, 7 failed with an NCCL timeout, 12 s later`.
pub(super) fn end_in_words(end: &End, language: Language) -> String {
    let when = match (end.seconds_after, &end.time) {
        (Some(after), _) if after >= 1.0 => (wording::labels(language).later)(after),
        (_, Some(time)) => {
            time.split_once('T').map(|(_, time)| (wording::labels(language).at)(time)).unwrap_or_default()
        }
        _ => String::new(),
    };
    wording::ended(&end.ending, &who(end, language), end.count, &when, language)
}

/// The processes as `ranks 0–4, 6, 7`, else by pids, else by name.
fn who(end: &End, language: Language) -> String {
    const PIDS: usize = 4;
    let labels = wording::labels(language);
    let rest = end.count.saturating_sub(end.processes.len());
    let rest = |shown: usize| match rest + end.processes.len().saturating_sub(shown) {
        0 => String::new(),
        rest => (labels.others)(rest),
    };
    let mut ranks: Vec<u32> = end.processes.iter().filter_map(|process| process.rank).collect();
    if ranks.len() == end.processes.len() {
        ranks.sort_unstable();
        let (ranks, rest) = (ranges(&ranks), rest(end.processes.len()));
        return format!("{}{rest}", (labels.which_ranks)(&ranks, end.count));
    }
    let is_pid_only = |process: &&Victim| **process == Victim { pid: process.pid, ..Victim::default() };
    let named: Vec<&Victim> = end.processes.iter().take(PIDS).filter(|process| !process.is_unknown()).collect();
    let rest = rest(named.len());
    match named.as_slice() {
        [] => labels.a_process.to_owned(),
        several if several.len() > 1 && several.iter().all(is_pid_only) => {
            let pids: Vec<String> = several.iter().filter_map(|process| Some(process.pid?.to_string())).collect();
            format!("pids {}{rest}", pids.join(", "))
        }
        named => format!("{}{rest}", named.iter().map(|one| describe(one, language)).collect::<Vec<_>>().join("; ")),
    }
}

/// Sorted numbers with consecutive ones as ranges: `0–4, 6, 7`.
fn ranges(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *number <= last.saturating_add(1) => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    let run = |(first, last): (u32, u32)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}–{last}"),
    };
    runs.into_iter().map(run).collect::<Vec<_>>().join(", ")
}

/// `text` as one line of at most [`WIDTH`] characters.
pub(super) fn shorten(text: &str) -> String {
    shorten_to(text, WIDTH)
}

/// `text` as one line of at most `width` characters.
pub(super) fn shorten_to(text: &str, width: usize) -> String {
    let words = strip(text);
    let words = words.trim();
    match words.char_indices().nth(width.clamp(1, WIDTH)) {
        Some((cut, _)) => format!("{} …", &words[..cut]),
        None => words.to_owned(),
    }
}

/// `text` without what a terminal or a browser would interpret: control sequences, line ends, changes of writing
/// direction.
pub(super) fn strip(text: &str) -> String {
    one_line(&anstream::adapter::strip_str(text).to_string())
}

/// `report` with paths in citations relative to the folder that all inputs share, which the user named and knows.
pub(super) fn without_shared_folder(mut report: Report) -> Report {
    let folder = |path: &str| path.rfind('/').map_or(0, |slash| slash + 1);
    let is_read = |input: &&InputSummary| input.warning.is_none() || input.lines > 0;
    let paths: Vec<&str> = report.inputs.iter().filter(is_read).map(|input| &*input.path).collect();
    let Some((first, others)) = paths.split_first() else { return report };
    let mut shared = folder(first);
    for path in others {
        let same = first.bytes().zip(path.bytes()).take_while(|(a, b)| a == b).count();
        // Whole folders only.
        shared = folder(&first[..shared.min(first.floor_char_boundary(same))]);
    }
    let shared = first[..shared].to_owned();
    report.texts(&mut |text| {
        if let Text::Cited { location, .. } = text
            && let Some(inner) = location.path.strip_prefix(&shared)
        {
            location.path = inner.into();
        }
    });
    report
}

/// `report` with all text from inputs made safe for a screen.
pub(super) fn printable(report: &Report) -> Report {
    let mut report = report.clone();
    report.texts(&mut |text| match text {
        Text::Own(words) => *words = strip(words),
        Text::Lines(lines) => *lines = lines.lines().map(strip).collect::<Vec<_>>().join("\n"),
        Text::Shared(words) => *words = strip(words).into(),
        Text::Cited { location, words, .. } => {
            location.path = strip(&location.path).into();
            *words = strip(words);
        }
    });
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_in_a_row_are_one() {
        assert_eq!(ranges(&[0, 1, 2, 3, 4, 6, 7]), "0–4, 6, 7");
        assert_eq!(ranges(&[5]), "5");
        assert_eq!(ranges(&[]), "");
    }
}
