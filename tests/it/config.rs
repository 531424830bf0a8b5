//! `oomdoc.toml`: which value holds, where it comes from, and what the settings of somebody else's project may not do.

use std::fs;
use std::path::Path;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::home::{HOST, Outcome, log};
use crate::support::project::Place;

/// The value of `key`, and where it comes from in a few words.
fn held<'v>(shown: &'v Value, key: &str) -> (&'v Value, String) {
    let is_it = |setting: &&Value| setting["key"] == key;
    let Some(found) = shown["settings"].as_array().and_then(|all| all.iter().find(is_it)) else {
        return (&Value::Null, "nobody".to_owned());
    };
    let origin = &found["origin"];
    let words = match origin["from"].as_str() {
        Some("file") => format!("{}:{}", origin["path"].as_str().unwrap_or_default(), origin["line"]),
        Some("default") => "default".to_owned(),
        _ => origin["name"].as_str().unwrap_or_default().to_owned(),
    };
    (&found["value"], words)
}

#[test]
fn flags_go_before_variables_before_the_project_before_the_user() -> Outcome {
    const OWN: &str = "~/.config/oomdoc/oomdoc.toml";
    let place = Place::new()?;
    let own =
        "language = 'zh'\ncolor = 'always'\nhome = '/own'\n[triage]\nfail_on = ['gpu_oom']\nnotify = 'http://a/b'\n";
    let project = "\ncolor = 'never'\nlanguage = 'en'\n[triage]\nfail_on = ['any']\n";
    let variables = [
        ("OOMDOC_LANG", "zh"),
        ("OOMDOC_COLOR", "auto"),
        ("OOMDOC_HOME", "/variable"),
        ("OOMDOC_TRIAGE_FAIL_ON", "host_oom_ray, gpu_oom"),
        ("OOMDOC_TRIAGE_NOTIFY", "http://c"),
    ];
    let check = |variables: &[(&str, &str)], arguments: &[&str], expected: [(&str, Value, String); 5]| -> Outcome {
        let shown = place.show(variables, arguments)?;
        for (key, value, origin) in &expected {
            assert_eq!(held(&shown, key), (value, origin.clone()), "{key} of {shown:#}");
        }
        Ok(())
    };
    let default = || "default".to_owned();
    let data = place.path(".local/share/oomdoc").display().to_string();
    check(
        &[("LANG", "zh_CN.UTF-8")],
        &[],
        [
            ("language", json!("zh"), "LANG".into()),
            ("color", json!("auto"), default()),
            ("home", json!(data), default()),
            ("triage.fail_on", json!(["none"]), default()),
            ("triage.notify", Value::Null, "nobody".into()),
        ],
    )?;
    place.own(own)?;
    check(
        &[("LANG", "en_US.UTF-8")],
        &[],
        [
            ("language", json!("zh"), format!("{OWN}:1")),
            ("color", json!("always"), format!("{OWN}:2")),
            ("home", json!("/own"), format!("{OWN}:3")),
            ("triage.fail_on", json!(["gpu_oom"]), format!("{OWN}:5")),
            ("triage.notify", json!("http://a/…"), format!("{OWN}:6")),
        ],
    )?;
    place.project(project)?;
    check(
        &[],
        &[],
        [
            ("language", json!("en"), "oomdoc.toml:3".into()),
            ("color", json!("never"), "oomdoc.toml:2".into()),
            ("home", json!("/own"), format!("{OWN}:3")),
            ("triage.fail_on", json!(["any"]), "oomdoc.toml:5".into()),
            ("triage.notify", json!("http://a/…"), format!("{OWN}:6")),
        ],
    )?;
    check(
        &variables,
        &[],
        [
            ("language", json!("zh"), "OOMDOC_LANG".into()),
            ("color", json!("auto"), "OOMDOC_COLOR".into()),
            ("home", json!("/variable"), "OOMDOC_HOME".into()),
            ("triage.fail_on", json!(["host_oom_ray", "gpu_oom"]), "OOMDOC_TRIAGE_FAIL_ON".into()),
            ("triage.notify", json!("http://c"), "OOMDOC_TRIAGE_NOTIFY".into()),
        ],
    )?;
    let shown = place.show(&variables, &["--lang", "en", "--color", "never", "--home", "/flag"])?;
    assert_eq!(held(&shown, "language"), (&json!("en"), "--lang".into()));
    assert_eq!(held(&shown, "color"), (&json!("never"), "--color".into()));
    assert_eq!(held(&shown, "home"), (&json!("/flag"), "--home".into()));
    assert_eq!(shown["files"], json!([{"path": "oomdoc.toml", "whose": "project"}, {"path": OWN, "whose": "user"}]));
    Ok(())
}

