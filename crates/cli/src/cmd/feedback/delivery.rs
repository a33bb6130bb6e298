use std::time::Duration;

use anyhow::Context;
use ratchet_core::improve::report::FeedbackReport;
use ratchet_core::improve::report::digest::ReportDigest;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_remote::backoff_clock::SystemBackoffClock;
use ratchet_remote::smtp::{self, Mail};
use ratchet_server::clock::Clock;
use ratchet_stages::improve::learnings;
use uuid::Uuid;

use super::FeedbackArgs;
use crate::config::Config;

/// How long an SMTP server may take.
const MAIL_TIMEOUT: Duration = Duration::from_secs(30);

/// Appends the document to the learnings file and sends it, where that is asked for.
pub(super) async fn deliver(args: &FeedbackArgs, report: &FeedbackReport) -> anyhow::Result<()> {
    let config = Config::load(&args.target.config, Vec::new())?;
    let usual = || config.reports.learnings.clone().filter(|_| args.agent.is_none());
    if let Some(file) = args.learnings.clone().or_else(usual) {
        let appended = learnings::append(&file, report);
        appended.with_context(|| format!("cannot append to {}", file.display()))?;
    }
    let digest = ReportDigest::new(report, None);
    // The user of the command chooses the addresses.
    let (anywhere, clock) = (OutboundPolicy::unrestricted(), SystemBackoffClock);
    for hook in args.notify.hooks()? {
        hook.send_report(&digest, &anywhere, &clock).await?;
    }
    if let Some(to) = &args.email {
        let settings = config.smtp.mail(ratchet_web::mail_document)?;
        let settings = settings.context("--email needs smtp.server and smtp.from")?;
        let to = smtp::address(to).with_context(|| format!("--email {to} is no address"))?;
        let mail = Mail {
            id: Uuid::new_v4().to_string(),
            to,
            subject: digest.title(),
            text: digest.to_text(),
            html: Some((settings.page)(&digest)),
        };
        settings.server.send(&mail, MAIL_TIMEOUT, Clock::System.now()).await?;
    }
    Ok(())
}
