//! Reading what JavaScript hands in: clocks, conditions and fault rules. A member that is not known is refused, so that
//! a misspelt one does not pass for its default.

use std::time::Duration;

use dynatwin_engine::clock::{Clock, Moment};
use dynatwin_engine::conditions::{Capacity, Conditions, Enforcement, Lag, TimeToLive};
use dynatwin_engine::fault::{Exceeded, KeyMatch, Occasion, Rule, Verdict};
use js_sys::{Array, Object, Reflect};
use wasm_bindgen::{JsCast, JsError, JsValue};

use crate::values::set;
use crate::{LONGEST, Outcome, running};

/// A sentence as an `Error`.
pub fn refusal(sentence: &str) -> JsError {
    JsError::new(sentence)
}

/// `"system"`, `"settable"`, a moment at which a settable clock starts, or `{ start?, speed? }` for one that runs.
pub fn clock(given: &JsValue) -> Outcome<Clock> {
    if given.is_undefined() || given.is_null() {
        return Ok(running(None, None));
    }
    match given.as_string().as_deref() {
        Some("system") => return Ok(running(None, None)),
        Some("settable") => return Ok(Clock::settable(Moment::START)),
        Some(text) => return Ok(Clock::settable(moment(text)?)),
        None => {}
    }
    let members = Members::of("clock", given, &["start", "speed"])?;
    let start = members.text("start")?.map(|text| moment(&text)).transpose()?;
    let speed = members.number("speed")?;
    if speed.is_some_and(|speed| !(0.001..=1_000_000_000.0).contains(&speed)) {
        return Err(refusal("clock.speed is a number from 0.001 to 1000000000."));
    }
    Ok(running(start, speed))
}

/// A moment like `2026-01-01T00:00:00Z`.
pub fn moment(text: &str) -> Outcome<Moment> {
    Moment::parse(text).ok_or_else(|| refusal(&format!("\"{text}\" is no moment: write it like 2026-01-01T00:00:00Z.")))
}

/// A length of time in seconds.
pub fn seconds(what: &str, given: f64) -> Outcome<Duration> {
    Duration::try_from_secs_f64(given)
        .map(|length| length.min(LONGEST))
        .map_err(|_| {
            refusal(&format!(
                "{what} takes a number of seconds from 0 on, and {given} is none."
            ))
        })
}

/// A name, or an object whose members replace those of its `base`; without a `base`, those of `current`.
pub fn conditions(given: &JsValue, current: &Conditions) -> Outcome<Conditions> {
    if given.is_undefined() || given.is_null() {
        return Ok(*current);
    }
    if let Some(name) = given.as_string() {
        return named(&name);
    }
    let known = [
        "base",
        "timeToLive",
        "indexPropagation",
        "readStaleness",
        "monotonicReads",
        "transactionTime",
        "tableStatus",
        "capacity",
        "internalErrors",
        "throttles",
    ];
    let members = Members::of("conditions", given, &known)?;
    let mut conditions = match members.text("base")? {
        Some(name) => named(&name)?,
        None => *current,
    };
    match members.get("timeToLive") {
        Some(value) if value.as_string().as_deref() == Some("off") => conditions.time_to_live = TimeToLive::Off,
        Some(value) => conditions.time_to_live = TimeToLive::Deletes(lag("timeToLive", &value)?),
        None => {}
    }
    if let Some(value) = members.get("indexPropagation") {
        conditions.index_propagation = lag("indexPropagation", &value)?;
    }
    if let Some(value) = members.get("readStaleness") {
        conditions.read_staleness = lag("readStaleness", &value)?;
    }
    if let Some(monotonic) = members.truth("monotonicReads")? {
        conditions.monotonic_reads = monotonic;
    }
    if let Some(value) = members.get("transactionTime") {
        conditions.transaction_time = lag("transactionTime", &value)?;
    }
    if let Some(value) = members.get("tableStatus") {
        conditions.table_status = lag("tableStatus", &value)?;
    }
    if let Some(value) = members.get("capacity") {
        conditions.capacity = capacity(&value, conditions.capacity)?;
    }
    if let Some(share) = members.share("internalErrors")? {
        conditions.internal_errors = share;
    }
    if let Some(share) = members.share("throttles")? {
        conditions.throttles = share;
    }
    Ok(conditions)
}

