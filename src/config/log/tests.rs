use proptest::prelude::*;

use super::*;

/// The name of each configuration in a log, and its settings with the line and column of each.
fn read(text: &str) -> Vec<String> {
    let show = |document: &Document| {
        let command: Vec<&str> = document
            .commands()
            .iter()
            .flat_map(|command| [Some(command.program.as_str()), command.target.as_deref()])
            .flatten()
            .collect();
        let settings: Vec<String> = document
            .entries()
            .iter()
            .map(|entry| {
                format!("{}={}@{}:{}", entry.key, entry.value, entry.at.location.line, entry.at.location.column.0)
            })
            .collect();
        format!("{}{}{}", command.join(" "), if command.is_empty() { "" } else { " " }, settings.join(" "))
    };
    from_log("job.log", LineNumber(10), text.as_bytes()).iter().map(show).collect()
}

#[test]
fn commands_that_were_repeated() {
    assert_eq!(
        read("+ export A=1\n++ date\n+ python3 -m app.train --lr 1e-5 'say=a b'\n+ uv==1.0\n+ '[' -n x ']'\n"),
        ["A=1@10:12", "python3 app.train lr=1e-5@12:29 say=a b@12:39"]
    );
    assert_eq!(
        read(
            "[2026-03-01 10:00:00,000] [INFO] [runner.py:605:main] cmd = /opt/bin/python3 -u -m deepspeed.launcher.launch --master_port=29500 train.py --zero_stage 3\n"
        ),
        ["python3 deepspeed.launcher.launch python3 train.py master_port=29500@10:124 zero_stage=3@10:152"]
    );
    assert_eq!(
        read(
            "[2026-03-01 10:00:00,000] [INFO] [launch.py:256:main] process 812 spawned with command: ['/opt/bin/python3', '-u', 'train.py', '--local_rank=0', '--names', 'a', 'b', '--bf16']\n"
        ),
        ["python3 train.py local_rank=0@10:128 names[0]=a@10:157 names[1]=b@10:162 bf16=true@10:167"]
    );
    assert_eq!(
        read(
            "[2026-03-01 10:00:00,000] [ERROR] [launch.py:321:sigkill_handler] ['/opt/bin/python3', 'train.py', '--seq', '32'] exits with return code = -9\n"
        ),
        ["python3 train.py seq=32@10:109"]
    );
    assert_eq!(
        read("Running entrypoint for job raysubmit_Ab1: python3 -m app.train trainer.nnodes=2\n"),
        ["python3 app.train trainer.nnodes=2@10:79"]
    );
}

#[test]
fn arguments_that_were_printed() {
    assert_eq!(
        read("(ActorModel pid=812) Namespace(lr=1e-05, modules=['q', 'k'], path='a=b', load=None)\n"),
        ["lr=1e-5@10:35 modules[0]=q@10:51 modules[1]=k@10:56 path=a=b@10:67 load=null@10:79"]
    );
    assert_eq!(
        read("[2026-03-01 10:00:00] server_args=ServerArgs(model_path='org/m', mem_fraction_static=0.87, tp_size=8)\n"),
        ["model_path=org/m@10:57 mem_fraction_static=0.87@10:86 tp_size=8@10:100"]
    );
    let transformers = "INFO:root:Training/evaluation parameters TrainingArguments(\nbf16=True,\nworking\ndeepspeed=None,\nfsdp_config={'min_num_params': 0},\noptim=adamw_torch,\noutput_dir=/data/a b,\nhub_token=<HUB_TOKEN>,\n)\nlr=3,\n";
    assert_eq!(
        read(transformers),
        [
            "bf16=true@11:6 deepspeed=null@13:11 fsdp_config.min_num_params=0@14:32 optim=adamw_torch@15:7 output_dir=/data/a b@16:12 hub_token=<HUB_TOKEN>@17:11"
        ]
    );
    let megatron = "------------------------ arguments ------------------------\n  adam_beta1 ...................... 0.9\n  data_path ....................... ['a', 'b']\n  fp16 ............................ False\n  load ............................ /data/a b\n-------------------- end of arguments ---------------------\n";
    assert_eq!(
        read(megatron),
        ["adam_beta1=0.9@11:37 data_path[0]=a@12:38 data_path[1]=b@12:43 fp16=false@13:37 load=/data/a b@14:37"]
    );
    let elastic = "INFO:torch.distributed.launcher.api:Starting elastic_operator with launch configs:\n  entrypoint       : train.py\n  nproc_per_node   : 8\n  rdzv_configs     : {'timeout': 900}\n";
    assert_eq!(read(elastic), ["entrypoint=train.py@11:22 nproc_per_node=8@12:22 rdzv_configs.timeout=900@13:34"]);
}

