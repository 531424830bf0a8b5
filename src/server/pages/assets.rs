//! The stylesheet and the script. Their names contain a digest of their content, so browsers may cache them for ever.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

use crate::hexadecimal::hexadecimal;
use crate::report::{HTML_SCRIPT, HTML_STYLE};

/// A file that every page refers to.
#[derive(Debug)]
pub struct Asset {
    /// `/static/oomdoc.0123456789abcdef.css`
    pub path: String,
    /// Its media type.
    pub media_type: &'static str,
    /// What it holds.
    pub text: String,
}

pub(super) static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("css", "text/css; charset=utf-8", [HTML_STYLE, include_str!("style.css")]));
pub(super) static SCRIPT: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("js", "text/javascript; charset=utf-8", [HTML_SCRIPT, include_str!("script.js")]));

impl Asset {
    fn new(extension: &str, media_type: &'static str, parts: [&str; 2]) -> Asset {
        let text = parts.concat();
        let digest = hexadecimal(&Sha256::digest(&text)[..8]);
        Asset { path: format!("/static/oomdoc.{digest}.{extension}"), media_type, text }
    }
}

/// The asset at `path`, if there is one.
pub fn asset(path: &str) -> Option<&'static Asset> {
    [&*STYLE, &*SCRIPT].into_iter().find(|asset| asset.path == path)
}
