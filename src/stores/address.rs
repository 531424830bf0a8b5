use super::{Kind, StoreError};

/// What an address says.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub enum Address {
    /// An object, or all below a key that ends in `/`.
    Bucket { kind: Kind, bucket: String, key: String },
    /// A file of a server, without TLS where it `is_open`.
    Web { url: String, is_open: bool },
}

impl Address {
    /// What `text` says.
    pub fn of(text: &str) -> Result<Address, StoreError> {
        let (scheme, rest) = text.split_once("://").ok_or(StoreError::Address)?;
        // A fragment is for whoever shows the file.
        let web = |is_open| Address::Web { url: text.split('#').next().unwrap_or(text).to_owned(), is_open };
        let kind = match &*scheme.to_ascii_lowercase() {
            "http" => return Ok(web(true)),
            "https" => return Ok(web(false)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_and_servers_are_told_apart() {
        let bucket = |kind, key: &str| Ok(Address::Bucket { kind, bucket: "b-1.x".to_owned(), key: key.to_owned() });
        assert_eq!(Address::of("s3://b-1.x/run 7/a%20b.log"), bucket(Kind::S3, "run 7/a%20b.log"));
        assert_eq!(Address::of("GS://b-1.x/logs/"), bucket(Kind::Google, "logs/"));
        assert_eq!(Address::of("s3://b-1.x"), bucket(Kind::S3, ""));
        let web = Address::Web { url: "http://u:p@host/a?sig=1".to_owned(), is_open: true };
        assert_eq!(Address::of("http://u:p@host/a?sig=1#end"), Ok(web));
        for text in
            ["s3://", "s3:///key", "s3://key:secret@bucket/a", "s3://b/a?X-Amz-Signature=1", "s3://b/a#1", "ftp://h/a"]
        {
            assert_eq!(Address::of(text), Err(StoreError::Address), "{text}");
        }
    }
}