#[test]
fn dictionaries_over_many_lines() {
    // Ray puts its prefix before every line, and other actors print in between.
    let pprint = "\x1b[36m(TaskRunner pid=71)\x1b[0m {'actor': {'lr': 1e-06,\n\x1b[36m(Worker pid=72)\x1b[0m loading\n\x1b[36m(TaskRunner pid=71)\x1b[0m            'betas': [0.9, 0.95]},\n\x1b[36m(TaskRunner pid=71)\x1b[0m  'text': 'one '\n\x1b[36m(TaskRunner pid=71)\x1b[0m          'two'}\n";
    assert_eq!(
        read(pprint),
        ["actor.lr=1e-6@10:47 actor.betas[0]=0.9@12:51 actor.betas[1]=0.95@12:56 text=one two@13:39"]
    );
    let json = "(Runner pid=71) {\n(Runner pid=71)   \"data\": {\n(Runner pid=71)     \"max_pixels\": 4194304\n(Runner pid=71)   },\n(Runner pid=71)   \"names\": [\n(Runner pid=71)     \"a\"\n(Runner pid=71)   ]\n(Runner pid=71) }\n";
    assert_eq!(read(json), ["data.max_pixels=4194304@12:35 names[0]=a@15:21"]);
    let deepspeed = "[2026-03-01 10:00:00,000] [INFO] [config.py:1013:print_user_config]   json = {\n    \"bf16\": {\n        \"enabled\": true\n    }, \n    \"zero_optimization\": {\n        \"reduce_bucket_size\": 5.000000e+08\n    }\n}\n";
    assert_eq!(read(deepspeed), ["bf16.enabled=true@12:20 zero_optimization.reduce_bucket_size=500000000@15:31"]);
    assert_eq!(
        read("Model config LlamaConfig {\n  \"hidden_size\": 4096,\n  \"torch_dtype\": \"bfloat16\"\n}\n"),
        ["hidden_size=4096@11:18 torch_dtype=bfloat16@12:18"]
    );
    assert_eq!(
        read("INFO 03-01 10:00:00 api_server.py:610] non-default args: {'model': 'org/m', 'max_num_seqs': 64}\n"),
        ["model=org/m@10:68 max_num_seqs=64@10:93"]
    );
    // The configuration is cut off: only the complete settings are read.
    assert_eq!(read("cmd = python3 train.py --lr 1e-5 --steps 10"), ["python3 train.py lr=1e-5@10:29"]);
    assert_eq!(read("Model config LlamaConfig {\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3"), ["a=1@11:8 b=2@12:8"]);
}

#[test]
fn sections_of_deepspeed() {
    let line = "[2026-03-01 10:00:00,000] [INFO] [config.py:1007:print]";
    let text = format!(
        "{line} DeepSpeedEngine configuration:\n{line}   activation_checkpointing_config  {{\n    \"profile\": false\n}}\n{line}   amp_enabled .................. False\n{line}   checkpoint_tag_validation_enabled  True\n{line}   zero_config .................. stage=<ZeroStageEnum.weights: 3> offload_optimizer=Offload(device='cpu', pin_memory=True) overlap_comm=True\n"
    );
    assert_eq!(
        read(&text),
        [
            "activation_checkpointing_config.profile=false@12:16 amp_enabled=false@14:90 checkpoint_tag_validation_enabled=true@15:94 zero_config.stage=3@16:96 zero_config.offload_optimizer.device=cpu@16:156 zero_config.offload_optimizer.pin_memory=true@16:174 zero_config.overlap_comm=true@16:193"
        ]
    );
}

