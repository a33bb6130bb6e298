use clap::{Args, Subcommand};
use serde::Serialize;

use crate::config::lookup::Effective;
use crate::config::{Config, ConfigArgs};
use crate::exit::Outcome;
use crate::print::{OutputArgs, table};

/// `ratchet config …`
#[derive(Args, Debug)]
pub(crate) struct ConfigCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show all settings, their values and sources
    Show(ShowArgs),
}

#[derive(Args, Debug)]
struct ShowArgs {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct SettingView<'a> {
    key: &'a str,
    value: &'a str,
    source: String,
    about: &'a str,
}

impl<'a> From<&'a Effective> for SettingView<'a> {
    fn from(setting: &'a Effective) -> Self {
        let Effective { key, value, source, about } = setting;
        Self { key, value, source: source.to_string(), about }
    }
}

/// Runs `ratchet config`.
pub(crate) fn run(command: &ConfigCommand) -> anyhow::Result<Outcome> {
    let Action::Show(args) = &command.action;
    let config = Config::load(&args.config, Vec::new())?;
    config.warn_of_unknown_variables();
    let settings: Vec<SettingView<'_>> = config.effective.iter().map(SettingView::from).collect();
    args.output.show(&settings, |settings| {
        let rows: Vec<_> = settings.iter().map(row).collect();
        table(["SETTING", "VALUE", "SOURCE", "DESCRIPTION"], &rows)
    })?;
    Ok(Outcome::Done)
}

fn row(setting: &SettingView<'_>) -> [String; 4] {
    [setting.key, setting.value, &setting.source, setting.about].map(str::to_owned)
}
