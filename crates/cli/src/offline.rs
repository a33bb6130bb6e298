//! The offline judge, by the user's own signals if they have any.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use ratchet_stages::score::judge::{Judge, OwnSignals};

/// Where a data folder holds them.
const FILE: &str = "offline/signals.toml";

/// The offline judge of a data folder: by `<data>/offline/signals.toml` where that is there.
pub(crate) fn judge(data: Option<&Path>) -> anyhow::Result<Judge> {
    let Some(file) = data.map(|data| data.join(FILE)).filter(|file| file.exists()) else {
        return Ok(Judge::Offline);
    };
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read {}", file.display()))?;
    let own =
        OwnSignals::parse(&text).with_context(|| format!("{} is not valid", file.display()))?;
    Ok(Judge::OwnSignals(Arc::new(own)))
}
