//! Decodes UTF-16, as PowerShell's `>` writes it, to UTF-8. Invalid units become U+FFFD.

use std::io::{self, Cursor, Read};

/// Bytes decoded at a time.
const CHUNK: usize = 8 << 10;

/// Byte order, by the mark at the beginning of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    /// Bytes of the mark.
    pub const MARK: u64 = 2;

    /// The order of a text that begins with `head`; `None` if it is not UTF-16.
    pub fn of(head: &[u8]) -> Option<Order> {
        match head {
            [0xff, 0xfe, ..] => Some(Order::Little),
            [0xfe, 0xff, ..] => Some(Order::Big),
            _ => None,
        }
    }
}

/// A stream of UTF-16 without its mark, decoded to UTF-8.
pub(super) struct Decoded<R> {
    stream: R,
    order: Order,
    /// Bytes of an incomplete character.
    rest: Vec<u8>,
    text: Cursor<Vec<u8>>,
}

impl<R: Read> Decoded<R> {
    pub fn new(stream: R, order: Order) -> Decoded<R> {
        Decoded { stream, order, rest: Vec::new(), text: Cursor::default() }
    }

    /// Decodes the next chunk; returns whether nothing is left.
    fn decode(&mut self) -> io::Result<bool> {
        let mut chunk = [0; CHUNK];
        let read = self.stream.read(&mut chunk)?;
        self.rest.extend_from_slice(&chunk[..read]);
        let unit = |pair: &[u8; 2]| match self.order {
            Order::Little => u16::from_le_bytes(*pair),
            Order::Big => u16::from_be_bytes(*pair),
        };
        let mut units: Vec<u16> = self.rest.as_chunks().0.iter().map(unit).collect();
        if let (Some(0xd800..=0xdbff), true) = (units.last(), read > 0) {
            units.pop();
        }
        self.rest.drain(..2 * units.len());
        let decoded = char::decode_utf16(units).map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER));
        let mut text: String = decoded.collect();
        if read == 0 && !self.rest.is_empty() {
            self.rest.clear();
            text.push(char::REPLACEMENT_CHARACTER);
        }
        let is_end = read == 0 && text.is_empty();
        self.text = Cursor::new(text.into_bytes());
        Ok(is_end)
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.text.read(buffer)?;
            if read > 0 || buffer.is_empty() || self.decode()? {
                return Ok(read);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out so many bytes at a time.
    struct Slowly<'a>(&'a [u8], usize);

    impl Read for Slowly<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = self.1.min(buffer.len());
            self.0.read(&mut buffer[..most])
        }
    }

    fn bytes(units: &[u16], order: Order) -> Vec<u8> {
        let pair = |unit: &u16| if order == Order::Big { unit.to_be_bytes() } else { unit.to_le_bytes() };
        units.iter().flat_map(pair).collect()
    }

    fn read(bytes: &[u8], order: Order, at_a_time: usize) -> io::Result<String> {
        let mut text = String::new();
        Decoded::new(Slowly(bytes, at_a_time), order).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn reads_either_order_wherever_it_is_cut() -> io::Result<()> {
        let words = "显存不足 CUDA out of memory 🧨\n".repeat(700);
        let units: Vec<u16> = words.encode_utf16().collect();
        for order in [Order::Little, Order::Big] {
            for at_a_time in [1, 3, 7, CHUNK - 1, usize::MAX] {
                assert_eq!(read(&bytes(&units, order), order, at_a_time)?, words, "{order:?}, {at_a_time}");
            }
        }
        Ok(())
    }

    #[test]
    fn what_is_torn_is_replaced() -> io::Result<()> {
        let mut torn = bytes(&[0x61, 0xd83e, 0x62, 0xdde8, 0xd83e], Order::Little);
        torn.push(0x63);
        for at_a_time in [1, 2, 3, usize::MAX] {
            assert_eq!(read(&torn, Order::Little, at_a_time)?, "a\u{fffd}b\u{fffd}\u{fffd}\u{fffd}".to_owned());
        }
        Ok(())
    }
}
