//! As many processes as there are cores, in every notation; builds whose compilers are too many.

use std::error::Error;

use oomdoc::model::Kind;

use crate::support::analyzed::{cause, patches, report, root, turned};

type Outcome = Result<(), Box<dyn Error>>;

/// A compiler that was killed while make ran.
const KILLED: &str = "[ 31%] Building CXX object src/CMakeFiles/planner.dir/search.cpp.o\nc++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\ngmake[2]: *** [src/CMakeFiles/planner.dir/build.make:76: src/CMakeFiles/planner.dir/search.cpp.o] Error 1\n";

/// The first change's diff for `log` beside a file.
fn diff(log: &str, name: &str, text: &str) -> Result<String, Box<dyn Error>> {
    let end = report(&[("job.log", log), (name, text)])?;
    let first = patches(&end)?.first().ok_or("no change")?;
    Ok(first.diff.clone().unwrap_or_else(|| format!("no diff: {first:?}")))
}

#[test]
fn a_build_gets_fewer_compilers_where_it_says_how_many() -> Outcome {
    for (name, before, after) in [
        ("build.sh", "cmake -B build\nmake -C build -j$(nproc)\n", "make -C build -j2"),
        ("build.sh", "cmake -B build\nmake -C build -j install\n", "make -C build -j 2 install"),
        ("build.sh", "cmake --build build --parallel 16\n", "cmake --build build --parallel 4"),
        ("build.sh", "sudo ninja -C out -j 32 all\n", "sudo ninja -C out -j 8 all"),
        (
            "Dockerfile",
            "FROM a AS b\nRUN cmake --build out -j\nFROM c\nCMD [\"serve\"]\n",
            "RUN cmake --build out -j 2",
        ),
        (
            "Dockerfile",
            "FROM a\nRUN cd /src && ./configure && make -j16 && make install\nCMD [\"serve\", \"--port\", \"80\"]\n",
            "RUN cd /src && ./configure && make -j4 && make install",
        ),
        (
            "Dockerfile",
            "FROM a\nRUN --mount=type=cache,target=/c make -j16\nCMD [\"serve\"]\n",
            "RUN --mount=type=cache,target=/c make -j4",
        ),
        (
            "ci.yml",
            "build:\n  stage: build\n  script:\n    - cmake -B build\n    - cmake --build build -j 12\n",
            "    - cmake --build build -j 3",
        ),
    ] {
        let shown = diff(KILLED, name, before)?;
        assert!(shown.contains(&format!("+{after}\n")), "{before}: {shown}");
    }
    Ok(())
}

