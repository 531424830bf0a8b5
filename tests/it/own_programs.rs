//! Programs that people run from their repositories: what each has against too little memory, not what a training script would have.

use std::error::Error;

use crate::support::analyzed::{refused, report, root, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The job, the framework and the changes of a stack that ended on a GPU of 24 GB.
fn seen(calls: &[(&str, &str, &str)], command: &str) -> Outcome<(String, Vec<String>)> {
    let log = format!("{}{}\n", stack(calls), refused("2.21 GiB", 23.65));
    let files = [("job.log", log.as_str()), ("launch.sh", command)];
    let given = if command.is_empty() { &files[..1] } else { &files[..] };
    let end = report(given)?;
    let knobs = turned(&end)?.into_iter().map(str::to_owned).collect();
    Ok((end.job.framework.clone().unwrap_or_default().to_string(), knobs))
}

#[test]
fn pictures_are_restored_in_tiles() -> Outcome {
    let calls = [
        (
            "/w/Real-ESRGAN/inference_realesrgan.py",
            "main",
            "output, _ = upsampler.enhance(img, outscale=args.outscale)",
        ),
        ("/w/Real-ESRGAN/realesrgan/utils.py", "process", "self.output = self.model(self.img)"),
    ];
    let (framework, knobs) = seen(&calls, "python inference_realesrgan.py -n RealESRGAN_x4plus -i in\n")?;
    assert_eq!((framework.as_str(), knobs[0].as_str()), ("real_esrgan", "--tile"));
    assert!(!knobs.iter().any(|knob| knob.contains("batch_size")), "{knobs:?}");
    let (_, knobs) = seen(&calls, "python inference_realesrgan.py -t 512 --tile 512 -i in\n")?;
    assert_eq!(knobs[0], "--tile");
    Ok(())
}

#[test]
fn what_paints_and_films_waits_on_the_host() -> Outcome {
    let ltx = [
        ("/w/LTX-Video/ltx_video/inference.py", "infer", "images = pipeline("),
        ("/w/LTX-Video/ltx_video/models/transformers/attention.py", "forward", "hidden_states = self.attn1("),
    ];
    let (framework, knobs) =
        seen(&ltx, "python inference.py --prompt x --num_frames 161 --pipeline_config configs/ltxv-13b.yaml\n")?;
    assert_eq!(framework, "ltx_video");
    assert!(knobs.iter().take(3).any(|knob| knob == "--offload_to_cpu"), "{knobs:?}");
    let flux =
        [("/w/flux/src/flux/util.py", "load_flow_model", "model = Flux(configs[name].params).to(torch.bfloat16)")];
    let (framework, knobs) = seen(&flux, "python demo_gr.py --name flux-dev --device cuda\n")?;
    assert_eq!((framework.as_str(), knobs[0].as_str()), ("flux", "--offload"));
    Ok(())
}

#[test]
fn crowded_pictures_are_matched_by_less() -> Outcome {
    let calls = [
        ("train.py", "train", "loss, loss_items = compute_loss_ota(pred, targets.to(device), imgs)"),
        ("/w/yolov7/utils/loss.py", "build_targets", "pair_wise_iou = box_iou(txyxy, pxyxys)"),
    ];
    let (framework, knobs) = seen(&calls, "python train.py --batch-size 24 --cfg cfg/training/yolov7.yaml\n")?;
    assert_eq!(framework, "yolov7");
    assert_eq!(knobs[..2], ["loss_ota", "--batch-size"]);
    // In the network the matching is no matter.
    let calls = [("/w/yolov7/models/common.py", "forward", "return self.act(self.bn(self.conv(x)))")];
    let (_, knobs) = seen(&calls, "python train.py --batch-size 24 --cfg cfg/training/yolov7.yaml\n")?;
    assert!(!knobs.iter().any(|knob| knob == "loss_ota"), "{knobs:?}");
    Ok(())
}

#[test]
fn a_song_is_cut_only_where_sound_is_made() -> Outcome {
    let made = [
        ("inference_main.py", "main", "audio = svc_model.slice_inference(**kwarg)"),
        (
            "/w/so-vits-svc/inference/infer_tool.py",
            "slice_inference",
            "out_audio, out_sr, out_frame = self.infer(spk, tran, raw_path)",
        ),
    ];
    let (_, knobs) = seen(&made, "python inference_main.py -m G_9000.pth -n song.wav\n")?;
    assert_eq!(knobs[0], "--clip");
    let learnt = [
        ("/w/so-vits-svc/train.py", "train_and_evaluate", "y_hat, ids_slice, z_mask = net_g(c, f0, uv, spec)"),
        ("/w/so-vits-svc/models.py", "forward", "o = self.dec(z_slice, g=g, f0=pitch_slice)"),
    ];
    let (framework, knobs) = seen(&learnt, "python train.py -c configs/config.json -m 44k\n")?;
    assert_eq!((framework.as_str(), knobs[0].as_str()), ("vits", "train.batch_size"));
    assert!(!knobs.iter().any(|knob| knob == "--clip" || knob == "only batches on the GPU"), "{knobs:?}");
    Ok(())
}

#[test]
fn the_option_that_a_program_names_leads() -> Outcome {
    let log = format!(
        "{}{}\nNot enough memory for this volume: use the --low-memory flag\n",
        stack(&[("/w/segment_volume.py", "run", "out = self.net(volume)")]),
        refused("2.21 GiB", 23.65)
    );
    let end = report(&[("job.log", &log)])?;
    let first = root(&end)?.diagnoses.first().and_then(|cause| cause.patches.first()).ok_or("no change")?;
    assert_eq!(first.to.as_ref().map(ToString::to_string).as_deref(), Some("--low-memory"), "{first:?}");
    Ok(())
}
