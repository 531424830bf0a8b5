//! Searches the history in `$OOMDOC_HOME` for each line of standard input, all within this process, and prints the
//! number of hits and the time of each: `printf 'memory\n' | cargo run --release --example ask_history`.

use std::error::Error;
use std::io::{self, BufRead as _};
use std::path::Path;
use std::time::Instant;

use oomdoc::internal::history::{Order, Query, ask};

fn main() -> Result<(), Box<dyn Error>> {
    let home = std::env::var_os("OOMDOC_HOME").ok_or("OOMDOC_HOME names no folder")?;
    for question in io::stdin().lock().lines() {
        let begin = Instant::now();
        let query: Query = question?.parse()?;
        let found = ask(Path::new(&home), &query, Order::Relevance, 0, 20)?.found;
        println!("{} {}", found.total, begin.elapsed().as_micros());
    }
    Ok(())
}
