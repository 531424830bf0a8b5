//! Each format on whole cases of `corpus/`: a shortage with a patch, a healthy job and another failure; besides hostile
//! logs.

use std::error::Error;
use std::fs;
use std::io::Cursor;
use std::path::Path;

use oomdoc::Language;
use oomdoc::Options;
use oomdoc::internal::knowledge::Knowledge;
use oomdoc::internal::report::{self, Length};
use oomdoc::internal::source::Input;
use oomdoc::model::Report;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const CASES: [&str; 3] = ["llama3-8b-optimizer-step", "deepspeed-healthy", "nccl-timeout"];

fn analyze(inputs: &[(&str, &[u8])], language: Language) -> Outcome<Report> {
    let open = |(name, bytes): &(&str, &[u8])| Input::new(name, Cursor::new(bytes.to_vec()));
    let options = Options::default().language(language);
    Ok(oomdoc::internal::analyze_inputs(inputs.iter().map(open).collect::<Result<_, _>>()?, Vec::new(), &options)?)
}

fn case(name: &str, language: Language) -> Outcome<Report> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let mut inputs = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file() && !["expected.toml", "README.md"].contains(&name.as_str()) {
            inputs.push((name, fs::read(path)?));
        }
    }
    inputs.sort();
    let inputs: Vec<(&str, &[u8])> = inputs.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    analyze(&inputs, language)
}

fn sarif(report: &Report) -> Outcome<String> {
    Ok(report::sarif(std::slice::from_ref(report), Language::En, Path::new("."), &Knowledge::shipped()?.causes)?)
}

#[test]
fn markdown() -> Outcome {
    for name in CASES {
        insta::assert_snapshot!(format!("markdown-{name}"), report::markdown(&case(name, Language::En)?, Language::En));
    }
    Ok(())
}

#[test]
fn markdown_in_chinese() -> Outcome {
    let report = case(CASES[0], Language::Zh)?;
    insta::assert_snapshot!(report::markdown(&report, Language::Zh));
    Ok(())
}

#[test]
fn html() -> Outcome {
    for name in CASES {
        let page = report::html(&[case(name, Language::En)?], Language::En);
        // The head is the same on every page.
        let (_, body) = page.split_once("<body>").ok_or("no body")?;
        let (body, _) = body.split_once("<script>").ok_or("no script")?;
        insta::assert_snapshot!(format!("html-{name}"), body.replace("><", ">\n<"));
    }
    Ok(())
}

