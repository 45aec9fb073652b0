//! [DescribeContributorInsights](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeContributorInsights.html).

use crate::clock::Moment;
use crate::context::{Caches, Context};
use crate::error::{ApiError, Violations};
use crate::execute::Refusals;
use crate::operation::check;
use crate::operation::drive::Stages;
use crate::operation::insights::{self, InsightsPlan};
use crate::plan::{Access, ControlAccess};
use crate::request::ContributorInsights;
use crate::wire::decode::admin::DescribeContributorInsights;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub struct Operation;

impl Stages for Operation {
    type Request = DescribeContributorInsights;
    type Checked<'r> = &'r ContributorInsights;
    type Plan<'r> = InsightsPlan<'r>;
    type Outcome = Moment;

    fn check<'r>(request: &'r mut Self::Request, _: &'r Caches) -> Result<Self::Checked<'r>, ApiError> {
        check::control_table_name(request.0.table_name.as_ref())?;
        let mut violations = Violations::new();
        insights::check_index_name(&mut violations, &request.0);
        violations.finish()?;
        Ok(&request.0)
    }

    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError> {
        InsightsPlan::new(context, checked)
    }

    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>)) {
        each(Access::Control(ControlAccess::table(&plan.target.table.name)));
    }

    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, _: Refusals) -> Result<Self::Outcome, ApiError> {
        plan.check_index()?;
        Ok(context.now)
    }

    fn encode(plan: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer) {
        let now = outcome;
        let mut answer = Object::open(out);
        answer.string("TableName", &plan.target.table.name);
        if let Some(index) = plan.index {
            answer.string("IndexName", index);
        }
        match plan.target.shape.attached.insights(plan.index) {
            None => answer.string("ContributorInsightsStatus", "DISABLED"),
            Some(there) => {
                let resource = match plan.index {
                    Some(index) => format!("{}-{index}", plan.target.table.name),
                    None => plan.target.table.name.to_string(),
                };
                let stamp = there.requested.micros() / 1000;
                let has_range = !insights::key(&plan.target, plan.index).range.is_empty();
                let rules: Vec<String> = there
                    .rules(has_range)
                    .map(|kind| format!("DynamoDBContributorInsights-{kind}-{resource}-{stamp}"))
                    .collect();
                answer.strings("ContributorInsightsRuleList", rules.iter().map(String::as_str));
                let status = there.status(now);
                answer.string("ContributorInsightsStatus", status);
                answer.timestamp(
                    "LastUpdateDateTime",
                    if now < there.until {
                        there.requested
                    } else {
                        there.until
                    },
                );
                if let Some((name, sentence)) = there.failure.filter(|_| status == "FAILED") {
                    let mut failure = answer.object("FailureException");
                    failure.string("ExceptionName", name);
                    failure.string("ExceptionDescription", sentence);
                    failure.close();
                }
                answer.string("ContributorInsightsMode", there.mode);
            }
        }
        answer.close();
    }
}
