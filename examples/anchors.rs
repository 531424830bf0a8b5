//! Prints the literals that make a line worth reading, one a line: what `benches/compare` gives to other search tools.

use oomdoc::knowledge::Knowledge;
use oomdoc::parse::{GRAMMARS, Grammars};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for literal in Grammars::new(GRAMMARS, &Knowledge::shipped()?)?.anchors().literals() {
        println!("{literal}");
    }
    Ok(())
}
