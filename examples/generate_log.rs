//! Writes a log of any size to standard output: `cargo run --release --example generate_log -- noisy 1024 7` (MiB, seed).

use std::error::Error;
use std::io::{self, BufWriter, Write as _};

#[path = "../benches/generate/mod.rs"]
mod generate;

use generate::Kind;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_default();
    let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name() == name) else {
        let names: Vec<&str> = Kind::ALL.into_iter().map(Kind::name).collect();
        return Err(format!("name a kind of log: {}", names.join(", ")).into());
    };
    let mib: u64 = words.next().as_deref().unwrap_or("1").parse()?;
    let seed: u64 = words.next().as_deref().unwrap_or("1").parse()?;
    let mut out = BufWriter::new(io::stdout().lock());
    generate::write(&mut out, kind, mib << 20, seed)?;
    Ok(out.flush()?)
}
