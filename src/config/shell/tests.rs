use super::super::testing::{cited, set, settings};
use super::super::{Document, Entry, EntryKind, Format, Value};

const SCRIPT: &str = r#"#!/bin/bash
#SBATCH --job-name=ppo
#SBATCH --mem=64G          # of the node
set -x

TBS=128
LR=5e-7
MICRO=${MICRO:-4}
MODEL="org/model-8b"   # a comment with TBS
export NCCL_DEBUG=WARN
export PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:128,garbage_collection_threshold:0.8"

ray job submit --address="http://127.0.0.1:8265" \
   --runtime-env-json='{"working_dir": "/work", "env_vars": {"A": "1"}}' \
   -- python3 -m app.train_ppo_ray \
   --actor_num_nodes 1 \
   --pretrain ${MODEL} \
   --train_batch_size ${TBS} \
   --micro_train_batch_size $MICRO \
   --actor_learning_rate $LR --critic_learning_rate $LR \
   --zero_stage=3 \
   --save_path ./ckpt/$SLURM_JOB_ID \
   --target_modules q_proj k_proj \
   --bf16 \
   --prompt 'say "hi"' \
   --gradient_checkpointing
"#;

/// `SCRIPT` with one piece replaced.
fn with(old: &str, new: &str) -> String {
    assert_eq!(SCRIPT.matches(old).count(), 1, "{old}");
    SCRIPT.replace(old, new)
}

#[test]
fn reads_a_launch_script() {
    assert_eq!(
        settings(SCRIPT),
        [
            "job-name=ppo",
            "mem=64G",
            "TBS=128",
            "LR=5e-7",
            "MICRO=4",
            "MODEL=org/model-8b",
            "NCCL_DEBUG=WARN",
            "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128,garbage_collection_threshold:0.8",
            "PYTORCH_CUDA_ALLOC_CONF.max_split_size_mb=128",
            "PYTORCH_CUDA_ALLOC_CONF.garbage_collection_threshold=0.8",
            "address=http://127.0.0.1:8265",
            r#"runtime-env-json={"working_dir": "/work", "env_vars": {"A": "1"}}"#,
            "runtime-env-json.working_dir=/work",
            "runtime-env-json.env_vars.A=1",
            "actor_num_nodes=1",
            "pretrain=org/model-8b",
            "train_batch_size=128",
            "micro_train_batch_size=4",
            "actor_learning_rate=5e-7",
            "critic_learning_rate=5e-7",
            "zero_stage=3",
            "save_path=./ckpt/$SLURM_JOB_ID",
            "target_modules[0]=q_proj",
            "target_modules[1]=k_proj",
            "bf16=true",
            "prompt=say \"hi\"",
            "gradient_checkpointing=true",
        ]
    );
    assert_eq!(cited(SCRIPT, "train_batch_size"), "18:23 ${TBS}");
    assert_eq!(cited(SCRIPT, "--zero-stage"), "21:17 3");
    assert_eq!(cited(SCRIPT, "bf16"), "24:4 --bf16");
    let document = Document::read("run.sh", SCRIPT);
    let entry = document.as_ref().ok().and_then(|document| document.get("train_batch_size"));
    let defined = entry.and_then(|entry| entry.defined.as_ref());
    assert_eq!(defined.map(|at| (at.location.line.0, at.text.as_str())), Some((6, "128")));
    let commands = document.as_ref().map(Document::commands).unwrap_or_default();
    let named: Vec<_> = commands.iter().map(|command| (command.program.as_str(), command.target.as_deref())).collect();
    assert_eq!(named, [("ray", Some("job submit")), ("python3", Some("app.train_ppo_ray"))]);
    assert_eq!(entry.and_then(|entry| entry.command), Some(1));
}

