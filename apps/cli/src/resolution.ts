import type { Resolution } from '@tillflow/workflows';
import { UsageError } from './exit.js';
import { operator } from './operator.js';
import { checkReason } from './reason.js';

type Chosen = {
  readonly look?: boolean;
  readonly adopt?: string;
  readonly abandon?: boolean;
  readonly reason?: string;
};

/**
 * What an operator decided by the options of a command.
 * @param adoptable ids that may be adopted, which are those `ofWhat`
 * @throws {UsageError}
 */
export function resolutionOf(
  { look, adopt, abandon, reason = '' }: Chosen,
  commandName: string,
  adoptable: RegExp,
  ofWhat: string,
): Resolution {
  const chosen = [look === true, adopt !== undefined, abandon === true].filter(Boolean).length;
  if (chosen !== 1) throw new UsageError(`${commandName} wants exactly one of --look, --adopt and --abandon`);
  if (reason.trim() === '') throw new UsageError(`${commandName} wants a --reason`);
  checkReason(reason);
  const by = operator();
  if (adopt === undefined) return { action: look === true ? 'look' : 'abandon', reason, by };
  if (!adoptable.test(adopt)) throw new UsageError(`--adopt wants the id ${ofWhat}`);
  return { action: 'adopt', id: adopt, reason, by };
}
