use crate::config::testing::{set, settings};

/// How many processes a script starts at once; 0 if it does not say.
fn at_once(script: &str) -> usize {
    let text = format!("#!/bin/bash\n{script}\n");
    let found =
        settings(&text).into_iter().find_map(|setting| setting.strip_prefix("processes at once=")?.parse().ok());
    found.unwrap_or(0)
}

fn fewer(script: &str, to: f64) -> String {
    let edited = set(&format!("#!/bin/bash\n{script}\n"), super::KEY, to);
    edited.trim_start_matches("#!/bin/bash\n").trim_end().to_owned()
}

#[test]
fn counts_what_a_script_starts_at_once_on_one_device() {
    for (script, count) in [
        ("for i in 1 2 3; do\n  python search.py --worker $i &\ndone\nwait", 3),
        ("for i in {1..6}; do python search.py & done; wait", 6),
        ("for i in $(seq 0 3); do nohup python -m app.run --seed $i > $i.log 2>&1 & done", 4),
        ("for ((i = 0; i < 5; i++)); do\n  python a.py &\ndone", 5),
        ("N=4\nfor i in `seq $N`; do\n  (cd run$i; python a.py) &\ndone", 4),
        ("RATES=(1e-3 1e-4)\nfor lr in \"${RATES[@]}\"; do python a.py --lr $lr & done", 2),
        ("python a.py --seed 1 &\npython a.py --seed 2 &\npython a.py --seed 3\nwait", 2),
        ("wandb agent me/p/abc &\nwandb agent me/p/abc &\nwandb agent me/p/abc &", 3),
        ("for i in 0 1 2 3; do CUDA_VISIBLE_DEVICES=$((i % 2)) python a.py --seed $i & done", 2),
        ("for i in 0 1 2 3; do\n  gpu=$((i % 2))\n  python a.py --device cuda:$gpu &\ndone", 2),
        // The script's own limit is one of all devices together.
        (
            "for i in {0..15}; do\n  while [ \"$(jobs -rp | wc -l)\" -ge 8 ]; do sleep 1; done\n  CUDA_VISIBLE_DEVICES=$((i % 4)) python a.py --n_jobs 4 &\ndone",
            2,
        ),
        ("for i in 1 2; do vllm serve m --gpu-memory-utilization 0.4 --port 80$i & done", 2),
        (
            "for i in 1 2 3 4; do\n  python a.py $i &\n  while [ \"$(jobs -rp | wc -l)\" -ge 2 ]; do sleep 1; done\ndone",
            2,
        ),
    ] {
        assert_eq!(at_once(script), count, "{script}");
    }
}

#[test]
fn what_does_not_run_at_once_on_one_device_is_not_counted() {
    for script in [
        "for i in 1 2 3; do python a.py --seed $i; done",
        "for i in 1 2 3; do\n  python a.py --seed $i &\n  wait\ndone",
        "for i in 0 1 2 3; do CUDA_VISIBLE_DEVICES=$i python a.py & done",
        "for i in 0 1; do python a.py --gpu $i & done",
        "CUDA_VISIBLE_DEVICES=0 python a.py &\nCUDA_VISIBLE_DEVICES=1 python a.py &",
        "python server.py &\nsleep 5\npython client.py",
        "python a.py --seed 1 &\nwait\npython a.py --seed 2 &\nwait",
        "python a.py --seed 1 &\nwait $!\npython a.py --seed 2 &\nwait || exit 1\npython a.py --seed 3 &",
        "if [ -n \"$RESUME\" ]; then python a.py --resume & else python a.py & fi",
        "case $1 in\n  a) python a.py & ;;\n  b) python a.py & ;;\nesac",
        "for i in {-9223372036854775807..9223372036854775807}; do python a.py & done",
        "for ((i=9223372036854775807; i<=5; i++)); do python a.py & done",
        "N=4\nN=$(nvidia-smi -L | wc -l)\nfor i in $(seq $N); do python a.py & done",
        "for f in *.wav; do python a.py $f & done",
        "for i in 1 2 3; do sleep 5 & done",
        "for n in a b; do srun python a.py & done",
        "for n in a b; do ssh $n python a.py & done",
        "for i in 1 2 3; do python a.py & if [ \"$(jobs | wc -l)\" = $MOST ]; then wait; fi; done",
    ] {
        assert_eq!(at_once(script), 0, "{script}");
    }
}

#[test]
fn lets_fewer_run_at_once() {
    for (script, to, edited) in [
        (
            "for w in 1 2 3 4; do\n  python search.py --study s &\ndone",
            2.0,
            "for w in 1 2; do\n  python search.py --study s &\ndone",
        ),
        ("for w in {0..7}; do python search.py & done", 3.0, "for w in {0..2}; do python search.py & done"),
        ("for w in $(seq 4); do python search.py & done", 1.0, "for w in $(seq 1); do python search.py & done"),
        ("for ((i=0; i<5; i++)); do\n  python a.py &\ndone", 2.0, "for ((i=0; i<2; i++)); do\n  python a.py &\ndone"),
        // What waits stands before the whole list, which is what goes to the background.
        (
            "for d in a b c; do\n  cd $d && python a.py &\ndone",
            1.0,
            "for d in a b c; do\n  while [ \"$(jobs -rp | wc -l)\" -ge 1 ]; do sleep 5; done\n  cd $d && python a.py &\ndone",
        ),
        // Each run of the loop does something else, and is to be done, too.
        (
            "for s in 1 2 3; do\n  python a.py --seed $s > $s.log &\ndone\nwait",
            2.0,
            "for s in 1 2 3; do\n  while [ \"$(jobs -rp | wc -l)\" -ge 2 ]; do sleep 5; done\n  python a.py --seed $s > $s.log &\ndone\nwait",
        ),
        (
            "for s in 1 2 3; do python a.py --seed $s & done",
            1.0,
            "for s in 1 2 3; do while [ \"$(jobs -rp | wc -l)\" -ge 1 ]; do sleep 5; done; python a.py --seed $s & done",
        ),
        (
            "for s in 1 2 3 4; do\n  while [ \"$(jobs -rp | wc -l)\" -ge 3 ]; do sleep 5; done\n  python a.py --seed $s &\ndone",
            2.0,
            "for s in 1 2 3 4; do\n  while [ \"$(jobs -rp | wc -l)\" -ge 2 ]; do sleep 5; done\n  python a.py --seed $s &\ndone",
        ),
        (
            "python a.py --fold 1 &\npython a.py --fold 2 &\npython a.py --fold 3 &\nwait",
            2.0,
            "python a.py --fold 1 &\npython a.py --fold 2 &\nwait\npython a.py --fold 3 &\nwait",
        ),
    ] {
        assert_eq!(fewer(script, to), edited);
    }
    let of_any_shell = "#!/bin/sh\nfor s in 1 2 3; do python a.py --seed $s & done\n";
    assert!(set(of_any_shell, super::KEY, 2.0).starts_with("error"));
}