#[test]
fn lists_add_up() -> Outcome {
    let place = Place::new()?;
    place.own("never_read = ['*.pem']\n[[redaction]]\nname = 'ticket'\npattern = 'OPS-\\d+'\n")?;
    place.project("never_read = [\n  'secrets/**',\n  '*.key',\n]\n")?;
    let shown = place.oomdoc().args(["config", "show"]).output()?;
    let shown = String::from_utf8(shown.stdout)?;
    let rows: Vec<&str> = shown.lines().filter(|line| line.starts_with("never") || line.starts_with("red")).collect();
    assert_eq!(
        rows,
        [
            "never_read      oomdoc.toml:2                   secrets/**",
            "never_read      oomdoc.toml:3                   *.key",
            "never_read      ~/.config/oomdoc/oomdoc.toml:1  *.pem",
            "redaction       ~/.config/oomdoc/oomdoc.toml:2  ‹ticket›",
        ]
    );
    Ok(())
}

#[test]
fn a_file_is_named_or_none_is_read() -> Outcome {
    let place = Place::new()?;
    place.own("color = 'always'\n")?;
    place.project("language = 'zh'\n")?;
    place.write("project/ci.toml", "home = 'kept'\n")?;
    let language = |variables: &[(&str, &str)], arguments: &[&str]| -> Result<_, Box<dyn std::error::Error>> {
        let shown = place.show(variables, arguments)?;
        let said = ["language", "home", "color"].map(|key| held(&shown, key).1);
        Ok(said)
    };
    let named = ["default".to_owned(), "ci.toml:1".to_owned(), "~/.config/oomdoc/oomdoc.toml:1".to_owned()];
    let none = ["default", "default", "default"].map(str::to_owned);
    assert_eq!(language(&[], &["--config", "ci.toml"])?, named, "a file that the user names may set everything");
    assert_eq!(language(&[("OOMDOC_CONFIG", "ci.toml")], &[])?, named);
    assert_eq!(language(&[("OOMDOC_NO_CONFIG", "1")], &["--config", "ci.toml"])?, named);
    assert_eq!(language(&[("OOMDOC_CONFIG", "ci.toml")], &["--no-config"])?, none);
    assert_eq!(language(&[("OOMDOC_NO_CONFIG", "1")], &[])?, none);
    place.oomdoc().args(["config", "show", "--config", "no.toml"]).assert().code(2).stderr(contains("no.toml"));
    Ok(())
}

/// Help was once English for users who had chosen Chinese only in their settings.
#[test]
fn help_and_errors_speak_the_language_of_the_settings() -> Outcome {
    let place = Place::new()?;
    place.own("language = 'zh'\n")?;
    place.oomdoc().arg("--help").assert().success().stdout(contains("用法"));
    place.oomdoc().args(["analyze", "/no/such/file"]).assert().code(2).stderr(contains("错误"));
    place.oomdoc().args(["--no-config", "--help"]).assert().success().stdout(contains("Usage"));
    place.own("language = 'zh\n")?;
    place.oomdoc().arg("--help").assert().success().stdout(contains("Usage"));
    place.oomdoc().args(["completions", "bash"]).assert().success();
    Ok(())
}

