//! Inputs that are addresses: `s3://bucket/key`, `gs://bucket/key`, `https://host/path`, and for buckets a folder, `s3://bucket/logs/`.
//!
//! In go the addresses of a command line, out come [`Input`]s. What lies there is read part by part, the next one while one is searched,
//! so that memory does not grow with it; every byte is of one version, whatever breaks in between. What may be secret in an address is
//! kept here: everybody else knows it by a name without. Nothing but what the command line names is ever asked for.

mod address;
mod backend;
mod bucket;
mod environment;
mod error;
mod key;
mod object;
mod percent;
mod reader;
mod transport;
mod web;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, io};

use crate::source::address::{is_address, told};
use crate::source::{Elsewhere, Input, Seekable, SourceError};
use address::Address;
use backend::Backend;
use bucket::Bucket;
pub use environment::Environment;
pub use error::StoreError;
pub use object::Patience;
use object::{Object, Opened, patiently};
use reader::Reader;
use web::Web;

/// What speaks at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// S3, whoever runs it.
    S3,
    /// Google Cloud Storage.
    Google,
    /// A server of files.
    Web,
}

/// The addresses of a command line, and what is known of what lies there.
pub struct Stores {
    environment: Environment,
    patience: Patience,
    known: Mutex<BTreeMap<String, Place>>,
    /// Each with its connections and credentials.
    buckets: Mutex<BTreeMap<(Kind, String), Arc<Bucket>>>,
}

/// Where one name leads.
#[derive(Clone)]
struct Place {
    address: Result<Address, StoreError>,
    /// Bytes of it; of a folder none.
    size: Option<u64>,
}

impl Stores {
    /// What opens those of `paths` that are addresses, and the paths as everybody else may know them; only for what people type.
    pub fn of_command_line(
        paths: Vec<String>,
        environment: Environment,
        patience: Patience,
    ) -> (Vec<String>, Option<Arc<Stores>>) {
        let mut known: BTreeMap<String, Place> = BTreeMap::new();
        let mut name = |text: String| {
            let (address, told) = (Address::of(&text), told(&text));
            // Two addresses may differ in what is not told of them.
            let others = (2..).map(|count| format!("{told} ({count})"));
            let is_free = |name: &String| known.get(name).is_none_or(|place| place.address == address);
            let name = std::iter::once(told.clone()).chain(others).find(is_free).unwrap_or_default();
            known.insert(name.clone(), Place { address, size: None });
            name
        };
        let names = paths.into_iter().map(|path| if is_address(&path) { name(path) } else { path }).collect();
        let (known, buckets) = (Mutex::new(known), Mutex::default());
        let is_needed = !lock(&known).is_empty();
        (names, is_needed.then(|| Arc::new(Stores { environment, patience, known, buckets })))
    }

    fn address(&self, name: &str) -> Result<Address, StoreError> {
        lock(&self.known).get(name).map_or(Err(StoreError::Address), |place| place.address.clone())
    }

    fn bucket(&self, kind: Kind, name: &str) -> Result<Arc<Bucket>, StoreError> {
        let mut buckets = lock(&self.buckets);
        if let Some(bucket) = buckets.get(&(kind, name.to_owned())) {
            return Ok(Arc::clone(bucket));
        }
        let bucket = Arc::new(self.environment.bucket(kind, name)?);
        buckets.insert((kind, name.to_owned()), Arc::clone(&bucket));
        Ok(bucket)
    }

    /// Who answers for what `name` leads to, and what it is called there.
    fn backend(&self, name: &str) -> Result<(Arc<dyn Backend>, String), StoreError> {
        match self.address(name)? {
            Address::Web { url, user, is_open } => {
                let transport = self.environment.transport(Kind::Web, true, is_open)?;
                Ok((Arc::new(Web::new(transport, user.as_deref())), url))
            }
            Address::Bucket { kind, bucket, key } => Ok((self.bucket(kind, &bucket)?, key)),
        }
    }

    /// The names of all that `name` leads to.
    fn list(&self, name: &str) -> Result<Vec<String>, StoreError> {
        let (kind, bucket, prefix) = match self.address(name)? {
            Address::Bucket { kind, bucket, key } if key.is_empty() || key.ends_with('/') => (kind, bucket, key),
            _ => return Ok(vec![name.to_owned()]),
        };
        let store = self.bucket(kind, &bucket)?;
        let found = patiently(self.patience, || store.list(&prefix))?;
        let (scheme, _) = name.split_once("://").ok_or(StoreError::Address)?;
        let mut known = lock(&self.known);
        known.entry(name.to_owned()).and_modify(|place| place.size = Some(0));
        let add = |(key, size)| {
            let name = format!("{scheme}://{bucket}/{key}");
            let address = Ok(Address::Bucket { kind, bucket: bucket.clone(), key });
            known.insert(name.clone(), Place { address, size: Some(size) });
            name
        };
        Ok(found.into_iter().map(add).collect())
    }

    fn input(&self, name: &str) -> io::Result<Input<'static>> {
        let (backend, key) = self.backend(name)?;
        let (input, size) = match Object::open(backend, &key, self.patience)? {
            Opened::AsAWhole(bytes, size) => (Input::of_elsewhere(name, bytes, size, None)?, size),
            Opened::InParts(object, first) => {
                let object = Arc::new(object);
                let (again, size) = (Arc::clone(&object), Some(object.size));
                let reopen = move || Ok(Box::new(Reader::new(Arc::clone(&again), Vec::new())) as Box<dyn Seekable>);
                (Input::of_elsewhere(name, Reader::new(object, first), size, Some(Box::new(reopen)))?, size)
            }
        };
        lock(&self.known).entry(name.to_owned()).and_modify(|place| place.size = size);
        Ok(input)
    }
}

/// Its names alone: whoever prints options must not print secrets.
impl fmt::Debug for Stores {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(lock(&self.known).keys()).finish()
    }
}

impl Elsewhere for Stores {
    fn holds(&self, path: &str) -> bool {
        lock(&self.known).contains_key(path)
    }

    fn walk(&self, path: &str) -> Result<Vec<String>, SourceError> {
        match self.list(path) {
            Ok(found) if found.is_empty() => Err(SourceError::EmptyFolder { path: path.to_owned() }),
            found => found.map_err(|error| unreadable(path, error.into())),
        }
    }

    fn open(&self, path: &str) -> Result<Input<'static>, SourceError> {
        self.input(path).map_err(|error| unreadable(path, error))
    }

    fn size(&self) -> Option<u64> {
        lock(&self.known).values().map(|place| place.size).sum()
    }
}

fn unreadable(path: &str, error: io::Error) -> SourceError {
    SourceError::Unreadable { path: path.to_owned(), error }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
