//! Large jobs: how each rank ended and what memory it held, from logs of 64 ranks on 8 nodes.

use std::error::Error;
use std::io::Cursor;

use oomdoc::internal::analyze_inputs;
use oomdoc::internal::report::{self, Length};
use oomdoc::internal::source::Input;
use oomdoc::model::{Bytes, FigureName, RankState, Ranks, Report};
use oomdoc::{Language, Options};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const GIB: i128 = 1 << 30;
const ON_NODE: u32 = 8;

/// How a rank ends.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    RunsOut,
    TimesOut,
    Fails,
    Stops,
}

/// How each of 64 ranks ends, and the memory it holds in MiB.
struct Fleet {
    fate: fn(u32) -> Fate,
    held: fn(u32) -> f64,
}

const ONE_ROOT: Fleet = Fleet {
    fate: |rank| if rank == 26 { Fate::RunsOut } else { Fate::TimesOut },
    held: |rank| 51_200.25 + f64::from(rank % 5),
};

fn node(rank: u32) -> String {
    format!("gpu-{:02}", rank / ON_NODE + 1)
}

/// The lines that a rank prints, without a prefix for the rank, in the formats of Megatron and of PyTorch's launcher
/// and watchdog.
fn printed(fleet: &Fleet, rank: u32) -> Vec<String> {
    let held = (fleet.held)(rank);
    let mut lines = vec![
        "2026-11-20 19:20:00,000 INFO training starts".to_owned(),
        format!(
            "[Rank {rank}] (after 2 iterations) memory (MB) | allocated: {held:.2} | max allocated: 61440.5 | reserved: 65536.0 | max reserved: 65536.0"
        ),
    ];
    lines.extend(
        (1..=3).map(|step| format!("2026-11-20 19:2{step}:00,000 INFO  iteration {step}/ 1000 | lm loss: 2.113E+00 |")),
    );
    match (fleet.fate)(rank) {
        Fate::RunsOut => lines.extend([
            "2026-11-20 19:30:04,120 ERROR Traceback (most recent call last):".to_owned(),
            "  File \"/workspace/Megatron-LM/pretrain_gpt.py\", line 264, in <module>".to_owned(),
            "    pretrain(train_valid_test_datasets_provider)".to_owned(),
            "  File \"/workspace/Megatron-LM/megatron/training/training.py\", line 1201, in train_step".to_owned(),
            "    losses_reduced = forward_backward_func(".to_owned(),
            format!("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU {} has a total capacity of 79.15 GiB of which 1.10 GiB is free. Including non-PyTorch memory, this process has 78.05 GiB memory in use. Of the allocated memory 75.95 GiB is allocated by PyTorch, and 389.12 MiB is reserved by PyTorch but unallocated.", rank % ON_NODE),
        ]),
        Fate::TimesOut => lines.push(format!("2026-11-20 19:40:05,{:03} ERROR [rank{rank}]:[E1120 19:40:05.200000000 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=51877, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.", 200 + rank)),
        Fate::Fails => lines.extend([
            "2026-11-20 19:30:04,120 ERROR Traceback (most recent call last):".to_owned(),
            "  File \"/workspace/Megatron-LM/pretrain_gpt.py\", line 264, in <module>".to_owned(),
            "    pretrain(train_valid_test_datasets_provider)".to_owned(),
            "ValueError: the batch has no labels".to_owned(),
        ]),
        Fate::Stops => {}
    }
    lines
}

/// One log per rank, kept by its node.
fn apart(fleet: &Fleet) -> Vec<(String, String)> {
    let log = |rank: u32| (format!("{}:/logs/rank_{rank}.log", node(rank)), printed(fleet, rank).join("\n") + "\n");
    (0..64).map(log).collect()
}

/// All ranks in one log, interleaved by lines as `srun --label` writes them.
fn together(fleet: &Fleet) -> Vec<(String, String)> {
    let logs: Vec<Vec<String>> = (0..64).map(|rank| printed(fleet, rank)).collect();
    let longest = logs.iter().map(Vec::len).max().unwrap_or(0);
    let mut all = String::new();
    for turn in 0..longest {
        for (rank, line) in logs.iter().enumerate().filter_map(|(rank, lines)| Some((rank, lines.get(turn)?))) {
            all += &format!("{rank:>2}: {line}\n");
        }
    }
    vec![("slurm-4711.out".to_owned(), all)]
}

