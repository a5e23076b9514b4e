//! Inner products of unit vectors: the one numeric kernel behind threads, references and Tier P.
//!
//! Every backend adds the same products in the same order, so a score has the same bits on every CPU and a golden file
//! written on one machine is true on another. The order: element `i` goes with one fused multiply-add into lane `i % 32`,
//! and the 32 lanes are folded in halves. Thirty-two lanes are two AVX-512 registers, four of AVX2, eight of NEON.
//!
//! Reading the rows is what a pass costs: about one cache line a cycle or two, and nearly twice that when rows straddle
//! cache lines. [`Rows`] keeps them where they do not.
#![expect(
    clippy::inline_always,
    reason = "a function that is not inlined is not compiled for the dispatched instruction set"
)]

pub mod codes;

use pulp::{Arch, NullaryFnOnce, Simd, WithSimd, bytemuck};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Code, Error, Result};

/// Partial sums of one row; the width on which all backends agree.
const LANES: usize = 32;

/// The inner product of two vectors of the same length; 0.0 for empty ones.
///
/// For unit vectors this is the cosine, in [-1, 1] up to rounding (at most `1e-6` for 1,024 dimensions).
///
/// # Panics
/// When the lengths differ. Vectors are checked where they enter the engine (G-56), not here.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut out = [0.0];
    dots(a, b, &mut out);
    out[0]
}

/// The inner products of `query` with each of the `out.len()` contiguous rows of `rows`.
///
/// One pass over `rows`; the query is read once for several rows and stays in the L1 cache.
///
/// # Panics
/// When `rows.len() != out.len() * query.len()`.
pub fn dots(query: &[f32], rows: &[f32], out: &mut [f32]) {
    assert_eq!(rows.len(), out.len() * query.len(), "rows must hold out.len() vectors of the query's dimension");
    if query.is_empty() {
        out.fill(0.0);
        return;
    }
    Arch::new().dispatch(Dots { query, rows, out });
}

/// Runs a loop compiled for the instruction set in use.
pub(crate) fn vectorised<R>(f: impl FnMut() -> R) -> R {
    /// A closure called through `FnOnce`, as it would be as it is, goes through a function of the compiler that is not inlined.
    struct Inlined<F>(F);

    impl<R, F: FnMut() -> R> NullaryFnOnce for Inlined<F> {
        type Output = R;

        #[inline(always)]
        fn call(mut self) -> R {
            (self.0)()
        }
    }

    Arch::new().dispatch(Inlined(f))
}

/// Scales `v` to length 1.
///
/// # Errors
/// As [`check`]; `v` is unchanged then (G-56).
pub fn normalise(v: &mut [f32]) -> Result<()> {
    let scaled = vectorised(
        #[inline(always)]
        || {
            let scale = unit_scale(v);
            if let Some(scale) = scale {
                for x in &mut *v {
                    *x = (f64::from(*x) * scale) as f32;
                }
            }
            scale.is_some()
        },
    );
    if scaled { Ok(()) } else { check(v) }
}

/// Puts `v`, scaled to length 1, into `unit`.
///
/// # Errors
/// As [`check`]; `unit` is of no use then.
pub fn unit_into(v: &[f32], unit: &mut Vec<f32>) -> Result<()> {
    unit.resize(v.len(), 0.0);
    let scaled = vectorised(
        #[inline(always)]
        || {
            let scale = unit_scale(v);
            if let Some(scale) = scale {
                for (unit, x) in unit.iter_mut().zip(v) {
                    *unit = (f64::from(*x) * scale) as f32;
                }
            }
            scale.is_some()
        },
    );
    if scaled { Ok(()) } else { check(v) }
}

/// What brings a vector to length 1; `None` for one without a direction.
#[inline(always)]
fn unit_scale(v: &[f32]) -> Option<f64> {
    // In f64, so that neither a tiny nor a huge vector under- or overflows.
    let mut lanes = [0.0f64; 8];
    let (groups, tail) = v.as_chunks::<8>();
    for group in groups {
        for (sum, x) in lanes.iter_mut().zip(group) {
            *sum += f64::from(*x) * f64::from(*x);
        }
    }
    for (sum, x) in lanes.iter_mut().zip(tail) {
        *sum += f64::from(*x) * f64::from(*x);
    }
    let squares = lanes.iter().sum::<f64>();
    // The squares of finite numbers of f32 are finite in f64, and above zero unless all are zero.
    (squares > 0.0 && squares.is_finite()).then(|| 1.0 / squares.sqrt())
}

