//! Writes incidents in the format of `oomdoc history import -`: `cargo run --release --example generate_incidents --
//! 1000000 7` (number, seed).

use std::error::Error;
use std::io::{self, BufWriter, Write as _};

#[allow(dead_code)]
#[path = "../benches/generate/mod.rs"]
mod generate;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let count: u64 = words.next().as_deref().unwrap_or("1000").parse()?;
    let seed: u64 = words.next().as_deref().unwrap_or("1").parse()?;
    let mut out = BufWriter::new(io::stdout().lock());
    for number in 0..count {
        serde_json::to_writer(&mut out, &generate::incidents::incident(seed, number))?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}
