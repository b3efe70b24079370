//! What a reader promises of any bytes whatever, so that its caller need not look.

use crate::{Error, Item, Kind, Reader, MAX_DEPTH};

/// Reads bytes to the end, or to where they are refused, and asserts every promise on the way. The items, counted.
pub fn hold(reader: &mut Reader, document: &[u8]) -> Result<u64, Error> {
    reader.begin(document)?;
    let bytes = document.len() as u64;
    let most_items = bytes + 65 * bytes + (1 << 20);
    let mut caller = Caller::default();
    let (mut items, mut item) = (0, Item::default());
    loop {
        match reader.next(document, &mut item) {
            Ok(true) => {
                items += 1;
                assert!(items <= most_items, "{items} items in {bytes} bytes");
                caller.take(&item, document);
            }
            Ok(false) => {
                assert_eq!(reader.next(document, &mut item), Ok(false), "the end is no longer the end");
                caller.end();
                return Ok(items);
            }
            Err(error) => {
                assert_eq!(reader.next(document, &mut item), Err(error), "another error the second time");
                assert!(u64::from(error.at) <= bytes, "{error} in {bytes} bytes");
                return Err(error);
            }
        }
    }
}

/// Somebody who builds what a document says, and relies on what he is told.
#[derive(Default)]
struct Caller {
    begun: bool,
    /// How many items each open thing has yet to get, and whether it is a hash.
    open: Vec<(u64, bool)>,
    /// Of each number that was dealt, whether it names a scalar.
    scalars: Vec<bool>,
}

impl Caller {
    fn take(&mut self, item: &Item, document: &[u8]) {
        while self.open.last().is_some_and(|(left, _)| *left == 0) {
            self.open.pop();
        }
        assert_eq!(item.depth as usize, self.open.len(), "the parent is open: {item:?}");
        assert!(item.depth <= MAX_DEPTH);
        let in_hash = self.open.last_mut().is_some_and(|(left, hash)| {
            *left -= 1;
            *hash
        });
        assert_eq!(item.key().is_some(), in_hash, "values of hashes have keys: {item:?}");
        assert!(!self.begun || item.depth > 0, "a second item at the top: {item:?}");
        self.begun = true;
        assert!((item.at as usize) < document.len());

        let (mut texts, mut is_reference) = (vec![item.key(), item.class()], true);
        self.deal(item.track(), true);
        match item.kind() {
            Kind::Array { length, track } => {
                self.deal(track, false);
                self.open.push((length.into(), false));
            }
            Kind::Hash { length, track } => {
                self.deal(track, false);
                self.open.push((length.into(), true));
            }
            Kind::Regexp { pattern, modifiers, track } => {
                self.deal(track, false);
                texts.extend([Some(pattern), Some(modifiers)]);
            }
            Kind::Reference => self.open.push((1, false)),
            Kind::Same(number) => assert!((number as usize) < self.scalars.len(), "a number that was dealt: {item:?}"),
            Kind::Alias(number) => {
                is_reference = false;
                assert_eq!(self.scalars.get(number as usize), Some(&true), "a scalar: {item:?}");
                assert!(item.track().is_none() && item.depth > 0, "{item:?}");
            }
            Kind::Text(text) => {
                is_reference = false;
                texts.push(Some(text));
            }
            _ => is_reference = false,
        }
        assert!(is_reference || !item.is(crate::flag::WEAK) && item.class().is_none(), "{item:?}");
        assert!(item.class().map_or(true, |class| class.length() > 0), "{item:?}");
        for text in texts.into_iter().flatten() {
            assert!(text.of(document).is_some(), "{text:?} in {} bytes", document.len());
        }
        let owed: u64 = self.open.iter().map(|(left, hash)| left * if *hash { 2 } else { 1 }).sum();
        assert!(owed <= document.len() as u64, "{owed} items are to come in a document of {}", document.len());
    }

    /// Numbers come one after the other.
    fn deal(&mut self, track: Option<u32>, scalar: bool) {
        if let Some(number) = track {
            assert_eq!(number as usize, self.scalars.len());
            self.scalars.push(scalar);
        }
    }

    fn end(&self) {
        assert!(self.begun && self.open.iter().all(|(left, _)| *left == 0), "something is missing");
    }
}
