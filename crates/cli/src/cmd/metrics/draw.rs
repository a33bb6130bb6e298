use anyhow::Context;
use clap::Args;
use ratchet_core::calendar::{Week, Zone};
use ratchet_server::clock::Clock;
use ratchet_stages::review::review_site::ReviewSite;
use ratchet_stages::review::weekly_draw;
use ratchet_store::catalog::DrawEffect;
use serde::Serialize;

use super::source::{self, SourceArgs};
use crate::data_target::ProjectArgs;
use crate::exit::Outcome;
use crate::print::{one_line, table};

#[derive(Args, Debug)]
pub(super) struct DrawArgs {
    /// The week that contains this day, such as 2026-11-08; weeks start on Sunday [default: the last
    /// full week]
    #[arg(long, value_name = "DATE")]
    of: Option<String>,
    /// Time zone, such as Europe/Berlin [default: this machine's]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    project: ProjectArgs,
}

/// The draws of a week.
#[derive(Serialize)]
struct Drawn {
    week: String,
    draws: Vec<DrawnQueue>,
}

#[derive(Serialize)]
struct DrawnQueue {
    queue: String,
    agent: Option<String>,
    drawn: usize,
    traces: u64,
    /// Whether the week was drawn before.
    known: bool,
}

pub(super) async fn run(args: &DrawArgs) -> anyhow::Result<Outcome> {
    let url = args.source.source.as_deref().context(
        "--source names the Langfuse server; a project of Ratchet is drawn by `ratchet schedule \
         run review`",
    )?;
    let zone = match &args.zone {
        Some(zone) => Zone::parse(zone).with_context(|| format!("--zone {zone}"))?,
        None => Zone::of_this_machine(),
    };
    let week = match &args.of {
        Some(day) => Week::parse(day, &zone).with_context(|| format!("--of {day}"))?,
        None => Week::last_ended(Clock::System.now(), &zone),
    };
    let drawn = source::with_site(&args.project, url, async |site| draw(site, &week).await);
    args.project.output.show(&drawn.await?, text)?;
    Ok(Outcome::Done)
}

async fn draw(site: &ReviewSite, week: &Week) -> anyhow::Result<Drawn> {
    let mut draws = Vec::new();
    for target in weekly_draw::targets(site, week).await? {
        let report = weekly_draw::draw(site, week, &target, Clock::System.now()).await?;
        draws.push(DrawnQueue {
            queue: report.queue,
            agent: report.agent,
            drawn: report.drawn,
            traces: report.traces,
            known: report.effect == DrawEffect::Known,
        });
    }
    Ok(Drawn { week: week.to_string(), draws })
}

fn text(drawn: &Drawn) -> String {
    if drawn.draws.is_empty() {
        return format!("no traces in the week of {}\n", drawn.week);
    }
    let row = |one: &DrawnQueue| {
        let state = if one.known { "drawn before" } else { "drawn" };
        [one_line(&one.queue), one.drawn.to_string(), one.traces.to_string(), state.to_owned()]
    };
    let rows: Vec<_> = drawn.draws.iter().map(row).collect();
    format!("Week of {}\n{}", drawn.week, table(["QUEUE", "DRAWN", "TRACES", "STATE"], &rows))
}