#[test]
fn reads_quotes_comments_and_continuations() {
    for (text, expected) in [
        ("x --a 'b c' --d \"e $F\" --g=\"h\"'i' # --j 1\n", &["a=b c", "d=e $F", "g=hi"][..]),
        ("x --a 1 \\\n  --b 2 \\  \n  --c 3 \\\r\n --d 4\\\n --e 5", &["a=1", "b=2", "c=3", "d=4", "e=5"]),
        ("x --a -1 --b -1e-5 --c -.5 --d - --e", &["a=-1", "b=-1e-5", "c=-0.5", "d=-", "e=true"]),
        ("x --a \\$B --c a\\ b --d \"\\\"\" --e ''", &["a=$B", "c=a b", "d=\"", "e="]),
        ("a() {\n  x --a 1\n}\nif [ -n \"$1\" ]; then x --b 2; else x --c 3; fi", &["a=1", "b=2", "c=3"]),
        ("x --a 1 2>&1 | tee log; y --b 2 > out --c 3 &\nz --d 4 && w --e 5", &["a=1", "b=2", "c=3", "d=4", "e=5"]),
        ("x --a $(echo --b 1) --c `date` --d $((1 << 2))", &["a=$(echo --b 1)", "c=`date`", "d=$((1 << 2))"]),
        ("$ x --a 1", &["a=1"]),
        ("--a 1 \\\n--b\n", &["a=1", "b=true"]),
        ("case $1 in\n  a) x --a 1 ;;\n  -b|--b) x --b 2 ;;\nesac\nx --c 3", &["a=1", "b=2", "c=3"]),
        ("case $1 in -a|b) x --a 1 ;; *) y --b 2; esac; x --c 3", &["a=1", "b=2", "c=3"]),
        ("if [[ -z $A || ( -n $B && 1 < 2 ) ]]; then x --a 1; fi", &["a=1"]),
        ("for ((i = 0; i < 3; i++)); do x --a 1; done", &["a=1"]),
        ("cat <<EOF\nx --a 1\nEOF\nx --b 2", &["b=2"]),
        ("x --a 'never ends\n --b 2", &["a=never ends\n --b 2"]),
        ("A=1 B=2 x --c 3", &["A=1", "B=2", "c=3"]),
        ("docker run -m 64g --shm-size=8g --gpus all org/x:1 --a 1", &["m=64g", "shm-size=8g", "gpus=all", "a=1"]),
    ] {
        let found: Vec<String> = Document::read_as(Format::Shell, "x", text)
            .map(|document| document.entries().iter().map(|entry| format!("{}={}", entry.key, entry.value)).collect())
            .unwrap_or_default();
        assert_eq!(found, expected, "{text}");
    }
}

/// Cutting a text loses only what was cut off, and each word's place is that of its first letter.
#[test]
fn what_is_cut_is_read_up_to_there() {
    for cut in ["--b 'c", "--b \"c", "--b $(date", "--b ${C", "--b `date", "--b $((1 +", "\\", "\ncat <<EOF\nb"] {
        let found = settings(&format!("x --a 1 {cut}"));
        assert_eq!(found.first().map(String::as_str), Some("a=1"), "{cut}");
    }
    assert_eq!(set("x --aa 1 \\", "bb", 2.0), "x --aa 1 --bb 2 \\");
    assert_eq!(cited("python x.py \\\n  --bf16 \\\r\n    a.b=1", "bf16"), "2:3 --bf16");
    assert_eq!(set("python x.py \\\n  --bf16 \\\r\n    a.b=1", "a.b", 2.0), "python x.py \\\n  --bf16 \\\r\n    a.b=2");
}

/// Only variables with a certain value are resolved.
#[test]
fn variables_are_what_the_script_makes_them() {
    for (text, expected) in [
        ("A=1\nA=2\nx --a $A\nA=3", "a=2"),
        ("A=${B:-4}\nx --a \"${A}\"", "a=4"),
        (": ${A:=7}\nx --a $A", "a=7"),
        ("A=1; B=$A$A; x --a ${B}0", "a=110"),
        ("if [ -z \"$A\" ]; then A=1; fi\nx --a $A", "a=1"),
        ("A=0\nif true; then A=1; fi\nx --a $A", "a=$A"),
        ("if x; then A=1; x --a $A; fi", "a=1"),
        ("[ -z \"$A\" ] && A=1\nx --a $A", "a=1"),
        ("cd y && A=1 && x --a $A", "a=1"),
        ("for A in 1 2; do x --a $A; done", "a=$A"),
        ("A=1 x --a $A", "a=$A"),
        ("A=$1\nx --a $A", "a=$1"),
        ("export A=1\nunset A\nx --a $A", "a=$A"),
        ("A=\"1\"\nA+=0\nx --a $A", "a=10"),
        ("x --a ${A%b}", "a=${A%b}"),
    ] {
        let all = settings(text);
        let found = all.iter().rev().find(|found| found.starts_with("a="));
        assert_eq!(found.map(String::as_str), Some(expected), "{text}");
    }
}

