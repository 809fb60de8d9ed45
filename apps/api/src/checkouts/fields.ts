import { z } from 'zod';

/** ISO 8601. */
export const time = z.iso.datetime({ offset: true });

/** A lone half of a character pair, or a control character, is no text that a provider could keep. */
const UNREADABLE_TEXT = /[\p{Cs}\p{Cc}]/u;

export const text = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => !UNREADABLE_TEXT.test(value), 'must be text without control characters');
