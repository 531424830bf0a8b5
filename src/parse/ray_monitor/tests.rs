use crate::model::{Bytes, Event, FigureName, Shortage, What};
use crate::parse::testing;

fn shortages(lines: &[&str]) -> Vec<(Event, Shortage)> {
    let events = testing::read(lines.join("\n").as_bytes()).into_iter();
    events
        .filter_map(|event| match event.what.clone() {
            What::Shortage(shortage) => Some((event, shortage)),
            _ => None,
        })
        .collect()
}

fn bytes(event: &Event, name: FigureName) -> Option<Bytes> {
    event.figures.iter().find(|figure| figure.name == name).and_then(|figure| figure.bytes)
}

#[test]
fn a_message_in_a_box_is_read_whole() {
    let found = shortages(&[
        "Memory on the node (IP: 10.0.0.7, ID: db89e98fd2bc) where the task (task ID:",
        "43534ce9375f, name=train, pid=812, memory used=49.21GB) was running was 718.",
        "30GB / 752.00GB (0.955186), which exceeds the memory usage threshold of",
        "0.95. Ray killed this worker (ID: a4f5) because it was the most recently scheduled task;",
    ]);
    let [(event, shortage)] = &found[..] else { unreachable!("{found:?}") };
    assert_eq!(bytes(event, FigureName::NodeUsed), Bytes::of(718.30, Bytes::GIB));
    assert_eq!(shortage.victims[0].pid, Some(812));
    assert!(event.figures.iter().any(|figure| figure.name == FigureName::NodeThreshold && figure.value == Some(0.95)));
}

#[test]
fn a_name_cut_off_takes_in_nothing() {
    let found = shortages(&[
        "Memory on the node (IP: 10.0.0.7, ID: db89e98fd2bc) where the task (task ID: 43534ce9375f, name=tr",
        "epoch 3, loss 0.17",
        "epoch 4, loss 0.16, pid=17, memory used=1.00GB) was running",
    ]);
    let [(event, shortage)] = &found[..] else { unreachable!("{found:?}") };
    assert_eq!((event.figures.len(), shortage.victims[0].pid), (0, None));
}

#[test]
fn two_messages_are_two_events() {
    let one = "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node (IP: 10.0.0.7, ID: db89) where the task (task ID: 4353, name=a, pid=812, memory used=49.21GB) was running was 718.30GB / 752.00GB (0.955186), which exceeds the memory usage threshold of 0.95. Top 10 memory users:\nPID\tMEM(GB)\tCOMMAND\n812\t49.21\tray::a";
    let other = one.replace("pid=812", "pid=813").replace("812\t49.21", "813\t48.00");
    let found = shortages(&[one, &other]);
    assert_eq!(found.len(), 2);
    assert_eq!(found[1].1.victims[0].pid, Some(813));
    assert_eq!(found[1].1.consumers[0].text, "48.00");
}

#[test]
fn lines_between_two_parts_are_passed_over() {
    let found = shortages(&[
        "Memory on the node (IP: 10.0.0.7, ID: db89) where the task (task ID: 4353, name=a, pid=812, memory used=49.21GB) was running was 718.30GB / 752.00GB (0.955186), which exceeds the memory usage threshold of 0.95. Top 10 memory users:",
        "saving the model",
        "PID\tMEM(GB)\tCOMMAND",
        "812     49.21   ray::a",
    ]);
    assert_eq!(found[0].1.consumers.len(), 1);
}

#[test]
fn who_prints_it_is_not_the_victim() {
    let found = shortages(&[
        "(Learner pid=812) 8800\t1.18\tray::Policy",
        "(Learner pid=812) Refer to the documentation on how to address the out of memory issue: https://docs.ray.io/",
    ]);
    assert!(matches!(&found[0].1.victims[..], [victim] if victim.is_unknown()), "{found:?}");
}

#[test]
fn a_summary_without_a_kill_is_none() {
    let line = "(raylet) node_manager.cc:3250: 0 Workers (tasks / actors) killed due to memory pressure (OOM), 2 Workers crashed due to other reasons at node (ID: 71e7, IP: 10.0.0.7) over the last time period.";
    assert!(shortages(&[line]).is_empty());
}

