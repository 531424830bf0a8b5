//! What GitHub and GitLab have in common: requests with comments.

use super::http::{HttpError, Patience};

/// Comments per page, and the most pages that are read.
pub(super) const PAGE: usize = 100;
pub(super) const PAGES: usize = 50;

/// A comment of the token's owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// The forge's number; earlier comments have lower ones.
    pub id: u64,
    /// Its Markdown.
    pub body: String,
}

/// The comments of a request on a forge, accessed with a token.
pub trait Forge {
    /// The token owner's comments whose body begins with `marker`, the earliest first.
    fn own(&self, marker: &str) -> Result<Vec<Comment>, HttpError>;
    /// Creates a comment and returns its number. It is not retried, as a failed attempt may have created it;
    /// [`Forge::own`] tells.
    fn create(&self, body: &str) -> Result<u64, HttpError>;
    /// Replaces the body of a comment.
    fn update(&self, id: u64, body: &str) -> Result<(), HttpError>;
    /// Deletes a comment; it is no error if it is gone.
    fn delete(&self, id: u64) -> Result<(), HttpError>;
    /// The URL of a comment, if it is known.
    fn address(&self, id: u64) -> Option<String>;
    /// How requests are retried.
    fn patience(&self) -> Patience;
}
