//! `ratchet-bench`: the cost of recording, reading, scoring, running experiments and relaying, compared with the best
//! possible.
//!
//! It measures a `ratchet serve` process over HTTP, the stages of recording in this process, and
//! with `--peer` any other OTLP/HTTP server under the same load.

mod args;
/// Texts that resemble agents' output.
mod text;
/// Pre-encoded spans.
mod template;
/// An endless stream of request bodies.
mod stream;
/// One connection.
mod client;
mod clock;
mod sample;
mod scratch;
mod child;
mod record;
mod split;
/// Folders with millions of observations.
mod fill;
mod reads;
mod pages;
mod score;
/// Clustering of failures.
mod cluster;
/// Recording while evaluators run.
mod evaluate;
mod chat;
mod experiment;
/// Decompression bombs, and a very long trace.
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
