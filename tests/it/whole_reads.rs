//! Data that is read or prepared at once: no loader and no batch holds it, so none is turned.

use std::error::Error;

use crate::support::analyzed::{cause, diff, patches, refused, report, root, stack, turned};

type Outcome = Result<(), Box<dyn Error>>;

/// A hosted notebook whose cell reads all files into one list.
const NOTEBOOK: &str = "[5]: scans = np.stack([np.load(name) for name in tqdm(names)])\n 64%|██████▍   | 5120/8000 [02:41<01:30, 31.8it/s]\nYour notebook tried to allocate more memory than is available. It has restarted.\n";

fn is_of_batches(knob: &str) -> bool {
    ["batch", "num_workers", "processes", "accumulation"].iter().any(|word| knob.contains(word))
}

#[test]
fn files_that_are_read_into_one_list_are_named_and_not_a_loader() -> Outcome {
    let cell = "import numpy as np\nnames = sorted(glob('/d/*.npy'))\nscans = np.stack([np.load(name) for name in tqdm(names)])\n";
    for files in [vec![("job.log", NOTEBOOK)], vec![("job.log", NOTEBOOK), ("cell.py", cell)]] {
        let end = report(&files)?;
        assert_eq!((cause(&end)?, turned(&end)?[0]), ("dataloader_memory", "one file at a time"));
        assert!(turned(&end)?.iter().all(|knob| !is_of_batches(knob)), "{:?}", turned(&end)?);
    }
    // The script alone shows it, too.
    let killed = "./prepare.sh: line 3: 20417 Killed                  python3 pack.py\n";
    let read = report(&[("job.log", killed), ("pack.py", cell)])?;
    assert!(turned(&read)?.iter().all(|knob| !is_of_batches(knob)), "{:?}", turned(&read)?);
    Ok(())
}

#[test]
fn a_file_that_is_read_whole_gets_twice_the_limit_before_anything_of_a_training() -> Outcome {
    let log = "Loading /data/atlas/lung.h5ad\nslurmstepd: error: Detected 1 oom_kill event in StepId=8812.batch. Some of the step tasks have been OOM Killed.\n$ seff 8812\nJob ID: 8812\nState: OUT_OF_MEMORY (exit code 0)\nMemory Utilized: 31.97 GB\nMemory Efficiency: 99.91% of 32.00 GB\n";
    let launch = "#!/bin/bash\n#SBATCH -c 8\n#SBATCH --mem-per-cpu=4G\npython fit.py --input /data/atlas/lung.h5ad --batch-size 512\n";
    let end = report(&[("job.log", log), ("fit.sbatch", launch)])?;
    assert!(diff(&end)?.contains("+#SBATCH --mem-per-cpu=8G\n"), "{}", diff(&end)?);
    assert_eq!(turned(&end)?, ["--mem-per-cpu", "read_h5ad.backed"]);
    // Where a loader's process died, it has batches.
    let worker = "RuntimeError: DataLoader worker (pid 20117) is killed by signal: Killed.\n";
    let loads = report(&[("job.log", &format!("Loading /data/atlas/lung.h5ad\n{worker}")), ("fit.sbatch", launch)])?;
    assert!(turned(&loads)?.iter().any(|knob| is_of_batches(knob)), "{:?}", turned(&loads)?);
    Ok(())
}

#[test]
fn a_map_of_large_rows_keeps_fewer_of_them_before_it_writes() -> Outcome {
    let line = "scenes = scenes.map(shrink, num_proc=24)";
    let log = format!(
        "Map (num_proc=24):  31%|███       | 9300/30000 [04:10<09:17, 37.1 examples/s]\n{}RuntimeError: One of the subprocesses has abruptly died during map operation.To debug the error, disable multiprocessing.\n",
        stack(&[
            ("/w/shrink.py", "<module>", line),
            ("datasets/arrow_dataset.py", "map", "for rank, done, content in iflatmap_unordered("),
            ("datasets/utils/py_utils.py", "iflatmap_unordered", "raise RuntimeError("),
        ])
    );
    let script = |read: &str| {
        format!(
            "from datasets import load_dataset\nscenes = load_dataset('csv', data_files='all.csv', split='train')\ndef shrink(row):\n    return {{'pixels': {read}}}\n{line}\n"
        )
    };
    let images = report(&[("job.log", &log), ("shrink.py", &script("cv2.imread(row['path'])"))])?;
    assert!(diff(&images)?.contains("+scenes = scenes.map(shrink, num_proc=24, writer_batch_size=50)\n"));
    // Rows of unknown size: first fewer processes.
    let texts = report(&[("job.log", &log), ("shrink.py", &script("tokenize(row['path'])"))])?;
    assert_eq!(turned(&texts)?[..2], ["map.num_proc", "map.writer_batch_size"]);
    for end in [images, texts] {
        assert!(turned(&end)?.iter().all(|knob| !knob.starts_with("the batch size") && !knob.contains("--batch")));
    }
    Ok(())
}

