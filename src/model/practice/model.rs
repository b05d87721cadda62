//! The model itself: reads the last message, answers with calls, then with a sentence on their results.

use async_trait::async_trait;
use jiff::ZonedDateTime;
use serde_json::{Value, json};

use super::answers::{self, Deed, Question};
use super::events::{self, EventAsked};
use super::request::{self, Moment, NewTime, Request, Target};
use super::results::{self, Listed};
use super::situation::Situation;
use crate::domain::chat::{ChatMessage, ChatReply, ChatRequest, ModelError, ToolCall, Usage};
use crate::domain::language::Language;
use crate::domain::ports::{ChatModel, StreamSink};

/// Answers without AI: the same request always gets the same reply.
#[derive(Clone, Copy, Debug, Default)]
pub struct PracticeModel;

#[async_trait]
impl ChatModel for PracticeModel {
    fn name(&self) -> String {
        "practice".to_owned()
    }

    async fn reply(&self, request: &ChatRequest, sink: &dyn StreamSink) -> Result<ChatReply, ModelError> {
        let reply = answer(request);
        if reply.calls.is_empty() {
            sink.text(&reply.text);
        }
        Ok(reply)
    }
}

/// What to do next about one request.
enum Next {
    Call(&'static str, Value),
    Say(String),
}

fn answer(request: &ChatRequest) -> ChatReply {
    let Some(talk) = Talk::of(request) else {
        return reply(answers::hello(Language::En), Vec::new());
    };
    if talk.unheard {
        return reply(answers::unheard(talk.language), Vec::new());
    }
    let mut calls = Vec::new();
    let mut texts = Vec::new();
    for (number, asked) in talk.asked.iter().enumerate() {
        let results = talk.results_of(number);
        match talk.next(asked, &results) {
            Next::Call(name, arguments) => {
                calls.push(ToolCall { id: call_id(results.len(), number), name: name.to_owned(), arguments })
            }
            Next::Say(text) => texts.push(text),
        }
    }
    if !calls.is_empty() {
        return reply(String::new(), calls);
    }
    texts.dedup();
    let mut text = texts.join("\n");
    let explains = talk.asked.iter().any(|asked| matches!(asked, Request::Help | Request::Hello | Request::Unknown(_)));
    if talk.first || explains {
        text = format!("{text}\n\n{}", answers::label(talk.language));
    }
    reply(text, Vec::new())
}

fn reply(text: String, calls: Vec<ToolCall>) -> ChatReply {
    ChatReply { text, calls, model: "practice".to_owned(), usage: Usage::default(), truncated: false }
}

/// Of the `step`-th call made for the `number`-th request of the message.
fn call_id(step: usize, number: usize) -> String {
    format!("practice_{step}_{number}")
}

/// The conversation as far as it matters now.
struct Talk<'a> {
    asked: Vec<Request>,
    language: Language,
    now: ZonedDateTime,
    tools: Vec<&'a str>,
    /// (call id, content) since the last message.
    results: Vec<(&'a str, &'a str)>,
    /// A voice note, and no other words.
    unheard: bool,
    /// The assistant has said nothing before.
    first: bool,
    /// The person answered a question of ours with yes, or with a choice.
    confirmed: bool,
    choice: Option<String>,
}

impl<'a> Talk<'a> {
    fn of(request: &'a ChatRequest) -> Option<Self> {
        let situation = Situation::of(&request.system);
        let messages = &request.messages;
        let last = messages.iter().rposition(is_person)?;
        let ChatMessage::User { text, .. } = &messages[last] else { return None };
        let voice = text.contains("[voice: ");
        let (text, now) = own_words(text, &situation.now);
        let spoken = |message: &ChatMessage| matches!(message, ChatMessage::Assistant { text, .. } if !text.is_empty());
        let results = messages[last..]
            .iter()
            .filter_map(|message| match message {
                ChatMessage::ToolResult { call_id, content, .. } => Some((call_id.as_str(), content.as_str())),
                ChatMessage::User { .. } | ChatMessage::Assistant { .. } => None,
            })
            .collect();
        let (asked, language) = request::read(&text, &now, situation.language);
        let mut talk = Self {
            asked,
            language,
            now,
            tools: request.tools.iter().map(|tool| tool.name.as_str()).collect(),
            results,
            unheard: voice && text.is_empty(),
            first: !messages[..last].iter().any(spoken),
            confirmed: false,
            choice: None,
        };
        talk.take_up_question(&messages[..last], &text, situation.language);
        Some(talk)
    }

