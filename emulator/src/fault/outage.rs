//! Named outages: sets of rules for failures that occur together.

use std::fmt;
use std::time::Duration;

use super::{Rule, Trigger, Verdict, When, Window};
use crate::conditions::Lag;

/// A kind of outage.
///
/// ```
/// use dynatwin_engine::faults::{Outage, Rule, Verdict};
///
/// assert_eq!(Outage::named("throttle-storm"), Some(Outage::ThrottleStorm));
/// let rules = Outage::ThrottleStorm.rules(&Rule::new(Verdict::Reset).table("Orders"));
/// assert!(rules.iter().all(|rule| rule.table.as_deref() == Some("Orders")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// The service is slow and fails occasionally: a tenth of all requests gets a 500 and a twentieth a 503, and half
    /// of the others are delayed, mostly by up to 300 ms, at most by 5 s.
    Brownout,
    /// Half of all requests are throttled, including those of the control plane.
    ThrottleStorm,
    /// One of three availability zones is gone. For a minute a third of all requests goes there: half of these are reset, the
    /// other half are not answered. For the first ten seconds a third of the others fails with a 500, while partitions elect
    /// new leaders. For five minutes a fifth of what is left is answered late, mostly within 50 ms, at worst after 2 s.
    AzLoss,
}

impl Outage {
    /// All outages, in the order of declaration.
    pub const ALL: [Outage; 3] = [Outage::Brownout, Outage::ThrottleStorm, Outage::AzLoss];

    /// The name in control requests, such as `throttle-storm`.
    pub const fn name(self) -> &'static str {
        match self {
            Outage::Brownout => "brownout",
            Outage::ThrottleStorm => "throttle-storm",
            Outage::AzLoss => "az-loss",
        }
    }

    /// The outage of this name.
    pub fn named(name: &str) -> Option<Outage> {
        Outage::ALL.into_iter().find(|outage| outage.name() == name)
    }

    /// The rules of the outage, each for the requests that `scope` matches and in its window. The verdict and the
    /// trigger of `scope` are ignored.
    pub fn rules(self, scope: &Rule) -> Vec<Rule> {
        let parts: &[OutageRule] = match self {
            Outage::Brownout => &BROWNOUT,
            Outage::ThrottleStorm => &THROTTLE_STORM,
            Outage::AzLoss => &AZ_LOSS,
        };
        parts.iter().map(|part| part.rule(self, scope)).collect()
    }
}

impl fmt::Display for Outage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A rule of an outage: its effect, the share of the requests that the parts before it left unaffected, and its
/// duration.
struct OutageRule(Verdict, f64, Option<Duration>);

const fn late(typical: u64, longest: u64) -> Verdict {
    Verdict::WaitAbout(Lag::Seeded {
        typical: Duration::from_millis(typical),
        longest: Duration::from_millis(longest),
    })
}

const BROWNOUT: [OutageRule; 3] = [
    OutageRule(Verdict::InternalServerError, 0.1, None),
    OutageRule(Verdict::ServiceUnavailable, 0.05 / 0.9, None),
    OutageRule(late(300, 5000), 0.5, None),
];

const THROTTLE_STORM: [OutageRule; 1] = [OutageRule(Verdict::Throttle(None), 0.5, None)];

const MINUTE: Option<Duration> = Some(Duration::from_mins(1));

const AZ_LOSS: [OutageRule; 4] = [
    OutageRule(Verdict::Reset, 1.0 / 6.0, MINUTE),
    OutageRule(Verdict::AnswerLost, 0.2, MINUTE),
    OutageRule(Verdict::InternalServerError, 1.0 / 3.0, Some(Duration::from_secs(10))),
    OutageRule(late(50, 2000), 0.2, Some(Duration::from_mins(5))),
];

impl OutageRule {
    fn rule(&self, outage: Outage, scope: &Rule) -> Rule {
        let OutageRule(verdict, share, most) = *self;
        let lasting = match (scope.window.lasting, most) {
            (Some(wanted), Some(most)) => Some(wanted.min(most)),
            (wanted, most) => wanted.or(most),
        };
        // Parts end at a time counted from the beginning of the outage, even if it begins when it is added.
        let after = scope.window.after.or(most.map(|_| When::In(Duration::ZERO)));
        Rule {
            verdict,
            trigger: Trigger::Share(share),
            window: Window {
                after,
                lasting,
                until: scope.window.until,
            },
            outage: Some(outage),
            ..scope.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::KeyMatch;
    use super::*;

    #[test]
    fn parts_have_the_scope_of_their_outage() {
        let of_all = || Rule::new(Verdict::Reset);
        let key = |text: &str| KeyMatch::Partition(text.to_owned());
        let narrow = of_all().table("Orders").index("by-g").operation("Query");
        for scope in [
            of_all(),
            of_all().operation("GetItem"),
            of_all().table("Orders"),
            of_all().index("by-g"),
            of_all().caller("me"),
            of_all().region("us-east-1"),
            of_all().key(key("a")),
            of_all().key(KeyMatch::PartitionPrefix("a".to_owned())),
            narrow.caller("me").region("us-east-1").key(key("a")),
        ] {
            for outage in Outage::ALL {
                for part in outage.rules(&scope) {
                    let expect = Rule {
                        verdict: part.verdict,
                        trigger: part.trigger,
                        window: part.window,
                        outage: Some(outage),
                        ..scope.clone()
                    };
                    assert_eq!(part, expect, "{outage} {scope}");
                }
            }
        }
    }

    /// A part of an outage ends with the outage, and not later than it would by itself.
    #[test]
    fn parts_last_no_longer_than_their_outage() {
        let seconds = |scope: &Rule| -> Vec<Option<u64>> {
            let parts = Outage::AzLoss.rules(scope).into_iter();
            parts
                .map(|rule| rule.window.lasting.map(|length| length.as_secs()))
                .collect()
        };
        let scope = Rule::new(Verdict::Reset);
        assert_eq!(seconds(&scope), [Some(60), Some(60), Some(10), Some(300)]);
        for (lasting, expect) in [(5, [5, 5, 5, 5]), (30, [30, 30, 10, 30]), (3600, [60, 60, 10, 300])] {
            let scope = scope.clone().lasting(Duration::from_secs(lasting));
            assert_eq!(seconds(&scope), expect.map(Some), "{lasting}");
        }
    }
}
