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

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends the name of the thread that drops it.
    struct Dropped(Sender<Option<String>>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            let _ = self.0.send(thread::current().name().map(str::to_owned));
        }
    }

    #[test]
    fn values_are_freed_by_the_thread_or_at_once_without_it() {
        let (sender, dropped) = mpsc::channel();
        let freeing = Freeing::start();
        for _ in 0..2 {
            freeing.reclaim(Box::new(Dropped(sender.clone())));
            assert_eq!(dropped.recv(), Ok(Some("dynatwin-free".into())));
        }
        let without_thread = Freeing(mpsc::channel().0);
        without_thread.reclaim(Box::new(Dropped(sender)));
        assert_eq!(dropped.try_recv(), Ok(thread::current().name().map(str::to_owned)));
    }
}
