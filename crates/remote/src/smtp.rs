//! E-mail by SMTP.

use std::time::{Duration, UNIX_EPOCH};

use lettre::message::{Mailbox, MultiPart};
use lettre::transport::smtp::AsyncSmtpTransportBuilder;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;

/// Characters of a subject.
const MAX_SUBJECT: usize = 200;
/// The longest address.
const MAX_ADDRESS: usize = 254;

/// How a connection to an SMTP server is encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SmtpSecurity {
    /// TLS after a greeting; without it nothing is sent.
    #[default]
    StartTls,
    /// TLS from the start.
    Tls,
    /// Not at all. Passwords are sent to this machine only.
    Plain,
}

/// An SMTP server, chosen by the operator.
#[derive(Clone, Debug)]
pub struct SmtpServer {
    pub host: String,
    /// The usual port of its kind of encryption if `None`.
    pub port: Option<u16>,
    pub security: SmtpSecurity,
    /// User name and password.
    pub login: Option<(String, Secret)>,
    /// The sender: `Ratchet <ratchet@example.org>`.
    pub from: String,
}

/// A message with the same content as plain text and as HTML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// The same for each attempt, so that a mail program shows a message once.
    pub id: String,
    pub to: String,
    pub subject: String,
    pub text: String,
    pub html: Option<String>,
}

/// Why a message was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum SmtpError {
    /// Settings or an address that cannot be used.
    #[error("{0}: {1}")]
    Invalid(&'static str, String),
    /// The server refused it, with this status.
    #[error("the SMTP server answered {0}")]
    Refused(u16),
    #[error("the SMTP server cannot be reached: {0}")]
    Unreachable(String),
}

/// Reads an e-mail address: one recipient, without a name.
pub fn address(text: &str) -> Option<String> {
    let text = text.trim();
    if text.len() > MAX_ADDRESS || text.chars().any(char::is_control) {
        return None;
    }
    let address: lettre::Address = text.parse().ok()?;
    Some(address.to_string())
}

impl SmtpServer {
    /// Checks the settings without connecting.
    ///
    /// # Errors
    /// Names the setting that cannot be used.
    pub fn check(&self) -> Result<(), SmtpError> {
        self.transport(Duration::from_secs(1)).and_then(|_| self.sender()).map(drop)
    }

    /// Sends a message once; returns the server's status.
    ///
    /// # Errors
    /// Fails if the server refuses the message, or does not answer in time.
    pub async fn send(
        &self,
        mail: &Mail,
        patience: Duration,
        now: Timestamp,
    ) -> Result<u16, SmtpError> {
        let message = self.message(mail, now)?;
        let transport = self.transport(patience)?;
        let sent = transport.send(message);
        let Ok(sent) = tokio::time::timeout(patience, Box::pin(sent)).await else {
            return Err(SmtpError::Unreachable("no answer in time".to_owned()));
        };
        match sent {
            Ok(response) => Ok(response.code().into()),
            Err(error) => Err(match error.status() {
                Some(code) => SmtpError::Refused(code.into()),
                None => SmtpError::Unreachable(error.to_string()),
            }),
        }
    }

    fn transport(
        &self,
        patience: Duration,
    ) -> Result<AsyncSmtpTransport<Tokio1Executor>, SmtpError> {
        let is_here = matches!(self.host.as_str(), "localhost" | "127.0.0.1" | "::1");
        if self.login.is_some() && self.security == SmtpSecurity::Plain && !is_here {
            let why = "a password is sent over TLS only, or to this machine".to_owned();
            return Err(SmtpError::Invalid("smtp.security", why));
        }
        let tls = || {
            let read = TlsParameters::new(self.host.clone());
            read.map_err(|error| SmtpError::Invalid("smtp.server", error.to_string()))
        };
        let (tls, port) = match self.security {
            SmtpSecurity::StartTls => (Tls::Required(tls()?), 587),
            SmtpSecurity::Tls => (Tls::Wrapper(tls()?), 465),
            SmtpSecurity::Plain => (Tls::None, 25),
        };
        let builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(self.host.clone());
        let builder = builder.port(self.port.unwrap_or(port)).tls(tls).timeout(Some(patience));
        let login = self.login.as_ref();
        let login = login
            .map(|(user, password)| Credentials::new(user.clone(), password.expose().to_owned()));
        Ok(login.into_iter().fold(builder, AsyncSmtpTransportBuilder::credentials).build())
    }

