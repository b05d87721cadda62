//! Reading tables key by key: each key is read once with its default and what is allowed; what remains is unknown.

use std::cell::RefCell;
use std::ops::Range;
use std::time::Duration;

use toml_edit::{Array, Document, Item, TableLike, Value};

use super::error::Problem;
use super::schema::Choice;
use super::values::{DURATION_ALLOWED, SECRET_ALLOWED, duration, duration_text, secret, secret_value};
use crate::runtime::secrets::SecretRef;

/// The whole file: collects mistakes and the effective values.
pub(super) struct Reader<'a> {
    text: &'a str,
    problems: RefCell<Vec<Problem>>,
    effective: RefCell<Vec<(Vec<String>, Value)>>,
}

/// One table of it, or its absence.
pub(super) struct Section<'a> {
    reader: &'a Reader<'a>,
    path: Vec<String>,
    table: Option<&'a dyn TableLike>,
    known: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, problems: RefCell::default(), effective: RefCell::default() }
    }

    pub(super) fn root(&'a self, document: &'a Document<String>) -> Section<'a> {
        Section { reader: self, path: Vec::new(), table: Some(document.as_table()), known: Vec::new() }
    }

    /// Mistakes in the order of the file, and every effective value in the order of reading.
    pub(super) fn finish(self) -> (Vec<Problem>, Vec<(Vec<String>, Value)>) {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|problem| (problem.line, problem.column));
        (problems, self.effective.into_inner())
    }

    pub(super) fn report(&self, span: Option<Range<usize>>, key: String, message: String, allowed: String) {
        let (line, column) = position(self.text, span.map_or(0, |span| span.start));
        self.problems.borrow_mut().push(Problem { line, column, key, message, allowed });
    }
}

/// Line and column from 1 of a byte offset.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (line, before[start..].chars().count() + 1)
}

impl<'a> Section<'a> {
    pub(super) fn exists(&self) -> bool {
        self.table.is_some()
    }

    fn dotted(&self, key: &str) -> String {
        let mut path = self.path.clone();
        path.push(key.to_owned());
        path.join(".")
    }