/// Flags in strings, arrays and here documents: they are read, and edited where they stand.
#[test]
fn flags_are_found_where_they_are_kept() {
    let string = "LR=1e-5\nARGS=\"--lr $LR \\\n  --stage 2\"\nARGS+=\" --bf16\"\ntorchrun --nproc_per_node 8 train.py $ARGS --x 1\n";
    let lines = ["LR=1e-5", "nproc_per_node=8", "lr=1e-5", "stage=2", "bf16=true", "x=1"];
    assert_eq!(settings(string)[..1], lines[..1]);
    assert_eq!(settings(string)[2..], lines[1..]);
    assert_eq!(cited(string, "stage"), "3:11 2");
    assert_eq!(set(string, "stage", 3.0), string.replace("--stage 2", "--stage 3"));
    assert_eq!(set(string, "lr", 2e-5), string.replace("LR=1e-5", "LR=2e-5"));
    assert_eq!(set(string, "stage", "a b"), "error: `stage` cannot be set to `a b` here");

    let array = "ARGS=(\n    --lr 1e-5   # low\n    --stage 2   # or 3\n)\npython train.py \"${ARGS[@]}\"\n";
    assert_eq!(settings(array), ["lr=1e-5", "stage=2"]);
    assert_eq!(set(array, "stage", 3.0), array.replace("stage 2", "stage 3"));
    assert_eq!(set(array, "out", "a b"), array.replace("# or 3", "# or 3\n    --out 'a b'"));

    let list = "data=(a b)\npython train.py --data ${data[@]} --x 1\n";
    assert_eq!(settings(list), ["data[0]=a", "data[1]=b", "x=1"]);
    assert_eq!(set(list, "data[1]", "c"), list.replace("a b", "a c"));

    let heredoc = "read -r -d '' command <<EOF\napp.train_sft \\\n   --max_len 2048 \\\n   --zero_stage 2\nEOF\nif [[ ${1} != \"slurm\" ]]; then\n    deepspeed --module $command\nfi\n";
    assert_eq!(settings(heredoc), ["max_len=2048", "zero_stage=2"]);
    assert_eq!(cited(heredoc, "zero_stage"), "4:17 2");
    assert_eq!(set(heredoc, "zero_stage", 3.0), heredoc.replace("stage 2", "stage 3"));
    assert_eq!(set(heredoc, "bf16", true), heredoc.replace("stage 2", "stage 2 \\\n   --bf16"));

    let command = "CMD=\"python train.py --lr 1e-5 2>&1 | tee x\"\neval $CMD\n";
    assert_eq!(settings(command)[1..], ["lr=1e-5"]);

    let command = "CMD=\"cd /x; python train.py --lr 1e-5\"\nsrun -l sh -c \"${CMD}\"\n";
    assert_eq!(settings(command)[1..], ["l=true", "lr=1e-5"]);

    let bare = "A=--bf16\npython train.py $A\n";
    assert_eq!(set(bare, "stage", 3.0), bare.replace("$A", "$A --stage 3"));

    let spread = "A=\"--bf16\"\npython train.py $A $EXTRA_ARGS --fp16 \"$@\" --x ${B[@]} --y $C";
    assert_eq!(settings(spread)[1..], ["bf16=true", "fp16=true", "x=true", "y=$C"]);

    let nested =
        "N=8\nsrun -N 2 bash -c \"cd /x && torchrun --nproc_per_node $N train.py \\\n  --out \\\"a b\\\" --bf16\"\n";
    assert_eq!(settings(nested), ["N=8", "N=2", "nproc_per_node=8", "out=a b", "bf16=true"]);
    assert_eq!(set(nested, "zero_stage", 3.0), nested.replace("--bf16", "--bf16 --zero_stage 3"));
    assert_eq!(set(nested, "nproc_per_node", 4.0), nested.replace("N=8", "N=4"));
}

