//! The settings: `oomdoc.toml`, variables and flags merged.
//!
//! In: the files that apply, the environment and the command line. Out: [`Settings`], each value with its [`Origin`].
//! Flags override variables, those the project's file, that the user's own. A project's file is untrusted, like
//! everything in a cloned repository: it cannot decide where things are written or sent, nor name files outside its
//! folder. This is the only place that knows the names of oomdoc's variables; it looks them up through a function, and
//! prints nothing.

#[cfg(feature = "cli")]
mod error;
#[cfg(feature = "cli")]
mod file;
#[cfg(feature = "cli")]
mod find;
mod host;
mod ignore;
#[cfg(feature = "cli")]
mod key;
#[cfg(feature = "cli")]
mod layer;
#[cfg(feature = "cli")]
mod merge;
mod origin;
mod pattern;
#[cfg(feature = "cli")]
mod schema;
#[cfg(feature = "cli")]
mod serve;
#[cfg(feature = "cli")]
mod show;
mod site;
#[cfg(feature = "cli")]
mod unknown_key;

#[cfg(feature = "cli")]
pub use error::SettingsError;
#[cfg(feature = "cli")]
pub use file::Color;
#[cfg(feature = "cli")]
pub use find::{SearchPaths, find};
#[cfg(feature = "cli")]
pub use key::{KEYS, Setter};
#[cfg(feature = "cli")]
pub use layer::Layer;
#[cfg(feature = "cli")]
pub use merge::{Flags, Settings};
pub use origin::{FileLine, Origin, Row};
#[cfg(feature = "cli")]
pub use schema::schema;
#[cfg(feature = "cli")]
pub use serve::{AnonymousWord, ProxyScope, ProxyTable};
#[cfg(feature = "cli")]
pub use show::ShownSetting;
pub use site::Site;

/// The name of the file.
#[cfg(feature = "cli")]
pub const NAME: &str = "oomdoc.toml";
