//! The vectors of a log: as floats, or as int8 codes alone. Beside the floats of a long log stand codes too: they tell
//! which few rows may be the nearest, and the floats of those decide, so that the answer is the floats' to the last bit.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::config::VectorForm;
use crate::similarity::codes::{Codes, Query};
use crate::similarity::{self, Rows};

/// Rows from which on floats have codes beside them: as many floats as the caches next to the core hold are read as fast,
/// and short logs need no quarter more memory.
const SCREENED: usize = 64;

/// Rows of unit vectors, one a turn, zeros where a turn has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Vectors {
    /// Floats.
    F32 {
        /// The rows.
        rows: Rows,
        /// The same as codes, in a long log; made anew after a load.
        #[serde(skip)]
        screen: Option<Box<Codes>>,
    },
    /// Codes alone.
    I8(Box<Codes>),
}

/// What a search needs, used again from search to search.
#[derive(Debug, Default)]
pub struct Search {
    query: Query,
    /// No less than the similarity, by position; where [`Vectors::bound`] put it.
    bounds: Vec<f32>,
}

impl Search {
    fn top(&self, runs: impl Iterator<Item = Range<usize>>) -> f32 {
        runs.map(|run| similarity::largest(&self.bounds[run])).fold(f32::NEG_INFINITY, f32::max)
    }
}

impl Vectors {
    /// No vectors of `dim` elements.
    pub fn new(form: VectorForm, dim: usize) -> Self {
        match form {
            VectorForm::F32 => Self::F32 { rows: Rows::new(dim), screen: None },
            VectorForm::I8 => Self::I8(Box::new(Codes::new(dim))),
        }
    }

    /// Elements of a vector.
    pub fn dim(&self) -> usize {
        match self {
            Self::F32 { rows, .. } => rows.dim(),
            Self::I8(codes) => codes.dim(),
        }
    }

    /// Number of vectors.
    pub fn len(&self) -> usize {
        match self {
            Self::F32 { rows, .. } => rows.len(),
            Self::I8(codes) => codes.len(),
        }
    }

    /// True when there are so many, each of numbers that a unit vector has: of vectors that were stored, by whomever.
    pub fn is_sound(&self, turns: usize, dim: usize) -> bool {
        const MOST: f32 = 1.01;
        let bounded = match self {
            Self::F32 { rows, .. } => rows.as_slice().iter().all(|x| x.abs() <= MOST),
            Self::I8(codes) => codes.is_sound(MOST),
        };
        bounded && self.len() == turns && self.dim() == dim
    }

    /// True without vectors.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a vector.
    pub fn push(&mut self, vector: &[f32]) {
        match self {
            Self::F32 { rows, screen } => {
                rows.push(vector);
                match screen {
                    Some(codes) => codes.push(vector),
                    None if rows.len() > SCREENED => *screen = Some(Box::new(Codes::of(rows))),
                    None => {}
                }
            }
            Self::I8(codes) => codes.push(vector),
        }
    }

    /// Removes `count` vectors from position `at` on.
    pub fn remove(&mut self, at: usize, count: usize) {
        match self {
            Self::F32 { rows, screen } => {
                rows.remove(at, count);
                if let Some(codes) = screen {
                    codes.remove(at, count);
                }
            }
            Self::I8(codes) => codes.remove(at, count),
        }
    }

    /// Gives back room beyond what vectors that grow have.
    pub fn trim(&mut self) {
        match self {
            Self::F32 { rows, screen } => {
                rows.trim();
                if let Some(codes) = screen {
                    codes.trim();
                }
            }
            Self::I8(codes) => codes.trim(),
        }
    }

    /// The same vectors in the form that was asked for; floats cannot be had back.
    pub fn in_form(self, form: VectorForm) -> Self {
        match (self, form) {
            (Self::F32 { rows, .. }, VectorForm::I8) => Self::I8(Box::new(Codes::of(&rows))),
            (vectors, _) => vectors,
        }
    }

