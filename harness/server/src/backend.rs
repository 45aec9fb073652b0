//! The interface between the sockets and the engine.

use std::task::Waker;

use dynatwin_engine::controls::Controls;
use dynatwin_engine::http::{Answer, HttpRequest};
use dynatwin_engine::{Clock, Engine, Moment};

use crate::database::Durability;

/// Answers requests: the engine, or a test's replacement for it.
///
/// ```
/// use dynatwin_engine::http::{Answer, Delivery, HttpRequest};
/// use dynatwin_engine::Clock;
/// use dynatwin_server::Backend;
///
/// struct Teapot(Clock);
/// impl Backend for Teapot {
///     fn handle(&self, _: &HttpRequest<'_>) -> Answer {
///         let (at, delivery) = (self.0.now(), Delivery::Whole);
///         Answer { status: 418, headers: Default::default(), body: Vec::new(), at, still: Default::default(), delivery, note: None }
///     }
///     fn clock(&self) -> &Clock {
///         &self.0
///     }
/// }
/// ```
pub trait Backend: Send + Sync + 'static {
    /// Handles one request. Unless [`may_take_long`](Backend::may_take_long) holds, it is called on the thread that serves
    /// the connection and must not block.
    fn handle(&self, request: &HttpRequest<'_>) -> Answer;
    /// Handles one request; also returns what to await before the answer is delivered.
    fn handle_durably(&self, request: &HttpRequest<'_>) -> (Answer, Option<Durability>) {
        (self.handle(request), None)
    }
    /// Returns whether the request may take long and must be handled on a separate thread.
    fn may_take_long(&self, _: &HttpRequest<'_>) -> bool {
        false
    }
    /// Returns the clock of [`Answer::at`] and [`Backend::run_background_work`].
    fn clock(&self) -> &Clock;
    /// Returns whether there are events after a number; if not, `waker` is woken when there are.
    fn has_events_after(&self, _number: u64, _waker: &Waker) -> bool {
        false
    }
    /// Called when a client subscribes to events.
    fn begin_event_subscription(&self) {}
    /// Called when a subscription of [`begin_event_subscription`](Backend::begin_event_subscription) ends.
    fn end_event_subscription(&self) {}
    /// Applies due work without a request, and returns the moment of the next due work.
    fn run_background_work(&self) -> Moment {
        Moment::NEVER
    }
}

impl Backend for Engine {
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

    fn begin_event_subscription(&self) {
        Engine::begin_event_subscription(self);
    }

    fn end_event_subscription(&self) {
        Engine::end_event_subscription(self);
    }

    fn run_background_work(&self) -> Moment {
        Controls::run_background_work(self)
    }
}

#[cfg(test)]
mod tests {
    use dynatwin_engine::http::{AnswerHeaders, Delivery, StillDelay};

    use super::*;

    struct Teapot(Clock);

    impl Backend for Teapot {
        fn handle(&self, _: &HttpRequest<'_>) -> Answer {
            Answer {
                status: 418,
                headers: AnswerHeaders::new(),
                body: Vec::new(),
                at: self.0.now(),
                still: StillDelay::default(),
                delivery: Delivery::Whole,
                note: None,
            }
        }

        fn clock(&self) -> &Clock {
            &self.0
        }
    }

    #[test]
    fn a_backend_that_only_answers_has_no_events_and_no_due_work() {
        let teapot = Teapot(Clock::settable(Moment::START));
        let request = HttpRequest {
            method: "GET",
            target: "/",
            headers: &[],
            body: b"",
        };
        assert!(!teapot.may_take_long(&request));
        assert!(!teapot.has_events_after(0, Waker::noop()));
        assert_eq!(teapot.run_background_work(), Moment::NEVER);
        let (answer, durability) = teapot.handle_durably(&request);
        assert_eq!((answer.status, durability.is_none()), (418, true));
    }
}
