//! The bot against local servers that speak as GitHub, GitLab and a chat do.
#![cfg(feature = "server")]

use std::env;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use oomdoc::internal::bot::{ForgeName, Receipt, Refusal};
use oomdoc::internal::knowledge::Knowledge;
use serde_json::{Value, json};

use crate::support::forges::{
    self, Job, ME, NOW, OOM, Outcome, Stage, build, check_run, issue_comment, note, of, signature, workflow_job,
};

const SLACK: &str = "[[channel]]\nname = \"ops\"\nto.slack.address = CHAT\n";

#[test]
fn a_failed_job_is_answered_with_one_comment_on_its_request() -> Outcome {
    let stage = Stage::new(SLACK)?;
    stage.world.job(100, Job::failed(OOM));
    assert_eq!(stage.github("workflow_job", "d1", &workflow_job(100, "failure"))?, Receipt::Taken(1));
    stage.settle()?;
    let comments = stage.world.comments();
    assert_eq!(comments.len(), 1, "{comments:?}");
    assert!(comments[0].starts_with("<!-- oomdoc job=CI%20%2F%20train -->\n### GPU out of memory"), "{}", comments[0]);
    assert!(comments[0].contains("/runs/1/job/100)") && comments[0].contains("abc123"), "{}", comments[0]);
    assert!(!comments[0].contains("hf_abc"), "what leaves is masked: {}", comments[0]);
    let incidents = stage.incidents()?;
    assert_eq!((incidents.len(), incidents[0].annotations.job.as_deref()), (1, Some("CI / train")));
    assert_eq!(stage.world.with(|state| state.messages.len()), 1);
    assert!(stage.bot.waiting()?.is_empty() && stage.bot.dead()?.is_empty());
    // The token is sent only to the forge itself, not to the storage it redirects to.
    let fetched = stage.world.asked("GET /logs/100");
    assert_eq!((fetched.len(), fetched[0].credentials()), (1, ""));
    assert!(stage.world.asked("/actions/jobs/100/logs")[0].credentials().ends_with("token-of-ours"));
    Ok(())
}

#[test]
fn whatever_comes_twice_is_answered_once() -> Outcome {
    let stage = Stage::new(SLACK)?;
    stage.world.job(100, Job::failed(OOM));
    let event = workflow_job(100, "failure");
    assert_eq!(stage.github("check_run", "d0", &check_run(100, "failure"))?, Receipt::Taken(1));
    assert_eq!(stage.github("workflow_job", "d1", &event)?, Receipt::Taken(0), "the same job, told otherwise");
    assert_eq!(stage.github("workflow_job", "d1", &event)?, Receipt::Known);
    stage.settle()?;
    assert_eq!(stage.github("workflow_job", "d2", &event)?, Receipt::Taken(0), "played back with another number");
    stage.settle()?;
    assert_eq!((stage.world.comments().len(), stage.world.asked("GET /logs/100").len()), (1, 1));
    // Once the receipts have expired, the event itself is too old to be taken.
    stage.clock.fetch_add(100 * 86_400_000, Ordering::SeqCst);
    stage.work()?;
    assert_eq!(stage.github("workflow_job", "d3", &event)?, Receipt::Taken(0));
    stage.settle()?;
    assert_eq!(stage.world.asked("GET /logs/100").len(), 1);
    Ok(())
}

#[test]
fn a_job_that_passes_later_is_marked_as_solved_whatever_comes_first() -> Outcome {
    let knowledge = Arc::new(Knowledge::shipped()?);
    let solved = |events: [(u64, &str); 2]| -> Outcome<Vec<String>> {
        let stage = Stage::with("", Arc::clone(&knowledge))?;
        stage.world.job(100, Job::failed(OOM));
        stage.world.job(101, Job::passed());
        for (number, conclusion) in events {
            stage.github("workflow_job", &number.to_string(), &workflow_job(number, conclusion))?;
        }
        stage.settle()?;
        assert_eq!(stage.incidents()?.len(), 1, "what happened is kept");
        Ok(stage.world.comments())
    };
    let comments = solved([(100, "failure"), (101, "success")])?;
    assert!(comments.is_empty(), "it passed before anybody was told: {comments:?}");
    assert!(solved([(101, "success"), (100, "failure")])?.is_empty());
    let stage = Stage::with("", knowledge)?;
    stage.world.job(100, Job::failed(OOM));
    stage.github("workflow_job", "1", &workflow_job(100, "failure"))?;
    stage.settle()?;
    stage.world.job(101, Job::passed());
    stage.github("workflow_job", "2", &workflow_job(101, "success"))?;
    stage.settle()?;
    let comments = stage.world.comments();
    assert!(comments.len() == 1 && comments[0].contains("### Solved"), "{comments:?}");
    // Nothing has failed since, so the forge is not asked.
    let asked = stage.world.with(|state| state.asked.len());
    assert_eq!(stage.github("workflow_job", "3", &workflow_job(102, "success"))?, Receipt::Taken(0));
    stage.settle()?;
    assert_eq!(stage.world.with(|state| state.asked.len()), asked);
    Ok(())
}

