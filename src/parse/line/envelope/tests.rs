use proptest::prelude::*;

use super::*;

/// Checks one line: with its prefixes stacked as in real logs, it has these facts and this body.
#[track_caller]
fn peels(text: &str, facts: &str, body: &str) {
    let envelope = peel(text);
    let mut said = Vec::new();
    let mut say = |name: &str, value: Option<String>| said.extend(value.map(|value| format!("{name}={value}")));
    say("host", envelope.host.clone().map(|span| text[span].to_owned()));
    say("role", envelope.role.clone().map(|span| text[span].to_owned()));
    say("rank", envelope.rank.map(|rank| rank.to_string()));
    say("local", envelope.local_rank.map(|rank| rank.to_string()));
    say("pid", envelope.pid.map(|pid| pid.to_string()));
    say("time", envelope.time.map(|time| time.to_string()));
    say("repeated", (envelope.repeated > 0).then(|| envelope.repeated.to_string()));
    assert_eq!((said.join(" ").as_str(), &text[envelope.body.clone()]), (facts, body), "{text}");
}

#[test]
fn peels_what_others_put_before_a_line() {
    peels("plain", "", "plain");
    peels("  File \"a.py\"", "", "  File \"a.py\"");
    peels("[rank3]:   File \"a.py\"", "rank=3", "  File \"a.py\"");
    peels("[rank2]:[W512 07:57:26.1 a.cpp:508] x", "rank=2 time=05-12T07:57:26", "x");
    peels("[default1]:[rank1]: Traceback", "rank=1 local=1", "Traceback");
    peels("[PID:34] [RANK:1] x", "rank=1 pid=34", "x");
    peels("[rank: 3] x", "rank=3", "x");
    peels("[node1:3]: x", "host=node1 rank=3", "x");
    peels("[ERROR] MD(33,7fea2effd700,python):2026-03-01-10:00:00.932.181 [a/arena.cc:250] Init] x", "pid=33", "x");
    peels("[ERROR] RUNTIME(33,python):2026-03-01-10:00:00.000.181 [npu_driver.cc:900] x", "pid=33", "x");
    peels("[ERROR] RUNTIME(33,python) x", "", "RUNTIME(33,python) x");
    peels(":1:hip_memory.cpp           :303 : 9616777863 us: 42 : [tid:0x7f2accbfe6c0] x", "pid=42", "x");
    peels(":3:rocdevice.cpp            :442 : 0113437041 us: [pid:51 tid:0x7f2accbfe6c0] x", "pid=51", "x");
    peels("INFO 2026-03-01T10:00:00.123456789Z [resource.labels.podName: a-1] x", "time=2026-03-01T10:00:00", "x");
    peels("01-29 14:13:18.886   985  1454 E libc    : x", "pid=985 time=01-29T14:13:18", "x");
    peels("01-29 14:13:18.886 985-1454/? E/cv::error(): x: y", "pid=985 time=01-29T14:13:18", "x: y");
    peels("2026-01-29 14:13:18.886 985-1454 libc   com.app   E  x", "pid=985 time=2026-01-29T14:13:18", "x");
    peels("Rank 5: x", "rank=5", "x");
    peels("rank:  3 | x", "rank=3", "x");
    peels("> [03/01/2026-10:00:00] [TRT-LLM] [RANK 2] [E] x", "rank=2 time=2026-03-01T10:00:00", "[E] x");
    peels("[1,3]<stderr>:x", "rank=3", "x");
    peels("(TrainWorker, rank=2, pid=45) x", "role=TrainWorker rank=2 pid=45", "x");
    peels("rank 5 of 8", "", "rank 5 of 8");
    peels("cc1plus: out of memory", "", "cc1plus: out of memory");
    peels("cv2.error: OpenCV(4.5.1)", "", "cv2.error: OpenCV(4.5.1)");
    peels("(WorkerDict pid=12, ip=10.0.0.8) x", "host=10.0.0.8 role=WorkerDict pid=12", "x");
    peels("(raylet, ip=10.0.0.7) x", "host=10.0.0.7 role=raylet", "x");
    peels("(PolicyWorker[rank=6] pid=12, ip=10.0.0.8) x", "host=10.0.0.8 role=PolicyWorker rank=6 pid=12", "x");
    peels("(pid=7) x", "pid=7", "x");
    peels("(Runner pid=7)   File \"a.py\"", "role=Runner pid=7", "  File \"a.py\"");
    peels(
        "(raylet) [2026-03-01 10:41:03,229 E 1008 1008] (raylet) node_manager.cc:3250: 2 Workers",
        "role=raylet pid=1008 time=2026-03-01T10:41:03",
        "2 Workers",
    );
    peels("(A pid=1) loss [repeated 7x across cluster]", "role=A pid=1 repeated=7", "loss");
    peels(
        "(A pid=1) loss [repeated 7x across cluster] (Ray deduplicates logs by default. Set RAY_DEDUP_LOGS=0 to disable)",
        "role=A pid=1 repeated=7",
        "loss",
    );
    peels(
        "(VllmWorker rank=1 pid=29) ERROR 03-19 07:27:53 [m.py:375] x",
        "role=VllmWorker rank=1 pid=29 time=03-19T07:27:53",
        "x",
    );
    peels("(Worker_TP3 pid=29) ERROR x", "role=Worker_TP3 rank=3 pid=29", "ERROR x");
    peels("(Worker_PP0_TP2 pid=29) x", "role=Worker_PP0_TP2 rank=2 pid=29", "x");
    peels("(Worker_PP1 pid=29) x", "role=Worker_PP1 rank=1 pid=29", "x");
    peels("(Worker_PP1_TP2 pid=29) x", "role=Worker_PP1_TP2 pid=29", "x");
    peels("(Worker_DP3 pid=29) x", "role=Worker_DP3 rank=3 pid=29", "x");
    peels("(Worker_DP1_TP1 pid=29) x", "role=Worker_DP1_TP1 pid=29", "x");
    peels("(Worker_DP1_TP1_EP3 pid=29) x", "role=Worker_DP1_TP1_EP3 rank=3 pid=29", "x");
    peels("(Worker_DP1_PP1_EP3 pid=29) x", "role=Worker_DP1_PP1_EP3 pid=29", "x");
    peels("(Worker pid=29) x", "role=Worker pid=29", "x");
    peels(
        "(EngineCore_DP0 pid=68) INFO 10-31 15:07:49 [g.py:298] x",
        "role=EngineCore_DP0 pid=68 time=10-31T15:07:49",
        "x",
    );
    peels("[Stage-0] ERROR 01-16 10:20:16 [gpu_worker.py:226] x", "time=01-16T10:20:16", "x");
    peels("rank4]: x", "rank=4", "x");
    peels("INFO 02-03 03:43:48 llm_engine.py:316] # GPU blocks", "time=02-03T03:43:48", "# GPU blocks");
    peels(
        "[2026-03-01 10:00:00,000] [INFO] [utils.py:781:see_memory_usage] MA 1 GB",
        "time=2026-03-01T10:00:00",
        "MA 1 GB",
    );
    peels(
        "node1: [2026-03-01 10:00:00,000] [INFO] [logging.py:96:log_dist] [Rank 0] x",
        "host=node1 rank=0 time=2026-03-01T10:00:00",
        "x",
    );
    peels("[INFO|deepspeed.py:449] 2022-05-15 00:12:20,447 >> x", "time=2022-05-15T00:12:20", "x");
    peels("[INFO 2020-05-26 20:08:23] x", "time=2020-05-26T20:08:23", "x");
    peels("WARNING:torch.distributed.api:Sending", "", "Sending");
    peels("E0301 10:40:00.000000 4711 torch/api.py:874] failed", "pid=4711 time=03-01T10:40:00", "failed");
    peels("0301 10:40:00.000000 4711 operator.cc:179] raises", "pid=4711 time=03-01T10:40:00", "raises");
    peels("2026-11-20 07:35:30,054\tINFO worker.py:2038 -- Started", "time=2026-11-20T07:35:30", "Started");
    peels("[2026-03-01 10:00:00 DP0 TP1] x", "role=DP0 TP1 time=2026-03-01T10:00:00", "x");
    peels("[INFO|2026-03-01 10:00:00] logging.py:143 >> x", "time=2026-03-01T10:00:00", "x");
    peels("03/01/2026 10:00:00 - INFO - __main__ - ***** x", "time=2026-03-01T10:00:00", "***** x");
    peels("[rank0]:[titan] 2026-03-01 10:00:00,897 - root - INFO - x", "rank=0 time=2026-03-01T10:00:00", "x");
    peels(
        "2026-03-01 10:00:00.305846: W tensorflow/core/framework/op_kernel.cc:1780] OP_REQUIRES",
        "time=2026-03-01T10:00:00",
        "OP_REQUIRES",
    );
    peels("2026-11-20 07:34:22,297\tVINFO scripts.py:1415 -- Killed", "time=2026-11-20T07:34:22", "Killed");
    peels("2026-11-20 07:34:22,483\tSUCC scripts.py:1496 -- Stopped", "time=2026-11-20T07:34:22", "Stopped");
    peels("2026-03-01T10:00:00.123456789Z stderr F x", "time=2026-03-01T10:00:00", "x");
    peels("2026-03-01T10:00:00.1234567Z [rank0]: x", "rank=0 time=2026-03-01T10:00:00", "x");
    peels("16623 Apr 18 00:37:34   kernel: [   14.298829] x", "role=kernel time=up 14.298829 s", "x");
    peels("Aug 12 03:54:03 host1 kernel: [  1.000001] x", "host=host1 role=kernel time=up 1.000001 s", "x");
    peels("Jan  5 15:19:27 kernel: x", "role=kernel time=01-05T15:19:27", "x");
    peels("10月 19 22:21:15 gpu ollama[60399]: x", "host=gpu role=ollama pid=60399 time=10-19T22:21:15", "x");
    peels("окт 19 22:21:15 gpu ollama[60399]: x", "host=gpu role=ollama pid=60399 time=10-19T22:21:15", "x");
    peels(
        "10:52:29 node1 systemd-oomd[1261]: Killed",
        "host=node1 role=systemd-oomd pid=1261 time=T10:52:29",
        "Killed",
    );
    peels("[    1.170499] x", "time=up 1.170499 s", "x");
    peels("[    1.170499 <    0.000011>] x", "time=up 1.170499 s", "x");
    peels("[Nov20 08:28] x", "", "x");
    peels("[  +0.000011] x", "", "x");
    peels("[    1.170499] node1 kernel: x", "host=node1 role=kernel time=up 1.170499 s", "x");
    peels("kern: warning: [2026-03-01T10:00:00.123456789Z]: x", "time=2026-03-01T10:00:00", "x");
    peels("<4>[ 4585.052128] x", "time=up 4585.052128 s", "x");
    peels("kern  :warn  : [ 4585.052128]  x", "time=up 4585.052128 s", " x");
    peels("# [rank1]: x", "rank=1", "x");
    peels("| (EngineCore_DP0 pid=6804) x", "role=EngineCore_DP0 pid=6804", "x");
    peels("- x", "", "- x");
    peels("# 2026-03-01 10:00:00 x", "", "# 2026-03-01 10:00:00 x");
    peels("[Di Aug 12 03:54:03 2025] x", "time=2025-08-12T03:54:03", "x");
    peels("<13>1 2026-03-01T10:00:00Z host1 train 812 - - x", "host=host1 time=2026-03-01T10:00:00", "x");
    peels("earlyoom[812]: sending", "role=earlyoom pid=812", "sending");
    peels("scalellm          | x", "role=scalellm", "x");
    peels("3: x", "rank=3", "x");
    peels("10.0.0.7: x", "host=10.0.0.7", "x");
    peels("worker-1: x", "host=worker-1", "x");
    peels("gpu-0042: [rank3]: x", "host=gpu-0042 rank=3", "x");
    peels("gpu-0042: x", "", "gpu-0042: x");
    peels("slurmstepd-node07: error: x", "host=node07", "error: x");
    peels("step1: x", "", "step1: x");
    peels("run-u41.scope: x", "", "run-u41.scope: x");
    peels("RuntimeError: x", "", "RuntimeError: x");
    peels(
        "node3:12:56 [2] include/alloc.h:180 NCCL WARN x",
        "host=node3 local=2 pid=12",
        "include/alloc.h:180 NCCL WARN x",
    );
    peels("[3] include/shm.h:28 NCCL WARN x", "local=3", "include/shm.h:28 NCCL WARN x");
    peels("[3] x", "", "[3] x");
    peels("2026-03-01 10:00:00.112 UTC [1420] FATAL:  x", "pid=1420 time=2026-03-01T10:00:00", "FATAL:  x");
    peels("[1420] FATALLY: x", "", "[1420] FATALLY: x");
    peels(
        "[1693470012.118450] [node3:2218 :0]        mm_posix.c:226  UCX  ERROR x",
        "host=node3 pid=2218 time=2023-08-31T08:20:12",
        "ERROR x",
    );
    peels("[0]PETSC ERROR: x", "rank=0", "PETSC ERROR: x");
    peels("4711:M 03 Jun 2022 10:14:33.902 # x", "pid=4711", "x");
    peels("4711:Mx", "", "4711:Mx");
    peels("│ total capacity; 76 GiB │", "", " total capacity; 76 GiB");
}

