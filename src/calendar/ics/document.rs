//! A tree of components that keeps everything it does not understand.

use super::line::{Line, unfold};

/// `VCALENDAR`, `VEVENT`, `VTIMEZONE`, ... with its lines and inner components, each in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Component {
    /// Upper case.
    pub name: String,
    pub lines: Vec<Line>,
    pub parts: Vec<Component>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IcsError {
    #[error("this is not calendar data: {reason}")]
    NotCalendar { reason: String },
    #[error("the calendar data has no event")]
    NoEvent,
    #[error("the event has no usable start: {value:?}")]
    NoStart { value: String },
    #[error("the event has no UID")]
    NoUid,
}

impl Component {
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), lines: Vec::new(), parts: Vec::new() }
    }

    /// First line called `name`.
    pub fn line(&self, name: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.name == name)
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Line> {
        self.lines.iter().filter(move |line| line.name == name)
    }

    /// Text of the first line called `name`, if it is not empty.
    pub fn text(&self, name: &str) -> Option<String> {
        self.line(name).map(Line::text).filter(|text| !text.is_empty())
    }

    /// Puts `line` where the first of its name stands, or at the end, and removes further ones.
    pub fn set(&mut self, line: Line) {
        let at = self.lines.iter().position(|known| known.name == line.name);
        let name = line.name.clone();
        match at {
            Some(at) => {
                self.lines[at] = line;
                let mut index = 0;
                self.lines.retain(|known| {
                    index += 1;
                    index - 1 <= at || known.name != name
                });
            }
            None => self.lines.push(line),
        }
    }

    /// Sets the line, or removes it when there is none.
    pub fn set_or_remove(&mut self, name: &str, line: Option<Line>) {
        match line {
            Some(line) => self.set(line),
            None => self.remove(name),
        }
    }

    pub fn remove(&mut self, name: &str) {
        self.lines.retain(|line| line.name != name);
    }

    pub fn events(&self) -> impl Iterator<Item = &Component> {
        self.parts.iter().filter(|part| part.name == "VEVENT")
    }

    pub fn print(&self) -> String {
        let mut out = String::new();
        self.print_into(&mut out);
        out
    }

    fn print_into(&self, out: &mut String) {
        Line::new("BEGIN", &self.name).print(out);
        for line in &self.lines {
            line.print(out);
        }
        for part in &self.parts {
            part.print_into(out);
        }
        Line::new("END", &self.name).print(out);
    }
}

/// Reads one `VCALENDAR`. A line without a value is passed over; a missing `END` is forgiven at the end of the text.
pub fn parse_calendar(text: &str) -> Result<Component, IcsError> {
    let not = |reason: &str| IcsError::NotCalendar { reason: reason.to_owned() };
    let mut open: Vec<Component> = Vec::new();
    for raw in unfold(text.trim_start_matches('\u{feff}')) {
        let Some(line) = Line::parse(&raw) else { continue };
        match line.name.as_str() {
            "BEGIN" => open.push(Component::new(&line.value.trim().to_ascii_uppercase())),
            "END" => {
                let Some(done) = open.pop() else { return Err(not("an END without BEGIN")) };
                if done.name != line.value.trim().to_ascii_uppercase() {
                    return Err(not(&format!("{} ends as {}", done.name, line.value)));
                }
                match open.last_mut() {
                    Some(parent) => parent.parts.push(done),
                    None if done.name == "VCALENDAR" => return Ok(done),
                    None => return Err(not("it does not begin with VCALENDAR")),
                }
            }
            _property => match open.last_mut() {
                Some(component) => component.lines.push(line),
                None => return Err(not("it does not begin with VCALENDAR")),
            },
        }
    }
    Err(not("it ends in the middle"))
}
