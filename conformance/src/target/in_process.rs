//! The twin in this process.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use dynatwin::{Clock, Conditions, Moment, Twin};

use super::{Session, Target};
use crate::raw_client::RawClient;

/// The attempts of a client under conditions that throttle requests: an application that reads streams needs more than
/// 3.
const ATTEMPTS: u32 = 10;

/// The conditions of a twin.
///
/// ```
/// use dynatwin_conformance::target::Preset;
///
/// assert_eq!(Preset::Storm.target(), "in-process-storm");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// The engine's default conditions, without lag or throttling.
    Calm,
    /// Production-like conditions, `Conditions::AWS`.
    Aws,
    /// The worst conditions that production shows.
    Storm,
}

impl Preset {
    /// The name of the target.
    pub const fn target(self) -> &'static str {
        match self {
            Preset::Calm => "in-process",
            Preset::Aws => "in-process-aws",
            Preset::Storm => "in-process-storm",
        }
    }

    const fn conditions(self) -> Conditions {
        match self {
            Preset::Calm => Conditions::CALM,
            Preset::Aws => Conditions::AWS,
            Preset::Storm => Conditions::STORM,
        }
    }
}

/// The seed of the twins that cases meet, in the engine's own test as well.
const CASES_SEED: u64 = 1;

/// The twin in this process: each scenario has one of its own, on a settable clock.
///
/// ```
/// use dynatwin_conformance::target::{InProcess, Preset, Target};
///
/// let target = InProcess::new(Preset::Calm, 7);
/// assert_eq!(target.session().twin.map(|twin| twin.seed()), Some(7));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct InProcess {
    preset: Preset,
    seed: u64,
}

impl InProcess {
    /// Twins of this seed under these conditions.
    pub fn new(preset: Preset, seed: u64) -> InProcess {
        InProcess { preset, seed }
    }

    fn twin(&self) -> Twin {
        Twin::builder()
            .seed(self.seed)
            .clock(Clock::settable(Moment::START))
            .conditions(self.preset.conditions())
            .build()
    }
}

impl Target for InProcess {
    fn name(&self) -> &'static str {
        self.preset.target()
    }

    fn session(&self) -> Session {
        let twin = self.twin();
        let attempts = if self.preset == Preset::Calm { 3 } else { ATTEMPTS };
        let retries = RetryConfig::standard().with_max_attempts(attempts);
        let streams = twin.region("us-east-1").streams_config().retry_config(retries.clone());
        Session {
            client: Client::from_conf(twin.config().retry_config(retries).build()),
            streams: aws_sdk_dynamodbstreams::Client::from_conf(streams.build()),
            twin: Some(twin),
            table_prefix: "dynatwin-".to_owned(),
        }
    }

    fn raw_client(&self, _: &str) -> Option<RawClient> {
        // Some cases tell times that were drawn: those of the seed that the cases are written for.
        let written_for = InProcess::new(self.preset, CASES_SEED);
        (self.preset == Preset::Calm).then(|| RawClient::twin(written_for.twin()))
    }

    fn lanes(&self) -> usize {
        2
    }
}
