//! The body on its way: how far it came, and when to stop waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;

use super::settings::SmtpSettings;
use crate::runtime::failpoint;

/// The body leaves in blocks of this size, so that a stuck connection is noticed between them.
const BLOCK: usize = 16 * 1024;

/// How far the body came.
#[derive(Debug, Default)]
pub struct Progress {
    blocks: AtomicU64,
    dot: AtomicBool,
    changed: Notify,
}

impl Progress {
    /// True from just before the line with the final dot is written.
    pub fn dot_may_have_left(&self) -> bool {
        self.dot.load(Ordering::SeqCst)
    }
}

/// The body in blocks. lettre asks for the next block when the last one has been written, and writes the final dot
/// only after `None`: so `None` is the last moment at which nothing can have been accepted.
pub struct Blocks<'a> {
    rest: std::slice::Chunks<'a, u8>,
    progress: Arc<Progress>,
}

impl<'a> Blocks<'a> {
    pub fn new(body: &'a [u8], progress: Arc<Progress>) -> Self {
        Self { rest: body.chunks(BLOCK), progress }
    }
}

impl<'a> Iterator for Blocks<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let block = self.rest.next();
        match block {
            Some(_) => {
                self.progress.blocks.fetch_add(1, Ordering::SeqCst);
            }
            None => {
                // silent-ok: a failing step cannot be expressed here; the point is for killing.
                let _ = failpoint::hit("smtp.before_dot");
                self.progress.dot.store(true, Ordering::SeqCst);
                self.progress.changed.notify_one();
            }
        }
        block
    }
}

/// Returns when the body is stuck, or when the reply to the final dot was waited for long enough.
pub async fn silence(progress: &Progress, settings: &SmtpSettings) -> String {
    let mut before = progress.blocks.load(Ordering::SeqCst);
    loop {
        tokio::select! {
            () = progress.changed.notified() => {}
            () = tokio::time::sleep(settings.step_timeout) => {
                let now = progress.blocks.load(Ordering::SeqCst);
                if now == before && !progress.dot_may_have_left() {
                    return format!("the body was not taken within {} s", settings.step_timeout.as_secs());
                }
                before = now;
            }
        }
        if progress.dot_may_have_left() {
            tokio::time::sleep(settings.final_reply_timeout).await;
            return format!("no reply to the final dot within {} s", settings.final_reply_timeout.as_secs());
        }
    }
}
