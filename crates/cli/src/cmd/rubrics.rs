/// Rubrics and their differences as programs and people see them.
mod view;

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand};
use ratchet_core::judge::rubric::{Rubric, difference};
use ratchet_stages::score::rubrics::{RubricFile, Rubrics};

use crate::config::{Config, ConfigArgs};
use crate::data_target::warn_of_rubric_files;
use crate::exit::Outcome;
use crate::print::{OutputArgs, table};
use view::{ChangeView, CheckView, RubricEntry, RubricView};

/// `ratchet rubrics …`
#[derive(Args, Debug)]
pub(crate) struct RubricsCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List built-in rubrics and those in `<data>/rubrics`
    List(ListArgs),
    /// Print a rubric file; save it in `<data>/rubrics` to customize it
    Show(ShowArgs),
    /// Validate a rubric file
    Validate(ValidateArgs),
    /// Compare two rubrics
    Diff(DiffArgs),
}

#[derive(Args, Debug)]
struct ListArgs {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Args, Debug)]
struct ShowArgs {
    /// Rubric name, or a .toml file
    #[arg(value_name = "NAME|FILE")]
    rubric: String,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Args, Debug)]
struct ValidateArgs {
    /// Rubric file
    file: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Args, Debug)]
struct DiffArgs {
    /// Old rubric: a name or a .toml file
    #[arg(value_name = "NAME|FILE")]
    before: String,
    /// New rubric: a name or a .toml file
    #[arg(value_name = "NAME|FILE")]
    after: String,
    #[command(flatten)]
    list: ListArgs,
}

/// Runs `ratchet rubrics`.
pub(crate) fn run(command: &RubricsCommand) -> anyhow::Result<Outcome> {
    match &command.action {
        Action::List(args) => list(args),
        Action::Show(args) => show(args),
        Action::Validate(args) => validate(args),
        Action::Diff(args) => diff(args),
    }
}

impl ListArgs {
    fn rubrics(&self) -> anyhow::Result<Rubrics> {
        let rubrics = Rubrics::open(&Config::load(&self.config, Vec::new())?.data)?;
        warn_of_rubric_files(&rubrics.faults());
        Ok(rubrics)
    }
}

fn list(args: &ListArgs) -> anyhow::Result<Outcome> {
    let rubrics = args.rubrics()?;
    let entries: Vec<_> = rubrics.all().iter().map(RubricEntry::new).collect();
    args.output.show(&entries, |entries| {
        let row = |entry: &RubricEntry| {
            let version = entry.version.to_string();
            let dimensions = entry.dimensions.len().to_string();
            let texts = [&entry.name, &version, &dimensions, &entry.fingerprint, &entry.from];
            texts.map(Clone::clone)
        };
        let rows: Vec<_> = entries.iter().map(row).collect();
        table(["NAME", "VERSION", "DIMENSIONS", "FINGERPRINT", "SOURCE"], &rows)
    })?;
    Ok(Outcome::Done)
}

fn show(args: &ShowArgs) -> anyhow::Result<Outcome> {
    let shelved = args.list.rubrics()?.find(&args.rubric)?;
    let RubricFile { text, .. } = &shelved;
    args.list.output.show(&RubricView::new(&shelved), |_| text.clone())?;
    Ok(Outcome::Done)
}

fn validate(args: &ValidateArgs) -> anyhow::Result<Outcome> {
    let text = std::fs::read_to_string(&args.file)
        .with_context(|| format!("cannot read {}", args.file.display()))?;
    let checked = Rubric::parse(&text);
    let outcome = if checked.is_ok() { Outcome::Done } else { Outcome::FoundBad };
    let view = CheckView::new(&args.file, &checked);
    args.output.show(&view, |_| match &checked {
        Ok(rubric) => format!(
            "{}, version {}: {} dimensions, valid\n",
            rubric.name,
            rubric.version,
            rubric.dimensions.len()
        ),
        Err(error) => {
            let line = |fault: &ratchet_core::judge::rubric::RubricFault| format!("{fault}\n");
            error.faults.iter().map(line).collect()
        }
    })?;
    Ok(outcome)
}

fn diff(args: &DiffArgs) -> anyhow::Result<Outcome> {
    let rubrics = args.list.rubrics()?;
    let before = rubrics.find(&args.before)?;
    let after = args.list.rubrics()?.find(&args.after)?;
    let changes = difference(&before.rubric, &after.rubric);
    let views: Vec<_> = changes.iter().map(ChangeView::new).collect();
    args.list.output.show(&views, |views| {
        if views.is_empty() {
            return "no differences\n".to_owned();
        }
        views.iter().map(ChangeView::text).collect()
    })?;
    Ok(Outcome::Done)
}
