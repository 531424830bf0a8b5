//! One comment per job, which is created, updated and marked as solved; never a second one.

use super::forge::{Comment, Forge};
use super::http::HttpError;

/// Follows the marker in a comment whose trouble is solved.
const SOLVED: &str = "<!-- solved -->";

/// What was done about the comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posted {
    /// A new comment was created.
    Created,
    /// The existing comment was updated.
    Updated,
    /// The existing comment was marked as solved.
    Solved,
    /// Nothing was done.
    Nothing,
}

/// The hidden first line of a job's comment, distinct for distinct jobs. Hyphens in the name are escaped because they
/// could end the HTML comment.
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

/// Creates or updates the comment that begins with `marker`; returns what was done and the comment's number.
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
                // The comment was deleted meanwhile.
                Err(error @ HttpError::NotAllowed(404)) => refused = Some(error),
                Err(error) => return Err(error),
            }
            continue;
        }
        match forge.create(&body) {
            Ok(id) => return Ok((Posted::Created, keep_the_first(forge, marker).unwrap_or(id))),
            // The comment may have been created although the answer failed, so look again before retrying.
            Err(error @ (HttpError::Unavailable(_) | HttpError::Busy { .. })) => refused = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(refused.unwrap_or_else(|| HttpError::Unavailable("not asked".to_owned())))
}

/// Deletes all but the first comment with `marker`: two runs at once may each have created one. Failures do not matter,
/// as the comment exists. Returns the number of the one that stays, if it can be listed.
fn keep_the_first(forge: &dyn Forge, marker: &str) -> Option<u64> {
    let own = forge.own(marker).unwrap_or_default();
    for comment in own.iter().skip(1) {
        let _ = forge.delete(comment.id);
    }
    own.first().map(|comment| comment.id)
}

/// Marks the comment with `marker` as solved: `text` on top, the old text folded under `summary`. Returns its number,
/// or `None` where there is none or it is marked already.
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
