//! What the command, tests, benches and examples of this repository use beyond the public API.
//!
//! It is exempt from versioning: anything here may change or disappear with any release.

pub use crate::{analyze_inputs, examine_inputs};

#[cfg(feature = "server")]
pub mod bot {
    pub use crate::bot::{
        Bot, BotConfig, Done, ForgeName, Moment, QueueError, Receipt, Refusal, Services, StoreAction, Work,
    };
}

#[cfg(feature = "cli")]
pub mod cli {
    pub use crate::cli::{Flags, Quantised, Recomputation, command, run};
}

pub mod config {
    pub use crate::config::{Document, Format, Value, diff, from_log};
}

pub mod diagnosis {
    pub use crate::diagnosis::{Scene, calibrate, rank};
}

#[cfg(feature = "cli")]
pub mod digest {
    pub use crate::digest::{Digest, DigestError, LARGEST};
    pub use crate::{analyze_digest, digest as read_on};
}

pub mod facts {
    pub use crate::facts::{Answer, Evaluator, Expression, Facts, Value, names};
}

#[cfg(feature = "cli")]
pub mod fit {
    pub use crate::fit::{Case, LabelError, analyze, read_cases};
}

#[cfg(feature = "cli")]
pub mod fix {
    pub use crate::fix::{FixError, analyze, mend, pick};
}

#[cfg(feature = "history")]
pub mod history {
    pub use crate::history::{
        Answer, BackedUp, Cursor, Document, Expired, Facet, FacetValue, Fix, FixFilter, FoundPage, GroupFilter,
        GroupOrder, GroupPage, GroupState, GroupSummary, HistoryError, IndexError, Likeness, Live, Order, Outcome,
        Page, Query, Record, Retention, Series, Trend, TrendBy, Verdict, add, annotate, ask, ask_similar, ask_stats,
        backup, drain, export, find, fixes, import, is_waiting, look, now, outcomes, prune, publish, put, records,
        reindex, remove_expired, resolve, restore, search, settle, similar, snapshot, stats, verify_backup,
    };
}

pub mod knowledge {
    pub use crate::knowledge::{
        CauseRule, DefaultValue, Dialect, DialectExample, Direction, ExampleRow, Fact, FactRow, FactType, Glossary,
        Knob, Knowledge, KnowledgeError, Lever, MessageFile, Must, Plain, RuleFile, Spelling, To, Turn,
        example_of_secret, shipped_files,
    };
}

pub mod launch {
    pub use crate::launch::JobConfig;
}

pub mod memory {
    pub use crate::memory::{
        Adapter, Amount, Batch, Buckets, Checkpoint, Cluster, Companion, Component, Engine, Export, Home, IdleOffload,
        Images, Implementation, Layout, ModelSize, Moment, MomentPlan, Observed, Offload, OffloadDevice, Optimizer,
        OptimizerKind, OptimizerOffload, Parallel, ParameterOffload, Parameters, Pinning, Place, Plan, Precision,
        Recomputation, Requested, Resume, Rounding, Samples, Sharding, Sleep, Step, WeightsLoad, Width, explain,
        size_matches, states,
    };
}

pub mod model {
    pub use crate::model::event::{Event, FactValue, What};
    pub use crate::model::patch::{Edit, Given};
}

pub mod parse {
    pub use crate::parse::{Extractor, Findings, GRAMMARS, Grammars, read_whole};
}

pub mod patch {
    pub use crate::patch::apply;
}

#[cfg(any(feature = "history", feature = "render"))]
pub mod redact {
    pub use crate::redact::Redactor;
}

#[cfg(feature = "render")]
pub mod report {
    pub use crate::report::{
        Length, brief, change, compact, github, html, json, markdown, neighbours, outgoing, sarif, text,
    };
}

#[cfg(feature = "cli")]
pub mod rulebase {
    pub use crate::rulebase::{FactNames, RuleSource, check};
}

pub mod scan {
    pub use crate::scan::{Extent, LineSink, RawLine, Scanner};
}

#[cfg(feature = "server")]
pub mod server {
    pub use crate::server::openapi;
}

#[cfg(feature = "cli")]
pub mod settings {
    pub use crate::settings::{KEYS, Setter};
}

#[cfg(feature = "schema")]
pub mod schema {
    #[cfg(feature = "cli")]
    pub use crate::schema::settings;
    pub use crate::schema::{estimate, report};
}

pub mod signals {
    pub use crate::signals::Signals;
}

pub mod snapshot {
    pub use crate::snapshot::{Recording, SnapshotFindings};
}

pub mod source {
    pub use crate::source::{Input, Places};
}

#[cfg(feature = "history")]
pub mod store {
    pub use crate::store::{
        Change, DiskStore, MemoryStore, RuleChanges, Snapshot, Store, StoreError, View, host_name, import_rules,
        own_rules, remove_rules, salvage,
    };
}

#[cfg(feature = "triage")]
pub mod triage {
    pub use crate::triage::{Comment, Environment, Forge, HttpError, Patience, Posted, comment, notify};
}

pub mod watch {
    pub use crate::watch::Watch;
}
