//! The answer to a throttled request: the exception, its text, and which of the sixteen reasons.

use super::{ApiError, Detail, ErrorKind};

/// Why a throttled request was throttled, and of which resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThrottlingReason {
    /// One of the sixteen names of the model, such as `TableWriteProvisionedThroughputExceeded`.
    pub reason: &'static str,
    /// The table's or index's ARN.
    pub resource: String,
}

/// The throughput that a throttled request has exceeded; with the resource and the direction this gives the service's
/// sixteen reasons.
///
/// ```
/// use dynatwin_engine::faults::{Exceeded, Rule, Verdict};
///
/// let rule = Rule::new(Verdict::Throttle(Some(Exceeded::AccountLimit)));
/// assert_eq!(Exceeded::ALL.iter().position(|kind| *kind == Exceeded::AccountLimit), Some(Exceeded::AccountLimit.place()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exceeded {
    /// The table's or index's provisioned throughput: reasons that end in `ProvisionedThroughputExceeded`.
    ProvisionedThroughput,
    /// The throughput of one hot partition: reasons that end in `KeyRangeThroughputExceeded`.
    KeyRangeThroughput,
    /// The account's throughput quota: reasons that end in `AccountLimitExceeded`.
    AccountLimit,
    /// The maximum throughput of an on-demand table: reasons that end in `MaxOnDemandThroughputExceeded`.
    MaxOnDemandThroughput,
}

impl Exceeded {
    /// All of them, in the order of [`place`](Exceeded::place).
    pub const ALL: [Exceeded; 4] = [
        Exceeded::ProvisionedThroughput,
        Exceeded::KeyRangeThroughput,
        Exceeded::AccountLimit,
        Exceeded::MaxOnDemandThroughput,
    ];

    /// The index in [`ALL`](Exceeded::ALL), from 0.
    pub const fn place(self) -> usize {
        self as usize
    }

    /// The meaning of one of the sixteen reasons: what was exceeded, whether by an index, and whether by writing.
    ///
    /// ```
    /// use dynatwin_engine::faults::Exceeded;
    ///
    /// let said = Exceeded::of_reason("IndexWriteKeyRangeThroughputExceeded");
    /// assert_eq!(said, Some((Exceeded::KeyRangeThroughput, true, true)));
    /// ```
    pub fn of_reason(reason: &str) -> Option<(Exceeded, bool, bool)> {
        let sides = [(false, false), (false, true), (true, false), (true, true)];
        let mut all = Exceeded::ALL
            .into_iter()
            .flat_map(|exceeded| sides.map(|(of_index, writes)| (exceeded, of_index, writes)));
        all.find(|(exceeded, of_index, writes)| exceeded.reason(*of_index, *writes) == reason)
    }

    /// The name of one of the sixteen reasons, as the API model spells them.
    ///
    /// ```
    /// use dynatwin_engine::faults::Exceeded;
    ///
    /// assert_eq!(Exceeded::AccountLimit.reason(true, false), "IndexReadAccountLimitExceeded");
    /// ```
    pub const fn reason(self, of_index: bool, writes: bool) -> &'static str {
        use Exceeded::*;
        match (of_index, writes, self) {
            (false, false, ProvisionedThroughput) => "TableReadProvisionedThroughputExceeded",
            (false, false, KeyRangeThroughput) => "TableReadKeyRangeThroughputExceeded",
            (false, false, AccountLimit) => "TableReadAccountLimitExceeded",
            (false, false, MaxOnDemandThroughput) => "TableReadMaxOnDemandThroughputExceeded",
            (false, true, ProvisionedThroughput) => "TableWriteProvisionedThroughputExceeded",
            (false, true, KeyRangeThroughput) => "TableWriteKeyRangeThroughputExceeded",
            (false, true, AccountLimit) => "TableWriteAccountLimitExceeded",
            (false, true, MaxOnDemandThroughput) => "TableWriteMaxOnDemandThroughputExceeded",
            (true, false, ProvisionedThroughput) => "IndexReadProvisionedThroughputExceeded",
            (true, false, KeyRangeThroughput) => "IndexReadKeyRangeThroughputExceeded",
            (true, false, AccountLimit) => "IndexReadAccountLimitExceeded",
            (true, false, MaxOnDemandThroughput) => "IndexReadMaxOnDemandThroughputExceeded",
            (true, true, ProvisionedThroughput) => "IndexWriteProvisionedThroughputExceeded",
            (true, true, KeyRangeThroughput) => "IndexWriteKeyRangeThroughputExceeded",
            (true, true, AccountLimit) => "IndexWriteAccountLimitExceeded",
            (true, true, MaxOnDemandThroughput) => "IndexWriteMaxOnDemandThroughputExceeded",
        }
    }
}

/// The exceeded limit, and its resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Throttle {
    pub exceeded: Exceeded,
    /// Whether it is a global index's.
    pub of_index: bool,
    /// Whether the request writes it.
    pub writes: bool,
    /// Whether it is paid for by the units provisioned.
    pub provisioned: bool,
    /// The table's or index's ARN.
    pub resource: String,
}

