use crate::catalog::{ApiKey, User};

/// Who does something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Actor {
    /// A person who signed in.
    Person {
        /// Names them in the database.
        id: String,
        email: String,
    },
    /// A program with an API key.
    Key {
        /// Names the key in the database.
        id: String,
        /// Names the key for people; no secret.
        public_key: String,
    },
    /// Whoever reaches a server that asks nobody who they are.
    Anyone,
    /// Someone who has the data folder at hand.
    CommandLine,
    #[default]
    Server,
}

impl Actor {
    /// A person.
    pub fn person(user: &User) -> Self {
        Self::Person { id: user.id.clone(), email: user.email.clone() }
    }

    /// A program with this key.
    pub fn key(key: &ApiKey) -> Self {
        Self::Key { id: key.id.clone(), public_key: key.public_key.clone() }
    }

    /// The word for what kind of actor it is.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Person { .. } => "person",
            Self::Key { .. } => "key",
            Self::Anyone => "anyone",
            Self::CommandLine => "command line",
            Self::Server => "server",
        }
    }

    /// What names it in the database; nothing for those there is only one of.
    pub fn id(&self) -> &str {
        match self {
            Self::Person { id, .. } | Self::Key { id, .. } => id,
            Self::Anyone | Self::CommandLine | Self::Server => "",
        }
    }

    /// What people know it by.
    pub fn name(&self) -> &str {
        match self {
            Self::Person { email, .. } => email,
            Self::Key { public_key, .. } => public_key,
            Self::Anyone => "Local user",
            Self::CommandLine => "command line",
            Self::Server => "Ratchet",
        }
    }

    /// The actor as it was written down: who left is still named.
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
