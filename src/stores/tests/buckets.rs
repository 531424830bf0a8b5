//! What is asked of S3 and Google, and what their answers mean.

use std::io::Read;

use super::files::{Answered, Asked, Server};
use super::{Environment, Outcome, opened};
use crate::source::{Elsewhere as _, SourceError};

const TAG: &str = "\"first\"";

/// An environment in which S3 and Google are `server`.
fn environment(server: &Server, more: &[(&str, &str)]) -> Environment {
    let address = format!("http://{}", server.host);
    let mut all = vec![("AWS_ENDPOINT_URL", &*address), ("GOOGLE_BASE_URL", &*address)];
    all.extend(more);
    Environment(all.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

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

/// A bucket in which every object holds its own path.
fn bucket(listed: &'static [&'static str]) -> impl Fn(usize, &Asked) -> Answered {
    move |_, asked| {
        if !asked.path.contains("list-type=2") {
            return Answered::of(asked, asked.path.as_bytes(), TAG);
        }
        let rows = listed.iter().map(|key| {
            format!("<Contents><Key>{key}</Key><Size>9</Size><LastModified>2026-11-24T10:00:00Z</LastModified><ETag>{TAG}</ETag></Contents>")
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
    ] {
        let body = of(code);
        let server = Server::start(move |_, _| Answered::new(status, "", body.clone()))?;
        let error = read(address, environment(&server, more))?.err().unwrap_or_default();
        assert!(error.starts_with(&format!("cannot read {address}: ")), "{error}");
        assert!(error.contains(words) && !error.contains("hush"), "{error}");
    }
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
    let error =
        read("s3://logs/a.log", environment(&server, &[("AWS_ACCESS_KEY_ID", "me")]))?.err().unwrap_or_default();
    assert!(error.contains("the settings in the environment cannot be used"), "{error}");
    Ok(())
}
