//! Finds the setting of a knob that is known by the folder that it names: any option of any program may send files into memory.

use super::index::{Setting, SettingIndex};
use crate::config::{Document, Entry, EntryKind, Format};
use crate::knowledge::{Knob, last_step};

impl SettingIndex {
    /// The first setting whose value is a path in one of the folders of `knob`, in the user's own files before what was printed.
    pub(super) fn holding<'d>(&self, documents: &'d [Document], knob: &Knob) -> Option<Setting<'d>> {
        let all = documents.iter().enumerate().flat_map(|(number, document)| {
            let entries = document.entries().iter().enumerate();
            entries.map(move |(at, entry)| ((number, at), Setting { document, entry }))
        });
        let is_it = |(place, setting): &((usize, usize), Setting<'d>)| {
            !self.is_of_other(*place).0
                && may_send_files(setting.document, setting.entry)
                && is_held(knob, setting.entry)
        };
        all.filter(is_it).map(|(_, setting)| setting).min_by_key(|setting| !setting.is_own())
    }
}

/// Whether the value of `entry` is a path below one of the folders of `knob`.
fn is_held(knob: &Knob, entry: &Entry) -> bool {
    let value = entry.value.to_string();
    !value.contains([':', ' ', ',']) && knob.holds.iter().any(|folder| super::below(&value, folder).is_some())
}

/// Whether `entry` may say where a program puts files: where a volume is mounted says nothing of what is written there.
fn may_send_files(document: &Document, entry: &Entry) -> bool {
    /// Words in names of what is written, and of what is only read or met there.
    const WRITTEN: [&str; 12] =
        ["out", "cache", "tmp", "temp", "spill", "scratch", "store", "work", "dump", "save", "swap", "buffer"];
    const MET: [&str; 6] = ["sock", "pipe", "config", "auth", "init", "runtime"];
    let name = last_step(&entry.key).to_ascii_lowercase();
    if !WRITTEN.iter().any(|word| name.contains(word)) || MET.iter().any(|word| name.contains(word)) {
        return false;
    }
    const MOUNTS: [&str; 6] = ["mountPath", "mount_path", "target", "source", "tmpfs", "volumes"];
    match entry.kind {
        EntryKind::Flag | EntryKind::Override | EntryKind::Env => true,
        EntryKind::Variable => document.format() == Format::Python,
        EntryKind::Setting => !MOUNTS.contains(&&*last_step(&entry.key)),
        EntryKind::Directive => false,
    }
}