#[test]
fn only_who_knows_the_secret_is_heard() -> Outcome {
    let stage = Stage::new("")?;
    let body = workflow_job(100, "failure").to_string();
    let hear = |forge, headers: &[(&'static str, String)], body: &[u8]| stage.bot.receive(forge, &of(headers), body);
    let kind = || ("x-github-event", "workflow_job".to_owned());
    let right = ("x-hub-signature-256", signature(forges::SECRET, body.as_bytes()));
    let forged = ("x-hub-signature-256", signature("another", body.as_bytes()));
    let old = ("x-hub-signature", right.1.replace("sha256", "sha1"));
    assert!(matches!(hear(ForgeName::GitHub, &[kind(), forged], body.as_bytes()), Err(Refusal::NotAllowed)));
    assert!(matches!(hear(ForgeName::GitHub, &[kind()], body.as_bytes()), Err(Refusal::NotAllowed)));
    assert!(matches!(hear(ForgeName::GitHub, &[kind(), old], body.as_bytes()), Err(Refusal::NotAllowed)));
    assert!(matches!(
        hear(ForgeName::GitHub, &[kind(), right.clone()], body.replace("100", "101").as_bytes()),
        Err(Refusal::NotAllowed)
    ));
    assert!(matches!(hear(ForgeName::GitHub, &[right], body.as_bytes()), Err(Refusal::Lacks(_))), "no kind of event");
    assert!(matches!(
        hear(ForgeName::GitLab, &[("x-gitlab-token", "wrong".to_owned())], b"{}"),
        Err(Refusal::NotAllowed)
    ));
    let token = ("x-gitlab-token", forges::SECRET.to_owned());
    assert!(matches!(hear(ForgeName::GitLab, std::slice::from_ref(&token), b"{"), Err(Refusal::Malformed(_))));
    assert!(matches!(hear(ForgeName::GitLab, std::slice::from_ref(&token), b"{}"), Err(Refusal::Lacks(_))));
    assert!(matches!(
        hear(ForgeName::GitLab, std::slice::from_ref(&token), &vec![b' '; 26 << 20]),
        Err(Refusal::TooLong)
    ));
    let ping = json!({ "zen": "Keep it logically awesome." });
    assert_eq!(stage.github("ping", "p", &ping)?, Receipt::Pong);
    // A repository name with `..` is refused.
    let mut event = workflow_job(100, "failure");
    event["repository"]["full_name"] = "me/../../admin".into();
    assert!(matches!(stage.github("workflow_job", "x", &event), Err(Refusal::Lacks(_))));
    assert!(stage.bot.waiting()?.is_empty());
    Ok(())
}

#[test]
fn trouble_that_passes_is_waited_for_as_long_as_the_server_asks() -> Outcome {
    let stage = Stage::new("")?;
    stage.world.job(100, Job::failed(OOM));
    stage.world.trouble("GET /repos/me/it/actions/jobs/100", 429, "retry-after: 600\r\n");
    stage.world.trouble("GET /repos/me/it/actions/jobs/100", 401, "");
    stage.world.trouble("GET /repos/me/it/actions/jobs/100", 503, "");
    stage.world.trouble("/jobs/100/logs", 404, "");
    stage.world.trouble("GET /logs/100", 500, "");
    stage.world.trouble("POST /repos/me/it/issues/7/comments", 403, "x-ratelimit-remaining: 0\r\n");
    stage.world.trouble("POST /repos/me/it/issues/7/comments", 502, "");
    stage.github("workflow_job", "d", &workflow_job(100, "failure"))?;
    stage.work()?;
    let waiting = stage.bot.waiting()?;
    assert!(waiting[0].due >= NOW + 600_000, "{waiting:?}");
    assert!(waiting[0].error.as_deref().is_some_and(|error| error.contains("429")), "{waiting:?}");
    stage.settle()?;
    assert_eq!(stage.world.comments().len(), 1);
    assert!(stage.bot.dead()?.is_empty() && stage.world.with(|state| state.troubles.is_empty()));
    assert_eq!(stage.world.asked("GET /logs/100").len(), 2, "what was read is not read again for the comment's sake");
    Ok(())
}

#[test]
fn trouble_that_stays_ends_among_the_dead_letters_and_can_be_tried_again() -> Outcome {
    let stage = Stage::new(SLACK)?;
    stage.world.job(100, Job::failed(OOM));
    for _ in 0..3 {
        stage.world.trouble("POST /repos/me/it/issues/7/comments", 403, "");
    }
    stage.github("workflow_job", "d", &workflow_job(100, "failure"))?;
    stage.settle()?;
    let dead = stage.bot.dead()?;
    assert!(dead[0].error.as_deref().is_some_and(|error| error.contains("403")), "{dead:?}");
    assert_eq!(stage.world.with(|state| state.messages.len()), 1, "others are told all the same");
    assert_eq!(stage.github("check_run", "e", &check_run(100, "failure"))?, Receipt::Taken(0));
    stage.world.with(|state| state.troubles.clear());
    assert!(stage.bot.retry(&dead[0].id())? && !stage.bot.retry(&dead[0].id())?);
    stage.settle()?;
    assert!(stage.bot.dead()?.is_empty());
    assert_eq!((stage.world.comments().len(), stage.world.with(|state| state.messages.len())), (1, 1));
    // A job that does not exist is not asked for again.
    stage.github("workflow_job", "n", &workflow_job(404, "failure"))?;
    stage.settle()?;
    assert_eq!((stage.bot.dead()?.len(), stage.world.asked("/jobs/404").len()), (1, 1));
    // A server that stays down is given up after some hours.
    for _ in 0..100 {
        stage.world.trouble("/jobs/105", 500, "");
    }
    stage.world.job(105, Job::failed(OOM));
    stage.github("workflow_job", "m", &workflow_job(105, "failure"))?;
    let begun = stage.clock.load(Ordering::SeqCst);
    stage.settle()?;
    let hours = (stage.clock.load(Ordering::SeqCst) - begun) / 3_600_000;
    assert_eq!(stage.bot.dead()?.len(), 2);
    assert!((6..12).contains(&hours), "{hours}");
    Ok(())
}

#[test]
fn a_log_that_breaks_off_is_no_log_and_one_that_is_too_long_says_so() -> Outcome {
    let stage = Stage::new("")?;
    stage.world.job(100, Job::failed(OOM));
    stage.world.with(|state| state.breaks_at = Some(40));
    stage.github("workflow_job", "d", &workflow_job(100, "failure"))?;
    stage.work()?;
    assert!(stage.world.comments().is_empty() && stage.incidents()?.is_empty());
    assert!(stage.bot.waiting()?[0].error.as_deref().is_some_and(|error| error.contains("broke off")));
    stage.world.with(|state| state.breaks_at = None);
    stage.settle()?;
    assert_eq!(stage.world.comments().len(), 1);
    // The configuration allows one MiB.
    stage.world.job(101, Job::failed(&format!("{OOM}{}", "nothing of interest\n".repeat(100_000))));
    stage.github("workflow_job", "e", &workflow_job(101, "failure"))?;
    stage.settle()?;
    let comments = stage.world.comments();
    assert!(comments[0].contains("longer than 1 MiB"), "{} {:?}", comments[0], stage.bot.dead()?);
    Ok(())
}

#[test]
fn logs_are_read_packed_and_without_a_redirect_too() -> Outcome {
    let stage = Stage::new("")?;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, OOM.as_bytes())?;
    stage.world.job(100, Job { log: packed.finish()?, ..Job::failed("") });
    stage.world.with(|state| state.storage = None);
    stage.github("workflow_job", "d", &workflow_job(100, "failure"))?;
    stage.settle()?;
    assert!(stage.world.comments()[0].contains("### GPU out of memory"));
    Ok(())
}

#[test]
fn a_redirect_to_anywhere_else_is_not_followed() -> Outcome {
    let stage = Stage::new("")?;
    stage.world.job(100, Job::failed(OOM));
    let elsewhere =
        ["http://169.254.169.254/latest", "http://localhost:1/logs/100", "file:///etc/passwd", "gopher://127.0.0.1/"];
    for location in elsewhere {
        stage.world.trouble("/jobs/100/logs", 302, &format!("location: {location}\r\n"));
    }
    stage.github("workflow_job", "d", &workflow_job(100, "failure"))?;
    for location in elsewhere {
        stage.work()?;
        let waiting = stage.bot.waiting()?;
        let error = waiting[0].error.clone().unwrap_or_default();
        assert!(error.contains("redirect") || error.contains("no address"), "{location}: {error}");
        stage.clock.store(waiting[0].due, Ordering::SeqCst);
    }
    stage.settle()?;
    assert_eq!(stage.world.comments().len(), 1);
    Ok(())
}

#[test]
fn an_app_signs_for_itself_and_writes_a_check() -> Outcome {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let stage = Stage::new("# as an app\n")?;
    stage.world.job(100, Job::failed(OOM));
    // Other programs' checks fill more than a page.
    let others = (0..150).map(|id| json!({ "id": id, "name": "other", "external_id": "x" }));
    stage.world.with(|state| state.checks.extend(others));
    stage.github("workflow_job", "d", &workflow_job(100, "failure"))?;
    stage.settle()?;
    stage.world.job(101, Job::failed(OOM));
    stage.github("workflow_job", "e", &workflow_job(101, "failure"))?;
    stage.settle()?;
    let checks: Vec<Value> = stage.world.with(|state| state.checks.split_off(150));
    assert_eq!(checks.len(), 1, "written over: {checks:?}");
    let check = &checks[0];
    assert_eq!((&check["name"], &check["conclusion"]), (&json!("oomdoc: CI / train"), &json!("neutral")));
    assert_eq!(check["output"]["title"], "GPU out of memory");
    assert!(check["details_url"].as_str().is_some_and(|page| page.ends_with("/job/101")));
    assert_eq!(stage.world.comments().len(), 1);
    assert_eq!(stage.world.asked("access_tokens").len(), 1, "a token holds for an hour");
    let asked = stage.world.asked("GET /repos/me/it/installation");
    let jwt = asked[0].credentials().trim_start_matches("Bearer ");
    let (signed, signature) = jwt.rsplit_once('.').ok_or("no signature")?;
    let claims = signed.split('.').nth(1).ok_or("no claims")?;
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims)?)?;
    assert_eq!((&claims["iss"], claims["exp"].as_i64()), (&json!("1234"), Some(NOW / 1000 + 540)));
    let key = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/app/app.der"))?;
    ring::signature::UnparsedPublicKey::new(&ring::signature::RSA_PKCS1_2048_8192_SHA256, key)
        .verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature)?)
        .map_err(|_| "the signature is wrong")?;
    Ok(())
}