/// Files that a script writes are configurations of their own.
#[test]
fn here_documents_are_configurations() {
    let text = "STAGE=3\ncat > ds.json <<EOT\n{\n  \"train_batch_size\": $BATCH,\n  \"zero_optimization\": {\"stage\": $STAGE}\n}\nEOT\ncat <<'EOF' > acc.yaml\na:\n  b: 1\nEOF\npython x.py --deepspeed ds.json\n";
    assert_eq!(
        settings(text),
        [
            "STAGE=3",
            "ds.json:train_batch_size=$BATCH",
            "ds.json:zero_optimization.stage=3",
            "acc.yaml:a.b=1",
            "deepspeed=ds.json",
        ]
    );
    assert_eq!(cited(text, "ds.json:zero_optimization.stage"), "5:34 $STAGE");
    assert_eq!(set(text, "ds.json:zero_optimization.stage", 2.0), text.replace("$STAGE", "2"));
    assert_eq!(
        set(text, "ds.json:bf16.enabled", true),
        text.replace("STAGE}\n", "STAGE},\n  \"bf16\": {\n    \"enabled\": true\n  }\n")
    );
    assert_eq!(set(text, "acc.yaml:a.c", 2.0), text.replace("b: 1\n", "b: 1\n  c: 2\n"));
    assert_eq!(set(SCRIPT, "runtime-env-json.env_vars.B", "2"), with("\"A\": \"1\"}", "\"A\": \"1\", \"B\": \"2\"}"));
    assert_eq!(
        set(SCRIPT, "runtime-env-json.env_vars.A", "it's"),
        "error: `runtime-env-json.env_vars.A` cannot be set to `it's` here"
    );
}

#[test]
fn replaces_a_value_where_it_is_given() {
    assert_eq!(set(SCRIPT, "zero_stage", 2.0), with("stage=3", "stage=2"));
    assert_eq!(set(SCRIPT, "actor_num_nodes", 2.0), with("nodes 1", "nodes 2"));
    // The change goes to the variable's assignment, if nothing else uses the variable.
    assert_eq!(set(SCRIPT, "train_batch_size", 256.0), with("TBS=128", "TBS=256"));
    assert_eq!(set(SCRIPT, "pretrain", "org/other"), with("\"org/model-8b\"", "\"org/other\""));
    assert_eq!(set(SCRIPT, "actor_learning_rate", 1e-6), with("actor_learning_rate $LR", "actor_learning_rate 1e-6"));
    assert_eq!(set(SCRIPT, "micro_train_batch_size", 1.0), with("${MICRO:-4}", "${MICRO:-1}"));
    assert_eq!(set(SCRIPT, "save_path", "/data"), with("./ckpt/$SLURM_JOB_ID", "/data"));
    assert_eq!(set(SCRIPT, "target_modules[1]", "v"), with("k_proj", "v"));
    assert_eq!(set(SCRIPT, "target_modules[2]", "v"), with("k_proj", "k_proj v"));
    assert_eq!(set(SCRIPT, "prompt", "it's"), "error: `prompt` cannot be set to `it's` here");
    assert_eq!(set(SCRIPT, "LR", 1e-6), with("LR=5e-7", "LR=1e-6"));
    assert_eq!(set(SCRIPT, "NCCL_DEBUG", "INFO"), with("WARN", "INFO"));
    assert_eq!(set(SCRIPT, "mem", "128G"), with("64G", "128G"));
    assert_eq!(set(SCRIPT, "bf16", true), SCRIPT);
    assert_eq!(set(SCRIPT, "bf16", false), with("   --bf16 \\\n", ""));
    assert_eq!(set("x --a=\"$B\"c\n", "a", "d e"), "x --a='d e'\n");
    assert_eq!(set("x --a \"$B c\"\n", "a", 1.0), "x --a 1\n");
    assert_eq!(set("x --a True\n", "a", false), "x --a False\n");
    assert_eq!(set("python x.py +a.b=true c=1\n", "a.b", false), "python x.py +a.b=false c=1\n");
}

