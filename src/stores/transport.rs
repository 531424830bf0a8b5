//! HTTP with ureq, for the stores' own protocols as for plain servers: one TLS, one set of authorities in the whole program.

use std::io::Read as _;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use hyper::body::{Body as HttpBody, Bytes, Frame};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions};
use ureq::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, RANGE};
use ureq::http::{HeaderMap, HeaderValue, Method, Request, Response, Uri};
use ureq::tls::TlsConfig;
use ureq::{Agent, Body, BodyReader};

use super::{Kind, StoreError, key};
use crate::triage::{Proxies, trusted_roots};

/// Until there is a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// A server that sends nothing for so long is gone.
const SILENCE: Duration = Duration::from_secs(30);
/// A page of a listing, of a thousand keys, is shorter.
const LONGEST_PAGE: u64 = 64 << 20;
/// Bytes of a body that are handed on at once.
const PIECE: usize = 64 << 10;

/// Asks servers of one kind.
#[derive(Debug, Clone)]
pub struct Transport {
    agent: Agent,
    proxies: Proxies,
    kind: Kind,
    is_anonymous: bool,
}

impl Transport {
    /// Asks over TLS alone, unless `may_be_open`.
    pub fn new(kind: Kind, proxies: Proxies, is_anonymous: bool, may_be_open: bool) -> Result<Transport, StoreError> {
        let roots = trusted_roots().map_err(|error| StoreError::Settings(error.to_string()))?;
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            // Signatures and passwords are of one host.
            .max_redirects(0)
            // Each request has its own.
            .proxy(None)
            .https_only(!may_be_open)
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .user_agent(concat!("oomdoc/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(CONNECT))
            .timeout_recv_response(Some(SILENCE))
            .timeout_per_read(Some(SILENCE))
            .build()
            .into();
        Ok(Transport { agent, proxies, kind, is_anonymous })
    }

    /// The answer to `request`; one without what was asked for is an error.
    pub fn send(&self, request: Request<Vec<u8>>) -> Result<Response<Body>, StoreError> {
        self.judge(self.ask(request)?)
    }

    /// The answer to `request`, whatever it says.
    pub fn ask(&self, mut request: Request<Vec<u8>>) -> Result<Response<Body>, StoreError> {
        let proxy = self.proxies.of(request.uri()).map_err(|error| StoreError::Settings(error.to_string()))?;
        // A range of what Google keeps compressed is one of what lies there only for whoever takes that. Nothing else would be unpacked.
        let takes_packed = self.kind == Kind::Google && request.headers().contains_key(RANGE);
        let encoding = HeaderValue::from_static(if takes_packed { "gzip" } else { "identity" });
        request.headers_mut().insert(ACCEPT_ENCODING, encoding);
        let is_part = request.headers().contains_key(RANGE);
        let response = match *request.method() {
            // An empty body has its length said, too: of no body ureq would send the end of its pieces.
            Method::POST => self.agent.run(self.agent.configure_request(request).proxy(proxy).build()),
            _ => self.agent.run(self.agent.configure_request(request.map(drop)).proxy(proxy).build()),
        };
        let response = response.map_err(StoreError::of_transport)?;
        if response.status().is_success() {
            check_encoding(response.headers(), is_part)?;
        }
        Ok(response)
    }

    /// `response` where it has what was asked for.
    pub fn judge(&self, response: Response<Body>) -> Result<Response<Body>, StoreError> {
        match response.status().is_success() {
            true => Ok(response),
            false => Err(StoreError::of_answer(response, self.kind, self.is_anonymous)),
        }
    }
}

/// Parts of a file may be packed by what inputs are unpacked by; whatever else is encoded nobody could read.
fn check_encoding(headers: &HeaderMap, is_part: bool) -> Result<(), StoreError> {
    let values = headers.get_all(CONTENT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    // How an object was once sent, which some stores keep: its bytes are plain.
    let is_plain = |encoding: &str| matches!(encoding, "" | "identity" | "aws-chunked");
    let is_packed = |encoding: &str| is_part && matches!(encoding, "gzip" | "x-gzip" | "zstd");
    let mut encodings = values.flat_map(|value| value.split(',')).map(|encoding| encoding.trim().to_ascii_lowercase());
    match encodings.find(|encoding| !is_plain(encoding) && !is_packed(encoding)) {
        // A name, not whatever a server may say.
        Some(other) if other.len() < 20 && other.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') => {
            Err(StoreError::Encoded(other))
        }
        Some(_) => Err(StoreError::Odd("an encoding without a name".to_owned())),
        None => Ok(()),
    }
}

/// Whether what is asked for is a page of a listing.
fn is_page(uri: &Uri) -> bool {
    uri.query().is_some_and(|query| query.split('&').any(|pair| pair == "list-type=2"))
}

/// Blocks: whoever waits for a store has nothing else to do, and a thread of their own.
#[async_trait]
impl HttpService for Transport {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let request = request.map(|body| body.as_bytes().map(|bytes| bytes.to_vec()).unwrap_or_default());
        let is_page = is_page(request.uri());
        let response = self.send(request).map_err(unknown)?;
        if !is_page {
            return Ok(response.map(|body| HttpResponseBody::new(Pieces(Mutex::new(body.into_reader())))));
        }
        let (parts, mut body) = response.into_parts();
        let page = body.with_config().limit(LONGEST_PAGE).read_to_string();
        let page = page.map_err(|error| unknown(StoreError::of_transport(error)))?;
        Ok(Response::from_parts(parts, key::veiled(&page).into()))
    }
}

impl HttpConnector for Transport {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        // A machine tells those on it of their credentials without TLS.
        let may_be_open = options.get_config_value(&ClientConfigKey::AllowHttp).as_deref() == Some("true");
        let transport = Transport::new(self.kind, self.proxies.clone(), self.is_anonymous, may_be_open)
            .map_err(|error| object_store::Error::NotSupported { source: Box::new(error) })?;
        Ok(HttpClient::new(transport))
    }
}

/// An error that `object_store` hands on, and does not judge.
fn unknown(error: StoreError) -> HttpError {
    HttpError::new(HttpErrorKind::Unknown, error)
}

/// A body as it comes.
struct Pieces(Mutex<BodyReader<'static>>);

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let reader = self.0.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut piece = vec![0; PIECE];
        Poll::Ready(match reader.read(&mut piece) {
            Ok(0) => None,
            Ok(read) => {
                piece.truncate(read);
                Some(Ok(Frame::data(piece.into())))
            }
            Err(error) => Some(Err(unknown(StoreError::of_transport(error.into())))),
        })
    }
}
