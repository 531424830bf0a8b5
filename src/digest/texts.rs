//! The texts of a digest that stem from inputs and may therefore contain secrets.

use super::content::{Content, KeptBeginning};
use crate::incident::InputFindings;
use crate::model::{Text, Texts};
use crate::parse::Findings;
use crate::snapshot::SnapshotFindings;

impl Texts for Content {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Content { oomdoc: _, named, summaries, reads, files, shown, beginnings, missing, written, neighbours } =
            self;
        named.texts(see);
        summaries.texts(see);
        reads.texts(see);
        files.texts(see);
        shown.texts(see);
        beginnings.texts(see);
        missing.texts(see);
        written.texts(see);
        neighbours.texts(see);
    }
}

impl Texts for InputFindings {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let InputFindings { path, role: _, findings } = self;
        path.texts(see);
        findings.texts(see);
    }
}

impl Texts for Findings {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Findings { events, timeline, producers: _, processes, started: _, ended: _, last } = self;
        events.texts(see);
        timeline.texts(see);
        processes.values_mut().for_each(|name| name.texts(see));
        last.texts(see);
    }
}

impl Texts for SnapshotFindings {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let SnapshotFindings { path, devices, refused } = self;
        path.texts(see);
        devices.texts(see);
        refused.texts(see);
    }
}

impl Texts for KeptBeginning {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let KeptBeginning { path, length: _, printed } = self;
        path.texts(see);
        printed.texts(see);
    }
}
