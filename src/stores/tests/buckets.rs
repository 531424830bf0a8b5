//! What is asked of S3 and Google, and what their answers mean.

use std::io::Read;

use super::files::{Answered, Asked, Server};
use super::{Environment, Outcome, opened};
use crate::source::{Elsewhere as _, SourceError};
use crate::stores::{Kind, percent};

const TAG: &str = "\"first\"";

/// An environment in which S3 and Google are `server`.
fn environment(server: &Server, more: &[(&str, &str)]) -> Environment {
    let address = format!("http://{}", server.host);
    let mut all = vec![("AWS_ENDPOINT_URL", &*address), ("GOOGLE_BASE_URL", &*address)];
    all.extend(more);
    Environment(all.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

const BEARER: &[(&str, &str)] = &[("GOOGLE_BEARER_TOKEN", "hush")];
const KEYS: &[(&str, &str)] = &[("AWS_ACCESS_KEY_ID", "me"), ("AWS_SECRET_ACCESS_KEY", "hush")];

/// What lies at `address`, by name, or what is wrong.
fn read(address: &str, environment: Environment) -> Outcome<Result<Vec<(String, String)>, String>> {
    let (names, stores) = opened(&[address], environment)?;
    let read = |name: String| {
        let mut text = String::new();
        stores.open(&name).map_err(|error| error.to_string())?.read_to_string(&mut text).map_err(|e| e.to_string())?;
        Ok((name, text))
    };
    Ok(stores
        .walk(&names[0])
        .map_err(|error| error.to_string())
        .and_then(|found| found.into_iter().map(read).collect()))
}

/// Folders as consoles keep them.
const MARKERS: [&str; 2] = ["run/", "run/node1/"];

/// A bucket in which every object but these holds its own path.
fn bucket(listed: &'static [&'static str]) -> impl Fn(usize, &Asked) -> Answered {
    move |_, asked| {
        if !asked.path.contains("list-type=2") {
            return Answered::of(asked, asked.path.as_bytes(), TAG);
        }
        let rows = listed.iter().map(|key| {
            let size = if MARKERS.contains(key) { 0 } else { 9 };
            format!("<Contents><Key>{key}</Key><Size>{size}</Size><LastModified>2026-11-24T10:00:00Z</LastModified><ETag>{TAG}</ETag></Contents>")
        });
        Answered::new(200, "", format!("<ListBucketResult>{}</ListBucketResult>", rows.collect::<String>()))
    }
}

#[test]
fn a_folder_is_all_that_a_walk_would_find() -> Outcome {
    let keys = &["run/node2/b.log", "run/a&amp;b?.log", "run/.git/config", "run/README.md", "run/node1/c.log"];
    for scheme in ["s3", "gs"] {
        let server = Server::start(bucket(keys))?;
        let read = read(&format!("{scheme}://logs/run/"), environment(&server, &[]))?;
        let names = ["run/a&b?.log", "run/node1/c.log", "run/node2/b.log"].map(|key| format!("{scheme}://logs/{key}"));
        assert_eq!(read.map(|read| read.into_iter().map(|(name, _)| name).collect()), Ok(names.to_vec()));
        assert!(server.asked()[0].path.contains("prefix=run%2F"), "{:?}", server.asked()[0]);
    }
    Ok(())
}

#[test]
fn a_marker_of_a_folder_is_no_file_and_no_neighbour_is_read_for_it() -> Outcome {
    let keys = &["run", "run/", "run/node1/", "run/node1/a.log", "run/node2/", "running.log"];
    for scheme in ["s3", "gs"] {
        let server = Server::start(bucket(keys))?;
        let read = read(&format!("{scheme}://logs/run/"), environment(&server, &[]))??;
        // One with bytes is an object like others.
        let expected = ["run/node1/a.log", "run/node2/"].map(|key| (format!("{scheme}://logs/{key}"), path_of(key)));
        assert_eq!(plainly(read), expected);
    }
    let server = Server::start(bucket(&["run/", "run/node1/"]))?;
    let (names, stores) = opened(&["s3://logs/run/"], environment(&server, &[]))?;
    assert!(matches!(stores.walk(&names[0]), Err(SourceError::EmptyFolder { .. })));
    Ok(())
}

#[test]
fn keys_are_read_as_they_are_named() -> Outcome {
    let keys = &["run//a.log", "run/a//b.log", "run/a/b.log", "run/c%2F.log", "run/d..log"];
    for scheme in ["s3", "gs"] {
        let server = Server::start(bucket(keys))?;
        let read = read(&format!("{scheme}://logs/run/"), environment(&server, &[]))??;
        assert_eq!(plainly(read), keys.map(|key| (format!("{scheme}://logs/{key}"), path_of(key))));
        let server = Server::start(bucket(keys))?;
        let address = format!("{scheme}://logs/run//");
        let read = self::read(&address, environment(&server, &[]))??;
        assert_eq!(plainly(read), [(format!("{address}a.log"), path_of("run//a.log"))]);
        assert!(server.asked()[0].path.contains("prefix=run%2F%2F&") || server.asked()[0].path.ends_with("%2F%2F"));
    }
    Ok(())
}

#[test]
fn a_key_that_cannot_be_asked_for_is_told_and_costs_no_other() -> Outcome {
    let server = Server::start(bucket(&["run/a&#10;b.log", "run/c.log", "run/d/../e.log"]))?;
    let (names, stores) = opened(&["s3://logs/run/"], environment(&server, &[]))?;
    let found = stores.walk(&names[0])?;
    assert_eq!(found, ["s3://logs/run/a\nb.log", "s3://logs/run/c.log"]);
    let error = stores.open(&found[0]).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("its key begins with `/`, or has control characters"), "{error}");
    assert!(stores.open(&found[1]).is_ok());
    let server = Server::start(bucket(&[]))?;
    for address in ["s3://logs//a.log", "s3://logs/a/../b.log", "gs://logs//", "s3://logs//a/"] {
        let error = read(address, environment(&server, &[]))?.err().unwrap_or_default();
        assert!(error.contains("copy it to another key"), "{address}: {error}");
    }
    assert!(server.asked().is_empty(), "{:?}", server.asked());
    Ok(())
}

