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

/// The first line of a job's comment, which nobody sees.
pub fn marker(job: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let job: String = job.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    format!("<!-- oomdoc job={job} -->")
}

/// Says `text` in the comment with `marker`.
pub fn say(forge: &dyn Forge, marker: &str, text: &str) -> Result<Posted, HttpError> {
    let body = format!("{marker}\n{text}");
    let mut refused = None;
    for _ in 0..forge.patience().attempts.max(1) {
        let own = forge.own(marker)?;
        if let Some((first, others)) = own.split_first() {
            match forge.update(first.id, &body) {
                Ok(()) => {
                    return others.iter().try_for_each(|comment| forge.delete(comment.id)).map(|()| Posted::Updated);
                }
                // Somebody removed it meanwhile.
                Err(error @ HttpError::NotAllowed(404)) => refused = Some(error),
                Err(error) => return Err(error),
            }
            continue;
        }
        match forge.create(&body) {
            Ok(()) => {
                keep_the_first(forge, marker);
                return Ok(Posted::Created);
            }
            // Perhaps it was written all the same: look before writing again.
            Err(error @ HttpError::Unavailable(_)) => refused = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(refused.unwrap_or_else(|| HttpError::Unavailable("not asked".to_owned())))
}

/// Two runs at once may both have found no comment. That ours is there is enough: what fails here is no failure.
fn keep_the_first(forge: &dyn Forge, marker: &str) {
    let own = forge.own(marker).unwrap_or_default();
    for comment in own.iter().skip(1) {
        let _ = forge.delete(comment.id);
    }
}

/// Marks the comment with `marker`, if there is one, as solved: `text` on top, what it was (`summary`) folded away.
pub fn solve(forge: &dyn Forge, marker: &str, text: &str, summary: &str) -> Result<Posted, HttpError> {
    let own = forge.own(marker)?;
    let Some(Comment { id, body }) = own.first() else { return Ok(Posted::Nothing) };
    let was = body.strip_prefix(marker).unwrap_or(body).trim_start();
    if was.starts_with(SOLVED) {
        return Ok(Posted::Nothing);
    }
    let body = format!("{marker}\n{SOLVED}\n{text}\n\n<details><summary>{summary}</summary>\n\n{was}\n\n</details>\n");
    forge.update(*id, &body)?;
    Ok(Posted::Solved)
}
