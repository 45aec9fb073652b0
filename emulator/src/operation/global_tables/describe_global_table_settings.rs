//! [DescribeGlobalTableSettings](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeGlobalTableSettings.html).
//! There are no tables of the version it is about, so it answers as DescribeGlobalTable does.

pub use super::describe_global_table::Operation;
