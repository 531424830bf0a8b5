//! PyTorch's memory snapshots: the findings match what the allocator itself reported, and nothing in a pickle is
//! executed. See `tests/fixtures/snapshot/README.md` for how the fixtures were made.

use std::error::Error;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oomdoc::internal::analyze_inputs;
use oomdoc::internal::knowledge::Knowledge;
use oomdoc::internal::redact::Redactor;
use oomdoc::internal::report::{Length, compact, html, markdown, outgoing, sarif, text};
use oomdoc::internal::snapshot::{Recording, SnapshotFindings};
use oomdoc::internal::source::Input;
use oomdoc::model::{Bytes, Kind, Phase, Report, Role, Snapshot, SnapshotMoment};
use oomdoc::{Language, Options, analyze};
use serde_json::Value;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/snapshot")
}

fn fixture(name: &str) -> Outcome<Vec<u8>> {
    Ok(fs::read(folder().join(format!("{name}.pickle")))?)
}

fn report_on(inputs: &[(&str, &[u8])]) -> Outcome<Report> {
    let inputs: Result<Vec<Input<'static>>, _> =
        inputs.iter().map(|(path, bytes)| Input::new(path, Cursor::new(bytes.to_vec()))).collect();
    Ok(analyze_inputs(inputs?, Vec::new(), &Options::default())?)
}

fn report_of(name: &str) -> Outcome<Report> {
    report_on(&[(&format!("{name}.pickle"), &fixture(name)?)])
}

fn category(snapshot: &Snapshot, name: &str) -> i128 {
    snapshot.categories.iter().find(|used| &*used.name == name).map_or(0, |used| used.bytes.0)
}

#[test]
fn what_is_found_is_what_the_allocator_knew() -> Outcome {
    let expected: Value = serde_json::from_slice(&fs::read(folder().join("expected.json"))?)?;
    for (name, known) in expected.as_object().ok_or("no table")? {
        let report = report_of(name)?;
        let [snapshot] = &report.snapshots[..] else { return Err(format!("{name}: not one device").into()) };
        let number = |key: &str| known[key].as_i64().map(i128::from);
        assert_eq!(Some(snapshot.in_use.0), number("in_use"), "{name}");
        assert_eq!(Some(snapshot.reserved.0), number("reserved"), "{name}");
        let sum: i128 = snapshot.categories.iter().map(|used| used.bytes.0).sum();
        assert_eq!(sum, snapshot.in_use.0, "{name}: purposes are all that is in use");
        let has_trace = name != "segments-only";
        if has_trace {
            assert_eq!(Some(snapshot.peak.0), number("peak"), "{name}");
        }
        assert_eq!(
            snapshot.refused.as_ref().map(|refused| refused.requested.0),
            number("requested").filter(|_| has_trace)
        );
        let free = number("device_free").filter(|_| has_trace);
        assert_eq!(snapshot.refused.as_ref().map(|refused| refused.device_free.0), free, "{name}");
        // The trace omits the rounding of blocks that were freed since: less than 1 MiB each.
        let rounding = snapshot.unused.pieces.max(number("pieces").unwrap_or(0) as u64) as i128 * Bytes::MIB.0;
        assert!((snapshot.unused.bytes.0 - number("unused").unwrap_or(0)).abs() <= rounding, "{name}: {snapshot:?}");
        assert!((snapshot.unused.largest.0 - number("largest_unused").unwrap_or(0)).abs() <= Bytes::MIB.0, "{name}");
        assert_eq!(Some(snapshot.segments_count as i128), number("segments"), "{name}");
    }
    Ok(())
}