#[test]
fn a_make_that_starts_one_compiler_after_the_other_is_told_nothing_of_them() -> Outcome {
    let serial = report(&[("job.log", KILLED), ("build.sh", "make -C build\n")])?;
    assert!(!turned(&serial)?.contains(&"compilers at once"), "{:?}", turned(&serial)?);
    // Ranks are no cores.
    let end =
        report(&[("job.log", KILLED), ("build.sh", "export MAX_JOBS=$((32 / nproc_per_node))\nmake -C build -j8\n")])?;
    assert!(turned(&end)?.contains(&"-j"), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn who_builds_decides_which_setting_counts() -> Outcome {
    let alone = report(&[("job.log", KILLED)])?;
    assert_eq!((cause(&alone)?, turned(&alone)?[0]), ("too_many_workers", "compilers at once"));
    let step = "pip install fused-kernels --no-build-isolation";
    let wheel = format!(
        "#9 811.2       nvcc error   : 'cicc' died due to signal 9 (Kill signal)\n#9 ERROR: process \"/bin/sh -c {step}\" did not complete successfully: exit code: 1\n"
    );
    let dockerfile = format!("FROM a\nRUN {step}\nCMD [\"serve\"]\n");
    assert!(diff(&wheel, "Dockerfile", &dockerfile)?.contains("+ENV MAX_JOBS=4\n"));
    let step = "cargo build --release";
    let crates = format!(
        "#12 188.4 error: could not compile `tables` (lib)\n#12 188.4   process didn't exit successfully: `rustc --crate-name tables src/lib.rs` (signal: 9, SIGKILL: kill)\n#12 ERROR: process \"/bin/sh -c {step}\" did not complete successfully: exit code: 101\n"
    );
    let dockerfile = format!("FROM rust:1.82\nRUN {step}\nCMD [\"serve\"]\n");
    assert!(diff(&crates, "Dockerfile", &dockerfile)?.contains("+ENV CARGO_BUILD_JOBS=2\n"));
    Ok(())
}

#[test]
fn nothing_of_a_server_helps_a_build() -> Outcome {
    let log = KILLED.replace("src/CMakeFiles/planner.dir/search.cpp", "ggml/src/llama-kv-cache.cpp");
    let end = report(&[("job.log", &log)])?;
    assert!(turned(&end)?.iter().all(|knob| !knob.contains("cache") && !knob.contains("batch")), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn all_cores_become_a_few_processes() -> Outcome {
    let loky = "Traceback (most recent call last):\n  File \"/w/tune.py\", line 9, in <module>\n    search.fit(table, target)\n  File \"/v/site-packages/joblib/parallel.py\", line 1754, in _retrieve\n    self._raise_error_fast()\njoblib.externals.loky.process_executor.TerminatedWorkerError: A worker process managed by the executor was unexpectedly terminated. This could be caused by a segmentation fault while calling the function or by an excessive memory usage causing the Operating System to kill the worker.\n\nThe exit codes of the workers are {SIGKILL(-9)}\n";
    for all in ["-1", "os.cpu_count()", "multiprocessing.cpu_count() - 2"] {
        let script = format!(
            "import os\nfrom sklearn.model_selection import RandomizedSearchCV\nsearch = RandomizedSearchCV(model, space, n_jobs={all}, cv=4)\nsearch.fit(table, target)\n"
        );
        assert!(diff(loky, "tune.py", &script)?.contains("space, n_jobs=2, cv=4)\n"), "{all}");
    }
    let web = "[2025-06-02 09:00:29 +0000] [1] [ERROR] Worker (pid:8) was sent SIGKILL! Perhaps out of memory?\n[2025-06-02 09:00:41 +0000] [1] [ERROR] Worker (pid:7) was sent SIGKILL! Perhaps out of memory?\n";
    let settings = "import multiprocessing\n\nbind = \"0.0.0.0:8000\"\nworkers = multiprocessing.cpu_count() * 2 + 1\n";
    assert!(diff(web, "gunicorn.conf.py", settings)?.contains("+workers = 1\n"));
    let prepare = "Preprocessing 120000 files\nslurmstepd: error: Detected 1 oom_kill event in StepId=4902.batch. Some of the step tasks have been OOM Killed.\n";
    let end = report(&[("job.log", prepare), ("prep.sh", "python prep.py --workers $(nproc) --out /scratch/x\n")])?;
    let shown = patches(&end)?.iter().filter_map(|patch| patch.diff.as_deref()).collect::<String>();
    assert!(shown.contains("+python prep.py --workers 2 --out"), "{shown}");
    Ok(())
}

#[test]
fn workers_of_a_server_that_share_a_limit_are_too_many_for_it() -> Outcome {
    let log = "api-1  | [2025-04-22 07:11:33 +0000] [1] [ERROR] Worker (pid:9) was sent SIGKILL! Perhaps out of memory?\napi-1  | [2025-04-22 07:11:39 +0000] [1] [ERROR] Worker (pid:11) was sent SIGKILL! Perhaps out of memory?\n";
    let compose = "services:\n  api:\n    build: .\n    command: gunicorn app:app --workers 6 --bind 0.0.0.0:80\n    deploy:\n      resources:\n        limits:\n          memory: 3G\n";
    let end = report(&[("job.log", log), ("compose.yaml", compose)])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("container_limit_too_small", "workers"));
    Ok(())
}

#[test]
fn a_program_that_was_killed_far_from_the_end_of_the_log_is_no_other_failure() -> Outcome {
    let step = "cargo build --release --locked";
    let failed = |line: &str| {
        format!(
            "#11 402.7 {line}\n#11 402.7 warning: build failed, waiting for other jobs to finish...\n#11 ERROR: process \"/bin/sh -c {step}\" did not complete successfully: exit code: 101\n------\n > [build 5/6] RUN {step}:\n402.1    Compiling tables v0.4.0\n402.6    Compiling planner v0.4.0\n402.7 warning: build failed, waiting for other jobs to finish...\n------\nERROR: failed to solve: process \"/bin/sh -c {step}\" did not complete successfully: exit code: 101\n"
        )
    };
    let dockerfile =
        format!("FROM rust:1.83 AS build\nRUN {step}\nFROM debian:bookworm-slim\nENTRYPOINT [\"planner\"]\n");
    let compiler = "  process didn't exit successfully: `/usr/local/rustup/toolchains/1.83/bin/rustc --crate-name tables --edition=2021 src/lib.rs --error-format=json --test -C debuginfo=2 -L dependency=/src/target/debug/deps` (signal: 9, SIGKILL: kill)";
    let linker = "error: linking with `cc` failed: signal: 9, SIGKILL: kill";
    for line in [compiler, linker] {
        assert!(diff(&failed(line), "Dockerfile", &dockerfile)?.contains("+ENV CARGO_BUILD_JOBS=2\n"), "{line}");
    }
    // What no grammar knows, beside nothing but the status of what ran it.
    let end = report(&[("job.log", &failed("bundle: child got SIGKILL"))])?;
    assert_eq!(root(&end)?.kind, Kind::SigkillUnattributed);
    Ok(())
}

#[test]
fn a_tool_that_builds_gets_its_own_setting_and_no_training() -> Outcome {
    let go = "example.org/planner/internal/tables: /usr/local/go/pkg/tool/linux_amd64/compile: signal: killed\n";
    assert_eq!(turned(&report(&[("job.log", go)])?)?[0], "GOFLAGS");
    let bazel = "ERROR: /src/planner/BUILD:14:11: Compiling planner/search.cc failed: (Killed): gcc failed: error executing CppCompile command (from target //planner:search) /usr/bin/gcc -U_FORTIFY_SOURCE\nINFO: Elapsed time: 812.4s\nFAILED: Build did NOT complete successfully\n";
    let end = report(&[("job.log", bazel), ("build.sh", "bazel build //planner:all --jobs=32\n")])?;
    assert_eq!(turned(&end)?[0], "--jobs");
    let npm = "npm error code ELIFECYCLE\nnpm error path /app\nnpm error command failed\nnpm error signal SIGKILL\nnpm error command sh -c vite build\n";
    let end = report(&[("job.log", npm)])?;
    assert_eq!(root(&end)?.kind, Kind::SigkillUnattributed);
    assert!(turned(&end)?.iter().all(|knob| *knob == "RAM"), "{:?}", turned(&end)?);
    Ok(())
}
