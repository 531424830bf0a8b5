//! Several processes on one GPU: the job's own, which its launch script starts, and strangers that should be over.

use std::error::Error;

use crate::support::analyzed::{cause, patches, report, root, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// What PyTorch says on a GPU of 24 GiB where `others`, in GiB, hold the rest.
fn beside(others: &[f64]) -> String {
    let named: Vec<String> =
        (4100..).zip(others).map(|(pid, held)| format!("Process {pid} has {held:.2} GiB memory in use. ")).collect();
    let own = 23.5 - others.iter().sum::<f64>();
    format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 256.00 MiB. GPU 0 has a total capacity of 23.60 GiB of which 90.00 MiB is free. {}Including non-PyTorch memory, this process has {own:.2} GiB memory in use. Of the allocated memory {:.2} GiB is allocated by PyTorch, and 60.00 MiB is reserved by PyTorch but unallocated.\n",
        named.concat(),
        own - 0.6
    )
}

fn of_search(others: &[f64]) -> String {
    stack(&[
        ("/w/search.py", "objective", "loss.backward()"),
        ("torch/_tensor.py", "backward", "torch.autograd.backward("),
    ]) + &beside(others)
}

#[test]
fn workers_that_the_script_starts_itself_are_made_fewer() -> Outcome {
    let script = "#!/bin/bash\nfor w in 1 2 3 4; do\n  python search.py --study s &\ndone\nwait\n";
    let end = report(&[("job.log", &of_search(&[8.1, 6.4, 5.0])), ("workers.sh", script)])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("too_many_workers", "processes at once"));
    let diff = patches(&end)?[0].diff.as_deref().ok_or("no edit")?;
    assert!(diff.contains("+for w in 1 2; do"), "{diff}");
    assert!(turned(&end)?.iter().all(|knob| !knob.contains("VISIBLE_DEVICES") && !knob.contains("num_workers")));
    Ok(())
}

#[test]
fn a_tool_that_runs_several_at_once_is_told_to_run_fewer() -> Outcome {
    for script in [
        "seq 4 | xargs -P 4 -I{} python search.py --worker {}\n",
        "parallel -j 4 python search.py --seed {} ::: 1 2 3 4\n",
    ] {
        let end = report(&[("job.log", &of_search(&[8.1, 6.4, 5.0])), ("run.sh", script)])?;
        assert_eq!(cause(&end)?, "too_many_workers", "{script}");
        let diff = patches(&end)?[0].diff.as_deref().ok_or("no edit")?;
        assert!(diff.contains("-P 2") || diff.contains("-j 2"), "{diff}");
    }
    Ok(())
}

#[test]
fn copies_of_a_jax_program_share_the_gpu_by_fractions() -> Outcome {
    let log = "2026-03-01 10:00:00.100000: E external/xla/xla/stream_executor/cuda/cuda_driver.cc:1085] failed to allocate 17.66GiB (18962284544 bytes) from device: RESOURCE_EXHAUSTED: : CUDA_ERROR_OUT_OF_MEMORY: out of memory\n2026-03-01 10:00:00.100900: E external/xla/xla/stream_executor/cuda/cuda_driver.cc:1085] failed to allocate 15.89GiB (17066055680 bytes) from device: RESOURCE_EXHAUSTED: : CUDA_ERROR_OUT_OF_MEMORY: out of memory\nE external/xla/xla/stream_executor/cuda/cuda_dnn.cc:506] Memory usage: 83886080 bytes free, 25284968448 bytes total.\n".to_owned()
        + &stack(&[("/w/train.py", "main", "params = model.init(key, x)"), ("jax/_src/random.py", "_uniform", "return lax.mul(floats, maxval)")])
        + "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4194304 bytes.\n";
    let script = "#!/bin/bash\nfor seed in 1 2; do\n  python train.py --seed $seed --batch_size 64 &\ndone\nwait\n";
    let end = report(&[("job.log", &log), ("run.sh", script)])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("too_many_workers", "XLA_PYTHON_CLIENT_MEM_FRACTION"));
    assert!(patches(&end)?[0].diff.as_deref().is_some_and(|diff| diff.contains("MEM_FRACTION=0.45")));
    // The pools that XLA tries to get are not what was asked for in the end.
    let asked = root(&end)?.figures.iter().find(|figure| figure.name.as_str() == "requested");
    assert_eq!(asked.and_then(|figure| figure.bytes).map(|bytes| bytes.0), Some(4 << 20));
    let alone = report(&[("job.log", &log)])?;
    assert_eq!((cause(&alone)?, turned(&alone)?[0]), ("gpu_shared_with_others", "XLA_PYTHON_CLIENT_PREALLOCATE"));
    Ok(())
}

/// The table of a machine with these GPUs; a process holds the first.
fn table(gpus: usize) -> String {
    let row = |index: usize| {
        format!(
            "|   {index}  NVIDIA GeForce RTX 3090        Off |   00000000:0{index}:00.0 Off |                  N/A |\n| 30%   44C    P8             22W / 350W |   15012MiB /  24576MiB |      0%      Default |\n"
        )
    };
    let rows: String = (0..gpus).map(row).collect();
    rows + "|    0   N/A  N/A      4100      C   ...envs/nlp/bin/python3.11                 15000MiB |\n"
}

#[test]
fn a_process_that_should_be_over_is_ended_where_there_is_no_other_gpu() -> Outcome {
    let log = stack(&[
        ("/w/chat.py", "<module>", "model = AutoModel.from_pretrained(name).cuda()"),
        ("torch/nn/modules/module.py", "convert", "return t.to("),
    ]) + &beside(&[14.65]);
    let one = report(&[("job.log", &(log.clone() + &table(1)))])?;
    let first = &patches(&one)?[0];
    assert_eq!((cause(&one)?, &*first.knob), ("gpu_shared_with_others", "end the process that holds the GPU"));
    assert!(first.line.as_deref().is_some_and(|line| line.starts_with("kill 4100 ")), "{:?}", first.line);
    assert!(!turned(&one)?.contains(&"CUDA_VISIBLE_DEVICES"));
    let why = root(&one)?.diagnoses[0].evidence.iter().any(|why| why.text.contains("15000MiB"));
    assert!(why);
    let two = report(&[("job.log", &(log + &table(2)))])?;
    assert_eq!(turned(&two)?[..2], ["CUDA_VISIBLE_DEVICES", "end the process that holds the GPU"]);
    Ok(())
}