#[test]
fn the_log_of_a_raylet_names_its_writer_once() {
    let found = shortages(&[
        "[2026-03-01 10:37:32,556 I 82 82] (raylet) node_manager.cc:3199: Killing 1 worker(s), kill details: Memory on the node (IP: 10.0.0.2, ID: f3e8) was 5.19GB used / 23.54GB limit (0.220630)",
        "OOM kill reason: Memory usage 5576757248B exceeded threshold of 5560832000B (22.0% of 25276510208B limit)",
        "Object store memory usage: [- objects spillable: 0",
        "",
        "Eviction Stats:",
        "Ray killed 1 worker(s) based on the killing policy",
        "Considered workers: [",
        "Selected to kill: (Actor(c2cc): job ID=0100, lease ID=0100, task name=Policy.__init__, required resources={CPU: 1}, pid=178, actual memory used=2.62GB, worker ID=4df8)",
        "(Actor(bf94): job ID=0100, lease ID=0000, task name=Reference.__init__, required resources={CPU: 1}, pid=177, actual memory used=0.25GB, worker ID=59c4)",
        "]",
        "Top 10 memory users: PID\tMEM(GB)\tCOMMAND",
        "178\t2.62\tray::Policy.train",
        " suggestions: Refer to the documentation on how to address the out of memory issue: https://docs.ray.io/",
    ]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(bytes(&found[0].0, FigureName::NodeThreshold), Some(Bytes(5_560_832_000)));
    assert_eq!(found[1].1.victims.iter().map(|victim| victim.pid).collect::<Vec<_>>(), [Some(178)]);
    assert_eq!(
        (found[1].1.consumers.len(), bytes(&found[1].0, FigureName::WorkerUsed)),
        (1, Bytes::of(2.62, Bytes::GIB))
    );
}

#[test]
fn a_message_that_a_log_quotes_is_read() {
    let found = shortages(&[
        r#"error_message: "1 worker(s) were killed due to the node running low on memory. Memory on the node (IP: 10.0.0.2, ID: f3e8) was 5.19GB used / 23.54GB limit (0.220630)\nOOM kill reason: Memory usage 5576757248B exceeded threshold of 5560832000B (22.0% of 25276510208B limit)\nTop 10 memory users: PID\tMEM(GB)\tCOMMAND\n178\t2.62\tray::Policy.train\n12\t0.07\tpython3 train.py\nRefer to""#,
    ]);
    let [(event, shortage)] = &found[..] else { unreachable!("{found:?}") };
    assert_eq!(bytes(event, FigureName::NodeThreshold), Some(Bytes(5_560_832_000)));
    let roles: Vec<_> = shortage.consumers.iter().filter_map(|consumer| consumer.role.as_deref()).collect();
    assert_eq!(roles, ["ray::Policy.train", "python3 train.py"]);
}

#[test]
fn units_are_those_of_the_version() {
    let line = |unit| {
        format!(
            "ray.memory_monitor.RayOutOfMemoryError: More than 95% of the memory on node a is used (30.2 / 31.4 GB). The top 5 memory consumers are:\n\nPID\tMEM\tCOMMAND\n3144\t21.7{unit}\tray::A.f"
        )
    };
    let total = |unit| bytes(&shortages(&[&line(unit)])[0].0, FigureName::NodeTotal);
    assert_eq!(total("GB"), Some(Bytes(31_400_000_000)));
    assert_eq!(total("GiB"), Bytes::of(31.4, Bytes::GIB));
}

#[test]
fn a_mention_is_no_event() {
    for line in [
        "      << \"Task was killed due to the node running low on memory.\\n\"",
        "    \"%d worker(s) were killed due to the node running low on memory. %s, %s\",",
        "      << \"Memory on the node (IP: \" << node_ip << \", ID: \" << node_id.Hex()",
        "      \"Refer to the documentation on how to address the out of memory issue: \"",
        "RayOutOfMemoryError: More than 95% of the memory is used",
        "If you see RayOutOfMemoryError, lower the batch size",
        "  rpc::WorkerExitType::NODE_OUT_OF_MEMORY,",
        "task 80e2 retries left: 0, oom retries left: 0, task failed due to oom: 0",
        "Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits. (1) The process is killed by SIGKILL by OOM killer due to high memory usage.",
        "95412   14.05   ray::LLMRayActor",
        "sbatch: error: the job is OUT_OF_MEMORY",
    ] {
        assert!(shortages(&[line]).is_empty(), "{line}");
    }
}

#[test]
fn reads_a_sentence_from_which_addresses_were_left_out() {
    let figures = |text: &str| -> Vec<String> {
        testing::read(text.as_bytes())
            .iter()
            .flat_map(|event| &event.figures)
            .map(|figure| figure.text.clone())
            .collect()
    };
    let alone = "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n\
        Memory on the node was 418.96GB / 440.83GB (0.950398), which exceeds the memory usage threshold of 0.95.";
    assert_eq!(figures(alone), ["418.96GB", "440.83GB", "0.950398", "threshold of 0.95"]);
    let elided = "Memory on the node (IP: 10.0.0.1, ...) where the lease (name=Engine.__init__, pid=3719, memory used=0.68GB)\n\
        was running was 126.63GB / 128.00GB (0.989315), which exceeds the memory usage threshold of 0.95.";
    assert!(figures(elided).iter().any(|figure| figure.ends_with("126.63GB")), "{:?}", figures(elided));
}
