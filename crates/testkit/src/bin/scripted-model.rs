//! Serves a scripted model for tests that are not written in Rust, until its stdin is closed.
//!
//! It prints its address first. `POST /script` with `{"replies": […]}` sets its replies, `GET
//! /requests` returns the requests it received.

use std::io::{self, Read, Write};

use ratchet_testkit::scripted::ScriptedModel;

fn main() -> io::Result<()> {
    let model = ScriptedModel::start()?;
    io::stdout().lock().write_all(format!("{}\n", model.url()).as_bytes())?;
    io::stdin().lock().read_to_end(&mut Vec::new())?;
    Ok(())
}
