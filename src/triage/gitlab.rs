//! Merge request notes on GitLab, by its REST interface, version 4.

use serde_json::{Value, json};
use ureq::http::Method;

use super::environment::Conversation;
use super::forge::{Comment, Forge, PAGE, PAGES};
use super::http::{Client, HttpError, Patience};

/// A merge request on GitLab.
pub struct GitLab {
    client: Client,
    there: Conversation,
}

impl GitLab {
    /// Fails if the certificate authorities cannot be read.
    pub fn new(there: Conversation, patience: Patience) -> Result<GitLab, HttpError> {
        let headers = vec![("private-token", there.token.clone())];
        let client = Client::new(headers, patience, there.authorities.as_deref())?;
        Ok(GitLab { client, there })
    }

    fn notes(&self) -> String {
        // GitLab expects a project's path as a single URL segment.
        let project = self.there.project.replace('/', "%2F");
        format!("{}/projects/{project}/merge_requests/{}/notes", self.there.api, self.there.number)
    }

    fn note(&self, id: u64) -> String {
        format!("{}/{id}", self.notes())
    }
}

impl Forge for GitLab {
    fn own(&self, marker: &str) -> Result<Vec<Comment>, HttpError> {
        let user = self.client.send(&Method::GET, &format!("{}/user", self.there.api), None)?;
        let author = user["id"].as_u64().ok_or_else(|| HttpError::Answer("a user without an id".to_owned()))?;
        let mut own = Vec::new();
        for page in 1..=PAGES {
            let url = format!("{}?per_page={PAGE}&page={page}", self.notes());
            let Value::Array(notes) = self.client.send(&Method::GET, &url, None)? else {
                return Err(HttpError::Answer("notes are no list".to_owned()));
            };
            let is_last = notes.len() < PAGE;
            let is_own = |note: &&Value| note["author"]["id"].as_u64() == Some(author);
            let read = |note: &Value| {
                let body = note["body"].as_str().filter(|body| body.starts_with(marker))?;
                Some(Comment { id: note["id"].as_u64()?, body: body.to_owned() })
            };
            own.extend(notes.iter().filter(is_own).filter_map(read));
            if is_last {
                break;
            }
        }
        own.sort_by_key(|note| note.id);
        Ok(own)
    }

    fn create(&self, body: &str) -> Result<u64, HttpError> {
        let written = self.client.send_once(&Method::POST, &self.notes(), Some(&json!({ "body": body })))?;
        written["id"].as_u64().ok_or_else(|| HttpError::Answer("a comment without an id".to_owned()))
    }

    fn update(&self, id: u64, body: &str) -> Result<(), HttpError> {
        self.client.send(&Method::PUT, &self.note(id), Some(&json!({ "body": body }))).map(drop)
    }

    fn delete(&self, id: u64) -> Result<(), HttpError> {
        match self.client.send(&Method::DELETE, &self.note(id), None) {
            Err(HttpError::NotAllowed(404)) => Ok(()),
            done => done.map(drop),
        }
    }

    fn address(&self, id: u64) -> Option<String> {
        Some(format!("{}#note_{id}", self.there.page.as_ref()?))
    }

    fn patience(&self) -> Patience {
        self.client.patience()
    }
}
