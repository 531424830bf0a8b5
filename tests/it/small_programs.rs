//! Programs with few options of their own, old ones among them: why they ran out, and which of their settings helps.

use std::error::Error;

use crate::support::analyzed::{self, patches, report};

type Outcome = Result<(), Box<dyn Error>>;

/// The first cause.
fn cause(files: &[(&str, &str)]) -> Result<String, Box<dyn Error>> {
    Ok(analyzed::cause(&report(files)?)?.to_owned())
}

/// The line that the proposed change of `knob` adds, or what it says to type.
fn change(files: &[(&str, &str)], knob: &str) -> Result<Option<String>, Box<dyn Error>> {
    let report = report(files)?;
    let Some(patch) = patches(&report)?.iter().find(|patch| *patch.knob == *knob) else { return Ok(None) };
    let added = |line: &&str| line.starts_with('+') && !line.starts_with("+++");
    let diff = patch.diff.as_deref().unwrap_or_default();
    Ok(diff.lines().find(added).map(|line| line[1..].to_owned()).or_else(|| patch.to.as_ref().map(ToString::to_string)))
}

/// Whether `knob` is proposed for the first cause.
fn has(files: &[(&str, &str)], knob: &str) -> Result<bool, Box<dyn Error>> {
    Ok(patches(&report(files)?)?.iter().any(|patch| *patch.knob == *knob))
}

#[test]
fn a_booster_that_has_not_begun_to_train_reads_its_data() -> Outcome {
    let log = "[LightGBM] [Info] Finished loading parameters\n[LightGBM] [Info] Local rank: 0, total number of machines: 3\n[LightGBM] [Info] Finished linking network in 0.120000 seconds\nMet Exceptions:\nstd::bad_alloc\n";
    assert_eq!(cause(&[("job.log", log)])?, "dataloader_memory");
    Ok(())
}

const DARKNET: &str = "layer     filters    size              input                output\n    0 conv     16  3 x 3 / 1   608 x 608 x   3   ->   608 x 608 x  16\n    1 CUDA Error: out of memory\ndarknet: ./src/cuda.c:36: check_error: Assertion `0' failed.\nAborted (core dumped)\n";

fn table(used: u32) -> String {
    format!(
        "+-----------------------------------------------------------------------------+\n| NVIDIA-SMI 384.81                 Driver Version: 384.81                    |\n|===============================+======================+======================|\n|   0  Tesla K80           Off  | 00000000:00:1E.0 Off |                    0 |\n| N/A   58C    P0    91W / 149W |  {used}MiB / 11439MiB |     88%      Default |\n+-------------------------------+----------------------+----------------------+\n"
    )
}

#[test]
fn a_net_whose_layers_hold_a_batch_is_divided_into_passes() -> Outcome {
    let cfg = "[net]\nbatch=64\nsubdivisions=2\nwidth=608\nheight=608\npolicy=steps\nscales=.1,.1\n\n[convolutional]\nfilters=16\nactivation=leaky\n";
    let files = [("job.log", DARKNET), ("birds.cfg", cfg)];
    assert_eq!(cause(&files)?, "activations_too_large");
    assert_eq!(change(&files, "subdivisions")?.as_deref(), Some("subdivisions=16"));
    assert!(!has(&files, "fully_shard()")?);
    Ok(())
}

#[test]
fn what_is_held_when_the_program_has_ended_is_not_its_own() -> Outcome {
    let prompt = "user@node1:~/darknet$ nvidia-smi\n";
    let behind = format!("{DARKNET}{prompt}{}", table(10_890));
    assert_eq!(cause(&[("job.log", &behind)])?, "gpu_shared_with_others");
    // Free, or asked for while something else ran: it says nothing.
    for other in [format!("{DARKNET}{prompt}{}", table(11)), format!("{prompt}{}{DARKNET}", table(10_890))] {
        assert_ne!(cause(&[("job.log", &other)])?, "gpu_shared_with_others");
    }
    Ok(())
}

#[test]
fn a_pool_of_the_whole_gpu_is_asked_for_with_a_smaller_share() -> Outcome {
    let log = "ERROR (theano.sandbox.cuda): ERROR: Not using GPU. Initialisation of device gpu failed:\ninitCnmem: cnmemInit call failed! Reason=CNMEM_STATUS_OUT_OF_MEMORY. numdev=1\n";
    let launch = "THEANO_FLAGS=device=gpu,floatX=float32,lib.cnmem=0.95 python digits.py\n";
    let files = [("job.log", log), ("launch.sh", launch)];
    assert_eq!(cause(&files)?, "gpu_shared_with_others");
    assert_eq!(
        change(&files, "THEANO_FLAGS.lib.cnmem")?.as_deref(),
        Some("THEANO_FLAGS=device=gpu,floatX=float32,lib.cnmem=0.76 python digits.py")
    );
    Ok(())
}

