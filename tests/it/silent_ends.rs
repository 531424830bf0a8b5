//! Programs that end without a word, and hosts that fill up beside steps that go on as before.

use std::error::Error;

use oomdoc::model::{FigureName, Kind, Phase};

use crate::support::analyzed::{cause, patches, report, root, turned};

type Outcome = Result<(), Box<dyn Error>>;

#[test]
fn a_bar_that_breaks_off_before_a_terminals_caret_is_likely_a_kill() -> Outcome {
    let merge = "Warmup loader cache: 100% 3/3 [00:00<00:00,  8.11it/s]\n  4% 13/322 [01:20<31:51,  6.19s/it]^C\n";
    let launch = ("launch.sh", "mergekit-yaml blend.yml ./blend --lazy-unpickle --cuda\n");
    let end = report(&[("job.log", merge), launch])?;
    assert_eq!((end.verdict, cause(&end)?), (Kind::SigkillUnattributed, "unknown"));
    assert_eq!(turned(&end)?[..2], ["--low-cpu-memory", "--out-shard-size"]);
    let proof: Vec<u64> = root(&end)?.evidence.iter().map(|cite| cite.location.line.0).collect();
    assert_eq!(proof, [2]);
    // On the host alone there is no GPU to keep the results.
    let host = report(&[("job.log", merge), ("launch.sh", "mergekit-yaml blend.yml ./blend --lazy-unpickle\n")])?;
    assert_eq!(turned(&host)?[0], "--out-shard-size");
    Ok(())
}

#[test]
fn whoever_ends_or_watches_a_program_by_hand_kills_nothing() -> Outcome {
    let bar = " 31%|███       | 31/100 [02:11<04:51,  4.22s/it]^C";
    for log in [
        // Python answers the key.
        format!(
            "{bar}Traceback (most recent call last):\n  File \"/w/run.py\", line 9, in <module>\n    go()\nKeyboardInterrupt\n"
        ),
        format!(
            "{bar}\nTraceback (most recent call last):\n  File \"/w/run.py\", line 9, in <module>\n    go()\nKeyboardInterrupt\n"
        ),
        // The log goes on, or is only watched.
        format!("{bar}\nsaving what there is\n"),
        format!("$ tail -f train.log\n{bar}\n"),
        // All was done.
        "100% 100/100 [06:59<00:00,  4.20s/it]^C\n".to_owned(),
        // A bar of a terminal, cut in front of what Python said to the key, and keys pressed twice.
        format!("{bar}\n"),
        " 31% 31/100 [02:11<04:51,  4.22s/it]^C^C\n".to_owned(),
        "Downloading shards:  40% 2/5 [01:40<01:53, 38.10s/it]^C\n".to_owned(),
        "eval: 99/? [02:11,  4.22s/it]^C\n".to_owned(),
        // A download that took too long.
        " 31%|███       | 1.2G/4.1G [02:11<04:51, 10.2MB/s]^C\n".to_owned(),
    ] {
        assert_eq!(report(&[("job.log", &log)])?.verdict, Kind::None, "{log}");
    }
    Ok(())
}

#[test]
fn a_window_that_closes_behind_a_loading_model_is_likely_a_kill() -> Outcome {
    let begun = "Total VRAM 16376 MB, total RAM 32509 MB\ngot prompt\nmodel weight dtype torch.float8_e4m3fn, manual cast: torch.bfloat16\nRequested to load Flux\n";
    let end = report(&[("job.log", &format!("{begun}\nE:\\portable>pause\nPress any key to continue . . .\n"))])?;
    assert_eq!(end.verdict, Kind::SigkillUnattributed);
    for words in [
        format!("{begun}\nStopped server\n\nE:\\portable>pause\nPress any key to continue . . .\n"),
        format!(
            "{begun}Traceback (most recent call last):\n  File \"E:\\portable\\main.py\", line 3, in <module>\nImportError: no such module\n\nE:\\portable>pause\nPress any key to continue . . .\n"
        ),
        format!("{begun}Error: port 8188 in use\n\nE:\\portable>pause\nPress any key to continue . . .\n"),
        "Total VRAM 16376 MB, total RAM 32509 MB\n\nE:\\portable>pause\nPress any key to continue . . .\n".to_owned(),
    ] {
        assert_eq!(report(&[("job.log", &words)])?.verdict, Kind::None, "{words}");
    }
    Ok(())
}

