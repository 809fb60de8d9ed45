import { parseArgs } from 'node:util';
import { environmentOf } from './accounts.js';

/** The exit codes of every command. */
export const EXIT = {
  ok: 0,
  /** Something needs a person: a finding, a break, a refusal, or a name that no checkout has. */
  finding: 1,
  /** The command, an option or a setting is wrong. Nothing was done. */
  usage: 2,
  /** Temporal, the provider or a worker does not answer. The message says if the command may still have an effect. */
  unreachable: 3,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The command line is wrong. The message says why. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * Temporal, the provider or a worker does not answer. The message names it, and says whether the command took effect,
 * if that is known.
 */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

type Options = Readonly<Record<string, { readonly type: 'boolean' | 'string' }>>;

type Values<O extends Options> = { readonly [Name in keyof O]?: O[Name]['type'] extends 'boolean' ? boolean : string };

/** The result of a command: lines for people, one JSON document for programs. */
export type Report = {
  readonly exit: ExitCode;
  readonly lines: readonly string[];
  readonly json: unknown;
};

type Call<O extends Options> = {
  readonly values: Values<O>;
  readonly positionals: readonly string[];
  /** As the account of the command sees it. A command for all accounts gets it as it is. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The value of `--account`. */
  readonly account: string | undefined;
  /** Shows the progress to a person who waits. */
  readonly progress: (line: string) => void;
  /** Reports a problem while the command goes on, also when standard error is a log. */
  readonly warn: (line: string) => void;
};

type Definition<O extends Options> = {
  readonly name: string;
  /** The usage after the name, such as `<id> --reason <text>`. */
  readonly synopsis: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** The help text after the summary. */
  readonly details: readonly string[];
  /** The number of arguments that are not options: one number, or each that is possible. */
  readonly takes: number | readonly number[];
  /** Without `--account`, the command is about all accounts. Absent: about the account `default`. */
  readonly isForAll?: true;
  readonly options: O;
  /** @throws {UsageError} @throws {UnreachableError} and any error of Temporal's client. */
  run(call: Call<O>): Promise<Report>;
};

/** One command: its help, and how to run it. */
export type Command = Pick<Definition<Options>, 'name' | 'synopsis' | 'summary' | 'details'> & {
  run(
    args: readonly string[],
    environment: Call<Options>['environment'],
    progress: Call<Options>['progress'],
    warn: Call<Options>['warn'],
  ): Promise<Report>;
};

/** Adds `--json` and `--account` to the options. A command that changes something declares `--dry-run` itself. */
export function command<const O extends Options>(definition: Definition<O>): Command {
  const { name, synopsis, summary, details } = definition;
  const takes = [definition.takes].flat();
  return {
    name,
    synopsis,
    summary,
    details,
    async run(args, environment, progress, warn) {
      const { values, positionals } = parse(args, definition.options);
      if (!takes.includes(positionals.length)) {
        const counts = takes.map((count) => (count === 0 ? 'no' : String(count))).join(' or ');
        throw new UsageError(`${name} takes ${counts} argument${takes.at(-1) === 1 ? '' : 's'}`);
      }
      // parseArgs returns these values, but its types are wider.
      const { account, ...others } = values as Values<O> & { readonly account?: string };
      const seen = definition.isForAll === true ? environment : environmentOf(environment, account, warn);
      return definition.run({
        values: others as unknown as Values<O>,
        positionals,
        environment: seen,
        account,
        progress,
        warn,
      });
    },
  };
}

function parse(args: readonly string[], options: Options) {
  const parsed = parseStrictly(args, options);
  const named = new Set<string>();
  for (const token of parsed.tokens) {
    if (token.kind !== 'option') continue;
    // With two amounts, it is unknown which one is meant.
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
      options: { ...options, json: { type: 'boolean' }, account: { type: 'string' } },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
