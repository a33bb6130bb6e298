use std::collections::BTreeSet;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Context, ensure};
use ratchet_core::calibration::change::{self, Shift};
use ratchet_core::calibration::{self, draft};
use ratchet_core::id::SessionId;
use ratchet_server::clock::Clock;
use ratchet_stages::score::Keeping;
use ratchet_stages::score::fetch::Wanted;
use ratchet_stages::score::judge::Judge;
use ratchet_stages::trust::asking::{self, Asking};

use super::{CalibrateArgs, Found, judged, scored};
use crate::config::Config;
use crate::workplace::Workplace;

/// What became of the drafts.
#[derive(Clone, Debug)]
pub(super) struct Applied {
    /// Where the rubric stands.
    pub(super) file: PathBuf,
    /// Its version.
    pub(super) version: u32,
    /// How many sessions were scored again.
    pub(super) rescored: usize,
}

/// Has the labelled sessions, and no others, judged with the drafts, and tells what they change.
pub(super) async fn tried(
    place: &Workplace,
    found: &Found,
    judge: &Judge,
) -> anyhow::Result<Vec<Shift>> {
    let revised = draft::revised(&found.rubric, &found.drafts);
    let sessions: Vec<SessionId> = found.held.spoken.keys().cloned().collect();
    let marks = judged(place, &revised, judge, sessions).await?;
    let opinions = found.held.opinions_with(&revised, |session| marks.get(session));
    let after = calibration::report(&revised, &opinions, found.calibration.threshold);
    Ok(change::compare(&found.calibration, &after))
}

/// Writes the rubric's next version and scores again what the old one had scored, if somebody
/// says so.
pub(super) async fn apply(
    place: &Workplace,
    args: &CalibrateArgs,
    found: &Found,
    judge: &Judge,
) -> anyhow::Result<Option<Applied>> {
    let revised = draft::revised(&found.rubric, &found.drafts);
    let data = Config::load(&args.place.config, Vec::new())?.data;
    ensure!(data.is_dir(), "say with --data where the rubric's next version is to be kept");
    let folder = data.join("rubrics");
    let file = folder.join(format!("{}.toml", revised.name));
    let affected = affected(place, args, found).await?;
    if !args.change.yes {
        ensure!(io::stdin().is_terminal(), "nobody can be asked here; say --apply --yes");
        eprint!("{}", super::text::of(found));
        let question = format!(
            "Write version {} to {} and score {} sessions again? [y/N] ",
            revised.version,
            file.display(),
            affected.len()
        );
        if !agreed(&question)? {
            return Ok(None);
        }
    }
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let whole = file.with_extension("toml.new");
    std::fs::write(&whole, revised.to_toml())
        .and_then(|()| std::fs::rename(&whole, &file))
        .with_context(|| format!("cannot write {}", file.display()))?;
    let wanted = (Wanted::These(affected), Keeping::Write);
    let report = scored(place, &revised, judge, wanted).await?;
    Ok(Some(Applied { file, version: revised.version, rescored: report.sessions.len() }))
}

/// The sessions that the rubric scored of late, and those that people labelled.
async fn affected(
    place: &Workplace,
    args: &CalibrateArgs,
    found: &Found,
) -> anyhow::Result<Vec<SessionId>> {
    let (rubric, days) = (&found.rubric, args.change.days);
    let asking = Asking { dataset: &args.dataset, rubric, days, size: 0 };
    let scored = asking::scored(&place.source, asking, Clock::System.now()).await?;
    let all: BTreeSet<SessionId> =
        found.held.spoken.keys().cloned().chain(scored.into_keys()).collect();
    Ok(all.into_iter().collect())
}

fn agreed(question: &str) -> io::Result<bool> {
    let mut stderr = io::stderr();
    write!(stderr, "{question}")?;
    stderr.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "yes"))
}
