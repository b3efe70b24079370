//! What is referred to later, by its offset.

use crate::item::UNTRACKED;

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
    pub(super) fn note(&mut self, offset: u32, number: &mut u32, scalar: bool) {
        if *number == UNTRACKED {
            *number = self.dealt;
            self.dealt += 1;
        }
        self.places.push(Place { offset, number: *number, scalar });
    }

    /// What is tracked at an offset.
    pub(super) fn find(&self, offset: u64) -> Option<Place> {
        let index = self.places.binary_search_by_key(&offset, |place| u64::from(place.offset)).ok()?;
        self.places.get(index).copied()
    }

    /// Bytes that the table takes.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.places.capacity() * std::mem::size_of::<Place>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_found_and_no_other() {
        let mut tracks = Tracks::default();
        let (mut first, mut second) = (UNTRACKED, UNTRACKED);
        tracks.note(3, &mut first, true);
        tracks.note(5, &mut first, true);
        tracks.note(6, &mut second, false);
        tracks.note(900, &mut { UNTRACKED }, true);
        assert_eq!((first, second), (0, 1));
        let find = |offset| tracks.find(offset).map(|place| (place.number, place.scalar));
        let expected = [(3, (0, true)), (5, (0, true)), (6, (1, false)), (900, (2, true))];
        for offset in (0..1_000).chain([u64::MAX, 1 << 32, (1 << 32) + 3]) {
            let place = expected.iter().find(|(there, _)| *there == offset).map(|(_, place)| *place);
            assert_eq!(find(offset), place, "{offset}");
        }
    }

    #[test]
    fn numbers_begin_anew_with_a_document() {
        let mut tracks = Tracks::default();
        tracks.note(1, &mut { UNTRACKED }, true);
        tracks.clear(0);
        assert!(tracks.find(1).is_none() && tracks.room() == 0);
        let mut number = UNTRACKED;
        tracks.note(1, &mut number, true);
        assert_eq!(number, 0);
    }
}
