//! The real binary, run as a user would run it.

use std::{ffi::OsString, fmt, process::Stdio, time::Duration};

use serde_json::Value;
pub use zonekeeper_tests::binary::binary;
use zonekeeper_tests::canary;

/// Longer than any command here may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command that is about to be run.
pub struct Call {
    arguments: Vec<OsString>,
    environment: Vec<(String, String)>,
}

/// What a command did.
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// A call of the binary.
pub fn zonekeeper<const N: usize>(arguments: [&str; N]) -> Call {
    Call { arguments: arguments.iter().map(Into::into).collect(), environment: Vec::new() }
}

impl Call {
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    pub fn args(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(Into::into));
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// The command with a clean environment: no token of the machine that runs the tests.
    pub fn command(&self) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(binary());
        command
            .args(&self.arguments)
            .env_remove("CLOUDFLARE_API_TOKEN")
            .env_remove("CF_API_TOKEN")
            .env_remove("RUST_LOG")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    pub async fn run(self) -> Run {
        // Builds outside the time limit.
        let mut command = self.command();
        let output = tokio::time::timeout(PATIENCE, command.output())
            .await
            .unwrap_or_else(|_| panic!("{:?} did not end within {PATIENCE:?}", self.arguments))
            .expect("the binary runs");
        let run = Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        };
        canary::assert_hidden("stdout", &run.stdout);
        canary::assert_hidden("stderr", &run.stderr);
        run
    }
}

impl Run {
    /// Checks the exit code, and shows everything if it is another.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self}");
        self
    }

    /// Checks that one of the two streams says something.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stdout.contains(text) || self.stderr.contains(text), "nothing says {text:?}:\n{self}");
        self
    }

    /// Checks that neither stream says something.
    #[track_caller]
    pub fn never_says(self, text: &str) -> Self {
        assert!(
            !self.stdout.contains(text) && !self.stderr.contains(text),
            "something says {text:?}:\n{self}"
        );
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}:\n{self}"))
    }
}

impl fmt::Display for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "exit code {}\n--- stdout\n{}--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}
