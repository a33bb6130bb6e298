use clap::Args;
use ratchet_stages::score::judge::Judge;

use crate::workplace::Workplace;

/// Who judges.
#[derive(Args, Debug)]
pub(crate) struct JudgeArgs {
    /// Who judges: `offline` costs nothing and needs no key
    #[arg(long, value_name = "JUDGE", default_value = "offline")]
    judge: String,
    /// Sessions under way at once
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(super) concurrency: usize,
}

impl JudgeArgs {
    /// Makes the judge ready.
    pub(crate) async fn open(&self, _place: &Workplace) -> anyhow::Result<Judge> {
        anyhow::ensure!(self.judge == "offline", "there is no judge {}", self.judge);
        Ok(Judge::Offline)
    }
}