/// Refuses a vector that has no direction.
///
/// # Errors
/// `INVALID_VECTOR` when an element is NaN or infinite, or when the length is zero (G-56).
pub fn check(v: &[f32]) -> Result<()> {
    const EXPONENT: u32 = 0x7F80_0000;
    // Without a branch for each element the loop is vectorised.
    let (bad, any) = vectorised(
        #[inline(always)]
        || {
            v.iter().map(|x| x.to_bits()).fold((0, 0), |(bad, any), bits| {
                (bad | u32::from(bits & EXPONENT == EXPONENT), any | (bits & !(1 << 31)))
            })
        },
    );
    if bad != 0 {
        let at = v.iter().position(|x| !x.is_finite()).unwrap_or_default();
        let message = format!("vector element {at} is not finite");
        return Err(Error::limit(Code::InvalidVector, message, v[at], "a finite number"));
    }
    if any == 0 {
        return Err(Error::limit(Code::InvalidVector, "vector has no direction", "length 0", "a length above 0"));
    }
    Ok(())
}

/// The largest of `values`, which are numbers; negative infinity for none.
pub fn largest(values: &[f32]) -> f32 {
    vectorised(
        #[inline(always)]
        || {
            let mut best = [f32::NEG_INFINITY; LANES];
            let (groups, tail) = values.as_chunks::<LANES>();
            for group in groups {
                for (best, value) in best.iter_mut().zip(group) {
                    *best = if *value > *best { *value } else { *best };
                }
            }
            best.iter().chain(tail).copied().fold(f32::NEG_INFINITY, f32::max)
        },
    )
}

/// Calls `visit` with the position of every value that is at least `floor`, which `visit` may raise by what it returns.
pub fn at_least(values: &[f32], mut floor: f32, mut visit: impl FnMut(usize) -> f32) {
    const GROUP: usize = 16;
    vectorised(
        #[inline(always)]
        || {
            for (group, values) in values.chunks(GROUP).enumerate() {
                // Without a branch for each value the loop is vectorised.
                if values.iter().fold(0, |any, value| any | u32::from(*value >= floor)) != 0 {
                    for (at, value) in values.iter().enumerate() {
                        if *value >= floor {
                            floor = visit(group * GROUP + at);
                        }
                    }
                }
            }
        },
    );
}

/// Rows up to which there is room for [`GROWTH`] more at most.
const FEW_ROWS: usize = 64;
/// Rows by which few ones grow: those of a question and its answer.
const GROWTH: usize = 2;

/// Vectors of one dimension, contiguous, the first on a cache line.
///
/// A row is addressed by its position. Memory: that of the elements, and room for an eighth more when they are many.
#[derive(Debug)]
pub struct Rows<T = f32> {
    /// Room for more elements than are in use, all of them initialised.
    buffer: Vec<T>,
    /// Where the first row starts in `buffer`.
    start: usize,
    /// Elements in use.
    used: usize,
    dim: usize,
}

impl<T: Copy + Default> Rows<T> {
    /// No rows of `dim` elements.
    ///
    /// # Panics
    /// When `dim` is 0.
    pub fn new(dim: usize) -> Self {
        assert!(dim > 0, "a vector has at least one dimension");
        Self { buffer: Vec::new(), start: 0, used: 0, dim }
    }

    /// Elements of a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.used / self.dim
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// All rows, one after the other.
    pub fn as_slice(&self) -> &[T] {
        &self.buffer[self.start..self.start + self.used]
    }