#[test]
fn gitlab_s_jobs_pipelines_and_notes_are_answered_too() -> Outcome {
    let stage = Stage::new("")?;
    stage.world.job(100, Job::failed(OOM));
    stage.world.job(99, Job { name: "lint", ..Job::passed() });
    assert_eq!(stage.gitlab("a", &build(100, "running"))?, Receipt::Taken(0));
    assert_eq!(stage.gitlab("b", &build(100, "failed"))?, Receipt::Taken(1));
    let pipeline = json!({
        "object_kind": "pipeline", "object_attributes": { "id": 5, "ref": "b", "status": "failed" }, "project": { "id": 12 },
        "merge_request": { "iid": 7, "target_project_id": 12 },
        "builds": [{ "id": 100, "name": "train", "status": "failed" }, { "id": 99, "name": "lint", "status": "success" }],
    });
    assert_eq!(stage.gitlab("c", &pipeline)?, Receipt::Taken(0));
    assert_eq!(stage.gitlab("c", &pipeline)?, Receipt::Known);
    stage.settle()?;
    let comments = stage.world.comments();
    assert!(comments.len() == 1 && comments[0].contains("### GPU out of memory"), "{comments:?}");
    assert_eq!(stage.world.asked("GET /logs/100")[0].credentials(), "");
    stage.world.with(|state| state.members.extend([("4".to_owned(), json!(30)), ("5".to_owned(), json!(20))]));
    assert_eq!(stage.gitlab("d", &note(1, 5, "@oomdoc help"))?, Receipt::Taken(1));
    assert_eq!(stage.gitlab("e", &note(2, 6, "@oomdoc help"))?, Receipt::Taken(1));
    assert_eq!(stage.gitlab("f", &note(3, 4, "@oomdoc similar"))?, Receipt::Taken(1));
    stage.settle()?;
    let comments = stage.world.comments();
    assert_eq!(comments.len(), 2, "{comments:?}");
    assert!(comments[1].ends_with("No earlier incident is like it."), "{}", comments[1]);
    Ok(())
}

