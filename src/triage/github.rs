//! Pull request comments on GitHub, by its REST interface, version 2022-11-28.

use serde_json::{Value, json};
use ureq::http::Method;

use super::environment::Conversation;
use super::forge::{Comment, Forge, PAGE, PAGES};
use super::http::{Client, HttpError, Patience};

/// The login of a workflow's own token.
const ACTIONS: &str = "github-actions[bot]";

/// A pull request on GitHub.
pub struct GitHub {
    client: Client,
    there: Conversation,
}

impl GitHub {
    /// Fails if the certificate authorities cannot be read.
    pub fn new(there: Conversation, patience: Patience) -> Result<GitHub, HttpError> {
        let headers = vec![
            ("authorization", format!("Bearer {}", there.token)),
            ("accept", "application/vnd.github+json".to_owned()),
            ("x-github-api-version", "2022-11-28".to_owned()),
        ];
        let client = Client::new(headers, patience, there.authorities.as_deref())?;
        Ok(GitHub { client, there })
    }

    fn comments(&self) -> String {
        format!("{}/repos/{}/issues/{}/comments", self.there.api, self.there.project, self.there.number)
    }

    fn comment(&self, id: u64) -> String {
        format!("{}/repos/{}/issues/comments/{id}", self.there.api, self.there.project)
    }

    /// The login of the token's owner. `/user` only works for personal tokens; GraphQL also answers those of workflows
    /// and apps.
    fn author(&self) -> Result<String, HttpError> {
        let login = match self.client.send(&Method::GET, &format!("{}/user", self.there.api), None) {
            Ok(user) => user["login"].as_str().map(str::to_owned),
            Err(HttpError::NotAllowed(_)) => None,
            Err(error) => return Err(error),
        };
        match login {
            Some(login) => Ok(login),
            None => Ok(self.viewer()?.unwrap_or_else(|| ACTIONS.to_owned())),
        }
    }

    /// The login according to GraphQL; `None` where the token may not ask. A temporary failure is an error: retrying
    /// may help.
    fn viewer(&self) -> Result<Option<String>, HttpError> {
        let url = format!("{}/graphql", self.there.api.trim_end_matches("/v3"));
        match self.client.send(&Method::POST, &url, Some(&json!({ "query": "{viewer{login}}" }))) {
            Ok(answer) => Ok(answer["data"]["viewer"]["login"].as_str().map(str::to_owned)),
            Err(HttpError::NotAllowed(_) | HttpError::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Forge for GitHub {
    fn own(&self, marker: &str) -> Result<Vec<Comment>, HttpError> {
        let author = self.author()?;
        let mut own = Vec::new();
        for page in 1..=PAGES {
            let url = format!("{}?per_page={PAGE}&page={page}", self.comments());
            let Value::Array(comments) = self.client.send(&Method::GET, &url, None)? else {
                return Err(HttpError::Answer("comments are no list".to_owned()));
            };
            let is_last = comments.len() < PAGE;
            let is_own = |comment: &&Value| comment["user"]["login"].as_str() == Some(&author);
            let read = |comment: &Value| {
                let body = comment["body"].as_str().filter(|body| body.starts_with(marker))?;
                Some(Comment { id: comment["id"].as_u64()?, body: body.to_owned() })
            };
            own.extend(comments.iter().filter(is_own).filter_map(read));
            if is_last {
                break;
            }
        }
        own.sort_by_key(|comment| comment.id);
        Ok(own)
    }

    fn create(&self, body: &str) -> Result<u64, HttpError> {
        let written = self.client.send_once(&Method::POST, &self.comments(), Some(&json!({ "body": body })))?;
        written["id"].as_u64().ok_or_else(|| HttpError::Answer("a comment without an id".to_owned()))
    }

    fn update(&self, id: u64, body: &str) -> Result<(), HttpError> {
        self.client.send(&Method::PATCH, &self.comment(id), Some(&json!({ "body": body }))).map(drop)
    }

    fn delete(&self, id: u64) -> Result<(), HttpError> {
        match self.client.send(&Method::DELETE, &self.comment(id), None) {
            Err(HttpError::NotAllowed(404)) => Ok(()),
            done => done.map(drop),
        }
    }

    fn address(&self, id: u64) -> Option<String> {
        Some(format!("{}#issuecomment-{id}", self.there.page.as_ref()?))
    }

    fn patience(&self) -> Patience {
        self.client.patience()
    }
}
