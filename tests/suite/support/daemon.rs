//! The real `unavezd` as a child process with a folder and a configuration of its own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The bearer token of its local API.
pub const TOKEN: &str = "token-of-the-test-0123456789";

/// A place for one installation: configuration and data, kept over restarts.
pub struct Place {
    pub folder: tempfile::TempDir,
}

impl Place {
    /// `config` is the TOML file; the local API and its token are added.
    pub fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Self { folder };
        place.configure(config);
        place
    }

    pub fn configure(&self, config: &str) {
        let http = "[http]\nenabled = true\nbind = \"127.0.0.1:0\"\ntoken = { env = \"UNAVEZ_TEST_TOKEN\" }\n";
        std::fs::write(self.config(), format!("{config}\n{http}")).unwrap();
    }

    pub fn config(&self) -> PathBuf {
        self.folder.path().join("config.toml")
    }
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }
    pub fn database(&self) -> PathBuf {
        self.data().join("unavez.db")
    }

    /// A command of this installation, ready to run.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unavezd"));
        command
            .arg("--config")
            .arg(self.config())
            .arg("--data")
            .arg(self.data())
            .args(arguments)
            .env("UNAVEZ_TEST_TOKEN", TOKEN)
            .env_remove("UNAVEZ_FAILPOINT")
            // No session bus: the tests must not touch the keychain of whoever runs them.
            .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
            .stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Rows of a list command.
    pub fn rows(&self, arguments: &[&str]) -> Vec<Value> {
        let mut all = vec!["--json"];
        all.extend(arguments);
        let output = self.run(&all);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// A read-only look at the rows themselves.
    pub fn read(&self) -> rusqlite::Connection {
        let connection =
            rusqlite::Connection::open_with_flags(self.database(), rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        connection.busy_timeout(Duration::from_secs(5)).unwrap();
        connection
    }

    pub fn count(&self, sql: &str) -> i64 {
        self.read().query_row(sql, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }
}

/// A running `unavezd run`; killed when dropped.
pub struct Daemon {
    child: Child,
    /// `http://127.0.0.1:PORT`
    pub address: String,
    errors: std::thread::JoinHandle<String>,
}

impl Daemon {
    pub fn start(place: &Place, environment: &[(&str, &str)]) -> Self {
        Self::try_start(place, environment).unwrap_or_else(|text| panic!("unavezd did not start:\n{text}"))
    }

    /// Waits for the line `ready`; what it wrote to stderr if it ended first.
    pub fn try_start(place: &Place, environment: &[(&str, &str)]) -> Result<Self, String> {
        let mut command = place.command(&["run"]);
        command.envs(environment.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = child.stderr.take().unwrap();
        let errors = std::thread::spawn(move || {
            BufReader::new(stderr).lines().map_while(Result::ok).collect::<Vec<_>>().join("\n")
        });
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.by_ref().map_while(Result::ok).find(|line| line.starts_with("ready"));
        let Some(ready) = ready else {
            let _ = child.wait();
            return Err(errors.join().unwrap());
        };
        // Nobody reads further lines; the pipe must not fill.
        std::thread::spawn(move || lines.for_each(drop));
        let address = ready.strip_prefix("ready").unwrap().trim().to_owned();
        Ok(Self { child, address, errors })
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// As if the power button of this process had been held.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to end and waits for it; returns what it wrote to stderr.
    pub fn stop(mut self, within: Duration) -> String {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let deadline = Instant::now() + within;
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "unavezd still runs {within:?} after SIGTERM");
            std::thread::sleep(Duration::from_millis(10));
        }
        let errors = std::mem::replace(&mut self.errors, std::thread::spawn(String::new));
        errors.join().unwrap()
    }

    /// Waits until a failpoint ended it.
    pub fn wait_for_death(mut self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        while Instant::now() < deadline {
            if self.child.try_wait().unwrap().is_some() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// Says something through the local API and returns the answer.
    pub async fn say(&self, session: &str, message: &str, key: Option<&str>) -> Result<Value, String> {
        unavez::runtime::tls::install_provider();
        let mut request = reqwest::Client::new()
            .post(format!("{}/api/sessions/{session}/invoke", self.address))
            .bearer_auth(TOKEN)
            .json(&serde_json::json!({ "message": message }));
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        let answer = request.send().await.map_err(|error| error.to_string())?;
        let status = answer.status();
        let text = answer.text().await.map_err(|error| error.to_string())?;
        if !status.is_success() {
            return Err(format!("{status}: {text}"));
        }
        serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // silent-ok: it may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Polls `condition` until it holds. For real processes only: everything in one process waits for rows instead.
pub fn eventually(what: &str, within: Duration, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + within;
    while !condition() {
        assert!(Instant::now() < deadline, "after {within:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Does this path exist and hold anything?
pub fn holds_files(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}
