//! What the device is called that ran out of memory. Most are GPUs; a log's own words say what else it is.

use crate::model::{Incident, Kind};

/// What a report calls a device unless the proof says otherwise.
const GPU: &str = "GPU";

/// Names of other devices, and the words that only their programs print: torch_npu, intel-extension-for-pytorch, Gaudi's, and XLA on TPUs,
/// whose memory it calls hbm.
const OTHERS: &[(&str, &[&str])] =
    &[("NPU", &["NPU"]), ("XPU", &["XPU"]), ("HPU", &["HPU"]), ("TPU", &["TPU", "TPU_0_bfc", "hbm"])];

/// `words` about `incident`, with the device called by its name.
pub(super) fn call_device(words: &str, incident: &Incident) -> String {
    match name(incident) {
        GPU => words.to_owned(),
        name => words_of(words).map(|word| if word == GPU { name } else { word }).collect(),
    }
}

/// The first device that the proof names.
fn name(incident: &Incident) -> &'static str {
    if incident.kind != Kind::GpuOom {
        return GPU;
    }
    let said =
        |marks: &[&str]| incident.evidence.iter().any(|cite| words_of(&cite.text).any(|word| marks.contains(&word)));
    OTHERS.iter().find(|(_, marks)| said(marks)).map_or(GPU, |(name, _)| name)
}

/// The words of `text` and what stands between them.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = rest.find(|c| is_of_word(c) != is_of_word(first)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        rest = behind;
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_what_stands_between_them_are_the_whole() {
        let text = "显存 GPU_0_bfc: INPUT (NPU 2)";
        assert_eq!(words_of(text).collect::<String>(), text);
        let words: Vec<&str> = words_of(text).collect();
        assert!(words.contains(&"NPU") && words.contains(&"INPUT") && !words.contains(&"GPU"));
    }
}
