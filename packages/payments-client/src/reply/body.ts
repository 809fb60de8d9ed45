/**
 * The text of a reply. That of a long list is divided between records, without the commas there, so that joining it
 * with commas gives the whole text.
 */
export type Body = readonly string[];

/**
 * V8 takes new memory from the operating system for each text above 128 KB, and that costs more than decoding it. Parts
 * of this size stay below it, also where a character takes two bytes.
 */
const PART_BYTES = 48 * 1_024;
/** How a list begins whose text can be divided. The group is how each of its records begins. */
const LIST_START = /^\{"object":"list","data":\[(\{"object":"\w+",)/;
const LIST_START_BYTES = 100;

const JOINED_BYTES = 1_048_576;
/** Where the chunks of a body are joined. It is kept, because new memory for each long body costs time. */
let joined: Buffer | undefined;

/** @param size of all chunks together, in bytes */
export function decodeBody(chunks: readonly Buffer[], size: number): Body {
  const [first] = chunks;
  if (chunks.length < 2) return [first?.toString('utf8') ?? ''];
  const bytes = size > JOINED_BYTES ? Buffer.concat(chunks) : join(chunks);
  const [, recordStart] = LIST_START.exec(bytes.toString('latin1', 0, LIST_START_BYTES)) ?? [];
  if (recordStart === undefined) return [bytes.toString('utf8')];
  const parts: string[] = [];
  let start = 0;
  for (;;) {
    const end = bytes.indexOf(`},${recordStart}`, start + PART_BYTES) + 1;
    if (end === 0) return [...parts, bytes.toString('utf8', start)];
    parts.push(bytes.toString('utf8', start, end));
    start = end + 1;
  }
}

/** Decoding each chunk first would put a list of hundreds of kilobytes into the heap twice. */
function join(chunks: readonly Buffer[]): Buffer {
  joined ??= Buffer.allocUnsafeSlow(JOINED_BYTES);
  let end = 0;
  for (const chunk of chunks) {
    joined.set(chunk, end);
    end += chunk.length;
  }
  return joined.subarray(0, end);
}

/** The JSON of a body. @throws {SyntaxError} when it is none */
export function parseBody(body: Body): unknown {
  if (body.length > 1) {
    try {
      return parseParts(body);
    } catch {
      // A record in a record begins as those of the list do, or it is no JSON.
    }
  }
  return JSON.parse(body.join(','));
}

/** @throws {SyntaxError} when a part ends elsewhere than between two records of the list */
function parseParts(body: Body): unknown {
  const list = JSON.parse(`${body[0]}]}`) as { data: unknown[] };
  // Another list of the same records began after `data`.
  if (Object.keys(list).length > 2) throw new SyntaxError('a part ends in another list');
  const others = body.slice(1, -1).flatMap((part) => JSON.parse(`[${part}]`) as unknown[]);
  const { '': rest, ...fields } = JSON.parse(`{"":[${body.at(-1)}`) as { '': unknown[] };
  return { ...list, ...fields, data: list.data.concat(others, rest) };
}
