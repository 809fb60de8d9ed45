import { applyDecorators, SetMetadata } from '@nestjs/common';
import type { z } from 'zod';
import { Admits, type OperationId } from '../auth/access.js';
import type { ProblemCode } from '../problems/catalog.js';

/** Under these names the document finds what the decorators say. */
export const TAG_METADATA = 'openapi:tag';
export const OPERATION_METADATA = 'openapi:operation';
export const ANSWERS_METADATA = 'openapi:answers';

/** A header that a route reads. */
export type RequestHeader = {
  readonly name: string;
  readonly required: boolean;
  readonly description: string;
  readonly schema: z.ZodType;
};

/** The body of a route that reads its bytes itself, where no `@Body` names a schema. */
type RawBody = {
  readonly type: string;
  readonly schema: z.ZodType;
  readonly encoding?: Readonly<Record<string, { readonly contentType: string }>>;
};

export type OperationMetadata = {
  readonly operationId: string;
  readonly summary: string;
  readonly problems: readonly ProblemCode[];
  readonly headers?: readonly RequestHeader[];
  readonly body?: RawBody;
};

/**
 * Another operation that takes what this answer holds. Values are runtime expressions, such as `$response.body#/id`.
 */
export type Link = { readonly operationId: string; readonly parameters: Readonly<Record<string, string>> };

export type Content = { readonly schema?: z.ZodType; readonly example?: unknown };

export type AnswerMetadata = {
  readonly status: number;
  readonly description: string;
  readonly content: Readonly<Record<string, Content>>;
  readonly headers: readonly AnswerHeader[];
  readonly links: readonly Link[];
};

/** Headers that only some answers have. The document adds the headers of all answers. */
export type AnswerHeader = 'Location' | 'Content-Disposition' | 'Content-Language' | 'Vary';

/** Groups the operations of a controller. */
export const Tag = (name: string): ClassDecorator => SetMetadata(TAG_METADATA, name);

/**
 * Describes an operation, names its own problems, and opens its route to those who may call it (`auth/access.ts`). The
 * document adds the problems that follow from the route: its access and its body.
 */
export function Describes(
  operationId: OperationId,
  summary: string,
  problems: readonly ProblemCode[],
  takes: Pick<OperationMetadata, 'headers' | 'body'> = {},
): MethodDecorator {
  const operation: OperationMetadata = { operationId, summary, problems, ...takes };
  return applyDecorators(Admits(operationId), SetMetadata(OPERATION_METADATA, operation));
}

/** A JSON answer. */
export function Answers<T>(
  status: number,
  description: string,
  schema: z.ZodType<T>,
  more: { readonly example?: T; readonly headers?: readonly AnswerHeader[]; readonly links?: readonly Link[] } = {},
): MethodDecorator {
  const { example, headers, links } = more;
  return AnswersWith(status, description, { content: { 'application/json': { schema, example } }, headers, links });
}

/** An answer in other media types, or without a body. */
export function AnswersWith(
  status: number,
  description: string,
  {
    content = {},
    headers = [],
    links = [],
  }: {
    readonly content?: Readonly<Record<string, Content>>;
    readonly headers?: readonly AnswerHeader[] | undefined;
    readonly links?: readonly Link[] | undefined;
  } = {},
): MethodDecorator {
  const answer: AnswerMetadata = { status, description, content, headers, links };
  return (target, key, descriptor) => {
    const method: unknown = descriptor.value;
    if (typeof method !== 'function') return;
    // Decorators run from the last to the first.
    const others = (Reflect.getMetadata(ANSWERS_METADATA, method) ?? []) as readonly AnswerMetadata[];
    Reflect.defineMetadata(ANSWERS_METADATA, [answer, ...others], method);
  };
}
