/** Attempts of a checkout: the memo that every read loads stays small. */
export const MAX_ATTEMPTS = 20;
/** Begins the keys of refunds that no caller asked for. */
export const OURS = 'auto:';
