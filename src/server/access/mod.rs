//! Who may do what.
//!
//! In go a request's headers and where it comes from; out comes a [`Visitor`] with a [`Scope`], or a refusal. Programs bring a token,
//! people a session's cookie, and a trusted proxy may name a person. Nobody writes without a name. What a browser sends because another
//! page told it to is refused before anything is read of it.

mod audit;
mod origin;
mod rate;
pub mod secret;
mod session;
mod token;

use std::net::IpAddr;
use std::path::Path;

use axum::http::{HeaderMap, Method, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::{Anonymous, Config, TrustedProxy};
use super::problem::Problem;
pub use audit::{Audit, Entry};
pub use rate::Rates;
pub use session::{COOKIE, LIFETIME, Session, Sessions};
pub use token::{Token, TokenError, Tokens};

/// Where tokens, sessions and the audit log lie in the home folder.
const FOLDER: &str = "server";
/// Wrong tokens that one address may try in a minute.
const TRIES: u32 = 10;

/// What somebody may do; each may all that those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Look.
    Read,
    /// Bring logs and incidents, say what was tried.
    Write,
    /// Take everything with one, see who did what.
    Admin,
}

impl Scope {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Write => "write",
            Scope::Admin => "admin",
        }
    }
}

impl std::str::FromStr for Scope {
    type Err = String;

    fn from_str(word: &str) -> Result<Scope, String> {
        let known = [Scope::Read, Scope::Write, Scope::Admin];
        let found = known.into_iter().find(|scope| scope.as_str() == word);
        found.ok_or_else(|| format!("no scope `{word}`; one of: read, write, admin"))
    }
}

/// Whoever asks.
#[derive(Debug, Clone)]
pub struct Visitor {
    /// The token's name, or the person's; absent where nobody says.
    pub name: Option<String>,
    /// What they may do; absent where that is nothing.
    pub scope: Option<Scope>,
    /// Where the request comes from.
    pub address: IpAddr,
    /// The session, where it is one.
    pub session: Option<Session>,
    /// Whose requests are counted together.
    key: String,
    /// Whether a browser sends what they are known by with whatever another page makes it send.
    is_ambient: bool,
}

impl Visitor {
    /// Whether they may do what takes `need`.
    pub fn may(&self, need: Scope) -> bool {
        self.scope.is_some_and(|scope| scope >= need)
    }

    /// What a form of theirs must carry; empty where there is no session.
    pub fn csrf(&self) -> &str {
        self.session.as_ref().map_or("", |session| &session.csrf)
    }

    /// Whether what they send must carry what their session was given: a browser tells who they are by itself.
    pub fn must_carry(&self, method: &Method) -> bool {
        self.is_ambient && !is_safe(method)
    }

    /// Whether `carried` is what their session was given.
    pub fn gave(&self, carried: &str) -> bool {
        !self.csrf().is_empty() && secret::is_same(self.csrf().as_bytes(), carried.as_bytes())
    }
}

/// Who may do what here.
pub struct Access {
    pub tokens: Tokens,
    pub sessions: Sessions,
    pub audit: Audit,
    rates: Rates,
    failures: Rates,
    anonymous: Anonymous,
    proxy: Option<TrustedProxy>,
    public_host: Option<String>,
}

impl Access {
    /// What lies in `home`.
    pub fn open(home: &Path, config: &Config) -> Result<Access, TokenError> {
        let folder = home.join(FOLDER);
        Ok(Access {
            tokens: Tokens::open(home)?,
            sessions: Sessions::open(&folder),
            audit: Audit::open(&folder)?,
            rates: Rates::per_second(config.limits.requests_per_second),
            failures: Rates::per_minute(TRIES),
            anonymous: config.anonymous,
            proxy: config.proxy.clone(),
            public_host: config.public_host().map(str::to_owned),
        })
    }

    /// Whoever sends `headers` from `address`.
    pub fn visitor(&self, headers: &HeaderMap, address: IpAddr) -> Result<Visitor, Problem> {
        let of = |name: Option<String>, scope, session: Option<Session>, key: String, is_ambient| Visitor {
            name,
            scope,
            address,
            session,
            key,
            is_ambient,
        };
        if let Some(presented) = bearer(headers) {
            let token = self.token(presented, address)?;
            return Ok(of(Some(token.name), Some(token.scope), None, token.id, false));
        }
        if let Some(session) = cookie(headers, COOKIE).and_then(|cookie| self.sessions.find(cookie)) {
            // Whoever takes a token back ends what it began.
            if let Some(token) = self.tokens.find(&session.token) {
                let name = Some(session.name.clone());
                return Ok(of(name, Some(token.scope), Some(session), token.id, true));
            }
        }
        if let Some(proxy) = self.proxy.as_ref().filter(|proxy| proxy.addresses.contains(&address))
            && let Some(name) = named(headers, &proxy.header)
        {
            let session = self.sessions.of_person(name);
            return Ok(of(Some(name.to_owned()), Some(proxy.scope), Some(session), format!("proxy {name}"), true));
        }
        let scope = (self.anonymous == Anonymous::Read).then_some(Scope::Read);
        Ok(of(None, scope, None, address.to_string(), false))
    }

    /// Begins a session for who presents a token from `address`; the value of its cookie.
    pub fn sign_in(&self, presented: &str, address: IpAddr) -> Result<String, Problem> {
        let token = self.token(presented.trim(), address)?;
        self.sessions.begin(&token).map_err(|error| Problem::internal(&error))
    }

    /// The token that is presented from `address`. Whoever tried many wrong ones there tries no more; who has one that was seen lately
    /// is none of them.
    fn token(&self, presented: &str, address: IpAddr) -> Result<Token, Problem> {
        let address = address.to_string();
        self.tokens.check(presented, || !self.failures.is_spent(&address)).ok_or_else(|| {
            match self.failures.take(&address) {
                true => Problem::unauthorized("the token is unknown, revoked or has expired"),
                false => Problem::too_many("too many wrong tokens came from this address"),
            }
        })
    }

    /// Ends the session that `headers` name, where they name one.
    pub fn sign_out(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let Some(value) = cookie(headers, COOKIE) else { return Ok(()) };
        self.sessions.end(value).map_err(|error| Problem::internal(&error))
    }

    /// Whether `visitor` may send a request of `method` that takes `need`; `None` is open to everybody.
    pub fn admit(
        &self,
        visitor: &Visitor,
        need: Option<Scope>,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<(), Problem> {
        if !self.rates.take(&visitor.key) {
            return Err(Problem::too_many("too many requests in too short a time"));
        }
        if let Some(need) = need.filter(|need| !visitor.may(*need)) {
            return Err(match &visitor.name {
                None => Problem::unauthorized("this takes a token"),
                Some(_) => Problem::forbidden(format!("this takes the scope `{}`", need.as_str())),
            });
        }
        if !is_safe(method) && (visitor.is_ambient || visitor.name.is_none()) {
            origin::check(headers, self.public_host.as_deref())?;
        }
        Ok(())
    }
}

/// Whom `header` names: one person, or nobody.
fn named<'h>(headers: &'h HeaderMap, header: &str) -> Option<&'h str> {
    let mut values = headers.get_all(header).iter();
    let (Some(only), None) = (values.next(), values.next()) else { return None };
    only.to_str().ok().map(str::trim).filter(|name| !name.is_empty())
}

/// Whether a request of `method` changes nothing.
fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The value of the cookie called `name`.
pub fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}
