//! Inputs that are addresses and not paths: how to recognise and how to show them.

/// The schemes of addresses that can be read.
const SCHEMES: [&str; 4] = ["s3://", "gs://", "http://", "https://"];

/// Whether `path` is an address.
pub fn is_address(path: &str) -> bool {
    SCHEMES.iter().any(|scheme| path.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme)))
}

/// `address` without secrets: without user and password before the host, and without query and fragment.
pub fn told(address: &str) -> String {
    let address = &address[..address.find(['?', '#']).unwrap_or(address.len())];
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{}://{host}{path}", scheme.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_told() {
        for (address, name) in [
            ("s3://bucket/run 7/rank0.log", "s3://bucket/run 7/rank0.log"),
            ("https://me:p@ss@host:8443/a@b.log", "https://host:8443/a@b.log"),
            ("https://host/a.log?X-Amz-Signature=beef&sig=1#frag", "https://host/a.log"),
            ("HTTPS://host?sig=a/b@c", "https://host"),
            ("https://host#a?sig=1", "https://host"),
            ("s3://key:secret@bucket/a.log", "s3://bucket/a.log"),
        ] {
            assert_eq!(told(address), name);
            assert!(is_address(address), "{address}");
        }
    }

    #[test]
    fn paths_are_no_addresses() {
        for path in ["-", "job.log", "/s3://x", "s3:/x", "ftp://host/x", "s3", "日志/作业.log"] {
            assert!(!is_address(path), "{path}");
        }
    }
}
