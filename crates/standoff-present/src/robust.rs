//! The result of a robust training for the terminal.

use standoff_train::robust::results::{RobustResult, Share};

use crate::number::{count, duration, short, upper};
use crate::style::{NAME, paint};
use crate::table::{Cell, Table, wrapped};
use crate::view::View;

/// The proven accuracy, the one under attack and the one without.
pub(crate) fn sentence(result: &RobustResult) -> String {
    let RobustResult { eps, pgd, certified, natural, .. } = result;
    if natural.total == 0 {
        return format!("trained for eps {eps}; no test images were given");
    }
    format!(
        "at eps {eps}, {:.2}% of the images are proven safe and {:.2}% resist PGD-40; without an attack {:.2}% are classified \
         correctly. PGD-40 alone overestimates robustness: run `standoff attack`",
        certified.percent(),
        pgd.percent(),
        natural.percent()
    )
}

/// One sentence and the table of accuracies; with `--verbose` the certificate too.
pub fn render(result: &RobustResult, title: &str, view: View) -> String {
    let RobustResult { eps, pgd, certified, natural, .. } = result;
    let width = view.width;
    let mut out = format!("{}\n\n", wrapped(&sentence(result), width));
    if !title.is_empty() {
        out += &format!("{}\n", paint(NAME, &wrapped(title, width)));
    }
    let of =
        |share: &Share| Cell::from([format!("{:.2} %", share.percent()), format!("of {}", count(share.total as u64))]);
    let heads = ["natural".to_owned(), format!("PGD-40 at {eps}"), format!("proven at {eps}")];
    let mut table = Table::new("", "method", heads).with_layers(&["images"]);
    table.row(result.method.clone(), [natural, pgd, certified].map(of));
    out += &table.terminal(width);
    if view.verbose {
        let caption = "certificate of the frozen game on fixed training images: bounds on what x and y could still gain to \
                       first order";
        let mut table = Table::new(caption, "method", ["X at most", "Y at most", "value", "steps", "time"]);
        let [x, y] = [result.x_gap[1], result.y_gap[1]].map(upper);
        let cells = [x, y, short(result.value), count(result.steps), duration(result.seconds)];
        table.row(result.method.clone(), cells);
        out += &format!("\n{}", table.terminal(width));
    }
    out
}
