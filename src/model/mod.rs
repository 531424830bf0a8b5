//! The nouns of a post-mortem: what ran out, where, when, with which figures, and what was said of it.
//!
//! Everything else in the library passes these values on. Nothing here reads a file, knows a log format or
//! holds a regular expression; every amount carries its unit and every statement the place where it stands.

mod collapse;
mod event;
mod experience;
mod figure;
mod incident;
mod location;
mod one_line;
mod patch;
mod report;
mod signal;
mod texts;
mod time;
mod units;
mod vocabulary;

pub use collapse::{Call, Collapse, End, Ending};
pub use event::{
    DEVICE_IN_USE, Death, Event, Exit, Fact, FactValue, Failure, Frame, Origin, PROCESS_IN_USE, PhaseMark, RANK_IN_USE,
    Setting, Severity, Shortage, Traceback, What,
};
pub use experience::{Experience, Group, Occurrence, Outcomes, Tally};
pub use figure::{Derivation, Figure};
pub use incident::{
    Consumer, Diagnosis, Earlier, Fingerprint, Ignored, Incident, Memory, NotAdvised, PhaseFinding, PhaseShare, Seen,
    Victim, ray_title,
};
pub use location::{Citation, Column, LineNumber, Location};
pub use one_line::one_line;
pub use patch::{Change, Edit, Given, Need, Partner, Patch, PatchEffect, PatchNeeds, PatchSet, Scalar};
pub use report::{InputSummary, Job, OtherFailure, Report, Role, SCHEMA, TimelinePoint};
pub use signal::Signal;
pub use texts::{Text, Texts};
pub use time::{Clock, Stamps, TimeSource, Timestamp, When};
pub use units::Bytes;
pub use vocabulary::{Basis, FigureName, Kind, OtherFailureName, Phase, UnknownWord};
