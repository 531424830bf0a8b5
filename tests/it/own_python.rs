//! What a job's own Python code and the first figures of its log say about how far to go, and what else to change.

use std::error::Error;

use crate::support::analyzed::{cause, diff, patches, refused, report, root, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn first_diff(files: &[(&str, &str)]) -> Outcome<String> {
    diff(&report(files)?)
}

/// The stack of a forward pass that a Trainer runs of a DeBERTa.
fn of_deberta() -> String {
    let model = "transformers/models/deberta_v2/modeling_deberta_v2.py";
    stack(&[
        ("/w/tune.py", "<module>", "trainer.train()"),
        ("transformers/trainer.py", "_inner_training_loop", "tr_loss_step = self.training_step(model, inputs)"),
        (model, "forward", "attention_probs = XSoftmax.apply(attention_scores, attention_mask, -1)"),
    ]) + &refused("480.00 MiB", 23.64)
}

#[test]
fn a_first_forward_pass_leaves_room_for_what_comes_after_it() -> Outcome {
    let script = "from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments\nmodel = AutoModelForSequenceClassification.from_pretrained('org/deberta-large', num_labels=3)\nargs = TrainingArguments('out', per_device_train_batch_size=64, gradient_accumulation_steps=2, fp16=True)\ntrainer = Trainer(model, args)\ntrainer.train()\n";
    let log = |bar: &str| {
        format!(
            "  Number of trainable parameters = 434,000,000\n  0%|          | 0/900 [00:00<?, ?it/s]\n{bar}{}",
            of_deberta()
        )
    };
    let end = |bar: &str| report(&[("job.log", &log(bar)), ("tune.py", script)]);
    let first = end("")?;
    let diff = patches(&first)?[0].diff.clone().unwrap_or_default();
    let line =
        "+args = TrainingArguments('out', per_device_train_batch_size=16, gradient_accumulation_steps=8, fp16=True)";
    assert!(diff.contains(line), "{diff}");
    // Such a model computes its attention itself, and has a few classes in place of a vocabulary.
    let knobs = turned(&first)?;
    assert_eq!(knobs[1], "gradient_checkpointing");
    assert!(knobs.iter().all(|knob| !knob.contains("attn_implementation") && !knob.contains("lm_head")), "{knobs:?}");
    // Where a step was done, half is one more.
    let later =
        patches(&end(" 10%|#         | 90/900 [01:00<09:00,  1.50it/s]\n")?)?[0].diff.clone().unwrap_or_default();
    assert!(later.contains("per_device_train_batch_size=32, gradient_accumulation_steps=4"), "{later}");
    Ok(())
}

#[test]
fn a_first_pass_of_a_trainer_that_measures_is_measured() -> Outcome {
    let log = "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n  0%|          | 0/512 [00:00<?, ?it/s]\n".to_owned()
        + &stack(&[
            ("ultralytics/engine/model.py", "train", "self.trainer.train()"),
            ("ultralytics/engine/trainer.py", "_do_train", "self.loss, self.loss_items = self.model(batch)"),
            ("ultralytics/nn/modules/conv.py", "forward", "return self.act(self.bn(self.conv(x)))"),
        ])
        + &refused("300.00 MiB", 7.79);
    let diff = first_diff(&[
        ("job.log", &log),
        ("run.sh", "yolo detect train model=yolo11l.pt data=birds.yaml imgsz=1024 batch=24\n"),
    ])?;
    assert!(diff.contains("+yolo detect train model=yolo11l.pt data=birds.yaml imgsz=1024 batch=-1"), "{diff}");
    Ok(())
}

const LOOP: &str = "import torch\nfrom torch.utils.data import DataLoader\nBATCH = 16\nACCUM_STEPS = 2\nnet = make().cuda()\nloader = DataLoader(Tiles(), batch_size=BATCH)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\nfor step, (x, y) in enumerate(loader):\n    loss = criterion(net(x), y) / ACCUM_STEPS\n    loss.backward()\n    opt.step()\n";

#[test]
fn more_than_the_device_has_is_halved_until_it_fits() -> Outcome {
    let oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 256.00 MiB. GPU 0 has a total capacity of 6.00 GiB of which 0 bytes is free. Of the allocated memory 11.20 GiB is allocated by PyTorch, and 90.00 MiB is reserved by PyTorch but unallocated.\n";
    let calls =
        [("/w/fit.py", "<module>", "loss.backward()"), ("torch/_tensor.py", "backward", "torch.autograd.backward(")];
    let log = stack(&calls) + oom;
    let end = report(&[("job.log", &log), ("fit.py", LOOP)])?;
    let first = diff(&end)?;
    assert!(first.contains("+BATCH = 4\n+ACCUM_STEPS = 8\n"), "{first}");
    assert!(turned(&end)?.contains(&"torch.autocast.dtype"), "{:?}", turned(&end)?);
    // What computes in 16 bit already keeps half as much.
    let mixed = LOOP.replace("    loss = ", "    with torch.autocast('cuda'): loss = ");
    let end = report(&[("job.log", &(stack(&calls) + &refused("256.00 MiB", 11.76))), ("fit.py", &mixed)])?;
    assert!(!turned(&end)?.contains(&"torch.autocast.dtype"), "{:?}", turned(&end)?);
    let diff = diff(&end)?;
    assert!(diff.contains("+BATCH = 8\n+ACCUM_STEPS = 4\n"), "{diff}");
    Ok(())
}

#[test]
fn keras_computes_in_16_bit_and_takes_a_batch_whose_maps_fit() -> Outcome {
    let oom = "ResourceExhaustedError: Graph execution error:\n\nOOM when allocating tensor with shape[48,64,256,256] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n";
    let head = "2026-01-12 10:00:01.100000: W external/local_tsl/tsl/framework/bfc_allocator.cc:497] Allocator (GPU_0_bfc) ran out of memory trying to allocate 768.00MiB (rounded to 805306368)requested by op NET/conv2d_3/Conv2D\n2026-01-12 10:00:01.200000: I external/local_tsl/tsl/framework/bfc_allocator.cc:1059] Stats: \nLimit:                      3000000000\nInUse:                      2498421760\nMaxInUse:                   2498421760\n";
    let script = "from tensorflow import keras\nBATCH_SIZE = 48\ntrain = dataset('train', BATCH_SIZE)\nmodel = keras.Sequential(layers)\nmodel.compile(optimizer='adam', loss='mse')\nmodel.fit(train, epochs=9)\n";
    let log = head.to_owned()
        + &stack(&[
            ("/w/fit.py", "<module>", "model.fit(train, epochs=9)"),
            ("keras/src/utils/traceback_utils.py", "error_handler", "raise e.with_traceback(filtered_tb) from None"),
        ])
        + oom;
    let end = report(&[("job.log", &log), ("fit.py", script)])?;
    assert!(
        patches(&end)?[0].diff.as_deref().is_some_and(|diff| diff.contains("+BATCH_SIZE = 6\n")),
        "{:?}",
        patches(&end)?[0]
    );
    assert_eq!(turned(&end)?[1], "keras.mixed_precision.set_global_policy");
    let mixed = script.replace("model =", "keras.mixed_precision.set_global_policy('mixed_float16')\nmodel =");
    let end = report(&[("job.log", &log), ("fit.py", &mixed)])?;
    assert!(!turned(&end)?.contains(&"keras.mixed_precision.set_global_policy"));
    Ok(())
}

#[test]
fn what_accelerate_prints_of_its_precision_counts() -> Outcome {
    let log = |precision: &str| {
        format!("Mixed precision type: {precision}\n\nSteps:   0%|          | 0/800 [00:00<?, ?it/s]\n")
            + &stack(&[
                (
                    "/w/diffusers/examples/text_to_image/train_text_to_image_lora.py",
                    "main",
                    "model_pred = unet(noisy, timesteps)",
                ),
                ("diffusers/models/unets/unet_2d_condition.py", "forward", "sample = self.conv_in(sample)"),
            ])
            + &refused("1.00 GiB", 15.77)
    };
    let knobs = |precision: &str| -> Outcome<Vec<String>> {
        Ok(turned(&report(&[("job.log", &log(precision))])?)?.into_iter().map(str::to_owned).collect())
    };
    assert_eq!(knobs("no")?[0], "--mixed_precision");
    assert!(!knobs("fp16")?.contains(&"--mixed_precision".to_owned()));
    Ok(())
}

#[test]
fn one_large_image_is_cut_into_tiles() -> Outcome {
    let log = "[3/88] field_017.tif (9000, 7000, 3)\n".to_owned()
        + &stack(&[
            ("/w/predict.py", "main", "mask = net(image.unsqueeze(0).cuda())"),
            ("torchvision/models/segmentation/_utils.py", "forward", "features = self.backbone(x)"),
            ("torch/nn/modules/conv.py", "_conv_forward", "return F.conv2d(input, weight, bias, self.stride,"),
        ])
        + &refused("3.10 GiB", 15.70);
    let end = report(&[("job.log", &log)])?;
    let knobs = turned(&end)?;
    assert_eq!(knobs[0], "tiles of the image");
    assert!(knobs.iter().all(|knob| !knob.contains("batch")), "{knobs:?}");
    Ok(())
}

#[test]
fn a_table_within_windows_gets_fewer_columns_and_more_of_its_memory() -> Outcome {
    let log = "reading\nKilled\n$ uname -r\n6.6.87.2-microsoft-standard-WSL2\n[ 812.120530] Out of memory: Killed process 655 (python3) total-vm:22483020kB, anon-rss:14402316kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:18420kB oom_score_adj:0\n";
    let script = "import pandas as pd\nvisits = pd.read_csv('/mnt/c/visits.csv')\nvisits.groupby('page').size().to_csv('pages.csv')\n";
    let end = report(&[("job.log", log), ("count.py", script)])?;
    let knobs = turned(&end)?;
    assert_eq!(knobs[0], "only the columns that are used");
    assert!(knobs.contains(&".wslconfig memory") && !knobs.contains(&"RAM"), "{knobs:?}");
    Ok(())
}

#[test]
fn a_replay_buffer_becomes_as_large_as_what_was_free() -> Outcome {
    let log = "/v/site-packages/stable_baselines3/common/buffers.py:247: UserWarning: This system does not have apparently enough memory to store the complete replay buffer 40.00GB > 20.00GB\n|    total_timesteps  | 410220   |\nKilled\nOut of memory: Killed process 97 (python) total-vm:51218340kB, anon-rss:20211004kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:61044kB oom_score_adj:0\n";
    let script = "from stable_baselines3 import SAC\nmodel = SAC('CnnPolicy', env, buffer_size=700_000, batch_size=64)\nmodel.learn(total_timesteps=5_000_000)\n";
    let end = report(&[("job.log", log), ("play.py", script)])?;
    assert_eq!(cause(&end)?, "rollout_batch_materialised");
    let diff = diff(&end)?;
    assert!(diff.contains("buffer_size=290_000"), "{diff}");
    assert!(turned(&end)?.iter().all(|knob| !knob.contains("DataLoader")), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn what_is_reduced_before_the_metrics_is_not_reduced_again() -> Outcome {
    let log = " 12%|#2        | 300/2500 [03:10<20:11,  1.90it/s]\n  8%|8         | 20/250 [00:04<00:50,  4.10it/s]\n"
        .to_owned()
        + &stack(&[
            ("/w/tune.py", "<module>", "trainer.train()"),
            (
                "transformers/trainer.py",
                "_maybe_log_save_evaluate",
                "metrics = self._evaluate(trial, ignore_keys_for_eval)",
            ),
            ("transformers/trainer.py", "evaluation_loop", "all_preds.add(logits)"),
            (
                "transformers/trainer_pt_utils.py",
                "nested_concat",
                "return torch_pad_and_concatenate(tensors, new_tensors)",
            ),
            (
                "transformers/trainer_pt_utils.py",
                "torch_pad_and_concatenate",
                "return torch.cat((tensor1, tensor2), dim=0)",
            ),
        ])
        + &refused("7.30 GiB", 23.64);
    let script = |body: &str| {
        format!(
            "import numpy as np\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nmodel = AutoModelForCausalLM.from_pretrained('org/gpt')\n\ndef accuracy(p):\n{body}\ntrainer = Trainer(model=model, args=TrainingArguments('out', per_device_eval_batch_size=8), compute_metrics=accuracy)\ntrainer.train()\n"
        )
    };
    let diff = |body: &str| -> Outcome<Option<String>> {
        let end = report(&[("job.log", &log), ("tune.py", &script(body))])?;
        let first = &patches(&end)?[0];
        assert_eq!(first.knob, "Trainer.preprocess_logits_for_metrics");
        Ok(first.diff.clone())
    };
    let lambda = "compute_metrics=accuracy, preprocess_logits_for_metrics=lambda logits, labels: (logits[0] if isinstance(logits, tuple) else logits).argmax(-1))";
    for (body, line) in [
        (
            "    return {'a': (np.argmax(p.predictions, axis=-1) == p.label_ids).mean()}\n",
            "+    return {'a': (p.predictions == p.label_ids).mean()}",
        ),
        (
            "    scores, labels = p\n    best = scores.argmax(-1)\n    return {'a': (best == labels).mean()}\n",
            "+    best = scores\n",
        ),
        (
            "    best = p.predictions\n    best = np.argmax(best, axis=1)\n    return {'a': (best == p.label_ids).mean()}\n",
            "+    best = best\n",
        ),
    ] {
        let told = diff(body)?.unwrap_or_default();
        assert!(told.contains(line) && told.contains(lambda), "{told}");
    }
    // What needs the scores themselves is left to its author.
    assert_eq!(diff("    scores, labels = p\n    return {'a': entropy(scores), 'b': scores.argmax(-1)}\n")?, None);
    assert_eq!(
        root(&report(&[("job.log", &log), ("tune.py", &script("    return elsewhere(p)\n"))])?)?.diagnoses[0].patches
            [0]
        .diff,
        None
    );
    Ok(())
}