/// The path of `key` in the bucket.
fn path_of(key: &str) -> String {
    format!("/logs/{key}")
}

/// Names and texts that are paths, as Google and S3 encode them in ways of their own.
fn plainly(read: Vec<(String, String)>) -> Vec<(String, String)> {
    let plain = |text: String| String::from_utf8_lossy(&percent::decoded(&text)).into_owned();
    read.into_iter().map(|(name, text)| (name, plain(text))).collect()
}

#[test]
fn sizes_of_a_folder_are_known_once_it_is_listed() -> Outcome {
    let server = Server::start(bucket(&["run/a.log", "run/b.log"]))?;
    let (names, stores) = opened(&["s3://logs/run/"], environment(&server, &[]))?;
    assert_eq!(stores.size(), None);
    let found = stores.walk(&names[0])?;
    assert_eq!(stores.size(), Some(18));
    assert!(found.iter().chain(&names).all(|name| stores.holds(name)));
    Ok(())
}

#[test]
fn a_folder_whose_name_another_address_took_is_listed() -> Outcome {
    let server = Server::start(bucket(&["日志/a.log"]))?;
    let (names, stores) = opened(&["s3://logs/日志/?x", "s3://logs/日志/"], environment(&server, &[]))?;
    assert_eq!(names[1], "s3://logs/日志/ (2)");
    assert_eq!(stores.walk(&names[1])?, ["s3://logs/日志/a.log"]);
    Ok(())
}

#[test]
fn an_empty_folder_is_told() -> Outcome {
    let server = Server::start(bucket(&[]))?;
    let (names, stores) = opened(&["s3://logs/run/"], environment(&server, &[]))?;
    assert!(matches!(stores.walk(&names[0]), Err(SourceError::EmptyFolder { path }) if path == "s3://logs/run/"));
    Ok(())
}

#[test]
fn requests_are_signed_where_there_are_credentials() -> Outcome {
    for (more, is_signed) in [(&[][..], false), (KEYS, true)] {
        let server = Server::start(bucket(&[]))?;
        let read = read("s3://logs/run 1/a+b%20c.log", environment(&server, more))?;
        assert!(read.is_ok(), "{read:?}");
        let asked = server.asked();
        assert_eq!(asked[0].path, "/logs/run%201/a%2Bb%2520c.log");
        let signed = asked[0].header("authorization").is_some_and(|header| header.starts_with("AWS4-HMAC-SHA256"));
        assert_eq!((signed, format!("{asked:?}").contains("hush")), (is_signed, false));
    }
    let server = Server::start(bucket(&[]))?;
    assert!(read("gs://logs/a.log", environment(&server, &[("GOOGLE_BEARER_TOKEN", "of-google")]))?.is_ok());
    assert_eq!(server.asked()[0].header("authorization"), Some("Bearer of-google"));
    Ok(())
}

