//! `oomdoc serve` as a team's programs use it.

#![cfg(all(feature = "server", unix))]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use crate::support::home::{self, log};
use crate::support::served::{HANGS, Outcome, Served, token};

#[test]
fn a_log_is_analysed_kept_and_found_and_what_was_tried_is_told() -> Outcome {
    let home = tempfile::tempdir()?;
    let token = token(home.path(), "ada", "admin")?;
    let served = Served::start(home.path(), &[])?;
    let id = served.analyze(&token, &log("2026-10-01", "29.92"))?;
    let shown = served.get(&format!("/api/v1/incidents/{id}"), &token)?;
    assert_eq!((shown.status, &shown.json()?["incident"]["phase"]["name"]), (200, &json!("optimizer_step")));
    served.found(&token, "requested:%3E2GiB", 1)?;
    served.found(&token, "phase:forward", 0)?;
    let other = served.analyze(&token, &log("2026-10-02", "29.92"))?;
    served.found(&token, "", 2)?;
    let alike = served.get(&format!("/api/v1/incidents/{id}/similar"), &token)?.json()?;
    assert_eq!((&alike[0]["incident"]["id"], &alike[0]["score"]), (&json!(other), &json!(1.0)));
    let tried =
        json!({ "knob": "--adam_offload", "worked": true, "note": "token hf_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789" });
    let told = served.post(&format!("/api/v1/incidents/{id}/outcomes"), &token, &tried)?;
    assert!(told.status == 200 && !told.body.contains("AbCdEf"), "{}", told.body);
    served.post(&format!("/api/v1/incidents/{id}/notes"), &token, &json!({ "text": "node 7 again" }))?;
    let shown = served.get(&format!("/api/v1/incidents/{}", &id[..8]), &token)?.json()?;
    assert_eq!(shown["outcomes"][0]["worked"], true);
    assert_eq!(shown["annotations"]["notes"][0]["text"], "node 7 again");
    served.found(&token, "resolved:yes", 1)?;
    assert_eq!(served.get("/api/v1/stats", &token)?.json()?["causes"], json!({ "optimizer_states_on_gpu": 2 }));
    let audit = served.get("/api/v1/audit", &token)?.json()?;
    assert_eq!((&audit[0]["what"], &audit[0]["who"], &audit[0]["whom"]), (&json!("note"), &json!("ada"), &json!(id)));
    assert_eq!(served.get("/api/v1/export", &token)?.body.lines().count(), 3);
    Ok(())
}

#[test]
fn nobody_does_what_they_may_not() -> Outcome {
    let home = tempfile::tempdir()?;
    let (reader, writer) = (token(home.path(), "reader", "read")?, token(home.path(), "writer", "write")?);
    let served = Served::start(home.path(), &[])?;
    let id = served.analyze(&writer, &log("2026-10-01", "29.92"))?;
    let write = |token: &str| served.post(&format!("/api/v1/incidents/{id}/notes"), token, &json!({ "text": "x" }));
    assert_eq!((write("")?.status, write(&reader)?.status, write(&writer)?.status), (401, 403, 200));
    assert_eq!(served.ask("GET", "/api/v1/incidents", &[], b"")?.status, 401);
    assert_eq!(served.get("/api/v1/incidents", &reader)?.status, 200);
    assert_eq!(
        (served.get("/api/v1/audit", &writer)?.status, served.get("/api/v1/export", &writer)?.status),
        (403, 403)
    );
    // A token in an address would end up in logs and histories, so it grants nothing.
    assert_eq!(served.ask("GET", &format!("/api/v1/incidents?token={reader}"), &[], b"")?.status, 401);
    let revoked = home::oomdoc(home.path()).args(["serve", "token", "revoke", "reader"]).output()?;
    assert!(revoked.status.success());
    let refused = served.get("/api/v1/incidents", &reader)?;
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
    // Repeated wrong tokens are refused for a while.
    let guessed = || served.get("/api/v1/me", &format!("oomdoc_{}_{}", "0".repeat(12), "0".repeat(64)));
    let statuses = (0..20).map(|_| Ok(guessed()?.status)).collect::<Result<Vec<u16>, Box<dyn std::error::Error>>>()?;
    assert_eq!(statuses.last(), Some(&429), "{statuses:?}");
    Ok(())
}

