//! The control socket: commands of the command line reach the running instance through a socket in the data folder.
//!
//! One request per connection as a line of JSON, answered with lines of JSON. The socket has mode 0600; who may open it
//! may also read the database.

use std::path::PathBuf;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

use crate::api::{Api, Failure, FailureCode, Line, Request};
use crate::store::DataFolder;

/// Longest request: a filter with all its kinds is below 2 kB.
const LONGEST_REQUEST: usize = 64 * 1024;
/// Lines prepared ahead of a slow reader.
const AHEAD: usize = 64;

pub struct Control {
    listener: UnixListener,
    path: PathBuf,
    api: Api,
}

impl Control {
    /// Binds the socket. The instance lock is held, so a socket that is there already is a dead one.
    pub fn bind(folder: &DataFolder, api: Api) -> std::io::Result<Self> {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.control_socket();
        match std::fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // The folder has mode 0700, so nobody else reaches the socket before its own mode is set.
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, path, api })
    }

    /// Answers until it is dropped.
    pub async fn run(self) {
        let mut answers = tokio::task::JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let api = self.api.clone();
                        answers.spawn(async move {
                            if let Err(error) = answer(stream, api).await {
                                tracing::debug!(%error, "a control connection ended early");
                            }
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "the control socket stumbled");
                        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                    }
                },
                Some(_) = answers.join_next() => {}
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // silent-ok: the next start removes a socket that was left.
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn answer(stream: UnixStream, api: Api) -> std::io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut text = String::new();
    let mut reader = BufReader::new(tokio::io::AsyncReadExt::take(reader, LONGEST_REQUEST as u64));
    reader.read_line(&mut text).await?;
    let request: Request = match serde_json::from_str(&text) {
        Ok(request) => request,
        Err(error) => {
            let failure = Failure::new(FailureCode::Invalid, format!("the request is not understood: {error}"));
            return write(&mut writer, &Line::Failed(failure)).await;
        }
    };
    let (lines, mut ready) = mpsc::channel(AHEAD);
    let answered = api.answer(request, lines);
    let written = async {
        while let Some(line) = ready.recv().await {
            write(&mut writer, &line).await?;
        }
        Ok(())
    };
    let ((), written) = tokio::join!(answered, written);
    written
}

async fn write(writer: &mut (impl tokio::io::AsyncWrite + Unpin), line: &Line) -> std::io::Result<()> {
    let mut text = serde_json::to_string(line).map_err(std::io::Error::other)?;
    text.push('\n');
    writer.write_all(text.as_bytes()).await
}
