//! How a user wants oomdoc to work: `oomdoc.toml`, variables and flags as one.
//!
//! In go the files that hold here, the environment and what the command line says; out come [`Settings`], each value with its
//! [`Origin`]. Flags go before variables, those before the project's file, that before the user's own. A project's file is foreign, like
//! all of a repository that somebody cloned: it cannot choose where things are written or sent, and names nothing outside its folder.
//! This is the only place that knows the names of our variables; it asks for them through a function, and prints nothing.

mod error;
mod file;
mod find;
mod host;
mod ignore;
mod key;
mod merge;
mod origin;
mod pattern;
mod read;
mod schema;
mod show;
mod site;
mod stray;

pub use error::SettingsError;
pub use file::{Color, File};
pub use find::{Found, Places, Whose, find};
pub use host::HostFacts;
pub use ignore::Ignore;
pub use key::{KEYS, Key, Setter};
pub use merge::{Flags, Settings};
pub use origin::{Held, Origin, Place, Row};
pub use pattern::{BadPattern, NamePattern, PathPattern};
pub use read::Layer;
pub use schema::schema;
pub use show::Shown;
pub use site::Site;

/// The name of the file.
pub const NAME: &str = "oomdoc.toml";
