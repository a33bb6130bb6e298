use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context;
use ratchet_core::improve::report::digest::ReportDigest;
use ratchet_core::secret::Secret;
use ratchet_remote::smtp::{SmtpSecurity, SmtpServer};
use ratchet_stages::improve::settings::FeedbackSettings;
use ratchet_stages::notify::MailSettings;
use ratchet_store::project::ProjectId;

use super::lookup::Lookup;
use super::value::{Count, HumanDuration, Switch};
use crate::cmd::supervise::supervision;

/// Settings of weekly documents.
#[derive(Clone, Debug)]
pub(crate) struct FeedbackConfig {
    /// The project that these settings are for; each if `None`.
    project: Option<String>,
    code: Option<PathBuf>,
    repository: Option<PathBuf>,
    incidents: Option<PathBuf>,
    task_priority: f64,
    threshold: Option<usize>,
    cool_down: Duration,
    comments: Switch,
}

impl FeedbackConfig {
    pub(super) fn read(of: &mut Lookup<'_>) -> anyhow::Result<Self> {
        let usual = FeedbackSettings::default();
        let path = |text: Option<String>| text.map(PathBuf::from);
        let cool_down = HumanDuration(usual.cool_down);
        let comments = "comment on traces of the Langfuse server that proposals cite";
        Ok(Self {
            project: of.optional("feedback.project", "ID of the project of these settings")?,
            code: path(of.optional("feedback.code", "folder of the agent's code")?),
            repository: path(
                of.optional("feedback.repository", "git repository whose commits are events")?,
            ),
            incidents: path(
                of.optional("feedback.incidents", "file with incidents as JSON lines")?,
            ),
            task_priority: of
                .value("feedback.task_priority", Share(usual.task_priority), TASK_PRIORITY)?
                .0,
            threshold: of
                .optional("feedback.threshold", "failures of a pattern that are announced at once")?
                .map(|Count(count)| count),
            cool_down: of
                .value("feedback.cool_down", cool_down, "time between such announcements")?
                .0,
            comments: of.value("feedback.comments", Switch::Off, comments)?,
        })
    }

    /// The settings of a project.
    pub(crate) fn of(&self, project: &ProjectId) -> FeedbackSettings {
        if self.project.as_ref().is_some_and(|wanted| wanted != project.as_str()) {
            return FeedbackSettings::default();
        }
        FeedbackSettings {
            code: self.code.clone(),
            repositories: self.repository.iter().cloned().collect(),
            incidents: self.incidents.clone(),
            supervision: Some(supervision()),
            task_priority: self.task_priority,
            threshold: self.threshold,
            cool_down: self.cool_down,
            comments: self.comments == Switch::On,
        }
    }
}

const TASK_PRIORITY: &str = "least priority (impact / effort) of a proposal that becomes a task";

/// A number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Share(f64);

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
        share.map(Self).ok_or_else(|| "a number from 0 to 1".to_owned())
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Settings of e-mail.
#[derive(Clone, Debug, Default)]
pub(crate) struct SmtpConfig {
    server: Option<HostPort>,
    security: Security,
    username: Option<String>,
    password: Option<Secret>,
    from: Option<String>,
}

impl SmtpConfig {
    pub(super) fn read(of: &mut Lookup<'_>) -> anyhow::Result<Self> {
        let read = Self {
            server: of.optional("smtp.server", "SMTP server for e-mail, host or host:port")?,
            security: of.value(
                "smtp.security",
                Security::default(),
                "starttls, tls, or none for a server on this machine",
            )?,
            username: of.optional("smtp.username", "user of the SMTP server")?,
            password: of.secret("smtp.password", "its password"),
            from: of.optional("smtp.from", "sender, such as Ratchet <ratchet@example.org>")?,
        };
        read.settings()?;
        Ok(read)
    }

    /// How e-mail is sent; `None` if it is not set up.
    pub(crate) fn mail(
        &self,
        page: fn(&ReportDigest) -> String,
    ) -> anyhow::Result<Option<MailSettings>> {
        Ok(self.settings()?.map(|server| MailSettings { server, page }))
    }

    fn settings(&self) -> anyhow::Result<Option<SmtpServer>> {
        let Some(HostPort { host, port }) = self.server.clone() else { return Ok(None) };
        let from = self.from.clone().context("smtp.server is set, but smtp.from is not")?;
        let login = match (self.username.clone(), self.password.clone()) {
            (Some(user), Some(password)) => Some((user, password)),
            (None, None) => None,
            (Some(_), None) => anyhow::bail!("smtp.username is set, but smtp.password is not"),
            (None, Some(_)) => anyhow::bail!("smtp.password is set, but smtp.username is not"),
        };
        let server = SmtpServer { host, port, security: self.security.0, login, from };
        server.check()?;
        Ok(Some(server))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct HostPort {
    host: String,
    port: Option<u16>,
}

impl FromStr for HostPort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || "a host such as mail.example.org or mail.example.org:587".to_owned();
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().map_err(|_| wanted())?)),
            None => (text, None),
        };
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        if host.is_empty() || !host.chars().all(is_part) {
            return Err(wanted());
        }
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Security(SmtpSecurity);

impl FromStr for Security {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "starttls" => Ok(Self(SmtpSecurity::StartTls)),
            "tls" => Ok(Self(SmtpSecurity::Tls)),
            "none" => Ok(Self(SmtpSecurity::Plain)),
            _ => Err("starttls, tls or none".to_owned()),
        }
    }
}

impl fmt::Display for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            SmtpSecurity::StartTls => "starttls",
            SmtpSecurity::Tls => "tls",
            SmtpSecurity::Plain => "none",
        })
    }
}
