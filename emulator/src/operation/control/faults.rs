//! The controls of fault rules.

use super::ControlRequest;
use crate::fault::{Rule, RuleId, RuleReport};
use crate::limits;
use crate::wire::control::{ControlError, ControlResult, read_outage, read_rule, shortened, write_report};
use crate::wire::encode::Writer;
use crate::wire::object::Object;

impl ControlRequest<'_> {
    /// Writes the rules with their counts, and those that never acted, including removed ones.
    pub fn list_faults(&self, writer: &mut Writer) -> ControlResult<()> {
        let faults = self.twin.state.faults();
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
    pub fn add_fault(&self, writer: &mut Writer) -> ControlResult<()> {
        let rule = read_rule(&self.body)?;
        for report in install(self, vec![rule])? {
            write_report(&report, writer);
        }
        Ok(())
    }

    /// Adds the rules of a named outage after the existing ones.
    pub fn start_outage(&self, writer: &mut Writer) -> ControlResult<()> {
        let (outage, scope) = read_outage(&self.body)?;
        let mut object = Object::open(writer);
        let mut list = object.list("rules");
        for report in install(self, outage.rules(&scope))? {
            write_report(&report, list.element());
        }
        list.close();
        object.close();
        Ok(())
    }

    /// Writes one rule with its counts.
    pub fn get_fault(&self, writer: &mut Writer) -> ControlResult<()> {
        let id = id(self)?;
        let reports = self.twin.state.faults().report();
        let found = reports.iter().find(|report| report.id == id);
        write_report(found.ok_or_else(|| no_rule(self))?, writer);
        Ok(())
    }

    /// Removes a rule, and writes its counts.
    pub fn remove_fault(&self, writer: &mut Writer) -> ControlResult<()> {
        let removed = self.twin.state.faults().remove(id(self)?);
        write_report(&removed.ok_or_else(|| no_rule(self))?, writer);
        Ok(())
    }

    /// Removes all rules, and forgets those that never acted.
    pub fn clear_faults(&self, writer: &mut Writer) -> ControlResult<()> {
        self.twin.state.faults().clear();
        self.list_faults(writer)
    }
}

/// Installs rules, if there is room for all of them.
fn install(requested: &ControlRequest<'_>, rules: Vec<Rule>) -> ControlResult<Vec<RuleReport>> {
    let faults = requested.twin.state.faults();
    let added = faults.add_all(rules, limits::FAULT_RULES, requested.twin.clock.now());
    let ids = added.map_err(|error| ControlError::malformed(error.to_string()))?;
    let ids = ids
        .ok_or_else(|| ControlError::malformed(format!("There can be at most {} fault rules.", limits::FAULT_RULES)))?;
    let mut reports = faults.report();
    reports.retain(|report| ids.contains(&report.id));
    Ok(reports)
}

fn id(requested: &ControlRequest<'_>) -> ControlResult<RuleId> {
    let id = requested.part("id").parse().map(RuleId);
    id.map_err(|_| no_rule(requested))
}

fn no_rule(requested: &ControlRequest<'_>) -> ControlError {
    ControlError::not_found(format!("There is no rule {}.", shortened(requested.part("id"))))
}
