//! `standoff report`: run folders as one page that needs nothing but itself.

mod attacked;
mod compare;
mod confusion;
mod fair;

mod load;
mod robust;
mod traced;
mod track;

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::Result;
use crate::chart::escape;
use crate::number::plural;
use crate::page;
use load::{LoadedRun, RunKind};
use standoff_train::fair::record::FairRecord;

/// A page, and notes for the user.
#[derive(Debug)]
pub struct Page {
    /// The whole file.
    pub html: String,
    /// Missing or damaged files, run by run.
    pub notes: Vec<String>,
}

/// The page of these run folders.
pub fn make(folders: &[PathBuf], title: Option<&str>) -> Result<Page> {
    let mut runs: Vec<LoadedRun> = folders.iter().map(|folder| LoadedRun::read(folder)).collect::<Result<_>>()?;
    distinguish(&mut runs);
    let usual = match &runs[..] {
        [run] if !run.title().is_empty() => run.title().to_owned(),
        [run] => run.name.clone(),
        several => plural(several.len() as u64, "run"),
    };
    let title = title.unwrap_or(&usual);
    let mut body = String::new();
    let _ = writeln!(body, "<h1>{}</h1>", escape(title));
    let made = format!("Written by standoff {}. Click a heading to sort; hover for values.", env!("CARGO_PKG_VERSION"));
    page::paragraph(&mut body, "soft", &made);
    let compared = compare::section(&runs);
    contents(&mut body, &runs, !compared.is_empty());
    body.push_str(&compared);
    for (i, run) in runs.iter().enumerate() {
        section(&mut body, i, run, runs.len() > 1);
    }
    if runs.iter().any(comparable_to_table_3) {
        body.push_str("<section><h2>The paper</h2>\n");
        robust::paper(&mut body);
        body.push_str("</section>\n");
    }
    let notes = runs.iter().flat_map(|run| run.notes.iter().map(|note| format!("{}: {note}", run.name))).collect();
    Ok(Page { html: page::page(title, &body), notes })
}

/// True for runs of MNIST with changes of each pixel, as in Table 3 of the paper.
fn comparable_to_table_3(run: &LoadedRun) -> bool {
    let digits = |data: &str| data.to_lowercase().contains("mnist") && !data.to_lowercase().contains("fashion");
    match &run.kind {
        RunKind::Robust { .. } => run.config.get("data").and_then(toml::Value::as_str).is_some_and(digits),
        RunKind::Attack { report, .. } => report.norm == "linf" && digits(&report.images),
        _ => false,
    }
}

/// Folders of the same name in different places are called by their paths.
fn distinguish(runs: &mut [LoadedRun]) {
    let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
    for run in runs {
        if names.iter().filter(|name| **name == run.name).count() > 1 {
            run.name.clone_from(&run.path);
        }
    }
}

fn contents(out: &mut String, runs: &[LoadedRun], compared: bool) {
    if runs.len() < 2 {
        return;
    }
    out.push_str("<nav><ol>\n");
    if compared {
        out.push_str("<li><a href=\"#compared\">Side by side</a></li>\n");
    }
    for (i, run) in runs.iter().enumerate() {
        let what = if run.title().is_empty() { run.command() } else { run.title() };
        let (name, what) = (escape(&run.name), escape(what));
        let _ = writeln!(out, "<li><a href=\"#run-{i}\">{name}</a> <span class=\"soft\">{what}</span></li>");
    }
    out.push_str("</ol></nav>\n");
}

