//! `ratchet-bench`: what recording, reading, scoring and relaying cost, next to what they could cost at best.
//!
//! It measures a `ratchet serve` of its own over HTTP, the steps of recording in this process, and
//! with `--peer` any other OTLP/HTTP server under the very same load.

mod args;
/// Texts that look like agents'.
mod text;
/// Spans, encoded once.
mod template;
/// Request bodies without end.
mod stream;
/// One connection.
mod client;
mod clock;
mod sample;
mod scratch;
mod child;
mod record;
mod split;
/// Millions of observations.
mod fill;
mod reads;
mod pages;
mod score;
mod chat;
/// Bodies that blow up, and a trace without end.
mod hold;
mod report;
mod run;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    if chat::is_wanted() {
        return code_for(chat::play());
    }
    let args = args::Args::parse();
    let outcome = run::run(&args).and_then(|report| {
        let text = if args.json { report.json()? } else { report.markdown() };
        Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
    });
    code_for(outcome)
}

fn code_for(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ratchet-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
