//! Unit vectors as int8: a quarter of the bytes to read and to keep.
//!
//! A row is rounded to 127 steps either side of zero, the step by its largest element; its step and the length of what
//! rounding lost stand beside it. A query is rounded much finer, to 16 bits, once for all rows. Inner products of codes are
//! sums of integers, so they are the same whatever adds them, and each comes with a proven bound: by Cauchy and Schwarz
//! `|q·r − q̂·r̂| ≤ ‖q − q̂‖ ‖r‖ + ‖q̂‖ ‖r − r̂‖`.

use pulp::Arch;
#[cfg(target_arch = "x86_64")]
use pulp::NullaryFnOnce;
use serde::{Deserialize, Serialize};

use super::{LANES, Rows, largest, vectorised};
use crate::growth;

/// The largest code of a row, and the smallest with its sign turned.
const STEPS: f32 = 127.0;
/// Dimensions up to which a sum of products of codes fits 32 bits.
pub const MOST_DIMENSIONS: usize = 1 << 16;
/// Unit vectors are that long at most.
const LENGTH: f32 = 1.0 + 1e-5;

/// Rows of int8 codes, padded with zeros to whole registers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Codes {
    rows: Rows<i8>,
    /// What one step of a row is worth.
    steps: Vec<f32>,
    /// Length of what rounding took from a row.
    losses: Vec<f32>,
    dim: usize,
}

/// The codes of a query, 16 bits each: what rounding takes from it counts little beside what it took from the rows.
#[derive(Clone, Debug, Default)]
pub struct Query {
    codes: Vec<i16>,
    step: f32,
    /// No less than the length of what rounding took.
    loss: f32,
}

impl Query {
    /// Takes the codes of a unit vector. Cost: one pass over it.
    pub fn read(&mut self, unit: &[f32]) {
        /// 1.5 × 2^23: a number added to it is rounded to a whole one, which its low bits hold.
        const ROUND: f32 = 12_582_912.0;
        let dim = unit.len();
        // No sum of products with codes of a row overflows.
        let steps = (i32::MAX as usize / (128 * dim.max(1))).min(i16::MAX as usize) as f32;
        let codes = &mut self.codes;
        codes.resize(dim.next_multiple_of(LANES), 0);
        codes[dim..].fill(0);
        let (step, inverse) = scale(unit, steps);
        vectorised(
            #[inline(always)]
            || {
                for (code, x) in codes.iter_mut().zip(unit) {
                    *code = (x * inverse + ROUND).to_bits() as i16;
                }
            },
        );
        self.step = step;
        // Half a step an element, and what the product with the inverse is off by.
        self.loss = 0.505 * step * (dim as f32).sqrt();
    }

    /// An inner product with a row that lost `loss` differs from that of the codes by at most `loss × slope + offset`,
    /// rounding of both included.
    fn bound(&self) -> (f32, f32) {
        let rounding = (self.codes.len() / LANES + 16) as f32 * f32::EPSILON;
        (LENGTH + self.loss, LENGTH * self.loss + rounding)
    }
}

/// Step and inverse step with which the largest element of `row` gets the code `steps`; zeros for a row of zeros.
fn scale(row: &[f32], steps: f32) -> (f32, f32) {
    // The bits of numbers without a sign are in the order of the numbers, and a largest integer is found in registers.
    let top = vectorised(
        #[inline(always)]
        || row.iter().map(|x| x.abs().to_bits()).max().unwrap_or(0),
    );
    let top = f32::from_bits(top);
    if top > 0.0 { (top / steps, steps / top) } else { (0.0, 0.0) }
}

impl Codes {
    /// No rows of `dim` elements.
    ///
    /// # Panics
    /// When `dim` is 0 or above [`MOST_DIMENSIONS`].
    pub fn new(dim: usize) -> Self {
        assert!(dim <= MOST_DIMENSIONS, "sums of so many products may not fit 32 bits");
        Self { rows: Rows::new(dim.next_multiple_of(LANES)), steps: Vec::new(), losses: Vec::new(), dim }
    }

