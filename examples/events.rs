//! Shows what the grammars read in a file: `cargo run --example events -- job.log`.

use std::error::Error;
use std::sync::Arc;

use oomdoc::internal::knowledge::Knowledge;
use oomdoc::internal::parse::{Extractor, GRAMMARS, Grammars};
use oomdoc::internal::scan::{Extent, Scanner};
use oomdoc::internal::source::Input;

fn main() -> Result<(), Box<dyn Error>> {
    let knowledge = Knowledge::shipped()?;
    let grammars = Grammars::new(GRAMMARS, &knowledge)?;
    for path in std::env::args().skip(1) {
        let mut input = Input::open(&path)?;
        let mut extractor = Extractor::new(Arc::from(path), &grammars);
        let mut scanner = Scanner::new(grammars.anchors(), Extent::DEFAULT);
        while scanner.read_from(&mut input, 1 << 20, &mut extractor)? > 0 {}
        scanner.finish(&mut extractor);
        let findings = extractor.finish();
        for event in &findings.events {
            println!("{} {} {:?}", event.at.location, event.producer, event.what);
            event
                .figures
                .iter()
                .for_each(|figure| println!("    {} = {:?} {:?}", figure.name, figure.bytes, figure.text));
            event.facts.iter().for_each(|fact| println!("    {} = {:?}", fact.key, fact.value));
        }
        for point in &findings.timeline {
            println!("{} {} {} = {}", point.source, point.series, point.name, point.bytes);
        }
        println!("{:?}", findings.last);
    }
    Ok(())
}
