/**
 * The reason of an abort that only ends a wait. An abort without a reason makes an exception with a stack trace each
 * time.
 */
export const OVER = new Error('The wait is over');
