use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::access::Scope;
use crate::bot::BotConfig;
use crate::history::Retention;
use crate::knowledge::Language;

/// How the server serves.
#[derive(Debug, Clone)]
pub struct Config {
    /// The address that the server listens on; by default only this machine can reach it.
    pub listen: SocketAddr,
    /// The address that people use, where a proxy stands in front: `https://oomdoc.example.org`.
    pub public_url: Option<String>,
    /// What visitors without a name may do.
    pub anonymous: Anonymous,
    /// A proxy that may name the visitor in a header.
    pub proxy: Option<TrustedProxy>,
    /// Limits of the history's size and age.
    pub retention: Option<Retention>,
    /// The language for browsers that ask for none of ours.
    pub language: Language,
    /// Limits on requests and connections.
    pub limits: Limits,
    /// The bot's forges and chats, if there is a bot.
    pub bot: Option<BotConfig>,
}

/// What visitors without a name may do: never write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Anonymous {
    /// Nothing.
    #[default]
    Nothing,
    /// Read.
    Read,
}

/// A proxy that authenticates people by other means (OIDC).
#[derive(Debug, Clone)]
pub struct TrustedProxy {
    /// Its addresses: a header from anywhere else is ignored.
    pub addresses: Vec<IpAddr>,
    /// The header with the person's name.
    pub header: String,
    /// What those people may do.
    pub scope: Scope,
}

/// Limits on requests and connections.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Open connections.
    pub connections: usize,
    /// Bytes of an uploaded log, as it is sent.
    pub upload: u64,
    /// Bytes of any other body.
    pub body: usize,
    /// Logs that are analysed at a time.
    pub analyses: usize,
    /// Searches of the history that are under way at a time.
    pub searches: usize,
    /// Requests per second, on average, for a token or for an address without a token.
    pub requests_per_second: u32,
    /// A connection whose client sends nothing for this long is closed.
    pub idle: Duration,
    /// How long requests in progress may take once the server is told to stop.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        let processors = std::thread::available_parallelism().map_or(2, |cores| cores.get());
        Limits {
            connections: 1024,
            upload: 64 << 30,
            body: 4 << 20,
            analyses: processors,
            // Some wait for the disk while others work.
            searches: 2 * processors,
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
            retention: None,
        }
    }
}

impl Config {
    /// Whether people reach the server over TLS, as far as `public_url` tells.
    pub(super) fn is_secure(&self) -> bool {
        self.public_url.as_ref().is_some_and(|url| url.starts_with("https://"))
    }

    /// The host and port by which people reach the server.
    pub(super) fn public_host(&self) -> Option<&str> {
        let (_, rest) = self.public_url.as_deref()?.split_once("://")?;
        Some(rest.split('/').next().unwrap_or(rest))
    }
}
