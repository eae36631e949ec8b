//! Secrets of a folder, and what stands in for them.

use crate::{declare::Credentials, folder::Folder, session::Options};

/// Secrets from the folder's own manifests, then from the command line and the environment.
pub struct FolderCredentials<'a> {
    pub folder: &'a Folder,
    pub options: &'a Options,
}

impl Credentials for FolderCredentials<'_> {
    fn secret(&self, namespace: Option<&str>, name: &str, key: &str) -> Option<Vec<u8>> {
        self.folder.secret(namespace, name)?.get(key).map(<[u8]>::to_vec)
    }

    fn has_secret(&self, namespace: Option<&str>, name: &str) -> bool {
        self.folder.secret(namespace, name).is_some()
    }

    fn fallback_token(&self) -> Option<String> {
        self.options.token.clone()
    }

    fn default_owner(&self) -> Option<String> {
        self.options.owner_id.clone()
    }

    fn default_marker_key(&self) -> Option<Vec<u8>> {
        self.options.marker_key.clone()
    }

    fn has_statuses(&self) -> bool {
        false
    }
}