#[test]
fn a_new_flag_goes_behind_the_last_one() {
    assert_eq!(set(SCRIPT, "--adam_offload", true), with("_checkpointing\n", "_checkpointing \\\n   --adam_offload\n"));
    assert_eq!(set(SCRIPT, "max_len", 4096.0), with("_checkpointing\n", "_checkpointing \\\n   --max_len 4096\n"));
    assert_eq!(set("x --a 1 --b 2", "c", "d e"), "x --a 1 --b 2 -c 'd e'");
    assert_eq!(set("python x.py", "cc", 1.0), "python x.py --cc 1");
    assert_eq!(set("x --bf16 True", "cc", true), "x --bf16 True --cc True");
    assert_eq!(
        set("python x.py \\\r\n    a.b=1 \\\r\n    c.d=True \\\r\n", "e.f", false),
        "python x.py \\\r\n    a.b=1 \\\r\n    c.d=True \\\r\n    e.f=False \\\r\n"
    );
    assert_eq!(set("python x.py --a 1 b.c=1 d=2", "e.f", 1.0), "python x.py --a 1 b.c=1 d=2 e.f=1");
    assert_eq!(set("python x.py --a 1 b.c=1 d=2", "--e", 1.0), "python x.py --a 1 -e 1 b.c=1 d=2");
    assert_eq!(set("x --a='b'\\\n  c.d=1", "--ee", 1.0), "x --a='b' --ee=1\\\n  c.d=1");
    assert_eq!(set("swift sft x.yaml\n", "bf", 1.0), "swift sft x.yaml --bf 1\n");
    assert_eq!(set("x --a=1 data \"$@\"", "bb", 1.0), "x --a=1 data --bb=1 \"$@\"");
    assert_eq!(set("x --a 1 \"${@:2}\"", "bb", 1.0), "x --a 1 --bb 1 \"${@:2}\"");
    assert_eq!(set("A=1\n", "--b", 1.0), "error: no command that could take `--b`");
}

#[test]
fn a_new_variable_goes_before_the_command() {
    assert_eq!(
        set(SCRIPT, "RAY_memory_usage_threshold", 0.9),
        with("threshold:0.8\"\n", "threshold:0.8\"\nexport RAY_memory_usage_threshold=0.9\n")
    );
    assert_eq!(set("  python x.py --a 1\n", "NCCL_DEBUG", "INFO"), "  export NCCL_DEBUG=INFO\n  python x.py --a 1\n");
    assert_eq!(set("A=1 \\\nB=2 \\\npython x.py", "NCCL_DEBUG", 1.0), "A=1 \\\nB=2 \\\nNCCL_DEBUG=1 \\\npython x.py");
    assert_eq!(set("cd x && \\\npython x.py\n", "NCCL_DEBUG", 1.0), "cd x && \\\nNCCL_DEBUG=1 python x.py\n");
    assert_eq!(
        set("srun bash -c 'python x.py --a 1'", "OMP_NUM_THREADS", 1.0),
        "srun bash -c 'OMP_NUM_THREADS=1 python x.py --a 1'"
    );
    assert_eq!(set("A=1", "NCCL_DEBUG", "a b"), "A=1\nexport NCCL_DEBUG='a b'");
    let set_env = |text: &str| {
        let document = Document::read("x", text).map_err(|error| error.to_string());
        let set = |document: Document| {
            document.set_as(EntryKind::Env, None, "lower", &1.0.into()).map_err(|error| error.to_string())
        };
        document.and_then(set)
    };
    assert_eq!(set_env("x --lower 2"), Ok("export lower=1\nx --lower 2".to_owned()));
}

#[test]
fn options_of_the_allocator_are_settings() {
    let key = |option| format!("PYTORCH_CUDA_ALLOC_CONF.{option}");
    assert_eq!(set(SCRIPT, &key("max_split_size_mb"), 64.0), with("mb:128", "mb:64"));
    assert_eq!(set(SCRIPT, &key("expandable_segments"), true), with(":0.8\"", ":0.8,expandable_segments:True\""));
    assert_eq!(
        set("python x.py\n", &key("expandable_segments"), true),
        "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\npython x.py\n"
    );
}

