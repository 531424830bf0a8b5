//! Measures how far stated confidence agrees with the share of right answers.

/// The confidence of a first diagnosis, 0–1, and whether it was right.
pub type Forecast = (f64, bool);

/// Forecasts within a range of confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// The lower end of the range.
    pub low: f64,
    /// The upper end, excluded; the last range includes 1.
    pub high: f64,
    /// The number of forecasts.
    pub count: usize,
    /// Their mean confidence.
    pub said: f64,
    /// The share of them that is right.
    pub right: f64,
}

/// The mean squared error of `forecasts` (Brier, "Verification of forecasts expressed in terms of probability", 1950):
/// 0 is perfect, 0.25 a coin toss. `None` for no forecasts.
pub fn brier(forecasts: &[Forecast]) -> Option<f64> {
    mean(forecasts.iter().map(|(said, right)| (said - f64::from(*right)).powi(2)))
}

/// The forecasts by tenths of confidence, without empty tenths.
pub fn bins(forecasts: &[Forecast]) -> Vec<Bin> {
    let tenth_of = |said: f64| ((said * 10.0) as usize).min(9);
    (0..10)
        .filter_map(|tenth| {
            let of_bin: Vec<&Forecast> = forecasts.iter().filter(|(said, _)| tenth_of(*said) == tenth).collect();
            Some(Bin {
                low: tenth as f64 / 10.0,
                high: (tenth + 1) as f64 / 10.0,
                count: of_bin.len(),
                said: mean(of_bin.iter().map(|(said, _)| *said))?,
                right: mean(of_bin.iter().map(|(_, right)| f64::from(*right)))?,
            })
        })
        .collect()
}

fn mean(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = numbers.fold((0.0, 0_usize), |(sum, count), number| (sum + number, count + 1));
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_forecasts() {
        assert_eq!(brier(&[]), None);
        assert_eq!(brier(&[(1.0, true), (0.0, false)]), Some(0.0));
        assert_eq!(brier(&[(0.5, true), (1.0, false)]), Some(0.625));
    }

    #[test]
    fn sorts_forecasts_into_tenths() {
        let bins = bins(&[(0.95, true), (1.0, false), (0.31, true)]);
        let shown: Vec<(f64, usize, f64)> = bins.iter().map(|bin| (bin.low, bin.count, bin.right)).collect();
        assert_eq!(shown, [(0.3, 1, 1.0), (0.9, 2, 0.5)]);
        assert!((bins[1].said - 0.975).abs() < 1e-12);
    }
}
