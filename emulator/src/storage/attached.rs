//! What hangs on a table beside its items: where its changes are sent, who is watched, and who is allowed what.
//!
//! Each says by itself what shows at a moment, so nothing has to happen when a change of it is done.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Moment;
use crate::value::{Name, Text};

/// How long a Kinesis destination that is off still shows (measured: minutes).
const LINGERS: Duration = Duration::from_mins(5);

/// Everything that hangs on a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attachments {
    /// Kinesis destinations, one a stream, in the order in which they came.
    pub destinations: Vec<Destination>,
    /// Contributor Insights, of the table and of its global indexes.
    pub insights: Vec<Insights>,
    /// Resource policies, of the table and of its streams.
    pub policies: Vec<AttachedResourcePolicy>,
    /// The tags of the table's streams, by label. The table's own are in its definition.
    pub stream_tags: BTreeMap<Text, Vec<(String, String)>>,
}

impl Attachments {
    /// The Kinesis destination of this stream, if it still shows.
    pub fn destination(&self, stream_arn: &str, now: Moment) -> Option<&Destination> {
        self.shown_destinations(now).find(|each| each.stream_arn == stream_arn)
    }

    /// The Kinesis destinations that show.
    pub fn shown_destinations(&self, now: Moment) -> impl Iterator<Item = &Destination> {
        self.destinations.iter().filter(move |each| !each.is_gone(now))
    }

    /// Puts a Kinesis destination in the place of the one with the same stream, and forgets those that are gone.
    pub fn set_destination(&mut self, destination: Destination, now: Moment) {
        self.destinations
            .retain(|each| each.stream_arn != destination.stream_arn && !each.is_gone(now));
        self.destinations.push(destination);
    }

    /// The insights of the table, or of an index.
    pub fn insights(&self, index: Option<&str>) -> Option<&Insights> {
        self.insights.iter().find(|each| each.index.as_deref() == index)
    }

    /// Puts insights in the place of those of the same table or index.
    pub fn set_insights(&mut self, insights: Insights) {
        self.forget_insights(insights.index.as_deref());
        self.insights.push(insights);
    }

    /// Forgets the insights of an index that is gone.
    pub fn forget_insights(&mut self, index: Option<&str>) {
        self.insights.retain(|each| each.index.as_deref() != index);
    }

    /// The policy of the table, or of the stream with this label.
    pub fn policy(&self, stream: Option<&str>) -> Option<&AttachedResourcePolicy> {
        self.policies.iter().find(|each| each.stream.as_deref() == stream)
    }

    /// Puts a policy in the place of that of the same resource.
    pub fn set_policy(&mut self, policy: AttachedResourcePolicy) {
        self.policies.retain(|each| each.stream != policy.stream);
        self.policies.push(policy);
    }
}

/// How far a Kinesis destination is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It goes on, or fails to, at a moment.
    Enabling {
        /// When that is decided.
        until: Moment,
        /// Whether it fails.
        fails: bool,
    },
    /// Its precision changes until a moment.
    Updating {
        /// When that is done.
        until: Moment,
        /// The precision before.
        was: Option<&'static str>,
    },
    /// It goes off at a moment.
    Disabling {
        /// When.
        until: Moment,
    },
}

/// A Kinesis stream that a table's changes are sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The stream's ARN.
    pub stream_arn: Text,
    /// How far it is.
    pub phase: Phase,
    /// `MILLISECOND` or `MICROSECOND`, if one was asked for.
    pub precision: Option<&'static str>,
}

impl Destination {
    /// Its `DestinationStatus`.
    pub fn status(&self, now: Moment) -> &'static str {
        match &self.phase {
            Phase::Enabling { until, .. } if now < *until => "ENABLING",
            Phase::Enabling { fails: true, .. } => "ENABLE_FAILED",
            Phase::Updating { until, .. } if now < *until => "UPDATING",
            Phase::Enabling { .. } | Phase::Updating { .. } => "ACTIVE",
            Phase::Disabling { until } if now < *until => "DISABLING",
            Phase::Disabling { .. } => "DISABLED",
        }
    }

    /// Whether it stands in the way of another one.
    pub fn is_live(&self, now: Moment) -> bool {
        !matches!(self.status(now), "ENABLE_FAILED" | "DISABLED")
    }

    /// Whether it shows no more.
    pub fn is_gone(&self, now: Moment) -> bool {
        matches!(self.phase, Phase::Disabling { until } if until.plus(LINGERS) <= now)
    }

    /// The precision that shows.
    pub fn shown_precision(&self, now: Moment) -> Option<&'static str> {
        match &self.phase {
            Phase::Updating { until, was } if now < *until => *was,
            _ => self.precision,
        }
    }
}

