use ratchet_stages::major::Major;
use ratchet_stages::major::ground::ChatGround;

/// The agents that a server runs.
#[derive(Debug)]
pub struct Chats {
    /// Their sessions.
    pub major: Major,
    /// Where they may work, and what they are given.
    pub ground: ChatGround,
}
