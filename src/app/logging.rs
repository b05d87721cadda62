//! Logs: JSON lines in the data folder, and on stderr. Secrets are masked by value and by shape before anything is written.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::LogLevel;
use crate::runtime::redact::redact;
use crate::store::secure_file;

/// One file holds this much; then it becomes `unavez.log.1`, and so on.
const LONGEST_FILE: u64 = 8 * 1024 * 1024;
/// Old files that are kept.
const KEPT: usize = 4;

/// Starts logging once per process. A folder that cannot be written leaves stderr.
pub fn start(level: LogLevel, folder: Option<&Path>) {
    // Libraries are quiet unless something is wrong; a prompt or an address in their debug output is nobody's business.
    // genai warns of every streamed reply that begins with an empty text.
    let filter = || EnvFilter::new(format!("warn,genai=error,unavez={level}", level = level.as_str()));
    let stderr = tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(Masked(Arc::new(Stderr)));
    let file = folder.and_then(|folder| RotatingFile::open(folder.join("unavez.log")).ok());
    let file = file.map(|file| {
        tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(Masked(Arc::new(Mutex::new(file))))
    });
    // silent-ok: a second start in one process keeps the first subscriber.
    let _ = tracing_subscriber::registry().with(filter()).with(file).with(stderr).try_init();
}

/// Where whole, masked lines go.
trait Sink: Send + Sync {
    fn line(&self, text: &str) -> std::io::Result<()>;
}

struct Stderr;

impl Sink for Stderr {
    fn line(&self, text: &str) -> std::io::Result<()> {
        std::io::stderr().lock().write_all(text.as_bytes())
    }
}

impl Sink for Mutex<RotatingFile> {
    fn line(&self, text: &str) -> std::io::Result<()> {
        self.lock().unwrap_or_else(PoisonError::into_inner).write(text)
    }
}

struct Masked<S>(Arc<S>);

/// Collects one event and writes it masked when it is complete.
struct Event<S: Sink> {
    sink: Arc<S>,
    text: Vec<u8>,
}

impl<'a, S: Sink + 'a> MakeWriter<'a> for Masked<S> {
    type Writer = Event<S>;

    fn make_writer(&'a self) -> Self::Writer {
        Event { sink: self.0.clone(), text: Vec::new() }
    }
}

impl<S: Sink> Write for Event<S> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<S: Sink> Drop for Event<S> {
    fn drop(&mut self) {
        // silent-ok: a log that cannot be written must not stop the work it tells of.
        let _ = self.sink.line(&redact(&String::from_utf8_lossy(&self.text)));
    }
}

/// A file that starts anew when it has grown.
struct RotatingFile {
    path: PathBuf,
    file: File,
    written: u64,
}

impl RotatingFile {
    fn open(path: PathBuf) -> std::io::Result<Self> {
        secure_file(&path).map_err(std::io::Error::other)?;
        let file = File::options().append(true).open(&path)?;
        let written = file.metadata()?.len();
        Ok(Self { path, file, written })
    }

    fn write(&mut self, text: &str) -> std::io::Result<()> {
        if self.written + text.len() as u64 > LONGEST_FILE {
            self.rotate()?;
        }
        self.file.write_all(text.as_bytes())?;
        self.written += text.len() as u64;
        Ok(())
    }

    fn rotate(&mut self) -> std::io::Result<()> {
        let numbered = |n: usize| self.path.with_extension(format!("log.{n}"));
        for n in (1..KEPT).rev() {
            if numbered(n).exists() {
                std::fs::rename(numbered(n), numbered(n + 1))?;
            }
        }
        std::fs::rename(&self.path, numbered(1))?;
        *self = Self::open(self.path.clone())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    #[test]
    fn the_file_starts_anew_and_only_the_newest_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = RotatingFile::open(dir.path().join("unavez.log")).unwrap();
        let line = "x".repeat(usize::try_from(LONGEST_FILE).unwrap() / 2 + 1);
        for _ in 0..8 {
            file.write(&line).unwrap();
        }
        let mut names: Vec<String> =
            std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, ["unavez.log", "unavez.log.1", "unavez.log.2", "unavez.log.3", "unavez.log.4"]);
    }

    #[test]
    fn secrets_never_reach_a_sink() {
        #[derive(Default)]
        struct Kept(Mutex<String>);
        impl Sink for Kept {
            fn line(&self, text: &str) -> std::io::Result<()> {
                self.0.lock().unwrap().push_str(text);
                Ok(())
            }
        }
        crate::runtime::redact::remember_secret("s3cret-by-value");
        let sink = Arc::new(Kept::default());
        let mut event = Masked(sink.clone()).make_writer();
        event.write_all(b"POST https://api.telegram.org/bot12:AB").unwrap();
        event.write_all(b"CD/getMe s3cret-by").unwrap();
        event.write_all(b"-value").unwrap();
        drop(event);
        assert_eq!(*sink.0.lock().unwrap(), "POST https://api.telegram.org/bot[secret]/getMe [secret]");
    }
}