    fn item(&mut self, key: &str) -> Option<&'a Item> {
        self.known.push(key.to_owned());
        self.table?.get(key)
    }

    fn keep(&self, key: &str, value: Value) {
        let mut path = self.path.clone();
        path.push(key.to_owned());
        self.reader.effective.borrow_mut().push((path, value));
    }

    /// A mistake at `key`, or at the section when the key is absent.
    pub(super) fn problem(&self, key: &str, message: impl Into<String>, allowed: impl Into<String>) {
        let found = self.table.and_then(|table| table.get_key_value(key));
        let span = found.and_then(|(key, item)| item.span().or_else(|| key.span()));
        let span = span.or_else(|| self.table.and_then(|table| table.iter().find_map(|(_, item)| item.span())));
        self.reader.report(span, self.dotted(key), message.into(), allowed.into());
    }

    /// Reads one key: `parse` says whether the value is allowed.
    fn value<T>(
        &mut self,
        key: &str,
        default: T,
        allowed: &str,
        parse: impl Fn(&Item) -> Option<T>,
        write: impl Fn(&T) -> Value,
    ) -> T {
        let value = match self.item(key) {
            None => default,
            Some(item) => parse(item).unwrap_or_else(|| {
                // The value itself is not shown where it could be a secret written by mistake.
                let shown = if allowed == SECRET_ALLOWED { String::new() } else { format!(" {}", shown(item)) };
                self.problem(key, format!("the value{shown} is not allowed"), allowed);
                default
            }),
        };
        self.keep(key, write(&value));
        value
    }

    pub(super) fn text(&mut self, key: &str, default: &str) -> String {
        self.value(key, default.to_owned(), "a text", |item| item.as_str().map(str::to_owned), |text| text.into())
    }

    /// A text that `accept` takes.
    pub(super) fn text_where(
        &mut self,
        key: &str,
        default: &str,
        allowed: &str,
        accept: impl Fn(&str) -> bool,
    ) -> String {
        let parse = |item: &Item| item.as_str().filter(|text| accept(text)).map(str::to_owned);
        self.value(key, default.to_owned(), allowed, parse, |text| text.into())
    }

    /// Empty, or an http(s) address.
    pub(super) fn url(&mut self, key: &str, default: &str) -> String {
        self.text_where(key, default, "an address that begins with http:// or https://", |text| {
            text.is_empty() || is_url(text)
        })
    }

    pub(super) fn flag(&mut self, key: &str, default: bool) -> bool {
        self.value(key, default, "true or false", Item::as_bool, |flag| (*flag).into())
    }

    pub(super) fn whole<T>(&mut self, key: &str, default: T, range: std::ops::RangeInclusive<i64>) -> T
    where
        T: TryFrom<i64> + Copy,
        i64: From<T>,
    {
        let allowed = format!("a whole number from {} to {}", range.start(), range.end());
        let parse = |item: &Item| item.as_integer().filter(|n| range.contains(n)).and_then(|n| T::try_from(n).ok());
        self.value(key, default, &allowed, parse, |n| i64::from(*n).into())
    }

    pub(super) fn amount(&mut self, key: &str, default: f64) -> f64 {
        self.value(key, default, "a number from 0", amount, |n| (*n).into())
    }

    pub(super) fn duration(&mut self, key: &str, default: Duration) -> Duration {
        self.value(
            key,
            default,
            DURATION_ALLOWED,
            |item| item.as_str().and_then(duration),
            |d| duration_text(*d).into(),
        )
    }

    pub(super) fn durations(&mut self, key: &str, default: &[Duration]) -> Vec<Duration> {
        let allowed = format!("a list, not empty, of {DURATION_ALLOWED}");
        let parse = |item: &Item| list(item, |value| value.as_str().and_then(duration)).filter(|list| !list.is_empty());
        self.value(key, default.to_vec(), &allowed, parse, |list| array(list.iter().map(|d| duration_text(*d))))
    }

    pub(super) fn texts(&mut self, key: &str, default: &[String]) -> Vec<String> {
        let parse = |item: &Item| list(item, |value| value.as_str().map(str::to_owned));
        self.value(key, default.to_vec(), "a list of texts", parse, |list| array(list.iter().map(String::as_str)))
    }

    pub(super) fn whole_numbers(&mut self, key: &str, default: &[i64]) -> Vec<i64> {
        let parse = |item: &Item| list(item, Value::as_integer);
        self.value(key, default.to_vec(), "a list of whole numbers", parse, |list| array(list.iter().copied()))
    }

    pub(super) fn choice<T: Choice>(&mut self, key: &str, default: T) -> T {
        let words: Vec<String> = T::WORDS.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        let parse = |item: &Item| {
            let text = item.as_str()?;
            T::WORDS.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
        };
        self.value(key, default, &words.join(", "), parse, |value| value.word().into())
    }

    pub(super) fn secret(&mut self, key: &str, default: &SecretRef) -> SecretRef {
        self.value(key, default.clone(), SECRET_ALLOWED, secret, secret_value)
    }

    /// A pair of prices.
    pub(super) fn prices(&mut self, key: &str) -> Option<(f64, f64)> {
        let parse = |item: &Item| {
            let prices = list(item, |value| amount(&Item::Value(value.clone())))?;
            let [input, output] = prices[..] else { return None };
            Some(Some((input, output)))
        };
        let write = |pair: &Option<(f64, f64)>| array(pair.iter().flat_map(|(input, output)| [*input, *output]));
        self.value(key, None, "[input, output]: two numbers from 0, per million tokens", parse, write)
    }

    /// The table under `key`, present or not.
    pub(super) fn section(&mut self, key: &str) -> Section<'a> {
        let mut path = self.path.clone();
        path.push(key.to_owned());
        let table = match self.item(key) {
            None => None,
            Some(item) => {
                let table = item.as_table_like();
                if table.is_none() {
                    self.problem(
                        key,
                        format!("the value {} is not allowed", shown(item)),
                        format!("a table [{}]", path.join(".")),
                    );
                }
                table
            }
        };
        Section { reader: self.reader, path, table, known: Vec::new() }
    }

    /// Counts `key` as known without reading it.
    pub(super) fn allow(&mut self, key: &str) {
        self.known.push(key.to_owned());
    }

    /// The keys of a table whose names are free.
    pub(super) fn names(&self) -> Vec<String> {
        self.table.map(|table| table.iter().map(|(key, _)| key.to_owned()).collect()).unwrap_or_default()
    }

    /// Reports every key that was not read.
    pub(super) fn end(self) {
        let Some(table) = self.table else { return };
        for (key, item) in table.iter().filter(|(key, _)| !self.known.iter().any(|known| known == key)) {
            let span = table.get_key_value(key).and_then(|(key, _)| key.span()).or_else(|| item.span());
            let message = format!("unknown key {key}");
            self.reader.report(span, self.dotted(key), message, self.known.join(", "));
        }
    }
}

pub(super) fn is_url(text: &str) -> bool {
    reqwest::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

fn amount(item: &Item) -> Option<f64> {
    #[allow(clippy::cast_precision_loss, reason = "prices are small")]
    let whole = item.as_integer().map(|n| n as f64);
    item.as_float().or(whole).filter(|n| n.is_finite() && *n >= 0.0)
}

fn list<T>(item: &Item, parse: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    item.as_array()?.iter().map(parse).collect()
}

fn array<V: Into<Value>>(values: impl Iterator<Item = V>) -> Value {
    Value::Array(values.map(Into::into).collect::<Array>())
}

/// A value as written, shortened.
fn shown(item: &Item) -> String {
    let text = item.as_value().map_or_else(|| item.type_name().to_owned(), |value| value.to_string().trim().to_owned());
    if text.chars().count() > 60 { text.chars().take(60).chain(['…']).collect() } else { text }
}
