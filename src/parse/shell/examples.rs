use crate::parse::Example;

pub(super) const EXAMPLES: &[Example] = &[
    Example { version: "bash, a command", text: "step 12 loss 1.7\nKilled", states: &[("exit", "signal 9")] },
    Example {
        version: "bash, a command that had not ended its line",
        text: "Loading checkpoint shards:  67%|██████▋   | 2/3 [00:40<00:20, 20.31s/it]Killed",
        states: &[("exit", "signal 9")],
    },
    Example {
        version: "bash, a script",
        text: "trainer  | ./run.sh: line 31:  5120 Killed                  python train.py --epochs 4",
        states: &[("exit", "signal 9"), ("pid", "5120"), ("victim_pid", "5120")],
    },
    Example {
        version: "bash, quoted with stars, and in the log of a build",
        text: "iter 144: loss 0.24\n**Killed**\n#11 212.9 Solving environment: ...working... Killed",
        states: &[("exit", "signal 9")],
    },
    Example {
        version: "bash of macOS, a script",
        text: "run.sh: line 160: 91115 Killed: 9               python -m swarm.train",
        states: &[("exit", "signal 9"), ("pid", "91115"), ("victim_pid", "91115")],
    },
    Example {
        version: "zsh 5, with a core",
        text: "[1]    101687 segmentation fault (core dumped)  build/bin/llama-server -m model.gguf",
        states: &[("exit", "signal 11"), ("pid", "101687")],
    },
    Example {
        version: "zsh 4–5, behind a bar",
        text: "Loading checkpoint shards:  62%|██████▎   | 5/8 [00:21<00:12,  4.31s/it][1]    4711 killed     ipython",
        states: &[("exit", "signal 9"), ("pid", "4711")],
    },
    Example {
        version: "bash and zsh, in the background",
        text: "[1]+  Killed                  python train.py\n[1]  + 4711 killed     python train.py",
        states: &[("exit", "signal 9"), ("pid", "4711")],
    },
    Example {
        version: "scripts that echo a status",
        text: "exit status 137\nexit status 0",
        states: &[("exit", "signal 9"), ("finished", "yes")],
    },
    Example {
        version: "GNU time, and loops over workers",
        text: "Command terminated by signal 9\nworker 3 (pid 7) ended: signal 9\nrank 2 failed with returncode -9",
        states: &[("exit", "signal 9"), ("pid", "7")],
    },
    Example {
        version: "PyCharm",
        text: "Process finished with exit code 137 (interrupted by signal 9:SIGKILL)",
        states: &[("exit", "signal 9")],
    },
    Example {
        version: "Open MPI 2–5",
        text: "mpirun noticed that process rank 3 with PID 4711 on node node1 exited on signal 9 (Killed).",
        states: &[("exit", "signal 9"), ("rank", "3"), ("pid", "4711"), ("host", "node1")],
    },
    Example {
        version: "Paddle 2.0–3.0, the data loader",
        text: "SystemError: (Fatal) DataLoader process (pid   31402) exited is killed by signal: Killed.",
        states: &[("exit", "signal 9"), ("pid", "31402"), ("victim_pid", "31402"), ("python.data_loader", "yes")],
    },
    Example {
        version: "torch 0.4–2.15, the data loader",
        text: "RuntimeError: DataLoader worker (pid 31402) is killed by signal: Killed. \nRuntimeError: DataLoader worker (pid(s) 31402, 31403) exited unexpectedly",
        states: &[
            ("exit", "signal 9"),
            ("pid", "31402"),
            ("victim_pid", "31402"),
            ("python.data_loader", "yes"),
            ("exit", "vanished"),
            ("pid", "31403"),
        ],
    },
    Example {
        version: "CPython ≥3.6, subprocess",
        text: "subprocess.CalledProcessError: Command '['torchrun', 'train.py']' died with <Signals.SIGKILL: 9>.\nsubprocess.CalledProcessError: Command '['torchrun', 'train.py']' returned non-zero exit status 1.",
        states: &[("exit", "signal 9"), ("exit", "code 1")],
    },
    Example {
        version: "bash in Italian, Chinese and Russian",
        text: "./run.sh: riga 24:  8612 Killed                  .venv/bin/python app.py --web $*\n./run.sh: 行 31:  5120 已杀死               python train.py\n./run.sh: строка 7: 4711 Убито              python train.py\n./run.sh：行 7: 21034 已杀死               python train.py\n./run.sh: línea 3:  900 Terminado (killed)      python train.py\nSüreç durduruldu",
        states: &[
            ("exit", "signal 9"),
            ("pid", "8612"),
            ("victim_pid", "8612"),
            ("exit", "signal 9"),
            ("pid", "5120"),
            ("victim_pid", "5120"),
            ("exit", "signal 9"),
            ("pid", "4711"),
            ("victim_pid", "4711"),
            ("exit", "signal 9"),
            ("pid", "21034"),
            ("victim_pid", "21034"),
            ("exit", "signal 9"),
            ("pid", "900"),
            ("victim_pid", "900"),
            ("exit", "signal 9"),
        ],
    },
    Example {
        version: "bash, copied from GitHub's page",
        text: "/home/runner/work/_temp/1f2e[53](https://github.com/me/it/runs/1?check_suite_focus=true#step:6:54)71.sh: line 2:  23[57](https://github.com/me/it/runs/1?check_suite_focus=true#step:6:58) Killed                  python -m pytest tests/ -v",
        states: &[("exit", "signal 9")],
    },
    Example {
        version: "torch 1.0–1.8, torch.distributed.launch: the command of the last child",
        text: "subprocess.CalledProcessError: Command '['/usr/bin/python3', '-u', 'train.py', '--local_rank=0', '--amp']' died with <Signals.SIGKILL: 9>.\nsubprocess.CalledProcessError: Command '['/usr/bin/python3', '-u', 'train.py', '--local_rank=3']' died with <Signals.SIGKILL: 9>.",
        states: &[("exit", "signal 9"), ("rank", "0"), ("exit", "signal 9")],
    },
    Example {
        version: "torch ≥1.5, spawn",
        text: "torch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with signal SIGKILL",
        states: &[("exit", "signal 9"), ("python.process_index", "2")],
    },
    Example {
        version: "vLLM",
        text: "ERROR 03-01 10:00:00 [multiproc_executor.py:140] Worker proc VllmWorker-1 died unexpectedly (exit code: -9), shutting down executor.\nERROR 03-01 10:00:00 multiproc_worker_utils.py:123] Worker VllmWorkerProcess pid 4711 died, exit code: -11",
        states: &[("exit", "signal 9"), ("role", "VllmWorker-1"), ("exit", "signal 11"), ("pid", "4711")],
    },
    Example {
        version: "joblib's loky, concurrent.futures, datasets",
        text: "joblib.externals.loky.process_executor.TerminatedWorkerError: A worker process managed by the executor was unexpectedly terminated. This could be caused by a segmentation fault while calling the function or by an excessive memory usage causing the Operating System to kill the worker. The exit codes of the workers are {SIGTERM(-15), SIGKILL(-9)}\nRuntimeError: One of the subprocesses has abruptly died during map operation.To debug the error, disable multiprocessing.",
        states: &[("exit", "signal 9"), ("exit", "vanished")],
    },
    Example {
        version: "joblib's loky ≥3.0, the codes behind a blank line",
        text: "joblib.externals.loky.process_executor.TerminatedWorkerError: A worker process managed by the executor was unexpectedly terminated. This could be caused by a segmentation fault while calling the function or by an excessive memory usage causing the Operating System to kill the worker.\n\nThe exit codes of the workers are {EXIT(1)}",
        states: &[("exit", "code 1")],
    },
];