#[test]
fn commands_are_answered_to_those_who_may_write_and_to_nobody_else() -> Outcome {
    let stage = Stage::new("")?;
    stage.world.job(100, Job::failed(OOM));
    stage.github("workflow_job", "d", &workflow_job(100, "failure"))?;
    stage.settle()?;
    stage.world.with(|state| {
        state.members.extend([("ann".to_owned(), json!("write")), ("bob".to_owned(), json!("read"))]);
    });
    let say = |number: u64, login: &str, association: &str, body: &str| -> Outcome<Option<String>> {
        let before = stage.world.comments().len();
        stage.github("issue_comment", &format!("c{number}"), &issue_comment(number, login, association, body))?;
        stage.settle()?;
        let mut comments = stage.world.comments().split_off(before);
        assert!(comments.len() < 2, "{comments:?}");
        Ok(comments.pop())
    };
    assert_eq!(say(1, "eve", "NONE", "@oomdoc help")?, None);
    assert_eq!(say(2, "bob", "MEMBER", "@oomdoc help")?, None);
    assert_eq!(say(3, "ann", "MEMBER", "> @oomdoc help\nthanks")?, None);
    let help = say(4, "ann", "MEMBER", "@oomdoc").map(Option::unwrap_or_default)?;
    assert!(help.starts_with("<!-- oomdoc job=reply%20issue_comment%204 -->\n") && help.contains("resolve"), "{help}");
    let explained = say(5, "ann", "MEMBER", "@oomdoc explain fragmentation <b>")?.unwrap_or_default();
    assert!(explained.contains("fragmentation") && explained.contains("`<b>`"), "{explained}");
    let noted = say(
        6,
        "ann",
        "OWNER",
        "@oomdoc resolve --did \"moved to H200 @all\" --worked --note hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
    )?;
    let noted = noted.unwrap_or_default();
    assert!(noted.contains("`moved to H200 @all` worked"), "{noted}");
    let outcomes = stage.outcomes()?;
    assert!(outcomes.len() == 1 && outcomes[0].worked, "{outcomes:?}");
    assert!(outcomes[0].note.as_deref().is_some_and(|note| !note.contains("hf_abc")), "{outcomes:?}");
    assert!(say(7, "ann", "MEMBER", "@oomdoc dance")?.unwrap_or_default().contains("makes no sense"));
    assert!(say(8, "ann", "MEMBER", "@oomdoc similar ffff")?.unwrap_or_default().contains("No incident has this id"));
    // The bot never answers its own comments, even where a person posts with its token.
    let own = stage.world.comments().pop().unwrap_or_default();
    assert_eq!(say(9, "ann", "MEMBER", &own.replace("makes", "\n@oomdoc help\nmakes"))?, None);
    let mut program = issue_comment(10, ME, "MEMBER", "@oomdoc help");
    program["comment"]["user"]["type"] = "Bot".into();
    assert_eq!(stage.github("issue_comment", "c10", &program)?, Receipt::Taken(0));
    Ok(())
}

