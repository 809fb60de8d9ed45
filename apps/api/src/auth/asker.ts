import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Caller } from './caller.js';

/** Who asked, for the audit: the name of the API key, and the request as the logs name it. */
export type Asker = { readonly by: string; readonly requestId: string };

/** The one who asks, as the guard knows it. */
export const AskedBy = createParamDecorator((_: unknown, context: ExecutionContext): Asker => {
  const { caller, id } = context.switchToHttp().getRequest<Caller>();
  return { by: caller ?? 'unknown', requestId: id };
});
