use std::net::{IpAddr, SocketAddr};

use schemars::JsonSchema;
use serde::Deserialize;

#[cfg(feature = "server")]
use crate::bot::BotConfig;
use crate::history::Retention;

/// `[serve]`: settings of `oomdoc serve`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServeTable {
    /// The address to listen on; `127.0.0.1:8673` by default.
    pub listen: Option<SocketAddr>,
    /// The URL that people use, where a proxy stands in front: `https://oomdoc.example.org`.
    pub public_url: Option<String>,
    /// What visitors without a token may do; nothing by default.
    pub anonymous: Option<AnonymousWord>,
    /// A proxy that authenticates people by other means, such as OpenID Connect.
    pub proxy: Option<ProxyTable>,
    /// Which incidents are removed.
    pub retention: RetentionTable,
    /// The bot's forges and chats; without it there is no bot.
    #[cfg(feature = "server")]
    pub bot: Option<BotConfig>,
    /// The largest log that may be sent, in GiB; 64 by default.
    pub largest_log: Option<u64>,
    /// Requests per second that one token may make on average; 1000 by default.
    pub requests_per_second: Option<u32>,
}

impl RetentionTable {
    /// The limits of the history; `None` if it has none.
    pub fn retention(&self) -> Option<Retention> {
        let RetentionTable { days, incidents, gib } = *self;
        let age = days.and_then(|days| format!("{days}d").parse().ok());
        let bytes = gib.map(|gib| gib << 30);
        let is_told = age.is_some() || incidents.is_some() || bytes.is_some();
        is_told.then_some(Retention { age, incidents, bytes, keep_resolved: false })
    }
}

/// What visitors without a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AnonymousWord {
    /// Nothing.
    Nothing,
    /// Read.
    Read,
}

/// `[serve.proxy]`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProxyTable {
    /// Its addresses. The header is ignored in requests from any other.
    pub addresses: Vec<IpAddr>,
    /// The header with the person's name: `x-forwarded-email`.
    pub header: String,
    /// What those people may do: `read` or `write`.
    pub scope: ProxyScope,
}

/// What people that a proxy names may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProxyScope {
    /// Look at everything.
    Read,
    /// Upload logs, record outcomes.
    Write,
}

/// `[serve.retention]`: without it nothing is removed.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionTable {
    /// The largest age of incidents in days.
    pub days: Option<u32>,
    /// The largest number of incidents; beyond it the oldest are removed.
    pub incidents: Option<u64>,
    /// The largest size in GiB; beyond it the oldest incidents are removed.
    pub gib: Option<u64>,
}
