//! How long each stage takes: `cargo bench`.

#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::io::Cursor;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use oomdoc::Language;
use oomdoc::Options;
use oomdoc::internal::knowledge::Knowledge;
use oomdoc::internal::parse::{Extractor, GRAMMARS, Grammars};
use oomdoc::internal::report::Length;
use oomdoc::internal::scan::{Extent, LineSink, RawLine, Scanner};
use oomdoc::internal::source::Input;
use oomdoc::internal::{analyze_inputs, report};

mod generate;

use generate::Kind;

/// Counts the bytes of the lines it is given.
#[derive(Default)]
struct Count(u64);

impl LineSink for Count {
    fn line(&mut self, line: RawLine<'_>) {
        self.0 += line.bytes.len() as u64;
    }
    fn gap(&mut self) {}
}

fn log(kind: Kind, size: u64) -> Vec<u8> {
    let mut log = Vec::new();
    generate::write(&mut log, kind, size, 7).unwrap();
    log
}

fn scan(criterion: &mut Criterion) {
    let grammars = Grammars::new(GRAMMARS, &Knowledge::shipped().unwrap()).unwrap();
    let mut group = criterion.benchmark_group("scan");
    for kind in Kind::ALL {
        let log = log(kind, 64 << 20);
        group.throughput(Throughput::Bytes(log.len() as u64)).sample_size(10);
        group.bench_function(kind.name(), |bencher| {
            bencher.iter(|| {
                let (mut scanner, mut count) = (Scanner::new(grammars.anchors(), Extent::DEFAULT), Count::default());
                log.chunks(1 << 20).for_each(|block| scanner.push(block, &mut count));
                scanner.finish(&mut count);
                count.0
            });
        });
    }
}

fn extract(criterion: &mut Criterion) {
    let knowledge = Knowledge::shipped().unwrap();
    let grammars = Grammars::new(GRAMMARS, &knowledge).unwrap();
    let mut group = criterion.benchmark_group("extract");
    for kind in Kind::ALL {
        // No longer than the head of an input, which is read completely.
        let log = log(kind, Extent::DEFAULT.head as u64);
        group.throughput(Throughput::Bytes(log.len() as u64));
        group.bench_function(kind.name(), |bencher| {
            bencher.iter(|| {
                let mut extractor = Extractor::new(Arc::from("job.log"), &grammars);
                let mut scanner = Scanner::new(grammars.anchors(), Extent::DEFAULT);
                scanner.push(&log, &mut extractor);
                scanner.finish(&mut extractor);
                extractor.finish()
            });
        });
    }
}

fn whole(criterion: &mut Criterion) {
    let knowledge = Arc::new(Knowledge::shipped().unwrap());
    let options = Options::default().knowledge(knowledge);
    let mut group = criterion.benchmark_group("analyze");
    for kind in [Kind::Healthy, Kind::Incident] {
        let log = log(kind, 1 << 20);
        group.bench_function(format!("{} of 1 MiB", kind.name()), |bencher| {
            bencher.iter(|| {
                let input = Input::new("job.log", Cursor::new(log.clone())).unwrap();
                analyze_inputs(vec![input], Vec::new(), &options).unwrap()
            });
        });
    }
}

fn load(criterion: &mut Criterion) {
    let knowledge = Knowledge::shipped().unwrap();
    criterion.bench_function("load/what every log needs", |bencher| bencher.iter(|| Knowledge::shipped().unwrap()));
    criterion.bench_function("load/everything", |bencher| {
        bencher.iter(|| Knowledge::shipped().map(|knowledge| knowledge.complete()).unwrap());
    });
    criterion.bench_function("load/grammars", |bencher| bencher.iter(|| Grammars::new(GRAMMARS, &knowledge).unwrap()));
}

fn render(criterion: &mut Criterion) {
    let input = Input::new("job.log", Cursor::new(log(Kind::Incident, 1 << 20))).unwrap();
    let found = analyze_inputs(vec![input], Vec::new(), &Options::default()).unwrap();
    criterion.bench_function("report/text", |bencher| {
        bencher.iter(|| report::text(black_box(&found), Language::En, Length::Screen, Some(100)));
    });
    criterion.bench_function("report/json", |bencher| bencher.iter(|| report::json(black_box(&found)).unwrap()));
}

criterion_group!(stages, load, scan, extract, whole, render);
criterion_main!(stages);
