//! Pull request comments on GitHub, by its REST interface, version 2022-11-28.

use serde_json::{Value, json};
use ureq::http::Method;

use super::environment::Conversation;
use super::forge::{Comment, Forge, PAGE, PAGES};
use super::http::{Client, HttpError, Patience};

/// Who writes with the token that a workflow is given.
const ACTIONS: &str = "github-actions[bot]";

/// A pull request.
pub struct GitHub {
    client: Client,
    there: Conversation,
}

impl GitHub {
    /// As the conversation's token allows; why its server cannot be trusted.
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

    /// Who the token belongs to. `/user` is for people's tokens; GraphQL tells those of workflows and apps too.
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

    /// Nobody, where the token may not ask; a server that does not answer now may answer otherwise later.
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
