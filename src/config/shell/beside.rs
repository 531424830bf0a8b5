//! A program that the script starts in the background on devices that its main command would use, too: `CUDA_VISIBLE_DEVICES=0 serve … &` above
//! a launcher of as many processes as the machine has devices.

use std::collections::HashSet;

use super::arguments::Form;
use super::script::{Assignment, Call, Role, Script};
use super::{CommandLine, EntryKind, FoundSetting, Origin, Value, tail};
use crate::knowledge::{Launchers, is_among};

/// More devices than a machine has.
const MOST_DEVICES: usize = 64;
/// The name of the setting that lists the devices of the main command.
const OWN: &str = "devices of the main command";
/// The name of the setting that lists those of them that no other command has.
const LEFT: &str = "devices left to the main command";

/// How the main command is given its devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Beside {
    /// The variable that lists devices.
    pub variable: String,
    /// Where the main command begins.
    pub start: usize,
    /// The command and the argument that say how many processes there are, one for each device.
    pub count: (usize, usize),
}

/// The settings that say which devices the main command has, and which of them are left to it; none if no other command is given devices,
/// or if the main command has a list of its own that leaves those out.
pub(super) fn settings(
    text: &str,
    script: &Script,
    commands: &[CommandLine],
    main: Option<usize>,
) -> Vec<(usize, FoundSetting, Origin)> {
    found(text, script, commands, main).unwrap_or_default()
}

fn found(
    text: &str,
    script: &Script,
    commands: &[CommandLine],
    main: Option<usize>,
) -> Option<Vec<(usize, FoundSetting, Origin)>> {
    let number = commands.get(main?)?.call;
    let call = script.calls.get(number).filter(|call| call.within.is_none() && !is_background(text, call))?;
    let listed = |assignment: &Assignment| Some((assignment.name.clone(), devices(assignment)?));
    // What was waited for or ended before the main command begins is gone by then.
    let last_wait = last_wait(text.get(..call.span.start)?);
    let is_beside = |assignment: &&Assignment| (last_wait..call.span.start).contains(&assignment.span.start);
    let others = script.assignments.iter().filter(is_beside);
    let others = others.filter(|assignment| is_of_background(text, script, assignment)).take(MOST_DEVICES);
    let (names, others): (Vec<String>, Vec<Vec<u32>>) = others.filter_map(listed).unzip();
    let (variable, others): (String, HashSet<u32>) =
        (names.into_iter().next()?, others.into_iter().flatten().collect());
    let is_own = |assignment: &&Assignment| match assignment.role {
        Role::Prefix(of) => of == number,
        _ => assignment.span.start < call.span.start,
    };
    let own = script.assignments.iter().rev().filter(is_own).find_map(devices);
    let (count, argument) = processes(call, commands, number)?;
    let own = own.unwrap_or_else(|| (0..count).collect());
    let left: Vec<u32> = own.iter().copied().filter(|device| !others.contains(device)).collect();
    if left.is_empty() {
        return None;
    }
    let setting = |name: &str, devices: &[u32]| {
        let words: Vec<String> = devices.iter().map(u32::to_string).collect();
        let place = call.span.clone();
        let start = call.span.start;
        let found = FoundSetting::new(name, Value::Text(words.join(",")), EntryKind::Setting, place);
        let beside = Beside { variable: variable.clone(), start, count: argument };
        (start, found, Origin::Beside(Box::new(beside)))
    };
    Some(vec![setting(OWN, &own), setting(LEFT, &left)])
}

/// Whether a setting called `other` changes with the one called `key`: the number of processes with the devices that they have.
pub(in crate::config) fn changes_with(other: &str, key: &str) -> bool {
    key == OWN && (other == LEFT || is_count(other))
}

/// Whether an option of a launcher is a number of processes, one for each device.
fn is_count(option: &str) -> bool {
    is_among(&Launchers::shipped().programs.process_counts, &option.replace('-', "_"))
}

/// Whether `assignment` gives devices to a command that runs in the background, beside another main command.
pub(super) fn is_of_background(text: &str, script: &Script, assignment: &Assignment) -> bool {
    let Role::Prefix(of) = assignment.role else { return false };
    devices(assignment).is_some() && script.calls.get(of).is_some_and(|call| is_background(text, call))
}

