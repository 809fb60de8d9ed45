import { z } from 'zod';

export type Reading<T> = { readonly record: T } | { readonly issues: string };

const MAX_ISSUES = 5;

/** Each schema's compiled form, made when it is first needed. Without `eval`, zod hands back the schema itself. */
const compiled = new WeakMap<z.ZodType, z.ZodType>();

/**
 * Checks what decisions rest on and gives the record itself, not the parser's copy: fields that the schema does not
 * name survive, and nothing is copied. So schemas must not transform.
 */
export function read<T>(schema: z.ZodType<T>, json: unknown): Reading<T> {
  // The schema has just shown it.
  if (compiledOf(schema).validate(json)) return { record: json as T };
  const parsed = schema.safeParse(json);
  if (parsed.success) return { record: json };
  const issues = parsed.error.issues
    .slice(0, MAX_ISSUES)
    .map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`);
  return { issues: issues.join('; ') };
}

function compiledOf(schema: z.ZodType): z.ZodType {
  let form = compiled.get(schema);
  if (form === undefined) {
    form = z.compile(schema);
    compiled.set(schema, form);
  }
  return form;
}
