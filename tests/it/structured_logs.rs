//! Logs of JSON lines, and tracebacks that a program printed with escaped line ends.

use std::error::Error;

use oomdoc::model::{Incident, Kind, Phase};

use crate::support::analyzed::report;

type Outcome = Result<(), Box<dyn Error>>;

/// A traceback as it stands within a JSON string.
const ESCAPED: &str = r#"Traceback (most recent call last):\n  File \"/app/train.py\", line 12, in <module>\n    main()\n  File \"/app/train.py\", line 9, in main\n    loss.backward()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 1 has a total capacity of 79.10 GiB of which 1.11 GiB is free."#;

fn incident(log: &str) -> Result<Incident, Box<dyn Error>> {
    let report = report(&[("job.log", log)])?;
    let incident = report.incidents.into_iter().next().ok_or_else(|| format!("nothing found in {log}"))?;
    for cite in &incident.evidence {
        assert!(log.contains(&cite.text), "{} does not stand in {log}", cite.text);
    }
    Ok(incident)
}

#[test]
fn a_stack_beside_the_message_is_read() -> Outcome {
    for log in [
        format!(r#"{{"level":"error","msg":"step failed","stacktrace":"{ESCAPED}","rank":3}}"#),
        format!(
            r#"{{"event": "step failed", "rank": 3, "exception": "{ESCAPED}", "timestamp": "2026-03-01T10:00:00Z"}}"#
        ),
        format!(r#"{{"rank": 3, "err": {{"message": "step failed", "stack": "{ESCAPED}"}}, "name": "trainer"}}"#),
        format!(r#"{{"rank": 3, "detail": "{ESCAPED}"}}"#),
    ] {
        let incident = incident(&log)?;
        assert_eq!((incident.kind, incident.phase.name), (Kind::GpuOom, Phase::Backward), "{log}");
        assert_eq!((incident.victim.rank, incident.victim.device), (Some(3), Some(1)), "{log}");
    }
    Ok(())
}

#[test]
fn an_error_of_one_line_beside_the_message_is_read() -> Outcome {
    let log = r#"{"level":"error","msg":"task failed","error":"CUDA out of memory. Tried to allocate 2.50 GiB (GPU 0; 15.75 GiB total capacity; 12.50 GiB already allocated; 1.10 GiB free)"}"#;
    assert_eq!(incident(log)?.kind, Kind::GpuOom);
    Ok(())
}

#[test]
fn dockers_json_around_a_loggers_is_read() -> Outcome {
    let inner = format!(r#"{{"msg":"failed","error":"{ESCAPED}"}}"#);
    let log = format!("{}\n", serde_json::json!({ "log": format!("{inner}\n"), "stream": "stderr" }));
    assert_eq!(incident(&log)?.phase.name, Phase::Backward);
    Ok(())
}

#[test]
fn a_printed_exception_is_read() -> Outcome {
    let log = format!("worker 3 failed: RemoteError('{ESCAPED}')\n");
    let incident = incident(&log)?;
    assert_eq!((incident.kind, incident.phase.name), (Kind::GpuOom, Phase::Backward));
    Ok(())
}

#[test]
fn a_configuration_in_json_with_words_about_memory_is_no_failure() -> Outcome {
    let log =
        r#"{"level":"info","msg":"starting","help":"lower --batch-size if CUDA runs out of memory","template":"a\nb"}"#;
    assert_eq!(report(&[("job.log", log)])?.verdict, Kind::None);
    Ok(())
}

#[test]
fn code_joined_with_the_message_tells_the_phase() -> Outcome {
    let message = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 250.00 MiB (GPU 1; 31.75 GiB total capacity; 30.35 GiB already allocated; 209.75 MiB free; 30.55 GiB reserved in total by PyTorch)";
    let phase = |code: &str, gap: &str| -> Result<Phase, Box<dyn Error>> {
        Ok(incident(&format!("{code}{gap}{message}\n"))?.phase.name)
    };
    assert_eq!(phase("return torch._C._nn.cross_entropy_loss(input, target, weight)", "          ")?, Phase::Forward);
    assert_eq!(phase("denom = (exp_avg_sq.sqrt() / bias_correction2_sqrt).add_(eps)", "\n")?, Phase::OptimizerStep);
    assert_eq!(phase("the loss (of step 3) was nan", "          ")?, Phase::Unknown);
    Ok(())
}

#[test]
fn a_prompt_or_an_answer_is_nobodys_failure() -> Outcome {
    for log in [
        r#"{"level":"info","msg":"request received","prompt":"explain CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15 GiB total)"}"#,
        r#"{"level":"info","msg":"completion done","output":"To fix CUDA out of memory:\n1. reduce the batch size"}"#,
        r#"{"alert":"OOMKilled","message":"rule loaded","summary":"Container was OOM killed more than 3 times"}"#,
    ] {
        assert_eq!(report(&[("job.log", log)])?.verdict, Kind::None, "{log}");
    }
    Ok(())
}

#[test]
fn a_rank_of_lora_is_no_rank_of_a_process() -> Outcome {
    let log = format!(r#"{{"msg":"step failed","error":"{ESCAPED}","lora":{{"rank":16,"alpha":32}}}}"#);
    assert_eq!(incident(&log)?.victim.rank, None);
    Ok(())
}
