//! An SMTP server that keeps what it receives.

/// A connection, which may become encrypted.
mod wire;

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::ServerConfig;

use crate::tls::Authority;
use crate::wait;
use wire::Wire;

/// Maximum number of unread messages.
const MAX_WAITING: usize = 1_000;
/// Maximum number of lines of a connection.
const MAX_LINES: usize = 100_000;

/// How connections are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailSecurity {
    Plain,
    /// TLS once a client asks for it.
    StartTls,
    /// TLS from the start.
    Tls,
}

/// A received message.
#[derive(Clone, Debug)]
pub struct ReceivedMail {
    pub from: String,
    pub to: Vec<String>,
    /// Headers and body, without the dots of the protocol.
    pub data: String,
    pub is_encrypted: bool,
    /// Who signed in.
    pub user: Option<String>,
}

impl ReceivedMail {
    /// Returns the value of a header, unfolded.
    #[track_caller]
    pub fn header(&self, name: &str) -> String {
        let (head, _) = self.data.split_once("\r\n\r\n").unwrap();
        let head = head.replace("\r\n ", " ").replace("\r\n\t", " ");
        let line = head.split("\r\n").find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_else(|| panic!("no header {name} in {head}")).to_owned()
    }
}

/// What the server demands of its clients.
#[derive(Clone)]
struct Rules {
    security: MailSecurity,
    tls: Option<Arc<ServerConfig>>,
    login: Option<(String, String)>,
    /// Statuses of the next recipients, instead of 250.
    answers: Arc<Mutex<VecDeque<u16>>>,
}

/// A running server.
pub struct MailServer {
    address: SocketAddr,
    received: Receiver<ReceivedMail>,
    answers: Arc<Mutex<VecDeque<u16>>>,
}

impl MailServer {
    /// Starts a server for anybody, without encryption.
    pub fn start() -> Self {
        Self::start_with(MailSecurity::Plain, None, None)
    }

    /// Starts a server with a certificate for `localhost` that takes messages of one user only.
    pub fn start_safe(security: MailSecurity, authority: &Authority, login: (&str, &str)) -> Self {
        let login = (login.0.to_owned(), login.1.to_owned());
        Self::start_with(security, Some(authority), Some(login))
    }

    fn start_with(
        security: MailSecurity,
        authority: Option<&Authority>,
        login: Option<(String, String)>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, received) = sync_channel(MAX_WAITING);
        let answers: Arc<Mutex<VecDeque<u16>>> = Arc::default();
        let tls = authority.map(|authority| Arc::new(authority.server("localhost")));
        let rules = Rules { security, tls, login, answers: Arc::clone(&answers) };
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (rules, sender) = (rules.clone(), sender.clone());
                // A client may leave at any time.
                std::thread::spawn(move || serve(stream, &rules, &sender));
            }
        });
        Self { address, received, answers }
    }

    /// Returns `localhost:PORT`.
    pub fn host(&self) -> String {
        format!("localhost:{}", self.address.port())
    }

    pub const fn port(&self) -> u16 {
        self.address.port()
    }

    /// Answers the next recipients with these statuses.
    pub fn answer(&self, statuses: impl IntoIterator<Item = u16>) {
        self.answers.lock().unwrap().extend(statuses);
    }

    /// Waits for the next message.
    #[track_caller]
    pub fn next(&self) -> ReceivedMail {
        wait::receive("an e-mail", &self.received)
    }

    /// Returns whether no message is unread.
    pub fn is_empty(&self) -> bool {
        matches!(self.received.try_recv(), Err(TryRecvError::Empty))
    }
}

/// One message, while it is received.
#[derive(Default)]
struct Session {
    from: String,
    to: Vec<String>,
    user: Option<String>,
}

fn serve(stream: TcpStream, rules: &Rules, sender: &SyncSender<ReceivedMail>) -> Option<()> {
    let mut wire = Wire::new(stream);
    if rules.security == MailSecurity::Tls {
        wire.encrypt(rules.tls.clone()?);
    }
    wire.say("220 localhost ESMTP")?;
    let mut session = Session::default();
    for _ in 0..MAX_LINES {
        let line = wire.line()?;
        let verb = line.split(' ').next().unwrap_or_default().to_uppercase();
        match verb.as_str() {
            "EHLO" | "HELO" => wire.say(&greeting(rules, wire.is_encrypted()))?,
            "STARTTLS" if rules.security == MailSecurity::StartTls => {
                wire.say("220 go ahead")?;
                wire.encrypt(rules.tls.clone()?);
            }
            "AUTH" => wire.say(sign_in(&line, rules, &mut session))?,
            "MAIL" if rules.login.is_some() && session.user.is_none() => {
                wire.say("530 authentication required")?;
            }
            "MAIL" => {
                session.from = address(&line);
                session.to.clear();
                wire.say("250 ok")?;
            }
            "RCPT" => {
                let status = rules.answers.lock().unwrap().pop_front().unwrap_or(250);
                if status == 250 {
                    session.to.push(address(&line));
                }
                wire.say(&format!("{status} so"))?;
            }
            "DATA" => {
                wire.say("354 end with a dot")?;
                let mail = ReceivedMail {
                    from: session.from.clone(),
                    to: session.to.clone(),
                    data: body(&mut wire)?,
                    is_encrypted: wire.is_encrypted(),
                    user: session.user.clone(),
                };
                sender.send(mail).ok()?;
                wire.say("250 kept")?;
            }
            "QUIT" => {
                wire.say("221 bye")?;
                return Some(());
            }
            "RSET" | "NOOP" => wire.say("250 ok")?,
            _ => wire.say("502 unknown")?,
        }
    }
    None
}

fn greeting(rules: &Rules, is_encrypted: bool) -> String {
    let mut lines = vec!["250-localhost", "250-8BITMIME"];
    if rules.security == MailSecurity::StartTls && !is_encrypted {
        lines.push("250-STARTTLS");
    }
    if rules.login.is_some() && is_encrypted {
        lines.push("250-AUTH PLAIN");
    }
    lines.push("250 SIZE 10000000");
    lines.join("\r\n")
}

fn sign_in(line: &str, rules: &Rules, session: &mut Session) -> &'static str {
    let given = line.split(' ').nth(2).and_then(|text| STANDARD.decode(text).ok());
    let given = given.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let mut parts = given.split('\0').skip(1);
    let given = parts.next().zip(parts.next());
    match rules.login.as_ref().zip(given) {
        Some(((user, password), given)) if given == (user.as_str(), password.as_str()) => {
            session.user = Some(user.clone());
            "235 welcome"
        }
        _ => "535 no such user",
    }
}

/// What is between the angle brackets.
fn address(line: &str) -> String {
    let inner = line.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
    inner.map(|(address, _)| address.to_owned()).unwrap_or_default()
}

fn body(wire: &mut Wire) -> Option<String> {
    let mut data = String::new();
    for _ in 0..MAX_LINES {
        let line = wire.line()?;
        if line == "." {
            return Some(data);
        }
        data += line.strip_prefix('.').unwrap_or(&line);
        data += "\r\n";
    }
    None
}
