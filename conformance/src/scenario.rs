//! The scenarios: small, realistic uses of DynamoDB.
//!
//! Each is written once. Where the target has controls, a scenario also advances the clock or throttles requests;
//! elsewhere those parts are left out.

mod adaptive_limit;
mod backoff;
mod batch_write;
mod cache_store;
mod dedupe_jobs;
mod invitations;
mod lease_lock;
mod outbox;
mod session_ttl;
mod single_table;
mod sliding_window;
mod stream_view;
mod task_board;
mod two_regions;
mod version_check;
mod webhook_idempotency;
mod window_counter;

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::check::Outcome;
use crate::context::Context;

/// The function that runs a scenario.
pub type Run = for<'a> fn(&'a Context) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// A scenario: a name, a sentence that describes it, and its function.
///
/// ```
/// use dynatwin_conformance::scenario::ALL;
///
/// assert!(ALL.iter().any(|scenario| scenario.name == "task_board"));
/// ```
#[derive(Clone, Copy)]
pub struct Scenario {
    /// The row of the scenario in the report.
    pub name: &'static str,
    /// A sentence that describes what it shows.
    pub about: &'static str,
    /// The function that runs the scenario.
    pub run: Run,
}

impl fmt::Debug for Scenario {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Scenario({})", self.name)
    }
}

/// All scenarios, in the order of the report.
pub const ALL: &[Scenario] = &[
    Scenario {
        name: "task_board",
        about: "tasks are created once, listed by project with their cost, and completed once by their owner",
        run: |context| Box::pin(task_board::run(context)),
    },
    Scenario {
        name: "session_ttl",
        about: "a session exists for seven days and is then deleted",
        run: |context| Box::pin(session_ttl::run(context)),
    },
    Scenario {
        name: "webhook_idempotency",
        about: "of fifty deliveries of one event one is processed",
        run: |context| Box::pin(webhook_idempotency::run(context)),
    },
    Scenario {
        name: "window_counter",
        about: "requests in a window are counted exactly, and no more than the limit let through",
        run: |context| Box::pin(window_counter::run(context)),
    },
    Scenario {
        name: "cache_store",
        about: "a cache with time to live, tags, and a limit of size",
        run: |context| Box::pin(cache_store::run(context)),
    },
    Scenario {
        name: "dedupe_jobs",
        about: "a job has one owner among fifty, and is taken over once when it runs out of time",
        run: |context| Box::pin(dedupe_jobs::run(context)),
    },
    Scenario {
        name: "sliding_window",
        about: "a rate limit of slots reserved in transactions never lets too many through",
        run: |context| Box::pin(sliding_window::run(context)),
    },
    Scenario {
        name: "adaptive_limit",
        about: "users and background work share a limit, by shares that follow an index; the limit holds while that lags",
        run: |context| Box::pin(adaptive_limit::run(context)),
    },
    Scenario {
        name: "invitations",
        about: "an invitation lets one of fifty guests in, and none after its time",
        run: |context| Box::pin(invitations::run(context)),
    },
    Scenario {
        name: "backoff",
        about: "a throttled write is repeated after random times below a limit that doubles, until it is given up",
        run: |context| Box::pin(backoff::run(context)),
    },
    Scenario {
        name: "version_check",
        about: "editors with conflicting changes read the stored item from the error, and lose no edit",
        run: |context| Box::pin(version_check::run(context)),
    },
    Scenario {
        name: "batch_write",
        about: "a bulk load repeats unprocessed items until all are stored, and a parallel scan reads each once",
        run: |context| Box::pin(batch_write::run(context)),
    },
    Scenario {
        name: "two_regions",
        about: "items of their own arrive in every region, and a version check that passes in two regions loses a write",
        run: |context| Box::pin(two_regions::run(context)),
    },
    Scenario {
        name: "single_table",
        about: "one query reads a customer with the orders, and an index reads orders by status",
        run: |context| Box::pin(single_table::run(context)),
    },
    Scenario {
        name: "lease_lock",
        about: "a lock has one holder, lapses with its lease, and hands out rising fencing tokens",
        run: |context| Box::pin(lease_lock::run(context)),
    },
    Scenario {
        name: "outbox",
        about: "an order and its event are written together or not at all, and relayed in order",
        run: |context| Box::pin(outbox::run(context)),
    },
    Scenario {
        name: "stream_view",
        about: "a view is rebuilt from a stream, by consumers that stop anywhere and count no change twice",
        run: |context| Box::pin(stream_view::run(context)),
    },
];

/// The scenario of this name.
pub fn named(name: &str) -> Option<&'static Scenario> {
    ALL.iter().find(|scenario| scenario.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for scenario in ALL {
            let same = ALL.iter().filter(|other| other.name == scenario.name).count();
            assert_eq!(same, 1, "{}", scenario.name);
            assert!(named(scenario.name).is_some());
        }
    }
}
