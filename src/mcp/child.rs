//! A server as a child process: started with a small environment, its standard error in our log, its group ended with it.

use std::collections::BTreeMap;
use std::process::Stdio;

use rmcp::transport::TokioChildProcess;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::Command;

use crate::runtime::redact::{redact, remember_secret};

/// What a child inherits. Our own environment may hold secrets of other services, so the rest stays here.
const INHERITED: [&str; 14] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
];

/// Longest line of its standard error that is logged; the rest of a longer one is left out.
const LONGEST_LINE: usize = 1_000;
/// Lines that are logged per run of the process; then it is only drained.
const MOST_LINES: usize = 500;

/// A started child and the end of its process group.
pub(super) struct Child {
    pub transport: TokioChildProcess,
    pub group: Group,
}

/// Ends whatever is left of the process and its children when dropped: `npx` and the like start further ones.
pub(super) struct Group(Option<rustix::process::Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(pid) = self.0.take() {
            // silent-ok: no such group is what a good server leaves.
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
    }
}

pub(super) fn start(server: &str, command: &[String], env: &BTreeMap<String, String>) -> Result<Child, String> {
    let Some((program, arguments)) = command.split_first() else { return Err("no program is configured".to_owned()) };
    let mut child = Command::new(program);
    child.args(arguments).env_clear().kill_on_drop(true).process_group(0);
    for name in INHERITED {
        if let Some(value) = std::env::var_os(name) {
            child.env(name, value);
        }
    }
    for (name, value) in env {
        if is_secret(name) {
            remember_secret(value);
        }
        child.env(name, value);
    }
    let (transport, stderr) = TokioChildProcess::builder(child)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{program} cannot be started: {error}"))?;
    if let Some(stderr) = stderr {
        tokio::spawn(log(server.to_owned(), stderr));
    }
    let id = transport.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    Ok(Child { transport, group: Group(id) })
}

/// By its name: a variable that holds a secret is masked in the log.
fn is_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"].iter().any(|part| name.contains(part))
}

/// Reads to the end, so that the pipe never fills; logs up to a limit.
async fn log(server: String, stderr: impl AsyncRead + Unpin) {
    let mut reader = BufReader::new(stderr);
    let (mut line, mut logged) = (Vec::new(), 0_usize);
    loop {
        let (used, ended) = match reader.fill_buf().await {
            Ok([]) | Err(_) => break,
            Ok(bytes) => {
                let end = bytes.iter().position(|byte| *byte == b'\n');
                let part = &bytes[..end.unwrap_or(bytes.len())];
                line.extend_from_slice(&part[..part.len().min(LONGEST_LINE.saturating_sub(line.len()))]);
                (end.map_or(bytes.len(), |at| at + 1), end.is_some())
            }
        };
        reader.consume(used);
        if ended {
            write(&server, &line, &mut logged);
            line.clear();
        }
    }
    write(&server, &line, &mut logged);
}

fn write(server: &str, line: &[u8], logged: &mut usize) {
    if line.is_empty() || *logged > MOST_LINES {
        return;
    }
    *logged += 1;
    if *logged > MOST_LINES {
        tracing::warn!(server, "the tool server writes too much; the rest of its lines is left out");
        return;
    }
    let text = String::from_utf8_lossy(line);
    tracing::info!(server, line = redact(text.trim_end()), "tool server");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_flood_without_line_ends_is_drained_in_little_memory() {
        // Ends at the end of the stream, whatever is in it.
        log("x".to_owned(), std::io::Cursor::new(vec![b'a'; 4_000_000])).await;
        log("x".to_owned(), std::io::Cursor::new(vec![b'\n'; 100_000])).await;
        let (mut logged, line) = (0, [b'a'; 10]);
        for _ in 0..10_000 {
            write("x", &line, &mut logged);
        }
        assert_eq!(logged, MOST_LINES + 1);
    }

    #[test]
    fn variables_that_hold_secrets_are_known_by_name() {
        assert!(is_secret("GITHUB_TOKEN") && is_secret("api_key") && is_secret("DB_PASSWORD"));
        assert!(!is_secret("MEMORY_FILE_PATH") && !is_secret("LANG"));
    }
}
