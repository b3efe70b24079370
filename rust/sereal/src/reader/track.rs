//! What is referred to later, by its offset.

/// The tracked places of a document so far, and the numbers that were dealt to what stands there.
#[derive(Default, Debug)]
pub(super) struct Tracks {
    /// In the order of the document, so also of the offsets.
    places: Vec<Place>,
    dealt: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    offset: u32,
    pub number: u32,
    /// Whether it is a scalar; else an array, hash or regular expression.
    pub scalar: bool,
}

impl Tracks {
    /// Forgets all, and gives back what takes more than so many bytes.
    pub(super) fn clear(&mut self, kept: usize) {
        self.places.clear();
        self.places.shrink_to(kept / std::mem::size_of::<Place>());
        self.dealt = 0;
    }

    /// Notes a place that is behind all noted before. The thing there has several, perhaps: `number` is its own, dealt
    /// now if this is the first.
    pub(super) fn note(&mut self, offset: u32, number: &mut Option<u32>, scalar: bool) {
        let number = *number.get_or_insert_with(|| {
            self.dealt += 1;
            self.dealt - 1
        });
        self.places.push(Place { offset, number, scalar });
    }

    /// What is tracked at an offset.
    pub(super) fn find(&self, offset: u64) -> Option<Place> {
        let index = self.places.binary_search_by_key(&offset, |place| u64::from(place.offset)).ok()?;
        self.places.get(index).copied()
    }
}
