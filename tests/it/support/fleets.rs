//! Logs of a large job on many nodes, one per rank, in the formats of torchrun, Megatron-LM (`report_memory`), PyTorch
//! 2.6 and Linux 6.1: one rank is the root cause, and all others only end because of it.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

/// What happens to the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Story {
    /// One rank runs out of GPU memory.
    OneRoot,
    /// Two ranks on two nodes run out of GPU memory, seconds apart.
    TwoRoots,
    /// A whole node is lost: its logs stop.
    NodeLost,
    /// The data workers of one node leak until its kernel kills a rank.
    SlowLeak,
}

impl Story {
    /// All of them.
    pub const ALL: [Story; 4] = [Story::OneRoot, Story::TwoRoots, Story::NodeLost, Story::SlowLeak];

    /// Its name on the command line.
    #[allow(dead_code)]
    pub fn name(self) -> &'static str {
        match self {
            Story::OneRoot => "one-root",
            Story::TwoRoots => "two-roots",
            Story::NodeLost => "node-lost",
            Story::SlowLeak => "slow-leak",
        }
    }
}

/// A job.
#[derive(Debug, Clone, Copy)]
pub struct Fleet {
    pub story: Story,
    pub nodes: u32,
    pub ranks_per_node: u32,
    /// Steps that each rank logs before the end.
    pub steps: u32,
    /// The rank that is the root cause.
    pub root: u32,
    /// A node, and the seconds by which its clock is ahead.
    pub skewed: Option<(u32, f64)>,
}

/// The job's start, in seconds of its day.
const BEGIN: f64 = 36_000.0;
const STEP: f64 = 2.5;
const GIB: f64 = 1024.0;

impl Fleet {
    /// The name of a node.
    pub fn node(number: u32) -> String {
        format!("gpu-{number:04}")
    }

    /// The second rank to run out of memory, in `Story::TwoRoots`: on another node, and later.
    pub fn second(&self) -> u32 {
        (self.root + self.ranks_per_node + 1) % (self.nodes * self.ranks_per_node)
    }

    /// Writes one folder of logs per node into `folder`.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        for node in 0..self.nodes {
            let folder = folder.join(Fleet::node(node));
            fs::create_dir_all(&folder)?;
            for local in 0..self.ranks_per_node {
                let rank = node * self.ranks_per_node + local;
                let mut log = BufWriter::new(File::create(folder.join(format!("rank_{rank:05}.log")))?);
                self.log(&mut log, rank, local)?;
                log.flush()?;
            }
            if self.story == Story::SlowLeak && node == self.root / self.ranks_per_node {
                fs::write(folder.join("dmesg.log"), self.kernel())?;
            }
        }
        Ok(())
    }

    fn log(&self, log: &mut impl io::Write, rank: u32, local: u32) -> io::Result<()> {
        let leaks = self.story == Story::SlowLeak && rank / self.ranks_per_node == self.root / self.ranks_per_node;
        let world = self.nodes * self.ranks_per_node;
        writeln!(log, "{} INFO [rank {rank}] world size {world}, local rank {local}, pid {}", at(0.0), pid(rank))?;
        for step in 1..=self.steps {
            let time = at(f64::from(step) * STEP + f64::from(rank % 7) * 0.001 + self.ahead(rank));
            let loss = 2.0 + 8.0 / f64::from(step + 3);
            writeln!(log, "{time} INFO [rank {rank}] step {step} | loss {loss:.4} | tokens/s 11843.2 | lr 5.0e-06")?;
            if step % 16 == 0 {
                let allocated = 41.0 * GIB + f64::from(rank % 13) * 7.5;
                writeln!(
                    log,
                    "[Rank {rank}] (after {step} iterations) memory (MB) | allocated: {allocated:.1} | max allocated: {:.1} | reserved: {:.1} | max reserved: {:.1}",
                    allocated + 20.0 * GIB,
                    allocated + 21.0 * GIB,
                    allocated + 21.0 * GIB
                )?;
                if leaks {
                    let held = 700.0 + 1200.0 * f64::from(step) / f64::from(self.steps);
                    writeln!(log, "{time} INFO [rank {rank}] host memory: {held:.1}/2015.6 GiB used")?;
                }
            }
        }
        let end = f64::from(self.steps) * STEP;
        let of_root_node = rank / self.ranks_per_node == self.root / self.ranks_per_node;
        match self.story {
            Story::OneRoot | Story::TwoRoots if rank == self.root => refused(log, rank, local, end + 1.0),
            Story::TwoRoots if rank == self.second() => refused(log, rank, local, end + 9.0),
            Story::NodeLost if of_root_node => Ok(()),
            Story::SlowLeak if rank == self.root => Ok(()),
            _ => timed_out(log, rank, end + 600.0 + f64::from(rank % 31) * 0.01 + self.ahead(rank)),
        }
    }

    /// Seconds by which the clock of the rank's node is ahead.
    fn ahead(&self, rank: u32) -> f64 {
        let of_node = self.skewed.filter(|(node, _)| *node == rank / self.ranks_per_node);
        of_node.map_or(0.0, |(_, seconds)| seconds)
    }

    /// The kernel log of the leaking node.
    fn kernel(&self) -> String {
        let (pid, up) = (pid(self.root), 431_000.0 + f64::from(self.steps) * STEP);
        let mut text = String::new();
        let kib = 1_250_000_000_u64;
        // Writing to a string never fails.
        let _ = writeln!(
            text,
            "[{up:.6}] pt_data_worker invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0"
        );
        let _ = writeln!(
            text,
            "[{:.6}] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/user.slice,task=python3,pid={pid},uid=0",
            up + 0.1
        );
        let _ = writeln!(
            text,
            "[{:.6}] Out of memory: Killed process {pid} (python3) total-vm:1932735283kB, anon-rss:{kib}kB, file-rss:201344kB, shmem-rss:8192kB, UID:0 pgtables:2456789kB oom_score_adj:0",
            up + 0.2
        );
        text
    }
}

