//! Logs on many nodes: joining the nodes' digests says the same as one analysis of all logs.

use std::collections::HashSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use assert_cmd::Command;
use oomdoc::internal::digest::{Digest, LARGEST, analyze_digest, read_on};
use oomdoc::internal::knowledge::Knowledge;
use oomdoc::internal::redact::Redactor;
use oomdoc::internal::source::Input;
use oomdoc::model::{Kind, Report};
use oomdoc::{Grouping, Options, analyze_inputs_by_job};
use tempfile::TempDir;

use crate::support::fleets::{Fleet, Story};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Pseudo-random numbers, the same for the same seed.
struct Chance(u64);

impl Chance {
    fn new() -> Chance {
        let seed = env::var("OOMDOC_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
        Chance(0x9e37_79b9_7f4a_7c15 ^ seed)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }

    fn shuffled<T>(&mut self, mut items: Vec<T>) -> Vec<T> {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
        items
    }
}

/// The cases' folders: those of `corpus/`, and of `$OOMDOC_LABELLED` where it is set.
fn cases() -> Outcome<Vec<PathBuf>> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let roots = [Some(own), env::var_os("OOMDOC_LABELLED").map(PathBuf::from)];
    let mut cases = Vec::new();
    for root in roots.into_iter().flatten() {
        let entries = fs::read_dir(&root)?.collect::<Result<Vec<_>, _>>()?;
        cases.extend(entries.into_iter().map(|entry| entry.path()).filter(|path| path.is_dir()));
    }
    cases.sort();
    Ok(cases)
}

/// Spreads a case over some nodes: its logs cut between lines, its other files whole. Returns the nodes' names.
fn scattered(case: &Path, folder: &Path, chance: &mut Chance) -> Outcome<Vec<String>> {
    let count = 2 + chance.below(15);
    let node = |number: usize| format!("node-{number:02}");
    let mut used = Vec::new();
    let mut put = |name: &str, bytes: &[u8], number: usize| -> Outcome {
        let folder = folder.join(node(number));
        fs::create_dir_all(&folder)?;
        used.push(node(number));
        Ok(fs::write(folder.join(name), bytes)?)
    };
    for entry in fs::read_dir(case)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if !path.is_file() || ["expected.toml", "truth.json"].contains(&&*name) || name.starts_with("README") {
            continue;
        }
        let bytes = fs::read(&path)?;
        let pieces =
            if [".log", ".txt", ".out"].iter().any(|end| name.ends_with(end)) { 1 + chance.below(4) } else { 1 };
        let mut cuts: Vec<usize> = (1..pieces)
            .filter_map(|_| {
                let from = chance.below(bytes.len());
                bytes[from..].iter().position(|byte| *byte == b'\n').map(|end| from + end + 1)
            })
            .chain([0, bytes.len()])
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        for (piece, range) in cuts.windows(2).enumerate() {
            put(&format!("{piece}-{name}"), &bytes[range[0]..range[1]], chance.below(count))?;
        }
    }
    used.sort();
    used.dedup();
    Ok(used)
}

/// The reports of one analysis of all files, where each file has its node's name before its path.
fn at_once(folder: &Path, nodes: &[String]) -> Outcome<Vec<Report>> {
    let (mut inputs, mut named) = (Vec::new(), Vec::new());
    for node in nodes {
        let folder = folder.join(node);
        let mut files = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Outcome<Vec<_>>>()?;
        files.sort();
        for file in files {
            let mut input = Input::open(&file.to_string_lossy())?;
            input.path = format!("{node}:{}", input.path).into();
            inputs.push(input);
        }
        named.push(format!("{node}:{}", folder.display()));
    }
    Ok(analyze_inputs_by_job(inputs, Vec::new(), &named, &Options::default())?)
}

fn redactor() -> Outcome<Redactor> {
    Ok(Redactor::new(&Knowledge::shipped()?.secrets)?)
}

/// The digest of a node's logs, as bytes.
fn digested(folder: &Path, node: &str, redactor: &Redactor) -> Outcome<Vec<u8>> {
    let content = read_on(&[folder.join(node).to_string_lossy().into_owned()], node, Options::default())?;
    Ok(Digest::of(node, content, redactor)?.bytes())
}

