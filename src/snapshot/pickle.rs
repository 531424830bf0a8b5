//! Reads Python's pickle format, as far as it is plain data.
//!
//! A pickle is a program for a stack machine, and some of its instructions import and call whatever they name. This
//! machine has none of those: it implements the instructions of protocols 2 to 5 that make numbers, texts, lists,
//! tuples, dictionaries and sets, and refuses any other with its offset. Nothing is ever executed.
//!
//! We have our own reader because PyTorch lets thousands of events share one stack: the crate for pickles (serde-pickle
//! 1.2) takes a list with two references for a recursive one and refuses it. Here shared objects stay shared, lists may
//! contain themselves as in Python, and texts are not copied from the input.

use thiserror::Error;

/// Why a pickle cannot be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PickleError {
    /// It contains an instruction that imports, constructs or calls something.
    #[error(
        "byte {at} ({name}) would import or call code; a memory snapshot is plain data, so nothing of it was read or run"
    )]
    Code {
        /// Offset of the instruction.
        at: usize,
        /// Its name in Python's `pickletools`.
        name: &'static str,
    },
    /// It ends before its end instruction.
    #[error("it ends in the middle, at byte {at}: it was not written to its end, or cut")]
    Cut {
        /// Its length.
        at: usize,
    },
    /// It uses the text protocols 0 or 1, or is not a pickle.
    #[error("byte {at} (0x{code:02x}) is no instruction of pickle's protocols 2 to 5")]
    Unknown {
        /// Offset of the byte.
        at: usize,
        /// The byte.
        code: u8,
    },
    /// An instruction lacks its operands.
    #[error("byte {at}: {problem}")]
    Broken {
        /// Offset of the instruction.
        at: usize,
        /// What is missing.
        problem: &'static str,
    },
    /// It contains more objects than is plausible for its size.
    #[error("byte {at}: more objects than a snapshot of this size holds")]
    Crowded {
        /// Offset of the instruction.
        at: usize,
    },
}

/// A value. Containers are indices into [`Pickle`], so that copies of a value refer to the same object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// `None`, and everything that is not needed for snapshots: bytes, floats, sets, integers of more than 64 bits.
    Other,
    Flag(bool),
    Integer(i64),
    Text(Text),
    /// A list or a tuple.
    List(u32),
    Dict(u32),
}

/// The bytes of a text in the pickle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Text {
    start: u32,
    length: u32,
}

/// All objects of a pickle.
pub struct Pickle<'b> {
    bytes: &'b [u8],
    lists: Vec<Vec<Value>>,
    dicts: Vec<Vec<(Value, Value)>>,
    /// The pickled object.
    pub root: Value,
}

impl<'b> Pickle<'b> {
    /// Reads all of `bytes`, which must be less than 4 GiB.
    pub fn read(bytes: &'b [u8]) -> Result<Pickle<'b>, PickleError> {
        Machine::new(bytes).run()
    }

    /// The items of a list or tuple; empty for anything else.
    pub fn items(&self, value: Value) -> &[Value] {
        match value {
            Value::List(number) => self.lists.get(number as usize).map_or(&[], Vec::as_slice),
            _ => &[],
        }
    }

    /// The pairs of a dictionary in the order in which they were set; empty for anything else.
    pub fn pairs(&self, value: Value) -> &[(Value, Value)] {
        match value {
            Value::Dict(number) => self.dicts.get(number as usize).map_or(&[], Vec::as_slice),
            _ => &[],
        }
    }

    /// The bytes of a text, mostly UTF-8; empty for anything else.
    pub fn text(&self, value: Value) -> &'b [u8] {
        match value {
            Value::Text(Text { start, length }) => {
                let start = start as usize;
                self.bytes.get(start..start + length as usize).unwrap_or_default()
            }
            _ => &[],
        }
    }

    /// The number of objects and of references to them.
    pub fn size(&self) -> usize {
        let items: usize = self.lists.iter().map(Vec::len).sum();
        let pairs: usize = self.dicts.iter().map(Vec::len).sum();
        self.lists.len() + self.dicts.len() + items + 2 * pairs
    }
}

