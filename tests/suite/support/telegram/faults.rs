//! How a call can go wrong.

use serde_json::{Value, json};

#[derive(Clone, Debug)]
pub enum Fault {
    /// The connection ends before anything is done.
    CutBefore,
    /// It is done, and the connection ends without an answer.
    CutAfter,
    /// Nothing is done and nothing is answered; the connection stays open.
    Hang,
    /// 409
    Conflict,
    /// 401
    Unauthorized,
    /// 429
    Flood(u64),
    /// A 5xx with a page of HTML; not done.
    Page(u16),
    /// 400 with this description.
    Refuse(&'static str),
    /// Goes well: to place a fault after others that pass.
    Pass,
}

impl Fault {
    /// Status and body that it answers with instead of doing it.
    pub(super) fn answer(&self) -> Option<(u16, Value)> {
        let error = |code: u16, description: &str| {
            (code, json!({ "ok": false, "error_code": code, "description": description }))
        };
        match self {
            Self::Conflict => Some(error(
                409,
                "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
            )),
            Self::Unauthorized => Some(error(401, "Unauthorized")),
            Self::Flood(seconds) => {
                let (code, mut body) = error(429, &format!("Too Many Requests: retry after {seconds}"));
                body["parameters"] = json!({ "retry_after": seconds });
                Some((code, body))
            }
            Self::Page(code) => Some((*code, Value::String("<html><body>Bad Gateway</body></html>".to_owned()))),
            Self::Refuse(description) => Some(error(400, description)),
            Self::CutBefore | Self::CutAfter | Self::Hang | Self::Pass => None,
        }
    }
}
