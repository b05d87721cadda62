//! A running instance as its own command line reaches it.

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;

use crate::api::{Line, Request};
use crate::store::DataFolder;

/// The answer of a running instance, line by line.
pub struct Running {
    reader: BufReader<OwnedReadHalf>,
}

impl Running {
    /// Sends `request` to the instance that holds `folder`.
    pub async fn connect(folder: &DataFolder, request: &Request) -> std::io::Result<Self> {
        let stream = UnixStream::connect(folder.control_socket()).await?;
        let (reader, mut writer) = stream.into_split();
        let mut text = serde_json::to_string(request).map_err(std::io::Error::other)?;
        text.push('\n');
        writer.write_all(text.as_bytes()).await?;
        // The instance reads one line; dropping this half tells it that there is no more.
        writer.shutdown().await?;
        Ok(Self { reader: BufReader::new(reader) })
    }

    /// The next line; an answer always ends with `Done` or `Failed`.
    pub async fn next(&mut self) -> std::io::Result<Line> {
        let mut text = String::new();
        if self.reader.read_line(&mut text).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        serde_json::from_str(&text).map_err(std::io::Error::other)
    }
}
