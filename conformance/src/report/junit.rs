//! JUnit XML, which CI servers read.

use std::fmt::Write;

use super::{Counts, Entry, Report, TestStatus};

pub(super) fn write(report: &Report) -> String {
    let counts = report.counts();
    let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let _ = writeln!(
        xml,
        "<testsuites name=\"dynatwin-conformance\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">",
        report.entries().len(),
        counts.failed,
        counts.skipped + counts.known
    );
    for target in report.targets() {
        let counts = Counts::of(report.of_target(target));
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" time=\"{:.3}\">",
            escape(target),
            report.of_target(target).count(),
            counts.failed,
            counts.skipped + counts.known,
            report.time(target).as_secs_f64()
        );
        report.of_target(target).for_each(|entry| test(&mut xml, entry));
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn test(xml: &mut String, entry: &Entry) {
    let _ = write!(
        xml,
        "    <testcase classname=\"{}.{}\" name=\"{}\" time=\"{:.3}\"",
        escape(&entry.target),
        escape(&entry.group),
        escape(&entry.name),
        entry.elapsed.as_secs_f64()
    );
    let inside = match &entry.status {
        TestStatus::Passed => None,
        TestStatus::Failed(failure) => {
            let exchange = entry.exchange.as_ref().map_or_else(String::new, |exchange| {
                format!(
                    "{} {}\nAWS: {}\nanswered: {}",
                    exchange.operation, exchange.request, exchange.expected, exchange.answered
                )
            });
            Some(format!(
                "<failure message=\"{}\">{}</failure>",
                escape(&failure.to_string()),
                escape(&exchange)
            ))
        }
        TestStatus::Known(why) => Some(format!("<skipped message=\"known difference: {}\"/>", escape(why))),
        TestStatus::Skipped(why) => Some(format!("<skipped message=\"{}\"/>", escape(why))),
    };
    let _ = match inside {
        None => writeln!(xml, "/>"),
        Some(inside) => writeln!(xml, ">{inside}</testcase>"),
    };
}

/// Text escaped for XML and HTML; characters that XML does not allow become U+FFFD.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                escaped.push('\u{fffd}');
            }
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;

    #[test]
    fn suites_and_tests() {
        let xml = sample().to_junit();
        for part in [
            "<testsuites name=\"dynatwin-conformance\" tests=\"5\" failures=\"1\" skipped=\"2\">",
            "<testsuite name=\"one\" tests=\"3\" failures=\"1\" skipped=\"0\" time=\"2.000\">",
            // Skipped, and known to differ.
            "<testsuite name=\"another\" tests=\"2\" failures=\"0\" skipped=\"2\" time=\"0.010\">",
            "<testcase classname=\"one.scenarios\" name=\"a\" time=\"0.005\"/>",
            "<failure message=\"no &lt;b&gt; &amp; &quot;c&quot;\"></failure></testcase>",
            "<skipped message=\"known difference: It is older.\"/></testcase>",
        ] {
            assert!(xml.contains(part), "{part}\n{xml}");
        }
    }
}