#[test]
fn a_booster_gets_its_matrix_in_bins_where_it_learns_from_it() -> Outcome {
    let log = format!(
        "{}xgboost.core.XGBoostError: [09:12:44] /workspace/src/common/device_vector.cu:23: Memory allocation error on worker 0: std::bad_alloc: cudaErrorMemoryAllocation: out of memory\n- Free memory: 1073741824\n- Requested memory: 6442450944\n",
        stack(&[
            ("/w/trees.py", "<module>", "booster = xgb.train(options, rows, 300, evals=watched)"),
            ("xgboost/training.py", "train", "bst.update(dtrain, iteration=i, fobj=obj)"),
            ("xgboost/core.py", "_check_call", "raise XGBoostError(py_str(_LIB.XGBGetLastError()))"),
        ])
    );
    let script = |rows: &str| {
        format!(
            "import xgboost as xgb\nrows = xgb.DMatrix({rows})\nheld = xgb.DMatrix(x2, y2, weight=w2)\nasked = xgb.DMatrix(x3)\nwatched = [(rows, 'learned'), (held, 'held')]\nbooster = xgb.train(options, rows, 300, evals=watched)\nbooster.predict(asked)\n"
        )
    };
    let end = report(&[("job.log", &log), ("trees.py", &script("x1, y1"))])?;
    assert_eq!(&*root(&end)?.diagnoses[0].rule, "training_matrix_too_large");
    let written = diff(&end)?;
    assert!(written.contains("+rows = xgb.QuantileDMatrix(x1, y1)\n"), "{written}");
    assert!(written.contains("+held = xgb.QuantileDMatrix(x2, y2, weight=w2, ref=rows)\n"), "{written}");
    assert!(!written.contains("+asked"), "{written}");
    // Black leaves a comma behind the last argument; folds are cut out of the whole matrix, which the other cannot be.
    let folded = script("x1, y1").replace("weight=w2)", "\n    weight=w2,\n)");
    assert!(diff(&report(&[("job.log", &log), ("trees.py", &folded)])?)?.contains("weight=w2, ref=rows,\n"));
    let cut = script("x1, y1") + "xgb.cv(options, rows)\n";
    assert!(patches(&report(&[("job.log", &log), ("trees.py", &cut)])?)?.iter().all(|patch| patch.diff.is_none()));
    // A file with a cache is read by parts already.
    let cached = report(&[("job.log", &log), ("trees.py", &script("'rows.svm#cache'"))])?;
    assert!(patches(&cached)?.iter().all(|patch| patch.diff.is_none()));
    Ok(())
}

#[test]
fn columns_of_which_trees_learn_stay_categories() -> Outcome {
    let line = "wide = pd.get_dummies(table, columns=[\"shop\", \"item\"])";
    let log = format!(
        "{}numpy._core._exceptions._ArrayMemoryError: Unable to allocate 48.2 GiB for an array with shape (900112, 57500) and data type uint8\n",
        stack(&[
            ("/w/wide.py", "<module>", line),
            ("pandas/core/reshape/encoding.py", "get_dummies", "dummy = _get_dummies_1d("),
            ("pandas/core/reshape/encoding.py", "_get_dummies_1d", "dummy_mat = np.eye(number_of_cols, dtype=_dtype)"),
        ])
    );
    let script = |model: &str| format!("import pandas as pd\n{line}\nmodel = {model}\nmodel.fit(wide, want)\n");
    let trees = report(&[("job.log", &log), ("wide.py", &script("xgb.XGBRegressor(n_estimators=300)"))])?;
    assert_eq!(turned(&trees)?, ["categories in place of columns"]);
    let linear = report(&[("job.log", &log), ("wide.py", &script("Ridge()"))])?;
    assert_eq!(turned(&linear)?, ["sparse columns"]);
    Ok(())
}

#[test]
fn a_scripts_name_does_not_outweigh_the_stack_of_another_framework() -> Outcome {
    let log = format!(
        "{}XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1048576 bytes.\n",
        stack(&[
            ("/w/train_ppo.py", "<module>", "params = network.init(key, first)"),
            ("jax/_src/random.py", "split", "return _random_split(key, num)"),
        ])
    );
    let launch =
        "#!/bin/bash\npython train_ppo.py --seed 1 > a.log 2>&1 &\npython train_ppo.py --seed 2 > b.log 2>&1 &\nwait\n";
    let end = report(&[("job.log", &log), ("both.sh", launch)])?;
    assert_eq!((end.job.framework.as_deref(), end.job.world_size), (Some("jax"), None));
    // Each of the copies is given its share.
    let written = diff(&end)?;
    assert!(
        written.contains("+export XLA_PYTHON_CLIENT_MEM_FRACTION=0.45\n python train_ppo.py --seed 1"),
        "{written}"
    );
    Ok(())
}