#[test]
fn a_worker_that_vanishes_behind_a_timeout_of_others_was_not_killed() -> Outcome {
    let waited = "[rank5]:[E1102 03:51:12.330211890 ProcessGroupNCCL.cpp:616] [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=71, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600018 milliseconds before timing out.\n";
    let gone = "(raylet, ip=10.0.0.8) A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the problem, check the logs for the dead worker. RayTask ID: fff1 Worker ID: 2c1d Node ID: 71aa Worker IP address: 10.0.0.8 Worker port: 10011 Worker PID: 7310 Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors.\n";
    assert_eq!(report(&[("job.log", &format!("{waited}{gone}"))])?.verdict, Kind::None);
    // A job that was started again in between is over that.
    let again =
        format!("{waited}restarting, attempt 2\nEpoch 0:   6%|▌   | 60/1000\nEpoch 0:  61%|▌   | 610/1000\n{gone}");
    assert_eq!(report(&[("job.log", &again)])?.verdict, Kind::SigkillUnattributed);
    // One that was gone before is what the others waited for.
    assert_eq!(report(&[("job.log", &format!("{gone}{waited}"))])?.verdict, Kind::SigkillUnattributed);
    Ok(())
}

#[test]
fn the_optimizer_of_the_host_shows_by_its_operator() -> Outcome {
    let log = "Loading extension module cpu_adam...\nTime to load cpu_adam op: 2.7412 seconds\nParameter Offload: Total persistent parameters: 301056 in 81 params\n[2026-03-02 09:31:00,101] [INFO] [launch.py:428:sigkill_handler] Killing subprocess 5120\n[2026-03-02 09:31:00,102] [ERROR] [launch.py:434:sigkill_handler] ['/opt/venv/bin/python', '-u', 'tune.py', '--local_rank=0', '--deepspeed', 'ds.json'] exits with return code = -9\n";
    let end = report(&[("job.log", log)])?;
    assert_eq!(cause(&end)?, "host_offload_pressure");
    assert_eq!(root(&end)?.phase.name, Phase::Setup);
    let fused = report(&[("job.log", &log.replace("cpu_adam", "fused_adam"))])?;
    assert_ne!(cause(&fused)?, "host_offload_pressure");
    Ok(())
}

#[test]
fn one_reading_of_a_full_host_is_read_and_is_no_growth() -> Outcome {
    let steps = |from: u32| {
        (from..from + 4)
            .map(|step| format!("iter {step} (epoch 2), train_loss = 2.{step}, time/batch = 0.41\n"))
            .collect::<String>()
    };
    let free = |used: &str| {
        format!(
            "              total        used        free      shared  buff/cache   available\nMem:          96502       {used}         644         310        1804        1093\nSwap:          4095        4095           0\n"
        )
    };
    let log = |used: &str| format!("{}{}{}Killed\n", steps(5120), free(used), steps(5124));
    let full = report(&[("job.log", &log("94054"))])?;
    assert_eq!(cause(&full)?, "unknown");
    let used = root(&full)?.figures.iter().find(|figure| figure.name == FigureName::HostUsed);
    assert_eq!(used.and_then(|figure| figure.bytes).map(|bytes| bytes.0), Some(94_054 << 20));
    Ok(())
}

#[test]
fn even_rises_of_a_large_process_are_growth_from_four_readings_on() -> Outcome {
    let log = |sizes: &[&str]| {
        let told: String = sizes.iter().map(|size| format!("INFO scan: rss={size} GB after a request\n")).collect();
        told + "Traceback (most recent call last):\n  File \"/w/serve.py\", line 40, in handle\n    page = self.read(image)\nMemoryError: Unable to allocate 512. MiB for an array with shape (67108864,) and data type float64\n"
    };
    assert_eq!(cause(&report(&[("job.log", &log(&["7.10", "7.62", "8.15", "8.66"]))])?)?, "host_memory_growth");
    assert_ne!(cause(&report(&[("job.log", &log(&["7.10", "7.62", "8.15"]))])?)?, "host_memory_growth");
    Ok(())
}

#[test]
fn simulated_clients_are_told_to_ask_for_more() -> Outcome {
    let log = "INFO flwr 2026-03-01 10:40:12,110 | server.py:218 | fit_round 2: strategy sampled 24 clients (out of 60)\n(raylet) [2026-03-01 10:41:03,229 E 1008 1008] (raylet) node_manager.cc:3064: 2 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: 71e7c98fd2bc, IP: 10.0.0.7) over the last time period. To see more information about the Workers killed on this node, use `ray logs raylet.out -ip 10.0.0.7`\nERROR flwr 2026-03-01 10:41:31,907 | ray_client_proxy.py:87 | Task was killed due to the node running low on memory.\n";
    let end = report(&[("job.log", log)])?;
    assert_eq!((cause(&end)?, &*patches(&end)?[0].knob), ("too_many_workers", "client_resources"));
    // A server of real clients says how many take part, too.
    let served = "INFO flwr 2026-03-01 10:39:12,110 | server.py:218 | fit_round 2: strategy sampled 3 clients (out of 3)\nKilled\n";
    assert_ne!(cause(&report(&[("job.log", served)])?)?, "too_many_workers");
    let other = report(&[(
        "job.log",
        &log.replace("flwr", "tune").replace("strategy sampled", "drew").replace("ray_client_proxy", "trial_runner"),
    )])?;
    assert_ne!(cause(&other)?, "too_many_workers");
    Ok(())
}
