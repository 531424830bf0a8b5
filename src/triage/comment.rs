//! One comment a job: written, written over, marked as solved, never stacked.

use super::forge::{Comment, Forge};
use super::http::HttpError;

/// Behind the marker of a comment on what has passed.
const SOLVED: &str = "<!-- solved -->";

/// What became of the comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posted {
    /// There was none.
    Created,
    /// There was one.
    Updated,
    /// It says that the trouble is over.
    Solved,
    /// There is nothing to say.
    Nothing,
}

/// The first line of a job's comment, which nobody sees; no two jobs have the same. It is part of a comment of HTML, which a hyphen could end.
pub fn marker(job: &str) -> String {
    let mut name = String::with_capacity(job.len());
    for c in job.chars() {
        match c.is_alphanumeric() || matches!(c, '_' | '.') {
            true => name.push(c),
            false => name.extend(c.to_string().bytes().map(|byte| format!("%{byte:02X}"))),
        }
    }
    format!("<!-- oomdoc job={name} -->")
}

/// Says `text` in the comment with `marker`; what became of it, and its number.
pub fn say(forge: &dyn Forge, marker: &str, text: &str) -> Result<(Posted, u64), HttpError> {
    let body = format!("{marker}\n{text}");
    let mut refused = None;
    for _ in 0..forge.patience().attempts.max(1) {
        let own = forge.own(marker)?;
        if let Some((first, others)) = own.split_first() {
            match forge.update(first.id, &body) {
                Ok(()) => {
                    others.iter().try_for_each(|comment| forge.delete(comment.id))?;
                    return Ok((Posted::Updated, first.id));
                }
                // Somebody removed it meanwhile.
                Err(error @ HttpError::NotAllowed(404)) => refused = Some(error),
                Err(error) => return Err(error),
            }
            continue;
        }
        match forge.create(&body) {
            Ok(id) => return Ok((Posted::Created, keep_the_first(forge, marker).unwrap_or(id))),
            // Perhaps it was written all the same: look before writing again.
            Err(error @ (HttpError::Unavailable(_) | HttpError::Busy { .. })) => refused = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(refused.unwrap_or_else(|| HttpError::Unavailable("not asked".to_owned())))
}

/// Two runs at once may both have found no comment. That ours is there is enough: what fails here is no failure. The number of the one
/// that stays, where that could be asked.
fn keep_the_first(forge: &dyn Forge, marker: &str) -> Option<u64> {
    let own = forge.own(marker).unwrap_or_default();
    for comment in own.iter().skip(1) {
        let _ = forge.delete(comment.id);
    }
    own.first().map(|comment| comment.id)
}

/// Marks the comment with `marker`, if there is one, as solved: `text` on top, what it was (`summary`) folded away. `None` where there
/// is nothing to mark, else the comment's number.
pub fn solve(forge: &dyn Forge, marker: &str, text: &str, summary: &str) -> Result<Option<u64>, HttpError> {
    let own = forge.own(marker)?;
    let Some(Comment { id, body }) = own.first() else { return Ok(None) };
    let was = body.strip_prefix(marker).unwrap_or(body).trim_start();
    if was.starts_with(SOLVED) {
        return Ok(None);
    }
    let body = format!("{marker}\n{SOLVED}\n{text}\n\n<details><summary>{summary}</summary>\n\n{was}\n\n</details>\n");
    forge.update(*id, &body)?;
    Ok(Some(*id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_jobs_have_one_marker() {
        let jobs = ["a-b", "a_b", "a b", "a%2Db", "a.b", "a--b", "a-->b", "train", "训练"];
        let markers: std::collections::BTreeSet<String> = jobs.iter().map(|job| marker(job)).collect();
        assert_eq!(markers.len(), jobs.len(), "{markers:?}");
        assert!(markers.iter().all(|marker| marker.matches("--").count() == 2), "{markers:?}");
        assert_eq!(marker("train"), "<!-- oomdoc job=train -->");
    }
}
