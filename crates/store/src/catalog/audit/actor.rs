use crate::catalog::{ApiKey, User};

/// The originator of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Actor {
    /// A signed-in user.
    Person { id: String, email: String },
    /// A program with an API key.
    Key {
        id: String,
        /// The public half of the key.
        public_key: String,
    },
    /// A client of a server without authentication.
    Anyone,
    /// The command line, with direct access to the data folder.
    CommandLine,
    #[default]
    Server,
}

impl Actor {
    /// The actor for a user.
    pub fn person(user: &User) -> Self {
        Self::Person { id: user.id.clone(), email: user.email.clone() }
    }

    /// The actor for an API key.
    pub fn key(key: &ApiKey) -> Self {
        Self::Key { id: key.id.clone(), public_key: key.public_key.clone() }
    }

    /// Name of the kind of actor.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Person { .. } => "person",
            Self::Key { .. } => "key",
            Self::Anyone => "anyone",
            Self::CommandLine => "command line",
            Self::Server => "server",
        }
    }

    /// Id in the database; empty for kinds with a single actor.
    pub fn id(&self) -> &str {
        match self {
            Self::Person { id, .. } | Self::Key { id, .. } => id,
            Self::Anyone | Self::CommandLine | Self::Server => "",
        }
    }

    /// Display name.
    pub fn name(&self) -> &str {
        match self {
            Self::Person { email, .. } => email,
            Self::Key { public_key, .. } => public_key,
            Self::Anyone => "Local user",
            Self::CommandLine => "command line",
            Self::Server => "Ratchet",
        }
    }

    /// Restores an actor from its columns, so that deleted users are still named.
    pub(in crate::catalog) fn read(kind: &str, id: String, name: String) -> Self {
        match kind {
            "person" => Self::Person { id, email: name },
            "key" => Self::Key { id, public_key: name },
            "anyone" => Self::Anyone,
            "command line" => Self::CommandLine,
            _ => Self::Server,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_is_read_as_it_is_written() {
        let actors = [
            Actor::Person { id: "1".to_owned(), email: "ada@example.com".to_owned() },
            Actor::Key { id: "2".to_owned(), public_key: "pk-lf-2".to_owned() },
            Actor::Anyone,
            Actor::CommandLine,
            Actor::Server,
        ];
        for actor in actors {
            let read = Actor::read(actor.kind(), actor.id().to_owned(), actor.name().to_owned());
            assert_eq!(read, actor);
        }
    }
}
