//! Who may do what.
//!
//! In: the headers of a request and the address it comes from. Out: a [`Visitor`] with a [`Scope`], or a refusal.
//! Programs send a token, people the cookie of a session, and a trusted proxy may name a person. Without a name nobody
//! writes. A request that another site made a browser send is refused before its body is read.

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

/// The subfolder of the home folder that holds tokens, sessions and the audit log.
const FOLDER: &str = "server";
/// How many wrong tokens one address may try per minute.
const TRIES: u32 = 10;

/// What a visitor may do. Each scope includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Look at everything but administration.
    Read,
    /// Upload logs, hand over incidents, record outcomes.
    Write,
    /// Export the whole history, read the audit log.
    Admin,
}

impl Scope {
    /// The scope as tokens and settings spell it.
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

/// The sender of a request.
#[derive(Debug, Clone)]
pub struct Visitor {
    /// The name of the token or the person; absent for an anonymous visitor.
    pub name: Option<String>,
    /// What the visitor may do; absent for nothing.
    pub scope: Option<Scope>,
    /// The client's address.
    pub address: IpAddr,
    /// The session that the request belongs to, if any.
    pub session: Option<Session>,
    /// The key of the rate limit: visitors with one key share it.
    key: String,
    /// Whether the browser attaches the credentials by itself, also to requests that another site triggers.
    is_ambient: bool,
}

impl Visitor {
    /// Whether the visitor has at least the scope `need`.
    pub fn may(&self, need: Scope) -> bool {
        self.scope.is_some_and(|scope| scope >= need)
    }

    /// The CSRF token for the visitor's forms; empty without a session.
    pub fn csrf(&self) -> &str {
        self.session.as_ref().map_or("", |session| &session.csrf)
    }

    /// Whether a request of `method` must carry the CSRF token: it changes something, and the browser attached the
    /// credentials by itself.
    pub fn needs_csrf_token(&self, method: &Method) -> bool {
        self.is_ambient && !is_safe(method)
    }

    /// Whether `carried` is the CSRF token of the visitor's session.
    pub fn matches_csrf_token(&self, carried: &str) -> bool {
        !self.csrf().is_empty() && secret::is_same(self.csrf().as_bytes(), carried.as_bytes())
    }
}

/// Authentication, rate limits and the audit log.
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
    /// Opens tokens, sessions and the audit log in `home`.
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

    /// Identifies the sender of a request with `headers` from `address`.
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
            // Revoking a token ends the sessions that were begun with it.
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

    /// Begins a session for the token `presented` from `address`; returns the value of the session's cookie.
    pub fn sign_in(&self, presented: &str, address: IpAddr) -> Result<String, Problem> {
        let token = self.token(presented.trim(), address)?;
        self.sessions.begin(&token).map_err(|error| Problem::internal(&error))
    }

    /// The token that was presented from `address`. After too many wrong tokens an address may only present tokens that
    /// were verified recently.
    fn token(&self, presented: &str, address: IpAddr) -> Result<Token, Problem> {
        let address = address.to_string();
        self.tokens.check(presented, || !self.failures.is_spent(&address)).ok_or_else(|| {
            match self.failures.take(&address) {
                true => Problem::unauthorized("the token is unknown, revoked or has expired"),
                false => Problem::too_many("too many wrong tokens came from this address"),
            }
        })
    }

    /// Ends the session whose cookie is in `headers`, if there is one.
    pub fn sign_out(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let Some(value) = cookie(headers, COOKIE) else { return Ok(()) };
        self.sessions.end(value).map_err(|error| Problem::internal(&error))
    }

    /// Checks that `visitor` may send a request of `method` to a route that needs the scope `need`; `None` is open to
    /// everybody.
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

/// The one person that `header` names. A repeated header names nobody: one of the values may be forged.
fn named<'h>(headers: &'h HeaderMap, header: &str) -> Option<&'h str> {
    let mut values = headers.get_all(header).iter();
    let (Some(only), None) = (values.next(), values.next()) else { return None };
    only.to_str().ok().map(str::trim).filter(|name| !name.is_empty())
}

/// Whether `method` changes nothing.
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