/// Conditions as the object that [`conditions`] reads.
pub fn conditions_object(conditions: &Conditions) -> Object {
    let object = Object::new();
    match conditions.time_to_live {
        TimeToLive::Off => set(&object, "timeToLive", "off"),
        TimeToLive::Deletes(lag) => set(&object, "timeToLive", lag_value(lag)),
    }
    set(&object, "indexPropagation", lag_value(conditions.index_propagation));
    set(&object, "readStaleness", lag_value(conditions.read_staleness));
    set(&object, "monotonicReads", conditions.monotonic_reads);
    set(&object, "transactionTime", lag_value(conditions.transaction_time));
    set(&object, "tableStatus", lag_value(conditions.table_status));
    set(&object, "capacity", capacity_value(conditions.capacity));
    set(&object, "internalErrors", conditions.internal_errors);
    set(&object, "throttles", conditions.throttles);
    object
}

/// A fault rule; its members are described in `npm/index.d.ts`.
pub fn rule(given: &JsValue) -> Outcome<Rule> {
    let known = [
        "verdict",
        "operation",
        "table",
        "index",
        "caller",
        "partition",
        "partitionPrefix",
        "first",
        "nth",
        "everyNth",
        "share",
    ];
    let members = Members::of("rule", given, &known)?;
    let mut rule = Rule::new(verdict(&members.get("verdict").unwrap_or(JsValue::UNDEFINED))?);
    if let Some(operation) = members.text("operation")? {
        rule = rule.operation(&operation);
    }
    if let Some(table) = members.text("table")? {
        rule = rule.table(&table);
    }
    if let Some(index) = members.text("index")? {
        rule = rule.index(&index);
    }
    if let Some(access_key) = members.text("caller")? {
        rule = rule.caller(&access_key);
    }
    match (members.text("partition")?, members.text("partitionPrefix")?) {
        (Some(_), Some(_)) => return Err(refusal("A rule has partition or partitionPrefix, not both.")),
        (Some(text), None) => rule = rule.key(KeyMatch::Partition(text)),
        (None, Some(text)) => rule = rule.key(KeyMatch::PartitionPrefix(text)),
        (None, None) => {}
    }
    Ok(rule.on(occasion(&members)?))
}

fn named(name: &str) -> Outcome<Conditions> {
    Conditions::named(name).ok_or_else(|| {
        refusal(&format!(
            "There are no conditions called \"{name}\": there are calm, aws and storm."
        ))
    })
}

/// `"reported"`, `"enforced"`, or an object whose members replace those of `current`, or of the service where nothing is
/// enforced.
fn capacity(given: &JsValue, current: Capacity) -> Outcome<Capacity> {
    match given.as_string().as_deref() {
        Some("reported") => return Ok(Capacity::Reported),
        Some("enforced") => return Ok(Capacity::Enforced(Enforcement::AWS)),
        Some(other) => {
            return Err(refusal(&format!(
                "capacity is \"reported\", \"enforced\" or an object, and not \"{other}\"."
            )));
        }
        None => {}
    }
    let known = [
        "burst",
        "adaptive",
        "partitionRead",
        "partitionWrite",
        "partitionSize",
        "heatSplit",
        "growth",
    ];
    let members = Members::of("capacity", given, &known)?;
    let mut rules = match current {
        Capacity::Reported => Enforcement::AWS,
        Capacity::Enforced(rules) => rules,
    };
    let length = |name: &str| members.number(name)?.map(|given| seconds(name, given)).transpose();
    rules.burst = length("burst")?.unwrap_or(rules.burst);
    rules.growth = length("growth")?.unwrap_or(rules.growth);
    rules.adaptive = members.truth("adaptive")?.unwrap_or(rules.adaptive);
    rules.partition_read = members.count("partitionRead")?.unwrap_or(rules.partition_read);
    rules.partition_write = members.count("partitionWrite")?.unwrap_or(rules.partition_write);
    rules.partition_size = members.count("partitionSize")?.unwrap_or(rules.partition_size);
    match members.get("heatSplit") {
        Some(value) if value.as_string().as_deref() == Some("never") => rules.heat_split = None,
        Some(_) => rules.heat_split = length("heatSplit")?,
        None => {}
    }
    Ok(Capacity::Enforced(rules))
}

