//! Questions to the history: what is read, what is refused and where, and what the page promises.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;

use oomdoc::internal::history::{self, Order, Query};
use oomdoc::internal::store::MemoryStore;
use proptest::prelude::*;

use crate::support::history_steps::record;

type Done = Result<(), Box<dyn Error>>;

const ALL: usize = usize::MAX;

/// A history of incidents with these words as their evidence, numbered from 0.
fn history(words: &[&[&str]]) -> Result<MemoryStore, Box<dyn Error>> {
    let mut store = MemoryStore::default();
    let records: Result<Vec<_>, _> = (0..).zip(words).map(|(number, words)| record(number, words)).collect();
    history::add(&mut store, &records?)?;
    Ok(store)
}

fn found(store: &MemoryStore, query: &str) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let page = history::search(store, &query.parse()?, Order::Time, 0, ALL)?;
    Ok(page.incidents.into_iter().map(|document| document.id).collect())
}

#[test]
fn an_error_points_at_its_column() {
    let deep = "(".repeat(17);
    let many = "a ".repeat(513);
    let long = "a".repeat(4097);
    for (query, column, said) in [
        ("phase:optimiser_step", 7, "optimizer_step"),
        ("显存 pahse:forward", 4, "phase"),
        ("oom requested:>2GB node_used:>viel", 31, "amount"),
        ("requested:[1GiB 2GiB]", 17, "[1GiB TO 2GiB]"),
        ("requested:[1GiB TO 2GiB", 24, "[1GiB TO 2GiB]"),
        ("requested:[1GiB", 16, "[1GiB TO 2GiB]"),
        ("requested:[TO 2GiB]", 12, "2.5GiB"),
        ("requested:>", 12, "field:value"),
        ("after:yesterday", 7, "2026-10-01"),
        ("after:2026-13-01", 7, "2026-10-01"),
        ("kind:", 6, "field:value"),
        ("kind: gpu_oom", 6, "field:value"),
        ("model:\"\"", 7, "field:value"),
        ("is:closed", 4, "open, resolved, reopened"),
        ("say \"when", 5, "close it"),
        ("foo:bar", 1, "in quotation marks"),
        ("oom (phase:forward OR phase:backwards)", 29, "`backward`"),
        ("kind:(gpu_oom OR gpu_ooms)", 18, "`gpu_oom`"),
        ("NOT -kind:gpu", 11, "gpu_oom"),
        ("OR oom", 1, "a OR b"),
        ("oom AND", 8, "a OR b"),
        ("oom OR AND shm", 8, "a OR b"),
        ("(oom OR) shm", 8, "a OR b"),
        ("oom NOT", 8, "a OR b"),
        ("oom NOT ,", 9, "a OR b"),
        ("NOT OR oom", 5, "a OR b"),
        ("(oom NOT) shm", 9, "a OR b"),
        ("oom ( )", 7, "a OR b"),
        ("显存 (oom (shm)", 4, "close it with )"),
        (&deep, 17, "ask twice"),
        (&many, 1025, "512"),
        (&long, 4097, "words that tell most"),
    ] {
        match query.parse::<Query>() {
            Ok(read) => assert_eq!(format!("{read:?}"), "an error", "{query}"),
            Err(error) => {
                assert_eq!(error.column, column, "{error}");
                assert!(error.advice().contains(said), "{query}: {}", error.advice());
            }
        }
    }
}

#[test]
fn an_amount_may_have_a_blank() -> Done {
    for (written, meant) in [
        ("requested:>2 GiB oom", "requested:>2GiB oom"),
        ("requested:>= 2 gb", "requested:>=2GB"),
        ("requested: 512 MiB", "requested:512MiB"),
        ("node_used:[ 700 GiB TO * ]", "node_used:[700GiB TO *]"),
        ("requested:(>2 GiB OR <1 MiB)", "requested:(>2GiB OR <1MiB)"),
    ] {
        assert_eq!(written.parse::<Query>()?, meant.parse()?, "{written}");
    }
    assert_ne!("requested:>2 GiBs".parse::<Query>()?, "requested:>2GiB s".parse()?);
    Ok(())
}

#[test]
fn a_pasted_line_is_words() -> Done {
    let lines = [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total capacity)",
        "AssertionError: [rank0]: x^2 ~3 ~> 'step()' {a} `b` a*b? /c/ +d !e",
        "  what():  std::bad_alloc at f(a, g(b)) + 0x10/0x20",
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,task=python3,pid=7",
        "/dev/shm/x: No space left; see http://node-7:8265/logs#a (https://pytorch.org/docs/stable/notes/cuda.html)",
        "1) a - b -> c && d || e = f :) --- ==> ()",
        "显存不足：无法分配 2.00 GiB（GPU 0）",
        "docker run --shm-size=8g trainer failed",
        "\"file\": \"/tmp/a b\", \"x\": 1",
    ];
    let words: Vec<Vec<&str>> = lines.iter().map(|line| vec![*line]).collect();
    let store = history(&words.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    for (number, line) in (0..).zip(lines) {
        assert_eq!(found(&store, line)?, BTreeSet::from([record(number, &[])?.incident.id]), "{line}");
    }
    Ok(())
}

