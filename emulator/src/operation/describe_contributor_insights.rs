//! [DescribeContributorInsights](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeContributorInsights.html).

use super::{check, insights};
use crate::context::Context;
use crate::error::{ApiError, Violations};
use crate::wire::decode::DescribeContributorInsights;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

pub(super) fn run(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let request = DescribeContributorInsights::decode(body)?;
    check::control_table_name(request.table_name.as_ref())?;
    let mut faults = Violations::new();
    insights::check_index_name(&mut faults, &request);
    faults.finish()?;
    let (target, index) = insights::target(context, &request)?;
    let mut answer = Object::open(out);
    answer.string("TableName", &target.table.name);
    if let Some(index) = index {
        answer.string("IndexName", index);
    }
    match target.shape.attached.insights(index) {
        None => answer.string("ContributorInsightsStatus", "DISABLED"),
        Some(there) => {
            let resource = match index {
                Some(index) => format!("{}-{index}", target.table.name),
                None => target.table.name.to_string(),
            };
            let stamp = there.asked.micros() / 1000;
            let has_range = !insights::key(&target, index).range.is_empty();
            let rules: Vec<String> = there
                .rules(has_range)
                .map(|kind| format!("DynamoDBContributorInsights-{kind}-{resource}-{stamp}"))
                .collect();
            answer.strings("ContributorInsightsRuleList", rules.iter().map(String::as_str));
            let status = there.status(context.now);
            answer.string("ContributorInsightsStatus", status);
            answer.timestamp(
                "LastUpdateDateTime",
                if context.now < there.until {
                    there.asked
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
    Ok(())
}
