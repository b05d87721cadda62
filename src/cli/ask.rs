//! Asking: the running instance through its control socket, or the database itself under the instance lock.

use std::io::Write;

use tokio::sync::mpsc;

use super::exit::Ended;
use super::print::Printer;
use crate::api::{Line, Request};
use crate::app::{App, AppOptions, Running, StartError};
use crate::store::StoreError;

/// Where the lines of an answer go.
pub(super) trait Reader {
    fn line(&mut self, line: Line) -> Result<(), Ended>;
}

/// Sends the request to whoever can answer it.
pub(super) async fn ask(options: AppOptions, request: Request, reader: &mut impl Reader) -> Result<(), Ended> {
    let folder = options.folder.clone();
    match App::open(options).await {
        Ok(app) => {
            let (lines, mut ready) = mpsc::channel(64);
            let api = app.api().clone();
            let answering = tokio::spawn(async move { api.answer(request, lines).await });
            let read = read_all(&mut ready, reader).await;
            // silent-ok: the answer was read to its end, or its reader failed and says so.
            let _ = answering.await;
            app.stop().await;
            read
        }
        Err(StartError::Store(StoreError::InUse(_))) => {
            let mut running = Running::connect(&folder, &request)
                .await
                .map_err(|error| Ended::failed(format!("the running instance does not answer: {error}")))?;
            loop {
                match running
                    .next()
                    .await
                    .map_err(|error| Ended::failed(format!("the running instance went away: {error}")))?
                {
                    Line::Done => return Ok(()),
                    Line::Failed(failure) => return Err(failure.into()),
                    line @ (Line::Row(_) | Line::Text(_)) => reader.line(line)?,
                }
            }
        }
        Err(error) => Err(error.into()),
    }
}

async fn read_all(ready: &mut mpsc::Receiver<Line>, reader: &mut impl Reader) -> Result<(), Ended> {
    while let Some(line) = ready.recv().await {
        match line {
            Line::Done => return Ok(()),
            Line::Failed(failure) => return Err(failure.into()),
            line @ (Line::Row(_) | Line::Text(_)) => {
                if let Err(ended) = reader.line(line) {
                    ready.close();
                    return Err(ended);
                }
            }
        }
    }
    Err(Ended::failed("the answer ended early"))
}

/// Prints every line.
pub(super) struct Printing<'a, W: Write> {
    pub(super) printer: &'a mut Printer<W>,
    pub(super) request: Request,
}

impl<W: Write> Reader for Printing<'_, W> {
    fn line(&mut self, line: Line) -> Result<(), Ended> {
        match line {
            Line::Row(row) => self.printer.row(&self.request, &row)?,
            Line::Text(text) => self.printer.line(&text)?,
            Line::Done | Line::Failed(_) => {}
        }
        Ok(())
    }
}

/// Keeps the only row of an answer.
#[derive(Default)]
pub(super) struct Single(pub(super) Option<serde_json::Value>);

impl Reader for Single {
    fn line(&mut self, line: Line) -> Result<(), Ended> {
        if let Line::Row(row) = line {
            self.0 = Some(row);
        }
        Ok(())
    }
}

/// Writes lines into a file.
pub(super) struct Writing<W: Write>(pub(super) W);

impl<W: Write> Reader for Writing<W> {
    fn line(&mut self, line: Line) -> Result<(), Ended> {
        if let Line::Text(text) = line {
            writeln!(self.0, "{text}")?;
        }
        Ok(())
    }
}