#[test]
fn refusals_say_what_to_do() -> Outcome {
    let of = |code: &str| format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>hush</Message></Error>");
    for (address, more, status, code, words) in [
        ("s3://logs/a.log", KEYS, 404, "NoSuchKey", "there is nothing at this address"),
        ("s3://logs/a.log", KEYS, 404, "NoSuchBucket", "there is no such bucket"),
        ("s3://logs/run/", KEYS, 404, "NoSuchBucket", "there is no such bucket"),
        ("s3://logs/a.log", KEYS, 403, "SignatureDoesNotMatch", "access is denied (SignatureDoesNotMatch)"),
        ("s3://logs/a.log", &[], 403, "AccessDenied", "set AWS_ACCESS_KEY_ID"),
        ("gs://logs/a.log", &[], 401, "", "set GOOGLE_APPLICATION_CREDENTIALS"),
        ("s3://logs/a.log", KEYS, 301, "PermanentRedirect", "set AWS_REGION"),
        ("s3://logs/run/", KEYS, 503, "SlowDown", "status 503"),
        ("s3://logs/a.log", KEYS, 412, "PreconditionFailed", "it changed while it was read"),
        ("s3://logs/a.log", KEYS, 400, "ExpiredToken", "expired (ExpiredToken): get new ones, as `aws configure"),
        ("s3://logs/run/", KEYS, 400, "ExpiredToken", "expired (ExpiredToken): get new ones, as `aws configure"),
        ("s3://logs/a.log", KEYS, 400, "ExpiredTokenException", "expired (ExpiredTokenException)"),
        ("s3://logs/a.log", KEYS, 400, "InvalidToken", "the credentials of the environment expired (InvalidToken)"),
        ("s3://logs/a.log", KEYS, 403, "RequestTimeTooSkewed", "has expired by the clock of the store"),
        ("gs://logs/a.log", BEARER, 401, "InvalidToken", "new ones, as by `gcloud auth application-default login`"),
        ("s3://logs/a.log", KEYS, 400, "InvalidRequest", "refuses with status 400, InvalidRequest"),
    ] {
        let body = of(code);
        let server = Server::start(move |_, _| Answered::new(status, "", body.clone()))?;
        let error = read(address, environment(&server, more))?.err().unwrap_or_default();
        assert!(error.starts_with(&format!("cannot read {address}: ")), "{error}");
        assert!(error.contains(words) && !error.contains("hush"), "{error}");
        assert_eq!(error.contains("try again later"), status == 503, "{error}");
    }
    // As Google says it of a login that was taken back.
    let body = r#"{ "error": "invalid_grant", "error_description": "hush" }"#;
    let server = Server::start(move |_, _| Answered::new(400, "", body))?;
    let error = read("gs://logs/a.log", environment(&server, BEARER))?.err().unwrap_or_default();
    assert!(error.contains("expired (invalid_grant)") && !error.contains("hush"), "{error}");
    // As S3 says it of an address that was signed.
    let server = Server::start(move |_, _| Answered::new(400, "", of("ExpiredToken")))?;
    let error = read(&format!("http://{}/a.log?sig=hush", server.host), Environment::default())?.err();
    let error = error.unwrap_or_default();
    assert!(
        error.contains("the signature in the address expired (ExpiredToken)") && !error.contains("hush"),
        "{error}"
    );
    Ok(())
}

#[test]
fn only_parts_of_google_s_objects_may_come_packed() -> Outcome {
    for (scheme, part) in [("gs", "gzip"), ("s3", "identity")] {
        let server = Server::start(bucket(&["run/a.log"]))?;
        assert!(read(&format!("{scheme}://logs/run/"), environment(&server, &[]))?.is_ok());
        let encodings: Vec<_> =
            server.asked().iter().map(|asked| asked.header("accept-encoding").map(str::to_owned)).collect();
        assert_eq!(encodings, [Some("identity".to_owned()), Some(part.to_owned())]);
        // As tokens are asked for.
        let transport = environment(&server, &[]).transport(Kind::Google, false, true)?;
        let request = ureq::http::Request::post(format!("http://{}/token", server.host)).body(b"grant".to_vec())?;
        assert!(transport.send(request).is_ok());
        assert_eq!(server.asked()[2].header("accept-encoding"), Some("identity"));
    }
    Ok(())
}

