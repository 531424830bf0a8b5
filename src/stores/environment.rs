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

/// One of these says whose requests to S3 they are.
const S3_CREDENTIALS: [&str; 4] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];
/// One of these says whose requests to Google they are.
const GOOGLE_CREDENTIALS: [&str; 4] =
    ["GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_BEARER_TOKEN"];
/// Below the home folder: where `gcloud auth application-default login` leaves whose requests they are.
const GCLOUD: &str = ".config/gcloud/application_default_credentials.json";

/// Variables that say where stores are and whose requests they get.
#[derive(Clone, Default)]
pub struct Environment(pub BTreeMap<String, String>);

impl Environment {
    /// Of this process.
    pub fn of_process() -> Environment {
        let texts =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let is_one = |name: &str| ["AWS_", "GOOGLE_"].iter().any(|begin| name.starts_with(begin)) || name == "HOME";
        Environment(texts.filter(|(name, value)| is_one(name) && !value.is_empty()).collect())
    }

    /// The bucket `name`.
    pub fn bucket(&self, kind: Kind, name: &str) -> Result<Bucket, StoreError> {
        let is_anonymous = match kind {
            Kind::Google => self.is_anonymous_at_google(),
            Kind::S3 | Kind::Web => !self.has_one_of(&S3_CREDENTIALS),
        };
        let transport = Transport::new(kind, is_anonymous, false)?;
        Bucket::new(match kind {
            Kind::Google => self.google(name, is_anonymous, transport)?,
            Kind::S3 | Kind::Web => self.s3(name, is_anonymous, transport)?,
        })
    }

    fn s3(&self, bucket: &str, is_anonymous: bool, transport: Transport) -> Result<Arc<dyn ObjectStore>, StoreError> {
        let mut builder = AmazonS3Builder::new();
        for (name, value) in &self.0 {
            if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
                builder = builder.with_config(key, value);
            }
        }
        if is_anonymous {
            builder = builder.with_skip_signature(true);
        }
        let endpoints = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];
        let store = builder
            .with_bucket_name(bucket)
            .with_client_options(self.client_options(&endpoints))
            .with_retry(once())
            .with_http_connector(transport)
            .build();
        Ok(Arc::new(store.map_err(|error| settings(&error))?))
    }

    fn google(
        &self,
        bucket: &str,
        is_anonymous: bool,
        transport: Transport,
    ) -> Result<Arc<dyn ObjectStore>, StoreError> {
        let mut builder = GoogleCloudStorageBuilder::new();
        for (name, value) in &self.0 {
            if let Ok(key) = name.to_ascii_lowercase().parse::<GoogleConfigKey>() {
                builder = builder.with_config(key, value);
            }
        }
        if is_anonymous {
            builder = builder.with_skip_signature(true);
        }
        let store = builder
            .with_bucket_name(bucket)
            .with_client_options(self.client_options(&["GOOGLE_BASE_URL"]))
            .with_retry(once())
            .with_http_connector(transport)
            .build();
        Ok(Arc::new(store.map_err(|error| settings(&error))?))
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
