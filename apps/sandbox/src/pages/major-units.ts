import { ApiError } from '../http/api-error.js';

/** Digits after the point: two in every currency of the method. Source: ISO 4217. */
const MAJOR_UNITS = /^(\d{1,13})(?:\.(\d{1,2}))?$/;

/** What a person enters, `1,500.50`, in the smallest unit. @throws {ApiError} when it is no such amount. */
export function readMajorUnits(text: string, name: string): number {
  const [, whole, fraction = ''] = MAJOR_UNITS.exec(text.trim().replaceAll(',', '')) ?? [];
  if (whole === undefined) throw new ApiError('bad_request', `${name} must be an amount such as 12.50.`);
  return Number(whole) * 100 + Number(fraction.padEnd(2, '0'));
}

/** An amount of the smallest unit as it is entered: `1500.50`. */
export function majorUnits(amount: number): string {
  const digits = String(amount).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
