//! Time to live, sleeping on the twin's clock, and conditions.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::task::{Context, Wake};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client;
use dynatwin::{Clock, Conditions, Lag, Moment, StateSnapshot, TimeToLive, Twin, TwinClock};
use dynatwin_engine::commits::{AppendError, CommitSink, EncodedCommit};

use crate::{TABLE, create_table, n, s};

const WEEK: Duration = Duration::from_hours(7 * 24);

/// Puts a session that expires in a week.
async fn put_session(twin: &Twin, client: &Client) {
    let ends = twin.clock().now().plus(WEEK);
    client
        .put_item()
        .table_name(TABLE)
        .item("PK", s("USER#masa"))
        .item("SK", s("SESSION#1"))
        .item("expiresAt", n(ends.seconds()))
        .send()
        .await
        .unwrap();
}

#[tokio::test]
async fn an_expired_session_is_deleted() {
    let twin = Twin::seeded(7);
    let client = twin.client();
    create_table(&client).await;
    put_session(&twin, &client).await;

    twin.clock().advance(WEEK.saturating_sub(Duration::from_secs(1)));
    assert_eq!(twin.items(TABLE).unwrap().len(), 1);
    twin.clock().advance(Duration::from_secs(2));
    assert_eq!(twin.items(TABLE).unwrap().len(), 0);
}

#[tokio::test]
async fn work_is_done_when_the_clock_is_advanced() {
    let twin = Twin::seeded(7);
    let client = twin.client();
    create_table(&client).await;
    put_session(&twin, &client).await;
    assert_eq!(twin.engine().next_due(), Moment::START.plus(WEEK));
    twin.clock().advance(WEEK + Duration::from_secs(1));
    assert!(twin.engine().next_due() > twin.clock().now());
}

#[test]
fn the_system_time_is_exact() {
    let twin = Twin::seeded(7);
    twin.clock().advance(Duration::from_micros(1_234_567));
    let since = twin
        .clock()
        .system_time()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    assert_eq!(since.as_micros() as i64, Moment::START.micros() + 1_234_567);
}

#[tokio::test]
async fn a_table_can_delete_late() {
    let twin = Twin::seeded(7);
    let client = twin.client();
    create_table(&client).await;
    let late = Conditions {
        time_to_live: TimeToLive::Deletes(Lag::Fixed(Duration::from_hours(48))),
        ..Conditions::CALM
    };
    twin.set_table_conditions(TABLE, late).unwrap();
    put_session(&twin, &client).await;

    twin.clock().advance(WEEK + Duration::from_hours(47));
    let read = client.get_item().table_name(TABLE);
    let read = read.key("PK", s("USER#masa")).key("SK", s("SESSION#1")).send().await;
    assert!(read.unwrap().item.is_some(), "expired, and still there");
    twin.clock().advance(Duration::from_hours(2));
    assert_eq!(twin.items(TABLE).unwrap().len(), 0);
}

#[tokio::test]
async fn sleepers_wake_in_the_order_of_their_times() {
    let twin = Twin::seeded(7);
    let clock = twin.clock();
    let start = Instant::now();
    let woken = std::sync::Mutex::new(Vec::new());
    let sleep = |hours: u64| {
        let (clock, woken) = (clock.clone(), &woken);
        async move {
            clock.sleep(Duration::from_hours(hours)).await;
            woken.lock().unwrap().push((hours, clock.now()));
        }
    };
    tokio::join!(sleep(3), sleep(1), sleep(2), sleep(1));
    let at = |hours: u64| (hours, Moment::START.plus(Duration::from_hours(hours)));
    assert_eq!(*woken.lock().unwrap(), [at(1), at(1), at(2), at(3)]);
    assert!(start.elapsed() < Duration::from_secs(1));
}

/// A sleeper that was the next one, and then was not, gives the others their turn again.
#[tokio::test]
async fn a_sleep_that_begins_when_another_ends_is_not_passed_over() {
    let twin = Twin::seeded(7);
    let clock = twin.clock();
    let (send, receive) = tokio::sync::oneshot::channel();
    let long = tokio::spawn(clock.sleep(Duration::from_secs(10)));
    let short = clock.sleep(Duration::from_secs(5));
    let sender = tokio::spawn(async move {
        short.await;
        send.send(()).unwrap();
    });
    let later = twin.clock().clone();
    let last = tokio::spawn(async move {
        receive.await.unwrap();
        later.sleep(Duration::from_secs(2)).await;
        later.now()
    });
    let (_, _, ended) = tokio::join!(long, sender, last);
    assert_eq!(ended.unwrap(), Moment::START.plus(Duration::from_secs(7)));
}

