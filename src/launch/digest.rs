use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::config::{Document, Format};
use crate::hexadecimal::hexadecimal;

/// A digest that tells configurations apart. It covers all settings of the user's own files, or, if there are none, of
/// what was printed. Neither order nor position of the settings matters.
pub(super) fn digest(documents: &[Document]) -> Option<String> {
    let is_own = documents.iter().any(|document| document.format() != Format::Log);
    let counts = |document: &&Document| (document.format() != Format::Log) == is_own;
    let entries = documents.iter().filter(counts).flat_map(Document::entries);
    let settings: BTreeSet<String> = entries.map(|entry| format!("{}={}", entry.key, entry.value)).collect();
    let mut digest = Sha256::new();
    settings.iter().for_each(|setting| digest.update(format!("{setting}\n")));
    (!settings.is_empty()).then(|| hexadecimal(&digest.finalize()[..8]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_matter() {
        let of = |texts: &[(&str, &str)]| {
            let documents = texts.iter().flat_map(|(path, text)| Document::read(*path, text)).collect::<Vec<_>>();
            digest(&documents)
        };
        let one = of(&[("a.json", "{\"zero_optimization\": {\"stage\": 2}, \"fp16\": true}")]);
        assert!(one.as_ref().is_some_and(|digest| digest.len() == 16));
        assert_eq!(one, of(&[("elsewhere.json", "{ \"fp16\": true,\n  \"zero_optimization\": {\"stage\": 2} }")]));
        assert_ne!(one, of(&[("a.json", "{\"zero_optimization\": {\"stage\": 3}, \"fp16\": true}")]));
        assert_eq!(of(&[]), None);
    }
}