#[test]
fn incidents_that_share_no_stack_and_no_program_are_not_one_trouble() -> Outcome {
    let bare = report(&[("job.log", NOTEBOOK)])?;
    assert!(!root(&bare)?.fingerprint.is_telling(), "{:?}", root(&bare)?.fingerprint.parts);
    let log = stack(&[("/w/fit.py", "step", "loss = model(batch).loss")]) + &refused("2.00 GiB", 44.42);
    let known = report(&[("job.log", &log)])?;
    assert!(root(&known)?.fingerprint.is_telling(), "{:?}", root(&known)?.fingerprint.parts);
    Ok(())
}

/// What the kernel says of one process that held nearly all of 62 GiB.
const ALL_BY_ONE: &str = "Generating train split: 2130442 examples [00:31, 68120.20 examples/s]\nDataset({\n    features: ['id', 'text'],\n    num_rows: 2130442\n})\n[51220.4] Out of memory: Killed process 7120 (python3) total-vm:71203440kB, anon-rss:61893120kB, file-rss:1204kB, shmem-rss:0kB, UID:1000 pgtables:121004kB oom_score_adj:0\n$ free -g\n               total        used        free      shared  buff/cache   available\nMem:              62           1          60           0           1          60\n";

#[test]
fn a_column_that_is_tokenised_at_once_is_mapped() -> Outcome {
    let script = "from datasets import load_dataset\nfrom transformers import AutoTokenizer\ntokenizer = AutoTokenizer.from_pretrained(\"org/m\")\nrows = load_dataset(\"json\", data_files=\"/d/*.jsonl\", split=\"train\")\nprint(rows)\ncoded = tokenizer(rows[\"text\"], padding=\"max_length\", max_length=256, return_tensors=\"pt\")\ntorch.save(coded, \"coded.pt\")\n";
    let end = report(&[("job.log", ALL_BY_ONE), ("encode.py", script)])?;
    assert_eq!(turned(&end)?[0], "tokenize with Dataset.map");
    // One process that held everything leaves none to spare, with or without the script.
    for files in [vec![("job.log", ALL_BY_ONE)], vec![("job.log", ALL_BY_ONE), ("encode.py", script)]] {
        let end = report(&files)?;
        assert!(turned(&end)?.iter().all(|knob| !is_of_batches(knob)), "{:?}", turned(&end)?);
    }
    Ok(())
}

#[test]
fn json_lines_are_read_in_chunks_and_not_by_columns() -> Outcome {
    let killed = "tables-1 exited with code 137\n$ docker inspect tables-1 --format '{{.State.OOMKilled}}'\ntrue\n";
    let script = "import pandas\nrows = pandas.read_json(\"/d/visits.jsonl\", lines=True)\nrows[rows.kind == \"sale\"].to_csv(\"/d/sales.csv\")\n";
    let compose = "services:\n  tables:\n    build: .\n    mem_limit: 6g\n";
    let end = report(&[("job.log", killed), ("tables.py", script), ("compose.yaml", compose)])?;
    assert_eq!(turned(&end)?[0], "JSON lines in chunks");
    assert!(!turned(&end)?.contains(&"only the columns that are used"), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn rows_that_vmap_takes_at_once_are_mapped_in_parts() -> Outcome {
    let log = "Traceback (most recent call last):\n  File \"/w/scores.py\", line 9, in <module>\n    table = scores(theta, rows)\njaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 51539607552 bytes.\n";
    let script = "import jax\n\n@jax.jit\ndef scores(theta, rows):\n    return jax.vmap(jax.grad(loss), in_axes=(None, 0))(theta, rows)\n\nrows = load()\ntable = scores(theta, rows)\n";
    let end = report(&[("job.log", log), ("scores.py", script)])?;
    assert_eq!(turned(&end)?[0], "jax.lax.map(batch_size=)");
    assert!(!turned(&end)?.contains(&"batch_size"), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn ray_data_holds_as_many_rows_as_each_actor_is_given() -> Outcome {
    let log = "(raylet) [2025-04-02 07:01:12,101 E 88 88] (raylet) node_manager.cc:3187: 6 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: 51c2aa, IP: 10.0.3.4) over the last time period.\nray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node (IP: 10.0.3.4, ID: 51c2aa) where the task (actor ID: 0b51, name=MapWorker(MapBatches(Embed)).__init__, pid=901, memory used=7.10GB) was running was 122.11GB / 125.00GB (0.976880), which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: 99aa) because it was the most recently scheduled task; to see more information about memory usage on this node, use `ray logs raylet.out -ip 10.0.3.4`.\n";
    let script = "import ray\nrows = ray.data.read_parquet(\"/d/pages\")\nrows = rows.map_batches(Embed, batch_size=32768, concurrency=16, num_cpus=1)\nrows.write_parquet(\"/d/out\")\n";
    let end = report(&[("job.log", log), ("embed.py", script)])?;
    assert_eq!(turned(&end)?[..2], ["map_batches.batch_size", "map_batches.concurrency"]);
    assert!(diff(&end)?.contains("batch_size=2048, concurrency=16"), "{}", diff(&end)?);
    // Fewer CPUs for each would let more of them run.
    assert!(turned(&end)?.iter().all(|knob| !knob.contains("num-cpus") && !knob.contains("num_cpus")));
    Ok(())
}