    /// A fragment after a question of ours belongs to the request the question was about.
    fn take_up_question(&mut self, before: &[ChatMessage], text: &str, otherwise: Language) {
        let (earlier, question) = open_question(before);
        let Some(question) = question else { return };
        let fragment = match self.asked.as_slice() {
            [Request::Yes | Request::No | Request::Unknown(_)] => true,
            [Request::Schedule(event)] => event.title.is_empty(),
            _ => false,
        };
        let choosing = answers::wants_choice(question);
        let picks_one = choosing && self.asked.len() == 1 && text.split_whitespace().count() <= 4;
        if !fragment && !picks_one {
            return;
        }
        let earlier_text = earlier.join(" ");
        let (_, language) = request::read(&earlier_text, &self.now, otherwise);
        self.language = language;
        match self.asked.as_slice() {
            [Request::No] => self.asked = vec![Request::No],
            [Request::Yes] => {
                self.confirmed = true;
                self.asked = request::read(&earlier_text, &self.now, otherwise).0;
            }
            _ if choosing => {
                self.choice = Some(text.to_owned());
                self.asked = request::read(&earlier_text, &self.now, otherwise).0;
            }
            // What a mail should say follows a colon; everything else simply goes on.
            _ => {
                let joint = if answers::wants_body(question) { ": " } else { " " };
                self.asked = request::read(&format!("{earlier_text}{joint}{text}"), &self.now, language).0;
            }
        }
    }

