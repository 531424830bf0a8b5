//! Limits that a program puts on its own memory: they are raised where they refused, and what one of many processes takes is lowered
//! where the machine or the container ran out.

use std::error::Error;

use oomdoc::model::{Patch, Report};

use crate::support::analyzed::{added_lines, report};

type Outcome = Result<(), Box<dyn Error>>;

fn first(report: &Report) -> Option<&Patch> {
    report.incidents.first()?.diagnoses.first()?.patches.first()
}

/// What the first patch adds to the files.
fn added(report: &Report) -> String {
    let diff = first(report).and_then(|patch| patch.diff.clone()).unwrap_or_default();
    added_lines(&diff).join(" | ")
}

/// The names of all changes against the first cause.
fn knobs(report: &Report) -> Vec<&str> {
    let first = report.incidents.first().and_then(|incident| incident.diagnoses.first());
    first.map(|diagnosis| diagnosis.patches.iter().map(|patch| &*patch.knob).collect()).unwrap_or_default()
}

fn check(cases: &[(&str, &str, &str, &str)]) -> Outcome {
    for (log, name, text, expected) in cases {
        let report = report(&[("job.log", log), (name, text)])?;
        assert_eq!(added(&report), *expected, "{name}: {:?}", knobs(&report));
        let leaks = ["swapon", "DataLoader.num_workers", "--num_envs", "--batch_size"];
        assert!(!knobs(&report).iter().any(|knob| leaks.contains(knob)), "{name}: {:?}", knobs(&report));
    }
    Ok(())
}

#[test]
fn the_limit_that_refused_is_raised_in_its_own_file() -> Outcome {
    check(&[
        (
            "worker-1  | redis.exceptions.OutOfMemoryError: command not allowed when used memory > 'maxmemory'.\n",
            "compose.yaml",
            "services:\n  cache:\n    image: redis:7\n    command: redis-server --maxmemory 256mb --appendonly no\n",
            "command: redis-server --maxmemory 512mb --appendonly no",
        ),
        (
            "PHP Fatal error:  Allowed memory size of 268435456 bytes exhausted (tried to allocate 20480 bytes) in /srv/a.php on line 3\n",
            "php.ini",
            "; of the server\n[PHP]\nmemory_limit = 256M ; per script\n",
            "memory_limit = 512M ; per script",
        ),
        (
            "duckdb.OutOfMemoryException: Out of Memory Error: failed to allocate data of size 16.0 MiB (1.8 GiB/1.8 GiB used)\n",
            "q.py",
            "import duckdb\ncon = duckdb.connect('a.db', config={'memory_limit': '2GB'})\n",
            "con = duckdb.connect('a.db', config={'memory_limit': '4GB'})",
        ),
        (
            "io.trino.ExceededMemoryLimitException: Query exceeded per-node memory limit of 2GB [Allocated: 2GB, Delta: 2MB]\n",
            "config.properties",
            "coordinator=true\nhttp-server.http.port=8080\nquery.max-memory-per-node=2GB\n",
            "query.max-memory-per-node=4GB",
        ),
        (
            "Code: 241. DB::Exception: Memory limit (for query) exceeded: would use 4.66 GiB (attempt to allocate chunk of 4219980 bytes), maximum: 4.66 GiB.: While executing JoiningTransform. (MEMORY_LIMIT_EXCEEDED)\n",
            "users.xml",
            "<clickhouse>\n  <profiles>\n    <default>\n      <max_memory_usage>5000000000</max_memory_usage>\n    </default>\n  </profiles>\n</clickhouse>\n",
            "<max_memory_usage>10000000000</max_memory_usage>",
        ),
        // What aggregates can use a disk instead.
        (
            "Code: 241. DB::Exception: Memory limit (for query) exceeded: would use 18.63 GiB (attempt to allocate chunk of 4219980 bytes), maximum: 18.63 GiB.: While executing AggregatingTransform. (MEMORY_LIMIT_EXCEEDED)\n",
            "users.xml",
            "<clickhouse>\n  <profiles>\n    <default>\n      <max_memory_usage>20000000000</max_memory_usage>\n    </default>\n  </profiles>\n</clickhouse>\n",
            "<max_bytes_before_external_group_by>10000000000</max_bytes_before_external_group_by>",
        ),
        (
            "[E:onnxruntime:, sequential_executor.cc:516 ExecuteKernel] Non-zero status code returned while running Conv node. bfc_arena.cc:376 void* onnxruntime::BFCArena::AllocateRawInternal(size_t) Available memory of 1048576 is smaller than requested bytes of 67108864\n",
            "run.py",
            "import onnxruntime as ort\nsession = ort.InferenceSession('m.onnx', providers=[('CUDAExecutionProvider', {'gpu_mem_limit': 1024 * 1024 * 1024})])\n",
            "session = ort.InferenceSession('m.onnx', providers=[('CUDAExecutionProvider', {'gpu_mem_limit': 4294967296})])",
        ),
        (
            "[I] Memory Pools: workspace: 512 MiB, dlaSRAM: default\n[W] [TRT] Tactic Device request: 2304MB Available: 512MB. Device memory is insufficient to use tactic.\n[W] [TRT] UNSUPPORTED_STATE: Skipping tactic 0 due to insufficient memory on requested size of 2415919104 detected for tactic 0x0000000000000000.\n[E] Engine could not be created from network\n",
            "build.sh",
            "trtexec --onnx=a.onnx --memPoolSize=workspace:512 --fp16\n",
            "trtexec --onnx=a.onnx --memPoolSize=workspace:8192 --fp16",
        ),
        (
            "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 4,096,000,000 bytes (allocated so far: 7,123,456,512 bytes, limit set to: 8,000,000,000 bytes).\n",
            "run.sh",
            "export CUPY_GPU_MEMORY_LIMIT=8000000000\npython sim.py\n",
            "export CUPY_GPU_MEMORY_LIMIT=90%",
        ),
    ])
}

