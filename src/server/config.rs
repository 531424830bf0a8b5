use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::access::Scope;
use crate::bot::BotConfig;
use crate::knowledge::Language;

/// How the server serves.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where it listens; only on this machine unless told.
    pub listen: SocketAddr,
    /// The address that people see, where a proxy stands before it: `https://oomdoc.example.org`.
    pub public_url: Option<String>,
    /// What somebody without a name may do.
    pub anonymous: Anonymous,
    /// Who may say in a header which person asks.
    pub proxy: Option<TrustedProxy>,
    /// The language of those whose browser names none.
    pub language: Language,
    /// What nobody may exceed.
    pub limits: Limits,
    /// Whom the bot listens to and tells, where there is one.
    pub bot: Option<BotConfig>,
}

/// What somebody without a name may do: never write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Anonymous {
    /// Nothing.
    #[default]
    Nothing,
    /// Read.
    Read,
}

/// A proxy that knows people by other means (OIDC).
#[derive(Debug, Clone)]
pub struct TrustedProxy {
    /// Its addresses: a header from anywhere else is ignored.
    pub addresses: Vec<IpAddr>,
    /// The header that holds the person's name.
    pub header: String,
    /// What people known so may do.
    pub scope: Scope,
}

/// What nobody may exceed.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Open connections.
    pub connections: usize,
    /// Bytes of a log, unpacked or not.
    pub upload: u64,
    /// Bytes of any other body.
    pub body: usize,
    /// Logs that are read at a time.
    pub analyses: usize,
    /// Requests that one token, or one address without a token, may make in a second, on average.
    pub requests_per_second: u32,
    /// A client that sends nothing for so long is given up.
    pub idle: Duration,
    /// Requests that are being answered when the server is told to stop get so long.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 1024,
            upload: 64 << 30,
            body: 4 << 20,
            analyses: std::thread::available_parallelism().map_or(2, |cores| cores.get()),
            requests_per_second: 1000,
            idle: Duration::from_secs(20),
            grace: Duration::from_secs(9),
        }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8673),
            public_url: None,
            anonymous: Anonymous::Nothing,
            proxy: None,
            language: Language::default(),
            limits: Limits::default(),
            bot: None,
        }
    }
}

impl Config {
    /// Whether people reach it over TLS, as far as it knows.
    pub(super) fn is_secure(&self) -> bool {
        self.public_url.as_ref().is_some_and(|url| url.starts_with("https://"))
    }

    /// The name, with its port, by which people reach it.
    pub(super) fn public_host(&self) -> Option<&str> {
        let (_, rest) = self.public_url.as_deref()?.split_once("://")?;
        Some(rest.split('/').next().unwrap_or(rest))
    }
}
