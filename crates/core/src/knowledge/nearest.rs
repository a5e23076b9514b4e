//! Approximate nearest neighbours for large knowledge bases: HNSW over the cosine (R009-3).

use std::fmt;

use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use crate::similarity::Rows;

/// Links of a node, and how many nodes are looked at to link or to find one (R009-3).
const LINKS: usize = 16;
const LOOKED_AT_TO_ADD: usize = 200;
const LOOKED_AT_TO_FIND: usize = 100;

/// An index over the rows of a knowledge base, by position.
pub struct Nearest {
    index: Index,
    capacity: usize,
}

impl fmt::Debug for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nearest").field("size", &self.index.size()).finish_non_exhaustive()
    }
}

impl Nearest {
    /// An index of the rows at `positions`. `None` when memory does not suffice; the rows can still be searched one by one.
    ///
    /// Cost: about 0.2 ms a row.
    pub fn of(rows: &Rows, positions: impl Iterator<Item = usize>) -> Option<Self> {
        let options = IndexOptions {
            dimensions: rows.dim(),
            metric: MetricKind::Cos,
            quantization: ScalarKind::F32,
            connectivity: LINKS,
            expansion_add: LOOKED_AT_TO_ADD,
            expansion_search: LOOKED_AT_TO_FIND,
            multi: false,
        };
        let mut nearest = Self { index: Index::new(&options).ok()?, capacity: 0 };
        nearest.reserve(rows.len())?;
        for at in positions {
            nearest.add(at, rows.row(at))?;
        }
        Some(nearest)
    }

    /// Adds a row. `None` when memory does not suffice: the index is of no use then.
    pub fn add(&mut self, at: usize, row: &[f32]) -> Option<()> {
        if self.index.size() == self.capacity {
            self.reserve(2 * self.capacity.max(LINKS))?;
        }
        self.index.add(at as u64, row).ok()
    }

    /// Takes a row out.
    pub fn remove(&mut self, at: usize) -> Option<()> {
        self.index.remove(at as u64).ok().map(drop)
    }

    /// Positions of about the `count` rows nearest to `query`.
    pub fn find(&self, query: &[f32], count: usize) -> Option<Vec<usize>> {
        let found = self.index.search(query, count).ok()?;
        Some(found.keys.into_iter().map(|at| at as usize).collect())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.index.memory_usage()
    }

    fn reserve(&mut self, capacity: usize) -> Option<()> {
        self.index.reserve(capacity).ok()?;
        self.capacity = capacity;
        Some(())
    }
}
