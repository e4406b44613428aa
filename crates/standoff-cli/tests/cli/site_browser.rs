//! The documentation site in a real browser: every page fits a phone and a desk. `.ci/site` builds the site and sets STANDOFF_SITE.
#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use serde_json::json;

use crate::browser::{Page, installed};
use crate::scratch::Scratch;

/// The pages whose pictures are saved into the folder STANDOFF_SCREENSHOTS, if it is set.
const PICTURED: [&str; 5] =
    ["index.html", "start/table.html", "min-max.html", "reference/commands.html", "coming-from/fairlearn.html"];

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the site").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            pages(&entry, found);
        } else if entry.extension().is_some_and(|e| e == "html") {
            found.push(entry);
        }
    }
}

#[test]
fn no_page_of_the_site_is_wider_than_a_browser_window() {
    let Ok(site) = std::env::var("STANDOFF_SITE") else {
        let _ = std::io::stderr()
            .write_all(b"notice: STANDOFF_SITE is not set, so the site was not opened; run .ci/site\n");
        return;
    };
    let Some(browser) = installed() else { return };
    let site = fs::canonicalize(site).expect("the folder of the site");
    let mut all = Vec::new();
    pages(&site, &mut all);
    // The page of all pages for printers and the list of contents are not read on a screen.
    all.retain(|page| !["print.html", "toc.html", "404.html"].iter().any(|name| page.ends_with(name)));
    all.sort();
    assert!(all.len() > 30, "{}", all.len());
    let scratch = Scratch::new();
    let mut page = Page::open(&scratch, browser, "about:blank");
    for path in &all {
        page.ask("Page.navigate", &json!({ "url": format!("file://{}", path.display()) }));
        page.wait("document.readyState === 'complete' && document.querySelector('main') !== null");
        let name = path.strip_prefix(&site).expect("a page of the site").display().to_string();
        for (width, mobile) in [(1200, false), (390, true)] {
            let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": mobile });
            page.ask("Emulation.setDeviceMetricsOverride", &size);
            let beyond = page.value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
            assert_eq!(beyond, 0, "{name} is wider than {width}");
            if PICTURED.contains(&name.as_str()) {
                picture(&mut page, &format!("{}-{width}.png", name.replace('/', "-").trim_end_matches(".html")));
            }
        }
    }
}

fn picture(page: &mut Page, name: &str) {
    let Ok(folder) = std::env::var("STANDOFF_SCREENSHOTS") else { return };
    let image = page.ask("Page.captureScreenshot", &json!({ "format": "png" }));
    let bytes = base64::engine::general_purpose::STANDARD.decode(image["data"].as_str().expect("a picture"));
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(Path::new(&folder).join(name), bytes.expect("base64")).expect("a file");
}
