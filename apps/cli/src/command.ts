import { parseArgs } from 'node:util';
import { UsageError, type ExitCode } from './exit.js';

type Options = Readonly<Record<string, { readonly type: 'boolean' | 'string' }>>;

type Values<O extends Options> = { readonly [Name in keyof O]?: O[Name]['type'] extends 'boolean' ? boolean : string };

/** What came of a command: for people line by line, for programs as one JSON document. */
export type Report = {
  readonly exit: ExitCode;
  readonly lines: readonly string[];
  readonly json: unknown;
};

type Call<O extends Options> = {
  readonly values: Values<O>;
  readonly positionals: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Tells a person who waits how far it is. */
  readonly progress: (line: string) => void;
  /** Says what goes wrong meanwhile, also to a log. */
  readonly warn: (line: string) => void;
};

type Definition<O extends Options> = {
  readonly name: string;
  /** What follows the name, such as `<id> --reason <text>`. */
  readonly synopsis: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** What more there is to know. */
  readonly details: readonly string[];
  /** How many words it takes that are no options. */
  readonly takes: number;
  readonly options: O;
  /** @throws {UsageError} @throws {UnreachableError} and whatever Temporal's client throws. */
  run(call: Call<O>): Promise<Report>;
};

/** One command: what it says about itself, and how it is run. */
export type Command = Pick<Definition<Options>, 'name' | 'synopsis' | 'summary' | 'details'> & {
  run(
    args: readonly string[],
    environment: Call<Options>['environment'],
    progress: Call<Options>['progress'],
    warn: Call<Options>['warn'],
  ): Promise<Report>;
};

/** Every command answers `--json`; those with an effect name `--dry-run` among their options. */
export function command<const O extends Options>(definition: Definition<O>): Command {
  const { name, synopsis, summary, details, takes } = definition;
  return {
    name,
    synopsis,
    summary,
    details,
    async run(args, environment, progress, warn) {
      const { values, positionals } = parse(args, definition.options);
      if (positionals.length !== takes) {
        throw new UsageError(`${name} takes ${takes === 0 ? 'no' : takes} argument${takes === 1 ? '' : 's'}`);
      }
      // What parseArgs gives for these options, which it types more loosely.
      return definition.run({ values: values as Values<O>, positionals, environment, progress, warn });
    },
  };
}

function parse(args: readonly string[], options: Options) {
  const parsed = parseStrictly(args, options);
  const named = new Set<string>();
  for (const token of parsed.tokens) {
    if (token.kind !== 'option') continue;
    // Of two amounts neither is the one that is meant.
    if (named.has(token.name)) throw new UsageError(`--${token.name} is given twice`);
    named.add(token.name);
  }
  return parsed;
}

function parseStrictly(args: readonly string[], options: Options) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      tokens: true,
      options: { ...options, json: { type: 'boolean' } },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