#[test]
fn the_same_trouble_is_told_once_a_day() -> Outcome {
    let stage = Stage::new(SLACK)?;
    for number in 100..104 {
        stage.world.job(number, Job::failed(&OOM.replace("10:00", &format!("1{}:00", number - 100))));
        stage.github("workflow_job", &number.to_string(), &workflow_job(number, "failure"))?;
        stage.settle()?;
    }
    assert_eq!(stage.world.with(|state| state.messages.len()), 1);
    stage.clock.fetch_add(25 * 3_600_000, Ordering::SeqCst);
    stage.world.job(104, Job::failed(&OOM.replace("10:00", "20:00")));
    stage.github("workflow_job", "104", &workflow_job(104, "failure"))?;
    stage.settle()?;
    let messages = stage.world.with(|state| state.messages.clone());
    assert_eq!(messages.len(), 2);
    assert!(messages[1].1.to_string().contains("and 3 more since"), "{}", messages[1].1);
    Ok(())
}

#[test]
fn a_chat_that_is_busy_is_told_later_and_one_that_refuses_never() -> Outcome {
    let stage = Stage::new("[[channel]]\nname = \"ops\"\nto.dingtalk.address = CHAT\n")?;
    stage.world.job(100, Job::failed(OOM));
    let busy = json!({ "errcode": 130_101, "errmsg": "send too fast" });
    stage
        .world
        .with(|state| state.chat.extend([busy, json!({ "errcode": 310_000, "errmsg": "keywords not in content" })]));
    stage.github("workflow_job", "d", &workflow_job(100, "failure"))?;
    stage.work()?;
    assert!(stage.bot.waiting()?[0].due >= NOW + 60_000);
    stage.settle()?;
    let dead = stage.bot.dead()?;
    assert!(dead[0].error.as_deref().is_some_and(|error| error.contains("310000: keywords")), "{dead:?}");
    assert_eq!((stage.world.with(|state| state.messages.len()), stage.world.comments().len()), (2, 1));
    Ok(())
}