#[test]
fn a_launch_configuration_is_no_file_of_settings() -> Outcome {
    let place = Place::new()?;
    for (name, content) in [
        ("train.yaml", "model_name_or_path: org/model\nbf16: true\n"),
        ("ds.json", "{\"zero_optimization\": {\"stage\": 3}}\n"),
        ("tune.py", "import torch\nbatch_size = 4\n"),
        ("run.sh", "NGPU=8 ./train.sh\n"),
        ("model.toml", "[training]\nlocal_batch_size = 4\n"),
    ] {
        place.write(&format!("project/{name}"), content)?;
        let wrong = place.oomdoc().args(["--config", name, "config", "show"]).assert().code(2);
        wrong.stderr(contains(format!("{name} holds no settings of oomdoc")).and(contains("oomdoc analyze job.log")));
    }
    Ok(())
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_what_was_meant() -> Outcome {
    let place = Place::new()?;
    for (content, words) in [
        ("\nlangauge = 'zh'\n", &["oomdoc.toml:2: there is no key `langauge`", "did you mean `language`?"][..]),
        ("[triage]\nfail-on = ['any']\n", &["oomdoc.toml:2: there is no key `fail-on`", "`fail_on`"]),
        ("[triage]\nfail_on = ['gpu_om']\n", &["oomdoc.toml:2", "gpu_om", "gpu_oom"]),
        ("language = 'de'\n", &["oomdoc.toml:1", "`de`", "`en`"]),
        ("language =\n", &["oomdoc.toml:1"]),
        ("[[hosts]]\nname = '*'\nfacts = { gpus = 'A100' }\n", &["oomdoc.toml:1: no fact is called `gpus`", "gpu"]),
        ("[[hosts]]\nname = '*'\nfacts = { gpu = ['A100'] }\n", &["oomdoc.toml:3: a fact is words, a number"]),
        ("[[ignore]]\nkind = 'gpu_oom'\n", &["oomdoc.toml:1", "missing field `reason`"]),
        ("[[ignore]]\nkind = 'gpu_oom'\nreason = ' '\n", &["oomdoc.toml:3: a reason has 1 to 500 letters"]),
        ("[[ignore]]\nreason = 'x'\n", &["oomdoc.toml:2: this row would ignore every incident"]),
        ("[[ignore]]\ncause = 'fragmentatoin'\nreason = 'x'\n", &["no cause is called", "did you mean fragmentation?"]),
        ("[[ignore]]\nkind = 'gpu_oom'\nuntil = 'soon'\nreason = 'x'\n", &["oomdoc.toml:3", "`until` is a date"]),
        ("[[ignore]]\nfingerprint = 'a'\nreason = 'x'\n", &["oomdoc.toml:2: a fingerprint has eight signs or more"]),
        ("[[redaction]]\nname = 'x'\npattern = '('\n", &["oomdoc.toml:1: `x` has a pattern that is none"]),
        ("[[redaction]]\nname = 'x'\n", &["oomdoc.toml:1: `x` needs either a pattern or names"]),
        ("never_read = ['']\n", &["oomdoc.toml:1: `` is no pattern"]),
        ("rules = ['none']\n", &["oomdoc.toml:1: `none` cannot be read"]),
    ] {
        place.project(content)?;
        let done = place.oomdoc().args(["config", "show"]).output()?;
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{content}: {said}");
        words.iter().for_each(|words| assert!(said.contains(words), "{content}: {said}"));
    }
    place.project("")?;
    place
        .oomdoc()
        .args(["config", "show"])
        .env("OOMDOC_COLOR", "red")
        .assert()
        .code(2)
        .stderr(contains("OOMDOC_COLOR"));
    Ok(())
}

#[test]
fn a_cloned_repository_writes_sends_and_reads_nothing_elsewhere() -> Outcome {
    let place = Place::new()?;
    place.write("outside/secret.toml", "id = 'hunter2'\n")?;
    let outside = place.path("outside");
    let absolute = format!("rules = ['{}']\n", outside.display());
    for (content, words) in [
        ("home = '../outside'\n", "`home` may not be set by a project's file"),
        ("[triage]\nnotify = 'http://127.0.0.1:9/'\n", "`triage.notify` may not be set by a project's file"),
        ("rules = ['../outside']\n", "`../outside` lies outside of the project"),
        ("rules = ['~/outside']\n", "`~/outside` cannot be read"),
        (&absolute, "lies outside of the project"),
    ] {
        place.project(content)?;
        for command in [&["analyze", "logs"][..], &["triage", "logs"], &["config", "show"]] {
            let done = place.oomdoc().args(command).assert().code(2);
            done.stdout("").stderr(contains(words).and(contains("hunter2").not()));
        }
    }
    // The same settings are allowed in the user's own file.
    place.project("")?;
    place.own("home = '~/outside'\n[triage]\nnotify = 'http://127.0.0.1:9/'\n")?;
    let shown = place.show(&[], &[])?;
    assert_eq!(held(&shown, "home").0, &json!(outside));
    Ok(())
}

#[cfg(unix)]
#[test]
fn links_do_not_lead_out_of_a_project() -> Outcome {
    let place = Place::new()?;
    place.write("outside/secret.toml", "hunter2 = 1\n")?;
    std::os::unix::fs::symlink(place.path("outside"), place.path("project/rules"))?;
    place.project("rules = ['rules']\n")?;
    let refused = |words: &str| {
        place
            .oomdoc()
            .args(["analyze", "logs"])
            .assert()
            .code(2)
            .stderr(contains(words).and(contains("hunter2").not()));
    };
    refused("lies outside of the project");
    fs::remove_file(place.path("project/oomdoc.toml"))?;
    std::os::unix::fs::symlink(place.path("outside/secret.toml"), place.path("project/oomdoc.toml"))?;
    refused("it is a link out of its folder");
    Ok(())
}

#[test]
fn odd_files_are_told_of() -> Outcome {
    let place = Place::new()?;
    let file = place.path("project/oomdoc.toml");
    let refused = |words: &str| {
        place.oomdoc().args(["analyze", "logs"]).assert().code(2).stderr(contains(words.to_owned()));
    };
    fs::write(&file, b"language = '\xff'\n")?;
    refused("it is not UTF-8");
    fs::write(&file, vec![b'#'; (1 << 20) + 1])?;
    refused("it is larger than 1 MiB");
    fs::write(&file, "a = ".to_owned() + &"[".repeat(100_000))?;
    refused("oomdoc.toml:1");
    fs::write(&file, "\u{feff}color = 'never'\n")?;
    place.oomdoc().args(["analyze", "--no-save", "logs"]).assert().success();
    fs::remove_file(&file)?;
    #[cfg(unix)]
    {
        assert!(std::process::Command::new("mkfifo").arg(&file).status()?.success());
        refused("it is no file");
    }
    Ok(())
}

/// The optimizer states fit on a host of 500 GiB but not on one of 100 GiB, so the host's size decides what is advised.
#[test]
fn what_is_known_of_a_host_decides_what_is_advised() -> Outcome {
    let place = Place::new()?;
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/llama3-8b-optimizer-step");
    let words = fs::read_to_string(corpus.join("job.log"))?;
    let from = |host: &str| -> String {
        words.lines().map(|line| format!("Nov 20 10:00:00 {host} train[90417]: {line}\n")).collect()
    };
    fs::copy(corpus.join("launch.sh"), place.path("project/logs/launch.sh"))?;
    let machine = oomdoc::internal::store::host_name().ok_or("a machine without a name")?;
    let advised = |log: &str, name: &str, more: &[&str]| -> Result<String, Box<dyn std::error::Error>> {
        place.write("project/logs/job.log", log)?;
        place.project(&format!("[[hosts]]\nname = '{name}'\nfacts.host.memory = '100GiB'\n"))?;
        let report = place.analyze(more)?;
        Ok(report["incidents"][0]["diagnoses"][0]["patches"][0]["knob"].as_str().unwrap_or_default().to_owned())
    };
    let (offloads, does_not) = ("--adam_offload", "--lora_rank");
    assert_eq!(advised(&from("gpu-a100-7"), "nowhere", &[])?, offloads);
    assert_eq!(advised(&from("gpu-a100-7"), "gpu-a100-*", &[])?, does_not);
    assert_eq!(advised(&from("gpu-h100-7"), "gpu-a100-*", &[])?, offloads);
    assert_eq!(advised(&from("gpu-h100-7"), &machine, &[])?, offloads, "the log is of another machine");
    assert_eq!(advised(&words, &machine, &[])?, does_not, "the log names no host");
    assert_eq!(advised(&words, &machine, &["--fact", "host.memory=500GiB"])?, offloads);
    Ok(())
}

#[test]
fn what_is_never_read_is_not_read() -> Outcome {
    let place = Place::new()?;
    place.write("project/logs/secrets/other.log", HOST)?;
    place.own("never_read = ['*.pem']\n")?;
    place.project("never_read = ['logs/secrets/**']\n")?;
    let report = place.analyze(&[])?;
    let inputs = report["inputs"].as_array().ok_or("no inputs")?;
    let warned: Vec<&str> = inputs.iter().filter_map(|input| input["warning"].as_str()).collect();
    assert_eq!(warned, ["logs/secrets/other.log is not read: oomdoc.toml:1 says `never_read`"], "{inputs:#?}");
    assert_eq!(report["verdict"], "gpu_oom");
    // `oomdoc.toml` itself is not taken for a configuration of the job.
    let done = place.oomdoc().args(["analyze", "logs/secrets/other.log"]).assert().code(2);
    done.stderr(contains("oomdoc.toml:1 says `never_read`"));
    Ok(())
}

#[test]
fn more_is_secret() -> Outcome {
    let place = Place::new()?;
    place.write("project/logs/job.log", &log("2026-10-01", "2.00").replace("GPU 0 has", "(OPS-1234) GPU 0 has"))?;
    place.own("[[redaction]]\nname = 'ticket'\npattern = 'OPS-\\d+'\n")?;
    let report = place.analyze(&["--redact"])?.to_string();
    assert!(report.contains("‹ticket›") && !report.contains("OPS-1234"), "{report}");
    Ok(())
}

#[test]
fn rules_of_a_project_hold_in_it() -> Outcome {
    let place = Place::new()?;
    place.oomdoc().args(["rules", "new", "house_rule", "--in", "rules"]).assert().success();
    place.project("rules = ['rules']\n")?;
    let done = place.oomdoc().args(["rules", "list"]).output()?;
    let listed = String::from_utf8_lossy(&done.stdout).into_owned();
    let refused = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(listed.contains("house_rule"), "{listed} {refused}");
    Ok(())
}

#[test]
fn every_key_is_documented_and_in_the_schema() -> Outcome {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let page = fs::read_to_string(docs.join("configuration.md"))?;
    let schema: Value = serde_json::from_str(&fs::read_to_string(docs.join("oomdoc.schema.json"))?)?;
    let properties =
        |schema: &Value| schema["properties"].as_object().map(|keys| keys.keys().cloned().collect::<Vec<_>>());
    let tables = [("triage", "TriageTable"), ("server", "ServerTable")];
    let is_table = |key: &String| tables.iter().any(|(name, _)| key == name);
    let mut written: Vec<String> =
        properties(&schema).ok_or("no keys")?.into_iter().filter(|key| !is_table(key)).collect();
    for (name, table) in tables {
        let keys = properties(&schema["$defs"][table]).ok_or("no table")?;
        written.extend(keys.iter().map(|key| format!("{name}.{key}")));
    }
    written.sort();
    let mut known: Vec<&str> = oomdoc::internal::settings::KEYS.iter().map(|key| key.name).collect();
    known.sort_unstable();
    assert_eq!(known, written);
    for key in oomdoc::internal::settings::KEYS {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{}` |", key.name))).ok_or(key.name)?;
        let ways = [key.variable, key.flag].into_iter().flatten();
        ways.for_each(|way| assert!(row.contains(&format!("`{way}`")), "{row}"));
        let is_everybody_s = key.setter == oomdoc::internal::settings::Setter::Anybody;
        assert_eq!(row.contains("every file"), is_everybody_s, "{row}");
    }
    let validator = jsonschema::validator_for(&schema)?;
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).ok_or("no example")?;
    let example = toml::from_str::<toml::Value>(&example.replace("2026-12-31", "'2026-12-31'"))?;
    assert!(validator.is_valid(&serde_json::to_value(example)?));
    assert!(!validator.is_valid(&json!({"langauge": "zh"})));
    Ok(())
}
