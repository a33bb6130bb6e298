//! Every page, as a browser gets it.
#![expect(clippy::unwrap_used, reason = "a broken expectation must stop the test")]

/// The pages over a throw-away folder.
mod site;
/// One trace.
mod trace;
