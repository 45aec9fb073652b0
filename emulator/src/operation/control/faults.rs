//! Fault rules: set, counted, taken out.

use super::Asked;
use crate::fault::{RuleId, RuleReport};
use crate::limits;
use crate::wire::control::{Heard, Refusal, read_rule, shortened, write_report};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// The rules and what they did, and those that never acted, also of those that were taken out.
pub fn list(asked: &Asked<'_>, writer: &mut Writer) -> Heard<()> {
    let faults = asked.twin.state.faults();
    let mut object = Object::open(writer);
    for (name, reports) in [("rules", faults.report()), ("neverFired", faults.never_fired())] {
        let mut list = object.list(name);
        reports.iter().for_each(|report| write_report(report, list.element()));
        list.close();
    }
    object.close();
    Ok(())
}

/// Sets a rule behind those there are.
pub fn add(asked: &Asked<'_>, writer: &mut Writer) -> Heard<()> {
    let rule = read_rule(&asked.body)?;
    let faults = asked.twin.state.faults();
    let Some(id) = faults.add_below(limits::FAULT_RULES, rule.clone()) else {
        return Err(Refusal::malformed(format!(
            "There are {} rules, which is as many as there can be.",
            limits::FAULT_RULES
        )));
    };
    let report = RuleReport {
        id,
        rule,
        matched: 0,
        fired: 0,
    };
    write_report(&report, writer);
    Ok(())
}

/// One rule and what it did.
pub fn show(asked: &Asked<'_>, writer: &mut Writer) -> Heard<()> {
    let id = id(asked)?;
    let reports = asked.twin.state.faults().report();
    let found = reports.iter().find(|report| report.id == id);
    write_report(found.ok_or_else(|| no_rule(asked))?, writer);
    Ok(())
}

/// Takes a rule out; says what it did.
pub fn remove(asked: &Asked<'_>, writer: &mut Writer) -> Heard<()> {
    let removed = asked.twin.state.faults().remove(id(asked)?);
    write_report(&removed.ok_or_else(|| no_rule(asked))?, writer);
    Ok(())
}

/// Takes all rules out, and forgets those that never acted.
pub fn clear(asked: &Asked<'_>, writer: &mut Writer) -> Heard<()> {
    asked.twin.state.faults().clear();
    list(asked, writer)
}

fn id(asked: &Asked<'_>) -> Heard<RuleId> {
    let id = asked.part(1).parse().map(RuleId);
    id.map_err(|_| no_rule(asked))
}

fn no_rule(asked: &Asked<'_>) -> Refusal {
    Refusal::not_found(format!("There is no rule {}.", shortened(asked.part(1))))
}
