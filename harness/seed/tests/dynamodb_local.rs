//! A copy from DynamoDB Local to Dynatwin and back, compared item by item.
//!
//! If DynamoDB Local or Java is missing, the test prints so and passes.
#![allow(clippy::unwrap_used)] // a test may fail

mod common;
mod local;

use common::{caller, engine};
use dynatwin_engine::Conditions;
use dynatwin_seed::{CopyOptions, InProcess, copy};
use local::{DynamoDbLocal, definition, fill, items};

#[test]
fn a_table_comes_back_from_dynatwin_as_it_was() {
    let Some(local) = DynamoDbLocal::start() else {
        eprintln!("DynamoDB Local or Java is missing: nothing was copied");
        return;
    };
    let (from, back) = (local.endpoint("origin"), local.endpoint("returned"));
    fill(&from);
    let (engine, caller) = (engine(&Conditions::CALM), caller());
    let twin = InProcess::new(&engine, &caller);
    let (original, defined) = (items(&from), definition(&from));
    assert_eq!(original.len(), 200);

    assert_eq!(copy(&from, &twin, &CopyOptions::default(), &|_| ()), Ok(200));
    assert_eq!((items(&twin), definition(&twin)), (original.clone(), defined.clone()));
    assert_eq!(copy(&twin, &back, &CopyOptions::default(), &|_| ()), Ok(200));
    assert_eq!((items(&back), definition(&back)), (original, defined));
}
