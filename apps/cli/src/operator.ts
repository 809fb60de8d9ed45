import { hostname, userInfo } from 'node:os';
import type { Resolution } from '@tillflow/workflows';
import { UsageError } from './command.js';

/** The API's limit, too. The reason is part of the memo, which every read loads. */
const MOST = 200;
const NOT_ONE_LINE = /[\p{Cs}\p{Cc}]/u;

/** The user who runs the command line, as the timeline and Temporal's history show it: `cli:` and the user name. */
export function operator(): string {
  return `cli:${userName()}`;
}

/** The requester of a message to a checkout: the operator, and the machine. */
export function requester(): { readonly by: string; readonly origin: string } {
  return { by: operator(), origin: hostname() };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container, the user may have no name.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

/** @throws {UsageError} when the reason is too long, or has more than one line. */
export function checkReason(reason: string): void {
  if (reason.length <= MOST && !NOT_ONE_LINE.test(reason)) return;
  throw new UsageError(`--reason must be one line of at most ${MOST} characters`);
}

type Chosen = {
  readonly look?: boolean;
  readonly adopt?: string;
  readonly abandon?: boolean;
  readonly reason?: string;
};

/**
 * Reads an operator's decision from the options of a command.
 * @param adoptable matches the ids that may be adopted.
 * @param ofWhat names them in the error, such as "of a plan (schd_…)".
 * @throws {UsageError}
 */
export function resolutionOf(
  { look, adopt, abandon, reason = '' }: Chosen,
  commandName: string,
  adoptable: RegExp,
  ofWhat: string,
): Resolution {
  const chosen = [look === true, adopt !== undefined, abandon === true].filter(Boolean).length;
  if (chosen !== 1) throw new UsageError(`${commandName} needs exactly one of --look, --adopt and --abandon`);
  if (reason.trim() === '') throw new UsageError(`${commandName} needs a --reason`);
  checkReason(reason);
  const asked = requester();
  if (adopt === undefined) return { action: look === true ? 'look' : 'abandon', reason, ...asked };
  if (!adoptable.test(adopt)) throw new UsageError(`--adopt needs the id ${ofWhat}`);
  return { action: 'adopt', id: adopt, reason, ...asked };
}
