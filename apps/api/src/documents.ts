import { CONTROLLERS } from './app.module.js';
import { openApiDocument } from './openapi/document.js';
import { PROBLEMS, type ProblemCode } from './problems/catalog.js';
import { errorIndex, errorPage } from './problems/page.js';

/** The committed documents that are made from the code: their paths in `docs`, and their text. */
export function documents(): ReadonlyMap<string, string> {
  const codes = Object.keys(PROBLEMS) as ProblemCode[];
  return new Map([
    ['openapi.json', `${JSON.stringify(openApiDocument(CONTROLLERS), null, 2)}\n`],
    ['errors/README.md', errorIndex()],
    ...codes.map((code) => [`errors/${code}.md`, errorPage(code)] as const),
  ]);
}