/// A job whose name and log are full of markup that a forge or chat would obey.
fn hostile() -> Job {
    let name = "train <!channel> @all <at id=all></at> [x](https://evil.example) *b* `c` </font>";
    let stack =
        "Traceback (most recent call last):\n  File \"/w/train.py\", line 7, in <module>\n    loss.backward()\n";
    Job { name, ..Job::failed(&format!("{stack}{}", OOM.split_once(' ').unwrap_or_default().1)) }
}

#[test]
fn each_chat_is_told_in_its_own_shape() -> Outcome {
    let folder = tempfile::tempdir()?;
    let secret = folder.path().join("sign");
    std::fs::write(&secret, "SECabc")?;
    let secret = format!("{{ file = {:?} }}", secret.display().to_string());
    let channels = [
        ("slack", "to.slack.address = CHAT".to_owned()),
        ("feishu", format!("to.feishu = {{ address = CHAT, secret = {secret} }}")),
        ("dingtalk", format!("to.dingtalk = {{ address = CHAT, secret = {secret} }}")),
        ("wecom", "to.wecom.address = CHAT".to_owned()),
        ("others", "projects = [\"you/it\"]\nto.slack.address = CHAT".to_owned()),
    ];
    let rows = channels.map(|(name, to)| format!("[[channel]]\nname = {name:?}\n{to}\n")).concat();
    let stage = Stage::new(&rows)?;
    stage.world.job(100, hostile());
    stage.github("workflow_job", "d", &workflow_job(100, "failure"))?;
    stage.settle()?;
    let messages = stage.world.with(|state| state.messages.clone());
    assert_eq!(messages.len(), 4);
    let shown =
        messages.iter().map(|(target, body)| Ok(format!("POST {target}\n{}\n", serde_json::to_string_pretty(body)?)));
    insta::assert_snapshot!("chats", shown.collect::<Result<Vec<String>, serde_json::Error>>()?.join("\n"));
    for (_, body) in &messages {
        let words = body.to_string();
        let is_plain = words.contains("plain_text");
        assert!(
            !words.contains("@all") && (is_plain || !words.contains("<at") && !words.contains("https://evil")),
            "{words}"
        );
    }
    Ok(())
}

