//! A document as one line of text.
//!
//! `[1, "a"]` `{"key": undef}` `\"scalar"` `u"of characters"` `/pattern/modifiers` `Class of {}` `weak [..]`;
//! `2=[]` is a scalar that is tracked as 2, `[2=]` an array that is, `same 2` a reference to it and `alias 2` the scalar
//! in a second place.

use super::read;
use crate::{Item, Kind, Text};

/// The outline of a document that is in order; of another, why it is not.
pub fn outline(document: &[u8]) -> String {
    match read(document) {
        (_, Some(error)) => error.to_string(),
        (items, None) => {
            let mut items = items.iter();
            let text = value(&mut items, document);
            assert!(items.next().is_none(), "more than one item at the top");
            text
        }
    }
}

/// A number that is tracked, as it stands before or in what has it.
pub fn mark(track: Option<u32>) -> String {
    track.map(|number| format!("{number}=")).unwrap_or_default()
}

/// A string, or a pattern, with the letter that says that it is UTF-8.
pub fn quoted(bytes: &[u8], utf8: bool) -> String {
    format!("{}{:?}", if utf8 { "u" } else { "" }, String::from_utf8_lossy(bytes))
}

pub fn real(number: f64) -> String {
    if number.is_nan() {
        format!("nan {:x}", number.to_bits())
    } else {
        format!("{number:?}")
    }
}

fn value(items: &mut std::slice::Iter<'_, Item>, document: &[u8]) -> String {
    let item = items.next().expect("as many items as were promised");
    let quoted = |text: Text| quoted(text.of(document).expect("a range in the document"), text.utf8);
    let mut text = item.key().map(|key| quoted(key) + ": ").unwrap_or_default();
    text += &mark(item.track());
    if item.is(crate::flag::WEAK) {
        text += "weak ";
    }
    if let Some(class) = item.class() {
        text += &format!("{} of ", quoted(class).replace('"', ""));
    }
    let mut parts = |length| (0..length).map(|_| value(items, document)).collect::<Vec<_>>().join(", ");
    text + &match item.kind() {
        Kind::Undefined => "undef".into(),
        Kind::Hole => "hole".into(),
        Kind::Boolean(truth) => truth.to_string(),
        Kind::Signed(number) => number.to_string(),
        Kind::Unsigned(number) => number.to_string(),
        Kind::Real(number) => real(number),
        Kind::Text(text) => quoted(text),
        Kind::Reference => format!("\\{}", parts(1)),
        Kind::Array { length, track } => format!("[{}{}]", mark(track), parts(length)),
        Kind::Hash { length, track } => format!("{{{}{}}}", mark(track), parts(length)),
        Kind::Regexp { pattern, modifiers, track } => {
            format!("/{}{}/{}", mark(track), quoted(pattern), quoted(modifiers)).replace('"', "")
        }
        Kind::Same(number) => format!("same {number}"),
        Kind::Alias(number) => format!("alias {number}"),
    }
}
