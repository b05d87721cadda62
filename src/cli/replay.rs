//! `replay`: plays a scenario and prints its timeline and totals.

use serde_json::json;

use super::arguments::{Common, Layer};
use super::exit::{Ended, Exit};
use super::print::{Printer, unless_closed};
use crate::app::Without;
use crate::app::replay::{Options, Scenario, play};

pub(super) fn replay(common: &Common, scenario: &str, real_time: bool, without: &[Layer]) -> Result<Exit, Ended> {
    let scenario = Scenario::open(scenario).map_err(Ended::usage)?;
    let options = Options {
        real_time,
        without: Without {
            guard: without.contains(&Layer::Guard),
            debounce: without.contains(&Layer::Debounce),
            typing: without.contains(&Layer::Typing),
        },
    };
    let outcome = play(&scenario, options).map_err(Ended::failed)?;
    let mut printer = Printer::stdout(common.json);
    if common.json {
        for row in &outcome.timeline {
            printer.value(&serde_json::to_value(row).map_err(Ended::failed)?)?;
        }
        printer.value(&json!({ "totals": outcome.totals }))?;
    } else {
        for line in outcome.lines() {
            printer.line(&line)?;
        }
    }
    unless_closed(printer.flush())?;
    Ok(Exit::Done)
}
