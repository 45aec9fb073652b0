//! The cases of `tests/cases/*.json` (`docs/cases.md` describes the language), each on an engine of its own. Answers are
//! compared exactly: the cases are written for this seed and clock.
//!
//! After each case, the state is compared with the fold of its commits and with the fold of a checkpoint. A case that leaves
//! the commits and the clock as its file's tables and items do must leave the state so too; it was compared once per file.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use crate::common::commits::{self, Recorder};
use crate::common::settings;
use dynatwin_case::{Case, Comparison, Conditions, Error, File, Reply, Request, Service, run_ready};
use dynatwin_engine::commits::Commit;
use dynatwin_engine::{Caller, Engine, Moment};

/// An engine whose commits are recorded.
struct Twin {
    engine: Engine,
    recorder: Arc<Recorder>,
}

impl Service for Twin {
    type Error = Error;

    async fn send(&mut self, request: Request<'_>) -> Result<Reply, Error> {
        let body = request.body.to_string();
        Ok(self.dispatch(request.region, request.operation, body.as_bytes()))
    }

    fn advance(&mut self, by: Duration) -> Result<(), Error> {
        self.engine.advance(by);
        Ok(())
    }

    fn set_conditions(&mut self, wanted: &Conditions) -> Result<(), Error> {
        let name = wanted.name.as_deref().unwrap_or("calm");
        let named = dynatwin_engine::Conditions::named(name);
        let mut conditions = named.ok_or_else(|| Error::new(format!("there are no conditions {name}")))?;
        if let Some(size) = wanted.item_collection_size {
            conditions.item_collection_size = size;
        }
        if wanted.enforce_capacity {
            conditions.capacity = dynatwin_engine::Conditions::AWS.capacity;
        }
        self.engine.set_conditions(conditions).unwrap();
        Ok(())
    }
}

impl Twin {
    fn dispatch(&self, region: Option<&str>, operation: &str, body: &[u8]) -> Reply {
        let caller = Caller {
            access_key: "test".into(),
            region: region.unwrap_or("us-east-1").into(),
        };
        let answer = self.engine.dispatch(&caller, operation, body);
        Reply::new(answer.status, &answer.body)
    }
}

/// The set-up of a file: its requests, and the commits and state they make.
struct SetUp {
    requests: Vec<(String, String)>,
    commits: Vec<Commit>,
    state: Vec<Commit>,
}

impl SetUp {
    fn of(file: &File) -> SetUp {
        let requests = file.set_up();
        let mut set_up = SetUp {
            requests: requests
                .map(|(_, request)| (request.operation.to_owned(), request.body.to_string()))
                .collect(),
            commits: Vec::new(),
            state: Vec::new(),
        };
        let twin = set_up.twin();
        commits::check(&twin.engine, &twin.recorder, || settings(1)).unwrap();
        set_up.commits = twin.recorder.commits();
        set_up.state = commits::dump(&twin.engine);
        set_up
    }

    /// A new engine with the tables and items.
    fn twin(&self) -> Twin {
        let engine = Engine::new(settings(1));
        let recorder = Recorder::of(&engine);
        let twin = Twin { engine, recorder };
        for (operation, body) in &self.requests {
            let reply = twin.dispatch(None, operation, body.as_bytes());
            assert_eq!(reply.status, 200, "set-up: {operation} {body}: {reply}");
        }
        twin
    }

    /// Compares the state after a case with the fold of its commits and of a checkpoint.
    fn check(&self, twin: &Twin) -> Result<(), String> {
        if twin.engine.clock().now() != Moment::START || twin.recorder.commits() != self.commits {
            return commits::check(&twin.engine, &twin.recorder, || settings(1));
        }
        commits::same("a state without commits", &self.state, &commits::dump(&twin.engine))
    }

    /// Runs a case, and returns what is wrong about its answer.
    fn failure(&self, case: &Case) -> Option<String> {
        let mut twin = self.twin();
        let (reply, expect) = match run_ready(&mut twin, case) {
            Ok(answered) => answered,
            Err(error) => return Some(error.to_string()),
        };
        if let Err(error) = self.check(&twin) {
            return Some(error);
        }
        let holds = expect.holds(Comparison::Exact, &case.operation, &reply);
        (!holds).then(|| format!("expected {expect}\n  answered {} {}", reply.status, reply.body))
    }
}

fn run(name: &str) {
    let file = File::read(&dynatwin_case::folder().join(format!("{name}.json"))).unwrap();
    let set_up = SetUp::of(&file);
    let mut report = String::new();
    let mut failed = 0;
    for case in &file.cases {
        if let Some(failure) = set_up.failure(case) {
            failed += 1;
            let (what, evidence) = (&case.name, &case.evidence);
            writeln!(report, "{name}: {what} ({evidence})\n  {failure}").unwrap();
        }
    }
    assert!(failed == 0, "{failed} of {} cases fail\n{report}", file.cases.len());
}

macro_rules! files {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                run(stringify!($name));
            }
        )*

        #[test]
        fn every_file_is_run() {
            let files = dynatwin_case::files(&dynatwin_case::folder()).unwrap();
            let mut run = vec![$(stringify!($name)),*];
            run.sort_unstable();
            assert_eq!(run, files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>());
        }
    };
}

files! { expressions collections order scan_order framework serialization values updates conditions reads batches transactions capacity throttling legacy tables attached control update_table descriptions streams vectors partiql backups transfers sizes local_sizes pages states rounds histories effects replicas }