#[test]
fn a_layer_for_which_not_even_a_context_is_there_meets_a_full_gpu() -> Outcome {
    let log = |end: &str| {
        format!(
            "Traceback (most recent call last):\n  File \"learn.py\", line 60, in <module>\n    net = build_net(21)\n  File \"/work/net.py\", line 31, in build_net\n    conv = nn.Conv2d(64, 64, kernel_size=3)\n  File \"/v/site-packages/torch/nn/modules/conv.py\", line 41, in __init__\n    out_channels, in_channels // groups, *kernel_size))\n{end}\n"
        )
    };
    assert_eq!(cause(&[("job.log", &log("RuntimeError: CUDA error: out of memory"))])?, "gpu_shared_with_others");
    let stated = "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.76 GiB total capacity; 9.60 GiB already allocated; 11.44 MiB free; 9.70 GiB reserved in total by PyTorch)";
    assert_ne!(cause(&[("job.log", &log(stated))])?, "gpu_shared_with_others");
    Ok(())
}

#[test]
fn buffers_that_are_made_before_the_first_step_are_activations() -> Outcome {
    let log = "Traceback (most recent call last):\n  File \"speech.py\", line 90, in <module>\n    model.fit(train, optimizer=opt)\n  File \"/opt/neon/neon/models/model.py\", line 128, in initialize\n    self.layers.allocate()\n  File \"/opt/neon/neon/layers/layer.py\", line 620, in allocate\n    self.outputs = self.be.iobuf(self.out_shape)\n  File \"/opt/neon/neon/backends/nervanagpu.py\", line 146, in __init__\n    self.gpudata = allocator(self.nbytes)\npycuda._driver.MemoryError: cuMemAlloc failed: out of memory\n";
    assert_eq!(cause(&[("job.log", log)])?, "activations_too_large");
    Ok(())
}

#[test]
fn a_tensor_of_many_places_is_no_kernel() -> Outcome {
    let log = |shape: &str| {
        format!("ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape[{shape}]...\n")
    };
    assert_eq!(cause(&[("job.log", &log("1,10,400,352,64"))])?, "activations_too_large");
    assert_ne!(cause(&[("job.log", &log("3,3,3,2048,4096"))])?, "activations_too_large");
    Ok(())
}

#[test]
fn a_request_far_below_what_is_free_met_a_limit() -> Outcome {
    let log = |allocated: &str| {
        format!(
            ">>>> loading model /models/cells\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 112.00 MiB. GPU 0 has a total capacity of 8.00 GiB of which 6.10 GiB is free. Of the allocated memory {allocated} is allocated by PyTorch, and 20.50 MiB is reserved by PyTorch but unallocated.\n"
        )
    };
    // A tenth of the device lies between what it held and what it wanted.
    let files = [("job.log", log("740.00 MiB"))];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    assert_eq!(cause(&files)?, "allocator_fault");
    assert!(has(&files, "torch.cuda.set_per_process_memory_fraction")?);
    let other = log("920.00 MiB");
    assert_eq!(cause(&[("job.log", &other)])?, "allocator_fault");
    assert!(!has(&[("job.log", &other)], "torch.cuda.set_per_process_memory_fraction")?);
    Ok(())
}

#[test]
fn a_size_that_nobody_wrote_is_a_wrong_length() -> Outcome {
    let log = "onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException: [ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned while running Conv node. Name:'/stem/Conv' Status Message: /build/onnxruntime/core/framework/bfc_arena.cc:376 void* onnxruntime::BFCArena::AllocateRawInternal(size_t) Failed to allocate memory for requested buffer of size 5193120776541870080\n";
    assert_eq!(cause(&[("job.log", log)])?, "long_sequence_outlier");
    Ok(())
}

#[test]
fn maps_of_one_size_are_no_moments() -> Outcome {
    let log = "RuntimeError: CUDA out of memory. Tried to allocate 4.50 GiB (GPU 0; 23.70 GiB total capacity; 18.00 GiB already allocated; 4.40 GiB free; 18.10 GiB reserved in total by PyTorch)\n";
    assert_eq!(cause(&[("job.log", log)])?, "optimizer_states_on_gpu");
    let scene = "data:\n  scene: lego\n  image_size: [400, 600]\n";
    let files = [("job.log", log), ("scene.yaml", scene), ("launch.sh", "python fit.py --yaml=scene\n")];
    assert_eq!(cause(&files)?, "activations_too_large");
    Ok(())
}

#[test]
fn without_workers_nothing_passes_through_shared_memory() -> Outcome {
    let log = "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\n";
    assert_eq!(change(&[("job.log", log)], "DataLoader.num_workers")?.as_deref(), Some("0"));
    Ok(())
}

