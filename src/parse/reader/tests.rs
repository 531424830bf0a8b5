use crate::model::{Basis, Event, Exit, FigureName, What};
use crate::parse::testing;

fn believed(text: &str) -> Vec<Event> {
    testing::find_all(text.as_bytes()).events.into_iter().filter(|event| event.basis == Basis::Reader).collect()
}

/// The reader's events in `text`, or those of a grammar or message if the format is known by now.
fn heard(text: &str) -> Vec<Event> {
    let events = testing::find_all(text.as_bytes()).events.into_iter();
    let (reader, grammars): (Vec<Event>, Vec<Event>) = events.partition(|event| event.basis == Basis::Reader);
    if reader.is_empty() { grammars } else { reader }
}

/// The kinds of the reader's events in `text`.
fn kinds(text: &str) -> Vec<String> {
    kinds_of(believed(text))
}

fn kinds_of(events: Vec<Event>) -> Vec<String> {
    let said = events.into_iter().filter_map(|event| match event.what {
        What::Shortage(shortage) => Some(shortage.kind.to_string()),
        What::Death(death) if death.exit == Exit::KILL => Some("sigkill_unattributed".to_owned()),
        _ => None,
    });
    said.collect()
}

fn figure(text: &str, name: FigureName) -> Option<String> {
    heard(text).into_iter().flat_map(|event| event.figures).find(|figure| figure.name == name).map(|figure| figure.text)
}

#[test]
fn what_a_grammar_states_is_not_said_twice() {
    let torch = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.25 GiB of which 1.00 GiB is free.";
    assert!(kinds(torch).is_empty());
}

#[test]
fn an_amount_is_a_figure_only_beside_a_word_that_says_what_it_is() {
    let line = "StoreError: out of memory on GPU 1 after 12.5 GiB of logs, failed to allocate 96 MiB";
    assert_eq!(figure(line, FigureName::Requested).as_deref(), Some("96 MiB"));
    assert_eq!(believed(line).iter().flat_map(|event| &event.figures).count(), 2);
    for cut in ["EngineError: failed to allocate 96 M", "EngineError: GPU failed to allocate 96"] {
        assert_eq!(figure(cut, FigureName::Requested), None, "{cut}");
    }
}

#[test]
fn an_amount_belongs_to_its_own_clause() {
    let line = "TrainerError: GPU out of memory, failed to allocate 4500 MB, available 1,200 MB";
    assert_eq!(figure(line, FigureName::Requested).as_deref(), Some("4500 MB"));
    assert_eq!(figure(line, FigureName::GpuFree).as_deref(), Some("1,200 MB"));
    let chinese = "GPU 0上出现内存不足错误，可用内存仅为0.5 GB，无法在GPU上分配50 MB内存";
    believed(chinese);
}

#[test]
fn words_may_stand_between_and_labels_begin_a_sentence() {
    assert_eq!(kinds("GPU #2 does not have enough free graphics memory for the table").len(), 1);
    assert!(kinds("not enough workers started yet; they share one memory").is_empty());
    // The amount in the line before belongs to something else.
    assert_eq!(kinds("[ 43%] how to simulate\nrenderer: error: GPU out of memory"), ["gpu_oom"]);
}

#[test]
fn a_message_of_several_lines_is_cited_where_it_stands() {
    let events = believed("x\nTrainerError: GPU out of\nmemory, giving up\ny");
    let lines: Vec<u64> = events
        .iter()
        .flat_map(|event| std::iter::once(&event.at).chain(&event.evidence))
        .map(|cite| cite.location.line.0)
        .collect();
    assert_eq!(lines, [2, 3]);
}

#[test]
fn what_is_printed_at_each_step_is_judged_once() {
    let text: String =
        (0..2000).map(|step| format!("step {step} oom retries 0, memory limit 80, loss 0.5\n")).collect();
    assert!(kinds(&text).is_empty());
}

#[test]
fn the_number_of_messages_kept_is_bounded() {
    let word = |at: usize| ('a'..='z').nth(at % 26).map_or(String::new(), |c| c.to_string().repeat(1 + at / 26));
    let text: String = (0..2000).map(|at| format!("{}Error: GPU out of memory\n", word(at))).collect();
    let kept = kinds(&text).len();
    assert!((200..=256).contains(&kept), "{kept}");
}

/// The words of each figure of the first shortage in `text`.
fn figures(text: &str) -> Vec<(FigureName, String)> {
    let events = testing::find_all(text.as_bytes()).events.into_iter();
    let shortage =
        events.filter(|event| matches!(event.what, What::Shortage(_))).find(|event| !event.figures.is_empty());
    shortage
        .map(|event| event.figures.into_iter().map(|figure| (figure.name, figure.text)).collect())
        .unwrap_or_default()
}

