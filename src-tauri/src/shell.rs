//! What every command is given: the hosted assistant, and the little that only the shell knows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use unavez::app::Desktop;

pub struct Shell {
    pub desktop: Arc<Desktop>,
    /// There is a tray to close to.
    pub tray: bool,
    stop_export: AtomicBool,
}

impl Shell {
    pub fn new(desktop: Arc<Desktop>, tray: bool) -> Self {
        Self { desktop, tray, stop_export: AtomicBool::new(false) }
    }

    pub fn begin_export(&self) {
        self.stop_export.store(false, Ordering::Relaxed);
    }

    pub fn stop_export(&self) {
        self.stop_export.store(true, Ordering::Relaxed);
    }

    pub fn export_stopped(&self) -> bool {
        self.stop_export.load(Ordering::Relaxed)
    }
}
