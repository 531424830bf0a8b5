use std::error::Error as StdError;
use std::io;

use thiserror::Error;
use ureq::http::Response;
use ureq::{Body, http};

use super::Kind;

/// Why something at an address was not read, and what to do about it. Nothing of the address stands in it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StoreError {
    /// The address names no object.
    #[error("this is no address of an object: name it as `s3://bucket/key`, without a query")]
    Address,
    /// Nobody can ask for what is called so.
    #[error("its key begins with `/`, or has control characters or a folder `.` or `..` in it: copy it to another key")]
    Key,
    /// What the environment says of stores cannot be used.
    #[error("the settings in the environment cannot be used: {0}")]
    Settings(String),
    /// The environment has a part of the credentials, without this one.
    #[error("the credentials in the environment are not whole: set {0}, too")]
    HalfSet(&'static str),
    /// There is no object.
    #[error("there is nothing at this address: check it; a folder of a bucket ends in `/`")]
    Nothing,
    /// There is no bucket.
    #[error("there is no such bucket: check its name, and AWS_ENDPOINT_URL where it does not lie at Amazon")]
    NoBucket,
    /// More objects than anybody reads.
    #[error("more than {0} objects lie there: name a part of them")]
    TooMany(usize),
    /// S3 refused a request without a signature.
    #[error("it is not public: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")]
    NotPublicS3,
    /// Google refused a request without a token.
    #[error("it is not public: set GOOGLE_APPLICATION_CREDENTIALS")]
    NotPublicGoogle,
    /// A server refused.
    #[error("access is denied with status {0}: check the address, and the signature or the password in it")]
    DeniedByServer(u16),
    /// A bucket refused credentials.
    #[error("access is denied ({0}): the credentials of the environment may not read it, or it is not there")]
    Denied(String),
    /// The credentials for S3 were good once.
    #[error(
        "the credentials of the environment expired ({0}): get new ones, as `aws configure export-credentials --format env` prints them"
    )]
    ExpiredS3(String),
    /// The credentials for Google were good once.
    #[error(
        "the credentials of the environment expired ({0}): get new ones, as by `gcloud auth application-default login`"
    )]
    ExpiredGoogle(String),
    /// What an address was signed with was good once.
    #[error("the signature in the address expired ({0}): have it signed again")]
    ExpiredAddress(String),
    /// By this machine's clock signatures are of another time.
    #[error("what was signed has expired by the clock of the store ({0}): set the clock of this machine")]
    Clock(String),
    /// The bucket lies in another region.
    #[error("the bucket is in another region: set AWS_REGION")]
    Region,
    /// Another object took its place.
    #[error("it changed while it was read: read it again, or a copy that nobody changes")]
    Changed,
    /// Nothing is as far behind as was asked for.
    #[error("it is shorter than that")]
    Behind,
    /// The server is busy, or failed.
    #[error("the server answers with status {0}: try again later")]
    Status(u16),
    /// The server refuses for good.
    #[error("the server refuses with status {0}: check the address, and what the environment says of stores")]
    Refused(String),
    /// It comes in a form that nothing here unpacks.
    #[error("it is sent encoded ({0}), which cannot be unpacked here: store it as it is, or as gzip")]
    Encoded(String),
    /// The host has no address.
    #[error("its host is not known: check the name and the network")]
    Host,
    /// Nobody listens, or the network is down.
    #[error("its server cannot be reached: {0}")]
    Unreachable(String),
    /// Nobody vouches for the server.
    #[error("its server is not trusted ({0}): name a file of certificates (PEM) with SSL_CERT_FILE")]
    Trust(String),
    /// A server that should be asked over TLS leads to one that cannot.
    #[error("its server leads to one without TLS: name that one")]
    WithoutTls,
    /// Nothing came for long.
    #[error("its server does not answer: try again later")]
    Silent,
    /// It ended early, again and again.
    #[error("the connection broke again and again: try again later")]
    Broken,
    /// It ended early, and cannot be resumed.
    #[error("the connection broke, and the server cannot go on where it did: fetch the file first")]
    BrokenForGood,
    /// An answer that is none.
    #[error("its server answers in no way that is known: {0}")]
    Odd(String),
}

/// As much of a refusal is looked at.
const LONGEST_REFUSAL: u64 = 64 << 10;

impl StoreError {
    /// Whether the same request may be answered a moment later.
    pub fn is_passing(&self) -> bool {
        matches!(self, StoreError::Unreachable(_) | StoreError::Silent | StoreError::Broken | StoreError::Status(_))
    }