#[test]
fn operators_bind_as_the_page_says() -> Done {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/history.md"))?;
    let (_, section) = page.split_once("### OR, NOT and parentheses").ok_or("no section")?;
    let mut rows = 0;
    for row in section.lines().skip_while(|line| !line.starts_with("| `")).take_while(|line| line.starts_with('|')) {
        let parts: Vec<&str> = row.split('`').collect();
        let [_, written, _, read, _] = parts.as_slice() else { return Err(row.into()) };
        assert_eq!(written.parse::<Query>()?, read.parse()?, "{row}");
        rows += 1;
    }
    assert_eq!(rows, 6);
    // Without these the two sides of a row could be wrong alike.
    let store = history(&[&["apple"], &["apple", "plum"], &["cherry"], &["cherry", "plum"], &["quince"]])?;
    for (query, numbers) in [
        ("apple OR cherry", &[0, 1, 2, 3][..]),
        ("apple OR cherry plum", &[1, 3]),
        ("plum apple OR cherry", &[1, 3]),
        ("apple OR quince cherry OR plum", &[1]),
        ("apple AND plum OR quince", &[1, 4]),
        ("quince OR plum AND apple", &[1, 4]),
        ("apple AND plum cherry AND plum", &[]),
        ("NOT apple OR plum", &[1, 2, 3, 4]),
        ("NOT (apple OR plum)", &[2, 4]),
        ("-(apple plum) apple", &[0]),
        ("NOT NOT apple", &[0, 1]),
        ("NOT -apple", &[0, 1]),
        ("quince OR (cherry -plum)", &[2, 4]),
        ("quince OR -(apple OR cherry)", &[4]),
        ("(((apple)))(plum)", &[1]),
        ("\"apple\" OR \"cherry\" OR \"OR\"", &[0, 1, 2, 3]),
        ("and or not apple", &[]),
    ] {
        let ids: Result<BTreeSet<String>, _> = numbers.iter().map(|at| Ok(record(*at, &[])?.incident.id)).collect();
        assert_eq!(found(&store, query)?, ids.map_err(|error: Box<dyn Error>| error)?, "{query}");
    }
    Ok(())
}

#[test]
fn a_slip_is_forgiven_where_the_word_should_stand_and_not_where_it_must_not() -> Done {
    let store = history(&[&["fragmentation"], &["fragmentaton"]])?;
    for (query, count) in [
        ("fragmentation", 2),
        ("-fragmentation", 1),
        ("NOT (fragmentation OR nonesuch)", 1),
        ("NOT NOT fragmentation", 2),
        ("NOT (nonesuch OR -fragmentation)", 2),
    ] {
        assert_eq!(found(&store, query)?.len(), count, "{query}");
    }
    Ok(())
}

#[test]
fn a_hostile_query_is_answered_or_refused() -> Done {
    let store = history(&[&["out", "of", "memory"]])?;
    let parts = [
        "(",
        ")",
        "()",
        "NOT ",
        "-",
        "-(",
        "+",
        "OR ",
        "a OR ",
        "(a OR ",
        "((a) ",
        "kind:(",
        "a:(",
        "requested:[",
        "requested:(",
        "\"",
        "\"a\" ",
        "a\"",
        "*",
        "a* ",
        "?",
        "/(a+)+$/ ",
        "a^9e999 ",
        "a~4294967296 ",
        "kind: IN [",
        "IN [a ",
        "[a TO ",
        "{",
        "\\",
        "'",
        "`",
        ":",
        "a:",
        "显",
        "\u{0}",
        "\u{202e}",
        "optimizre OR ",
    ];
    for part in parts {
        for many in [1, 2, 15, 100, 510, 4096, 1 << 20] {
            let query = part.repeat(many);
            let answer = query.parse::<Query>().map(|query| history::search(&store, &query, Order::Relevance, 0, ALL));
            match answer {
                Ok(found) => assert!(found?.total <= 1),
                Err(error) => {
                    assert!((1..=query.chars().count() + 1).contains(&error.column), "{part}: {}", error.problem);
                    assert!(!error.advice().is_empty() && error.to_string().len() < 8 << 10, "{part}");
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_at_a_column_of_it(
        query in proptest::collection::vec(
            proptest::sample::select(&[
                " ", "a", "显", "7", "_", "-", "+", ":", "\"", "(", ")", "[", "]", "{", "}", "<", ">", "=", "*", "^2", "~1", "\\", "/", "'",
                " OR ", " AND ", "NOT ", " TO ", " IN ", "kind:", "gpu_oom", "requested:", "2GiB", "since:30d", "tag:", "x:", "://",
            ][..]),
            0..24,
        ).prop_map(|parts| parts.concat()),
    ) {
        if let Err(error) = query.parse::<Query>() {
            prop_assert!((1..=query.chars().count() + 1).contains(&error.column), "{}", error);
            prop_assert!(!error.to_string().contains("makes no sense"), "{}", error);
        }
    }
}

/// Whatever stands in the first column of the table can be asked, but for names that lack a value.
#[test]
fn the_questions_on_the_page_are_read() -> Done {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/history.md"))?;
    let (_, section) = page.split_once("## Questions").ok_or("no section")?;
    let rows = section.lines().skip_while(|line| !line.starts_with("| `")).take_while(|line| line.starts_with("| `"));
    let mut read = 0;
    for written in rows.filter_map(|row| row.split('|').nth(1)).flat_map(|cell| cell.split('`').skip(1).step_by(2)) {
        match written.strip_suffix(':') {
            Some(name) => assert!(format!("{name}:x").parse::<Query>().is_ok(), "{written}"),
            None => assert!(written.parse::<Query>().is_ok(), "{written}"),
        }
        read += 1;
    }
    assert!(read > 20, "{read}");
    Ok(())
}