#[test]
fn an_engine_that_prints_its_budget_is_told_which_share_holds_it() -> Outcome {
    let log = |weights: &str| {
        format!(
            "TVMError: Check failed: (output_res.IsOk()) is false: Insufficient GPU memory error: The available single GPU memory is 10200.000 MB, which is less than the sum of model weight size ({weights} MB) and temporary buffer size (2400.000 MB).\n"
        )
    };
    let knob = "EngineConfig.gpu_memory_utilization";
    // 10,400 MB of the 12,000 that the GPU has.
    assert_eq!(change(&[("job.log", &log("8000.000"))], knob)?.as_deref(), Some("0.88"));
    // More than all of it.
    assert_eq!(change(&[("job.log", &log("9900.000"))], knob)?, None);
    Ok(())
}

#[test]
fn engines_have_shares_and_layers_of_their_own() -> Outcome {
    let rust = "ERROR mistralrs_core::engine: prompt step - Model failed with error: DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")\n";
    let files = [("job.log", rust), ("launch.sh", "mistralrs-server --num-device-layers 40 gguf -m . -f chat.gguf\n")];
    let line = "mistralrs-server --num-device-layers 30 gguf -m . -f chat.gguf";
    assert_eq!(change(&files, "--num-device-layers")?.as_deref(), Some(line));
    let asynchronous = "Traceback (most recent call last):\n  File \"/srv/chat/main.py\", line 12, in <module>\n    asyncio.run(serve())\ntorch.OutOfMemoryError: Allocation on device\n";
    assert_eq!(change(&[("job.log", asynchronous)], "PYTORCH_CUDA_ALLOC_CONF.backend")?.as_deref(), Some("native"));
    Ok(())
}

#[test]
fn the_heap_of_luajit_is_not_the_machines_memory() -> Outcome {
    let log = "creating an LSTM with 3 layers\ncloning rnn\n/home/user/torch/install/bin/luajit: not enough memory\n";
    let files = [("job.log", log), ("launch.sh", "th learn.lua -seq_length 120 -rnn_size 256\n")];
    assert_eq!(change(&files, "-seq_length")?.as_deref(), Some("th learn.lua -seq_length 60 -rnn_size 256"));
    Ok(())
}

#[test]
fn a_server_whose_workers_stand_in_a_file_has_fewer() -> Outcome {
    let image = "CMD [\"python\", \"-m\", \"gunicorn\", \"-c\", \"conf/server.py\", \"app:app\"]\n";
    let pod = "resources:\n  limits:\n    memory: 700Mi\n";
    let files = [("job.log", "OOMKilled\n"), ("Dockerfile", image), ("pod.yaml", pod)];
    assert_eq!(change(&files, "workers in gunicorn's file")?.as_deref(), Some("1"));
    let plain = "CMD [\"python\", \"-m\", \"app\"]\n";
    assert!(!has(
        &[("job.log", "OOMKilled\n"), ("Dockerfile", plain), ("pod.yaml", pod)],
        "workers in gunicorn's file"
    )?);
    Ok(())
}

#[test]
fn a_solver_with_one_history_needs_less() -> Outcome {
    let log = "I0301 10:00:00.000000  4711 sgd_solver.cpp:112] Iteration 0, lr = 0.001\nF0301 10:00:00.100000  4711 syncedmem.cpp:71] Check failed: error == cudaSuccess (2 vs. 0)  out of memory\n";
    let solver =
        |kind: &str| format!("net: \"net.prototxt\"\nbase_lr: 0.001\nmomentum: 0.9\nmax_iter: 500\ntype: \"{kind}\"\n");
    assert_eq!(
        change(&[("job.log", log), ("solver.prototxt", &solver("Adam"))], "type")?.as_deref(),
        Some("type: \"SGD\"")
    );
    assert!(!has(&[("job.log", log), ("solver.prototxt", &solver("SGD"))], "type")?);
    Ok(())
}

#[test]
fn a_batch_of_one_leaves_what_the_generator_draws_and_a_narrower_model() -> Outcome {
    let log = "Traceback (most recent call last):\n  File \"/work/stylegan2-pytorch/op/upfirdn2d.py\", line 120, in forward\n    input, kernel, up_x, up_y, down_x, down_y, pad_x0, pad_x1, pad_y0, pad_y1\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 10.76 GiB total capacity; 8.10 GiB already allocated; 1.25 GiB free; 8.20 GiB reserved in total by PyTorch)\n";
    let files = [("job.log", log), ("launch.sh", "python train.py --size 256 --batch 1 DATA_PATH\n")];
    assert!(!has(&files, "DataLoader.batch_size")?);
    assert!(has(&files, "--n_sample")?);
    let bare = "RuntimeError: CUDA out of memory. Tried to allocate 300.00 MiB (GPU 0; 10.76 GiB total capacity; 9.60 GiB already allocated; 98.44 MiB free; 9.70 GiB reserved in total by PyTorch)\n";
    let files = [("job.log", bare), ("launch.sh", "python run.py --is_training 1 --batch_size 1 --d_model 512\n")];
    assert_eq!(
        change(&files, "--d_model")?.as_deref(),
        Some("python run.py --is_training 1 --batch_size 1 --d_model 256")
    );
    Ok(())
}
