import type { z } from 'zod';

export type Reading<T> = { readonly record: T } | { readonly issues: string };

const MAX_ISSUES = 5;

/**
 * Checks what decisions rest on and gives the record itself, not the parser's copy: fields that the schema does not
 * name survive, and half the cost of validation is saved. So schemas must not transform.
 */
export function read<T>(schema: z.ZodType<T>, json: unknown): Reading<T> {
  const parsed = schema.safeParse(json);
  // The schema has just shown it.
  if (parsed.success) return { record: json as T };
  const issues = parsed.error.issues
    .slice(0, MAX_ISSUES)
    .map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`);
  return { issues: issues.join('; ') };
}
