use clap::Args;
use ratchet_server::api::audit::{AuditEntryView, AuditRequest, AuditView};

use crate::data_target::{self, TargetArgs};
use crate::exit::Outcome;
use crate::print::{OutputArgs, one_line, table};
use crate::runtime;

/// `ratchet audit`
#[derive(Args, Debug)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Project name or ID; required only if there are several
    #[arg(long, value_name = "NAME", conflicts_with = "whole_server")]
    project: Option<String>,
    /// Show server-level entries: users, projects, sign-ins
    #[arg(long)]
    whole_server: bool,
    /// Only entries about this kind of object, such as prompt or "API key"
    #[arg(long, value_name = "KIND")]
    what: Option<String>,
    /// Maximum number of entries, newest first
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u64,
    /// Continue from the cursor of the last page
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs `ratchet audit`.
pub(crate) fn run(args: &AuditArgs) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        let request = AuditRequest {
            noun: args.what.clone(),
            limit: Some(args.limit),
            cursor: args.cursor.clone(),
        };
        let found = data_target::with(&args.target, "ratchet audit", async |target| {
            let project = match args.whole_server {
                true => None,
                false => Some(target.project(args.project.as_deref()).await?.id),
            };
            target.audit(project.as_deref(), request).await
        });
        args.output.show(&found.await?, text)?;
        Ok(Outcome::Done)
    })
}

fn text(found: &AuditView) -> String {
    let rows: Vec<_> = found.entries.iter().map(row).collect();
    let mut text = table(["TIME", "ACTOR", "ACTION", "BEFORE", "AFTER"], &rows);
    if let Some(cursor) = &found.cursor {
        text.push_str(&format!("More entries: --cursor {cursor}\n"));
    }
    text
}

fn row(entry: &AuditEntryView) -> [String; 5] {
    let AuditEntryView { at, actor, verb, noun, name, before, after, .. } = entry;
    let side = |side: &Option<String>| side.clone().unwrap_or_default();
    let what = format!("{verb} {noun} {name}");
    [at.clone(), actor.name.clone(), what, side(before), side(after)].map(|cell| one_line(&cell))
}