#[test]
fn readers_without_a_name_are_let_in_only_where_that_was_said() -> Outcome {
    let home = tempfile::tempdir()?;
    let served = Served::start(home.path(), &["--anonymous", "read"])?;
    assert_eq!(served.ask("GET", "/api/v1/incidents", &[], b"")?.status, 200);
    assert_eq!(served.ask("POST", "/api/v1/analyze", &[], b"x")?.status, 401);
    assert_eq!(served.ask("GET", "/api/v1/audit", &[], b"")?.status, 401);
    Ok(())
}

/// A web page whose host name resolves to this machine must not read anything here (DNS rebinding).
#[test]
fn a_server_that_is_called_otherwise_does_not_answer() -> Outcome {
    let home = tempfile::tempdir()?;
    let served = Served::start(home.path(), &["--anonymous", "read", "--public-url", "https://oomdoc.example.org"])?;
    let of = |host: &str| Ok::<_, Box<dyn std::error::Error>>(served.ask("GET", "/api/v1/me", &[host], b"")?.status);
    assert_eq!(
        (of("host: evil.example.org")?, of("host: localhost:1")?, of("host: oomdoc.example.org")?),
        (421, 200, 200)
    );
    assert_eq!(served.ask("GET", "/healthz", &["host: 10.0.0.7:8673"], b"")?.status, 200);
    Ok(())
}

#[test]
fn hostile_requests_get_a_reason_and_nothing_else() -> Outcome {
    let home = tempfile::tempdir()?;
    let token = token(home.path(), "mallory", "admin")?;
    let served = Served::start(home.path(), &[])?;
    let bearer = format!("authorization: Bearer {token}");
    let status = |method: &str, path: &str, body: &[u8]| {
        let answer = served.ask(method, path, &[&bearer, "content-type: application/json"], body)?;
        let is_told = answer.status < 400 || answer.header("content-type") == Some("application/problem+json");
        assert!(is_told || matches!(answer.status, 400 | 405 | 415 | 422), "{path}: {answer:?}");
        Ok::<u16, Box<dyn std::error::Error>>(answer.status)
    };
    let long = "x".repeat(100_000);
    for (method, path, body, expected) in [
        // Paths to files outside the server's data.
        ("GET", "/api/v1/incidents/..%2f..%2f..%2fetc%2fpasswd", &b""[..], 404),
        ("GET", "/api/v1/incidents/%2e%2e%2fserver%2ftokens", b"", 404),
        ("GET", "/..//..//etc/passwd", b"", 404),
        ("POST", "/api/v1/analyze?name=../../../../etc/cron.d/x%0a", b"x", 400),
        ("POST", "/api/v1/analyze?name=%00", b"x", 400),
        ("POST", "/api/v1/rules/check?name=../../x.toml", b"when = \"true\"", 200),
        // Queries that are invalid or too large.
        ("GET", "/api/v1/incidents?q=phase:%27%20OR%201=1", b"", 400),
        ("GET", "/api/v1/incidents?q=%22unclosed", b"", 400),
        ("GET", "/api/v1/incidents?limit=-1", b"", 400),
        ("GET", "/api/v1/incidents?cursor=%27", b"", 400),
        ("GET", "/api/v1/incidents?nonesuch=1", b"", 400),
        // Invalid bodies.
        ("POST", "/api/v1/incidents", b"{\"incident\":{}}", 422),
        ("POST", "/api/v1/incidents", b"\xff\xfe\x00", 422),
        ("POST", "/api/v1/incidents", b"{\"outcome\":{\"incident\":\"../x\"}}", 422),
        ("POST", "/api/v1/analyze", b"", 422),
        ("POST", "/api/v1/analyze", &[0; 4096], 422),
        ("DELETE", "/api/v1/incidents", b"", 405),
    ] {
        assert_eq!(status(method, path, body)?, expected, "{method} {path}");
    }
    assert!(matches!(status("GET", &format!("/api/v1/incidents?q={}", &long[..60_000]), b"")?, 200 | 400 | 414 | 431));
    let id = served.analyze(&token, &log("2026-10-01", "29.92"))?;
    assert_eq!(
        status("POST", &format!("/api/v1/incidents/{id}/notes"), json!({ "text": long }).to_string().as_bytes())?,
        422
    );
    let many = vec![b' '; 5 << 20];
    assert_eq!(status("POST", "/api/v1/incidents", &many)?, 413);
    // Bytes that are no HTTP, and two requests disguised as one.
    for request in [
        &b"\x16\x03\x01\x02\x00\x01\x00"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /api/v1/analyze HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /api/v1/audit HTTP/1.1\r\n\r\n",
    ] {
        let mut stream = TcpStream::connect(&served.address)?;
        stream.set_read_timeout(Some(HANGS))?;
        stream.write_all(request)?;
        stream.shutdown(std::net::Shutdown::Write)?;
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        assert!(!answer.contains(" 200 "), "{answer}");
    }
    assert_eq!(served.get("/healthz", "")?.status, 200, "it lives");
    Ok(())
}