    /// The codes of rows.
    pub fn of(rows: &Rows) -> Self {
        let mut codes = Self::new(rows.dim());
        for row in rows.as_slice().chunks_exact(rows.dim()) {
            codes.push(row);
        }
        codes
    }

    /// Elements of a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// True when every row has a step and a loss, and none is worth more than `most`.
    pub fn is_sound(&self, most: f32) -> bool {
        let within = |x: &f32| (0.0..=most).contains(x);
        self.rows.len() == self.len()
            && self.losses.len() == self.len()
            && self.steps.iter().chain(&self.losses).all(within)
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Appends the codes of a row, a unit vector or zeros.
    ///
    /// # Panics
    /// When it is of another dimension.
    pub fn push(&mut self, row: &[f32]) {
        assert_eq!(row.len(), self.dim, "a row of another dimension");
        let (step, inverse) = scale(row, STEPS);
        let mut codes = vec![0; self.rows.dim()];
        let mut lost = 0.0;
        for (code, x) in codes.iter_mut().zip(row) {
            *code = (x * inverse).round() as i8;
            lost += (f64::from(*x) - f64::from(*code) * f64::from(step)).powi(2);
        }
        self.rows.push(&codes);
        growth::push(&mut self.steps, step);
        growth::push(&mut self.losses, (lost.sqrt() as f32).next_up());
    }

    /// Removes `count` rows from position `at` on; later rows move down.
    ///
    /// # Panics
    /// When there are no such rows.
    pub fn remove(&mut self, at: usize, count: usize) {
        self.rows.remove(at, count);
        self.steps.drain(at..at + count);
        self.losses.drain(at..at + count);
    }

    /// Gives back room beyond what codes that grow have.
    pub fn trim(&mut self) {
        self.rows.trim();
        growth::trim(&mut self.steps);
        growth::trim(&mut self.losses);
    }

    /// What the codes of a row stand for.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row(&self, at: usize) -> impl Iterator<Item = f32> + '_ {
        let step = self.steps[at];
        self.rows.row(at)[..self.dim].iter().map(move |code| f32::from(*code) * step)
    }

    /// Inner products of a query with what the codes of `out.len()` rows from `first` on stand for.
    ///
    /// # Panics
    /// When there are no such rows, or the query is of another dimension.
    pub fn dots(&self, query: &Query, first: usize, out: &mut [f32]) {
        let width = self.rows.dim();
        assert_eq!(query.codes.len(), width, "a query of another dimension");
        let rows = &self.rows.as_slice()[first * width..][..out.len() * width];
        dispatch(Sums { query: &query.codes, rows, steps: &self.steps[first..][..out.len()], step: query.step, out });
    }

    /// As [`Codes::dots`], but no less than the inner products with the rows themselves.
    ///
    /// # Panics
    /// As [`Codes::dots`].
    pub fn bounds(&self, query: &Query, first: usize, out: &mut [f32]) {
        self.dots(query, first, out);
        let (slope, offset) = query.bound();
        vectorised(
            #[inline(always)]
            || {
                for (dot, loss) in out.iter_mut().zip(&self.losses[first..]) {
                    *dot += loss * slope + offset;
                }
            },
        );
    }

    /// No inner product of a unit vector with a row differs by more from that of the codes.
    pub fn error(&self, query: &Query) -> f32 {
        let (slope, offset) = query.bound();
        largest(&self.losses).max(0.0) * slope + offset
    }

    /// Bytes held, its own size included.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.rows.bytes() + growth::bytes(&self.steps) + growth::bytes(&self.losses)
    }
}

struct Sums<'a> {
    query: &'a [i16],
    rows: &'a [i8],
    steps: &'a [f32],
    step: f32,
    out: &'a mut [f32],
}

#[cfg(target_arch = "x86_64")]
pulp::simd_type!({
    /// AVX-512 with its dot products of integers: the compiler makes one instruction of a product and a sum then.
    struct Vnni {
        avx512f: f!("avx512f"),
        avx512bw: f!("avx512bw"),
        avx512dq: f!("avx512dq"),
        avx512vl: f!("avx512vl"),
        avx512vnni: f!("avx512vnni"),
    }
});

