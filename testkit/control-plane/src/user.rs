//! Who talks to the API server. Everybody has a token from the start.

/// How many users have no rights at all.
const NOBODIES: usize = 8;

/// A user that the API server knows by a token.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct User {
    name: String,
    groups: Vec<&'static str>,
}

// === impl User ===

impl User {
    /// May do everything.
    pub fn admin() -> Self {
        Self { name: "admin".into(), groups: vec!["system:masters"] }
    }

    /// The operator as its ServiceAccount: what RBAC binds to `zonekeeper` in `zonekeeper-system`, it has.
    pub fn zonekeeper() -> Self {
        Self {
            name: "system:serviceaccount:zonekeeper-system:zonekeeper".into(),
            groups: vec!["system:serviceaccounts", "system:serviceaccounts:zonekeeper-system"],
        }
    }

    /// `nobody-1` to `nobody-8`: may do what RBAC in the test lets them.
    pub fn nobody(number: usize) -> Self {
        assert!((1..=NOBODIES).contains(&number), "there are nobody-1 to nobody-{NOBODIES}");
        Self { name: format!("nobody-{number}"), groups: Vec::new() }
    }

    /// The name that RBAC binds to.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bearer token.
    pub fn token(&self) -> String {
        format!("token-of-{}", self.file_name())
    }

    /// The name, fit for a file.
    pub(crate) fn file_name(&self) -> String {
        self.name.replace(':', "-")
    }
}

/// The file for `--token-auth-file`.
pub fn token_file() -> String {
    let nobodies = (1..=NOBODIES).map(User::nobody);
    let line = |user: User| {
        format!("{},{},{},\"{}\"\n", user.token(), user.name, user.file_name(), user.groups.join(","))
    };
    [User::admin(), User::zonekeeper()].into_iter().chain(nobodies).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_user_has_a_line() {
        let file = token_file();
        assert_eq!(file.lines().count(), 2 + NOBODIES);
        assert!(file.starts_with("token-of-admin,admin,admin,\"system:masters\"\n"), "{file}");
    }
}