#[test]
fn options_of_theano_are_settings() {
    let script = "THEANO_FLAGS='device=gpu,lib.cnmem=0.95' python x.py\n";
    assert_eq!(set(script, "THEANO_FLAGS.lib.cnmem", 0.5), "THEANO_FLAGS='device=gpu,lib.cnmem=0.5' python x.py\n");
    let without = "THEANO_FLAGS='device=gpu' python x.py\n";
    assert_eq!(set(without, "THEANO_FLAGS.lib.cnmem", 0.5), "THEANO_FLAGS='device=gpu,lib.cnmem=0.5' python x.py\n");
}

#[test]
fn directives_are_settings() {
    let directive = |text: &str, key: &str, value: &str| {
        let document = Document::read("x", text).map_err(|error| error.to_string());
        let set = |document: Document| {
            document.set_as(EntryKind::Directive, None, key, &value.into()).map_err(|error| error.to_string())
        };
        document.and_then(set).unwrap_or_else(|error| format!("error: {error}"))
    };
    assert_eq!(
        directive(SCRIPT, "mem-per-cpu", "4G"),
        with("# of the node\n", "# of the node\n#SBATCH --mem-per-cpu=4G\n")
    );
    assert_eq!(directive("#!/bin/sh\nx --a 1\n", "mem", "4G"), "#!/bin/sh\n#SBATCH --mem=4G\nx --a 1\n");
    assert_eq!(directive("#SBATCH -N 2 -c4\n", "c", "8"), "#SBATCH -N 2 -c8\n");
}

#[test]
fn every_scheduler_has_directives_of_its_own() {
    let script = "#!/bin/bash\n#PBS -N train\n#PBS -l select=1:ncpus=8:mem=64gb,walltime=1:00\npython x.py --a 1\n";
    assert_eq!(flags(script), ["N=train", "l select=1", "l ncpus=8", "l mem=64gb", "l walltime=1", "a=1"]);
    let directive = |text: &str, key: &str, value: &str| {
        let document = Document::read("x", text).ok()?;
        document.set_as(EntryKind::Directive, None, key, &value.into()).ok()
    };
    assert_eq!(directive(script, "-l mem", "80gb"), Some(script.replace("64gb", "80gb")));
    let joined = script.replace("-l select", "-lselect");
    assert_eq!(directive(&joined, "-l mem", "80gb"), Some(joined.replace("64gb", "80gb")));
    let chunks = "#!/bin/bash\n#PBS -l select=1:ncpus=8\nx --a 1\n";
    assert_eq!(directive(chunks, "-l mem", "80gb"), None, "chunks and resources of the whole job exclude each other");
    let whole = "#!/bin/bash\n#PBS -l walltime=1\nx --a 1\n";
    let added = whole.replace("walltime=1\n", "walltime=1\n#PBS -l mem=80gb\n");
    assert_eq!(directive(whole, "-l mem", "80gb"), Some(added));
    let lsf = "#!/bin/bash\n#BSUB -n 8\n#BSUB -M 4096\nx --a 1\n";
    assert_eq!(directive(lsf, "M", "5120"), Some(lsf.replace("4096", "5120")));
    assert_eq!(flags("#$ -l h_vmem=4G -pe smp 8\nx --a 1\n"), ["l h_vmem=4G", "pe[0]=smp", "pe[1]=8", "a=1"]);
    let mark = |text: &str| Some(Document::read("x", text).ok()?.scheduler()?.mark.clone());
    assert_eq!(mark(lsf).as_deref(), Some("#BSUB"));
    assert_eq!(mark("#$x\nx --a 1\n"), None);
}

