//! Servers whose certificate is signed by an authority that only the user trusts.

use std::error::Error;
use std::fs;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use oomdoc::Language;
use oomdoc::Options;
use oomdoc::internal::source::Input;
use oomdoc::internal::triage::{self, Environment, HttpError, Patience};
use oomdoc::model::Report;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};

use crate::support::requests::{self, Request};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const HASTE: Patience = Patience {
    attempts: 2,
    first_wait: Duration::from_millis(1),
    longest_wait: Duration::from_millis(10),
    in_all: Duration::from_secs(60),
};
const OOM: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.00 GiB is free.\n";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tls").join(name)
}

/// A TLS server that refuses every request. Returns its address, and the requests it got.
fn server() -> Outcome<(String, Receiver<String>)> {
    let chain = vec![CertificateDer::from_pem_file(fixture("server.pem"))?];
    let key = PrivateKeyDer::from_pem_file(fixture("server.key"))?;
    let config = Arc::new(ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?);
    let (say, asked) = channel();
    let host = requests::listen(move |mut stream| {
        let Ok(mut connection) = ServerConnection::new(Arc::clone(&config)) else { return };
        let mut secure = Stream::new(&mut connection, &mut stream);
        let Ok(Some(Request { method, path, .. })) = Request::read(&mut BufReader::new(&mut secure)) else { return };
        let _ = say.send(format!("{method} {path}"));
        let _ =
            requests::begin(&mut secure, 403, "connection: close\r\n", b"{}").and_then(|()| secure.write_all(b"{}"));
        connection.send_close_notify();
        let _ = connection.complete_io(&mut stream);
    })?;
    let port = host.rsplit(':').next().unwrap_or_default();
    Ok((format!("https://localhost:{port}"), asked))
}

fn report() -> Outcome<Report> {
    Ok(oomdoc::internal::analyze_inputs(vec![Input::new("job.log", OOM.as_bytes())?], Vec::new(), &Options::default())?)
}

#[test]
fn a_message_goes_to_a_server_of_ones_own() -> Outcome {
    let (address, asked) = server()?;
    let url = format!("{address}/hook");
    let untrusted = triage::notify(&url, &report()?, Language::En, None, HASTE);
    assert!(matches!(untrusted, Err(HttpError::Unavailable(_))), "{untrusted:?}");
    assert!(asked.try_recv().is_err(), "nothing is said to somebody unknown");
    let send = |authorities: &Path| {
        let mut command = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
        command.env("SSL_CERT_FILE", authorities).args(["analyze", "--no-save", "--notify", &url, "-"]);
        command.write_stdin(OOM).output()
    };
    let said = String::from_utf8(send(&fixture("authority.pem"))?.stderr)?;
    assert!(said.contains("status 403"), "it was asked, and refused: {said}");
    assert!(asked.try_recv()?.starts_with("POST /hook"));
    let folder = tempfile::tempdir()?;
    let empty = folder.path().join("empty.pem");
    for (file, problem) in [(empty.clone(), "holds none"), (folder.path().join("missing.pem"), "missing.pem")] {
        fs::write(&empty, "no certificate\n")?;
        let done = send(&file)?;
        let said = String::from_utf8(done.stderr)?;
        assert!(done.status.success() && said.contains(problem) && said.contains("SSL_CERT_FILE"), "{said}");
    }
    Ok(())
}

#[test]
fn what_a_runner_trusts_its_gitlab_by_is_used() -> Outcome {
    let (address, asked) = server()?;
    let authority = fixture("authority.pem").display().to_string();
    let environment = |trusted: bool| {
        let (address, authority) = (address.clone(), authority.clone());
        Environment::read(move |name| match name {
            "GITLAB_CI" => Some("true".to_owned()),
            "CI_API_V4_URL" => Some(address.clone()),
            "CI_PROJECT_ID" | "CI_MERGE_REQUEST_IID" => Some("7".to_owned()),
            "GITLAB_TOKEN" => Some("token".to_owned()),
            "CI_SERVER_TLS_CA_FILE" if trusted => Some(authority.clone()),
            _ => None,
        })
    };
    let comment = |environment: &Environment| -> Outcome<HttpError> {
        let forge = environment.forge(HASTE).map_err(|missing| format!("{missing:?}"))?;
        triage::comment(&*forge, &[report()?], Language::En, environment).err().ok_or_else(|| "it was taken".into())
    };
    assert!(matches!(comment(&environment(false))?, HttpError::Unavailable(_)));
    assert_eq!(comment(&environment(true))?, HttpError::NotAllowed(403));
    assert!(asked.try_recv()?.starts_with("GET /user"));
    Ok(())
}

#[test]
fn a_log_is_read_from_a_server_of_ones_own() -> Outcome {
    let (address, asked) = server()?;
    let url = format!("{address}/job.log");
    let read = |authorities: Option<PathBuf>| -> Outcome<String> {
        let mut command = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
        command.env_remove("SSL_CERT_FILE").envs(authorities.map(|file| ("SSL_CERT_FILE", file)));
        Ok(String::from_utf8(command.args(["analyze", "--no-save", &url]).output()?.stderr)?)
    };
    let said = read(None)?;
    assert!(said.contains("its server is not trusted") && said.contains("SSL_CERT_FILE"), "{said}");
    assert!(asked.try_recv().is_err(), "nothing is said to somebody unknown");
    let said = read(Some(fixture("authority.pem")))?;
    assert!(said.contains("access is denied with status 403"), "it was asked, and refused: {said}");
    assert!(asked.try_recv()?.starts_with("GET /job.log"));
    Ok(())
}
