//! The data types of a report: what ran out, where, when, which figures and which words state it.
//!
//! The rest of the library exchanges these values. Nothing here reads a file, knows a log format or uses a regular expression; every amount
//! has its unit, and every statement the place where it stands.

mod collapse;
pub(crate) mod event;
mod event_texts;
mod experience;
mod figure;
mod incident;
mod location;
mod one_line;
pub(crate) mod patch;
mod ranks;
mod report;
mod signal;
mod snapshot;
mod texts;
mod time;
mod units;
mod vocabulary;
pub(crate) mod word;

pub use collapse::{Call, Collapse, End, Ending};
pub use experience::Outcomes;
pub use figure::{Derivation, Figure};
pub use incident::{
    Consumer, Diagnosis, Earlier, Fingerprint, Ignored, Incident, Memory, NotAdvised, PhaseFinding, PhaseShare, Seen,
    Victim, ray_title,
};
pub use location::{Citation, Column, LineNumber, Location};
pub use patch::{Change, Need, Partner, Patch, PatchEffect, PatchNeeds, PatchSet, Scalar};
pub use ranks::{Outlier, RankRow, RankState, Ranks, StateCount};
pub use report::{ClockSkew, InputSummary, Job, Nodes, OtherFailure, Report, Role, SCHEMA, TimelinePoint};
pub use snapshot::{
    Allocation, CategoryUse, HistoryPoint, LineUse, RefusedAllocation, SegmentUse, Snapshot, SnapshotMoment,
    TraceEvent, UnusedMemory,
};
pub use time::{TimeSource, When};
pub use units::Bytes;
pub use vocabulary::{Basis, FigureName, Kind, OtherFailureName, Phase, UnknownWord};

// Types that are not part of a report.
pub(crate) use event::{
    CONTAINER_NAME, DEVICE_IN_USE, Death, Event, Exit, FAILURE_ELSEWHERE, Fact, FactValue, Failure, Frame, LineContext,
    Mention, NO_OOM_KILL, Origin, PROCESS_IN_USE, PhaseMark, RANK_IN_USE, SERVICE_NAME, SMI_COMMAND, SMI_DEVICE,
    SMI_HELD, SMI_PID, Severity, Shortage, Traceback, What,
};
pub(crate) use experience::{Experience, Group, Occurrence, Tally};
pub(crate) use one_line::one_line;
pub(crate) use patch::{Edit, Given};
pub(crate) use signal::Signal;
pub(crate) use texts::{Text, Texts};
pub(crate) use time::{Clock, Stamps, Timestamp};
