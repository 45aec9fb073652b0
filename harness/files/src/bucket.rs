//! A folder in place of a bucket: an object's key is its path below the folder.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use dynatwin_engine::transfers::Failure;

/// The maximum number of objects that are listed: the limit of an import.
const MOST_OBJECTS: usize = 50_000;

pub struct Bucket(PathBuf);

/// An object of a bucket.
pub struct Object {
    /// The key of the object, relative to the bucket.
    pub key: String,
    pub path: PathBuf,
}

impl Bucket {
    /// Opens the bucket with this name; fails if it does not exist.
    pub fn open(folder: &Path, name: &str) -> Result<Bucket, Failure> {
        let path = folder.join(plain(name).ok_or_else(Failure::no_such_bucket)?);
        if path.is_dir() {
            Ok(Bucket(path))
        } else {
            Err(Failure::no_such_bucket())
        }
    }

    /// Writes an object. Symbolic links are not followed, because they could lead out of the bucket.
    pub fn put(&self, key: &str, bytes: &[u8]) -> Result<(), Failure> {
        let mut path = self.0.clone();
        let mut parts = key.split('/').filter(|part| !part.is_empty()).peekable();
        while let Some(part) = parts.next() {
            // Keys come from requests; a key that would leave the bucket is refused.
            path.push(plain(part).ok_or_else(|| Failure::access_denied(format_args!("{key} is not a valid path")))?);
            let there = fs::symlink_metadata(&path).ok();
            if there.as_ref().is_some_and(fs::Metadata::is_symlink) {
                return Err(Failure::access_denied(format_args!("{} is a link", path.display())));
            }
            if parts.peek().is_some() && there.is_none() {
                fs::create_dir(&path).map_err(Failure::access_denied)?;
            }
        }
        fs::write(&path, bytes).map_err(Failure::access_denied)
    }

    /// Returns the objects whose keys start with a prefix, ordered by key. Symbolic links are skipped.
    pub fn objects(&self, prefix: &str) -> Result<Vec<Object>, Failure> {
        self.at_most(MOST_OBJECTS, prefix)
    }

    /// Returns the objects whose keys start with a prefix; an error if these are more than `most`.
    fn at_most(&self, most: usize, prefix: &str) -> Result<Vec<Object>, Failure> {
        let mut found = Vec::new();
        let mut folders = vec![(self.0.clone(), String::new())];
        while let Some((folder, under)) = folders.pop() {
            for entry in fs::read_dir(&folder).map_err(Failure::access_denied)? {
                let entry = entry.map_err(Failure::access_denied)?;
                let key = format!("{under}{}", entry.file_name().to_string_lossy());
                let kind = entry.file_type().map_err(Failure::access_denied)?;
                let leads_on = |key: &str| key.starts_with(prefix) || prefix.starts_with(key);
                if kind.is_dir() && leads_on(&format!("{key}/")) {
                    folders.push((entry.path(), format!("{key}/")));
                } else if kind.is_file() && key.starts_with(prefix) {
                    found.push(Object {
                        key,
                        path: entry.path(),
                    });
                }
                if found.len() > most {
                    return Err(Failure::access_denied(format_args!(
                        "more than {most} objects begin with {prefix}"
                    )));
                }
            }
        }
        found.sort_by(|left, right| left.key.cmp(&right.key));
        Ok(found)
    }
}

impl Object {
    /// Opens the object; also returns its length.
    pub fn open(&self) -> io::Result<(File, u64)> {
        let file = File::open(&self.path)?;
        let length = file.metadata()?.len();
        Ok((file, length))
    }
}

