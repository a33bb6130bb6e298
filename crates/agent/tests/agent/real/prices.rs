use std::collections::BTreeSet;
use std::process::Command;

use ratchet_core::record::price::PriceTable;
use ratchet_core::time::Timestamp;
use ratchet_testkit::claude;

/// A quoted model id in the program: a family and a version in either order, then optionally a
/// date, a revision and the suffix of a wider context window.
const MODEL_ID: &str = r#""([a-z]+[.])?(anthropic[.])?claude-([a-z]+-[0-9]{1,2}(-[0-9]{1,2})?|[0-9](-[0-9])?-[a-z]+)((-v[0-9])?[-@][0-9]{8})?(-v[0-9](:[0-9])?)?([[]1m[]])?""#;

/// Ids that must be found: a pattern without matches proves nothing.
const KNOWN: [&str; 4] =
    ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "us.anthropic.claude-opus-5"];

#[test]
fn every_model_that_the_program_lists_has_a_price() {
    // The program is one file of several hundred megabytes: grep reads it in half a second.
    let found = Command::new("grep")
        .args(["-a", "-o", "-E", MODEL_ID])
        .arg(claude::real())
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    let models: BTreeSet<&str> = found.lines().map(|quoted| quoted.trim_matches('"')).collect();
    for known in KNOWN {
        assert!(models.contains(known), "{known} is not among {models:?}");
    }
    let prices = PriceTable::builtin();
    let unknown: Vec<&&str> = models
        .iter()
        .filter(|model| prices.list_price(model, Timestamp::default()).is_none())
        .collect();
    assert!(
        unknown.is_empty(),
        "prices/models.toml has no price for {unknown:?}, which Claude Code lists"
    );
}