#[test]
fn options_of_a_runtime_are_raised_within_their_variable() -> Outcome {
    let full = "Caused by: java.lang.OutOfMemoryError: Java heap space\n\tat java.base/java.util.Arrays.copyOf(Arrays.java:3537)\n";
    let metaspace = "Caused by: java.lang.OutOfMemoryError: Metaspace\n\tat java.base/java.lang.ClassLoader.defineClass1(Native Method)\n";
    let node = "[7:0x5c]    75980 ms: Mark-Compact 2017.0 (2063.2) -> 2016.3 (2063.7) MB, 1954.0 / 0.0 ms  (average mu = 0.065, current mu = 0.005) allocation failure\nFATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n";
    check(&[
        (
            full,
            "gradle.properties",
            "org.gradle.jvmargs=-Xmx1g -Dfile.encoding=UTF-8\norg.gradle.parallel=true\n",
            "org.gradle.jvmargs=-Xmx2g -Dfile.encoding=UTF-8",
        ),
        (
            metaspace,
            "gradle.properties",
            "org.gradle.jvmargs=-Xmx1g -XX:MaxMetaspaceSize=128m\norg.gradle.parallel=true\n",
            "org.gradle.jvmargs=-Xmx1g -XX:MaxMetaspaceSize=256m",
        ),
        (
            full,
            "pom.xml",
            "<project>\n  <configuration>\n    <argLine>-Xmx256m -ea</argLine>\n  </configuration>\n</project>\n",
            "<argLine>-Xmx512m -ea</argLine>",
        ),
        (
            node,
            "ci.yml",
            "on: [push]\njobs:\n  build:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: npm run build\n        env:\n          NODE_OPTIONS: --no-warnings --max-old-space-size=2048\n",
            "NODE_OPTIONS: --no-warnings --max-old-space-size=4096",
        ),
        (
            node,
            "package.json",
            "{\"scripts\": {\"build\": \"node --max_old_space_size=2048 build.js\"}}\n",
            "{\"scripts\": {\"build\": \"node --max_old_space_size=4096 build.js\"}}",
        ),
    ])
}

fn killed(container: &str, limit: &str) -> String {
    format!(
        "Containers:\n  {container}:\n    State:          Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n    Limits:\n      memory:  {limit}\n"
    )
}

fn pod(name: &str, limit: &str, inner: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: {name}\n    image: registry/{name}:1\n{inner}    resources: {{limits: {{memory: {limit}}}}}\n"
    )
}