/// A run. With several runs its title is below its name, not above the page.
fn section(out: &mut String, i: usize, run: &LoadedRun, several: bool) {
    let _ = writeln!(out, "<section class=\"run\" id=\"run-{i}\">");
    // A single run without a title has its name above the page.
    if several || !run.title().is_empty() {
        let _ = writeln!(out, "<h2>{}</h2>", escape(&run.name));
    }
    if several && !run.title().is_empty() {
        page::paragraph(out, "", run.title());
    }
    let _ = writeln!(out, "<p class=\"soft\">{}, kept in <code>{}</code></p>", run.command(), escape(&run.path));
    if !run.notes.is_empty() {
        out.push_str("<div class=\"notes\">\n");
        run.notes.iter().for_each(|note| page::paragraph(out, "", note));
        out.push_str("</div>\n");
    }
    let mut facts: Vec<(String, String)> = run
        .config
        .iter()
        .filter(|(key, _)| *key != "paper" && *key != "title")
        .map(|(key, value)| (key.clone(), value.to_string()))
        .collect();
    match &run.kind {
        RunKind::Fair(FairRecord { results, runs: tracks }) => fair::render(out, results, tracks),
        RunKind::Robust { result, track } => {
            if let Some(result) = result {
                page::paragraph(out, "answer", &crate::robust::sentence(result));
                robust::verdicts(out, &[(&run.name, result)]);
            }
            robust::figures(out, &[(&run.name, track)]);
        }
        RunKind::Trace(trace) => trace.render(out, &run.name),
        RunKind::Race(race) => crate::race::page::section(out, race),
        RunKind::Attack { report, picture } => {
            attacked::render(out, report, picture.as_deref());
            facts.extend(attacked::facts(report));
        }
    }
    listed(out, "Configuration", &facts);
    let machine: Vec<_> = run.machine.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
    listed(out, "Machine", &machine);
    out.push_str("</section>\n");
}

