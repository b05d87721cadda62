//! What an app is built from.

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::Loaded;
use crate::domain::ports::{
    Calendar, Channel, ChatModel, Clock, IdSource, InboundSource, MailReader, MailSender, Secrets,
};
use crate::store::{DataFolder, StoreMode};

/// Everything an app needs; the fields may be changed before it is opened.
pub struct AppOptions {
    pub loaded: Loaded,
    /// The file that settings are written to.
    pub config_path: PathBuf,
    pub folder: DataFolder,
    pub mode: StoreMode,
    pub ports: Ports,
    pub without: Without,
}

impl AppOptions {
    /// With the real ports.
    pub fn new(loaded: Loaded, config_path: PathBuf, folder: DataFolder) -> Self {
        Self {
            loaded,
            config_path,
            folder,
            mode: StoreMode::Threaded,
            ports: Ports::default(),
            without: Without::default(),
        }
    }

    /// The same place and ports with another configuration.
    pub fn again(&self, loaded: Loaded) -> Self {
        Self {
            loaded,
            config_path: self.config_path.clone(),
            folder: self.folder.clone(),
            mode: self.mode,
            ports: self.ports.clone(),
            without: self.without,
        }
    }
}

/// Ports to use in the place of the real ones.
#[derive(Clone, Default)]
pub struct Ports {
    pub clock: Option<Arc<dyn Clock>>,
    pub ids: Option<Arc<dyn IdSource>>,
    /// In the place of the keychain; environment and files stay as configured.
    pub keychain: Option<Arc<dyn Secrets>>,
    pub model: Option<Arc<dyn ChatModel>>,
    pub calendar: Option<Arc<dyn Calendar>>,
    /// Put around the calendar, whichever it is: to let it fail.
    pub wrap_calendar: Option<WrapCalendar>,
    pub mail_sender: Option<Arc<dyn MailSender>>,
    pub mail_reader: Option<Arc<dyn MailReader>>,
    /// In the place of the channel of the same kind.
    pub channels: Vec<Arc<dyn Channel>>,
    /// Polled in the place of Telegram; answers to taps go out by the channel of its kind.
    pub source: Option<Arc<dyn InboundSource>>,
}

/// Makes a calendar out of a calendar.
pub type WrapCalendar = Arc<dyn Fn(Arc<dyn Calendar>) -> Arc<dyn Calendar> + Send + Sync>;

/// Layers to leave out, for controls that show what each is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Without {
    pub guard: bool,
    pub debounce: bool,
    pub typing: bool,
}