/// Capacity as [`capacity`] reads it.
fn capacity_value(capacity: Capacity) -> JsValue {
    let Capacity::Enforced(rules) = capacity else {
        return "reported".into();
    };
    let object = Object::new();
    set(&object, "burst", rules.burst.as_secs_f64());
    set(&object, "adaptive", rules.adaptive);
    set(&object, "partitionRead", rules.partition_read as f64);
    set(&object, "partitionWrite", rules.partition_write as f64);
    set(&object, "partitionSize", rules.partition_size as f64);
    match rules.heat_split {
        Some(after) => set(&object, "heatSplit", after.as_secs_f64()),
        None => set(&object, "heatSplit", "never"),
    }
    set(&object, "growth", rules.growth.as_secs_f64());
    object.into()
}

/// A number of seconds, or `{ typical, longest }` in seconds.
pub fn lag(what: &str, given: &JsValue) -> Outcome<Lag> {
    if let Some(length) = given.as_f64() {
        let length = seconds(what, length)?;
        return Ok(if length.is_zero() {
            Lag::None
        } else {
            Lag::Fixed(length)
        });
    }
    let members = Members::of(what, given, &["typical", "longest"])?;
    match (members.number("typical")?, members.number("longest")?) {
        (Some(typical), Some(longest)) if typical <= longest => Ok(Lag::Seeded {
            typical: seconds(what, typical)?,
            longest: seconds(what, longest)?,
        }),
        _ => Err(refusal(&format!(
            "{what} takes a number of seconds, or {{ typical, longest }} with longest not below typical."
        ))),
    }
}

fn lag_value(lag: Lag) -> JsValue {
    match lag {
        Lag::None => 0.into(),
        Lag::Fixed(length) => length.as_secs_f64().into(),
        Lag::Seeded { typical, longest } => {
            let object = Object::new();
            set(&object, "typical", typical.as_secs_f64());
            set(&object, "longest", longest.as_secs_f64());
            object.into()
        }
    }
}

fn verdict(given: &JsValue) -> Outcome<Verdict> {
    match given.as_string().as_deref() {
        Some("throttle") => return Ok(Verdict::Throttle(None)),
        Some("internalServerError") => return Ok(Verdict::InternalServerError),
        Some("serviceUnavailable") => return Ok(Verdict::ServiceUnavailable),
        Some("itemCollectionSizeLimitExceeded") => return Ok(Verdict::ItemCollectionSizeLimitExceeded),
        Some("limitExceeded") => return Ok(Verdict::LimitExceeded),
        Some("reset") => return Ok(Verdict::Reset),
        Some("answerLost") => return Ok(Verdict::AnswerLost),
        Some(word) => return Err(refusal(&format!("\"{word}\" is no verdict: {VERDICTS}"))),
        None => {}
    }
    if !given.is_object() {
        return Err(refusal(&format!("A rule needs a verdict: {VERDICTS}")));
    }
    let members = Members::of("verdict", given, &["throttle", "wait", "truncate"])?;
    match (
        members.text("throttle")?,
        members.number("wait")?,
        members.number("truncate")?,
    ) {
        (Some(name), None, None) => Ok(Verdict::Throttle(Some(exceeded(&name)?))),
        (None, Some(length), None) => Ok(Verdict::Wait(seconds("verdict.wait", length)?)),
        (None, None, Some(bytes)) if bytes >= 0.0 => Ok(Verdict::Truncate(bytes as usize)),
        _ => Err(refusal(&format!("A verdict says one thing: {VERDICTS}"))),
    }
}