#[test]
fn finds_the_texts_in_a_wrapper() {
    let texts =
        |raw: &str| wrapped_texts(raw.as_bytes()).into_iter().map(|span| raw[span].to_owned()).collect::<Vec<_>>();
    assert_eq!(texts(r#"{"log":"a \"b\"\n","stream":"stderr"}"#), [r#"a \"b\"\n"#]);
    assert_eq!(texts(r#"         "msg": "python3 invoked","#), ["python3 invoked"]);
    assert_eq!(texts(r#"{"PRIORITY":"4","MESSAGE":"x","_HOSTNAME":"n"}"#), ["x"]);
    assert_eq!(texts(r#"	"MESSAGE" : "x","#), ["x"]);
    assert_eq!(texts(r#"{"msg":"x","err":{"stack":"a\nb"},"name":"n","note":"not enough memory"}"#), ["x", r"a\nb"]);
    assert_eq!(texts(r#"{"detail": "out of memory\nat f"}"#), [r"out of memory\nat f"]);
    assert_eq!(texts(r#"  "traceback": "a\nb","#), [r"a\nb"]);
    assert_eq!(texts(r#"{"msg":"cut he"#), ["cut he"]);
    for other in [r#"{"a": 1}"#, "{'log': 'x'}", r#"{"template": "<s>\n{query}\n"}"#, r#""a": "b c d""#, "", "{"] {
        assert!(texts(other).is_empty(), "{other}");
    }
}

#[test]
fn json_says_who_wrote_a_line() {
    let writer =
        Writer::of(br#"{"msg":"x","rank":3,"local_rank":"1","process":4711,"timestamp":"2026-03-01T10:00:00Z"}"#);
    assert_eq!((writer.rank, writer.local_rank, writer.pid), (Some(3), Some(1), Some(4711)));
    assert!(writer.time.is_some());
    assert_eq!(Writer::of(br#"{"log":"rank: 3\n","time":"2026-03-01T10:00:00Z"}"#), Writer::default());
}

proptest! {
    #[test]
    fn a_bracket_is_the_same_prefix_whichever_are_tried(
        begin in prop::sample::select(vec![
            "[rank3]", "[Rank 3] ", "[pid: 7] ", "[node1:3]: ", "[1,3]<stderr>:", "[1693470012.118450] [node3:2218 :0]  mm.c:2  UCX  ERROR ",
            "[  12.345678] ", "[12345.678901 <    0.000011>] ", "[Nov20 08:28] ", "[ +0.000011] ", "[INFO] ", "[INFO|a.py:4] 2026-03-01 10:00:00,4 >> ",
            "[2026-03-01 10:00:00,000] ", "[2026/03/01 10:00:00 DP0 TP1] ", "[Fri Nov 20 07:35:32 2026] ", "[fri nov 20 07:35:32 2026] ",
            "[aug 12 03:54:03] ", "[二 9月  3 05:57:48 2024] ", "[03/01/2026 10:00:00] ", "[DATE] ", "[default0]:", "[W716 07:57:26.709 a.cpp:5] ",
            "[E a.cpp:5] ", "[Ea.cpp:5] ", "[watch node7 rank 3 pid 4711] ", "[3] NCCL INFO ", "[1420] FATAL: ", "[0]PETSC ERROR: ", "[titan] ",
            "[TRT-LLM] ", "[core.py:459] ", "[0001.py:3:f] ", "[_a.py:3] ", "[./a.py:3] ", "[Stage-0] INFO:x: ", "[_x] INFO:x: ", "[2026:3] ",
        ]),
        cut in 0usize..40, rest in "[a-zA-Z0-9 :\\]\\[,.-]{0,12}",
    ) {
        let begin: String = begin.chars().take(if cut > 30 { usize::MAX } else { cut }).collect();
        for text in [begin.clone() + &rest, format!("[{rest}")] {
            if text.starts_with('[') {
                prop_assert_eq!(
                    bracketed(&text).map(|(rest, facts)| (rest, format!("{facts:?}"))).ok(),
                    any_bracketed(&text).map(|(rest, facts)| (rest, format!("{facts:?}"))).ok()
                );
            }
        }
    }
}
