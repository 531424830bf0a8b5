use std::ops::Range;

use ureq::http::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, IF_MATCH, LAST_MODIFIED, RANGE};
use ureq::http::{HeaderMap, HeaderName, Request, StatusCode};

use super::StoreError;
use super::backend::{Answer, Backend, Version};
use super::transport::Transport;

/// A server of files; a key is a whole address.
pub struct Web(pub Transport);

impl Backend for Web {
    fn get(&self, key: &str, range: Range<u64>, known: Option<&Version>) -> Result<Answer, StoreError> {
        let mut request = Request::get(key).header(RANGE, format!("bytes={}-{}", range.start, range.end - 1));
        if let Some(tag) = known.and_then(Version::if_match) {
            request = request.header(IF_MATCH, tag);
        }
        let response = self.0.send(request.body(Vec::new())?)?;
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
