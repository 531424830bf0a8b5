//! GitLab: events of jobs, pipelines and notes, and the REST interface (version 4) behind them.
//!
//! Shapes: <https://docs.gitlab.com/user/project/integrations/webhook_events/>, <https://docs.gitlab.com/api/jobs/>,
//! <https://docs.gitlab.com/api/members/>.

mod api;
mod event;

pub(super) use api::GitLabHost;
pub(super) use event::read;