const VERDICTS: &str = "throttle, { throttle: reason }, internalServerError, serviceUnavailable, \
                        itemCollectionSizeLimitExceeded, limitExceeded, { wait: seconds }, reset, answerLost or { truncate: bytes }.";

fn exceeded(name: &str) -> Outcome<Exceeded> {
    match name {
        "ProvisionedThroughput" => Ok(Exceeded::ProvisionedThroughput),
        "KeyRangeThroughput" => Ok(Exceeded::KeyRangeThroughput),
        "AccountLimit" => Ok(Exceeded::AccountLimit),
        "MaxOnDemandThroughput" => Ok(Exceeded::MaxOnDemandThroughput),
        _ => Err(refusal(&format!(
            "\"{name}\" is no reason for a throttle: ProvisionedThroughput, KeyRangeThroughput, AccountLimit or \
             MaxOnDemandThroughput."
        ))),
    }
}

fn occasion(members: &Members<'_>) -> Outcome<Occasion> {
    let (first, nth) = (members.count("first")?, members.count("nth")?);
    let (every_nth, share) = (members.count("everyNth")?, members.share("share")?);
    match (first, nth, every_nth, share) {
        (None, None, None, None) => Ok(Occasion::Every),
        (Some(count), None, None, None) => Ok(Occasion::First(count)),
        (None, Some(number), None, None) => Ok(Occasion::Nth(number)),
        (None, None, Some(number), None) => Ok(Occasion::EveryNth(number)),
        (None, None, None, Some(share)) => Ok(Occasion::Share(share)),
        _ => Err(refusal(
            "A rule has one of first, nth, everyNth and share, or none of them.",
        )),
    }
}

/// The members of an object that was checked to have no others than these.
struct Members<'a> {
    what: &'a str,
    object: Object,
}

impl<'a> Members<'a> {
    fn of(what: &'a str, given: &JsValue, known: &[&str]) -> Outcome<Members<'a>> {
        let Some(object) = given.dyn_ref::<Object>().filter(|_| !Array::is_array(given)) else {
            return Err(refusal(&format!(
                "{what} is an object with some of {}.",
                known.join(", ")
            )));
        };
        for name in Object::keys(object).iter().filter_map(|name| name.as_string()) {
            if !known.contains(&name.as_str()) {
                let known = known.join(", ");
                return Err(refusal(&format!("{what} has no member \"{name}\": there are {known}.")));
            }
        }
        Ok(Members {
            what,
            object: object.clone(),
        })
    }

    fn get(&self, name: &str) -> Option<JsValue> {
        let value = Reflect::get(&self.object, &name.into()).ok()?;
        (!value.is_undefined() && !value.is_null()).then_some(value)
    }

    fn text(&self, name: &str) -> Outcome<Option<String>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let text = value.as_string();
        text.map(Some)
            .ok_or_else(|| refusal(&format!("{}.{name} is a text.", self.what)))
    }

    fn number(&self, name: &str) -> Outcome<Option<f64>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = value.as_f64().filter(|number| number.is_finite());
        number
            .map(Some)
            .ok_or_else(|| refusal(&format!("{}.{name} is a number.", self.what)))
    }

    fn truth(&self, name: &str) -> Outcome<Option<bool>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let truth = value.as_bool();
        truth
            .map(Some)
            .ok_or_else(|| refusal(&format!("{}.{name} is true or false.", self.what)))
    }

    fn count(&self, name: &str) -> Outcome<Option<u64>> {
        match self.number(name)? {
            None => Ok(None),
            Some(number) if number >= 1.0 && number.fract() == 0.0 => Ok(Some(number as u64)),
            Some(_) => Err(refusal(&format!("{}.{name} is a whole number from 1 on.", self.what))),
        }
    }

    fn share(&self, name: &str) -> Outcome<Option<f64>> {
        match self.number(name)? {
            Some(number) if !(0.0..=1.0).contains(&number) => {
                Err(refusal(&format!("{}.{name} is a number from 0 to 1.", self.what)))
            }
            share => Ok(share),
        }
    }
}
