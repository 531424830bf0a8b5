use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::{ClientOptions, ObjectStore, RetryConfig};

use super::bucket::Bucket;
use super::error::causes;
use super::transport::Transport;
use super::{Kind, StoreError};
use crate::triage::Proxies;

/// What says whose requests to S3 they are: the first of which something is set, and what all of it is.
const S3_CREDENTIALS: [(&[&str], &[&str]); 4] = [
    (
        &["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"],
        &["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
    ),
    (&["AWS_WEB_IDENTITY_TOKEN_FILE"], &["AWS_ROLE_ARN"]),
    (&["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"], &[]),
    (&["AWS_CONTAINER_CREDENTIALS_FULL_URI"], &["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"]),
];
/// One of these says whose requests to Google they are.
const GOOGLE_CREDENTIALS: [&str; 4] =
    ["GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_BEARER_TOKEN"];
/// Below the home folder: where `gcloud auth application-default login` leaves whose requests they are.
const GCLOUD: &str = ".config/gcloud/application_default_credentials.json";

/// The bucket `$name` by `$builder`: both take the same steps, and have no trait in common.
macro_rules! built {
    ($builder:ty, $key:ty, $variables:expr, $name:expr, $is_anonymous:expr, $options:expr, $transport:expr) => {{
        let known = $variables
            .iter()
            .filter_map(|(name, value)| Some((name.to_ascii_lowercase().parse::<$key>().ok()?, value)));
        let builder = known.fold(<$builder>::new(), |builder, (key, value)| builder.with_config(key, value));
        // Without credentials it would look for the machine's.
        let builder = if $is_anonymous { builder.with_skip_signature(true) } else { builder };
        let builder = builder.with_bucket_name($name).with_client_options($options).with_retry(once());
        let store = builder.with_http_connector($transport).build();
        Arc::new(store.map_err(|error| settings(&error))?) as Arc<dyn ObjectStore>
    }};
}

/// Variables that say where stores are and whose requests they get.
#[derive(Clone, Default)]
pub struct Environment(pub BTreeMap<String, String>);

impl Environment {
    /// Of this process.
    pub fn of_process() -> Environment {
        let texts =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let is_one = |name: &str| {
            let is_proxy = name.to_ascii_lowercase().ends_with("_proxy");
            is_proxy || name.starts_with("AWS_") || name.starts_with("GOOGLE_") || name == "HOME"
        };
        Environment(texts.filter(|(name, value)| is_one(name) && !value.is_empty()).collect())
    }

    /// What asks servers of one `kind`, over TLS alone unless they `may_be_open`.
    pub fn transport(&self, kind: Kind, is_anonymous: bool, may_be_open: bool) -> Result<Transport, StoreError> {
        let proxies = Proxies::read(|name| self.0.get(name).cloned());
        Transport::new(kind, proxies, is_anonymous, may_be_open)
    }

    /// The bucket `name`.
    pub fn bucket(&self, kind: Kind, name: &str) -> Result<Bucket, StoreError> {
        let is_anonymous = match kind {
            Kind::Google => self.is_anonymous_at_google(),
            Kind::S3 | Kind::Web => self.is_anonymous_at_s3()?,
        };
        let transport = self.transport(kind, is_anonymous, false)?;
        Bucket::new(match kind {
            Kind::Google => {
                let options = self.client_options(&["GOOGLE_BASE_URL"]);
                built!(GoogleCloudStorageBuilder, GoogleConfigKey, self.0, name, is_anonymous, options, transport)
            }
            Kind::S3 | Kind::Web => {
                let options = self.client_options(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]);
                built!(AmazonS3Builder, AmazonS3ConfigKey, self.0, name, is_anonymous, options, transport)
            }
        })
    }

    /// Without TLS only where the user's endpoint says so.
    fn client_options(&self, endpoints: &[&str]) -> ClientOptions {
        let endpoint = endpoints.iter().find_map(|name| self.0.get(*name));
        let is_open = endpoint.is_some_and(|endpoint| endpoint.to_ascii_lowercase().starts_with("http://"));
        ClientOptions::new().with_allow_http(is_open)
    }

    fn has_one_of(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.0.contains_key(*name))
    }

    /// Whether nothing says whose requests to S3 they are. What says it in part is an error, or the role of the machine would be asked for.
    fn is_anonymous_at_s3(&self) -> Result<bool, StoreError> {
        let Some((_, all)) = S3_CREDENTIALS.iter().find(|(some, _)| self.has_one_of(some)) else { return Ok(true) };
        let missing = all.iter().find(|name| !self.0.contains_key(**name));
        missing.map_or(Ok(false), |name| Err(StoreError::HalfSet(name)))
    }

    fn is_anonymous_at_google(&self) -> bool {
        let is_logged_in = self.0.get("HOME").is_some_and(|home| Path::new(home).join(GCLOUD).exists());
        !self.has_one_of(&GOOGLE_CREDENTIALS) && !is_logged_in
    }
}

/// What is asked again is decided where it is known what came already.
fn once() -> RetryConfig {
    RetryConfig { max_retries: 0, retry_timeout: Duration::ZERO, ..RetryConfig::default() }
}

/// What is wrong with the settings, less what they are: of a key that cannot be read its reader's words cite all.
fn settings(error: &object_store::Error) -> StoreError {
    if let Some(unread) = causes(error).find_map(|cause| cause.downcast_ref::<serde_json::Error>()) {
        let (line, column) = (unread.line(), unread.column());
        return StoreError::Settings(format!("a Google key is not as it should be at line {line}, column {column}"));
    }
    let words = match error {
        object_store::Error::Generic { source, .. } => source.to_string(),
        error => error.to_string(),
    };
    StoreError::within(error).unwrap_or(StoreError::Settings(words))
}