/// True when sums of codes use AVX-512's dot products of integers.
pub fn has_vnni() -> bool {
    #[cfg(target_arch = "x86_64")]
    return Vnni::is_available() && matches!(Arch::new(), Arch::V4(_));
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

fn dispatch(sums: Sums<'_>) {
    match Arch::new() {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(simd) => match Vnni::try_new() {
            Some(vnni) => vnni.vectorize(Blocks { simd, sums }),
            None => simd.vectorize(Blocks { simd, sums }),
        },
        #[cfg(target_arch = "x86_64")]
        Arch::V3(simd) => simd.vectorize(Blocks { simd, sums }),
        arch => arch.dispatch(Portable(sums)),
    }
}

/// One row after the other, as the compiler sees fit.
struct Portable<'a>(Sums<'a>);

impl NullaryFnOnce for Portable<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Sums { query, rows, steps, step, out } = self.0;
        for ((row, of), out) in rows.chunks_exact(query.len()).zip(steps).zip(out) {
            let sum: i32 = row.iter().zip(query).map(|(code, q)| i32::from(*code) * i32::from(*q)).sum();
            *out = sum as f32 * (of * step);
        }
    }
}

/// Four rows at a time, so that the query is read once for them and their sums are folded together.
#[cfg(target_arch = "x86_64")]
struct Blocks<'a, S> {
    simd: S,
    sums: Sums<'a>,
}

/// Rows that share a read of the query.
#[cfg(target_arch = "x86_64")]
const ROWS: usize = 4;

/// What the kernel takes of an instruction set.
#[cfg(target_arch = "x86_64")]
trait Integers: Copy {
    /// Partial sums.
    type Partial: Copy;

    fn zero(self) -> Self::Partial;

    /// Adds the products of [`LANES`] codes, each widened to 16 bits.
    fn add(self, to: Self::Partial, codes: &[i8; LANES], query: &[i16; LANES]) -> Self::Partial;

