//! Logs of any size, made from a seed: the same seed and size give the same bytes.

use std::io::{self, Write};

// Each user of the module needs only part of it.
#[allow(dead_code)]
pub mod incidents;

/// A kind of log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A job that goes well: progress and metrics.
    Healthy,
    /// The same, until one rank runs out of memory at the end.
    Incident,
    /// A healthy job with "error" in every fourth line.
    Noisy,
    /// 64 ranks that print at the same time.
    Ranks,
    /// Lines of a megabyte: progress bars that only return the carriage.
    LongLines,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 5] = [Kind::Healthy, Kind::Incident, Kind::Noisy, Kind::Ranks, Kind::LongLines];

    /// Its name in tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Healthy => "healthy",
            Kind::Incident => "incident",
            Kind::Noisy => "noisy",
            Kind::Ranks => "ranks",
            Kind::LongLines => "long-lines",
        }
    }
}

/// The end of a failing job, in the format of PyTorch 2.4.
const FAILURE: &str = "\
[rank3]: Traceback (most recent call last):
[rank3]:   File \"/job/train.py\", line 210, in <module>
[rank3]:     loss.backward()
[rank3]:   File \"/usr/lib/python3/site-packages/torch/_tensor.py\", line 521, in backward
[rank3]:     torch.autograd.backward(
[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15 GiB of \
which 1.12 GiB is free. Including non-PyTorch memory, this process has 78.02 GiB memory in use. Of the allocated memory \
75.40 GiB is allocated by PyTorch, and 1.01 GiB is reserved by PyTorch but unallocated.
";

/// Writes a log of `kind` with at least `size` bytes, and at most one line more.
pub fn write(out: &mut impl Write, kind: Kind, size: u64, seed: u64) -> io::Result<()> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let end = if kind == Kind::Incident { FAILURE } else { "" };
    let (mut written, mut step) = (end.len() as u64, 0);
    let mut line = String::new();
    while written < size {
        line.clear();
        step += 1;
        write_line(&mut line, kind, step, &mut random);
        out.write_all(line.as_bytes())?;
        written += line.len() as u64;
    }
    out.write_all(end.as_bytes())
}

fn write_line(line: &mut String, kind: Kind, step: u64, random: &mut Random) {
    use std::fmt::Write as _;
    let (loss, norm, seconds) = (random.below(4000), random.below(900), random.below(5000));
    let rank = random.below(64);
    let outcome = match kind {
        Kind::Noisy if step.is_multiple_of(4) => writeln!(
            line,
            "[2025-03-04 10:{:02}:{:02},{:03}] [WARNING] [loader.py:88] decode error in shard {rank}: retry {norm}, last error none",
            step / 60 % 60,
            step % 60,
            step % 1000
        ),
        Kind::Ranks => writeln!(
            line,
            "(WorkerDict pid={}, ip=10.0.0.{}) rank {rank}: step {step} forward done, loss 0.{loss:04}, {seconds} ms",
            4000 + rank,
            rank / 8 + 2
        ),
        Kind::LongLines => {
            let bars = 8000;
            (0..bars).try_for_each(|bar| {
                write!(line, "\rEpoch {step}: {:3}%|#####     | {bar}/{bars} [00:{:02}<00:07, 1.{norm:03}it/s, loss=0.{loss:04}]", bar * 100 / bars, bar % 60)
            })
            .and_then(|()| writeln!(line))
        }
        _ if step.is_multiple_of(8) => writeln!(
            line,
            "INFO:trainer:epoch 1 | step {step} | loss 0.{loss:04} | grad_norm 1.{norm:03} | lr 1.0e-05 | {seconds} ms/step"
        ),
        _ => writeln!(
            line,
            "{{'loss': 0.{loss:04}, 'grad_norm': 1.{norm:03}, 'learning_rate': 9.97e-06, 'epoch': 0.{step:06}, 'tokens': {}}}",
            step * 8192
        ),
    };
    // Writing to a string never fails.
    debug_assert!(outcome.is_ok());
}

/// The generator xorshift64: pseudo-random numbers, the same on every machine.
pub struct Random(u64);

impl Random {
    /// A generator with different numbers for each seed, except that 0 counts as 1.
    #[allow(dead_code)]
    pub fn new(seed: u64) -> Random {
        Random(seed.max(1))
    }

    /// The next number, below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