#[test]
fn a_snapshot_that_ends_with_a_refusal_is_an_incident_of_its_own() -> Outcome {
    let report = report_of("optimizer-step")?;
    assert_eq!(report.verdict, Kind::GpuOom);
    let [incident] = &report.incidents[..] else { return Err("not one incident".into()) };
    assert_eq!(incident.phase.name, Phase::OptimizerStep);
    assert_eq!(&*incident.diagnoses[0].cause, "optimizer_states_on_gpu");
    assert_eq!((incident.victims.len(), incident.victim.device), (1, Some(0)));
    let snapshot = &report.snapshots[0];
    assert_eq!(snapshot.moment, SnapshotMoment::Refusal);
    let (weights, gradients) = (category(snapshot, "weights"), category(snapshot, "gradients"));
    assert!((gradients - weights).abs() * 1000 < weights, "every weight has a gradient of its size");
    assert!(category(snapshot, "optimizer_states") > weights);
    assert_eq!(snapshot.lines[0].file, "/workspace/train.py");
    assert_eq!((snapshot.lines[0].file_line, &*snapshot.lines[0].category), (15, "optimizer_states"));
    // A pickle has no lines, so citations have none.
    for cite in incident.evidence.iter().chain(&incident.phase.evidence) {
        assert_eq!((cite.location.line.0, cite.location.to_string().as_str()), (0, "optimizer-step.pickle"));
    }
    assert_eq!(report.inputs[0].role, Role::Snapshot);
    Ok(())
}

#[test]
fn where_the_stack_was_unwound_the_refusal_is_told_of_all_the_same() -> Outcome {
    let (whole, later) = (report_of("optimizer-step")?, report_of("unwound")?);
    let (whole, later) = (&whole.snapshots[0], &later.snapshots[0]);
    assert_eq!((later.moment, later.in_use, later.reserved), (SnapshotMoment::Refusal, whole.in_use, whole.reserved));
    assert_eq!((&later.categories, &later.lines), (&whole.categories, &whole.lines));
    assert!(later.last_events.iter().all(|event| event.action.starts_with("free")));
    Ok(())
}

#[test]
fn without_a_refusal_there_is_no_incident() -> Outcome {
    for (name, moment) in [("two-steps", SnapshotMoment::Peak), ("segments-only", SnapshotMoment::End)] {
        let report = report_of(name)?;
        assert_eq!((report.verdict, report.incidents.len(), report.snapshots[0].moment), (Kind::None, 0, moment));
    }
    let report = report_of("two-steps")?;
    let snapshot = &report.snapshots[0];
    assert!(category(snapshot, "optimizer_temporaries") > 0, "the peak of a step is its temporaries");
    assert!(snapshot.history.iter().any(|point| point.in_use == snapshot.peak));
    let of_activations = snapshot.categories.iter().position(|used| &*used.name == "activations").ok_or("none")?;
    assert!(snapshot.history.iter().any(|point| point.categories[of_activations] > Bytes::GIB));
    Ok(())
}

#[test]
fn a_fragmented_cache_is_named_by_its_pieces() -> Outcome {
    let report = report_of("fragmented")?;
    let snapshot = &report.snapshots[0];
    let requested = snapshot.refused.as_ref().ok_or("none")?.requested;
    assert!(snapshot.unused.bytes > requested && snapshot.unused.largest < requested);
    assert_eq!(&*report.incidents[0].diagnoses[0].cause, "fragmentation");
    assert!(report.incidents[0].diagnoses[0].why.contains("The snapshot shows 2.23 GiB"));
    assert_eq!(report.incidents[0].victim.device, Some(1));
    let segments: i128 = snapshot.segments.iter().map(|segment| segment.bytes.0).sum();
    assert_eq!(segments, snapshot.reserved.0);
    Ok(())
}