    /// One row.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row(&self, at: usize) -> &[T] {
        &self.as_slice()[at * self.dim..][..self.dim]
    }

    /// The same row, for writing.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row_mut(&mut self, at: usize) -> &mut [T] {
        &mut self.buffer[self.start..self.start + self.used][at * self.dim..][..self.dim]
    }

    /// Appends a row.
    ///
    /// # Panics
    /// When it is of another dimension.
    pub fn push(&mut self, row: &[T]) {
        assert_eq!(row.len(), self.dim, "a row of another dimension");
        self.reserve(self.dim);
        let end = self.start + self.used;
        self.buffer[end..end + self.dim].copy_from_slice(row);
        self.used += self.dim;
    }

    /// Removes `count` rows from position `at` on; later rows move down.
    ///
    /// # Panics
    /// When there are no such rows.
    pub fn remove(&mut self, at: usize, count: usize) {
        let (from, to) = ((at + count) * self.dim, at * self.dim);
        self.buffer[self.start..self.start + self.used].copy_within(from.., to);
        self.used -= count * self.dim;
    }

    /// Removes a row in constant time: the last row takes its place.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn swap_remove(&mut self, at: usize) {
        let last = self.len() - 1;
        self.buffer[self.start..self.start + self.used].copy_within(last * self.dim.., at * self.dim);
        self.used -= self.dim;
    }

    /// Gives back room beyond what rows that grow have.
    pub fn trim(&mut self) {
        if self.buffer.len() > self.used + self.dim * GROWTH.max(self.len() / 8) {
            *self = self.clone();
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.buffer.capacity() * size_of::<T>()
    }

    fn reserve(&mut self, more: usize) {
        if self.start + self.used + more > self.buffer.len() {
            // A session's vectors are most of what it weighs, and a copy costs a fraction of what they cost to make.
            let rows = if self.len() < FEW_ROWS { GROWTH } else { self.len() / 8 };
            *self = Self::with_room(self.dim, self.as_slice(), self.used + more.max(rows * self.dim));
        }
    }

    /// A copy of `rows` at the first cache line of a new buffer with room for `room` elements.
    fn with_room(dim: usize, rows: &[T], room: usize) -> Self {
        // Elements of a cache line.
        let line = 64 / size_of::<T>();
        let mut buffer = vec![T::default(); room + line - 1];
        let start = (line - buffer.as_ptr().addr() / size_of::<T>() % line) % line;
        buffer[start..start + rows.len()].copy_from_slice(rows);
        Self { buffer, start, used: rows.len(), dim }
    }
}

impl<T: Copy + Default> Clone for Rows<T> {
    fn clone(&self) -> Self {
        Self::with_room(self.dim, self.as_slice(), self.used)
    }
}

impl<T: Copy + Default + PartialEq> PartialEq for Rows<T> {
    fn eq(&self, other: &Self) -> bool {
        self.dim == other.dim && self.as_slice() == other.as_slice()
    }
}

impl<T: Copy + Default + Serialize> Serialize for Rows<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        (self.dim, self.as_slice()).serialize(serializer)
    }
}

impl<'de, T: Copy + Default + Deserialize<'de>> Deserialize<'de> for Rows<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let (dim, elements) = <(usize, Vec<T>)>::deserialize(deserializer)?;
        if dim == 0 || elements.len() % dim != 0 {
            return Err(serde::de::Error::custom("vectors are not a whole number of rows"));
        }
        Ok(Self::with_room(dim, &elements, elements.len()))
    }
}

/// The instruction set in use: `avx512-vnni`, `avx512`, `avx2`, `neon`, or `portable`.
///
/// For diagnostics; the numbers do not depend on it.
pub fn kernel() -> &'static str {
    if codes::has_vnni() { "avx512-vnni" } else { Arch::new().dispatch(Name) }
}

struct Name;

impl WithSimd for Name {
    type Output = &'static str;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> &'static str {
        match S::F32_LANES {
            16 => "avx512",
            8 => "avx2",
            4 => "neon",
            _ => "portable",
        }
    }
}

struct Dots<'a> {
    query: &'a [f32],
    rows: &'a [f32],
    out: &'a mut [f32],
}

impl WithSimd for Dots<'_> {
    type Output = ();

    // The second number is how many rows share a read of the query: as many as leave registers free.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F32_LANES {
            16 => blocks::<S, 2, 4>(simd, self),
            8 => blocks::<S, 4, 2>(simd, self),
            4 => blocks::<S, 8, 2>(simd, self),
            _ => portable(self),
        }
    }
}

/// Takes the rows `R` at a time, then the rest one at a time; `V` registers hold the lanes of a row.
#[inline(always)]
fn blocks<S: Simd, const V: usize, const R: usize>(simd: S, Dots { query, rows, out }: Dots<'_>) {
    let dim = query.len();
    let mut rows = rows.chunks_exact(dim * R);
    let mut sums = out.chunks_exact_mut(R);
    for (block, sums) in (&mut rows).zip(&mut sums) {
        let block: [&[f32]; R] = std::array::from_fn(|r| &block[r * dim..(r + 1) * dim]);
        sums.copy_from_slice(&block_sums::<S, V, R>(simd, query, block));
    }
    for (row, sum) in rows.remainder().chunks_exact(dim).zip(sums.into_remainder()) {
        *sum = block_sums::<S, V, 1>(simd, query, [row])[0];
    }
}

