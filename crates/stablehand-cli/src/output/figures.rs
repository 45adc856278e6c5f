//! Numbers as people read them: counts, sizes, amounts, shares.

pub(crate) use stablehand_core::size::human as bytes;

/// `950`, `1.2k`, `34k`, `3.4M`.
pub(crate) fn short(count: u64) -> String {
    let scaled = |unit: u64, letter: char| {
        let tenths = count / (unit / 10);
        if tenths < 100 {
            format!("{}.{}{letter}", tenths / 10, tenths % 10)
        } else {
            format!("{}{letter}", tenths / 10)
        }
    };
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => scaled(1_000, 'k'),
        1_000_000..1_000_000_000 => scaled(1_000_000, 'M'),
        _ => scaled(1_000_000_000, 'G'),
    }
}

/// `1,204`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `$0.0042`, `$0.12`, `$12.34`, `$1,234`.
pub(crate) fn dollars(amount: f64) -> String {
    match amount {
        _ if amount.abs() >= 1000.0 => format!("${}", grouped(amount.abs().round() as u64)),
        _ if amount != 0.0 && amount.abs() < 0.01 => format!("${amount:.4}"),
        _ => format!("${amount:.2}"),
    }
}

/// `79%`, `0.4%`.
pub(crate) fn percent(rate: f64) -> String {
    let of_hundred = rate * 100.0;
    if of_hundred == 0.0 || of_hundred >= 9.95 {
        format!("{of_hundred:.0}%")
    } else {
        format!("{of_hundred:.1}%")
    }
}

/// A number and the thing, one or many: `1 run`, `1,204 runs`.
pub(crate) fn many(count: u64, thing: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {thing}{s}", grouped(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let shorts: Vec<_> =
            [0, 999, 1_000, 1_234, 34_567, 999_999, 3_400_000, 12_000_000_000].map(short).into();
        assert_eq!(shorts, ["0", "999", "1.0k", "1.2k", "34k", "999k", "3.4M", "12G"]);
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        let amounts = [0.0, 0.0042, 0.5, 12.345, 1234.5].map(dollars);
        assert_eq!(amounts, ["$0.00", "$0.0042", "$0.50", "$12.35", "$1,235"]);
        assert_eq!([0.0, 0.004, 0.79, 1.0].map(percent), ["0%", "0.4%", "79%", "100%"]);
    }
}
