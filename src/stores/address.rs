use super::{Kind, StoreError};

/// What an address says.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub enum Address {
    /// An object, or all below a key that ends in `/`.
    Bucket { kind: Kind, bucket: String, key: String },
    /// A file of a server, without TLS where it `is_open`; `user` is who asks and their password, as the address has them.
    Web { url: String, user: Option<String>, is_open: bool },
}

impl Address {
    /// What `text` says.
    pub fn of(text: &str) -> Result<Address, StoreError> {
        let (scheme, rest) = text.split_once("://").ok_or(StoreError::Address)?;
        let kind = match &*scheme.to_ascii_lowercase() {
            "http" => return Ok(web(scheme, rest, true)),
            "https" => return Ok(web(scheme, rest, false)),
            "s3" => Kind::S3,
            "gs" => Kind::Google,
            _ => return Err(StoreError::Address),
        };
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        // What stands there besides may be a secret, and is nothing that a bucket asks for.
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        match !bucket.is_empty() && bucket.bytes().all(is_name) && !key.contains(['?', '#']) {
            true => Ok(Address::Bucket { kind, bucket: bucket.to_owned(), key: key.to_owned() }),
            false => Err(StoreError::Address),
        }
    }
}

fn web(scheme: &str, rest: &str, is_open: bool) -> Address {
    // A fragment is for whoever shows the file.
    let rest = rest.split('#').next().unwrap_or(rest);
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user.to_owned()), host),
        None => (None, authority),
    };
    Address::Web { url: format!("{scheme}://{host}{path}"), user, is_open }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_and_servers_are_told_apart() {
        let bucket = |kind, key: &str| Ok(Address::Bucket { kind, bucket: "b-1.x".to_owned(), key: key.to_owned() });
        assert_eq!(Address::of("s3://b-1.x/run 7/a%20b.log"), bucket(Kind::S3, "run 7/a%20b.log"));
        assert_eq!(Address::of("GS://b-1.x/logs/"), bucket(Kind::Google, "logs/"));
        assert_eq!(Address::of("s3://b-1.x"), bucket(Kind::S3, ""));
        for (text, url, user) in [
            ("http://u:p@host/a?sig=1#end", "http://host/a?sig=1", Some("u:p")),
            ("http://u%40:p@ss@host?a@b", "http://host?a@b", Some("u%40:p@ss")),
            ("http://host/a@b", "http://host/a@b", None),
        ] {
            let (url, user) = (url.to_owned(), user.map(str::to_owned));
            assert_eq!(Address::of(text), Ok(Address::Web { url, user, is_open: true }));
        }
        for text in
            ["s3://", "s3:///key", "s3://key:secret@bucket/a", "s3://b/a?X-Amz-Signature=1", "s3://b/a#1", "ftp://h/a"]
        {
            assert_eq!(Address::of(text), Err(StoreError::Address), "{text}");
        }
    }
}