    fn results_of(&self, number: usize) -> Vec<&'a str> {
        (0..)
            .map_while(|step| {
                let id = call_id(step, number);
                self.results.iter().find(|(call, _)| *call == id).map(|(_, content)| *content)
            })
            .collect()
    }

    fn has(&self, tool: &str) -> bool {
        self.tools.contains(&tool)
    }

    fn next(&self, asked: &Request, results: &[&str]) -> Next {
        match asked {
            Request::Schedule(event) => self.schedule(event, results),
            Request::List { from, to, text } => match results {
                [] => {
                    let mut arguments = json!({ "from": local(*from), "to": local(*to) });
                    if let Some(text) = text {
                        arguments["text"] = json!(text);
                    }
                    Next::Call("list_events", arguments)
                }
                [content, ..] => Next::Say(match results::events(content) {
                    Ok(found) => answers::agenda(&found, text.as_deref(), self.language),
                    Err(reason) => self.failed(&reason),
                }),
            },
            Request::Free { from, to, minutes } => self.free(*from, *to, *minutes, results),
            Request::Cancel(target) => self.cancel(target, results),
            Request::Move { target, to } => self.shift(target, to, results),
            Request::Mail(mail) => self.mail(mail, results),
            Request::SearchMail { query } => self.listing(
                "search_mail",
                json!({ "query": query }),
                &["mails", "results", "messages"],
                &["date", "from", "subject"],
                results,
            ),
            Request::Remind { text, at } => self.remind(text, at.as_ref(), results),
            Request::Recent { text } => {
                let arguments = text.as_ref().map_or_else(|| json!({}), |text| json!({ "text": text }));
                self.listing(
                    "recent_actions",
                    arguments,
                    &["actions", "effects", "results"],
                    &["at", "when", "tool", "summary", "state"],
                    results,
                )
            }
            Request::Yes => Next::Say(answers::nothing_open(self.language)),
            Request::No => Next::Say(answers::left_alone(self.language)),
            Request::Help => Next::Say(answers::help(self.language)),
            Request::Hello => Next::Say(answers::hello(self.language)),
            Request::Thanks => Next::Say(answers::thanks(self.language)),
            Request::Unknown(words) => Next::Say(answers::unknown(words, self.language)),
        }
    }

    fn ask(&self, question: &Question) -> Next {
        Next::Say(answers::ask(question, self.language))
    }

    fn failed(&self, reason: &str) -> String {
        match self.language {
            Language::En => format!("That did not work: {reason}"),
            Language::Es => format!("No funcionó: {reason}"),
        }
    }

    fn told(&self, deed: Deed, what: &str, content: &str) -> Next {
        let read = results::outcome(content);
        let mut text = answers::outcome(deed, what, &read.outcome, self.language);
        if let (results::Outcome::NeedsApproval, Some(number)) = (&read.outcome, &read.approval) {
            text = format!("{} ({number}).", text.trim_end_matches('.'));
        }
        for note in read.notes {
            text.push(' ');
            text.push_str(&note);
        }
        Next::Say(text)
    }

    fn schedule(&self, event: &EventAsked, results: &[&str]) -> Next {
        if event.title.is_empty() {
            return self.ask(&Question::What);
        }
        let Some(start) = &event.start else {
            return self.ask(&Question::When { title: event.title.clone(), day: event.date_only });
        };
        let (at, all_day) = events::local(start);
        let what = match all_day {
            true => format!(
                "{}, {}",
                answers::quoted(&event.title, self.language),
                answers::day_words(at.date(), self.language)
            ),
            false => {
                format!("{}, {}", answers::quoted(&event.title, self.language), answers::at_words(at, self.language))
            }
        };
        if let [content, ..] = results {
            return self.told(Deed::Schedule, &what, content);
        }
        let past = if all_day { at.date() < self.now.date() } else { at < self.now.datetime() };
        if past && !self.confirmed {
            return self.ask(&Question::Past { title: event.title.clone(), at });
        }
        let mut arguments = json!({ "title": event.title, "start_datetime": start.text() });
        if let Some(end) = &event.end {
            arguments["end_datetime"] = json!(end.text());
        }
        if event.all_day {
            arguments["all_day"] = json!(true);
        }
        if !event.guests.is_empty() {
            arguments["guests"] = json!(event.guests);
        }
        if let Some(rule) = &event.recurrence {
            arguments["recurrence"] = json!(rule);
        }
        Next::Call("create_event", arguments)
    }

    fn free(&self, from: jiff::civil::DateTime, to: jiff::civil::DateTime, minutes: i64, results: &[&str]) -> Next {
        match results {
            [] => Next::Call("find_free_time", json!({ "from": local(from), "to": local(to), "minutes": minutes })),
            [content, ..] => {
                let lines = results::lines(content, &["free", "slots", "gaps"], &["start", "from", "end", "to"])
                    .unwrap_or_default();
                let none = self.language.pick("I found no free time then.", "No encontré tiempo libre para entonces.");
                let lead = self.language.pick("Free:", "Libre:");
                Next::Say(if lines.is_empty() { none.to_owned() } else { format!("{lead}\n- {}", lines.join("\n- ")) })
            }
        }
    }

    /// The event meant, among those of the calendar; or what to say instead.
    fn pick(&self, target: &Target, content: &str) -> Result<Listed, Next> {
        let mut found = match results::events(content) {
            Ok(found) => found,
            Err(reason) => return Err(Next::Say(self.failed(&reason))),
        };
        found.retain(|event| {
            let same_day = target.date.is_none_or(|date| event.start.is_some_and(|start| start.date() == date));
            let same_time = target.time.is_none_or(|time| event.start.is_some_and(|start| start.time() == time));
            same_day && same_time
        });
        let best = found.iter().map(|event| results::likeness(&event.title, &target.title)).max().unwrap_or(0);
        if !target.title.is_empty() {
            found.retain(|event| best > 0 && results::likeness(&event.title, &target.title) == best);
        }
        if let Some(choice) = &self.choice {
            found = chosen(found, choice, &self.now, self.language);
        }
        match found.as_slice() {
            [] => Err(Next::Say(answers::agenda(&[], Some(&target.title), self.language))),
            [only] if best >= 2 || target.title.is_empty() || self.confirmed || self.choice.is_some() => {
                Ok(only.clone())
            }
            [only] => Err(self.ask(&Question::IsItThis { event: only.clone() })),
            // Dates of one series: the next one.
            [first, rest @ ..] if rest.iter().all(|event| event.id == first.id) => Ok(first.clone()),
            [first, ..] if self.confirmed => Ok(first.clone()),
            _ => Err(self.ask(&Question::WhichEvent { found })),
        }
    }

    fn look_up(&self, target: &Target) -> Next {
        let plus = |days: i64| self.now.date().saturating_add(jiff::Span::new().days(days));
        let (from, to) = match target.date {
            Some(date) => (date, date.saturating_add(jiff::Span::new().days(1))),
            None => (plus(0), plus(90)),
        };
        let midnight = jiff::civil::Time::midnight();
        Next::Call(
            "list_events",
            json!({ "from": local(from.to_datetime(midnight)), "to": local(to.to_datetime(midnight)) }),
        )
    }

    fn cancel(&self, target: &Target, results: &[&str]) -> Next {
        let [listed, rest @ ..] = results else { return self.look_up(target) };
        let event = match self.pick(target, listed) {
            Ok(event) => event,
            Err(next) => return next,
        };
        match rest {
            [] => Next::Call("delete_event", json!({ "event_id": event.id })),
            [content, ..] => self.told(Deed::Cancel, &answers::event_words(&event, self.language), content),
        }
    }

    fn shift(&self, target: &Target, to: &NewTime, results: &[&str]) -> Next {
        if matches!(to, NewTime::To { date: None, time: None }) {
            return self.ask(&Question::NewTime { title: target.title.clone() });
        }
        let [listed, rest @ ..] = results else { return self.look_up(target) };
        let event = match self.pick(target, listed) {
            Ok(event) => event,
            Err(next) => return next,
        };
        let Some(start) = event.start else {
            return Next::Say(answers::agenda(&[], Some(&target.title), self.language));
        };
        let new = match to {
            NewTime::To { date, time } => date.unwrap_or(start.date()).to_datetime(time.unwrap_or(start.time())),
            NewTime::By(minutes) => start.saturating_add(jiff::Span::new().minutes(*minutes)),
        };
        let moved = Listed { start: Some(new), end: None, ..event.clone() };
        if let [content, ..] = rest {
            return self.told(Deed::Move, &answers::event_words(&moved, self.language), content);
        }
        let mut arguments = json!({ "event_id": event.id, "start_datetime": Moment::Local(new).text() });
        if let Some(end) = event.end {
            let length = start.duration_until(end);
            if let Ok(end) = new.checked_add(length) {
                arguments["end_datetime"] = json!(Moment::Local(end).text());
            }
        }
        Next::Call("update_event", arguments)
    }

    fn mail(&self, mail: &super::mails::MailAsked, results: &[&str]) -> Next {
        if mail.to.is_empty() {
            return self.ask(&Question::ToWhom);
        }
        if mail.body.is_empty() {
            return self.ask(&Question::Saying { to: mail.to.join(", ") });
        }
        let what = match self.language {
            Language::En => format!("The mail \"{}\" to {}", mail.subject, mail.to.join(", ")),
            Language::Es => format!("El correo «{}» a {}", mail.subject, mail.to.join(", ")),
        };
        match results {
            [] => {
                let mut arguments = json!({ "to": mail.to, "subject": mail.subject, "body": mail.body });
                if !mail.cc.is_empty() {
                    arguments["cc"] = json!(mail.cc);
                }
                Next::Call("send_email", arguments)
            }
            [content, ..] => self.told(Deed::Mail, &what, content),
        }
    }

    fn remind(&self, text: &str, at: Option<&Moment>, results: &[&str]) -> Next {
        if text.is_empty() {
            return self.ask(&Question::What);
        }
        let Some(at) = at else { return self.ask(&Question::ReminderTime { text: text.to_owned() }) };
        let (local, _) = events::local(at);
        let what = format!("{}, {}", answers::quoted(text, self.language), answers::at_words(local, self.language));
        match results {
            [] if self.has("remind_me") => Next::Call("remind_me", json!({ "text": text, "at": at.text() })),
            [] => {
                let title = format!("{}: {text}", self.language.pick("Reminder", "Recordatorio"));
                Next::Call("create_event", json!({ "title": title, "start_datetime": at.text() }))
            }
            [content, ..] => self.told(Deed::Remind, &what, content),
        }
    }

    fn listing(&self, tool: &'static str, arguments: Value, lists: &[&str], fields: &[&str], results: &[&str]) -> Next {
        if !self.has(tool) {
            let text = self.language.pick(
                "That cannot be done here: the account for it is not set up.",
                "Eso no se puede aquí: la cuenta para ello no está configurada.",
            );
            return Next::Say(text.to_owned());
        }
        let [content, ..] = results else { return Next::Call(tool, arguments) };
        let lines = results::lines(content, lists, fields).unwrap_or_default();
        let none = self.language.pick("I found nothing.", "No encontré nada.");
        Next::Say(if lines.is_empty() { none.to_owned() } else { format!("- {}", lines.join("\n- ")) })
    }
}