/// Joins all digests in random order, two at a time.
fn joined(mut digests: Vec<Vec<u8>>, chance: &mut Chance) -> Outcome<Digest> {
    loop {
        digests = chance.shuffled(digests);
        let mut whole = Digest::default();
        for bytes in digests.drain(digests.len().saturating_sub(2)..) {
            whole.read(&bytes[..])?;
        }
        if digests.is_empty() {
            return Ok(whole);
        }
        digests.push(whole.bytes());
    }
}

fn merged(digest: Digest) -> Outcome<Vec<Report>> {
    let (reports, damaged) = analyze_digest(digest, Options::default(), Grouping::ByJob)?;
    assert!(damaged.is_empty(), "{damaged:?}");
    Ok(reports.into_iter().map(without_nodes).collect())
}

fn without_nodes(mut report: Report) -> Report {
    report.nodes = None;
    report.neighbours.clear();
    report
}

#[test]
fn joined_digests_say_what_one_analysis_says() -> Outcome {
    let (redactor, mut chance) = (redactor()?, Chance::new());
    let (mut wrong, mut masked, mut all) = (Vec::new(), 0, 0);
    for case in cases()? {
        let folder = TempDir::new()?;
        let nodes = scattered(&case, folder.path(), &mut chance)?;
        let whole = at_once(folder.path(), &nodes)?;
        let digests = nodes.iter().map(|node| digested(folder.path(), node, &redactor)).collect::<Outcome<Vec<_>>>()?;
        assert!(digests.iter().all(|digest| digest.len() <= LARGEST + 1024), "{}", case.display());
        let parts = merged(joined(digests, &mut chance)?)?;
        all += 1;
        // Masked text is no longer verbatim, so less can be recognised in it.
        if serde_json::to_string(&parts)?.contains('\u{2039}') {
            masked += 1;
        } else if parts != whole {
            let (parts, whole) = (serde_json::to_string_pretty(&parts)?, serde_json::to_string_pretty(&whole)?);
            let differs = parts.lines().zip(whole.lines()).find(|(one, other)| one != other);
            wrong.push(format!("{}: {differs:?}", case.display()));
        }
    }
    assert!(masked * 10 < all, "{masked} of {all} cases hold secrets");
    assert!(wrong.is_empty(), "{} of {all}:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

/// The report on a job whose nodes were each digested and then joined.
fn read_of_all(fleet: Fleet, folder: &Path, nodes: impl Iterator<Item = u32>) -> Outcome<Report> {
    let redactor = redactor()?;
    let digests = nodes.map(|node| digested(folder, &Fleet::node(node), &redactor)).collect::<Outcome<Vec<_>>>()?;
    let mut whole = joined(digests, &mut Chance::new())?;
    if fleet.story == Story::NodeLost {
        whole.add(Digest::unanswered(&Fleet::node(fleet.root / fleet.ranks_per_node)));
    }
    let (mut reports, damaged) = analyze_digest(whole, Options::default(), Grouping::ByJob)?;
    assert!(damaged.is_empty() && reports.len() == 1, "{damaged:?}, {} reports", reports.len());
    reports.pop().ok_or_else(|| "no report".into())
}

/// Nodes, and ranks per node; more of them where `$OOMDOC_LONG` is set.
fn size() -> (u32, u32) {
    if env::var_os("OOMDOC_LONG").is_some() { (512, 8) } else { (24, 8) }
}

#[test]
fn the_root_is_found_among_ranks_that_only_followed() -> Outcome {
    let (nodes, ranks_per_node) = size();
    for story in Story::ALL {
        let root = nodes * ranks_per_node * 2 / 5 + 3;
        let fleet = Fleet { story, nodes, ranks_per_node, steps: 48, root, skewed: Some((nodes - 2, 47.0)) };
        let node = Fleet::node(root / ranks_per_node);
        let folder = TempDir::new()?;
        fleet.write(folder.path())?;
        let answering = (0..nodes).filter(|number| story != Story::NodeLost || Fleet::node(*number) != node);
        let report = read_of_all(fleet, folder.path(), answering)?;
        let told = report.nodes.as_ref().ok_or("no nodes")?;
        assert_eq!(told.count, u64::from(nodes), "{story:?}");
        let [clock] = &told.clocks[..] else { return Err(format!("{story:?}: {:?}", told.clocks).into()) };
        assert_eq!(clock.node, Fleet::node(nodes - 2));
        assert!((clock.seconds - 47.0).abs() < 1.0, "{}", clock.seconds);
        if story == Story::NodeLost {
            assert_eq!((report.verdict, &told.unanswered[..]), (Kind::None, &[node][..]));
            assert!(report.other_failure.is_some());
            continue;
        }
        let incident = report.incidents.first().ok_or("no incident")?;
        let kind = if story == Story::SlowLeak { Kind::HostOomKernel } else { Kind::GpuOom };
        assert_eq!(incident.kind, kind, "{story:?}");
        assert!(incident.evidence[0].location.path.starts_with(&*node), "{story:?}: {:?}", incident.evidence);
        // A report on thousands of ranks must not repeat everything they printed.
        let series: HashSet<_> =
            incident.timeline.iter().map(|point| (&point.source.path, &point.series, point.name)).collect();
        assert!(series.len() <= 256, "{story:?}: {} series", series.len());
        assert!(series.iter().any(|(path, ..)| path.starts_with(&*node)), "{story:?}: nothing of {node}");
        match story {
            Story::SlowLeak => {
                assert_eq!(incident.victim.pid, Some(20_000 + root));
                assert_eq!(incident.victim.host.as_deref(), Some(&*node));
            }
            _ => assert_eq!(incident.victim.rank, Some(root)),
        }
        if story == Story::TwoRoots {
            let second = report.incidents.iter().flat_map(|incident| &incident.victims);
            assert!(second.into_iter().any(|victim| victim.rank == Some(fleet.second())), "{:?}", incident.victims);
        }
    }
    Ok(())
}

fn oomdoc(home: &Path) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
    command.env("OOMDOC_HOME", home).env("OOMDOC_NO_CONFIG", "1");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_command_digests_a_node_and_merges_all() -> Outcome {
    let home = TempDir::new()?;
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/openrlhf-72b-resume");
    let mut all = Vec::new();
    for (node, files) in [("gpu-1", &["job.log", "launch.sh", "ds_config.json"][..]), ("gpu-2", &["dmesg.log"])] {
        let files: Vec<PathBuf> = files.iter().map(|file| case.join(file)).filter(|file| file.exists()).collect();
        assert!(!files.is_empty(), "{node}");
        let run = oomdoc(home.path()).arg("digest").args(files).args(["--node", node]).output()?;
        assert!(run.status.success(), "{}", text(&run.stderr));
        // The digests are concatenated with line ends between them, as `cat` or a shell loop does.
        all.extend([&run.stdout[..], b"\n"].concat());
    }
    let merge = |format: &str, input: &[u8]| -> Outcome<_> {
        let run = oomdoc(home.path())
            .args(["merge", "-", "--unanswered", "gpu-3", "--no-save", "--format", format])
            .write_stdin(input)
            .output()?;
        Ok((run.status.code(), text(&run.stdout), text(&run.stderr)))
    };
    let (status, json, _) = merge("json", &all)?;
    let report: serde_json::Value = serde_json::from_str(&json)?;
    assert_eq!((status, &report["verdict"]), (Some(0), &"host_oom_cgroup".into()));
    assert_eq!(report["nodes"], serde_json::json!({"count": 3, "unanswered": ["gpu-3"]}));
    let proof = report["incidents"][0]["evidence"].as_array().ok_or("no proof")?;
    let is_of_kernel = |cite: &serde_json::Value| cite["path"].as_str().is_some_and(|path| path.starts_with("gpu-2:"));
    assert!(proof.iter().any(is_of_kernel), "{proof:?}");
    let brief = ["merge", "-", "--brief", "--no-save", "--unanswered", "gpu-3"];
    let brief = oomdoc(home.path()).args(brief).write_stdin(all.clone()).output()?;
    assert!(text(&brief.stdout).ends_with("1 of 3 nodes did not answer: gpu-3\n"), "{}", text(&brief.stdout));
    let (_, screen, _) = merge("text", &all)?;
    assert!(screen.contains("1 of 3 nodes did not answer: gpu-3"), "{screen}");
    // The digests include the lines around the evidence, so the files themselves need not be read.
    let (_, page, _) = merge("html", &all)?;
    assert!(page.contains("1 of 3 nodes did not answer: gpu-3"));
    let whole = oomdoc(home.path()).args(["merge", "-", "--digest"]).write_stdin(all.clone()).output()?;
    assert_eq!(merge("json", &whole.stdout)?.1, json);

    // A digest that is damaged, cut off, of a newer version or no digest at all is reported, and the others still
    // count.
    let half = all.len() / 2;
    let newer = text(&all[..40]).replace("\"version\":1", "\"version\":9");
    let mut changed = all.clone();
    changed[half] ^= 1;
    for (bytes, said) in [
        (&all[..all.len() - 9], "the digest of node gpu-2 is cut off"),
        (&changed[..], "is damaged: its bytes are others than were written"),
        (&[newer.as_bytes(), &all[40..]].concat()[..], "a digest of version 9"),
        (&b"step 1 | loss 2.0\n"[..], "is no digest"),
    ] {
        let file = home.path().join("other.digest");
        fs::write(&file, bytes)?;
        let run =
            oomdoc(home.path()).arg("merge").arg(&file).arg("-").arg("--no-save").write_stdin(all.clone()).output()?;
        let errors = text(&run.stderr);
        assert!(run.status.success() && errors.contains(said), "{said}: {errors}");
        assert!(text(&run.stdout).starts_with("Container or cgroup out of memory"), "{}", text(&run.stdout));
    }
    let run = oomdoc(home.path()).args(["merge", "-"]).write_stdin("no digest").output()?;
    assert_eq!(run.status.code(), Some(2));
    assert!(text(&run.stderr).contains("no digest could be read"), "{}", text(&run.stderr));
    Ok(())
}

#[test]
fn a_digest_is_small_and_holds_no_secret() -> Outcome {
    let folder = TempDir::new()?;
    let mut log = String::from("export HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyzABCDEFGH\n");
    for number in 0..6_000_u64 {
        // Incompressible content: each line has different numbers.
        let chance = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        log.push_str(&format!(
            "[rank{rank}]: Traceback (most recent call last):\n[rank{rank}]:   File \"/w/{chance:x}.py\", line {line}, in f{chance}\n[rank{rank}]:     step({chance})\n[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {mib}.{part:02} MiB. GPU 0 has a total capacity of 79.11 GiB of which {mib}.{part:02} MiB is free. token hf_abcdefghijklmnopqrstuvwxyzABCDEFGH\n",
            rank = number % 512,
            line = chance % 9973,
            mib = 1 + chance % 8191,
            part = chance % 97,
        ));
    }
    fs::write(folder.path().join("job.log"), log)?;
    let path = folder.path().to_string_lossy().into_owned();
    let redactor = redactor()?;
    let content = read_on(&[path], "gpu-1", Options::default())?;
    assert!(serde_json::to_string(&content)?.contains("hf_abcdefghijklmnop"), "nothing to mask");
    let digest = Digest::of("gpu-1", content, &redactor)?;
    assert!(digest.bytes().len() <= LARGEST + 1024, "{} bytes", digest.bytes().len());
    let reports = merged(digest)?;
    assert_eq!(reports[0].verdict, Kind::GpuOom);
    assert!(!serde_json::to_string(&reports)?.contains("hf_abcdefghijklmnop"));
    let told = reports[0].inputs[0].warning.as_deref().unwrap_or_default();
    assert!(told.contains("found no room"), "{told:?}");
    Ok(())
}

#[test]
fn what_was_read_twice_counts_once() -> Outcome {
    let folder = TempDir::new()?;
    let (redactor, node) = (redactor()?, "gpu-1");
    let log = folder.path().join(node).join("job.log");
    fs::create_dir_all(folder.path().join(node))?;
    let whole =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/llama3-8b-optimizer-step/job.log"))?;
    let half = whole[..whole.len() / 2].rfind('\n').unwrap_or(0);
    fs::write(&log, &whole[..half])?;
    let before = digested(folder.path(), node, &redactor)?;
    fs::write(&log, &whole)?;
    let after = digested(folder.path(), node, &redactor)?;
    let mut last = Digest::default();
    last.read(&after[..])?;
    let expected = merged(last)?;
    assert_eq!(expected[0].incidents[0].victims.len(), 1);
    let twice = joined(vec![after.clone(), before.clone(), after, before], &mut Chance::new())?;
    assert_eq!(merged(twice)?, expected);
    Ok(())
}
