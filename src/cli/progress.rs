use std::io::{self, IsTerminal as _};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::source::Elsewhere;
use crate::watch::Watch;

/// Analyses that end sooner show no progress.
const PATIENCE: Duration = Duration::from_secs(1);
/// The interval between updates.
const TICK: Duration = Duration::from_millis(100);
/// The exit status of a process that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Shows an analysis' progress on a terminal and lets Ctrl-C end its reading, so that what was read is reported. A
/// second Ctrl-C ends the process.
pub(super) struct Progress {
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Whether a bar is on the terminal, or about to be.
    is_shown: Arc<AtomicBool>,
}

impl Progress {
    /// Watches an analysis of `paths`, whose addresses `elsewhere` opens.
    pub fn of(watch: &Arc<Watch>, paths: &[String], elsewhere: Option<Arc<dyn Elsewhere>>) -> Progress {
        let (done, is_done) = channel();
        let (watch, paths) = (Arc::clone(watch), paths.to_vec());
        let total = move || total(&paths, elsewhere.as_deref());
        let is_shown = Arc::new(AtomicBool::new(false));
        let shows = Arc::clone(&is_shown);
        let thread = thread::spawn(move || follow(&watch, total, &is_done, &shows));
        Progress { done: Some(done), thread: Some(thread), is_shown }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.done.take());
        // Most analyses end before there is a bar to take away, and waiting for a thread takes longer than some of them.
        let thread = self.thread.take().filter(|_| self.is_shown.load(Ordering::SeqCst));
        if let Some(thread) = thread {
            // A panic of this thread does not affect the report.
            let _ = thread.join();
        }
    }
}

fn follow(watch: &Arc<Watch>, total: impl Fn() -> Option<u64>, is_done: &Receiver<()>, shows: &AtomicBool) {
    // Until then Ctrl-C ends the process: there is nothing to report.
    if wait(is_done, TICK) {
        return;
    }
    let stopping = Arc::clone(watch);
    // If this fails, Ctrl-C ends the process.
    let _ = ctrlc::set_handler(move || {
        if stopping.stop() {
            process::exit(INTERRUPTED);
        }
    });
    if wait(is_done, PATIENCE) || !io::stderr().is_terminal() {
        return;
    }
    shows.store(true, Ordering::SeqCst);
    // The analysis may have ended before that was said, and nobody waits then.
    if wait(is_done, Duration::ZERO) {
        return;
    }
    let bar = bar(total());
    loop {
        // The size of an object at an address is known only after its first response.
        if let Some(total) = bar.length().is_none().then(&total).flatten() {
            bar.set_length(total);
            bar.set_style(style(Some(total)));
        }
        bar.set_position(watch.bytes_read());
        bar.set_message(match watch.shortages() {
            0 => "no shortage of memory found so far".to_owned(),
            found => format!("shortages of memory found so far: {found}"),
        });
        if wait(is_done, TICK) {
            bar.finish_and_clear();
            return;
        }
    }
}

/// Whether the analysis was done within `time`.
fn wait(is_done: &Receiver<()>, time: Duration) -> bool {
    is_done.recv_timeout(time) != Err(RecvTimeoutError::Timeout)
}

fn bar(total: Option<u64>) -> ProgressBar {
    ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr()).with_style(style(total))
}

fn style(total: Option<u64>) -> ProgressStyle {
    let template = match total {
        Some(_) => "{bar:20} {binary_bytes} of {binary_total_bytes} · {binary_bytes_per_sec} · {eta} left · {msg}",
        None => "{spinner} {binary_bytes} · {binary_bytes_per_sec} · {msg}",
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// The size of all inputs in bytes; `None` if it is not known (yet).
fn total(paths: &[String], elsewhere: Option<&dyn Elsewhere>) -> Option<u64> {
    let is_here = |path: &&String| !elsewhere.is_some_and(|elsewhere| elsewhere.holds(path));
    let here: Vec<String> = paths.iter().filter(is_here).cloned().collect();
    let (files, _) = crate::source::walk(&here);
    let size = |file: &String| std::fs::metadata(file).ok().filter(|data| data.is_file()).map(|data| data.len());
    let of_files: Option<u64> = files.iter().map(size).sum();
    Some(of_files? + elsewhere.map_or(Some(0), |elsewhere| elsewhere.size())?)
}
