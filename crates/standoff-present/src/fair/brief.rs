//! The table of accuracies for the terminal, short where there are many groups.

use crate::number::plural;
use crate::table::Table;
use standoff_train::fair::comparison::summarise;
use standoff_train::fair::results::Results;

/// With more groups the table of the terminal has the worst ones only.
const SHOWN_GROUPS: usize = 12;

/// With more groups than [`SHOWN_GROUPS`], the worst and the average, and the groups that are worst by any method.
pub(super) fn brief(table: &Table, results: &Results) -> Table {
    let groups = results.group_names.len();
    if groups <= SHOWN_GROUPS {
        return table.clone();
    }
    let measured = summarise(results);
    let least = |g: usize| measured.iter().map(|m| m.groups[g].mean).fold(f64::INFINITY, f64::min);
    let judged = |g: usize| !results.runs.iter().any(|run| run.unjudged.contains(&g));
    let mut order: Vec<usize> = (0..groups).filter(|&g| judged(g)).collect();
    order.sort_by(|&a, &b| least(a).total_cmp(&least(b)));
    order.truncate(SHOWN_GROUPS / 2);
    let rest = groups - order.len();
    let columns: Vec<usize> = [0, 1].into_iter().chain(order.into_iter().map(|g| g + 2)).collect();
    let mut brief = table.only(&columns);
    brief.caption = format!("{}; with --verbose {} more", brief.caption, plural(rest as u64, "group"));
    brief
}