/// `R` inner products at once.
#[inline(always)]
fn block_sums<S: Simd, const V: usize, const R: usize>(simd: S, query: &[f32], rows: [&[f32]; R]) -> [f32; R] {
    let mut lanes = [[simd.splat_f32s(0.0); V]; R];
    let (query_full, query_tail) = registers::<S, V>(query);
    let split = rows.map(|row| registers::<S, V>(row));
    for (step, q) in query_full.iter().enumerate() {
        for v in 0..V {
            for r in 0..R {
                lanes[r][v] = simd.mul_add_f32s(q[v], split[r].0[step][v], lanes[r][v]);
            }
        }
    }
    if !query_tail.is_empty() {
        let q = padded::<S, V>(simd, query_tail);
        for r in 0..R {
            let row = padded::<S, V>(simd, split[r].1);
            for v in 0..V {
                lanes[r][v] = simd.mul_add_f32s(q[v], row[v], lanes[r][v]);
            }
        }
    }
    lanes.map(|lanes| fold_registers(simd, lanes))
}

/// Splits a vector into groups of [`LANES`] elements and a shorter tail.
#[inline(always)]
fn registers<S: Simd, const V: usize>(v: &[f32]) -> (&[[S::f32s; V]], &[f32]) {
    let (full, tail) = v.split_at(v.len() - v.len() % LANES);
    (pulp::as_arrays::<V, _>(S::as_simd_f32s(full).0).0, tail)
}

/// A tail with zeros up to [`LANES`]; adding a product of zeros changes no sum.
#[inline(always)]
fn padded<S: Simd, const V: usize>(simd: S, tail: &[f32]) -> [S::f32s; V] {
    std::array::from_fn(|v| match tail.get(v * S::F32_LANES..) {
        Some(rest) => simd.partial_load_f32s(&rest[..rest.len().min(S::F32_LANES)]),
        None => simd.splat_f32s(0.0),
    })
}

/// [`fold`] in registers.
#[inline(always)]
fn fold_registers<S: Simd, const V: usize>(simd: S, mut lanes: [S::f32s; V]) -> f32 {
    let mut width = V / 2;
    while width > 0 {
        for v in 0..width {
            lanes[v] = simd.add_f32s(lanes[v], lanes[v + width]);
        }
        width /= 2;
    }
    match bytemuck::cast_slice::<_, f32>(&lanes[..1]) {
        // NEON's own sum adds neighbours, not halves.
        [a, b, c, d] => (a + c) + (b + d),
        _ => simd.reduce_sum_f32s(lanes[0]),
    }
}

