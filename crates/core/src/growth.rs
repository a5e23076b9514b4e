//! Vectors that grow by little: they are most of what a session weighs, and there may be many sessions.

/// What a vector grows by at least, ÷ its length.
const STEP: usize = 32;

/// Room for `more` elements.
pub fn reserve<T>(vec: &mut Vec<T>, more: usize) {
    if vec.capacity() - vec.len() < more {
        vec.reserve_exact(more.max(vec.len() / STEP));
    }
}

/// Appends an element.
pub fn push<T>(vec: &mut Vec<T>, element: T) {
    reserve(vec, 1);
    vec.push(element);
}

/// Appends a text.
pub fn push_str(text: &mut String, more: &str) {
    if text.capacity() - text.len() < more.len() {
        text.reserve_exact(more.len().max(text.len() / STEP));
    }
    text.push_str(more);
}

/// Gives room back when it is more than an eighth, after elements were erased.
pub fn trim<T>(vec: &mut Vec<T>) {
    if vec.capacity() - vec.len() > vec.len() / 8 {
        vec.shrink_to_fit();
    }
}

/// Bytes that a vector asked for.
pub fn bytes<T>(vec: &Vec<T>) -> usize {
    vec.capacity() * size_of::<T>()
}

/// Bytes that a hash table of `T` with a capacity asked for: a power of two of slots, each with a byte of control.
pub fn table_bytes<T>(capacity: usize) -> usize {
    const GROUP: usize = 16;
    let slots = match capacity {
        0 => return 0,
        1..8 => (capacity + 1).next_power_of_two(),
        _ => (capacity * 8 / 7).next_power_of_two(),
    };
    (slots * size_of::<T>()).next_multiple_of(GROUP) + slots + GROUP
}