/// Returns a name if it is a single path component that leads downwards.
fn plain(name: &str) -> Option<&str> {
    let bad = |char: char| matches!(char, '/' | '\\' | '\0' | ':');
    (!name.is_empty() && name != "." && name != ".." && !name.contains(bad)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_objects_is_limited() {
        let folder = std::env::temp_dir().join(format!("dynatwin-objects-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("data")).unwrap();
        let bucket = Bucket::open(&folder, "data").unwrap_or_else(|failure| panic!("{failure:?}"));
        let listed = |prefix: &str| bucket.at_most(3, prefix).map(|objects| objects.len()).ok();
        for (key, all, below) in [("a", 1, 0), ("b/1", 2, 1), ("b/2", 3, 2), ("b/3", 4, 3)] {
            bucket.put(key, b"").unwrap();
            // Objects without the prefix do not count.
            assert_eq!(listed(""), Some(all).filter(|count| *count <= 3), "{key}");
            assert_eq!(listed("b/"), Some(below), "{key}");
        }
        bucket.put("b/4", b"").unwrap();
        assert_eq!(listed("b/"), None);
        let failure = bucket.at_most(3, "b/").err().unwrap();
        assert_eq!(failure.message, "Access Denied: more than 3 objects begin with b/");
        // The service's quota of an import.
        assert_eq!(MOST_OBJECTS, 50_000);
        fs::remove_dir_all(&folder).unwrap();
    }

    /// The order is that of the keys' bytes, as in the service: upper case comes first.
    #[test]
    fn objects_are_ordered_by_key() {
        let folder = std::env::temp_dir().join(format!("dynatwin-ordered-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("data")).unwrap();
        let bucket = Bucket::open(&folder, "data").unwrap_or_else(|failure| panic!("{failure:?}"));
        for key in ["c", "b/1", "a", "b/Z", "B", "é", "z", "b-1", "C/a"] {
            bucket.put(key, b"").unwrap();
        }
        let keys: Vec<_> = bucket
            .objects("")
            .unwrap()
            .into_iter()
            .map(|object| object.key)
            .collect();
        assert_eq!(keys, ["B", "C/a", "a", "b-1", "b/1", "b/Z", "c", "z", "é"]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn no_link_is_written_through() {
        let folder = std::env::temp_dir().join(format!("dynatwin-links-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("data")).unwrap();
        fs::create_dir_all(folder.join("other")).unwrap();
        fs::write(folder.join("other/file"), b"before").unwrap();
        let bucket = Bucket::open(&folder, "data").unwrap_or_else(|failure| panic!("{failure:?}"));
        for (link, to) in [("folder", "other"), ("file", "other/file"), ("dangling", "other/new")] {
            std::os::unix::fs::symlink(folder.join(to), folder.join("data").join(link)).unwrap();
        }
        for key in ["folder/file", "file", "dangling"] {
            let failure = bucket.put(key, b"after").unwrap_err();
            let link = folder.join("data").join(key.split('/').next().unwrap());
            let message = format!("Access Denied: {} is a link", link.display());
            assert_eq!((failure.code, failure.message), ("S3AccessDenied", message), "{key}");
        }
        assert_eq!(fs::read(folder.join("other/file")).unwrap(), b"before");
        assert!(!folder.join("other/new").exists());
        // Nor is one read.
        bucket.put("own", b"").unwrap();
        let keys = bucket.objects("").unwrap().into_iter().map(|object| object.key);
        assert_eq!(keys.collect::<Vec<_>>(), ["own"]);
        fs::remove_dir_all(&folder).unwrap();
    }

    /// The folder of a bucket may be elsewhere.
    #[cfg(unix)]
    #[test]
    fn a_bucket_may_be_a_link_to_a_folder() {
        let folder = std::env::temp_dir().join(format!("dynatwin-linked-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("buckets")).unwrap();
        fs::create_dir_all(folder.join("elsewhere")).unwrap();
        fs::write(folder.join("file"), b"").unwrap();
        for (link, to) in [
            ("linked", "elsewhere"),
            ("twice", "buckets/linked"),
            ("file", "file"),
            ("dangling", "missing"),
        ] {
            std::os::unix::fs::symlink(folder.join(to), folder.join("buckets").join(link)).unwrap();
        }
        let root = folder.join("buckets");
        for name in ["linked", "twice"] {
            let bucket = Bucket::open(&root, name).unwrap_or_else(|failure| panic!("{name}: {failure:?}"));
            bucket.put("a/b", name.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(folder.join("elsewhere/a/b")).unwrap(), name);
            let keys = bucket.objects("").unwrap().into_iter().map(|object| object.key);
            assert_eq!(keys.collect::<Vec<_>>(), ["a/b"], "{name}");
        }
        for name in ["file", "dangling"] {
            let opened = Bucket::open(&root, name).err().map(|failure| failure.code);
            assert_eq!(opened, Some("S3NoSuchBucket"), "{name}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn no_key_leaves_the_bucket() {
        for name in ["", ".", "..", "a/b", "a\\b", "c:", "a\0"] {
            assert_eq!(plain(name), None, "{name}");
        }
        for name in ["a", "...", "a.b", "é"] {
            assert_eq!(plain(name), Some(name));
        }
    }

    /// A prefix is the beginning of a key, whether it ends in a folder's name or within a name.
    #[test]
    fn objects_have_the_prefix() {
        let folder = std::env::temp_dir().join(format!("dynatwin-prefixes-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("data/empty/deep")).unwrap();
        let bucket = Bucket::open(&folder, "data").unwrap_or_else(|failure| panic!("{failure:?}"));
        let keys = [
            "aa",
            "ab",
            "a-b/x",
            "a/b",
            "a/bc/d",
            "a/c/d/e",
            "b/a",
            "é/ü",
            ".a",
            ".staging/a.json",
            "a/.b",
            "a/.c/d",
        ];
        for key in keys {
            bucket.put(key, key.as_bytes()).unwrap();
        }
        for prefix in [
            "",
            "a",
            "ab",
            "a/",
            "a/b",
            "a/bc",
            "a/bc/",
            "a/bc/d",
            "a/bc/d/",
            "a/c/d/",
            "a/c/d/e",
            "a-",
            "a-b",
            "b",
            "b/",
            "b/a/",
            "/",
            "/a",
            "c",
            "A",
            "empty",
            "empty/",
            "é",
            "é/",
            "é/ü",
            ".",
            ".a",
            ".s",
            ".staging",
            ".staging/",
            "a/.",
            "a/.b",
            "a/.c/",
            "./a",
            "a//b",
            "../data/a",
        ] {
            let mut expected: Vec<_> = keys.into_iter().filter(|key| key.starts_with(prefix)).collect();
            expected.sort_unstable();
            let objects = bucket.objects(prefix).unwrap();
            let found: Vec<_> = objects.iter().map(|object| object.key.as_str()).collect();
            assert_eq!(found, expected, "{prefix}");
            for object in &objects {
                assert_eq!(fs::read_to_string(&object.path).unwrap(), object.key);
                assert_eq!(object.open().unwrap().1, object.key.len() as u64, "{}", object.key);
            }
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    /// A name that leads elsewhere is no bucket, and no part of a key.
    #[test]
    fn names_lead_downwards() {
        let folder = std::env::temp_dir().join(format!("dynatwin-names-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("buckets/data")).unwrap();
        fs::create_dir_all(folder.join("elsewhere")).unwrap();
        fs::write(folder.join("buckets/file"), "").unwrap();
        let root = folder.join("buckets");
        for name in [
            "",
            ".",
            "..",
            "../elsewhere",
            "data/..",
            "/",
            "a\\b",
            "c:",
            "file",
            "missing",
            "da\0ta",
        ] {
            let opened = Bucket::open(&root, name).err().map(|failure| failure.code);
            assert_eq!(opened, Some("S3NoSuchBucket"), "{name:?}");
        }
        let bucket = Bucket::open(&root, "data").unwrap_or_else(|failure| panic!("{failure:?}"));
        for key in ["..", "../x", "a/../x", "./x", "a/.", "a\\x", "c:x", "a\0"] {
            let failure = bucket.put(key, b"").unwrap_err();
            let message = format!("Access Denied: {key} is not a valid path");
            assert_eq!((failure.code, failure.message), ("S3AccessDenied", message), "{key:?}");
        }
        for (key, file) in [
            ("x", "x"),
            ("/y", "y"),
            ("z//w", "z/w"),
            ("..v", "..v"),
            ("a b/ü", "a b/ü"),
        ] {
            bucket.put(key, key.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(root.join("data").join(file)).unwrap(), key);
            bucket.put(key, b"again").unwrap();
            assert_eq!(fs::read_to_string(root.join("data").join(file)).unwrap(), "again");
        }
        // In a folder, a file and a folder cannot have one name.
        for key in ["x/y", "x/y/z", "z"] {
            let failure = bucket.put(key, b"").unwrap_err();
            assert_eq!(failure.code, "S3AccessDenied", "{key}");
        }
        assert_eq!(fs::read_to_string(root.join("data/x")).unwrap(), "again");
        fs::remove_dir_all(&folder).unwrap();
    }
}
