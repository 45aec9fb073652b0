//! Conformance: scenarios that are written once and run against any DynamoDB, and cases that are data, with one report.
//!
//! A [`Case`](dynatwin_case::Case) is one request with what AWS answers to it, as data; a [known difference](difference) is a case
//! that another DynamoDB is known to answer otherwise.
//!
//! A [`Target`](target::Target) is a DynamoDB: the twin in this process, its server, DynamoDB Local, or whatever answers
//! at a URL. A [`Scenario`](scenario::Scenario) is a small use of DynamoDB as applications make it, written against
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
