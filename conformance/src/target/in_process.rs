//! The twin in this process.

use dynatwin::Twin;

use super::{Session, Target};

/// The twin in this process: each scenario has one of its own, on a settable clock.
///
/// ```
/// use dynatwin_conformance::target::{InProcess, Target};
///
/// let target = InProcess::new(7);
/// assert_eq!(target.session().twin.map(|twin| twin.seed()), Some(7));
/// ```
#[derive(Clone, Debug)]
pub struct InProcess {
    seed: u64,
}

impl InProcess {
    /// Twins of this seed.
    pub fn new(seed: u64) -> InProcess {
        InProcess { seed }
    }
}

impl Target for InProcess {
    fn name(&self) -> &'static str {
        "in-process"
    }

    fn session(&self) -> Session {
        let twin = Twin::seeded(self.seed);
        Session {
            client: twin.client(),
            twin: Some(twin),
        }
    }
}
