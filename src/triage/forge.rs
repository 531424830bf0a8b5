//! What GitHub and GitLab have in common: a conversation with comments.

use super::http::{HttpError, Patience};

/// Comments that are asked for at a time, and pages that are read at most.
pub(super) const PAGE: usize = 100;
pub(super) const PAGES: usize = 50;

/// A comment of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// The forge's number; an earlier comment has a lower one.
    pub id: u64,
    /// Its Markdown.
    pub body: String,
}

/// A conversation on a forge, as the token's owner.
pub trait Forge {
    /// The owner's own comments of which the body begins with `marker`, earliest first.
    fn own(&self, marker: &str) -> Result<Vec<Comment>, HttpError>;
    /// Writes a comment; its number. Asks once: whether it was written is for [`Forge::own`] to say.
    fn create(&self, body: &str) -> Result<u64, HttpError>;
    /// Writes `body` over a comment.
    fn update(&self, id: u64, body: &str) -> Result<(), HttpError>;
    /// Removes a comment; one that is gone is no error.
    fn delete(&self, id: u64) -> Result<(), HttpError>;
    /// The page that shows a comment, where it is known.
    fn address(&self, id: u64) -> Option<String>;
    /// How patient it is.
    fn patience(&self) -> Patience;
}