#[test]
fn a_command_line_in_quotes_is_run_elsewhere() {
    let script = "pdsh -w n[0-3] \"torchrun --nnodes 4 \\\n  train.py --batch 4 --bf16 True\"\n";
    assert_eq!(flags(script), ["w=n[0-3]", "nnodes=4", "batch=4", "bf16=true"]);
    assert_eq!(set(script, "batch", 2.0), script.replace("batch 4", "batch 2"));
    let submitted = "xpk workload create --command=\"cd /w && A=1 python3 train.py base.yml size=4\" --type v5p\n";
    assert_eq!(flags(submitted), ["type=v5p", "size=4"]);
    assert_eq!(set(submitted, "size", 2.0), submitted.replace("size=4", "size=2"));
    // A sentence is none.
    assert_eq!(flags("python x.py --prompt \"python is a language\"\n"), ["prompt=python is a language"]);
    assert_eq!(flags("echo \"python x.py --a 1\"\n"), [""; 0]);
    // Nor is a message, or a pattern.
    assert!(flags("notify --text \"torchrun x.py --a 16\"\ntorchrun x.py --a 4\n").contains(&"a=4".to_owned()));
    assert!(!flags("notify --text \"torchrun x.py --a 16\"\n").contains(&"a=16".to_owned()));
}

/// `key=value` of every flag, override and directive of a script.
fn flags(script: &str) -> Vec<String> {
    let Ok(document) = Document::read("run.sh", script) else { return Vec::new() };
    let is_given = |entry: &&Entry| !matches!(entry.kind, EntryKind::Variable | EntryKind::Env);
    document.entries().iter().filter(is_given).map(|entry| format!("{}={}", entry.key, entry.value)).collect()
}

#[test]
fn computes_whole_numbers() {
    let script = "prompt=1024\nanswer=$((1024 * 2))\nlongest=$(((prompt + answer) * 2))\n\
                  python3 train.py --max_len $longest --nodes $(( ${NODES:-4} - 1 )) --port $((RANDOM % 9))\n";
    assert_eq!(flags(script), ["max_len=6144", "nodes=3", "port=$((RANDOM % 9))"]);
}

#[test]
fn runs_without_arguments_and_takes_the_defaults_of_its_tests() {
    let script = "OUT=$1\nSTAGE=$2\nSIZE=7b\nif [ \"$OUT\" == \"\" ]; then\n  OUT=./output\nfi\n\
                  if [ -z \"$STAGE\" ]; then STAGE=3; else STAGE=1; fi\n\
                  if [ \"$SIZE\" = 13b ]; then BATCH=1; elif [ $SIZE = 7b ]; then BATCH=4; else BATCH=8; fi\n\
                  if [[ $RANK == 0 ]]; then LOG=1; else LOG=2; fi\n\
                  [ -n \"$STAGE\" ] || STAGE=0\n[ $BATCH -gt 2 ] && WORKERS=2\n[ $BATCH -gt 8 ] && WORKERS=9\n\
                  deepspeed main.py --out $OUT --stage $STAGE --batch $BATCH --log $LOG --workers $WORKERS\n";
    assert_eq!(flags(script), ["out=./output", "stage=3", "batch=4", "log=$LOG", "workers=2"]);
}

#[test]
fn a_branch_that_is_not_taken_starts_nothing() {
    let script = "MODE=one\nif [ $MODE = all ]; then\n  torchrun --nnodes 4 a.py --x 1\nelse\n  torchrun --nnodes 1 a.py --x 2\nfi\n";
    assert_eq!(flags(script), ["nnodes=1", "x=2"]);
    let open = "if [ $(hostname) = a ]; then\n  torchrun --nnodes 4 a.py\nelse\n  torchrun --nnodes 1 a.py\nfi\n";
    assert_eq!(flags(open), ["nnodes=4", "nnodes=1"]);
}

#[test]
fn arrays_that_no_command_takes_are_for_whoever_sources_them() -> Result<(), Box<dyn std::error::Error>> {
    let text = "N=36\nMODEL=(\n  --layers $N\n  --hidden 4096 # wide\n  --gated\n)\nNAMES=(a b)\nMORE=(--experts 8)\n";
    let document = Document::read("models/mine.sh", text)?;
    let flags = document.entries().iter().filter(|entry| entry.kind == EntryKind::Flag);
    let shown: Vec<String> = flags.map(|entry| format!("{}={}", entry.key, entry.value)).collect();
    assert_eq!(shown, ["layers=36", "hidden=4096", "gated=true", "experts=8"]);
    assert_eq!(document.set("hidden", &5120.0.into())?, text.replace("4096", "5120"));
    let used = Document::read("run.sh", &format!("{text}python train.py --lr 1\n"))?;
    assert!(used.get("hidden").is_none());
    Ok(())
}

