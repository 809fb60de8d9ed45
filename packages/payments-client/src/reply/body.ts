/**
 * The text of a reply. That of a long list is divided between records, without the commas there, so that joining it
 * with commas gives the whole text.
 */
export type Body = readonly string[];

/**
 * A part has this many bytes and the rest of its last record. V8 takes new memory from the operating system for each
 * text above 128 KB, and that costs more than decoding it. A part stays below, also when V8 keeps two bytes for each
 * character.
 */
const PART_BYTES = 48 * 1_024;
/**
 * How a list begins whose text can be divided; the group is how each of its records begins. assumption: the provider
 * sends fields in this order and without white space. The text of another list stays whole, which only takes longer.
 */
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

/** A record may begin in one chunk and end in the next. */
function join(chunks: readonly Buffer[]): Buffer {
  joined ??= Buffer.allocUnsafeSlow(JOINED_BYTES);
  let end = 0;
  for (const chunk of chunks) {
    joined.set(chunk, end);
    end += chunk.length;
  }
  return joined.subarray(0, end);
}

/** @throws {SyntaxError} when the text is not JSON */
export function parseBody(body: Body): unknown {
  if (body.length > 1) {
    try {
      return parseParts(body);
    } catch {
      // The text is not JSON, or it has a part that does not end between two records of the list.
    }
  }
  return JSON.parse(body.join(','));
}

/** @throws {SyntaxError} when a part ends elsewhere than between two records of `data`, or that is not certain */
function parseParts(body: Body): unknown {
  const last = body.at(-1) ?? '';
  const list = JSON.parse(`${body[0]}]}`) as { object: unknown; data: unknown[] };
  const others = body.slice(1, -1).flatMap((part) => JSON.parse(`[${part}]`) as unknown[]);
  const { '': rest, ...fields } = JSON.parse(`{"":[${last}`) as { '': unknown[] };
  // The first part ends in another list than `data`, or a later field replaces `data` or the records of the last part.
  const isOther = list.object !== 'list' || Object.keys(list).length > 2;
  if (isOther || 'data' in fields || last.includes('"":')) throw new SyntaxError('not the parts of one list');
  return { ...list, ...fields, data: list.data.concat(others, rest) };
}