#[test]
fn a_message_known_by_its_first_words_is_read_to_its_end() {
    let words = |name, words: &str| (name, words.to_owned());
    let refused = figures("E/RKNN: failed to malloc npu memory!, size: 59187712, flags: 0x2");
    assert_eq!(refused, [words(FigureName::Requested, "59187712")]);
    // A blank within a word stops the grammar.
    let torn = figures(
        "RuntimeError: CUDA out of memory. Tried to allocate 1.53 GiB (GPU 0; 4.00 GiB to tal capacity; 2.34 GiB already \
         allocated; 568.58 MiB free; 29.77 MiB cached)",
    );
    for figure in [words(FigureName::TorchAllocated, "2.34 GiB"), words(FigureName::GpuFree, "568.58 MiB")] {
        assert!(torn.contains(&figure), "{torn:?}");
    }
}

#[test]
fn a_number_without_a_unit_counts_bytes_only_behind_words_of_memory() {
    let requested = |text: &str| figures(text).into_iter().find(|(name, _)| *name == FigureName::Requested);
    let words = |words: &str| Some((FigureName::Requested, words.to_owned()));
    assert_eq!(
        requested("not enough space in the memory pool (needed 12641168288, available 12633509264)"),
        words("12641168288")
    );
    assert_eq!(requested("FATAL: out of device memory, unable to allocate buffer: 655360000!"), words("655360000"));
    for text in [
        "CUDA out of memory with vocab size 151936",
        "CUDA out of memory: needed 120000 tokens",
        "CUDA out of memory in step 1200000",
    ] {
        assert_eq!(requested(text), None, "{text}");
    }
}

#[test]
fn an_amount_is_read_with_the_unit_of_its_label_and_as_the_whole_of_a_pair() {
    let words = |name, words: &str| (name, words.to_owned());
    let labelled =
        figures("Error: GPU out of memory. Total GPU memory (GiB): 140.06, free[MB]=512, used (in GB) 139.5");
    for figure in [words(FigureName::GpuTotal, "140.06"), words(FigureName::GpuFree, "512")] {
        assert!(labelled.contains(&figure), "{labelled:?}");
    }
    let pair = figures("Error: GPU out of memory, 23.5/24.0 GB used");
    assert!(pair.contains(&words(FigureName::GpuTotal, "24.0 GB")), "{pair:?}");
    let held = figures("[rank 3] CUDA OOM: allocated 71.2 GB, reserved 78.9 GB, peak 79.1 GB");
    for figure in [
        words(FigureName::TorchAllocated, "71.2 GB"),
        words(FigureName::TorchReserved, "78.9 GB"),
        words(FigureName::AllocatedPeak, "79.1 GB"),
    ] {
        assert!(held.contains(&figure), "{held:?}");
    }
    for text in
        ["CUDA out of memory in layer (b) 12.5", "CUDA out of memory at step 3/4 GPUs", "GPU out of memory [1] 80"]
    {
        assert!(figures(text).is_empty(), "{text}");
    }
}

#[test]
fn figures_stand_on_the_lines_on_which_a_message_goes_on() {
    let words = |name, words: &str| (name, words.to_owned());
    let free = |text: &str| figures(text).into_iter().find(|(name, _)| *name == FigureName::GpuFree);
    // The same for a message that a row knows by its first line.
    for text in [
        "ArenaError: GPU out of memory, available memory is only\n     416.50 MB.\n\nplease check",
        "ArenaError: GPU out of memory, available memory\nis only 416.50 MB, giving up",
        "Out of memory error on GPU 0. Cannot allocate 1.531250GB memory on GPU 0, available memory is only \n   416.50 MB.",
        "ArenaError: GPU out of memory\nRequested: 768.00 MiB\nFree: 416.50 MB",
        "ArenaError: GPU out of memory.\nThe card has 11.75 GiB total, 416.50 MB free, 11.1 GiB in use by this process.",
    ] {
        assert_eq!(free(text), Some(words(FigureName::GpuFree, "416.50 MB")), "{text}");
    }
    for text in [
        "ArenaError: GPU out of memory.\n416.50 MB available on the disk",
        "ArenaError: GPU out of memory\nINFO cache: available memory is only 416.50 MB",
        "ArenaError: GPU out of memory, available memory is only 416\n50 MB",
    ] {
        assert_eq!(free(text), None, "{text}");
    }
}

#[test]
fn a_last_line_that_breaks_off_says_what_whole_ones_said() {
    const PLACE: &str = "2026-03-01 10:00:39.283431: W tensorflow/core/common_runtime/bfc_allocator.cc:290]";
    let whole = format!(
        "{PLACE} Allocator (GPU_4_bfc) ran out of memory trying to allocate 2.88GiB with freed_by_count=0. The caller indicates that this is not a failure, but there could be performance gains if more memory were available."
    );
    let cut = format!("{PLACE} Allocator (GPU_1_bfc) ran out of memory trying to allo");
    assert_eq!(kinds(&cut).len(), 1, "nothing tells that it is harmless");
    assert_eq!(kinds(&format!("{whole}\n{cut}")), [""; 0]);
    let ends = format!("{PLACE} Allocator (GPU_1_bfc) ran out of memory trying");
    assert_eq!(kinds(&format!("{whole}\n{ends}")).len(), 1, "it ends with a word");
    assert_eq!(kinds(&format!("{whole}\nRuntimeError: CUDA ran out of memory")).len(), 1, "another message");
}
