import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { FileMistakesError } from '../settings/lined-file.js';
import { readSettings } from '../settings/settings.js';
import { parseAccountsFile, type Environment } from './accounts-file.js';

const ENVIRONMENT = {
  PROVIDER_BASE_URL: 'https://provider.example',
  PROVIDER_SECRET_KEY: 'skey_test_default',
  PROVIDER_WEBHOOK_SECRET: 'ZGVmYXVsdA==',
  SHOP_NAME: 'Silom Road',
  CURRENCIES: 'THB',
  TEMPORAL_TASK_QUEUE: 'stage',
  WORKER_DEPLOYMENT: '',
} as const;

const schema = z.looseObject({
  PROVIDER_SECRET_KEY: z.string('is needed').regex(/^skey_/, 'must be a secret key'),
  PROVIDER_WEBHOOK_SECRET: z.string('is needed'),
});
const read = (environment: Environment) => readSettings(schema, environment);

const parsed = (text: string, environment: Environment = ENVIRONMENT) => parseAccountsFile(text, environment, read);

function mistakesOf(text: string): readonly string[] {
  try {
    parsed(text);
    return [];
  } catch (error) {
    if (!(error instanceof FileMistakesError)) throw error;
    return error.mistakes.map(({ line, text: what }) => `${line} ${what}`);
  }
}

const SINGAPORE = 'singapore:\n  PROVIDER_SECRET_KEY: skey_test_singapore\n  PROVIDER_WEBHOOK_SECRET: c2luZ2Fwb3Jl\n';

describe('a further account', () => {
  it('has its own settings, and those of the environment that do not say who it is', () => {
    const own = parsed(`${SINGAPORE}  currencies: [SGD, USD]\n  void_date_offset_minutes: 480\n`).get('singapore');
    expect(own?.environment).toMatchObject({
      PROVIDER_SECRET_KEY: 'skey_test_singapore',
      PROVIDER_BASE_URL: 'https://provider.example',
      CURRENCIES: 'SGD,USD',
      VOID_DATE_OFFSET_MINUTES: '480',
      TEMPORAL_TASK_QUEUE: 'stage/account/singapore',
      WORKER_DEPLOYMENT: 'tillflow_account_singapore',
    });
    expect(own?.environment).not.toHaveProperty('SHOP_NAME');
  });

  it('keeps the zeros of a number, and the lines of an address', () => {
    const own = parsed(`${SINGAPORE}  SHOP_TAX_ID: 0105536000012\n  SHOP_ADDRESS: [1 Orchard Road, Singapore]\n`);
    expect(own.get('singapore')?.environment).toMatchObject({
      SHOP_TAX_ID: '0105536000012',
      SHOP_ADDRESS: '1 Orchard Road|Singapore',
    });
  });

  it('cannot have the name of the event queue of another one', () => {
    expect(mistakesOf(`${SINGAPORE}singapore-events:\n  secret_key: skey_test_b\n  webhook_secret: YQ==\n`)).toEqual([
      '4 singapore-events: the name of an account must have 1 to 32 of a-z 0-9 -, and not end with -events',
    ]);
  });

  it('may leave out PROVIDER_ in the names', () => {
    const short = 'osaka:\n  secret_key: skey_test_osaka\n  webhook_secret: b3Nha2E=\n';
    expect(parsed(short).get('osaka')?.environment).toMatchObject({ PROVIDER_SECRET_KEY: 'skey_test_osaka' });
  });

  it('never gets the key or the webhook secret of the environment', () => {
    expect(mistakesOf('osaka:\n  CURRENCIES: THB\n')).toEqual([
      '1 osaka: PROVIDER_SECRET_KEY: is needed',
      '1 osaka: PROVIDER_WEBHOOK_SECRET: is needed',
    ]);
  });
});

describe('the account default', () => {
  it('is that of the environment, also when the file does not name it', () => {
    expect(parsed(SINGAPORE).get('default')?.environment).toEqual(ENVIRONMENT);
  });

  it('gets the settings of its entry in place of those of the environment', () => {
    const { environment } = parsed('default:\n  secret_key: skey_test_new\n').get('default') ?? {};
    expect(environment).toEqual({ ...ENVIRONMENT, PROVIDER_SECRET_KEY: 'skey_test_new' });
  });

  it('may have all of its settings in the file', () => {
    const text = 'default:\n  secret_key: skey_test_a\n  webhook_secret: YQ==\n';
    expect([...parsed(text, {}).keys()]).toEqual(['default']);
  });
});

describe('a wrong file', () => {
  it('is refused with each mistake and its line, and never repeats a secret', () => {
    const mistakes = mistakesOf(
      `${SINGAPORE}  refunds: often\n  PORT: 3000\nOsaka: {}\nparis:\n  secret_key: pkey_test_paris\n  webhook_secret: [[1]]\n  secret_KEY: x\ntokyo: text\n`,
    );
    expect(mistakes).toEqual([
      '4 singapore: refunds: is not a setting of an account',
      '5 singapore: PORT: is not a setting of an account',
      '6 Osaka: the name of an account must have 1 to 32 of a-z 0-9 -, and not end with -events',
      '8 paris: PROVIDER_SECRET_KEY: must be a secret key',
      '9 paris: webhook_secret: must be one text or number, or a list of them',
      '9 paris: PROVIDER_WEBHOOK_SECRET: is needed',
      '10 paris: secret_KEY: is given twice',
      '11 tokyo: must be a list of settings, each with its value',
      '11 tokyo: PROVIDER_SECRET_KEY: is needed',
      '11 tokyo: PROVIDER_WEBHOOK_SECRET: is needed',
    ]);
    expect(mistakes.join()).not.toMatch(/[ps]key_test/);
  });

  it('gives one key to two accounts', () => {
    const twice = 'osaka:\n  secret_key: skey_test_default\n  webhook_secret: b3Nha2E=\n';
    expect(mistakesOf(twice)).toEqual(['1 osaka: PROVIDER_SECRET_KEY: is the key of the account default, too']);
  });

  it.each(['', '[]\n', 'text\n', '{}'])('is no list of accounts: %j', (text) => {
    expect(mistakesOf(text)).not.toEqual([]);
  });
});
