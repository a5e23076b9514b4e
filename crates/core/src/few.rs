//! Lists that are empty in most turns: one word each until they hold something.

use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A list that is mostly empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Few<T>(
    #[expect(clippy::box_collection, reason = "a word, not three, where there is nothing")] Option<Box<Vec<T>>>,
);

impl<T> Few<T> {
    /// Keeps the elements for which `keep` is true.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        if let Some(elements) = &mut self.0 {
            elements.retain(keep);
        }
    }

    /// Bytes held beside the list's own word, those of what its elements own left out.
    pub fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |elements| size_of::<Vec<T>>() + elements.capacity() * size_of::<T>())
    }
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> From<Vec<T>> for Few<T> {
    fn from(elements: Vec<T>) -> Self {
        Self((!elements.is_empty()).then(|| Box::new(elements)))
    }
}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Vec::from_iter(elements).into()
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.as_ref().map_or(&[], |elements| elements)
    }
}

impl<'a, T> IntoIterator for &'a Few<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: Serialize> Serialize for Few<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_list_and_a_word() {
        let mut few: Few<u32> = [3, 1, 2].into_iter().collect();
        few.retain(|element| *element != 1);
        assert_eq!((&few[..], few.bytes() > 0), (&[3, 2][..], true));
        assert_eq!(postcard::from_bytes::<Few<u32>>(&postcard::to_stdvec(&few).unwrap()).unwrap(), few);
        assert_eq!(postcard::to_stdvec(&few).unwrap(), postcard::to_stdvec(&vec![3u32, 2]).unwrap());
        assert_eq!((size_of::<Few<u32>>(), Few::<u32>::default().bytes()), (size_of::<usize>(), 0));
    }
}