#[test]
fn a_container_holds_what_its_own_settings_let_it_take() -> Outcome {
    let java =
        pod("shop", "2Gi", "    env:\n    - name: JAVA_OPTS\n      value: \"-Xmx2g -XX:MaxDirectMemorySize=1g\"\n");
    let search = pod("search", "8Gi", "    env:\n    - name: ES_JAVA_OPTS\n      value: \"-Xms7g -Xmx7g\"\n");
    let node = pod("web", "1Gi", "    command: [node, --max-old-space-size=2048, a.js]\n");
    let store = pod("cache", "1Gi", "    command: [redis-server, --maxmemory, 3gb]\n");
    for (name, limit, file, expected) in [
        ("shop", "2Gi", &java, "resources: {limits: {memory: 4Gi}}"),
        // The heap of a search engine is half of what it has.
        ("search", "8Gi", &search, "value: \"-Xms4g -Xmx4g\""),
        ("web", "1Gi", &node, "resources: {limits: {memory: 3Gi}}"),
        ("cache", "1Gi", &store, "resources: {limits: {memory: 4Gi}}"),
    ] {
        let report = report(&[("job.log", &killed(name, limit)), ("pod.yaml", file)])?;
        assert_eq!(added(&report), expected, "{:?}", knobs(&report));
    }
    Ok(())
}

#[test]
fn fewer_workers_come_before_more_memory() -> Outcome {
    let web = pod("api", "8Gi", "    command: [uvicorn, \"main:app\", --workers, \"12\"]\n");
    let tasks = pod("api", "8Gi", "    command: [celery, -A, tasks, worker, --concurrency=8]\n");
    for (file, expected) in [(&web, "--workers, \"3\""), (&tasks, "--concurrency=4")] {
        let report = report(&[("job.log", &killed("api", "8Gi")), ("pod.yaml", file)])?;
        assert!(added(&report).contains(expected), "{}: {:?}", added(&report), knobs(&report));
        assert!(knobs(&report).contains(&"resources.limits.memory"));
    }
    // Also where nothing proves who sent the signal, and in the server's own file.
    let log = "[2025-03-11 12:10:01 +0000] [1] [INFO] Starting gunicorn 22.0.0\n[2025-03-11 12:10:49 +0000] [1] [ERROR] Worker (pid:12) was sent SIGKILL! Perhaps out of memory?\n";
    let code = "bind = '0.0.0.0:80'\nworkers = 8\ntimeout = 60\n";
    let files = [("job.log", log), ("gunicorn.conf.py", code), ("run.sh", "gunicorn -c gunicorn.conf.py main:app\n")];
    assert_eq!(added(&report(&files)?), "workers = 2");
    Ok(())
}

#[test]
fn a_database_takes_less_for_each_sort() -> Outcome {
    let refused =
        "ERROR:  out of memory\nDETAIL:  Failed on request of size 65536 in memory context \"HashBatchContext\".\n";
    let row = |pid: u32, pages: u32| {
        format!("[81234.100000] [  {pid}]   112  {pid}  6822110  {pages} 24311808        0             0 postgres\n")
    };
    let rows: String = [(901, 2_600_000), (902, 2_500_000), (903, 2_400_000), (904, 2_300_000)]
        .map(|(pid, pages)| row(pid, pages))
        .concat();
    let machine = format!(
        "[81234.100000] postgres invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0\n[81234.100000] Mem-Info:\n[81234.100000] 12582912 pages RAM\n[81234.100000] Tasks state (memory values in pages):\n[81234.100000] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n{rows}[81234.100000] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/system.slice/pg.service,task=postgres,pid=901,uid=112\n[81234.100000] Out of memory: Killed process 901 (postgres) total-vm:27288440kB, anon-rss:10400000kB, file-rss:4120kB, shmem-rss:8536kB, UID:112 pgtables:23742kB oom_score_adj:0\n"
    );
    let settings =
        "max_connections = 200\t\t# (change requires restart)\nshared_buffers = 8GB\nwork_mem = 2GB   # min 64kB\n";
    for log in [refused, &machine] {
        let report = report(&[("job.log", log), ("postgresql.conf", settings)])?;
        let change = added(&report);
        assert!(["work_mem = 64MB   # min 64kB", "work_mem = 128MB   # min 64kB"].contains(&&*change), "{change}");
    }
    let report = report(&[("job.log", &machine), ("postgresql.conf", settings)])?;
    assert_eq!(report.incidents[0].diagnoses[0].cause.as_ref(), "too_many_workers");
    Ok(())
}

