//! Prints the literals that make a line worth reading, one a line: what `benches/compare` gives to other search tools.

use oomdoc::internal::knowledge::Knowledge;
use oomdoc::internal::parse::{GRAMMARS, Grammars};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for literal in Grammars::new(GRAMMARS, &Knowledge::shipped()?)?.anchors().literals() {
        println!("{literal}");
    }
    Ok(())
}
