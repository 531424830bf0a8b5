//! Gives a step of an image's build a variable: what the image's program gets, or what a host exports, does not reach it.

use crate::config::{Format, key_of_step};
use crate::knowledge::{Knob, Target};
use crate::launch::JobConfig;
use crate::model::{Edit, Given, Scalar};

/// The edit that gives the variable of `knob` to the step `step`, which failed, in the given file that has this step.
pub(super) fn edits(
    launch: &JobConfig<'_>,
    knob: &Knob,
    spelling: &str,
    to: &Scalar,
    step: Option<&str>,
) -> Option<Vec<Edit>> {
    let step = step.filter(|_| knob.target == Target::Env && !super::edit::is_open(to))?;
    let (name, value) = super::line::assigned(launch, spelling, to);
    launch.documents().iter().filter(|document| document.format() == Format::Ini).find_map(|document| {
        let edit = Edit {
            file: document.path().clone(),
            key: key_of_step(step, name),
            to: Scalar::Text(value.clone()),
            given: Given::Env,
            command: None,
        };
        super::edit::can_be_made(document, std::slice::from_ref(&edit)).then(|| vec![edit])
    })
}