impl Throttle {
    /// The reason, as the API model spells it.
    pub fn reason(&self) -> &'static str {
        self.exceeded.reason(self.of_index, self.writes)
    }

    /// The exception and its text.
    fn words(&self) -> (ErrorKind, &'static str) {
        match self.exceeded {
            Exceeded::AccountLimit => (
                ErrorKind::RequestLimitExceeded,
                "Throughput exceeds the current throughput quota for your account.",
            ),
            Exceeded::MaxOnDemandThroughput => (
                ErrorKind::Throttling,
                "Throughput exceeds the maximum OnDemandThroughput configured on table or index",
            ),
            Exceeded::ProvisionedThroughput => (ErrorKind::ProvisionedThroughputExceeded, self.provisioned_text()),
            Exceeded::KeyRangeThroughput if self.provisioned => {
                (ErrorKind::ProvisionedThroughputExceeded, self.provisioned_text())
            }
            Exceeded::KeyRangeThroughput => (ErrorKind::Throttling, self.on_demand_text()),
        }
    }

    fn provisioned_text(&self) -> &'static str {
        if self.of_index {
            "The level of configured provisioned throughput for one or more global secondary indexes of the table was exceeded. Consider increasing your provisioning level for the under-provisioned global secondary indexes with the UpdateTable API."
        } else {
            "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API."
        }
    }

    fn on_demand_text(&self) -> &'static str {
        if self.of_index {
            "Throughput exceeds the current capacity for one or more global secondary indexes. DynamoDB is automatically scaling your index so please try again shortly."
        } else {
            "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or index so please try again shortly. If exceptions persist, check if you have a hot key: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html"
        }
    }
}

impl ApiError {
    /// Control-plane requests exceed their rate (recorded in October 2026).
    pub fn rate_exceeded() -> ApiError {
        ApiError::new(ErrorKind::Throttling, "Rate exceeded")
    }

    /// Too many control-plane requests that change something, at a time (recorded in October 2026).
    pub fn account_rate_exceeded() -> ApiError {
        ApiError::new(
            ErrorKind::Throttling,
            "The rate of control plane requests made by this account is too high",
        )
    }

    /// Throughput is exhausted: the first of `throttles` determines the exception, and each is a reason.
    pub fn throttled(throttles: Vec<Throttle>) -> ApiError {
        let Some((kind, text)) = throttles.first().map(Throttle::words) else {
            return ApiError::internal();
        };
        let reasons = throttles.into_iter().map(|throttle| ThrottlingReason {
            reason: throttle.reason(),
            resource: throttle.resource,
        });
        ApiError::new(kind, text).with(Detail::Throttling(reasons.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sixteen_reasons() {
        let mut names = Vec::new();
        for (exceeded, limit) in [
            (Exceeded::ProvisionedThroughput, "ProvisionedThroughputExceeded"),
            (Exceeded::KeyRangeThroughput, "KeyRangeThroughputExceeded"),
            (Exceeded::AccountLimit, "AccountLimitExceeded"),
            (Exceeded::MaxOnDemandThroughput, "MaxOnDemandThroughputExceeded"),
        ] {
            assert_eq!(Exceeded::ALL[exceeded.place()], exceeded);
            for (of_index, writes) in [(false, false), (false, true), (true, false), (true, true)] {
                let throttle = Throttle {
                    exceeded,
                    of_index,
                    writes,
                    provisioned: false,
                    resource: String::new(),
                };
                let resource = if of_index { "Index" } else { "Table" };
                let operation = if writes { "Write" } else { "Read" };
                assert_eq!(throttle.reason(), format!("{resource}{operation}{limit}"));
                let said = Exceeded::of_reason(throttle.reason());
                assert_eq!(said, Some((exceeded, of_index, writes)));
                names.push(throttle.reason());
            }
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 16);
    }

    /// The text of a provisioned table or index is that of its throughput, also for one of its partitions.
    #[test]
    fn the_text_is_that_of_the_table_or_index() {
        let provisioned = [
            "The level of configured provisioned throughput for the table was exceeded.",
            "The level of configured provisioned throughput for one or more global secondary indexes of the table was exceeded.",
        ];
        let on_demand = [
            "Throughput exceeds the current capacity of your table or index.",
            "Throughput exceeds the current capacity for one or more global secondary indexes.",
        ];
        for (exceeded, is_provisioned, texts) in [
            (Exceeded::ProvisionedThroughput, true, provisioned),
            (Exceeded::KeyRangeThroughput, true, provisioned),
            (Exceeded::KeyRangeThroughput, false, on_demand),
        ] {
            for (of_index, text) in [false, true].into_iter().zip(texts) {
                let throttle = Throttle {
                    exceeded,
                    of_index,
                    writes: false,
                    provisioned: is_provisioned,
                    resource: String::new(),
                };
                assert!(throttle.words().1.starts_with(text), "{throttle:?}");
            }
        }
    }

    #[test]
    fn a_throttle_has_its_reason() {
        let throttle = Throttle {
            exceeded: Exceeded::ProvisionedThroughput,
            of_index: false,
            writes: true,
            provisioned: true,
            resource: "arn:aws:dynamodb:us-east-1:000000000000:table/Orders".to_owned(),
        };
        assert_eq!(throttle.reason(), "TableWriteProvisionedThroughputExceeded");
        assert!(
            ApiError::throttled(vec![throttle])
                .message()
                .unwrap()
                .starts_with("The level of configured")
        );
    }
}