/// Whether the script does not wait for `call`: the operator behind its redirections is `&`.
fn is_background(text: &str, call: &Call) -> bool {
    /// More than redirections take.
    const LONGEST: usize = 512;
    let rest = text.as_bytes().get(call.span.end..).unwrap_or_default();
    let ends = |at: &usize| match rest[*at] {
        b'\n' | b';' | b'|' => true,
        b'&' => !at.checked_sub(1).is_some_and(|before| matches!(rest[before], b'>' | b'<')),
        _ => false,
    };
    let end = (0..rest.len().min(LONGEST)).find(ends);
    end.is_some_and(|at| rest[at] == b'&' && rest.get(at + 1) != Some(&b'&') && rest.get(at + 1) != Some(&b'>'))
}

/// Where, in the `text` before a command, what runs in the background was last waited for or ended.
fn last_wait(text: &str) -> usize {
    const WORDS: [&str; 4] = ["wait", "kill", "pkill", "killall"];
    let starts = text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    });
    let ends = |line: &str| {
        line.split([' ', ';', '\n']).find(|word| !word.is_empty()).is_some_and(|word| WORDS.contains(&word))
    };
    starts.filter(|(_, line)| ends(line)).map(|(start, _)| start).last().unwrap_or_default()
}

/// The devices that `assignment` lists by their numbers.
fn devices(assignment: &Assignment) -> Option<Vec<u32>> {
    let is_list = is_among(&Launchers::shipped().programs.device_variables, &assignment.name);
    let chunks = assignment.value.as_ref().filter(|_| is_list)?;
    let words: String = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    words.split(',').take(MOST_DEVICES).map(|device| device.trim().parse().ok()).collect()
}

/// How many processes the launcher among `commands` starts for the call with this number, and the argument that says so.
fn processes(call: &Call, commands: &[CommandLine], number: usize) -> Option<(u32, (usize, usize))> {
    let of_call = commands.iter().enumerate().filter(|(_, command)| command.call == number);
    let all = of_call.flat_map(|(at, command)| command.arguments.iter().enumerate().map(move |of| (at, of)));
    all.filter(|(_, (_, argument))| is_count(&argument.key)).find_map(|(command, (at, argument))| {
        let words = match argument.form {
            Form::Joined(from) => {
                tail(call.fields.get(argument.name)?, from).iter().map(|chunk| chunk.text.as_str()).collect()
            }
            Form::Spaced => call.fields.get(argument.values.clone().next()?)?.text(),
            Form::Override(_) | Form::Item(..) => return None,
        };
        let count: u32 = words.parse().ok().filter(|count| (2..=MOST_DEVICES as u32).contains(count))?;
        Some((count, (command, at)))
    })
}

#[cfg(test)]
mod tests {
    use crate::config::{Document, EntryKind, Value};

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    const SCRIPT: &str = "#!/bin/bash\nCUDA_VISIBLE_DEVICES=0 serve --port 8000 > serve.log 2>&1 &\nsleep 60\ntorchrun --nproc_per_node 4 \\\n    train.py --lr 1e-5\n";

    #[test]
    fn the_main_command_gets_the_devices_that_are_left() -> Outcome {
        let document = Document::read("run.sh", SCRIPT)?;
        let value = |document: &Document, key| document.get(key).map(|entry| entry.value.to_string());
        assert_eq!(value(&document, super::OWN).as_deref(), Some("0,1,2,3"));
        assert_eq!(value(&document, super::LEFT).as_deref(), Some("1,2,3"));
        // What another command has is no setting of the job.
        assert_eq!(value(&document, "CUDA_VISIBLE_DEVICES"), None);
        let set = document.set_as(EntryKind::Setting, None, super::OWN, &Value::Text("1,2,3".to_owned()))?;
        assert!(set.contains("\nCUDA_VISIBLE_DEVICES=1,2,3 torchrun --nproc_per_node 3 \\\n"), "{set}");
        let again = Document::read("run.sh", &set)?;
        assert_eq!(value(&again, super::OWN), value(&again, super::LEFT));
        Ok(())
    }

    #[test]
    fn what_the_script_waits_for_shares_nothing() -> Outcome {
        for script in [
            SCRIPT.replace(" 2>&1 &", ""),
            SCRIPT.replace("CUDA_VISIBLE_DEVICES=0 ", ""),
            SCRIPT.replace("sleep 60", "wait"),
            SCRIPT.replace("--nproc_per_node 4", "--nproc_per_node $N"),
        ] {
            let document = Document::read("run.sh", &script)?;
            assert!(document.get(super::OWN).is_none(), "{script}");
        }
        Ok(())
    }
}
