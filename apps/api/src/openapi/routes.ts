import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants.js';
import type { z } from 'zod';
import type { Access } from '../auth/access.js';
import {
  ANSWERS_METADATA,
  OPERATION_METADATA,
  TAG_METADATA,
  type AnswerMetadata,
  type OperationMetadata,
} from './decorators.js';

/** A route that has a description, as its decorators state it. */
export type Route = {
  /** In OpenAPI's notation, such as `/v1/checkouts/{id}`. */
  readonly path: string;
  readonly method: string;
  readonly tag: string;
  readonly access: Access;
  readonly operation: OperationMetadata;
  readonly answers: readonly AnswerMetadata[];
  /** What `@Param`, `@Query` and `@Body` check with. */
  readonly params: z.ZodType | undefined;
  readonly query: z.ZodType | undefined;
  readonly body: z.ZodType | undefined;
};

/** The routes of a controller that have a description, in the order of its methods. */
export function routesOf(controller: Type): readonly Route[] {
  const handlers = controller.prototype as Readonly<Record<string, unknown>>;
  return Object.getOwnPropertyNames(handlers).flatMap((name) => {
    const handler = handlers[name];
    if (typeof handler !== 'function') return [];
    // Each is written by the decorator that goes with its key.
    const operation = Reflect.getMetadata(OPERATION_METADATA, handler) as OperationMetadata | undefined;
    if (operation === undefined) return [];
    const method = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod;
    const { access } = Reflect.getMetadata(FASTIFY_ROUTE_CONFIG_METADATA, handler) as { readonly access: Access };
    return {
      path: pathOf(Reflect.getMetadata(PATH_METADATA, controller), Reflect.getMetadata(PATH_METADATA, handler)),
      method: RequestMethod[method].toLowerCase(),
      tag: String(Reflect.getMetadata(TAG_METADATA, controller)),
      access,
      operation,
      answers: (Reflect.getMetadata(ANSWERS_METADATA, handler) ?? []) as readonly AnswerMetadata[],
      params: schemaOf(controller, name, RouteParamtypes.PARAM),
      query: schemaOf(controller, name, RouteParamtypes.QUERY),
      body: schemaOf(controller, name, RouteParamtypes.BODY),
    };
  });
}

function pathOf(...segments: readonly unknown[]): string {
  const parts = segments.flatMap((segment) => String(segment).split('/')).filter((part) => part !== '');
  return `/${parts.join('/')}`.replace(/:(\w+)/g, '{$1}');
}

type Parameters = Readonly<Record<string, { readonly schema?: z.ZodType } | undefined>>;

function schemaOf(controller: Type, method: string, kind: RouteParamtypes): z.ZodType | undefined {
  const given = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, method) ?? {}) as Parameters;
  const [, parameter] = Object.entries(given).find(([key]) => key.startsWith(`${kind}:`)) ?? [];
  return parameter?.schema;
}
