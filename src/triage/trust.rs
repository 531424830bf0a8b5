//! Certificate authorities that the user names: a self-hosted server's certificate is often signed by a private one.

use std::fs;
use std::path::{Path, PathBuf};

use ureq::tls::{PemItem, RootCerts, parse_pem};

use super::http::HttpError;

/// A file of authorities that replaces the built-in ones, as for OpenSSL and curl.
const VARIABLE: &str = "SSL_CERT_FILE";

/// The authorities in `$SSL_CERT_FILE` and `also`; the built-in ones where neither is named.
pub(super) fn roots(also: Option<&Path>) -> Result<RootCerts, HttpError> {
    let named = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    let files: Vec<&Path> = named.as_deref().into_iter().chain(also).collect();
    if files.is_empty() {
        return Ok(RootCerts::WebPki);
    }
    let mut all = Vec::new();
    for file in files {
        let problem = |problem: String| HttpError::Certificates { path: file.to_owned(), problem };
        let pem = fs::read(file).map_err(|error| problem(error.to_string()))?;
        let before = all.len();
        for item in parse_pem(&pem) {
            if let PemItem::Certificate(certificate) = item.map_err(|error| problem(error.to_string()))? {
                all.push(certificate);
            }
        }
        if all.len() == before {
            return Err(problem("it holds none".to_owned()));
        }
    }
    Ok(RootCerts::new_with_certs(&all))
}
