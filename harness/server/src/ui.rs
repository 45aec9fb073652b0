//! The console at `/_dynatwin/ui/`: the files of the page, embedded with the feature `ui`.

use dynatwin_engine::http::AnswerHeaders;
use hyper::{Method, StatusCode};

const PATH: &str = "/_dynatwin/ui";
/// The files by their paths below [`PATH`]; empty without the feature `ui`.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/ui_files.rs"));
/// The page's content security policy: it may load its own files, and the code that it runs in a Worker made from a
/// blob.
const POLICY: &str = "default-src 'none'; script-src 'self' blob:; worker-src 'self' blob:; connect-src 'self'; \
                      style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const NOT_BUILT: &str = "<!doctype html><html lang=\"en\"><title>Dynatwin</title>\
                         <p>This server was built without the console. To build it with the console:</p>\
                         <pre>cargo xtask page\ncargo build --release --features ui</pre></html>\n";

/// A file of the console, or an error page.
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) headers: AnswerHeaders,
    pub(crate) body: &'static [u8],
}

/// Returns the answer to a request for the console; `None` if the path is not the console's.
pub(crate) fn page(method: &Method, path: &str) -> Option<Page> {
    answer(FILES, method, path)
}

fn answer(files: &'static [(&'static str, &'static [u8])], method: &Method, path: &str) -> Option<Page> {
    let rest = path.strip_prefix(PATH)?;
    if !rest.is_empty() && !rest.starts_with('/') {
        return None;
    }
    if method != Method::GET && method != Method::HEAD {
        return Some(text(StatusCode::METHOD_NOT_ALLOWED, "The console only supports GET.\n"));
    }
    if files.is_empty() {
        return Some(with_type(
            StatusCode::NOT_FOUND,
            "text/html; charset=utf-8",
            NOT_BUILT.as_bytes(),
        ));
    }
    if rest.is_empty() {
        // The page refers to its files by relative paths. A relative redirect also works behind a proxy's path.
        let mut page = text(StatusCode::PERMANENT_REDIRECT, "");
        page.headers.push("location", "ui/");
        return Some(page);
    }
    let name = if rest == "/" { "index.html" } else { &rest[1..] };
    let Some((_, body)) = files.iter().find(|(file, _)| *file == name) else {
        return Some(text(StatusCode::NOT_FOUND, "The console has no such file.\n"));
    };
    let mut page = with_type(StatusCode::OK, content_type(name), body);
    // The names of the other files contain a hash.
    let keep = if name.starts_with("assets/") {
        "max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    page.headers.push("cache-control", keep);
    Some(page)
}

fn text(status: StatusCode, body: &'static str) -> Page {
    with_type(status, "text/plain; charset=utf-8", body.as_bytes())
}

fn with_type(status: StatusCode, content_type: &'static str, body: &'static [u8]) -> Page {
    let headers = AnswerHeaders::from([
        ("content-type", content_type),
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
    ]);
    Page { status, headers, body }
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static BUILT: &[(&str, &[u8])] = &[("index.html", b"<p>"), ("assets/a.js", b"1"), ("icon.svg", b"<svg/>")];

    #[test]
    fn files_by_path() {
        for (method, path, expect) in [
            (Method::GET, "/", None),
            (Method::GET, "/_dynatwin/", None),
            (Method::GET, "/_dynatwin/uix", None),
            (
                Method::GET,
                "/_dynatwin/ui",
                Some((308, "text/plain; charset=utf-8", "")),
            ),
            (
                Method::GET,
                "/_dynatwin/ui/",
                Some((200, "text/html; charset=utf-8", "<p>")),
            ),
            (
                Method::HEAD,
                "/_dynatwin/ui/index.html",
                Some((200, "text/html; charset=utf-8", "<p>")),
            ),
            (
                Method::GET,
                "/_dynatwin/ui/assets/a.js",
                Some((200, "text/javascript; charset=utf-8", "1")),
            ),
            (
                Method::GET,
                "/_dynatwin/ui/icon.svg",
                Some((200, "image/svg+xml", "<svg/>")),
            ),
            // Neither a suffix nor a prefix of a path is a path.
            (
                Method::GET,
                "/_dynatwin/ui/a.js",
                Some((404, "text/plain; charset=utf-8", "The console has no such file.\n")),
            ),
            (
                Method::GET,
                "/_dynatwin/ui/ndex.html",
                Some((404, "text/plain; charset=utf-8", "The console has no such file.\n")),
            ),
            (
                Method::GET,
                "/_dynatwin/ui/index.htm",
                Some((404, "text/plain; charset=utf-8", "The console has no such file.\n")),
            ),
            (
                Method::GET,
                "/_dynatwin/ui/assets/",
                Some((404, "text/plain; charset=utf-8", "The console has no such file.\n")),
            ),
            (
                Method::GET,
                "/_dynatwin/ui/../secret",
                Some((404, "text/plain; charset=utf-8", "The console has no such file.\n")),
            ),
            (
                Method::POST,
                "/_dynatwin/ui/",
                Some((405, "text/plain; charset=utf-8", "The console only supports GET.\n")),
            ),
        ] {
            let page = answer(BUILT, &method, path);
            let seen = page.as_ref().map(|page| {
                (
                    page.status.as_u16(),
                    page.headers.get("content-type").unwrap(),
                    std::str::from_utf8(page.body).unwrap(),
                )
            });
            assert_eq!(seen, expect, "{method} {path}");
        }
    }

    /// Files whose names contain a hash never change; the page that names them may.
    #[test]
    fn files_are_cached_by_their_names() {
        for (path, expect) in [
            ("/_dynatwin/ui", None),
            ("/_dynatwin/ui/", Some("no-cache")),
            ("/_dynatwin/ui/index.html", Some("no-cache")),
            ("/_dynatwin/ui/icon.svg", Some("no-cache")),
            ("/_dynatwin/ui/assets/a.js", Some("max-age=31536000, immutable")),
            ("/_dynatwin/ui/assets/b.js", None),
        ] {
            let page = answer(BUILT, &Method::GET, path).unwrap();
            assert_eq!(page.headers.get("cache-control"), expect, "{path}");
            let location = (path == "/_dynatwin/ui").then_some("ui/");
            assert_eq!(page.headers.get("location"), location, "{path}");
            for (name, value) in [
                ("content-security-policy", POLICY),
                ("x-content-type-options", "nosniff"),
                ("referrer-policy", "no-referrer"),
            ] {
                assert_eq!(page.headers.get(name), Some(value), "{path}: {name}");
            }
        }
    }

    #[test]
    fn files_have_the_type_of_their_extension() {
        for (name, expected) in [
            ("index.html", "text/html; charset=utf-8"),
            ("assets/a.min.js", "text/javascript; charset=utf-8"),
            ("assets/a.css", "text/css; charset=utf-8"),
            ("icon.svg", "image/svg+xml"),
            ("assets/a.wasm", "application/octet-stream"),
            ("assets/js", "application/octet-stream"),
            ("a.js.map", "application/octet-stream"),
        ] {
            assert_eq!(content_type(name), expected, "{name}");
        }
    }

    #[test]
    fn only_get_and_head_are_answered() {
        for method in [
            Method::POST,
            Method::PUT,
            Method::DELETE,
            Method::PATCH,
            Method::OPTIONS,
        ] {
            for path in ["/_dynatwin/ui", "/_dynatwin/ui/", "/_dynatwin/ui/none"] {
                for files in [BUILT, &[]] {
                    let status = answer(files, &method, path).unwrap().status;
                    assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
                }
            }
            assert!(answer(BUILT, &method, "/_dynatwin/uix").is_none(), "{method}");
        }
        for (path, status) in [
            ("/_dynatwin/ui", StatusCode::PERMANENT_REDIRECT),
            ("/_dynatwin/ui/", StatusCode::OK),
            ("/_dynatwin/ui/none", StatusCode::NOT_FOUND),
        ] {
            let get = answer(BUILT, &Method::GET, path).unwrap();
            let head = answer(BUILT, &Method::HEAD, path).unwrap();
            assert_eq!((get.status, head.status), (status, status), "{path}");
            assert_eq!(get.body, head.body, "{path}");
        }
    }

    #[test]
    fn a_server_without_the_console_names_the_command_that_builds_it() {
        let page = answer(&[], &Method::GET, "/_dynatwin/ui/").unwrap();
        assert_eq!(page.status, StatusCode::NOT_FOUND);
        assert!(std::str::from_utf8(page.body).unwrap().contains("--features ui"));
    }
}
