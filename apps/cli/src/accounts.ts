import { accountOf, DEFAULT_ACCOUNT } from '@tillflow/domain';
import { Accounts, accountSettings, readSettings, SettingsError, type Environment } from '@tillflow/temporal';
import { z } from 'zod';

const schema = z.object(accountSettings);

/** The settings of a further account are checked here. Each command checks those of the environment itself. */
function checked(environment: Environment): Environment {
  if (accountOf(environment['TEMPORAL_TASK_QUEUE'] ?? '') !== DEFAULT_ACCOUNT) readSettings(schema, environment);
  return environment;
}

/**
 * The environment as an account sees it.
 * @param name undefined: the account `default`, also while `ACCOUNTS_FILE` is wrong
 * @param warn gets the mistakes of the file
 * @throws {SettingsError} for an unknown account, and for a wrong file where an account is named
 */
export function environmentOf(
  environment: Environment,
  name: string | undefined,
  warn: (line: string) => void,
): Environment {
  const { accounts, mistakes } = environmentsOf(environment, name ?? DEFAULT_ACCOUNT);
  if (mistakes.length > 0 && name !== undefined) throw new SettingsError(mistakes);
  for (const mistake of mistakes) warn(`${mistake}. The command uses the settings of the environment.`);
  return accounts.get(name ?? DEFAULT_ACCOUNT) ?? environment;
}

type Environments = {
  /** Only that of the environment, when the file is wrong. */
  readonly accounts: ReadonlyMap<string, Environment>;
  /** All names in the file; null when it is wrong. */
  readonly names: readonly string[] | null;
  readonly mistakes: readonly string[];
};

/** The environments of all accounts, or of the one that is named. @throws {SettingsError} for an unknown account */
export function environmentsOf(environment: Environment, only: string | undefined): Environments {
  let accounts: Accounts<Environment>;
  try {
    accounts = new Accounts(environment, checked);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return { accounts: new Map([[DEFAULT_ACCOUNT, environment]]), names: null, mistakes: error.problems };
  }
  const { names } = accounts;
  if (only !== undefined && !names.includes(only)) {
    throw new SettingsError([`No account is named ${only}. ACCOUNTS_FILE has ${names.join(', ')}`]);
  }
  const wanted = accounts.all.filter(({ name }) => only === undefined || name === only);
  return { accounts: new Map(wanted.map((account) => [account.name, account.environment])), names, mistakes: [] };
}
