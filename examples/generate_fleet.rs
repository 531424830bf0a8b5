//! Writes the logs of a large job, one folder per node: `cargo run --release --example generate_fleet -- FOLDER
//! one-root 512 8 1000` (story, nodes, ranks per node, steps).

use std::error::Error;
use std::path::Path;

#[path = "../tests/it/support/fleets.rs"]
mod fleets;

use fleets::{Fleet, Story};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, story, numbers @ ..] = &words[..] else { return Err("name a folder and a story".into()) };
    let Some(story) = Story::ALL.into_iter().find(|known| known.name() == story) else {
        return Err(format!("name a story: {}", Story::ALL.map(Story::name).join(", ")).into());
    };
    let mut numbers = numbers.iter().map(|number| number.parse::<u32>());
    let mut next = |usual| numbers.next().unwrap_or(Ok(usual));
    let (nodes, ranks_per_node, steps) = (next(512)?, next(8)?, next(64)?);
    let root = nodes * ranks_per_node * 2 / 5 + 3;
    println!("root: rank {root} on {}", Fleet::node(root / ranks_per_node));
    Ok(Fleet { story, nodes, ranks_per_node, steps, root, skewed: None }.write(Path::new(folder))?)
}
