//! An evaluation that runs out is given a smaller batch of its own: what trains, and what it accumulates, stays as it is.

use std::error::Error;

use oomdoc::model::Phase;

use crate::support::analyzed::{added_lines, diff, patches, refused, report, root, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A stack within `call` of `/w/fit.py`, through a layer.
fn within(call: &str, function: &str) -> String {
    stack(&[("/w/fit.py", function, call), ("torch/nn/modules/conv.py", "_conv_forward", "return F.conv2d(")])
        + &refused("3.06 GiB", 23.64).replace("20.50 MiB is free", "1.10 GiB is free")
}

#[test]
fn the_loader_of_the_evaluation_is_turned_and_not_that_of_the_training() -> Outcome {
    let script = "BATCH = 32\ntrain_loader = DataLoader(Leaves(), batch_size=BATCH, shuffle=True)\nval_loader = DataLoader(Leaves(held_out=True), batch_size=BATCH * 8)\nfor x, y in train_loader:\n    loss = criterion(model(x.cuda()), y.cuda()) / args.accum_steps\n    loss.backward()\nwith torch.no_grad():\n    validate(model, val_loader)\n";
    let evaluated = report(&[("job.log", &within("logits = model(x.cuda())", "validate")), ("fit.py", script)])?;
    assert_eq!(root(&evaluated)?.phase.name, Phase::Evaluation);
    // What was refused is nearly three times what was free.
    let changed = diff(&evaluated)?;
    assert_eq!(
        added_lines(&changed),
        ["val_loader = DataLoader(Leaves(held_out=True), batch_size=128)"],
        "{:?}",
        patches(&evaluated)?
    );
    assert!(turned(&evaluated)?.iter().all(|knob| !knob.contains("accum") && *knob != "DataLoader.batch_size"));
    let trained = report(&[("job.log", &within("loss = model(x.cuda()).mean()", "main")), ("fit.py", script)])?;
    assert_eq!(turned(&trained)?[0], "DataLoader.batch_size");
    assert!(diff(&trained)?.contains("+train_loader"), "{}", diff(&trained)?);
    Ok(())
}

#[test]
fn hooks_of_a_data_module_say_which_loader_is_whose() -> Outcome {
    let script = "class Scans(L.LightningDataModule):\n    def train_dataloader(self):\n        return DataLoader(self.seen, batch_size=8, shuffle=True)\n\n    def val_dataloader(self):\n        return DataLoader(self.unseen, batch_size=96)\n\nL.Trainer(max_epochs=5, accumulate_grad_batches=4).fit(Net(), Scans())\n";
    let log = format!(
        "Sanity Checking DataLoader 0:   0%|          | 0/2 [00:00<?, ?it/s]\n{}{}",
        stack(&[
            ("lightning/pytorch/loops/evaluation_loop.py", "_evaluation_step", "output = call._call_strategy_hook("),
            ("/w/fit.py", "validation_step", "self.log(\"val_loss\", self.net(x).mean())"),
            ("torch/nn/modules/conv.py", "_conv_forward", "return F.conv2d("),
        ]),
        refused("1.50 GiB", 15.57).replace("20.50 MiB is free", "1.21 GiB is free")
    );
    let end = report(&[("job.log", &log), ("fit.py", script)])?;
    assert_eq!(added_lines(&diff(&end)?), ["return DataLoader(self.unseen, batch_size=48)"]);
    Ok(())
}

#[test]
fn keras_has_a_batch_for_the_validation() -> Outcome {
    let call = "net.fit(frames, epochs=3, batch_size=32, validation_data=(xv, yv), validation_batch_size=512)";
    let log = stack(&[
        ("/w/fit.py", "<module>", call),
        ("keras/src/backend/tensorflow/trainer.py", "fit", "val_logs = self.evaluate("),
        ("keras/src/backend/tensorflow/trainer.py", "evaluate", "logs = self.test_function(iterator)"),
    ]) + "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:\nOOM when allocating tensor with shape[512,64,112,112] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n";
    let end = report(&[("job.log", &log), ("fit.py", &format!("{call}\n"))])?;
    assert!(diff(&end)?.contains("validation_batch_size=256)"), "{}", diff(&end)?);
    assert!(!turned(&end)?.contains(&"tf.recompute_grad()"), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn a_batch_that_trains_and_evaluates_keeps_what_a_step_learns_from() -> Outcome {
    let launch = "python fit.py --batch_size 64 --gradient_accumulation_steps 2\n";
    let end = report(&[("job.log", &within("logits = model(x.cuda())", "evaluate")), ("run.sh", launch)])?;
    let first = &patches(&end)?[0];
    assert_eq!((&*first.knob, first.with.len()), ("--batch_size", 1), "{first:?}");
    Ok(())
}