const LOG: &str = "Traceback (most recent call last):
  File \"/workspace/train.py\", line 15, in step
    optimizer.step()
  File \"/opt/conda/lib/python3.11/site-packages/torch/optim/adam.py\", line 179, in _init_group
    state[\"exp_avg\"] = torch.zeros_like(
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.95 GiB. GPU 0 has a total capacity of 18.00 GiB of which 80.00 MiB is free.
";

#[test]
fn beside_a_log_it_is_evidence_for_the_same_incident() -> Outcome {
    let pickle = fixture("optimizer-step")?;
    let alone = report_on(&[("job.log", LOG.as_bytes())])?;
    let both = report_on(&[("job.log", LOG.as_bytes()), ("snapshot.pickle", &pickle)])?;
    assert_eq!((both.incidents.len(), both.incidents[0].victims.len()), (1, 1));
    assert_eq!(both.incidents[0].evidence, alone.incidents[0].evidence);
    assert_eq!(both.incidents[0].figures, alone.incidents[0].figures);
    assert_eq!((alone.snapshots.len(), both.snapshots.len()), (0, 1));
    assert!(both.incidents[0].diagnoses[0].why.contains("39% of what the snapshot shows in use are optimizer states"));
    assert!(alone.incidents[0].not_checked.iter().all(|needs| !needs.contains("snapshot")));
    Ok(())
}

#[test]
fn a_folder_is_read_with_whatever_is_in_it() -> Outcome {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("job.log"), LOG)?;
    // A snapshot is recognised by its content, not by its name.
    fs::write(folder.path().join("dump.bin"), fixture("optimizer-step")?)?;
    fs::write(folder.path().join("notes.pickle"), "step 1 loss 2.0\n")?;
    let report = analyze(&[folder.path().to_str().ok_or("path")?], &Options::default())?;
    let role = |name: &str| report.inputs.iter().find(|input| input.path.ends_with(name)).map(|input| input.role);
    assert_eq!((role("dump.bin"), role("notes.pickle")), (Some(Role::Snapshot), Some(Role::Log)));
    assert_eq!(report.snapshots.len(), 1);
    Ok(())
}

#[test]
fn every_page_shows_it_and_none_invents_a_line() -> Outcome {
    let report = report_of("optimizer-step")?;
    for language in [Language::En, Language::Zh] {
        let shown = text(&report, language, Length::Full, Some(100));
        let page = html(std::slice::from_ref(&report), language);
        for place in ["/workspace/train.py:15 step", "6.97 GiB"] {
            assert!(
                shown.contains(place) && page.contains(place) && markdown(&report, language).contains(place),
                "{place}"
            );
        }
        assert!(page.contains("<polygon class=\"area\"") && page.contains("class=\"segment\""));
        assert!(!shown.contains(".pickle:") && !page.contains(".pickle:"));
    }
    let small: Value = serde_json::from_str(&compact(&report)?)?;
    assert_eq!(small["snapshot"]["categories"][0]["name"], "optimizer_states");
    let sarif = sarif(std::slice::from_ref(&report), Language::En, Path::new("/"), &[])?;
    assert!(!sarif.contains("\"startLine\": 0") && !sarif.contains("\"startLine\":0"));
    Ok(())
}

/// Writes a pickle instruction by instruction.
#[derive(Clone, Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn new() -> Writer {
        Writer(vec![0x80, 4])
    }

    fn raw(mut self, bytes: &[u8]) -> Writer {
        self.0.extend_from_slice(bytes);
        self
    }

    fn text(self, words: &[u8]) -> Writer {
        self.raw(b"X").raw(&(words.len() as u32).to_le_bytes()).raw(words)
    }

    fn number(self, number: i64) -> Writer {
        self.raw(&[0x8a, 8]).raw(&number.to_le_bytes())
    }

    /// A dictionary of `pairs`: a key, and a function that writes the value.
    fn dict(self, pairs: &[(&str, &dyn Fn(Writer) -> Writer)]) -> Writer {
        let opened = self.raw(b"}(");
        pairs.iter().fold(opened, |writer, (key, value)| value(writer.text(key.as_bytes()))).raw(b"u")
    }

    /// A snapshot with a single segment of a single block, allocated at `frames`.
    fn snapshot(self, frames: &dyn Fn(Writer) -> Writer) -> Vec<u8> {
        let block = |writer: Writer| {
            let pairs: [(&str, &dyn Fn(Writer) -> Writer); 4] = [
                ("size", &|writer| writer.number(1024)),
                ("requested_size", &|writer| writer.number(1000)),
                ("state", &|writer| writer.text(b"active_allocated")),
                ("frames", frames),
            ];
            writer.raw(b"](").dict(&pairs).raw(b"e")
        };
        let segment = |writer: Writer| {
            let pairs: [(&str, &dyn Fn(Writer) -> Writer); 3] = [
                ("total_size", &|writer| writer.number(2 << 20)),
                ("address", &|writer| writer.number(1 << 40)),
                ("blocks", &block),
            ];
            writer.raw(b"](").dict(&pairs).raw(b"e")
        };
        self.dict(&[("segments", &segment)]).raw(b".").0
    }
}

