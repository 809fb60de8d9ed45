import type { ServerResponse } from 'node:http';

/** Characters that are written at once. */
const CHUNK = 64 * 1_024;

/** One member of an object, or one whose value is a list that is written row by row. */
export type Member =
  | readonly [name: string, value: unknown]
  | { readonly name: string; readonly rows: Iterable<unknown> };

/** A JSON object that is too large to be one text: it is made as fast as the caller takes it. */
export class JsonStream {
  constructor(private readonly members: readonly Member[]) {}

  async send(response: ServerResponse, withBody: boolean): Promise<void> {
    response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' });
    if (withBody) {
      for (const chunk of chunksOf(this.members)) {
        if (response.destroyed) return;
        if (!response.write(chunk)) await drained(response);
      }
    }
    response.end();
  }
}

/** Resolves when there is room again, or nobody takes it any more. */
async function drained(response: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => {
    const goOn = (): void => {
      response.off('drain', goOn);
      response.off('close', goOn);
      resolve();
    };
    response.on('drain', goOn);
    response.on('close', goOn);
  });
}

function* chunksOf(members: readonly Member[]): Generator<string> {
  let text = '';
  for (const piece of piecesOf(members)) {
    text += piece;
    if (text.length < CHUNK) continue;
    yield text;
    text = '';
  }
  yield text;
}

function* piecesOf(members: readonly Member[]): Generator<string> {
  let before = '{';
  for (const member of members) {
    if (!('rows' in member)) {
      yield `${before}${JSON.stringify(member[0])}:${JSON.stringify(member[1])}`;
    } else {
      yield `${before}${JSON.stringify(member.name)}:[`;
      let comma = '';
      for (const row of member.rows) {
        yield comma + JSON.stringify(row);
        comma = ',';
      }
      yield ']';
    }
    before = ',';
  }
  yield '}';
}