#[test]
fn mail_is_sent_as_text_and_as_a_page() -> Outcome {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let taken = std::thread::spawn(move || take_mail(&listener).unwrap_or_default());
    let to = format!(
        "server = \"127.0.0.1\", port = {port}, security = \"none\", from = \"oomdoc <o@example.com>\", to = [\"ops@example.com\"]"
    );
    let stage = Stage::new(&format!("[[channel]]\nname = \"mail\"\nto.email = {{ {to} }}\n"))?;
    stage.world.job(100, hostile());
    stage.github("workflow_job", "d", &workflow_job(100, "failure"))?;
    stage.settle()?;
    assert!(stage.bot.dead()?.is_empty(), "{:?}", stage.bot.dead()?);
    let mail = taken.join().map_err(|_| "no mail")?;
    let boundary =
        mail.split("boundary=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("none").to_owned();
    let is_told = |line: &&str| !line.starts_with("Date: ");
    let mail: Vec<String> = mail.lines().filter(is_told).map(|line| line.replace(&boundary, "BOUNDARY")).collect();
    insta::assert_snapshot!("mail", mail.join("\n"));
    Ok(())
}

/// Speaks SMTP with one client, and returns what the client sent.
fn take_mail(listener: &std::net::TcpListener) -> Outcome<String> {
    use std::io::{BufRead, Write};
    let (mut stream, _) = listener.accept()?;
    let mut reader = std::io::BufReader::new(stream.try_clone()?);
    write!(stream, "220 here\r\n")?;
    let mut mail = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.starts_with("QUIT") {
            return Ok(mail);
        }
        if !line.starts_with("DATA") {
            write!(stream, "250 ok\r\n")?;
            continue;
        }
        write!(stream, "354 go on\r\n")?;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            if line == ".\r\n" {
                break;
            }
            mail.push_str(&line);
        }
        write!(stream, "250 ok\r\n")?;
    }
}

#[test]
fn killed_at_any_moment_it_answers_each_job_once() -> Outcome {
    let knowledge = Arc::new(Knowledge::shipped()?);
    let more = format!("# as an app\n{SLACK}");
    let stage = |at: u64, is_done: bool| -> Outcome<Stage> {
        let mut stage = Stage::with(&more, Arc::clone(&knowledge))?;
        stage.world.job(100, Job::failed(OOM));
        stage.world.with(|state| state.members.insert("ann".to_owned(), json!("admin")));
        stage.github("workflow_job", "d", &workflow_job(100, "failure"))?;
        let asked = "@oomdoc resolve --did rest --worked";
        stage.github("issue_comment", "c", &issue_comment(1001, "ann", "OWNER", asked))?;
        stage.world.fuse.set(at, is_done);
        if at > 0 {
            assert!(stage.settle().is_err(), "it was killed at {at}");
            stage.restart()?;
        }
        stage.settle()?;
        Ok(stage)
    };
    let events = stage(0, false)?.world.fuse.count();
    assert!(events > 30, "{events}");
    let mut lost = Vec::new();
    // With OOMDOC_LONG every moment is tried; otherwise a quarter of them, and which ones depends on the seed.
    let each = if env::var_os("OOMDOC_LONG").is_some() { 1 } else { 4 };
    let seed: u64 = env::var("OOMDOC_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    for at in (1..=events).filter(|at| (at + seed).is_multiple_of(each)) {
        for is_done in [false, true] {
            let stage = stage(at, is_done)?;
            let comments = stage.world.comments();
            assert_eq!(comments.len(), 2, "killed at {at}, {is_done}: {comments:?}");
            let (checks, messages) = stage.world.with(|state| (state.checks.len(), state.messages.len()));
            assert_eq!((checks, stage.incidents()?.len(), stage.outcomes()?.len()), (1, 1, 1), "{at} {is_done}");
            assert!(stage.bot.waiting()?.is_empty() && stage.bot.dead()?.is_empty(), "{at} {is_done}");
            assert!(messages < 2, "{at} {is_done}");
            if messages == 0 {
                lost.push((at, is_done));
            }
        }
    }
    // A chat cannot be asked whether it has a message. So one may be lost, but only by a kill between noting that it is
    // about to be sent and sending it.
    match each {
        1 => assert!(lost.len() == 2 && lost[0].0 + 1 == lost[1].0, "{lost:?}"),
        _ => assert!(lost.len() < 3, "{lost:?}"),
    }
    Ok(())
}