#[test]
fn a_browser_is_told_to_take_nothing_for_a_page() -> Outcome {
    let home = tempfile::tempdir()?;
    let token = token(home.path(), "ada", "read")?;
    let served = Served::start(home.path(), &[])?;
    let answer = served.get("/api/v1/me", &token)?;
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert!(answer.header("content-security-policy").is_some_and(|policy| policy.starts_with("default-src 'none'")));
    let tag = answer.header("etag").ok_or("no tag")?.to_owned();
    let asked = [&*format!("authorization: Bearer {token}"), &*format!("if-none-match: {tag}")];
    let again = served.ask("GET", "/api/v1/me", &asked, b"")?;
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    Ok(())
}

/// Incidents that other programs of the machine leave in the home folder are taken over by the server.
#[test]
fn what_waits_in_the_spool_is_taken_over_while_it_serves() -> Outcome {
    let home = tempfile::tempdir()?;
    let token = token(home.path(), "ada", "read")?;
    let served = Served::start(home.path(), &[])?;
    home::oomdoc(home.path()).args(["analyze", "-"]).write_stdin(log("2026-10-01", "29.92")).assert().success();
    served.found(&token, "", 1)
}

#[test]
fn it_ends_when_told_and_starts_again_with_everything() -> Outcome {
    let home = tempfile::tempdir()?;
    let token = token(home.path(), "ada", "write")?;
    let mut served = Served::start(home.path(), &[])?;
    let id = served.analyze(&token, &log("2026-10-01", "29.92"))?;
    let pid = rustix::process::Pid::from_raw(i32::try_from(served.child.id())?).ok_or("no process")?;
    rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
    assert!(served.child.wait()?.success());
    let served = Served::start(home.path(), &[])?;
    assert_eq!(served.get(&format!("/api/v1/incidents/{id}"), &token)?.status, 200);
    // The incident is found at once, without waiting for an index to be built.
    assert_eq!(served.get("/api/v1/incidents", &token)?.json()?["total"], 1);
    Ok(())
}

/// Kills the server 200 times with OOMDOC_LONG=1, otherwise a few times.
#[test]
fn whatever_was_acknowledged_is_there_after_it_was_killed() -> Outcome {
    let home = tempfile::tempdir()?;
    let token = token(home.path(), "ada", "write")?;
    let rounds = if std::env::var_os("OOMDOC_LONG").is_some() { 200 } else { 4 };
    let acknowledged: Arc<Mutex<Vec<String>>> = Arc::default();
    for round in 0..rounds {
        let mut served = Served::start(home.path(), &[])?;
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for client in 0..4 {
                let (served, token, acknowledged, over) = (&served, &token, &acknowledged, &over);
                scope.spawn(move || {
                    for number in 0.. {
                        let date = format!("2026-{:02}-{:02}", 1 + round % 12, 1 + (number + client) % 28);
                        let log = log(&date, &format!("{}.{client}", 10 + number));
                        let headers = [&*format!("authorization: Bearer {token}")];
                        let answer = served.ask("POST", "/api/v1/analyze", &headers, log.as_bytes());
                        let Ok(answer) = answer.and_then(|answer| answer.json()) else { return };
                        if let (Some(id), Ok(mut all)) = (answer["kept"][0].as_str(), acknowledged.lock()) {
                            all.push(id.to_owned());
                        }
                        if over.load(Ordering::Relaxed) {
                            return;
                        }
                    }
                });
            }
            // Kills the server at a different moment each time, after something was acknowledged; a loaded machine
            // takes long for the first.
            let count = || acknowledged.lock().map_or(0, |all| all.len());
            let before = count();
            let begun = std::time::Instant::now();
            while count() == before && begun.elapsed() < HANGS {
                std::thread::sleep(Duration::from_millis(10));
            }
            std::thread::sleep(Duration::from_millis(37 * (round % 11)));
            over.store(true, Ordering::Relaxed);
            let pid = i32::try_from(served.child.id()).ok().and_then(rustix::process::Pid::from_raw);
            let killed = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
            assert!(matches!(killed, Some(Ok(()))));
        });
        served.child.wait()?;
    }
    let served = Served::start(home.path(), &[])?;
    let all = acknowledged.lock().map_err(|_| "a client failed")?.clone();
    assert!(!all.is_empty());
    for id in &all {
        assert_eq!(served.get(&format!("/api/v1/incidents/{id}"), &token)?.status, 200, "{id} is lost");
    }
    Ok(())
}

