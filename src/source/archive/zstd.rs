//! RFC 8878. A file is any number of frames, as `pzstd` and appending loggers write them, with skippable ones between.

use std::io::{self, Chain, Cursor, Read};
use std::mem;

use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// Section 3.1.1.
pub(super) const MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The magic number, which was read before the rest.
type Packed<R> = Chain<Cursor<[u8; 4]>, R>;

/// All frames of a stream as one.
pub(super) enum Frames<R: Read> {
    /// Before a frame, with the decoder of the last one: its buffers are used again.
    Between(R, FrameDecoder),
    Within(StreamingDecoder<Packed<R>, FrameDecoder>),
    /// At the end, or behind an error.
    Done,
}

impl<R: Read> Frames<R> {
    pub fn new(packed: R) -> Frames<R> {
        Frames::Between(packed, FrameDecoder::new())
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match mem::replace(self, Frames::Done) {
                Frames::Done => return Ok(0),
                Frames::Between(mut packed, decoder) => {
                    let Some(magic) = next_frame(&mut packed)? else { return Ok(0) };
                    let packed = Cursor::new(magic).chain(packed);
                    let frame = StreamingDecoder::new_with_decoder(packed, decoder).map_err(io::Error::other)?;
                    *self = Frames::Within(frame);
                }
                Frames::Within(mut frame) => {
                    let read = frame.read(buffer)?;
                    if read > 0 || buffer.is_empty() {
                        *self = Frames::Within(frame);
                        return Ok(read);
                    }
                    let (packed, decoder) = frame.into_parts();
                    *self = Frames::Between(packed.into_inner().1, decoder);
                }
            }
        }
    }
}

/// The magic number of the next frame that holds something, behind skippable ones (section 3.1.2): their number, their
/// length, so many bytes. `None` at the end.
fn next_frame(packed: &mut impl Read) -> io::Result<Option<[u8; 4]>> {
    loop {
        let mut magic = [0; 4];
        if packed.read(&mut magic[..1])? == 0 {
            return Ok(None);
        }
        packed.read_exact(&mut magic[1..])?;
        let [0x50..=0x5f, 0x2a, 0x4d, 0x18] = magic else { return Ok(Some(magic)) };
        let mut length = [0; 4];
        packed.read_exact(&mut length)?;
        io::copy(&mut packed.take(u32::from_le_bytes(length).into()), &mut io::sink())?;
    }
}
