//! How a user wants oomdoc to work: `oomdoc.toml`, variables and flags as one.
//!
//! In go the files that hold here, the environment and what the command line says; out come [`Settings`], each value with its
//! [`Origin`]. Flags go before variables, those before the project's file, that before the user's own. A project's file is foreign, like
//! all of a repository that somebody cloned: it cannot choose where things are written or sent, and names nothing outside its folder.
//! This is the only place that knows the names of our variables; it asks for them through a function, and prints nothing.

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
mod merge;
mod origin;
mod pattern;
#[cfg(feature = "cli")]
mod read;
#[cfg(feature = "cli")]
mod schema;
#[cfg(feature = "cli")]
mod serve;
#[cfg(feature = "cli")]
mod show;
mod site;
#[cfg(feature = "cli")]
mod stray;

#[cfg(feature = "cli")]
pub use error::SettingsError;
#[cfg(feature = "cli")]
pub use file::Color;
#[cfg(feature = "cli")]
pub use find::{Places, find};
#[cfg(feature = "cli")]
pub use key::{KEYS, Setter};
#[cfg(feature = "cli")]
pub use merge::{Flags, Settings};
pub use origin::{Origin, Place, Row};
#[cfg(feature = "cli")]
pub use read::Layer;
#[cfg(feature = "cli")]
pub use schema::schema;
#[cfg(feature = "cli")]
pub use serve::{AnonymousWord, ProxyScope, ProxyTable};
#[cfg(feature = "cli")]
pub use show::Shown;
pub use site::Site;

/// The name of the file.
#[cfg(feature = "cli")]
pub const NAME: &str = "oomdoc.toml";
