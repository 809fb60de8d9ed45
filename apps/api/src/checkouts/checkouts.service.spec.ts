import 'reflect-metadata';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, it, vi } from 'vitest';
import type { Acceptance } from '../availability/acceptance.js';
import type { Asker } from '../auth/caller.js';
import { SignedLinks } from '../auth/signed-links.js';
import { Signatures } from '../auth/signatures.js';
import { Problem } from '../problems/problem.js';
import { Settings } from '../providers.js';
import { apiSettings } from '../settings.js';
import type { Cursors } from '../shared/cursors.js';
import { budgetOf, withBudget } from '../temporal/request-budget.js';
import type { CheckoutsRepository } from './checkouts.repository.js';
import { createCheckout } from './checkouts.schema.js';
import { CheckoutsService, type Begun } from './checkouts.service.js';
import type { EventTailWatch } from './event-tail-watch.js';
import { CheckoutPresenter } from './presenter.js';
import type { SourceCheck } from './source-check.js';
import type { BeginOutcome, CheckoutStarts } from './starts.js';

const ASKER: Asker = { by: 'till-7', origin: '127.0.0.1', requestId: 'one' };
const SESSION: Asker = {
  ...ASKER,
  till: { link: 'clnk_a', terminal: 'till-7', store: null, expires: 9_999_999_999 },
  place: { stores: [null], terminals: ['till-7'] },
};

/** A service whose Temporal confirms no start. `meanwhile` runs before it fails. */
function service(meanwhile: () => void) {
  const down = new Problem('temporal_unavailable', 'as the test says');
  const beginLater = vi.fn<CheckoutStarts['beginLater']>();
  const starts = {
    beginLater,
    begin: async (): Promise<BeginOutcome> => {
      meanwhile();
      return { kind: 'unconfirmed', mayBegin: true, problem: down };
    },
  } as unknown as CheckoutStarts;
  const repository = { get: () => Promise.reject(down) } as unknown as CheckoutsRepository;
  const settings = new Settings(
    apiSettings({
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      API_KEYS: `till-7:checkout:${'0'.repeat(64)}`,
      URL_SIGNING_KEY: 'signs the links of tests and nothing else',
      PROVIDER_BASE_URL: 'http://127.0.0.1:1',
      PROVIDER_SECRET_KEY: 'skey_test_1',
      PROVIDER_WEBHOOK_SECRET: 'off',
    }),
  );
  const presenter = new CheckoutPresenter(new SignedLinks(new Signatures(settings), settings));
  const tail = { isAwake: false } as EventTailWatch;
  const acceptance = { pause: () => Promise.resolve(null) } as unknown as Acceptance;
  const checkouts = new CheckoutsService(
    repository,
    starts,
    settings,
    presenter,
    {} as SourceCheck,
    {} as Cursors,
    tail,
    acceptance,
  );
  const response = new EventEmitter();
  const begin = (to = response, asker = ASKER): Promise<Begun> =>
    withBudget(budgetOf(to as ServerResponse, 3_500), () =>
      checkouts.begin(createCheckout.parse({ reference: 'a', amount: 150_000, currency: 'THB' }), asker),
    );
  return { beginLater, begin, response };
}

it('a start that Temporal did not confirm is sent again, and its caller gets a location that waits for it', async () => {
  const { beginLater, begin } = service(() => {});
  const { status, checkout } = await begin();
  expect(status).toBe(202);
  expect(checkout.location).toBe('/v1/checkouts/chk_default_a?wait=20&after_version=0');
  expect(beginLater).toHaveBeenCalledTimes(1);
});

it('a start that Temporal did not confirm is not sent again when its caller has left', async () => {
  const { beginLater, begin, response } = service(() => response.emit('close'));
  await expect(begin()).rejects.toThrow(Problem);
  expect(beginLater).not.toHaveBeenCalled();
});

it('a caller whose request joined that of a caller who left starts the checkout itself', async () => {
  const { beginLater, begin, response } = service(() => response.emit('close'));
  const left = begin();
  const stays = begin(new EventEmitter());
  await expect(left).rejects.toThrow(Problem);
  expect((await stays).status).toBe(202);
  expect(beginLater).toHaveBeenCalledTimes(1);
});

it('a session of the counter gets no link to a checkout that Temporal did not confirm: it may be of another till', async () => {
  const { begin, response } = service(() => {});
  const { status, checkout } = await begin(response, SESSION);
  expect([status, checkout.terminal]).toEqual([202, 'till-7']);
  expect(JSON.stringify(checkout)).not.toContain('sig=');
  expect((await begin(response)).checkout.events_url).toContain('sig=');
});