    /// Adds a vector to `sum`, `weight` times.
    pub fn add_to(&self, sum: &mut [f32], at: usize, weight: f32) {
        match self {
            Self::F32 { rows, .. } => sum.iter_mut().zip(rows.row(at)).for_each(|(sum, x)| *sum += weight * x),
            Self::I8(codes) => sum.iter_mut().zip(codes.row(at)).for_each(|(sum, x)| *sum += weight * x),
        }
    }

    /// Similarity of a unit vector to each vector, in order.
    pub fn similarities(&self, unit: &[f32], search: &mut Search, out: &mut [f32]) {
        match self {
            Self::F32 { rows, .. } => similarity::dots(unit, rows.as_slice(), out),
            Self::I8(codes) => {
                search.query.read(unit);
                codes.dots(&search.query, 0, out);
            }
        }
    }

    /// Begins a search among the vectors of `runs`, ranges of positions.
    pub fn bound(&self, unit: &[f32], runs: impl Iterator<Item = Range<usize>>, search: &mut Search) {
        let Search { query, bounds } = search;
        bounds.resize(self.len(), 0.0);
        match self {
            Self::F32 { rows, screen: None } => {
                for run in runs {
                    let part = &rows.as_slice()[run.start * rows.dim()..run.end * rows.dim()];
                    similarity::dots(unit, part, &mut bounds[run]);
                }
            }
            Self::F32 { screen: Some(codes), .. } => {
                query.read(unit);
                runs.for_each(|run| codes.bounds(query, run.start, &mut bounds[run]));
            }
            Self::I8(codes) => {
                query.read(unit);
                runs.for_each(|run| codes.dots(query, run.start, &mut bounds[run]));
            }
        }
    }

    /// The largest similarity of the vector that `search` was begun with to vectors of `runs`; negative infinity for none.
    pub fn largest(&self, unit: &[f32], runs: impl Iterator<Item = Range<usize>> + Clone, search: &Search) -> f32 {
        let Self::F32 { screen: Some(_), .. } = self else { return search.top(runs) };
        let mut best = f32::NEG_INFINITY;
        self.nearest(unit, runs, search, |_, similarity| {
            best = best.max(similarity);
            best
        });
        best
    }

