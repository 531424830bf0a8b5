use super::*;
use crate::parse::testing;

fn figures(lines: &[&str]) -> Vec<(String, String)> {
    let read = testing::read(lines.join("\n").as_bytes());
    read.into_iter().flat_map(|event| event.figures).map(|figure| (figure.name.to_string(), figure.text)).collect()
}

fn has(figures: &[(String, String)], name: &str, text: &str) -> bool {
    figures.iter().any(|figure| (figure.0.as_str(), figure.1.as_str()) == (name, text))
}

#[test]
fn a_message_cut_by_the_terminals_width_is_read_whole() {
    let read = figures(&[
        "(Runner pid=1) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.12 GiB. GPU 0 has a total capacity of 79.19 GiB of which 2.11 GiB is free. Including non-PyTorch memory, this process has 76.96 GiB memory in use. Of the allocated memory 83.48 GiB is allocated by P",
        "yTorch, with 241.21 MiB allocated in private pools (e.g., CUDA Graphs), and 30.59 GiB is reserved by PyTorch but unallocated.",
    ]);
    assert!(has(&read, "torch_reserved_unallocated", "30.59 GiB"), "{read:?}");
}

#[test]
fn graphs_of_any_device_have_pools() {
    let read = figures(&[
        "torch.OutOfMemoryError: MUSA out of memory. Tried to allocate 512.00 MiB. GPU 1 has a total capacity of 47.99 GiB of which 310.19 MiB is free. Of the allocated memory 36.75 GiB is allocated by PyTorch, with 1.25 GiB allocated in private pools (e.g., MUSA Graphs), and 640.50 MiB is reserved by PyTorch but unallocated.",
    ]);
    assert!(has(&read, "torch_reserved_unallocated", "640.50 MiB"), "{read:?}");
}

#[test]
fn a_message_in_a_box_is_read_whole() {
    let read = figures(&[
        "RuntimeError: CUDA out of memory. Tried to allocate 150.00 MiB (GPU 0; 79.35 GiB",
        "total capacity; 76.08 GiB already allocated; 108.19 MiB free; 77.20 GiB reserved",
        "in total by PyTorch) If reserved memory is >> allocated memory try setting",
    ]);
    for (name, text) in [("gpu_total", "79.35 GiB"), ("gpu_free", "108.19 MiB"), ("torch_reserved", "77.20 GiB")] {
        assert!(has(&read, name, text), "{name} in {read:?}");
    }
}

#[test]
fn a_message_in_a_table_is_read_whole() {
    let read = figures(&[
        "| RuntimeError: CUDA out of memory. Tried to allocate 150.00 MiB (GPU 0;           |",
        "| 79.35 GiB total capacity; 76.08 GiB already allocated; 108.19 MiB free;          |",
        "| 77.20 GiB reserved in total by PyTorch)                                          |",
    ]);
    for (name, text) in [("gpu_total", "79.35 GiB"), ("gpu_free", "108.19 MiB"), ("torch_reserved", "77.20 GiB")] {
        assert!(has(&read, name, text), "{name} in {read:?}");
    }
}

#[test]
fn a_number_broken_over_two_lines_says_so() {
    let events = testing::read(
        b"RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 79.\n35 GiB total capacity; 76.08 GiB already allocated; 108.19 MiB free; 77.20 GiB reserved in total by PyTorch)",
    );
    let total = events[0].figures.iter().find(|figure| figure.name == FigureName::GpuTotal);
    assert_eq!(total.and_then(|figure| figure.bytes), Bytes::of(79.35, Bytes::GIB));
    assert_eq!(total.and_then(|figure| figure.derived.as_ref()).map(|derived| derived.from.len()), Some(2));
}

#[test]
fn two_ranks_in_one_line_are_two_events() {
    let one = "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total capacity; 77.13 GiB already allocated; 307.31 MiB free; 78.21 GiB reserved in total by PyTorch) If reserved";
    let other = one.replace("GPU 0", "GPU 3").replace("307.31", "355.31");
    let events =
        testing::read(format!("torch.cudatorch.cuda..OutOfMemoryErrorOutOfMemoryError: : {one}{other}").as_bytes());
    assert_eq!(events.len(), 2);
    assert!(has(&figures(&[&other]), "gpu_free", "355.31 MiB"));
}

#[test]
fn two_messages_in_one_line_amid_letters_that_are_no_ascii() {
    for tail in ["", "x"] {
        let line = format!(
            "CUDA out of memory. Tried to allocate 416.00 MiB. CUDA out of memory. Tried {}{tail}",
            "é".repeat(60)
        );
        assert!(has(&figures(&[&line]), "requested", "416.00 MiB"), "{line}");
    }
}

#[test]
fn what_is_cut_off_is_not_invented() {
    let read = figures(&[
        "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 11.17 GiB total capacity; 962.69 MiB already allocated; 17.19 MiB f",
    ]);
    assert!(has(&read, "gpu_free", "17.19 MiB"));
    let read = figures(&["torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.17 GiB. GPU 0 has a total"]);
    assert!(has(&read, "gpu_index", "GPU 0") && !read.iter().any(|(name, _)| name == "gpu_total"));
    let read = figures(&[
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.17 GiB. GPU 0 has a total capacity of 79.1",
    ]);
    assert!(!read.iter().any(|(name, _)| name == "gpu_total"), "{read:?}");
    // Where the unit is whole, the amount behind a device is its capacity.
    let read = figures(&["CUDA out of memory. Tried to allocate 341.70 GiB (GPU 0; 79.33 Gi"]);
    assert!(has(&read, "gpu_total", "79.33 Gi"), "{read:?}");
    let read = figures(&["CUDA out of memory. Tried to allocate 341.70 GiB (GPU 0; 79.3"]);
    assert!(!read.iter().any(|(name, _)| name == "gpu_total"), "{read:?}");
    // It may become `allowed` or `already allocated`.
    let read = figures(&[
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.17 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.05 GiB is free. 28.50 GiB al",
    ]);
    assert!(!read.iter().any(|(_, text)| text == "28.50 GiB"), "{read:?}");
}

#[test]
fn a_mention_is_no_event() {
    for line in [
        "If you see CUDA out of memory, try a smaller batch",
        "    if \"CUDA out of memory\" in str(error):",
        "raise RuntimeError(f\"CUDA out of memory. Tried to allocate {size}\")",
    ] {
        assert!(testing::read(line.as_bytes()).is_empty(), "{line}");
    }
}
