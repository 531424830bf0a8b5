//! Which process was refused memory or killed, where the message itself does not say it.

use std::error::Error;
use std::io::Cursor;

use oomdoc::Options;
use oomdoc::internal::analyze_inputs;
use oomdoc::internal::source::Input;
use oomdoc::model::Victim;

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
fn one_line_that_names_the_device_and_one_that_names_the_writer_are_of_one_process() -> Result<(), Box<dyn Error>> {
    let allocator = "2026-03-01 10:00:00.112900: W external/xla/xla/tsl/framework/bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of memory trying to allocate 68.21GiB (rounded to 73239912448)requested by op\n";
    let client = "E0301 10:00:00.113390   81 pjrt_stream_executor_client.cc:3045] Execution of replica 0 failed: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 73239912192 bytes.\n";
    let both = victim(&format!("{allocator}{client}"))?;
    assert_eq!((both.device, both.pid), (Some(0), Some(81)));
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

#[test]
fn the_only_process_that_a_launcher_saw_fail_ran_out_on_the_device_of_its_local_rank() -> Result<(), Box<dyn Error>> {
    let failed = |rank: u32, pid: u32| {
        format!(
            "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: {rank} (pid: {pid}) of binary: /usr/bin/python3\n"
        )
    };
    let failure = "RuntimeError: CUDA out of memory. Tried to allocate 136.00 MiB (GPU 2; 22.20 GiB total capacity; 21.35 GiB already allocated; 64.12 MiB free; 21.52 GiB reserved in total by PyTorch)\n";
    let own = victim(&format!("{failure}{}", failed(2, 4711)))?;
    assert_eq!((own.device, own.rank, own.pid), (Some(2), Some(2), Some(4711)));
    let anothers = victim(&format!("{failure}{}", failed(0, 4711)))?;
    assert_eq!((anothers.device, anothers.rank, anothers.pid), (Some(2), None, None));
    let two = victim(&format!("{failure}{}{}", failed(2, 4711), failed(3, 4712)))?;
    assert_eq!((two.rank, two.pid), (None, None));
    Ok(())
}

#[test]
fn a_worker_that_loads_data_is_of_the_rank_that_misses_it() -> Result<(), Box<dyn Error>> {
    let killed = "[rank3]: RuntimeError: DataLoader worker (pid 9382) is killed by signal: Killed. \n";
    let worker = victim(killed)?;
    assert_eq!((worker.rank, worker.pid), (Some(3), Some(9382)));
    Ok(())
}

#[test]
fn holders_of_two_devices_are_not_added_up_and_a_process_is_not_its_own_neighbour() -> Result<(), Box<dyn Error>> {
    let torch = |rank: u32, holder: u32, allocated: &str| {
        format!(
            "[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU {rank} has a total capacity of 79.15 GiB of which 1.10 GiB is free. Process {holder} has 70.00 GiB memory in use. Process {own} has 8.00 GiB memory in use. Of the allocated memory {allocated} GiB is allocated by PyTorch, and 200.00 MiB is reserved by PyTorch but unallocated.\n",
            own = holder + 1,
        )
    };
    let actors = "(RolloutWorker pid=28422) ready\n(Trainer pid=28423) ready\n";
    let log = format!("{actors}{}{}", torch(0, 28422, "7.20"), torch(1, 30001, "7.20"));
    let input = Input::new("job.log", Cursor::new(log.into_bytes()))?;
    let examined = oomdoc::internal::examine_inputs(vec![input], &Options::default())?.ok_or("no incident")?;
    let gib = |name: &str| examined.facts.number(name).map(|bytes| bytes / f64::from(1 << 30));
    assert_eq!(gib("consumers.own").zip(gib("consumers.sum")), Some((70.0, 78.0)));
    assert_eq!(examined.found.incident.consumers.len(), 2);
    Ok(())
}

#[test]
fn a_process_that_does_not_find_itself_on_its_device_has_no_neighbours_there() -> Result<(), Box<dyn Error>> {
    let log = "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 1 has a total capacity of 23.43 GiB of which 310.06 MiB is free. Including non-PyTorch memory, this process has 0 bytes memory in use. Of the allocated memory 22.31 GiB is allocated by PyTorch, and 198.12 MiB is reserved by PyTorch but unallocated.\n";
    let input = Input::new("job.log", Cursor::new(log.as_bytes().to_vec()))?;
    let report = analyze_inputs(vec![input], Vec::new(), &Options::default())?;
    let incident = report.incidents.first().ok_or("no incident")?;
    let shared = incident.diagnoses.iter().find(|diagnosis| &*diagnosis.cause == "gpu_shared_with_others");
    assert!(shared.is_none_or(|diagnosis| diagnosis.confidence < 0.2), "{shared:?}");
    Ok(())
}

#[test]
fn the_only_process_whose_lines_name_it_is_the_one_that_failed_without_a_prefix() -> Result<(), Box<dyn Error>> {
    let line = |pid: u32, rank: u32| {
        format!(
            "[2026-03-01 10:00:00,000] [INFO] [axolotl.train.train:95] [PID:{pid}] [RANK:{rank}] Using Auto-resume functionality to start with checkpoint at ./out/checkpoint-80\n"
        )
    };
    let failure = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 32.00 MiB. GPU 0 has a total capacity of 23.50 GiB of which 20.50 MiB is free.\n";
    let one = victim(&format!("{}{failure}", line(641, 0)))?;
    assert_eq!((one.pid, one.rank, one.device), (Some(641), Some(0), Some(0)));
    let of_two = victim(&format!("{}{}{failure}", line(641, 0), line(642, 1)))?;
    assert_eq!((of_two.pid, of_two.rank), (None, None));
    let elsewhere = victim(&format!("{}{failure}", line(641, 3)))?;
    assert_eq!((elsewhere.pid, elsewhere.rank), (None, None));
    Ok(())
}