#[tokio::test]
async fn a_cancelled_sleeper_does_not_block_others() {
    let clock = Twin::seeded(7).clock();
    tokio::select! {
        biased;
        () = clock.sleep(Duration::from_secs(2)) => panic!("the shorter sleep ends first"),
        () = clock.sleep(Duration::from_secs(1)) => {}
    }
    clock.sleep(Duration::from_secs(5)).await;
    assert_eq!(clock.now(), Moment::START.plus(Duration::from_secs(6)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_sleepers_on_many_threads_all_wake() {
    let clock = Twin::seeded(7).clock();
    let sleepers: Vec<_> = (0..200u64)
        .map(|at| {
            let clock = clock.clone();
            tokio::spawn(async move {
                for step in 0..10 {
                    clock.sleep(Duration::from_millis(at * 7 % 50 + step)).await;
                }
            })
        })
        .collect();
    for sleeper in sleepers {
        tokio::time::timeout(Duration::from_secs(10), sleeper)
            .await
            .unwrap()
            .unwrap();
    }
}

#[tokio::test]
async fn sleepers_wait_for_the_test_if_sleeps_do_not_advance_the_clock() {
    let twin = Twin::builder()
        .clock(Clock::settable(Moment::START))
        .sleep_moves_clock(false)
        .build();
    let clock = twin.clock();
    let sleeper = tokio::spawn({
        let clock = clock.clone();
        async move { clock.sleep(Duration::from_mins(1)).await }
    });
    tokio::task::yield_now().await;
    assert!(!sleeper.is_finished());
    assert_eq!(clock.now(), Moment::START);
    clock.advance(Duration::from_mins(1));
    sleeper.await.unwrap();
    assert_eq!(clock.now(), Moment::START.plus(Duration::from_mins(1)));
}

#[tokio::test]
async fn an_accelerated_clock_sleeps_faster() {
    let clock = Clock::accelerated(real_now, Moment::START, 3600.0);
    let twin = Twin::builder().clock(clock).build();
    let start = Instant::now();
    twin.clock().sleep(Duration::from_mins(1)).await;
    assert!(start.elapsed() >= Duration::from_millis(16), "{:?}", start.elapsed());
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

fn real_now() -> Moment {
    dynatwin::system_clock().now()
}

#[tokio::test]
async fn an_unpolled_sleeper_does_not_block_others_for_long() {
    let clock = Twin::seeded(7).clock();
    let mut forgotten = Box::pin(clock.sleep(Duration::from_secs(1)));
    tokio::select! {
        biased;
        () = &mut forgotten => panic!("it is not its turn"),
        () = std::future::ready(()) => {}
    }
    let longer = tokio::time::timeout(Duration::from_secs(10), clock.sleep(Duration::from_secs(2)));
    longer.await.unwrap();
    assert_eq!(clock.now(), Moment::START.plus(Duration::from_secs(2)));
    forgotten.await;
    assert_eq!(clock.now(), Moment::START.plus(Duration::from_secs(2)));
}

/// Before a sleeper passes an earlier one that is not polled, it waits for 100 ms of real time and wakes it three times.
#[tokio::test(start_paused = true)]
async fn an_unpolled_sleeper_is_called_before_it_is_passed() {
    let clock = Twin::seeded(7).clock();
    let second = Duration::from_secs(1);
    let own = Arc::new(Woken::default());
    let waker = Arc::clone(&own).into();
    let mut context = Context::from_waker(&waker);
    let mut last = std::pin::pin!(clock.sleep(3 * second));
    let mut forgotten = Vec::new();
    for at in [1, 2] {
        let woken = Arc::new(Woken::default());
        let mut sleep = Box::pin(clock.sleep(at * second));
        let waker = Arc::clone(&woken).into();
        assert!(sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        forgotten.push((at, woken, sleep));
    }
    for (at, woken, _) in &forgotten {
        let before = woken.0.load(Ordering::SeqCst);
        assert!(last.as_mut().poll(&mut context).is_pending());
        tokio::time::advance(Duration::from_millis(99)).await;
        assert!(last.as_mut().poll(&mut context).is_pending());
        assert_eq!(
            woken.0.load(Ordering::SeqCst),
            before,
            "sleeper {at} may still be polled"
        );
        tokio::time::advance(Duration::from_millis(2)).await;
        for call in 1..=3 {
            let polls = own.0.load(Ordering::SeqCst);
            assert!(last.as_mut().poll(&mut context).is_pending());
            assert_eq!(woken.0.load(Ordering::SeqCst), before + call, "sleeper {at}");
            assert!(own.0.load(Ordering::SeqCst) > polls, "the last sleeper calls again");
            assert_eq!(clock.now(), Moment::START.plus((at - 1) * second));
        }
        assert!(last.as_mut().poll(&mut context).is_pending());
        assert_eq!(clock.now(), Moment::START.plus(*at * second));
    }
    assert!(last.as_mut().poll(&mut context).is_ready());
    assert_eq!(clock.now(), Moment::START.plus(3 * second));
}

/// A sleep can move to another task: the task that polled it last is woken.
#[test]
fn a_sleeper_wakes_the_task_that_polled_it_last() {
    let clock = Clock::settable(Moment::START);
    let clock = Twin::builder().clock(clock).sleep_moves_clock(false).build().clock();
    let mut sleep = std::pin::pin!(clock.sleep(Duration::from_mins(1)));
    let tasks = [(); 3].map(|()| Arc::new(Woken::default()));
    for task in &tasks {
        let waker = Arc::clone(task).into();
        assert!(sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    clock.advance(Duration::from_mins(1));
    assert_eq!(tasks.map(|task| task.0.load(Ordering::SeqCst)), [0, 0, 1]);
}

#[tokio::test]
async fn sleepers_wake_in_time_on_a_busy_machine() {
    let clock = Twin::seeded(7).clock();
    let mut workers = tokio::task::JoinSet::new();
    for worker in 1..=12 {
        let clock = clock.clone();
        workers.spawn(async move {
            let pause = Duration::from_millis(worker * worker);
            while clock.now() < Moment::START.plus(Duration::from_millis(300)) {
                // Simulates work, which in all takes longer than the wait for a sleeper that is not polled.
                std::thread::sleep(Duration::from_millis(1));
                let end = clock.now().plus(pause);
                clock.sleep(pause).await;
                assert_eq!(clock.now(), end, "worker {worker}");
            }
        });
    }
    workers.join_all().await;
}

#[tokio::test]
async fn advancing_the_systems_clock_wakes_its_sleepers() {
    let clock = Twin::new().clock();
    let sleeper = tokio::spawn({
        let clock = clock.clone();
        async move { clock.sleep(Duration::from_hours(1)).await }
    });
    tokio::task::yield_now().await;
    assert!(!sleeper.is_finished());
    for _ in 0..4 {
        clock.advance(Duration::from_mins(15));
        tokio::task::yield_now().await;
    }
    tokio::time::timeout(Duration::from_secs(10), sleeper)
        .await
        .unwrap()
        .unwrap();
}

/// Counts how often it was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A sleeper on a running clock is polled after each step, to wait for the rest alone.
#[tokio::test]
async fn advancing_the_systems_clock_shortens_sleeps() {
    type Step = fn(&TwinClock, Duration);
    let steps: [(&str, Step); 2] = [
        ("advance", |clock, by| clock.advance(by)),
        ("set", |clock, by| assert!(clock.set(clock.now().plus(by)))),
    ];
    for (name, step_by) in steps {
        let clock = Twin::new().clock();
        let woken = Arc::new(Woken::default());
        let waker = Arc::clone(&woken).into();
        let mut sleep = std::pin::pin!(clock.sleep(Duration::from_hours(1)));
        for step in 0..3 {
            assert!(
                sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending(),
                "{name}, {step}"
            );
            assert_eq!(woken.0.load(Ordering::SeqCst), step, "{name}");
            step_by(&clock, Duration::from_mins(15));
        }
        assert_eq!(woken.0.load(Ordering::SeqCst), 3, "{name}");
    }
}

/// A sleeper on a running clock that is set to shortly before its end sleeps for the rest of its time.
#[tokio::test(start_paused = true)]
async fn setting_a_running_clock_shortens_sleeps() {
    static REAL: AtomicI64 = AtomicI64::new(Moment::START.micros());
    let second = Duration::from_secs(1);
    let real = || Moment::from_micros(REAL.load(Ordering::SeqCst));
    for (kind, clock) in [
        ("running", Clock::system(real)),
        ("faster", Clock::accelerated(real, Moment::START, 2.0)),
    ] {
        let clock = Twin::builder().clock(clock).build().clock();
        let sleeper = tokio::spawn(clock.sleep(60 * second));
        tokio::task::yield_now().await;
        assert!(clock.set(clock.now().plus(58 * second)), "{kind}");
        tokio::task::yield_now().await;
        assert!(!sleeper.is_finished(), "{kind}");
        REAL.fetch_add((2 * second).as_micros() as i64, Ordering::SeqCst);
        tokio::time::advance(2 * second).await;
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert!(sleeper.is_finished(), "{kind}");
    }
}

#[tokio::test]
async fn sleeping_does_not_advance_a_frozen_clock() {
    for twin in [Twin::seeded(7), Twin::new()] {
        let clock = twin.clock();
        clock.freeze();
        let stood = clock.now();
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move {
                clock.sleep(Duration::from_millis(20)).await;
                clock.now()
            }
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!sleeper.is_finished());
        assert_eq!(clock.now(), stood);
        if clock.is_settable() {
            clock.advance(Duration::from_millis(20));
        } else {
            clock.unfreeze();
        }
        let woken = tokio::time::timeout(Duration::from_secs(10), sleeper).await;
        assert!(woken.unwrap().unwrap() >= stood.plus(Duration::from_millis(20)));
        clock.unfreeze();
        clock.sleep(Duration::from_millis(5)).await;
    }
}

/// Whether the clock runs or stands still, freezing it applies what has fallen due until then.
#[tokio::test]
async fn freezing_applies_what_is_due() {
    static REAL: AtomicI64 = AtomicI64::new(Moment::START.micros());
    let hour = Duration::from_hours(1);
    let clock = Clock::system(|| Moment::from_micros(REAL.load(Ordering::SeqCst)));
    let twin = Twin::builder().clock(clock).build();
    let client = twin.client();
    create_table(&client).await;
    put_session(&twin, &client).await;
    REAL.fetch_add((WEEK + hour).as_micros() as i64, Ordering::SeqCst);
    assert!(twin.engine().next_due() <= twin.clock().now());
    twin.clock().freeze();
    assert!(twin.engine().next_due() > twin.clock().now());
}

/// A sleeper that is asleep while the clock is frozen sleeps for the rest of its time after that.
#[tokio::test(start_paused = true)]
async fn a_sleeper_does_not_wake_while_the_clock_is_frozen() {
    static REAL: AtomicI64 = AtomicI64::new(Moment::START.micros());
    async fn pass(seconds: u64) {
        let time = Duration::from_secs(seconds);
        REAL.fetch_add(time.as_micros() as i64, Ordering::SeqCst);
        tokio::time::advance(time).await;
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }
    let real = || Moment::from_micros(REAL.load(Ordering::SeqCst));
    for kind in ["running", "faster", "settable"] {
        let clock = match kind {
            "running" => Clock::system(real),
            "faster" => Clock::accelerated(real, Moment::START, 2.0),
            _ => Clock::settable(Moment::START),
        };
        let clock = Twin::builder().clock(clock).build().clock();
        let sleeper = tokio::spawn(clock.sleep(Duration::from_mins(1)));
        if kind != "settable" {
            pass(10).await;
        }
        clock.freeze();
        pass(100).await;
        assert!(!sleeper.is_finished(), "{kind}");
        clock.unfreeze();
        if kind != "settable" {
            pass(19).await;
            assert!(!sleeper.is_finished(), "{kind}");
            pass(31).await;
        }
        tokio::time::timeout(Duration::from_secs(1), sleeper)
            .await
            .unwrap()
            .unwrap();
    }
}

/// A frozen clock runs again after a reset or a restore, and so do those who sleep by it.
#[tokio::test(start_paused = true)]
async fn sleepers_of_a_frozen_clock_continue_once_it_is_restarted() {
    static REAL: AtomicI64 = AtomicI64::new(Moment::START.micros());
    let real = || Moment::from_micros(REAL.load(Ordering::SeqCst));
    type Restart = fn(&Twin, &StateSnapshot);
    let restarts: [(&str, Restart); 2] = [
        ("reset", |twin, _| twin.reset_all().unwrap()),
        ("restore", |twin, snapshot| twin.restore(snapshot).unwrap()),
    ];
    for kind in ["running", "faster", "settable"] {
        for (name, restart) in restarts {
            let clock = match kind {
                "running" => Clock::system(real),
                "faster" => Clock::accelerated(real, real(), 2.0),
                _ => Clock::settable(Moment::START),
            };
            let twin = Twin::builder().clock(clock).build();
            let snapshot = twin.snapshot();
            twin.clock().freeze();
            let sleepers = [1, 60].map(|seconds| tokio::spawn(twin.clock().sleep(Duration::from_secs(seconds))));
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            restart(&twin, &snapshot);
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            if kind != "settable" {
                assert!(sleepers.iter().all(|sleeper| !sleeper.is_finished()), "{kind}, {name}");
                let minute = Duration::from_mins(1);
                REAL.fetch_add(minute.as_micros() as i64, Ordering::SeqCst);
                tokio::time::advance(minute).await;
            }
            for sleeper in sleepers {
                let ended = tokio::time::timeout(Duration::from_secs(1), sleeper).await;
                assert!(ended.is_ok(), "{kind}, {name}");
            }
        }
    }
}

/// A sink that has no space left.
struct Full;

impl CommitSink for Full {
    fn append(&self, _: &EncodedCommit) -> Result<(), AppendError> {
        Err(AppendError::new("disk full"))
    }
}

#[tokio::test]
async fn a_change_that_cannot_be_stored_is_an_error() {
    let twin = Twin::seeded(1);
    create_table(&twin.client()).await;
    let before = twin.conditions();
    twin.engine().attach_sink(Arc::new(Full), 0);
    for result in [
        twin.set_conditions(Conditions::STORM),
        twin.set_table_conditions(TABLE, Conditions::STORM),
        twin.reset(),
        twin.reset_all(),
    ] {
        let failure = result.unwrap_err();
        assert_eq!(failure.to_string(), "The change was not stored: disk full.");
    }
    assert_eq!((twin.conditions(), twin.tables()), (before, vec![TABLE.to_owned()]));
}

#[tokio::test]
async fn a_fork_has_the_settings_of_its_twin() {
    let second = Duration::from_secs(1);
    for (watched, moves) in [(true, true), (true, false), (false, true), (false, false)] {
        let builder = Twin::builder().seed(7).clock(Clock::settable(Moment::START));
        let twin = builder.watch(watched).sleep_moves_clock(moves).build();
        let fork = twin.fork();
        assert_eq!((fork.seed(), fork.is_watched()), (7, watched));
        let sleeper = tokio::spawn(fork.clock().sleep(second));
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert_eq!(sleeper.is_finished(), moves);
        if !moves {
            fork.clock().advance(second);
        }
        sleeper.await.unwrap();
        assert_eq!(fork.clock().now(), Moment::START.plus(second));
        assert_eq!(twin.clock().now(), Moment::START);
    }
}

/// The clock of a fork runs if that of its twin does, at the system's time and speed.
#[tokio::test]
async fn the_fork_of_a_running_twin_has_the_systems_clock() {
    let hour = Duration::from_hours(1);
    let faster = Clock::accelerated(real_now, Moment::START, 3600.0);
    for (kind, twin) in [
        ("system", Twin::new()),
        ("faster", Twin::builder().clock(faster).build()),
    ] {
        let fork = twin.fork();
        for fork in [&fork, &fork.fork()] {
            let clock = fork.clock();
            assert!(!clock.is_settable() && !clock.is_frozen(), "{kind}");
            let (before, now, after) = (real_now(), clock.now(), real_now());
            assert!(before <= now && now <= after, "{kind}: {before}, {now}, {after}");
            let mut sleep = std::pin::pin!(clock.sleep(hour));
            for _ in 0..3 {
                let mut context = Context::from_waker(std::task::Waker::noop());
                assert!(sleep.as_mut().poll(&mut context).is_pending(), "{kind}");
            }
            assert!(
                clock.now() < now.plus(hour),
                "{kind}: sleeping moves a settable clock only"
            );
        }
    }
    assert!(Twin::seeded(7).fork().clock().is_settable());
}

/// The clock of a fork starts at its twin's moment, to which resetting the fork returns.
#[tokio::test]
async fn a_fork_is_reset_to_the_moment_of_its_twin() {
    let twin = Twin::seeded(7);
    let mut last = twin.clone();
    for weeks in 1..=2 {
        last.clock().advance(WEEK);
        create_table(&last.client()).await;
        let fork = last.fork();
        let begin = Moment::START.plus(WEEK * weeks);
        assert_eq!((fork.clock().now(), fork.tables().len()), (begin, 1));
        fork.set_conditions(Conditions::STORM).unwrap();
        fork.clock().advance(Duration::from_hours(1));
        fork.reset_all().unwrap();
        assert_eq!(
            (fork.clock().now(), fork.conditions(), fork.tables().len()),
            (begin, Conditions::CALM, 0)
        );
        assert_eq!((last.clock().now(), last.tables().len()), (begin, 1));
        last = fork;
    }
    assert_eq!(twin.clock().now(), Moment::START.plus(WEEK));
}
