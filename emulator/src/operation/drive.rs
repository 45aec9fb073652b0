//! The pipeline that every request goes through: decode, check, plan, authorize, execute, encode.

use crate::context::Context;
use crate::error::ApiError;
use crate::execute::{self, RefusalScope, Verdicts};
use crate::expression::Cache;
use crate::plan::Access;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;

/// The stages of an operation, in the order in which [`drive`] runs them. What is bound borrows the request.
pub trait Stages {
    /// The request as it is decoded.
    type Request: Decode;
    /// The request with its expressions bound.
    type Checked<'r>;
    /// What will be done, bound to tables.
    type Plan<'r>;
    /// What was done.
    type Outcome;

    /// What becomes of the entries of a request when one of them is refused.
    const REFUSAL: RefusalScope = RefusalScope::Request;

    /// Makes every check that needs the request alone.
    fn check<'r>(request: &'r mut Self::Request, cache: &'r Cache) -> Result<Self::Checked<'r>, ApiError>;

    /// Binds the request to its tables, with the checks that need their definitions.
    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError>;

    /// Hands over what the request does, entry by entry.
    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>));

    /// Carries out the plan, except what `verdicts` refuses.
    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, verdicts: Verdicts) -> Result<Self::Outcome, ApiError>;

    /// Appends the answer.
    fn encode(plan: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer);
}

/// Carries out a request: reads the body, appends the answer's body.
pub fn drive<O: Stages>(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let mut request = O::Request::decode(body)?;
    let checked = O::check(&mut request, context.engine.expressions())?;
    let plan = O::plan(context, checked).map_err(|error| execute::unplanned(context, error))?;
    let verdicts = execute::authorize(context, O::REFUSAL, |each| O::access(&plan, each))?;
    let outcome = O::execute(context, &plan, verdicts)?;
    O::encode(&plan, outcome, out);
    Ok(())
}
