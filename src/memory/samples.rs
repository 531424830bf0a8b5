//! Memory of samples: processed images on hosts, and sequences sent between ranks.

use super::Amount;
use crate::model::Bytes;

/// An image processed by Qwen2-VL's processor: 1176 numbers (3 colours × 2 frames × 14 × 14) in fp32 per 14×14 patch.
/// `pixels` counts after resizing, at most `max_pixels`.
pub fn processed_image(pixels: u64) -> Bytes {
    const PATCH: u64 = 14 * 14;
    const NUMBERS: u64 = 3 * 2 * PATCH;
    Bytes(i128::from(pixels) * i128::from(NUMBERS * 4) / i128::from(PATCH))
}

/// Memory of `tokens` being sent: identifiers and mask as int64, perhaps an action mask of one byte.
pub fn sent_samples(tokens: u64) -> Amount {
    let bytes = |each: u64| Bytes(i128::from(tokens) * i128::from(each));
    Amount { low: bytes(16), high: bytes(17) }
}

/// Device memory of the sender: the tensors, the bytes of each, and all bytes concatenated (`broadcast_object_list` of
/// `torch/distributed/distributed_c10d.py`, with NCCL on the device).
pub fn sent_on_source(tokens: u64) -> Amount {
    sent_samples(tokens).times(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_grow_with_their_pixels() {
        let mib = |pixels| processed_image(pixels).0 as f64 / Bytes::MIB.0 as f64;
        assert_eq!(mib(4_194_304), 96.0);
        assert_eq!(mib(1_048_576), 24.0);
        assert!((mib(1_605_632) - 36.75).abs() < 0.01);
    }

    #[test]
    fn samples_of_a_ring_are_sent_by_one_rank() {
        // 8,192 samples of 32,768 tokens each, on two rings.
        let tokens = 134_217_728;
        assert_eq!(sent_samples(tokens).low, Bytes(2 << 30));
        assert_eq!(sent_on_source(tokens).low, Bytes(6 << 30));
        let short = sent_on_source(tokens / 8).low;
        assert_eq!(short.gib(), 0.75);
    }
}