/// A client that sends its request byte by byte, or never ends it, does not block others.
#[test]
fn slow_clients_are_given_up() -> Outcome {
    let home = tempfile::tempdir()?;
    let served = Served::start(home.path(), &[])?;
    let mut slow = Vec::new();
    for _ in 0..50 {
        let mut stream = TcpStream::connect(&served.address)?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nx-slow: ")?;
        stream.set_read_timeout(Some(HANGS))?;
        slow.push(stream);
    }
    assert_eq!(served.ask("GET", "/healthz", &[], b"")?.status, 200);
    for mut stream in slow {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
    }
    assert_eq!(served.ask("GET", "/healthz", &[], b"")?.status, 200);
    Ok(())
}

/// The command of a user whose team has a server.
fn with_server(home: &std::path::Path, served: &Served, token: &str) -> assert_cmd::Command {
    let mut command = home::oomdoc(home);
    command.env("OOMDOC_SERVER", format!("http://{}", served.address)).env("OOMDOC_SERVER_TOKEN", token);
    command
}

#[test]
fn what_a_client_analyses_is_the_servers_and_so_are_its_questions() -> Outcome {
    let (home, own) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let token = token(home.path(), "ada", "write")?;
    let served = Served::start(home.path(), &[])?;
    let oomdoc = || with_server(own.path(), &served, &token);
    oomdoc().args(["analyze", "-"]).write_stdin(log("2026-10-01", "29.92")).assert().success();
    served.found(&token, "", 1)?;
    home::alone(own.path())?;
    assert_eq!(std::fs::read_dir(own.path().join("spool"))?.count(), 0, "what was acknowledged waits no longer");
    let listed = oomdoc().args(["history", "search", "phase:optimizer_step", "--format", "json"]).output()?;
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout)?;
    let id = listed["incidents"][0]["id"].as_str().ok_or("nothing was found")?.to_owned();
    oomdoc().args(["history", "show", &id[..8]]).assert().success().stdout(predicates::str::contains("29.92 GiB"));
    oomdoc().args(["history", "resolve", &id, "--did", "moved to H200", "--worked"]).assert().success();
    served.found(&token, "resolved:yes", 1)?;
    let similar = oomdoc().args(["history", "similar", "--format", "json", &id]).output()?;
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&similar.stdout)?["total"], 0);
    oomdoc().args(["history", "stats"]).assert().success().stdout(predicates::str::contains("optimizer_states_on_gpu"));
    Ok(())
}

#[test]
fn a_client_loses_nothing_while_the_server_is_away() -> Outcome {
    let (home, own) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let token = token(home.path(), "ada", "write")?;
    let away = Served::start(home.path(), &[])?;
    let address = away.address.clone();
    drop(away);
    let with = |address: &str| {
        let mut command = home::oomdoc(own.path());
        command.env("OOMDOC_SERVER", format!("http://{address}")).env("OOMDOC_SERVER_TOKEN", &token);
        command
    };
    with(&address).args(["analyze", "-"]).write_stdin(log("2026-10-01", "29.92")).assert().success();
    with(&address).args(["history", "list"]).assert().code(2).stderr(predicates::str::contains("check the address"));
    home::alone(own.path())?;
    assert_eq!(std::fs::read_dir(own.path().join("spool"))?.count(), 1);
    let back = Served::start(home.path(), &[])?;
    with(&back.address).args(["analyze", "-"]).write_stdin(log("2026-10-02", "29.92")).assert().success();
    back.found(&token, "", 2)
}