/// The sum of the lanes: the upper half is added to the lower until one is left.
fn fold(mut lanes: [f32; LANES]) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] += lanes[i + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// The same sums for CPUs that have no fused multiply-add.
fn portable(Dots { query, rows, out }: Dots<'_>) {
    for (row, sum) in rows.chunks_exact(query.len()).zip(out) {
        let mut lanes = [0.0; LANES];
        let (queries, query_tail) = query.as_chunks::<LANES>();
        let (values, row_tail) = row.as_chunks::<LANES>();
        for (q, r) in queries.iter().zip(values) {
            fuse(&mut lanes, q, r);
        }
        let mut padded = [[0.0; LANES]; 2];
        padded[0][..query_tail.len()].copy_from_slice(query_tail);
        padded[1][..row_tail.len()].copy_from_slice(row_tail);
        fuse(&mut lanes, &padded[0], &padded[1]);
        *sum = fold(lanes);
    }
}

/// `lanes += a * b`, each rounded once, without the library call that `f32::mul_add` is on such a CPU.
///
/// The products are exact in `f64`. Rounding a sum twice goes wrong only when the first result lies exactly between two
/// `f32`, or below the normal ones, and only then the calls are made.
fn fuse(lanes: &mut [f32; LANES], a: &[f32; LANES], b: &[f32; LANES]) {
    /// The bits that an `f64` has beyond an `f32`, and their value half-way between two.
    const EXTRA: u32 = (1 << 29) - 1;
    const HALF_WAY: u32 = 1 << 28;
    let sums: [f64; LANES] = std::array::from_fn(|i| f64::from(a[i]) * f64::from(b[i]) + f64::from(lanes[i]));
    let between = |sum: f64| sum.to_bits() as u32 & EXTRA == HALF_WAY;
    let tiny = |sum: f64| sum.abs() < f64::from(f32::MIN_POSITIVE) && sum != 0.0;
    // Not `any`: without a branch for each lane the loop is vectorised.
    if sums.iter().fold(false, |doubt, sum| doubt | between(*sum) | tiny(*sum)) {
        *lanes = std::array::from_fn(|i| a[i].mul_add(b[i], lanes[i]));
    } else {
        *lanes = sums.map(|sum| sum as f32);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::float_cmp, reason = "equal bits are the contract")]

    use proptest::prelude::*;

    use super::*;

    /// The definition in one line a step, with the standard library's fused multiply-add.
    fn twin(a: &[f32], b: &[f32]) -> f32 {
        let mut lanes = [0.0f32; LANES];
        for (i, (x, y)) in a.iter().zip(b).enumerate() {
            lanes[i % LANES] = x.mul_add(*y, lanes[i % LANES]);
        }
        let mut lanes = lanes.to_vec();
        while lanes.len() > 1 {
            let half = lanes.len() / 2;
            lanes = (0..half).map(|i| lanes[i] + lanes[i + half]).collect();
        }
        lanes[0]
    }

    /// One lane of [`fuse`].
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        let mut lanes = [c; LANES];
        fuse(&mut lanes, &[a; LANES], &[b; LANES]);
        lanes[LANES - 1]
    }

    fn exact(a: &[f32], b: &[f32]) -> f64 {
        a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum()
    }

    type Kernel = fn(&[f32], &[f32], &mut [f32]);

    /// Every backend this machine can run, by force.
    fn backends() -> Vec<(&'static str, Kernel)> {
        let mut all: Vec<(&'static str, Kernel)> = vec![
            ("dispatched", dots),
            ("portable", |query, rows, out| portable(Dots { query, rows, out })),
            ("scalar", |query, rows, out| pulp::Scalar.vectorize(Dots { query, rows, out })),
            ("four lanes", |query, rows, out| pulp::Scalar128b.vectorize(Dots { query, rows, out })),
        ];
        #[cfg(target_arch = "x86_64")]
        {
            if pulp::x86::V3::try_new().is_some() {
                all.push(("avx2", |query, rows, out| {
                    Arch::V3(pulp::x86::V3::try_new().expect("checked")).dispatch(Dots { query, rows, out });
                }));
            }
            if pulp::x86::V4::try_new().is_some() {
                all.push(("avx512", |query, rows, out| {
                    Arch::V4(pulp::x86::V4::try_new().expect("checked")).dispatch(Dots { query, rows, out });
                }));
            }
        }
        all
    }

    fn vectors() -> impl Strategy<Value = (usize, Vec<f32>, Vec<f32>)> {
        (1..=1030usize, 0..=9usize).prop_flat_map(|(dim, n)| {
            let values = |len| prop::collection::vec(-4.0f32..4.0, len);
            (Just(dim), values(dim), values(dim * n))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn every_backend_gives_the_bits_of_the_twin((dim, query, rows) in vectors()) {
            let expected: Vec<u32> = rows.chunks_exact(dim).map(|row| twin(&query, row).to_bits()).collect();
            for (name, kernel) in backends() {
                let mut out = vec![f32::NAN; expected.len()];
                kernel(&query, &rows, &mut out);
                let bits: Vec<u32> = out.iter().map(|x| x.to_bits()).collect();
                prop_assert_eq!(&bits, &expected, "{} at {} dimensions", name, dim);
            }
        }

        #[test]
        fn the_sum_is_within_the_bound_of_recursive_summation((dim, query, rows) in vectors()) {
            for row in rows.chunks_exact(dim) {
                let magnitude: f64 = query.iter().zip(row).map(|(&x, &y)| f64::from(x * y).abs()).sum();
                // ceil(dim / 32) fused steps in a lane and five additions, each off by at most 2^-24 of what it holds.
                let bound = (dim.div_ceil(LANES) + 6) as f64 * magnitude * f64::from(f32::EPSILON) / 2.0;
                prop_assert!((f64::from(dot(&query, row)) - exact(&query, row)).abs() <= bound);
            }
        }

        #[test]
        fn the_soft_fused_multiply_add_is_the_hard_one(a in any::<f32>(), b in any::<f32>(), c in any::<f32>()) {
            let (soft, hard) = (fused(a, b, c), a.mul_add(b, c));
            prop_assert!(soft.to_bits() == hard.to_bits() || soft.is_nan() && hard.is_nan(), "{soft:e} {hard:e}");
        }

        #[test]
        fn a_normalised_vector_has_length_one(mut v in prop::collection::vec(-1e30f32..1e30, 1..600)) {
            prop_assume!(v.iter().any(|x| *x != 0.0));
            normalise(&mut v).unwrap();
            prop_assert!((dot(&v, &v) - 1.0).abs() < 1e-5);
        }
    }

    proptest! {
        #[test]
        fn rows_are_a_vector_of_vectors(dim in 1..40usize, steps in prop::collection::vec((0..4u8, any::<u16>()), 0..80)) {
            let mut rows = Rows::new(dim);
            let mut twin: Vec<Vec<f32>> = Vec::new();
            for (step, value) in steps {
                let at = usize::from(value) % twin.len().max(1);
                let row = vec![f32::from(value); dim];
                match step {
                    1 if !twin.is_empty() => { rows.swap_remove(at); twin.swap_remove(at); }
                    2 if !twin.is_empty() => { rows.remove(at, 1); twin.remove(at); }
                    3 if !twin.is_empty() => { rows.row_mut(at).copy_from_slice(&row); twin[at] = row; }
                    _ => { rows.push(&row); twin.push(row); }
                }
                prop_assert_eq!(rows.len(), twin.len());
                prop_assert!(rows.as_slice().as_ptr().addr().is_multiple_of(64) || rows.is_empty());
            }
            prop_assert_eq!(rows.as_slice(), twin.concat());
            let copy: Rows = postcard::from_bytes(&postcard::to_stdvec(&rows).unwrap()).unwrap();
            prop_assert_eq!(&copy, &rows);
            prop_assert_eq!(&rows.clone(), &rows);
        }
    }

    #[test]
    fn a_broken_snapshot_of_rows_is_refused() {
        for (dim, elements) in [(0usize, vec![1.0f32]), (2, vec![1.0])] {
            assert!(postcard::from_bytes::<Rows>(&postcard::to_stdvec(&(dim, elements)).unwrap()).is_err());
        }
    }

    #[test]
    fn soft_fused_multiply_add_rounds_half_way_cases_once() {
        // 1 + 2^-24 lies half-way between two f32; the tiny product decides the direction.
        let tiny = f32::from_bits(0x2000_0000);
        assert_eq!(fused(tiny, tiny, 1.0), 1.0);
        let (a, b) = (1.0 + f32::EPSILON, f32::EPSILON / 2.0);
        assert_eq!(fused(a, b, 1.0), a.mul_add(b, 1.0));
    }

    #[test]
    fn vectors_without_a_direction_are_refused_and_left_alone() {
        for bad in [vec![], vec![0.0, 0.0], vec![1.0, f32::NAN], vec![f32::INFINITY, 1.0], vec![0.0, f32::NEG_INFINITY]]
        {
            let mut v = bad.clone();
            assert_eq!(normalise(&mut v).unwrap_err().code, Code::InvalidVector);
            assert_eq!(format!("{v:?}"), format!("{bad:?}"));
        }
    }

    #[test]
    fn the_smallest_and_largest_vectors_keep_their_direction() {
        for scale in [f32::MIN_POSITIVE, 1e-30, 1.0, 1e30] {
            let mut v = [3.0 * scale, 4.0 * scale];
            normalise(&mut v).unwrap();
            assert!((v[0] - 0.6).abs() < 1e-6 && (v[1] - 0.8).abs() < 1e-6, "{scale:e}: {v:?}");
        }
    }

    #[test]
    fn no_rows_and_no_dimensions_are_fine() {
        dots(&[1.0, 2.0], &[], &mut []);
        let mut out = [7.0; 3];
        dots(&[], &[], &mut out);
        assert_eq!(out, [0.0; 3]);
        assert_eq!(dot(&[], &[]), 0.0);
    }

    #[test]
    #[should_panic(expected = "dimension")]
    fn lengths_that_do_not_fit_are_a_defect() {
        dots(&[1.0, 2.0], &[1.0, 2.0, 3.0], &mut [0.0]);
    }

    #[test]
    fn the_kernel_has_a_name() {
        assert!(["avx512-vnni", "avx512", "avx2", "neon", "portable"].contains(&kernel()));
    }
}
