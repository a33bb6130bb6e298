//! Serves a scripted model for checks that are not written in Rust, until its stdin is closed.
//!
//! It prints its address first. `POST /script` with `{"replies": […]}` gives it something to say,
//! `GET /requests` tells what it was asked.

use std::io::{self, Read, Write};

use ratchet_testkit::scripted::ScriptedModel;

fn main() -> io::Result<()> {
    let model = ScriptedModel::start()?;
    io::stdout().lock().write_all(format!("{}\n", model.url()).as_bytes())?;
    io::stdin().lock().read_to_end(&mut Vec::new())?;
    Ok(())
}
