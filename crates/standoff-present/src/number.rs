//! Numbers as text.

pub use standoff_train::number::{count, duration, lower, plural, short, upper, vector};

/// An accuracy eps: `1e-3` rather than `0.001`.
pub fn eps(eps: f64) -> String {
    let plain = format!("{eps:e}");
    if (0.001..100.0).contains(&eps) && !plain.starts_with("1e") { format!("{eps}") } else { plain }
}

/// A share of 1 in percent with two decimals.
pub fn percent(share: f64) -> String {
    if share.is_nan() { "-".to_owned() } else { format!("{:.2}", 100.0 * share) }
}