    /// Calls `visit` with position and similarity of the vectors of `runs` that are the most similar to the one `search` was
    /// begun with, and of few others. It returns the similarity below which none is of use any more.
    pub fn nearest(
        &self,
        unit: &[f32],
        runs: impl Iterator<Item = Range<usize>> + Clone,
        search: &Search,
        mut visit: impl FnMut(usize, f32) -> f32,
    ) {
        let mut look = |at: usize| {
            let similarity = match self {
                Self::F32 { rows, screen: Some(_) } => similarity::dot(unit, rows.row(at)),
                _ => search.bounds[at],
            };
            visit(at, similarity)
        };
        // What is likely the nearest comes first: then few others may be nearer.
        let top = search.top(runs.clone());
        let mut floor = f32::NEG_INFINITY;
        for run in runs.clone() {
            similarity::at_least(&search.bounds[run.clone()], top, |at| {
                floor = look(run.start + at);
                top
            });
        }
        for run in runs {
            similarity::at_least(&search.bounds[run.clone()], floor, |at| {
                let at = run.start + at;
                if search.bounds[at] < top {
                    floor = look(at);
                }
                floor
            });
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        match self {
            Self::F32 { rows, screen } => rows.bytes() + screen.as_ref().map_or(0, |codes| codes.bytes()),
            Self::I8(codes) => codes.bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::float_cmp, reason = "the screen must not change a bit")]

    use proptest::prelude::*;

    use super::*;
    use crate::similarity::{dot, normalise};

    /// Unit vectors, many near each other, some of them equal.
    fn vectors(dim: usize) -> impl Strategy<Value = Vec<Vec<f32>>> {
        let noise = prop::collection::vec(-1.0f32..1.0, dim);
        let spread = prop::sample::select(vec![0.0f32, 1e-4, 0.1, 3.0]);
        prop::collection::vec((noise, spread), 1..200).prop_map(|rows| {
            let unit = |(noise, spread): (Vec<f32>, f32)| {
                let mut row: Vec<f32> = noise.iter().map(|x| 1.0 + spread * x).collect();
                normalise(&mut row).unwrap();
                row
            };
            rows.into_iter().map(unit).collect()
        })
    }

    fn filled(form: VectorForm, rows: &[Vec<f32>]) -> Vectors {
        let mut vectors = Vectors::new(form, rows[0].len());
        for row in rows {
            vectors.push(row);
        }
        vectors
    }

    proptest! {
        #[test]
        fn a_screened_search_finds_what_a_look_at_every_float_finds(
            rows in (1..80usize).prop_flat_map(vectors),
            cut in any::<prop::sample::Index>(),
            removed in any::<prop::sample::Index>(),
        ) {
            let mut rows = rows;
            let unit = rows.pop().unwrap();
            prop_assume!(!rows.is_empty());
            let mut vectors = filled(VectorForm::F32, &rows);
            let gone = removed.index(rows.len());
            vectors.remove(gone, 1);
            rows.remove(gone);
            let cut = cut.index(rows.len() + 1);
            // Two runs, and a vector between them that is in neither.
            let runs = [0..cut, (cut + 1).min(rows.len())..rows.len()];
            let mut search = Search::default();
            vectors.bound(&unit, runs.iter().cloned(), &mut search);
            let similarity = |at: usize| dot(&unit, &rows[at]);
            let expected = runs.iter().cloned().flatten().map(similarity).fold(f32::NEG_INFINITY, f32::max);
            prop_assert_eq!(vectors.largest(&unit, runs.iter().cloned(), &search), expected);
            let mut nearest = Vec::new();
            vectors.nearest(&unit, runs.iter().cloned(), &search, |at, found| {
                assert_eq!(found, similarity(at));
                if found == expected { nearest.push(at); }
                expected
            });
            nearest.sort_unstable();
            nearest.dedup();
            let all: Vec<usize> = runs.iter().cloned().flatten().filter(|at| similarity(*at) == expected).collect();
            prop_assert_eq!(nearest, all);
        }

        #[test]
        fn codes_alone_are_within_the_stated_error(rows in (2..80usize).prop_flat_map(vectors)) {
            let (floats, codes) = (filled(VectorForm::F32, &rows), filled(VectorForm::I8, &rows));
            let mut search = Search::default();
            let (mut exact, mut coded) = (vec![0.0; rows.len()], vec![0.0; rows.len()]);
            floats.similarities(&rows[0], &mut search, &mut exact);
            codes.similarities(&rows[0], &mut search, &mut coded);
            for (at, row) in rows.iter().enumerate() {
                let top = row.iter().fold(0.0f32, |top, x| top.max(x.abs()));
                let stated = top * (row.len() as f32).sqrt() / 254.0;
                prop_assert!((exact[at] - coded[at]).abs() <= stated * 1.001 + 1e-3);
                let mut sum = vec![0.0; row.len()];
                codes.add_to(&mut sum, at, 1.0);
                prop_assert!(sum.iter().zip(row).all(|(a, b)| (a - b).abs() <= top / 253.0));
            }
            codes.bound(&rows[0], std::iter::once(0..rows.len()), &mut search);
            let best = coded.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            prop_assert_eq!(codes.largest(&rows[0], std::iter::once(0..rows.len()), &search), best);
            prop_assert_eq!(codes, floats.in_form(VectorForm::I8));
        }
    }

    #[test]
    fn only_long_logs_are_screened_and_all_of_them_after_a_load() {
        let rows: Vec<Vec<f32>> = (0..=SCREENED).map(|at| vec![(at as f32).cos(), (at as f32).sin()]).collect();
        let screened = |vectors: &Vectors| matches!(vectors, Vectors::F32 { screen: Some(_), .. });
        let mut vectors = filled(VectorForm::F32, &rows[1..]);
        assert!(!screened(&vectors));
        vectors.push(&rows[0]);
        assert!(screened(&vectors));
        let mut loaded: Vectors = postcard::from_bytes(&postcard::to_stdvec(&vectors).unwrap()).unwrap();
        loaded.push(&rows[0]);
        vectors.push(&rows[0]);
        assert!(screened(&loaded));
        assert_eq!(loaded, vectors);
    }
}
