//! Medians, and ratios that are taken inside a round before anything is averaged.

/// The value below which the share `p` (0 to 1) of the samples lies; 0 where there is none.
pub fn percentile(samples: &[f64], p: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * p).round() as usize).copied().unwrap_or_default()
}

/// The median.
pub fn median(samples: &[f64]) -> f64 {
    percentile(samples, 0.5)
}

/// Two tools' samples, paired by round: the quotients of each round. Whatever load disturbs a round
/// disturbs both, so the quotient is steadier than either.
pub fn ratios(numerator: &[f64], denominator: &[f64]) -> Vec<f64> {
    numerator.iter().zip(denominator).map(|(n, d)| n / d).collect()
}

/// `0.61 (0.55–0.70)`: the median, and the range over all rounds.
pub fn spread(samples: &[f64]) -> String {
    let (low, high) = (percentile(samples, 0.0), percentile(samples, 1.0));
    format!("{:.2} ({low:.2}–{high:.2})", median(samples))
}