#[cfg(test)]
mod tests {
    use crate::model::{Exit, What};
    use crate::parse::testing;

    fn exits(text: &str) -> Vec<(Exit, Option<u32>)> {
        let exits = testing::read(text.as_bytes()).into_iter().filter_map(|event| match event.what {
            What::Death(death) => Some((death.exit, death.victim.pid)),
            What::Finished => Some((Exit::Code(0), None)),
            _ => None,
        });
        exits.collect()
    }

    #[test]
    fn a_word_alone_is_a_death_in_any_language() {
        for line in ["Killed", "  Killed  ", "Killed: 9", "已杀死", "loss 0.31Killed", "(rank 0)Killed", "$  Killed"]
        {
            assert_eq!(exits(line), [(Exit::KILL, None)], "{line}");
        }
        assert_eq!(exits("Segmentation fault (core dumped)"), [(Exit::Signal(11), None)]);
        assert_eq!(exits("Terminated"), [(Exit::Signal(15), None)]);
    }

    #[test]
    fn a_message_of_a_script_is_read_without_its_head() {
        assert_eq!(exits("70361 Killed                  converter --model model.xml"), [(Exit::KILL, Some(70361))]);
        assert_eq!(exits("12 Killed processes"), []);
    }

    #[test]
    fn a_bus_error_of_a_worker_is_left_to_shared_memory() {
        let text = "RuntimeError: DataLoader worker (pid 4711) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.";
        assert_eq!(exits(text), []);
    }

    #[test]
    fn what_is_cut_off_is_not_invented() {
        assert_eq!(exits("RuntimeError: DataLoader worker (pid 314"), []);
        assert_eq!(exits("./run.sh: line 31:  5120 Kil"), []);
        assert_eq!(exits("Command '['torchrun']' returned non-zero exit status 1"), []);
    }

    #[test]
    fn a_mention_is_no_event() {
        for line in [
            "OOMKilled",
            "Container Killed",
            "Tasks (tasks / actors) killed due to memory pressure (OOM)",
            "Killed by the scheduler",
            "the exit status 137 means SIGKILL",
            "    return code",
            "exit code 0 is expected from the worker",
            "(1) The process is killed by SIGKILL by OOM killer due to high memory usage.",
            "raise CalledProcessError(retcode, cmd) # returned non-zero exit status 1.",
            "Process 41 exited with exit code 1",
            "job.status == 'Killed'",
        ] {
            assert_eq!(exits(line), [], "{line}");
        }
    }
}
