//! [ListTables](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListTables.html).

use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations};
use crate::execute::Refusals;
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::plan::{Access, ControlAccess};
use crate::request::ListTables;
use crate::value::Name;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

const MOST: i64 = 100;

pub struct Operation;

impl Stages for Operation {
    type Request = ListTables;
    type Checked<'r> = &'r ListTables;
    type Plan<'r> = &'r ListTables;
    type Outcome = (Vec<Name>, bool);

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        let mut violations = Violations::new();
        if let Some(start) = &request.exclusive_start_table_name {
            check::plain_name(&mut violations, start, "exclusiveStartTableName");
        }
        check::echoed_range(&mut violations, request.limit, "limit", 1, MOST);
        violations.finish()?;
        Ok(request)
    }

    fn plan<'r>(_: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        Ok(checked)
    }

    fn access(_: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::any()));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        let limit = plan.limit.unwrap_or(MOST) as usize;
        let start = plan.exclusive_start_table_name.as_ref();
        let region = context.engine.catalog().region(&context.scope);
        let tables = region.as_ref().map(|region| region.tables.read());
        let mut names = tables
            .iter()
            .flat_map(|tables| tables.after(start))
            .filter(|(_, table)| !table.shape().is_gone(context.now))
            .filter(|(_, table)| !table.is_hidden(context.now))
            .map(|(name, _)| name.clone());
        let listed = names.by_ref().take(limit).collect();
        Ok((listed, names.next().is_some()))
    }

    fn encode(_: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let (names, more) = outcome;
        let mut answer = Object::open(out);
        answer.strings("TableNames", names.iter().map(Name::as_str));
        if let Some(last) = names.last().filter(|_| more) {
            answer.string("LastEvaluatedTableName", last);
        }
        answer.close();
    }
}