    fn sender(&self) -> Result<Mailbox, SmtpError> {
        let sender = one_line(&self.from).parse();
        sender.map_err(|_| {
            let why = "an address such as Ratchet <ratchet@example.org>".to_owned();
            SmtpError::Invalid("smtp.from", why)
        })
    }

    fn message(&self, mail: &Mail, now: Timestamp) -> Result<Message, SmtpError> {
        let from = self.sender()?;
        let to = address(&mail.to).and_then(|to| to.parse::<lettre::Address>().ok());
        let to = to.ok_or_else(|| {
            SmtpError::Invalid("email", "an address such as ada@example.org".to_owned())
        })?;
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '.' };
        let id: String = mail.id.chars().map(plain).collect();
        let id = format!("<{id}@{}>", from.email.domain());
        let subject: String = one_line(&mail.subject).chars().take(MAX_SUBJECT).collect();
        let since = Duration::from_nanos(u64::try_from(now.nanos()).unwrap_or_default());
        let builder = Message::builder()
            .from(from)
            .to(Mailbox::new(None, to))
            .subject(subject)
            .message_id(Some(id))
            .date(UNIX_EPOCH + since);
        let message = match &mail.html {
            Some(html) => builder
                .multipart(MultiPart::alternative_plain_html(mail.text.clone(), html.clone())),
            None => builder.body(mail.text.clone()),
        };
        message.map_err(|error| SmtpError::Invalid("message", error.to_string()))
    }
}

/// A text without line breaks, which would begin another header.
fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_control() || c.is_whitespace());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> SmtpServer {
        SmtpServer {
            host: "mail.example.org".to_owned(),
            port: None,
            security: SmtpSecurity::StartTls,
            login: None,
            from: "Ratchet <ratchet@example.org>".to_owned(),
        }
    }

    fn mail(subject: &str) -> Mail {
        Mail {
            id: "improvement-a\r\nBcc: x@y.z".to_owned(),
            to: "ada@example.org".to_owned(),
            subject: subject.to_owned(),
            text: "Hi.\r\n.\r\nMAIL FROM:<eve@example.org>".to_owned(),
            html: Some("<p>Hi.</p>".to_owned()),
        }
    }

    #[test]
    fn no_text_begins_another_header() {
        for subject in
            ["Hi\r\nBcc: eve@example.org", "Hi\nBcc: eve@example.org", "\u{0}\r\r\n\r\nx"]
        {
            let message = server().message(&mail(subject), Timestamp::from_nanos(0)).unwrap();
            let text = String::from_utf8(message.formatted()).unwrap();
            let (head, _) = text.split_once("\r\n\r\n").unwrap();
            let names: Vec<&str> =
                head.split("\r\n").filter_map(|line| Some(line.split_once(':')?.0)).collect();
            assert!(!names.contains(&"Bcc") && !names.contains(&" Bcc"), "{head}");
            assert!(
                head.contains("Message-ID: <improvement-a..Bcc..x.y.z@example.org>")
                    || head.contains("Message-ID: <improvement.a..Bcc..x.y.z@example.org>"),
                "{head}"
            );
        }
    }

    #[test]
    fn addresses_are_of_one_person() {
        assert_eq!(address(" ada@example.org ").as_deref(), Some("ada@example.org"));
        for odd in
            ["", "ada", "a@b\r\nRCPT TO:<x@y.z>", "a@x.org, b@x.org", "Ada <a@x.org>", "a@x.org\n"]
        {
            let read = address(odd);
            assert!(read.is_none() || odd.trim() == "a@x.org", "{odd:?}: {read:?}");
        }
    }

    #[test]
    fn settings_are_checked_without_a_connection() {
        assert!(server().check().is_ok());
        let login = Some(("ada".to_owned(), Secret::new("hush")));
        let plain = SmtpServer { security: SmtpSecurity::Plain, login, ..server() };
        let refused = plain.check().unwrap_err().to_string();
        assert!(refused.starts_with("smtp.security: ") && !refused.contains("hush"), "{refused}");
        assert!(SmtpServer { host: "localhost".to_owned(), ..plain }.check().is_ok());
        let nameless = SmtpServer { from: "Ratchet".to_owned(), ..server() };
        assert!(nameless.check().unwrap_err().to_string().starts_with("smtp.from: "));
    }
}
