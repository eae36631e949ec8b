//! Which files of a folder are its manifests, and what they looked like when they were listed.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs::{self, Metadata},
    io::{Error, ErrorKind},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::folder::{Place, Problem, Problems};

/// How the names of manifests end, in upper or lower case.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// The manifests below a folder: two listings are equal if nothing was changed, replaced, added or taken away between
/// them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    files: BTreeMap<PathBuf, Stamp>,
}

/// What changes with every write to a file, and with every other file that takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    identity: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

// === impl Listing ===

impl Listing {
    /// Lists a folder. Hidden files and folders are left out, as a mounted ConfigMap has them beside its links.
    ///
    /// Guarantees: all manifests, or a problem for each entry that may hide one.
    pub fn of(path: &Path) -> Result<Self, Problems> {
        let mut walk = Walk { files: BTreeMap::new(), folders: Vec::new(), problems: Vec::new() };
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => walk.enter(path, &found),
            // One file would be taken for all that is wanted, and the records of all others for given up.
            Ok(_) => walk.problem(path, "is a file; give the folder that holds all manifests".into()),
            Err(error) => walk.problem(path, format!("can't be read: {error}")),
        }
        walk.finish()
    }

    /// The files, in order.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(PathBuf::as_path)
    }
}

// === impl Stamp ===

impl Stamp {
    fn of(found: &Metadata) -> Self {
        Self {
            identity: identity(found),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

struct Walk {
    files: BTreeMap<PathBuf, Stamp>,
    folders: Vec<(PathBuf, (u64, u64))>,
    problems: Vec<Problem>,
}

// === impl Walk ===

impl Walk {
    fn finish(mut self) -> Result<Listing, Problems> {
        // A link to a folder above would lead round and round.
        let mut visited = BTreeSet::new();
        while let Some((folder, identity)) = self.folders.pop() {
            if !visited.insert(identity) {
                continue;
            }
            if let Err(error) = self.list(&folder) {
                self.problem(&folder, format!("can't be read: {error}"));
            }
        }
        self.problems.sort_by(|one, other| one.place.cmp(&other.place));
        if self.problems.is_empty() {
            Ok(Listing { files: self.files })
        } else {
            Err(Problems(self.problems))
        }
    }

    fn list(&mut self, folder: &Path) -> Result<(), Error> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if is_hidden {
                continue;
            }
            match fs::metadata(&path) {
                Ok(found) => self.take(path, &found),
                Err(error) => self.note_missing(&path, &error),
            }
        }
        Ok(())
    }

    fn take(&mut self, path: PathBuf, found: &Metadata) {
        match (found.is_dir(), found.is_file(), is_manifest(&path)) {
            (true, _, true) => {
                let message =
                    "is a folder with the name of a manifest; rename it, or put the manifest in its place";
                self.problem(&path, message.into());
            }
            (true, _, false) => self.enter(&path, found),
            (false, true, true) => drop(self.files.insert(path, Stamp::of(found))),
            // A pipe would be waited for without end.
            (false, false, true) => {
                self.problem(
                    &path,
                    "is not a regular file; put the manifest in its place, or remove it".into(),
                );
            }
            (false, _, false) => {}
        }
    }

    /// A link that leads nowhere may stand for a manifest, or for a folder of them, whatever its name.
    fn note_missing(&mut self, path: &Path, error: &Error) {
        match fs::read_link(path) {
            Ok(target) if error.kind() == ErrorKind::NotFound => {
                let target = target.display();
                self.problem(
                    path,
                    format!("links to {target}, which does not exist; restore that, or remove the link"),
                );
            }
            Ok(_) => {
                self.problem(path, format!("is a link that leads nowhere: {error}; correct or remove it"))
            }
            // It went away since the folder was listed.
            Err(_) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => self.problem(path, format!("can't be read: {error}")),
        }
    }

    fn enter(&mut self, folder: &Path, found: &Metadata) {
        self.folders.push((folder.to_owned(), identity(found)));
    }

    fn problem(&mut self, path: &Path, message: String) {
        let place = Place { file: path.to_owned(), line: 0 };
        self.problems.push(Problem { place, field: String::new(), message });
    }
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

fn is_manifest(path: &Path) -> bool {
    let is_ending = |end: &OsStr| ENDINGS.iter().any(|known| end.eq_ignore_ascii_case(known));
    path.extension().is_some_and(is_ending)
}
