//! Tensors that are named by their request, their shape or the call that made them, and what makes them smaller.

use std::error::Error;

use crate::support::analyzed::{patches, report, turned};

type Outcome = Result<(), Box<dyn Error>>;

fn oom(requested: &str) -> String {
    format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {requested}. GPU 0 has a total capacity of 11.76 GiB of which 9.20 GiB is free. Including non-PyTorch memory, this process has 2.40 GiB memory in use. Of the allocated memory 1.80 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.\n"
    )
}

fn stack(call: &str, requested: &str) -> String {
    format!(
        "Traceback (most recent call last):\n  File \"/w/near.py\", line 8, in <module>\n    {call}\n{}",
        oom(requested)
    )
}

#[test]
fn a_matrix_of_each_with_each_is_made_in_blocks() -> Outcome {
    // 60,000² × 4 bytes.
    let printed = format!("texts: 60000\n{}", stack("near = unit @ unit.T", "13.41 GiB"));
    let named = stack("d = torch.cdist(points, points)", "13.41 GiB");
    for log in [&printed, &named] {
        let end = report(&[("job.log", log)])?;
        assert_eq!(turned(&end)?[0], "rows that are compared at once", "{log}");
        let knobs = turned(&end)?;
        assert!(knobs.iter().all(|knob| !knob.contains("length") && !knob.contains("the batch")), "{knobs:?}");
    }
    // Of attention it is the length that decides, of another amount nothing is known.
    let attention = format!("tokens: 60000\n{}", stack("weights = attention(query, key).softmax(-1)", "13.41 GiB"));
    let other = format!("texts: 50000\n{}", stack("near = unit @ head.weight.T", "13.41 GiB"));
    for log in [&attention, &other] {
        assert_ne!(turned(&report(&[("job.log", log)])?)?[0], "rows that are compared at once", "{log}");
    }
    Ok(())
}

#[test]
fn windows_are_put_together_on_the_host() -> Outcome {
    let log = format!(
        "Traceback (most recent call last):\n  File \"/w/segment.py\", line 3, in <module>\n    logits = sliding_window_inference(volume, (128, 128, 128), 2, net)\n  File \"/v/site-packages/monai/inferers/utils.py\", line 282, in sliding_window_inference\n    output_image_list.append(torch.zeros(output_shape, dtype=compute_dtype, device=device))\n{}",
        oom("9.40 GiB")
    );
    let script = "from monai.inferers import sliding_window_inference\nwith torch.no_grad():\n    logits = sliding_window_inference(volume, (128, 128, 128), 2, net)\n";
    let end = report(&[("job.log", &log), ("segment.py", script)])?;
    let shown = patches(&end)?[0].diff.as_deref().unwrap_or_default();
    assert!(shown.contains("+    logits = sliding_window_inference(volume, (128, 128, 128), 2, net, device=\"cpu\")"));
    Ok(())
}

#[test]
fn a_dense_layer_behind_a_flattened_map_wants_pooling() -> Outcome {
    let log = "2025-11-03 15:20:54.993330: W tensorflow/core/framework/op_kernel.cc:1828] OP_REQUIRES failed at stateless_random_ops_v2.cc:62 : RESOURCE_EXHAUSTED: OOM when allocating tensor with shape[524288,4096] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\nTraceback (most recent call last):\n  File \"/w/leaves.py\", line 6, in <module>\n    net.add(layers.Dense(4096, activation=\"relu\"))\n  File \"/v/site-packages/keras/src/utils/traceback_utils.py\", line 122, in error_handler\n    raise e.with_traceback(filtered_tb) from None\ntensorflow.python.framework.errors_impl.ResourceExhaustedError: {{function_node __wrapped__StatelessRandomUniformV2_device_/job:localhost/replica:0/task:0/device:GPU:0}} OOM when allocating tensor with shape[524288,4096] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:StatelessRandomUniformV2]\n";
    let script = "from tensorflow.keras import layers, models\nnet = models.Sequential()\nnet.add(layers.Input((128, 128, 3)))\nnet.add(layers.Conv2D(32, 3, padding=\"same\"))\nnet.add(layers.Flatten())\nnet.add(layers.Dense(4096, activation=\"relu\"))\nnet.fit(train)\n";
    let end = report(&[("job.log", log), ("leaves.py", script)])?;
    let knobs = turned(&end)?;
    assert_eq!(knobs[0], "pooling in place of Flatten", "{knobs:?}");
    assert!(!knobs.contains(&"a smaller model, or the same in fewer bits"), "{knobs:?}");
    Ok(())
}

#[test]
fn recordings_are_cut_by_the_option_for_them() -> Outcome {
    let log = format!(
        "Traceback (most recent call last):\n  File \"run_speech_recognition_ctc.py\", line 830, in <module>\n    main()\n  File \"/v/site-packages/transformers/trainer.py\", line 1409, in train\n    return inner_training_loop(\n  File \"/v/site-packages/transformers/models/wav2vec2/modeling_wav2vec2.py\", line 335, in forward\n    hidden_states = self.layer_norm(hidden_states)\n{}",
        oom("9.80 GiB")
    );
    let script = "python run_speech_recognition_ctc.py \\\n  --model_name_or_path org/speech \\\n  --per_device_train_batch_size 16 \\\n  --max_duration_in_seconds 30 \\\n  --do_train\n";
    let end = report(&[("job.log", &log), ("run.sh", script)])?;
    let knobs = turned(&end)?;
    assert!(knobs.contains(&"--max_duration_in_seconds") && !knobs.contains(&"tokenizer.max_length"), "{knobs:?}");
    Ok(())
}