#[test]
fn a_post_without_a_body_says_so() -> Outcome {
    let server = Server::start(|_, _| Answered::new(200, "", ""))?;
    let transport = environment(&server, &[]).transport(Kind::S3, false, true)?;
    let request = ureq::http::Request::post(format!("http://{}/?Action=x", server.host)).body(Vec::new())?;
    assert!(transport.send(request).is_ok());
    let asked = server.asked();
    assert_eq!((asked[0].header("content-length"), asked[0].header("transfer-encoding")), (Some("0"), None));
    Ok(())
}

#[test]
fn half_of_the_credentials_is_told_and_no_other_is_looked_for() -> Outcome {
    let (key, secret) = (KEYS[0], KEYS[1]);
    let identity = ("AWS_WEB_IDENTITY_TOKEN_FILE", "/no/such/file");
    let container = ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:9/");
    for (more, missing) in [
        (&[key][..], "AWS_SECRET_ACCESS_KEY"),
        (&[secret], "AWS_ACCESS_KEY_ID"),
        (&[("AWS_SESSION_TOKEN", "hush")], "AWS_ACCESS_KEY_ID"),
        (&[key, ("AWS_SESSION_TOKEN", "hush"), identity], "AWS_SECRET_ACCESS_KEY"),
        (&[identity], "AWS_ROLE_ARN"),
        (&[container], "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
    ] {
        let server = Server::start(bucket(&[]))?;
        let machine = ("AWS_METADATA_ENDPOINT", &*format!("http://{}", server.host));
        let error = read("s3://logs/a.log", environment(&server, &[more, &[machine]].concat()))?.err();
        let error = error.unwrap_or_default();
        assert!(error.contains(&format!("not whole: set {missing}, too")) && !error.contains("hush"), "{error}");
        assert!(server.asked().is_empty(), "{:?}", server.asked());
    }
    // A role alone is not meant for us.
    let server = Server::start(bucket(&[]))?;
    assert!(read("s3://logs/a.log", environment(&server, &[("AWS_ROLE_ARN", "arn:aws:iam::1:role/me")]))?.is_ok());
    Ok(())
}

#[test]
fn a_break_in_a_bucket_s_answer_is_resumed() -> Outcome {
    let server = Server::start(|count, asked| {
        let whole = Answered::of(asked, &[b'x'; 2500], TAG);
        if count == 0 { whole.cut(10) } else { whole }
    })?;
    let read = read("s3://logs/a.log", environment(&server, KEYS))?;
    assert_eq!(read.map(|read| read[0].1.len()), Ok(2500));
    let asked = server.asked();
    assert_eq!((asked[1].header("range"), asked[1].header("if-match")), (Some("bytes=10-999"), Some(TAG)));
    Ok(())
}

#[test]
fn an_empty_object_is_an_empty_input() -> Outcome {
    let server = Server::start(|_, asked| Answered::of(asked, b"", TAG))?;
    let read = read("s3://logs/a.log", environment(&server, KEYS))?;
    assert_eq!(read, Ok(vec![("s3://logs/a.log".to_owned(), String::new())]));
    Ok(())
}

#[test]
fn without_tls_only_where_the_endpoint_says_so() -> Outcome {
    let server = Server::start(bucket(&[]))?;
    let mut environment = environment(&server, KEYS);
    environment.0.insert("AWS_ENDPOINT_URL".to_owned(), format!("https://{}", server.host));
    environment.0.insert("AWS_ALLOW_HTTP".to_owned(), "true".to_owned());
    let error = read("s3://logs/a.log", environment)?.err().unwrap_or_default();
    assert!(error.contains("answers in no way that is known"), "{error}");
    assert!(server.asked().is_empty());
    Ok(())
}

#[test]
fn settings_that_make_no_sense_are_told() -> Outcome {
    let server = Server::start(bucket(&[]))?;
    let keys = [("GOOGLE_APPLICATION_CREDENTIALS", "/no/such/file.json")];
    let error = read("gs://logs/a.log", environment(&server, &keys))?.err().unwrap_or_default();
    assert!(error.contains("the settings in the environment cannot be used"), "{error}");
    // A key that was packed twice, as pipelines do it.
    let keys = [("GOOGLE_SERVICE_ACCOUNT_KEY", r#""{\"private_key\": \"hush\"}""#)];
    let error = read("gs://logs/a.log", environment(&server, &keys))?.err().unwrap_or_default();
    assert!(error.contains("cannot be used: a Google key is not as it should be"), "{error}");
    assert!(!error.contains("hush") && !error.contains("private_key"), "{error}");
    Ok(())
}
