//! Random changes of a store's files: the store refuses them, or opens with a prefix of what was written.

use proptest::prelude::*;

use super::{open, record, snapshot};
use crate::sim::SimDisk;

/// A change of one file.
#[derive(Clone, Debug)]
enum Edit {
    Flip(usize, u8),
    Cut(usize),
    Zero(usize, usize),
    Insert(usize, Vec<u8>),
    Repeat(usize, usize),
    Replace(Vec<u8>),
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let within = |at: usize| at % (bytes.len() + 1);
        match self {
            Edit::Flip(at, by) => {
                let at = within(*at);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= by;
                }
            }
            Edit::Cut(at) => {
                let at = within(*at);
                bytes.truncate(at);
            }
            Edit::Zero(from, to) => {
                let (from, to) = (within(*from), within(*to));
                bytes[from.min(to)..from.max(to)].fill(0);
            }
            Edit::Insert(at, more) => {
                let at = within(*at);
                bytes.splice(at..at, more.iter().copied());
            }
            Edit::Repeat(from, to) => {
                let (from, to) = (within(*from), within(*to));
                let part = bytes[from.min(to)..from.max(to)].to_vec();
                bytes.extend_from_slice(&part);
            }
            Edit::Replace(with) => bytes.clone_from(with),
        }
    }
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        (any::<usize>(), 1..=u8::MAX).prop_map(|(at, by)| Edit::Flip(at, by)),
        any::<usize>().prop_map(Edit::Cut),
        (any::<usize>(), any::<usize>()).prop_map(|(from, to)| Edit::Zero(from, to)),
        (any::<usize>(), prop::collection::vec(any::<u8>(), 1..50)).prop_map(|(at, more)| Edit::Insert(at, more)),
        (any::<usize>(), any::<usize>()).prop_map(|(from, to)| Edit::Repeat(from, to)),
        prop::collection::vec(any::<u8>(), 0..200).prop_map(Edit::Replace),
    ]
}

/// A store whose process was killed, and its records.
fn written() -> (SimDisk, Vec<Vec<u8>>) {
    let disk = SimDisk::new();
    let (store, ..) = open(&disk).unwrap();
    let mut records: Vec<_> = (0..3).map(|number| record(number, 30 * number)).collect();
    for record in &records {
        store.append(record).unwrap();
    }
    snapshot(&store, &records).unwrap();
    for number in 3..8 {
        records.push(record(number, number * number * 10));
        store.append(&records[number]).unwrap();
    }
    drop(store);
    (disk.after_kill(), records)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn changed_files_are_refused_or_give_a_beginning(edits in prop::collection::vec((any::<prop::sample::Index>(), edit()), 1..4)) {
        let (disk, records) = written();
        let mut files = disk.files();
        let names: Vec<String> = files.keys().cloned().collect();
        for (index, edit) in edits {
            edit.apply(files.get_mut(index.get(&names)).unwrap());
        }
        if let Ok((store, found, _)) = open(&SimDisk::with(files)) {
            prop_assert!(found.len() >= 3, "the snapshot is whole");
            prop_assert_eq!(&found[..], &records[..found.len()]);
            prop_assert_eq!(store.append(b"more"), Ok(found.len() as u64));
        }
    }
}
