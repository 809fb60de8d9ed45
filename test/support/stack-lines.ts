/**
 * Temporal's SDK takes over how Node writes the stacks of errors, because it knows the lines of workflow code. It also
 * takes over the errors of specs: their lines would be those of compiled code. This gives them back to Vitest.
 */
const ofVitest = Error.prepareStackTrace;
let ofTemporal: typeof ofVitest;

if (ofVitest !== undefined && Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace')?.get === undefined) {
  const prepare: typeof ofVitest = (error, frames) =>
    error instanceof Error || ofTemporal === undefined ? ofVitest(error, frames) : ofTemporal(error, frames);
  Object.defineProperty(Error, 'prepareStackTrace', {
    configurable: true,
    get: () => prepare,
    set: (given: typeof ofVitest) => {
      ofTemporal = given;
    },
  });
}