#[test]
fn sarif_results() -> Outcome {
    for name in CASES {
        let log = sarif(&case(name, Language::En)?)?;
        insta::assert_snapshot!(format!("sarif-{name}"), log.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    }
    Ok(())
}

#[test]
fn github() -> Outcome {
    for name in CASES {
        let report = case(name, Language::En)?;
        insta::assert_snapshot!(format!("github-{name}"), report::github(&report, Language::En, Path::new(".")));
    }
    Ok(())
}

#[test]
fn the_plot_shows_the_highest_figure_and_the_limit() -> Outcome {
    let report = case(CASES[0], Language::En)?;
    let incident = report.incidents.first().ok_or("no incident")?;
    let page = report::html(std::slice::from_ref(&report), Language::En);
    let on_device = |name: &str| ["torch_allocated", "torch_reserved", "allocated_peak"].contains(&name);
    let points = incident.timeline.iter().filter(|point| on_device(point.name.as_str()));
    let peak = points.map(|point| point.bytes.0).max().ok_or("no timeline")?;
    assert!(page.contains(&format!("data-peak=\"{peak}\"")), "no {peak}");
    let limit =
        incident.figures.iter().find(|figure| figure.name.as_str() == "gpu_total").and_then(|figure| figure.bytes);
    assert!(page.contains(&format!("data-limit=\"{}\"", limit.ok_or("no limit")?.0)));
    Ok(())
}

#[test]
fn a_page_needs_nothing_from_elsewhere() -> Outcome {
    for name in CASES {
        let page = report::html(&[case(name, Language::En)?], Language::En);
        for reference in ["src=", "href=", "url(", "@import", "fetch("] {
            assert!(!page.contains(reference), "{name}: {reference}");
        }
    }
    Ok(())
}

#[test]
fn where_nothing_was_read_nothing_is_well() -> Outcome {
    let report = analyze(&[("job.log", b"")], Language::En)?;
    assert!(report::markdown(&report, Language::En).starts_with("### No log lines were read\n"));
    assert!(
        report::html(std::slice::from_ref(&report), Language::En)
            .contains("<h1 class=\"warn\">No log lines were read</h1>")
    );
    assert_eq!(report::github(&report, Language::En, Path::new(".")), "");
    Ok(())
}

/// A log with markup and commands that readers of reports might obey.
const HOSTILE: &str = "Traceback (most recent call last):\n  \
    File \"/x/</pre><script>alert(1)</script>/train.py\", line 1, in <img src=x onerror=alert(2)>\n\
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. </details></pre><script>alert(3)</script> \
    ``` @everyone closes #1 ![x](https://evil.example/x.png) \u{1b}[31m\u{202e}%0A::error::x\r::add-mask::y\n\
    /close\n::stop-commands::z\n";

fn hostile() -> Outcome<Report> {
    analyze(&[("a`|<b>::error,\n/close @all.log", HOSTILE.as_bytes())], Language::En)
}

#[test]
fn a_log_cannot_write_html() -> Outcome {
    let page = report::html(&[hostile()?], Language::En);
    assert_eq!(page.matches("<script").count(), 1);
    assert!(page.contains("&lt;script&gt;alert(3)&lt;/script&gt;"), "{page}");
    for raw in ["<img", "<b>::", "\u{1b}", "\u{202e}"] {
        assert!(!page.contains(raw), "{raw:?}");
    }
    Ok(())
}

/// Markdown without its code: the part that a forge interprets.
fn outside_code(page: &str) -> String {
    let mut outside = String::new();
    let mut rest = page;
    while let Some(start) = rest.find('`') {
        outside.push_str(&rest[..start]);
        let run = rest[start..].chars().take_while(|c| *c == '`').count();
        let fence = &rest[start..start + run];
        let mut inner = &rest[start + run..];
        // A code span ends with exactly as many backticks as it began with.
        loop {
            let Some(end) = inner.find(fence) else { return format!("{outside}{inner}") };
            let ending = inner[end..].chars().take_while(|c| *c == '`').count();
            inner = &inner[end + ending..];
            if ending == run {
                break;
            }
        }
        rest = inner;
    }
    outside + rest
}

#[test]
fn a_log_cannot_write_markdown() -> Outcome {
    let page = report::markdown(&hostile()?, Language::En);
    let outside = outside_code(&page);
    assert!(page.contains("@everyone"), "{page}");
    for raw in ["<script", "<img", "<b>", "@everyone", "@all", "#1", "![", "https://", "\n/close", "\n::"] {
        assert!(!outside.contains(raw), "{raw:?} in {outside}");
    }
    assert_eq!(outside.matches("<details>").count(), outside.matches("</details>").count());
    Ok(())
}

#[test]
fn a_log_cannot_command_the_runner() -> Outcome {
    let commands = report::github(&hostile()?, Language::En, Path::new("."));
    assert_eq!(commands.lines().count(), 1, "{commands}");
    assert!(
        commands.starts_with("::error title=GPU out of memory::") && commands.contains("Tried to allocate"),
        "{commands}"
    );
    assert!(!commands.contains('\r') && !commands.contains('\u{1b}'));
    Ok(())
}

#[test]
fn results_refer_to_rules_that_are_there() -> Outcome {
    for name in CASES {
        let log: serde_json::Value = serde_json::from_str(&sarif(&case(name, Language::En)?)?)?;
        let run = &log["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().ok_or("no rules")?;
        for result in run["results"].as_array().ok_or("no results")? {
            let index = result["ruleIndex"].as_u64().ok_or("no index")? as usize;
            assert_eq!(rules.get(index).map(|rule| &rule["id"]), Some(&result["ruleId"]), "{name}");
            assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap_or_default()));
        }
        let mut ids: Vec<&str> = rules.iter().filter_map(|rule| rule["id"].as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), rules.len(), "{name}");
    }
    Ok(())
}

