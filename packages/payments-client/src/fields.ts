import { z } from 'zod';

/**
 * Fields that inform but decide nothing. Left out, null, or of a type that the reference does not show, they read as
 * undefined or null and never fail a call that moves money. What decisions rest on is declared strictly instead.
 */
export const text = z.string().nullish().catch(undefined);
export const flag = z.boolean().nullish().catch(undefined);
export const integer = z.int().nullish().catch(undefined);
export const decimal = z.number().nullish().catch(undefined);
export const items = z.array(z.unknown()).nullish().catch(undefined);
export const anything = z.unknown().optional();

/** An object of which the reference shows no shape, or whose shape is the merchant's. */
export const fields = z.record(z.string(), z.unknown()).nullish().catch(undefined);
