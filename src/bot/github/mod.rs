//! GitHub: events of jobs and comments, and the REST interface (version 2022-11-28) behind them.
//!
//! Shapes: <https://docs.github.com/webhooks/webhook-events-and-payloads>, <https://docs.github.com/rest/actions/workflow-jobs>,
//! <https://docs.github.com/rest/checks/runs>.

mod api;
mod app;
mod event;

pub(super) use api::{GitHubHost, Logins};
pub(super) use event::read;
