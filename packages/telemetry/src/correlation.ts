import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * What ties the log lines of one piece of work together, from a request to the API over the workflow to the activity
 * that calls the provider. Ids only, nothing of a payment's content.
 */
export type Correlation = {
  request_id?: string;
  workflow_id?: string;
  run_id?: string;
  activity?: string;
  activity_id?: string;
  /** Of the activity, from 1. */
  attempt?: number;
};

const current = new AsyncLocalStorage<Correlation>();

/** Every line that is logged by `work`, and by what it begins, carries these fields. */
export function correlate<T>(fields: Correlation, work: () => T): T {
  return current.run(fields, work);
}

/** Adds to the fields of the work that is going on; does nothing outside of any. */
export function alsoConcerns(fields: Correlation): void {
  Object.assign(current.getStore() ?? {}, fields);
}

/** The fields of the work that is going on. */
export function correlation(): Readonly<Correlation> {
  return current.getStore() ?? {};
}
