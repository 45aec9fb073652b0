//! Reads records from text Ion: each top-level struct is converted to DynamoDB JSON, whose reader validates values.

use std::io::{self, BufRead};

use dynatwin_engine::json::Writer;
use dynatwin_engine::quotas;

use super::split::{Splitter, Unsplit};
use crate::json;
use crate::source::{Reading, TOO_LONG};

/// Reads the records of an object, each at most as long as a request may be. Reading ends at invalid Ion.
pub fn read(from: impl BufRead, reading: &mut Reading<'_>) -> io::Result<()> {
    let mut pieces = Splitter::new(from, quotas::REQUEST_BODY);
    loop {
        let piece = match pieces.next() {
            Ok(Some(piece)) => piece,
            Ok(None) => return Ok(()),
            Err(Unsplit::TooLong) => {
                reading.bad(TOO_LONG);
                return Ok(());
            }
            Err(Unsplit::Unread(error)) => return Err(error),
        };
        let text = str::from_utf8(&piece.bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        if !records(text, piece.start, reading) {
            return Ok(());
        }
    }
}

/// Passes on the records of a text that starts at byte `start` of its object; returns whether reading can continue
/// after it.
fn records(text: &str, start: u64, reading: &mut Reading<'_>) -> bool {
    let mut parser = Parser { text, at: 0 };
    loop {
        match parser.record() {
            // Valid JSON, whatever its values are.
            Ok(Some(record)) => {
                json::record(&record, reading);
            }
            Ok(None) => return true,
            Err(Fault(why)) => {
                let at = start + parser.at as u64;
                reading.bad(format!("{why}, at byte {at}"));
                return false;
            }
        }
    }
}

/// Invalid Ion, or Ion that cannot be part of an item.
#[derive(Debug, PartialEq)]
struct Fault(&'static str);

type Parsed<T> = Result<T, Fault>;

/// How a struct's fields are converted.
#[derive(Clone, Copy, PartialEq)]
enum Fields {
    /// The fields of a record, such as `Item`.
    Record,
    /// The fields are attributes with typed values.
    Attributes,
    /// The fields are attributes with texts as values.
    Texts,
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Skips `expected` if it comes next; returns whether it did.
    fn skip_if(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    fn expect(&mut self, expected: &'static str, fault: &'static str) -> Parsed<()> {
        self.blank()?;
        if self.skip_if(expected) {
            Ok(())
        } else {
            Err(Fault(fault))
        }
    }

    fn blank(&mut self) -> Parsed<()> {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            if self.skip_if("//") {
                self.at += self.rest().find(['\n', '\r']).unwrap_or(self.rest().len());
            } else if self.skip_if("/*") {
                self.at += self.rest().find("*/").ok_or(Fault("a comment does not end"))? + 2;
            } else {
                return Ok(());
            }
        }
    }

    /// Returns the next top-level struct as DynamoDB JSON; `None` at the end.
    fn record(&mut self) -> Parsed<Option<Vec<u8>>> {
        self.blank()?;
        while self.skip_if("$ion_1_0") {
            self.blank()?;
        }
        match self.peek() {
            None => Ok(None),
            Some('{') => {
                let mut writer = Writer::new();
                self.fields(&mut writer, Fields::Record, 0)?;
                Ok(Some(writer.finish()))
            }
            Some(_) => Err(Fault("a struct was expected")),
        }
    }

    fn fields(&mut self, out: &mut Writer, kind: Fields, depth: usize) -> Parsed<()> {
        self.expect("{", "a struct was expected")?;
        out.open_object();
        loop {
            self.blank()?;
            if self.skip_if("}") {
                out.close_object();
                return Ok(());
            }
            let name = self.symbol()?;
            self.expect(":", "a colon was expected")?;
            self.blank()?;
            self.field(out, kind, &name, depth)?;
            self.blank()?;
            if !self.skip_if(",") && self.peek() != Some('}') {
                return Err(Fault("a comma was expected"));
            }
        }
    }

    fn field(&mut self, out: &mut Writer, kind: Fields, name: &str, depth: usize) -> Parsed<()> {
        out.name(name);
        match (kind, name) {
            (Fields::Record, "Item" | "ExpressionAttributeValues") => self.fields(out, Fields::Attributes, depth),
            (Fields::Record, "ExpressionAttributeNames") => self.fields(out, Fields::Texts, depth),
            (Fields::Record, "ConditionExpression") | (Fields::Texts, _) => {
                let text = self.string()?;
                out.string(&text);
                Ok(())
            }
            _ => self.value(out, depth + 1),
        }
    }

    /// Converts the value that comes next, and wraps it in its type.
    fn value(&mut self, out: &mut Writer, depth: usize) -> Parsed<()> {
        if depth > quotas::NESTING_KEPT {
            return Err(Fault("values are nested too deep"));
        }
        let annotation = self.annotation()?;
        let set = match annotation.as_deref() {
            Some("$dynamodb_SS") => Some("SS"),
            Some("$dynamodb_NS") => Some("NS"),
            Some("$dynamodb_BS") => Some("BS"),
            _ => None,
        };
        out.open_object();
        match (set, self.peek()) {
            (Some(kind), Some('[')) => {
                out.name(kind);
                self.list(out, |parser, out| parser.member(out, kind))?;
            }
            (_, Some('[')) => {
                out.name("L");
                self.list(out, |parser, out| parser.value(out, depth + 1))?;
            }
            (_, Some('{')) if self.rest().starts_with("{{") => {
                let blob = self.blob()?;
                out.name("B").string(&blob);
            }
            (_, Some('{')) => {
                out.name("M");
                self.fields(out, Fields::Attributes, depth)?;
            }
            (_, Some('"' | '\'')) => {
                let text = self.string()?;
                out.name("S").string(&text);
            }
            _ => self.word(out)?,
        }
        out.close_object();
        Ok(())
    }

    fn list(&mut self, out: &mut Writer, mut element: impl FnMut(&mut Self, &mut Writer) -> Parsed<()>) -> Parsed<()> {
        self.expect("[", "a list was expected")?;
        out.open_list();
        loop {
            self.blank()?;
            if self.skip_if("]") {
                out.close_list();
                return Ok(());
            }
            element(self, out)?;
            self.blank()?;
            if !self.skip_if(",") && self.peek() != Some(']') {
                return Err(Fault("a comma was expected"));
            }
        }
    }

    /// Converts a member of a set.
    fn member(&mut self, out: &mut Writer, kind: &str) -> Parsed<()> {
        let text = match kind {
            "SS" => self.string()?,
            "BS" => self.blob()?,
            _ => self.number()?,
        };
        out.string(&text);
        Ok(())
    }

    /// Converts a keyword or a number: `true`, `null`, `1`.
    fn word(&mut self, out: &mut Writer) -> Parsed<()> {
        if self.peek().is_some_and(|char| char.is_ascii_digit() || char == '-') {
            let number = self.number()?;
            out.name("N").string(&number);
            return Ok(());
        }
        let word = self.bare(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '$' | '.'));
        match word {
            "true" | "false" => drop(out.name("BOOL").boolean(word == "true")),
            "null" => drop(out.name("NULL").boolean(true)),
            _ if word.starts_with("null.") => drop(out.name("NULL").boolean(true)),
            _ => return Err(Fault("an item is made of no such value")),
        }
        Ok(())
    }

    fn bare(&mut self, matches: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|char| !matches(char)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    /// Returns an int, decimal or float as a number in DynamoDB's notation.
    fn number(&mut self) -> Parsed<String> {
        let word = self.bare(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '+' | '-'));
        let text = word.replace('_', "");
        let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
        let radix = match digits.get(..2) {
            Some("0x" | "0X") => Some(16),
            Some("0b" | "0B") => Some(2),
            _ => None,
        };
        if let Some(radix) = radix {
            // Without a sign, which `from_str_radix` would accept.
            let whole = digits.get(2..).filter(|whole| !whole.starts_with(['+', '-']));
            let whole = whole.and_then(|whole| u128::from_str_radix(whole, radix).ok());
            let whole = whole.ok_or(Fault("a number was expected"))?;
            return Ok(format!("{sign}{whole}"));
        }
        // A timestamp starts like a number: 2026-01-01T.
        let dashes = digits
            .match_indices('-')
            .any(|(at, _)| !digits[..at].ends_with(['d', 'D', 'e', 'E']));
        if digits.is_empty() || dashes || digits.contains('T') {
            return Err(Fault("a number was expected"));
        }
        let text = text.replace(['d', 'D'], "e").replace(".e", "e");
        Ok(text.trim_end_matches('.').to_owned())
    }

    /// Parses a symbol: a field's name.
    fn symbol(&mut self) -> Parsed<String> {
        if matches!(self.peek(), Some('"' | '\'')) {
            return self.string();
        }
        let word = self.bare(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '$'));
        let is_name = word.starts_with(|char: char| !char.is_ascii_digit());
        if is_name {
            Ok(word.to_owned())
        } else {
            Err(Fault("a name was expected"))
        }
    }

    /// Returns the annotation of the value that comes next, if any; the last one of several.
    fn annotation(&mut self) -> Parsed<Option<String>> {
        let mut last = None;
        loop {
            let start = self.at;
            let name = match self.peek() {
                Some('\'') if !self.rest().starts_with("'''") => self.string()?,
                Some(char) if char.is_ascii_alphabetic() || matches!(char, '_' | '$') => self.symbol()?,
                _ => return Ok(last),
            };
            self.blank()?;
            if !self.skip_if("::") {
                self.at = start;
                return Ok(last);
            }
            self.blank()?;
            last = Some(name);
        }
    }

    /// Parses base64 in double braces.
    fn blob(&mut self) -> Parsed<String> {
        self.expect("{{", "a blob was expected")?;
        let end = self.rest().find("}}").ok_or(Fault("a blob does not end"))?;
        let inner = self.rest().get(..end).unwrap_or_default();
        self.at += end + 2;
        if inner.contains(['"', '\'']) {
            return Err(Fault("an item is made of no clob"));
        }
        Ok(inner.chars().filter(|char| !char.is_whitespace()).collect())
    }

    /// Parses the quoted text that comes next: a short or long string, or a symbol.
    fn string(&mut self) -> Parsed<String> {
        let mut text = String::new();
        if !self.rest().starts_with("'''") {
            let quote = match self.peek() {
                Some('"') => "\"",
                Some('\'') => "'",
                _ => return Err(Fault("a text was expected")),
            };
            self.at += 1;
            self.until(quote, &mut text)?;
            return Ok(text);
        }
        // Consecutive long strings are one.
        while self.skip_if("'''") {
            self.until("'''", &mut text)?;
            self.blank()?;
        }
        Ok(text)
    }

    fn until(&mut self, quote: &str, text: &mut String) -> Parsed<()> {
        loop {
            if self.skip_if(quote) {
                return Ok(());
            }
            let char = self.peek().ok_or(Fault("a text does not end"))?;
            self.at += char.len_utf8();
            if char == '\\' {
                self.escape(text)?;
            } else if matches!(char, '\n' | '\r') {
                if quote.len() == 1 {
                    return Err(Fault("a text does not end"));
                }
                self.line_feed(char);
                text.push('\n');
            } else {
                text.push(char);
            }
        }
    }

    /// Skips the LF of a CRLF whose first character is `char`.
    fn line_feed(&mut self, char: char) {
        if char == '\r' {
            self.skip_if("\n");
        }
    }

    fn escape(&mut self, text: &mut String) -> Parsed<()> {
        let char = self.peek().ok_or(Fault("a text does not end"))?;
        self.at += char.len_utf8();
        text.push(match char {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '0' => '\0',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '"' | '\'' | '\\' | '/' | '?' => char,
            '\n' | '\r' => {
                self.line_feed(char);
                return Ok(());
            }
            'x' => self.code(2)?,
            'u' => return self.utf16(text),
            'U' => self.code(8)?,
            _ => return Err(Fault("an escape was expected")),
        });
        Ok(())
    }

    /// Parses one UTF-16 unit, or a surrogate pair.
    fn utf16(&mut self, text: &mut String) -> Parsed<()> {
        const FAULT: Fault = Fault("an escape was expected");
        let unit = self.hexadecimal(4)?;
        let units = if (0xd800..0xdc00).contains(&unit) && self.skip_if("\\u") {
            vec![unit as u16, self.hexadecimal(4)? as u16]
        } else {
            vec![unit as u16]
        };
        text.push_str(&String::from_utf16(&units).map_err(|_| FAULT)?);
        Ok(())
    }

    fn code(&mut self, digits: usize) -> Parsed<char> {
        char::from_u32(self.hexadecimal(digits)?).ok_or(Fault("an escape was expected"))
    }

    fn hexadecimal(&mut self, digits: usize) -> Parsed<u32> {
        const FAULT: Fault = Fault("an escape was expected");
        let text = self.rest().get(..digits).ok_or(FAULT)?;
        if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(FAULT);
        }
        self.at += digits;
        u32::from_str_radix(text, 16).map_err(|_| FAULT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ion: &str, expect: &str) {
        let mut parser = Parser { text: ion, at: 0 };
        let answer = match parser.record() {
            Ok(Some(json)) => String::from_utf8(json).unwrap(),
            Ok(None) => "nothing".to_owned(),
            Err(Fault(why)) => why.to_owned(),
        };
        assert_eq!(answer, expect, "{ion}");
    }

    #[test]
    fn records() {
        for (ion, expect) in [
            ("", "nothing"),
            ("$ion_1_0 // a comment\n /* and one */", "nothing"),
            ("$ion_1_0 // the end", "nothing"),
            // Files that were put together have several version markers in a row.
            ("$ion_1_0\n$ion_1_0 $ion_1_0", "nothing"),
            (
                "$ion_1_0\n$ion_1_0 // a file\n$ion_1_0 {Item:{a:1}}",
                r#"{"Item":{"a":{"N":"1"}}}"#,
            ),
            // Names are symbols and strings of all kinds.
            (
                r#"{'''Item''':{'''a''':1,"b":2,'c':3,'''d''' /**/ '''e f''':'''g'''}}"#,
                r#"{"Item":{"a":{"N":"1"},"b":{"N":"2"},"c":{"N":"3"},"de f":{"S":"g"}}}"#,
            ),
            ("{Item:{b:{{\tAQ\r\n I=\n}}}}", r#"{"Item":{"b":{"B":"AQI="}}}"#),
            ("$ion_1_0 {Item:{pk:\"a\"}}", r#"{"Item":{"pk":{"S":"a"}}}"#),
            (
                "{Item:{n:1.5d3,m:-7,k:0x1F,z:1_000.,e:2.e0}}",
                r#"{"Item":{"n":{"N":"1.5e3"},"m":{"N":"-7"},"k":{"N":"31"},"z":{"N":"1000"},"e":{"N":"2e0"}}}"#,
            ),
            (
                "{Item:{a:-0X1F,b:0b101,c:-0B11,d:-1_0d-2,e:1D2,f:1E2,g:2.D-1}}",
                r#"{"Item":{"a":{"N":"-31"},"b":{"N":"5"},"c":{"N":"-3"},"d":{"N":"-10e-2"},"e":{"N":"1e2"},"f":{"N":"1E2"},"g":{"N":"2e-1"}}}"#,
            ),
            (
                "{Item:{a:2.5e-3,b:-2.5E-3,c:1e+2}}",
                r#"{"Item":{"a":{"N":"2.5e-3"},"b":{"N":"-2.5E-3"},"c":{"N":"1e+2"}}}"#,
            ),
            (
                "{Item:{s:other::$dynamodb_SS::[\"a\"],l:$dynamodb_SS::'an other'::[\"a\"]}}",
                r#"{"Item":{"s":{"SS":["a"]},"l":{"L":[{"S":"a"}]}}}"#,
            ),
            (
                "{Item:{s:'$dynamodb_SS'::[\"a\"],n:'$dynamodb_NS' :: [1],b:'$dynamodb_BS'::[{{AQ==}}],l:'other'::[1]}}",
                r#"{"Item":{"s":{"SS":["a"]},"n":{"NS":["1"]},"b":{"BS":["AQ=="]},"l":{"L":[{"N":"1"}]}}}"#,
            ),
            (
                "{Item:{s:'an other'::'$dynamodb_SS'::[\"a\"],l:['$dynamodb_NS'::[1]],o:'$dynamodb_SS'::other::[\"a\"]}}",
                r#"{"Item":{"s":{"SS":["a"]},"l":{"L":[{"NS":["1"]}]},"o":{"L":[{"S":"a"}]}}}"#,
            ),
            (
                "{Item:{t:\"\\r\\t\\'\\/\\?\\U0001F600\",u:'''a\\\nb'''}}",
                r#"{"Item":{"t":{"S":"\r\t'/?😀"},"u":{"S":"ab"}}}"#,
            ),
            (r#"{Item:{t:"\ud83dx"}}"#, "an escape was expected"),
            (r#"{Item:{t:"\q"}}"#, "an escape was expected"),
            (
                "{Item:{'a b':{{ AQ I= }},'':true,x:null,y:null.string,}}",
                r#"{"Item":{"a b":{"B":"AQI="},"":{"BOOL":true},"x":{"NULL":true},"y":{"NULL":true}}}"#,
            ),
            (
                "{Item:{s:$dynamodb_SS::[\"a\",'''b''' '''c'''],n:$dynamodb_NS::[1.,2],b:$dynamodb_BS::[{{AQ==}}]}}",
                r#"{"Item":{"s":{"SS":["a","bc"]},"n":{"NS":["1","2"]},"b":{"BS":["AQ=="]}}}"#,
            ),
            (
                "{Item:{l:[$dynamodb_NS::[1],[$dynamodb_BS::[{{AQ==}}]],{s:$dynamodb_SS::[\"a\"]}]}}",
                r#"{"Item":{"l":{"L":[{"NS":["1"]},{"L":[{"BS":["AQ=="]}]},{"M":{"s":{"SS":["a"]}}}]}}}"#,
            ),
            (
                "{Item:{m:{s:$dynamodb_SS::[\"a\"],m:{n:$dynamodb_NS::[1]},b:$dynamodb_BS::[{{AQ==}}]}}}",
                r#"{"Item":{"m":{"M":{"s":{"SS":["a"]},"m":{"M":{"n":{"NS":["1"]}}},"b":{"BS":["AQ=="]}}}}}"#,
            ),
            (
                "{Item:{l:[1,{m:other::\"x\"}]}}",
                r#"{"Item":{"l":{"L":[{"N":"1"},{"M":{"m":{"S":"x"}}}]}}}"#,
            ),
            (
                r#"{Item:{t:"\n\x41\u00e9\ud83d\ude00\"\\"}}"#,
                r#"{"Item":{"t":{"S":"\nAé😀\"\\"}}}"#,
            ),
            (
                "{Item:{},ConditionExpression:\"a = :v\",ExpressionAttributeNames:{'#a':\"a\"},ExpressionAttributeValues:{':v':1}}",
                r##"{"Item":{},"ConditionExpression":"a = :v","ExpressionAttributeNames":{"#a":"a"},"ExpressionAttributeValues":{":v":{"N":"1"}}}"##,
            ),
            (
                "{Item:{f:false,a:_a::1,b:$a::'b'::\"x\",c:'''a\nb'''}}",
                r#"{"Item":{"f":{"BOOL":false},"a":{"N":"1"},"b":{"S":"x"},"c":{"S":"a\nb"}}}"#,
            ),
            (
                "{Item:{a:1_000_000,b:0x1_0_0,c:1_0_0.5_0_0,d:-1_2_3,e:0b1_0_1,f:1_0_0d1_0,g:-0XF_F_F}}",
                r#"{"Item":{"a":{"N":"1000000"},"b":{"N":"256"},"c":{"N":"100.500"},"d":{"N":"-123"},"e":{"N":"5"},"f":{"N":"100e10"},"g":{"N":"-4095"}}}"#,
            ),
            (
                "{Item:{n:$dynamodb_NS::[1_000_000,1_2_3.],l:[1_0_0_0]}}",
                r#"{"Item":{"n":{"NS":["1000000","123"]},"l":{"L":[{"N":"1000"}]}}}"#,
            ),
            ("{Item:{t:\"a\nb\"}}", "a text does not end"),
            ("{Item:{'a\nb':1}}", "a text does not end"),
            ("{Item:{t:2026-01-01T}}", "a number was expected"),
            ("{Item:{t:2026T}}", "a number was expected"),
            ("{Item:{t:2026-01-01}}", "a number was expected"),
            ("{Item:{t:2026-01-01T12:00Z}}", "a number was expected"),
            ("{Item:{n:$dynamodb_NS::[1,2026-01-01]}}", "a number was expected"),
            ("{Item:{n:1-2}}", "a number was expected"),
            ("{Item:{n:-}}", "a number was expected"),
            ("{Item:{t:{{\"clob\"}}}}", "an item is made of no clob"),
            ("{Item:{t:symbol}}", "an item is made of no such value"),
            ("{Item:{t:\"open", "a text does not end"),
            ("[1]", "a struct was expected"),
            ("{Item:{t:{{'''clob'''}}}}", "an item is made of no clob"),
            ("{Item:{t:{{AQ==}", "a blob does not end"),
            ("{Item:{n:+1}}", "an item is made of no such value"),
            ("{Item:{n:nan}}", "an item is made of no such value"),
            ("{Item:{n:nullx}}", "an item is made of no such value"),
            ("{Item:{n:truex}}", "an item is made of no such value"),
            ("{Item:{l:[,]}}", "an item is made of no such value"),
            ("{Item:{l:[1 2]}}", "a comma was expected"),
            ("{Item:{l:[1}}", "a comma was expected"),
            ("{Item:{l:[1", "a comma was expected"),
            ("{Item:{s:$dynamodb_SS::[1]}}", "a text was expected"),
            ("{Item:{n:$dynamodb_NS::[\"1\"]}}", "a number was expected"),
            ("{Item:{b:$dynamodb_BS::[\"AQ==\"]}}", "a blob was expected"),
            ("{Item:1}", "a struct was expected"),
            ("{ExpressionAttributeNames:[]}", "a struct was expected"),
            ("{ExpressionAttributeNames:{'#a':1}}", "a text was expected"),
            ("{ExpressionAttributeValues:\"a\"}", "a struct was expected"),
            ("{ConditionExpression:{}}", "a text was expected"),
            ("{1a:1}", "a name was expected"),
            ("{:1}", "a name was expected"),
            ("{,}", "a name was expected"),
            ("{Item:{a:'''b'''::1}}", "a comma was expected"),
            ("{Item:{a:\"b\"::1}}", "a comma was expected"),
            ("{Item:{a:b:1}}", "an item is made of no such value"),
            ("{Item:{a:1", "a comma was expected"),
            ("{Item:{a:1} /* open", "a comment does not end"),
            ("/* open *", "a comment does not end"),
            ("{Item:{a:1 b:2}}", "a comma was expected"),
            ("{Item 1}", "a colon was expected"),
        ] {
            check(ion, expect);
        }
    }

    /// Fields have their own types in a record; in an item, their names are those of attributes.
    #[test]
    fn names_of_fields_have_a_meaning_in_a_record_only() {
        check(
            "{Item:{Item:1,ConditionExpression:2,ExpressionAttributeNames:{a:3},ExpressionAttributeValues:{b:4}},other:5}",
            concat!(
                r#"{"Item":{"Item":{"N":"1"},"ConditionExpression":{"N":"2"},"ExpressionAttributeNames":{"M":{"a":{"N":"3"}}},"#,
                r#""ExpressionAttributeValues":{"M":{"b":{"N":"4"}}}},"other":{"N":"5"}}"#
            ),
        );
        // A set is a list with an annotation.
        check(
            "{Item:{a:$dynamodb_SS::\"x\",b:$dynamodb_NS::1,c:$dynamodb_BS::{{AQ==}},d:$dynamodb_SS::{e:1},f:dynamodb_SS::[\"x\"]}}",
            concat!(
                r#"{"Item":{"a":{"S":"x"},"b":{"N":"1"},"c":{"B":"AQ=="},"d":{"M":{"e":{"N":"1"}}},"#,
                r#""f":{"L":[{"S":"x"}]}}}"#
            ),
        );
        check(
            r#"{"Item":{"a":1,a$_1:2,'3':3}}"#,
            r#"{"Item":{"a":{"N":"1"},"a$_1":{"N":"2"},"3":{"N":"3"}}}"#,
        );
    }

    #[test]
    fn integers_have_a_radix_and_a_greatest_value() {
        let greatest = u128::MAX;
        for (number, expect) in [
            (format!("{greatest:#x}"), Some(greatest.to_string())),
            (format!("-{greatest:#b}"), Some(format!("-{greatest}"))),
            (format!("{greatest:#x}0"), None),
            ("0x".to_owned(), None),
            ("0b".to_owned(), None),
            ("0xg".to_owned(), None),
            ("0b2".to_owned(), None),
            ("0b1.".to_owned(), None),
        ] {
            let expect = expect.map_or("a number was expected".to_owned(), |number| {
                format!(r#"{{"Item":{{"n":{{"N":"{number}"}}}}}}"#)
            });
            check(&format!("{{Item:{{n:{number}}}}}"), &expect);
        }
    }

    /// An invalid value is an error of its record. Invalid Ion ends the object.
    #[test]
    fn records_behind_an_invalid_value_are_read() {
        let valid = "{Item:{pk:\"a\"}}";
        for (invalid, reads_on) in [
            ("{Item:{n:1e999}}", true),
            ("{Item:{b:{{A}}}}", true),
            ("{Item:{n:2026-01-01}}", false),
            ("{Item:{n:1 2}}", false),
        ] {
            let text = format!("{valid}{invalid}{valid}");
            let records = crate::source::tests::read_records(|_, reading| read(text.as_bytes(), reading));
            let valid: Vec<bool> = records.iter().map(Result::is_ok).collect();
            let expect = [true, false, true];
            assert_eq!(valid, expect[..if reads_on { 3 } else { 2 }], "{invalid}: {records:?}");
        }
    }

    #[test]
    fn space_and_comments_may_be_between_all_tokens() {
        let tokens: Vec<&str> =
            "$ion_1_0 { Item : { s : $dynamodb_SS :: [ \"a\" , '''b''' '''c''' ] , n : $dynamodb_NS :: [ 1 , 2 , ] , \
            b : other :: $dynamodb_BS :: [ {{AQ==}} ] , 'q.q' : [ 1 , true ] , m : { x : null , y : {{AQ==}} } } , \
            ConditionExpression : \"a\" , ExpressionAttributeNames : { '#a' : \"a\" } }"
                .split(' ')
                .collect();
        let expect = concat!(
            r#"{"Item":{"s":{"SS":["a","bc"]},"n":{"NS":["1","2"]},"b":{"BS":["AQ=="]},"q.q":{"L":[{"N":"1"},{"BOOL":true}]},"#,
            r##""m":{"M":{"x":{"NULL":true},"y":{"B":"AQ=="}}}},"ConditionExpression":"a","ExpressionAttributeNames":{"#a":"a"}}"##
        );
        for between in [" ", "\r\n\t", "/**/", " /* } */ ", " // }\n ", "// a\n//b\n/*c*//*d*/"] {
            check(&format!("{between}{}{between}", tokens.join(between)), expect);
        }
    }

    /// An error has its place in the object, not in the record, counted in bytes.
    #[test]
    fn errors_have_their_place() {
        for text in [
            "// one\n{Item:{pk:\"a\"}}  {Item:{pk:b}}{Item:{pk:\"c\"}}",
            "// eins\n{Item:{pk:\"é\"}}  {Item:{pk:b}}{Item:{pk:\"c\"}}",
            "{Item:{pk:\"a\"}} {Item:{'表':\"é😀\",pk:b}}{Item:{pk:\"c\"}}",
        ] {
            let records = crate::source::tests::read_records(|_, reading| read(text.as_bytes(), reading));
            let place = text.rfind('b').unwrap() + 1;
            let error = format!("an item is made of no such value, at byte {place}");
            assert_eq!(records, [Ok(()), Err(error)], "{text}");
        }
    }

    #[test]
    fn escapes() {
        for (escape, expect) in [
            ("n", "\n"),
            ("r", "\r"),
            ("t", "\t"),
            ("0", "\0"),
            ("a", "\u{7}"),
            ("b", "\u{8}"),
            ("f", "\u{c}"),
            ("v", "\u{b}"),
            ("\"", "\""),
            ("'", "'"),
            ("\\", "\\"),
            ("/", "/"),
            ("?", "?"),
            ("\n", ""),
            ("\r\n", ""),
            ("\r", ""),
            ("x7f", "\u{7f}"),
            ("u00e9", "é"),
            ("ud83d\\ude00", "😀"),
            ("U0001F600", "😀"),
            ("x00", "\0"),
            ("xfF", "ÿ"),
            ("u0000", "\0"),
            ("ud7ff", "\u{d7ff}"),
            ("ue000", "\u{e000}"),
            ("uFFFF", "\u{ffff}"),
            ("ud800\\udc00", "\u{10000}"),
            ("uDBFF\\uDFFF", "\u{10ffff}"),
            ("U00000041", "A"),
            ("U0010FFFF", "\u{10ffff}"),
        ] {
            for quote in ["\"", "'", "'''"] {
                let text = format!("{quote}\\{escape}{quote}");
                let mut parser = Parser { text: &text, at: 0 };
                assert_eq!(parser.string(), Ok(expect.to_owned()), "{text}");
            }
        }
    }

    /// A surrogate is no character without the other one, which is an escape too.
    #[test]
    fn escapes_are_characters() {
        for escape in [
            "ud83d",
            "ud83dx",
            "ud83dde00",
            "ud83d\\xde00",
            "ud83d\\ud83d",
            "ud83d\\u0041",
            "ud83d\\ude0",
            "ude00",
            "ude00\\ud83d",
            "U0000d800",
            "U00110000",
            "Uffffffff",
            "U1F600",
            "x4",
            "xé",
            "x4é",
            "u00e",
            "N",
            "X41",
            "1",
        ] {
            let text = format!("\"\\{escape}\"");
            let mut parser = Parser { text: &text, at: 0 };
            assert_eq!(parser.string(), Err(Fault("an escape was expected")), "{text}");
        }
        for text in ["\"", "\"\\", "'''a''", "'a\\'"] {
            let mut parser = Parser { text, at: 0 };
            assert_eq!(parser.string(), Err(Fault("a text does not end")), "{text}");
        }
    }

    /// A line ends with LF, CR or both. In a long string each is LF, unless it is escaped; a short one has none.
    #[test]
    fn line_ends() {
        for (ion, expect) in [
            ("'''a\r\nb\rc\nd\r\r\n\n'''", Ok("a\nb\nc\nd\n\n\n")),
            ("'''a\r''' '''\nb'''", Ok("a\n\nb")),
            ("'''one\\r\\\ntwo'''", Ok("one\rtwo")),
            ("'''one\\r\ntwo'''", Ok("one\r\ntwo")),
            ("'''a\\\r\n\r\nb\\\n\rc'''", Ok("a\nb\nc")),
            ("'''a''' // comment\r'''b'''//\r\n'''c'''", Ok("abc")),
            ("\"a\\\r\nb\"", Ok("ab")),
            ("\"a\rb\"", Err(Fault("a text does not end"))),
            ("'a\r\nb'", Err(Fault("a text does not end"))),
        ] {
            let mut parser = Parser { text: ion, at: 0 };
            assert_eq!(parser.string(), expect.map(str::to_owned), "{ion:?}");
        }
        check(
            "{Item:{a:true, // comment\rb:true}}",
            r#"{"Item":{"a":{"BOOL":true},"b":{"BOOL":true}}}"#,
        );
    }

    #[test]
    fn digits_have_no_sign() {
        for escape in ["x+1", "u+0e9", "U+0000041"] {
            let text = format!("\"\\{escape}\"");
            let mut parser = Parser { text: &text, at: 0 };
            assert_eq!(parser.string(), Err(Fault("an escape was expected")), "{text}");
        }
        for number in ["0x+1", "-0x-1", "0b+1"] {
            check(&format!("{{Item:{{n:{number}}}}}"), "a number was expected");
        }
    }

    #[test]
    fn values_of_the_greatest_depth_are_read() {
        for (deeper, expect) in [(0, "a number was expected"), (1, "values are nested too deep")] {
            let depth = quotas::NESTING_KEPT - 1 + deeper;
            for open in ["[", "{a:"] {
                check(&format!("{{Item:{{a:{}-", open.repeat(depth)), expect);
            }
        }
    }

    #[test]
    fn depth_is_bounded() {
        for open in ["[", "{a:"] {
            check(
                &format!("{{Item:{{a:{}", open.repeat(1_000_000)),
                "values are nested too deep",
            );
        }
    }
}
