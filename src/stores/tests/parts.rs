//! What is read of an object, whatever happens to its connections.

use std::io::{Cursor, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use super::files::{Answered, Server, range};
use super::{Environment, HASTE, Outcome, WINDOW, content, open, opened, read};
use crate::source::Elsewhere as _;
use crate::stores::object::{Object, Opened};
use crate::stores::reader::Reader;

const TAG: &str = "\"first\"";

#[test]
fn every_byte_comes_in_order_in_parts() -> Outcome {
    for size in [0, 1, WINDOW - 1, WINDOW, WINDOW + 1, 5 * WINDOW + 3] {
        let content = content(size);
        let served = content.clone();
        let server = Server::start(move |_, asked| Answered::of(asked, &served, TAG))?;
        assert!(read(&format!("http://{}/a.log", server.host))? == content, "{size}");
        let asked = server.asked();
        assert_eq!(asked.len() as u64, size.div_ceil(WINDOW).max(1));
        assert_eq!(asked[0].header("range"), Some("bytes=0-999"));
        assert!(asked[1..].iter().all(|asked| asked.header("if-match") == Some(TAG)));
    }
    Ok(())
}

#[test]
fn no_more_is_asked_for_than_the_part_behind_the_one_at_hand() -> Outcome {
    const SIZE: u64 = 400 * WINDOW;
    let served = content(SIZE);
    let server = Server::start(move |_, asked| Answered::of(asked, &served, TAG))?;
    let mut input = open(&format!("http://{}/a.log", server.host))?;
    let mut piece = [0; 100];
    let mut read = 0;
    loop {
        let count = input.read(&mut piece)? as u64;
        if count == 0 {
            break;
        }
        read += count;
        let ahead = server.asked().iter().filter_map(|asked| range(asked, SIZE)).map(|range| range.end).max();
        // An input's head, 64 KiB, is read when it is opened.
        assert!(ahead.is_some_and(|ahead| ahead <= read.max(64 << 10) + 2 * WINDOW), "{ahead:?} at {read}");
    }
    assert_eq!(read, SIZE);
    Ok(())
}

#[test]
fn a_connection_that_breaks_is_resumed_where_it_broke() -> Outcome {
    let content = content(3 * WINDOW);
    let served = content.clone();
    let server = Server::start(move |count, asked| {
        let whole = Answered::of(asked, &served, TAG);
        if matches!(count, 0 | 2 | 3) { whole.cut(400) } else { whole }
    })?;
    assert!(read(&format!("http://{}/a.log", server.host))? == content);
    let asked = server.asked();
    let ranges: Vec<_> = asked.iter().filter_map(|asked| asked.header("range")).collect();
    assert_eq!(ranges[..2], ["bytes=0-999", "bytes=400-999"]);
    assert_eq!(asked[1].header("if-match"), Some(TAG));
    assert!(ranges.contains(&"bytes=1400-1999") || ranges.contains(&"bytes=2400-2999"), "{ranges:?}");
    Ok(())
}

#[test]
fn attempts_count_since_the_last_byte() -> Outcome {
    let content = content(2 * WINDOW);
    let served = content.clone();
    let server = Server::start(move |_, asked| Answered::of(asked, &served, TAG).cut(100))?;
    assert!(read(&format!("http://{}/a.log", server.host))? == content);
    assert!(server.asked().len() > 2 * HASTE.attempts as usize);
    Ok(())
}

#[test]
fn what_changes_in_between_is_an_error() -> Outcome {
    for knows_tags in [true, false] {
        let served = content(3 * WINDOW);
        let server = Server::start(move |count, asked| {
            let tag = if count < 2 { TAG } else { "\"second\"" };
            let mut asked = asked.clone();
            if !knows_tags {
                asked.headers = asked.headers.replace("if-match", "if-other");
            }
            Answered::of(&asked, &served, tag)
        })?;
        let error = read(&format!("http://{}/a.log", server.host)).err().unwrap_or_default();
        assert!(error.contains("it changed while it was read"), "{error}");
    }
    Ok(())
}

#[test]
fn patience_ends() -> Outcome {
    let server = Server::start(|_, _| Answered::new(503, "", ""))?;
    let error = read(&format!("http://{}/a.log", server.host)).err().unwrap_or_default();
    assert!(error.contains("status 503"), "{error}");
    assert_eq!(server.asked().len(), HASTE.attempts as usize);

    let served = content(2 * WINDOW);
    let server = Server::start(move |_, asked| Answered::of(asked, &served, TAG).cut(0))?;
    let error = read(&format!("http://{}/a.log", server.host)).err().unwrap_or_default();
    assert!(error.contains("broke again and again"), "{error}");
    assert_eq!(server.asked().len(), 1 + HASTE.attempts as usize);
    Ok(())
}

#[test]
fn a_server_that_recovers_is_asked_again() -> Outcome {
    let served = content(WINDOW);
    let server = Server::start(move |count, asked| match count {
        0 | 1 => Answered::new(503, "", ""),
        _ => Answered::of(asked, &served, TAG),
    })?;
    assert_eq!(read(&format!("http://{}/a.log", server.host))?.len() as u64, WINDOW);
    Ok(())
}

#[test]
fn servers_without_ranges_are_read_as_they_come() -> Outcome {
    let content = content(10 * WINDOW);
    let served = content.clone();
    let server = Server::start(move |_, _| Answered::new(200, "", served.clone()))?;
    assert!(read(&format!("http://{}/a.log", server.host))? == content);
    let server = Server::start(|_, _| Answered::new(200, "transfer-encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n"))?;
    assert_eq!(read(&format!("http://{}/a.log", server.host))?, b"abc");
    // More than an input's head: the break comes while it is read.
    let large = super::content(100 << 10);
    let server = Server::start(move |_, _| Answered::new(200, "", large.clone()).cut(90 << 10))?;
    let error = read(&format!("http://{}/a.log", server.host)).err().unwrap_or_default();
    assert!(error.contains("fetch the file first"), "{error}");
    Ok(())
}

#[test]
fn whatever_is_wrong_is_told() -> Outcome {
    for (status, words) in [
        (404, "there is nothing at this address"),
        (410, "there is nothing at this address"),
        (401, "access is denied with status 401"),
        (403, "access is denied with status 403"),
        (418, "status 418"),
    ] {
        let server = Server::start(move |_, _| Answered::new(status, "", ""))?;
        let error = read(&format!("http://u:hush@{}/a.log?sig=hush", server.host)).err().unwrap_or_default();
        assert!(error.contains(words) && !error.contains("hush"), "{error}");
        assert_eq!(server.asked().len(), 1, "{status}");
    }
    let free = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let server = Server::start(|_, _| Answered::new(200, "", ""))?;
    for (address, words) in [
        (format!("http://{free}/a"), "cannot be reached"),
        ("http://no-such-host.invalid/a".to_owned(), "its host is not known"),
        (format!("https://{}/a", server.host), "answers in no way that is known"),
        ("http://host/a b".to_owned(), "this is no address"),
    ] {
        let error = read(&address).err().unwrap_or_default();
        assert!(error.contains(words), "{address}: {error}");
    }
    Ok(())
}

#[test]
fn a_redirect_takes_no_password_along() -> Outcome {
    let there = Server::start(|_, asked| Answered::of(asked, b"x\n", TAG))?;
    let location = format!("location: http://{}/b.log\r\n", there.host);
    let here = Server::start(move |_, _| Answered::new(302, &location, ""))?;
    assert_eq!(read(&format!("http://me:hush@{}/a.log", here.host))?, b"x\n");
    assert!(here.asked()[0].header("authorization").is_some());
    assert_eq!(there.asked()[0].header("authorization"), None);
    assert_eq!(there.asked()[0].header("range"), Some("bytes=0-999"));
    Ok(())
}

#[test]
fn redirects_end() -> Outcome {
    let server = Server::start(|_, _| Answered::new(302, "location: /a.log\r\n", ""))?;
    let error = read(&format!("http://{}/a.log", server.host)).err().unwrap_or_default();
    assert!(error.contains("redirects without end"), "{error}");
    assert_eq!(server.asked().len(), 6);
    Ok(())
}

#[test]
fn a_user_and_a_password_may_be_encoded() -> Outcome {
    for (user, basic) in [("m%40e:p%3Aw%25", "Basic bUBlOnA6dyU="), ("me", "Basic bWU6"), ("me:p@w", "Basic bWU6cEB3")]
    {
        let server = Server::start(|_, asked| Answered::of(asked, b"x\n", TAG))?;
        assert_eq!(read(&format!("http://{user}@{}/a.log", server.host))?, b"x\n");
        assert_eq!(server.asked()[0].header("authorization"), Some(basic));
    }
    Ok(())
}

#[test]
fn proxies_are_asked_as_the_environment_says() -> Outcome {
    // It answers as a proxy, and as whoever is behind it.
    let server = Server::start(|_, asked| match &*asked.method {
        "CONNECT" => Answered::new(200, "", ""),
        _ => Answered::of(asked, b"x\n", TAG),
    })?;
    let proxy = ("http_proxy", format!("http://m%40e:p%3Aw@{}", server.host));
    let address = "http://logs.no-such-host.invalid/a.log";
    let read = |exempt: &str| -> Outcome<Result<Vec<u8>, String>> {
        let variables = [proxy.clone(), ("no_proxy", exempt.to_owned())];
        let environment = Environment(variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
        let (names, stores) = opened(&[address], environment)?;
        let mut bytes = Vec::new();
        let read = stores
            .open(&names[0])
            .map_err(|error| error.to_string())
            .and_then(|mut input| input.read_to_end(&mut bytes).map_err(|error| error.to_string()));
        Ok(read.map(|_| bytes))
    };
    assert_eq!(read("localhost,127.0.0.1")?, Ok(b"x\n".to_vec()));
    let asked = server.asked().clone();
    assert_eq!((&*asked[0].method, &*asked[0].path), ("CONNECT", "logs.no-such-host.invalid:80"));
    assert_eq!(asked[0].header("proxy-authorization"), Some("Basic bUBlOnA6dw=="));
    assert_eq!((&*asked[1].method, &*asked[1].path), ("GET", "/a.log"));
    let error = read("localhost .no-such-host.invalid")?.err().unwrap_or_default();
    assert!(error.contains("its host is not known"), "{error}");
    assert_eq!(server.asked().len(), asked.len());
    Ok(())
}

#[test]
fn what_comes_encoded_is_unpacked_or_refused() -> Outcome {
    for (encoding, is_read) in
        [("identity", true), ("aws-chunked", true), ("gzip", true), ("br", false), ("gzip, BR", false)]
    {
        let headers = format!("content-encoding: {encoding}\r\n");
        let server = Server::start(move |_, asked| {
            let whole = Answered::of(asked, b"x\n", TAG);
            Answered { headers: whole.headers + &headers, ..whole }
        })?;
        let read = read(&format!("http://{}/a.log", server.host));
        assert_eq!(read.is_ok(), is_read, "{encoding}");
        assert!(is_read || read.is_err_and(|error| error.contains("it is sent encoded (br)")));
    }
    Ok(())
}

#[test]
fn its_size_is_known_once_it_answers() -> Outcome {
    let server = Server::start(|_, asked| Answered::of(asked, &[b'x'; 4321], TAG))?;
    let (names, stores) = opened(&[&format!("http://{}/a.log", server.host)], Environment::default())?;
    assert_eq!(stores.size(), None);
    assert_eq!(stores.open(&names[0])?.size, Some(4321));
    assert_eq!(stores.size(), Some(4321));
    Ok(())
}

#[cfg(feature = "archives")]
#[test]
fn packed_objects_are_read_like_files() -> Outcome {
    let lines = "a line\n".repeat(3000);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    packed.write_all(lines.as_bytes())?;
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for member in ["one.log", "two.log"] {
        let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        zip.start_file(member, stored)?;
        zip.write_all(lines.as_bytes())?;
    }
    for (bytes, members) in [(packed.finish()?, vec![""]), (zip.finish()?.into_inner(), vec!["!one.log", "!two.log"])] {
        let server = Server::start(move |_, asked| Answered::of(asked, &bytes, TAG))?;
        let address = format!("http://{}/logs", server.host);
        let mut seen = Vec::new();
        open(&address)?.expand(&mut |mut input| {
            let mut text = String::new();
            let outcome = input.read_to_string(&mut text).map_err(|error| error.to_string());
            seen.push((input.path.to_string(), outcome.map(|_| text == lines)));
            true
        });
        let expected: Vec<_> = members.iter().map(|member| (format!("{address}{member}"), Ok(true))).collect();
        assert_eq!(seen, expected);
    }
    Ok(())
}

#[test]
fn any_place_can_be_turned_to() -> Outcome {
    let content = content(5 * WINDOW + 7);
    let served = content.clone();
    let server = Server::start(move |_, asked| Answered::of(asked, &served, TAG))?;
    let (names, stores) = opened(&[&format!("http://{}/a.log", server.host)], Environment::default())?;
    let (backend, key) = stores.backend(&names[0])?;
    let Opened::InParts(object, first) = Object::open(backend, &key, HASTE)? else {
        return Err("it has no parts".into());
    };
    let mut reader = Reader::new(Arc::new(object), first);
    for from in
        [SeekFrom::End(-7), SeekFrom::Start(1500), SeekFrom::Current(-900), SeekFrom::Start(0), SeekFrom::End(5)]
    {
        let at = reader.seek(from)? as usize;
        let mut piece = Vec::new();
        reader.by_ref().take(50).read_to_end(&mut piece)?;
        assert_eq!(piece, content.get(at..).unwrap_or_default().iter().take(50).copied().collect::<Vec<u8>>());
    }
    assert!(reader.seek(SeekFrom::End(-1_000_000)).is_err());
    Ok(())
}