    /// The sums of four rows.
    fn fold(self, rows: [Self::Partial; ROWS]) -> [i32; ROWS];
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn sums<S: Integers>(simd: S, query: &[[i16; LANES]], rows: [&[[i8; LANES]]; ROWS]) -> [i32; ROWS] {
    let mut partial = [simd.zero(); ROWS];
    for (at, query) in query.iter().enumerate() {
        for r in 0..ROWS {
            partial[r] = simd.add(partial[r], &rows[r][at], query);
        }
    }
    simd.fold(partial)
}

#[cfg(target_arch = "x86_64")]
impl<S: Integers> NullaryFnOnce for Blocks<'_, S> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { simd, sums: Sums { query, rows, steps, step, out } } = self;
        let (query, _) = query.as_chunks::<LANES>();
        let (rows, _) = rows.as_chunks::<LANES>();
        let width = query.len();
        let (outs, rest) = out.as_chunks_mut::<ROWS>();
        let (each, each_rest) = steps.as_chunks::<ROWS>();
        let mut blocks = rows.chunks_exact(width * ROWS);
        for ((block, each), out) in (&mut blocks).zip(each).zip(outs) {
            let sums = sums(simd, query, std::array::from_fn(|r| &block[r * width..][..width]));
            *out = std::array::from_fn(|r| sums[r] as f32 * (each[r] * step));
        }
        let rows = blocks.remainder();
        if !rest.is_empty() {
            // Rows that are not there are the first again.
            let row = |r| if r < rest.len() { r } else { 0 };
            let sums = sums(simd, query, std::array::from_fn(|r| &rows[row(r) * width..][..width]));
            for ((out, sum), of) in rest.iter_mut().zip(sums).zip(each_rest) {
                *out = sum as f32 * (of * step);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Integers for pulp::x86::V4 {
    type Partial = std::arch::x86_64::__m512i;

    #[inline(always)]
    fn zero(self) -> Self::Partial {
        pulp::cast([0i32; 16])
    }

    #[inline(always)]
    fn add(self, to: Self::Partial, codes: &[i8; LANES], query: &[i16; LANES]) -> Self::Partial {
        let wide = self.avx512bw._mm512_cvtepi8_epi16(pulp::cast(*codes));
        self.avx512f._mm512_add_epi32(to, self.avx512bw._mm512_madd_epi16(wide, pulp::cast(*query)))
    }

    #[inline(always)]
    fn fold(self, [a, b, c, d]: [Self::Partial; 4]) -> [i32; 4] {
        let set = self.avx512f;
        let ab = set._mm512_add_epi32(set._mm512_unpacklo_epi32(a, b), set._mm512_unpackhi_epi32(a, b));
        let cd = set._mm512_add_epi32(set._mm512_unpacklo_epi32(c, d), set._mm512_unpackhi_epi32(c, d));
        let all = set._mm512_add_epi32(set._mm512_unpacklo_epi64(ab, cd), set._mm512_unpackhi_epi64(ab, cd));
        let parts: [[i32; 4]; 4] = pulp::cast(all);
        std::array::from_fn(|r| (parts[0][r] + parts[2][r]) + (parts[1][r] + parts[3][r]))
    }
}

#[cfg(target_arch = "x86_64")]
impl Integers for pulp::x86::V3 {
    type Partial = std::arch::x86_64::__m256i;

    #[inline(always)]
    fn zero(self) -> Self::Partial {
        pulp::cast([0i32; 8])
    }

    #[inline(always)]
    fn add(self, to: Self::Partial, codes: &[i8; LANES], query: &[i16; LANES]) -> Self::Partial {
        let halves: [[i8; 16]; 2] = pulp::cast(*codes);
        let queries: [[i16; 16]; 2] = pulp::cast(*query);
        let products = |half: usize| {
            let wide = self.avx2._mm256_cvtepi8_epi16(pulp::cast(halves[half]));
            self.avx2._mm256_madd_epi16(wide, pulp::cast(queries[half]))
        };
        self.avx2._mm256_add_epi32(self.avx2._mm256_add_epi32(to, products(0)), products(1))
    }

    #[inline(always)]
    fn fold(self, [a, b, c, d]: [Self::Partial; 4]) -> [i32; 4] {
        let set = self.avx2;
        let ab = set._mm256_add_epi32(set._mm256_unpacklo_epi32(a, b), set._mm256_unpackhi_epi32(a, b));
        let cd = set._mm256_add_epi32(set._mm256_unpacklo_epi32(c, d), set._mm256_unpackhi_epi32(c, d));
        let all = set._mm256_add_epi32(set._mm256_unpacklo_epi64(ab, cd), set._mm256_unpackhi_epi64(ab, cd));
        let parts: [[i32; 4]; 2] = pulp::cast(all);
        std::array::from_fn(|r| parts[0][r] + parts[1][r])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::similarity::{dot, normalise};

    type Kernel = fn(Sums<'_>);

    /// Every backend this machine can run, by force; NEON runs what the compiler makes of the portable one.
    fn backends() -> Vec<(&'static str, Kernel)> {
        let mut all: Vec<(&'static str, Kernel)> =
            vec![("dispatched", dispatch), ("portable", |sums| Portable(sums).call())];
        #[cfg(target_arch = "x86_64")]
        {
            use pulp::x86::{V3, V4};
            if V3::try_new().is_some() {
                all.push(("avx2", |sums| {
                    let simd = V3::try_new().expect("checked");
                    simd.vectorize(Blocks { simd, sums });
                }));
            }
            if V4::try_new().is_some() {
                all.push(("avx512", |sums| {
                    let simd = V4::try_new().expect("checked");
                    simd.vectorize(Blocks { simd, sums });
                }));
            }
            if Vnni::try_new().is_some() {
                all.push(("avx512 vnni", |sums| {
                    let simd = V4::try_new().expect("checked");
                    Vnni::try_new().expect("checked").vectorize(Blocks { simd, sums });
                }));
            }
        }
        all
    }

    /// Unit vectors, some of zeros, some with one element far above the others.
    fn vectors() -> impl Strategy<Value = (Vec<f32>, Vec<Vec<f32>>)> {
        (1..=700usize, 0..=9usize).prop_flat_map(|(dim, n)| {
            let unit = move |spike: f32| {
                prop::collection::vec(-1.0f32..1.0, dim).prop_map(move |mut v| {
                    v[0] *= spike;
                    if normalise(&mut v).is_err() {
                        v.fill(0.0);
                        v[0] = 1.0;
                    }
                    v
                })
            };
            let row = prop_oneof![8 => unit(1.0), 2 => unit(50.0), 1 => Just(vec![0.0; dim])];
            (unit(1.0), prop::collection::vec(row, n))
        })
    }

    fn codes(dim: usize, rows: &[Vec<f32>]) -> Codes {
        let mut codes = Codes::new(dim);
        for row in rows {
            codes.push(row);
        }
        codes
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn every_backend_gives_the_bits_of_the_definition((unit, rows) in vectors()) {
            let codes = codes(unit.len(), &rows);
            let mut query = Query::default();
            query.read(&unit);
            let width = codes.rows.dim();
            let expected: Vec<f32> = (0..rows.len()).map(|at| {
                let products = codes.rows.row(at).iter().zip(&query.codes).map(|(a, b)| i64::from(*a) * i64::from(*b));
                i32::try_from(products.sum::<i64>()).unwrap() as f32 * (codes.steps[at] * query.step)
            }).collect();
            for (name, kernel) in backends() {
                let mut out = vec![f32::NAN; rows.len()];
                let Codes { rows, steps, .. } = &codes;
                kernel(Sums { query: &query.codes, rows: rows.as_slice(), steps, step: query.step, out: &mut out });
                prop_assert_eq!(&out, &expected, "{} at {} dimensions", name, width);
            }
        }

        #[test]
        fn a_bound_is_never_below_the_inner_product_of_the_floats((unit, rows) in vectors()) {
            let codes = codes(unit.len(), &rows);
            let mut query = Query::default();
            query.read(&unit);
            let (mut bounds, mut dots) = (vec![0.0; rows.len()], vec![0.0; rows.len()]);
            codes.bounds(&query, 0, &mut bounds);
            codes.dots(&query, 0, &mut dots);
            for (at, row) in rows.iter().enumerate() {
                let exact = dot(&unit, row);
                prop_assert!(exact <= bounds[at], "{exact} above {}", bounds[at]);
                prop_assert!((exact - dots[at]).abs() <= codes.error(&query));
                let top = row.iter().fold(0.0f32, |top, x| top.max(x.abs()));
                // As the documentation of the option says.
                let stated = top * (unit.len() as f32).sqrt() / 254.0;
                prop_assert!((exact - dots[at]).abs() <= stated * 1.001 + 1e-3, "{exact} {}", dots[at]);
            }
        }

        #[test]
        fn codes_are_a_vector_of_rows((unit, rows) in vectors(), removed in any::<prop::sample::Index>()) {
            let mut removing = codes(unit.len(), &rows);
            let mut left = rows;
            if !left.is_empty() {
                let at = removed.index(left.len());
                removing.remove(at, 1);
                left.remove(at);
            }
            prop_assert_eq!(&removing, &codes(unit.len(), &left));
            let copy: Codes = postcard::from_bytes(&postcard::to_stdvec(&removing).unwrap()).unwrap();
            prop_assert_eq!(&copy, &removing);
        }
    }

    #[test]
    fn the_widest_vectors_fit_the_sums() {
        let mut row = vec![1.0; MOST_DIMENSIONS];
        normalise(&mut row).unwrap();
        let codes = codes(MOST_DIMENSIONS, &[row.clone()]);
        let mut query = Query::default();
        query.read(&row);
        let mut out = [0.0];
        codes.dots(&query, 0, &mut out);
        assert!((out[0] - 1.0).abs() < 1e-3, "{out:?}");
    }
}
