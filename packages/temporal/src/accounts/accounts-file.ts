import { ACCOUNT, DEFAULT_ACCOUNT, queueOfAccount } from '@tillflow/domain';
import { accountSettings, IDENTITY } from './account-settings.js';
import { FileMistakesError, LinedFile, type Mistake } from '../settings/lined-file.js';
import { DEFAULT_TASK_QUEUE, SettingsError } from '../settings/settings.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** An account, with the settings of one program for it. */
export type Account<T> = {
  readonly name: string;
  /** The program's environment as the account sees it. */
  readonly environment: Environment;
  readonly settings: T;
};

/** Whether two environments have the same settings. */
export function isSame(one: Environment, other: Environment): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

const MOST_ACCOUNTS = 100;

const OWN: ReadonlySet<string> = new Set(Object.keys(accountSettings));
/** The queue of such an account would be the queue of the events of another account. Source: `eventQueue`. */
const TAKEN_NAME = /-events$/;

/** Without a file: the one account of the environment. @throws {SettingsError} */
export function defaultAccount<T>(
  environment: Environment,
  read: (environment: Environment) => T,
): ReadonlyMap<string, Account<T>> {
  return new Map([[DEFAULT_ACCOUNT, { name: DEFAULT_ACCOUNT, environment, settings: read(environment) }]]);
}

/**
 * The accounts of an `ACCOUNTS_FILE`, which is YAML or JSON: the name of each account, and its settings by their names in the
 * environment. The account `default` is that of the environment, with the file's settings in place of it.
 * @param read reads the settings of one account
 * @throws {FileMistakesError} with every mistake and its line. It never repeats a secret.
 */
export function parseAccountsFile<T>(
  text: string,
  environment: Environment,
  read: (environment: Environment) => T,
): ReadonlyMap<string, Account<T>> {
  // Every value is text: a number would lose its leading zeros.
  const file = new LinedFile(text, 'failsafe');
  const entries = isMapping(file.value) ? Object.entries(file.value) : [];
  if (entries.length === 0 || entries.length > MOST_ACCOUNTS) {
    throw new FileMistakesError([{ line: 1, text: `the file must name 1 to ${MOST_ACCOUNTS} accounts` }]);
  }
  const mistakes: Mistake[] = [];
  const accounts = new Map<string, Account<T>>();
  const found = (path: readonly string[], text: string): void => {
    mistakes.push({ line: file.lineOf(path), text: [...path.slice(0, 1), text].join(': ') });
  };
  const given = entries.some(([name]) => name === DEFAULT_ACCOUNT)
    ? entries
    : [[DEFAULT_ACCOUNT, {}] as const, ...entries];
  for (const [name, values] of given) {
    if (!ACCOUNT.test(name) || TAKEN_NAME.test(name)) {
      found([name], 'the name of an account must have 1 to 32 of a-z 0-9 -, and not end with -events');
      continue;
    }
    const spelled = new Map<string, string>();
    const own = settingsIn(values, (field, why) => found(field === null ? [name] : [name, field], why), spelled);
    const account = environmentOf(environment, name, own);
    try {
      accounts.set(name, { name, environment: account, settings: read(account) });
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      for (const problem of error.problems) found([name, spelled.get(problem.split(':', 1)[0] ?? '') ?? ''], problem);
    }
  }
  for (const [name, path] of sharedKeys(accounts)) found([name], path);
  if (mistakes.length > 0) throw new FileMistakesError(mistakes.toSorted((one, other) => one.line - other.line));
  return accounts;
}

/** Two accounts with one key would both take what happens at the provider for their own. */
function sharedKeys(accounts: ReadonlyMap<string, Account<unknown>>): readonly (readonly [string, string])[] {
  const owners = new Map<string, string>();
  return [...accounts.values()].flatMap(({ name, environment }) => {
    const key = environment['PROVIDER_SECRET_KEY'] ?? '';
    const owner = owners.get(key);
    owners.set(key, owner ?? name);
    return owner === undefined || key === ''
      ? []
      : [[name, `PROVIDER_SECRET_KEY: is the key of the account ${owner}, too`] as const];
  });
}

/** The environment as an account sees it. */
function environmentOf(environment: Environment, account: string, own: Environment): Environment {
  if (account === DEFAULT_ACCOUNT) return { ...environment, ...own };
  const inherited: Record<string, string | undefined> = { ...environment };
  for (const name of IDENTITY) delete inherited[name];
  const { WORKER_DEPLOYMENT: deployment = '', TEMPORAL_TASK_QUEUE: queue = '' } = environment;
  return {
    ...inherited,
    ...own,
    TEMPORAL_TASK_QUEUE: queueOfAccount(queue === '' ? DEFAULT_TASK_QUEUE : queue, account),
    // The builds of an account become current when its own workers take tasks.
    WORKER_DEPLOYMENT: `${deployment === '' ? 'tillflow' : deployment}_account_${account}`,
  };
}

/**
 * The settings of an entry. Their names may be in lower case, and `PROVIDER_` may be left out.
 * @param spelled gets how the file spells each name
 */
function settingsIn(
  values: unknown,
  mistake: (field: string | null, why: string) => void,
  spelled: Map<string, string>,
): Environment {
  if (!isMapping(values)) {
    mistake(null, 'must be a list of settings, each with its value');
    return {};
  }
  const own: Record<string, string> = {};
  for (const [field, value] of Object.entries(values)) {
    const upper = field.toUpperCase();
    const name = OWN.has(upper) ? upper : `PROVIDER_${upper}`;
    const shown = /^\w{1,40}$/.test(field) ? field : 'this';
    if (!OWN.has(name)) mistake(field, `${shown}: is not a setting of an account`);
    else if (spelled.has(name)) mistake(field, `${shown}: is given twice`);
    else if (!isValue(value)) mistake(field, `${shown}: must be one text or number, or a list of them`);
    else own[name] = typeof value === 'string' ? value : value.join(name === 'SHOP_ADDRESS' ? '|' : ',');
    if (!spelled.has(name)) spelled.set(name, field);
  }
  return own;
}

function isValue(value: unknown): value is string | readonly string[] {
  return typeof value === 'string' || (Array.isArray(value) && value.every((one) => typeof one === 'string'));
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
