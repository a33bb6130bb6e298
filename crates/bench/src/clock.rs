//! CPU time of this thread, this process and other processes.

use std::time::Duration;

use anyhow::Context;
use rustix::time::{ClockId, clock_gettime};

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// CPU time of this process, all threads together.
pub(crate) fn own_cpu() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// The current time on a clock that all processes of this machine share.
pub(crate) fn moment() -> Duration {
    read(ClockId::Monotonic)
}

fn read(clock: ClockId) -> Duration {
    let spent = clock_gettime(clock);
    let seconds = u64::try_from(spent.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(spent.tv_nsec).unwrap_or(0))
}

/// CPU time of a process and its descendants: Python servers often have several.
///
/// # Errors
/// Fails if there is no such process.
pub(crate) fn cpu_of(pid: u32) -> anyhow::Result<Duration> {
    let family = family(pid)?;
    let times = family.iter().filter_map(|pid| ticks(*pid));
    Ok(in_ticks(times.sum()))
}

/// CPU time of a process alone, and of its reaped children.
///
/// # Errors
/// Fails if there is no such process.
pub(crate) fn cpu_alone(pid: u32) -> anyhow::Result<Duration> {
    let ticks = ticks(pid).with_context(|| format!("process {pid} is gone"))?;
    Ok(in_ticks(ticks))
}

fn in_ticks(ticks: u64) -> Duration {
    let per_second = rustix::param::clock_ticks_per_second();
    Duration::from_nanos(ticks.saturating_mul(1_000_000_000 / per_second.max(1)))
}

/// Resident memory of a process in bytes.
///
/// # Errors
/// Fails if there is no such process.
pub(crate) fn memory_of(pid: u32) -> anyhow::Result<u64> {
    status(pid, "VmRSS")
}

/// Peak resident memory of a process in bytes.
///
/// # Errors
/// Fails if there is no such process.
pub(crate) fn peak_memory_of(pid: u32) -> anyhow::Result<u64> {
    status(pid, "VmHWM")
}

/// A memory value in `/proc/PID/status`, in bytes.
fn status(pid: u32, name: &str) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))
        .with_context(|| format!("process {pid} is gone"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    Ok(kilobytes.with_context(|| format!("no {name}: is this Linux?"))? * 1_024)
}

fn family(root: u32) -> anyhow::Result<Vec<u32>> {
    let mut family = vec![root];
    let processes: Vec<(u32, u32)> = std::fs::read_dir("/proc")
        .context("cannot read /proc: the bench needs Linux")?
        .filter_map(|entry| {
            let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            Some((pid, parent(pid)?))
        })
        .collect();
    let mut looked_at = 0;
    while let Some(pid) = family.get(looked_at).copied() {
        looked_at += 1;
        let children = processes.iter().filter(|(_, parent)| *parent == pid);
        family.extend(children.map(|(child, _)| *child));
    }
    Ok(family)
}

/// The fields of `/proc/PID/stat` after the name, which may contain anything.
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = text.rsplit_once(')')?;
    Some(after_name.split_whitespace().map(str::to_owned).collect())
}

fn parent(pid: u32) -> Option<u32> {
    stat(pid)?.get(1)?.parse().ok()
}

/// User and system time in clock ticks, including reaped children.
fn ticks(pid: u32) -> Option<u64> {
    let fields = stat(pid)?;
    let times = fields.get(11..15)?.iter().filter_map(|field| field.parse::<u64>().ok());
    Some(times.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_cpu_time() {
        let before = (thread_cpu(), own_cpu());
        let sum = (0..3_000_000u64).fold(0, |sum: u64, n| sum.wrapping_mul(31).wrapping_add(n));
        assert_ne!(sum, 1);
        assert!(thread_cpu() > before.0 && own_cpu() > before.1);
    }

    #[test]
    fn this_process_can_be_looked_at() {
        let pid = std::process::id();
        assert!(memory_of(pid).unwrap() > 100_000);
        assert!(peak_memory_of(pid).unwrap() > 100_000);
        assert!(cpu_of(pid).unwrap() >= cpu_alone(pid).unwrap());
        assert!(memory_of(u32::MAX).is_err());
    }
}