/// Python's traceback and error of a refused allocation.
fn refused(log: &mut impl io::Write, rank: u32, local: u32, seconds: f64) -> io::Result<()> {
    let stamp = at(seconds);
    writeln!(log, "{stamp} ERROR [rank {rank}] training failed")?;
    for line in [
        "Traceback (most recent call last):",
        "  File \"/workspace/pretrain_gpt.py\", line 301, in <module>",
        "    pretrain(train_valid_test_datasets_provider, model_provider)",
        "  File \"/workspace/megatron/training/training.py\", line 812, in pretrain",
        "    iteration, flops = train(forward_step_func, model, optimizer, opt_param_scheduler)",
        "  File \"/workspace/megatron/training/training.py\", line 1341, in train_step",
        "    losses_reduced = forward_backward_func(forward_step_func=forward_step_func)",
        "  File \"/workspace/megatron/core/pipeline_parallel/schedules.py\", line 381, in backward_step",
        "    torch.autograd.backward(output_tensor[0], grad_tensors=output_tensor_grad[0])",
        "  File \"/usr/local/lib/python3.12/dist-packages/torch/autograd/graph.py\", line 823, in _engine_run_backward",
        "    return Variable._execution_engine.run_backward(",
    ] {
        writeln!(log, "{line}")?;
    }
    writeln!(
        log,
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU {local} has a total capacity of 79.11 GiB of which 1.27 GiB is free. Including non-PyTorch memory, this process has 77.83 GiB memory in use. Of the allocated memory 74.02 GiB is allocated by PyTorch, and 1.13 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )
}

/// The messages of a rank that waits for a dead peer.
fn timed_out(log: &mut impl io::Write, rank: u32, seconds: f64) -> io::Result<()> {
    let glog = format!("{}000", clock(seconds, '.'));
    let work = "WorkNCCL(SeqNum=51877, OpType=_REDUCE_SCATTER_BASE, NumelIn=67108864, NumelOut=16777216, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.";
    writeln!(
        log,
        "[rank{rank}]:[E1120 {glog} ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: {work}"
    )?;
    writeln!(
        log,
        "[rank{rank}]:[E1120 {glog} ProcessGroupNCCL.cpp:698] [Rank {rank}] To avoid data inconsistency, we are taking the entire process down."
    )?;
    writeln!(log, "terminate called after throwing an instance of 'c10::DistBackendError'")?;
    writeln!(
        log,
        "  what():  [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Process group watchdog thread terminated with exception: [Rank {rank}] Watchdog caught collective operation timeout: {work}"
    )
}

fn pid(rank: u32) -> u32 {
    20_000 + rank
}

/// A time of the job in the format of Python's logging.
fn at(seconds: f64) -> String {
    format!("2026-11-20 {}", clock(seconds, ','))
}

fn clock(seconds: f64, point: char) -> String {
    let of_day = BEGIN + seconds;
    let (whole, thousandths) = (of_day as u64, (of_day.fract() * 1000.0) as u64);
    format!("{:02}:{:02}:{:02}{point}{thousandths:03}", whole / 3600, whole / 60 % 60, whole % 60)
}
