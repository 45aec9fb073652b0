//! Wall time of `dispatch(request) -> Answer`, in process: for information only; instruction counts are the gate.

mod workload;

use criterion::{Criterion, criterion_group, criterion_main};
use workload::{OPERATIONS, Workload};

fn operations(criterion: &mut Criterion) {
    for operation in OPERATIONS {
        let workload = Workload::new(operation);
        let mut number = 0;
        criterion.bench_function(operation, |bencher| {
            bencher.iter(|| {
                number += 1;
                workload.run(number)
            });
        });
    }
}

criterion_group!(benches, operations);
criterion_main!(benches);
