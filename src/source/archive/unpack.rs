use std::io::{self, BufReader, Read};

use super::{Format, Input, Visit, bzip2, expand, gzip, tar, xz, zip, zstd};

/// Compressed bytes read at a time.
pub(super) const BUFFER: usize = 128 << 10;

/// Hands the contents of `input` to `visit` while unpacking it; returns whether `visit` wants more.
pub(super) fn unpack(input: Input<'_>, format: Format, depth: usize, visit: &mut Visit<'_>) -> io::Result<bool> {
    let (path, bound, size) = (input.path.clone(), input.bound.clone(), input.size);
    let packed = |input| BufReader::with_capacity(BUFFER, input);
    let stream: Box<dyn Read + Send> = match format {
        Format::Tar => return tar::members(input, depth, visit),
        Format::Zip => return zip::members(input, depth, visit),
        Format::Gzip => Box::new(gzip::stream(packed(input))),
        Format::Zstd => Box::new(zstd::stream(packed(input))?),
        Format::Xz => Box::new(xz::stream(packed(input))),
        Format::Bzip2 => Box::new(bzip2::stream(packed(input))),
    };
    bound.add_size(depth, size);
    let inner = Input::packed(&path, bound.limit(stream), bound.clone())?;
    Ok(expand(inner, depth + 1, visit))
}
