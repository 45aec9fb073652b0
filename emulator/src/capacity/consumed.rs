//! `ConsumedCapacity`: the cost of a request, by table and index.

use smallvec::SmallVec;

use super::units::Units;
use crate::value::Name;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
}

impl Direction {
    /// Both, in the order of [`place`](Direction::place).
    pub const BOTH: [Direction; 2] = [Direction::Read, Direction::Write];

    pub const fn place(self) -> usize {
        self as usize
    }
}

/// The cost of a request on one table.
#[derive(Clone, Debug, PartialEq)]
pub struct Consumed {
    pub table_name: Name,
    pub table: Units,
    /// Global indexes touched, in the order of their first touch.
    pub globals: SmallVec<[(Name, Units); 2]>,
    /// Local indexes touched, in the order of their first touch.
    pub locals: SmallVec<[(Name, Units); 2]>,
    /// Bytes written to vector indexes, in the order of their first touch. They are no units, and not in the total.
    pub vectors: Vec<(Name, u64)>,
    /// The direction of the units, which only transactions report.
    pub direction: Option<Direction>,
}

impl Consumed {
    pub fn new(table_name: Name) -> Consumed {
        Consumed {
            table_name,
            table: Units::ZERO,
            globals: SmallVec::new(),
            locals: SmallVec::new(),
            vectors: Vec::new(),
            direction: None,
        }
    }

    pub fn total(&self) -> Units {
        self.table + self.globals.iter().chain(&self.locals).map(|(_, units)| *units).sum()
    }

    /// Adds to a global index's part.
    pub fn add_global(&mut self, index: Name, units: Units) {
        add(&mut self.globals, index, units);
    }

    /// Adds to a local index's part.
    pub fn add_local(&mut self, index: Name, units: Units) {
        add(&mut self.locals, index, units);
    }

    /// Adds to the bytes written to a vector index.
    pub fn add_vector(&mut self, index: Name, bytes: u64) {
        match self.vectors.iter_mut().find(|(name, _)| *name == index) {
            Some((_, sum)) => *sum += bytes,
            None => self.vectors.push((index, bytes)),
        }
    }

    /// Adds all parts of another request's cost on the same table.
    pub fn merge(&mut self, other: Consumed) {
        self.table += other.table;
        other
            .globals
            .into_iter()
            .for_each(|(index, units)| self.add_global(index, units));
        other
            .locals
            .into_iter()
            .for_each(|(index, units)| self.add_local(index, units));
        other
            .vectors
            .into_iter()
            .for_each(|(index, bytes)| self.add_vector(index, bytes));
        self.direction = self.direction.or(other.direction);
    }
}

fn add(arms: &mut SmallVec<[(Name, Units); 2]>, index: Name, units: Units) {
    match arms.iter_mut().find(|(name, _)| *name == index) {
        Some((_, sum)) => *sum += units,
        None => arms.push((index, units)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::units::Units;

    #[test]
    fn parts_of_one_index_are_added() {
        let mut consumed = Consumed::new("t".into());
        consumed.table += Units::whole(1);
        for units in [2, 3] {
            consumed.add_global("g".into(), Units::whole(units));
            consumed.add_local("l".into(), Units::whole(units * 10));
            consumed.add_vector("v".into(), units * 100);
        }
        assert_eq!(consumed.globals.as_slice(), [("g".into(), Units::whole(5))]);
        assert_eq!(consumed.locals.as_slice(), [("l".into(), Units::whole(50))]);
        assert_eq!(consumed.vectors, [("v".into(), 500)]);
        assert_eq!(consumed.total(), Units::whole(56));
    }

    #[test]
    fn costs_are_merged_by_index() {
        let mut consumed = Consumed::new("t".into());
        consumed.add_global("a".into(), Units::whole(1));
        let mut other = Consumed::new("t".into());
        other.table += Units::whole(4);
        other.direction = Some(Direction::Write);
        other.add_global("b".into(), Units::whole(2));
        other.add_global("a".into(), Units::whole(8));
        other.add_local("l".into(), Units::whole(16));
        other.add_vector("v".into(), 5);
        consumed.merge(other);
        let globals = [("a".into(), Units::whole(9)), ("b".into(), Units::whole(2))];
        assert_eq!(consumed.globals.as_slice(), globals);
        assert_eq!((consumed.locals.len(), consumed.vectors.len()), (1, 1));
        assert_eq!(
            (consumed.total(), consumed.direction),
            (Units::whole(31), Some(Direction::Write))
        );
    }

    #[test]
    fn the_total_includes_indexes() {
        let mut consumed = Consumed::new("Orders".into());
        consumed.table += Units::whole(1);
        consumed.add_global("by-date".into(), Units::whole(2));
        assert_eq!(consumed.total(), Units::whole(3));
    }
}