/// Keys and values below a heading; nothing without any.
fn listed(out: &mut String, heading: &str, facts: &[(String, String)]) {
    if facts.is_empty() {
        return;
    }
    page::heading(out, heading);
    out.push_str("<dl class=\"config\">\n");
    for (key, value) in facts {
        let _ = writeln!(out, "<div><dt>{}</dt><dd>{}</dd></div>", escape(key), escape(value));
    }
    out.push_str("</dl>\n");
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use standoff_train::fair::examples::example;

    const METRICS: &str = concat!(
        r#"{"step":0,"losses":[1.5,2.5,null],"weights":[1,0,0],"value":2.5,"x_gap":[1,1.5],"y_gap":[0,0],"gradients":0,"seconds":0}"#,
        "\n",
        r#"{"step":9,"losses":[0.5,0.75,0.25],"weights":[0,1,0],"value":0.75,"x_gap":[0.1,0.2],"y_gap":[0,0.01],"correct":[700,800,600],"gradients":18,"seconds":1}"#,
        "\n",
    );

    /// A finished experiment, with names that would be markup.
    fn experiment(folder: &Path) {
        let mut results = example();
        results.group_names[1] = "<b>\"Coat\" & co</b>".to_owned();
        results.runs[0].confusion = vec![vec![[0, 0, 850], [0, 1, 150]], vec![[1, 1, 840]], vec![[2, 2, 660]]];
        results.save(folder).expect("saved");
        let config = "title = \"Table <1>\"\nmethods = [\"normal\", \"minmax\", \"minmax-reg\"]\nbatch = 600\n";
        fs::write(folder.join("config.toml"), config).expect("written");
        for name in ["normal-seed-1", "minmax-seed-1", "minmax-reg-0.1-seed-1"] {
            let run = folder.join(name);
            fs::create_dir(&run).expect("made");
            fs::write(run.join("metrics.jsonl"), METRICS).expect("written");
            fs::write(run.join("epochs.csv"), "epoch,a,b,c\n1,0.5,2,1\n2,0.25,1,0.5\n").expect("written");
        }
    }

    fn page(folders: &[&Path]) -> Page {
        let folders: Vec<PathBuf> = folders.iter().map(|folder| folder.to_path_buf()).collect();
        make(&folders, None).expect("a page")
    }

    /// Every element is closed in the order in which it was opened, and every attribute is quoted.
    fn well_formed(html: &str) {
        const VOID: [&str; 3] = ["meta", "img", "!doctype"];
        let (mut open, mut rest): (Vec<&str>, &str) = (Vec::new(), html);
        while let Some(at) = rest.find('<') {
            let end = at + rest[at..].find('>').expect("a tag ends");
            let tag = &rest[at + 1..end];
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            rest = &rest[end + 1..];
            let name = tag.split([' ', '/']).find(|part| !part.is_empty()).unwrap_or("");
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name), "before {}", &rest[..rest.len().min(80)]);
            } else if !tag.ends_with('/') && !VOID.contains(&name) {
                open.push(name);
            }
            if !tag.starts_with('/') && (name == "script" || name == "style") {
                rest = &rest[rest.find("</").expect("it is closed")..];
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }

    /// Nothing of the page is loaded from anywhere: addresses are places in it, data, or names of XML.
    fn alone(html: &str) {
        for attribute in ["src=\"", "href=\"", "url("] {
            for (at, _) in html.match_indices(attribute) {
                let target = &html[at + attribute.len()..][..12];
                assert!(target.starts_with('#') || target.starts_with("data:image/"), "{target}");
            }
        }
        let outside = html.replace("http://www.w3.org/2000/svg", "");
        assert!(!outside.contains("http:") && !outside.contains("https:") && !outside.contains("@import"));
    }

    #[test]
    fn the_page_is_well_formed_needs_nothing_and_has_the_numbers_of_the_tables() {
        let folder = tempfile::tempdir().expect("a folder");
        experiment(folder.path());
        let page = page(&[folder.path()]);
        assert_eq!(page.notes, [""; 0]);
        well_formed(&page.html);
        alone(&page.html);
        // A mean with its deviation, the paper's beside it, a paired difference, a share of a confusion matrix, a key.
        for text in ["850.00 / 10.00", "850.72 / 8.58", "+98.33", ">85.0<small>850<", "<dt>batch</dt><dd>600</dd>"] {
            assert!(page.html.contains(text), "no {text}");
        }
        for title in ["training loss of the worst group", "X against gradients", "minmax-reg 0.1: weight of each group"]
        {
            assert!(page.html.contains(&format!(">{title}</text>")), "no {title}");
        }
        assert!(page.html.contains("&lt;b&gt;&quot;Coat&quot; &amp; co&lt;/b&gt;") && !page.html.contains("<b>\"Coat"));
        // The script contains `isNaN`.
        let (body, _) = page.html.split_once("<script>").expect("a script");
        assert!(!body.contains("NaN"));
    }

    #[test]
    fn an_unfinished_or_damaged_run_is_shown_as_far_as_it_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        experiment(folder.path());
        let own = |name: &str| folder.path().join(name);
        fs::write(own("results.json"), "{\"group_names\": [").expect("written");
        let run = serde_json::to_string(&example().runs[0]).expect("JSON");
        fs::write(own("normal-seed-1/result.json"), run).expect("written");
        fs::write(own("minmax-seed-1/result.json"), "{}").expect("written");
        fs::write(own("minmax-seed-1/metrics.jsonl"), &METRICS[..METRICS.len() - 40]).expect("written");
        fs::remove_file(own("minmax-reg-0.1-seed-1/metrics.jsonl")).expect("removed");
        fs::write(own("minmax-reg-0.1-seed-1/epochs.csv"), [0xff, 0, b'\n']).expect("written");
        let page = page(&[folder.path()]);
        well_formed(&page.html);
        let notes = page.notes.join("\n");
        for text in
            ["results.json is damaged", "1 of its 3 runs", "1 of 2 lines", "no metrics.jsonl", "result.json is damaged"]
        {
            assert!(notes.contains(text), "no {text} in {notes}");
            assert!(page.html.contains(text), "no {text} on the page");
        }
        assert!(page.html.contains(">850<"), "the finished run is in the table");
    }

    #[test]
    fn what_is_no_run_is_refused_and_says_what_is_wanted() {
        let folder = tempfile::tempdir().expect("a folder");
        let refusal = |path: &Path| make(&[path.to_owned()], None).expect_err("refused").to_string();
        assert!(refusal(folder.path()).contains("is no run"));
        assert!(refusal(&folder.path().join("none")).contains("no folder"));
        fs::write(folder.path().join("results.json"), "[1, 2").expect("written");
        assert!(refusal(folder.path()).contains("results.json is damaged"));
        assert!(refusal(&folder.path().join("results.json")).contains("results.json is damaged"), "a file of the run");
        fs::write(folder.path().join("other.txt"), "no run").expect("written");
        assert!(refusal(&folder.path().join("other.txt")).contains("is a file"));
        fs::write(folder.path().join("race.json"), "{}").expect("written");
        assert!(refusal(folder.path()).contains("not the file of a race"));
        fs::remove_file(folder.path().join("race.json")).expect("removed");
        fs::write(folder.path().join("results.json"), "{\"budgets\": 7}").expect("written");
        assert!(refusal(folder.path()).contains("no result of `standoff attack`"));
    }

    #[test]
    fn several_runs_stand_side_by_side_and_their_configurations_are_compared() {
        let folders = [0, 1].map(|_| tempfile::tempdir().expect("a folder"));
        folders.iter().for_each(|folder| experiment(folder.path()));
        let path = folders[1].path().join("config.toml");
        let other = fs::read_to_string(&path).expect("read").replace("600", "3000");
        fs::write(&path, other).expect("written");
        let page = page(&[folders[0].path(), folders[1].path()]);
        well_formed(&page.html);
        assert!(page.html.contains("Side by side") && page.html.contains("minmax: worst group&#39;s loss"));
        let differences = page.html.rsplit("differ in").next().expect("differences");
        assert!(
            differences.contains("<th>batch</th><td") && differences.contains(">600</span></td><td"),
            "{differences:.400}"
        );
    }

    #[test]
    fn robust_trainings_and_attacks_have_their_figures_and_the_papers_table() {
        let [training, attack] = [0, 1].map(|_| tempfile::tempdir().expect("a folder"));
        fs::write(training.path().join("config.toml"), "data = \"mnist\"\nmethod = \"paper\"\neps = 0.4\n")
            .expect("written");
        let line = "{\"step\":5,\"epoch\":1,\"value\":2,\"x_gap\":[0,1],\"y_gap\":[0,0],\"natural\":{\"correct\":9,\"total\":10}}\n";
        fs::write(training.path().join("metrics.jsonl"), line).expect("written");
        let accuracy = |n: usize| {
            format!("{{\"groups\":[],\"worst\":null,\"all\":{{\"name\":\"all\",\"correct\":{n},\"total\":10}}}}")
        };
        // Two eps, so that there is a curve.
        let budget = |eps: f64| {
            let [natural, attacked, worst] = [9, 7, 6].map(accuracy);
            format!(
                "{{\"eps\":{eps},\"natural\":{natural},\"attacks\":[{{\"name\":\"pgd40\",\"accuracy\":{attacked}}}],\
                 \"worst_case\":{worst},\"certified\":null}}"
            )
        };
        let results = format!(
            "{{\"model\":\"m\",\"images\":\"i\",\"protocol\":\"paper\",\"norm\":\"linf\",\"grid\":\"float\",\"seed\":0,\
             \"interrupted\":true,\"seconds\":1,\"budgets\":[{},{}]}}",
            budget(0.3),
            budget(0.4)
        );
        fs::write(attack.path().join("results.json"), results).expect("written");
        fs::write(attack.path().join("pictures.png"), b"\x89PNG").expect("written");
        let page = page(&[training.path(), attack.path()]);
        well_formed(&page.html);
        alone(&page.html);
        for text in [
            "not finished",
            "was interrupted",
            "96.23",
            "pgd40",
            "70.00",
            "data:image/png;base64,iVBORw==",
            "accuracy against eps",
        ] {
            assert!(page.html.contains(text), "no {text}");
        }
        // They have nothing in common, so nothing stands side by side.
        assert!(!page.html.contains("Side by side"));
    }
}
