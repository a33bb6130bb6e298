use std::fmt;

use super::key::Role;
use super::sql::{FromColumn, Value};

/// A permission of a key beyond what its role allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// Run agents on the server's machine: start chats, send messages, answer and stop.
    Chat,
    /// Take a backup, which holds every project.
    Backup,
    /// Manage every project, its keys and settings, and the users.
    Administration,
}

impl Permission {
    pub const ALL: [Self; 3] = [Self::Chat, Self::Backup, Self::Administration];

    /// Its name in requests, settings and the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Backup => "backup",
            Self::Administration => "administration",
        }
    }

    /// Parses its name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|permission| permission.as_str() == word)
    }

    /// Whether a key with this role can hold it.
    ///
    /// Chat changes project data, and administration creates keys of every role: neither fits a
    /// lesser role. A backup job needs no role in particular.
    pub const fn fits(self, role: Role) -> bool {
        match self {
            Self::Chat => matches!(role, Role::Member | Role::Owner),
            Self::Backup => true,
            Self::Administration => matches!(role, Role::Owner),
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Chat => 1,
            Self::Backup => 2,
            Self::Administration => 4,
        }
    }
}

/// A set of permissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Permissions(u8);

impl Permissions {
    /// No permission, the usual for SDK keys.
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self(7);

    /// The default for a role: all for an owner's key, none for any other.
    pub const fn usual(role: Role) -> Self {
        match role {
            Role::Owner => Self::ALL,
            Role::Member | Role::Viewer | Role::Reviewer | Role::IngestOnly => Self::NONE,
        }
    }

    /// Whether the set contains a permission.
    pub const fn has(self, permission: Permission) -> bool {
        self.0 & permission.bit() != 0
    }

    /// The set with one more permission.
    #[must_use]
    pub const fn with(self, permission: Permission) -> Self {
        Self(self.0 | permission.bit())
    }

    /// The set without a permission.
    #[must_use]
    pub const fn without(self, permission: Permission) -> Self {
        Self(self.0 & !permission.bit())
    }

    /// Iterates over the granted permissions.
    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::ALL.into_iter().filter(move |permission| self.has(*permission))
    }

    /// The first permission that another set lacks.
    pub fn beyond(self, others: Self) -> Option<Permission> {
        self.iter().find(|permission| !others.has(*permission))
    }

    /// The first permission that does not fit a role.
    pub fn misfit(self, role: Role) -> Option<Permission> {
        self.iter().find(|permission| !permission.fits(role))
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<T: IntoIterator<Item = Permission>>(all: T) -> Self {
        all.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, permission) in self.iter().enumerate() {
            let gap = if index == 0 { "" } else { ", " };
            write!(f, "{gap}{}", permission.as_str())?;
        }
        Ok(())
    }
}

impl From<Permissions> for Value {
    fn from(permissions: Permissions) -> Self {
        let words: Vec<&str> = permissions.iter().map(Permission::as_str).collect();
        words.join(" ").into()
    }
}

impl FromColumn for Permissions {
    fn from_column(value: Value) -> Option<Self> {
        // A permission unknown to this binary grants nothing.
        let words = String::from_column(value)?;
        Some(words.split(' ').filter_map(Permission::parse).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_again() {
        for bits in 0..8 {
            let set = Permissions(bits);
            assert_eq!(Permissions::from_column(set.into()), Some(set));
            assert_eq!(set.iter().collect::<Permissions>(), set);
        }
        let odd = Value::from("chat fly");
        assert_eq!(Permissions::from_column(odd), Some(Permissions::NONE.with(Permission::Chat)));
    }

    #[test]
    fn permissions_need_a_role_that_can_use_them() {
        let misfit = |role| Permissions::ALL.misfit(role);
        assert_eq!(misfit(Role::Owner), None);
        assert_eq!(misfit(Role::Member), Some(Permission::Administration));
        assert_eq!(misfit(Role::Viewer), Some(Permission::Chat));
        let backup = Permissions::NONE.with(Permission::Backup);
        assert_eq!(Role::ALL.map(|role| backup.misfit(role)), [None; 5]);
    }

    #[test]
    fn only_owners_have_any_by_default() {
        for role in Role::ALL {
            let usual = Permissions::usual(role);
            assert_eq!(usual.misfit(role), None);
            assert_eq!(usual == Permissions::ALL, role == Role::Owner);
        }
    }
}
