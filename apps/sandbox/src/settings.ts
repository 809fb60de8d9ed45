import { z } from 'zod';
import type { RateLimit } from './assumptions.js';
import { isHttpUri } from './http/params.js';
import { secretSchema } from './control/inputs.js';

const address = z.string().refine(isHttpUri, 'must be an http or https address');
const key = z.string().regex(/^[\x21-\x39\x3b-\x7e]+$/, 'must be printable, without spaces and colons');

const settingsSchema = z
  .object({
    /** 0 for a free port. */
    SANDBOX_PORT: z
      .string()
      .regex(/^\d{1,5}$/, 'must be a port number')
      .default('4010')
      .transform(Number)
      .refine((port) => port <= 65_535, 'must be a port number'),
    SANDBOX_HOST: z.string().default('127.0.0.1'),
    /** The address in QR codes and downloads. */
    SANDBOX_PUBLIC_URL: address.optional(),
    /** Further values of `Host`, comma-separated, that the control routes and the pages accept. */
    SANDBOX_ALLOWED_HOSTS: z
      .string()
      .regex(/^(\[[0-9a-f:]+\]|[a-z0-9._-]+)(:\d{1,5})?(,(\[[0-9a-f:]+\]|[a-z0-9._-]+)(:\d{1,5})?)*$/i, 'must be hosts')
      .transform((hosts) => hosts.split(','))
      .optional(),
    SANDBOX_SEED: z.string().optional(),
    PROVIDER_SECRET_KEY: key.optional(),
    PROVIDER_PUBLIC_KEY: key.optional(),
    PROVIDER_WEBHOOK_SECRET: secretSchema.transform((secrets) => secrets.split(',')).optional(),
    WEBHOOK_URL: address.optional(),
    /** A file with a fault plan. */
    SANDBOX_FAULT_PLAN: z.string().optional(),
    /** Requests per second, or requests per second/burst: `25` or `25/100`. */
    SANDBOX_RATE_LIMIT: z
      .string()
      .regex(/^[1-9]\d{0,5}(\/[1-9]\d{0,5})?$/, 'must be requests per second, or requests per second/burst')
      .transform((text): RateLimit => {
        const [perSecond, burst] = text.split('/').map(Number);
        return { per_second: perSecond ?? 1, burst: burst ?? perSecond ?? 1, retry_after: true };
      })
      .optional(),
  })
  .refine(
    ({ PROVIDER_SECRET_KEY, PROVIDER_PUBLIC_KEY }) =>
      !PROVIDER_SECRET_KEY || PROVIDER_SECRET_KEY !== PROVIDER_PUBLIC_KEY,
    'PROVIDER_SECRET_KEY and PROVIDER_PUBLIC_KEY must differ',
  );

export type Settings = z.output<typeof settingsSchema>;

/** Every setting of the program, read once. A variable that is set to the empty string counts as unset. */
export function readSettings(
  environment: Readonly<Record<string, string | undefined>>,
): { readonly settings: Settings } | { readonly mistakes: string } {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const result = settingsSchema.safeParse(given);
  return result.success ? { settings: result.data } : { mistakes: z.prettifyError(result.error) };
}