#[test]
fn an_array_without_quotes_is_split_at_blanks() -> Result<(), Box<dyn std::error::Error>> {
    let text = "A=(\"--size 8\" --name x)\npython train.py ${A[@]} --lr 1\n";
    let document = Document::read("run.sh", text)?;
    let of = |key: &str| document.get(key).map(|entry| entry.value.to_string());
    assert_eq!([of("size"), of("name"), of("lr")], [Some("8".into()), Some("x".into()), Some("1".into())]);
    assert_eq!(document.set("size", &4.0.into())?, text.replace("size 8", "size 4"));
    let quoted = Document::read("run.sh", &text.replace("${A[@]}", "\"${A[@]}\""))?;
    assert!(quoted.get("size").is_none());
    Ok(())
}

#[test]
fn a_case_is_decided_by_what_it_asks() -> Result<(), Box<dyn std::error::Error>> {
    let text = "SIZE=\"7B\" # or 13B\ncase \"$SIZE\" in\n  \"7B\"|small)\n    TP=1\n    ;;\n  13B)\n    TP=2 ;;\n  *)\n    exit 1\n    ;;\n\
                esac\npython train.py --tp $TP\n";
    let of = |text: &str| -> Result<Option<String>, Box<dyn std::error::Error>> {
        Ok(Document::read("run.sh", text)?.get("tp").map(|entry| entry.value.to_string()))
    };
    assert_eq!(of(text)?.as_deref(), Some("1"));
    assert_eq!(of(&text.replace("=\"7B\"", "=13B"))?.as_deref(), Some("2"));
    assert_eq!(of(&text.replace("=\"7B\"", "=$(size)"))?.as_deref(), Some("$TP"));
    assert_eq!(of(&text.replace("small)", "s*)").replace("=\"7B\"", "=s1"))?.as_deref(), Some("$TP"));
    Ok(())
}

#[test]
fn tests_are_joined() -> Result<(), Box<dyn std::error::Error>> {
    let of = |condition: &str| -> Result<Option<String>, Box<dyn std::error::Error>> {
        let text = format!("A=x\nB=\nif {condition}; then\n  N=1\nelse\n  N=2\nfi\npython train.py --n $N\n");
        Ok(Document::read("run.sh", &text)?.get("n").map(|entry| entry.value.to_string()))
    };
    assert_eq!(of("[[ $A == y ]] || [[ $A == x ]] || [[ -z $(f) ]]")?.as_deref(), Some("1"));
    assert_eq!(of("[ \"$A\" = y ] || [ -n \"$B\" ]")?.as_deref(), Some("2"));
    assert_eq!(of("[[ $A == x ]] && [[ -z $B ]]")?.as_deref(), Some("1"));
    assert_eq!(of("[[ $A == x ]] && [[ -n $B ]]")?.as_deref(), Some("2"));
    assert_eq!(of("[[ $A == x ]] && [[ -n $(f) ]]")?.as_deref(), Some("$N"));
    Ok(())
}

#[test]
fn a_pair_of_name_and_value_goes_behind_its_own_option() -> Result<(), Box<dyn std::error::Error>> {
    let script = "spark-submit --master yarn \\\n  --conf spark.sql.shuffle.partitions=200 \\\n  --py-files deps.zip job.py s3://a/b\n";
    let document = Document::read("submit.sh", script)?;
    let command = document.commands().iter().position(|command| command.program == "spark-submit");
    let set = |document: &Document| {
        document.set_as(EntryKind::Override, command, "spark.executor.memoryOverhead", &Value::Text("4g".into()))
    };
    let pair = "--conf spark.executor.memoryOverhead=4g";
    assert_eq!(set(&document)?, script.replace("=200 \\\n", &format!("=200 \\\n  {pair} \\\n")));
    // Without another pair, before what the program starts.
    let script = "spark-submit --master yarn job.py s3://a/b\n";
    assert_eq!(set(&Document::read("submit.sh", script)?)?, script.replace("--master", &format!("{pair} --master")));
    Ok(())
}
