//! What stands behind the sockets.

use std::task::Waker;

use dynatwin_engine::answer::{Answer, HttpRequest};
use dynatwin_engine::clock::{Clock, Moment};
use dynatwin_engine::engine::Engine;

use crate::database::Durability;

/// What answers requests: the engine, or a test's stand-in for it.
///
/// ```
/// use dynatwin_engine::{answer::{Answer, Delivery, HttpRequest}, clock::Clock};
/// use dynatwin_server::Door;
///
/// struct Teapot(Clock);
/// impl Door for Teapot {
///     fn handle(&self, _: &HttpRequest<'_>) -> Answer {
///         let (at, delivery) = (self.0.now(), Delivery::Whole);
///         Answer { status: 418, headers: Default::default(), body: Vec::new(), at, still: Default::default(), delivery, note: None }
///     }
///     fn clock(&self) -> &Clock {
///         &self.0
///     }
/// }
/// ```
pub trait Door: Send + Sync + 'static {
    /// One request. Unless [`may_take_long`](Door::may_take_long), it is called on the thread that serves the connection and
    /// must not block.
    fn handle(&self, request: &HttpRequest<'_>) -> Answer;
    /// One request, and what is to be awaited before its answer is delivered.
    fn handle_durably(&self, request: &HttpRequest<'_>) -> (Answer, Option<Durability>) {
        (self.handle(request), None)
    }
    /// Whether carrying a request out may take long: it is then done on a thread of its own.
    fn may_take_long(&self, _: &HttpRequest<'_>) -> bool {
        false
    }
    /// The clock by which [`Answer::at`] and [`Door::keep_up`] are meant.
    fn clock(&self) -> &Clock;
    /// Whether there are events after a number; if not, `waker` is woken when there are.
    fn has_events_after(&self, _number: u64, _waker: &Waker) -> bool {
        false
    }
    /// Somebody listens to events from now on.
    fn begin_listening(&self) {}
    /// Ends what [`begin_listening`](Door::begin_listening) began.
    fn end_listening(&self) {}
    /// Does what is due though nobody asks, and returns when something is due next.
    fn keep_up(&self) -> Moment {
        Moment::NEVER
    }
}

impl Door for Engine {
    fn handle(&self, request: &HttpRequest<'_>) -> Answer {
        Engine::handle(self, request)
    }

    fn may_take_long(&self, request: &HttpRequest<'_>) -> bool {
        Engine::may_take_long(self, request)
    }

    fn clock(&self) -> &Clock {
        Engine::clock(self)
    }

    fn has_events_after(&self, number: u64, waker: &Waker) -> bool {
        Engine::has_events_after(self, number, waker)
    }

    fn begin_listening(&self) {
        Engine::begin_listening(self);
    }

    fn end_listening(&self) {
        Engine::end_listening(self);
    }

    fn keep_up(&self) -> Moment {
        Engine::keep_up(self)
    }
}