fn analyzed(logs: &[(String, String)], language: Language) -> Outcome<Report> {
    let open = |(path, log): &(String, String)| Input::new(path, Cursor::new(log.clone().into_bytes()));
    let inputs = logs.iter().map(open).collect::<Result<_, _>>()?;
    Ok(analyze_inputs(inputs, Vec::new(), &Options::default().language(language))?)
}

fn ranks(fleet: &Fleet) -> Outcome<Ranks> {
    Ok(analyzed(&apart(fleet), Language::En)?.ranks.ok_or("no ranks")?)
}

/// The ranks in `state`.
fn of(ranks: &Ranks, state: RankState) -> Vec<u32> {
    ranks.rows.iter().filter(|row| row.state == state).map(|row| row.rank).collect()
}

fn text(report: &Report, language: Language, length: Length) -> String {
    anstream::adapter::strip_str(&report::text(report, language, length, None)).to_string()
}

#[test]
fn one_rank_ran_out_and_the_others_waited_for_it() -> Outcome {
    let report = analyzed(&apart(&ONE_ROOT), Language::En)?;
    let ranks = report.ranks.as_ref().ok_or("no ranks")?;
    assert_eq!((ranks.count, ranks.first, ranks.nodes.len()), (64, Some(26), 8));
    assert_eq!(of(ranks, RankState::RanOut), [26]);
    assert_eq!(of(ranks, RankState::Followed).len(), 63);
    let row = ranks.row(26).ok_or("no row")?;
    assert_eq!(ranks.node(row).map(|node| &**node), Some("gpu-04"));
    assert_eq!(
        (ranks.figure_of(row), row.bytes.map(|bytes| bytes.0 / GIB)),
        (Some(FigureName::TorchAllocated), Some(75))
    );
    // The row gives the line of the message.
    let path = row.input.and_then(|input| report.inputs.get(input)).map(|input| &*input.path);
    assert_eq!((path, row.line.map(|line| line.0)), (Some("gpu-04:/logs/rank_26.log"), Some(11)));
    assert_eq!(ranks.row(0).and_then(|row| row.seconds_after).map(f64::round), Some(601.0));
    insta::assert_snapshot!("ranks-text", text(&report, Language::En, Length::Screen));
    insta::assert_snapshot!("ranks-text-full", text(&report, Language::En, Length::Full));
    insta::assert_snapshot!("ranks-markdown", report::markdown(&report, Language::En));
    let report = analyzed(&apart(&ONE_ROOT), Language::Zh)?;
    insta::assert_snapshot!("ranks-text-chinese", text(&report, Language::Zh, Length::Screen));
    Ok(())
}

#[test]
fn a_page_has_a_square_for_each_rank() -> Outcome {
    let page = report::html(&[analyzed(&apart(&ONE_ROOT), Language::En)?], Language::En);
    let (_, grid) = page.split_once("<h2>Ranks</h2>").ok_or("no grid")?;
    let (grid, _) = grid.split_once("<h2>").ok_or("no end")?;
    assert_eq!(grid.matches("<i class=\"rank").count(), 64 + 2);
    insta::assert_snapshot!("ranks-html", grid.replace("><", ">\n<"));
    Ok(())
}

/// Similar messages of one log are folded, but the ranks they come from are kept.
#[test]
fn one_log_of_all_ranks_tells_the_same() -> Outcome {
    let report = analyzed(&together(&ONE_ROOT), Language::En)?;
    let ranks = report.ranks.as_ref().ok_or("no ranks")?;
    assert_eq!((ranks.count, ranks.first), (64, Some(26)));
    assert_eq!(of(ranks, RankState::Followed).len(), 63, "{:?}", ranks.states);
    assert!(ranks.nodes.is_empty());
    let ends: Vec<usize> = report.failure.sequence.iter().map(|end| end.count).collect();
    assert_eq!(ends, [1, 63]);
    let own = ranks.row(63).and_then(|row| row.line).ok_or("no line")?;
    let log = &together(&ONE_ROOT)[0].1;
    let line = log.lines().nth(own.0 as usize - 1).ok_or("no line")?;
    assert!(line.contains("[Rank 63] Watchdog"), "{line}");
    Ok(())
}

