//! Through whom servers are asked, by curl's variables and rules: people try an address with curl first.

use std::net::IpAddr;

use ureq::http::Uri;
use ureq::{Proxy, ProxyProtocol};

use super::http::HttpError;

/// The proxies that the environment names, and who is asked without.
#[derive(Debug, Clone, Default)]
pub struct Proxies {
    http: Option<Named>,
    https: Option<Named>,
    /// As `no_proxy` lists them.
    exempt: String,
}

/// A proxy, and who names it; `None` where its address makes no sense.
#[derive(Debug, Clone)]
struct Named {
    variable: &'static str,
    proxy: Option<Proxy>,
}

impl Proxies {
    /// Those of this process.
    pub fn of_process() -> Proxies {
        Proxies::read(|name| std::env::var(name).ok())
    }

    /// Those that `variable` tells of.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Proxies {
        let value = |name: &'static str| Some((name, variable(name).filter(|value| !value.is_empty())?));
        let first = |names: &[&'static str]| names.iter().find_map(|name| value(name));
        let proxy = |names| first(names).map(|(variable, value)| Named { variable, proxy: proxy(&value) });
        Proxies {
            // Not HTTP_PROXY: whoever asks a CGI program sets it there with a header.
            http: proxy(&["http_proxy", "all_proxy", "ALL_PROXY"]),
            https: proxy(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
            exempt: first(&["no_proxy", "NO_PROXY"]).map(|(_, value)| value).unwrap_or_default(),
        }
    }

    /// The one through which `uri` is asked; `None` goes straight there. An error where it is none that can be asked.
    pub fn of(&self, uri: &Uri) -> Result<Option<Proxy>, HttpError> {
        let (named, port) = match uri.scheme_str() {
            Some("https") => (&self.https, 443),
            _ => (&self.http, 80),
        };
        let port = uri.port_u16().unwrap_or(port);
        match named {
            Some(named) if !is_exempt(&self.exempt, uri.host().unwrap_or_default(), port) => {
                named.proxy.clone().map(Some).ok_or(HttpError::Proxy(named.variable))
            }
            _ => Ok(None),
        }
    }
}

/// The proxy at `address`, with the port that curl takes where none is said.
fn proxy(address: &str) -> Option<Proxy> {
    let address = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
    let named = Proxy::new(&address).ok()?;
    let usual_port = match named.protocol() {
        ProxyProtocol::Http => 1080,
        ProxyProtocol::Https => 443,
        // ureq goes past those as if there were none.
        _ => return None,
    };
    if named.uri().port_u16().is_some() {
        return Some(named);
    }
    let mut proxy = Proxy::builder(named.protocol()).host(named.host()).port(usual_port);
    if let Some(user) = named.username() {
        proxy = proxy.username(user).password(named.password().unwrap_or_default());
    }
    proxy.build().ok()
}

/// Whether `list`, as `no_proxy` has it, names the host or what it is part of. Besides what curl takes, an entry may name a port, begin with
/// `*.`, or have the brackets that addresses have.
fn is_exempt(list: &str, host: &str, port: u16) -> bool {
    let mut entries = list.split([',', ' ', '\t']).filter(|entry| !entry.is_empty());
    list == "*" || entries.any(|entry| names(entry, host, port))
}

fn names(entry: &str, host: &str, port: u16) -> bool {
    let (name, wanted) = match entry.rsplit_once(':') {
        Some((name, digits)) if name.ends_with(']') || !name.contains(':') => (name, digits.parse().ok()),
        _ => (entry, Some(port)),
    };
    let bare = |name: &str| name.trim_matches(['[', ']']).parse::<IpAddr>().ok();
    wanted == Some(port)
        && match bare(host) {
            Some(address) => {
                let (network, bits) = name.split_once('/').map_or((name, None), |(name, bits)| (name, Some(bits)));
                bare(network).is_some_and(|network| is_within(address, network, bits))
            }
            None => is_below(host, name),
        }
}

/// Whether the first `bits` of both are the same, all where none are said.
fn is_within(address: IpAddr, network: IpAddr, bits: Option<&str>) -> bool {
    let (differing, width): (u128, u32) = match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => ((address.to_bits() ^ network.to_bits()).into(), 32),
        (IpAddr::V6(address), IpAddr::V6(network)) => (address.to_bits() ^ network.to_bits(), 128),
        _ => return false,
    };
    let bits = bits.map_or(Some(width), |bits| bits.parse().ok());
    let free = bits.and_then(|bits| width.checked_sub(bits));
    free.is_some_and(|free| differing.checked_shr(free).unwrap_or_default() == 0)
}