fn local(at: jiff::civil::DateTime) -> String {
    Moment::Local(at).text()
}

/// Written by the person, not by the program on the way.
fn is_person(message: &ChatMessage) -> bool {
    matches!(message, ChatMessage::User { text, .. } if !text.starts_with("(From the program"))
}

/// The question that is still open before this message, and the person's messages that belong to it, oldest first.
fn open_question(before: &[ChatMessage]) -> (Vec<String>, Option<&str>) {
    let mut texts = Vec::new();
    let mut question = None;
    let mut expect_question = true;
    for message in before.iter().rev() {
        match message {
            ChatMessage::Assistant { text, calls } if expect_question => {
                if calls.is_empty() && answers::is_question(text) {
                    question.get_or_insert(text.as_str());
                    expect_question = false;
                } else if !text.is_empty() {
                    break;
                }
            }
            ChatMessage::User { text, .. } if is_person(message) && !expect_question => {
                texts.push(strip(text));
                expect_question = true;
            }
            ChatMessage::Assistant { .. } | ChatMessage::User { .. } | ChatMessage::ToolResult { .. } => {}
        }
    }
    texts.reverse();
    (texts, question)
}

/// The message without what others wrote, and the time it was written at.
fn own_words(text: &str, now: &ZonedDateTime) -> (String, ZonedDateTime) {
    let sent = text.lines().find_map(|line| {
        let at = line.strip_prefix("(sent at ")?.split([',', ' ', ')']).next()?;
        at.parse::<jiff::Timestamp>().ok()
    });
    let now = sent.map_or_else(|| now.clone(), |at| at.to_zoned_datetime(now.time_zone().clone()));
    (strip(text), now)
}