fn summaries_of(bytes: &[u8], knowledge: &Knowledge) -> Outcome<Vec<Snapshot>> {
    let recording = Recording::read(Arc::from("hostile.pickle"), bytes)?;
    Ok(SnapshotFindings::of(&recording, knowledge)?.devices)
}

#[test]
fn what_would_run_code_is_refused_with_its_place() -> Outcome {
    // `os.system("touch …")`, which `pickle.load` would run.
    let folder = tempfile::tempdir()?;
    let ran = folder.path().join("ran");
    let command = format!("touch {}", ran.display());
    let by_reduce = Writer::new().text(b"segments").raw(b"0cposix\nsystem\n(").text(command.as_bytes()).raw(b"tR.").0;
    let report = report_on(&[("job.log", b"step 1\n"), ("snapshot.pickle", &by_reduce)])?;
    let warning = report.inputs[1].warning.as_deref().ok_or("it was read")?;
    assert!(warning.contains("byte 16 (GLOBAL) would import or call code"), "{warning}");
    assert!(!ran.exists() && report.snapshots.is_empty());

    let refused: [(&[u8], &str); 13] = [
        (b"cos\nsystem\n", "GLOBAL"),
        (b"\x8c\x02os\x8c\x06system\x93", "STACK_GLOBAL"),
        (b"(NtR", "REDUCE"),
        (b"}}b", "BUILD"),
        (b"(ios\nsystem\n", "INST"),
        (b"(No", "OBJ"),
        (b"N)\x81", "NEWOBJ"),
        (b"N)}\x92", "NEWOBJ_EX"),
        (b"\x82\x01", "EXT1"),
        (b"Pname\n", "PERSID"),
        (b"NQ", "BINPERSID"),
        (b"\x97", "NEXT_BUFFER"),
        (b"N\x98", "READONLY_BUFFER"),
    ];
    for (instructions, name) in refused {
        let bytes = Writer::new().raw(instructions).raw(b".").0;
        let problem = Recording::read("x".into(), &bytes).err().ok_or(name)?.to_string();
        assert!(problem.contains(&format!("({name})")), "{name}: {problem}");
    }
    Ok(())
}

#[test]
fn what_asks_for_more_than_it_is_gets_an_answer() -> Outcome {
    let knowledge = Knowledge::shipped()?;
    let read = |bytes: &[u8]| summaries_of(bytes, &knowledge).map_err(|error| error.to_string());
    let is_refused = |writer: Writer, why: &str| {
        let problem = read(&writer.raw(b".").0).err().unwrap_or_default();
        assert!(problem.contains(why), "{why}: {problem}");
    };
    // Lengths that exceed the file.
    for length in [
        &b"\x8b\xff\xff\xff\x7f"[..],
        b"B\xff\xff\xff\xff",
        b"\x8e\xff\xff\xff\xff\xff\xff\xff\xff",
        b"X\xff\xff\xff\x7f",
        b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7f",
    ] {
        is_refused(Writer::new().raw(length), "ends in the middle");
    }
    is_refused(Writer::new().raw(b"h\x07"), "did not memoise");
    is_refused(Writer::new().raw(b"j\xff\xff\xff\xff"), "did not memoise");
    is_refused(Writer::new().raw(b"Nr\xff\xff\xff\xff"), "out of order");
    is_refused(Writer::new().raw(b"e"), "nothing was begun");
    is_refused(Writer::new().raw(b"I1\n"), "no instruction");
    is_refused(Writer::new().raw(b"N"), "something else than PyTorch's memory snapshot");
    is_refused(Writer::new().raw(&b"]".repeat(1 << 22)), "more objects");
    // Thirty thousand nested lists must not overflow the stack.
    let deep = Writer::new().raw(&b"]\x94(".repeat(30_000)).raw(&b"e".repeat(30_000));
    is_refused(deep, "something else than PyTorch's memory snapshot");

    // A "billion laughs": ten lists, each of which contains the one before ten times.
    let laughs = |writer: Writer| {
        (1..10_u8).fold(writer.raw(b"]\x94(NNNNNNNNNNe"), |writer, level| {
            writer.raw(b"0]\x94(").raw(&[b'h', level - 1].repeat(10)).raw(b"e")
        })
    };
    assert_eq!(read(&Writer::new().snapshot(&laughs))?[0].in_use, Bytes(1000));
    // One list of events, referred to many times.
    let trace = |writer: Writer| {
        let writer = writer.raw(b"(").raw(&b"}".repeat(20_000)).raw(b"l\x940(").raw(&b"h\x00".repeat(30_000)).raw(b"l");
        writer.raw(b"")
    };
    let segments = |writer: Writer| writer.raw(b"]");
    let over = Writer::new().dict(&[("device_traces", &trace), ("segments", &segments)]);
    is_refused(over, "over and over");

    // A list that contains itself is valid.
    let own = |writer: Writer| writer.raw(b"]\x94h\x00a");
    assert_eq!(read(&Writer::new().snapshot(&own))?[0].lines[0].bytes, Bytes(1000));
    Ok(())
}

