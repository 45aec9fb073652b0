//! A thread that frees large values, such as the items of a deleted table, so that no request waits for it.

use std::sync::mpsc::{self, Receiver, SendError, Sender};
use std::thread;

use dynatwin_engine::Reclaim;

type Garbage = Box<dyn Send>;

/// Sends values to that thread, which ends when this is dropped.
pub(crate) struct Freeing(Sender<Garbage>);

impl Freeing {
    /// Starts the thread. If it cannot be started, values are freed where they are dropped.
    pub(crate) fn start() -> Freeing {
        let (sender, garbage): (Sender<Garbage>, Receiver<Garbage>) = mpsc::channel();
        let free = move || garbage.into_iter().for_each(drop);
        // Without the thread its end of the channel is dropped, and sending fails.
        let _ = thread::Builder::new().name("dynatwin-free".into()).spawn(free);
        Freeing(sender)
    }
}

impl Reclaim for Freeing {
    fn reclaim(&self, garbage: Garbage) {
        if let Err(SendError(garbage)) = self.0.send(garbage) {
            drop(garbage);
        }
    }
}
