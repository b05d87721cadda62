//! Markdown as text with entities. Offsets and lengths are in UTF-16 units.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use teloxide::types::{MessageEntity, MessageEntityKind};

/// A text as Telegram takes it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Formatted {
    pub text: String,
    pub entities: Vec<MessageEntity>,
}

/// Renders Markdown (CommonMark with strike-through). What has no counterpart stays as it was written.
pub fn format(markdown: &str) -> Formatted {
    let mut renderer = Renderer::default();
    for event in Parser::new_ext(markdown, Options::ENABLE_STRIKETHROUGH) {
        renderer.event(event);
    }
    renderer.finish(markdown)
}

#[derive(Default)]
struct Renderer {
    text: String,
    /// Length of `text` in UTF-16 units.
    units: usize,
    entities: Vec<MessageEntity>,
    open: Vec<(MessageEntityKind, usize)>,
    /// One per open list: the next number, or a bullet.
    lists: Vec<Option<u64>>,
    /// Line breaks owed before the next text.
    breaks: usize,
    quotes: usize,
    /// Something stands in the present list item already.
    item_begun: bool,
}

impl Renderer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.push(&text),
            Event::Code(text) => {
                self.settle_breaks();
                self.open(MessageEntityKind::Code);
                self.push(&text);
                self.close();
            }
            Event::SoftBreak | Event::HardBreak => self.push("\n"),
            Event::Rule => {
                self.block();
                self.push("———");
                self.owe(2);
            }
            Event::TaskListMarker(done) => self.push(if done { "[x] " } else { "[ ] " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.block(),
            Tag::Heading { .. } => {
                self.block();
                self.settle_breaks();
                self.open(MessageEntityKind::Bold);
            }
            Tag::BlockQuote(_) => {
                self.block();
                self.quotes += 1;
                // Quotes may not be nested.
                if self.quotes == 1 {
                    self.settle_breaks();
                    self.open(MessageEntityKind::Blockquote);
                }
            }
            Tag::CodeBlock(kind) => {
                self.block();
                self.settle_breaks();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.split_whitespace().next().map(str::to_owned),
                    CodeBlockKind::Indented => None,
                };
                self.open(MessageEntityKind::Pre { language });
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.block();
                } else {
                    self.owe(1);
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.owe(1);
                self.settle_breaks();
                let depth = self.lists.len().saturating_sub(1);
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    Some(None) | None => "• ".to_owned(),
                };
                self.push(&format!("{}{mark}", "  ".repeat(depth)));
                self.item_begun = false;
            }
            Tag::Emphasis => self.inline(MessageEntityKind::Italic),
            Tag::Strong => self.inline(MessageEntityKind::Bold),
            Tag::Strikethrough => self.inline(MessageEntityKind::Strikethrough),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => match link(&dest_url) {
                Some(url) => self.inline(MessageEntityKind::TextLink { url }),
                // Closed by its end tag like the others; adds nothing.
                None => self.inline(MessageEntityKind::Url),
            },
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Table(_)
            | Tag::TableHead
            | Tag::TableRow
            | Tag::TableCell
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.owe(2),
            TagEnd::Heading(_) => {
                self.close();
                self.owe(2);
            }
            TagEnd::BlockQuote(_) => {
                self.quotes = self.quotes.saturating_sub(1);
                if self.quotes == 0 {
                    self.close();
                }
                self.owe(2);
            }
            TagEnd::CodeBlock => {
                // The last line break of a block belongs to the fence.
                if self.text.ends_with('\n') {
                    self.text.pop();
                    self.units -= 1;
                }
                self.close();
                self.owe(2);
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.breaks = 0;
                self.owe(if self.lists.is_empty() { 2 } else { 1 });
            }
            TagEnd::Item => {
                self.breaks = 0;
                self.owe(1);
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image => self.close(),
            TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Table
            | TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::TableCell
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    /// A block begins: apart from the one before, but not from its own bullet.
    fn block(&mut self) {
        if !self.lists.is_empty() {
            self.breaks = if self.item_begun { self.breaks.min(1) } else { 0 };
        }
    }

    fn owe(&mut self, breaks: usize) {
        if !self.text.is_empty() {
            self.breaks = self.breaks.max(breaks);
        }
    }

    fn settle_breaks(&mut self) {
        let breaks = std::mem::take(&mut self.breaks);
        self.append(&"\n".repeat(breaks));
    }

    fn inline(&mut self, kind: MessageEntityKind) {
        self.settle_breaks();
        self.open(kind);
    }

    fn open(&mut self, kind: MessageEntityKind) {
        self.open.push((kind, self.units));
    }

    fn close(&mut self) {
        let Some((kind, offset)) = self.open.pop() else { return };
        let length = self.units - offset;
        if length > 0 && kind != MessageEntityKind::Url {
            self.entities.push(MessageEntity { kind, offset, length });
        }
    }

    fn push(&mut self, text: &str) {
        self.settle_breaks();
        self.append(text);
        self.item_begun = true;
    }

    fn append(&mut self, text: &str) {
        self.text.push_str(text);
        self.units += text.encode_utf16().count();
    }

    /// The server trims the ends of a text: entities are kept within what is left.
    fn finish(mut self, markdown: &str) -> Formatted {
        let trimmed = self.text.trim_end();
        let units = trimmed.encode_utf16().count();
        self.text.truncate(trimmed.len());
        if self.text.trim().is_empty() {
            // Nothing but marks: shown as it is.
            return Formatted { text: markdown.trim().to_owned(), entities: Vec::new() };
        }
        let mut entities = self.entities;
        for entity in &mut entities {
            entity.length = entity.length.min(units.saturating_sub(entity.offset));
        }
        entities.retain(|entity| entity.length > 0);
        // The outer before the inner, as the API shows them.
        entities.sort_by_key(|entity| (entity.offset, std::cmp::Reverse(entity.length)));
        Formatted { text: self.text, entities }
    }
}

/// Only addresses that a client opens as such.
fn link(address: &str) -> Option<reqwest::Url> {
    let url: reqwest::Url = address.parse().ok()?;
    matches!(url.scheme(), "http" | "https" | "mailto" | "tel" | "tg").then_some(url)
}
