use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use hyper::body::Bytes;
use object_store::{GetOptions, GetRange, ObjectStore};
use tokio::runtime::Runtime;

use super::backend::{Answer, Backend, Version};
use super::{StoreError, key};
use crate::source::leads_to;

/// Nobody reads more objects at once.
const MOST_OBJECTS: usize = 100_000;

/// A bucket of S3 or Google; a key is an object's.
pub struct Bucket {
    store: Arc<dyn ObjectStore>,
    /// Waits for nothing but the transport, which blocks.
    runtime: Arc<Runtime>,
}

impl Bucket {
    pub fn new(store: Arc<dyn ObjectStore>) -> Result<Bucket, StoreError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::Settings(error.to_string()))?;
        Ok(Bucket { store, runtime: Arc::new(runtime) })
    }

    /// The keys of all that a walk through the folder `prefix` leads to, in order, with their sizes.
    pub fn list(&self, prefix: &str) -> Result<Vec<(String, u64)>, StoreError> {
        let below = prefix.strip_suffix('/').map(key::path).transpose()?;
        let mut objects = self.store.list(below.as_ref());
        let mut found = Vec::new();
        while let Some(object) = self.runtime.block_on(objects.next()) {
            let object = object.map_err(|error| problem(&error))?;
            let key = key::unveiled(&object.location);
            // Consoles keep a folder as an empty object, which is no file of it.
            let is_marker = key.ends_with('/') && object.size == 0;
            if is_marker || !key.strip_prefix(prefix).is_some_and(leads_to) {
                continue;
            }
            if found.len() == MOST_OBJECTS {
                return Err(StoreError::TooMany(MOST_OBJECTS));
            }
            found.push((key, object.size));
        }
        found.sort();
        Ok(found)
    }
}

impl Backend for Bucket {
    fn get(&self, key: &str, range: Range<u64>, known: Option<&Version>) -> Result<Answer, StoreError> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(range)),
            if_match: known.and_then(Version::if_match).map(str::to_owned),
            ..GetOptions::default()
        };
        let path = key::path(key)?;
        let found = self.runtime.block_on(self.store.get_opts(&path, options)).map_err(|error| problem(&error))?;
        let version = Version {
            size: Some(found.meta.size),
            tag: found.meta.e_tag.clone(),
            written: Some(found.meta.last_modified.to_rfc3339()),
        };
        let body = Stream { stream: found.into_stream(), piece: Bytes::new(), runtime: Arc::clone(&self.runtime) };
        Ok(Answer { version, is_part: true, body: Box::new(body) })
    }
}

fn problem(error: &object_store::Error) -> StoreError {
    StoreError::within(error).unwrap_or_else(|| match error {
        object_store::Error::NotSupported { .. } => StoreError::Odd("no ranges".to_owned()),
        _ => StoreError::Odd("not as its interface says".to_owned()),
    })
}

/// A body as it comes.
struct Stream {
    stream: BoxStream<'static, object_store::Result<Bytes>>,
    piece: Bytes,
    runtime: Arc<Runtime>,
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.runtime.block_on(self.stream.next()) {
                None => return Ok(0),
                Some(piece) => self.piece = piece.map_err(|error| problem(&error))?,
            }
        }
        let count = buffer.len().min(self.piece.len());
        buffer[..count].copy_from_slice(&self.piece.split_to(count));
        Ok(count)
    }
}
