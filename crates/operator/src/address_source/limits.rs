//! A process that runs untrusted text: the limits that it sets itself before it reads anything, and its one task.
//!
//! A filter of any namespace's editor and an answer from anywhere meet here. Whatever they do to each other (recursion
//! without end, gigabytes, loops) ends with this process, whose exit is an error on one object.

use std::{
    io::{Read, Write},
    process::ExitCode,
};

use rustix::process::{Resource, Rlimit, nice, setrlimit};
use serde::{Deserialize, Serialize};

use super::extract;

/// The word that makes the binary such a process; it is not for people, and so is not in the help.
pub const SUBCOMMAND: &str = "extract-address";

const MEBIBYTE: u64 = 1 << 20;
/// What a worker may allocate; several run beside the operator within the memory of one container.
const MEMORY: u64 = 64 * MEBIBYTE;
/// The program itself, its libraries and reserved address space are not allocated, but counted here.
const ADDRESS_SPACE: u64 = 2048 * MEBIBYTE;
const STACK: usize = 8 << 20;
/// Seconds of processor time.
pub const SECONDS: u64 = 2;
/// The answer, filter and expression, escaped.
const INPUT: u64 = MEBIBYTE;
/// What is said back: an address or a sentence.
pub const OUTPUT: usize = 4096;

/// What a worker is asked.
#[derive(Debug, Serialize, Deserialize)]
pub struct Question {
    pub answer: String,
    pub jq: Option<String>,
    pub regex: Option<String>,
}

/// Sets the limits, answers one question from standard input on standard output, and ends.
pub fn work() -> ExitCode {
    // The kernel ends a worker before the operator where memory runs out for both; not everywhere is there such a file.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    if limit().is_err() {
        return ExitCode::FAILURE;
    }
    // A worker is never more urgent than the operator; it works at any priority.
    let _ = nice(10);
    let answered = std::thread::Builder::new().stack_size(STACK).spawn(answer).map(|thread| thread.join());
    match answered {
        Ok(Ok(Ok(()))) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn limit() -> rustix::io::Result<()> {
    let at_most = |resource, most| setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    at_most(Resource::Core, 0)?;
    at_most(Resource::Fsize, 0)?;
    at_most(Resource::Nofile, 16)?;
    at_most(Resource::Cpu, SECONDS)?;
    at_most(Resource::Data, MEMORY)?;
    at_most(Resource::As, ADDRESS_SPACE)
}

fn answer() -> std::io::Result<()> {
    let mut input = Vec::new();
    std::io::stdin().take(INPUT).read_to_end(&mut input)?;
    let question: Question = serde_json::from_slice(&input)?;
    let found = extract::address(&question.answer, question.jq.as_deref(), question.regex.as_deref());
    let said = found.map(|address| address.to_string());
    let said = serde_json::to_vec(&said.map_err(|error| shortened(&error)))?;
    std::io::stdout().write_all(&said)
}

/// At most as long as the other side reads, escapes included.
fn shortened(error: &str) -> String {
    error.chars().take(OUTPUT / 8).collect()
}