/// An entry of the stack: a value, or the mark at which a container begins.
#[derive(Clone, Copy)]
enum Slot {
    Value(Value),
    Mark,
}

struct Machine<'b> {
    pickle: Pickle<'b>,
    next: usize,
    /// The offset of the current instruction.
    at: usize,
    stack: Vec<Slot>,
    memo: Vec<Value>,
    /// The limit for the values on the stack, in the memo, and in containers, each.
    most: usize,
    /// The number of values in containers, including the containers themselves.
    held: usize,
}

/// The limit is a constant plus one value per two bytes, up to a maximum: a pair of a dictionary takes at least four
/// bytes.
const FEW: usize = 1 << 16;
const BYTES_OF_A_VALUE: usize = 2;
const MANY: usize = 1 << 28;

impl<'b> Machine<'b> {
    fn new(bytes: &'b [u8]) -> Machine<'b> {
        let pickle = Pickle { bytes, lists: Vec::new(), dicts: Vec::new(), root: Value::Other };
        let most = FEW + (bytes.len() / BYTES_OF_A_VALUE).min(MANY);
        Machine { pickle, next: 0, at: 0, stack: Vec::new(), memo: Vec::new(), most, held: 0 }
    }

    fn run(mut self) -> Result<Pickle<'b>, PickleError> {
        loop {
            self.at = self.next;
            let code = self.byte()?;
            if code == b'.' {
                self.pickle.root = self.pop()?;
                return Ok(self.pickle);
            }
            self.step(code)?;
        }
    }

