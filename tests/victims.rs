//! Who was refused or killed, where the message itself does not say it.

use std::error::Error;
use std::io::Cursor;

use oomdoc::model::Victim;
use oomdoc::source::Input;
use oomdoc::{Options, analyze_inputs};

fn victim(log: &str) -> Result<Victim, Box<dyn Error>> {
    let input = Input::new("job.log", Cursor::new(log.as_bytes().to_vec()))?;
    let report = analyze_inputs(vec![input], Vec::new(), &Options::default())?;
    Ok(report.incidents.into_iter().next().ok_or("no incident")?.victim)
}

#[test]
fn the_only_device_of_which_a_log_speaks_is_the_one_that_ran_out() -> Result<(), Box<dyn Error>> {
    let failure = "RuntimeError: CUDA out of memory.\n";
    assert_eq!(victim(&format!("Use GPU: 2 for training\nepoch 1\n{failure}"))?.device, Some(2));
    let two = format!("Use GPU: 2 for training\nUse GPU: 3 for training\n{failure}");
    assert_eq!(victim(&two)?.device, None);
    Ok(())
}

#[test]
fn a_message_without_a_name_is_of_the_only_process_that_died() -> Result<(), Box<dyn Error>> {
    let failure = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n";
    let death = |rank: u32, pid: u32| {
        format!("mpirun noticed that process rank {rank} with PID {pid} on node node1 exited on signal 6 (Aborted).\n")
    };
    let lone = victim(&format!("{failure}{}", death(3, 4711)))?;
    assert_eq!((lone.rank, lone.pid), (Some(3), Some(4711)));
    let several = victim(&format!("{failure}{}{}", death(3, 4711), death(4, 4712)))?;
    assert_eq!((several.rank, several.pid), (None, None));
    Ok(())
}
