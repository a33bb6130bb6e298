//! Fuzzing on the stable toolchain: a mutator that knows JSON and protobuf, over hand-written
//! seeds.
//!
//! There is no coverage feedback, so the target summarizes each input as text, and an input with a
//! new summary becomes a seed itself.
//!
//! A stack overflow ends the process before the input can be printed: run again with the same
//! `RATCHET_SEED` and with `RATCHET_FUZZ_KEEP=FILE`, and the file has it.

mod bytes;
mod json;
mod protobuf;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::say;
use crate::seeded_random::SeededRandom;

/// A decoder under test.
#[derive(Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    /// Format of its inputs.
    pub shape: Shape,
    /// Texts that have a meaning for it.
    pub dictionary: &'static [&'static str],
    /// Decodes an input and summarizes the result. Must never panic.
    pub read: fn(&[u8]) -> String,
}

/// Format of a target's inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Json,
    Protobuf,
    Bytes,
}

/// Time after which an input counts as a hang.
const HANG: Duration = Duration::from_secs(20);
/// Maximum input size: a decoder's memory must stay in proportion.
const MAX_INPUT: usize = 16 * 1024;
/// Maximum growth of the process during a run.
const MAX_GROWTH_KB: u64 = 200 * 1024;
const MAX_SEEDS: usize = 2_000;

/// Fuzzes a target for some time and prints inputs per second.
///
/// Fails on the first input that panics or hangs, or when memory grows out of proportion.
#[track_caller]
pub fn run(target: Target, seeds: &[&[u8]], time: Duration) {
    assert!(!seeds.is_empty(), "{}: no seeds", target.name);
    let mut chance = SeededRandom::from_environment(target.name);
    let mut corpus: Vec<Vec<u8>> = seeds.iter().map(|seed| seed.to_vec()).collect();
    let mut heard = BTreeSet::new();
    let before = peak_memory_kb();
    let watch = Watch::new();
    let executions = std::thread::scope(|scope| {
        scope.spawn(|| watch.stand(target.name));
        let started = Instant::now();
        let mut executions = 0_u64;
        for seed in seeds {
            heard.insert(read(target, seed, &watch));
        }
        while started.elapsed() < time {
            let input = mutated(target, &corpus, &mut chance);
            let words = read(target, &input, &watch);
            executions += 1;
            if corpus.len() < MAX_SEEDS && heard.insert(words) {
                corpus.push(input);
            }
        }
        watch.is_done.store(true, Ordering::SeqCst);
        executions
    });
    let rate = executions as f64 / time.as_secs_f64();
    let growth = peak_memory_kb().saturating_sub(before);
    let (name, from, to) = (target.name, seeds.len(), corpus.len());
    say(&format!(
        "fuzz {name}: {executions} inputs, {rate:.0}/s, {from} seeds grew to {to}, {growth} kB"
    ));
    assert!(growth < MAX_GROWTH_KB, "{}: took {growth} kB", target.name);
}

#[track_caller]
fn read(target: Target, input: &[u8], watch: &Watch) -> String {
    watch.executions.fetch_add(1, Ordering::SeqCst);
    if let Some(file) = &watch.keep {
        std::fs::write(file, input).unwrap();
    }
    let words = catch_unwind(AssertUnwindSafe(|| (target.read)(input)));
    let Ok(words) = words else {
        watch.is_done.store(true, Ordering::SeqCst);
        panic!("{} panics on {}", target.name, shown(input));
    };
    // Numbers and quoted texts differ from input to input; the text around them does not.
    words.chars().filter(|c| !c.is_ascii_digit()).take(120).collect()
}

/// An input as a Rust literal, ready to become a test.
fn shown(input: &[u8]) -> String {
    format!("b\"{}\" ({} bytes)", input.escape_ascii(), input.len())
}

fn mutated(target: Target, corpus: &[Vec<u8>], chance: &mut SeededRandom) -> Vec<u8> {
    let mut input = chance.pick(corpus).clone();
    for _ in 0..=chance.below(3) {
        let by_shape = match target.shape {
            Shape::Json if !chance.once_in(5) => json::mutate(&input, target.dictionary, chance),
            Shape::Protobuf if !chance.once_in(5) => protobuf::mutate(&input, chance),
            Shape::Json | Shape::Protobuf | Shape::Bytes => None,
        };
        let changed = by_shape.unwrap_or_else(|| {
            let other = chance.pick(corpus);
            bytes::mutate(&input, other, target.dictionary, chance)
        });
        // Repeated duplication would soon take more memory than any target.
        if changed.len() <= MAX_INPUT {
            input = changed;
        }
    }
    input.shrink_to_fit();
    input
}

/// Detects hangs.
#[derive(Default)]
struct Watch {
    executions: AtomicU64,
    is_done: AtomicBool,
    keep: Option<OsString>,
}

impl Watch {
    fn new() -> Self {
        Self { keep: std::env::var_os("RATCHET_FUZZ_KEEP"), ..Self::default() }
    }

    /// Checks periodically for progress; a hanging target ends the process, since nothing else
    /// could.
    fn stand(&self, name: &str) {
        let (mut last, mut since) = (u64::MAX, Instant::now());
        while !self.is_done.load(Ordering::SeqCst) {
            std::thread::park_timeout(Duration::from_millis(20));
            let now = self.executions.load(Ordering::SeqCst);
            if now != last {
                (last, since) = (now, Instant::now());
            }
            if since.elapsed() > HANG {
                eprintln!("{name} does not come back from input {now}");
                std::process::exit(101);
            }
        }
    }
}

/// Peak memory of this process in kilobytes; zero where unknown.
fn peak_memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
