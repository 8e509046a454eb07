//! One run of the checker in a process of its own, with a limit on its address space and its time, measured.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::resources::stage::Stage;

/// What a file may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Processor time; the process is ended after twice as long, or after twenty times as long by the clock.
    pub time: Duration,
    /// Bytes of memory in use at any time.
    pub memory: u64,
    /// Bytes of address space: more cannot be asked for.
    pub space: u64,
}

/// What a file took.
#[derive(Clone, Debug)]
pub struct Cost {
    /// Processor time.
    pub time: Duration,
    /// The most bytes of memory in use.
    pub memory: u64,
    /// The exit code; none if the process was ended.
    pub code: Option<i32>,
    /// Did it end otherwise than the commands do?
    pub crashed: bool,
}

impl Cost {
    /// What is more than allowed, in words.
    pub fn beyond(&self, limits: Limits) -> Option<String> {
        let (time, memory) = (self.time.as_secs_f64(), self.memory >> 20);
        if self.crashed {
            return Some(format!("ends with {:?} after {time:.1} s and {memory} MB", self.code));
        }
        let beyond = self.time > limits.time || self.memory > limits.memory;
        beyond.then(|| format!("takes {time:.1} s and {memory} MB"))
    }
}

/// Shows a file to the program.
///
/// # Errors
/// If the program cannot be started.
pub fn run(program: &Path, stage: &Stage, proofs: &Path, exact: bool, limits: Limits) -> Result<Cost, String> {
    let start = Instant::now();
    let kilobytes = limits.space >> 10;
    let mut command = Command::new("sh");
    // `ulimit` is the shell's; the program takes its place.
    command.args(["-c", &format!("ulimit -v {kilobytes}; ulimit -c 0; exec \"$@\""), "sh"]);
    command.arg(program).args([&stage.graph, &stage.model]).arg(proofs);
    if exact {
        command.arg("--exact");
    }
    command.env("RAYON_NUM_THREADS", "2").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let status = format!("/proc/{}/status", child.id());
    let stat = format!("/proc/{}/stat", child.id());
    let (mut memory, mut time) = (0, Duration::ZERO);
    loop {
        // The peak and the time so far: the kernel keeps both, so that looking now and then is enough.
        memory = memory.max(peak(&status).unwrap_or(0));
        time = time.max(used(&stat).unwrap_or(Duration::ZERO));
        if let Some(ended) = child.try_wait().map_err(|error| error.to_string())? {
            let code = ended.code();
            let crashed = !matches!(code, Some(0..=4));
            return Ok(Cost { time, memory, code, crashed });
        }
        if time > limits.time * 2 || start.elapsed() > limits.time * 20 {
            let _ = child.kill();
            let _ = child.wait();
            return Ok(Cost { time: time.max(limits.time * 2), memory, code: None, crashed: false });
        }
        std::thread::sleep(Duration::from_millis(if start.elapsed().as_millis() < 200 { 1 } else { 10 }));
    }
}

/// The largest resident size of a process so far, in bytes.
fn peak(status: &str) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kilobytes << 10)
}

/// The processor time of a process so far; Linux counts it in hundredths of a second.
fn used(stat: &str) -> Option<Duration> {
    let text = std::fs::read_to_string(stat).ok()?;
    // The name of the program is in parentheses and may hold anything.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}
