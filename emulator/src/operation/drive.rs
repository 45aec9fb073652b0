//! The pipeline of every request: decode, check, plan, authorize, execute, encode.

use crate::context::{Caches, Context};
use crate::error::ApiError;
use crate::execute::{self, RefusalScope, Refusals};
use crate::plan::Access;
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;

/// The stages of an operation, in the order in which [`drive`] runs them. Bound stages borrow the request.
pub trait Stages {
    type Request: Decode;
    /// The request with its expressions bound.
    type Checked<'r>;
    /// The planned work, bound to tables.
    type Plan<'r>;
    /// The result of the execution.
    type Outcome;

    /// How the rejection of one entry affects the others.
    const REFUSAL: RefusalScope = RefusalScope::Request;

    /// Returns the error that answers a body that cannot be decoded; `error` is the first one that the decoder reports.
    fn decode_error(_body: &[u8], error: ApiError) -> ApiError {
        error
    }

    /// Runs every check that needs only the request.
    fn check<'r>(request: &'r mut Self::Request, caches: &'r Caches) -> Result<Self::Checked<'r>, ApiError>;

    /// Binds the request to its tables, with the checks that need their definitions.
    fn plan<'r>(context: &'r Context<'_>, checked: Self::Checked<'r>) -> Result<Self::Plan<'r>, ApiError>;

    /// Calls `each` for every access that the request requires, entry by entry.
    fn access(plan: &Self::Plan<'_>, each: &mut dyn FnMut(Access<'_, '_>));

    /// Executes the plan, except the entries rejected by `refusals`.
    fn execute(context: &Context<'_>, plan: &Self::Plan<'_>, refusals: Refusals) -> Result<Self::Outcome, ApiError>;

    fn encode(plan: &Self::Plan<'_>, outcome: Self::Outcome, out: &mut Writer);
}

/// Runs a request: reads its body, writes the response body.
pub fn drive<O: Stages>(context: &Context<'_>, body: &[u8], out: &mut Writer) -> Result<(), ApiError> {
    let mut request = match O::Request::decode(body) {
        Ok(request) => request,
        Err(error) => return Err(O::decode_error(body, error)),
    };
    let checked = O::check(&mut request, context.engine.caches())?;
    let plan = O::plan(context, checked).map_err(|error| execute::unplanned(context, error))?;
    let refusals = execute::authorize(context, O::REFUSAL, |each| O::access(&plan, each))?;
    let outcome = O::execute(context, &plan, refusals)?;
    O::encode(&plan, outcome, out);
    Ok(())
}