#[test]
fn of_two_roots_one_is_the_first() -> Outcome {
    let fate = |rank| if rank == 3 || rank == 40 { Fate::RunsOut } else { Fate::TimesOut };
    let ranks = ranks(&Fleet { fate, ..ONE_ROOT })?;
    assert_eq!(of(&ranks, RankState::RanOut), [3, 40]);
    assert_eq!(ranks.first, Some(3));
    Ok(())
}

#[test]
fn a_node_that_was_lost_is_silent() -> Outcome {
    let fate = |rank: u32| if rank / ON_NODE == 5 { Fate::Stops } else { Fate::TimesOut };
    let report = analyzed(&apart(&Fleet { fate, ..ONE_ROOT }), Language::En)?;
    let ranks = report.ranks.as_ref().ok_or("no ranks")?;
    assert_eq!(of(ranks, RankState::Silent), (40..48).collect::<Vec<_>>());
    // Ranks that only waited for a collective did not fail first.
    assert_eq!(ranks.first, None);
    assert_eq!(ranks.row(40).and_then(|row| row.seconds_after).map(f64::round), Some(-1025.0));
    let text = text(&report, Language::En, Length::Screen);
    assert!(text.contains("gpu-06           ????????\n"), "{text}");
    Ok(())
}

#[test]
fn what_failed_first_began_it() -> Outcome {
    let ranks = ranks(&Fleet { fate: |rank| if rank == 9 { Fate::Fails } else { Fate::TimesOut }, ..ONE_ROOT })?;
    assert_eq!((of(&ranks, RankState::Failed), ranks.first), (vec![9], Some(9)));
    Ok(())
}

#[test]
fn who_held_far_more_is_named() -> Outcome {
    let held = |rank| if rank == 17 { 62_464.5 } else { (ONE_ROOT.held)(rank) };
    let ranks = ranks(&Fleet { fate: |_| Fate::TimesOut, held })?;
    let words: Vec<&str> = ranks.outliers.iter().map(|outlier| &*outlier.words).collect();
    assert_eq!(words, ["rank 17 held 11.00 GiB more than the median of 50.00 GiB (allocated to tensors)"]);
    Ok(())
}

#[test]
fn a_leak_on_one_node_is_that_of_the_node() -> Outcome {
    let held = |rank| if rank / ON_NODE == 2 { 54_272.0 + f64::from(rank) } else { (ONE_ROOT.held)(rank) };
    let ranks = ranks(&Fleet { fate: |_| Fate::TimesOut, held })?;
    let [outlier] = ranks.outliers.as_slice() else { return Err(format!("{:?}", ranks.outliers).into()) };
    assert_eq!((outlier.ranks.clone(), outlier.node.as_deref()), ((16..24).collect(), Some("gpu-03")));
    assert!(outlier.words.starts_with("the 8 ranks of gpu-03 held 3.02 GiB more"), "{}", outlier.words);
    assert_eq!(outlier.median, Bytes((51_202.25 * f64::from(1 << 20)) as i128));
    Ok(())
}

#[test]
fn a_small_job_has_no_grid() -> Outcome {
    let logs = apart(&ONE_ROOT);
    assert!(analyzed(&logs[24..31], Language::En)?.ranks.is_none());
    assert!(analyzed(&logs[24..32], Language::En)?.ranks.is_some());
    Ok(())
}

/// Where there are more ranks than are kept, a rank that may have printed something is not called silent.
#[test]
fn whose_word_was_not_kept_is_not_silent() -> Outcome {
    const RANKS: usize = 17_000;
    let printed = (0..RANKS).map(|rank| {
        format!("[Rank {rank}] (after 2 iterations) memory (MB) | allocated: 51200.25 | max allocated: 61440.5 | reserved: 65536.0 | max reserved: 65536.0\n")
    });
    let ended = (0..RANKS).rev().map(|rank| {
        format!("[rank{rank}]: RuntimeError: NCCL communicator was aborted on rank {rank}. Original reason for failure was: [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n")
    });
    let report = analyzed(&[("slurm.out".to_owned(), printed.chain(ended).collect())], Language::En)?;
    let ranks = report.ranks.ok_or("no ranks")?;
    assert!(of(&ranks, RankState::Silent).is_empty(), "{:?}", ranks.states);
    assert!(of(&ranks, RankState::Followed).len() > 16_000, "{:?}", ranks.states);
    Ok(())
}
