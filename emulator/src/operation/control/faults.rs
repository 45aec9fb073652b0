//! The controls of fault rules.

use super::ControlRequest;
use crate::fault::{Rule, RuleId, RuleReport};
use crate::limits;
use crate::wire::control::{ControlError, ControlResult, read_outage, read_rule, shortened, write_report};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// Writes the rules with their counts, and those that never acted, including removed ones.
pub fn list(asked: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
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

/// Adds a rule after the existing ones.
pub fn add(asked: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let rule = read_rule(&asked.body)?;
    for report in install(asked, vec![rule])? {
        write_report(&report, writer);
    }
    Ok(())
}

/// Adds the rules of a named outage after the existing ones.
pub fn start_outage(asked: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let (outage, scope) = read_outage(&asked.body)?;
    let mut object = Object::open(writer);
    let mut list = object.list("rules");
    for report in install(asked, outage.rules(&scope))? {
        write_report(&report, list.element());
    }
    list.close();
    object.close();
    Ok(())
}

/// Installs rules, if there is room for all of them.
fn install(asked: &ControlRequest<'_>, rules: Vec<Rule>) -> ControlResult<Vec<RuleReport>> {
    let faults = asked.twin.state.faults();
    let added = faults.add_all(rules, limits::FAULT_RULES, asked.twin.clock.now());
    let ids = added.map_err(|error| ControlError::malformed(error.to_string()))?;
    let ids = ids
        .ok_or_else(|| ControlError::malformed(format!("There can be at most {} fault rules.", limits::FAULT_RULES)))?;
    let mut reports = faults.report();
    reports.retain(|report| ids.contains(&report.id));
    Ok(reports)
}

/// Writes one rule with its counts.
pub fn show(asked: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let id = id(asked)?;
    let reports = asked.twin.state.faults().report();
    let found = reports.iter().find(|report| report.id == id);
    write_report(found.ok_or_else(|| no_rule(asked))?, writer);
    Ok(())
}

/// Removes a rule, and writes its counts.
pub fn remove(asked: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let removed = asked.twin.state.faults().remove(id(asked)?);
    write_report(&removed.ok_or_else(|| no_rule(asked))?, writer);
    Ok(())
}

/// Removes all rules, and forgets those that never acted.
pub fn clear(asked: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    asked.twin.state.faults().clear();
    list(asked, writer)
}

fn id(asked: &ControlRequest<'_>) -> ControlResult<RuleId> {
    let id = asked.part(1).parse().map(RuleId);
    id.map_err(|_| no_rule(asked))
}

fn no_rule(asked: &ControlRequest<'_>) -> ControlError {
    ControlError::not_found(format!("There is no rule {}.", shortened(asked.part(1))))
}