#[test]
fn names_of_any_bytes_are_shown_as_text() -> Outcome {
    let name: &[u8] = b"/w/<script>alert(1)</script>\x1b[31m\xed\xa0\x80\xff\xe2\x80\xae.py";
    let frames = |writer: Writer| {
        let pairs: [(&str, &dyn Fn(Writer) -> Writer); 3] = [
            ("filename", &|writer| writer.text(name)),
            ("line", &|writer| writer.number(-5)),
            ("name", &|writer| writer.text(b"f(\"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\")")),
        ];
        writer.raw(b"](").dict(&pairs).raw(b"e")
    };
    let report = report_on(&[("x.pickle", &Writer::new().snapshot(&frames))])?;
    assert!(report.snapshots[0].lines[0].file.contains('\u{fffd}'));
    let page = html(std::slice::from_ref(&report), Language::En);
    assert!(!page.contains("<script>alert") && page.contains("&lt;script&gt;alert(1)"));
    let shown = text(&report, Language::En, Length::Full, None);
    assert!(!shown.contains("\x1b[31m") && !shown.contains('\u{202e}'));
    let (sent, _) = outgoing(&report, &Redactor::new(&Knowledge::shipped()?.secrets)?);
    assert!(!serde_json::to_string(&sent)?.contains("hf_QwErTy"), "what is kept is masked");
    Ok(())
}

#[test]
fn one_that_was_cut_anywhere_gets_an_answer() -> Outcome {
    let knowledge = Knowledge::shipped()?;
    let whole = fixture("fragmented")?;
    for end in 0..whole.len() {
        let problem = summaries_of(&whole[..end], &knowledge).err().ok_or("half of it was read")?.to_string();
        assert!(problem.contains("ends in the middle"), "{end}: {problem}");
    }
    Ok(())
}

/// The generator xorshift64, which gives the same numbers on every machine.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most.max(1) as u64) as usize
    }
}

#[test]
fn ten_thousand_mutated_ones_get_an_answer() -> Outcome {
    let seed: u64 = std::env::var("OOMDOC_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(19);
    println!("OOMDOC_SEED={seed}");
    let mut chance = Chance(seed | 1);
    let knowledge = Knowledge::shipped()?;
    let whole = fixture("fragmented")?;
    let (mut read, mut refused) = (0, 0);
    for _ in 0..10_000 {
        let mut bytes = whole.clone();
        for _ in 0..=chance.below(6) {
            let place = chance.below(bytes.len());
            match chance.below(5) {
                0 => bytes[place] = chance.below(256) as u8,
                1 => bytes[place] ^= 1 << chance.below(8),
                2 => bytes.insert(place, chance.below(256) as u8),
                3 => drop(bytes.remove(place)),
                _ => {
                    let from = chance.below(bytes.len());
                    let part: Vec<u8> = bytes[from..(from + chance.below(64)).min(bytes.len())].to_vec();
                    bytes.splice(place..place, part);
                }
            }
        }
        match summaries_of(&bytes, &knowledge) {
            Ok(_) => read += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(read > 500 && refused > 500, "{read} were read, {refused} refused: mutations no longer reach both");
    Ok(())
}
