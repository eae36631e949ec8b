//! kubectl, as users call it.

use std::{
    fmt,
    path::{Path, PathBuf},
    process::Stdio,
};

use control_plane::{ControlPlane, User, eventually};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{io::AsyncWriteExt, process::Command, sync::OnceCell};

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// kubectl for one user of one control plane.
pub struct Kubectl {
    kubeconfig: PathBuf,
    cache: TempDir,
}

/// What a call did.
pub struct Answer {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// The control plane of this test process, with what `deploy` installs; `kubectl` may do everything.
pub async fn installed() -> (&'static ControlPlane, Kubectl) {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    let plane = ControlPlane::shared().await;
    let kubectl = Kubectl::new(plane, &User::admin());
    INSTALLED
        .get_or_init(|| async {
            let answer = kubectl.run(&["apply", "--server-side", "-k", "deploy"]).await.succeeds();
            assert!(!answer.stderr.contains("Warning"), "{answer}");
            kubectl.established().await;
        })
        .await;
    (plane, kubectl)
}

// === impl Kubectl ===

impl Kubectl {
    pub fn new(plane: &ControlPlane, user: &User) -> Self {
        Self { kubeconfig: plane.kubeconfig(user).unwrap(), cache: tempfile::tempdir().unwrap() }
    }

    pub async fn run(&self, arguments: &[&str]) -> Answer {
        self.feed(arguments, "").await
    }

    /// Runs it with a text to read.
    pub async fn feed(&self, arguments: &[&str], text: &str) -> Answer {
        let mut child = Command::new(control_plane::program("kubectl").unwrap())
            .args(arguments)
            .current_dir(root())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", self.cache.path())
            .env("KUBERC", "off")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).await.unwrap();
        let output = child.wait_with_output().await.unwrap();
        Answer {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Applies objects.
    pub async fn apply(&self, objects: &[Value]) {
        for object in objects {
            self.feed(&["apply", "-f", "-"], &object.to_string()).await.succeeds();
        }
    }

    /// What `kubectl get` shows.
    pub async fn get(&self, arguments: &[&str]) -> Value {
        let arguments = [&["get", "-o", "json"], arguments].concat();
        serde_json::from_str(&self.run(&arguments).await.succeeds().stdout).unwrap()
    }

    /// Waits until a condition of an object has a status.
    pub async fn wait(&self, object: &[&str], condition: &str) {
        let condition = format!("--for=condition={condition}");
        let arguments = [&["wait", &condition, "--timeout=60s"], object].concat();
        let answer = self.run(&arguments).await;
        if answer.code != 0 {
            panic!("{answer}\n{:#}", self.get(object).await);
        }
    }

    /// Waits until the API server serves our kinds.
    pub async fn established(&self) {
        self.wait(&["crd", "--all"], "Established").await;
    }
}

/// Asks until the answer is this one: RBAC takes effect a moment after it is written.
pub async fn eventually_is<T: PartialEq + fmt::Debug>(
    what: &str,
    wanted: T,
    mut ask: impl AsyncFnMut() -> T,
) {
    eventually(what, control_plane::DEADLINE, async || {
        let found = ask().await;
        if found == wanted { Ok(()) } else { Err(found) }
    })
    .await;
}

// === impl Answer ===

impl Answer {
    #[track_caller]
    pub fn succeeds(self) -> Self {
        assert_eq!(self.code, 0, "{self}");
        self
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "exit code {}\n--- stdout\n{}--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}