    /// What an answer without what was asked for means, from a store of this `kind` that was asked without credentials or with.
    pub fn of_answer(mut response: Response<Body>, kind: Kind, is_anonymous: bool) -> StoreError {
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(LONGEST_REFUSAL).read_to_string().unwrap_or_default();
        let code = code(&body);
        let said = || code.clone().unwrap_or_else(|| status.to_string());
        match (status, kind) {
            (400..=499, _) if code.as_deref() == Some(CLOCK) => StoreError::Clock(said()),
            (400..=499, _) if code.as_deref().is_some_and(|code| EXPIRED.contains(&code)) => match kind {
                Kind::S3 => StoreError::ExpiredS3(said()),
                Kind::Google => StoreError::ExpiredGoogle(said()),
                Kind::Web => StoreError::ExpiredAddress(said()),
            },
            (404, _) if code.as_deref() == Some("NoSuchBucket") => StoreError::NoBucket,
            (404 | 410, _) => StoreError::Nothing,
            (401 | 403, Kind::S3) if is_anonymous => StoreError::NotPublicS3,
            (401 | 403, Kind::Google) if is_anonymous => StoreError::NotPublicGoogle,
            (401 | 403, Kind::Web) => StoreError::DeniedByServer(status),
            (401 | 403, _) => StoreError::Denied(said()),
            (412, _) => StoreError::Changed,
            (416, _) => StoreError::Behind,
            (301 | 307 | 400, Kind::S3) if response.headers().contains_key("x-amz-bucket-region") => StoreError::Region,
            (301, Kind::S3) => StoreError::Region,
            (408 | 429 | 500..=599, _) => StoreError::Status(status),
            _ => StoreError::Refused(code.map_or_else(|| status.to_string(), |code| format!("{status}, {code}"))),
        }
    }

    /// Why there was no answer, or why it ended early.
    pub fn of_transport(error: ureq::Error) -> StoreError {
        match error {
            ureq::Error::Timeout(_) => StoreError::Silent,
            ureq::Error::HostNotFound => StoreError::Host,
            ureq::Error::ConnectionFailed => StoreError::Unreachable("no connection".to_owned()),
            ureq::Error::Tls(problem) => StoreError::Trust(problem.to_owned()),
            ureq::Error::Rustls(problem) => StoreError::Trust(problem.to_string()),
            ureq::Error::RequireHttpsOnly(_) => StoreError::WithoutTls,
            ureq::Error::TooManyRedirects | ureq::Error::RedirectFailed => {
                StoreError::Odd("redirects without end".to_owned())
            }
            ureq::Error::Io(error) => of_io(&error),
            // Others may cite the address.
            _ => StoreError::Odd("no HTTP".to_owned()),
        }
    }

    /// What went wrong below `error`, where it was one of these.
    pub fn within(error: &(dyn StdError + 'static)) -> Option<StoreError> {
        causes(error).find_map(|cause| cause.downcast_ref().cloned())
    }
}

/// An error, and what is below it.
pub fn causes<'e>(error: &'e (dyn StdError + 'static)) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

fn of_io(error: &io::Error) -> StoreError {
    let words = error.to_string();
    match error.kind() {
        // What rustls does not take.
        io::ErrorKind::InvalidData if words.contains("certificate") => StoreError::Trust(words),
        io::ErrorKind::InvalidData => StoreError::Odd(words),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => StoreError::Silent,
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => StoreError::Broken,
        // The standard library has no kind for it.
        _ if words.starts_with(UNKNOWN_HOST) => StoreError::Host,
        _ => StoreError::Unreachable(words),
    }
}

/// What the standard library says of a name without an address.
const UNKNOWN_HOST: &str = "failed to lookup address";

/// What stores and who hands out their tokens call credentials that were good once.
const EXPIRED: [&str; 5] =
    ["ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired", "invalid_grant"];
/// What stores call a signature of another time.
const CLOCK: &str = "RequestTimeTooSkewed";

/// The name of an error: what stands in `<Code>` of a document in XML, or says so in one in JSON.
fn code(body: &str) -> Option<String> {
    let of_xml = || Some(body.split_once("<Code>")?.1.split_once("</Code>")?.0.to_owned());
    let of_json = || {
        let document: serde_json::Value = serde_json::from_str(body).ok()?;
        ["error", "code", "Code"].iter().find_map(|name| document.get(name)?.as_str().map(str::to_owned))
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    of_xml().or_else(of_json).filter(|code| code.len() < 64 && code.bytes().all(is_name))
}

impl From<http::Error> for StoreError {
    fn from(_: http::Error) -> StoreError {
        StoreError::Address
    }
}

impl From<StoreError> for io::Error {
    fn from(error: StoreError) -> io::Error {
        io::Error::other(error)
    }
}
