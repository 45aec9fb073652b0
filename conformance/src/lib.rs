//! Conformance: scenarios that are written once and run against any DynamoDB, and cases that are data, with one report.
//!
//! A [`Case`](dynatwin_case::Case) is one request with AWS's answer, as data; a [known difference](difference) is an
//! answer of another DynamoDB that is known to differ from AWS's.
//!
//! A [`Target`](target::Target) is a DynamoDB: the twin in this process, its server, DynamoDB Local, or any endpoint. A
//! [`Scenario`](scenario::Scenario) is a small use of DynamoDB as in applications, written against
//! `&aws_sdk_dynamodb::Client`. The [`Report`](report::Report) is the matrix of both.

pub mod check;
pub mod context;
pub mod difference;
pub mod fuzz;
pub mod http;
pub mod lane;
pub mod raw_client;
pub mod report;
pub mod run;
pub mod scenario;
pub mod target;
