//! Converts consumed capacity to JavaScript.

use dynatwin_engine::monitoring::Spent;
use js_sys::Object;

use crate::values::set;

/// Converts the capacity that a table or a global index has consumed.
pub fn object(spent: &Spent) -> Object {
    let object = Object::new();
    set(&object, "table", spent.table.as_str());
    if let Some(index) = &spent.index {
        set(&object, "index", index.as_str());
    }
    set(&object, "read", spent.read.as_f64());
    set(&object, "write", spent.write.as_f64());
    object
}
