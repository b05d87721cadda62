//! Changing the file from the window or a wizard: comments stay, and an invalid result is never written.

use std::io::Write;
use std::path::Path;

use toml_edit::{DocumentMut, Item, Table, Value};

use super::error::ConfigError;
use super::sections::{Loaded, parse};

/// One change of one key, by its path.
#[derive(Clone, Debug)]
pub enum Change {
    Set {
        path: Vec<String>,
        value: Value,
    },
    /// Back to the default.
    Remove {
        path: Vec<String>,
    },
}

impl Change {
    /// `value` is TOML, e.g. `"es"` with its quotes, or `[1, 2]`.
    pub fn set(path: &[&str], value: impl Into<Value>) -> Self {
        Self::Set { path: path.iter().map(|part| (*part).to_owned()).collect(), value: value.into() }
    }

    pub fn remove(path: &[&str]) -> Self {
        Self::Remove { path: path.iter().map(|part| (*part).to_owned()).collect() }
    }
}

/// Applies all changes or none, and returns what the file says now.
pub fn apply(file: &Path, changes: &[Change]) -> Result<Loaded, ConfigError> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(source) => return Err(ConfigError::Unreadable { file: file.to_owned(), source }),
    };
    // A file that is broken already is reported as such, not overwritten.
    parse(&text, file)?;
    let mut document: DocumentMut = text.parse().unwrap_or_default();
    for change in changes {
        match change {
            Change::Set { path, value } => set(document.as_table_mut(), path, value),
            Change::Remove { path } => remove(document.as_table_mut(), path),
        }
    }
    let text = document.to_string();
    let loaded = parse(&text, file)?;
    write(file, &text).map_err(|source| ConfigError::Unwritable { file: file.to_owned(), source })?;
    Ok(loaded)
}

fn set(table: &mut dyn toml_edit::TableLike, path: &[String], value: &Value) {
    let Some((key, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        let mut value = value.clone();
        if let Some(Item::Value(old)) = table.get(key) {
            *value.decor_mut() = old.decor().clone();
        }
        table.insert(key, Item::Value(value));
        return;
    }
    if table.get(key).and_then(Item::as_table_like).is_none() {
        let mut part = Table::new();
        part.set_implicit(rest.len() > 1);
        table.insert(key, Item::Table(part));
    }
    if let Some(part) = table.get_mut(key).and_then(Item::as_table_like_mut) {
        set(part, rest, value);
    }
}

fn remove(table: &mut dyn toml_edit::TableLike, path: &[String]) {
    let Some((key, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        table.remove(key);
    } else if let Some(part) = table.get_mut(key).and_then(Item::as_table_like_mut) {
        remove(part, rest);
    }
}

/// Whole or not at all: written beside and renamed. Mode 0600, since addresses and user ids are personal.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let beside = file.with_extension("toml.new");
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut out = options.open(&beside)?;
    out.write_all(text.as_bytes())?;
    out.sync_all()?;
    drop(out);
    std::fs::rename(&beside, file)
}
