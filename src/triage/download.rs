//! Downloads of any size as a stream, following redirects to a forge's storage.
//!
//! A redirect decides where this machine connects to. The token is sent to its own server only; other servers must use
//! TLS and, unless the forge itself is inside the private network, may not be inside it either.

use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ureq::config::Config;
use ureq::http::{HeaderMap, Request, Response, Uri};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Body, BodyReader};

use super::http::{Attempt, Client, HttpError, judge};

/// The most redirects that are followed; logs need one or two.
const REDIRECTS: usize = 5;
/// How long to wait for a response to begin.
const FIRST: Duration = Duration::from_secs(60);
/// How long a server may stay silent within a body.
const SILENCE: Duration = Duration::from_secs(60);
/// How long a whole download may take.
const WHOLE: Duration = Duration::from_secs(30 * 60);

/// The body of a response, as it arrives.
pub struct Download {
    headers: HeaderMap,
    body: BodyReader<'static>,
    left: u64,
    most: u64,
    broke: Arc<OnceLock<String>>,
}

impl Download {
    /// The response's header `name`.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The error that interrupted the stream, set while the body is read. Exceeding the size limit is not one.
    pub fn broke(&self) -> Arc<OnceLock<String>> {
        Arc::clone(&self.broke)
    }
}

impl Read for Download {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if room == 0 && !buffer.is_empty() {
            return match self.body.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(io::Error::new(
                    io::ErrorKind::FileTooLarge,
                    format!("it is longer than {} MiB; the rest was not read", self.most >> 20),
                )),
            };
        }
        match self.body.read(&mut buffer[..room]) {
            Ok(count) => {
                self.left -= count as u64;
                Ok(count)
            }
            Err(error) => {
                let _ = self.broke.set(error.to_string());
                Err(error)
            }
        }
    }
}

impl Client {
    /// Downloads at most `most` bytes from `url`, following redirects.
    pub fn download(&self, url: &str, most: u64) -> Result<Download, HttpError> {
        let api = address(url)?;
        let mut there = api.clone();
        for _ in 0..=REDIRECTS {
            let response = self.look(&api, &there)?;
            let status = response.status().as_u16();
            if !matches!(status, 301 | 302 | 303 | 307 | 308) {
                return match status {
                    200..=299 => Ok(Download {
                        headers: response.headers().clone(),
                        body: response.into_body().into_reader(),
                        left: most,
                        most,
                        broke: Arc::default(),
                    }),
                    _ => Err(match judge(response) {
                        Attempt::Again(error, _) | Attempt::Failed(error) => error,
                        Attempt::Done(_) => HttpError::Refused(status),
                    }),
                };
            }
            let location = response.headers().get("location").and_then(|value| value.to_str().ok());
            there = next(&there, location.unwrap_or_default())?;
            if !may_follow(&api, &there) {
                return Err(HttpError::Answer("a redirect to where nothing is fetched from".to_owned()));
            }
        }
        Err(HttpError::Answer("redirects without end".to_owned()))
    }

    /// Requests `there`; with the client's headers only if that has the origin of `api`.
    fn look(&self, api: &Uri, there: &Uri) -> Result<Response<Body>, HttpError> {
        let is_own = origin(api) == origin(there);
        let stranger = (!is_own && !is_inside(api)).then(|| self.for_strangers(there)).transpose()?;
        let agent = stranger.as_ref().unwrap_or(&self.agent);
        let mut request = Request::get(there);
        for (name, value) in self.headers.iter().filter(|_| is_own) {
            request = request.header(*name, value);
        }
        let request = request.body(()).map_err(|_| HttpError::Answer("this is no address".to_owned()))?;
        let request = agent
            .configure_request(request)
            .proxy(self.proxies.of(there)?)
            .timeout_connect(Some(FIRST))
            .timeout_recv_response(Some(FIRST))
            .timeout_per_read(Some(SILENCE))
            .timeout_recv_body(Some(WHOLE));
        agent.run(request.build()).map_err(|error| HttpError::Unavailable(error.to_string()))
    }

    /// An agent for `there`, on another host than the API's, that connects to no private address. A proxy resolves
    /// names itself, so that only literal addresses can be checked.
    fn for_strangers(&self, there: &Uri) -> Result<Agent, HttpError> {
        let config = self.agent.config().clone();
        if self.proxies.of(there)?.is_none() {
            return Ok(Agent::with_parts(config, DefaultConnector::default(), Outside(DefaultResolver::default())));
        }
        let bare = there.host().unwrap_or_default().trim_matches(['[', ']']).parse::<IpAddr>();
        match bare {
            Ok(address) if is_private(address) => Err(HttpError::Answer("a redirect into the network".to_owned())),
            _ => Ok(self.agent.clone()),
        }
    }
}

