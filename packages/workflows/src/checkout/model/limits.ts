/** Attempts of a checkout: the memo that every read loads stays small. */
export const MAX_ATTEMPTS = 20;