/// Contributor Insights of a table or a global index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insights {
    /// The index, if it is one's.
    pub index: Option<Name>,
    /// Whether they are on.
    pub on: bool,
    /// Why they could not be switched on: the exception and its sentence.
    pub failure: Option<(&'static str, &'static str)>,
    /// `ContributorInsightsMode`.
    pub mode: &'static str,
    /// When that was asked for.
    pub asked: Moment,
    /// When it was done.
    pub until: Moment,
}

impl Insights {
    /// What too many rules fail with (API Reference, `FailureException`).
    pub const TOO_MANY_RULES: (&'static str, &'static str) = (
        "LimitExceededException",
        "Per-account Amazon CloudWatch Contributor Insights rule limit reached. Please disable Contributor Insights for other tables/indexes OR disable Contributor Insights rules before retrying.",
    );

    /// Their `ContributorInsightsStatus`.
    pub fn status(&self, now: Moment) -> &'static str {
        match (self.on, now < self.until) {
            (true, true) => "ENABLING",
            (true, false) if self.failure.is_some() => "FAILED",
            (true, false) => "ENABLED",
            (false, true) => "DISABLING",
            (false, false) => "DISABLED",
        }
    }

    /// The kinds of their rules; a key without a range attribute has no rule for one.
    pub fn rules(&self, has_range: bool) -> impl Iterator<Item = &'static str> {
        let throttled_only = self.mode == "THROTTLED_KEYS";
        let on = self.on && self.failure.is_none();
        let wanted =
            move |kind: &&str| on && (has_range || !kind.starts_with('S')) && (!throttled_only || kind.ends_with('T'));
        ["PKC", "PKT", "SKC", "SKT"].into_iter().filter(wanted)
    }
}

/// A document, and the moment in milliseconds that names its revision.
pub type Revision = (Arc<str>, i64);

/// A resource policy. It stays as a mark of its last change when its document is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedResourcePolicy {
    /// The label of the stream, if it is one's.
    pub stream: Option<Text>,
    /// The document as it is to be.
    pub current: Option<Revision>,
    /// The document that shows until the change is done.
    pub before: Option<Revision>,
    /// When it was changed.
    pub changed: Moment,
    /// When that change is done.
    pub until: Moment,
}

impl AttachedResourcePolicy {
    /// The document that shows.
    pub fn shown(&self, now: Moment) -> Option<&Revision> {
        if now < self.until {
            self.before.as_ref()
        } else {
            self.current.as_ref()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Moment {
        Moment::from_seconds(seconds)
    }

    #[test]
    fn destinations_show_how_far_they_are() {
        let until = at(10);
        for (phase, before, after) in [
            (Phase::Enabling { until, fails: false }, "ENABLING", "ACTIVE"),
            (Phase::Enabling { until, fails: true }, "ENABLING", "ENABLE_FAILED"),
            (Phase::Updating { until, was: None }, "UPDATING", "ACTIVE"),
            (Phase::Disabling { until }, "DISABLING", "DISABLED"),
        ] {
            let destination = Destination {
                stream_arn: "arn".into(),
                phase,
                precision: None,
            };
            assert_eq!((destination.status(at(9)), destination.status(at(10))), (before, after));
            let gone = destination.is_gone(at(10 + 300));
            assert_eq!(gone, after == "DISABLED");
            let live = !matches!(after, "ENABLE_FAILED" | "DISABLED");
            assert_eq!(destination.is_live(at(10)), live);
        }
    }

    #[test]
    fn rules_follow_key_and_mode() {
        let insights = |on, mode| Insights {
            index: None,
            on,
            failure: None,
            mode,
            asked: at(0),
            until: at(0),
        };
        for (on, mode, range, expect) in [
            (true, "ACCESSED_AND_THROTTLED_KEYS", true, "PKC PKT SKC SKT"),
            (true, "ACCESSED_AND_THROTTLED_KEYS", false, "PKC PKT"),
            (true, "THROTTLED_KEYS", true, "PKT SKT"),
            (false, "THROTTLED_KEYS", true, ""),
        ] {
            let rules: Vec<_> = insights(on, mode).rules(range).collect();
            assert_eq!(rules.join(" "), expect);
        }
    }
}
