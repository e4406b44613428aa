//! The page: its frame, its style sheet and its scripts.

const FRAME: &str = include_str!("page/play.html");
pub(crate) const STYLE: &str = include_str!("page/play.css");

/// The scripts by their names.
const SCRIPTS: [(&str, &str); 6] = [
    ("play.js", include_str!("page/play.js")),
    ("ask.js", include_str!("page/ask.js")),
    ("plot.js", include_str!("page/plot.js")),
    ("game.js", include_str!("page/game.js")),
    ("digit.js", include_str!("page/digit.js")),
    ("runs.js", include_str!("page/runs.js")),
];

/// The methods that the page begins with.
const FIRST: [&str; 3] = ["auto", "gda", "extragradient"];

pub(crate) fn script(name: &str) -> Option<&'static str> {
    SCRIPTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The page with a choice of methods.
pub(crate) fn html(methods: impl Iterator<Item = &'static str>) -> String {
    let names: Vec<&str> = methods.collect();
    let mut page = FRAME.replace("{version}", env!("CARGO_PKG_VERSION"));
    for (place, first) in FIRST.iter().enumerate() {
        let option = |name: &&str| format!("<option{}>{name}</option>", if name == first { " selected" } else { "" });
        let options: String = names.iter().map(option).collect();
        page = page.replace(&format!("{{methods{place}}}"), &options);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_its_methods_and_nothing_that_its_policy_forbids() {
        let page = html(crate::game::offered());
        assert_eq!(page.matches("<option selected>").count(), 3);
        assert!(!page.contains('{') && !page.contains("style=") && !page.contains("onclick"));
        for text in SCRIPTS.iter().map(|(_, text)| *text).chain([page.as_str(), STYLE]) {
            assert!(!text.contains("https://") && !text.contains("eval(") && !text.contains("innerHTML"));
        }
    }
}
