//! A map for a handful of entries: most objects go to one zone, and there are many objects.

/// Up to so many entries, there is room for no more than there are.
const EXACT: usize = 4;

/// A sorted list of pairs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmallMap<K, V> {
    entries: Vec<(K, V)>,
}

/// A sorted list.
pub type SmallSet<K> = SmallMap<K, ()>;

// === impl SmallMap ===

impl<K: Ord, V> SmallMap<K, V> {
    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.find(key).ok().map(|at| &self.entries[at].1)
    }

    /// Whether a key is there.
    pub fn contains_key(&self, key: &K) -> bool {
        self.find(key).is_ok()
    }

    /// Sets the value of a key.
    pub fn insert(&mut self, key: K, value: V) {
        match self.find(&key) {
            Ok(at) => self.entries[at].1 = value,
            Err(at) => {
                if self.entries.len() < EXACT {
                    // One more, not twice as many.
                    self.entries.reserve_exact(1);
                }
                self.entries.insert(at, (key, value));
            }
        }
    }

    /// Takes a key away.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.find(key).ok().map(|at| self.entries.remove(at).1)
    }

    /// Keeps what fits.
    pub fn retain(&mut self, mut keep: impl FnMut(&K) -> bool) {
        self.entries.retain(|(key, _)| keep(key));
    }

    /// Takes everything away.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Whether nothing is there.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Everything, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// The keys, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.entries.iter().map(|(key, _)| key)
    }

    /// The values, sorted by key.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|(_, value)| value)
    }

    fn find(&self, key: &K) -> Result<usize, usize> {
        self.entries.binary_search_by(|(other, _)| other.cmp(key))
    }
}

impl<K, V> Default for SmallMap<K, V> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SmallMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::default();
        entries.into_iter().for_each(|(key, value)| map.insert(key, value));
        map.entries.shrink_to_fit();
        map
    }
}

impl<K, V> IntoIterator for SmallMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_map() {
        let mut map: SmallMap<&str, u8> = [("b", 2), ("a", 1), ("b", 3)].into_iter().collect();
        assert_eq!(map.iter().collect::<Vec<_>>(), [(&"a", &1), (&"b", &3)]);
        assert_eq!(map.get(&"b"), Some(&3));
        assert_eq!((map.remove(&"b"), map.remove(&"b")), (Some(3), None));
        map.retain(|key| *key != "a");
        assert!(map.is_empty());
    }
}