fn strip(text: &str) -> String {
    let mut lines = Vec::new();
    let mut foreign = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("<untrusted") {
            foreign = true;
        }
        let program = trimmed.starts_with('(') && (trimmed.ends_with(')') || trimmed.ends_with("):"));
        if !foreign && !program {
            // "[voice, as heard] words"
            let words = match trimmed.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                Some((_, words)) => words.trim(),
                None => trimmed,
            };
            if !words.is_empty() {
                lines.push(words.to_owned());
            }
        }
        if trimmed.ends_with("</untrusted>") {
            foreign = false;
        }
    }
    lines.join("\n")
}

/// "the second one", "2", "la de las 10", "el del martes", or words of the title.
fn chosen(found: Vec<Listed>, choice: &str, now: &ZonedDateTime, language: Language) -> Vec<Listed> {
    let folded = super::text::fold(choice);
    let words: Vec<&str> = folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    const ORDINALS: [&[&str]; 5] = [
        &["1", "primero", "primera", "primer", "first", "one", "uno"],
        &["2", "segundo", "segunda", "second", "two", "dos"],
        &["3", "tercero", "tercera", "third", "three", "tres"],
        &["4", "cuarto", "cuarta", "fourth", "four", "cuatro"],
        &["5", "quinto", "quinta", "fifth", "five", "cinco"],
    ];
    let tokens = super::text::tokens(choice);
    let when = super::dates::scan(&tokens, language, now);
    if !when.has_date() && when.time.is_none() {
        let place = ORDINALS.iter().position(|names| words.iter().any(|word| names.contains(word)));
        if let Some(event) = place.and_then(|place| found.get(place)) {
            return vec![event.clone()];
        }
        const LITTLE: [&str; 8] = ["del", "las", "los", "con", "the", "one", "with", "that"];
        let telling: Vec<&str> = words.into_iter().filter(|word| word.len() > 2 && !LITTLE.contains(word)).collect();
        let titled = |event: &Listed| {
            let title = super::text::fold(&event.title);
            title.split(|c: char| !c.is_alphanumeric()).any(|word| telling.contains(&word))
        };
        return found.into_iter().filter(titled).collect();
    }
    let time = when.time.map(|said| said.time(when.part).0);
    found
        .into_iter()
        .filter(|event| {
            let day = when.dates.first().is_none_or(|date| event.start.is_some_and(|start| start.date() == *date));
            let hour = time.is_none_or(|time| event.start.is_some_and(|start| start.time() == time));
            day && hour
        })
        .collect()
}
