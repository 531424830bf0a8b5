//! An incident is found wherever it stands in a log, even across the border between two blocks.

use std::error::Error;
use std::fmt::Write as _;

use oomdoc::model::Report;

use crate::support::analyzed::{cited, options};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Bytes of a block: the smallest size that is accepted.
const BLOCK: usize = 4096;

const INCIDENT: &str = r#"[rank3]: Traceback (most recent call last):
[rank3]:   File "/srv/job/pretrain.py", line 88, in <module>
[rank3]:     loss.backward()
[rank3]:   File "/opt/venv/lib/python3.11/site-packages/torch/_tensor.py", line 648, in backward
[rank3]:     torch.autograd.backward(
[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.37 GiB. GPU 3 has a total capacity of 39.39 GiB of which 902.88 MiB is free. Process 40077 has 38.50 GiB memory in use. Of the allocated memory 36.11 GiB is allocated by PyTorch, and 1.20 GiB is reserved by PyTorch but unallocated.
"#;

fn filler(lines: std::ops::Range<usize>) -> String {
    lines.fold(String::new(), |mut text, step| {
        let _ =
            writeln!(text, "step {step} | loss {}.{:03} | lr 2.0e-05 | 3211 tokens/s", 9 - step % 9, step * 37 % 1000);
        text
    })
}

/// What the report says of its incident, without line numbers.
fn said(report: &Report) -> String {
    let Some(root) = report.incidents.first() else { return format!("{:?}", report.verdict) };
    let figures: Vec<_> = root.figures.iter().map(|figure| (figure.name, figure.bytes, &figure.text)).collect();
    // How long the job ran before is evidence for some causes, and the padding changes it: only the first cause stays
    // the same.
    let cause = root.diagnoses.first().map(|diagnosis| &diagnosis.cause);
    let phase = &root.phase;
    format!("{:?} {:?} {:?} {figures:?} {cause:?} {:?}", root.kind, root.victim, phase.name, report.incidents.len())
}

#[test]
fn an_incident_across_any_border_is_the_same_incident() -> Outcome {
    let alone = said(&cited(INCIDENT, &options())?);
    assert!(alone.contains("GpuOom") && alone.contains("Backward"), "{alone}");
    let before = filler(0..80);
    let after = filler(80..130);
    assert!(before.len() > BLOCK - INCIDENT.len() && before.len() < 2 * BLOCK);
    // The border of the second block is moved to each byte of the incident in turn.
    for at in 0..=INCIDENT.len() {
        let pad = 2 * BLOCK - at - before.len() % (2 * BLOCK);
        let log = format!("{before}{}\n{INCIDENT}{after}", "-".repeat(pad.saturating_sub(1)));
        let options = options().block(BLOCK).threads(1 + at % 2);
        assert_eq!(said(&cited(&log, &options)?), alone, "byte {at} of the incident begins a block");
    }
    Ok(())
}

#[test]
fn an_incident_at_either_end_and_between_others_lines_is_the_same_incident() -> Outcome {
    let alone = said(&cited(INCIDENT, &options())?);
    let (before, after) = (filler(0..400), filler(400..800));
    let mixed = INCIDENT.lines().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}\n[rank1]: step 400 | grad norm 0.81 | 3201 tokens/s");
        text
    });
    let unended = INCIDENT.trim_end();
    for (place, log) in [
        ("at the beginning", format!("{INCIDENT}{after}")),
        ("at the end", format!("{before}{INCIDENT}")),
        ("at the end, without a line's end", format!("{before}{unended}")),
        ("between lines of another rank", format!("{before}{mixed}{after}")),
    ] {
        for block in [BLOCK, 3 * BLOCK, 1 << 20] {
            let options = options().block(block);
            assert_eq!(said(&cited(&log, &options)?), alone, "{place}, blocks of {block}");
        }
    }
    Ok(())
}
