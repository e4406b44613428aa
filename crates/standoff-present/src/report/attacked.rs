//! `standoff attack` on the page: the accuracy after each attack against eps, and pictures of misclassified images.

use crate::attack::picture;
use crate::attack::result::AttackResult;
use crate::attack::table::{accuracies, sentence, warnings};
use crate::chart::{Axis, Chart, End, Join, Line, LineStyle};
use crate::page;

/// The configuration of the evaluation.
pub(super) fn facts(result: &AttackResult) -> Vec<(String, String)> {
    let mut facts: Vec<(&str, String)> = vec![
        ("model", result.model.clone()),
        ("images", result.images.clone()),
        ("protocol", result.protocol.clone()),
        ("norm", result.norm.clone()),
        ("grid", result.grid.clone()),
        ("chained", if result.chained { "yes" } else { "no" }.to_owned()),
        ("seed", result.seed.to_string()),
    ];
    facts.extend(result.seconds.map(|s| ("seconds", format!("{s:.1}"))));
    facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The section.
pub(super) fn render(out: &mut String, result: &AttackResult, png: Option<&[u8]>) {
    result.budgets.iter().for_each(|budget| page::paragraph(out, "answer", &sentence(result, budget)));
    accuracies(result).html(out);
    warnings(result).iter().for_each(|warning| page::paragraph(out, "soft", warning));
    // One eps is one point of each line: the table says it better.
    if result.budgets.len() > 1 {
        let lines = if result.chained { "Each line is what all attacks so far leave" } else { "Each attack alone" };
        out.push_str("<div class=\"figures\">\n");
        page::figure(out, chart(result), &format!("{lines}; all attacks together (worst case); the proven accuracy."));
        out.push_str("</div>\n");
    }
    if let Some(png) = png {
        let classes = picture::captions(png).map(|text| format!(" Class and prediction by column: {text}."));
        let caption = format!(
            "Above the original image, then the change (red is brighter, blue darker), below the attacked image.{}",
            classes.unwrap_or_default()
        );
        page::picture(out, png, "misclassified images, the changes, and the originals", &caption);
    }
}

fn chart(result: &AttackResult) -> Chart {
    let mut chart = Chart::new("accuracy against eps", Axis::linear("eps"), Axis::linear("accuracy in percent"));
    (chart.y.lower, chart.y.upper) = (Some(0.0), Some(100.0));
    for (i, line) in result.names().into_iter().enumerate() {
        chart.lines.push(Line {
            name: line.to_owned(),
            points: result.curve(line),
            look: LineStyle { strong: line == "worst case", ..LineStyle::of(i) },
            join: Join::Marked,
            end: End::Dot,
            ..Line::default()
        });
    }
    chart
}