#[test]
fn what_throttles_a_unit_is_no_shortage_of_the_machine() -> Outcome {
    let log = "Apr 08 16:20:11 ws3 systemd-oomd[812]: Considered 61 cgroups for killing, top candidates were:\nApr 08 16:20:11 ws3 systemd-oomd[812]:         Path: /user.slice/user-1000.slice/user@1000.service/app.slice/nb.service\nApr 08 16:20:11 ws3 systemd-oomd[812]:                 Memory Pressure Limit: 0.00%\nApr 08 16:20:11 ws3 systemd-oomd[812]:                 Pressure: Avg10: 88.12 Avg60: 71.50 Avg300: 30.91 Total: 4min 12s\nApr 08 16:20:11 ws3 systemd-oomd[812]:                 Current Memory Usage: 8.0G\nApr 08 16:20:11 ws3 systemd-oomd[812]: Killed /user.slice/user-1000.slice/user@1000.service/app.slice/nb.service due to memory pressure for /user.slice/user-1000.slice/user@1000.service being 82.33% > 50.00% for > 20s with reclaim activity\n";
    let unit = "[Service]\nExecStart=/opt/nb/bin/lab\nMemoryHigh=8G\n";
    check(&[(log, "nb.service", unit, "MemoryHigh=16G")])?;
    // Without that setting nothing says so.
    let report = report(&[("job.log", log), ("nb.service", &unit.replace("MemoryHigh=8G\n", ""))])?;
    assert_eq!(report.incidents[0].diagnoses[0].cause.as_ref(), "machine_wide_pressure");
    Ok(())
}

#[test]
fn what_one_task_used_counts_for_all_tasks() -> Outcome {
    let log = "slurmstepd: error: Detected 2 oom_kill events in StepId=990.0. Some of the step tasks have been OOM Killed.\n$ sacct -j 990 --format=JobID,State,ReqMem,MaxRSS,ExitCode\nJobID             State     ReqMem     MaxRSS ExitCode\n------------ ---------- ---------- ---------- --------\n990          OUT_OF_ME+       40G                0:125\n990.0        OUT_OF_ME+             16777216K    0:125\n";
    let script = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --ntasks=4\n#SBATCH --mem=40G\nsrun ./sort.sh\n";
    assert_eq!(added(&report(&[("job.log", log), ("job.sbatch", script)])?), "#SBATCH --mem=80G");
    Ok(())
}

#[test]
fn a_setting_of_spark_and_of_a_build_stands_where_it_is_read() -> Outcome {
    check(&[
        (
            "25/03/02 04:13:10 ERROR YarnClusterScheduler: Lost executor 14 on h: Container killed by YARN for exceeding physical memory limits. 9.1 GB of 8.8 GB physical memory used. Consider boosting spark.executor.memoryOverhead.\n",
            "submit.sh",
            "spark-submit --master yarn --executor-memory 8g --py-files a.zip job.py s3://b\n",
            "spark-submit --conf spark.executor.memoryOverhead=4g --master yarn --executor-memory 8g --py-files a.zip job.py s3://b",
        ),
        (
            "#9 301.2 Killed\n#9 330.9 ninja: build stopped: subcommand failed.\n#9 ERROR: process \"/bin/sh -c MAX_JOBS=24 python setup.py install\" did not complete successfully: exit code: 1\n",
            "Dockerfile",
            "FROM nvcr.io/nvidia/pytorch:24.10-py3\nWORKDIR /src\nRUN MAX_JOBS=24 python setup.py install\n",
            "RUN MAX_JOBS=4 python setup.py install",
        ),
    ])
}

#[test]
fn a_partition_of_dask_is_smaller() -> Outcome {
    let log = "2025-03-20 11:00:36,881 - distributed.worker.memory - WARNING - Worker is at 83% memory usage. Pausing worker.  Process memory: 1.56 GiB -- Worker memory limit: 1.86 GiB\n2025-03-20 11:00:38,102 - distributed.nanny.memory - WARNING - Worker tcp://127.0.0.1:41377 (pid=21013) exceeded 95% memory budget. Restarting...\n";
    let code = "import dask.dataframe as dd\nfrom dask.distributed import LocalCluster\ncluster = LocalCluster(n_workers=16, memory_limit='2GB')\ndf = dd.read_csv('/d/*.csv', blocksize='512MB')\nprint(df.a.sum().compute())\n";
    check(&[(log, "etl.py", code, "df = dd.read_csv('/d/*.csv', blocksize='64MB')")])
}