/// Whether `host` is `domain` or a name below it.
fn is_below(host: &str, domain: &str) -> bool {
    let plain = |name: &str| name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    let (host, domain) = (plain(host), plain(domain));
    let domain = domain.trim_start_matches(['*', '.']);
    let before = host.strip_suffix(domain).filter(|_| !domain.is_empty());
    before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn of(variables: &[(&str, &str)], uri: &str) -> Result<Option<String>, HttpError> {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let uri = uri.parse().map_err(|_| HttpError::Answer(uri.to_owned()))?;
        let shown = |proxy: Proxy| {
            let user = proxy.username().map(|user| format!("{user}:{}@", proxy.password().unwrap_or_default()));
            format!("{}{}:{}", user.unwrap_or_default(), proxy.host(), proxy.port())
        };
        Ok(Proxies::read(variable).of(&uri)?.map(shown))
    }

    #[test]
    fn each_scheme_has_its_proxy() {
        let all = [("http_proxy", "plain:1"), ("https_proxy", "http://small:2"), ("HTTPS_PROXY", "large:3")];
        for (variables, uri, proxy) in [
            (&all[..], "http://host/", Some("plain:1")),
            (&all, "https://host/", Some("small:2")),
            (&all[2..], "https://host/", Some("large:3")),
            (&all[2..], "http://host/", None),
            (&[("HTTP_PROXY", "of-a-header:1")], "http://host/", None),
            (&[("ALL_PROXY", "all:4")], "http://host/", Some("all:4")),
            (&[("all_proxy", "all:4"), ("https_proxy", "small:2")], "https://host/", Some("small:2")),
            (&[("https_proxy", ""), ("HTTPS_PROXY", "large:3")], "https://host/", Some("large:3")),
            (&[], "https://host/", None),
            // Without a port; with a user.
            (&[("https_proxy", "host")], "https://host/", Some("host:1080")),
            (&[("https_proxy", "https://host/")], "https://host/", Some("host:443")),
            (&[("https_proxy", "http://m%40e:p%3Aq%2F@host")], "https://host/", Some("m@e:p:q/@host:1080")),
            (&[("https_proxy", "http://m%40e:p%3Aq%2F@host:8080/")], "https://host/", Some("m@e:p:q/@host:8080")),
        ] {
            assert_eq!(of(variables, uri), Ok(proxy.map(str::to_owned)), "{variables:?} {uri}");
        }
    }

    #[test]
    fn nobody_goes_past_a_proxy_that_cannot_be_asked() {
        for proxy in ["socks5://host:1080", "http://", "ftp://host", "no host"] {
            assert_eq!(of(&[("ALL_PROXY", proxy)], "https://host/"), Err(HttpError::Proxy("ALL_PROXY")), "{proxy}");
            let exempt = [("ALL_PROXY", proxy), ("no_proxy", "host")];
            assert_eq!(of(&exempt, "https://host/"), Ok(None), "{proxy}");
        }
    }

    #[test]
    fn exempt_are_hosts_domains_and_networks() -> Outcome {
        for (list, host, is_exempt) in [
            ("*", "host", true),
            (" * ", "host", false),
            ("*,other", "host", false),
            ("host", "HOST", true),
            ("Host.", "host", true),
            ("example.com", "www.example.com", true),
            (".example.com", "example.com", true),
            ("*.example.com", "www.example.com", true),
            (".example.com", "www.example.com.", true),
            ("example.com", "notexample.com", false),
            ("www.example.com", "example.com", false),
            ("localhost, .example.com\t,other", "www.example.com", true),
            ("localhost .example.com", "www.example.com", true),
            (",,", "host", false),
            (".", "host", false),
            ("example.com:8080", "www.example.com:8080", true),
            ("example.com:8080", "www.example.com", false),
            ("example.com:80", "www.example.com", true),
            ("example.com:x", "example.com", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1:81", "127.0.0.1:80", false),
            ("10.0.0.0/8", "10.1.2.3", true),
            ("10.0.0.0/8", "11.1.2.3", false),
            ("10.0.0.0/33", "10.0.0.0", false),
            ("0.0.0.0/0", "10.1.2.3", true),
            ("10.0.0.0", "10.1.2.3", false),
            ("0.0.1", "10.0.0.1", false),
            ("::1", "[::1]", true),
            ("[::1]", "[0:0::1]", true),
            ("[::1]:81", "[::1]:81", true),
            ("[::1]:81", "[::1]", false),
            ("fe80::/10", "[fe80::1]", true),
            ("::/0", "[fe80::1]", true),
            ("::/0", "10.0.0.1", false),
        ] {
            let variables = [("http_proxy", "proxy:1"), ("NO_PROXY", list)];
            let through = of(&variables, &format!("http://{host}/"))?;
            assert_eq!(through.is_none(), is_exempt, "{list} {host}");
        }
        let both = [("http_proxy", "proxy:1"), ("no_proxy", "host"), ("NO_PROXY", "other")];
        assert_eq!(of(&both, "http://host/")?, None);
        assert!(of(&both, "http://other/")?.is_some());
        Ok(())
    }
}
