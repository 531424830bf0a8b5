use std::ops::Range;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ureq::Body;
use ureq::http::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, ETAG, IF_MATCH, LAST_MODIFIED, LOCATION, RANGE,
};
use ureq::http::{HeaderMap, HeaderName, Request, Response, StatusCode, Uri};

use super::backend::{Answer, Backend, Version};
use super::transport::Transport;
use super::{StoreError, percent};
use crate::triage::origin;

/// A file lies one or two redirects away.
const REDIRECTS: usize = 5;

/// A server of files; a key is a whole address.
pub struct Web {
    transport: Transport,
    /// What proves to the server who asks.
    authorization: Option<String>,
}

impl Web {
    /// Asks by `transport` for `user`, a name and a password as an address has them.
    pub fn new(transport: Transport, user: Option<&str>) -> Web {
        let basic = |user: &str| {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            let both = [&percent::decoded(name)[..], b":", &percent::decoded(password)].concat();
            format!("Basic {}", BASE64_STANDARD.encode(both))
        };
        Web { transport, authorization: user.map(basic) }
    }

    /// The answer at `url`, wherever its server says that it lies.
    fn look(&self, url: &str, range: &Range<u64>, known: Option<&Version>) -> Result<Response<Body>, StoreError> {
        let named: Uri = url.parse().map_err(|_| StoreError::Address)?;
        let mut there = named.clone();
        for _ in 0..=REDIRECTS {
            let mut request = Request::get(&there).header(RANGE, format!("bytes={}-{}", range.start, range.end - 1));
            if let Some(tag) = known.and_then(Version::if_match) {
                request = request.header(IF_MATCH, tag);
            }
            // A password is for whom it is named for.
            if let Some(authorization) = self.authorization.as_ref().filter(|_| origin(&there) == origin(&named)) {
                request = request.header(AUTHORIZATION, authorization);
            }
            let response = self.transport.ask(request.body(Vec::new())?)?;
            if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return self.transport.judge(response);
            }
            let location = text(response.headers(), LOCATION).unwrap_or_default();
            there = next(&there, &location).ok_or_else(|| StoreError::Odd("a redirect to nowhere".to_owned()))?;
        }
        Err(StoreError::Odd("redirects without end".to_owned()))
    }
}

impl Backend for Web {
    fn get(&self, key: &str, range: Range<u64>, known: Option<&Version>) -> Result<Answer, StoreError> {
        let response = self.look(key, &range, known)?;
        let is_part = response.status() == StatusCode::PARTIAL_CONTENT;
        let headers = response.headers();
        let size = match is_part {
            true => Some(size_behind(headers, range.start)?),
            false => text(headers, CONTENT_LENGTH).and_then(|length| length.parse().ok()),
        };
        let version = Version { size, tag: text(headers, ETAG), written: text(headers, LAST_MODIFIED) };
        Ok(Answer { version, is_part, body: Box::new(response.into_body().into_reader()) })
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// Where `location` is, said by the server of `from`.
fn next(from: &Uri, location: &str) -> Option<Uri> {
    let location = location.split('#').next().unwrap_or(location);
    let (scheme, authority) = (from.scheme_str()?, from.authority()?);
    // A query may hold an address, too.
    let path = location.split(['/', '?']).next().unwrap_or(location);
    let has_scheme = path.ends_with(':') && location[path.len()..].starts_with("//");
    let whole = match location {
        "" => return None,
        _ if has_scheme => location.to_owned(),
        _ if location.starts_with("//") => format!("{scheme}:{location}"),
        _ if location.starts_with('/') => format!("{scheme}://{authority}{location}"),
        _ if location.starts_with('?') => format!("{scheme}://{authority}{}{location}", from.path()),
        _ => {
            let folder = from.path().rsplit_once('/').map_or("", |(folder, _)| folder);
            format!("{scheme}://{authority}{folder}/{location}")
        }
    };
    whole.parse().ok().filter(|uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some())
}

/// The size of all, as `bytes 0-99/1234` says it of a part that begins at `start`.
fn size_behind(headers: &HeaderMap, start: u64) -> Result<u64, StoreError> {
    let range = text(headers, CONTENT_RANGE).unwrap_or_default();
    let size = || {
        let (part, size) = range.strip_prefix("bytes ")?.split_once('/')?;
        let (first, _) = part.split_once('-')?;
        (first.parse() == Ok(start)).then(|| size.parse().ok())?
    };
    size().ok_or_else(|| StoreError::Odd("another range than asked for".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_lead_where_they_say() -> Result<(), Box<dyn std::error::Error>> {
        let from = "https://host:1/logs/a.log?sig=1".parse()?;
        for (location, there) in [
            ("https://other/b?c#d", Some("https://other/b?c")),
            ("//other/b", Some("https://other/b")),
            ("/b?next=http://x", Some("https://host:1/b?next=http://x")),
            ("?sig=2", Some("https://host:1/logs/a.log?sig=2")),
            ("b.log", Some("https://host:1/logs/b.log")),
            ("b.log?next=http://x", Some("https://host:1/logs/b.log?next=http://x")),
            ("", None),
            ("ftp://other/b", None),
            ("http:///b", None),
        ] {
            assert_eq!(next(&from, location).map(|uri| uri.to_string()).as_deref(), there, "{location}");
        }
        Ok(())
    }
}