    fn step(&mut self, code: u8) -> Result<(), PickleError> {
        match code {
            // PROTO, FRAME: encoding only.
            0x80 => self.take(1).map(drop),
            0x95 => self.take(8).map(drop),
            // NONE, BINFLOAT
            b'N' => self.push(Value::Other),
            b'G' => self.take(8).and_then(|_| self.push(Value::Other)),
            // NEWTRUE, NEWFALSE
            0x88 => self.push(Value::Flag(true)),
            0x89 => self.push(Value::Flag(false)),
            // BININT, BININT1, BININT2, LONG1, LONG4
            b'J' => {
                let number = self.number(4)? as u32;
                self.push(Value::Integer(i64::from(number.cast_signed())))
            }
            b'K' => self.number(1).and_then(|number| self.push(Value::Integer(number as i64))),
            b'M' => self.number(2).and_then(|number| self.push(Value::Integer(number as i64))),
            0x8a => self.number(1).and_then(|length| self.long(length)),
            0x8b => self.number(4).and_then(|length| self.long(length)),
            // SHORT_BINUNICODE, BINUNICODE, BINUNICODE8, and Python 2's SHORT_BINSTRING, BINSTRING
            0x8c | b'U' => self.number(1).and_then(|length| self.text(length)),
            b'X' | b'T' => self.number(4).and_then(|length| self.text(length)),
            0x8d => self.number(8).and_then(|length| self.text(length)),
            // SHORT_BINBYTES, BINBYTES, BINBYTES8, BYTEARRAY8
            b'C' => self.number(1).and_then(|length| self.skip(length)),
            b'B' => self.number(4).and_then(|length| self.skip(length)),
            0x8e | 0x96 => self.number(8).and_then(|length| self.skip(length)),
            b'(' => self.put(Slot::Mark),
            // POP, POP_MARK, DUP
            b'0' => self.stack.pop().map(drop).ok_or_else(|| self.broken("nothing to take away")),
            b'1' => self.since_mark().map(drop),
            b'2' => {
                let top = self.pop()?;
                self.push(top)?;
                self.push(top)
            }
            // EMPTY_LIST, EMPTY_TUPLE, EMPTY_SET, LIST, TUPLE, FROZENSET: the items of sets are not needed.
            b']' | b')' | 0x8f => self.list(Vec::new()),
            b'l' | b't' | 0x91 => self.since_mark().and_then(|items| self.list(items)),
            // TUPLE1, TUPLE2, TUPLE3
            0x85..=0x87 => {
                let count = usize::from(code - 0x84);
                let mut items = (0..count).map(|_| self.pop()).collect::<Result<Vec<Value>, PickleError>>()?;
                items.reverse();
                self.list(items)
            }
            // APPEND, APPENDS, ADDITEMS
            b'a' => self.pop().and_then(|item| self.append(&[item])),
            b'e' | 0x90 => self.since_mark().and_then(|items| self.append(&items)),
            // EMPTY_DICT, DICT
            b'}' => self.dict(Vec::new()),
            b'd' => self.since_mark().and_then(|items| self.paired(&items)).and_then(|pairs| self.dict(pairs)),
            // SETITEM, SETITEMS
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set(&[(key, value)])
            }
            b'u' => self.since_mark().and_then(|items| self.paired(&items)).and_then(|pairs| self.set(&pairs)),
            // BINPUT, LONG_BINPUT, MEMOIZE
            b'q' => self.number(1).and_then(|place| self.remember(place)),
            b'r' => self.number(4).and_then(|place| self.remember(place)),
            0x94 => self.remember(self.memo.len() as u64),
            // BINGET, LONG_BINGET
            b'h' => self.number(1).and_then(|place| self.recall(place)),
            b'j' => self.number(4).and_then(|place| self.recall(place)),
            code => Err(match refused(code) {
                Some(name) => PickleError::Code { at: self.at, name },
                None => PickleError::Unknown { at: self.at, code },
            }),
        }
    }

    fn broken(&self, problem: &'static str) -> PickleError {
        PickleError::Broken { at: self.at, problem }
    }

    fn byte(&mut self) -> Result<u8, PickleError> {
        self.take(1).map(|bytes| bytes.first().copied().unwrap_or_default())
    }

    /// The next `length` bytes.
    fn take(&mut self, length: usize) -> Result<&'b [u8], PickleError> {
        let end = self.next.checked_add(length).filter(|end| *end <= self.pickle.bytes.len());
        let end = end.ok_or(PickleError::Cut { at: self.pickle.bytes.len() })?;
        Ok(&self.pickle.bytes[std::mem::replace(&mut self.next, end)..end])
    }

    /// An unsigned little-endian number of `length` bytes.
    fn number(&mut self, length: usize) -> Result<u64, PickleError> {
        Ok(self.take(length)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn take_long(&mut self, length: u64) -> Result<&'b [u8], PickleError> {
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// A signed little-endian number of any length.
    fn long(&mut self, length: u64) -> Result<(), PickleError> {
        let bytes = self.take_long(length)?;
        let fill = if bytes.last().is_some_and(|high| high & 0x80 != 0) { 0xff } else { 0 };
        let mut number = [fill; 8];
        let value = if bytes.len() <= number.len() {
            number[..bytes.len()].copy_from_slice(bytes);
            Value::Integer(i64::from_le_bytes(number))
        } else {
            Value::Other
        };
        self.push(value)
    }

    fn text(&mut self, length: u64) -> Result<(), PickleError> {
        let start = self.next;
        let length = self.take_long(length)?.len();
        // Offsets fit in 32 bits, since a pickle has less than 4 GiB.
        let text = u32::try_from(start).ok().zip(u32::try_from(length).ok());
        self.push(text.map_or(Value::Other, |(start, length)| Value::Text(Text { start, length })))
    }

    fn skip(&mut self, length: u64) -> Result<(), PickleError> {
        self.take_long(length)?;
        self.push(Value::Other)
    }

    /// Accounts for `count` more values in containers.
    fn hold(&mut self, count: usize) -> Result<(), PickleError> {
        self.held += count;
        if self.held > self.most { Err(PickleError::Crowded { at: self.at }) } else { Ok(()) }
    }

    fn put(&mut self, slot: Slot) -> Result<(), PickleError> {
        if self.stack.len() >= self.most {
            return Err(PickleError::Crowded { at: self.at });
        }
        self.stack.push(slot);
        Ok(())
    }

    fn push(&mut self, value: Value) -> Result<(), PickleError> {
        self.put(Slot::Value(value))
    }

    fn pop(&mut self) -> Result<Value, PickleError> {
        match self.stack.pop() {
            Some(Slot::Value(value)) => Ok(value),
            Some(Slot::Mark) | None => Err(self.broken("a value is missing")),
        }
    }

    /// Pops everything since the last mark.
    fn since_mark(&mut self) -> Result<Vec<Value>, PickleError> {
        let mark = self.stack.iter().rposition(|slot| matches!(slot, Slot::Mark));
        let mark = mark.ok_or_else(|| self.broken("nothing was begun"))?;
        let values = self.stack.drain(mark..).filter_map(|slot| match slot {
            Slot::Value(value) => Some(value),
            Slot::Mark => None,
        });
        Ok(values.collect())
    }

    fn paired(&self, items: &[Value]) -> Result<Vec<(Value, Value)>, PickleError> {
        let (pairs, rest) = items.as_chunks::<2>();
        match rest {
            [] => Ok(pairs.iter().map(|[key, value]| (*key, *value)).collect()),
            _ => Err(self.broken("a key has no value")),
        }
    }

    fn list(&mut self, items: Vec<Value>) -> Result<(), PickleError> {
        self.hold(1 + items.len())?;
        let number = self.pickle.lists.len() as u32;
        self.pickle.lists.push(items);
        self.push(Value::List(number))
    }

    fn dict(&mut self, pairs: Vec<(Value, Value)>) -> Result<(), PickleError> {
        self.hold(1 + 2 * pairs.len())?;
        let number = self.pickle.dicts.len() as u32;
        self.pickle.dicts.push(pairs);
        self.push(Value::Dict(number))
    }

    /// The top value, without popping it.
    fn top(&self) -> Result<Value, PickleError> {
        match self.stack.last() {
            Some(Slot::Value(value)) => Ok(*value),
            Some(Slot::Mark) | None => Err(self.broken("a value is missing")),
        }
    }

    fn append(&mut self, items: &[Value]) -> Result<(), PickleError> {
        self.hold(items.len())?;
        match self.top()? {
            Value::List(number) => self.pickle.lists[number as usize].extend_from_slice(items),
            _ => return Err(self.broken("items are added to what is no list")),
        }
        Ok(())
    }

    fn set(&mut self, pairs: &[(Value, Value)]) -> Result<(), PickleError> {
        self.hold(2 * pairs.len())?;
        match self.top()? {
            Value::Dict(number) => self.pickle.dicts[number as usize].extend_from_slice(pairs),
            _ => return Err(self.broken("keys are set in what is no dictionary")),
        }
        Ok(())
    }

    /// Memoised values are numbered consecutively by every writer.
    fn remember(&mut self, place: u64) -> Result<(), PickleError> {
        let value = self.top()?;
        match usize::try_from(place).unwrap_or(usize::MAX) {
            known if known < self.memo.len() => self.memo[known] = value,
            next if next == self.memo.len() && next < self.most => self.memo.push(value),
            next if next == self.memo.len() => return Err(PickleError::Crowded { at: self.at }),
            _ => return Err(self.broken("something is memoised out of order")),
        }
        Ok(())
    }

    fn recall(&mut self, place: u64) -> Result<(), PickleError> {
        let known = usize::try_from(place).ok().and_then(|place| self.memo.get(place)).copied();
        known
            .ok_or_else(|| self.broken("it refers to something that it did not memoise"))
            .and_then(|value| self.push(value))
    }
}

/// The name of an instruction that would run code, or take objects from outside of the file.
fn refused(code: u8) -> Option<&'static str> {
    Some(match code {
        b'c' => "GLOBAL",
        0x93 => "STACK_GLOBAL",
        b'R' => "REDUCE",
        b'b' => "BUILD",
        b'i' => "INST",
        b'o' => "OBJ",
        0x81 => "NEWOBJ",
        0x92 => "NEWOBJ_EX",
        0x82 => "EXT1",
        0x83 => "EXT2",
        0x84 => "EXT4",
        b'P' => "PERSID",
        b'Q' => "BINPERSID",
        0x97 => "NEXT_BUFFER",
        0x98 => "READONLY_BUFFER",
        _ => return None,
    })
}
