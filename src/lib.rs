//! x
pub mod knowledge;
pub mod model;
pub mod parse;
pub mod scan;
pub mod source;
