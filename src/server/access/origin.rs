use axum::http::{HeaderMap, header};

use crate::server::problem::Problem;

/// Refuses what a browser sends for another site's page, going by the fetch metadata
/// (<https://www.w3.org/TR/fetch-metadata/>) and the `Origin` header. Programs other than browsers send neither and
/// pass.
pub fn check(headers: &HeaderMap, public: Option<&str>) -> Result<(), Problem> {
    let word = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let refused = || Problem::forbidden("another site's page sent this request");
    if word("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return Err(refused());
    }
    let host = word(header::HOST.as_str()).unwrap_or_default();
    match word(header::ORIGIN.as_str()) {
        Some(origin) => match origin.split_once("://") {
            // A proxy may address the server by another name than people do, so the public name counts as well.
            Some((_, authority))
                if [Some(host), public].iter().flatten().any(|known| authority.eq_ignore_ascii_case(known)) =>
            {
                Ok(())
            }
            _ => Err(refused()),
        },
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn other_sites_are_refused() {
        let asked = |pairs: &[(&'static str, &'static str)]| {
            let headers = pairs
                .iter()
                .map(|(name, value)| (axum::http::HeaderName::from_static(name), HeaderValue::from_static(value)));
            check(&headers.collect(), Some("oomdoc.example.org")).is_ok()
        };
        assert!(asked(&[("host", "oomdoc:8673"), ("origin", "http://oomdoc:8673"), ("sec-fetch-site", "same-origin")]));
        assert!(asked(&[("host", "oomdoc:8673")]));
        assert!(asked(&[("host", "127.0.0.1:8673"), ("origin", "https://oomdoc.example.org")]));
        assert!(!asked(&[("host", "oomdoc:8673"), ("origin", "http://evil:8673")]));
        assert!(!asked(&[("host", "oomdoc:8673"), ("origin", "null")]));
        assert!(!asked(&[("host", "oomdoc:8673"), ("sec-fetch-site", "cross-site")]));
        assert!(!asked(&[("host", "oomdoc:8673"), ("sec-fetch-site", "same-site")]));
    }
}