/// A resolver that drops private addresses.
#[derive(Debug)]
struct Outside(DefaultResolver);

impl Resolver for Outside {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.0.resolve(uri, config, timeout)?;
        let mut outside = self.empty();
        found.iter().filter(|address| !is_private(address.ip())).for_each(|address| outside.push(*address));
        match outside.is_empty() {
            true => Err(io::Error::new(io::ErrorKind::PermissionDenied, "that is inside the network").into()),
            false => Ok(outside),
        }
    }
}

fn address(url: &str) -> Result<Uri, HttpError> {
    let uri = url.parse::<Uri>().ok().filter(|uri| uri.host().is_some() && uri.scheme().is_some());
    // A URL may contain a secret and is not quoted.
    uri.ok_or_else(|| HttpError::Answer("this is no address".to_owned()))
}

/// Resolves the header `location` of a response from `from`.
fn next(from: &Uri, location: &str) -> Result<Uri, HttpError> {
    if !location.starts_with('/') || location.starts_with("//") {
        return address(location);
    }
    let authority = from.authority().map(|authority| authority.as_str()).unwrap_or_default();
    address(&format!("{}://{authority}{location}", from.scheme_str().unwrap_or_default()))
}

fn host(uri: &Uri) -> String {
    uri.host().unwrap_or_default().to_ascii_lowercase()
}

/// Scheme, host and port.
pub fn origin(uri: &Uri) -> (Option<&str>, String, u16) {
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    (uri.scheme_str(), host(uri), uri.port_u16().unwrap_or(usual))
}

fn may_follow(api: &Uri, there: &Uri) -> bool {
    there.scheme_str() == Some("https") || host(api) == host(there) && api.scheme_str() == there.scheme_str()
}

/// Whether the host of `api` has a private address.
fn is_inside(api: &Uri) -> bool {
    let name = uri_name(api);
    (name.as_str(), 443).to_socket_addrs().is_ok_and(|mut found| found.any(|address| is_private(address.ip())))
}

fn uri_name(uri: &Uri) -> String {
    host(uri).trim_matches(['[', ']']).to_owned()
}

/// Whether `address` is private, local or otherwise not globally reachable.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_private_v4(v4),
        IpAddr::V6(v6) => {
            let parts = v6.segments();
            let inner = |high: u16, low: u16| is_private_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
            let is_mapped = v6.to_ipv4_mapped().is_some_and(is_private_v4);
            // IPv4 addresses embedded in NAT64 and 6to4 addresses.
            let is_translated = parts[..6] == [0x64, 0xff9b, 0, 0, 0, 0] && inner(parts[6], parts[7])
                || parts[0] == 0x2002 && inner(parts[1], parts[2]);
            let is_local = parts[0] & 0xfe00 == 0xfc00 || parts[0] & 0xffc0 == 0xfe80;
            v6.is_loopback() || v6.is_unspecified() || v6.is_multicast() || is_local || is_mapped || is_translated
        }
    }
}

fn is_private_v4(v4: Ipv4Addr) -> bool {
    let [a, b, c, _] = v4.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_special = a == 0 || a >= 240 || (a, b, c) == (192, 0, 0) || a == 198 && (18..20).contains(&b);
    v4.is_loopback() || v4.is_private() || v4.is_link_local() || v4.is_multicast() || is_shared || is_special
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn the_network_s_own_addresses_are_known_in_every_disguise() -> Outcome {
        let inside = [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "::1",
            "fe80::1",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "255.255.255.255",
            "224.0.0.1",
        ];
        for address in inside {
            assert!(is_private(address.parse()?), "{address}");
        }
        for address in ["140.82.112.3", "2606:4700::1111", "100.128.0.1", "172.32.0.1"] {
            assert!(!is_private(address.parse()?), "{address}");
        }
        Ok(())
    }

    #[test]
    fn a_redirect_leads_nowhere_unsafe() -> Outcome {
        let api = address("https://api.github.com/x")?;
        let follows = |location: &str| next(&api, location).is_ok_and(|there| may_follow(&api, &there));
        assert!(follows("https://storage.example/log?sig=1") && follows("/log"));
        for location in ["http://storage.example/log", "file:///etc/passwd", "", "//evil", "gopher://x/"] {
            assert!(!follows(location), "{location}");
        }
        assert_eq!(origin(&address("https://API.github.com:443/y")?), origin(&api));
        assert_ne!(origin(&address("https://api.github.com.evil.example/")?), origin(&api));
        Ok(())
    }

    #[test]
    fn a_name_that_leads_inside_is_not_asked() -> Outcome {
        let client = Client::new(Vec::new(), super::super::Patience::default(), None)?;
        let there = address("https://localhost:9/")?;
        let agent = client.for_strangers(&there)?;
        let error = agent.get(there).call().err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("inside the network"), "{error}");
        Ok(())
    }
}
