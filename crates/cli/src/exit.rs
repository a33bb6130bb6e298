use std::fmt;
use std::io;
use std::process::ExitCode;

/// How a command ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Success.
    Done,
    /// It looked, and what it found is bad.
    FoundBad,
    /// It looked, and cannot tell.
    Inconclusive,
    /// Stopped at its cost cap; the same command goes on.
    OverBudget,
    /// Stopped by a signal before it was done.
    Stopped(Signal),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Interrupt,
    Terminate,
}

impl Signal {
    /// What a shell reports for it.
    const fn code(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}

/// Flags that do not fit each other, where only the command itself can tell.
#[derive(Debug)]
pub(crate) struct WrongUsage(pub(crate) String);

impl fmt::Display for WrongUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongUsage {}

/// Returns the exit code, and prints an error with its causes to stderr.
///
/// 0 done, 1 failed, 2 wrong usage, 3 found something bad, 4 inconclusive, 5 stopped at its cost cap. A reader that went away
/// (`ratchet … | head`) is not an error.
pub(crate) fn code_for(outcome: anyhow::Result<Outcome>) -> ExitCode {
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::FoundBad) => ExitCode::from(3),
        Ok(Outcome::Inconclusive) => ExitCode::from(4),
        Ok(Outcome::OverBudget) => ExitCode::from(5),
        Ok(Outcome::Stopped(signal)) => ExitCode::from(signal.code()),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ratchet: {}", error_text(&error));
            if error.is::<WrongUsage>() { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

/// Exits at once after a second signal.
///
/// The code is what a shell reports for the signal itself. Nothing acknowledged is lost: it was on
/// disk before it was acknowledged.
pub(crate) fn at_once(signal: Signal) -> ! {
    std::process::exit(signal.code().into())
}

/// What happened, then each cause that adds something.
fn error_text(error: &anyhow::Error) -> String {
    let mut causes: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string();
        if !causes.iter().any(|earlier| earlier.contains(&text)) {
            causes.push(text);
        }
    }
    causes.join("\n  because: ")
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let is_pipe = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(is_pipe))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_names_each_cause_once() {
        let error = anyhow::anyhow!("the disk is full")
            .context("the disk is full")
            .context("cannot record");
        assert_eq!(error_text(&error), "cannot record\n  because: the disk is full");
    }

    #[test]
    fn a_reader_that_went_away_is_no_error() {
        let error =
            anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe)).context("cannot print");
        assert!(is_broken_pipe(&error));
    }
}
