import type { Instant } from '@tillflow/domain';
import type { CheckoutIntent } from '../view.js';
import type { Journal } from './journal.js';
import type { CheckoutPolicy } from './policy.js';
import type { CheckoutRecord } from './record.js';
import type { Step } from './step.js';

/** What the parts of a book share. */
export type BookContext = {
  readonly intent: CheckoutIntent;
  readonly policy: CheckoutPolicy;
  readonly record: CheckoutRecord;
  readonly journal: Journal;
};

/** Something that is due at a time; without a step it is only worth waking up for. */
export type Due = { readonly at: Instant; readonly step?: Step; readonly why: string };
