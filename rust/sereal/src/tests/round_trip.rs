//! What was written is what is read, whatever it is.

use crate::testing::outline::{mark, outline, quoted, real};
use crate::testing::promises;
use crate::{Reader, Writer};
use proptest::prelude::*;

/// Something to write. What refers to something else names it by a number, of which only the remainder counts.
#[derive(Clone, Debug)]
enum Value {
    Undef,
    Hole,
    Boolean(bool),
    Signed(i64),
    Unsigned(u64),
    Real(f64),
    Text(Vec<u8>, bool),
    /// A string that was written before.
    Copy(usize),
    /// The flags of arrays and hashes: whether what it refers to can be referred to.
    Array(Vec<Value>, bool),
    Hash(Vec<(Vec<u8>, bool, Value)>, bool),
    Reference(Box<Value>),
    Regexp(Vec<u8>, bool, Vec<u8>),
    Same(usize),
    Alias(usize),
    /// An array that is an object.
    Object(Vec<u8>, bool, Vec<Value>),
    /// A reference that is weak, or that was said to be.
    Weak(Box<Value>, bool),
}

fn texts() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..6),
        1 => prop::collection::vec(any::<u8>(), 30..34),
        1 => prop::collection::vec(any::<u8>(), 120..140),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Undef),
        Just(Value::Hole),
        any::<bool>().prop_map(Value::Boolean),
        any::<i64>().prop_map(Value::Signed),
        (-300_i64..300).prop_map(Value::Signed),
        any::<u64>().prop_map(Value::Unsigned),
        prop::num::f64::ANY.prop_map(Value::Real),
        prop::num::f32::ANY.prop_map(|number| Value::Real(number.into())),
        (texts(), any::<bool>()).prop_map(|(text, utf8)| Value::Text(text, utf8)),
        any::<usize>().prop_map(Value::Copy),
        (texts(), any::<bool>(), texts()).prop_map(|(pattern, utf8, flags)| Value::Regexp(pattern, utf8, flags)),
        any::<usize>().prop_map(Value::Same),
        any::<usize>().prop_map(Value::Alias),
    ];
    leaf.prop_recursive(6, 80, 20, |inner| {
        let elements = || prop::collection::vec(inner.clone(), 0..20);
        prop_oneof![
            (elements(), any::<bool>()).prop_map(|(elements, apart)| Value::Array(elements, apart)),
            (prop::collection::vec((texts(), any::<bool>(), inner.clone()), 0..20), any::<bool>())
                .prop_map(|(pairs, apart)| Value::Hash(pairs, apart)),
            inner.clone().prop_map(|inner| Value::Reference(Box::new(inner))),
            (texts(), any::<bool>(), elements())
                .prop_map(|(class, utf8, elements)| Value::Object(class, utf8, elements)),
            (inner.clone(), any::<bool>()).prop_map(|(inner, stays)| Value::Weak(Box::new(inner), stays)),
        ]
    })
}

/// What can be referred to.
struct Thing {
    offset: usize,
    scalar: bool,
    tracked: bool,
}

/// Something that was written, and how the outline says it once all is known.
enum Said {
    Words(String),
    /// The number of a thing, if it has one, where it is defined.
    Mark(usize),
    /// The same, where it is referred to.
    Number(usize),
}

struct Scribe<'a> {
    writer: &'a mut Writer,
    things: Vec<Thing>,
    strings: Vec<(usize, String)>,
    classes: Vec<(usize, Vec<u8>, bool)>,
    said: Vec<Said>,
}

