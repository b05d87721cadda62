//! Starts the third-party servers, each in a scratch folder on free loopback ports, and ends them with the test.
//!
//! A starter returns `None` after printing a `SKIPPED` line when its server is not installed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a server may take to answer for the first time.
const START: Duration = Duration::from_secs(30);

/// A running program; killed when dropped.
pub struct Process(Child);

impl Process {
    pub fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // silent-ok: it may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn skipped(peer: &str, why: &str) {
    println!("SKIPPED {peer}: {why}");
}

/// Where `tests/peers/install.sh` put `path`, if it did.
pub fn installed(peer: &str, path: &str) -> Option<PathBuf> {
    // Every starter comes through here, and whoever talks to a server needs it.
    unavez::runtime::tls::install_provider();
    let path = here().join(".cache").join(path);
    if path.exists() {
        return Some(path);
    }
    skipped(peer, &format!("{} is not there; run `make test-peers`", path.display()));
    None
}

pub fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers")
}

pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub fn wait_for_port(port: u16) {
    let deadline = Instant::now() + START;
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "nothing listens on port {port} after {START:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A template of this folder with its `@NAME@` marks filled in.
fn filled(template: &str, target: &Path, marks: &[(&str, &str)]) {
    let mut text = std::fs::read_to_string(here().join(template)).unwrap();
    for (name, value) in marks {
        text = text.replace(&format!("@{name}@"), value);
    }
    std::fs::write(target, text).unwrap();
}

fn log_to(folder: &Path, name: &str) -> (Stdio, Stdio) {
    let file = std::fs::File::create(folder.join(name)).unwrap();
    (file.try_clone().unwrap().into(), file.into())
}

// ---- Telegram ------------------------------------------------------------------------------------

/// `@openclaw/crabline`: a Telegram Bot API with real long polling.
pub struct Crabline {
    pub url: String,
    folder: TempDir,
    _process: Process,
}

pub const BOT_TOKEN: &str = "123456:TESTTOKEN_abcdefghijklmnopqrstuvwxyz";
const ADMIN: &str = "admin-of-the-test";

impl Crabline {
    pub fn start() -> Option<Self> {
        let package = installed("crabline", "npm/node_modules/@openclaw/crabline")?;
        let manifest: Value =
            serde_json::from_str(&std::fs::read_to_string(package.join("package.json")).unwrap()).unwrap();
        let program = match &manifest["bin"] {
            Value::String(path) => path.clone(),
            bins => bins.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned(),
        };
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let (out, err) = log_to(folder.path(), "crabline.log");
        let process = Process::start(
            Command::new("node")
                .arg(package.join(program))
                .args([
                    "--json",
                    "serve",
                    "telegram",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    &port.to_string(),
                    "--ready-file",
                    "ready.json",
                ])
                .env("CRABLINE_BOT_TOKEN", BOT_TOKEN)
                .env("CRABLINE_ADMIN_TOKEN", ADMIN)
                .current_dir(folder.path())
                .stdout(out)
                .stderr(err),
        );
        wait_for_port(port);
        Some(Self { url: format!("http://127.0.0.1:{port}"), folder, _process: process })
    }

    /// A person writes to the bot.
    pub async fn say(&self, chat: i64, text: &str) {
        let answer = reqwest::Client::new()
            .post(format!("{}/crabline/telegram/inbound", self.url))
            .header("X-Crabline-Admin-Token", ADMIN)
            .json(&json!({ "chatId": chat, "fromId": chat, "fromName": "Ann", "text": text }))
            .send()
            .await
            .unwrap();
        assert!(answer.status().is_success(), "{answer:?}");
    }

    /// Every API call that reached the server, in order.
    pub fn calls(&self) -> Vec<Value> {
        let recorder = self.folder.path().join(".crabline/servers/telegram.jsonl");
        let text = std::fs::read_to_string(recorder).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Bodies of the calls whose line names `method`, whatever its case.
    pub fn calls_of(&self, method: &str) -> Vec<Value> {
        let method = method.to_lowercase();
        self.calls()
            .into_iter()
            .filter(|call| {
                call.to_string().to_lowercase().contains(&format!("/{method}"))
                    || call["method"].as_str().is_some_and(|name| name.to_lowercase() == method)
            })
            .collect()
    }
}

// ---- models --------------------------------------------------------------------------------------

/// `@copilotkit/aimock`: an OpenAI-compatible server that plays a script.
pub struct Aimock {
    pub url: String,
    _folder: TempDir,
    _process: Process,
}

impl Aimock {
    pub fn start(fixtures: &Value) -> Option<Self> {
        let program = installed("aimock", "npm/node_modules/.bin/llmock")?;
        let folder = tempfile::tempdir().unwrap();
        let fixtures_folder = folder.path().join("fixtures");
        std::fs::create_dir(&fixtures_folder).unwrap();
        std::fs::write(fixtures_folder.join("script.json"), fixtures.to_string()).unwrap();
        let port = free_port();
        let (out, err) = log_to(folder.path(), "aimock.log");
        let process = Process::start(
            Command::new(program)
                .args(["-p", &port.to_string(), "-h", "127.0.0.1", "-f"])
                .arg(&fixtures_folder)
                .arg("--strict")
                .stdout(out)
                .stderr(err),
        );
        wait_for_port(port);
        Some(Self { url: format!("http://127.0.0.1:{port}"), _folder: folder, _process: process })
    }

    /// Every request body it was sent.
    pub async fn journal(&self) -> Vec<Value> {
        let answer = reqwest::get(format!("{}/__aimock/journal", self.url)).await.unwrap();
        let value: Value = answer.json().await.unwrap();
        value.as_array().or_else(|| value.get("entries")?.as_array()).cloned().unwrap_or_default()
    }
}

// ---- Google --------------------------------------------------------------------------------------

/// `emulate`: Google's consent page, codes with PKCE, refresh.
pub struct Emulate {
    pub url: String,
    _folder: TempDir,
    _process: Process,
}

impl Emulate {
    /// `seed` is emulate's YAML: users, clients and redirect addresses.
    pub fn start(seed: &str) -> Option<Self> {
        let script = installed("emulate", "npm/node_modules/emulate/dist/index.js")?;
        let newer = here().join(".cache/node/node_modules/node/bin/node");
        let node = if newer.exists() { newer } else { PathBuf::from("node") };
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("seed.yaml"), seed).unwrap();
        let port = free_port();
        let (out, err) = log_to(folder.path(), "emulate.log");
        let process = Process::start(
            Command::new(node)
                .arg(script)
                .args(["start", "--service", "google", "--port", &port.to_string(), "--seed", "seed.yaml"])
                .current_dir(folder.path())
                .stdout(out)
                .stderr(err),
        );
        wait_for_port(port);
        Some(Self { url: format!("http://127.0.0.1:{port}"), _folder: folder, _process: process })
    }
}

// ---- mail ----------------------------------------------------------------------------------------

/// Exim and Dovecot over one inbox. The certificate is the test's own; `ca` is its file.
pub struct MailServers {
    pub smtp: u16,
    pub smtp_tls: u16,
    pub imap: u16,
    pub imap_tls: u16,
    pub ca: PathBuf,
    folder: TempDir,
    _exim: Process,
    _dovecot: Process,
}

pub const MAIL_USER: &str = "me@example.test";
pub const MAIL_PASSWORD: &str = "correct horse";

impl MailServers {
    pub fn start() -> Option<Self> {
        let find = |name: &str| {
            ["/usr/sbin", "/usr/bin", "/sbin"].iter().map(|dir| Path::new(dir).join(name)).find(|path| path.exists())
        };
        let (Some(exim), Some(dovecot)) = (find("exim4"), find("dovecot")) else {
            skipped("Exim and Dovecot", "not installed; run `make test-peers`");
            return None;
        };
        let root = rustix::process::getuid().is_root();
        let (user, group) = match root {
            true => ("Debian-exim".to_owned(), "Debian-exim".to_owned()),
            false => (shell("id -un"), shell("id -gn")),
        };
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().to_string_lossy().into_owned();
        for part in ["spool", "log", "tls", "inbox", "dovecot"] {
            std::fs::create_dir(folder.path().join(part)).unwrap();
        }
        certificate(&folder.path().join("tls"));
        std::fs::write(folder.path().join("users"), format!("{MAIL_USER}:{{plain}}{MAIL_PASSWORD}\n")).unwrap();
        let ports: Vec<String> = (0..4).map(|_| free_port().to_string()).collect();
        let marks = |plain: usize, tls: usize| {
            vec![
                ("DIR", dir.clone()),
                ("USER", user.clone()),
                ("GROUP", group.clone()),
                ("PORT", ports[plain].clone()),
                ("TLS_PORT", ports[tls].clone()),
            ]
        };
        for (template, plain, tls) in [("exim.conf", 0, 1), ("dovecot.conf", 2, 3)] {
            let marks = marks(plain, tls);
            let marks: Vec<(&str, &str)> = marks.iter().map(|(name, value)| (*name, value.as_str())).collect();
            filled(template, &folder.path().join(template), &marks);
        }
        // Exim gives up its rights before it reads the spool: the folder has to belong to the user it becomes, and its
        // configuration to root.
        shell(&format!(
            "chmod 755 '{dir}' && chmod 644 '{dir}'/*.conf && {} chmod 644 '{dir}'/tls/server.key",
            if root {
                format!("chown -R {user}:{group} '{dir}' && chown root:root '{dir}'/*.conf &&")
            } else {
                String::new()
            }
        ));
        let (out, err) = log_to(folder.path(), "exim.out");
        let exim = Process::start(
            Command::new(exim)
                .arg("-C")
                .arg(folder.path().join("exim.conf"))
                .args(["-bdf", "-q1m"])
                .stdout(out)
                .stderr(err),
        );
        let (out, err) = log_to(folder.path(), "dovecot.out");
        let dovecot = Process::start(
            Command::new(dovecot).arg("-F").arg("-c").arg(folder.path().join("dovecot.conf")).stdout(out).stderr(err),
        );
        let port = |at: usize| ports[at].parse::<u16>().unwrap();
        for at in 0..4 {
            wait_for_port(port(at));
        }
        Some(Self {
            smtp: port(0),
            smtp_tls: port(1),
            imap: port(2),
            imap_tls: port(3),
            ca: folder.path().join("tls/ca.pem"),
            folder,
            _exim: exim,
            _dovecot: dovecot,
        })
    }

    /// The mails that were delivered, as bytes.
    pub fn delivered(&self) -> Vec<String> {
        let mut found = Vec::new();
        for part in ["inbox/new", "inbox/cur"] {
            for entry in std::fs::read_dir(self.folder.path().join(part)).into_iter().flatten() {
                found.push(String::from_utf8_lossy(&std::fs::read(entry.unwrap().path()).unwrap()).into_owned());
            }
        }
        found
    }
}

fn certificate(folder: &Path) {
    let ca_key = rcgen::KeyPair::generate().unwrap();
    let mut ca = rcgen::CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let ca_certificate = ca.self_signed(&ca_key).unwrap();
    let issuer = rcgen::Issuer::new(ca, ca_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let server = rcgen::CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let certificate = server.signed_by(&key, &issuer).unwrap();
    std::fs::write(folder.join("ca.pem"), ca_certificate.pem()).unwrap();
    std::fs::write(folder.join("server.pem"), certificate.pem()).unwrap();
    std::fs::write(folder.join("server.key"), key.serialize_pem()).unwrap();
}

fn shell(command: &str) -> String {
    let output = Command::new("sh").args(["-c", command]).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
