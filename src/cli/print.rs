//! Output: JSON values as they are, or lines for people.

use std::io::{BufWriter, Write};

use serde_json::Value;

use super::words::in_words;
use crate::api::Request;

/// Writes to stdout, or into memory in tests.
pub(super) struct Printer<W: Write> {
    out: W,
    json: bool,
}

impl Printer<BufWriter<std::io::Stdout>> {
    pub(super) fn stdout(json: bool) -> Self {
        Self { out: BufWriter::new(std::io::stdout()), json }
    }
}

impl<W: Write> Printer<W> {
    /// One row of the answer to `request`.
    pub(super) fn row(&mut self, request: &Request, row: &Value) -> std::io::Result<()> {
        if self.json { writeln!(self.out, "{row}") } else { self.line(&in_words(request, row)) }
    }

    pub(super) fn value(&mut self, value: &Value) -> std::io::Result<()> {
        writeln!(self.out, "{value}")
    }

    /// A line for people and machines alike.
    pub(super) fn line(&mut self, line: &str) -> std::io::Result<()> {
        writeln!(self.out, "{line}")
    }

    pub(super) fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// A reader that closed its end (`| head`) is no failure.
pub(super) fn unless_closed(result: std::io::Result<()>) -> std::io::Result<()> {
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
