//! The axis: where its marks stand and what is written at them.

/// Steps between two marks within a second, in milliseconds.
const MILLISECONDS: [u64; 9] = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/// Longer steps, in seconds.
const SECONDS: [u64; 20] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200,
    86_400, 172_800, 432_000,
];

/// Returns the smallest step, in milliseconds, with no more than `most` marks.
pub fn step(length_ms: u64, most: usize) -> u64 {
    let least = length_ms.div_ceil(most.max(1) as u64).max(1);
    let longest = SECONDS[SECONDS.len() - 1] * 1000;
    let mut steps = MILLISECONDS.into_iter().chain(SECONDS.map(|seconds| seconds * 1000));
    steps.find(|step| *step >= least).unwrap_or(least.div_ceil(longest) * longest)
}

/// Returns what is written at a mark, given the step: no more than is needed.
pub fn label(ms: u64, step: u64) -> String {
    let (s, rest) = (ms / 1000, ms % 1000);
    if ms == 0 {
        return "0".into();
    }
    if step < 1_000 && s < 60 {
        return match (s, step) {
            (0, _) => format!("{rest}ms"),
            (_, 100..) => format!("{s}.{}s", rest / 100),
            (_, 10..) => format!("{s}.{:02}s", rest / 10),
            _ => format!("{s}.{rest:03}s"),
        };
    }
    let (m, h, d) = (s / 60, s / 3600, s / 86_400);
    match s {
        0..60 => format!("{s}s"),
        60..3600 if s % 60 == 0 => format!("{m}m"),
        60..3600 => format!("{m}m{:02}s", s % 60),
        3600..86_400 if s % 3600 == 0 => format!("{h}h"),
        3600..86_400 => format!("{h}h{:02}m", m % 60),
        _ if s % 86_400 == 0 => format!("{d}d"),
        _ => format!("{d}d{:02}h", h % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_few() {
        assert_eq!(step(14_626, 8), 2_000);
        assert_eq!(step(0, 8), 1);
        assert_eq!(step(100, 8), 20);
        assert_eq!(step(86_400_000 * 365, 10), 432_000_000 * 8);
        for (ms, step, text) in [
            (0, 1, "0"),
            (40, 20, "40ms"),
            (1_500, 500, "1.5s"),
            (1_020, 20, "1.02s"),
            (2_000, 2_000, "2s"),
            (150_000, 30_000, "2m30s"),
            (7_200_000, 3_600_000, "2h"),
            (5_400_000, 1_800_000, "1h30m"),
            (129_600_000, 43_200_000, "1d12h"),
        ] {
            assert_eq!(label(ms, step), text);
        }
    }
}
