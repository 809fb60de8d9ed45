import { isCollection, isMap, isScalar, isSeq, LineCounter, parseDocument, type Node } from 'yaml';

/** A mistake in a settings file. Lines count from 1; 0 stands for the whole file. It contains no secret and no hash. */
export type Mistake = { readonly line: number; readonly text: string };

/** Messages may quote what cannot be read, which may be a secret or a hash. */
const LONG_WORD = /[A-Za-z0-9+/=_-]{24,}/g;
const MOST_MISTAKES = 50;

/** Wrong content of a settings file: every mistake in it, in the order of the lines. */
export class FileMistakesError extends Error {
  override readonly name = 'FileMistakesError';

  readonly mistakes: readonly Mistake[];

  constructor(found: readonly Mistake[]) {
    const mistakes = found
      .slice(0, MOST_MISTAKES)
      .map(({ line, text }) => ({ line, text: text.replaceAll(LONG_WORD, '…') }));
    const others = found.length - mistakes.length;
    if (others > 0) mistakes.push({ line: 0, text: `and ${others} more` });
    super(mistakes.map(describeMistake).join('\n'));
    this.mistakes = mistakes;
  }
}

export function describeMistake({ line, text }: Mistake): string {
  return line === 0 ? text : `line ${line}: ${text}`;
}

/** A settings file as YAML, or as JSON, which YAML includes. It knows the line of each value. */
export class LinedFile {
  readonly value: unknown;
  readonly #lines = new LineCounter();
  readonly #root: Node | null;

  /**
   * @param schema with `failsafe`, every value is text
   * @throws {FileMistakesError} when the text is not YAML, or may be only the first part of a file
   */
  constructor(text: string, schema: 'core' | 'failsafe' = 'core') {
    const options = { lineCounter: this.#lines, prettyErrors: false, resolveKnownTags: false } as const;
    const document = parseDocument(text, { ...options, schema });
    const { errors, warnings, contents } = document;
    this.#root = contents;
    const mistakes = [...errors, ...warnings].map(({ pos: [at], message }) => ({
      line: this.#lineAt(at),
      text: message,
    }));
    if (mistakes.length > 0) throw new FileMistakesError(mistakes);
    // JSON, and everything in brackets, shows its end itself.
    if (!text.endsWith('\n') && !(isCollection(contents) && contents.flow === true)) {
      throw new FileMistakesError([
        {
          line: text.split('\n').length,
          text: 'the last line must end with a line break: without one, the file may be half-written',
        },
      ]);
    }
    try {
      this.value = document.toJS({ maxAliasCount: 0 });
    } catch {
      throw new FileMistakesError([{ line: 1, text: 'aliases (*name) are not allowed' }]);
    }
  }

  /** The line of a value, or of the nearest value around it where it is missing. */
  lineOf(path: readonly PropertyKey[]): number {
    let node: unknown = this.#root;
    let at = this.#root?.range?.[0] ?? 0;
    for (const segment of path) {
      if (isMap(node)) {
        const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === segment);
        if (pair === undefined) break;
        at = startOf(pair.key) ?? at;
        node = pair.value;
      } else if (isSeq(node)) {
        node = node.items[Number(segment)];
        at = startOf(node) ?? at;
      } else break;
    }
    return this.#lineAt(at);
  }

  #lineAt(offset: number): number {
    return Math.max(1, this.#lines.linePos(offset).line);
  }
}

function startOf(node: unknown): number | undefined {
  return (node as Partial<Node> | null | undefined)?.range?.[0];
}
