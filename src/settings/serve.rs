use std::net::{IpAddr, SocketAddr};

use schemars::JsonSchema;
use serde::Deserialize;

#[cfg(feature = "server")]
use crate::bot::BotConfig;
use crate::history::Retention;

/// `[serve]`: how `oomdoc serve` serves.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServeTable {
    /// Where it listens: `127.0.0.1:8673` unless told.
    pub listen: Option<SocketAddr>,
    /// The address that people see, where a proxy stands before it: `https://oomdoc.example.org`.
    pub public_url: Option<String>,
    /// What somebody without a token may do: nothing, unless told.
    pub anonymous: Option<AnonymousWord>,
    /// A proxy that knows people by other means, as by OpenID Connect.
    pub proxy: Option<ProxyTable>,
    /// What is forgotten.
    pub retention: RetentionTable,
    /// Whom the bot listens to and tells; without it there is none.
    #[cfg(feature = "server")]
    pub bot: Option<BotConfig>,
    /// The largest log that may be sent, in GiB; 64 unless told.
    pub largest_log: Option<u64>,
    /// Requests that one token may make in a second, on average; 1000 unless told.
    pub requests_per_second: Option<u32>,
}

impl RetentionTable {
    /// What the history is not to exceed; none where it may grow.
    pub fn retention(&self) -> Option<Retention> {
        let RetentionTable { days, incidents, gib } = *self;
        let age = days.and_then(|days| format!("{days}d").parse().ok());
        let bytes = gib.map(|gib| gib << 30);
        let is_told = age.is_some() || incidents.is_some() || bytes.is_some();
        is_told.then_some(Retention { age, incidents, bytes, keep_resolved: false })
    }
}

/// What somebody without a token may do.
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
    /// Its addresses: what any other says in the header counts for nothing.
    pub addresses: Vec<IpAddr>,
    /// The header that holds the person's name: `x-forwarded-email`.
    pub header: String,
    /// What people known so may do: `read` or `write`.
    pub scope: ProxyScope,
}

/// What people whom a proxy names may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProxyScope {
    /// Look.
    Read,
    /// Bring logs, say what was tried.
    Write,
}

/// `[serve.retention]`: without it nothing is forgotten.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionTable {
    /// Incidents that are older go, in days.
    pub days: Option<u32>,
    /// No more incidents are kept: the oldest go.
    pub incidents: Option<u64>,
    /// No more is kept, in GiB: the oldest go.
    pub gib: Option<u64>,
}
