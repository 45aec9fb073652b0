//! Directories in the format of ExportTableToPointInTime, each table in a folder of its name, together with its
//! definition.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value as Json, json};

use crate::copy::{CopyEvent, names, page};
use crate::database::Database;
use crate::document;
use crate::error::Error;
use crate::items;
use crate::load::{Keys, send};
use crate::seed::{Seed, Table};
use crate::settings;

/// The file beside an export's manifest that has its table's definition: DescribeTable's answer, with further settings beside
/// `Table`. The service's own exports have none.
pub(crate) const DEFINITION: &str = "table.json";

/// How deeply a manifest may be below the directory: `AWSDynamoDB/<export id>` is two levels.
const DEPTH: usize = 4;

/// The items of every full export in a directory. Their table is `table`, or the one that the export's manifest names.
pub(crate) fn read(directory: &Path, table: Option<&str>) -> Result<Seed, Error> {
    let mut exports = Vec::new();
    find(directory, DEPTH, &mut exports)?;
    if exports.is_empty() {
        return Err(Error::of_path(
            directory,
            "there is no export: no manifest-summary.json",
        ));
    }
    let mut seed = Seed::default();
    let mut first: Option<String> = None;
    for export in exports {
        let (own, read) = read_export(&export, table)?;
        let first = first.get_or_insert_with(|| own.clone());
        if let Some(table) = table
            && *first != own
        {
            let several = format!("there are exports of several tables, {first} and {own}");
            let message = format!("{several}, which cannot be loaded as the one table {table}");
            return Err(Error::of_path(directory, message));
        }
        seed.append(read);
    }
    Ok(seed)
}

fn find(directory: &Path, depth: usize, exports: &mut Vec<PathBuf>) -> Result<(), Error> {
    if directory.join("manifest-summary.json").is_file() {
        exports.push(directory.to_owned());
        return Ok(());
    }
    if depth == 0 {
        return Ok(());
    }
    let entries = fs::read_dir(directory).map_err(|error| Error::of_path(directory, error))?;
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for entry in entries.iter().filter(|entry| entry.is_dir() && !entry.is_symlink()) {
        find(entry, depth - 1, exports)?;
    }
    Ok(())
}

/// Returns the name of the exported table, and its definition and items under the name `table`, or under its own.
fn read_export(directory: &Path, table: Option<&str>) -> Result<(String, Seed), Error> {
    let summary = json(&directory.join("manifest-summary.json"))?;
    let problem = |message: &str| Error::of_path(&directory.join("manifest-summary.json"), message);
    if summary["exportType"].as_str().is_some_and(|kind| kind != "FULL_EXPORT") {
        return Err(problem("only full exports can be loaded"));
    }
    if summary["outputFormat"].as_str() != Some("DYNAMODB_JSON") {
        return Err(problem("only exports in DYNAMODB_JSON can be loaded"));
    }
    let mut seed = Seed::default();
    let definition = directory.join(DEFINITION);
    if definition.is_file() {
        let text = fs::read_to_string(&definition).map_err(|error| Error::of_path(&definition, error))?;
        let file = definition.display().to_string();
        let node = document::json(&text).map_err(|problem| problem.of_file(&file))?;
        let table = if node.get("Table").is_some() {
            Table::of_definition(&file, &node)
        } else {
            Table::of_description(&file, &node)
        };
        seed.tables.push(table.map_err(|problem| problem.of_file(&file))?);
    }
    // Not every implementation's ARNs end in `table/NAME`.
    let arn = summary["tableArn"].as_str().unwrap_or_default();
    let own = match seed.tables.first() {
        Some(table) => table.name.clone(),
        None => arn.rsplit(['/', ':']).next().unwrap_or_default().to_owned(),
    };
    let table = table.unwrap_or(&own);
    if table.is_empty() {
        return Err(problem("tableArn names no table"));
    }
    for definition in &mut seed.tables {
        definition.rename(table);
    }
    let manifest = directory.join("manifest-files.json");
    let text = fs::read_to_string(&manifest).map_err(|error| Error::of_path(&manifest, error))?;
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let of_line = |message: String| Error::of_path(&manifest, message).at_line(at + 1);
        let entry: Json = serde_json::from_str(line).map_err(|error| of_line(error.to_string()))?;
        let key = entry["dataFileS3Key"].as_str();
        let key = key.ok_or_else(|| of_line("there is no dataFileS3Key".into()))?;
        let name = Path::new(key).file_name();
        let name = name.ok_or_else(|| of_line(format!("{key} names no file")))?;
        let path = directory.join("data").join(name);
        let file = File::open(&path).map_err(|error| Error::of_path(&path, error))?;
        let reader: Box<dyn Read + Send> = if name.as_encoded_bytes().ends_with(b".gz") {
            Box::new(MultiGzDecoder::new(BufReader::new(file)))
        } else {
            Box::new(file)
        };
        let file = path.display().to_string();
        seed.items.push(items::lines(&file, table, BufReader::new(reader)));
    }
    Ok((own, seed))
}

