//! The objects of an export: data, manifests and their checksums, in the service's layout
//! (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataExport.Output.html>).

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dynatwin_engine::json::{Object, Writer};
use dynatwin_engine::transfers::{Export, ExportRange, Failure, Format, Line, folder, manifest_key};
use flate2::Compression;
use flate2::write::GzEncoder;
use md5::{Digest, Md5};

use crate::bucket::Bucket;
use crate::{ion, json};

/// Writes an export. The summary comes last: when it exists, the rest can be read.
pub fn write(bucket: &Bucket, export: &Export) -> Result<(), Failure> {
    let prefix = export.prefix.as_deref().unwrap_or_default();
    let root = folder(prefix);
    let own = format!("{root}/{}", export.id());
    bucket.put(&format!("{own}/_started"), b"")?;
    // The data of all incremental exports with one prefix is in one folder.
    let data = match export.span {
        ExportRange::Full(_) => format!("{own}/data"),
        ExportRange::Incremental { .. } => format!("{root}/data"),
    };
    let mut files = Vec::new();
    for (at, lines) in export.parts.iter().enumerate() {
        let (name, extension) = (file_name(export, at), extension(export.format));
        let key = format!("{data}/{name}.{extension}.gz");
        let bytes = compressed(lines, export.format).map_err(Failure::access_denied)?;
        bucket.put(&key, &bytes)?;
        files.extend_from_slice(&file_line(&key, lines.len(), &bytes));
    }
    let manifest = format!("{own}/manifest-files.json");
    checked(bucket, &manifest, &files)?;
    checked(bucket, &manifest_key(prefix, export.id()), &summary(export, &manifest))
}

fn extension(format: Format) -> &'static str {
    match format {
        Format::Ion => "ion",
        _ => "json",
    }
}

/// Returns a name of 26 letters and digits, like the service's, that is the same in each run.
fn file_name(export: &Export, part: usize) -> String {
    let digest = Md5::digest(format!("{}/{part}", export.arn));
    let wide = digest.iter().fold(0_u128, |wide, byte| wide << 8 | u128::from(*byte));
    let digit = |at: u32| char::from(b"abcdefghijklmnopqrstuvwxyz234567"[(wide >> (at * 5) & 31) as usize]);
    (0..26).map(digit).collect()
}

fn compressed(lines: &[Line], format: Format) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    for line in lines {
        encoder.write_all(&match format {
            Format::Ion => ion::line(line),
            _ => json::line(line),
        })?;
    }
    encoder.finish()
}

/// Returns the object's line in the manifest of files.
fn file_line(key: &str, count: usize, bytes: &[u8]) -> Vec<u8> {
    let digest = Md5::digest(bytes);
    let etag: u128 = digest.iter().fold(0, |wide, byte| wide << 8 | u128::from(*byte));
    let mut writer = Writer::new();
    let mut line = Object::open(&mut writer);
    line.integer("itemCount", count as i64);
    line.string("md5Checksum", &STANDARD.encode(digest));
    line.string("etag", &format!("{etag:032x}-1"));
    line.string("dataFileS3Key", key);
    line.close();
    let mut line = writer.finish();
    line.push(b'\n');
    line
}

/// Writes a manifest with its checksum.
fn checked(bucket: &Bucket, key: &str, bytes: &[u8]) -> Result<(), Failure> {
    let checksum = format!("{}.checksum", key.strip_suffix(".json").unwrap_or(key));
    bucket.put(key, bytes)?;
    bucket.put(&checksum, STANDARD.encode(Md5::digest(bytes)).as_bytes())
}

fn summary(export: &Export, manifest: &str) -> Vec<u8> {
    let full = matches!(export.span, ExportRange::Full(_));
    let mut writer = Writer::new();
    let mut summary = Object::open(&mut writer);
    summary.string("version", if full { "2020-06-30" } else { "2023-08-01" });
    summary.string("exportArn", &export.arn);
    summary.string("startTime", &export.start.to_string());
    summary.string("endTime", &export.end.to_string());
    summary.string("tableArn", &export.table_arn);
    summary.string("tableId", &export.table_id);
    match export.span {
        ExportRange::Full(at) => summary.string("exportTime", &at.to_string()),
        ExportRange::Incremental { from, to, .. } => {
            summary.string("exportFromTime", &from.to_string());
            summary.string("exportToTime", &to.to_string());
        }
    }
    summary.string("s3Bucket", &export.bucket);
    or_null(&mut summary, "s3Prefix", export.prefix.as_deref());
    summary.string("s3SseAlgorithm", &export.sse_algorithm);
    or_null(&mut summary, "s3SseKmsKeyId", export.sse_kms_key_id.as_deref());
    summary.string("manifestFilesS3Key", manifest);
    summary.integer("billedSizeBytes", export.billed_bytes as i64);
    summary.integer("itemCount", export.count() as i64);
    summary.string("outputFormat", export.format.name());
    if let ExportRange::Incremental { old_images, .. } = export.span {
        let view = if old_images { "NEW_AND_OLD_IMAGES" } else { "NEW_IMAGE" };
        summary.string("outputView", view);
        summary.string("exportType", "INCREMENTAL_EXPORT");
    }
    summary.close();
    writer.finish()
}

fn or_null(object: &mut Object<'_>, name: &str, text: Option<&str>) {
    match text {
        Some(text) => object.string(name, text),
        None => drop(object.member(name).json(b"null")),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// The etag of an object is that of an upload in one part: the hexadecimal digest, with leading zeros.
    #[test]
    fn checksums_have_all_their_digits() {
        let mut zeros = 0;
        for content in 0..=255_u8 {
            let mut digest = String::new();
            for byte in Md5::digest([content]) {
                write!(digest, "{byte:02x}").unwrap();
            }
            zeros += usize::from(digest.starts_with('0'));
            let line = String::from_utf8(file_line("data/a.json.gz", 3, &[content])).unwrap();
            let checksum = STANDARD.encode(Md5::digest([content]));
            let expect = format!(
                r#"{{"itemCount":3,"md5Checksum":"{checksum}","etag":"{digest}-1","dataFileS3Key":"data/a.json.gz"}}"#
            );
            assert_eq!(line, expect + "\n");
        }
        assert!(zeros > 0);
    }
}
