//! One static page: the matrix, and for each row with differences its requests and all answers side by side.

use std::collections::HashMap;
use std::fmt::Write;

use super::junit::escape;
use super::{Counts, Entry, Report, TestStatus};

/// The maximum length at which a request or answer is shown.
const SHOWN: usize = 4000;

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --ok: #1a7f37; --bad: #cf222e; --known: #9a6700; --dim: #8889 }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 100rem; padding: 0 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .2rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top }
thead th { position: sticky; top: 0; background: Canvas }
.ok { color: var(--ok) } .failed { color: var(--bad); font-weight: 600 } .known { color: var(--known) }
.skipped, .none { color: var(--dim) }
tr.more > td { background: #8881; padding: .6rem }
summary { cursor: pointer }
.answers { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: .6rem }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 12.5px; margin: .2rem 0; padding: .5rem; border: 1px solid var(--line) }
label { margin-right: 1rem }
body:has(#only:checked) tr.same { display: none }
";

pub(super) fn write(report: &Report) -> String {
    let targets = report.targets();
    let by_place: HashMap<_, _> = report
        .entries()
        .iter()
        .map(|entry| {
            (
                (entry.target.as_str(), entry.group.as_str(), entry.name.as_str()),
                entry,
            )
        })
        .collect();
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>DynamoDB conformance</title>\n\
         <style>{STYLE}</style>\n<h1>DynamoDB conformance</h1>\n"
    );
    page.push_str(
        "<p>Each case is a request with what AWS answers to it. <span class=\"ok\">ok</span>: answered as by AWS. \
         <span class=\"known\">known</span>: answered otherwise, as is known of this target. \
         <span class=\"failed\">FAILED</span>: answered otherwise, and not known to be.</p>\n\
         <p><label><input type=\"checkbox\" id=\"only\"> only rows in which somebody differs</label></p>\n",
    );
    summary(&mut page, report, &targets);
    for group in report.groups() {
        let _ = write!(page, "<h2 id=\"{0}\">{0}</h2>\n<table>\n", escape(group));
        header(&mut page, &targets);
        for name in report.names(group) {
            let entries: Vec<_> = targets
                .iter()
                .map(|target| by_place.get(&(*target, group, name)).copied())
                .collect();
            row(&mut page, name, &entries);
        }
        page.push_str("</table>\n");
    }
    page.push_str("</html>\n");
    page
}

fn header(page: &mut String, targets: &[&str]) {
    page.push_str("<thead><tr><th></th>");
    for target in targets {
        let _ = write!(page, "<th>{}</th>", escape(target));
    }
    page.push_str("</tr></thead>\n");
}

fn summary(page: &mut String, report: &Report, targets: &[&str]) {
    page.push_str("<table>\n");
    header(page, targets);
    for group in report.groups() {
        let _ = write!(page, "<tr><td><a href=\"#{0}\">{0}</a></td>", escape(group));
        for target in targets {
            let counts = Counts::of(report.of_target(target).filter(|entry| entry.group == group));
            let class = match counts {
                Counts { failed: 1.., .. } => "failed",
                Counts { known: 1.., .. } => "known",
                Counts { passed: 1.., .. } => "ok",
                _ => "none",
            };
            let _ = write!(page, "<td class=\"{class}\">{counts}</td>");
        }
        page.push_str("</tr>\n");
    }
    page.push_str("<tr><td>time</td>");
    for target in targets {
        let _ = write!(page, "<td>{:.1} s</td>", report.time(target).as_secs_f64());
    }
    let _ = write!(page, "</tr>\n</table>\n<p>Seed {}.</p>\n", report.seed);
}

fn row(page: &mut String, name: &str, entries: &[Option<&Entry>]) {
    let differs = entries.iter().flatten().any(|entry| entry.status.differs());
    let class = if differs { "differs" } else { "same" };
    let _ = write!(page, "<tr class=\"{class}\"><td>{}</td>", escape(name));
    for entry in entries {
        let _ = match entry {
            None => write!(page, "<td class=\"none\">–</td>"),
            Some(entry) => {
                let word = entry.status.word();
                let detail = entry.status.detail().unwrap_or_default();
                let (class, detail) = (word.to_lowercase(), escape(&detail));
                write!(page, "<td class=\"{class}\" title=\"{detail}\">{}</td>", entry.cell())
            }
        };
    }
    page.push_str("</tr>\n");
    if differs {
        more(page, entries);
    }
}

/// A request and all its answers side by side.
fn more(page: &mut String, entries: &[Option<&Entry>]) {
    let _ = write!(
        page,
        "<tr class=\"more\"><td colspan=\"{}\"><details>",
        entries.len() + 1
    );
    let exchange = entries.iter().flatten().find_map(|entry| entry.exchange.as_ref());
    match exchange {
        None => page.push_str("<summary>what failed</summary><div class=\"answers\">"),
        Some(exchange) => {
            let _ = write!(
                page,
                "<summary>request and answers</summary><pre>{} {}</pre><div class=\"answers\">\
                 <div><b>AWS</b> ({})<pre>{}</pre></div>",
                escape(&exchange.operation),
                escape(&shorten(&format!("{:#}", exchange.request))),
                escape(&exchange.evidence),
                escape(&shorten(&exchange.expected))
            );
        }
    }
    for entry in entries.iter().flatten().filter(|entry| entry.status.differs()) {
        let detail = entry.status.detail().unwrap_or_default();
        let answered = entry.exchange.as_ref().map(|exchange| exchange.answered.as_str());
        let class = if matches!(entry.status, TestStatus::Known(_)) {
            "known"
        } else {
            "failed"
        };
        let _ = write!(page, "<div><b class=\"{class}\">{}</b><pre>", escape(&entry.target));
        if let Some(answered) = answered {
            let _ = write!(page, "{}</pre>{}</div>", escape(&shorten(answered)), escape(&detail));
        } else {
            let _ = write!(page, "{}</pre></div>", escape(&detail));
        }
    }
    page.push_str("</div></details></td></tr>\n");
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;

    #[test]
    fn the_page() {
        let page = sample().to_html();
        for part in [
            "<td class=\"known\">0 ok, 1 known</td>",
            "no &lt;b&gt; &amp; &quot;c&quot;",
            "<b>AWS</b> (a page)<pre>200 {}</pre>",
            "<b class=\"known\">another</b><pre>E: no</pre>It is older.</div>",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
        assert!(!page.contains("<t>"), "{page}");
    }
}