fn json(path: &Path) -> Result<Json, Error> {
    let text = fs::read(path).map_err(|error| Error::of_path(path, error))?;
    serde_json::from_slice(&text).map_err(|error| Error::of_path(path, error))
}

/// Writes tables, all if there are none in `tables`, to folders of a directory, in the format that [`Seed::read`] reads and
/// ImportTable imports. Returns the number of items.
pub fn export(
    from: &dyn Database,
    tables: &[String],
    directory: &Path,
    report: &(dyn Fn(CopyEvent<'_>) + Sync),
) -> Result<u64, String> {
    let tables = if tables.is_empty() {
        names(from).map_err(|error| error.to_string())?
    } else {
        tables.to_vec()
    };
    let mut copied = 0;
    for table in &tables {
        let description = send(from, "DescribeTable", &json!({"TableName": table}));
        let description = description.map_err(|error| format!("{table}: {error}"))?;
        let about = description["Table"]["ItemCount"].as_u64().unwrap_or_default();
        report(CopyEvent::Begins { table, about });
        let items = export_table(from, table, &description, &directory.join(table), report)?;
        report(CopyEvent::Done {
            table,
            items,
            checksum: None,
        });
        copied += items;
    }
    Ok(copied)
}

fn export_table(
    from: &dyn Database,
    table: &str,
    description: &Json,
    directory: &Path,
    report: &(dyn Fn(CopyEvent<'_>) + Sync),
) -> Result<u64, String> {
    let of_io = |error: std::io::Error| format!("{}: {error}", directory.display());
    if directory.join("manifest-summary.json").exists() {
        let problem = "there is an export already; name another directory, or delete this one";
        return Err(format!("{}: {problem}", directory.display()));
    }
    fs::create_dir_all(directory.join("data")).map_err(of_io)?;
    let name = "items.json.gz";
    let file = File::create(directory.join("data").join(name)).map_err(of_io)?;
    let mut file = GzEncoder::new(BufWriter::new(file), Compression::default());
    let keys = Keys::of_description(table, &description["Table"]);
    let (mut items, mut after) = (0_u64, None);
    loop {
        let page = page(from, &keys, 0, 1, after.as_ref())?;
        for item in &page.items {
            writeln!(file, "{}", json!({ "Item": item })).map_err(of_io)?;
        }
        items += page.items.len() as u64;
        report(CopyEvent::Copied {
            items: page.items.len() as u64,
        });
        after = page.last;
        if after.is_none() {
            break;
        }
    }
    file.finish().and_then(|mut file| file.flush()).map_err(of_io)?;
    let definition = settings::definition(from, table, description, &|text| report(CopyEvent::Note { text }));
    let manifest = json!({"itemCount": items, "dataFileS3Key": format!("data/{name}")});
    let summary = json!({
        "version": "2020-06-30", "exportType": "FULL_EXPORT", "outputFormat": "DYNAMODB_JSON", "itemCount": items,
        "tableArn": description["Table"]["TableArn"], "manifestFilesS3Key": "manifest-files.json",
    });
    // The summary comes last: without it there is no export.
    for (name, json) in [
        (DEFINITION, &definition),
        ("manifest-files.json", &manifest),
        ("manifest-summary.json", &summary),
    ] {
        fs::write(directory.join(name), format!("{json}\n")).map_err(of_io)?;
    }
    Ok(items)
}
