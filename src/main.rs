//! The `oomdoc` command.

fn main() {}