#[test]
fn a_compact_answer_fits_four_thousand_bytes() -> Outcome {
    for name in CASES {
        let report = case(name, Language::En)?;
        let answer: serde_json::Value = serde_json::from_str(&report::compact(&report)?)?;
        assert_eq!(answer["verdict"], report.verdict.as_str());
        assert_eq!(answer["summary"], report.summary);
    }
    let line = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB";
    let path = format!("{}/job.log", "very-long-folder/".repeat(200));
    let answer =
        report::compact(&analyze(&[(&path, format!("{line} {}\n", "x".repeat(9000)).as_bytes())], Language::En)?)?;
    assert!(answer.len() < 4000 && answer.contains("gpu_oom"), "{}", answer.len());
    Ok(())
}

#[test]
fn three_lines_name_what_ran_out_why_and_what_to_do() -> Outcome {
    let report = case(CASES[0], Language::En)?;
    let text = anstream::adapter::strip_str(&report::text(&report, Language::En, Length::Brief, None)).to_string();
    let lines: Vec<&str> = text.lines().collect();
    let [what, why, action] = lines.as_slice() else { return Err(text.into()) };
    assert!(what.starts_with("GPU out of memory in the optimizer step: ") && what.ends_with("gpu_oom"), "{what}");
    assert!(why.starts_with("Why ") && why.ends_with("optimizer_states_on_gpu"), "{why}");
    assert!(action.starts_with("Do ") && action.contains("--adam_offload"), "{action}");
    Ok(())
}

#[test]
fn a_device_is_called_what_the_proof_calls_it() -> Outcome {
    let refused = |name: &str| {
        format!(
            "RuntimeError: {name} out of memory. Tried to allocate 2.00 GiB (GPU 3; 60.96 GiB total capacity; 49.47 GiB already allocated; 1.32 GiB free; 51.00 GiB reserved in total by PyTorch)\n"
        )
    };
    for (log, name) in [
        (refused("NPU").replace("GPU", "NPU"), "NPU"),
        (refused("CUDA"), "GPU"),
        ("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 23.54G of 15.75G hbm. Exceeded hbm capacity by 7.79G.\n".to_owned(), "TPU"),
    ] {
        let report = analyze(&[("job.log", log.as_bytes())], Language::En)?;
        for page in [report::text(&report, Language::En, Length::Full, None), report::markdown(&report, Language::En)] {
            let headline = page.lines().find(|line| line.contains("out of memory")).ok_or("no headline")?;
            assert!(headline.contains(&format!("{name} out of memory")) && page.contains(&format!("{name} capacity")), "{page}");
        }
    }
    Ok(())
}

#[test]
fn a_screen_is_as_wide_as_the_terminal() -> Outcome {
    for language in [Language::En, Language::Zh] {
        let report = case(CASES[0], language)?;
        let text = anstream::adapter::strip_str(&report::text(&report, language, Length::Full, Some(72))).to_string();
        // Edits are not wrapped.
        let is_prose = |line: &&str| !line.trim_start().starts_with(['+', '-', '@']);
        let wide = text.lines().filter(is_prose).find(|line| unicode_width::UnicodeWidthStr::width(*line) > 72);
        assert!(wide.is_none_or(|line| !line.trim().contains(' ')), "{wide:?}");
    }
    Ok(())
}