#[test]
fn the_engine_of_vllm() {
    assert_eq!(
        read(
            "INFO 03-01 10:00:00 [core.py:61] Initializing a V1 LLM engine (v0.8.5) with config: model='org/m', dtype=torch.bfloat16, max_seq_len=4096, observability_config=ObservabilityConfig(show=False, endpoint=None), seed=0, compilation_config={\"level\":3,\"sizes\":[512]}\n"
        ),
        [
            "model=org/m@10:91 dtype=torch.bfloat16@10:106 max_seq_len=4096@10:134 observability_config.show=false@10:186 observability_config.endpoint=null@10:202 seed=0@10:214 compilation_config.level=3@10:245 compilation_config.sizes[0]=512@10:256"
        ]
    );
}

/// Metrics, code and prose are no configurations.
#[test]
fn what_only_looks_like_one() {
    for text in [
        "{'loss': 1.25, 'grad_norm': 0.5, 'learning_rate': 2e-05, 'epoch': 0.01}\n",
        "    config = {\"a\": 1, \"b\": 2, \"c\": 3}\n",
        "    _training_function(config={\"args\": args, \"callbacks\": callbacks})\n",
        "    args = Namespace(**kwargs)\n",
        "Loading checkpoint shards ... 3 of 5\n",
        "+ package==1.0\n+ uv==2.0\n+ 3 more\n",
        "cmd = None\n",
        "{\n",
        "step 1: {'a': 1}\n",
        "Time to load fused_adam op: 0.1 seconds\n",
    ] {
        assert_eq!(read(text), [""; 0], "{text}");
    }
}

/// Eight ranks print the same configuration; it is read once, and cannot be edited.
#[test]
fn comes_once() {
    let text: String = (0..8).map(|rank| format!("[rank{rank}]: Namespace(a=1, b=2)\n")).collect();
    let documents = from_log("job.log", LineNumber::FIRST, text.as_bytes());
    assert_eq!(documents.len(), 1);
    let edited = documents.first().map(|document| document.set("a", &2.0.into()));
    assert_eq!(edited, Some(Err(super::super::EditError::ReadOnly)));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    /// Every cited text stands at the place given.
    #[test]
    fn citations_stand_in_the_log(lines in prop::collection::vec(prop::sample::select(vec![
        "Namespace(a=1, b='x', c=[1, 2])", "TrainingArguments(", "a=1,", "b='x',", ")", "{", "  'a': {'b': 1},", "  \"c\": [1,", "}",
        "  x ............ 1", "  y ............ {", "  z ............ stage=1 b=2", "+ python3 -m x --a 1 b=2", "(A pid=1) {'a': {'b': 1,",
        "(A pid=1)  'c': 2}", "(B pid=2) hello", "\x1b[36m(A pid=1)\x1b[0m {", "\x1b[36m(A pid=1)\x1b[0m   \"é\": 1,", "launch configs:", "  a : 1",
        "x engine (v1) with config: a=1, b=2, c=3", "non-default args: {'a': 1, 'b': 2}", "cmd = python3 x.py --a 1", "json = {", "", "é\r{'a'",
        "command: ['python3', 'x.py', '--a', '1']", "'unclosed", "Config(a=1, b=(2,", "\u{feff}", "a=<b: 1>,", "c=,",
    ]), 0..25), cut in 0usize..30) {
        let text = lines.join("\n");
        let text = &text[..text.floor_char_boundary(text.len().saturating_sub(cut))];
        let physical: Vec<&str> = text.split('\n').collect();
        for document in from_log("job.log", LineNumber::FIRST, text.as_bytes()) {
            for entry in document.entries() {
                let line = physical.get(entry.at.location.line.0 as usize - 1).copied().unwrap_or_default();
                let rest = line.get(entry.at.location.column.0 as usize - 1..);
                prop_assert!(rest.is_some_and(|rest| rest.starts_with(&entry.at.text)), "{entry:?}\n{text}");
            }
        }
    }
}