impl Scribe<'_> {
    fn say(&mut self, words: impl Into<String>) {
        self.said.push(Said::Words(words.into()));
    }

    /// Notes that a thing begins here.
    fn thing(&mut self, scalar: bool) {
        self.said.push(Said::Mark(self.things.len()));
        self.things.push(Thing { offset: self.writer.position(), scalar, tracked: false });
    }

    fn string(&mut self, text: &[u8], utf8: bool) {
        self.strings.push((self.writer.position(), quoted(text, utf8)));
        self.writer.text(text, utf8);
        self.say(quoted(text, utf8));
    }

    fn array(&mut self, elements: &[Value], apart: bool) {
        self.say("[");
        if apart {
            self.writer.reference();
            self.thing(false);
        }
        self.writer.array(elements.len(), !apart);
        for (index, element) in elements.iter().enumerate() {
            self.say(if index > 0 { ", " } else { "" });
            self.value(element, false);
        }
        self.say("]");
    }

    /// Writes a value. `prefixed`: something has been said of it already.
    fn value(&mut self, value: &Value, prefixed: bool) {
        match value {
            Value::Alias(pick) => {
                let scalars: Vec<usize> = (0..self.things.len()).filter(|index| self.things[*index].scalar).collect();
                if !prefixed && !scalars.is_empty() {
                    let chosen = scalars[pick % scalars.len()];
                    self.things[chosen].tracked = true;
                    self.writer.alias(self.things[chosen].offset);
                    self.say("alias ");
                    self.said.push(Said::Number(chosen));
                    return;
                }
            }
            Value::Copy(pick) if !prefixed && !self.strings.is_empty() => {
                // The COPY is no string that can be copied.
                let (offset, said) = self.strings[pick % self.strings.len()].clone();
                self.thing(true);
                self.writer.copy(offset);
                self.say(said);
                return;
            }
            _ => {}
        }
        if !prefixed {
            self.thing(true);
        }
        match value {
            Value::Undef | Value::Alias(_) | Value::Copy(_) => {
                self.writer.undef();
                self.say("undef");
            }
            Value::Hole => {
                self.writer.hole();
                self.say("hole");
            }
            Value::Boolean(truth) => {
                self.writer.boolean(*truth);
                self.say(truth.to_string());
            }
            Value::Signed(number) => {
                self.writer.signed(*number);
                self.say(number.to_string());
            }
            Value::Unsigned(number) => {
                self.writer.unsigned(*number);
                self.say(number.to_string());
            }
            Value::Real(number) => {
                self.writer.real(*number);
                self.say(real(*number));
            }
            Value::Text(text, utf8) => self.string(text, *utf8),
            Value::Array(elements, apart) => self.array(elements, *apart),
            Value::Hash(pairs, apart) => {
                self.say("{");
                if *apart {
                    self.writer.reference();
                    self.thing(false);
                }
                self.writer.hash(pairs.len(), !*apart);
                for (index, (key, utf8, value)) in pairs.iter().enumerate() {
                    self.say(if index > 0 { ", " } else { "" });
                    self.string(key, *utf8);
                    self.say(": ");
                    self.value(value, false);
                }
                self.say("}");
            }
            Value::Reference(inner) => {
                self.writer.reference();
                self.say("\\");
                self.value(inner, false);
            }
            Value::Regexp(pattern, utf8, modifiers) => {
                self.writer.reference();
                self.say("/");
                self.thing(false);
                self.writer.regexp(pattern, *utf8, modifiers);
                self.say(format!("{}/{}", quoted(pattern, *utf8), quoted(modifiers, false)).replace('"', ""));
            }
            Value::Same(pick) => {
                let chosen = pick % self.things.len();
                self.things[chosen].tracked = true;
                self.writer.same(self.things[chosen].offset);
                self.say("same ");
                self.said.push(Said::Number(chosen));
            }
            Value::Object(class, utf8, elements) => {
                let class = if class.is_empty() { b"main" } else { &class[..] };
                self.say(format!("{} of ", quoted(class, *utf8)).replace('"', ""));
                let known = self.classes.iter().find(|(_, name, flag)| name == class && flag == utf8);
                match known {
                    Some((offset, ..)) => self.writer.class_again(*offset),
                    None => {
                        self.classes.push((self.writer.position() + 1, class.to_vec(), *utf8));
                        self.writer.class(class, *utf8);
                    }
                }
                self.array(elements, true);
            }
            Value::Weak(inner, stays) => {
                let reference =
                    !matches!(**inner, Value::Weak(..)) && inner.is_reference() && !prefixed && !self.things.is_empty();
                if reference {
                    let offset = self.writer.position();
                    self.writer.weaken();
                    if *stays {
                        self.say("weak ");
                    } else {
                        self.writer.strengthen(offset);
                    }
                }
                self.value(inner, true);
            }
        }
    }

    /// The outline of what was written.
    fn outline(&self) -> String {
        let mut numbers = vec![None; self.things.len()];
        for (number, index) in (0..self.things.len()).filter(|index| self.things[*index].tracked).enumerate() {
            numbers[index] = Some(number as u32);
        }
        let words = self.said.iter().map(|said| match said {
            Said::Words(words) => words.clone(),
            Said::Mark(thing) => mark(numbers[*thing]),
            Said::Number(thing) => numbers[*thing].expect("a number, since it is referred to").to_string(),
        });
        words.collect()
    }
}

impl Value {
    fn is_reference(&self) -> bool {
        use Value::{Array, Hash, Object, Reference, Regexp, Same};
        matches!(self, Array(..) | Hash(..) | Object(..) | Reference(_) | Regexp(..) | Same(_))
    }
}

/// Writes a value; what it says.
fn write(writer: &mut Writer, value: &Value, limit: usize) -> String {
    writer.begin(limit);
    let mut scribe = Scribe { writer, things: vec![], strings: vec![], classes: vec![], said: vec![] };
    scribe.value(value, false);
    scribe.outline()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn what_is_written_is_read(values in prop::collection::vec(values(), 1..4)) {
        let (mut writer, mut reader) = (Writer::new(), Reader::new());
        for value in &values {
            let said = write(&mut writer, value, usize::MAX);
            let document = writer.finish().expect("no limit").to_vec();
            prop_assert_eq!(outline(&document), said);
            prop_assert!(promises::hold(&mut reader, &document).is_ok());
        }
    }

    /// Whatever the limit: the document, or nothing; and the positions are those of the whole document.
    #[test]
    fn a_limit_cuts_nothing_off(value in values(), less in 1_usize..200) {
        let mut writer = Writer::new();
        write(&mut writer, &value, usize::MAX);
        let (whole, position) = (writer.finish().expect("no limit").to_vec(), writer.position());
        write(&mut writer, &value, whole.len());
        prop_assert_eq!(writer.finish(), Some(&whole[..]));
        write(&mut writer, &value, whole.len().saturating_sub(less));
        prop_assert_eq!(writer.finish(), None);
        prop_assert_eq!(writer.position(), position);
    }
}
