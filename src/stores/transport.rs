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
use ureq::http::{Request, Response};
use ureq::tls::TlsConfig;
use ureq::{Agent, Body, BodyReader};

use super::{Kind, StoreError};
use crate::triage::trusted_roots;

/// Until there is a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// A server that sends nothing for so long is gone.
const SILENCE: Duration = Duration::from_secs(30);
/// A file lies one or two redirects away; a bucket none, for signatures are of one host.
const REDIRECTS: u32 = 5;
/// Bytes of a body that are handed on at once.
const PIECE: usize = 64 << 10;

/// Asks servers of one kind.
#[derive(Debug, Clone)]
pub struct Transport {
    agent: Agent,
    kind: Kind,
    is_anonymous: bool,
}

impl Transport {
    /// Asks over TLS alone, unless `may_be_open`.
    pub fn new(kind: Kind, is_anonymous: bool, may_be_open: bool) -> Result<Transport, StoreError> {
        let roots = trusted_roots().map_err(|error| StoreError::Settings(error.to_string()))?;
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(if kind == Kind::Web { REDIRECTS } else { 0 })
            .https_only(!may_be_open)
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .user_agent(concat!("oomdoc/", env!("CARGO_PKG_VERSION")))
            // What is kept compressed comes as it is; what is not is not compressed for us, or ranges would be of something else.
            .accept_encoding(if kind == Kind::Google { "gzip" } else { "identity" })
            .timeout_connect(Some(CONNECT))
            .timeout_recv_response(Some(SILENCE))
            .timeout_per_read(Some(SILENCE))
            .build()
            .into();
        Ok(Transport { agent, kind, is_anonymous })
    }

    /// The answer to `request`; one without what was asked for is an error.
    pub fn send(&self, request: Request<Vec<u8>>) -> Result<Response<Body>, StoreError> {
        let response = match request.body().is_empty() {
            true => self.agent.run(request.map(drop)),
            false => self.agent.run(request),
        };
        let response = response.map_err(StoreError::of_transport)?;
        match response.status().is_success() {
            true => Ok(response),
            false => Err(StoreError::of_answer(response, self.kind, self.is_anonymous)),
        }
    }
}

/// Blocks: whoever waits for a store has nothing else to do, and a thread of their own.
#[async_trait]
impl HttpService for Transport {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let request = request.map(|body| body.as_bytes().map(|bytes| bytes.to_vec()).unwrap_or_default());
        let response = self.send(request).map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        Ok(response.map(|body| HttpResponseBody::new(Pieces(Mutex::new(body.into_reader())))))
    }
}

impl HttpConnector for Transport {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        // A machine tells those on it of their credentials without TLS.
        let may_be_open = options.get_config_value(&ClientConfigKey::AllowHttp).as_deref() == Some("true");
        let transport = Transport::new(self.kind, self.is_anonymous, may_be_open)
            .map_err(|error| object_store::Error::NotSupported { source: Box::new(error) })?;
        Ok(HttpClient::new(transport))
    }
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
            Err(error) => {
                let error = StoreError::of_transport(error.into());
                Some(Err(HttpError::new(HttpErrorKind::Unknown, error)))
            }
        })
    }
}
