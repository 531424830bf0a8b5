//! Prints the literals for which a line is read, one per line. `benches/compare` gives them to other search tools.

use oomdoc::internal::knowledge::Knowledge;
use oomdoc::internal::parse::{GRAMMARS, Grammars};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for literal in Grammars::new(GRAMMARS, &Knowledge::shipped()?)?.anchors().literals() {
        println!("{literal}");
    }
    Ok(())
}
